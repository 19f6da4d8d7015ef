/* code: a private, versioned copy of a working directory in the lake. */
#ifndef BROKER_CODE_H
#define BROKER_CODE_H

#include "base/err.h"
#include "lake/lake.h"

#define CODE_COMMIT 65

struct code {
    char *ref;                /* "@code-NAME:3": the set version; the same as before when nothing
                               * changed */
    char commit[CODE_COMMIT]; /* of git, "" = no repository */
    bool dirty;
    uint64_t files, bytes;
};
void code_clear(struct code *c);

/* Files of directory that neither .gitignore nor .tradewindignore leave out (in every directory, by
 * git's rules; .git never), below "/code/NAME/", where NAME is the directory's own name made fit
 * for a set. ERR_USAGE when nothing is left, or when it is larger than 4 GiB (say so: data belongs
 * in the lake). An archive (.tar, .tar.gz, .tgz, .zip) is unpacked first. */
int code_store(struct lake *l, const char *directory, struct code *out, struct err *e);

#endif
