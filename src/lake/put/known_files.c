/* The digests, versions and objects that the database has of files to be put. put and uploads call
 * it.
 */
#include "lake/put/upload.h"

#include <string.h>

/* Rows that are stepped over before the next one is looked up instead. */
#define SKIP_ROWS 32

/* A walk over rows in order of their first column, to be met by paths that mostly rise: one range
 * scan for a whole directory instead of a lookup for each file. */
struct walk {
    struct lake *l;
    const char *sql; /* $1: from this path on; $2: project, where has_project */
    bool has_project;
    struct db_query *q;
    bool at_row;
    char start[SOURCE_PATH_MAX];
};

static int walk_step(struct walk *w, struct err *e)
{
    int row = db_step(w->q, e);

    w->at_row = row > 0;
    return row < 0 ? -1 : 0;
}

static int walk_seek(struct walk *w, const char *path, struct err *e)
{
    snprintf(w->start, sizeof w->start, "%s", path);
    w->q = db_query(w->l->db, e, w->sql, DB_TEXT(w->start),
                    w->has_project ? DB_INT(w->l->project) : DB_NULL);
    return walk_step(w, e);
}

/* 1: the walk stands at the row of this path; 0: there is none; -1 */
static int walk_to(struct walk *w, const char *path, struct err *e)
{
    int order;

    if ((!w->q || strcmp(path, w->start) < 0) && walk_seek(w, path, e) < 0)
        return -1;
    for (unsigned skipped = 0; w->at_row; skipped++) {
        order = strcmp(db_text(w->q, 0), path);
        if (order >= 0)
            return order == 0;
        if ((skipped < SKIP_ROWS ? walk_step(w, e) : walk_seek(w, path, e)) < 0)
            return -1;
    }
    return 0;
}

static void walk_end(struct walk *w)
{
    if (w->q)
        db_reset(w->q);
}

static void take_digest(struct source_file *f, struct db_query *q)
{
    struct source_stamp stamp = {
        .device = (uint64_t)db_int(q, 1),
        .inode = (uint64_t)db_int(q, 2),
        .size = (uint64_t)db_int(q, 3),
        .mtime_ns = db_int(q, 4),
        .ctime_ns = db_int(q, 5),
    };

    f->known = source_stamp_equal(&stamp, &f->stamp) && object_read_digest(q, 6, &f->digest);
}

static int look_at_stamps(struct lake *l, struct source_list *list, struct err *e)
{
    struct walk w = {
        .l = l,
        .sql = "SELECT path, device, inode, size, mtime_ns, ctime_ns, sha256 FROM source"
               " WHERE path >= $1 ORDER BY path",
    };
    char last[SOURCE_PATH_MAX] = "", room[SOURCE_PATH_MAX];

    for (size_t i = 0; i < list->n_files; i++) {
        const char *path = source_path(list, i, SOURCE_REAL, room);
        if (!path)
            continue;
        /* Another source may lie before this one. */
        if (strcmp(path, last) < 0)
            w.q = NULL;
        int found = walk_to(&w, path, e);
        if (found < 0)
            return -1;
        if (found)
            take_digest(&list->files[i], w.q);
        snprintf(last, sizeof last, "%s", path);
    }
    walk_end(&w);
    return 0;
}

static int take_latest(
    struct lake *l, struct source_file *f, const char *path, struct db_query *q, struct err *e)
{
    struct sha256_digest digest;

    if (lake_row_ask(l, q, 1, path, LAKE_WRITE, e) < 0)
        return -1;
    bool removed = db_int(q, 4) != 0, gone = db_is_null(q, 8);
    if (removed || gone)
        return 0;
    f->number = db_int(q, 5);
    f->version = db_int(q, 6);
    f->same = f->known && object_read_digest(q, 9, &digest) && sha256_equal(&digest, &f->digest);
    if (f->same)
        f->object = db_int(q, 7);
    return 0;
}

static int look_at_paths(struct lake *l, struct source_list *list, struct err *e)
{
    struct walk w = {
        .l = l,
        .sql = "SELECT f.path, f.owner, f.team, f.mode, f.removed, v.number, f.latest_version,"
               " v.object, o.blob, o.sha256 FROM file f JOIN version v ON v.id = f.latest_version"
               " JOIN object o ON o.id = v.object"
               " WHERE f.project = $2 AND f.path >= $1 ORDER BY f.path",
        .has_project = true,
    };
    char room[SOURCE_PATH_MAX];

    for (size_t n = 0; n < list->n_files; n++) {
        size_t i = source_nth(list, n);
        const char *path = source_path(list, i, SOURCE_LAKE, room);
        int found = walk_to(&w, path, e);
        if (found < 0 || (found && take_latest(l, &list->files[i], path, w.q, e) < 0))
            return -1;
    }
    walk_end(&w);
    return 0;
}

