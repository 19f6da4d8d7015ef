/* Builds a set version from entries in order, sharing chunks with other sets. set_create.c,
 * sessions and jobs call it. */
#include "base/mem.h"
#include "lake/core/path.h"
#include "lake/set/graph.h"
#include "lake/set/internal.h"
#include "lake/set/set.h"
#include "lake/set/set_nesting.h"

#include <stdlib.h>
#include <string.h>

/* The whole project may read and write. */
#define NEW_MODE 0666

struct set_builder {
    struct lake *l;
    char *name;
    struct lake_made made;
    int64_t set; /* id; 0 = will be new */
    int64_t number;
    int64_t version; /* id, reserved */
    int64_t n_parts;
    uint64_t files, bytes;
    struct chunk chunk;
    struct set_nesting nesting;
};

void set_builder_free(struct set_builder *b)
{
    if (!b)
        return;
    free(b->name);
    chunk_clear(&b->chunk);
    free(b);
}

/* Finds the set and whether it may be written; a new set will belong to the owner. */
static int find_target(struct set_builder *b, struct err *e)
{
    AUTO_MEM char *shown = mem_printf("@%s", b->name);
    struct item_row row;
    int found = fileset_find(b->l, b->name, &row, e);

    b->set = row.id;
    b->number = row.last + 1;
    return found == 1 ? item_ask(b->l, &row, shown, LAKE_WRITE, e) : found;
}

struct set_builder *set_builder_new(struct lake *l,
                                    const char *name,
                                    const struct lake_made *made,
                                    struct err *e)
{
    if (lake_path_check_set(name, e) < 0)
        return NULL;
    AUTO(set_builder) struct set_builder *b = mem_zero(1, sizeof *b);
    b->l = l;
    b->name = mem_dup(name);
    b->made = *made;
    chunk_init(&b->chunk);
    if (find_target(b, e) < 0 || db_ids(l->db, "set_version", 1, &b->version, e) < 0)
        return NULL;
    return TAKE(b);
}

/* True when the last entry added ended a chunk. */
static bool is_idle(const struct set_builder *b)
{
    return b->chunk.files == 0;
}

/* The id of the project's chunk with these entries, made when it is new. */
static int take_chunk(struct lake *l, const struct part *part, int64_t *id_out, struct err *e)
{
    int found =
        db_get_int(l->db, e, id_out, "SELECT id FROM set_chunk WHERE project = $1 AND hash = $2",
                   DB_INT(l->project), DB_BYTES(part->hash.bytes, sizeof part->hash.bytes));

    if (found != 0)
        return found < 0 ? -1 : 0;
    if (db_ids(l->db, "set_chunk", 1, id_out, e) < 0)
        return -1;
    return db_run(l->db, e,
                  "INSERT INTO set_chunk"
                  " (id, project, hash, files, bytes, first, last, body)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                  DB_INT(*id_out), DB_INT(l->project),
                  DB_BYTES(part->hash.bytes, sizeof part->hash.bytes), DB_INT((int64_t)part->files),
                  DB_INT((int64_t)part->bytes), DB_TEXT(part->first), DB_TEXT(part->last),
                  DB_BYTES(part->body, part->body_len));
}

/* ---- files below files ---- */

/* Whether the first bytes of path, which the path before began with, too, are a file of the set: 1,
 * 0 or -1. */
static int begins_with_file(struct set_builder *b, const char *path, size_t length, struct err *e)
{
    enum set_nesting_file is_file = set_nesting_is_file(&b->nesting, length);
    struct lake_entry entry;

    if (length == 0 || is_file != SET_NESTING_UNREAD)
        return length > 0 && is_file == SET_NESTING_YES;
    AUTO_MEM char *above = mem_printf("%.*s", (int)length, path);
    return entries_find(b->l, b->version, above, &entry, e);
}

static int check_nesting(struct set_builder *b, const char *path, struct err *e)
{
    char shown[PATH_SHOWN], shown_above[PATH_SHOWN];
    size_t length = set_nesting_above(&b->nesting, path);
    int found = begins_with_file(b, path, length, e);

    if (found <= 0)
        return found;
    AUTO_MEM char *above = mem_printf("%.*s", (int)length, path);
    return err_set(e, ERR_USAGE,
                   "@%s cannot hold both %s and %s, which lies below it: leave out one of them",
                   b->name, path_shown(above, shown_above), path_shown(path, shown));
}

int set_builder_takes_part(struct set_builder *b, const struct part *part, struct err *e)
{
    size_t length = 0;

    if (!is_idle(b) || !chunk_ends(part->last, part->files))
        return 0;
    while ((length = set_nesting_above_some(&b->nesting, part->first, part->last, length + 1))) {
        int found = begins_with_file(b, part->first, length, e);
        if (found != 0)
            return found < 0 ? -1 : 0;
    }
    return 1;
}

