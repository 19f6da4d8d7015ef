#include "broker/daemon/attempt.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/daemon/host.h"
#include "broker/pipeline/stagecache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How far back a complaint about an output is looked for. */
#define LOG_TOLD_BYTES 16384
/* The lines of a failed job's log that go into its message. */
#define LAST_BYTES_MAX 1000
#define LAST_LINES_MAX 20
/* How often a broken connection is tried again before each attempt waits a minute. */
#define BROKEN_QUICK 6

/* What an earlier broker copied is read in pieces of this size: the loop has other work. */
#define REREAD_BYTES ((size_t)256 << 10)

/* ---- making one ---- */

/* A request is at most a few megabytes. */
#define ARENA_BYTES ((size_t)64 << 20)

static const char *keep(struct attempt *j, const char *s)
{
    const char *copy = s ? arena_dup(j->arena, s) : NULL;

    if (s && !copy)
        err_set(&j->agent_error, ERR_USAGE, "job %" PRId64 " is too large", j->job.id);
    return copy;
}

void attempt_ask_stop(struct attempt *j, const struct lake_job *job)
{
    j->stop_wanted = j->stop_wanted || job->stop_asked;
    if (job->stop_asked && !j->stop_reason[0])
        snprintf(j->stop_reason, sizeof j->stop_reason, "%s", job->stop_reason);
}

/* More than the shortest lines of one round (exec_read) can tell; nothing more is read before these
 * are in the lake. */
#define TOLD_MAX 65536
/* Of one job: mistakes without end fill no disk. */
#define WARNINGS_BYTES_MAX ((off_t)64 << 10)
#define WARNINGS_END "further warnings are left out\n"
/* Tags, and metrics, of one round that are refused one by one. */
#define REFUSED_MAX 32
/* How often the metadata of a job follows its metrics; it has the last values at the end. */
#define TELL_EVERY_MS 1000

void attempt_note_warning(const struct attempt *j, const char *text)
{
    AUTO_MEM char *path = broker_job_path(j->home, j->job.id, "warnings");
    AUTO_MEM char *line = mem_printf("%s\n", text);
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size >= WARNINGS_BYTES_MAX)
        return;
    /* Of a full disk the job itself will say. */
    file_write_all(fd, line, strlen(line));
    if (st.st_size + (off_t)strlen(line) >= WARNINGS_BYTES_MAX)
        file_write_all(fd, WARNINGS_END, sizeof WARNINGS_END - 1);
}

static void hear_tag(void *context, const char *set, const char *pair)
{
    struct attempt *j = context;

    if (j->n_tags == TOLD_MAX)
        return;
    j->tags = mem_room(j->tags, j->n_tags, &j->cap_tags, sizeof *j->tags);
    j->tags[j->n_tags++] = (struct told_tag){set ? mem_dup(set) : NULL, mem_dup(pair)};
}

static void hear_metric(void *context, const char *name, double step, double value)
{
    struct attempt *j = context;

    if (j->n_metrics == TOLD_MAX)
        return;
    j->metrics = mem_room(j->metrics, j->n_metrics, &j->cap_metrics, sizeof *j->metrics);
    j->metric_names =
        mem_room(j->metric_names, j->n_metrics, &j->cap_metric_names, sizeof *j->metric_names);
    j->metric_names[j->n_metrics] = mem_dup(name);
    j->metrics[j->n_metrics] = (struct lake_job_metric){
        .name = j->metric_names[j->n_metrics], .step = step, .value = value};
    j->n_metrics++;
}

static void hear_malformed(void *context, const char *text)
{
    attempt_note_warning(context, text);
}

void attempt_set_nodes(struct attempt *j, const char *hosts)
{
    j->nodes = keep(j, hosts);
}

void attempt_set_devices(struct attempt *j, const char *devices)
{
    j->devices = keep(j, devices);
}

struct attempt *attempt_new(
    struct lake *l, int64_t id, const char *home, const char *agent, struct err *e)
{
    AUTO(attempt) struct attempt *j = mem_zero(1, sizeof *j);

