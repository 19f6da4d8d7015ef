/* s3: a bucket and signed requests to it, with error kinds and retries, for the files of the S3
 * driver. */
#ifndef STORE_S3_H
#define STORE_S3_H

#include "base/auto.h"
#include "base/err.h"
#include "base/hash.h"
#include "net/credentials.h"
#include "net/http.h"
#include "net/sigv4.h"
#include "store/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* S3's own limit is 1,024 bytes of key; the prefix leaves room for project and name. */
#define S3_PREFIX_MAX 512
#define S3_KEY 1024
#define S3_CODE 64

struct s3 {
    struct store *store;
    char *bucket;
    char *prefix;    /* "" or without slashes around it */
    char *scheme;    /* "https" or "http" */
    char *authority; /* of the endpoint, "host:port"; NULL = Amazon's for the region */
    bool path_style;
    atomic_bool unconditional; /* the server does not know If-None-Match on writes */

    pthread_mutex_t lock; /* guards what follows */
    struct http *http;    /* made, like the rest, for the first request */
    struct credentials credentials;
    int64_t looked_ms; /* when credentials were last looked for */
    char *region;
};

/* ---- addresses (s3_address.c) ---- */

int s3_check_url(const char *url, struct err *e);
/* Fills bucket, prefix, scheme, authority and path_style. */
int s3_read_address(struct s3 *s, const struct store_settings *settings, struct err *e);
/* "packs", "large" or "incoming": where the blob of this name lies. */
const char *s3_room(const char *blob);
/* The key of a blob; of the whole project ("PREFIX/PROJECT/") when blob is NULL. */
const char *s3_key(const struct s3 *s,
                   const char *project,
                   const char *blob,
                   char out[static S3_KEY]);
/* What stands in a URL for this key (NULL = the bucket): the host and the encoded path. */
struct s3_target {
    char *host, *path;
};
void s3_target_clear(struct s3_target *t);
void s3_target_init(struct s3_target *t, const struct s3 *s, const char *region, const char *key);

/* ---- requests (s3_request.c) ---- */

/* All of it is borrowed for the call. */
struct s3_call {
    const char *operation; /* of store_allow: "write", "read", "list", "delete" */
    const char *method;
    const char *key;                /* NULL = the bucket itself */
    const struct sigv4_pair *query; /* not encoded yet */
    size_t n_query;
    const struct sigv4_pair *headers; /* names in lower case; all are signed */
    size_t n_headers;
    /* The body, from memory or pulled; pulled ones come with their digest. A pull that fails ends
     * it all with its error. */
    const void *body;
    uint64_t body_bytes;
    const struct sha256_digest *digest;
    int (*pull)(void *context, uint64_t offset, void *bytes, size_t n, struct err *e);
    /* Asked before every try; false ends it with ERR_RETRY "interrupted". NULL = go on. */
    bool (*go_on)(void *context);
    void *context;
    /* A good answer's body goes here; one of another length is ERR_IO. NULL = to the answer. */
    void *into;
    size_t into_bytes;
    /* Or it goes here as it comes, with the call's context; about this number of bytes. Once it got
     * some, what breaks off is not tried again. */
    int (*sink)(void *context, const void *bytes, size_t n, struct err *e);
    uint64_t sink_bytes;
    double stall_s; /* for a server that works before it answers; 0 = the usual */
};

struct s3_answer {
    struct http_answer http; /* status 0: there was none */
    char code[S3_CODE];      /* of an error: "NoSuchKey"; "" = none was given */
    unsigned tries;          /* requests that were sent */
};
void s3_answer_clear(struct s3_answer *a);

/* Sends it until it is answered for good: a transient error (too busy, time-out, cut connection) is
 * tried again a few times with growing waits. 0 for a 2xx answer. Else ERR_NOTFOUND: no such
 * object or bucket; ERR_DENIED: keys or clock are refused; ERR_RETRY: still failing after the last
 * try; ERR_IO: the rest. *out must be cleared either way. */
