#include "app/job/gpus.h"

#include "base/mem.h"
#include "broker/daemon/host.h"
#include "catalog/catalog.h"

#include <stdint.h>
#include <string.h>

#define SHOWN_BYTES 300
#define HOLDERS_BYTES 600

void app_job_gpus_set(const struct app_job_gpus *from, struct job_details *d)
{
    d->gpus = from->gpus;
    d->gpu_type = from->gpu_type;
    d->devices = from->devices;
    d->n_devices = from->n_devices;
}

/* ---- this machine ---- */

static bool keep_looking(void *context)
{
    const struct app *const *app = context;

    app_status(*app, "looking for GPUs");
    return !app_cancelled(*app);
}

void app_job_gpus_find(const struct app *app, struct gpus *out)
{
    const char *cuda = app_variable(app, "CUDA_VISIBLE_DEVICES");
    size_t all;

    gpus_find(out, cuda && strstr(cuda, "GPU-"), keep_looking, &app);
    all = out->n;
    gpus_narrow(out, "nvidia", cuda);
    gpus_narrow(out, "amd", app_variable(app, "HIP_VISIBLE_DEVICES"));
    if (out->n < all)
        snprintf(out->trouble, sizeof out->trouble,
                 "CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES leaves %zu of %zu", out->n, all);
}

static const char *nodes_text(unsigned nodes, char out[static 40])
{
    out[0] = '\0';
    if (nodes > 1)
        snprintf(out, 40, " for each of %u nodes", nodes);
    return out;
}

int app_job_gpus_here(const struct gpus *here,
                      const struct gpus_wish *wish,
                      unsigned nodes,
                      struct arena *arena,
                      struct app_job_gpus *out,
                      struct err *e)
{
    struct gpus fitting = *here;
    char asked[80], each[40];

    *out = (struct app_job_gpus){.gpus = wish->n, .gpu_type = arena_dup(arena, wish->type)};
    if (wish->n == 0)
        return 0;
    if (!gpus_choose(&fitting, wish, nodes)) {
        AUTO_CLEAR(buf) struct buf has;
        buf_init(&has, SHOWN_BYTES);
        gpus_put(here, &has);
        return err_set(e, ERR_NOFIT, "%s%s: this machine has %s", gpus_wish_text(wish, asked),
                       nodes_text(nodes, each), buf_str(&has));
    }
    const char **devices = arena_alloc(arena, fitting.n + 1, sizeof *devices);
    for (size_t i = 0; devices && i < fitting.n; i++)
        devices[i] = arena_dup(arena, gpus_text(&fitting.list[i]).text);
    out->devices = devices;
    out->n_devices = fitting.n;
    return devices && devices[fitting.n - 1] ? 0 : err_set(e, ERR_NOFIT, "too many GPUs");
}

int app_job_gpus_read(const struct app *app,
                      const char *text,
                      unsigned nodes,
                      const struct answer *answer,
                      struct app_job_gpus *out,
                      struct err *e)
{
    struct gpus here = {.n = 0};
    struct gpus_wish wish;
    char option[64];

    *out = (struct app_job_gpus){0};
    if (!text)
        return 0;
    const char *spelled = answer_spell(answer, "gpus", option);
    if (gpus_wish_read(text, &wish, e) < 0)
        return err_wrap(e, "%s", spelled);
    if (wish.n)
        app_job_gpus_find(app, &here);
    return app_job_gpus_here(&here, &wish, nodes, answer->arena, out, e) < 0
               ? err_wrap(e, "%s", spelled)
               : 0;
}

int app_job_gpus_again(const struct app *app,
                       const struct job_details *d,
                       struct arena *arena,
                       struct app_job_gpus *out,
                       struct err *e)
{
    struct gpus_wish wish = {.n = d->gpus};
    struct gpus here;

    *out = (struct app_job_gpus){d->gpus, d->gpu_type, d->devices, d->n_devices};
    if (!d->gpus || strcmp(d->on, "local") != 0)
        return 0;
    snprintf(wish.type, sizeof wish.type, "%s", d->gpu_type);
    app_job_gpus_find(app, &here);
    return app_job_gpus_here(&here, &wish, d->nodes, arena, out, e);
}

/* ---- hosts ---- */

