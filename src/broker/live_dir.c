#include "base/file.h"
#include "base/mem.h"
#include "broker/code.h"
#include "broker/live.h"
#include "exec/jobfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parts that go when the job is over, or before it is prepared once more. */
static const char *const passing[] = {"work", "input", "output", "checkpoint", "code"};
static const char *const kept[] = {"log", "state", "warnings", "stop"};

static char *part(const struct live *j, const char *name)
{
    return mem_printf("%s/%s", j->directory, name);
}

void live_tidy(const struct live *j)
{
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
        AUTO_MEM char *path = part(j, passing[i]);
        file_remove_tree(path);
    }
}

/* Nothing of an earlier attempt remains: it never came to run. */
static int make_empty(const struct live *j, struct err *e)
{
    live_tidy(j);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        AUTO_MEM char *path = part(j, kept[i]);
        unlink(path);
    }
    if (file_make_dirs(j->directory, 0700, e) < 0)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        AUTO_MEM char *path = part(j, passing[i]);
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return file_error(e, "create", path);
    }
    return 0;
}

static int fetch(
    const struct live *j, struct lake *l, const char *ref, const char *name, struct err *e)
{
    AUTO_MEM char *directory = part(j, name);
    const char *const refs[] = {ref};
    struct lake_get_summary summary;

    if (!l)
        return err_set(e, ERR_RETRY, "the lake cannot be opened");
    return lake_get(l,
                    &(struct lake_get_options){.refs = refs, .n_refs = 1, .directory = directory},
                    &summary, e);
}

/* What the lake has below the code's root becomes work. */
static int unwrap_code(const struct live *j, struct err *e)
{
    AUTO_MEM char *root = code_root(j->job.asked.code);
    AUTO_MEM char *work = part(j, "work");
    AUTO_MEM char *code = part(j, "code");

    if (!root)
        return err_set(e, ERR_USAGE, "%s is no code: it lies not below /code/", j->job.asked.code);
    AUTO_MEM char *inner = mem_printf("%s%s", code, root);
    inner[strlen(inner) - 1] = '\0'; /* its slash */
    if (rmdir(work) < 0 || rename(inner, work) < 0)
        return file_error(e, "move the code to", work);
    file_remove_tree(code);
    return 0;
}

static int make_outputs(const struct live *j, struct err *e)
{
    for (size_t i = 0; i < j->details.n_outputs; i++) {
        AUTO_MEM char *path = mem_printf("%s/output/%s", j->directory, j->details.outputs[i]);
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return file_error(e, "create", path);
    }
    return 0;
}

/* ---- the agent's file ---- */

struct environment {
    const char **texts;
    size_t n, cap;
};

static void environment_clear(struct environment *v)
{
    for (size_t i = 0; i < v->n; i++)
        free((void *)(uintptr_t)v->texts[i]);
    free(v->texts);
}

static void set_env(struct environment *v, const char *key, const char *value)
{
    v->texts = mem_room(v->texts, v->n, &v->cap, sizeof *v->texts);
    v->texts[v->n++] = mem_printf("%s=%s", key, value);
}

static void fill_environment(const struct live *j, struct environment *v)
{
    char run[24];

    for (size_t i = 0; i < j->details.n_envs; i++)
        if (j->details.envs[i].value)
            set_env(v, j->details.envs[i].key, j->details.envs[i].value);
    snprintf(run, sizeof run, "%" PRId64, j->job.asked.run);
    if (j->job.asked.run)
        set_env(v, "TRADEWIND_RUN", run);
    if (j->details.stage[0])
        set_env(v, "TRADEWIND_STAGE", j->details.stage);
}

static int write_jobfile(const struct live *j, struct err *e)
{
    AUTO_CLEAR(environment) struct environment env = {0};
    const struct lake_job_request *asked = &j->job.asked;
    AUTO_MEM char *path = part(j, "job");

    fill_environment(j, &env);
    struct jobfile file = {.id = j->job.id,
                           .command = asked->command,
                           .n_command = asked->n_command,
                           .env = env.texts,
                           .n_env = env.n,
                           .cpus = asked->cpus,
                           .memory_mb = asked->memory_mb,
                           .time_limit_s = asked->time_limit_s,
                           .grace_s = 30};
    AUTO_MEM char *text = jobfile_text(&file, e);
    if (!text)
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return file_error(e, "create", path);
    int result = file_write_all(fd, text, strlen(text)) < 0 ? file_error(e, "write", path) : 0;
    close(fd);
    return result;
}

int live_prepare(struct live *j, struct lake *l, struct err *e)
{
    const struct lake_job_request *asked = &j->job.asked;

    if (make_empty(j, e) < 0)
        return -1;
    if (asked->input && fetch(j, l, asked->input, "input", e) < 0)
        return -1;
    if (asked->code && (fetch(j, l, asked->code, "code", e) < 0 || unwrap_code(j, e) < 0))
        return -1;
    return make_outputs(j, e) < 0 ? -1 : write_jobfile(j, e);
}
