/* What the clouds of ours remember: shared by processes, whole after kills, refused when damaged.
 */
#include "cloud/instances.h"

#include "base/file.h"
#include "base/mem.h"
#include "tap.h"
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 10
#define ROUNDS 15
#define TOKENS_EACH 6

/* ---- damage ---- */

static size_t read_bytes(const char *path, char *bytes, size_t max)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, max, f) : 0;

    if (f)
        fclose(f);
    return n;
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(bytes, 1, n, f) != n)
        perror(path);
    if (f)
        fclose(f);
}

/* Whether a fresh process refuses the folder, names the file and leaves it as it is. */
static bool refuses(struct world *w, const char *name)
{
    struct cloud_machine m;
    AUTO(cloud) struct cloud *c = world_open(w);

    if (strcmp(listed(c), "failed") != 0 || world_error.failure != CLOUD_INVALID)
        return false;
    bool named = strstr(world_error.err.text, name) && strstr(world_error.err.text, "damaged") &&
                 world_error.err.kind == ERR_USAGE;
    return named && launch(c, "new", &m) == CLOUD_INVALID && terminate(c, "a") == CLOUD_INVALID &&
           access(world_file(w, "new.machine"), F_OK) < 0;
}

static void damaged(const char *driver)
{
    static const struct cloud_host host = {.group = "", .address = "h"};
    static char bytes[SUMFILE_BYTES_MAX], changed[SUMFILE_BYTES_MAX + 100];
    struct world w;
    struct cloud_machine m;
    bool durable = strcmp(driver, "pool") == 0;
    int accepted = 0;

    world_init(&w, driver);
    w.options.hosts = &host;
    w.options.n_hosts = 1;
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = world_request("a");
    q.region = "";
    q.accelerator = NULL;
    q.accelerators = 0;
    launch_as(c, &q, &m);
    AUTO_MEM char *path = mem_dup(world_file(&w, "a.machine"));
    size_t n = read_bytes(path, bytes, sizeof bytes);
    CHECK(n > 300, "%s: one file a machine", driver);
    /* Every length, in steps that are quick: the ends one by one. */
    for (size_t k = durable ? 0 : 1; k<n; k += k> 20 && k + 40 < n ? 37 : 1) {
        write_bytes(path, bytes, k);
        accepted += !refuses(&w, "/a.machine");
    }
    CHECK(accepted == 0, "cut anywhere it is refused");
    for (size_t k = 0; k < n; k += 53) {
        memcpy(changed, bytes, n);
        changed[k] ^= 1;
        write_bytes(path, changed, n);
        accepted += !refuses(&w, "/a.machine");
    }
    CHECK(accepted == 0, "changed anywhere too");
    memset(changed, ' ', sizeof changed);
    write_bytes(path, changed, SUMFILE_BYTES_MAX + 1);
    CHECK(refuses(&w, "/a.machine"), "a large one: %s", world_error.err.text);
    unlink(path);
    if (mkdir(path, 0700) < 0)
        perror(path);
    CHECK(refuses(&w, "/a.machine"), "a directory: %s", world_error.err.text);
    rmdir(path);
    if (symlink("/etc/passwd", path) < 0)
        perror(path);
    CHECK(refuses(&w, "/a.machine"), "a link: %s", world_error.err.text);
    unlink(path);
    AUTO_MEM char *other = mem_dup(world_file(&w, "b.machine"));
    write_bytes(other, bytes, n);
    CHECK(refuses(&w, "/b.machine"), "a file of another name: %s", world_error.err.text);
    unlink(other);
    write_bytes(path, bytes, n);
    AUTO(cloud) struct cloud *healed = world_open(&w);
    CHECK(strcmp(listed(healed), "a ") == 0, "put back, all is well");
    world_clear(&w);
}

