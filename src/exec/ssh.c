/* ssh: jobs on any host that has sshd, a shell and tar, by the OpenSSH client, so that whatever the
 * user has set up for it works here. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/driver.h"
#include "exec/reuse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_S 10.0
#define PREPARE_S 30.0
#define CALL_S 30.0
/* What any disk reads and writes at once. */
#define COPY_BYTES_PER_S 20e6
#define SAID_MAX 4096
#define SCRIPT_MAX ((size_t)64 << 10)
#define COMMAND_MAX (4 * SCRIPT_MAX) /* with every quote of the script quoted */
#define HASH_DIGITS 16

/* A gone host is noticed after 3 x 10 s; an unused master connection ends after two minutes. */
static const char *const options[] = {
    "BatchMode=yes",           "ConnectTimeout=10",  "ServerAliveInterval=10",
    "ServerAliveCountMax=3",   "ControlPersist=120", "EscapeChar=none",
    "ForwardAgent=no",         "ForwardX11=no",      "PermitLocalCommand=no",
    "ClearAllForwardings=yes", "LogLevel=ERROR",     "RequestTTY=no",
};

/* Where connections are shared: short, because a socket's name may have 108 bytes; ours alone.
 * NULL: there is none, every call makes its own connection. */
static char *control_directory(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char *dir = runtime && *runtime == '/' && strlen(runtime) < 32
                    ? mem_printf("%s/tradewind", runtime)
                    : mem_printf("/tmp/tradewind-ssh-%u", (unsigned)getuid());
    struct stat st;

    if ((mkdir(dir, 0700) < 0 && errno != EEXIST) || lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != getuid() || (st.st_mode & 077)) {
        free(dir);
        return NULL;
    }
    return dir;
}

/* The way to a machine of a cloud needs none of these; ~/.ssh/config may name a command that does,
 * on the way to a host. */
static void add_without_secrets(struct words *out)
{
    static const char *const secrets[] = {
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_CLIENT_SECRET",
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_CLIENT_CERTIFICATE_PASSWORD",
        "AZURE_STORAGE_CONNECTION_STRING",
    };

    words_add(out, "env");
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        words_add(out, "-u");
        words_add(out, secrets[i]);
    }
}

/* TRADEWIND_SSH may name another client, with options, separated by spaces. */
static void add_client(struct words *out)
{
    const char *told = getenv("TRADEWIND_SSH");
    size_t before = out->n;

    for (const char *at = told ? told : ""; *at;) {
        at += strspn(at, " ");
        size_t n = strcspn(at, " ");
        AUTO_MEM char *word = mem_printf("%.*s", (int)n, at);
        if (n)
            words_add(out, word);
        at += n;
    }
    if (out->n == before)
        words_add(out, "ssh");
}

static void add_option(struct words *out, const char *option)
{
    words_add(out, "-o");
    words_add(out, option);
}

/* An instance is new: its first key is taken, and no other from then on. */
static void add_identity(const struct exec_host *h, struct words *out)
{
    if (!h->identity)
        return;
    AUTO_MEM char *key = mem_printf("IdentityFile=\"%s/clouds/ssh_key\"", h->identity);
    AUTO_MEM char *known = mem_printf("UserKnownHostsFile=\"%s/clouds/known_hosts\"", h->identity);
    AUTO_MEM char *alias = mem_printf("HostKeyAlias=%s", h->alias);
    const char *const own[] = {key,
                               "IdentitiesOnly=yes",
                               known,
                               "GlobalKnownHostsFile=none",
                               alias,
                               "StrictHostKeyChecking=accept-new",
                               "CheckHostIP=no",
                               "HashKnownHosts=no"};

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        add_option(out, own[i]);
}

/* The command line that runs this script by the shell over there. */
static void ssh_command(const struct exec_host *h, const char *script, struct words *out)
{
    AUTO_MEM char *directory = control_directory();

    if (h->identity)
        add_without_secrets(out);
    add_client(out);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        add_option(out, options[i]);
    add_identity(h, out);
    if (directory) {
        /* The name of the connection says who is meant, not only which address. */
        AUTO_MEM char *path = h->identity ? mem_printf("ControlPath=%s/%%C-%s", directory, h->alias)
                                          : mem_printf("ControlPath=%s/%%C", directory);
        add_option(out, path);
        add_option(out, "ControlMaster=auto");
    } else {
        add_option(out, "ControlPath=none");
    }
    words_add(out, "--");
    words_add(out, h->address);
    /* Whatever shell the user has there. */
    AUTO_CLEAR(buf) struct buf command;
    buf_init(&command, COMMAND_MAX);
    buf_puts(&command, "exec sh -c ");
    quote_word(&command, script);
    words_add(out, buf_str(&command));
}