/* ---- adding ---- */

static int write_part(struct set_builder *b, const struct part *part, struct err *e)
{
    int64_t chunk = part->chunk;

    if (chunk == 0 && take_chunk(b->l, part, &chunk, e) < 0)
        return -1;
    b->files += part->files;
    b->bytes = chunk_bytes_add(b->bytes, part->bytes);
    return db_run(b->l->db, e, "INSERT INTO set_part (set_version, seq, chunk) VALUES ($1, $2, $3)",
                  DB_INT(b->version), DB_INT(b->n_parts++), DB_INT(chunk));
}

int set_builder_add_part(struct set_builder *b, const struct part *part, struct err *e)
{
    if (check_nesting(b, part->first, e) < 0)
        return -1;
    set_nesting_pass(&b->nesting, part->first, part->last);
    return write_part(b, part, e);
}

static int flush(struct set_builder *b, struct err *e)
{
    AUTO_CLEAR(parts) struct parts parts = {0};

    parts_add(&parts, &b->chunk);
    return write_part(b, &parts.items[0], e);
}

int set_entry_damaged(const struct lake_entry *entry, struct err *e)
{
    return err_set(e, ERR_IO,
                   "the lake's database is damaged: %.200s cannot be listed; see tradewind fsck",
                   entry->path ? entry->path : "a file without a path");
}

int set_builder_add(struct set_builder *b, const struct lake_entry *entry, struct err *e)
{
    if (!chunk_takes(&b->chunk, entry))
        return set_entry_damaged(entry, e);
    if (check_nesting(b, entry->path, e) < 0)
        return -1;
    set_nesting_add(&b->nesting, entry->path);
    chunk_add(&b->chunk, entry);
    return chunk_ends(entry->path, b->chunk.files) ? flush(b, e) : 0;
}

/* The set's row, new or with its new latest version. */
static int write_set(struct set_builder *b, struct err *e)
{
    struct lake *l = b->l;

    if (b->set != 0)
        return db_run(l->db, e, "UPDATE fileset SET latest = $1, latest_version = $2 WHERE id = $3",
                      DB_INT(b->number), DB_INT(b->version), DB_INT(b->set));
    if (db_ids(l->db, "fileset", 1, &b->set, e) < 0)
        return -1;
    return db_run(l->db, e,
                  "INSERT INTO fileset"
                  " (latest, latest_version, id, project, name, owner, team, mode)"
                  " VALUES ($1, $2, $3, $4, $5, $6, '', $7)",
                  DB_INT(b->number), DB_INT(b->version), DB_INT(b->set), DB_INT(l->project),
                  DB_TEXT(b->name), DB_TEXT(b->made.owner), DB_INT(NEW_MODE));
}

/* The version's row and its edges. */
static int write_version(struct set_builder *b, const int64_t *parents, size_t n, struct err *e)
{
    if (db_run(b->l->db, e,
               "INSERT INTO set_version"
               " (id, project, fileset, number, files, bytes, made, removed)"
               " VALUES ($1, $2, $3, $4, $5, $6, $7, 0)",
               DB_INT(b->version), DB_INT(b->l->project), DB_INT(b->set), DB_INT(b->number),
               DB_INT((int64_t)b->files), DB_INT((int64_t)b->bytes), DB_INT(b->made.id)) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (db_run(b->l->db, e,
                   "INSERT INTO edge (child, parent, kind, job, seq)"
                   " VALUES ($1, $2, $3, 0, $4) ON CONFLICT DO NOTHING",
                   DB_INT(b->version), DB_INT(parents[i]), DB_INT(LAKE_EDGE_CREATE),
                   DB_INT((int64_t)i)) < 0)
            return -1;
    }
    return 0;
}

int set_builder_finish(struct set_builder *b,
                       const int64_t *parents,
                       size_t n_parents,
                       struct lake_set *out,
                       struct err *e)
{
    if (!is_idle(b) && flush(b, e) < 0)
        return -1;
    if (b->files == 0)
        return err_set(e, ERR_USAGE, "@%s would hold no files, and a set needs some", b->name);
    if (write_set(b, e) < 0 || write_version(b, parents, n_parents, e) < 0)
        return -1;
    if (out)
        *out = (struct lake_set){.name = b->name,
                                 .number = b->number,
                                 .version = b->version,
                                 .files = b->files,
                                 .bytes = b->bytes,
                                 .origin = {b->made.owner, b->made.time_ms}};
    return 0;
}
