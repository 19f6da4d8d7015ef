/* logs: the log of a job, followed while the job runs, for `tradewind job logs`; and its last lines
 * as the operation job.log. */
#include "app/job/job.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "base/utf8.h"
#include "broker/core/home.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Between two looks at the state, and for a log that does not exist yet. New bytes end the pause.
 */
#define LOOK_MS 80
/* How often a broker that went away is noticed, and another one started. */
#define WAKE_S 1.0
#define PIECE 65536

/* clang-format off */
static const struct field logs_fields[] = {
    {"id", FIELD(INT, struct app_job_logs, id), APP_JOB_NUMBER, .required = true, .operand = true,
     .help = "Number of the job."},
    {"follow", FIELD(BOOL, struct app_job_logs, follow), .letter = 'f',
     .help = "Continue until the job is over."},
    {"tail", FIELD(COUNT, struct app_job_logs, tail), .value = "N",
     .help = "Begin with the last N lines."},
};
/* clang-format on */
const struct record app_job_logs_record = RECORD("job_logs", struct app_job_logs, logs_fields);

struct following {
    struct app *app;
    const struct app_job_logs *request;
    double wake_s; /* time of the next look at the broker */
    int64_t id;
    char *path;
    int fd;         /* of the log, -1 = it does not exist yet */
    int watch;      /* inotify, -1 = none */
    bool over, ran; /* the job is in a final state; it was running once */
};

static void following_clear(struct following *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->watch >= 0)
        close(f->watch);
    free(f->path);
}

static int hand_over(struct following *f, const char *bytes, size_t n, struct err *e)
{
    return f->request->take(f->request->context, bytes, n, e);
}

