#include "app/job/batch.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All commands together. */
#define COMMANDS_MAX_BYTES ((size_t)64 << 20)
#define LOOK_EVERY_S 0.5
#define STRAGGLER "straggler: enough others had finished"

/* ---- items ---- */

/* By size, then by the words of the command. */
static int compare_items(const struct app_job_item *x, const struct app_job_item *y)
{
    int order = (x->cpus > y->cpus) - (x->cpus < y->cpus);

    order = order ? order : (x->memory_mb > y->memory_mb) - (x->memory_mb < y->memory_mb);
    for (size_t i = 0; !order && i < x->n_command && i < y->n_command; i++)
        order = strcmp(x->command[i], y->command[i]);
    return order ? order : (x->n_command > y->n_command) - (x->n_command < y->n_command);
}

/* Equal ones as they were asked for. */
static int by_content(const void *a, const void *b, void *context)
{
    const struct app_job_item *items = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = compare_items(&items[x], &items[y]);

    return order ? order : (x > y) - (x < y);
}

static void sort_items(struct app_job_batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        b->order[i] = i;
    qsort_r(b->order, b->n, sizeof *b->order, by_content, b->items);
}

/* '{1,11}{1,11}' makes 111 twice: one job answers both. Items are sorted before and after. */
static void drop_equal(struct app_job_batch *b)
{
    AUTO_MEM bool *again = mem_zero(b->n, sizeof *again);
    size_t kept = 0;

    for (size_t i = 1; i < b->n; i++)
        again[b->order[i]] = compare_items(&b->items[b->order[i - 1]], &b->items[b->order[i]]) == 0;
    for (size_t i = 0; i < b->n; i++) {
        if (again[i])
            template_words_free(b->items[i].command);
        else
            b->items[kept++] = b->items[i];
    }
    b->n = kept;
    sort_items(b);
}

static struct app_job_item *find_item(const struct app_job_batch *b,
                                      const struct lake_job_request *r)
{
    const struct app_job_item wanted = {.command = (char **)(uintptr_t)r->command,
                                        .n_command = r->n_command,
                                        .cpus = r->cpus,
                                        .memory_mb = r->memory_mb};
    size_t low = 0, high = b->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        struct app_job_item *item = &b->items[b->order[mid]];
        int order = compare_items(&wanted, item);
        if (!order)
            return item;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

static int check_extent(const struct template *t, size_t n, struct err *e)
{
    size_t bytes = 0;

    for (size_t i = 0; i < t->n; i++)
        bytes += strlen(t->written[i]) + 1;
    if (n > TEMPLATE_COMBINATIONS_MAX)
        return err_set(e, ERR_USAGE,
                       "that makes %zu jobs, more than %d: leave some values or sizes out", n,
                       TEMPLATE_COMBINATIONS_MAX);
    if (bytes > COMMANDS_MAX_BYTES / n)
        return err_set(e, ERR_USAGE,
                       "%zu commands of that length are too much: put the command into a script",
                       n);
    return 0;
}

int app_job_batch_init(struct app_job_batch *b,
                       const char *kind,
                       const char *name,
                       const struct template *template,
                       const struct profile_sizes *cpus,
                       const struct profile_sizes *mems_mb,
                       struct err *e)
{
    size_t combinations = template->combinations;
    size_t n = combinations * cpus->n * mems_mb->n, at = 0;

    *b = (struct app_job_batch){.name = mem_printf("%s %s", kind, name),
                                .tag = mem_printf("%s=%s", kind, name)};
    if (check_extent(template, n, e) < 0)
        return -1;
    b->items = mem_zero(n, sizeof *b->items);
    b->order = mem_zero(n, sizeof *b->order);
    b->n = n;
    for (size_t i = 0; i < combinations; i++)
        for (size_t c = 0; c < cpus->n; c++)
            for (size_t m = 0; m < mems_mb->n; m++)
                b->items[at++] = (struct app_job_item){.command = template_command(template, i),
                                                       .n_command = template->n,
                                                       .cpus = cpus->values[c],
                                                       .memory_mb = (uint64_t)mems_mb->values[m]};
    sort_items(b);
    drop_equal(b);
    return 0;
}

void app_job_batch_clear(struct app_job_batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        template_words_free(b->items[i].command);
    free(b->items);
    free(b->order);
    free(b->name);
    free(b->tag);
    *b = (struct app_job_batch){0};
}

/* ---- how far they are ---- */

/* Of several jobs for one item the best counts. */
static int rank(enum lake_job_state state, bool is_straggler)
{
    if (state == LAKE_JOB_FINISHED)
        return 3;
    if (!lake_job_state_final(state))
        return 2;
    return is_straggler;
}

static int note_job(void *context, const struct lake_job *job, struct err *e)
{
    struct app_job_item *item = find_item(context, &job->asked);
    bool is_straggler = job->state == LAKE_JOB_KILLED && strcmp(job->stop_reason, STRAGGLER) == 0;

    (void)e;
    if (!item ||
        (item->id && rank(job->state, is_straggler) < rank(item->state, item->is_straggler)))
        return 0;
    item->id = job->id;
    item->state = job->state;
    item->is_over = lake_job_is_over(job);
    item->is_straggler = is_straggler;
    return 0;
}

int app_job_batch_look(struct app_job_batch *b, struct lake *l, struct err *e)
{
    const struct lake_job_filter mine = {.name = b->name};

    for (size_t i = 0; i < b->n; i++)
        b->items[i].id = 0;
    return lake_job_list(l, &mine, note_job, b, e);
}

size_t app_job_batch_over(const struct app_job_batch *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++)
        n += b->items[i].id && b->items[i].is_over;
    return n;
}

