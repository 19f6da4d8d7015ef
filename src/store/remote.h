/* remote: a bucket of a cloud and requests to it, with error kinds and retries. What the drivers of
 * S3, Google and Azure share is here; struct remote_service is what they differ in. */
#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

#include "base/auto.h"
#include "base/err.h"
#include "base/hash.h"
#include "net/http.h"
#include "net/sigv4.h"
#include "store/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All three take keys of 1,024 bytes; the prefix leaves room for project and name. */
#define REMOTE_PREFIX_MAX 512
#define REMOTE_KEY 1024
#define REMOTE_CODE 64

struct remote {
    struct store *store;
    const struct remote_service *service;
    char *bucket;
    char *prefix;              /* "" or without slashes around it */
    char *shown;               /* the bucket as URLs have it, for messages: "s3://BUCKET" */
    char *scheme;              /* of the endpoint, "https" or "http"; NULL = the service's own */
    char *authority;           /* of the endpoint, "host:port"; NULL = the service's own */
    atomic_bool unconditional; /* the server does not know conditions on writes */
    void *own;                 /* the service's: made in open, released in close */

    pthread_mutex_t lock; /* guards what the service keeps of credentials, and what follows */
    struct http *http;    /* made for the first request */
};

/* ---- addresses and keys (remote_address.c) ---- */

bool remote_good_bucket(const char *text, size_t n, const char *chars);
/* ERR_USAGE: what follows the bucket has segments that clients would take out. */
int remote_check_prefix(const char *url, const char *prefix, struct err *e);
/* Scheme and authority from "https://HOST[:PORT]"; path_out: what follows, without the slash at its
 * end, new string; NULL = nothing may. */
int remote_read_endpoint(struct remote *r, const char *endpoint, char **path_out, struct err *e);
/* The authority without the port that goes without saying, as every client does. New string. */
char *remote_plain_authority(const struct remote *r);
/* Sets r->prefix, without the slash at its end. */
void remote_set_prefix(struct remote *r, const char *prefix);
/* "packs", "large" or "incoming": where the blob of this name lies. */
const char *remote_room(const char *blob);
/* The key of a blob; of the whole project ("PREFIX/PROJECT/") when blob is NULL. */
const char *remote_key(const struct remote *r,
                       const char *project,
                       const char *blob,
                       char out[static REMOTE_KEY]);
/* The key below the prefix. */
const char *remote_full_key(const struct remote *r, const char *key, char out[static REMOTE_KEY]);

/* ---- requests (remote_send.c) ---- */

/* All of it is borrowed for the call. */
struct remote_call {
    const char *operation; /* of store_allow: "write", "read", "list", "delete" */
    const char *method;
    const char *key;  /* NULL = the bucket itself */
    const char *path; /* gs: encoded, of the API; NULL = as the key has it */
    const char *url;  /* sent as it is, without credentials; NULL = as the service has it */
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
    bool is_single; /* what fails is not tried again here */
};

struct remote_answer {
    struct http_answer http; /* status 0: there was none */
    char code[REMOTE_CODE];  /* of an error: "NoSuchKey"; "" = none was given */
    unsigned tries;          /* requests that were sent */
    unsigned round;          /* of the credentials it was sent with */
};
void remote_answer_clear(struct remote_answer *a);

/* Sends it until it is answered for good: a transient error (too busy, time-out, cut connection) is
 * tried again a few times with growing waits, none shorter than the server asks for. 0 for a 2xx
 * answer. Else ERR_NOTFOUND: no such object or bucket; ERR_DENIED: keys or clock are refused;
 * ERR_RETRY: still failing after the last try; ERR_IO: the rest. *out must be cleared either way.
 */
int remote_send(struct remote *r,
                const struct remote_call *c,
                struct remote_answer *out,
                struct err *e);
/* Calls add with all of the body, in order. */
int remote_each_byte(const struct remote_call *c,
                     void (*add)(void *context, const void *bytes, size_t n),
                     void *context,
                     struct err *e);
/* "a=b&c=d", encoded. New string. */
char *remote_encode_query(const struct remote_call *c);
/* With the lock held: the client, made for the first request. */
int remote_prepare_http(struct remote *r, struct err *e);

/* host, content hash, date, token, and what a call adds */
#define REMOTE_HEADERS_MAX 14
struct remote_request {
    char *url;
    char *headers[REMOTE_HEADERS_MAX + 1];
    unsigned round; /* of the credentials */
};
/* The header's text becomes the request's. */
void remote_request_add(struct remote_request *q, char *header);

enum remote_verdict {
    REMOTE_GOOD,
    REMOTE_WAIT, /* transient error */
    REMOTE_TURN, /* another region, new credentials or another clock help at once, or not at all */
    REMOTE_BAD,
};

/* ---- error answers (remote_error.c) ---- */

/* What an error answer says. */
#define REMOTE_MESSAGE 200
struct remote_failure {
    const char *code; /* "" = none */
    const char *message;
    const char *permission; /* that the operation needs */
};
/* "write s3://bucket/key: the server answers 409 Code: message" */
int remote_say(const struct remote *r,
               const struct remote_call *c,
               const struct remote_answer *a,
               const struct remote_failure *f,
               enum err_kind kind,
               struct err *e);
