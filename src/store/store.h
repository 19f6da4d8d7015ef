/* store: content in a directory (dir:PATH) or a bucket (s3://BUCKET/PREFIX, gs://BUCKET/PREFIX,
 * az://ACCOUNT/CONTAINER/PREFIX). Small contents share packs, each large one is a blob of its own.
 * The caller records the location of each content, which the store returns. Blobs of different
 * projects never mix. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/auto.h"
#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Contents up to this size go into packs. */
#define STORE_SMALL_MAX ((uint64_t)1 << 20)
#define STORE_BLOB_NAME 96

struct store;

struct store_settings {
    const char *url;      /* "dir:PATH" (absolute), "s3://BUCKET/PREFIX", ... */
    const char *endpoint; /* "https://host:port", NULL = the cloud's own */
    const char *region; /* s3: NULL = AWS_REGION, AWS_DEFAULT_REGION, the shared file, us-east-1 */
    /* s3: bucket in the path rather than the host name. -1 = the path when an endpoint is given */
    int path_style;
    bool may_be_exposed; /* s3: an endpoint at http:// may be on another machine than this one */
    uint64_t seed;       /* of waiting times and names */
    /* Where contents of 64 KiB and more are kept for the next time they are read, and how many
     * bytes at most. NULL or 0 = nowhere: what lies in a directory need not. */
    const char *cache;
    uint64_t cache_bytes;
    /* Tests: asked before each operation on files or requests ("write", "sync", "rename", "read",
     * "delete", ...); false makes it fail as a broken disk would (ERR_IO). NULL = never. */
    bool (*allow)(void *context, const char *operation);
    void *context;
};

/* Where content lies: `size` bytes from `offset` of a blob. */
struct store_place {
    char blob[STORE_BLOB_NAME];
    uint64_t offset;
    uint64_t size;
};

/* What is known of stored content. Of large content the states of its SHA-256 at the end of each
 * part are kept (sha256_state; of the last part the digest itself), so that it is hashed once and
 * any part can be verified alone: part i covers bytes [i * part_bytes, (i + 1) * part_bytes). */
struct store_content {
    struct sha256_digest digest; /* of the whole */
    struct store_place place;
    uint64_t part_bytes; /* a multiple of SHA256_BLOCK; 0: small, one piece */
    struct sha256_digest *parts;
    size_t n_parts;
};

void store_content_clear(struct store_content *c); /* frees parts */

/* Checks the URL and, for dir, makes the directories; s3 makes no request. */
struct store *store_open(const struct store_settings *settings, struct err *e);
void store_free(struct store *s);
AUTO_DEFINE(store)
/* ERR_USAGE for a URL that no driver knows. */
int store_check_url(const char *url, struct err *e);
/* Makes sure that objects can be written and read here: s3 creates the bucket when it is missing
 * and allowed, then writes, reads and deletes a probe. */
int store_probe(struct store *s, struct err *e);
/* "dir", "s3", "gs" or "az" */
const char *store_kind(const struct store *s);
/* Of "s3://BUCKET/PREFIX" both, of az:// the container, the prefix without slashes around it; of a
 * directory "". */
const char *store_bucket(const struct store *s);
const char *store_prefix(const struct store *s);

/* ---- writing ---- */

/* One session's writing, from several threads. Names of its blobs carry the session's number, packs
 * of a directory excepted: those are shared, one writer at a time appends to each. */
struct store_writer;

struct store_writer *store_writer_new(struct store *s,
                                      const char *project,
                                      int64_t session,
                                      struct err *e);
/* From now on it writes to packs of its own, none that are there already (gc moves contents). */
void store_writer_fresh(struct store_writer *w);
/* What it writes from now on is likely to be read here soon: the cache keeps it, too. */
void store_writer_keep(struct store_writer *w);
/* Ends it: locks are released; what was not flushed may be lost. */
void store_writer_free(struct store_writer *w);
AUTO_DEFINE(store_writer)

/* At most STORE_SMALL_MAX bytes, already hashed. The place counts once flushed. */
int store_write_small(struct store_writer *w,
                      const void *bytes,
                      size_t n,
                      const struct sha256_digest *digest,
                      struct store_place *place_out,
                      struct err *e);

struct store_source {
    int fd;           /* a regular file, read from its beginning with pread; its offset is kept */
    const char *name; /* for messages */
    /* Tells of bytes taken in, from any thread; false stops it: ERR_RETRY "interrupted". NULL = no.
     */
    bool (*progress)(void *context, uint64_t more_bytes);
    void *context;
    /* s3: asked once the digest is known and before anything is sent; true = we have this content
     * already, and *out gets only digest, size and parts, with an empty blob name. NULL = never. */
    bool (*known)(void *context, const struct sha256_digest *digest);
};

