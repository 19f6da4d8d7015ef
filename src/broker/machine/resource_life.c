/* Deploys, destroys and cleans up functions: each step is recorded before it is taken. Operations
 * call it; resources.h declares the functions. */
#include "base/mem.h"
#include "broker/machine/resources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a platform at hand ---- */

/* The platform of the resource before, most often. */
struct hand {
    struct resource_party *party;
    struct deploy *deploy; /* NULL = none */
    char cloud[16], region[64];
};

static void hand_clear(struct hand *h)
{
    deploy_free(h->deploy);
    h->deploy = NULL;
}

static struct deploy *reach(struct hand *h, const char *cloud, const char *region, struct err *e)
{
    struct deploy_options options = h->party->options;

    if (h->deploy && strcmp(h->cloud, cloud) == 0 && strcmp(h->region, region) == 0)
        return h->deploy;
    hand_clear(h);
    snprintf(h->cloud, sizeof h->cloud, "%s", cloud);
    snprintf(h->region, sizeof h->region, "%s", region);
    options.cloud = h->cloud;
    options.region = h->region;
    options.owner = machines_owner(h->party->records);
    h->deploy = deploy_open(&options, e);
    return h->deploy;
}

/* ---- the watch of the party, with a note ---- */

static int note(void *context, const struct deploy_resource *r, struct err *e)
{
    const struct resource_party *p = context;

    return deployed_note(p->records, r, e);
}

static int tell(void *context, const struct deploy_resource *r, const char *done, struct err *e)
{
    const struct deploy_watch *w = &((const struct resource_party *)context)->watch;

    return w->tell ? w->tell(w->context, r, done, e) : 0;
}

static void status(void *context, const char *verb, const struct deploy_resource *r)
{
    const struct deploy_watch *w = &((const struct resource_party *)context)->watch;

    if (w->status)
        w->status(w->context, verb, r);
}

static bool cancelled(void *context)
{
    const struct deploy_watch *w = &((const struct resource_party *)context)->watch;

    return w->cancelled && w->cancelled(w->context);
}

static int call(void *context, const char *line, struct err *e)
{
    const struct deploy_watch *w = &((const struct resource_party *)context)->watch;

    return w->call(w->context, line, e);
}

static struct deploy_watch watch_of(struct resource_party *p)
{
    return (struct deploy_watch){note, tell, status, cancelled, p->watch.call ? call : NULL, p};
}

/* ---- deploying ---- */

void resource_party_clear(struct resource_party *p)
{
    free(p->wanted);
    p->wanted = NULL;
    p->n_wanted = p->cap_wanted = 0;
}

static void want(struct resource_party *p, struct deploy *d, const struct deploy_function *f)
{
    struct deploy_resource all[DEPLOY_KINDS_MAX];
    size_t n = deploy_resources(d, f, all);

    for (size_t i = 0; i < n; i++) {
        p->wanted = mem_room(p->wanted, p->n_wanted, &p->cap_wanted, sizeof *p->wanted);
        p->wanted[p->n_wanted++] = all[i];
    }
}

static bool is_wanted(const struct resource_party *p, const struct deploy_resource *r)
{
    for (size_t i = 0; i < p->n_wanted; i++) {
        const struct deploy_resource *x = &p->wanted[i];
        if (strcmp(x->cloud, r->cloud) == 0 && strcmp(x->region, r->region) == 0 &&
            strcmp(x->kind, r->kind) == 0 && strcmp(x->name, r->name) == 0 &&
            strcmp(x->parent, r->parent) == 0)
            return true;
    }
    return false;
}

int deployed_deploy(struct resource_party *p,
                    const char *cloud,
                    const char *region,
                    const struct deploy_function *f,
                    struct err *e)
{
    AUTO_CLEAR(hand) struct hand h = {.party = p};
    const struct deploy_watch w = watch_of(p);
    struct deploy *d = reach(&h, cloud, region, e);
    struct cloud_error why;

    if (!d)
        return -1;
    if (deploy_apply(d, f, &w, &why) < 0)
        return err_set(e, why.err.kind, "%s", why.err.text);
    want(p, d, f);
    return 0;
}

/* ---- destroying ---- */

struct destroying {
    struct hand hand;
    struct deploy_watch watch;
    bool is_pruning;
    size_t failed;
    struct err first;
};