size_t app_job_batch_finished(const struct app_job_batch *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++)
        n += b->items[i].id && b->items[i].state == LAKE_JOB_FINISHED;
    return n;
}

/* ---- submitting ---- */

static char *details_of(const struct app *app,
                        const struct app_job_batch *b,
                        const struct app_job_source *source,
                        struct err *e)
{
    struct app_job_submitter submitter;

    app_job_submitter_read(app, &submitter);
    struct job_details details = {.git_commit = source->commit,
                                  .git_dirty = source->dirty,
                                  .submitter = submitter.pairs,
                                  .n_submitter = submitter.n};

    app_job_gpus_set(&b->gpus, &details);
    return job_details_text(&details, e);
}

static bool is_missing(const struct app_job_item *item)
{
    return !item->id || rank(item->state, item->is_straggler) == 0;
}

static int submit_missing(struct app_job_batch *b,
                          struct app *app,
                          const struct app_job_source *source,
                          struct lake_job_request *requests,
                          size_t *n_out,
                          struct err *e)
{
    const char *const tags[] = {b->tag};
    size_t n = 0;
    int64_t id;

    for (size_t i = 0; i < b->n; i++) {
        struct app_job_item *item = &b->items[i];
        if (!is_missing(item))
            continue;
        requests[n] = (struct lake_job_request){.name = b->name,
                                                .command = (const char *const *)item->command,
                                                .n_command = item->n_command,
                                                .input = source->input,
                                                .code = source->code,
                                                .cpus = item->cpus,
                                                .memory_mb = item->memory_mb,
                                                .details = details_of(app, b, source, e),
                                                .tags = tags,
                                                .n_tags = 1};
        if (!requests[n++].details)
            return -1;
    }
    *n_out = n;
    if (n == 0)
        return 0;
    return app_job_check_month(app, e) < 0 ? -1
                                           : lake_job_submit(app_lake(app, e), requests, n, &id, e);
}

static int submit_locked(struct app_job_batch *b,
                         struct app *app,
                         const struct app_job_source *source,
                         struct err *e)
{
    struct lake *l = app_lake(app, e);

    if (!l || app_job_batch_look(b, l, e) < 0)
        return -1;
    struct lake_job_request *requests = mem_zero(b->n, sizeof *requests);
    size_t before = app_job_batch_finished(b), submitted = 0;
    int result = submit_missing(b, app, source, requests, &submitted, e);
    for (size_t i = 0; i < b->n; i++) {
        union {
            const char *text;
            void *bytes;
        } details = {requests[i].details};
        free(details.bytes);
    }
    free(requests);
    if (result < 0)
        return -1;
    app_notice(app, "%s: %zu jobs, %zu finished before, %zu submitted now", b->name, b->n, before,
               submitted);
    return app_job_batch_look(b, l, e);
}

int app_job_batch_submit(struct app_job_batch *b,
                         struct app *app,
                         const struct app_job_source *source,
                         struct err *e)
{
    int lock = broker_profile_lock(app_home(app, e), e);

    if (lock < 0)
        return -1;
    int result = submit_locked(b, app, source, e);
    close(lock);
    return result;
}

/* ---- waiting ---- */

static const struct app_job_item *first_pending(const struct app_job_batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->items[i].id && !b->items[i].is_over)
            return &b->items[i];
    return NULL;
}

static void show_progress(
    struct app *app, const struct app_job_batch *b, size_t before, size_t wanted, double since_s)
{
    size_t over = app_job_batch_over(b);
    char left[32];

    if (over > before)
        app_status(app, "%s: %zu of %zu done, about %s left", b->name, over, b->n,
                   time_text((time_monotonic_s() - since_s) * (double)(wanted - over) /
                                 (double)(over - before),
                             left));
    else
        app_status(app, "%s: %zu of %zu done", b->name, over, b->n);
}

int app_job_batch_wait(struct app_job_batch *b, struct app *app, size_t wanted, struct err *e)
{
    const struct app_job_item *next = first_pending(b);
    size_t before = app_job_batch_over(b);
    double since_s = time_monotonic_s();

    if (before >= wanted || !next)
        return 1;
    if (app_wake_broker(app, e) < 0)
        return err_wrap(e, "the jobs are queued, but no broker runs them");
    while (next && app_job_batch_over(b) < wanted && !app_cancelled(app)) {
        show_progress(app, b, before, wanted, since_s);
        if (app_job_wait(app, next->id, LOOK_EVERY_S, e) < 0 ||
            app_job_batch_look(b, app_lake(app, e), e) < 0)
            return -1;
        next = first_pending(b);
    }
    return app_job_batch_over(b) >= wanted || !next;
}

int app_job_batch_kill(struct app_job_batch *b, struct app *app, size_t *n_out, struct err *e)
{
    struct lake *l = app_lake(app, e);
    bool final;

    *n_out = 0;
    for (size_t i = 0; l && i < b->n; i++) {
        const struct app_job_item *item = &b->items[i];
        if (!item->id || item->is_over)
            continue;
        if (lake_job_ask_stop(l, item->id, STRAGGLER, &final, e) < 0)
            return -1;
        ++*n_out;
    }
    return !l ? -1 : *n_out ? app_wake_broker(app, e) : 0;
}
