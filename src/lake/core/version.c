/* Writes versions of files, many in one transaction. put and sessions call it. */
#include "base/mem.h"
#include "lake/core/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* New files may be read and written by the whole project, until chmod says otherwise. */
#define MODE_NEW 0666

/* Refuses when `directory` (without '/' at the end) is a file. */
static int check_directory(struct lake *l, const char *path, const char *directory, struct err *e)
{
    struct item_row row;
    char shown[PATH_SHOWN], above[PATH_SHOWN];
    int found = lake_file_find(l, directory, &row, e);

    if (found < 0)
        return -1;
    if (found == 1 && !row.removed)
        return err_set(e, ERR_USAGE, "%s cannot be put: %s is a file, not a directory",
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
    int found = lake_file_find(l, path, &row, e);

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

/* ---- rows ---- */

struct version_rows {
    struct lake *l;
    struct lake_made made;
    struct db_rows *files, *versions;
};

struct version_rows *version_rows_new(struct lake *l, const struct lake_made *made)
{
    struct version_rows *r = mem_zero(1, sizeof *r);

    r->l = l;
    r->made = *made;
    r->files = db_rows_new(l->db,
                           "INSERT INTO file (id, project, path, owner, team, mode, latest,"
                           " latest_version, removed)",
                           9, "");
    r->versions = db_rows_new(l->db,
                              "INSERT INTO version (id, project, file, number, object, made,"
                              " executable, removed)",
                              8, "");
    return r;
}

void version_rows_free(struct version_rows *r)
{
    if (!r)
        return;
    db_rows_free(r->files);
    db_rows_free(r->versions);
    free(r);
}

int version_rows_flush(struct version_rows *r, struct err *e)
{
    return db_rows_flush(r->files, e) < 0 ? -1 : db_rows_flush(r->versions, e);
}

static int insert_file(struct version_rows *r,
                       const char *path,
                       const struct version_done *first,
                       int64_t *id_out,
                       struct err *e)
{
    if (db_ids(r->l->db, "file", 1, id_out, e) < 0)
        return -1;
    return db_rows_add(r->files, e, DB_INT(*id_out), DB_INT(r->l->project), DB_TEXT(path),
                       DB_TEXT(r->made.owner), DB_TEXT(""), DB_INT(MODE_NEW), DB_INT(first->number),
                       DB_INT(first->version), DB_INT(0));
}

/* Looks for the path: 1: it has versions, 0: none, and there may be one; -1. */
static int find_path(struct version_rows *r,
                     const struct version_new *v,
                     struct item_row *row,
                     struct err *e)
{
    struct lake *l = r->l;
    char shown[PATH_SHOWN];

    *row = (struct item_row){0};
    if (v->vacant)
        return lake_path_check(v->path, e) < 0 ? -1 : check_above(l, r->made.id, v->path, e);
    int found = version_rows_flush(r, e) < 0 ? -1 : lake_file_find(l, v->path, row, e);
    if (found == 1 && item_ask(l, row, path_shown(v->path, shown), LAKE_WRITE, e) < 0)
        return -1;
    if (found >= 0 && (found == 0 || row->removed) && check_free(l, r->made.id, v->path, e) < 0)
        return -1;
    return found;
}

int version_rows_add(struct version_rows *r,
                     const struct version_new *v,
                     struct version_done *out,
                     struct err *e)
{
    struct item_row row;
    int found = find_path(r, v, &row, e);
    int64_t file = row.id;

    if (found < 0)
        return -1;
    if (found == 1 && !row.removed && row.object == v->object && !v->force) {
        *out = (struct version_done){row.latest_version, row.latest, true};
        return 0;
    }
    *out = (struct version_done){.number = row.last + 1};
    if (db_ids(r->l->db, "version", 1, &out->version, e) < 0)
        return -1;
    int result = found == 1 ? db_run(r->l->db, e,
                                     "UPDATE file SET latest = $2, latest_version = $3, removed = 0"
                                     " WHERE id = $1",
                                     DB_INT(file), DB_INT(out->number), DB_INT(out->version))
                            : insert_file(r, v->path, out, &file, e);
    if (result < 0 || db_rows_add(r->versions, e, DB_INT(out->version), DB_INT(r->l->project),
                                  DB_INT(file), DB_INT(out->number), DB_INT(v->object),
                                  DB_INT(r->made.id), DB_INT(v->executable), DB_INT(0)) < 0)
        return -1;
    /* Only vacant paths are written late: no other query of this transaction looks for them. */
    return v->vacant ? 0 : version_rows_flush(r, e);
}
