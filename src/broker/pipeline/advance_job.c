/* Starts, watches and stops the job of a stage. advance.c calls it. */
#include "base/arena.h"
#include "base/mem.h"
#include "base/number.h"
#include "broker/core/details.h"
#include "broker/core/gang.h"
#include "broker/learn/cluster_learn.h"
#include "broker/pipeline/advance.h"
#include "broker/pipeline/internal.h"
#include "lake/job/job_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the stage's jobs are. */
static const char *on_of(const struct run *run, const struct run_stage *s)
{
    return s->plan.on ? s->plan.on : run->on;
}

static unsigned nodes_of(const struct run_stage *s)
{
    return s->plan.nodes > 1 ? s->plan.nodes : 1;
}

/* ---- what a job is told ---- */

/* The job whose checkpoint this one begins with: that which was lost, else that of an earlier run.
 * The jobs of a gang have numbers one after another. */
static int64_t continues_of(const struct run_stage *s, unsigned rank)
{
    int64_t first = s->job ? s->job : s->plan.continues;

    return first ? first + rank : 0;
}

bool advance_env_is_own(const char *key)
{
    return gang_env_is_own(key) || !strncmp(key, "TRADEWIND_", 10);
}

/* Of one node; of a training cluster its server has a price of its own. */
static double node_price(const struct run_stage_plan *p, unsigned nodes, unsigned rank)
{
    if (p->servers == 0 || nodes <= p->servers)
        return p->price_usd_per_hour / nodes;
    return rank < p->servers
               ? p->server_usd_per_hour / p->servers
               : (p->price_usd_per_hour - p->server_usd_per_hour) / (nodes - p->servers);
}

/* Of a stage as planned. */
static char *planned_details(
    const struct advance *a, size_t i, struct job_details *d, unsigned rank, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    const struct run_stage_plan *p = &s->plan;
    AUTO_MEM struct spec_pair *envs = mem_zero(p->n_envs + GANG_ENVS, sizeof *envs);
    AUTO_MEM struct spec_pair *submitter = mem_zero(p->n_submitter + 1, sizeof *submitter);
    AUTO_MEM struct spec_pair *mounts = mem_zero(p->n_mounts + 1, sizeof *mounts);
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);

    const struct gang_node node = {
        .rank = rank,
        .nodes = nodes_of(s),
        .is_local = !strcmp(on_of(a->run, s), "local"),
        .gpus = p->gpus_per_node,
        .task =
            arena_printf(arena, "tradewind-%" PRId64 "_%s_%s", a->run->id, a->run->name, p->name),
    };

    d->n_envs = gang_put_envs(arena, &node, envs);
    for (size_t k = 0; k < p->n_envs; k++)
        envs[d->n_envs++] = (struct spec_pair){.key = p->envs[k].key, .value = p->envs[k].value};
    d->envs = envs;
    for (size_t k = 0; k < p->n_mounts; k++)
        mounts[k] = (struct spec_pair){.key = p->mounts[k].key, .value = p->mounts[k].value};
    d->mounts = mounts;
    d->n_mounts = p->n_mounts;
    d->image = p->image;
    d->secrets = p->secrets;
    d->n_secrets = p->n_secrets;
    d->on = rank < p->servers && p->server_on ? p->server_on : on_of(a->run, s);
    /* A parameter server trains nothing. */
    d->gpus = rank < p->servers ? 0 : p->gpus;
    d->gpu_type = p->gpu_type;
    d->devices = p->devices;
    d->n_devices = p->n_devices;
    d->stage = p->name;
    d->outputs = p->outputs;
    d->n_outputs = p->n_outputs;
    d->learn = stagecache_learns(p);
    d->checkpoint_s = p->checkpoint_s;
    d->json_metrics = p->json_metrics;
    d->git_commit = p->commit;
    d->git_dirty = p->dirty;
    d->offer = rank < p->servers && p->server_offer.provider[0] ? p->server_offer : p->offer;
    /* What a host costs, the broker knows best: it chooses it. */
    if (!strcmp(d->on, "local")) {
        d->price_usd_per_hour = node_price(p, nodes_of(s), rank);
        for (size_t k = 0; k < p->n_submitter; k++)
            submitter[k] =
                (struct spec_pair){.key = p->submitter[k].key, .value = p->submitter[k].value};
        d->submitter = submitter;
        d->n_submitter = p->n_submitter;
    }
    return job_details_text(d, e);
}