static void empty_files(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    AUTO(cloud) struct cloud *c = world_open(&w);
    launch(c, "a", &m);
    write_bytes(world_file(&w, "b.machine"), "", 0);
    write_bytes(world_file(&w, "c.machine.Xy12Zz"), "half", 4);
    write_bytes(world_file(&w, "README"), "mine", 4);
    AUTO(cloud) struct cloud *later = world_open(&w);
    CHECK(strcmp(listed(later), "a ") == 0, "a file that was never written is no machine");
    CHECK(access(world_file(&w, "b.machine"), F_OK) < 0 &&
              access(world_file(&w, "c.machine.Xy12Zz"), F_OK) < 0 &&
              access(world_file(&w, "README"), F_OK) == 0,
          "what a kill left is cleared away, and nothing else");
    CHECK(launch(later, "b", &m) == CLOUD_FINE && strcmp(listed(later), "a b ") == 0,
          "its token is free");
    world_clear(&w);
}

static void instances_as_text(void)
{
    struct cloud_request q = world_request("a");
    struct instance a, b;
    struct err e = {0};

    q.owner = "me";
    instance_begin(&a, &q, BEGIN_MS);
    instance_as_asked(&a, &q);
    a.asked = 0xfedcba9876543210u;
    a.taken_ms = BEGIN_MS + 5;
    snprintf(a.machine.root, sizeof a.machine.root, "/h\xc3\xb6me \"x\"\\jobs");
    AUTO_JSON json_t *value = instance_json(&a);
    CHECK(instance_from_json(value, &b, &e) == 0 && b.asked == a.asked &&
              b.taken_ms == a.taken_ms && b.gone_ms == INSTANCE_NEVER &&
              strcmp(a.machine.root, b.machine.root) == 0 && b.machine.memory_gb == 61 &&
              b.machine.run == 3,
          "an instance reads back: %s", e.text);
    json_t *copy;
    const char *key;
    json_t *field;
    int accepted = 0, fields = 0;
    json_object_foreach(value, key, field)
    {
        copy = json_deep_copy(value);
        json_object_del(copy, key);
        accepted += instance_from_json(copy, &b, &e) == 0;
        json_object_set_new(copy, key, json_array());
        accepted += instance_from_json(copy, &b, &e) == 0;
        json_decref(copy);
        fields++;
    }
    CHECK(fields == 29 && accepted == 0, "none of its %d fields may be missing or a list", fields);
}

/* ---- processes ---- */

static int launch_same(void *context, int number)
{
    struct world *w = context;
    struct err e = {0};
    AUTO(cloud) struct cloud *c = cloud_open(&w->options, &e);
    struct cloud_machine m;

    w->now_ms += number; /* each at another time: only one of them launches it */
    return !c || launch(c, "same", &m) != CLOUD_FINE || strcmp(m.token, "same") != 0;
}

static int launch_and_end(void *context, int number)
{
    struct world *w = context;
    struct err e = {0};
    AUTO(cloud) struct cloud *c = cloud_open(&w->options, &e);
    struct cloud_machine m;
    char token[32];

    for (int i = 0; c && i < TOKENS_EACH; i++) {
        snprintf(token, sizeof token, "p%d-%d", number, i);
        if (launch(c, token, &m) != CLOUD_FINE || launch(c, "shared", &m) != CLOUD_FINE)
            return 1;
        if (i % 2 &&
            (terminate(c, token) != CLOUD_FINE || look(c, token, &m) != CLOUD_FINE || !m.ended_ms))
            return 1;
    }
    return !c;
}

static int count(void *context, const struct cloud_machine *m, struct err *e)
{
    (void)m;
    (void)e;
    (*(int *)context)++;
    return 0;
}

