/* driver: the functions of a store driver, and what store.c and its neighbours share, for drivers
 * and each other. Included by src/store only. Drivers announce every call to the file system or to
 * a server with store_allow, so that tests can make each call fail: there is no fake driver. */
#ifndef STORE_DRIVER_H
#define STORE_DRIVER_H

#include "store/keyed.h"
#include "store/store.h"

/* Project names are letters, digits, '.', '_' and '-', and do not begin with '.'. */
#define STORE_PROJECT_NAME 64
/* What goes through memory at once when content is taken in: a few of these fit into the
 * processor's cache, where hashing and writing find them. */
#define STORE_CHUNK_BYTES ((size_t)256 << 10)
/* Parts of large content, doubled until there are at most STORE_PARTS_MAX. */
#define STORE_PART_BYTES ((uint64_t)16 << 20)
#define STORE_PARTS_MAX 8192
/* Parts, and content without parts, above this cannot be verified in memory. */
#define STORE_PIECE_MAX ((uint64_t)1 << 30)

struct remote_service;
struct store_driver;

struct store {
    const struct store_driver *driver;
    struct store_settings settings; /* its texts are the store's own, in `texts` */
    char *texts[4];
    const char *bucket, *prefix; /* set by open; NULL: a directory */
    struct read_cache *kept;     /* NULL: none */
    void *priv;                  /* owned by the driver: made in open, released in close */
};

struct store_writer {
    struct store *store;
    char project[STORE_PROJECT_NAME];
    int64_t session; /* at least 0 */
    bool fresh;      /* into new packs only */
    bool keep;       /* the cache gets it, too */
    void *priv;      /* owned by the driver: made in writer_open, released in writer_close */
};

/* Everything but open, close, writer_open and writer_close is called from several threads at once.
 * The wrappers have checked project (and blob names: letters, digits, '.', '_', '-', not empty, no
 * leading '.'), that ranges lie within the place, do not overflow and are not empty in read.
 * Entries with the type of a function of store.h or keyed.h do what is said there. Errors name the
 * path or URL. */
struct store_driver {
    const char *name;                     /* store_kind: "dir" */
    const char *scheme;                   /* what its URLs begin with: "dir:" */
    const char *form;                     /* how to write them, for messages: "dir:PATH" */
    const struct remote_service *service; /* of a bucket (remote.h); NULL = a directory */
    /* How the shared reading code is best served: contents nearer than gap_bytes are read in one go
     * of at most read_bytes, by up to in_flight threads (0 = one per core). Memory
     * is about in_flight * read_bytes. */
    size_t gap_bytes, read_bytes;
    /* What a copy of large content reads, verifies and writes in one go: for local files little
     * enough to stay in the processor's cache from the first to the last. */
    size_t copy_bytes;
    unsigned in_flight;

    /* ERR_USAGE with what is allowed, when a URL with this scheme is wrong. */
    int (*check_url)(const char *url, struct err *e);
    int (*open)(struct store *s, struct err *e);
    void (*close)(struct store *s); /* also after a failed open: priv may be NULL */
    int (*probe)(struct store *s, struct err *e);

    int (*writer_open)(struct store_writer *w, struct err *e);
    /* Also after a failed writer_open: priv may be NULL. Nothing is sent or flushed here. */
    void (*writer_close)(struct store_writer *w);
    /* n <= STORE_SMALL_MAX, 0 included. Short critical section: copies the bytes to the pack that
     * is being filled. The place is final, even if its blob does not exist before the flush. */
    __typeof__(store_write_small) *write_small;
    /* See store_write_large; *out is zeroed before, and cleared by the wrapper after a failure.
     * Most of the work is store_take_in's. A driver that reads the source a second time makes sure
     * it sends what was hashed. */
    __typeof__(store_write_large) *write_large;
    /* After a failure what was written since the last flush is lost for good, and every further
     * flush of this writer fails: a disk that lost a write may call the next sync a success. */
    __typeof__(store_flush) *flush;

    /* The bytes of a range of a blob. ERR_NOTFOUND: no such blob. ERR_IO: these bytes cannot be had
     * (the blob is too short or unreadable), others may. Any other kind (ERR_RETRY, ERR_DENIED):
     * the store as a whole does not answer. */
    int (*read)(struct store *s,
                const char *project,
                const struct store_place *range,
                void *bytes,
                struct err *e);
    __typeof__(store_link) *link; /* optional */

    /* A project without blobs is empty. `still` of remove is never NULL. */
    __typeof__(store_projects) *projects;
    __typeof__(store_list) *list;
    __typeof__(store_delete) *remove;
    __typeof__(store_size) *size;