    j->arena = arena_new(ARENA_BYTES);
    j->home = home;
    if (lake_job_load(l, id, j->arena, &j->job, e) < 0)
        return NULL;
    attempt_ask_stop(j, &j->job);
    if (job_details_parse(j->job.asked.details, &j->details, e) < 0) {
        e->kind = ERR_USAGE; /* which no later try changes */
        return NULL;
    }
    AUTO_MEM char *root = broker_path(home, BROKER_JOBS);
    AUTO_MEM char *directory = broker_job_path(home, id, NULL);
    j->directory = keep(j, directory);
    j->devices = j->job.devices;
    j->host =
        (struct exec_host){.driver = "local", .address = "", .root = keep(j, root), .agent = agent};
    if (j->agent_error.kind != ERR_NONE) {
        *e = j->agent_error;
        return NULL;
    }
    j->scan = logscan_new(&(struct logscan_visitor){.context = j,
                                                    .tag = hear_tag,
                                                    .metric = hear_metric,
                                                    .malformed = hear_malformed,
                                                    .json = j->details.json_metrics});
    return TAKE(j);
}

void attempt_set_remote(struct attempt *j)
{
    j->remote = mem_zero(1, sizeof *j->remote);
    j->remote->attempt = 1;
    j->remote->launch.offer = j->details.offer;
    j->remote->log_fd = j->remote->state_fd = -1;
}

void attempt_set_host(struct attempt *j, const char *agent)
{
    j->host = host_of(&j->remote->machine, agent, j->home);
}

static void free_remote(struct remote *r)
{
    if (!r)
        return;
    if (r->log_fd >= 0)
        close(r->log_fd);
    if (r->state_fd >= 0)
        close(r->state_fd);
    free(r);
}

static void forget_told(struct attempt *j)
{
    for (size_t i = 0; i < j->n_tags; i++) {
        free(j->tags[i].set);
        free(j->tags[i].pair);
    }
    for (size_t i = 0; i < j->n_metrics; i++)
        free(j->metric_names[i]);
    j->n_tags = j->n_metrics = 0;
}

void attempt_free(struct attempt *j)
{
    if (!j)
        return;
    forget_told(j);
    for (size_t i = 0; i < j->n_used; i++)
        free(j->used[i]);
    free(j->used);
    free(j->tags);
    free(j->metrics);
    free(j->metric_names);
    exec_stream_free(j->stream);
    free_remote(j->remote);
    logscan_free(j->scan);
    job_details_clear(&j->details);
    arena_free(j->arena);
    free(j);
}

/* ---- copies of what an agent on a host writes: a new broker knows by them how much it has ---- */

static int open_copy(const struct attempt *j, const char *name, bool fresh, int *fd, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/%s", j->directory, name);

    if (*fd < 0)
        *fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (*fd < 0)
        return file_error(e, "open", path);
    return fresh && ftruncate(*fd, 0) < 0 ? file_error(e, "empty", path) : 0;
}

static int open_copies(struct attempt *j, bool fresh, struct err *e)
{
    return open_copy(j, "log", fresh, &j->remote->log_fd, e) < 0 ||
                   open_copy(j, "state", fresh, &j->remote->state_fd, e) < 0
               ? -1
               : 0;
}

static int add_to_copy(
    struct attempt *j, enum frame_kind kind, const char *bytes, size_t n, struct err *e)
{
    const char *name = kind == FRAME_LOG ? "log" : "state";
    int fd = kind == FRAME_LOG ? j->remote->log_fd : j->remote->state_fd;
    uint64_t at = kind == FRAME_LOG ? j->log_offset : j->state_offset;

    if (kind == FRAME_END || file_write_all(fd, bytes, n) == 0)
        return 0;
    file_error(e, "write the copy of its", name);
    j->remote->lacks_room = true;
    /* What is there in part comes again as a whole. */
    if (ftruncate(fd, (off_t)at) < 0)
        return file_error(e, "cut the copy of its", name);
    return -1;
}

/* ---- hearing its agent ---- */

void attempt_try_later(struct attempt *j)
{
    j->retry_ms = time_monotonic_ms() + (j->failures < BROKEN_QUICK ? 250 << j->failures : 60000);
    j->failures++;
}

static int follow_later(struct attempt *j, const struct err *why)
{
    log_warn("broker", "job %" PRId64 ": %s; trying again", j->job.id, why->text);
    attempt_try_later(j);
    return 1;
}