/* A file of any size above STORE_SMALL_MAX (smaller ones work too), in parts on all cores.
 * ERR_CHANGED when its size or times differ afterwards. The place counts once flushed. */
int store_write_large(struct store_writer *w,
                      const struct store_source *source,
                      struct store_content *out,
                      struct err *e);

/* Everything written so far survives a power cut when this returns. */
int store_flush(struct store_writer *w, struct err *e);

/* ---- reading ---- */

/* n bytes of the content from offset, not verified. ERR_NOTFOUND when the blob is gone, ERR_IO when
 * it is too short. */
int store_read(struct store *s,
               const char *project,
               const struct store_place *place,
               uint64_t offset,
               void *bytes,
               size_t n,
               struct err *e);

/* The contents below, each whole and verified, in any order, perhaps from several threads; those in
 * the same blob are read together. damaged is told of contents that are missing or fail their
 * digest (kind and text as in an error), the others still arrive. For contents of at most
 * STORE_SMALL_MAX. -1 when arrived does, or when the store itself fails. */
struct store_reader {
    int (*arrived)(void *context, size_t i, const void *bytes, size_t n, struct err *e);
    int (*damaged)(void *context, size_t i, const struct err *why, struct err *e);
    void *context;
};
int store_read_many(struct store *s,
                    const char *project,
                    const struct store_content *const *contents,
                    size_t n,
                    const struct store_reader *reader,
                    struct err *e);

/* The content into a regular file from its beginning, verified part by part on all cores. ERR_IO
 * "damaged" names the blob and the offset. */
int store_copy(struct store *s,
               const char *project,
               const struct store_content *content,
               int fd,
               bool (*progress)(void *context, uint64_t more_bytes),
               void *context,
               struct err *e);

/* The content in order, every piece verified before sink sees it. offset and length choose a part
 * of it (UINT64_MAX = to the end). */
int store_stream(struct store *s,
                 const char *project,
                 const struct store_content *content,
                 uint64_t offset,
                 uint64_t length,
                 int (*sink)(void *context, const void *bytes, size_t n, struct err *e),
                 void *context,
                 struct err *e);

/* dir: the content as a file of its own at path, which must not exist, without copying (a reflink,
 * else a hard link when the blob holds nothing else and hard is true). False with errno-free calm
 * when that is not possible here. */
bool store_link(struct store *s,
                const char *project,
                const struct store_content *content,
                const char *path,
                bool hard);

/* ---- keeping house ---- */

struct store_blob {
    const char *name; /* borrowed for the call */
    uint64_t size;
    int64_t session; /* that wrote it; 0 = shared pack */
    bool unfinished; /* a temporary file or an upload that was never completed */
};

/* Every project that content was ever written for, in no order, and whatever else here has a name
 * that could be one. ERR_NOTFOUND: the bucket does not exist. */
typedef int store_visit_project(void *context, const char *project, struct err *e);
int store_projects(struct store *s, store_visit_project *visit, void *context, struct err *e);

/* Every blob of the project, unfinished ones included, in no order. */
typedef int store_visit_blob(void *context, const struct store_blob *blob, struct err *e);
int store_list(
    struct store *s, const char *project, store_visit_blob *visit, void *context, struct err *e);

/* Removes a blob (or unfinished upload) for good; one that is gone already is fine. A pack that a
 * writer holds: ERR_RETRY, nothing happens. `still` is asked after the lock is taken, before the
 * removal; false = leave it (result 0). NULL = remove. */
int store_delete(struct store *s,
                 const char *project,
                 const struct store_blob *blob,
                 bool (*still)(void *context, const char *blob_name),
                 void *context,
                 struct err *e);

/* ---- for foreign clients ---- */

/* What the holder of a URL may do for expires_s seconds from now: read the content at this place
 * alone, or write the blob of that name (made by store_target_name), once. */
struct store_grant {
    const char *project;
    struct store_place place;
    bool writes;
    unsigned expires_s;
};

struct store_url {
    char *url;
    /* The header the client must send with it, as signed ("Range: bytes=10-19"); NULL = none */
    char *header;
};
void store_url_clear(struct store_url *l);

/* Whether this kind of store has URLs at all. */
bool store_has_urls(const struct store *s);
/* ERR_NOFIT where it has none, or none for this place. */
int store_presign(struct store *s,
                  const struct store_grant *grant,
                  struct store_url *out,
                  struct err *e);
/* The name of the nth upload target of a session, for presigned uploads. */
void store_target_name(int64_t session, uint64_t n, char out[static STORE_BLOB_NAME]);
/* Size of a blob; ERR_NOTFOUND when it is not there. */
int store_size(
    struct store *s, const char *project, const char *name, uint64_t *out, struct err *e);

#endif
