/* Jobs on hosts behind a real sshd (tests/servers/ssh-hosts). */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/child.h"
#include "hand.h"
#include "tap.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVER "tests/servers/ssh-hosts"

static char *scratch, *servers, *command; /* for the life of the program */
static struct exec_host far, second;

/* What the script printed, its newline cut off; NULL when it failed. */
static char *shell(const char *script)
{
    struct buf out, said;
    char sh[] = "sh", c[] = "-c";
    AUTO_MEM char *copy = mem_dup(script);
    char *argv[] = {sh, c, copy, NULL};
    int code = -1;

    buf_init(&out, 1 << 16);
    buf_init(&said, 1 << 16);
    child_run(argv, -1, 120, &out, &said, &code, NULL);
    buf_puts(&out, "");
    if (out.len && out.data[out.len - 1] == '\n')
        out.data[--out.len] = 0;
    if (said.len)
        printf("# %.*s\n", (int)strcspn(said.data, "\n"), said.data);
    buf_clear(&said);
    if (code == 0)
        return out.data;
    buf_clear(&out);
    return NULL;
}

static char *shellf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *shellf(const char *fmt, ...)
{
    char script[4096];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(script, sizeof script, fmt, ap);
    va_end(ap);
    return shell(script);
}

static bool holds(const char *got, const char *wanted)
{
    return got && !strcmp(got, wanted);
}

static void stop_servers(void)
{
    free(shellf(SERVER " stop '%s'", servers));
}

/* -o given first wins over ours: a gone host is noticed sooner than we would have users wait. */
static void use_ssh(const char *more)
{
    AUTO_MEM char *text =
        mem_printf("%s -o ServerAliveInterval=1 -o ConnectTimeout=3 %s", command, more);

    setenv("TRADEWIND_SSH", text, 1);
}

static bool start_servers(const struct exec_host *local)
{
    scratch = mem_dup(local->root);
    servers = mem_printf("%s/servers", scratch);
    AUTO_MEM char *said = shellf(SERVER " start '%s' 2", servers);
    if (!said || strncmp(said, "SSH_COMMAND='", 13) != 0)
        return false;
    atexit(stop_servers);
    said[strlen(said) - 1] = 0;
    command = mem_dup(said + 13);
    AUTO_MEM char *runtime = mem_printf("%s/r", scratch);
    mkdir(runtime, 0700);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    use_ssh("");
    far = (struct exec_host){.driver = "ssh",
                             .address = "root@10.77.0.11",
                             .root = mem_printf("%s/far away's", scratch),
                             .agent = local->agent};
    second = far;
    second.address = "root@10.77.0.12";
    second.root = mem_printf("%s/second", scratch);
    return true;
}

/* A directory here, as it is sent. */
static char *make_job(int64_t id, const char *script)
{
    char *dir = mem_printf("%s/here-%d", scratch, (int)id);
    struct exec_host here = {.root = dir};
    AUTO_MEM char *from = mem_printf("%s/%d", dir, (int)id);

    mkdir(dir, 0700);
    hand_job(&here, (struct jobfile){.id = id, .grace_s = 5}, script);
    free(dir);
    return TAKE(from);
}

static void test_prepare(void)
{
    struct err e = {0};

    CHECK(exec_prepare(&far, &e) == 0, "a host is prepared %s", e.text);
    AUTO_MEM char *names = shellf("cd \"%s\" && ls -A", far.root);
    CHECK(names && !strncmp(names, "agent-", 6) && !strchr(names, '\n'),
          "the agent is there, and nothing else: %s", names ? names : "");
    AUTO_MEM char *touched = shellf("cd \"%s\" && stat -c %%i agent-*", far.root);
    CHECK(exec_prepare(&far, &e) == 0, "again");
    AUTO_MEM char *again = shellf("cd \"%s\" && stat -c %%i agent-*", far.root);
    CHECK(touched && again && !strcmp(touched, again), "it is not copied again");
}