/* Words that tell what is wrong, in what ssh, tar and the shell say. */
static const struct {
    const char *said;
    enum err_kind kind;
    const char *means; /* %s: the host */
} troubles[] = {
    {"Host key verification failed", ERR_DENIED,
     "%s: its host key is not known here, or not the one we know: connect once by hand with ssh"},
    {"Permission denied (", ERR_DENIED,
     "%s: refused our key: `ssh` must get in without a password; add the key there, or name it in "
     "~/.ssh/config"},
    {"Too many authentication failures", ERR_DENIED,
     "%s: refused our keys before it saw the right one: name it in ~/.ssh/config (IdentityFile, "
     "IdentitiesOnly)"},
    {"Could not resolve hostname", ERR_RETRY, "%s: there is no host of this name"},
    {"No space left on device", ERR_IO, "%s: no space left on its disk"},
    {"Disk quota exceeded", ERR_IO, "%s: no space left for us on its disk (quota)"},
    {"tar: not found", ERR_IO, "%s: has no tar; install it there"},
    {"tar: command not found", ERR_IO, "%s: has no tar; install it there"},
    {"already started", ERR_USAGE, "%s: this job was already started there"},
    {"released already", ERR_NOFIT, "%s: the machine was released before the job was sent"},
};

/* The last line that says something. */
static void last_words(const char *said, char *out, size_t size)
{
    const char *end = said + strlen(said);

    while (end > said && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
        end--;
    const char *begin = end;
    while (begin > said && begin[-1] != '\n')
        begin--;
    snprintf(out, size, "%.*s", (int)(end - begin), begin);
}

/* ssh itself failed: exit code 255. */
#define SSH_FAILED 255

/* The command that forgets the old key, which ssh knows best. */
static void put_remedy(const char *address, const char *said, char *out, size_t size)
{
    const char *told = strstr(said, "ssh-keygen "), *host = strrchr(address, '@');

    if (told)
        snprintf(out, size, "%.*s", (int)strcspn(told, "\r\n"), told);
    else
        snprintf(out, size, "ssh-keygen -R %s", host ? host + 1 : address);
}

static int refuse_changed_key(const struct exec_host *h, const char *said, struct err *e)
{
    char remedy[200];

    put_remedy(h->address, said, remedy, sizeof remedy);
    return err_set(e, ERR_DENIED,
                   "%s: its host key has changed: another machine may answer in its name, so "
                   "nothing was sent to it. If the host was set up anew, remove its old key (%s) "
                   "and connect once by hand with ssh",
                   h->address, remedy);
}

static int ssh_explain(const struct exec_host *h, int code, const char *said, struct err *e)
{
    char words[200];

    if (strstr(said, "REMOTE HOST IDENTIFICATION HAS CHANGED"))
        return refuse_changed_key(h, said, e);
    last_words(said, words, sizeof words);
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++)
        if (strstr(said, troubles[i].said)) {
            const char *rest = strstr(troubles[i].means, "%s") + 2;
            return err_set(e, troubles[i].kind, "%s%s%s%s%s", h->address, rest, *words ? " (" : "",
                           words, *words ? ")" : "");
        }
    if (code == SSH_FAILED)
        return err_set(e, ERR_RETRY, "%s: cannot be reached, or the connection broke%s%s%s",
                       h->address, *words ? " (" : "", words, *words ? ")" : "");
    return err_set(e, ERR_IO, "%s: what was to run there ended with code %d%s%s", h->address, code,
                   *words ? ": " : "", words);
}

/* Runs a script on the host, within this number of seconds. */
static int run_script(const struct exec_host *h,
                      const char *script,
                      int in_fd,
                      double seconds,
                      struct buf *out,
                      struct err *e)
{
    AUTO_CLEAR(words) struct words argv = {0};
    AUTO_CLEAR(buf) struct buf said;
    int code;

    buf_init(&said, SAID_MAX);
    ssh_command(h, script, &argv);
    if (child_run(argv.list, in_fd, seconds, out, &said, &code, e) < 0)
        return err_wrap(e, "%s", h->address);
    return code == 0 ? 0 : ssh_explain(h, code, buf_str(&said), e);
}

static int ssh_answers(const struct exec_host *h, struct err *e)
{
    return run_script(h, "true", -1, ANSWER_S, NULL, e);
}

