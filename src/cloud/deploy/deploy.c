#include "cloud/deploy/deploy.h"

#include "base/mem.h"
#include "cloud/deploy/driver.h"
#include "cloud/driver.h"
#include "cloud/retry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A resource that is not ready, or not gone, after that long needs a person. */
#define DEADLINE_MS ((int64_t)10 * 60 * 1000)
/* Calls that fail in a way that may pass, each sent several times already. */
#define FAILURES_MAX 8
#define WAIT_FIRST_S 2.0
#define WAIT_MOST_S 15.0

static const struct deploy_platform *const platforms[] = {&deploy_aws, &deploy_google,
                                                          &deploy_azure};

const char *deploy_state_text(enum deploy_state state)
{
    static const char *const texts[] = {"", "intended", "made", "deleting", "gone"};

    return texts[state];
}

static const struct deploy_platform *find_platform(const char *cloud)
{
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++)
        if (strcmp(platforms[i]->cloud, cloud) == 0)
            return platforms[i];
    return NULL;
}

static const struct deploy_kind *find_kind(const struct deploy_platform *p, const char *name)
{
    for (size_t i = 0; i < p->n_kinds; i++)
        if (strcmp(p->kinds[i].name, name) == 0)
            return &p->kinds[i];
    return NULL;
}

int deploy_rank(const char *cloud, const char *kind)
{
    const struct deploy_platform *p = find_platform(cloud);
    const struct deploy_kind *k = p ? find_kind(p, kind) : NULL;

    return k ? (int)(k - p->kinds) : -1;
}

/* ---- opening ---- */

struct deploy *deploy_open(const struct deploy_options *options, struct err *e)
{
    const struct deploy_platform *platform = find_platform(options->cloud);

    if (!platform) {
        err_set(e, ERR_USAGE, "no functions are deployed at %.40s; clouds are " DEPLOY_PLATFORMS,
                options->cloud);
        return NULL;
    }
    AUTO(deploy) struct deploy *d = mem_zero(1, sizeof *d);
    d->platform = platform;
    d->options = *options;
    if (platform->open(d, e) < 0)
        return NULL;
    return TAKE(d);
}

void deploy_free(struct deploy *d)
{
    if (!d)
        return;
    d->platform->close(d);
    free(d);
}

/* ---- for platforms ---- */

/* Overwrites the secret wherever it stands. */
static void mask(char *text, const char *secret)
{
    size_t n = secret ? strlen(secret) : 0;

    for (char *at = text; n && (at = strstr(at, secret)); at += n)
        memset(at, '*', n);
}

int deploy_show(struct deploy *d,
                const char *method,
                const char *url,
                const json_t *body,
                struct cloud_error *e)
{
    if (!deploy_is_dry(d))
        return 0;
    AUTO_MEM char *text = body ? json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    AUTO_MEM char *line = mem_printf("%s %s%s%s", method, url, text ? " " : "", text ? text : "");
    mask(line, d->secret);
    return d->watch->call(d->watch->context, line, &e->err) < 0 ? -1 : 1;
}

struct deploy_resource deploy_resource_of(const struct deploy *d,
                                          const char *kind,
                                          const char *name,
                                          const char *parent,
                                          const char *deployment)
{
    struct deploy_resource r = {0};

    snprintf(r.cloud, sizeof r.cloud, "%s", d->platform->cloud);
    snprintf(r.region, sizeof r.region, "%s", d->options.region);
    snprintf(r.kind, sizeof r.kind, "%s", kind);
    snprintf(r.name, sizeof r.name, "%s", name);
    snprintf(r.parent, sizeof r.parent, "%s", parent);
    snprintf(r.deployment, sizeof r.deployment, "%s", deployment);
    return r;
}

bool deploy_is_ours(const struct deploy *d, const char *name)
{
    size_t n = strlen(d->options.owner);

    return strncmp(name, d->options.owner, n) == 0 && name[n] == '-';
}

size_t deploy_resources(struct deploy *d,
                        const struct deploy_function *f,
                        struct deploy_resource out[static DEPLOY_KINDS_MAX])
{
    const struct deploy_platform *p = d->platform;

    for (size_t i = 0; i < p->n_kinds; i++) {
        out[i] = deploy_resource_of(d, p->kinds[i].name, f->name, "", f->deployment);
        p->kinds[i].identify(d, f, &out[i]);
    }
    return p->n_kinds;
}

/* ---- one resource ---- */

/* A resource on its way to what is wanted, or to nothing. */
struct work {
    struct deploy *d;
    const struct deploy_kind *kind;
    const struct deploy_function *f; /* NULL: it goes */
    struct deploy_resource r;
    int64_t until_ms;
    double wait_s;
    unsigned failures;
};

bool deploy_is_dry(const struct deploy *d)
{
    return d->watch && d->watch->call;
}

static int note(struct work *x, enum deploy_state state, struct cloud_error *e)
{
    const struct deploy_watch *w = x->d->watch;

    x->r.state = state;
    if (!w || !w->note || deploy_is_dry(x->d))
        return 0;
    return w->note(w->context, &x->r, &e->err);
}

static int tell(struct work *x, const char *done, struct cloud_error *e)
{
    const struct deploy_watch *w = x->d->watch;

    return w && w->tell && !deploy_is_dry(x->d) ? w->tell(w->context, &x->r, done, &e->err) : 0;
}

