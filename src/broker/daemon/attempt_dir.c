/* The directory of a job's attempt: what is in it, how far its preparation is, and its removal.
 * The broker's thread calls it. */
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/gpus.h"
#include "broker/core/home.h"
#include "broker/core/kept.h"
#include "broker/daemon/attempt.h"
#include "broker/daemon/checkpoint.h"
#include "broker/daemon/host.h"
#include "broker/pipeline/code.h"
#include "exec/jobfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTPUT "output"
/* Parts that go when the job is over, or before it is prepared once more. */
static const char *const passing[] = {"work",        "input",           "code", "mounts",
                                      ".output.new", ".checkpoint.new", OUTPUT};
static const char *const passing_files[] = {"job", "stop", "agent.reserve", KEPT_COLLECTED};
static const char *const reports[] = {"log", "state", "warnings"};
#define CHECKPOINT "checkpoint"
/* What the mark in untidy/ holds once the directory is prepared: from then on an agent may have
 * been started. Of this start of the machine, because a file that was not synced may be missing
 * after the next one; and then no agent lives. */
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_MAX 64
/* What it holds once the directory is on another machine: there an agent may have been started,
 * whatever happens to this one. */
#define SENT "sent\n"

static char *part(const struct attempt *j, const char *name)
{
    return mem_printf("%s/%s", j->directory, name);
}

static void remove_file(const char *directory, const char *name)
{
    AUTO_MEM char *path = mem_printf("%s/%s", directory, name);

    unlink(path);
}

static char *untidy_mark(const char *home, int64_t id)
{
    return mem_printf("%s/" BROKER_UNTIDY "/%" PRId64, home, id);
}

static void remove_passing(const char *directory, bool keep_output)
{
    size_t n = sizeof passing / sizeof passing[0], n_files = sizeof passing_files / sizeof(char *);

    /* The output and the note on it are the last ones. */
    for (size_t i = 0; i < n - keep_output; i++) {
        AUTO_MEM char *path = mem_printf("%s/%s", directory, passing[i]);
        file_remove_tree(path);
    }
    for (size_t i = 0; i < n_files - keep_output; i++)
        remove_file(directory, passing_files[i]);
}

void attempt_tidy(const char *home, int64_t id, bool keep_checkpoint)
{
    AUTO_MEM char *directory = broker_job_path(home, id, NULL);
    AUTO_MEM char *mark = untidy_mark(home, id);

    remove_passing(directory, false);
    if (keep_checkpoint)
        checkpoint_keep(home, id);
    else
        checkpoint_drop(home, id);
    unlink(mark);
}

void attempt_tidy_unsaved(const char *home, int64_t id, bool stays_untidy)
{
    AUTO_MEM char *directory = broker_job_path(home, id, NULL);
    AUTO_MEM char *mark = untidy_mark(home, id);

    if (!stays_untidy)
        unlink(mark); /* first: a broker that is killed here removes nothing more */
    remove_passing(directory, true);
    checkpoint_keep(home, id);
}

int attempt_every_untidy(const char *home,
                         int (*visit)(void *context, int64_t id, struct err *e),
                         void *context,
                         struct err *e)
{
    AUTO_MEM char *path = broker_path(home, BROKER_UNTIDY);
    DIR *d = opendir(path);
    int result = 0;

    if (!d)
        return errno == ENOENT ? 0 : file_error(e, "read", path);
    for (const struct dirent *entry; result == 0 && (entry = readdir(d));) {
        const char *name = entry->d_name;
        int64_t id = strtoll(name, NULL, 10);
        if (id > 0 && !name[strspn(name, "0123456789")])
            result = visit(context, id, e);
    }
    closedir(d);
    return result;
}

static int write_file(const char *path, const char *text, struct err *e)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        return file_error(e, "create", path);
    return file_write_all(fd, text, strlen(text)) < 0 ? file_error(e, "write", path) : 0;
}

/* Nothing of an earlier attempt remains, which never started. Its mark says from now on that the
 * directory is not prepared. */
