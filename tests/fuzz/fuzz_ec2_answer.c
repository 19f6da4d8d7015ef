/* Any answer of EC2 to any call of the driver: a verdict with words and a kind that fit it. */
#include "base/mem.h"
#include "cloud/cloud.h"
#include "net/http.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tape {
    const uint8_t *bytes;
    size_t n;
    int status;
    int64_t now_ms;
};

static int replay(void *context,
                  const struct http_request *r,
                  struct http_answer *out,
                  struct err *e)
{
    struct tape *t = context;

    (void)r;
    (void)e;
    t->now_ms += 1000;
    *out = (struct http_answer){.status = t->status, .body_bytes = t->n};
    out->body = mem_zero(t->n + 1, 1);
    memcpy(out->body, t->bytes, t->n);
    return 0;
}

static void pass(void *context, double seconds)
{
    ((struct tape *)context)->now_ms += (int64_t)(seconds * 1000) + 1;
}

static const char *variable(void *context, const char *name)
{
    (void)context;
    return strncmp(name, "AWS_ACCESS_KEY_ID", 17) == 0 || strncmp(name, "AWS_SECRET", 10) == 0
               ? "key"
               : NULL;
}

static int64_t now_ms(void *context)
{
    return ((const struct tape *)context)->now_ms;
}

static int see_machine(void *context, const struct cloud_machine *m, struct err *e)
{
    (void)context;
    (void)e;
    assert(*m->token && m->launched_ms > 0);
    return 0;
}

static int see_finding(void *context, const struct cloud_finding *f, struct err *e)
{
    (void)context;
    (void)e;
    assert(*f->what && f->found && f->fix);
    return 0;
}

/* The first two bytes choose call and status, the rest is every answer's body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 200, 200, 301, 400, 401, 403, 412, 429, 500, 502, 503};
    struct cloud_machine m;
    struct cloud_error e = {0};
    int result;

    if (size < 2)
        return 0;
    struct tape t = {data + 2, size - 2, statuses[data[1] % (sizeof statuses / sizeof(int))],
                     1700000000000};
    const struct cloud_options o = {.name = "aws",
                                    .home = "/nonexistent",
                                    .owner = "me",
                                    .region = "us-east-1",
                                    .key = "ssh-ed25519 AAAA",
                                    .admit = "192.0.2.1/32",
                                    .now_ms = now_ms,
                                    .context = &t,
                                    .outside = {replay, pass, variable, &t}};
    AUTO(cloud) struct cloud *c = cloud_open(&o, NULL);
    assert(c);
    const struct cloud_request q = {
        .token = "t", .instance_type = "m5.xlarge", .spot = data[0] & 8, .cpus = 1};
    switch (data[0] % 6) {
    case 0:
        result = cloud_look(c, "t", &m, &e);
        break;
    case 1:
        result = cloud_list(c, see_machine, NULL, &e);
        break;
    case 2:
        result = cloud_terminate(c, "t", &e);
        break;
    case 3:
        result = cloud_launch(c, &q, &m, &e);
        break;
    case 4:
        result = cloud_clean(c, false, NULL, NULL, &e);
        break;
    default:
        result = cloud_check(c, see_finding, NULL, &e);
    }
    assert((result < 0) == (e.failure != CLOUD_FINE));
    assert((result < 0) == (e.err.kind != ERR_NONE) && (result < 0) == (*e.err.text != 0));
    return 0;
}