static bool is_large_enough(const struct config_host *h, const struct app_job_gpus_order *o)
{
    return (h->cpus <= 0 || o->cpus <= h->cpus) &&
           (h->memory_gb <= 0 || (double)o->memory_mb <= h->memory_gb * 1024);
}

/* Hosts of the group that have what is wished, of the type as `like` spells it (NULL: of any). */
static unsigned count_hosts(const struct config *c,
                            const struct app_job_gpus_order *o,
                            const char *like)
{
    unsigned n = 0;

    for (size_t i = 0; i < c->n_hosts; i++) {
        const struct config_host *h = &c->hosts[i];
        bool is_in = !strcmp(o->on, HOST_ANY) || !strcmp(h->pool, o->on);
        bool is_type = !like || (h->accelerator && !strcmp(h->accelerator, like));
        n += is_in && is_type && h->accelerator && h->accelerators >= o->wish.n &&
             is_large_enough(h, o);
    }
    return n;
}

int app_job_gpus_hosts(const struct config *c,
                       const struct app_job_gpus_order *order,
                       struct arena *arena,
                       struct app_job_gpus *out,
                       struct err *e)
{
    const struct gpus_wish *wish = &order->wish;
    char asked[80], each[40];

    *out = (struct app_job_gpus){.gpus = wish->n, .gpu_type = ""};
    if (wish->n == 0 || (!wish->type[0] && count_hosts(c, order, NULL) >= order->nodes))
        return 0;
    for (size_t i = 0; wish->type[0] && i < c->n_hosts; i++) {
        const char *type = c->hosts[i].accelerator;
        if (type && catalog_same_accelerator(wish->type, type) &&
            count_hosts(c, order, type) >= order->nodes) {
            out->gpu_type = arena_dup(arena, type);
            return 0;
        }
    }
    return err_set(e, ERR_NOFIT,
                   "%s%s: the hosts of %.60s do not have them (accelerators: in %s), or too few "
                   "CPUs or too little memory beside them",
                   gpus_wish_text(wish, asked), nodes_text(order->nodes, each), order->on, c->file);
}

/* ---- waiting ---- */

struct holders {
    const struct job_details *d;
    struct buf text;
    bool taken[GPUS_LISTED_MAX]; /* of the GPUs in d */
};

static size_t n_devices(const struct job_details *d)
{
    return d->n_devices < GPUS_LISTED_MAX ? d->n_devices : GPUS_LISTED_MAX;
}

static int note_holder(void *context, const struct lake_job *job, struct err *e)
{
    struct holders *h = context;
    bool holds = false;

    (void)e;
    for (size_t i = 0; i < n_devices(h->d); i++)
        if (gpus_has(job->devices, h->d->devices[i]))
            h->taken[i] = holds = true;
    if (holds)
        buf_printf(&h->text, "%sjob %lld holds %s", h->text.len ? ", " : "", (long long)job->id,
                   job->devices);
    return 0;
}

static bool has_enough(const struct holders *h)
{
    const struct gpus_wish wish = {.n = h->d->gpus};
    struct gpus left = {.n = 0};

    for (size_t i = 0; i < n_devices(h->d); i++)
        if (!h->taken[i])
            snprintf(left.list[left.n++].name, sizeof left.list->name, "%s",
                     gpus_type_of(h->d->devices[i]));
    return gpus_choose(&left, &wish, h->d->nodes);
}

int app_job_gpus_wait_text(struct app *app,
                           const struct job_details *d,
                           struct arena *arena,
                           const char **out,
                           struct err *e)
{
    const struct lake_job_filter holding = {
        .states = 1U << LAKE_JOB_LAUNCHING | 1U << LAKE_JOB_FETCHING | 1U << LAKE_JOB_RUNNING};
    struct gpus_wish wish = {.n = d->gpus};
    struct holders h = {.d = d};
    char asked[80], each[40];

    *out = NULL;
    if (!d->gpus || strcmp(d->on, "local") != 0)
        return 0;
    buf_init(&h.text, HOLDERS_BYTES);
    snprintf(wish.type, sizeof wish.type, "%s", d->gpu_type);
    int result = lake_job_list(app_lake(app, e), &holding, note_holder, &h, e);
    if (result == 0 && !has_enough(&h))
        *out = arena_printf(arena, "waits for %s%s: %s", gpus_wish_text(&wish, asked),
                            nodes_text(d->nodes, each), buf_str(&h.text));
    buf_clear(&h.text);
    return result;
}