static void say(struct work *x, const char *verb)
{
    const struct deploy_watch *w = x->d->watch;

    if (w && w->status && !deploy_is_dry(x->d))
        w->status(w->context, verb, &x->r);
}

static int check_cancelled(const struct work *x, struct cloud_error *e)
{
    const struct deploy_watch *w = x->d->watch;

    if (!w || !w->cancelled || !w->cancelled(w->context))
        return 0;
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_ACCOUNT, "interrupted");
}

static int wait_more(struct work *x, struct cloud_error *e)
{
    if (cloud_now_ms(x->d->cloud) >= x->until_ms)
        return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "it is not %s after %d minutes",
                          x->f ? "ready" : "confirmed to be gone", (int)(DEADLINE_MS / 60000));
    if (check_cancelled(x, e) < 0)
        return -1;
    cloud_wait(x->d->cloud, x->wait_s);
    x->wait_s = fmin(x->wait_s * 1.5, WAIT_MOST_S);
    return 0;
}

/* 0: the failure may pass, or is one that the next look judges, and some time has passed. */
static int bear(struct work *x, struct cloud_error *e)
{
    bool may_pass = e->failure == CLOUD_THROTTLE || e->failure == CLOUD_TRANSIENT ||
                    e->failure == CLOUD_UNKNOWN || e->failure == CLOUD_CONFLICT;

    if (!may_pass || ++x->failures > FAILURES_MAX)
        return -1;
    struct cloud_error why = *e;
    if (wait_more(x, &why) < 0)
        return -1;
    *e = (struct cloud_error){0};
    return 0;
}

static int act(struct work *x, enum deploy_found found, struct cloud_error *e)
{
    if (!x->f)
        return x->kind->remove(x->d, &x->r, e);
    if (found == DEPLOY_ABSENT || !x->kind->change)
        return x->kind->make(x->d, &x->r, x->f, e);
    return x->kind->change(x->d, &x->r, x->f, e);
}

/* Until a look finds what is wanted. */
static int pursue(struct work *x, const char **done, struct cloud_error *e)
{
    enum deploy_found wanted = x->f ? DEPLOY_SAME : DEPLOY_ABSENT, found;

    x->until_ms = cloud_now_ms(x->d->cloud) + DEADLINE_MS;
    x->wait_s = WAIT_FIRST_S;
    *done = x->f ? "unchanged" : "absent";
    for (bool acted = false;;) {
        if (x->kind->look(x->d, &x->r, x->f, &found, e) < 0)
            return -1;
        if (found == wanted || (acted && deploy_is_dry(x->d)))
            return 0;
        if (found == DEPLOY_PENDING && !deploy_is_dry(x->d)) {
            if (wait_more(x, e) < 0)
                return -1;
            continue;
        }
        if (check_cancelled(x, e) < 0)
            return -1;
        if (!acted) {
            say(x, !x->f ? "deleting" : found == DEPLOY_ABSENT ? "creating" : "updating");
            *done = !x->f ? "deleted" : found == DEPLOY_ABSENT ? "created" : "updated";
            if (x->f && note(x, DEPLOY_INTENDED, e) < 0)
                return -1;
        } else if (wait_more(x, e) < 0) {
            return -1;
        }
        acted = true;
        if (act(x, found, e) < 0 && (deploy_is_dry(x->d) || bear(x, e) < 0))
            return -1;
    }
}

static int finish(struct work *x, struct cloud_error *e)
{
    const char *done;

    /* Also what the record calls gone may be there, after a kill. */
    if ((!x->f && note(x, DEPLOY_DELETING, e) < 0) || pursue(x, &done, e) < 0 ||
        note(x, x->f ? DEPLOY_MADE : DEPLOY_GONE, e) < 0 || tell(x, done, e) < 0)
        return err_wrap(&e->err, "%s %s/%s: %s %s", x->f ? "deploy" : "delete", x->r.cloud,
                        x->r.region, x->r.kind, x->r.name);
    return 0;
}

/* ---- all of a function ---- */

/* What a platform did not class is told by its kind. */
static int failed(struct cloud_error *e)
{
    if (e->failure == CLOUD_FINE)
        e->failure = e->err.kind == ERR_USAGE ? CLOUD_INVALID : CLOUD_TRANSIENT;
    return -1;
}

int deploy_apply(struct deploy *d,
                 const struct deploy_function *f,
                 const struct deploy_watch *w,
                 struct cloud_error *e)
{
    struct deploy_resource all[DEPLOY_KINDS_MAX];
    size_t n = deploy_resources(d, f, all);

    *e = (struct cloud_error){0};
    d->watch = w;
    d->secret = f->token.hidden;
    for (size_t i = 0; i < n; i++) {
        struct work x = {.d = d, .kind = &d->platform->kinds[i], .f = f, .r = all[i]};
        if (finish(&x, e) < 0)
            return failed(e);
    }
    return 0;
}

int deploy_remove(struct deploy *d,
                  const struct deploy_resource *r,
                  const struct deploy_watch *w,
                  struct cloud_error *e)
{
    struct work x = {.d = d, .kind = find_kind(d->platform, r->kind), .r = *r};

    *e = (struct cloud_error){0};
    d->watch = w;
    if (!x.kind)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "%s has no %s", r->cloud, r->kind);
    return finish(&x, e) < 0 ? failed(e) : 0;
}

int deploy_list(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e)
{
    *e = (struct cloud_error){0};
    d->watch = NULL;
    return d->platform->list(d, visit, context, e) < 0 ? failed(e) : 0;
}
