/* Writes the files of a get, small ones in groups. get.c calls it. */
#include "base/file.h"
#include "base/mem.h"
#include "lake/put/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Small files that are read from the store together. */
struct group {
    struct get *g;
    struct member {
        size_t entry;
        int dir;
        const char *name;
        bool executable;
        struct object object;
        struct err why; /* it could not be read; kind ERR_NONE = it could */
        bool no_room;   /* it could not be written: that is not the content's fault */
    } members[GET_GROUP_FILES];
    const struct store_content *contents[GET_GROUP_FILES];
    size_t n;
    uint64_t bytes;
};

static void member_clear(struct member *m)
{
    object_clear(&m->object);
}

static void group_clear(struct group *group)
{
    for (size_t i = 0; i < group->n; i++)
        member_clear(&group->members[i]);
    group->n = 0;
    group->bytes = 0;
}

static void group_free(struct group *group)
{
    if (group)
        group_clear(group);
    free(group);
}
AUTO_DEFINE(group)

static int write_error(const struct get *g, size_t entry, struct err *e)
{
    return err_wrap(e, "%s%s", g->o->directory, get_path(g, entry));
}

static int place(struct get *g, const struct member *m, struct tree_file *f, struct err *e)
{
    if (tree_file_place(f, m->name, g->entries[m->entry].state == GET_REPLACE, e) < 0)
        return write_error(g, m->entry, e);
    pthread_mutex_lock(&g->progress.lock);
    g->summary->files++;
    g->summary->bytes += g->entries[m->entry].size;
    pthread_mutex_unlock(&g->progress.lock);
    return 0;
}

static int arrived(void *context, size_t i, const void *bytes, size_t n, struct err *e)
{
    struct group *group = context;
    struct get *g = group->g;
    const struct member *m = &group->members[i];
    AUTO_CLEAR(tree_file) struct tree_file f = {.fd = -1};

    if (tree_file_create(&f, &g->tree, m->dir, m->executable, e) < 0)
        return write_error(g, m->entry, e);
    if (file_write_all(f.fd, bytes, n) < 0) {
        file_error(e, "write", m->name);
        return write_error(g, m->entry, e);
    }
    return place(g, m, &f, e);
}

static void note_damage(struct get *g, size_t entry, const struct err *why)
{
    pthread_mutex_lock(&g->progress.lock);
    if (!g->damaged.n)
        g->first = *why;
    get_names_add(&g->damaged, get_path(g, entry));
    pthread_mutex_unlock(&g->progress.lock);
}

static int damaged(void *context, size_t i, const struct err *why, struct err *e)
{
    struct group *group = context;

    /* Each i has a place of its own: no lock is needed. */
    (void)e;
    group->members[i].why = *why;
    return 0;
}

/* Whether to read it again: gc has moved it since it was looked up. */
static int read_again(struct get *g, struct member *m, struct err *e)
{
    int moved = object_moved(g->l, &m->object, e);

    /* It exists as far as the lake knows: a blob that is missing is damage, too. */
    if (m->why.kind == ERR_NOTFOUND)
        m->why.kind = ERR_IO;
    if (moved == 0)
        note_damage(g, m->entry, &m->why);
    else if (moved > 0 && !m->object.present)
        get_names_add(&g->gone, get_path(g, m->entry));
    m->why = (struct err){0};
    return moved > 0 ? m->object.present : moved;
}

/* Leaves those of the group that must be read again. */
static int keep_moved(struct group *group, struct err *e)
{
    size_t kept = 0;

    for (size_t i = 0; i < group->n; i++) {
        struct member *m = &group->members[i];
        int again = m->why.kind == ERR_NONE ? 0 : read_again(group->g, m, e);
        if (again < 0)
            return -1;
        if (!again) {
            member_clear(m);
            continue;
        }
        struct member moved = *m;
        m->object = (struct object){0};
        group->members[kept++] = moved;
    }
    group->n = kept;
    return 0;
}

static int read_group(struct group *group, struct err *e)
{
    struct get *g = group->g;
    const struct store_reader reader = {arrived, damaged, group};
    struct store *store = lake_store(g->l, e);

    if (!store)
        return -1;
    while (group->n) {
        for (size_t i = 0; i < group->n; i++)
            group->contents[i] = &group->members[i].object.content;
        if (store_read_many(store, g->l->area, group->contents, group->n, &reader, e) < 0 ||
            keep_moved(group, e) < 0)
            return -1;
    }
    return 0;
}

static int write_group(struct group *group, struct err *e)
{
    struct get *g = group->g;
    size_t n = group->n;

    if (!n)
        return 0;
    if (read_group(group, e) < 0)
        return -1;
    int told = put_tell(&g->progress, n, group->bytes, e);
    group_clear(group);
    tree_forget(&g->tree);
    return told;
}

/* ---- large files ---- */

static bool tell_bytes(void *progress, uint64_t more_bytes)
{
    return put_tell(progress, 0, more_bytes, NULL) == 0;
}