/* What a stage is run with, and why it is not reused. */
struct cause {
    const struct refs *inputs; /* advance_input_texts */
    const char *because;
};

/* As recorded; what it is to make again is new. */
static char *repeated_details(struct advance *a, size_t i, const char *because, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    AUTO_CLEAR(job_details) struct job_details details = {0};
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job recorded;

    if (lake_job_load(a->lake, s->plan.repeats, arena, &recorded, e) < 0 ||
        job_details_parse(recorded.asked.details, &details, e) < 0)
        return NULL;
    /* The machine may have others since. */
    details.gpus = s->plan.gpus;
    details.gpu_type = s->plan.gpu_type;
    details.devices = s->plan.devices;
    details.n_devices = s->plan.n_devices;
    details.restores = s->plan.restores ? s->plan.restores : "";
    details.continues = continues_of(s, 0);
    details.learn = false;
    details.because = because;
    return job_details_text(&details, e);
}

static char *details_of(
    struct advance *a, size_t i, const struct cause *cause, unsigned rank, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];

    if (s->plan.repeats)
        return repeated_details(a, i, cause->because, e);
    struct job_details d = {.continues = continues_of(s, rank),
                            .because = cause->because,
                            .inputs = (const char *const *)cause->inputs->texts,
                            .n_inputs = cause->inputs->n};
    AUTO_MEM char *gang =
        mem_printf("%" PRId64 ".%s.%u", a->run->id, s->plan.name, s->attempts + 1);
    if (nodes_of(s) > 1) {
        d.gang = gang;
        d.rank = rank;
        d.nodes = nodes_of(s);
        d.servers = s->plan.servers;
        d.elastic = s->plan.elastic;
    }
    return planned_details(a, i, &d, rank, e);
}

/* ---- submitting ---- */

/* The first rank's output is the stage's. */
static struct lake_job_request request_of(
    const struct advance *a, size_t i, const char *input, unsigned rank, const char *details)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;

    return (struct lake_job_request){.name = p->name,
                                     .command = p->command,
                                     .n_command = p->n_command,
                                     .input = input,
                                     .code = p->code,
                                     .output = rank == 0 ? p->output : NULL,
                                     .cpus = p->cpus,
                                     .memory_mb = p->memory_mb,
                                     .time_limit_s = p->time_limit_s,
                                     .run = a->run->id,
                                     .rerun_of = p->repeats,
                                     .details = details};
}

struct batch {
    struct lake_job_request *requests;
    char **details;
    size_t n;
};

static void batch_clear(struct batch *b)
{
    for (size_t i = 0; b->details && i < b->n; i++)
        free(b->details[i]);
    free(b->details);
    free(b->requests);
}

/* All of a gang in one transaction: there is never a part of it in the queue. */
static int submit(struct advance *a,
                  size_t i,
                  const char *input,
                  const struct cause *cause,
                  int64_t *first_out,
                  struct err *e)
{
    AUTO_CLEAR(batch) struct batch b = {.n = nodes_of(&a->run->stages[i])};

    b.requests = mem_zero(b.n, sizeof *b.requests);
    b.details = mem_zero(b.n, sizeof *b.details);
    for (unsigned rank = 0; rank < b.n; rank++) {
        b.details[rank] = details_of(a, i, cause, rank, e);
        if (!b.details[rank])
            return -1;
        b.requests[rank] = request_of(a, i, input, rank, b.details[rank]);
    }
    if (lake_job_submit(a->lake, b.requests, b.n, first_out, e) < 0)
        return -1;
    a->new_jobs = true;
    return 0;
}

/* The job that was submitted before a crash, and not written down; of a gang the first. */
struct unnoted {
    const char *stage;
    int64_t id;
};

static int see_unnoted(void *context, const struct lake_job *job, struct err *e)
{
    struct unnoted *found = context;

    (void)e;
    if (!found->id && !strcmp(job->asked.name, found->stage))
        found->id = job->id;
    return 0;
}

