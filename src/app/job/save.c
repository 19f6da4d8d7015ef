/* save: the operations job.save and job.remove: the output of an unsaved job is stored, or goes
 * with the record of its job. */
#include "app/job/job.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/core/kept.h"
#include "broker/core/runs.h"
#include "broker/daemon/attempt.h"
#include "broker/daemon/checkpoint.h"
#include "broker/machine/bill.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- job.save ---- */

struct save_request {
    int64_t id;
    const char *output;
    bool rename;
};

/* clang-format off */
static const struct field save_fields[] = {
    {"id", FIELD(INT, struct save_request, id), APP_JOB_NUMBER, .required = true, .operand = true,
     .help = "Number of the job."},
    {"output", FIELD(TEXT, struct save_request, output), .value = "SET",
     .help = "Store the output as the next version of this set instead."},
    {"rename", FIELD(BOOL, struct save_request, rename),
     .help = "Give files whose names the lake cannot hold another name."},
};

static const struct field renamed_fields[] = {
    {"from", FIELD(TEXT, struct app_job_renamed, from), .help = "Name that the job gave."},
    {"to", FIELD(TEXT, struct app_job_renamed, to), .help = "Name in the set."},
};
static const struct record renamed_record =
    RECORD("job_renamed", struct app_job_renamed, renamed_fields);

static const struct field saved_fields[] = {
    {"id", FIELD(INT, struct app_job_saved, id), .help = "Number of the job."},
    {"state", FIELD(ENUM, struct app_job_saved, state), FIELD_CHOICES(lake_job_state_texts),
     .help = "State of the job now."},
    {"output", FIELD(TEXT, struct app_job_saved, output), .help = "Set version that holds it."},
    {"was_saved", FIELD(BOOL, struct app_job_saved, was_saved),
     .help = "Whether the output was stored before the call."},
    {"renamed", FIELD(RECORDS, struct app_job_saved, renamed), .record = &renamed_record,
     .help = "Files that got another name."},
};
/* clang-format on */

struct saving {
    struct app *app;
    const struct save_request *request;
    struct lake_job job;
    struct job_details details;
    struct answer *out;
    struct field_records *renamed;
};

/* Clean text for JSON: bytes that are none are '?'. */
static char *shown_name(const struct answer *out, const char *name, struct err *e)
{
    char *text = answer_text(out, e, "%s", name);

    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
            *c = '?';
    return text;
}

static int note_renamed(void *context, const char *from, const char *to, struct err *e)
{
    struct saving *s = context;
    struct app_job_renamed item = {shown_name(s->out, from, e), answer_text(s->out, e, "%s", to)};

    return item.from && item.to ? answer_push(s->out, s->renamed, &item, sizeof item, e) : -1;
}

static int check_unsaved(struct saving *s, const char *home, struct err *e)
{
    const struct lake_job *job = &s->job;
    long long id = (long long)job->id;

    if (job->state != LAKE_JOB_UNSAVED)
        return err_set(e, ERR_USAGE, "job %lld is %s: there is no unsaved output", id,
                       lake_job_state_text(job->state));
    if (strcmp(s->details.on, "local") != 0 && !kept_is_collected(home, job->id)) {
        struct lake_job_change again = {.id = job->id,
                                        .to = LAKE_JOB_UNSAVED,
                                        .reason = job->reason,
                                        .runtime_s = -1,
                                        .saves_later = true};
        if ((!job->saves_later && lake_job_step(app_lake(s->app, e), &again, 1, e) < 0) ||
            app_wake_broker(s->app, e) < 0)
            return -1;
        return err_set(e, ERR_RETRY,
                       "the output of job %lld is still on its host %s, and the broker brings it "
                       "here when it can: %s",
                       id, job->machine, job->reason);
    }
    return 0;
}

static int store(struct saving *s, const char *directory, struct err *e)
{
    struct app_progress verb = {s->app, "storing"};
    const struct lake_progress progress = app_lake_progress(&verb);
    struct lake_job_change change = {
        .id = s->job.id, .to = LAKE_JOB_FINISHED, .reason = "", .runtime_s = -1};
    struct lake *l = app_lake(s->app, e);

    return s->details.restores[0]
               ? lake_job_restore(l, &change, directory, s->details.restores, &progress, e)
               : lake_job_store(l, &change, directory, &progress, e);
}

/* Whether the lake refused the name of a file, and no new one was asked for. */
static bool is_name(const struct err *why, const struct save_request *q)
{
    return why->kind == ERR_USAGE && !q->rename;
}