static void test_job(void)
{
    struct err e = {0};
    struct hand t;
    AUTO_MEM char *from =
        make_job(1, "hostname; cat \"$TRADEWIND_INPUT/odd \"*; ls -l run.sh | cut -c1-4;"
                    "cd \"$TRADEWIND_OUTPUT\"; mkdir sub; echo good > sub/file; ln -s file sub/in;"
                    "ln -s ../sub sub/up; ln -s /etc/passwd sub/out; ln -s ../../x sub/out2;"
                    "ln -s in/../../../x sub/out3; mkfifo sub/fifo; exit 4");

    free(
        shellf("cd '%s' && mkdir work input && echo in > \"input/odd 'name'\" && touch work/run.sh "
               "&& chmod 755 work/run.sh",
               from));
    CHECK(exec_send(&far, 1, from, &e) == 0, "a directory is sent %s", e.text);
    CHECK(exec_send(&far, 1, from, &e) == 0, "and again, before the job starts %s", e.text);
    AUTO_MEM char *mode = shellf("stat -c %%a \"%s/1/job\"", far.root);
    CHECK(holds(mode, "600"), "the environment stays private there");
    struct state_line end = hand_run(&far, 1, &t);
    CHECK(!strcmp(buf_str(&t.log), "host1\nin\n-rwx\n"), "it runs there, with its files: %s",
          buf_str(&t.log));
    CHECK(end.cause == STATE_EXIT && end.code == 4, "its exit code comes back");
    hand_clear(&t);
    CHECK(exec_send(&far, 1, from, &e) < 0 && e.kind == ERR_USAGE, "nothing is sent over it: %s",
          e.text);
    CHECK(exec_collect(&far, 1, "output", from, &e) == 0, "its output is collected %s", e.text);
    AUTO_MEM char *got = shellf("cd '%s/output/sub' && ls | tr '\\n' ' ' && cat in", from);
    CHECK(holds(got, "file in up good"), "without what leads out or is no file: %s",
          got ? got : "");
    CHECK(exec_collect(&far, 1, "checkpoint", from, &e) == 0, "so is a part that is empty");
    AUTO_MEM char *empty = shellf("ls -A '%s/checkpoint'", from);
    CHECK(holds(empty, ""), "which is an empty directory");
    CHECK(exec_remove(&far, 1, &e) == 0 && exec_remove(&far, 1, &e) == 0, "removed, twice");
    AUTO_MEM char *left = shellf("ls -A \"%s\" | grep -vc ^agent || true", far.root);
    CHECK(holds(left, "0"), "nothing stays there");
}

static void cut_connections(void)
{
    free(shellf("%s -o ControlPath=%s/r/tradewind/%%C -O exit %s 2>/dev/null", command, scratch,
                far.address));
}

static void test_cut(void)
{
    struct err e = {0};
    struct hand t;
    AUTO_MEM char *from = make_job(
        2, "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; sleep 0.02; done; echo end");
    struct buf wanted;

    hand_init(&t);
    buf_init(&wanted, 1 << 16);
    for (int i = 1; i <= 100; i++)
        buf_printf(&wanted, "line %d\n", i);
    buf_puts(&wanted, "end\n");
    exec_send(&far, 2, from, &e);
    struct exec_stream *s = exec_start(&far, 2, &e);
    bool heard = hand_wait_for(s, &t, "line 20\n", 60);
    cut_connections();
    enum exec_more more = hand_read(s, &t, 60, &e);
    CHECK(heard && more == EXEC_BROKEN && e.kind == ERR_RETRY, "the connection breaks: %s", e.text);
    exec_stream_free(s);
    s = exec_follow(&far, 2, t.state.len, t.log.len, &e);
    CHECK(hand_read(s, &t, 60, &e) == EXEC_OVER, "it is followed to its end");
    CHECK(t.log.len == wanted.len && !strcmp(t.log.data, wanted.data),
          "no line is lost, none comes twice");
    exec_stream_free(s);
    hand_clear(&t);
    buf_clear(&wanted);
}