/* Without copying: 1, or 0 when it cannot be done here. The content is verified where it lies. */
static int link_one(struct get *g, struct member *m, struct store *store, struct err *e)
{
    AUTO_CLEAR(tree_file) struct tree_file f = {.fd = -1};
    struct sha256_digest digest;
    struct stat st;

    tree_file_name(&f, m->dir);
    AUTO_MEM char *path = mem_printf("/proc/self/fd/%d/%s", m->dir, f.name);
    /* A hard link shares its permissions with the store: no place for an executable bit. */
    if (!store_link(store, g->l->area, &m->object.content, path, !m->executable)) {
        f.name[0] = 0;
        return 0;
    }
    f.fd = openat(m->dir, f.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (f.fd < 0 || fstat(f.fd, &st) < 0)
        return file_error(e, "read", path);
    if (get_hash(f.fd, path, &digest, e) < 0)
        return -1;
    if (!sha256_equal(&digest, &m->object.content.digest))
        return err_set(e, ERR_IO, "the content is damaged in blob %s",
                       m->object.content.place.blob);
    if (st.st_nlink == 1 && m->executable)
        (void)fchmod(f.fd, st.st_mode | S_IXUSR | S_IXGRP | S_IXOTH);
    m->no_room = place(g, m, &f, e) < 0;
    if (m->no_room)
        return -1;
    g->summary->linked++;
    return put_tell(&g->progress, 0, g->entries[m->entry].size, e) < 0 ? -1 : 1;
}

/* Asked of a file that is given up: a disk that is full takes no more of it. */
static bool takes_more(int fd, uint64_t size)
{
    static const char piece[1 << 16] = {1};
    const uint64_t more = (uint64_t)1 << 20;

    for (uint64_t at = size; at < size + more; at += sizeof piece)
        if (file_pwrite_all(fd, piece, sizeof piece, at) < 0)
            return false;
    return true;
}

static int copy_one(struct get *g, struct member *m, struct store *store, struct err *e)
{
    AUTO_CLEAR(tree_file) struct tree_file f = {.fd = -1};

    m->no_room = tree_file_create(&f, &g->tree, m->dir, m->executable, e) < 0;
    if (m->no_room)
        return write_error(g, m->entry, e);
    if (store_copy(store, g->l->area, &m->object.content, f.fd, tell_bytes, &g->progress, e) < 0) {
        m->no_room = e->kind == ERR_IO && !takes_more(f.fd, m->object.content.place.size);
        return m->no_room ? write_error(g, m->entry, e) : -1;
    }
    m->no_room = place(g, m, &f, e) < 0;
    return m->no_room ? -1 : 0;
}

static int write_large(struct get *g, struct member *m, struct err *e)
{
    struct store *store = lake_store(g->l, e);
    int again = store ? 1 : -1;

    while (again > 0) {
        struct err why = {0};
        int linked = g->o->link ? link_one(g, m, store, &why) : 0;
        if (linked > 0 || (linked == 0 && copy_one(g, m, store, &why) == 0))
            return put_tell(&g->progress, 1, 0, e);
        if (m->no_room || (why.kind != ERR_IO && why.kind != ERR_NOTFOUND))
            return err_set(e, why.kind, "%s", why.text);
        m->why = why;
        again = read_again(g, m, e);
    }
    return again;
}

/* ---- all ---- */

static int take_member(struct group *group, size_t i, struct member *m, struct err *e)
{
    struct get *g = group->g;

    *m = (struct member){.entry = i, .name = strrchr(get_path(g, i), '/') + 1};
    if (get_object(g->l, g->entries[i].version, &m->object, &m->executable, e) < 0)
        return -1;
    if (!m->object.present)
        get_names_add(&g->gone, get_path(g, i));
    return 0;
}

static int add_file(struct group *group, size_t i, struct err *e)
{
    struct get *g = group->g;
    AUTO_CLEAR(member) struct member m = {0};

    if (take_member(group, i, &m, e) < 0)
        return -1;
    if (!m.object.present)
        return 0;
    if ((group->n == GET_GROUP_FILES || tree_full(&g->tree) ||
         group->bytes + m.object.content.place.size > GET_GROUP_BYTES) &&
        write_group(group, e) < 0)
        return -1;
    if (tree_dir(&g->tree, get_path(g, i), true, &m.dir, e) < 0)
        return -1;
    if (m.object.content.place.size > STORE_SMALL_MAX)
        return write_large(g, &m, e);
    group->bytes += m.object.content.place.size;
    group->members[group->n++] = m;
    m.object = (struct object){0};
    return 0;
}

static void count_work(struct get *g)
{
    for (size_t i = 0; i < g->n_entries; i++) {
        if (g->entries[i].state == GET_UNCHANGED) {
            g->summary->unchanged++;
            continue;
        }
        g->progress.all_files++;
        g->progress.all_bytes += g->entries[i].size;
    }
}

int get_write(struct get *g, struct err *e)
{
    AUTO(group) struct group *group = mem_zero(1, sizeof *group);

    group->g = g;
    count_work(g);
    if (!g->progress.all_files)
        return 0;
    tree_clear(&g->tree);
    if (tree_open(&g->tree, g->o->directory, true, e) < 0)
        return -1;
    for (size_t i = 0; i < g->n_entries; i++)
        if (g->entries[i].state != GET_UNCHANGED && add_file(group, i, e) < 0)
            return -1;
    return write_group(group, e);
}
