/* Makes the command line of bubblewrap by which a job finds its mounts. wrap.c calls it. A path
 * that is not there is made in a private directory, which stands in for the one above the path and
 * has everything else of that bound into it: nothing is made on the machine itself. */
#include "base/file.h"
#include "base/mem.h"
#include "exec/agent/supervise.h"
#include "exec/agent/wrap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_WAIT_S 10.0
/* Each becomes a mount of its own. */
#define ENTRIES_MAX 4000

struct bound {
    char *source, *wanted;
    char *target; /* wanted without links; NULL until it is added */
    bool is_dir;
};

struct sandbox {
    const struct jobdir *dir;
    struct bound *all;
    size_t n;
    char **shadows; /* directories that a private one stands in for; shorter ones first */
    size_t n_shadows, cap_shadows;
    size_t entries;
};

static void sandbox_clear(struct sandbox *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->all[i].source);
        free(s->all[i].wanted);
        free(s->all[i].target);
    }
    for (size_t i = 0; i < s->n_shadows; i++)
        free(s->shadows[i]);
    free(s->all);
    free(s->shadows);
}

static bool is_below(const char *path, const char *top)
{
    size_t n = strlen(top);

    return !strcmp(top, "/") || (!strncmp(path, top, n) && (path[n] == '/' || !path[n]));
}

/* The deepest directory above path, without links, that is there. *rest: what of path is missing.
 */
static char *existing(const char *path, const char **rest)
{
    for (size_t n = strlen(path);;) {
        AUTO_MEM char *part = mem_printf("%.*s", n ? (int)n : 1, path);
        char *real = realpath(part, NULL);
        if (real) {
            *rest = path + n;
            return real;
        }
        if (n == 0 || errno == EACCES || errno == ELOOP)
            return NULL;
        while (n && path[n - 1] != '/')
            n--;
        while (n && path[n - 1] == '/')
            n--;
    }
}

static int check_kind(const struct bound *b, struct err *e)
{
    struct stat st;

    if (stat(b->target, &st) == 0 && S_ISDIR(st.st_mode) == b->is_dir)
        return 0;
    return err_set(e, ERR_USAGE, "file_mounts: %s is %s, and what goes there is %s", b->target,
                   b->is_dir ? "a file" : "a directory", b->is_dir ? "a directory" : "a file");
}

/* A place for the mount in a directory of the job's own. */
static int make_place(const char *path, bool is_dir, struct err *e)
{
    AUTO_MEM char *above = mem_dup(path);

    if (is_dir)
        return file_make_dirs(path, 0700, e);
    *strrchr(above, '/') = 0;
    if (file_make_dirs(above, 0700, e) < 0)
        return -1;
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? file_error(e, "create", path) : 0;
}

static void shadow(struct sandbox *s, const char *directory)
{
    size_t at = 0;

    for (size_t i = 0; i < s->n_shadows; i++)
        if (!strcmp(s->shadows[i], directory))
            return;
    s->shadows = mem_room(s->shadows, s->n_shadows, &s->cap_shadows, sizeof *s->shadows);
    while (at < s->n_shadows && strlen(s->shadows[at]) <= strlen(directory))
        at++;
    memmove(s->shadows + at + 1, s->shadows + at, (s->n_shadows - at) * sizeof *s->shadows);
    s->shadows[at] = mem_dup(directory);
    s->n_shadows++;
}

/* Shorter targets come first: one below another lies in the other's content. */
static const struct bound *outer(const struct sandbox *s, size_t n, const char *target)
{
    for (size_t i = n; i-- > 0;)
        if (is_below(target, s->all[i].target))
            return &s->all[i];
    return NULL;
}

static int add(struct sandbox *s, size_t i, struct err *e)
{
    struct bound *b = &s->all[i];
    const char *rest = "";
    AUTO_MEM char *above = existing(b->wanted, &rest);

    if (!above)
        return err_set(e, ERR_USAGE, "file_mounts: %s: %s", b->wanted, strerror(errno));
    while (*rest == '/')
        rest++;
    b->target =
        !*rest ? mem_dup(above) : mem_printf("%s/%s", strcmp(above, "/") ? above : "", rest);
    const struct bound *in = outer(s, i, b->target);
    if (in && strcmp(in->target, b->target) != 0) {
        AUTO_MEM char *path = mem_printf("%s%s", in->source, b->target + strlen(in->target));
        return make_place(path, b->is_dir, e);
    }
    if (!*rest)
        return check_kind(b, e);
    if (is_below(above, s->dir->path))
        return make_place(b->target, b->is_dir, e);
    shadow(s, above);
    return 0;
}

static int by_length(const void *a, const void *b)
{
    const struct bound *x = a, *y = b;
    size_t n = strlen(x->wanted), m = strlen(y->wanted);

    return n < m ? -1 : n > m;
}

