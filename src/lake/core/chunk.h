/* chunk: a run of a set's entries as bytes. Where a run ends depends on the paths in it alone,
 * so that sets which differ in a few files share all chunks but a few. */
#ifndef LAKE_CORE_CHUNK_H
#define LAKE_CORE_CHUNK_H

#include "base/buf.h"
#include "lake/core/path.h"
#include "lake/core/ref.h"

/* Entries of a chunk; the last chunk of a set may have fewer. */
#define CHUNK_LEAST 256
#define CHUNK_MOST 4096

/* A chunk being written. */
struct chunk {
    struct buf body;
    struct buf first, last; /* paths */
    size_t files;
    uint64_t bytes; /* of the files, at most INT64_MAX */
    int64_t version;
};

void chunk_init(struct chunk *c);
void chunk_clear(struct chunk *c);
/* Whether an entry can follow: its path is absolute, of a length that paths have and behind the one
 * before; number and id are positive. Others come from a damaged database. */
bool chunk_takes(const struct chunk *c, const struct lake_entry *entry);
/* Adds an entry that chunk_takes. */
void chunk_add(struct chunk *c, const struct lake_entry *entry);
/* Whether a chunk of this number of files ends behind this path, whatever path follows. */
bool chunk_ends(const char *path, size_t files);

/* Adds file sizes, never past what the database holds. */
uint64_t chunk_bytes_add(uint64_t a, uint64_t b);

/* A chunk being read, from bytes that may be anything. */
struct chunk_reader {
    const unsigned char *at, *end; /* borrowed */
    char path[LAKE_PATH_MAX + 1];
    size_t path_len;
    size_t files; /* read so far */
    int64_t version;
};

/* -1: no chunk. */
int chunk_open(struct chunk_reader *r, const void *body, size_t n);
/* 1: the next entry, its path borrowed until the next call; 0: no more; -1: damaged. Entries come
 * with rising absolute paths. */
int chunk_next(struct chunk_reader *r, struct lake_entry *out);

#endif