static int save(struct saving *s, const char *home, struct err *e)
{
    const struct save_request *q = s->request;
    AUTO_MEM char *directory = broker_job_path(home, q->id, "output");
    const char *set = q->output && q->output[0] == '@' ? q->output + 1 : q->output;
    struct err why = {0};
    char option[64];

    if (check_unsaved(s, home, e) < 0)
        return -1;
    AUTO_FD int lock = kept_lock(home, q->id, e);
    if (lock < 0)
        return -1;
    if (set && lake_job_set_output(app_lake(s->app, e), q->id, set, e) < 0)
        return err_wrap(e, "%s", answer_spell(s->out, "output", option));
    if (q->rename && kept_rename(directory, note_renamed, s, e) < 0)
        return -1;
    if (store(s, directory, &why) < 0)
        return err_set(e, why.kind, "job %" PRId64 " is still unsaved: %s%s%s", q->id, why.text,
                       is_name(&why, q) ? "; rename such files with " : "",
                       is_name(&why, q) ? answer_spell(s->out, "rename", option) : "");
    if (s->details.continues)
        checkpoint_drop(home, s->details.continues);
    return 0;
}

static int run_save(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct save_request *q = request;
    const char *home = app_home(app, e);
    struct app_job_saved saved = {.id = q->id};
    struct saving s = {.app = app, .request = q, .out = out, .renamed = &saved.renamed};

    if (!home || app_job_load(app, q->id, out->arena, &s.job, e) < 0)
        return -1;
    app_job_read_details(&s.job, &s.details);
    saved.was_saved = s.job.state == LAKE_JOB_FINISHED;
    int result = saved.was_saved ? 0 : save(&s, home, e);
    /* A call before may have been killed here. */
    if (result == 0)
        attempt_tidy(home, q->id, false);
    job_details_clear(&s.details);
    if (result < 0 || app_job_load(app, q->id, out->arena, &s.job, e) < 0)
        return -1;
    saved.state = s.job.state;
    saved.output = *s.job.output_set ? s.job.output_set : NULL;
    return answer_head(out, &saved, e);
}

const struct operation job_save_operation = {
    .name = "job.save",
    .summary = "Store the output of an unsaved job.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct save_request, save_fields),
    .answer = RECORD_AT("job_saved", struct app_job_saved, saved_fields),
    .run = run_save,
};

/* ---- job.remove ---- */

struct remove_request {
    struct field_ints ids;
};

/* clang-format off */
static const struct field remove_fields[] = {APP_JOB_IDS_FIELD(struct remove_request)};

static const struct field removed_fields[] = {
    {"id", FIELD(INT, struct app_job_removed, id), .help = "Number of the job."},
    {"size_bytes", FIELD(BYTES, struct app_job_removed, bytes), .unit = "bytes",
     .help = "Size of its log, and of an output that was not stored."},
    {"was_unsaved", FIELD(BOOL, struct app_job_removed, was_unsaved),
     .help = "Whether an output that was not stored went with it."},
};
/* clang-format on */

struct removing {
    int *locks; /* of unsaved jobs: job save waits outside; -1 = none */
    struct app *app;
    const struct field_ints *ids;
    const struct open_bills *bills;
    struct lake_job_removal *removals;
    struct app_job_removed *items;
};

static bool is_listed(const struct field_ints *ids, int64_t id)
{
    for (size_t i = 0; i < ids->n; i++)
        if (ids->items[i] == id)
            return true;
    return false;
}

/* A job that is not over and begins with the checkpoint of one that is to go. */
static int check_continues(void *context, const struct lake_job *job, struct err *e)
{
    AUTO_CLEAR(job_details) struct job_details d = {0};
    const struct removing *r = context;
    struct err ignored;

    if (job_details_parse(job->asked.details, &d, &ignored) < 0 || !d.continues ||
        !is_listed(r->ids, d.continues) || is_listed(r->ids, job->id))
        return 0;
    return err_set(e, ERR_USAGE, "job %lld continues the checkpoint of job %lld and is not over",
                   (long long)job->id, (long long)d.continues);
}

static int check_run(struct app *app, const struct lake_job *job, struct err *e)
{
    struct runs *runs = job->asked.run ? app_runs(app, e) : NULL;
    AUTO_CLEAR(run) struct run run = {0};
    struct err why = {0};

    if (!job->asked.run)
        return 0;
    if (!runs)
        return -1;
    if (runs_get(runs, job->asked.run, &run, &why) < 0)
        return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    for (size_t i = 0; i < run.n_stages && run.state != RUN_FINISHED; i++)
        if (run.stages[i].job == job->id && run.stages[i].state == STAGE_FINISHED)
            return err_set(e, ERR_USAGE,
                           "job %lld made stage %s of run %lld, which --resume would reuse",
                           (long long)job->id, run.stages[i].plan.name, (long long)run.id);
    return run.state != RUN_GOING
               ? 0
               : err_set(e, ERR_USAGE, "job %lld is a stage of run %lld, which is not over",
                         (long long)job->id, (long long)run.id);
}

/* An output that is being stored now is not removed below the one who stores it; a directory that
 * is gone already is no reason to keep the record. */