static int ssh_succeeds(const struct exec_host *h, const char *command, struct err *e)
{
    return run_script(h, command, -1, ANSWER_S, NULL, e);
}

/* How the agent is called over there: one file for each agent there ever was. */
static int agent_name(const struct exec_host *h, char out[static 96], struct err *e)
{
    AUTO(sha256) struct sha256 *hash = sha256_new();
    char bytes[16384], hex[SHA256_HEX];
    ssize_t n;
    AUTO_FD int fd = open(h->agent, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return file_error(e, "read", h->agent);
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        sha256_add(hash, bytes, (size_t)n);
    if (n < 0)
        return file_error(e, "read", h->agent);
    struct sha256_digest digest = sha256_take(hash);
    snprintf(out, 96, "agent-%.32s-%.*s", TRADEWIND_VERSION, HASH_DIGITS,
             sha256_text(&digest, hex));
    return 0;
}

static void script_begin(struct buf *script, const struct exec_host *h)
{
    buf_init(script, SCRIPT_MAX);
    buf_puts(script, "cd ");
    quote_path(script, h->root);
    buf_puts(script, " && ");
}

/* The agent goes over by stdin, and gets its name once it is whole and runs there. Hosts may share
 * a file system, where others copy it at the same time. */
static int copy_agent(const struct exec_host *h, const char *name, struct err *e)
{
    AUTO_CLEAR(buf) struct buf script = {0};
    struct stat st;
    AUTO_FD int fd = open(h->agent, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0)
        return file_error(e, "read", h->agent);
    script_begin(&script, h);
    buf_printf(&script,
               "t=.%s.$$-%d && trap 'rm -f \"$t\"' EXIT && cat >\"$t\" && chmod 700 \"$t\" && "
               "if [ \"$(wc -c <\"$t\")\" -ne %jd ]; then echo 'the agent arrived in part' >&2; "
               "exit 1; fi && "
               "if ! \"./$t\" version >/dev/null; then echo \"the agent does not run on a $(uname "
               "-sm)\" >&2; exit 1; fi && mv -f \"$t\" %s",
               name, (int)gettid(), (intmax_t)st.st_size, name);
    return run_script(h, buf_str(&script), fd, PREPARE_S, NULL, e) < 0
               ? err_wrap(e, "copy the agent")
               : 0;
}

static int ssh_prepare(const struct exec_host *h, struct err *e)
{
    AUTO_CLEAR(buf) struct buf script = {0}, out = {0};
    char name[96];

    if (agent_name(h, name, e) < 0)
        return -1;
    buf_init(&script, SCRIPT_MAX);
    buf_init(&out, 4096);
    buf_puts(&script, "mkdir -p ");
    quote_path(&script, h->root);
    buf_puts(&script, " && cd ");
    quote_path(&script, h->root);
    buf_printf(&script, " && if [ -x %s ]; then echo there; else echo missing; fi", name);
    if (run_script(h, buf_str(&script), -1, PREPARE_S, &out, e) < 0)
        return -1;
    if (strstr(buf_str(&out), "there"))
        return 0;
    if (!strstr(buf_str(&out), "missing"))
        return err_set(e, ERR_IO, "%s: its shell does not answer as a shell does", h->address);
    return copy_agent(h, name, e);
}

/* What is sent lies in a directory of its own until all of it is there: the calls of a broker that
 * was killed may still be running beside those of the next. */
struct fresh {
    int64_t id;
    char dir[64]; /* ".ID.NUMBER.new" */
};

static int draw_fresh(struct fresh *f, int64_t id, struct err *e)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return err_set(e, ERR_IO, "draw a number: %s", strerror(errno));
    f->id = id;
    snprintf(f->dir, sizeof f->dir, ".%" PRId64 ".%016" PRIx64 ".new", id, number);
    return 0;
}

/* The mark of an instance that was released. */
static void put_mark(struct buf *script, const char *token)
{
    AUTO_MEM char *name = mem_printf(".%s.over", token);

    quote_word(script, name);
}

/* Releasing the machine makes the mark first, then removes what was sent. A call of a
 * broker that was killed may come later than that, or be in the middle of it: it looks for the mark
 * when it is done. */
static void leave_nothing(struct buf *script, const struct exec_host *h, const struct fresh *f)
{
    if (!h->token)
        return;
    buf_puts(script, "over=");
    put_mark(script, h->token);
    buf_printf(script,
               " && fresh=%s && trap '[ ! -e \"$over\" ] || rm -rf \"$fresh\"' EXIT && "
               "if [ -e \"$over\" ]; then echo 'released already' >&2; exit 1; fi && ",
               f->dir);
}