static int find_unnoted(struct advance *a, size_t i, int64_t *job_out, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    struct unnoted found = {.stage = s->plan.name};
    struct lake_job_filter filter = {.run = a->run->id,
                                     .after = s->job ? s->job + nodes_of(s) - 1 : 0};

    if (lake_job_list(a->lake, &filter, see_unnoted, &found, e) < 0)
        return -1;
    *job_out = found.id;
    return 0;
}

/* Its job is submitted, by us or by who was killed behind it. What a gang makes counts only when
 * all of it has finished: it gets its key then. because: why the stage is run. */
static int take_on(struct advance *a,
                   size_t i,
                   int64_t job,
                   const struct sha256_digest *key,
                   const char *because,
                   struct err *e)
{
    if (key && nodes_of(&a->run->stages[i]) == 1 && lake_job_code_tag(a->lake, job, key, e) < 0)
        return -1;
    return advance_set_stage(a, i, STAGE_GOING, job, because, e);
}

/* The reason for another attempt; "" = it is the first. New string. */
static char *attempt_text(const struct run_stage *s)
{
    return s->job
               ? mem_printf("attempt %u of %u: %s", s->attempts + 1, STAGE_ATTEMPTS_MAX, s->reason)
               : mem_dup("");
}

static int start_repeated(struct advance *a, size_t i, struct err *e)
{
    static const struct refs no_inputs = {0};
    AUTO_MEM char *again = attempt_text(&a->run->stages[i]);
    const struct cause cause = {.inputs = &no_inputs, .because = again};
    AUTO_MEM char *input = NULL;
    int64_t job;

    if (find_unnoted(a, i, &job, e) < 0)
        return -1;
    if (!job &&
        (advance_repeat_input(a, i, &input, e) < 0 || submit(a, i, input, &cause, &job, e) < 0))
        return -1;
    return take_on(a, i, job, NULL, again, e);
}

/* Why the stage is run, in a line: what changed since it last finished; "" = nothing is known. New
 * string. */
static char *because_of(struct advance *a, size_t i, const struct refs *inputs)
{
    AUTO_CLEAR(why) struct why why = {0};
    struct err ignored = {0};

    if (a->run->stages[i].job)
        return attempt_text(&a->run->stages[i]);
    if (a->run->no_cache || why_find(a, i, inputs, &why, &ignored) < 0)
        return mem_dup("");
    return why_line(&why);
}

int advance_start(struct advance *a, size_t i, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    AUTO_CLEAR(refs) struct refs refs = {0};
    AUTO_CLEAR(refs) struct refs inputs = {0};
    AUTO_MEM char *input = NULL;
    struct sha256_digest key;
    int64_t job;

    if (s->plan.repeats)
        return start_repeated(a, i, e);
    if (advance_refs(a, i, &refs, e) < 0 || advance_input_texts(a, &refs, &inputs, e) < 0 ||
        stagecache_key(a, i, &inputs, &key, e) < 0 || find_unnoted(a, i, &job, e) < 0)
        return -1;
    if (job) {
        AUTO_MEM char *again = attempt_text(s);
        return take_on(a, i, job, &key, again, e);
    }
    if (!a->run->no_cache) {
        if (stagecache_find(a, i, &refs, &key, &job, e) < 0)
            return -1;
        if (job)
            return advance_set_stage(a, i, STAGE_REUSED, job, "", e);
    }
    AUTO_MEM char *because = because_of(a, i, &inputs);
    const struct cause cause = {.inputs = &inputs, .because = because};
    if (advance_make_input(a, i, &refs, &input, e) < 0 || submit(a, i, input, &cause, &job, e) < 0)
        return -1;
    return take_on(a, i, job, &key, because, e);
}

/* ---- what became of them ---- */

/* All nodes of a stage together. */
struct gang_view {
    unsigned nodes, over, finished;
    unsigned killed;
    unsigned done_without;     /* nodes of an elastic gang that ended badly: the others go on */
    enum lake_job_state state; /* what the stage's would be, if it were over */
    unsigned rank;             /* who is to blame for it */
    char reason[2048];
};

