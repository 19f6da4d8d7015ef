/* Makes the command line of podman or docker that runs a job in its image, and removes the
 * container afterwards. wrap.c and supervise.c call it. */
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "exec/agent/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENGINE_WAIT_S 30.0
#define ANSWER_MAX 400

/* "docker info" tells whether the daemon answers, and whether it is rootless. */
static bool docker_answers(const char *docker, char answer[static ANSWER_MAX])
{
    struct wrap w = {0};

    wrap_add(&w, docker);
    wrap_add(&w, "info");
    wrap_add(&w, "--format");
    wrap_add(&w, "{{.SecurityOptions}}");
    int code = wrap_run(w.argv, ENGINE_WAIT_S, answer, ANSWER_MAX);
    wrap_clear(&w);
    return code == 0;
}

/* Podman needs no daemon and comes first. *as_root: the container's root is the user that we are.
 */
static int find_engine(struct wrap *out, bool *is_docker, bool *as_root, struct err *e)
{
    char answer[ANSWER_MAX] = "";

    *is_docker = false;
    *as_root = true;
    out->engine = wrap_find("podman");
    if (out->engine)
        return 0;
    *is_docker = true;
    out->engine = wrap_find("docker");
    if (!out->engine)
        return err_set(e, ERR_USAGE,
                       "an image needs podman or docker, and neither is installed on this machine");
    if (!docker_answers(out->engine, answer))
        return err_set(e, ERR_USAGE,
                       "an image needs podman or docker: podman is not installed on this machine, "
                       "and the docker daemon does not answer: %s",
                       answer);
    *as_root = geteuid() == 0 || strstr(answer, "rootless");
    return 0;
}

static void add_two(struct wrap *w, const char *option, const char *value)
{
    wrap_add(w, option);
    wrap_add(w, value);
}

/* Fields of --mount are CSV: a path may hold commas and quotes. */
static void add_csv(struct buf *b, const char *key, const char *value)
{
    buf_printf(b, ",\"%s=", key);
    for (; *value; value++)
        buf_printf(b, "%s%c", *value == '"' ? "\"" : "", *value);
    buf_puts(b, "\"");
}

static void add_mount(struct wrap *w, const char *source, const char *target, bool read_only)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, (size_t)4 * PATH_MAX);
    buf_puts(&b, "type=bind");
    add_csv(&b, "source", source);
    add_csv(&b, "target", target);
    if (read_only)
        buf_puts(&b, ",readonly");
    add_two(w, "--mount", buf_str(&b));
}

static const char *home_of(const struct jobfile *job)
{
    const char *home = CONTAINER_HOME;

    for (size_t i = 0; i < job->n_env; i++)
        if (!strncmp(job->env[i], "HOME=/", 6))
            home = job->env[i] + 5;
    return home;
}

static int add_mounts(const struct jobdir *d,
                      const struct jobfile *job,
                      struct wrap *w,
                      struct err *e)
{
    static const char *const names[] = {"work", "input", "output", "checkpoint"};
    AUTO_MEM char *jobfile = jobdir_file(d, "job");
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n <= 0)
        return err_set(e, ERR_IO, "read /proc/self/exe: %s", strerror(errno));
    self[n] = 0;
    add_mount(w, self, CONTAINER_INSIDE "/agent", true);
    add_mount(w, jobfile, CONTAINER_INSIDE "/job", true);
    w->report = jobdir_file(d, "mounts");
    if (file_make_dirs(w->report, 0700, e) < 0)
        return -1;
    add_mount(w, w->report, CONTAINER_REPORT, false);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        AUTO_MEM char *path = jobdir_file(d, names[i]);
        add_mount(w, path, path, false);
    }
    for (size_t i = 0; i < job->n_mounts; i++) {
        AUTO_MEM char *source = wrap_source(d, &job->mounts[i], e);
        AUTO_MEM char *target = wrap_target(d, job->mounts[i].target, home_of(job));
        if (!source)
            return -1;
        add_mount(w, source, target, false);
    }
    return 0;
}

/* Whether a user's own groups have a controller: without it podman refuses to start. */
static bool user_has(const char *controller)
{
    AUTO_MEM char *path =
        mem_printf("/sys/fs/cgroup/user.slice/user-%ju.slice/user@%ju.service/cgroup.controllers",
                   (uintmax_t)geteuid(), (uintmax_t)geteuid());
    AUTO_MEM char *text = jobdir_read_small(path, 4096, NULL);

    return text && strstr(text, controller);
}