/* Marks are of no use any more after a day. */
static void mark_over(struct buf *script, const char *token)
{
    buf_puts(script, "touch ");
    put_mark(script, token);
    buf_puts(script, "; find . ! -name . -prune -name '.*.over' -mtime +0 -exec rm -f {} + "
                     "2>/dev/null; ");
}

/* An empty one, unless the job was started. */
static void make_fresh(struct buf *script, const struct exec_host *h, const struct fresh *f)
{
    leave_nothing(script, h, f);
    buf_printf(script,
               "if [ -e %" PRId64 "/state ]; then echo 'already started' >&2; exit 1; fi && "
               "mkdir -m 700 %s && ",
               f->id, f->dir);
}

/* tar goes there, without what is excluded. */
static int send_tar(const struct exec_host *h,
                    const struct fresh *f,
                    const char *local_dir,
                    int excluded_fd,
                    struct buf *script,
                    struct err *e)
{
    AUTO_CLEAR(words) struct words argv = {0};
    AUTO_CLEAR(buf) struct buf said = {0};
    int code;

    buf_init(&said, SAID_MAX);
    buf_printf(script, "tar -C %s -xpf -", f->dir);
    ssh_command(h, buf_str(script), &argv);
    if (transfer_out(local_dir, excluded_fd, argv.list, &said, &code, e) < 0)
        return err_wrap(e, "%s", h->address);
    return code ? ssh_explain(h, code, buf_str(&said), e) : 0;
}

/* Runs a script that reads the list of these files, and copies them on the disk there. */
static int run_with_list(const struct exec_host *h,
                         const struct buf *script,
                         const struct reuse *files,
                         struct buf *out,
                         struct err *e)
{
    AUTO_FD int list = reuse_list(files, e);

    return list < 0 ? -1
                    : run_script(h, buf_str(script), list,
                                 CALL_S + (double)files->bytes / COPY_BYTES_PER_S, out, e);
}

/* Sends the directory; with files: the agent places those it has, the rest is sent, and the agent
 * keeps copies. */
static int send_directory(const struct exec_host *h,
                          int64_t id,
                          const char *local_dir,
                          struct reuse *files,
                          struct err *e)
{
    AUTO_CLEAR(buf) struct buf script = {0}, then = {0}, last = {0}, answer = {0};
    struct fresh fresh = {0};
    struct err why = {0};
    char name[96];
    AUTO_FD int excluded = -1;

    if (agent_name(h, name, e) < 0 || draw_fresh(&fresh, id, e) < 0)
        return -1;
    script_begin(&script, h);
    make_fresh(&script, h, &fresh);
    if (files) {
        buf_init(&answer, REUSE_FILES_MAX + 1);
        buf_printf(&script, "./%s stage %s", name, fresh.dir);
        if (run_with_list(h, &script, files, &answer, e) < 0 ||
            reuse_answer(files, buf_str(&answer), answer.len, e) < 0)
            return -1;
        excluded = reuse_excluded(files, &why);
        if (why.kind)
            return err_set(e, why.kind, "%s", why.text);
        script_begin(&then, h);
        leave_nothing(&then, h, &fresh);
    }
    if (send_tar(h, &fresh, local_dir, excluded, files ? &then : &script, e) < 0)
        return -1;
    script_begin(&last, h);
    if (files)
        buf_printf(&last, "./%s settle %s && ", name, fresh.dir);
    /* Only what was sent to its end gets the name; tar does not notice every cut. A directory that
     * has the name already is the same, and may have been started. */
    buf_printf(&last, "./%s name %s %" PRId64, name, fresh.dir, id);
    return files ? run_with_list(h, &last, files, NULL, e)
                 : run_script(h, buf_str(&last), -1, CALL_S, NULL, e);
}

static int ssh_send(const struct exec_host *h, int64_t id, const char *local_dir, struct err *e)
{
    AUTO_CLEAR(reuse) struct reuse files = {0};
    struct err why = {0};

    if (reuse_look(&files, local_dir, e) < 0)
        return -1;
    if (!files.n)
        return send_directory(h, id, local_dir, NULL, e);
    if (send_directory(h, id, local_dir, &files, &why) == 0)
        return 0;
    /* What is about the way there or about the job stays as it is; anything else (an agent that
     * cannot do it, a full disk, a tar without these options) may go better without the cache. */
    if (why.kind != ERR_IO)
        return err_set(e, why.kind, "%s", why.text);
    log_info("exec", "everything is sent anew: %s", why.text);
    return send_directory(h, id, local_dir, NULL, e);
}

