/* transfer: a directory as a stream of tar, from here to a command and back. */
#ifndef EXEC_TRANSFER_H
#define EXEC_TRANSFER_H

#include "base/buf.h"
#include "base/err.h"

/* tar of dir goes to the stdin of argv. *code_out and said are of argv; a failure of the tar here
 * is an error. excluded_fd: what stays, a "./PATH" a line; -1 = nothing does. */
int transfer_out(const char *dir,
                 int excluded_fd,
                 char *const *argv,
                 struct buf *said,
                 int *code_out,
                 struct err *e);
/* What argv writes, the directory `part`, is unpacked in dir, which is there and empty. Links that
 * lead out of part, devices and the like are left out, and said in a warning. */
int transfer_in(char *const *argv,
                const char *dir,
                const char *part,
                struct buf *said,
                int *code_out,
                struct err *e);

#endif
