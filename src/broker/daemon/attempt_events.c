/* Metrics in the event files of TensorBoard that a job left in its output. attempt_tasks.c calls it
 * before the output is stored. */
#include "base/mem.h"
#include "broker/daemon/internal.h"
#include "broker/learn/tfevents.h"

#include <stdlib.h>
#include <string.h>

/* Points that go to the lake in one transaction. */
#define BATCH 4096

struct events {
    const struct attempt *attempt;
    struct lake *lake;
    struct lake_job_metric points[BATCH];
    char *names[BATCH];
    size_t n;
};

static void events_clear(struct events *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->names[i]);
    v->n = 0;
}

static int flush(struct events *v, struct err *e)
{
    int result = v->n ? lake_job_add_metrics(v->lake, v->attempt->job.id, v->points, v->n, e) : 0;

    events_clear(v);
    return result;
}

static int take_scalar(void *context, const char *name, double step, double value, struct err *e)
{
    struct events *v = context;

    v->names[v->n] = mem_dup(name);
    v->points[v->n] = (struct lake_job_metric){v->names[v->n], step, value};
    return ++v->n == BATCH ? flush(v, e) : 0;
}

/* File names may have any bytes. */
static void warn(void *context, const char *text)
{
    const struct events *v = context;
    AUTO_MEM char *line = mem_dup(text);

    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    attempt_note_warning(v->attempt, line);
}

int attempt_read_events(const struct attempt *j,
                        struct lake *l,
                        const char *directory,
                        struct err *e)
{
    AUTO_MEM struct events *v = mem_zero(1, sizeof *v);
    const struct tfevents_visitor visitor = {take_scalar, v};
    struct err why = {0};

    v->attempt = j;
    v->lake = l;
    int result = tfevents_read_all(directory, &visitor, warn, &why);
    if (result == 0)
        result = flush(v, &why);
    events_clear(v);
    if (result == 0)
        return 0;
    /* More points than a job may have: those that came first stay. */
    if (why.kind == ERR_USAGE || why.kind == ERR_NOTFOUND) {
        warn(v, why.text);
        return 0;
    }
    *e = why;
    return -1;
}