static int ssh_collect(
    const struct exec_host *h, int64_t id, const char *part, const char *local_dir, struct err *e)
{
    AUTO_CLEAR(words) struct words argv = {0};
    AUTO_CLEAR(buf) struct buf script = {0}, said = {0};
    AUTO_MEM char *fresh = mem_printf("%s/.%s.new", local_dir, part);
    AUTO_MEM char *unpacked = mem_printf("%s/%s", fresh, part);
    AUTO_MEM char *target = mem_printf("%s/%s", local_dir, part);
    int code;

    buf_init(&said, SAID_MAX);
    script_begin(&script, h);
    buf_printf(&script, "cd %" PRId64 " && p=", id);
    quote_word(&script, part);
    /* GNU tar ends with 1 when a file changed while it was read: a checkpoint of a job that runs.
     */
    buf_puts(&script, " && { [ -e \"$p\" ] || mkdir \"$p\"; } && { tar -cf - \"$p\" || { c=$?; "
                      "[ $c = 1 ] && tar --version | grep -q GNU || exit $c; }; }");
    ssh_command(h, buf_str(&script), &argv);
    file_remove_tree(fresh);
    if (file_make_dirs(fresh, 0700, e) < 0)
        return -1;
    int result = transfer_in(argv.list, fresh, part, &said, &code, e);
    if (result < 0)
        err_wrap(e, "%s", h->address);
    else if (code)
        result = ssh_explain(h, code, buf_str(&said), e);
    if (result == 0) {
        /* Both are there at any moment: the old one is what a killed process leaves. */
        if (renameat2(AT_FDCWD, unpacked, AT_FDCWD, target, RENAME_EXCHANGE) < 0) {
            file_remove_tree(target);
            if (rename(unpacked, target) < 0)
                result = file_error(e, "rename", unpacked);
        }
    }
    file_remove_tree(fresh);
    return result;
}

/* What a call means where root is gone, and every job below it. */
static void without_root(struct buf *script, const struct exec_host *h, const char *verb)
{
    bool nothing_to_do =
        !strcmp(verb, "stop") || !strcmp(verb, "remove") || !strcmp(verb, "release");

    buf_puts(script, "cd ");
    quote_path(script, h->root);
    buf_puts(script, " 2>/dev/null || ");
    if (nothing_to_do)
        buf_puts(script, "exit 0; ");
    else
        buf_printf(script,
                   "{ echo 'tradewind-agent: the directory of jobs is not there' >&2; exit %d; }; ",
                   strcmp(verb, "follow") ? err_exit_code(ERR_IO) : AGENT_EXIT_GONE);
}

static int ssh_agent_command(const struct exec_host *h,
                             const struct exec_call *call,
                             struct words *out,
                             struct err *e)
{
    AUTO_CLEAR(buf) struct buf script = {0};
    char name[96];

    if (agent_name(h, name, e) < 0)
        return -1;
    buf_init(&script, SCRIPT_MAX);
    without_root(&script, h, call->verb);
    if (!strcmp(call->verb, "remove") && h->token)
        mark_over(&script, h->token);
    if (!strcmp(call->verb, "remove"))
        buf_printf(&script, "rm -rf .%" PRId64 ".*.new; ", call->id);
    /* What it made may be what the next job there works on; an agent that cannot keep it, or
     * refuses, is asked plainly. */
    if (!strcmp(call->verb, "remove"))
        buf_printf(&script, "./%s retire %" PRId64 " 2>/dev/null && exit 0; ", name, call->id);
    buf_printf(&script, "exec ./%s %s ", name, call->verb);
    if (call->id)
        buf_printf(&script, "%" PRId64, call->id);
    else
        buf_puts(&script, ".");
    for (size_t i = 0; i < EXEC_WORDS_MAX && call->words[i]; i++) {
        buf_puts(&script, " ");
        quote_word(&script, call->words[i]);
    }
    if (script.full)
        return err_set(e, ERR_USAGE, "%s: the command for it is too long", h->address);
    ssh_command(h, buf_str(&script), out);
    return 0;
}

const struct exec_driver exec_ssh = {
    .name = "ssh",
    .answers = ssh_answers,
    .succeeds = ssh_succeeds,
    .prepare = ssh_prepare,
    .send = ssh_send,
    .collect = ssh_collect,
    .agent_command = ssh_agent_command,
    .explain = ssh_explain,
};