int s3_send(struct s3 *s, const struct s3_call *c, struct s3_answer *out, struct err *e);

/* A URL that does this for expires_s seconds. */
int s3_presign(
    struct s3 *s, const struct s3_call *c, unsigned expires_s, char **out, struct err *e);
/* New string; may have to look for credentials, which name it. */
int s3_region(struct s3 *s, char **out, struct err *e);

/* ---- judging answers (s3_error.c) ---- */

enum s3_verdict {
    S3_GOOD,
    S3_WAIT,   /* transient error */
    S3_REGION, /* the bucket lies in another region, *region_out */
    S3_KEYS,   /* the credentials ran out */
    S3_BAD,
};
/* Also reads the error's code into a->code. An error inside a 200 is one. */
enum s3_verdict s3_judge(const struct s3 *s,
                         const struct s3_call *c,
                         struct s3_answer *a,
                         char **region_out,
                         struct err *e);

/* ---- objects (s3_object.c) ---- */

/* Writes an object that must not exist yet; one that does, with this size, is an earlier try of
 * ours. c: body, digest, pull, go_on and context count. */
int s3_put_once(struct s3 *s, const char *key, const struct s3_call *c, struct err *e);
int s3_head(struct s3 *s, const char *key, uint64_t *size_out, struct err *e);
int s3_get_range(
    struct s3 *s, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e);
/* One that is gone is fine. */
int s3_delete(struct s3 *s, const char *key, struct err *e);
/* Whether a conditional write failed because the server does not know conditions; remembers it. */
bool s3_conditions_refused(struct s3 *s, const struct s3_answer *a);

/* ---- uploads (s3_upload.c) ---- */

/* An object that is uploaded in parts. The caller fills in the first half. */
struct s3_upload {
    struct s3 *s3;
    const char *key;
    uint64_t size;
    size_t n_parts;
    unsigned at_once;
    bool only_new; /* if there is no such object yet, where the server knows conditions */
    /* Calls s3_upload_part with part i, from several threads at once. */
    int (*send)(void *context, size_t i, struct err *e);
    void *context;

    char *id;
    char **etags;      /* of the parts */
    atomic_uint tries; /* requests that were sent */
};
int s3_upload(struct s3_upload *u, struct err *e);
/* part: a PUT but for key and query; i from 0. */
int s3_upload_part(struct s3_upload *u, const struct s3_call *part, size_t i, struct err *e);
/* put has bytes and no condition; key is below the bucket. */
int s3_put_parts(struct s3 *s,
                 const char *key,
                 const struct store_keyed_put *put,
                 size_t n_parts,
                 struct err *e);

/* ---- writing (s3_writer.c) ---- */

/* Sends the blob's bytes, which become the writer's, in the background. Returns when they are on
 * their way; waits while too much already is. After a failure of any blob all writing fails for
 * good, with its error. */
int s3_writer_send(
    struct store_writer *w, const char *blob, unsigned char *bytes, size_t n, struct err *e);

/* ---- lists (s3_list.c) ---- */

/* Ends every unfinished upload of this key. */
int s3_abort_uploads(struct s3 *s, const char *key, struct err *e);
int s3_abort_upload(struct s3 *s, const char *key, const char *upload, struct err *e);

/* ---- entries of the driver's table ---- */

int s3_writer_open(struct store_writer *w, struct err *e);
void s3_writer_close(struct store_writer *w);
__typeof__(store_write_small) s3_write_small;
__typeof__(store_write_large) s3_write_large;
__typeof__(store_flush) s3_flush;
__typeof__(store_probe) s3_probe;
__typeof__(store_projects) s3_projects;
__typeof__(store_list) s3_list;
__typeof__(store_keyed_list) s3_keyed_list;
__typeof__(store_keyed_put) s3_keyed_put;
__typeof__(store_keyed_get) s3_keyed_get;
__typeof__(store_keyed_delete) s3_keyed_delete;

#endif
