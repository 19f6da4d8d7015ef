/* driver: the functions of an execution driver: how directories get to a machine and how the agent
 * is called there. Included by src/exec only. */
#ifndef EXEC_DRIVER_H
#define EXEC_DRIVER_H

#include "base/buf.h"
#include "base/err.h"
#include "exec/child.h"
#include "exec/exec.h"

/* One call of the agent: "VERB root/ID WORD ...". */
#define EXEC_WORDS_MAX 3
struct exec_call {
    const char *verb;
    int64_t id; /* 0: root itself */
    const char *words[EXEC_WORDS_MAX];
};

struct exec_driver {
    const char *name;
    /* Optional, as exec_answers says: NULL if there is nothing in between. */
    int (*answers)(const struct exec_host *h, struct err *e);
    /* As exec_succeeds; NULL where nothing is in between, either. */
    int (*succeeds)(const struct exec_host *h, const char *command, struct err *e);
    /* As exec_prepare, exec_send and exec_collect say; the last two are NULL where directories are
     * in place already. */
    int (*prepare)(const struct exec_host *h, struct err *e);
    int (*send)(const struct exec_host *h, int64_t id, const char *local_dir, struct err *e);
    int (*collect)(const struct exec_host *h,
                   int64_t id,
                   const char *part,
                   const char *local_dir,
                   struct err *e);
    /* Adds the command line that makes this call of the agent of h. */
    int (*agent_command)(const struct exec_host *h,
                         const struct exec_call *call,
                         struct words *out,
                         struct err *e);
    /* Why a command that did not come to its end did not: how to get there failed, not what ran
     * there. Returns -1 and says it in e. */
    int (*explain)(const struct exec_host *h, int code, const char *said, struct err *e);
};

extern const struct exec_driver exec_ssh;

/* ---- transfer.c ---- */

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
