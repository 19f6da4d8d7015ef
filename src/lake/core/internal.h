/* internal: what the parts of the lake share. */
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
    /* version.c: a directory no ancestor of which is a file, as act `clear_made` found it. Whoever
     * adds files gets a new row of made, so nobody has added one since. */
    char clear_directory[LAKE_PATH_MAX + 1];
    int64_t clear_made;
};

/* Things that have metadata and pins; stored as numbers. */
enum lake_item { LAKE_ITEM_FILE = 1, LAKE_ITEM_PATH = 2, LAKE_ITEM_SET = 3, LAKE_ITEM_JOB = 4 };

int64_t lake_now_ms(const struct lake *l);
/* Opened at first use; borrowed. */
struct store *lake_store(struct lake *l, struct err *e);

/* Writes down where the first content lies; ERR_USAGE when it lies elsewhere already. In a
 * transaction. */
int lake_remember_store(struct lake *l, struct err *e);

/* Whether the caller may; for new things owner is the caller. */
bool lake_may(
    const struct lake *l, const char *owner, const char *group, unsigned mode, unsigned access);
/* ERR_DENIED that names the thing and its owner. */
int lake_denied(
    struct lake *l, const char *what, const char *owner, unsigned access, struct err *e);

/* One change of the lake: a row of table made. New files and sets belong to its owner. */
struct lake_made {
    int64_t id;
    const char *owner; /* borrowed */
    int64_t time_ms;
};
/* A new row of made, for now and the owner. A clock that goes back by up to a minute, as clocks
 * that are kept right do, gives the last time again; one that goes back further was wrong before,
 * and is believed with a warning. In a transaction. */
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
/* The first text after everything below directory, which ends in '/'. New string. */
char *path_after(const char *directory);

/* ---- object.c: content ---- */
struct object {
    int64_t id;
    bool present; /* false: gc took it; content.place is empty */
    struct store_content content;
};
void object_clear(struct object *o);
int object_get(struct lake *l, int64_t id, struct object *out, struct err *e);
/* After content could not be read where it was: gc may have moved or removed it meanwhile. 1: it
 * has, and o says where it is now, if present; 0: it should still be there; -1. */
int object_moved(struct lake *l, struct object *o, struct err *e);
/* Remembers stored content; content that is present already keeps its old place. In a transaction.
 */
int object_keep(struct lake *l, const struct store_content *c, int64_t *id_out, struct err *e);
/* The same of n; replace: content that is there already is the one just stored from now on, as it
 * was damaged. */
int object_keep_all(struct lake *l,
                    const struct store_content *contents,
                    size_t n,
                    bool replace,
                    int64_t *ids_out,
                    struct err *e);
/* Reads it: 1: whole and right, 0: damaged or gone, -1: nobody can tell. */
int object_readable(struct lake *l, int64_t id, struct err *e);

/* The id of the row of table blob for this name, made when it is new. In a transaction. */
int object_blob(struct lake *l, const char *name, int64_t *id_out, struct err *e);

/* ---- file.c: rows of files and sets ---- */
/* Of a file or a set: what permissions are asked of. */
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
/* By path or name: 1 found (removed ones too), 0 none, -1. Permissions are told, not asked. */
int lake_file_find(struct lake *l, const char *path, struct item_row *out, struct err *e);
int fileset_find(struct lake *l, const char *name, struct item_row *out, struct err *e);
/* lake_denied of `shown` unless row->may has all of access. */
int item_ask(
    struct lake *l, const struct item_row *row, const char *shown, unsigned access, struct err *e);
/* Whether a file that is not removed lies below directory, which ends in '/': 1, 0 or -1. */
int directory_exists(struct lake *l, const char *directory, struct err *e);

/* ---- resolve.c ---- */
/* lake_resolve; *whole_out: no version was named, be it by number or by a set. */
int ref_resolve(struct lake *l,
                const char *text,
                unsigned access,
                struct lake_ref *out,
                bool *whole_out,
                struct err *e);

/* ---- ref.c ---- */
/* Of every function that takes a resolved reference: ERR_NOTFOUND when it is of another project,
 * ERR_DENIED when the caller may not do all of access. */
int ref_ask(struct lake *l, const struct lake_ref *r, unsigned access, struct err *e);

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
/* Whether a path can become a file: ERR_USAGE names the file above it, or says that it is a
 * directory of others. A listed file can. clear: a path that can, too, so that the directories
 * they share are not asked again; NULL = none. In a transaction. */