    __typeof__(store_presign) *presign; /* optional: NULL where foreign clients have no way in */

    /* tally and etag_out are never NULL. */
    __typeof__(store_keyed_list) *keyed_list;
    __typeof__(store_keyed_put) *keyed_put;
    __typeof__(store_keyed_get) *keyed_get;
    __typeof__(store_keyed_delete) *keyed_delete;

    __typeof__(store_foreign_list) *foreign_list; /* optional, both */
    __typeof__(store_foreign_read) *foreign_read;
};

/* ---- for drivers ---- */

/* 0, or -1 and ERR_IO "OPERATION OBJECT: refused" when the settings' allow says no. */
int store_allow(const struct store *s, const char *operation, const char *object, struct err *e);

/* Names that are used once. Beside the settings' seed they draw on the kernel's randomness: two
 * processes that start from one seed must not make the same name. */
uint64_t store_random(const struct store *s);
/* "<session>-<12 hex digits of the digest>-<random>" */
void store_name_large(const struct store *s,
                      int64_t session,
                      const struct sha256_digest *digest,
                      char out[static STORE_BLOB_NAME]);
/* "p-<random>" for session 0 (shared), else "<session>-p-<random>" */
void store_name_pack(const struct store *s, int64_t session, char out[static STORE_BLOB_NAME]);
/* The session a blob's name tells, 0 for a shared pack and for names that are not ours. */
int64_t store_name_session(const char *name);
/* May this be a blob's name? Also true for foreign ones; false for anything with a slash. */
bool store_name_good(const char *name);
/* The same as errors (ERR_USAGE), for the wrappers. */
int store_check_name(const char *name, struct err *e);
int store_check_project(const char *project, struct err *e);
/* Its range fits a file offset, its blob has a good name. */
int store_check_place(const char *project, const struct store_place *place, struct err *e);

/* Each content of a pack follows a header, so that packs can be read without a database:
 * "TWPACK1\n", the length as 8 bytes, low one first, and the SHA-256. */
#define STORE_PACK_HEADER 48
void store_pack_header(uint64_t n,
                       const struct sha256_digest *digest,
                       unsigned char out[static STORE_PACK_HEADER]);

/* Reads the source once, in order, and fills out's digest, place.size, part_bytes and parts
 * (at least one, for an empty file too). Hashing and write run beside each other in bounded memory.
 * ERR_RETRY when progress says stop, ERR_CHANGED when the source changed while it was read. */
struct store_taker {
    /* Gets every chunk in order, from one thread; bytes NULL = n zero bytes. NULL = only hash. */
    int (*write)(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e);
    void *context;
    /* Also the SHA-256 of each part by itself, for servers that want to check what they get;
     * *part_digests is then an array of out->n_parts, the caller's to free. NULL = not wanted. */
    struct sha256_digest **part_digests;
};
int store_take_in(const struct store_source *source,
                  const struct store_taker *taker,
                  struct store_content *out,
                  struct err *e);

extern const struct store_driver store_dir_driver;
extern const struct store_driver store_s3_driver;
extern const struct store_driver store_az_driver;
extern const struct store_driver store_gs_driver;

/* ---- verify.c: content against its digests ---- */

/* ERR_IO "damaged" that names the blob and the offset when these bytes are not piece i of the
 * content: its part i, or all of it where it has no parts. */
int verify_piece(const char *project,
                 const struct store_content *c,
                 size_t i,
                 const void *bytes,
                 size_t n,
                 struct err *e);
/* The error speaks of some bytes of a blob, not of the store as a whole. */
bool verify_is_damage(const struct err *e);
/* Threads that read from this store at once. */
unsigned verify_threads(const struct store *s);

/* ---- read_cache.c: contents read from a remote store or written by a local job, cached in a local
 * directory (base/cachedir.h) for later reads. Every read is verified as if it came from the store.
 * For several threads. ---- */

/* Smaller ones lie beside each other in packs and come many at a time. */
#define READ_CACHE_MIN ((uint64_t)64 << 10)

/* NULL when the settings ask for none. */
struct read_cache *read_cache_new(const struct store_settings *settings);
void read_cache_free(struct read_cache *c);

/* All calls: c may be NULL, nothing is kept then; failures are silent, for the store has it all. */

/* The file with this content, of the right length but not verified; -1 when there is none. */
int read_cache_open(struct read_cache *c, const struct store_content *content);
/* It turned out to hold something else. */
void read_cache_drop(struct read_cache *c, const struct store_content *content);
/* These bytes are the content or, where they are NULL, a regular file holds it from its beginning.
 */
void read_cache_keep(struct read_cache *c,
                     const struct store_content *content,
                     const void *bytes,
                     int fd);

#endif
