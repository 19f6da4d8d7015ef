#include "hand.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64], agent[PATH_MAX];

static void remove_root(void)
{
    file_remove_tree(root);
}

/* BUILD/tests/unit/exec/test_x -> BUILD/tradewind-agent */
static void find_agent(void)
{
    char self[PATH_MAX - 32];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    self[n > 0 ? n : 0] = 0;
    for (int i = 0; i < 4 && strrchr(self, '/'); i++)
        *strrchr(self, '/') = 0;
    snprintf(agent, sizeof agent, "%s/tradewind-agent", self);
}

struct exec_host hand_host(void)
{
    const char *tmp = getenv("TMPDIR");

    find_agent();
    snprintf(root, sizeof root, "%s/tradewind-exec-XXXXXX", tmp && strlen(tmp) < 30 ? tmp : "/tmp");
    if (!mkdtemp(root))
        exit(1);
    atexit(remove_root);
    return (struct exec_host){.driver = "local", .root = root, .agent = agent};
}

void hand_job(const struct exec_host *h, struct jobfile job, const char *script)
{
    const char *command[] = {"sh", "-c", script};
    AUTO_MEM char *dir = mem_printf("%s/%" PRId64, h->root, job.id);
    AUTO_MEM char *path = mem_printf("%s/job", dir);

    job.command = command;
    job.n_command = 3;
    AUTO_MEM char *text = jobfile_text(&job, NULL);
    if (!text || mkdir(dir, 0755) < 0 || file_replace(path, text, strlen(text), 0600, NULL) < 0)
        exit(1);
}

void hand_init(struct hand *t)
{
    *t = (struct hand){0};
    buf_init(&t->state, 1 << 20);
    buf_init(&t->log, 64 << 20);
}

void hand_clear(struct hand *t)
{
    buf_clear(&t->state);
    buf_clear(&t->log);
}

int hand_hear(void *context, enum frame_kind kind, const char *bytes, size_t n, struct err *e)
{
    struct hand *t = context;

    (void)e;
    if (kind == FRAME_END)
        t->ends++;
    else
        buf_add(kind == FRAME_STATE ? &t->state : &t->log, bytes, n);
    return 0;
}

static void wait_readable(const struct exec_stream *s, double until_s)
{
    struct pollfd fd = {.fd = exec_stream_fd(s), .events = POLLIN};
    double left_s = until_s - time_monotonic_s();

    if (left_s > 0)
        poll(&fd, 1, (int)(left_s * 1000) + 1);
}

enum exec_more hand_read(struct exec_stream *s, struct hand *t, double seconds, struct err *e)
{
    double until_s = time_monotonic_s() + seconds;
    enum exec_more more;

    while ((more = exec_read(s, hand_hear, t, e)) == EXEC_MORE && time_monotonic_s() < until_s)
        wait_readable(s, until_s);
    return more;
}

bool hand_wait_for(struct exec_stream *s, struct hand *t, const char *text, double seconds)
{
    double until_s = time_monotonic_s() + seconds;

    while (exec_read(s, hand_hear, t, NULL) == EXEC_MORE && !strstr(buf_str(&t->log), text) &&
           time_monotonic_s() < until_s)
        wait_readable(s, until_s);
    return strstr(buf_str(&t->log), text);
}

struct state_line hand_last(const struct hand *t)
{
    struct state_line line = {.kind = STATE_SAMPLE};
    AUTO_MEM char *text = mem_dup(buf_str(&t->state));
    size_t n = strlen(text);

    if (!n || text[n - 1] != '\n')
        return line;
    text[n - 1] = 0;
    const char *before = strrchr(text, '\n');
    state_line_parse(before ? before + 1 : text, &line, NULL);
    return line;
}

struct state_line hand_run(const struct exec_host *h, int64_t id, struct hand *t)
{
    struct err e = {0};
    AUTO(exec_stream) struct exec_stream *s = exec_start(h, id, &e);

    hand_init(t);
    if (!s || hand_read(s, t, 60, &e) != EXEC_OVER)
        printf("# %s\n", e.text);
    return hand_last(t);
}
