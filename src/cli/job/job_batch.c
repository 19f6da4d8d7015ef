#include "cli/job/job_batch.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/client.h"
#include "broker/pipeline/code.h"
#include "cli/core/interrupt.h"
#include "cli/core/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All commands together. */
#define COMMANDS_MAX_BYTES ((size_t)64 << 20)
#define LOOK_EVERY_S 0.5
#define GIVEN_UP "straggler: enough others had finished"

/* ---- wishes ---- */

static int compare_commands(const char *const *a, size_t n_a, const char *const *b, size_t n_b)
{
    size_t i = 0;

    while (i < n_a && i < n_b) {
        int order = strcmp(a[i], b[i]);
        if (order)
            return order;
        i++;
    }
    return n_a == n_b ? 0 : n_a < n_b ? -1 : 1;
}

static size_t count_words(char **words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

static int compare_sizes(double a_cpus, uint64_t a_mb, double b_cpus, uint64_t b_mb)
{
    if (a_cpus < b_cpus || a_cpus > b_cpus)
        return a_cpus < b_cpus ? -1 : 1;
    return a_mb == b_mb ? 0 : a_mb < b_mb ? -1 : 1;
}

static int compare_wishes(const struct job_wish *x, const struct job_wish *y)
{
    int order = compare_sizes(x->cpus, x->memory_mb, y->cpus, y->memory_mb);

    return order ? order
                 : compare_commands((const char *const *)x->command, count_words(x->command),
                                    (const char *const *)y->command, count_words(y->command));
}

/* Equal ones as they were asked for. */
static int by_content(const void *a, const void *b, void *context)
{
    const struct job_wish *wishes = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = compare_wishes(&wishes[x], &wishes[y]);

    return order ? order : (x > y) - (x < y);
}

static void sort_wishes(struct job_batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        b->order[i] = i;
    qsort_r(b->order, b->n, sizeof *b->order, by_content, b->wishes);
}

/* '{1,11}{1,11}' makes 111 twice: one job answers both. Wishes are sorted before and after. */
static void drop_equal(struct job_batch *b)
{
    AUTO_MEM bool *again = mem_zero(b->n, sizeof *again);
    size_t kept = 0;

    for (size_t i = 1; i < b->n; i++)
        again[b->order[i]] =
            compare_wishes(&b->wishes[b->order[i - 1]], &b->wishes[b->order[i]]) == 0;
    for (size_t i = 0; i < b->n; i++) {
        if (again[i])
            template_words_free(b->wishes[i].command);
        else
            b->wishes[kept++] = b->wishes[i];
    }
    b->n = kept;
    sort_wishes(b);
}

static struct job_wish *find_wish(const struct job_batch *b, const struct lake_job_request *r)
{
    size_t low = 0, high = b->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        struct job_wish *wish = &b->wishes[b->order[mid]];
        int order = compare_sizes(r->cpus, r->memory_mb, wish->cpus, wish->memory_mb);
        if (!order)
            order = compare_commands(r->command, r->n_command, (const char *const *)wish->command,
                                     count_words(wish->command));
        if (!order)
            return wish;
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

    for (size_t i = 0; i < template_n_words(t); i++)
        bytes += strlen(template_word(t, i)) + 1;
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

int job_batch_init(struct job_batch *b,
                   const char *kind,
                   const char *name,
                   const struct template *template,
                   const struct profile_sizes *cpus,
                   const struct profile_sizes *mems_mb,
                   struct err *e)
{
    size_t combinations = template_combinations(template);
    size_t n = combinations * cpus->n * mems_mb->n, at = 0;

    *b = (struct job_batch){.name = mem_printf("%s %s", kind, name),
                            .tag = mem_printf("%s=%s", kind, name)};
    if (check_extent(template, n, e) < 0)
        return -1;
    b->wishes = mem_zero(n, sizeof *b->wishes);
    b->order = mem_zero(n, sizeof *b->order);
    b->n = n;
    for (size_t i = 0; i < combinations; i++)
        for (size_t c = 0; c < cpus->n; c++)
            for (size_t m = 0; m < mems_mb->n; m++)
                b->wishes[at++] = (struct job_wish){.command = template_command(template, i),
                                                    .cpus = cpus->values[c],
                                                    .memory_mb = (uint64_t)mems_mb->values[m]};
    sort_wishes(b);
    drop_equal(b);
    return 0;
}

void job_batch_clear(struct job_batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        template_words_free(b->wishes[i].command);
    free(b->wishes);
    free(b->order);
    free(b->name);
    free(b->tag);
    *b = (struct job_batch){0};
}

/* ---- how far they are ---- */

/* Of several jobs for one wish the best counts. */
static int rank(enum lake_job_state state, bool given_up)
{
    if (state == LAKE_JOB_FINISHED)
        return 3;
    if (!lake_job_state_final(state))
        return 2;
    return given_up;
}

static int note_job(void *context, const struct lake_job *job, struct err *e)
{
    struct job_wish *wish = find_wish(context, &job->asked);
    bool given_up = job->state == LAKE_JOB_KILLED && strcmp(job->stop_reason, GIVEN_UP) == 0;

    (void)e;
    if (!wish || (wish->id && rank(job->state, given_up) < rank(wish->state, wish->given_up)))
        return 0;
    wish->id = job->id;
    wish->state = job->state;
    wish->given_up = given_up;
    return 0;
}

int job_batch_look(struct job_batch *b, struct lake *l, struct err *e)
{
    const struct lake_job_filter mine = {.name = b->name};

    for (size_t i = 0; i < b->n; i++)
        b->wishes[i].id = 0;
    return lake_job_list(l, &mine, note_job, b, e);
}

size_t job_batch_over(const struct job_batch *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++)
        n += b->wishes[i].id && lake_job_state_final(b->wishes[i].state);
    return n;
}

size_t job_batch_finished(const struct job_batch *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++)
        n += b->wishes[i].id && b->wishes[i].state == LAKE_JOB_FINISHED;
    return n;
}

