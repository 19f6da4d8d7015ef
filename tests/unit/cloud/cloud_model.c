#include "cloud_model.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "net/http.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEGIN_MS ((int64_t)1700000000000)
#define CALL_MS 100
#define HANG_MS 60000

static void give_up(const char *why)
{
    printf("Bail out! the model of a cloud: %s\n", why);
    exit(EXIT_FAILURE);
}

const struct cloud_model_kind cloud_model_aws = {
    .server = "ec2",
    .driver = "aws",
    .region = "us-east-1",
    .variables = {{"AWS_ACCESS_KEY_ID", "AKIDMODEL"},
                  {"AWS_SECRET_ACCESS_KEY", "model/secret+key"},
                  {"AWS_ENDPOINT_URL", "URL"},
                  {"AWS_ENDPOINT_URL_CHECKIP", "URL/ip"},
                  {"AWS_EC2_METADATA_DISABLED", "true"}},
};

const struct cloud_model_kind cloud_model_azure = {
    .server = "arm",
    .driver = "azure",
    .region = "eastus",
    .variables = {{"AZURE_TENANT_ID", "11111111-2222-3333-4444-555555555555"},
                  {"AZURE_CLIENT_ID", "66666666-7777-8888-9999-000000000000"},
                  {"AZURE_CLIENT_SECRET", "model/secret+key"},
                  {"AZURE_SUBSCRIPTION_ID", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"},
                  {"AZURE_AUTHORITY_HOST", "URL"},
                  {"AZURE_RESOURCE_MANAGER_ENDPOINT", "URL"},
                  {"TRADEWIND_ADDRESS_URL", "URL/ip"}},
};

const struct cloud_model_kind cloud_model_gcp = {
    .server = "gce",
    .driver = "gcp",
    .region = "us-central1",
    .variables = {{"GOOGLE_APPLICATION_CREDENTIALS", "DIR/credentials"},
                  {"GOOGLE_CLOUD_PROJECT", "model-project"},
                  {"CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", "URL/compute/v1/"},
                  {"CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER", "URL/"},
                  {"TRADEWIND_ADDRESS_URL", "URL/ip"}},
    .credentials = "{\"type\": \"authorized_user\", \"client_id\": \"c\", \"client_secret\": \"s\","
                   " \"refresh_token\": \"refresh-me\", \"token_uri\": \"URL/token\"}",
};

/* ---- the process ---- */

static void map_clock(struct cloud_model *m)
{
    char path[100];

    snprintf(path, sizeof path, "%s/clock", m->dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *m->now_ms) < 0)
        give_up("no clock");
    m->now_ms = mmap(NULL, sizeof *m->now_ms, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (m->now_ms == MAP_FAILED)
        give_up("no clock");
    *m->now_ms = BEGIN_MS;
}

static void run_model(const struct cloud_model *m, int in, int out)
{
    char clock[100], server[100];

    snprintf(clock, sizeof clock, "%s/clock", m->dir);
    snprintf(server, sizeof server, "tests/servers/%s", m->kind->server);
    dup2(in, 0);
    dup2(out, 1);
    execlp("python3", "python3", server, "--clock", clock, (char *)NULL);
    _exit(127);
}

/* What the driver is to find in its environment. */
static void write_variables(struct cloud_model *m)
{
    char path[100];

    for (size_t i = 0; i < CLOUD_MODEL_VARIABLES && m->kind->variables[i][0]; i++) {
        const char *value = m->kind->variables[i][1];
        const char *base = strncmp(value, "URL", 3) == 0   ? m->url
                           : strncmp(value, "DIR", 3) == 0 ? m->dir
                                                           : "";
        snprintf(m->values[i], sizeof m->values[i], "%s%s", base, value + (*base ? 3 : 0));
    }
    const char *text = m->kind->credentials, *at = text ? strstr(text, "URL") : NULL;
    if (!at)
        return;
    snprintf(path, sizeof path, "%s/credentials", m->dir);
    FILE *f = fopen(path, "w");
    if (!f || fprintf(f, "%.*s%s%s", (int)(at - text), text, m->url, at + 3) < 0 || fclose(f) != 0)
        give_up("no credentials");
}

void cloud_model_start(struct cloud_model *m, const struct cloud_model_kind *kind)
{
    int in[2], out[2];

    *m = (struct cloud_model){.kind = kind};
    snprintf(m->dir, sizeof m->dir, "/tmp/tradewind-cloud-XXXXXX");
    if (!mkdtemp(m->dir) || pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        give_up("no directory");
    map_clock(m);
    fflush(stdout);
    m->pid = fork();
    if (m->pid == 0)
        run_model(m, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    m->in = in[1];
    FILE *said = fdopen(out[0], "r");
    if (!said || fscanf(said, "%*[A-Z0-9]_MODEL=%50s", m->url) != 1)
        give_up("it does not start; is python3 installed?");
    fclose(said);
    write_variables(m);
}

void cloud_model_stop(struct cloud_model *m)
{
    close(m->in);
    waitpid(m->pid, NULL, 0);
    http_free(m->http);
    munmap(m->now_ms, sizeof *m->now_ms);
    file_remove_tree(m->dir);
}

static struct http *client(struct cloud_model *m)
{
    struct err e = {0};

    if (m->http_of != getpid()) {
        m->http_of = getpid();
        m->http = http_new(1, &e);
        if (!m->http)
            give_up(e.text);
    }
    return m->http;
}

/* ---- control ---- */

static void control(struct cloud_model *m,
                    const char *method,
                    const char *path,
                    const char *body,
                    struct http_answer *out)
{
    struct err e = {0};
    char url[128];

    snprintf(url, sizeof url, "%s%s", m->url, path);
    const struct http_request r = {.method = method,
                                   .url = url,
                                   .headers = (const char *const[]){NULL},
                                   .body = body,
                                   .body_bytes = strlen(body),
                                   .max_answer_bytes = (size_t)16 << 20,
                                   .timeout_s = 60};
    if (http_send(client(m), &r, out, &e) < 0)
        give_up(e.text);
    if (out->status != 200)
        give_up(out->body);
}

void cloud_model_begin(struct cloud_model *m, const char *fmt, ...)
{
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    char text[2000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    control(m, "POST", "/control", text, &answer);
    m->calls = 0;
}

void cloud_model_do(struct cloud_model *m, const char *json)
{
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};

    control(m, "POST", "/control/do", json, &answer);
}

json_t *cloud_model_state(struct cloud_model *m)
{
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};

    control(m, "GET", "/control", "", &answer);
    json_t *state = json_loads(answer.body, 0, NULL);
    if (!state)
        give_up("its state is no JSON");
    return state;
}

json_int_t cloud_model_count(struct cloud_model *m, const char *what)
{
    AUTO_JSON json_t *state = cloud_model_state(m);

    return json_integer_value(json_object_get(state, what));
}

json_int_t cloud_model_calls(struct cloud_model *m, const char *action)
{
    AUTO_JSON json_t *state = cloud_model_state(m);

    return json_integer_value(json_object_get(json_object_get(state, "calls"), action));
}

bool cloud_model_left(struct cloud_model *m, const char *expected)
{
    AUTO_JSON json_t *state = cloud_model_state(m);
    AUTO_MEM char *text = json_dumps(json_object_get(state, "left"), JSON_SORT_KEYS);

    if (strcmp(text, expected) != 0)
        printf("# left: %s\n", text);
    return strcmp(text, expected) == 0;
}

void cloud_model_pass(struct cloud_model *m, double seconds)
{
    *m->now_ms += (int64_t)(seconds * 1000);
}

int cloud_model_note(
    void *context, const char *kind, const char *id, const char *why, struct err *e)
{
    size_t at = strlen(context);

    (void)id;
    (void)e;
    snprintf((char *)context + at, CLOUD_MODEL_TEXT - at, "%s%s, ", kind, why ? " held" : "");
    return 0;
}

int cloud_model_find(void *context, const struct cloud_finding *f, struct err *e)
{
    size_t at = strlen(context);

    (void)e;
    snprintf((char *)context + at, CLOUD_MODEL_TEXT - at, "%s/%d/%s/%s\n", f->what, (int)f->verdict,
             f->found, f->fix);
    return 0;
}

/* ---- the world outside of the driver ---- */

int64_t cloud_model_now(void *model)
{
    return *((const struct cloud_model *)model)->now_ms;
}

static void wait_virtually(void *context, double seconds)
{
    struct cloud_model *m = context;

    *m->now_ms += (int64_t)(seconds * 1000) + 1;
}

static const char *variable(void *context, const char *name)
{
    const struct cloud_model *m = context;

    for (size_t i = 0; i < CLOUD_MODEL_VARIABLES && m->kind->variables[i][0]; i++)
        if (strcmp(m->kind->variables[i][0], name) == 0)
            return m->values[i];
    return NULL;
}

static int transmit(void *context,
                    const struct http_request *r,
                    struct http_answer *out,
                    struct err *e)
{
    struct cloud_model *m = context;
    bool is_last = ++m->calls == m->kill_at;

    *m->now_ms += CALL_MS;
    if (m->see)
        m->see(m->context, r);
    if (is_last && !m->kill_after)
        raise(SIGKILL);
    int result = http_send(client(m), r, out, e);
    if (is_last)
        raise(SIGKILL);
    if (result == 0 && http_answer_header(out, "x-model-hang")) {
        http_answer_clear(out);
        *m->now_ms += HANG_MS;
        return err_set(e, ERR_RETRY, "no answer within 60 s");
    }
    return result;
}

struct cloud_options cloud_model_options(struct cloud_model *m, const char *home, const char *owner)
{
    return (struct cloud_options){
        .name = m->kind->driver,
        .home = home,
        .owner = owner,
        .region = m->kind->region,
        .key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGVyIGtleSBvZiB0aGUgaG9tZSBpcyBoZXJl tradewind",
        .now_ms = cloud_model_now,
        .context = m,
        .outside = {transmit, wait_virtually, variable, m},
    };
}
