/* job_logs: what a job printed, also while it does. */
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "base/utf8.h"
#include "broker/core/home.h"
#include "broker/daemon/client.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/job/job_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Between two looks at the state, and for a log that is not there yet. New bytes wake us at once.
 */
#define LOOK_MS 80
/* As often as this a broker that went away is noticed, and another started. */
#define WAKE_S 1.0
#define PIECE 65536
#define EXIT_INTERRUPTED 130

struct following {
    struct lake *l;
    const char *home;
    struct broker_client *broker;
    double wake_s; /* when it is looked at next */
    int64_t id;
    char *path;
    int fd;    /* of the log, -1 = it is not there yet */
    int watch; /* inotify, -1 = none */
    bool harmless;
    char rest[4]; /* the beginning of a character whose end has not come yet */
    size_t n_rest;
    bool over, ran; /* the job is in a final state; it was running once */
};

static void following_clear(struct following *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->watch >= 0)
        close(f->watch);
    broker_client_free(f->broker);
    free(f->path);
}

/* ---- bytes ---- */

static int write_out(const char *bytes, size_t n, struct err *e)
{
    if (fwrite(bytes, 1, n, stdout) == n)
        return 0;
    return file_error(e, "write to", "standard output");
}

/* Bytes at the end that may be the beginning of a longer character. */
static size_t unfinished(const char *bytes, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)bytes[n - back];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t wanted = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return wanted > back ? back : 0;
    }
    return 0;
}

/* What could steer a terminal becomes '?': all but tab, newline and the return that progress bars
 * need. */
static void disarm(char *text, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c;
        len = utf8_decode(text + i, n - i, &c);
        bool plain = len && c != 0x7f && (c >= 0x20 || c == '\t' || c == '\n' || c == '\r') &&
                     (c < 0x80 || c >= 0xa0);
        len = len ? len : 1;
        if (!plain)
            memset(text + i, '?', len);
    }
}

static int show_bytes(struct following *f, const char *bytes, size_t n, bool last, struct err *e)
{
    char text[PIECE + sizeof f->rest];

    if (!f->harmless)
        return write_out(bytes, n, e);
    memcpy(text, f->rest, f->n_rest);
    memcpy(text + f->n_rest, bytes, n);
    n += f->n_rest;
    f->n_rest = last ? 0 : unfinished(text, n);
    n -= f->n_rest;
    memcpy(f->rest, text + n, f->n_rest);
    disarm(text, n);
    return write_out(text, n, e);
}

