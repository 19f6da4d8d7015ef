/* settings: the program of an aggregator and the settings it is given, wherever it runs. */
#include "app/geo/internal.h"
#include "base/buf.h"
#include "base/mem.h"

#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#define LIST_MAX ((size_t)1 << 20)

char *app_geo_find(
    const struct app *app, const char *name, const char *variable, const char *fix, struct err *e)
{
    const char *told = app_variable(app, variable);
    char self[PATH_MAX];

    if (told && *told)
        return mem_dup(told);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    const char *here = dirname(self);
    AUTO_MEM char *beside = mem_printf("%s/%s", here, name);
    AUTO_MEM char *libexec = mem_printf("%s/../libexec/%s", here, name);
    if (access(beside, R_OK) == 0)
        return TAKE(beside);
    if (access(libexec, R_OK) == 0)
        return TAKE(libexec);
    err_set(e, ERR_NOTFOUND, "%s is neither in %s nor in %s/../libexec: %s or set %s to its path",
            name, here, here, *fix ? fix : "install it", variable);
    return NULL;
}

struct putting {
    void (*put)(void *context, const char *name, const char *value);
    void *context;
};

static void put(const struct putting *p, const char *name, const char *value)
{
    if (value && *value)
        p->put(p->context, name, value);
}

static void put_number(const struct putting *p, const char *name, double value)
{
    AUTO_MEM char *text = mem_printf("%.15g", value);

    put(p, name, text);
}

static void put_fanout(const struct putting *p, const struct app_geo_aggregator *a)
{
    AUTO_CLEAR(buf) struct buf list;

    buf_init(&list, LIST_MAX);
    for (size_t i = 0; i < a->n_fanout; i++)
        buf_printf(&list, "%s%s|%s|%s", i ? "," : "", a->fanout[i].url, a->fanout[i].endpoint,
                   a->fanout[i].region);
    put(p, "TRADEWIND_FANOUT", buf_str(&list));
}

void app_geo_aggregator_settings(const struct app_geo_run *g,
                                 size_t i,
                                 void (*each)(void *context, const char *name, const char *value),
                                 void *context)
{
    const struct putting p = {each, context};
    const struct app_geo_aggregator *a = &g->aggregators[i];
    const struct app_geo_aggregator *up = a->up ? &g->aggregators[*a->up] : NULL;

    put(&p, "TRADEWIND_STORE", a->in.url);
    put(&p, "TRADEWIND_STORE_ENDPOINT", a->in.endpoint);
    put(&p, "TRADEWIND_STORE_REGION", a->in.region);
    put_number(&p, "TRADEWIND_WORKERS", a->workers);
    /* The mean of a region counts with the number of its workers (or samples). */
    bool is_of_means = !a->up && g->n_aggregators > 1;
    put(&p, "TRADEWIND_WEIGHTED", g->geo.spec->weighted || is_of_means ? "1" : "");
    /* Every region is needed, as in the model. */
    if (g->geo.spec->quorum < 1 && (a->up || g->n_aggregators == 1))
        put_number(&p, "TRADEWIND_QUORUM", g->geo.spec->quorum);
    else if (g->geo.spec->quorum < 1)
        put(&p, "TRADEWIND_KEEP_MEANS", "1"); /* late workers read here, too */
    if (up) {
        put(&p, "TRADEWIND_UP_STORE", up->in.url);
        put(&p, "TRADEWIND_UP_ENDPOINT", up->in.endpoint);
        put(&p, "TRADEWIND_UP_REGION", up->in.region);
        put_number(&p, "TRADEWIND_UP_WORKER", a->up_worker);
        put(&p, "TRADEWIND_UP_EVENT_URL", up->event_url);
    }
    put_fanout(&p, a);
    put(&p, "TRADEWIND_INSECURE", g->is_insecure ? "1" : "");
}
