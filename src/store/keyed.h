/* keyed: objects under keys of the caller's choosing, below the store's directory or prefix: one
 * request each, with the conditions that object stores have. Nothing here is packed, cached or
 * shared with the contents of store.h; a store is used for the one or the other. */
#ifndef STORE_KEYED_H
#define STORE_KEYED_H

#include "store/store.h"

#define STORE_ETAG 160

/* What was asked of the store, tries that failed included: what a provider bills. Deletes are free.
 * All functions add to their `tally`; NULL = not counted. Not for several threads at once. */
struct store_tally {
    uint64_t lists, reads, writes, deletes;
    uint64_t read_bytes, written_bytes; /* of contents that arrived */
};

struct store_keyed {
    const char *key; /* below the store */
    uint64_t size;
    const char *etag;    /* changes with every write; without quotes; "" = the server told none */
    int64_t modified_ms; /* by the clock of the store */
};

/* Keys have segments of letters, digits, '.', '_', '-' and '=', none empty or with a leading '.';
 * ERR_USAGE otherwise. */
int store_keyed_check(const char *key, struct err *e);

struct store_keyed_list {
    const char *prefix; /* ends with a slash, or is empty; of foreign objects any text */
    int (*visit)(void *context, const struct store_keyed *o, struct err *e);
    void *context;
    struct store_tally *tally;
    int64_t now_ms; /* result: the time by the same clock as modified_ms */
};

/* All objects whose keys begin with the prefix, in no order. */
int store_keyed_list(struct store *s, struct store_keyed_list *list, struct err *e);

enum store_condition {
    STORE_ALWAYS,
    STORE_ABSENT, /* if there is no such object */
    STORE_MATCH,  /* if the object there has this etag */
};

struct store_keyed_put {
    const char *key;
    enum store_condition condition;
    const char *etag; /* of STORE_MATCH */
    uint64_t n;
    /* The content: bytes, or pulled from a callback, which is asked for any range again when it has
     * to be sent once more, and whose digest is given. */
    const void *bytes;
    int (*pull)(void *context, uint64_t offset, void *bytes, size_t n, struct err *e);
    void *context;
    const struct sha256_digest *digest;
    /* Bytes without condition: sent in parts over this number of connections at a time, where a
     * store takes parts (store_keyed_parts), with two requests more than parts. 0 and 1 = in one.
     */
    unsigned connections;
    char *etag_out; /* the etag of what was written, STORE_ETAG bytes; NULL = not wanted */
    struct store_tally *tally;
};

/* Stores take no smaller parts, but for the last. */
#define STORE_PART_LEAST ((uint64_t)5 << 20)
/* The number of parts of n bytes over this number of connections; none is smaller than least. */
size_t store_keyed_parts(uint64_t n, unsigned connections);

/* 0: written, whole or not at all. 1: the condition does not hold, nothing happened. A write whose
 * answer was lost is found out about and counts as written. ERR_IO where the server does not know
 * conditions. */
int store_keyed_put(struct store *s, const struct store_keyed_put *put, struct err *e);

struct store_keyed_get {
    const char *key;
    uint64_t offset;
    const char *etag; /* ERR_RETRY when the object is another by now; NULL = any */
    uint64_t length;  /* 0 = to its end */
    /* The content from offset on, in order; nothing where it ends before. */
    int (*sink)(void *context, const void *bytes, size_t n, struct err *e);
    void *context;
    uint64_t expected_bytes; /* about; bounds the time it may take */
    double stall_s;          /* how long the sink may keep the server waiting; 0 = 30 s */
    struct store_tally *tally;
};

/* ERR_NOTFOUND: no such object. ERR_RETRY: it broke off, perhaps after the sink got something (what
 * fails before is tried again here); the caller may go on from there. A sink that fails gives its
 * own error. */
int store_keyed_get(struct store *s, const struct store_keyed_get *get, struct err *e);

/* One that is gone is fine. */
int store_keyed_delete(struct store *s, const char *key, struct store_tally *tally, struct err *e);

/* Objects of a bucket that other programs wrote, under keys of any form, in the order of the
 * server. The store is one that store_open made of a bucket's URL without
 * prefix. */
int store_foreign_list(struct store *s, const struct store_keyed_list *list, struct err *e);
int store_foreign_read(
    struct store *s, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e);

#endif