static void test_stop(void)
{
    struct err e = {0};
    struct hand t;
    AUTO_MEM char *from = make_job(3, "echo ready; sleep 600");
    static const char reason[] = "it's $(touch x) \"over\"";

    hand_init(&t);
    exec_send(&far, 3, from, &e);
    AUTO(exec_stream) struct exec_stream *s = exec_start(&far, 3, &e);
    hand_wait_for(s, &t, "ready", 60);
    CHECK(exec_stop(&far, 3, 5, reason, &e) == 0, "asked to stop %s", e.text);
    CHECK(hand_read(s, &t, 60, &e) == EXEC_OVER, "it ends");
    struct state_line end = hand_last(&t);
    CHECK(end.cause == STATE_STOPPED && strstr(end.text, reason), "the reason arrives: %s",
          end.text);
    CHECK(exec_renew(&far, 60, &e) == 0, "the lease is renewed %s", e.text);
    AUTO_MEM char *lease = shellf("cat \"%s/lease\"", far.root);
    CHECK(holds(lease, "60.000"), "for so many seconds");
    hand_clear(&t);
}

/* Bytes that went to hosts since the last call: a client that writes down what it sends. */
static long travelled(void)
{
    AUTO_MEM char *bytes =
        shellf("stat -c %%s '%s/travelled'; : > '%s/travelled'", scratch, scratch);

    return bytes ? strtol(bytes, NULL, 10) : -1;
}

static void count_bytes(void)
{
    AUTO_MEM char *kept = mem_dup(command);

    free(shellf(
        "cd '%s' && : > travelled && printf '#!/bin/sh\\ntee -a %s/travelled | %%s \"$@\"\\n' "
        "'%s' > counting && chmod 755 counting",
        scratch, scratch, kept));
    AUTO_MEM char *text = mem_printf("%s/counting", scratch);
    setenv("TRADEWIND_SSH", text, 1);
}

static bool same(const char *a, const char *b)
{
    AUTO_MEM char *said = shellf("cmp \"%s\" \"%s\" && echo same", a, b);

    return holds(said, "same");
}

#define LARGE_BYTES 3000000
#define LITTLE_BYTES 100000 /* tar, job file, list of names: far less than what is large */

static void test_reuse(void)
{
    struct err e = {0};
    struct hand t;
    AUTO_MEM char *from = make_job(21, "cp -r \"$TRADEWIND_INPUT/.\" \"$TRADEWIND_OUTPUT\" && "
                                       "cd \"$TRADEWIND_OUTPUT\" && mv large 'of it' && echo more "
                                       ">> 'of it' && echo spoilt > \"$TRADEWIND_INPUT/large\"");
    AUTO_MEM char *next = make_job(22, "true"), *third = make_job(23, "true");
    AUTO_MEM char *large = mem_printf("%s/input/large", from);
    AUTO_MEM char *there = mem_printf("%s/22/input/large", far.root);
    AUTO_MEM char *made = mem_printf("%s/23/input/sub/of it", far.root);

    free(shellf("cd '%s' && mkdir input && head -c %d /dev/urandom > input/large && "
                "cp input/large 'input/odd ' && echo little > input/little && cp -rp input '%s'",
                from, LARGE_BYTES, next));
    count_bytes();
    CHECK(exec_send(&far, 21, from, &e) == 0, "an input is sent %s", e.text);
    long first = travelled();
    CHECK(first > 2 * LARGE_BYTES, "all of it travels: %ld bytes", first);
    free(shellf("rm '%s/input/odd '", next));
    hand_run(&far, 21, &t);
    hand_clear(&t);
    travelled();
    CHECK(exec_send(&far, 22, next, &e) == 0, "and again, for another job %s", e.text);
    long second_time = travelled();
    CHECK(second_time > 0 && second_time < LITTLE_BYTES, "what is there does not: %ld bytes",
          second_time);
    CHECK(same(large, there), "the job that wrote into its input has spoilt nothing");
    AUTO_MEM char *little = shellf("cat \"%s/22/input/little\"", far.root);
    CHECK(holds(little, "little"), "what is small comes as ever");
    exec_collect(&far, 21, "output", from, &e);
    CHECK(exec_remove(&far, 21, &e) == 0, "the first job is removed %s", e.text);
    free(shellf("mkdir -p '%s/input/sub' && cp '%s/output/of it' '%s/input/sub'", third, from,
                third));
    travelled();
    CHECK(exec_send(&far, 23, third, &e) == 0, "what it made is the next one's input %s", e.text);
    long made_there = travelled();
    AUTO_MEM char *output = mem_printf("%s/output/of it", from);
    CHECK(made_there > 0 && made_there < LITTLE_BYTES && same(output, made),
          "and was never sent: %ld bytes", made_there);
    use_ssh("");
}