/* Everything that is there now. */
static int show_new(struct following *f, struct err *e)
{
    char bytes[PIECE];
    ssize_t n;

    while (f->fd >= 0 && !interrupt_seen() && (n = read(f->fd, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_error(e, "read", f->path);
        if (show_bytes(f, bytes, (size_t)n, false, e) < 0)
            return -1;
    }
    return fflush(stdout) == 0 ? 0 : file_error(e, "write to", "standard output");
}

/* ---- the last lines ---- */

/* Sets the reading place before the last `lines` lines. */
static int seek_tail(struct following *f, uint64_t lines, struct err *e)
{
    char bytes[PIECE];
    off_t at = lseek(f->fd, 0, SEEK_END), end = at;

    while (at > 0) {
        off_t from = at > PIECE ? at - PIECE : 0;
        ssize_t n = pread(f->fd, bytes, (size_t)(at - from), from);
        if (n <= 0)
            return file_error(e, "read", f->path);
        for (ssize_t i = n - 1; i >= 0; i--) {
            /* The newline at the very end closes the last line. */
            if (bytes[i] != '\n' || from + i + 1 == end)
                continue;
            if (--lines == 0)
                return lseek(f->fd, from + i + 1, SEEK_SET) < 0 ? file_error(e, "read", f->path)
                                                                : 0;
        }
        at = from;
    }
    return lseek(f->fd, 0, SEEK_SET) < 0 ? file_error(e, "read", f->path) : 0;
}

/* ---- following ---- */

static int read_state(struct following *f, struct err *e)
{
    struct lake_job job;

    if (lake_job_load(f->l, f->id, NULL, &job, e) < 0)
        return -1;
    f->over = lake_job_state_final(job.state);
    f->ran = job.started_ms != 0;
    return 0;
}

/* Without it we still look every LOOK_MS. */
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

static void wait_for_more(struct following *f)
{
    struct pollfd ready = {f->watch, POLLIN, 0};
    char events[4096];

    if (poll(&ready, 1, LOOK_MS) > 0 && read(f->watch, events, sizeof events) < 0)
        return;
}

/* Without one nobody would hear of the job's end, and we would wait for ever. */
static int keep_broker(struct following *f, struct err *e)
{
    double now_s = time_monotonic_s();

    if (now_s < f->wake_s)
        return 0;
    f->wake_s = now_s + WAKE_S;
    if (!f->broker)
        f->broker = broker_client_open(f->home, true, e);
    return f->broker ? broker_client_wake(f->broker, e) : -1;
}

static int follow(struct following *f, struct err *e)
{
    f->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    watch_log(f); /* which may be open already */
    while (!interrupt_seen()) {
        /* First the state, then the bytes: whoever ended has printed all of them. */
        if (read_state(f, e) < 0 || open_log(f, e) < 0 || show_new(f, e) < 0)
            return -1;
        if (f->over)
            return show_bytes(f, "", 0, true, e);
        if (keep_broker(f, e) < 0)
            return -1;
        wait_for_more(f);
    }
    return EXIT_INTERRUPTED;
}

static int show_once(struct following *f, struct err *e)
{
    if (f->fd < 0 && f->over && f->ran)
        return err_set(e, ERR_NOTFOUND, "the log of job %lld is gone: there is no %s",
                       (long long)f->id, f->path);
    if (show_new(f, e) < 0)
        return -1;
    return show_bytes(f, "", 0, true, e);
}

/* Lines of the log that were meant for us and could not be read. */
static void print_warnings(const char *home, int64_t id)
{
    AUTO_JSON json_t *all = job_warnings_json(home, id);

    for (size_t i = 0; i < json_array_size(all); i++) {
        fputs("warning: ", stderr);
        text_print(stderr, json_string_value(json_array_get(all, i)), 1000);
        fputc('\n', stderr);
    }
}

/* ---- the command ---- */

static int read_tail(const struct command_args *args, uint64_t *out, struct err *e)
{
    double lines = 0;

    if (command_number(args, "--tail", &lines, e) < 0)
        return -1;
    if (lines < 0 || lines > 1e15 || floor(lines) < lines)
        return err_set(e, ERR_USAGE, "--tail %s: a whole number of lines is wanted",
                       command_value(args, "--tail"));
    *out = (uint64_t)lines;
    return 0;
}

static int go_to_tail(struct following *f, const struct command_args *args, struct err *e)
{
    uint64_t lines = 0;

    if (read_tail(args, &lines, e) < 0)
        return -1;
    if (f->fd < 0 || !command_has(args, "--tail"))
        return 0;
    if (lines)
        return seek_tail(f, lines, e);
    return lseek(f->fd, 0, SEEK_END) < 0 ? file_error(e, "read", f->path) : 0;
}

static int run_logs(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(job_record) struct job_record r = {0};
    AUTO_CLEAR(following) struct following f = {.fd = -1, .watch = -1};

    if (job_open(args->operands[0], &desk, &r, e) < 0)
        return -1;
    f.l = desk.lake;
    f.home = desk.home;
    f.id = r.job.id;
    f.path = broker_job_path(desk.home, f.id, "log");
    f.harmless = isatty(STDOUT_FILENO) && !command_has(args, "--raw");
    interrupt_watch();
    if (read_state(&f, e) < 0 || open_log(&f, e) < 0 || go_to_tail(&f, args, e) < 0)
        return -1;
    int result = command_has(args, "--follow") ? follow(&f, e) : show_once(&f, e);
    if (result == 0)
        print_warnings(desk.home, f.id);
    return result;
}

static const struct command_option options[] = {
    {.name = "--follow", .letter = 'f', .help = "Go on until the job is over."},
    {.name = "--tail", .value = "N", .help = "Begin with the last N lines."},
    {.name = "--raw", .help = "On a terminal, too, print control characters as they are."},
    {0},
};

const struct command command_job_logs = {
    .name = "job logs",
    .operands = "ID",
    .summary = "Print what a job printed, byte for byte",
    .details = "On a terminal, control characters become '?', unless --raw is given. Ctrl-C ends "
               "the following, not the job.",
    .example = "tradewind job logs -f 7",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_logs,
};
