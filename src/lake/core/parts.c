/* parts: chunks of set versions, and cursors over their entries, for entries.c and lake/set. */
#include "lake/core/entries.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void parts_clear(struct parts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->items[i].first);
        free(p->items[i].last);
        free(p->items[i].body);
    }
    free(p->items);
    *p = (struct parts){0};
}

static struct part *new_part(struct parts *p)
{
    p->items = mem_room(p->items, p->n, &p->cap, sizeof *p->items);
    struct part *part = &p->items[p->n++];
    *part = (struct part){0};
    return part;
}

void parts_add(struct parts *p, struct chunk *chunk)
{
    struct part *part = new_part(p);

    part->files = chunk->files;
    part->bytes = chunk->bytes;
    part->first = mem_dup(buf_str(&chunk->first));
    part->last = mem_dup(buf_str(&chunk->last));
    part->hash = sha256_of(chunk->body.data, chunk->body.len);
    part->body_len = chunk->body.len;
    part->body = mem_grow(NULL, chunk->body.len, 1);
    memcpy(part->body, chunk->body.data, chunk->body.len);
    chunk_clear(chunk);
}

static bool is_below(const char *path, const char *prefix, size_t prefix_len)
{
    return strncmp(path, prefix, prefix_len) == 0;
}

int entries_damaged(struct lake *l, int64_t set_version, struct err *e)
{
    struct err why = {0};
    AUTO_RESET struct db_query *q = db_query(l->db, &why,
                                             "SELECT s.name, v.number FROM set_version v"
                                             " JOIN fileset s ON s.id = v.fileset WHERE v.id = $1",
                                             DB_INT(set_version));

    if (db_step(q, &why) == 1 && db_text(q, 0))
        return err_set(e, ERR_IO, "@%s:%lld: its list of files is damaged in the lake's database",
                       db_text(q, 0), (long long)db_int(q, 1));
    return err_set(e, ERR_IO,
                   "set version %lld: its list of files is damaged in the lake's database",
                   (long long)set_version);
}

static bool follows(const struct parts *parts, const char *first)
{
    return parts->n == 0 || (first && strcmp(parts->items[parts->n - 1].last, first) < 0);
}

static int take_part(struct db_query *q, struct parts *out)
{
    const char *first = db_text(q, 3), *last = db_text(q, 4);
    int64_t files = db_int(q, 1), bytes = db_int(q, 2);
    size_t n;
    const void *hash = db_bytes(q, 5, &n);

    if (!first || !last || files <= 0 || files > CHUNK_MOST || bytes < 0 ||
        n != sizeof(struct sha256_digest) || strcmp(first, last) > 0)
        return -1;
    struct part *part = new_part(out);
    part->chunk = db_int(q, 0);
    part->files = (size_t)files;
    part->bytes = (uint64_t)bytes;
    part->first = mem_dup(first);
    part->last = mem_dup(last);
    memcpy(&part->hash, hash, n);
    return 0;
}

int parts_of(
    struct lake *l, int64_t set_version, const char *prefix, struct parts *out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT c.id, c.files, c.bytes, c.first, c.last, c.hash"
                 " FROM set_part p JOIN set_chunk c ON c.id = p.chunk"
                 " WHERE p.set_version = $1 AND c.last >= $2 ORDER BY p.seq",
                 DB_INT(set_version), DB_TEXT(prefix));
    size_t prefix_len = strlen(prefix);
    int got;

    while ((got = db_step(q, e)) == 1) {
        const char *first = db_text(q, 3);
        if (first && strcmp(first, prefix) > 0 && !is_below(first, prefix, prefix_len))
            return 0;
        if (!follows(out, first) || take_part(q, out) < 0)
            return entries_damaged(l, set_version, e);
    }
    return got;
}

/* What rm took from the list of sets is still held when it is pinned. */
#define HELD                                                                                       \
    "(v.removed = 0 OR EXISTS (SELECT 1 FROM pin"                                                  \
    " WHERE pin.project = c.project AND pin.kind = $3 AND pin.item = v.id))"

