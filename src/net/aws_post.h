/* aws_post: signed calls of AWS's services: the query protocol (EC2, STS, IAM) and the JSON one
 * (SSM, quotas, logs), which are one POST each, and those with methods and paths (Lambda, S3). */
#ifndef NET_AWS_POST_H
#define NET_AWS_POST_H

#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "net/credentials.h"

#include <stddef.h>
#include <stdint.h>

/* Where a service answers in a region: AWS_ENDPOINT_URL_EC2 for service "ec2", AWS_ENDPOINT_URL, or
 * AWS's own address, which IAM has in one region alone. variable: of the environment; NULL = the
 * process's. A new string that ends with '/'. */
char *aws_endpoint(const char *service,
                   const char *region,
                   const char *(*variable)(void *context, const char *name),
                   void *context);

/* Appends "&NAME=VALUE" to a form, encoded; no '&' when the form is empty. */
void aws_form_add(struct buf *form, const char *name, const char *value);

struct aws_post {
    const char *service, *region;
    const char *url;    /* of aws_endpoint; a path and a query may follow, encoded */
    const char *target; /* X-Amz-Target of the JSON protocol; NULL = the body is a form */
    const char *body;
    const char *method;       /* NULL = POST */
    const char *content_type; /* NULL = of the form, or of the JSON protocol; "" = no body */
};
/* The request's headers, NULL-terminated: secrets are in them. */
struct aws_post_headers {
    char *items[10];
};
/* Overwrites what it frees. */
void aws_post_headers_clear(struct aws_post_headers *h);
/* Headers for http_send, signed at that second. */
int aws_post_sign(const struct aws_post *p,
                  const struct credentials *credentials,
                  int64_t epoch_s,
                  struct aws_post_headers *out,
                  struct err *e);

#endif
