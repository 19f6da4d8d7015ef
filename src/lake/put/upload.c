#include "lake/put/upload.h"

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NONE UINT32_MAX

/* A group is read, looked up and stored together: enough to keep all cores busy, little enough to
 * stop quickly and to stay in memory. */
#define GROUP_BYTES ((size_t)8 << 20)
#define GROUP_FILES 1024

/* What an interruption may cost: work up to here is done again. */
#define BATCH_BYTES ((uint64_t)256 << 20)
#define BATCH_FILES 50000
#define BATCH_S 10.0

/* ---- content that is there ---- */

/* Ids are given in a row: their low bits are hash enough. */
static bool same_id(const void *blobs, uint32_t i, const void *id)
{
    return ((const struct upload_blob *)blobs)[i].id == *(const int64_t *)id;
}

/* Where the database has it: *blob_out 0: nowhere. */
static int look_up(
    struct upload *u, int64_t object, int64_t *blob_out, uint64_t *end_out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(u->l->db, e, "SELECT blob, at + size FROM object WHERE id = $1 AND project = $2",
                 DB_INT(object), DB_INT(u->l->project));

    *blob_out = 0;
    int row = db_step(q, e);
    if (row > 0 && !db_is_null(q, 0)) {
        *blob_out = db_int(q, 0);
        *end_out = (uint64_t)db_int(q, 1);
    }
    return row < 0 ? -1 : 0;
}