static int destroy_one(void *context, const struct deploy_resource *r, struct err *e)
{
    struct destroying *x = context;
    struct cloud_error why = {0};

    if (x->is_pruning && is_wanted(x->hand.party, r))
        return 0;
    if (cancelled(x->hand.party))
        return err_set(e, ERR_RETRY, "interrupted");
    struct deploy *d = reach(&x->hand, r->cloud, r->region, &why.err);
    if (d && deploy_remove(d, r, &x->watch, &why) == 0)
        return 0;
    if (!x->failed++)
        x->first = why.err;
    return 0;
}

static int destroy(struct resource_party *p, const char *deployment, bool prunes, struct err *e)
{
    struct destroying x = {.hand = {.party = p}, .watch = watch_of(p), .is_pruning = prunes};
    int result = deployed_each(p->records, deployment, destroy_one, &x, e);

    hand_clear(&x.hand);
    if (result == 0 && x.failed > 1)
        return err_set(e, x.first.kind, "%s (and %zu more)", x.first.text, x.failed - 1);
    return result == 0 && x.failed ? err_set(e, x.first.kind, "%s", x.first.text) : result;
}

int deployed_destroy(struct resource_party *p, const char *deployment, struct err *e)
{
    return destroy(p, deployment, false, e);
}

int deployed_prune(struct resource_party *p, const char *deployment, struct err *e)
{
    return destroy(p, deployment, true, e);
}

/* ---- orphaned resources ---- */

const char *resource_finding_text(enum resource_finding finding)
{
    static const char *const texts[] = {
        "", [RESOURCE_ORPHAN] = "no record of it", [RESOURCE_LEAVING] = "being deleted"};

    return texts[finding];
}

struct cleaning {
    struct hand hand;
    struct deploy_watch watch;
    struct resource_cleanup *how;
    struct deploy_resource *orphans; /* of the region at hand */
    size_t n, cap;
    size_t failed; /* regions */
    struct err first;
};

static int clean_one(struct cleaning *x,
                     const struct deploy_resource *r,
                     enum resource_finding finding,
                     struct err *e)
{
    struct cloud_error why = {0};
    struct deploy *d;

    if (x->how->dry_run) {
        x->how->open++;
        return x->how->tell ? x->how->tell(x->how->context, r, finding, NULL, e) : 0;
    }
    if (cancelled(x->hand.party))
        return err_set(e, ERR_RETRY, "interrupted");
    d = reach(&x->hand, r->cloud, r->region, &why.err);
    bool is_gone = d && deploy_remove(d, r, &x->watch, &why) == 0;
    x->how->open += !is_gone;
    return x->how->tell
               ? x->how->tell(x->how->context, r, finding, is_gone ? NULL : why.err.text, e)
               : 0;
}

static int clean_leaving(void *context, const struct deploy_resource *r, struct err *e)
{
    return r->state == DEPLOY_DELETING ? clean_one(context, r, RESOURCE_LEAVING, e) : 0;
}

static int keep_orphan(void *context, const struct deploy_resource *r, struct err *e)
{
    struct cleaning *x = context;
    struct deploy_resource record;
    int found = deployed_get(x->hand.party->records, r, &record, e);

    if (found < 0 || (found && record.state != DEPLOY_GONE))
        return found < 0 ? -1 : 0;
    x->orphans = mem_room(x->orphans, x->n, &x->cap, sizeof *x->orphans);
    x->orphans[x->n++] = *r;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct deploy_resource *x = a, *y = b;

    return deploy_rank(y->cloud, y->kind) - deploy_rank(x->cloud, x->kind);
}

static int clean_region(void *context, const struct deploy_resource *region, struct err *e)
{
    struct cleaning *x = context;
    struct cloud_error why = {0};
    struct deploy *d = reach(&x->hand, region->cloud, region->region, &why.err);

    x->n = 0;
    if (!d || deploy_list(d, keep_orphan, x, &why) < 0) {
        if (!x->failed++)
            x->first = why.err;
        return 0;
    }
    if (x->n)
        qsort(x->orphans, x->n, sizeof *x->orphans, compare);
    for (size_t i = 0; i < x->n; i++)
        if (clean_one(x, &x->orphans[i], RESOURCE_ORPHAN, e) < 0)
            return -1;
    return 0;
}

int deployed_cleanup(struct resource_party *p, struct resource_cleanup *how, struct err *e)
{
    struct cleaning x = {.hand = {.party = p}, .watch = watch_of(p), .how = how};

    how->open = 0;
    int result = deployed_each(p->records, NULL, clean_leaving, &x, e);
    if (result == 0)
        result = deployed_each_region(p->records, clean_region, &x, e);
    hand_clear(&x.hand);
    free(x.orphans);
    return result == 0 && x.failed ? err_set(e, x.first.kind, "%s", x.first.text) : result;
}
