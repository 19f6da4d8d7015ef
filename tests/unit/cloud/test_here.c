/* How large this machine is, under made-up control groups; and the driver of this machine. */
#include "cloud/here.h"

#include "base/file.h"
#include "tap.h"
#include "world.h"

#include <string.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct text {
    const char *path, *content;
};

static void put(const char *root, const struct text *t)
{
    char path[600];
    struct err e = {0};

    snprintf(path, sizeof path, "%s/%s", root, t->path);
    *strrchr(path, '/') = 0;
    if (file_make_dirs(path, 0700, &e) < 0)
        printf("# %s\n", e.text);
    snprintf(path, sizeof path, "%s/%s", root, t->path);
    if (file_replace(path, t->content, strlen(t->content), 0600, &e) < 0)
        printf("# %s\n", e.text);
}

/* 1e6 bytes and 0.01 CPUs are less than any machine has that builds this. */
static void limits(void)
{
    static const struct {
        const char *what;
        double cpus, memory_gb; /* 0 = as the machine has */
        struct text files[6];
    } cases[] = {
        {"no control groups", 0, 0, {{NULL, NULL}}},
        {"version 2",
         0.01,
         0.001,
         {{"proc/self/cgroup", "0::/a/b\n"},
          {"sys/fs/cgroup/a/b/cpu.max", "1000 100000\n"},
          {"sys/fs/cgroup/a/b/memory.max", "1000000\n"}}},
        {"version 2, no limits",
         0,
         0,
         {{"proc/self/cgroup", "0::/a\n"},
          {"sys/fs/cgroup/a/cpu.max", "max 100000\n"},
          {"sys/fs/cgroup/a/memory.max", "max\n"}}},
        {"the group above is stricter",
         0.01,
         0.001,
         {{"proc/self/cgroup", "0::/a/b\n"},
          {"sys/fs/cgroup/a/b/cpu.max", "2000 100000\n"},
          {"sys/fs/cgroup/a/cpu.max", "1000 100000\n"},
          {"sys/fs/cgroup/a/b/memory.max", "max\n"},
          {"sys/fs/cgroup/a/memory.max", "1000000\n"}}},
        {"a path of outside the container: the root binds",
         0.02,
         0,
         {{"proc/self/cgroup", "0::/../docker/12\n"}, {"sys/fs/cgroup/cpu.max", "2000 100000\n"}}},
        {"version 1",
         0.02,
         0.002,
         {{"proc/self/cgroup", "4:memory:/x\n3:cpuset:/\n2:cpu,cpuacct:/y\n"},
          {"sys/fs/cgroup/cpu/y/cpu.cfs_quota_us", "2000\n"},
          {"sys/fs/cgroup/cpu/y/cpu.cfs_period_us", "100000\n"},
          {"sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2000000\n"},
          {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}}},
        {"version 1, no limits",
         0,
         0,
         {{"proc/self/cgroup", "1:cpu:/\n"},
          {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
          {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}},
        {"both: version 2 in its own place",
         0.03,
         0.003,
         {{"proc/self/cgroup", "1:memory:/m\n0::/\n"},
          {"sys/fs/cgroup/unified/cpu.max", "3000 100000\n"},
          {"sys/fs/cgroup/memory/m/memory.limit_in_bytes", "3000000\n"}}},
        {"nonsense limits nothing",
         0,
         0,
         {{"proc/self/cgroup", "0\n::\n0::/a\n:cpu:\n"},
          {"sys/fs/cgroup/a/cpu.max", "a lot\n"},
          {"sys/fs/cgroup/a/memory.max", "-5\n"}}},
    };
    const struct here whole = here_look("/nowhere");

    CHECK(whole.cpus >= 1 && whole.cpus <= (double)sysconf(_SC_NPROCESSORS_CONF) &&
              whole.memory_gb > 0.05,
          "this machine: %g cpus, %.1f GB", whole.cpus, whole.memory_gb);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world w;
        world_init(&w, "local");
        for (const struct text *t = cases[i].files;
             t < cases[i].files + COUNT(cases[i].files) && t->path; t++)
            put(w.home, t);
        struct here h = here_look(w.home);
        CHECK(fabs(h.cpus - (cases[i].cpus > 0 ? cases[i].cpus : whole.cpus)) < 1e-9 &&
                  fabs(h.memory_gb -
                       (cases[i].memory_gb > 0 ? cases[i].memory_gb : whole.memory_gb)) < 1e-9,
              "%s: %g cpus, %g GB", cases[i].what, h.cpus, h.memory_gb);
        world_clear(&w);
    }
    struct here real = here_look("");
    CHECK(real.cpus > 0 && real.cpus <= whole.cpus && real.memory_gb > 0 &&
              real.memory_gb <= whole.memory_gb,
          "here: %g cpus, %.1f GB", real.cpus, real.memory_gb);
}

static void local(void)
{
    struct world w;
    struct cloud_machine m;
    char root[400];
    struct here here = here_look("");

    world_init(&w, "local");
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = world_request("a");
    q.spot = true;
    snprintf(root, sizeof root, "%s/jobs", w.home);
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && m.state == CLOUD_RUNNING &&
              m.ready_ms == BEGIN_MS && !m.spot,
          "this machine is up");
    CHECK(strcmp(m.exec_driver, "local") == 0 && strcmp(m.root, root) == 0 && !*m.address,
          "jobs lie below the home");
    CHECK(m.cpus == here.cpus && m.memory_gb == here.memory_gb && !*m.accelerator &&
              m.accelerators == 0 && !*m.instance_type && !*m.region,
          "it is what it is, not what was asked for");
    CHECK(m.price_usd_per_hour == 0 && cloud_cost_microusd(&m, BEGIN_MS + DAY_MS) == 0,
          "and costs nothing");
    for (int i = 0; i < 50; i++) {
        char token[16];
        snprintf(token, sizeof token, "n-%d", i);
        if (launch(c, token, &m) != CLOUD_FINE)
            CHECK(false, "refused: %s", world_err.text);
    }
    terminate(c, "n-7");
    CHECK(look(c, "n-7", &m) == CLOUD_FINE && m.state == CLOUD_GONE && m.ended_ms == BEGIN_MS,
          "given back at once");
    CHECK(look(c, "n-8", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING, "others stay");

    static char deep[300];
    memset(deep, 'x', sizeof deep - 1);
    deep[0] = '/';
    w.options.home = deep;
    struct err e = {0};
    AUTO(cloud) struct cloud *too_deep = cloud_open(&w.options, &e);
    CHECK(!too_deep && e.kind == ERR_USAGE && strstr(e.text, "at most"), "%s", e.text);
    world_clear(&w);
}

int main(void)
{
    limits();
    local();
    return TAP_DONE();
}
