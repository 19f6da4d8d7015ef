#include "base/mem.h"
#include "lake/internal.h"

#include <stdio.h>
#include <string.h>

/* Files are the whole project's to read and write until somebody says otherwise. */
#define MODE_NEW 0666

/* Refuses when `directory` (without '/' at the end) is a file. */
static int check_directory(struct lake *l, const char *path, const char *directory, struct err *e)
{
    struct item_row row;
    char shown[PATH_SHOWN], above[PATH_SHOWN];
    int found = file_find(l, directory, &row, e);

    if (found < 0)
        return -1;
    if (found == 1 && !row.removed)
        return err_set(e, ERR_USAGE, "%s cannot be put: %s is a file, and nothing can lie below it",
                       path_shown(path, shown), path_shown(directory, above));
    return 0;
}

/* Bytes of the longest directory that path shares with one known to be clear. */
static size_t known_clear(const struct lake *l, int64_t made, const char *path)
{
    size_t shared = 0;

    if (l->clear_made != made)
        return 0;
    for (size_t i = 0;; i++) {
        bool end = !l->clear_directory[i];
        if ((end || l->clear_directory[i] == '/') && path[i] == '/')
            shared = i;
        if (end || l->clear_directory[i] != path[i])
            return shared;
    }
}

/* Puts of many files come directory by directory: what was asked of the last one holds. */
static int check_above(struct lake *l, int64_t made, const char *path, struct err *e)
{
    size_t parent = (size_t)(strrchr(path, '/') - path);
    size_t at = known_clear(l, made, path);
    char *directory = l->clear_directory;

    l->clear_made = 0;
    while (at < parent) {
        at += 1 + strcspn(path + at + 1, "/");
        memcpy(directory, path, at);
        directory[at] = 0;
        if (check_directory(l, path, directory, e) < 0)
            return -1;
    }
    memcpy(directory, path, parent);
    directory[parent] = 0;
    l->clear_made = made;
    return 0;
}

static int check_below(struct lake *l, const char *path, struct err *e)
{
    AUTO_MEM char *directory = mem_printf("%s/", path);
    char shown[PATH_SHOWN];
    int found = directory_exists(l, directory, e);

    if (found == 1)
        return err_set(e, ERR_USAGE,
                       "%s cannot be put: it is a directory, files lie below it. Name one: %s/NAME",
                       path_shown(path, shown), shown);
    return found;
}

/* A path that no listed file has may become one. */
static int check_free(struct lake *l, int64_t made, const char *path, struct err *e)
{
    if (lake_path_check(path, e) < 0 || check_above(l, made, path, e) < 0 ||
        check_below(l, path, e) < 0)
        return -1;
    return 0;
}

int version_check(struct lake *l, const char *path, const char *clear, struct err *e)
{
    const int64_t no_act = -1;
    struct item_row row;
    int found = file_find(l, path, &row, e);

    if (found != 0 && (found < 0 || !row.removed))
        return found < 0 ? -1 : 0;
    l->clear_made = 0;
    if (clear) {
        size_t parent = (size_t)(strrchr(clear, '/') - clear);
        memcpy(l->clear_directory, clear, parent);
        l->clear_directory[parent] = 0;
        l->clear_made = no_act;
    }
    int result = check_free(l, no_act, path, e);
    l->clear_made = 0;
    return result;
}

static int insert_version(struct lake *l,
                          int64_t made,
                          int64_t file,
                          const struct version_new *v,
                          const struct version_done *done,
                          struct err *e)
{
    struct db_query *q = db_query(l->db,
                                  "INSERT INTO version (id, project, file, number, object, made,"
                                  " executable, removed) VALUES ($1, $2, $3, $4, $5, $6, $7, 0)",
                                  e);

    if (!q)
        return -1;
    db_bind_int(q, 1, done->version);
    db_bind_int(q, 2, l->project);
    db_bind_int(q, 3, file);
    db_bind_int(q, 4, done->number);
    db_bind_int(q, 5, v->object);
    db_bind_int(q, 6, made);
    db_bind_int(q, 7, v->executable);
    return db_run(q, e);
}

static int insert_file(struct lake *l,
                       const char *path,
                       const struct version_done *first,
                       int64_t *id_out,
                       struct err *e)
{
    if (db_ids(l->db, "file", 1, id_out, e) < 0)
        return -1;
    struct db_query *q = db_query(l->db,
                                  "INSERT INTO file (id, project, path, owner, team, mode, latest,"
                                  " latest_version, removed)"
                                  " VALUES ($1, $2, $3, $4, '', $5, $6, $7, 0)",
                                  e);
    if (!q)
        return -1;
    db_bind_int(q, 1, *id_out);
    db_bind_int(q, 2, l->project);
    db_bind_text(q, 3, path);
    db_bind_text(q, 4, l->user);
    db_bind_int(q, 5, MODE_NEW);
    db_bind_int(q, 6, first->number);
    db_bind_int(q, 7, first->version);
    return db_run(q, e);
}

static int update_file(struct lake *l, int64_t file, const struct version_done *done, struct err *e)
{
    struct db_query *q = db_query(l->db,
                                  "UPDATE file SET latest = $2, latest_version = $3, removed = 0"
                                  " WHERE id = $1",
                                  e);

    if (!q)
        return -1;
    db_bind_int(q, 1, file);
    db_bind_int(q, 2, done->number);
    db_bind_int(q, 3, done->version);
    return db_run(q, e);
}

int version_add(struct lake *l,
                int64_t made,
                const struct version_new *v,
                struct version_done *out,
                struct err *e)
{
    struct item_row row;
    char shown[PATH_SHOWN];
    int found = file_find(l, v->path, &row, e);
    int64_t file = row.id;

    if (found < 0)
        return -1;
    if (found == 1 && item_ask(l, &row, path_shown(v->path, shown), LAKE_WRITE, e) < 0)
        return -1;
    if (found == 1 && !row.removed && row.object == v->object && !v->force) {
        *out = (struct version_done){row.latest_version, row.latest, true};
        return 0;
    }
    if ((found == 0 || row.removed) && check_free(l, made, v->path, e) < 0)
        return -1;
    *out = (struct version_done){.number = row.last + 1};
    if (db_ids(l->db, "version", 1, &out->version, e) < 0)
        return -1;
    int result = found == 1 ? update_file(l, file, out, e) : insert_file(l, v->path, out, &file, e);
    return result < 0 ? -1 : insert_version(l, made, file, v, out, e);
}
