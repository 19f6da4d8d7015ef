/* start: makes the process that becomes a job's command, in a session of its own, waiting until it
 * is let go. */
#ifndef EXEC_AGENT_START_H
#define EXEC_AGENT_START_H

#include "base/err.h"
#include "exec/agent/jobdir.h"
#include "exec/jobfile.h"

#include <sys/types.h>

struct started {
    pid_t pid;
    int output_fd; /* what it prints; does not block */
    int go_fd;     /* closed without a byte: it ends instead */
    int error_fd;  /* says why it could not become the command */
    char **env;
};

/* Makes work/, output/, checkpoint/ and input/ where missing. */
int start_prepare(const struct jobdir *d,
                  const struct jobfile *job,
                  struct started *s,
                  struct err *e);
/* Lets it become the command. ERR_NOTFOUND and so on when it could not. */
int start_go(struct started *s, const struct jobfile *job, struct err *e);
void start_clear(struct started *s);

/* Of an environment as above; NULL when it is not there. */
const char *env_get(char *const *env, const char *name);

#endif