/* Everything that the log has now. */
static int take_new(struct following *f, struct err *e)
{
    char bytes[PIECE];
    ssize_t n;

    while (f->fd >= 0 && !app_cancelled(f->app) && (n = read(f->fd, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_error(e, "read", f->path);
        if (hand_over(f, bytes, (size_t)n, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the last lines ---- */

static int seek_to(struct following *f, off_t at, struct err *e)
{
    return lseek(f->fd, at, SEEK_SET) < 0 ? file_error(e, "read", f->path) : 0;
}

/* Reading goes on before the last lines. */
static int seek_tail(struct following *f, struct err *e)
{
    char bytes[PIECE];
    uint64_t lines = f->request->tail;
    off_t end = lseek(f->fd, 0, SEEK_END), at = lines ? end : 0;

    while (at > 0) {
        off_t from = at > PIECE ? at - PIECE : 0;
        ssize_t n = pread(f->fd, bytes, (size_t)(at - from), from);
        if (n <= 0)
            return file_error(e, "read", f->path);
        for (ssize_t i = n - 1; i >= 0; i--) {
            /* The newline at the very end closes the last line. */
            if (bytes[i] == '\n' && from + i + 1 != end && --lines == 0)
                return seek_to(f, from + i + 1, e);
        }
        at = from;
    }
    return seek_to(f, f->request->tail ? 0 : end, e);
}

/* ---- following ---- */

static int read_state(struct following *f, struct err *e)
{
    struct lake_job job;

    if (app_job_load(f->app, f->id, NULL, &job, e) < 0)
        return -1;
    f->over = lake_job_state_final(job.state) || job.state == LAKE_JOB_UNSAVED;
    f->ran = job.started_ms != 0;
    return 0;
}

/* Without a watch the log is still read every LOOK_MS. */
static void watch_log(const struct following *f)
{
    if (f->watch >= 0 && f->fd >= 0)
        (void)inotify_add_watch(f->watch, f->path, IN_MODIFY);
}

static int open_log(struct following *f, struct err *e)
{
    if (f->fd >= 0)
        return 0;
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (f->fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : file_error(e, "read", f->path);
    watch_log(f);
    return 0;
}

static void wait_for_more(const struct following *f)
{
    struct pollfd ready = {f->watch, POLLIN, 0};
    char events[4096];

    if (poll(&ready, 1, LOOK_MS) > 0 && read(f->watch, events, sizeof events) < 0)
        return;
}

/* Without a broker no job would end, and following would last for ever. */
static int keep_broker(struct following *f, struct err *e)
{
    double now_s = time_monotonic_s();

    if (now_s < f->wake_s)
        return 0;
    f->wake_s = now_s + WAKE_S;
    return app_wake_broker(f->app, e);
}

static int follow(struct following *f, struct err *e)
{
    f->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    watch_log(f); /* which may be open already */
    while (!app_cancelled(f->app)) {
        /* First the state, then the bytes: a job that is over has printed all of them. */
        if (read_state(f, e) < 0 || open_log(f, e) < 0 || take_new(f, e) < 0)
            return -1;
        if (f->over)
            return 1;
        if (keep_broker(f, e) < 0)
            return -1;
        wait_for_more(f);
    }
    return 0;
}

static int take_once(struct following *f, struct err *e)
{
    if (f->fd < 0 && f->over && f->ran)
        return err_set(e, ERR_NOTFOUND, "the log of job %lld is gone: there is no %s",
                       (long long)f->id, f->path);
    return take_new(f, e) < 0 ? -1 : 1;
}

int app_job_logs(struct app *app, const struct app_job_logs *request, struct err *e)
{
    AUTO_CLEAR(following)
    struct following f = {.app = app, .request = request, .fd = -1, .watch = -1};
    const char *home;

    if (!(home = app_home(app, e)))
        return -1;
    app_refresh(app);
    f.id = request->id;
    f.path = broker_job_path(home, f.id, "log");
    if (read_state(&f, e) < 0 || open_log(&f, e) < 0 ||
        (request->tail != UINT64_MAX && f.fd >= 0 && seek_tail(&f, e) < 0))
        return -1;
    int result = request->follow ? follow(&f, e) : take_once(&f, e);
    if (result > 0 && hand_over(&f, "", 0, e) < 0)
        return -1;
    return result;
}

/* ---- job.log ---- */

#define LOG_MAX_BYTES ((size_t)256 << 10)

struct log_request {
    int64_t id;
    uint64_t lines;
};

struct log_answer {
    int64_t id;
    const char *text;
    bool cut;
};

/* clang-format off */
static const struct field log_fields[] = {
    {"id", FIELD(INT, struct log_request, id), APP_JOB_NUMBER, .required = true, .operand = true,
     .help = "Number of the job."},
    {"lines", FIELD(COUNT, struct log_request, lines), .preset = "200", .least = 1, .most = 100000,
     .help = "Number of lines, the last of the log."},
};

static const struct field log_answer_fields[] = {
    {"id", FIELD(INT, struct log_answer, id), .help = "Number of the job."},
    {"text", FIELD(TEXT, struct log_answer, text),
     .help = "Lines that the job printed; other bytes than UTF-8 text are shown as ?."},
    {"cut", FIELD(BOOL, struct log_answer, cut),
     .help = "The lines are longer than 256 KiB, of which the text has the last."},
};
/* clang-format on */

struct last_bytes {
    char bytes[LOG_MAX_BYTES];
    size_t n;
    bool cut;
};

/* Keeps the last bytes of all. */
static int keep_last(void *context, const char *bytes, size_t n, struct err *e)
{
    struct last_bytes *last = context;
    size_t taken = n < LOG_MAX_BYTES ? n : LOG_MAX_BYTES;
    size_t kept = last->n < LOG_MAX_BYTES - taken ? last->n : LOG_MAX_BYTES - taken;

    (void)e;
    last->cut |= taken < n || kept < last->n;
    memmove(last->bytes, last->bytes + last->n - kept, kept);
    memcpy(last->bytes + kept, bytes + n - taken, taken);
    last->n = kept + taken;
    return 0;
}

static int run_log(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct log_request *q = request;
    struct last_bytes *last = answer_alloc(out, 1, sizeof *last, e);
    const struct app_job_logs wanted = {
        .id = q->id, .tail = q->lines, .take = keep_last, .context = last};

    if (!last || app_job_logs(app, &wanted, e) < 0)
        return -1;
    char *text = arena_dup_n(out->arena, last->bytes, last->n);
    if (!text)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    for (size_t i = 0; i < last->n; i++)
        text[i] = text[i] ? text[i] : '?';
    utf8_disarm(text);
    return answer_head(out, &(struct log_answer){.id = q->id, .text = text, .cut = last->cut}, e);
}

const struct operation job_log_operation = {
    .name = "job.log",
    .summary = "Get the last lines that a job printed.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct log_request, log_fields),
    .answer = RECORD_AT("job_log", struct log_answer, log_answer_fields),
    .is_live = true,
    .run = run_log,
};