/* The statuses that mean the same everywhere: the error and its kind. */
int remote_say_final(const struct remote *r,
                     const struct remote_call *c,
                     const struct remote_answer *a,
                     const struct remote_failure *f,
                     struct err *e);
/* 408, 429, 500, 502, 503, 504 */
bool remote_will_pass(int status);

/* ---- what services differ in ---- */

struct remote_range {
    uint64_t offset, length; /* length 0 = to the end */
    const char *etag;        /* ERR_RETRY when the object is another by now; NULL = any */
};

struct remote_page;
struct remote_upload;

/* One object: c has body, digest, pull, go_on and context. 1: the condition does not hold. etag_out
 * may be NULL. */
typedef int remote_putter(struct remote *r,
                          const struct remote_call *c,
                          enum store_condition condition,
                          const char *etag,
                          char *etag_out,
                          struct remote_answer *out,
                          struct err *e);
/* c: with key and into or sink. */
typedef int remote_getter(struct remote *r,
                          const struct remote_call *c,
                          const struct remote_range *range,
                          struct remote_answer *out,
                          struct err *e);
typedef int remote_sizer(struct remote *r, const char *key, uint64_t *size_out, struct err *e);
typedef int remote_remover(struct remote *r,
                           const char *key,
                           struct remote_answer *out,
                           struct err *e);
typedef int remote_maker(struct remote *r, struct err *e);
/* Fetches one page, calls remote_page_item for each of its items, and sets where the next begins.
 */
typedef int remote_pager(struct remote *r, struct remote_page *p, struct err *e);
/* Ends the unfinished uploads of this key. */
typedef int remote_aborter(struct remote *r, const char *key, struct err *e);
/* With the lock held: URL and headers of one try, with credentials that are good now. */
typedef int remote_preparer(struct remote *r,
                            const struct remote_call *c,
                            struct remote_request *out,
                            struct err *e);
/* Also reads the error's code into a->code: "NoSuchBucket" and "NoSuchKey" are called so. Takes
 * note of what a turn changes. */
typedef enum remote_verdict remote_judge(struct remote *r,
                                         const struct remote_call *c,
                                         struct remote_answer *a,
                                         struct err *e);
typedef int remote_upload_step(struct remote_upload *u, struct err *e);
typedef int remote_part_sender(struct remote_upload *u,
                               const struct remote_call *part,
                               size_t i,
                               struct err *e);
/* As far as possible. */
typedef void remote_upload_quitter(struct remote_upload *u);

struct remote_service {
    const char *noun; /* for messages: "bucket" */
    bool is_hashed;   /* requests carry the SHA-256 of their body */

    /* Fills bucket, prefix, shown, scheme, authority and own. */
    int (*open)(struct remote *r, const struct store_settings *settings, struct err *e);
    void (*close)(struct remote *r); /* own may be NULL */
    remote_preparer *prepare;
    remote_judge *judge;

    remote_putter *put;
    remote_getter *get;
    /* The tag of an answer to get. */
    void (*read_etag)(const struct remote_answer *a, char out[static STORE_ETAG]);
    remote_sizer *head;
    remote_remover *remove;
    remote_maker *make_bucket;

    remote_pager *page;
    remote_aborter *abort_key; /* optional: where unfinished uploads can be listed */

    unsigned parts_at_once; /* of one upload; 1: parts come in order */
    remote_upload_step *upload_begin;
    remote_part_sender *upload_part;
    remote_upload_step *upload_end;
    remote_upload_quitter *upload_abort;
};

/* ---- objects (remote_object.c) ---- */

/* Writes an object that must not exist yet; one that does, with this size, is an earlier try of
 * ours. c: body, digest, pull, go_on and context count. */
int remote_put_once(struct remote *r, const char *key, const struct remote_call *c, struct err *e);
int remote_get_range(
    struct remote *r, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e);
/* The size from the headers of an answer to HEAD. */
int remote_head(struct remote *r, const char *key, uint64_t *size_out, struct err *e);
/* One that is gone is fine. */
int remote_delete(struct remote *r, const char *key, struct err *e);
/* The header "etag" without its quotes. */
void remote_read_etag(const struct remote_answer *a, char out[static STORE_ETAG]);
/* Whether a conditional write failed because the server does not know conditions; remembers it. */
bool remote_conditions_refused(struct remote *r, const struct remote_answer *a);
/* "bytes=10-19" or "bytes=10-" */
#define REMOTE_RANGE 64
const char *remote_range_text(const struct remote_range *range, char out[static REMOTE_RANGE]);

/* ---- uploads (remote_large.c) ---- */

/* An object that is uploaded in parts. The caller fills in the first half. */
struct remote_upload {
    struct remote *remote;
    const char *key;
    uint64_t size, part_bytes; /* the last part has the rest */
    size_t n_parts;
    unsigned at_once;
    bool only_new; /* if there is no such object yet, where the server knows conditions */
    /* Calls remote_upload_part with part i, from several threads at once. */
    int (*send)(void *context, size_t i, struct err *e);
    void *context;