/* A client that waits before it sends anything, until it may. */
static void wait_before_sending(void)
{
    free(shellf("cd '%s' && printf '#!/bin/sh\\ncase $* in *\"tar -C\"*) : > %s/waits; until [ -e "
                "%s/may ]; do sleep 0.02; done;; esac\\n%%s \"$@\"; : > %s/sent\\n' '%s' > waiting "
                "&& chmod 755 waiting",
                scratch, scratch, scratch, scratch, command));
    AUTO_MEM char *text = mem_printf("%s/waiting", scratch);
    setenv("TRADEWIND_SSH", text, 1);
}

/* A client whose broker was killed sends when the job is over and the host was given back. */
static void test_late(void)
{
    struct err e = {0};
    struct exec_host h = far;
    struct hand t;
    AUTO_MEM char *from = make_job(41, "true");

    h.token = "job-41-1";
    wait_before_sending();
    pid_t broker = fork();
    if (broker == 0)
        _exit(exec_send(&h, 41, from, NULL) < 0);
    free(shellf("until [ -e '%s/waits' ]; do sleep 0.02; done", scratch));
    kill(broker, SIGKILL);
    waitpid(broker, NULL, 0);
    use_ssh("");
    CHECK(exec_send(&h, 41, from, &e) == 0, "the next broker sends the job itself %s", e.text);
    hand_run(&h, 41, &t);
    hand_clear(&t);
    CHECK(exec_remove(&h, 41, &e) == 0, "and removes it %s", e.text);
    free(shellf(": > '%s/may'; until [ -e '%s/sent' ]; do sleep 0.02; done", scratch, scratch));
    AUTO_MEM char *left = shellf("cd \"%s\" && ls -Ad 41 .41.* 2>/dev/null; true", far.root);
    CHECK(holds(left, ""), "what the dead one sends then does not stay there: %s", left);
    CHECK(exec_send(&h, 41, from, &e) < 0 && e.kind == ERR_NOFIT, "nor does what others send: %s",
          e.text);
    h.token = "job-41-2";
    CHECK(exec_send(&h, 41, from, &e) == 0, "the host can be rented again %s", e.text);
    CHECK(exec_remove(&h, 41, &e) == 0, "and be given back %s", e.text);
    free(shellf("cd \"%s\" && touch -d '3 days ago' .job-41-1.over", far.root));
    exec_remove(&h, 41, &e);
    AUTO_MEM char *marks = shellf("cd \"%s\" && ls -d .*.over", far.root);
    CHECK(holds(marks, ".job-41-2.over"), "old marks go: %s", marks ? marks : "");
    AUTO_MEM char *nowhere = mem_printf("%s/nowhere", scratch);
    h.root = nowhere;
    CHECK(exec_send(&h, 42, from, &e) < 0, "nothing is sent where there is no directory: %s",
          e.text);
    AUTO_MEM char *astray = shell("ls -d ~/.42.* .42.* 2>/dev/null; true");
    CHECK(holds(astray, ""), "nor to another place: %s", astray ? astray : "");
}

/* An agent from before there was a cache. */
static void test_older_agent(void)
{
    struct err e = {0};
    struct exec_host h = far;
    AUTO_MEM char *from = make_job(31, "true");
    AUTO_MEM char *older = mem_printf("%s/older-agent", scratch);
    AUTO_MEM char *large = mem_printf("%s/input/large", from);
    AUTO_MEM char *there = mem_printf("%s/31/input/large", far.root);

    free(
        shellf("cd '%s' && mkdir input && head -c %d /dev/urandom > input/large && printf "
               "'#!/bin/sh\\ncase $1 in stage|settle|retire) echo usage: >&2; exit 2;; esac\\nexec "
               "%%s \"$@\"\\n' '%s' > '%s' && chmod 755 '%s'",
               from, LARGE_BYTES, far.agent, older, older));
    h.agent = older;
    CHECK(exec_prepare(&h, &e) == 0 && exec_send(&h, 31, from, &e) == 0 && same(large, there),
          "an agent without a cache gets everything %s", e.text);
    CHECK(exec_remove(&h, 31, &e) == 0 && access(there, F_OK) < 0, "and removes it %s", e.text);
}

