/* Content uploaded by URL: found in the store, copied and checked. session_finish.c calls it. */
#include "lake/put/internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Parts of content that was sent by others: what a range read verifies at least. */
#define PART_BYTES ((uint64_t)8 << 20)

int target_copies_begin(struct target_copies *t, struct lake *l, int64_t session, struct err *e)
{
    *t = (struct target_copies){.l = l, .session = session};
    t->store = lake_store(l, e);
    return t->store ? 0 : -1;
}

void target_copies_clear(struct target_copies *t)
{
    for (size_t i = 0; i < t->n; i++)
        store_content_clear(&t->kept[i].content);
    free(t->kept);
    free(t->copied);
    store_writer_free(t->writer);
    *t = (struct target_copies){0};
}

static int copy_small(struct target_copies *t,
                      const char *bytes,
                      struct store_content *c,
                      struct err *e)
{
    char target[STORE_BLOB_NAME];

    snprintf(target, sizeof target, "%s", c->place.blob);
    c->digest = sha256_of(bytes, (size_t)c->place.size);
    if (!t->writer)
        t->writer = store_writer_new(t->store, t->l->area, t->session, e);
    if (!t->writer ||
        store_write_small(t->writer, bytes, (size_t)c->place.size, &c->digest, &c->place, e) < 0)
        return -1;
    t->copied = mem_room(t->copied, t->n_copied, &t->cap_copied, sizeof *t->copied);
    memcpy(t->copied[t->n_copied++], target, sizeof target);
    return 0;
}

static int read_small(struct target_copies *t, struct store_content *c, struct err *e)
{
    AUTO_MEM char *bytes = mem_zero((size_t)c->place.size + 1, 1);

    if (store_read(t->store, t->l->area, &c->place, 0, bytes, (size_t)c->place.size, e) < 0)
        return -1;
    return copy_small(t, bytes, c, e);
}

static int read_large(struct target_copies *t, struct store_content *c, struct err *e)
{
    AUTO(sha256) struct sha256 *whole = sha256_new();
    AUTO_MEM char *bytes = mem_zero((size_t)PART_BYTES, 1);

    c->part_bytes = PART_BYTES;
    c->n_parts = (size_t)((c->place.size + PART_BYTES - 1) / PART_BYTES);
    c->parts = mem_zero(c->n_parts, sizeof *c->parts);
    for (size_t i = 0; i < c->n_parts; i++) {
        uint64_t at = i * PART_BYTES, left = c->place.size - at;
        size_t n = (size_t)(left < PART_BYTES ? left : PART_BYTES);
        if (store_read(t->store, t->l->area, &c->place, at, bytes, n, e) < 0)
            return -1;
        sha256_add(whole, bytes, n);
        if (n < left)
            c->parts[i] = sha256_state(whole);
    }
    c->digest = sha256_take(whole);
    c->parts[c->n_parts - 1] = c->digest;
    return 0;
}

int target_read(struct target_copies *t,
                const char *target,
                const uint64_t *wanted_size,
                struct store_content *out,
                struct err *e)
{
    struct err why = {0};

    *out = (struct store_content){0};
    snprintf(out->place.blob, sizeof out->place.blob, "%s", target);
    if (store_size(t->store, t->l->area, target, &out->place.size, &why) < 0) {
        if (why.kind == ERR_NOTFOUND)
            return 0;
        if (e)
            *e = why;
        return -1;
    }
    if (wanted_size && out->place.size != *wanted_size)
        return 1;
    int result = out->place.size > STORE_SMALL_MAX ? read_large(t, out, e) : read_small(t, out, e);
    return result < 0 ? -1 : 1;
}

int target_refuse(struct target_copies *t, const char *target, struct err *e)
{
    const struct store_blob blob = {.name = target, .session = t->session};

    /* What is sent there from now on is not what was copied. */
    if (t->n_copied && strcmp(t->copied[t->n_copied - 1], target) == 0)
        t->n_copied--;
    /* Another finish may have refused it before, and found the right content there since. */
    return store_delete(t->store, t->l->area, &blob, object_blob_unused, t->l, e);
}

int target_keep(struct target_copies *t, struct store_content *c, size_t row)
{
    t->kept = mem_room(t->kept, t->n, &t->cap, sizeof *t->kept);
    t->kept[t->n++] = (struct target_kept){*c, row};
    *c = (struct store_content){0};
    return 0;
}

int target_flush(struct target_copies *t, struct err *e)
{
    return t->writer ? store_flush(t->writer, e) : 0;
}

void target_drop_copied(struct target_copies *t)
{
    for (size_t i = 0; i < t->n_copied; i++) {
        const struct store_blob blob = {.name = t->copied[i], .session = t->session};
        struct err ignored; /* gc finds what stays */
        (void)store_delete(t->store, t->l->area, &blob, NULL, NULL, &ignored);
    }
    t->n_copied = 0;
}