    char *id;
    char **etags;      /* of the parts */
    uint32_t crc;      /* of the parts so far, where they come in order */
    bool is_complete;  /* with the last part */
    unsigned restarts; /* from the first part */
    atomic_uint tries; /* requests that were sent */
};
int remote_upload(struct remote_upload *u, struct err *e);
/* part: a PUT but for key and query; i from 0. */
int remote_upload_part(struct remote_upload *u,
                       const struct remote_call *part,
                       size_t i,
                       struct err *e);
/* Sends, and counts the tries. */
int remote_upload_send(struct remote_upload *u,
                       const struct remote_call *call,
                       struct remote_answer *answer,
                       struct err *e);
/* put has bytes and no condition; key is below the bucket. */
int remote_put_parts(struct remote *r,
                     const char *key,
                     const struct store_keyed_put *put,
                     size_t n_parts,
                     struct err *e);

/* ---- writing (remote_writer.c) ---- */

/* Sends the blob's bytes, which become the writer's, in the background. Returns when they are on
 * their way; waits while too much already is. After a failure of any blob all writing fails for
 * good, with its error. */
int remote_writer_send(
    struct store_writer *w, const char *blob, unsigned char *bytes, size_t n, struct err *e);

/* ---- lists (remote_list.c) ---- */

#define REMOTE_TEXT 4096
#define REMOTE_UPLOAD_ID 1024
#define REMOTE_DATE 64

/* One page of objects or unfinished uploads, and where the next begins. */
struct remote_page {
    const char *prefix, *delimiter; /* keys count only up to it; NULL = whole keys */
    bool unfinished;                /* uploads are listed */
    int (*each)(struct remote_page *p, struct err *e);
    /* of the caller */
    store_visit_project *visit_project;
    store_visit_blob *visit_blob;
    const struct store_keyed_list *keyed;
    void *context;
    size_t prefix_bytes; /* of keys, that the caller does not see */
    bool foreign;        /* objects of other programs, of any name */

    /* Set by the service: where the next page begins, next[0] = '\0' when there is none. */
    char next[REMOTE_TEXT];
    char next_upload[REMOTE_UPLOAD_ID];
    /* the item at hand */
    char key[REMOTE_TEXT];
    char upload[REMOTE_UPLOAD_ID];
    char etag[STORE_ETAG + 2];
    uint64_t size;
    int64_t modified_ms;
    /* of all pages so far */
    uint64_t requests;
    char date[REMOTE_DATE]; /* of the last answer */
};
/* The item at hand is complete; the next one begins empty. */
int remote_page_item(struct remote_page *p, struct err *e);
/* Sends the request for a page, and counts it. */
int remote_page_send(struct remote *r,
                     struct remote_page *p,
                     const struct remote_call *c,
                     struct remote_answer *out,
                     struct err *e);
int remote_each_page(struct remote *r, struct remote_page *p, struct err *e);
/* A whole number; ERR_IO that names the key. */
int remote_read_size(struct remote_page *p, const char *text, struct err *e);

/* ---- entries of the drivers' tables ---- */

int remote_open(struct store *store, struct err *e);
void remote_close(struct store *store);
int remote_read(struct store *store,
                const char *project,
                const struct store_place *range,
                void *bytes,
                struct err *e);
int remote_writer_open(struct store_writer *w, struct err *e);
void remote_writer_close(struct store_writer *w);
__typeof__(store_write_small) remote_write_small;
__typeof__(store_write_large) remote_write_large;
__typeof__(store_flush) remote_flush;
__typeof__(store_probe) remote_probe;
__typeof__(store_projects) remote_projects;
__typeof__(store_list) remote_list;
__typeof__(store_delete) remote_remove;
__typeof__(store_size) remote_size;
__typeof__(store_keyed_list) remote_keyed_list;
__typeof__(store_keyed_put) remote_keyed_put;
__typeof__(store_keyed_get) remote_keyed_get;
__typeof__(store_keyed_delete) remote_keyed_delete;
__typeof__(store_foreign_list) remote_foreign_list;
__typeof__(store_foreign_read) remote_foreign_read;

/* What the tables of all services have. A request costs about what gap_bytes do. */
#define REMOTE_ENTRIES                                                                             \
    .gap_bytes = (size_t)256 << 10, .read_bytes = (size_t)4 << 20, .copy_bytes = (size_t)4 << 20,  \
    .in_flight = 16, .open = remote_open, .close = remote_close, .probe = remote_probe,            \
    .writer_open = remote_writer_open, .writer_close = remote_writer_close,                        \
    .write_small = remote_write_small, .write_large = remote_write_large, .flush = remote_flush,   \
    .read = remote_read, .projects = remote_projects, .list = remote_list,                         \
    .remove = remote_remove, .size = remote_size, .keyed_list = remote_keyed_list,                 \
    .keyed_put = remote_keyed_put, .keyed_get = remote_keyed_get,                                  \
    .keyed_delete = remote_keyed_delete, .foreign_list = remote_foreign_list,                      \
    .foreign_read = remote_foreign_read

#endif
