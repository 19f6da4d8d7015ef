/* internal: the lake's handle, rows of files, objects and versions, for all sub-rooms of the lake.
 */
#ifndef LAKE_CORE_INTERNAL_H
#define LAKE_CORE_INTERNAL_H

#include "db/db.h"
#include "lake/core/lake.h"
#include "lake/core/path.h"
#include "lake/core/ref.h"

struct arena;
struct lake_set;

struct lake {
    struct arena *arena; /* of everything below that was copied from the options */
    struct db *db;
    char *home;          /* directory of the database; lake_open copies it from its options */
    struct store *store; /* NULL until lake_store */
    struct store_settings settings;
    int64_t project; /* id */
    char *project_name;
    /* The project's name in the store: its own name and the lake's mark (setting "mark", random),
     * so that lakes that share a bucket never meet, and gc takes no other lake's blobs for
     * leftovers. Everything that calls the store passes this. */
    char *area;
    const char *user;
    char **groups;
    size_t n_groups;
    bool admin;
    int64_t (*now_ms)(void *context);
    void *context;
    /* version.c: a directory no ancestor of which is a file, as of row `clear_made` of table made.
     * Adding files makes a new row, so that no file was added since. */
    char clear_directory[LAKE_PATH_MAX + 1];
    int64_t clear_made;
};

/* Things that have metadata and pins; stored as numbers. */
enum lake_item { LAKE_ITEM_FILE = 1, LAKE_ITEM_PATH = 2, LAKE_ITEM_SET = 3, LAKE_ITEM_JOB = 4 };

/* ---- schema.c: the tables ---- */
extern const struct db_migration lake_migrations[];
/* Everybody in the project may read a job, its user may write: 0644. */
#define LAKE_JOB_MODE_SQL "420"

int64_t lake_now_ms(const struct lake *l);
/* Opened at first use; borrowed. */
struct store *lake_store(struct lake *l, struct err *e);

/* Records the store of the lake with its first content; ERR_USAGE when the lake has another store
 * already. In a transaction. */
int lake_remember_store(struct lake *l, struct err *e);

/* Whether the caller has this access; the owner of a new file or set is the caller. */
bool lake_may(
    const struct lake *l, const char *owner, const char *group, unsigned mode, unsigned access);
/* ERR_DENIED that names the file or set and its owner. */
int lake_denied(
    struct lake *l, const char *what, const char *owner, unsigned access, struct err *e);
bool lake_in_group(const struct lake *l, const char *group);
/* The same of a row with owner, group and mode from this column on. */
bool lake_row_may(const struct lake *l, struct db_query *q, int column, unsigned access);
int lake_row_ask(struct lake *l,
                 struct db_query *q,
                 int column,
                 const char *shown,
                 unsigned access,
                 struct err *e);

/* One change of the lake: a row of table made. New files and sets belong to its owner. */
struct lake_made {
    int64_t id;
    const char *owner; /* borrowed */
    int64_t time_ms;
};
/* A new row of made, for now and the owner. A clock that goes back by up to a minute, as
 * corrected clocks do, gives the last time again; a clock that goes back further was wrong before,
 * and its time is taken with a warning. In a transaction. */
int lake_made_new(struct lake *l, const char *owner, struct lake_made *out, struct err *e);

/* ---- path.c: words and ranges ---- */
#define PATH_SHOWN 128
/* A path as messages show it: cut, without control characters. out is returned. */
const char *path_shown(const char *text, char out[static PATH_SHOWN]);
/* It is part of the names in the store, beside the lake's mark. */
#define PATH_PROJECT_MAX 40
int path_project_check(const char *name, struct err *e);
/* Names of users and groups; what: "a user". */
int path_user_check(const char *what, const char *name, struct err *e);
/* How many bytes both begin with. */
size_t path_shared(const char *a, const char *b);
/* The first text after everything below directory, which ends in '/'. New string. */
char *path_after(const char *directory);

/* ---- object.c: content ---- */
/* A digest in a column of the row; false: the column has none. */
bool object_read_digest(struct db_query *q, int column, struct sha256_digest *out);
struct object {
    int64_t id;
    bool present; /* false: gc removed it; content.place is empty */
    struct store_content content;
};
void object_clear(struct object *o);
int object_get(struct lake *l, int64_t id, struct object *out, struct err *e);
/* Looks up content again that could not be read: gc may have moved or removed it. 1: its location
 * changed, and o has the new one, if present; 0: the location is the same; -1. */
