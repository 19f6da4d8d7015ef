#include "exec/exec.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "exec/driver.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A call of the agent that does not follow. */
#define CALL_S 30.0
#define SAID_MAX 4096
#define READ_BYTES ((size_t)64 << 10)
#define READS_AT_ONCE 16
/* Between the end of its output and its own. */
#define END_WAIT_S 2.0

/* ---- local: jobs on this machine, whose directories are where they were made ---- */

static int local_prepare(const struct exec_host *h, struct err *e)
{
    if (access(h->agent, X_OK) < 0)
        return file_error(e, "run", h->agent);
    return file_make_dirs(h->root, 0700, e);
}

static int local_agent_command(const struct exec_host *h,
                               const struct exec_call *call,
                               struct words *out,
                               struct err *e)
{
    AUTO_MEM char *dir = call->id ? mem_printf("%s/%" PRId64, h->root, call->id) : mem_dup(h->root);

    (void)e;
    words_add(out, h->agent);
    words_add(out, call->verb);
    words_add(out, dir);
    for (size_t i = 0; i < EXEC_WORDS_MAX && call->words[i]; i++)
        words_add(out, call->words[i]);
    return 0;
}

static int local_explain(const struct exec_host *h, int code, const char *said, struct err *e)
{
    (void)h;
    return err_set(e, ERR_RETRY, "the agent here ended with code %d%s%.*s", code, *said ? ": " : "",
                   (int)strcspn(said, "\n"), said);
}

static const struct exec_driver exec_local = {
    .name = "local",
    .prepare = local_prepare,
    .agent_command = local_agent_command,
    .explain = local_explain,
};

/* ---- drivers ---- */

static const struct exec_driver *const drivers[] = {&exec_local, &exec_ssh};

static const struct exec_driver *find_driver(const char *name)
{
    for (size_t i = 0; name && i < sizeof drivers / sizeof drivers[0]; i++)
        if (!strcmp(drivers[i]->name, name))
            return drivers[i];
    return NULL;
}

/* What a shell, a configuration or an option could take for something else. */
static bool plain(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 127)
            return false;
    return *text && *text != '-';
}

/* How to get there; NULL when there is no such way. */
static const struct exec_driver *way_to(const struct exec_host *h, struct err *e)
{
    const struct exec_driver *d = find_driver(h->driver);

    if (!d)
        err_set(e, ERR_USAGE, "no driver '%s' runs jobs on a machine; use local or ssh",
                h->driver ? h->driver : "");
    if (d != &exec_ssh || (h->address && plain(h->address)))
        return d;
    err_set(e, ERR_USAGE, "'%s' is not the address of a host", h->address ? h->address : "");
    return NULL;
}

int exec_host_check(const struct exec_host *h, struct err *e)
{
    if (!way_to(h, e))
        return -1;
    if (!h->root || !*h->root || strchr(h->root, '\n'))
        return err_set(
            e, ERR_USAGE,
            "\"%.100s\" is not a directory for jobs: its name must not be empty or have a line "
            "break",
            h->root ? h->root : "");
    if (h->token && (!plain(h->token) || strchr(h->token, '/')))
        return err_set(e, ERR_USAGE, "'%s' is not a token", h->token);
    if (!h->agent || !*h->agent)
        return err_set(e, ERR_USAGE, "the path of tradewind-agent is missing");
    return 0;
}

static const struct exec_driver *driver_of(const struct exec_host *h, struct err *e)
{
    return exec_host_check(h, e) < 0 ? NULL : find_driver(h->driver);
}

static bool usable(const char *path)
{
    return access(path, X_OK) == 0;
}