static int make_empty(const struct attempt *j, struct err *e)
{
    AUTO_MEM char *mark = untidy_mark(j->home, j->job.id);

    if (write_file(mark, "", e) < 0)
        return -1;
    if (mkdir(j->directory, 0700) == 0)
        return 0;
    if (errno != EEXIST)
        return file_error(e, "create", j->directory);
    AUTO_MEM char *checkpoint = part(j, CHECKPOINT);
    remove_passing(j->directory, false);
    file_remove_tree(checkpoint);
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++)
        remove_file(j->directory, reports[i]);
    return 0;
}

static int fetch(
    const struct attempt *j, struct lake *l, const char *ref, const char *name, struct err *e)
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
static int unwrap_code(const struct attempt *j, struct err *e)
{
    AUTO_MEM char *root = code_root(j->job.asked.code);
    AUTO_MEM char *work = part(j, "work");
    AUTO_MEM char *code = part(j, "code");

    if (!root)
        return err_set(e, ERR_USAGE, "%s is not code: its path is not below /code/",
                       j->job.asked.code);
    AUTO_MEM char *inner = mem_printf("%s%s", code, root);
    inner[strlen(inner) - 1] = '\0'; /* its slash */
    if (rename(inner, work) < 0)
        return file_error(e, "move the code to", work);
    file_remove_tree(code);
    return 0;
}

/* Directories that have names; all others the agent makes. */
static int make_outputs(const struct attempt *j, struct err *e)
{
    for (size_t i = 0; i < j->details.n_outputs; i++) {
        if (job_output_is_file(j->details.outputs[i]))
            continue;
        AUTO_MEM char *path = mem_printf("%s/output/%s", j->directory, j->details.outputs[i]);
        if (file_make_dirs(path, 0700, e) < 0)
            return -1;
    }
    return 0;
}

static bool is_empty_directory(const char *path)
{
    DIR *d = opendir(path);
    bool is_empty = true;

    if (!d)
        return false;
    for (const struct dirent *entry; is_empty && (entry = readdir(d));)
        is_empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    closedir(d);
    return is_empty;
}

/* What is wrong with an output that the job declared; NULL: nothing. */
static const char *fault_of(const char *path, bool is_file)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return errno == ENOENT ? "it is missing" : strerror(errno);
    if (is_file && !S_ISREG(st.st_mode))
        return "it is not a file, as the extension in its name says";
    if (!is_file && !S_ISDIR(st.st_mode))
        return "it is not a directory, as a name without extension says";
    return is_file ? (st.st_size ? NULL : "it is empty")
                   : (is_empty_directory(path) ? "it is empty" : NULL);
}

int attempt_check_outputs(const struct attempt *j, struct err *e)
{
    /* Of a gang the first node's output counts. */
    for (size_t i = 0; i < j->details.n_outputs && j->details.rank == 0; i++) {
        const char *name = j->details.outputs[i];
        AUTO_MEM char *path = mem_printf("%s/output/%s", j->directory, name);
        const char *fault = fault_of(path, job_output_is_file(name));
        if (fault)
            return err_set(e, ERR_NOTFOUND, "output %.100s: %s: the command did not write %s", name,
                           fault, job_output_is_file(name) ? "it to $TRADEWIND_OUTPUT" : "into it");
    }
    return 0;
}

/* ---- the agent's file ---- */

/* A host's configuration names the type alone. */
static unsigned vendors_of(const struct attempt *j)
{
    AUTO_CLEAR(buf) struct buf amd;

    buf_init(&amd, JOBFILE_BYTES_MAX);
    gpus_put_numbers(j->devices, "amd", &amd);
    if (!j->details.gpus)
        return 0;
    if (j->remote)
        return gpus_is_amd(j->details.gpu_type) ? JOBFILE_AMD : JOBFILE_NVIDIA;
    return amd.len ? JOBFILE_AMD : JOBFILE_NVIDIA;
}

