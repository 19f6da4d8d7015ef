#include "world.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOKENS_MAX 4096

struct cloud_error world_error;

static int64_t now_ms(void *context)
{
    return ((const struct world *)context)->now_ms;
}

void world_init(struct world *w, const char *driver)
{
    const char *tmp = getenv("TMPDIR");

    *w = (struct world){.now_ms = BEGIN_MS};
    snprintf(w->home, sizeof w->home, "%s/tradewind-cloud-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(w->home)) {
        perror(w->home);
        exit(EXIT_FAILURE);
    }
    w->options = (struct cloud_options){.name = driver,
                                        .home = w->home,
                                        .owner = "me",
                                        .seed = 1,
                                        .boot_s = 60,
                                        .now_ms = now_ms,
                                        .context = w};
}

void world_clear(struct world *w)
{
    file_remove_tree(w->home);
}

struct cloud *world_open(struct world *w)
{
    struct err e = {0};
    struct cloud *c = cloud_open(&w->options, &e);

    if (!c)
        printf("# %s\n", e.text);
    return c;
}

const char *world_file(const struct world *w, const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/clouds/%s/%s", w->home, w->options.name, name);
    return path;
}

struct cloud_request world_request(const char *token)
{
    return (struct cloud_request){.token = token,
                                  .run = 3,
                                  .job = 17,
                                  .expires_ms = BEGIN_MS + DAY_MS,
                                  .provider = "aws",
                                  .region = "us-east-1",
                                  .zone = "us-east-1a",
                                  .instance_type = "p3.2xlarge",
                                  .max_price_usd_per_hour = (double)INFINITY,
                                  .price_usd_per_hour = 3.06,
                                  .cpus = 8,
                                  .memory_gb = 61,
                                  .accelerator = "V100",
                                  .accelerators = 1};
}

/* Every failure has its text, and the kind of error that goes with it or the one it came from. */
static enum cloud_failure outcome(int result)
{
    if ((result < 0) != (world_error.failure != CLOUD_FINE) ||
        (result < 0) != (world_error.err.kind != ERR_NONE) ||
        (result < 0) != (world_error.err.text[0] != 0)) {
        printf("Bail out! -1, failure and error do not go together\n");
        exit(EXIT_FAILURE);
    }
    return world_error.failure;
}

enum cloud_failure launch_as(struct cloud *c,
                             const struct cloud_request *request,
                             struct cloud_machine *out)
{
    world_error.err = (struct err){0};
    return outcome(cloud_launch(c, request, out, &world_error));
}

enum cloud_failure launch(struct cloud *c, const char *token, struct cloud_machine *out)
{
    struct cloud_request request = world_request(token);

    return launch_as(c, &request, out);
}

enum cloud_failure look(struct cloud *c, const char *token, struct cloud_machine *out)
{
    world_error.err = (struct err){0};
    return outcome(cloud_look(c, token, out, &world_error));
}

enum cloud_failure terminate(struct cloud *c, const char *token)
{
    world_error.err = (struct err){0};
    return outcome(cloud_terminate(c, token, &world_error));
}

struct tokens {
    char items[TOKENS_MAX][65];
    size_t n;
};

static int add_token(void *context, const struct cloud_machine *m, struct err *e)
{
    struct tokens *t = context;

    (void)e;
    if (t->n < TOKENS_MAX)
        memcpy(t->items[t->n++], m->token, sizeof m->token);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

const char *listed(struct cloud *c)
{
    static struct tokens t;
    static char text[TOKENS_MAX * 66];
    size_t at = 0;

    t.n = 0;
    world_error.err = (struct err){0};
    if (outcome(cloud_list(c, add_token, &t, &world_error)) != CLOUD_FINE)
        return "failed";
    qsort(t.items, t.n, sizeof *t.items, by_text);
    text[0] = 0;
    for (size_t i = 0; i < t.n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s ", t.items[i]);
    return text;
}

int world_fork(int n, int (*work)(void *context, int number), void *context)
{
    int failed = 0;

    fflush(stdout);
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(work(context, i) ? 1 : 0);
        failed += pid < 0;
    }
    for (;;) {
        int status;
        if (wait(&status) < 0)
            return failed;
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
}
