/* Compares local files with the wanted versions, so that equal ones are not written again. get.c
 * calls it. */
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "lake/put/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Files of the right length are read and compared, a group at a time. */
struct look {
    struct get *g;
    struct candidate {
        size_t entry;
        int dir;
        const char *name;
        struct sha256_digest digest;
        bool same;
    } candidates[GET_GROUP_FILES];
    size_t n;
    struct get_names differing;
};

static int compare_one(void *context, size_t i, struct err *e)
{
    struct look *look = context;
    struct candidate *c = &look->candidates[i];
    struct sha256_digest digest;
    int fd = openat(c->dir, c->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    /* What cannot be read cannot be said to be the same. */
    if (fd < 0)
        return 0;
    int result = get_hash(fd, c->name, &digest, e);
    close(fd);
    c->same = result == 0 && sha256_equal(&digest, &c->digest);
    return result;
}

static void differs(struct look *look, size_t entry)
{
    look->g->entries[entry].state = GET_REPLACE;
    get_names_add(&look->differing, get_path(look->g, entry));
}

static int end_group(struct look *look, struct err *e)
{
    if (parallel_each(look->n, parallel_cores(), compare_one, look, e) < 0)
        return -1;
    for (size_t i = 0; i < look->n; i++) {
        const struct candidate *c = &look->candidates[i];
        if (c->same)
            look->g->entries[c->entry].state = GET_UNCHANGED;
        else
            differs(look, c->entry);
    }
    look->n = 0;
    tree_forget(&look->g->tree);
    return put_tell(&look->g->progress, 0, 0, e);
}

static int add_candidate(struct look *look, size_t entry, int dir, const char *name, struct err *e)
{
    AUTO_CLEAR(object) struct object o = {0};

    if (get_object(look->g->l, look->g->entries[entry].version, &o, NULL, e) < 0)
        return -1;
    look->candidates[look->n++] = (struct candidate){entry, dir, name, o.content.digest, false};
    return 0;
}

static int look_at(struct look *look, size_t i, struct err *e)
{
    struct get *g = look->g;
    struct stat st;
    const char *name = strrchr(get_path(g, i), '/') + 1;
    int dir;

    if ((look->n == GET_GROUP_FILES || tree_full(&g->tree)) && end_group(look, e) < 0)
        return -1;
    if (tree_dir(&g->tree, get_path(g, i), false, &dir, e) < 0)
        return -1;
    if (dir < 0)
        return 0;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT)
            return 0;
        AUTO_MEM char *shown = mem_printf("%s%s", g->o->directory, get_path(g, i));
        return file_error(e, "look at", shown);
    }
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE, "%s%s is a directory: move it away first", g->o->directory,
                       get_path(g, i));
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == g->entries[i].size)
        return add_candidate(look, i, dir, name, e);
    differs(look, i);
    return 0;
}

int get_look(struct get *g, struct err *e)
{
    AUTO_MEM struct look *look = mem_zero(1, sizeof *look);

    look->g = g;
    if (tree_open(&g->tree, g->o->directory, false, e) < 0)
        return -1;
    if (g->tree.root < 0)
        return 0;
    for (size_t i = 0; i < g->n_entries; i++)
        if (look_at(look, i, e) < 0)
            return -1;
    if (end_group(look, e) < 0)
        return -1;
    if (look->differing.n && !g->o->force)
        return err_set(e, ERR_USAGE, "%llu file%s below %s differ%s: %s%s; --force overwrites them",
                       (unsigned long long)look->differing.n, look->differing.n == 1 ? "" : "s",
                       g->o->directory, look->differing.n == 1 ? "s" : "", look->differing.text,
                       look->differing.n > GET_NAMED_MAX ? " ..." : "");
    return 0;
}