static int write_jobfile(const struct attempt *j, struct err *e)
{
    AUTO_CLEAR(attempt_env) struct attempt_env env = {0};
    const struct lake_job_request *asked = &j->job.asked;
    AUTO_MEM char *path = part(j, "job");

    AUTO_MEM struct jobfile_mount *mounts = mem_zero(j->details.n_mounts + 1, sizeof *mounts);

    if (attempt_env_fill(j, &env, e) < 0)
        return -1;
    for (size_t i = 0; i < j->details.n_mounts; i++)
        mounts[i] = (struct jobfile_mount){j->details.mounts[i].value, j->details.mounts[i].key};
    struct jobfile file = {.id = j->job.id,
                           .command = asked->command,
                           .n_command = asked->n_command,
                           .env = (const char *const *)env.texts,
                           .n_env = env.n,
                           .unset = job_submitter_names,
                           .n_unset = j->details.n_submitter ? JOB_SUBMITTER_NAMES : 0,
                           .secrets = j->details.secrets,
                           .n_secrets = j->details.n_secrets,
                           .image = j->details.image[0] ? j->details.image : NULL,
                           .gpus = vendors_of(j),
                           .mounts = mounts,
                           .n_mounts = j->details.n_mounts,
                           .cpus = asked->cpus,
                           .memory_mb = asked->memory_mb,
                           .time_limit_s = asked->time_limit_s,
                           .grace_s = ATTEMPT_GRACE_S,
                           .log_max = j->log_bytes,
                           .learn = j->details.learn && asked->code};
    /* Where the watch over the machine was killed, the job's agent powers it off. */
    if (j->remote && j->remote->launch.offer.provider[0]) {
        file.lease_s = j->remote->lease_s;
        file.power_off = host_power_off;
    }
    char *text = jobfile_text(&file, e);
    int result = text ? write_file(path, text, e) : -1;
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
    return result;
}

/* ---- whether it is ready ---- */

/* "" when it cannot be read. */
static void read_word(const char *path, char out[static BOOT_ID_MAX])
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, BOOT_ID_MAX - 1);

    out[n > 0 ? n : 0] = '\0';
}

bool attempt_is_prepared(const struct attempt *j)
{
    AUTO_MEM char *mark = untidy_mark(j->home, j->job.id);
    char told[BOOT_ID_MAX], now[BOOT_ID_MAX];

    read_word(mark, told);
    read_word(BOOT_ID, now);
    return told[0] && !strcmp(told, now);
}

bool attempt_was_begun(const struct attempt *j)
{
    AUTO_MEM char *path = part(j, "state");
    struct stat st;

    return stat(path, &st) == 0 && st.st_size > 0;
}

bool attempt_wrote_nothing(const struct attempt *j)
{
    AUTO_MEM char *output = part(j, "output");

    /* Only an empty directory can be removed; the agent made it. */
    return !j->remote && !j->job.asked.output && (rmdir(output) == 0 || errno == ENOENT);
}

static int note_prepared(const struct attempt *j, struct err *e)
{
    AUTO_MEM char *mark = untidy_mark(j->home, j->job.id);
    char now[BOOT_ID_MAX];

    read_word(BOOT_ID, now);
    return write_file(mark, now, e);
}

int attempt_note_sent(const struct attempt *j, struct err *e)
{
    AUTO_MEM char *mark = untidy_mark(j->home, j->job.id);

    return write_file(mark, SENT, e);
}

bool attempt_is_sent(const struct attempt *j)
{
    AUTO_MEM char *mark = untidy_mark(j->home, j->job.id);
    char told[BOOT_ID_MAX];

    read_word(mark, told);
    return !strcmp(told, SENT);
}

int attempt_note_collected(const struct attempt *j, struct err *e)
{
    AUTO_FD int fd = open(j->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_MEM char *note = part(j, KEPT_COLLECTED);

    if (fd < 0 || syncfs(fd) < 0)
        return file_error(e, "sync", j->directory);
    return write_file(note, "", e);
}

void attempt_forget_warnings(const struct attempt *j)
{
    remove_file(j->directory, "warnings");
}

int attempt_prepare(struct attempt *j, struct lake *l, struct err *e)
{
    const struct lake_job_request *asked = &j->job.asked;
    AUTO_MEM char *checkpoint = part(j, CHECKPOINT);
    int64_t continues = j->details.continues;

    if (make_empty(j, e) < 0)
        return -1;
    if (asked->input && fetch(j, l, asked->input, "input", e) < 0)
        return -1;
    if (asked->code && (fetch(j, l, asked->code, "code", e) < 0 || unwrap_code(j, e) < 0))
        return -1;
    if (make_outputs(j, e) < 0 ||
        (continues && checkpoint_fill(j->home, continues, checkpoint, e) < 0) ||
        write_jobfile(j, e) < 0)
        return -1;
    return note_prepared(j, e);
}