static void test_refused(void)
{
    struct err e = {0};
    struct exec_host h = far;
    AUTO_MEM char *changed =
        mem_printf("-o ControlPath=none -o UserKnownHostsFile=%s/changed", servers);

    /* The host forgets our key for a moment. */
    free(shellf("cd '%s' && cp authorized kept && cat other.pub > authorized", servers));
    use_ssh("-o ControlPath=none");
    CHECK(exec_prepare(&h, &e) < 0 && e.kind == ERR_DENIED, "a key that is refused: %s", e.text);
    free(shellf("cd '%s' && cat kept > authorized", servers));
    AUTO_MEM char *saved = mem_dup(command);
    free(shellf("cd '%s' && sed \"s|ssh-ed25519 .*|$(cut -d' ' -f1,2 other.pub)|\" known > changed "
                "&& : > none",
                servers));
    char *at = strstr(command, "-o UserKnownHostsFile=");
    if (at)
        *at = 0;
    use_ssh(changed);
    CHECK(exec_prepare(&h, &e) < 0 && e.kind == ERR_DENIED && strstr(e.text, "ssh-keygen ") &&
              strstr(e.text, "has changed"),
          "a host key that changed: %s", e.text);
    AUTO_MEM char *none = mem_printf("-o ControlPath=none -o UserKnownHostsFile=%s/none", servers);
    use_ssh(none);
    CHECK(exec_prepare(&h, &e) < 0 && e.kind == ERR_DENIED, "a host that is not known: %s", e.text);
    memcpy(command, saved, strlen(saved) + 1);
    use_ssh("");
    h.address = "root@10.77.0.99";
    CHECK(exec_prepare(&h, &e) < 0 && e.kind == ERR_RETRY, "a host that is not there: %s", e.text);
    h = far;
    h.root = "/proc/no";
    CHECK(exec_prepare(&h, &e) < 0, "a directory that cannot be made: %s", e.text);
    h = far;
    AUTO_MEM char *nowhere = mem_printf("%s/nowhere", scratch);
    h.root = nowhere;
    AUTO(exec_stream) struct exec_stream *s = exec_follow(&h, 1, 0, 0, &e);
    struct hand t;
    hand_init(&t);
    CHECK(hand_read(s, &t, 60, &e) == EXEC_GONE, "a job whose directory is gone is lost: %s",
          e.text);
    hand_clear(&t);
}

static void test_host_gone(void)
{
    struct err e = {0};
    struct hand t;
    AUTO_MEM char *from = make_job(4, "echo ready; sleep 600");

    hand_init(&t);
    CHECK(exec_prepare(&second, &e) == 0 && exec_send(&second, 4, from, &e) == 0,
          "a second host %s", e.text);
    AUTO(exec_stream) struct exec_stream *s = exec_start(&second, 4, &e);
    CHECK(hand_wait_for(s, &t, "ready", 60), "runs a job");
    free(shellf(SERVER " end '%s' 2", servers));
    double began_s = time_monotonic_s();
    CHECK(hand_read(s, &t, 120, &e) == EXEC_BROKEN && e.kind == ERR_RETRY,
          "and falls dead: %s (after %.0f s)", e.text, time_monotonic_s() - began_s);
    CHECK(exec_stop(&second, 4, 1, "late", &e) < 0 && e.kind == ERR_RETRY, "no call hangs: %s",
          e.text);
    hand_clear(&t);
}

int main(void)
{
    struct exec_host local = hand_host();
    AUTO_MEM char *why = shell(SERVER " have >/dev/null || " SERVER " have; true");

    if (access(SERVER, X_OK) < 0)
        return TAP_SKIP_ALL("started outside the source tree");
    if (!why || *why)
        return TAP_SKIP_ALL(why ? why : "no hosts can be made here");
    if (!start_servers(&local)) {
        CHECK(false, "hosts start");
        return TAP_DONE();
    }
    test_prepare();
    test_job();
    test_cut();
    test_stop();
    test_reuse();
    test_late();
    test_older_agent();
    test_refused();
    test_host_gone();
    return TAP_DONE();
}