static void processes(void)
{
    struct world w;
    struct cloud_machine m, again;
    struct cloud_error e;
    int n = 0;

    world_init(&w, "sim");
    CHECK(world_fork(2, launch_same, &w) == 0, "two processes launch the same token at once");
    AUTO(cloud) struct cloud *c = world_open(&w);
    CHECK(strcmp(listed(c), "same ") == 0 && look(c, "same", &m) == CLOUD_FINE, "one machine");
    CHECK(launch(c, "same", &again) == CLOUD_FINE && again.launched_ms == m.launched_ms,
          "and stays it");
    CHECK(world_fork(PROCESSES, launch_and_end, &w) == 0, "ten processes at once");
    w.now_ms += 60 * 1000;
    cloud_list(c, count, &n, &e);
    CHECK(n == 2 + PROCESSES * TOKENS_EACH / 2, "nothing is lost or doubled: %d", n);
    world_clear(&w);
}

/* Launches and tells each token that was answered for, until it is killed. */
static void launch_for_ever(struct world *w, int round, int out)
{
    struct err e = {0};
    struct cloud *c = cloud_open(&w->options, &e);
    struct cloud_machine m;

    for (int i = 0; c; i++) {
        char token[32] = {0};
        snprintf(token, sizeof token, "k%d-%d", round, i);
        if (launch(c, token, &m) != CLOUD_FINE ||
            write(out, token, sizeof token) != (ssize_t)sizeof token)
            break;
    }
    _exit(1);
}

static void killed(void)
{
    struct world w;
    struct cloud_machine m;
    int lost = 0, answered = 0;

    world_init(&w, "sim");
    for (int round = 0; round < ROUNDS; round++) {
        int pipes[2];
        char tokens[ROUNDS + 5][32];
        if (pipe(pipes) < 0)
            break;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            launch_for_ever(&w, round, pipes[1]);
        close(pipes[1]);
        int n = 0;
        while (n < round + 5 &&
               read(pipes[0], tokens[n], sizeof *tokens) == (ssize_t)sizeof *tokens)
            n++;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(pipes[0]);
        AUTO(cloud) struct cloud *c = world_open(&w);
        for (int i = 0; i < n; i++)
            lost += look(c, tokens[i], &m) != CLOUD_FINE;
        lost += strcmp(listed(c), "failed") == 0;
        answered += n;
    }
    CHECK(answered >= ROUNDS * 5 && lost == 0, "killed while renting: none of %d machines is lost",
          answered);
    world_clear(&w);
}

static void locked(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    AUTO(cloud) struct cloud *c = world_open(&w);
    launch(c, "a", &m);
    CHECK(chmod(world_file(&w, ""), 0500) == 0, "a folder that cannot be written");
    enum cloud_failure failure = launch(c, "b", &m);
    CHECK(geteuid() == 0 || failure == CLOUD_PERMISSION, "is told as one: %s",
          world_error.err.text);
    chmod(world_file(&w, ""), 0700);
    CHECK(launch(c, "b", &m) == CLOUD_FINE && strcmp(listed(c), "a b ") == 0, "and then it works");
    world_clear(&w);
}

/* ---- forgetting ---- */

static void forgetting(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    AUTO(cloud) struct cloud *c = world_open(&w);
    launch(c, "old", &m);
    launch(c, "lasting", &m);
    terminate(c, "old");
    w.now_ms += DAY_MS;
    AUTO(cloud) struct cloud *next_day = world_open(&w);
    launch(next_day, "x", &m);
    CHECK(look(next_day, "old", &m) == CLOUD_FINE && m.state == CLOUD_GONE,
          "what is gone is remembered for a day");
    w.now_ms++;
    AUTO(cloud) struct cloud *later = world_open(&w);
    launch(later, "y", &m);
    CHECK(look(later, "old", &m) == CLOUD_NOT_FOUND &&
              access(world_file(&w, "old.machine"), F_OK) < 0,
          "then forgotten");
    CHECK(look(c, "old", &m) == CLOUD_NOT_FOUND, "by all processes");
    CHECK(strcmp(listed(later), "lasting x y ") == 0, "what bills never is");
    world_clear(&w);
}

int main(void)
{
    damaged("pool");
    damaged("sim");
    empty_files();
    instances_as_text();
    processes();
    killed();
    locked();
    forgetting();
    return TAP_DONE();
}