char *exec_find_agent(struct err *e)
{
    const char *told = getenv("TRADEWIND_AGENT");
    char self[PATH_MAX];

    if (told && *told) {
        if (usable(told))
            return mem_dup(told);
        err_set(e, ERR_NOTFOUND, "TRADEWIND_AGENT=%s is not a program", told);
        return NULL;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    const char *here = dirname(self);
    AUTO_MEM char *beside = mem_printf("%s/tradewind-agent", here);
    AUTO_MEM char *libexec = mem_printf("%s/../libexec/tradewind-agent", here);
    if (usable(beside))
        return TAKE(beside);
    if (usable(libexec))
        return TAKE(libexec);
    err_set(e, ERR_NOTFOUND,
            "tradewind-agent is neither in %s nor in %s/../libexec: install it or set "
            "TRADEWIND_AGENT to its path",
            here, here);
    return NULL;
}

int exec_answers(const struct exec_host *h, struct err *e)
{
    const struct exec_driver *d = way_to(h, e);

    if (!d)
        return -1;
    return d->answers ? d->answers(h, e) : 0;
}

int exec_succeeds(const struct exec_host *h, const char *command, struct err *e)
{
    const struct exec_driver *d = way_to(h, e);

    if (!d)
        return -1;
    return d->succeeds ? d->succeeds(h, command, e) : 0;
}

int exec_prepare(const struct exec_host *h, struct err *e)
{
    const struct exec_driver *d = driver_of(h, e);

    return d ? d->prepare(h, e) : -1;
}

int exec_send(const struct exec_host *h, int64_t id, const char *local_dir, struct err *e)
{
    const struct exec_driver *d = driver_of(h, e);

    if (!d)
        return -1;
    return d->send ? d->send(h, id, local_dir, e) : 0;
}

int exec_collect(
    const struct exec_host *h, int64_t id, const char *part, const char *local_dir, struct err *e)
{
    const struct exec_driver *d = driver_of(h, e);

    if (!d)
        return -1;
    if (!plain(part) || strchr(part, '/') || part[0] == '.')
        return err_set(e, ERR_USAGE, "'%s' is not a part of a job's directory", part);
    return d->collect ? d->collect(h, id, part, local_dir, e) : 0;
}

/* What the agent said, without its name in front and the newline. */
static const char *message(struct buf *said)
{
    static const char name[] = "tradewind-agent: ";

    if (!said->data)
        return "";
    said->data[strcspn(said->data, "\n")] = 0;
    return strncmp(said->data, name, sizeof name - 1) ? said->data : said->data + sizeof name - 1;
}

static enum err_kind kind_of(int code)
{
    return code > ERR_NONE + 1 && code <= ERR_IO + 1 ? (enum err_kind)(code - 1) : ERR_IO;
}

static int explain(const struct exec_driver *d,
                   const struct exec_host *h,
                   int code,
                   struct buf *said,
                   struct err *e)
{
    if (said->data && strstr(said->data, "tradewind-agent: "))
        return err_set(e, kind_of(code), "%s", message(said));
    return d->explain(h, code, buf_str(said), e);
}

static int call_agent(const struct exec_host *h, const struct exec_call *call, struct err *e)
{
    const struct exec_driver *d = driver_of(h, e);
    AUTO_CLEAR(words) struct words argv = {0};
    AUTO_CLEAR(buf) struct buf said;
    int code;

    buf_init(&said, SAID_MAX);
    if (!d || d->agent_command(h, call, &argv, e) < 0)
        return -1;
    if (child_run(argv.list, -1, CALL_S, NULL, &said, &code, e) < 0)
        return err_wrap(e, "%s", h->address ? h->address : "this machine");
    return code == 0 ? 0 : explain(d, h, code, &said, e);
}

int exec_remove(const struct exec_host *h, int64_t id, struct err *e)
{
    return call_agent(h, &(struct exec_call){.verb = "remove", .id = id}, e);
}

int exec_stop(
    const struct exec_host *h, int64_t id, double grace_s, const char *reason, struct err *e)
{
    AUTO_MEM char *grace = mem_printf("%.3f", grace_s > 0 ? grace_s : 0);

    return call_agent(h, &(struct exec_call){.verb = "stop", .id = id, .words = {grace, reason}},
                      e);
}

int exec_renew(const struct exec_host *h, double seconds, struct err *e)
{
    AUTO_MEM char *text = mem_printf("%.3f", seconds > 0 ? seconds : 0);

    return call_agent(h, &(struct exec_call){.verb = "renew", .words = {text}}, e);
}

int exec_watch(const struct exec_host *h, const struct exec_watch *w, struct err *e)
{
    AUTO_MEM char *lease = mem_printf("%.3f", w->lease_s > 0 ? w->lease_s : 0);
    struct exec_call call = {
        .verb = "watch",
        .words = {lease, w->power_off ? w->power_off : "", w->notices ? w->notices : "none"}};

    return call_agent(h, &call, e);
}

int exec_claim(
    const struct exec_host *h, const char *token, double seconds, const char *label, struct err *e)
{
    AUTO_MEM char *text = mem_printf("%.3f", seconds > 0 ? seconds : 0);

    return call_agent(h, &(struct exec_call){.verb = "claim", .words = {token, text, label}}, e);
}

int exec_release(const struct exec_host *h, const char *token, struct err *e)
{
    return call_agent(h, &(struct exec_call){.verb = "release", .words = {token}}, e);
}

struct exec_stream {
    const struct exec_driver *driver;
    char *address, *root;
    struct child child;
    struct frames *frames;
    struct buf said;
    char *bytes; /* READ_BYTES */
    bool over;
};

void exec_stream_free(struct exec_stream *s)
{
    if (!s)
        return;
    child_clear(&s->child);
    frames_free(s->frames);
    buf_clear(&s->said);
    free(s->bytes);
    free(s->address);
    free(s->root);
    free(s);
}

static struct exec_stream *open_stream(const struct exec_host *h,
                                       const struct exec_call *call,
                                       struct err *e)
{
    const struct exec_driver *d = driver_of(h, e);
    AUTO_CLEAR(words) struct words argv = {0};

    if (!d || d->agent_command(h, call, &argv, e) < 0)
        return NULL;
    AUTO(exec_stream) struct exec_stream *s = mem_zero(1, sizeof *s);
    s->driver = d;
    s->address = mem_dup(h->address ? h->address : "");
    s->root = mem_dup(h->root);
    s->child = (struct child){.out_fd = -1, .err_fd = -1};
    s->frames = frames_new();
    s->bytes = mem_zero(READ_BYTES, 1);
    buf_init(&s->said, SAID_MAX);
    if (child_start(&s->child, argv.list, -1, -1, e) < 0)
        return NULL;
    return TAKE(s);
}

struct exec_stream *exec_start(const struct exec_host *h, int64_t id, struct err *e)
{
    return open_stream(h, &(struct exec_call){.verb = "run", .id = id}, e);
}

struct exec_stream *exec_follow(const struct exec_host *h,
                                int64_t id,
                                uint64_t state_offset,
                                uint64_t log_offset,
                                struct err *e)
{
    AUTO_MEM char *state_at = mem_printf("%" PRIu64, state_offset);
    AUTO_MEM char *log_at = mem_printf("%" PRIu64, log_offset);

    return open_stream(
        h, &(struct exec_call){.verb = "follow", .id = id, .words = {state_at, log_at}}, e);
}

int exec_stream_fd(const struct exec_stream *s)
{
    return s->child.out_fd;
}

/* What the caller wants, and whether that was the end. */
struct telling {
    struct exec_stream *stream;
    frame_visit *visit;
    void *context;
};

static int tell(void *context, enum frame_kind kind, const char *bytes, size_t n, struct err *e)
{
    struct telling *t = context;

    if (kind == FRAME_END)
        t->stream->over = true;
    return t->visit(t->context, kind, bytes, n, e);
}

/* It closed its output without an end of the job. */
static enum exec_more ended(struct exec_stream *s, struct err *e)
{
    struct exec_host host = {.driver = s->driver->name, .address = s->address, .root = s->root};
    int code = child_wait(&s->child, END_WAIT_S);

    child_hear(&s->child, &s->said);
    if (code == AGENT_EXIT_GONE) {
        err_set(e, ERR_NOTFOUND, "%s", message(&s->said));
        return EXEC_GONE;
    }
    explain(s->driver, &host, code, &s->said, e);
    return EXEC_BROKEN;
}

enum exec_more exec_read(struct exec_stream *s, frame_visit *visit, void *context, struct err *e)
{
    struct telling t = {.stream = s, .visit = visit, .context = context};

    child_hear(&s->child, &s->said);
    for (int i = 0; i < READS_AT_ONCE && !s->over; i++) {
        ssize_t n = read(s->child.out_fd, s->bytes, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return EXEC_MORE;
        if (n <= 0)
            return ended(s, e);
        if (frames_take(s->frames, s->bytes, (size_t)n, tell, &t, e) < 0)
            return EXEC_BROKEN;
    }
    return s->over ? EXEC_OVER : EXEC_MORE;
}
