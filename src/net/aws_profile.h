/* aws_profile: one section of the files that AWS's tools share, "credentials" and "config". */
#ifndef NET_AWS_PROFILE_H
#define NET_AWS_PROFILE_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct aws_profile_value {
    char *text; /* NULL = not given, or given empty */
    size_t line;
};

struct aws_profile {
    bool found;
    struct aws_profile_value key_id, secret, token, region;
    /* Ways to keys that we do not go, by the name of their setting; NULL = none seen. */
    const char *unsupported;
};
/* Overwrites the secrets before it frees them. */
void aws_profile_clear(struct aws_profile *p);

/* Sections are "[name]" in credentials; "[default]" and "[profile name]" in config, where others
 * belong to other programs. A section that comes twice is one, the last value counts. Lines that
 * are indented deeper than the setting above them belong to it and are skipped. ERR_USAGE names
 * file and line of what is no section, setting or comment, and of half given keys; the text of a
 * line is never shown. *out must be empty; after a failure too it is the caller's to clear. */
int aws_profile_parse(const char *file,
                      const char *bytes,
                      size_t n,
                      bool config,
                      const char *name,
                      struct aws_profile *out,
                      struct err *e);
/* The same from a file of at most 1 MB; one that is not there has no profiles. */
int aws_profile_read(
    const char *path, bool config, const char *name, struct aws_profile *out, struct err *e);

/* The content of a small file, NUL-terminated: 1, and bytes to be wiped and freed; 0 when there is
 * none. ERR_USAGE when it has more than max bytes. */
int aws_profile_read_file(
    const char *path, size_t max, char **bytes_out, size_t *n_out, struct err *e);

#endif