int attempt_follow(struct attempt *j, bool start, struct err *e)
{
    j->retry_ms = 0;
    exec_stream_free(j->stream);
    j->stream = NULL;
    start = start && !j->state_offset && !j->log_offset;
    if (j->remote && open_copies(j, start, e) < 0)
        return follow_later(j, e);
    j->stream = start ? exec_start(&j->host, j->job.id, e)
                      : exec_follow(&j->host, j->job.id, j->state_offset, j->log_offset, e);
    if (j->stream)
        return 0;
    return start && (e->kind == ERR_NOTFOUND || e->kind == ERR_USAGE) ? -1 : follow_later(j, e);
}

/* An agent tells no more of them. */
#define USED_MAX 20000

static void hear_used(struct attempt *j, const char *path)
{
    j->used_lines++;
    if (j->n_used == USED_MAX)
        return;
    j->used = mem_room(j->used, j->n_used, &j->cap_used, sizeof *j->used);
    j->used[j->n_used++] = mem_dup(path);
}

static int hear_line(struct attempt *j, struct err *e)
{
    struct state_line line;

    if (state_line_parse(j->line, &line, e) < 0)
        return -1;
    j->told_ms = line.at_ms;
    if (line.kind == STATE_STARTED) {
        j->started = true;
        j->beginning = line;
    } else if (line.kind == STATE_USED) {
        hear_used(j, line.text);
    } else if (line.kind == STATE_LEARNED) {
        j->learned = true;
        j->lesson = line;
    } else if (line.kind == STATE_ENDED) {
        j->ended = true;
        j->end = line;
    }
    return 0;
}

static int hear_state(struct attempt *j, const char *bytes, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        j->state_offset++;
        if (bytes[i] == '\n') {
            j->line[j->line_len] = '\0';
            j->line_len = 0;
            if (hear_line(j, e) < 0)
                return -1;
        } else if (j->line_len + 1 < sizeof j->line) {
            j->line[j->line_len++] = bytes[i];
        }
    }
    return 0;
}

static void hear_log(struct attempt *j, const char *bytes, size_t n)
{
    logscan_take(j->scan, bytes, n);
    j->log_offset += n;
}

static int hear_frame(
    void *context, enum frame_kind kind, const char *bytes, size_t n, struct err *e)
{
    struct attempt *j = context;

    if (j->remote && add_to_copy(j, kind, bytes, n, e) < 0)
        return -1;
    if (kind == FRAME_STATE)
        return hear_state(j, bytes, n, e);
    if (kind == FRAME_LOG)
        hear_log(j, bytes, n);
    return 0;
}

int attempt_reread(struct attempt *j, struct err *e)
{
    struct remote *r = j->remote;

    if (open_copies(j, false, e) < 0)
        return -1;
    AUTO_MEM char *bytes = mem_zero(REREAD_BYTES, 1);
    for (;;) {
        ssize_t n = pread(r->state_fd, bytes, REREAD_BYTES, (off_t)j->state_offset);
        if (n < 0 && errno != EINTR)
            return file_error(e, "read", "the copy of its state");
        if (n > 0 && hear_state(j, bytes, (size_t)n, e) < 0)
            return -1;
        if (n == 0)
            break;
    }
    ssize_t n = pread(r->log_fd, bytes, REREAD_BYTES, (off_t)j->log_offset);
    if (n < 0)
        return file_error(e, "read", "the copy of its log");
    hear_log(j, bytes, (size_t)n);
    return n > 0;
}

enum life_event attempt_read(struct attempt *j)
{
    j->agent_error = (struct err){0};
    if (j->remote)
        j->remote->lacks_room = false;
    switch (exec_read(j->stream, hear_frame, j, &j->agent_error)) {
    case EXEC_MORE:
        j->failures = 0;
        return EVENT_NONE;
    case EXEC_OVER:
        logscan_end(j->scan);
        break;
    case EXEC_GONE:
        break;
    case EXEC_BROKEN:
        /* Without its directory the job will never be there again. */
        if (j->agent_error.kind == ERR_NOTFOUND)
            break;
        attempt_try_later(j);
        return EVENT_DISCONNECTED;
    }
    /* The stream is freed with the attempt, when its process has had time to end. */
    return EVENT_AGENT_ENDED;
}

/* ---- its end ---- */