/* 1: asked, 0: there is no such blob, -1 */
static int ask_store(struct upload *u, int64_t blob, uint64_t *size_out, struct err *e)
{
    char name[STORE_BLOB_NAME] = "";
    struct err why = {0};
    struct store *store = lake_store(u->l, e);

    if (!store)
        return -1;
    AUTO_RESET struct db_query *q =
        db_query(u->l->db, e, "SELECT name FROM blob WHERE id = $1", DB_INT(blob));
    int row = db_step(q, e);
    if (row > 0)
        snprintf(name, sizeof name, "%s", db_text(q, 0));
    db_reset(q); /* before the network is asked */
    if (row <= 0)
        return row;
    if (store_size(store, u->l->area, name, size_out, &why) == 0)
        return 1;
    return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

/* 1: the blob is there and long enough, 0: it is not, -1. Nothing is read of it. */
static int present_object(struct upload *u, int64_t object, struct err *e)
{
    int64_t blob, asked = 0;
    uint64_t end = 0, size = 0;

    for (;;) {
        if (look_up(u, object, &blob, &end, e) < 0)
            return -1;
        /* Not even gc has moved it since it was asked for. */
        if (!blob || blob == asked)
            return 0;
        uint32_t known = map_find(u->blobs_by_id, (uint64_t)blob, same_id, u->blobs, &blob);
        if (known != MAP_NONE)
            return end <= u->blobs[known].size;
        int there = ask_store(u, blob, &size, e);
        if (there < 0)
            return -1;
        if (there > 0) {
            u->blobs = mem_room(u->blobs, u->n_blobs, &u->cap_blobs, sizeof *u->blobs);
            map_add(u->blobs_by_id, (uint64_t)blob, (uint32_t)u->n_blobs);
            u->blobs[u->n_blobs++] = (struct upload_blob){blob, size};
            return end <= size;
        }
        asked = blob;
    }
}

/* ---- uploads ---- */

void upload_init(struct upload *u, struct lake *l, struct source_list *list)
{
    *u = (struct upload){.l = l, .list = list};
    u->blobs_by_id = map_new();
    u->batch.by_digest = map_new();
    u->batch.began_s = time_monotonic_s();
    pthread_mutex_init(&u->progress.lock, NULL);
}

/* Forgets the batch, after the transaction. */
static void upload_batch_done(struct upload *u)
{
    struct upload_batch *b = &u->batch;

    for (size_t i = 0; i < b->n_contents; i++)
        store_content_clear(&b->contents[i]);
    for (size_t i = 0; i < b->n_arrivals; i++)
        u->list->files[b->arrivals[i].file].pending = false;
    b->n_contents = b->n_arrivals = 0;
    b->bytes = 0;
    b->began_s = time_monotonic_s();
    map_clear(b->by_digest);
}

void upload_clear(struct upload *u)
{
    upload_batch_done(u);
    free(u->batch.contents);
    free(u->batch.arrivals);
    map_free(u->batch.by_digest);
    free(u->bytes);
    free(u->spares);
    free(u->blobs);
    map_free(u->blobs_by_id);
    store_writer_free(u->writer);
    session_hold_clear(&u->session);
    pthread_mutex_destroy(&u->progress.lock);
}

/* ---- the batch ---- */

/* A digest's own bytes are as good as any hash of them. */
static uint64_t hash_digest(const struct sha256_digest *digest)
{
    uint64_t hash;

    memcpy(&hash, digest->bytes, sizeof hash);
    return hash;
}

static bool same_digest(const void *contents, uint32_t i, const void *digest)
{
    return sha256_equal(&((const struct store_content *)contents)[i].digest, digest);
}

/* The content's index in the batch; *new_out: it was not there. */
static uint32_t batch_content(struct upload_batch *b,
                              const struct sha256_digest *digest,
                              bool *new_out)
{
    uint64_t hash = hash_digest(digest);
    uint32_t known = map_find(b->by_digest, hash, same_digest, b->contents, digest);

    *new_out = known == MAP_NONE;
    if (!*new_out)
        return known;
    b->contents = mem_room(b->contents, b->n_contents, &b->cap_contents, sizeof *b->contents);
    b->contents[b->n_contents] = (struct store_content){.digest = *digest};
    map_add(b->by_digest, hash, (uint32_t)b->n_contents);
    return (uint32_t)b->n_contents++;
}

static void batch_arrival(struct upload *u, uint32_t file, uint32_t content)
{
    struct upload_batch *b = &u->batch;

    b->arrivals = mem_room(b->arrivals, b->n_arrivals, &b->cap_arrivals, sizeof *b->arrivals);
    b->arrivals[b->n_arrivals++] = (struct upload_arrival){file, content};
    u->list->files[file].pending = content != NONE;
}

static bool batch_due(const struct upload_batch *b)
{
    return b->bytes >= BATCH_BYTES || b->n_arrivals >= BATCH_FILES ||
           time_monotonic_s() - b->began_s >= BATCH_S;
}

/* ---- recording ---- */

int upload_flush(struct upload *u, struct err *e)
{
    return u->writer ? store_flush(u->writer, e) : 0;
}

static int list_file(struct upload *u, size_t i, struct err *e)
{
    char room[SOURCE_PATH_MAX];

    return db_run(u->l->db, e,
                  "INSERT INTO session_file (session, seq, path, object, executable, unchanged)"
                  " VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT (session, path)"
                  " DO UPDATE SET object = $4, executable = $5",
                  DB_INT(u->session.id), DB_INT((int64_t)u->next_seq++),
                  DB_TEXT(source_path(u->list, i, SOURCE_LAKE, room)),
                  DB_INT(u->list->files[i].object), DB_INT(u->list->files[i].executable));
}

int upload_record(struct upload *u, bool keep_list, struct err *e)
{
    struct upload_batch *b = &u->batch;
    AUTO_MEM int64_t *ids = mem_zero(b->n_contents + 1, sizeof *ids);

    if (object_keep_all(u->l, b->contents, b->n_contents, u->verify || u->replace, ids, e) < 0)
        return -1;
    AUTO(db_rows) struct db_rows *seen = known_rows_new(u->l);
    for (size_t i = 0; i < b->n_arrivals; i++) {
        const struct upload_arrival *a = &b->arrivals[i];
        if (a->content != NONE)
            u->list->files[a->file].object = ids[a->content];
        if ((keep_list && list_file(u, a->file, e) < 0) ||
            known_remember(seen, u->list, a->file, e) < 0)
            return -1;
    }
    return db_rows_flush(seen, e);
}

void upload_unrecord(struct upload *u)
{
    for (size_t i = 0; i < u->batch.n_arrivals; i++)
        if (u->batch.arrivals[i].content != NONE)
            u->list->files[u->batch.arrivals[i].file].object = 0;
}

void upload_forget_gone(struct upload *u)
{
    size_t kept = 0;

    for (size_t i = 0; i < u->batch.n_arrivals; i++) {
        const struct upload_arrival *a = &u->batch.arrivals[i];
        if (a->content != NONE || u->list->files[a->file].object)
            u->batch.arrivals[kept++] = *a;
    }
    u->batch.n_arrivals = kept;
}

int upload_save(struct upload *u, struct err *e)
{
    if (!u->batch.n_arrivals)
        return 0;
    if (upload_flush(u, e) < 0)
        return -1;
    bool listed = u->session.id != 0;
    if (db_begin(u->l->db, e) == 0 && (!listed || session_row_renew(u->l, u->session.id, e) == 0) &&
        upload_record(u, listed, e) == 0 && db_commit(u->l->db, e) == 0) {
        upload_batch_done(u);
        return 0;
    }
    db_rollback(u->l->db);
    upload_unrecord(u);
    return -1;
}

/* ---- storing ---- */

/* The next free place in the list of a session that is gone on with. */
static int read_next_seq(struct upload *u, struct err *e)
{
    int64_t last;
    int found =
        db_get_int(u->l->db, e, &last, "SELECT MAX(seq) FROM session_file WHERE session = $1",
                   DB_INT(u->session.id));

    if (found > 0)
        u->next_seq = (uint64_t)last + 1;
    return found < 0 ? -1 : 0;
}

static int take_session(struct upload *u, struct err *e)
{
    if (u->session.id)
        return 0;
    if (session_hold_take(u->l, &u->put, &u->session, e) < 0)
        return -1;
    return u->session.resumed ? read_next_seq(u, e) : 0;
}

int upload_resume(struct upload *u, struct err *e)
{
    int left = session_hold_left(u->l, &u->put, e);

    return left > 0 ? take_session(u, e) : left;
}

/* Intent first: gc must know the session of content before the content is there. */
static int begin_storing(struct upload *u, struct err *e)
{
    if (u->writer)
        return 0;
    u->store = lake_store(u->l, e);
    if (!u->store || take_session(u, e) < 0)
        return -1;
    u->writer = store_writer_new(u->store, u->l->area, u->session.id, e);
    if (u->writer && u->keep)
        store_writer_keep(u->writer);
    return u->writer ? 0 : -1;
}

struct group {
    struct upload *u;
    struct upload_slot slots[GROUP_FILES];
    size_t n, bytes;
    uint32_t fresh[GROUP_FILES]; /* slots whose content must be stored */
    size_t n_fresh;
};

static int read_slot(void *context, size_t i, struct err *e)
{
    struct group *g = context;

    return upload_read(g->u, &g->slots[i], e);
}

static int store_slot(void *context, size_t i, struct err *e)
{
    struct group *g = context;
    struct upload_slot *slot = &g->slots[g->fresh[i]];
    struct store_content *c = &g->u->batch.contents[slot->content];

    return store_write_small(g->u->writer, upload_slot_bytes(g->u, slot), slot->n, &c->digest,
                             &c->place, e);
}

int upload_check(struct upload *u, struct source_file *f, struct err *e)
{
    int there = present_object(u, f->object, e);

    if (there == 0) {
        f->object = 0;
        u->replace = true;
    }
    return there < 0 ? -1 : 0;
}

/* 1: the lake has the content of a file that was read, as object and same tell; 0, -1 */
static int find_stored(struct upload *u, struct source_file *f, struct err *e)
{
    int found = known_file_object(u->l, f, e);

    if (found <= 0)
        return found;
    if (!u->verify)
        return upload_check(u, f, e) < 0 ? -1 : f->object != 0;
    found = object_readable(u->l, f->object, e);
    if (found <= 0)
        f->object = 0;
    return found;
}

/* Content that the lake or the batch has already is not stored again. */
static int find_fresh_in_view(struct group *g, struct err *e)
{
    struct upload *u = g->u;

    g->n_fresh = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        struct upload_slot *slot = &g->slots[i];
        struct source_file *f = &u->list->files[slot->file];
        bool is_new;
        if (slot->too_large)
            continue;
        int found = find_stored(u, f, e);
        if (found < 0)
            return -1;
        slot->content = NONE;
        if (!found) {
            slot->content = batch_content(&u->batch, &f->digest, &is_new);
            if (is_new)
                g->fresh[g->n_fresh++] = i;
        }
        batch_arrival(u, slot->file, slot->content);
    }
    return 0;
}