int version_check(struct lake *l, const char *path, const char *clear, struct err *e);
/* The next version of each path, or its latest when the content is the same and not force. Refuses
 * (ERR_USAGE) a path that is a directory of others or lies below a file; needs LAKE_WRITE on files
 * that exist. In a transaction, where they are all there after version_rows_flush; the objects must
 * be present. */
struct version_rows;
struct version_rows *version_rows_new(struct lake *l, const struct lake_made *made);
void version_rows_free(struct version_rows *r);
AUTO_DEFINE(version_rows)
int version_rows_add(struct version_rows *r,
                     const struct version_new *v,
                     struct version_done *out,
                     struct err *e);
int version_rows_flush(struct version_rows *r, struct err *e);

/* ---- set_*.c ---- */
/* Builds the next version of a set, inside one transaction. Paths come in rising byte order, each
 * once; one that lies below another is ERR_USAGE. Needs LAKE_WRITE on a set that exists. */
struct set_builder;
struct set_builder *set_builder_new(struct lake *l,
                                    const char *name,
                                    const struct lake_made *made,
                                    struct err *e);
void set_builder_free(struct set_builder *b);
AUTO_DEFINE(set_builder)
int set_builder_add(struct set_builder *b, const struct lake_entry *entry, struct err *e);
/* parents: ids of set versions, in order of the request; repeated ones count once. */
int set_builder_finish(struct set_builder *b,
                       const int64_t *parents,
                       size_t n_parents,
                       struct lake_set *out,
                       struct err *e);
/* Files of a set version below prefix ("/" = all), in order. No permissions are asked. */
int set_each(struct lake *l,
             int64_t set_version,
             const char *prefix,
             int (*visit)(void *context, const struct lake_entry *entry, struct err *e),
             void *context,
             struct err *e);
/* The entry of one path: 1 (path in *out is the argument), 0 or -1. */
int set_find(
    struct lake *l, int64_t set_version, const char *path, struct lake_entry *out, struct err *e);
/* Every distinct chunk of set versions that are not removed or are pinned, once: calls visit for
 * all its entries (paths included). damaged: told of a chunk that cannot be read, in words that
 * name a set version with it, and the others follow; NULL = that ends it with ERR_IO. For gc and
 * fsck. */
int set_each_held(struct lake *l,
                  int (*visit)(void *context, const struct lake_entry *entry, struct err *e),
                  int (*damaged)(void *context, const char *why, struct err *e),
                  void *context,
                  struct err *e);

/* The same as if the set versions of `except` (ids) were not there; damage ends it. */
struct bits;
int set_each_held_without(struct lake *l,
                          const struct bits *except,
                          int (*visit)(void *context,
                                       const struct lake_entry *entry,
                                       struct err *e),
                          void *context,
                          struct err *e);
/* Entries that set versions hold which jobs read or made or will read: of files with these paths,
 * and of all below those that end with '/'; NULL among them is none. visit is told which of the n.
 */
int set_each_used(
    struct lake *l,
    const char *const *paths,
    size_t n,
    int (*visit)(void *context, size_t i, const struct lake_entry *entry, struct err *e),
    void *context,
    struct err *e);
/* Set versions that hold this version of this path, removed ones included, each once. */
int set_each_holder(struct lake *l,
                    const char *path,
                    int64_t version,
                    int (*visit)(void *context, int64_t set_version, struct err *e),
                    void *context,
                    struct err *e);

/* ---- meta.c ---- */
/* One pair on one item, replacing an older value. In a transaction. */
int meta_put(struct lake *l, enum lake_item kind, int64_t item, const char *pair, struct err *e);
/* The same of a pair that was taken apart (lake/meta_value.h). */
struct meta_pair;
int meta_put_pair(
    struct lake *l, enum lake_item kind, int64_t item, const struct meta_pair *pair, struct err *e);
/* The key's id in this project: 1: found, 0: nobody ever used it, -1. */
int meta_key_find(struct lake *l, const char *name, int64_t *id_out, struct err *e);
/* lake_tag inside a transaction of the caller. */
int meta_tag_ref(
    struct lake *l, const struct lake_ref *ref, const char *const *pairs, size_t n, struct err *e);

#endif