int parts_next_held(
    struct lake *l, int64_t *chunk, struct parts *out, int64_t *set_version_out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT c.id, c.files, c.bytes, c.first, c.last, c.hash,"
                 " (SELECT MIN(p.set_version) FROM set_part p"
                 "  JOIN set_version v ON v.id = p.set_version"
                 "  WHERE p.chunk = c.id AND " HELD ") AS holder"
                 " FROM set_chunk c WHERE c.id > $1 AND c.project = $2"
                 " AND EXISTS (SELECT 1 FROM set_part p"
                 "  JOIN set_version v ON v.id = p.set_version"
                 "  WHERE p.chunk = c.id AND " HELD ")"
                 " ORDER BY c.id LIMIT 1",
                 DB_INT(*chunk), DB_INT(l->project), DB_INT(LAKE_ITEM_SET));
    int got = db_step(q, e);

    if (got != 1)
        return got;
    *chunk = db_int(q, 0);
    *set_version_out = db_int(q, 6);
    take_part(q, out);
    return 1;
}

int parts_held_without(struct lake *l,
                       const struct bits *except,
                       struct bits *chunks_out,
                       struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(l->db, e,
                                             "SELECT p.chunk, v.id FROM set_version c"
                                             " JOIN set_version v ON v.id = c.id"
                                             " JOIN set_part p ON p.set_version = v.id"
                                             " WHERE c.project = $2 AND " HELD,
                                             DB_NULL, DB_INT(l->project), DB_INT(LAKE_ITEM_SET));
    int got;

    while ((got = db_step(q, e)) == 1)
        if (!bits_has(except, db_int(q, 1)))
            bits_add(chunks_out, db_int(q, 0));
    return got;
}

/* Every row of q is a chunk that stands alone. */
static int take_alone(struct db_query *q, struct parts *out, struct err *e)
{
    int got;

    while ((got = db_step(q, e)) == 1) {
        if (take_part(q, out) < 0) {
            db_reset(q);
            return err_set(e, ERR_IO,
                           "lists of files are damaged in the lake's database: "
                           "tradewind fsck names the sets");
        }
    }
    return got;
}

int parts_around(struct lake *l, const char *path, struct parts *out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT id, files, bytes, first, last, hash FROM set_chunk"
                 " WHERE project = $1 AND first <= $2 AND last >= $2 ORDER BY id",
                 DB_INT(l->project), DB_TEXT(path));

    return take_alone(q, out, e);
}

int parts_used(struct lake *l,
               int64_t after,
               const char *first,
               const char *last,
               struct parts *out,
               struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        l->db, e,
        "SELECT c.id, c.files, c.bytes, c.first, c.last, c.hash FROM set_chunk c"
        " WHERE c.id > $1 AND c.project = $2 AND c.first <= $4 AND c.last >= $3"
        " AND EXISTS (SELECT 1 FROM set_part p WHERE p.chunk = c.id AND"
        " (EXISTS (SELECT 1 FROM edge e WHERE e.child = p.set_version AND e.kind = $5)"
        " OR EXISTS (SELECT 1 FROM edge e WHERE e.parent = p.set_version AND e.kind = $5)"
        " OR p.set_version IN (SELECT input_version FROM job WHERE project = $2 "
        "AND " LAKE_JOB_IS_OPEN(
            "state", "$6") " AND input_version IS NOT NULL UNION SELECT code_version FROM job"
                           " WHERE project = $2 AND " LAKE_JOB_IS_OPEN(
                               "state", "$6") " AND code_version IS NOT NULL)))"
                                              " ORDER BY c.id LIMIT $7",
        DB_INT(after), DB_INT(l->project), DB_TEXT(first), DB_TEXT(last), DB_INT(LAKE_EDGE_JOB),
        DB_INT(LAKE_JOB_FINISHED), DB_INT(PARTS_SOME));

    return take_alone(q, out, e);
}

static int cursor_damaged(struct cursor *c, struct err *e)
{
    c->damaged = true;
    return entries_damaged(c->l, c->set_version, e);
}