/* One view of the database for the whole group: each question alone would lock and unlock it. */
static int find_fresh(struct group *g, struct err *e)
{
    if (db_begin_read(g->u->l->db, e) < 0)
        return -1;
    int result = find_fresh_in_view(g, e);
    db_rollback(g->u->l->db);
    return result;
}

static int store_large(struct upload *u, uint32_t file, struct err *e);

static int store_fresh(struct group *g, struct err *e)
{
    struct upload *u = g->u;

    if (g->n_fresh && (begin_storing(u, e) < 0 ||
                       parallel_each(g->n_fresh, parallel_cores(), store_slot, g, e) < 0))
        return -1;
    for (size_t i = 0; i < g->n_fresh; i++) {
        u->batch.bytes += g->slots[g->fresh[i]].n;
        u->new_bytes += g->slots[g->fresh[i]].n;
    }
    return 0;
}

static void group_clear(struct group *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->slots[i].own);
    g->n = g->bytes = 0;
}

/* A group that failed half-way: none of it counts. */
static void forget_group(struct upload *u, size_t contents, size_t arrivals)
{
    struct upload_batch *b = &u->batch;

    for (; b->n_arrivals > arrivals; b->n_arrivals--)
        u->list->files[b->arrivals[b->n_arrivals - 1].file].pending = false;
    for (; b->n_contents > contents; b->n_contents--)
        map_remove(b->by_digest, hash_digest(&b->contents[b->n_contents - 1].digest),
                   (uint32_t)b->n_contents - 1);
}