/* ---- input and code ---- */

void job_ground_clear(struct job_ground *g)
{
    free(g->input);
    free(g->code);
    *g = (struct job_ground){0};
}

int job_ground_read(const struct command_args *args,
                    const struct job_desk *desk,
                    struct job_ground *out,
                    struct err *e)
{
    const char *input = command_value(args, "--input"), *directory = command_value(args, "--code");
    AUTO_CLEAR(code) struct code code = {0};
    bool is_set = false;

    if (input && job_input_check(desk->lake, input, &is_set, e) < 0)
        return -1;
    if (directory && code_store(desk->lake, desk->home, directory, &code, e) < 0)
        return err_wrap(e, "--code");
    out->input = input ? job_input_make(desk->lake, input, is_set, e) : NULL;
    if (input && !out->input)
        return -1;
    out->code = TAKE(code.ref);
    out->dirty = code.dirty;
    memcpy(out->commit, code.commit, sizeof code.commit);
    return 0;
}

_Static_assert(sizeof((struct job_ground *)0)->commit == CODE_COMMIT, "copied whole");

/* ---- submitting ---- */

static char *details_of(const struct job_wish *wish, const struct job_ground *ground, struct err *e)
{
    AUTO_MEM char *pattern =
        job_pattern((const char *const *)wish->command, count_words(wish->command));
    const struct job_details details = {
        .git_commit = ground->commit, .git_dirty = ground->dirty, .pattern = pattern};

    return job_details_text(&details, e);
}

static bool is_missing(const struct job_wish *wish)
{
    return !wish->id || rank(wish->state, wish->given_up) == 0;
}

static int submit_missing(struct job_batch *b,
                          struct lake *l,
                          const struct job_ground *ground,
                          struct lake_job_request *requests,
                          size_t *n_out,
                          struct err *e)
{
    const char *const tags[] = {b->tag};
    size_t n = 0;
    int64_t id;