int known_object(struct lake *l, const struct sha256_digest *digest, int64_t *id_out, struct err *e)
{
    return db_get_int(
        l->db, e, id_out,
        "SELECT id FROM object WHERE project = $1 AND sha256 = $2 AND blob IS NOT NULL",
        DB_INT(l->project), DB_BYTES(digest->bytes, sizeof digest->bytes));
}

int known_file_object(struct lake *l, struct source_file *f, struct err *e)
{
    int found = known_object(l, &f->digest, &f->object, e);
    int64_t object;

    if (found <= 0 || !f->version)
        return found;
    int row = db_get_int(l->db, e, &object, "SELECT object FROM version WHERE id = $1",
                         DB_INT(f->version));
    f->same = row > 0 && object == f->object;
    return row < 0 ? -1 : 1;
}

static int look_at_objects(struct lake *l, struct source_list *list, struct err *e)
{
    for (size_t i = 0; i < list->n_files; i++) {
        struct source_file *f = &list->files[i];
        if (f->known && !f->object && known_object(l, &f->digest, &f->object, e) < 0)
            return -1;
    }
    return 0;
}

int known_look(struct lake *l, struct source_list *list, struct err *e)
{
    if (db_begin_read(l->db, e) < 0)
        return -1;
    bool good = look_at_stamps(l, list, e) == 0 && look_at_paths(l, list, e) == 0 &&
                look_at_objects(l, list, e) == 0;
    db_rollback(l->db);
    return good ? 0 : -1;
}

struct db_rows *known_rows_new(struct lake *l)
{
    return db_rows_new(
        l->db, "INSERT INTO source (path, device, inode, size, mtime_ns, ctime_ns, sha256)", 7,
        "ON CONFLICT (path) DO UPDATE SET device = excluded.device, inode = excluded.inode,"
        " size = excluded.size, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns,"
        " sha256 = excluded.sha256");
}

int known_remember(struct db_rows *rows, const struct source_list *list, size_t i, struct err *e)
{
    const struct source_file *f = &list->files[i];
    char room[SOURCE_PATH_MAX];
    const char *path = f->quiet ? source_path(list, i, SOURCE_REAL, room) : NULL;

    if (!path)
        return 0;
    return db_rows_add(rows, e, DB_TEXT(path), DB_INT((int64_t)f->stamp.device),
                       DB_INT((int64_t)f->stamp.inode), DB_INT((int64_t)f->stamp.size),
                       DB_INT(f->stamp.mtime_ns), DB_INT(f->stamp.ctime_ns),
                       DB_BYTES(f->digest.bytes, sizeof f->digest.bytes));
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Nothing in the lake begins with the path: neither it is there nor anything below it. */
static int is_vacant(struct walk *w, const char *path, struct err *e)
{
    int found = walk_to(w, path, e);

    if (found != 0)
        return found < 0 ? -1 : 0;
    return !w->at_row || !begins_with(db_text(w->q, 0), path);
}

int known_vacant(struct lake *l, struct source_list *list, struct err *e)
{
    struct walk w = {
        .l = l,
        .sql = "SELECT path FROM file WHERE project = $2 AND path >= $1 ORDER BY path",
        .has_project = true,
    };
    char rooms[2][SOURCE_PATH_MAX];
    const char *next = "";

    for (size_t n = 0; n < list->n_files; n++) {
        struct source_file *f = &list->files[source_nth(list, n)];
        const char *path = n ? next : source_path(list, source_nth(list, 0), SOURCE_LAKE, rooms[0]);
        next = n + 1 < list->n_files
                   ? source_path(list, source_nth(list, n + 1), SOURCE_LAKE, rooms[(n + 1) % 2])
                   : "";
        int vacant = f->version || begins_with(next, path) ? 0 : is_vacant(&w, path, e);
        if (vacant < 0)
            return -1;
        f->vacant = vacant > 0;
    }
    walk_end(&w);
    return 0;
}