/* A failure is worse than a loss, and what we stopped because of either is not to blame. */
static int severity(enum lake_job_state state)
{
    return state == LAKE_JOB_FAILED || state == LAKE_JOB_UNSAVED ? 3
           : state == LAKE_JOB_LOST                              ? 2
                                                                 : state == LAKE_JOB_KILLED;
}

/* That it was stopped says its state. */
static const char *bare_reason(const struct job_outcome *found)
{
    static const char said[] = "stopped: ";
    size_t n = sizeof said - 1;

    return found->state == LAKE_JOB_KILLED && !strncmp(found->reason, said, n) ? found->reason + n
                                                                               : found->reason;
}

static void put_blame(struct gang_view *v, const struct job_outcome *found, unsigned rank)
{
    v->state = found->state;
    v->rank = rank;
    snprintf(v->reason, sizeof v->reason, "%s", bare_reason(found));
}

/* A worker of an elastic gang that ran and ended badly. One that never ran kept the others from
 * starting. */
static bool can_do_without(const struct run_stage *s,
                           const struct job_outcome *found,
                           unsigned rank)
{
    return s->plan.elastic && rank >= s->plan.servers && severity(found->state) && found->ran;
}

/* With no worker left there is nothing to go on with. Else what the worst of them was is told when
 * the others finish. */
static void merge_without(struct gang_view *v, const struct gang_view *without, unsigned workers)
{
    bool none_left = v->done_without == workers;

    if (!v->done_without || severity(v->state) >= (none_left ? severity(without->state) : 1))
        return;
    v->rank = without->rank;
    snprintf(v->reason, sizeof v->reason, "%s", without->reason);
    if (none_left) {
        v->state = without->state;
        v->done_without = 0;
    }
}

static int view_gang(struct advance *a, size_t i, struct gang_view *v, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    struct gang_view without = {.state = LAKE_JOB_FINISHED};
    struct job_outcome found;

    *v = (struct gang_view){.nodes = nodes_of(s), .state = LAKE_JOB_FINISHED};
    for (unsigned rank = 0; rank < v->nodes; rank++) {
        if (advance_read_job(a, s->job + rank, &found, e) < 0)
            return -1;
        v->over += found.is_over;
        v->finished += found.state == LAKE_JOB_FINISHED;
        v->killed += found.state == LAKE_JOB_KILLED;
        bool goes_on = can_do_without(s, &found, rank);
        struct gang_view *to = goes_on ? &without : v;
        v->done_without += goes_on;
        if (severity(found.state) > severity(to->state))
            put_blame(to, &found, rank);
    }
    merge_without(v, &without, v->nodes - s->plan.servers);
    return 0;
}

/* "rank 2 failed: ..."; of a stage with one node the bare reason. New string. */
static char *blame(const struct gang_view *v)
{
    if (v->state == LAKE_JOB_FINISHED && v->done_without)
        return mem_printf("continued without %u of its workers; rank %u: %s", v->done_without,
                          v->rank, v->reason);
    if (v->nodes == 1 || v->state == LAKE_JOB_FINISHED)
        return mem_dup(v->reason);
    return mem_printf("rank %u %s%s%s%s", v->rank, v->state == LAKE_JOB_LOST ? "was " : "",
                      v->state == LAKE_JOB_KILLED ? "was stopped" : lake_job_state_text(v->state),
                      v->reason[0] ? ": " : "", v->reason);
}

int advance_stop(struct advance *a, size_t i, const char *why, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    bool over;

    for (unsigned rank = 0; rank < nodes_of(s); rank++)
        if (lake_job_ask_stop(a->lake, s->job + rank, why, &over, e) < 0)
            return -1;
    return 0;
}

/* Its machine is gone: another job goes on from what was saved, unless that was often enough. */
static int follow_lost(struct advance *a, size_t i, const char *why, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];

    if (a->run->stop_asked)
        return advance_set_stage(a, i, STAGE_STOPPED, s->job, why, e);
    if (s->attempts < STAGE_ATTEMPTS_MAX) {
        AUTO_MEM char *lost = mem_printf("job %" PRId64 " was lost: %s", s->job, why);
        return advance_set_stage(a, i, STAGE_WAITING, s->job, lost, e);
    }
    AUTO_MEM char *text = mem_printf("lost %u times, the last time: %s", s->attempts, why);
    return advance_set_stage(a, i, STAGE_FAILED, s->job, text, e);
}