static int take_in(struct group *g, struct err *e)
{
    struct upload *u = g->u;
    size_t contents = u->batch.n_contents, arrivals = u->batch.n_arrivals;

    if (g->n == 0)
        return 0;
    if (u->bytes_cap < g->bytes) {
        free(u->bytes);
        u->bytes_cap = g->bytes;
        u->bytes = mem_zero(u->bytes_cap, 1);
    }
    if (parallel_each(g->n, parallel_cores(), read_slot, g, e) < 0)
        return -1;
    if (find_fresh(g, e) < 0 || store_fresh(g, e) < 0) {
        forget_group(u, contents, arrivals);
        return -1;
    }
    uint64_t bytes = 0, files = 0;
    for (size_t i = 0; i < g->n; i++) {
        if (g->slots[i].too_large && store_large(u, g->slots[i].file, e) < 0)
            return -1;
        if (g->slots[i].too_large)
            continue;
        bytes += g->slots[i].n;
        files++;
    }
    return put_tell(&u->progress, files, bytes, e);
}

static bool tell_bytes(void *context, uint64_t more_bytes)
{
    struct upload *u = context;

    return put_tell(&u->progress, 0, more_bytes, NULL) == 0;
}

static bool is_known(void *context, const struct sha256_digest *digest)
{
    struct upload *u = context;
    int64_t id;

    return !u->verify && known_object(u->l, digest, &id, NULL) > 0 &&
           present_object(u, id, NULL) > 0;
}

/* Packs are shared: what is spare in them stays until gc. */
static void note_spare(struct upload *u, const struct store_place *place)
{
    if (!*place->blob)
        return;
    u->spares = mem_room(u->spares, u->n_spares, &u->cap_spares, sizeof *u->spares);
    u->spares[u->n_spares++] = *place;
}

/* Adds what store_write_large brought to the batch. */
static int add_large(struct upload *u, uint32_t file, struct store_content *c, struct err *e)
{
    struct source_file *f = &u->list->files[file];
    uint32_t content = NONE;
    bool is_new = false;

    f->digest = c->digest;
    f->known = true;
    int found = find_stored(u, f, e);
    if (found < 0)
        return -1;
    if (!found)
        content = batch_content(&u->batch, &c->digest, &is_new);
    batch_arrival(u, file, content);
    if (is_new) {
        u->batch.contents[content] = *c;
        u->batch.bytes += c->place.size;
        u->new_bytes += c->place.size;
        *c = (struct store_content){0};
        return 0;
    }
    /* Had it been known before it was read, it would not have been written. */
    note_spare(u, &c->place);
    return 0;
}

