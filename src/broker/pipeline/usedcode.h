/* usedcode: lists of the files of code that stages used, as lake/job/job_code.h stores them. */
#ifndef BROKER_PIPELINE_USEDCODE_H
#define BROKER_PIPELINE_USEDCODE_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>

struct codefile {
    const char *path; /* relative to the working directory */
    bool executable;
    struct sha256_digest digest; /* of the content */
};

struct usedcode {
    struct codefile *list; /* by path, then digest; paths borrowed */
    size_t n, cap;
};
void usedcode_clear(struct usedcode *u);
void usedcode_add(struct usedcode *u, const char *path, const struct sha256_digest *digest);
/* Sorts, and leaves each once. */
void usedcode_sort(struct usedcode *u);
/* New memory, *n_out bytes; NULL when there are none. */
void *usedcode_bytes(const struct usedcode *u, size_t *n_out);
/* Adds what the bytes tell, which stay with the caller. ERR_IO: they are no list. */
int usedcode_read(struct usedcode *u, const void *bytes, size_t n, struct err *e);

#endif