static enum lake_job_state end_state(const struct attempt *j)
{
    if (j->end.cause == STATE_PREEMPTED)
        return LAKE_JOB_LOST;
    if (j->end.cause == STATE_STOPPED)
        return LAKE_JOB_KILLED;
    return j->end.cause == STATE_EXIT && j->end.code == 0 ? LAKE_JOB_STORING : LAKE_JOB_FAILED;
}

/* Where the last ones of the text begin. */
static const char *last_lines(const char *text)
{
    const char *from = text + strlen(text);
    unsigned n = 0;

    while (from > text && (from[-1] != '\n' || !*from || ++n < LAST_LINES_MAX))
        from--;
    return from;
}

/* "sh: 1: cannot create /home/.../output/model: Is a directory" */
void attempt_add_hint(const struct attempt *j, char reason[static ATTEMPT_REASON])
{
    const char *log = logscan_last_lines(j->scan, LOG_TOLD_BYTES);
    size_t n = strlen(reason);

    for (size_t i = 0; i < j->details.n_outputs; i++) {
        const char *name = j->details.outputs[i];
        AUTO_MEM char *complaint = mem_printf("/%s: Is a directory", name);
        if (job_output_is_file(name) || !strstr(log, complaint))
            continue;
        snprintf(reason + n, ATTEMPT_REASON - n,
                 "\nhint: an output without an extension in its name is a directory: write "
                 "$TRADEWIND_OUTPUT/%s/FILE, or declare a file, as in %s.txt",
                 name, name);
        return;
    }
}

/* "exit code 3; its log ends: no more data"; several lines of the log stand below it. */
static void failure_reason(const struct attempt *j, char out[static ATTEMPT_REASON])
{
    const char *last = last_lines(logscan_last_lines(j->scan, LAST_BYTES_MAX));
    const char *joint = strchr(last, '\n') ? "; its log ends:\n" : "; its log ends: ";

    if (j->end.text[0])
        snprintf(out, ATTEMPT_REASON, "%s%s%s", j->end.text, last[0] ? joint : "", last);
    else
        snprintf(out, ATTEMPT_REASON, "exit code %d%s%s", j->end.code, last[0] ? joint : "", last);
}

/* Run time of a job whose agent reported no end: until its last report; < 0 = unknown. */
static double told_s(const struct attempt *j)
{
    double seconds = (double)(j->told_ms - j->beginning.at_ms) / 1000;

    return j->beginning.at_ms ? fmax(seconds, 0) : -1;
}

void attempt_outcome(const struct attempt *j,
                     char reason[static ATTEMPT_REASON],
                     struct lake_job_change *out)
{
    *out = (struct lake_job_change){.id = j->job.id, .reason = reason, .runtime_s = -1};
    if (!j->ended) {
        out->to = LAKE_JOB_LOST;
        out->runtime_s = told_s(j);
        snprintf(reason, ATTEMPT_REASON, "its agent is gone and told no end: %s",
                 j->agent_error.text[0] ? j->agent_error.text
                                        : "nothing of it is left in the job's directory");
        return;
    }
    out->to = end_state(j);
    out->runtime_s = j->end.runtime_s;
    out->exited = j->end.cause != STATE_NO_START;
    out->exit_code = j->end.code;
    if (out->to == LAKE_JOB_STORING)
        reason[0] = '\0';
    else if (out->to != LAKE_JOB_FAILED)
        snprintf(reason, ATTEMPT_REASON, "%s", j->end.text);
    else
        failure_reason(j, reason);
    if (out->to == LAKE_JOB_FAILED)
        attempt_add_hint(j, reason);
}

/* ---- what its log told ---- */

typedef int store_fn(struct attempt *j, struct lake *l, size_t from, size_t n, struct err *e);

/* What cannot be tagged never can; the tag is dropped with a warning. */
static int store_set_tag(struct attempt *j, struct lake *l, const struct told_tag *t, struct err *e)
{
    if (lake_job_tag_set(l, j->job.id, t->set, t->pair, e) == 0)
        return 0;
    if (e->kind == ERR_NOTFOUND || e->kind == ERR_DENIED)
        e->kind = ERR_USAGE;
    return err_wrap(e, "tag %.200s of set %.100s", t->pair, t->set);
}