static int write_large(struct upload *u, uint32_t file, int fd, const char *name, struct err *e)
{
    struct source_file *f = &u->list->files[file];
    AUTO_CLEAR(store_content) struct store_content c = {0};
    struct stat st;
    int64_t began_ms = time_epoch_ms();
    const struct store_source source = {
        .fd = fd, .name = name, .progress = tell_bytes, .context = u, .known = is_known};

    if (fstat(fd, &st) < 0)
        return file_error(e, "read", name);
    f->stamp = source_stamp_of(&st);
    f->executable = (st.st_mode & S_IXUSR) != 0;
    if (store_write_large(u->writer, &source, &c, e) < 0)
        return -1;
    f->quiet = upload_quiet(&f->stamp, began_ms);
    return add_large(u, file, &c, e) < 0 ? -1 : put_tell(&u->progress, 1, 0, e);
}

static int store_large(struct upload *u, uint32_t file, struct err *e)
{
    char room[SOURCE_PATH_MAX];
    const char *local = source_path(u->list, file, SOURCE_LOCAL, room);
    AUTO_MEM char *name = source_printable(local);

    if (begin_storing(u, e) < 0)
        return -1;
    int fd = open(local, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return file_error(e, "read", name);
    int result = write_large(u, file, fd, name, e);
    close(fd);
    return result;
}

void upload_discard(struct upload *u)
{
    struct err ignored; /* gc finds what stays */

    for (size_t i = 0; i < u->batch.n_contents; i++)
        if (u->batch.contents[i].part_bytes)
            note_spare(u, &u->batch.contents[i].place);
    upload_batch_done(u);
    if (u->n_spares && upload_flush(u, &ignored) == 0)
        upload_drop_spares(u);
}

void upload_drop_spares(struct upload *u)
{
    for (size_t i = 0; i < u->n_spares; i++) {
        const struct store_blob blob = {
            .name = u->spares[i].blob, .size = u->spares[i].size, .session = u->session.id};
        struct err ignored; /* gc finds what stays */
        (void)store_delete(u->store, u->l->area, &blob, NULL, NULL, &ignored);
    }
    u->n_spares = 0;
}

/* ---- all ---- */

static void count_work(struct upload *u)
{
    for (size_t i = 0; i < u->list->n_files; i++) {
        if (u->list->files[i].object || u->list->files[i].pending)
            continue;
        u->progress.all_files++;
        u->progress.all_bytes += u->list->files[i].stamp.size;
    }
}

static int end_group(struct group *g, struct err *e)
{
    int result = take_in(g, e);

    group_clear(g);
    if (result < 0)
        return -1;
    return batch_due(&g->u->batch) ? upload_save(g->u, e) : 0;
}

static void group_add(struct group *g, uint32_t file, size_t size)
{
    g->slots[g->n++] = (struct upload_slot){.file = file, .at = g->bytes, .room = size + 1};
    g->bytes += size + 1;
}

int upload_all(struct upload *u, struct err *e)
{
    AUTO_MEM struct group *g = mem_zero(1, sizeof *g);

    g->u = u;
    count_work(u);
    for (uint32_t i = 0; i < u->list->n_files; i++) {
        const struct source_file *f = &u->list->files[i];
        if (f->object || f->pending)
            continue;
        if (f->stamp.size > STORE_SMALL_MAX) {
            if (store_large(u, i, e) < 0 || (batch_due(&u->batch) && upload_save(u, e) < 0))
                return -1;
            continue;
        }
        if ((g->n == GROUP_FILES || g->bytes + f->stamp.size >= GROUP_BYTES) && end_group(g, e) < 0)
            return -1;
        group_add(g, i, (size_t)f->stamp.size);
    }
    return end_group(g, e);
}