static int add_all(struct sandbox *s, const struct jobfile *job, const char *home, struct err *e)
{
    struct stat st;

    s->all = mem_zero(job->n_mounts, sizeof *s->all);
    for (; s->n < job->n_mounts; s->n++) {
        struct bound *b = &s->all[s->n];
        b->wanted = wrap_target(s->dir, job->mounts[s->n].target, home);
        b->source = wrap_source(s->dir, &job->mounts[s->n], e);
        b->is_dir = b->source && stat(b->source, &st) == 0 && S_ISDIR(st.st_mode);
        if (!b->source) {
            free(b->wanted);
            return -1;
        }
    }
    qsort(s->all, s->n, sizeof *s->all, by_length);
    for (size_t i = 0; i < s->n; i++)
        if (add(s, i, e) < 0)
            return -1;
    return 0;
}

static void add_three(struct wrap *w, const char *option, const char *from, const char *to)
{
    wrap_add(w, option);
    wrap_add(w, from);
    wrap_add(w, to);
}

/* What a directory has, bound to where it is. */
static int bind_entries(struct sandbox *s, const char *directory, struct wrap *out, struct err *e)
{
    DIR *d = opendir(directory);

    if (!d)
        return err_set(e, ERR_USAGE, "file_mounts: %s cannot be listed: %s", directory,
                       strerror(errno));
    for (const struct dirent *entry; (entry = readdir(d)) && s->entries <= ENTRIES_MAX;) {
        AUTO_MEM char *path =
            mem_printf("%s/%s", strcmp(directory, "/") ? directory : "", entry->d_name);
        char link[4096];
        ssize_t n = readlink(path, link, sizeof link - 1);
        struct stat st;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || lstat(path, &st) < 0)
            continue;
        s->entries++;
        link[n > 0 ? n : 0] = 0;
        if (n > 0)
            add_three(out, "--symlink", link, path);
        else
            add_three(out, "--dev-bind-try", path, path);
    }
    closedir(d);
    return s->entries <= ENTRIES_MAX
               ? 0
               : err_set(e, ERR_USAGE,
                         "file_mounts: %s has too many entries to add one: make the directory of "
                         "the mount there yourself",
                         directory);
}

static int bind_shadows(struct sandbox *s, struct wrap *out, struct err *e)
{
    if (!s->n_shadows || strcmp(s->shadows[0], "/") != 0)
        add_three(out, "--dev-bind", "/", "/");
    for (size_t i = 0; i < s->n_shadows; i++) {
        AUTO_MEM char *own = mem_printf("%s/mounts/%zu", s->dir->path, i);
        if (file_make_dirs(own, 0755, e) < 0)
            return -1;
        add_three(out, "--bind", own, s->shadows[i]);
        if (bind_entries(s, s->shadows[i], out, e) < 0)
            return -1;
    }
    return 0;
}

/* Where user namespaces are switched off, bubblewrap is there and cannot do it. */
static int probe(const char *bwrap, struct err *e)
{
    struct wrap w = {0};
    char line[200];

    wrap_add(&w, bwrap);
    add_three(&w, "--dev-bind", "/", "/");
    wrap_add(&w, "true");
    int code = wrap_run(w.argv, PROBE_WAIT_S, line, sizeof line);
    wrap_clear(&w);
    return code == 0 ? 0
                     : err_set(e, ERR_USAGE,
                               "file_mounts need bubblewrap, and it cannot make mounts on this "
                               "machine: %s",
                               line[0] ? line : "bwrap failed");
}

static int fill(struct sandbox *s, const struct jobfile *job, struct wrap *out, struct err *e)
{
    AUTO_MEM char *work = jobdir_file(s->dir, "work");

    wrap_add(out, "--die-with-parent");
    if (bind_shadows(s, out, e) < 0)
        return -1;
    for (size_t i = 0; i < s->n; i++)
        add_three(out, "--bind", s->all[i].source, s->all[i].target);
    wrap_add(out, "--chdir");
    wrap_add(out, work);
    wrap_add(out, "--");
    for (size_t i = 0; i < job->n_command; i++)
        wrap_add(out, job->command[i]);
    return 0;
}

int sandbox_prepare(const struct jobdir *d,
                    const struct jobfile *job,
                    char *const *env,
                    struct wrap *out,
                    struct err *e)
{
    AUTO_CLEAR(sandbox) struct sandbox s = {.dir = d};
    AUTO_MEM char *bwrap = wrap_find("bwrap");
    const char *home = env_get(env, "HOME");

    if (!bwrap)
        return err_set(e, ERR_USAGE,
                       "file_mounts need bubblewrap, which is not installed on this machine: "
                       "install the package bubblewrap (bwrap)");
    if (probe(bwrap, e) < 0 || add_all(&s, job, home && home[0] == '/' ? home : "/root", e) < 0)
        return -1;
    wrap_add(out, bwrap);
    return fill(&s, job, out, e);
}