static int store_tags(struct attempt *j, struct lake *l, size_t from, size_t n, struct err *e)
{
    AUTO_MEM const char **pairs = mem_zero(n + 1, sizeof *pairs);
    size_t n_pairs = 0;

    for (size_t i = from; i < from + n; i++)
        if (j->tags[i].set && store_set_tag(j, l, &j->tags[i], e) < 0)
            return -1;
        else if (!j->tags[i].set)
            pairs[n_pairs++] = j->tags[i].pair;
    return n_pairs ? lake_job_tag(l, j->job.id, pairs, n_pairs, e) : 0;
}

static int store_metrics(struct attempt *j, struct lake *l, size_t from, size_t n, struct err *e)
{
    return lake_job_add_metrics(l, j->job.id, j->metrics + from, n, e);
}

/* Those that are refused are found by halves, so that the others are stored. *left: how many more
 * may be refused; after too many the rest is dropped. */
static int keep_some(struct attempt *j,
                     struct lake *l,
                     store_fn *store,
                     size_t from,
                     size_t n,
                     size_t *left,
                     struct err *e)
{
    struct err why = {0};

    if (n == 0 || *left == 0 || store(j, l, from, n, &why) == 0)
        return 0;
    if (why.kind != ERR_USAGE) {
        *e = why;
        return -1;
    }
    if (n > 1)
        return keep_some(j, l, store, from, n / 2, left, e) < 0
                   ? -1
                   : keep_some(j, l, store, from + n / 2, n - n / 2, left, e);
    attempt_note_warning(j, --*left == 0 ? "further tags or metrics are dropped" : why.text);
    return 0;
}

/* Nothing is learned from one whose agent told no end. */
static bool has_code_to_note(const struct attempt *j)
{
    return j->ended && j->details.learn && j->job.asked.code && !j->code_noted;
}

bool attempt_has_told(const struct attempt *j)
{
    return j->n_tags || j->n_metrics || has_code_to_note(j);
}

static const char *doubt_of(const struct attempt *j)
{
    if (!j->learned)
        return "its agent did not tell what was used";
    if (j->lesson.text[0])
        return j->lesson.text;
    return j->lesson.files == j->n_used && j->used_lines == j->n_used
               ? ""
               : "the list of used files is not complete";
}

/* What cannot be recorded for good counts as all of the code: the record is missing then. */
static int note_code(struct attempt *j, struct lake *l, struct codefiles_cache *code, struct err *e)
{
    const struct stagecache_told told = {(const char *const *)j->used, j->n_used, doubt_of(j)};
    AUTO_MEM char *doubt = NULL;
    struct err why = {0};

    if (stagecache_note(l, code, &j->job, &j->details, &told, &doubt, &why) < 0) {
        if (why.kind == ERR_RETRY || why.kind == ERR_IO) {
            *e = why;
            return -1;
        }
        doubt = mem_dup(why.text);
    }
    j->code_noted = true;
    if (doubt && j->end.cause == STATE_EXIT && j->end.code == 0) {
        AUTO_MEM char *text =
            mem_printf("all of the code counts when this stage is run again: %.400s", doubt);
        attempt_note_warning(j, text);
    }
    return 0;
}

int attempt_keep_told(struct attempt *j,
                      struct lake *l,
                      struct codefiles_cache *code,
                      struct err *e)
{
    size_t tags_left = REFUSED_MAX + 1, metrics_left = REFUSED_MAX + 1;

    if (keep_some(j, l, store_tags, 0, j->n_tags, &tags_left, e) < 0 ||
        keep_some(j, l, store_metrics, 0, j->n_metrics, &metrics_left, e) < 0)
        return -1;
    j->is_untold = j->is_untold || j->n_metrics;
    forget_told(j);
    return has_code_to_note(j) ? note_code(j, l, code, e) : 0;
}

int attempt_tell_metrics(struct attempt *j, struct lake *l, struct err *e)
{
    int64_t now_ms = time_monotonic_ms();

    if (!j->is_untold || now_ms < j->next_tell_ms)
        return 0;
    struct err why = {0};
    if (lake_job_tell_metrics(l, j->job.id, &why) < 0 && why.kind != ERR_NOTFOUND)
        return err_set(e, why.kind, "%s", why.text);
    j->is_untold = false;
    j->next_tell_ms = now_ms + TELL_EVERY_MS;
    return 0;
}
