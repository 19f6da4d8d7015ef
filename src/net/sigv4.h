/* sigv4: signing of requests to AWS and to what speaks its S3 protocol, by header or in the URL. */
#ifndef NET_SIGV4_H
#define NET_SIGV4_H

#include "base/auto.h"
#include "base/err.h"
#include "base/hash.h"
#include "net/credentials.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sigv4_pair {
    const char *name, *value;
};

/* A request before it is signed. */
struct sigv4_request {
    const char *method;
    const char *path; /* as it will be sent: percent-encoded, begins with '/' */
    /* The raw query as it will be sent, without '?', NULL or "" = none. */
    const char *query;
    const struct sigv4_pair *headers; /* all to be signed, "host" among them; names in any case */
    size_t n_headers;
    /* What stands for the body: 64 hex digits, "UNSIGNED-PAYLOAD" or "STREAMING-..." */
    const char *payload;
};

struct sigv4_scope {
    const struct credentials *credentials;
    const char *region;
    const char
        *service; /* "s3": the path is taken as it is; others: normalized and encoded twice */
    int64_t epoch_s;
    bool keep_path;  /* other services: do not collapse "." ".." and "//" */
    bool token_late; /* the session token is added after signing, unsigned */
};

/* The three stages, for callers that compare them; strings are the result's own. */
struct sigv4_signature {
    char *canonical_request;
    char *string_to_sign;
    char *signature;     /* hex */
    char *authorization; /* header form: the value of Authorization */
    char *query;         /* URL form: the whole query, X-Amz-Signature last */
    char date[24];       /* of x-amz-date, "20130524T000000Z" */
};
void sigv4_signature_clear(struct sigv4_signature *s);

/* Header form. x-amz-date and, when there is a token, x-amz-security-token are added to what is
 * signed unless the headers hold them; the caller sends them. */
int sigv4_sign(const struct sigv4_request *request,
               const struct sigv4_scope *scope,
               struct sigv4_signature *out,
               struct err *e);
/* URL form, valid for expires_s seconds (1 .. 604800). */
int sigv4_presign(const struct sigv4_request *request,
                  const struct sigv4_scope *scope,
                  unsigned expires_s,
                  struct sigv4_signature *out,
                  struct err *e);

/* Percent-encodes all but A-Z a-z 0-9 - _ . ~ (and '/' when keep_slash). New string. */
char *sigv4_encode(const char *text, bool keep_slash);
/* The other way, as in forms: '+' stands for a space. New string. */
char *sigv4_decode(const char *text);

#endif