/* A chunk being read, with its bytes when they came from the database. */
struct set_open_chunk {
    unsigned char *body;
    struct chunk_reader reader;
};

void cursor_clear(struct cursor *c)
{
    if (c->open)
        free(c->open->body);
    free(c->open);
    c->open = NULL;
}

static const struct part *part_here(const struct cursor *c)
{
    return c->at < c->parts->n ? &c->parts->items[c->at] : NULL;
}

const char *cursor_path(const struct cursor *c)
{
    const struct part *part = part_here(c);

    if (c->open)
        return c->entry.path;
    return part ? part->first : NULL;
}

const struct part *cursor_whole(const struct cursor *c)
{
    const struct part *part = part_here(c);

    if (c->open || !part || !is_below(part->first, c->prefix, c->prefix_len) ||
        !is_below(part->last, c->prefix, c->prefix_len))
        return NULL;
    return part;
}

/* The bytes of a stored chunk, a copy: visitors of entries may run the same query. */
static int load_body(struct cursor *c, const struct part *part, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(c->l->db, e, "SELECT body FROM set_chunk WHERE id = $1", DB_INT(part->chunk));
    size_t n;

    int got = db_step(q, e);
    if (got < 0)
        return -1;
    const void *body = got ? db_bytes(q, 0, &n) : NULL;
    if (!body)
        return cursor_damaged(c, e);
    c->open->body = mem_grow(NULL, n, 1);
    memcpy(c->open->body, body, n);
    db_reset(q);
    struct sha256_digest hash = sha256_of(c->open->body, n);
    if (!sha256_equal(&hash, &part->hash) || chunk_open(&c->open->reader, c->open->body, n) < 0)
        return cursor_damaged(c, e);
    return 0;
}

static int open_part(struct cursor *c, struct err *e)
{
    const struct part *part = &c->parts->items[c->at];

    c->open = mem_grow(NULL, 1, sizeof *c->open);
    c->open->body = NULL;
    if (!part->body)
        return load_body(c, part, e);
    return chunk_open(&c->open->reader, part->body, part->body_len) < 0 ? cursor_damaged(c, e) : 0;
}

/* The next entry of the open part, or the beginning of the part behind it. */
static int step(struct cursor *c, struct err *e)
{
    const struct part *part = &c->parts->items[c->at];
    const struct chunk_reader *reader = &c->open->reader;
    int got = chunk_next(&c->open->reader, &c->entry);

    if (got == 1)
        return 0;
    if (got < 0 || reader->files != part->files || strcmp(reader->path, part->last) != 0)
        return cursor_damaged(c, e);
    cursor_clear(c);
    c->at++;
    return 0;
}

/* Past the entries before the prefix; at the first behind it, to the end. */
static int settle(struct cursor *c, struct err *e)
{
    const char *path;

    while ((path = cursor_path(c)) && !is_below(path, c->prefix, c->prefix_len)) {
        if (strcmp(path, c->prefix) > 0) {
            cursor_clear(c);
            c->at = c->parts->n;
        } else if ((!c->open && open_part(c, e) < 0) || step(c, e) < 0) {
            return -1;
        }
    }
    return 0;
}

int cursor_start(struct cursor *c, struct err *e)
{
    c->at = 0;
    c->open = NULL;
    c->damaged = false;
    c->prefix_len = strlen(c->prefix);
    return settle(c, e);
}

int cursor_skip(struct cursor *c, struct err *e)
{
    c->at++;
    return settle(c, e);
}

int cursor_open(struct cursor *c, struct err *e)
{
    if (c->open)
        return 0;
    if (open_part(c, e) < 0)
        return -1;
    /* The first path told what stands here, and was promised to the caller. */
    if (chunk_next(&c->open->reader, &c->entry) != 1 ||
        strcmp(c->entry.path, c->parts->items[c->at].first) != 0)
        return cursor_damaged(c, e);
    return 0;
}

int cursor_next(struct cursor *c, struct err *e)
{
    return step(c, e) < 0 || settle(c, e) < 0 ? -1 : 0;
}
