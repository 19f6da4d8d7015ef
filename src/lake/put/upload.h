/* upload: moves the content of local files into the store: read and hashed on all cores, stored
 * once, recorded in batches. A recorded batch survives any crash. */
#ifndef LAKE_PUT_UPLOAD_H
#define LAKE_PUT_UPLOAD_H

#include "lake/core/internal.h"
#include "lake/put/internal.h"
#include "lake/put/source.h"

/* A file whose content is known to be stored. */
struct upload_arrival {
    uint32_t file;
    uint32_t content; /* index into the batch's contents; UINT32_MAX: an object from before */
};

/* Stored but not recorded yet. */
struct upload_batch {
    struct store_content *contents;
    size_t n_contents, cap_contents;
    struct upload_arrival *arrivals;
    size_t n_arrivals, cap_arrivals;
    struct map *by_digest; /* to indices of contents */
    uint64_t bytes;
    double began_s;
};

struct upload {
    struct lake *l;
    struct source_list *list;
    struct session_put put; /* for the session, should one be needed */
    bool verify;            /* content that the lake has counts only when it can be read */
    bool keep;              /* will be read here soon: output of a job */
    bool replace;           /* some of what the lake has is gone from the store */
    /* The blobs that the store was asked for, once each, whether they are still there: users delete
     * blobs by hand. */
    struct upload_blob {
        int64_t id;
        uint64_t size;
    } * blobs;
    size_t n_blobs, cap_blobs;
    struct map *blobs_by_id;     /* to indices of blobs */
    struct session_hold session; /* begun with the first content that must be stored */
    struct store *store;
    struct store_writer *writer;
    struct upload_batch batch;
    struct store_place *spares; /* blobs written for content that was there */
    size_t n_spares, cap_spares;
    uint64_t next_seq;  /* of session_file */
    uint64_t new_bytes; /* stored */
    char *bytes;        /* room for a group of small files */
    size_t bytes_cap;
    struct put_progress progress;
};

void upload_init(struct upload *u, struct lake *l, struct source_list *list);
void upload_clear(struct upload *u);

/* Goes on with the session that an interrupted run of the same put left, if there is one. */
int upload_resume(struct upload *u, struct err *e);
/* The file's object is 0 again when its blob is gone from the store. */
int upload_check(struct upload *u, struct source_file *f, struct err *e);
/* Reads every file without an object; the last batch is stored but not recorded. ERR_RETRY
 * "interrupted" when the progress says so. */
int upload_all(struct upload *u, struct err *e);
/* Makes what was stored durable; nothing to do when nothing was. */
int upload_flush(struct upload *u, struct err *e);
/* The batch into the database: objects, what is known of the local files, and with keep_list the
 * session's list, which keeps the objects from being cleaned away. In a transaction. */
int upload_record(struct upload *u, bool keep_list, struct err *e);
/* After the transaction of upload_record was undone: its object ids mean nothing. */
void upload_unrecord(struct upload *u);
/* Arrivals whose object was there and is not any more: object is 0 again. */
void upload_forget_gone(struct upload *u);
/* Flush, then upload_record in a transaction of its own. */
int upload_save(struct upload *u, struct err *e);
/* What was stored and not recorded is not wanted: blobs of its own go. */
void upload_discard(struct upload *u);
/* Removes blobs whose content turned out to be in the lake already. Once flushed. */
void upload_drop_spares(struct upload *u);

/* ---- upload_read.c ---- */

/* A small file being taken in. */
struct upload_slot {
    uint32_t file;
    size_t at, room; /* where in u->bytes */
    char *own;       /* instead, when it grew */
    size_t n;
    bool too_large; /* it is small no more */
    uint32_t content;
};

const char *upload_slot_bytes(const struct upload *u, const struct upload_slot *slot);
/* Reads and hashes: fills in the slot and the file's stamp, digest and executable bit. ERR_CHANGED
 * when it keeps changing. From several threads. */
int upload_read(struct upload *u, struct upload_slot *slot, struct err *e);
/* Whether it had not changed for a while at that time. */
bool upload_quiet(const struct source_stamp *stamp, int64_t read_ms);

/* ---- known_files.c: digests, versions and objects that the database has of files to be put, so
 * that put does not open unchanged files ---- */

/* Fills in, for every file: the digest when its stamp is the one it was last read with; the newest
 * version of its path; the object when content with that digest is there. ERR_DENIED for a file of
 * the lake that the caller may not write. */
int known_look(struct lake *l, struct source_list *list, struct err *e);

/* The object with this content: 1, 0 (or its content is gone), -1. */
int known_object(struct lake *l,
                 const struct sha256_digest *digest,
                 int64_t *id_out,
                 struct err *e);

/* The same for a file that was read: sets object and same. */
int known_file_object(struct lake *l, struct source_file *f, struct err *e);

/* Remembers the digests of files that were read and were quiet then: rows for known_remember, to be
 * flushed. In a transaction. */
struct db_rows *known_rows_new(struct lake *l);
int known_remember(struct db_rows *rows, const struct source_list *list, size_t i, struct err *e);

/* Marks the files whose paths are vacant. In the transaction in which they are to stay so. */
int known_vacant(struct lake *l, struct source_list *list, struct err *e);

#endif