static int lock_unsaved(struct removing *r, size_t i, int64_t id, struct err *e)
{
    struct err why = {0};

    r->locks[i] = kept_lock(app_home(r->app, e), id, &why);
    if (r->locks[i] >= 0 || why.kind == ERR_NOTFOUND)
        return 0;
    return err_set(e, why.kind, "%s; remove it when that is over", why.text);
}

static int check_one(struct removing *r, size_t i, struct answer *out, struct err *e)
{
    AUTO_CLEAR(job_details) struct job_details d = {0};
    int64_t id = r->ids->items[i];
    struct lake_job job;

    if (app_job_load(r->app, id, out->arena, &job, e) < 0 || check_run(r->app, &job, e) < 0)
        return -1;
    if (open_bill_of(r->bills, id))
        return err_set(e, ERR_RETRY,
                       "job %lld still has its host %s, which is being released; tradewind "
                       "machines ls shows it",
                       (long long)id, job.machine);
    app_job_read_details(&job, &d);
    if (job.state == LAKE_JOB_UNSAVED && lock_unsaved(r, i, id, e) < 0)
        return -1;
    char *cloud = answer_text(out, e, "%s", d.on);
    AUTO_MEM char *directory = broker_job_path(app_home(r->app, e), id, NULL);
    r->removals[i] = (struct lake_job_removal){id, cloud};
    r->items[i] = (struct app_job_removed){
        .id = id, .bytes = kept_bytes(directory), .was_unsaved = job.state == LAKE_JOB_UNSAVED};
    return cloud ? 0 : -1;
}

/* A job's directory goes after its record; gc removes one that a kill left in between. */
static int mark_directory(const char *home, int64_t id, struct err *e)
{
    AUTO_MEM char *directory = broker_job_path(home, id, NULL);
    AUTO_MEM char *mark = broker_job_path(home, id, KEPT_REMOVED);

    return access(directory, F_OK) < 0 ? 0 : file_replace(mark, "", 0, 0600, e);
}

static void remove_directory(const char *home, int64_t id)
{
    AUTO_MEM char *directory = broker_job_path(home, id, NULL);

    AUTO_MEM char *leaving = mem_printf("%s" KEPT_REMOVED_SUFFIX, directory);

    attempt_tidy(home, id, false);
    file_remove_tree(leaving);
    if (rename(directory, leaving) == 0)
        file_remove_tree(leaving);
}

static int remove_all(struct removing *r, struct answer *out, struct err *e)
{
    const struct lake_job_filter open = {.states = LAKE_JOB_UNDER_WAY | 1U << LAKE_JOB_QUEUED};
    struct lake *l = app_lake(r->app, e);
    const char *home = app_home(r->app, e);

    for (size_t i = 0; i < r->ids->n; i++)
        if (check_one(r, i, out, e) < 0)
            return -1;
    if (lake_job_list(l, &open, check_continues, r, e) < 0)
        return -1;
    for (size_t i = 0; i < r->ids->n; i++)
        if (mark_directory(home, r->ids->items[i], e) < 0)
            return -1;
    if (lake_job_remove(l, r->removals, r->ids->n, e) < 0)
        return -1;
    for (size_t i = 0; i < r->ids->n; i++) {
        remove_directory(home, r->ids->items[i]);
        if (answer_item(out, &r->items[i], e) < 0)
            return -1;
    }
    return 0;
}

static int run_remove(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct remove_request *q = request;
    AUTO_CLEAR(open_bills) struct open_bills bills = {0};
    struct removing r = {.app = app, .ids = &q->ids, .bills = &bills};

    if (app_job_check_ids(app, &q->ids, e) < 0 ||
        open_bills_read(app_home(app, e), time_epoch_ms(), &bills, e) < 0)
        return -1;
    for (size_t i = 0; i < q->ids.n; i++)
        for (size_t k = 0; k < i; k++)
            if (q->ids.items[i] == q->ids.items[k])
                return err_set(e, ERR_USAGE, "job %lld is named twice", (long long)q->ids.items[i]);
    r.removals = answer_alloc(out, q->ids.n, sizeof *r.removals, e);
    r.items = answer_alloc(out, q->ids.n, sizeof *r.items, e);
    if (!r.removals || !r.items)
        return -1;
    AUTO_MEM int *locks = mem_zero(q->ids.n + 1, sizeof *locks);
    for (size_t i = 0; i < q->ids.n; i++)
        locks[i] = -1;
    r.locks = locks;
    int result = remove_all(&r, out, e);
    for (size_t i = 0; i < q->ids.n; i++)
        if (locks[i] >= 0)
            close(locks[i]);
    return result;
}

const struct operation job_remove_operation = {
    .name = "job.remove",
    .summary = "Remove logs and records of jobs that are over and that nothing needs.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct remove_request, remove_fields),
    .item = RECORD_AT("job_removed", struct app_job_removed, removed_fields),
    .run = run_remove,
};
