/* s3_sender: uploads of objects from memory to a bucket, several at once, by threads of their own
 * while the writer goes on. */
#ifndef STORE_S3_SENDER_H
#define STORE_S3_SENDER_H

#include "base/auto.h"
#include "base/err.h"

#include <stddef.h>

struct s3;
struct s3_sender;

struct s3_sender *s3_sender_new(struct s3 *s, const char *project);
/* Breaks off what is still on its way. */
void s3_sender_free(struct s3_sender *s);
AUTO_DEFINE(s3_sender)

/* The blob's bytes, which become the sender's. Returns when they are on their way; waits while too
 * much already is. After a failure of any blob this and wait fail for good, with its error. */
int s3_sender_put(
    struct s3_sender *s, const char *blob, unsigned char *bytes, size_t n, struct err *e);
/* Whether all went well so far. */
int s3_sender_check(struct s3_sender *s, struct err *e);
/* Until everything has arrived. */
int s3_sender_wait(struct s3_sender *s, struct err *e);

#endif