    for (size_t i = 0; i < b->n; i++) {
        struct job_wish *wish = &b->wishes[i];
        if (!is_missing(wish))
            continue;
        requests[n] = (struct lake_job_request){.name = b->name,
                                                .command = (const char *const *)wish->command,
                                                .n_command = count_words(wish->command),
                                                .input = ground->input,
                                                .code = ground->code,
                                                .cpus = wish->cpus,
                                                .memory_mb = wish->memory_mb,
                                                .details = details_of(wish, ground, e),
                                                .tags = tags,
                                                .n_tags = 1};
        if (!requests[n++].details)
            return -1;
    }
    *n_out = n;
    if (n == 0)
        return 0;
    return job_check_month(l, e) < 0 ? -1 : lake_job_submit(l, requests, n, &id, e);
}

int job_batch_submit(struct job_batch *b,
                     const struct job_desk *desk,
                     const struct job_ground *ground,
                     struct err *e)
{
    if (job_batch_look(b, desk->lake, e) < 0)
        return -1;
    struct lake_job_request *requests = mem_zero(b->n, sizeof *requests);
    size_t before = job_batch_finished(b), submitted = 0;
    int result = submit_missing(b, desk->lake, ground, requests, &submitted, e);
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
    fprintf(stderr, "%s: %zu jobs, %zu finished before, %zu submitted now\n", b->name, b->n, before,
            submitted);
    return job_batch_look(b, desk->lake, e);
}

/* ---- waiting ---- */

static const struct job_wish *first_under_way(const struct job_batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->wishes[i].id && !lake_job_state_final(b->wishes[i].state))
            return &b->wishes[i];
    return NULL;
}

static void show_progress(
    struct progress *line, const struct job_batch *b, size_t before, size_t wanted, double since_s)
{
    size_t over = job_batch_over(b);
    char left[32];

    if (over > before)
        progress_show(line, "%s: %zu of %zu done, about %s left", b->name, over, b->n,
                      time_text((time_monotonic_s() - since_s) * (double)(wanted - over) /
                                    (double)(over - before),
                                left));
    else
        progress_show(line, "%s: %zu of %zu done", b->name, over, b->n);
}

int job_batch_wait(struct job_batch *b, const struct job_desk *desk, size_t wanted, struct err *e)
{
    const struct job_wish *next = first_under_way(b);
    size_t before = job_batch_over(b);
    double since_s = time_monotonic_s();
    struct progress line;

    if (before >= wanted || !next)
        return 1;
    AUTO(broker_client) struct broker_client *c = broker_client_open(desk->home, true, e);
    if (!c || broker_client_wake(c, e) < 0)
        return err_wrap(e, "the jobs are queued, but nobody runs them");
    progress_init(&line, stderr);
    while (next && job_batch_over(b) < wanted && !interrupt_seen()) {
        show_progress(&line, b, before, wanted, since_s);
        if (broker_client_wait(c, next->id, LOOK_EVERY_S, interrupt_seen, e) < 0 ||
            job_batch_look(b, desk->lake, e) < 0) {
            progress_clear(&line);
            return -1;
        }
        next = first_under_way(b);
    }
    progress_clear(&line);
    return job_batch_over(b) >= wanted || !next;
}

int job_batch_give_up(struct job_batch *b,
                      const struct job_desk *desk,
                      size_t *n_out,
                      struct err *e)
{
    bool final;

    *n_out = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct job_wish *wish = &b->wishes[i];
        if (!wish->id || lake_job_state_final(wish->state))
            continue;
        if (lake_job_ask_stop(desk->lake, wish->id, GIVEN_UP, &final, e) < 0)
            return -1;
        ++*n_out;
    }
    if (!*n_out)
        return 0;
    AUTO(broker_client) struct broker_client *c = broker_client_open(desk->home, true, e);
    return c ? broker_client_wake(c, e) : -1;
}