static void add_limits(const struct jobfile *job, bool is_docker, struct wrap *w)
{
    bool can = is_docker || geteuid() == 0;
    long there = sysconf(_SC_NPROCESSORS_ONLN);
    double cpus = there > 0 && job->cpus > (double)there ? (double)there : job->cpus;

    if (cpus > 0 && (can || user_has("cpu "))) {
        AUTO_MEM char *text = mem_printf("%g", cpus);
        add_two(w, "--cpus", text);
    }
    if (job->memory_mb && (can || user_has("memory"))) {
        AUTO_MEM char *text = mem_printf("%" PRIu64 "m", job->memory_mb);
        add_two(w, "--memory", text);
        add_two(w, "--memory-swap", text);
        w->keeps_memory = true;
    }
}

/* All of a vendor, as on the machine itself: the job's variables name those that are its own. */
static void add_gpus(const struct jobfile *job, bool is_docker, struct wrap *w)
{
    if (job->gpus & JOBFILE_NVIDIA && is_docker)
        add_two(w, "--gpus", "all");
    else if (job->gpus & JOBFILE_NVIDIA)
        add_two(w, "--device", "nvidia.com/gpu=all");
    if (job->gpus & JOBFILE_AMD) {
        add_two(w, "--device", "/dev/kfd");
        add_two(w, "--device", "/dev/dri");
    }
}

/* The container's first process reads command and variables from the job file: neither is in the
 * arguments of the engine, nor in its records. */
int container_prepare(const struct jobdir *d,
                      const struct jobfile *job,
                      const char *name,
                      struct wrap *out,
                      struct err *e)
{
    AUTO_MEM char *work = jobdir_file(d, "work");
    AUTO_MEM char *user = NULL;
    bool is_docker, as_root;

    if (find_engine(out, &is_docker, &as_root, e) < 0)
        return -1;
    user = as_root ? mem_dup("0:0")
                   : mem_printf("%ju:%ju", (uintmax_t)geteuid(), (uintmax_t)getegid());
    out->container = mem_dup(name);
    wrap_add(out, out->engine);
    wrap_add(out, "run");
    add_two(out, "--name", name);
    add_two(out, "--network", "host");
    add_two(out, "--ipc", "host");
    add_two(out, "--log-driver", "none"); /* the agent keeps the log */
    add_two(out, "--user", user);
    add_two(out, "--security-opt", "label=disable");
    add_two(out, "--entrypoint", CONTAINER_INSIDE "/agent");
    add_two(out, "--workdir", work);
    add_limits(job, is_docker, out);
    add_gpus(job, is_docker, out);
    if (add_mounts(d, job, out, e) < 0)
        return -1;
    wrap_add(out, job->image);
    wrap_add(out, "init");
    wrap_add(out, CONTAINER_INSIDE "/job");
    wrap_add(out, d->path);
    return 0;
}

bool container_over(const struct wrap *w)
{
    AUTO_MEM char *told = mem_printf("%s/" CONTAINER_OVER, w->report);
    struct wrap ask = {0};
    char answer[ANSWER_MAX] = "";

    if (access(told, F_OK) == 0)
        return true;
    wrap_add(&ask, w->engine);
    wrap_add(&ask, "inspect");
    wrap_add(&ask, "--format");
    wrap_add(&ask, "{{.State.OOMKilled}}");
    wrap_add(&ask, w->container);
    int code = wrap_run(ask.argv, ENGINE_WAIT_S, answer, sizeof answer);
    wrap_clear(&ask);
    return code == 0 && !strcmp(answer, "true");
}

void container_remove(const char *engine, const char *name)
{
    struct wrap w = {0};
    const char *base = strrchr(engine, '/');

    wrap_add(&w, engine);
    wrap_add(&w, "rm");
    wrap_add(&w, "--force");
    if (!strcmp(base ? base + 1 : engine, "podman"))
        add_two(&w, "--time", "0");
    wrap_add(&w, name);
    wrap_run(w.argv, ENGINE_WAIT_S, NULL, 0);
    wrap_clear(&w);
}