/* The whole gang is through: its first job can be found as one that made this. */
static int tag_gang(struct advance *a, size_t i, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    AUTO_CLEAR(refs) struct refs refs = {0};
    AUTO_CLEAR(refs) struct refs inputs = {0};
    struct sha256_digest key;

    if (advance_refs(a, i, &refs, e) < 0 || advance_input_texts(a, &refs, &inputs, e) < 0 ||
        stagecache_key(a, i, &inputs, &key, e) < 0 ||
        stagecache_join(a, s->job, nodes_of(s), e) < 0)
        return -1;
    return lake_job_code_tag(a->lake, s->job, &key, e);
}

/* Ended by us once it was needed no more, it has done its work; ended by itself, it has not. */
static int end_service(
    struct advance *a, size_t i, const struct gang_view *v, const char *why, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];

    if (!advance_is_served(a))
        return advance_set_stage(
            a, i, a->run->stop_asked ? STAGE_STOPPED : STAGE_FAILED, s->job,
            v->state == LAKE_JOB_FINISHED ? "it ended before the other nodes" : why, e);
    return advance_set_stage(a, i, a->run->stop_asked ? STAGE_STOPPED : STAGE_FINISHED, s->job, "",
                             e);
}

/* What is to be known of a stage that finished; "" = nothing. New string; NULL: e. */
static char *finished_reason(struct advance *a, size_t i, const char *why, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job_code code = {0};
    struct lake_job job;

    if (*why)
        return mem_dup(why);
    if (lake_job_load(a->lake, s->job, arena, &job, e) < 0 ||
        lake_job_code_load(a->lake, s->job, arena, &code, e) < 0)
        return NULL;
    AUTO_MEM char *again =
        job.reproduced ? mem_printf("reproduced %s", job.output_set) : mem_dup("");
    bool doubt = stagecache_learns(&s->plan) && code.why && code.why[0];
    return mem_printf("%s%s%s%s", again, *again && doubt ? ", " : "",
                      doubt ? "all of its code counts: " : "", doubt ? code.why : "");
}

int advance_look(struct advance *a, size_t i, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    struct gang_view v;

    if (view_gang(a, i, &v, e) < 0)
        return -1;
    AUTO_MEM char *why = blame(&v);
    /* One that ended badly ends the others; those that still waited are over at once. */
    if (v.over < v.nodes && v.over > v.finished + v.done_without &&
        (advance_stop(a, i, why, e) < 0 || view_gang(a, i, &v, e) < 0))
        return -1;
    if (v.over < v.nodes)
        return 0;
    if (v.state == LAKE_JOB_LOST)
        return follow_lost(a, i, why, e);
    /* Of a run that is stopped, a node may fail because another was gone before it. */
    if (v.state == LAKE_JOB_FAILED && v.killed && a->run->stop_asked)
        return advance_set_stage(a, i, STAGE_STOPPED, s->job, a->run->stop_reason, e);
    if (v.state == LAKE_JOB_KILLED && a->run->stop_reason[0])
        return advance_set_stage(a, i, STAGE_STOPPED, s->job, a->run->stop_reason, e);
    if (v.state == LAKE_JOB_FINISHED && v.nodes > 1 && !v.done_without && tag_gang(a, i, e) < 0)
        return -1;
    if (s->plan.serves)
        return end_service(a, i, &v, why, e);
    if (v.state == LAKE_JOB_FINISHED) {
        AUTO_MEM char *known = finished_reason(a, i, why, e);
        if (!known)
            return -1;
        if (!v.done_without)
            broker_cluster_learn(runs_home(a->runs), a->run, s);
        return advance_set_stage(a, i, STAGE_FINISHED, s->job, known, e);
    }
    return advance_set_stage(a, i, v.state == LAKE_JOB_KILLED ? STAGE_STOPPED : STAGE_FAILED,
                             s->job, why, e);
}