int object_moved(struct lake *l, struct object *o, struct err *e);
/* Records stored content; content that is present already keeps its location. In a transaction. */
int object_keep(struct lake *l, const struct store_content *c, int64_t *id_out, struct err *e);
/* The same of n contents; replace: the location of present content, which was damaged, becomes the
 * new one. */
int object_keep_all(struct lake *l,
                    const struct store_content *contents,
                    size_t n,
                    bool replace,
                    int64_t *ids_out,
                    struct err *e);
/* Reads the content: 1: whole and right, 0: damaged or gone, -1: not known. */
int object_readable(struct lake *l, int64_t id, struct err *e);

/* For store_delete: whether the lake (context) has no content in this blob. */
bool object_blob_unused(void *context, const char *name);
/* The id of the row of table blob for this name, made when it is new. In a transaction. */
int object_blob(struct lake *l, const char *name, int64_t *id_out, struct err *e);

/* ---- file.c: rows of files and sets ---- */
/* The row of a file or a set, with its permissions. */
struct item_row {
    int64_t id;
    char owner[LAKE_NAME_MAX + 1];
    unsigned may; /* what the caller may: LAKE_READ, LAKE_WRITE */
    int64_t last; /* number of the newest version, removed or not */
    int64_t latest_version;
    int64_t latest; /* number of latest_version */
    bool removed;   /* file: by rm; set: all its versions */
    int64_t object; /* file: of latest_version */
};
/* By path or name: 1 found (removed ones too), 0 none, -1. Fills in the permissions without a
 * check. */
int lake_file_find(struct lake *l, const char *path, struct item_row *out, struct err *e);
int fileset_find(struct lake *l, const char *name, struct item_row *out, struct err *e);
/* lake_denied of `shown` unless row->may has all of access. */
int item_ask(
    struct lake *l, const struct item_row *row, const char *shown, unsigned access, struct err *e);
/* Whether a file that is not removed lies below directory, which ends in '/': 1, 0 or -1. */
int directory_exists(struct lake *l, const char *directory, struct err *e);

/* ---- ref.c ---- */
/* The check of every function that takes a resolved reference: ERR_NOTFOUND for another project,
 * ERR_DENIED when the caller lacks some of access. */
int ref_ask(struct lake *l, const struct lake_ref *r, unsigned access, struct err *e);
/* ERR_USAGE: the reference, and why it cannot stand here. */
int ref_refuse(const struct lake_ref *r, const char *why, struct err *e);
#define REF_NOT_A_SET "is not a set; write sets as @NAME or @NAME:VERSION"
/* The one thing that the reference names: a file version, a file, a set version or a job. False for
 * directories, also of sets: each of their files is meant. */
bool ref_item(const struct lake_ref *r, enum lake_item *kind_out, int64_t *item_out);

/* ---- version.c: numbering ---- */
struct version_new {
    const char *path;
    int64_t object;
    bool executable;
    bool force;
    bool vacant; /* known: neither the path nor anything below is there, or comes with others */
};
struct version_done {
    int64_t version; /* id */
    int64_t number;
    bool unchanged;
};
/* Whether a path can become a file: ERR_USAGE names the file above the path, or says that the path
 * is a directory. A listed file can. clear: another path that can, so that the directories of both
 * are not checked again; NULL = none. In a transaction. */
int version_check(struct lake *l, const char *path, const char *clear, struct err *e);
/* Makes the next version of each path; without force, the latest version stays when the content is
 * the same. ERR_USAGE for a path that is a directory or lies below a file; needs LAKE_WRITE on
 * files that exist. In a transaction; all rows are written after version_rows_flush; the objects
 * must be present. */
struct version_rows;
struct version_rows *version_rows_new(struct lake *l, const struct lake_made *made);
void version_rows_free(struct version_rows *r);
AUTO_DEFINE(version_rows)
int version_rows_add(struct version_rows *r,
                     const struct version_new *v,
                     struct version_done *out,
                     struct err *e);
int version_rows_flush(struct version_rows *r, struct err *e);

#endif
