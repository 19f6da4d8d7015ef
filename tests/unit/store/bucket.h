/* bucket: what tests of the drivers of buckets against a server share. tests/cli/s3.t, azure.t and
 * gcs.t start the server, and a proxy that spoils requests, and give their addresses in the
 * environment. */
#ifndef UNIT_STORE_BUCKET_H
#define UNIT_STORE_BUCKET_H

#include "store/store.h"

/* Where they write, unless they say otherwise. */
extern const char bucket_project[], bucket_name[];

/* The URL of "BUCKET/PREFIX" at the server: STORE_BASE ("az://ACCOUNT/", "s3://" where it is not
 * set) stands before it. New string. */
char *bucket_url(const char *rest);
/* A store; ends the program when that fails. endpoint_name: of a variable of the environment. */
struct store *bucket_open(const char *endpoint_name, const char *url, int path_style);
struct store *bucket_direct(void);
/* The same store through the proxy. */
struct store *bucket_proxied(void);
/* Tells the proxy how to spoil requests from now on, as in tests/servers/faulty-proxy. */
void bucket_spoil(const char *query);
/* What the proxy has seen since the last time, on one line. */
const char *bucket_seen(void);
/* What a shell command prints, less the last newline; until the next one. */
__attribute__((format(printf, 1, 2))) const char *bucket_output(const char *fmt, ...);

/* A file of n bytes that depend on seed alone. */
struct bucket_sample {
    int fd;
    size_t n;
    unsigned char *bytes;
    struct store_source source;
};
struct bucket_sample bucket_sample_new(size_t n, uint64_t seed);
void bucket_sample_clear(struct bucket_sample *s);

/* As large content, flushed. */
int bucket_write(struct store *s,
                 const struct bucket_sample *sample,
                 struct store_content *out,
                 struct err *e);
int bucket_write_small(
    struct store_writer *w, const void *bytes, size_t n, struct store_content *out, struct err *e);
/* Copied back, it is what it was. */
bool bucket_comes_back(struct store *s,
                       const struct bucket_sample *sample,
                       const struct store_content *content,
                       struct err *e);

/* The blobs of a project. */
struct bucket_tally {
    size_t blobs, unfinished;
    uint64_t bytes;
    char unfinished_name[STORE_BLOB_NAME];
};
struct bucket_tally bucket_tally(struct store *s, const char *of_project);

#endif
