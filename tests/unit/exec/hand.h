/* hand: for tests that run the real agent: directories of jobs, and streams read to their end. */
#ifndef TEST_EXEC_HAND_H
#define TEST_EXEC_HAND_H

#include "base/buf.h"
#include "exec/exec.h"
#include "exec/jobfile.h"
#include "exec/statefile.h"

/* A scratch directory with the agent of this build; removed at the end of the program. */
struct exec_host hand_host(void);
/* Writes the job file of root/ID, whose command is `sh -c script`. */
void hand_job(const struct exec_host *h, struct jobfile job, const char *script);

struct hand {
    struct buf state, log;
    int ends;
};
void hand_init(struct hand *t);
void hand_clear(struct hand *t);
int hand_hear(void *context, enum frame_kind kind, const char *bytes, size_t n, struct err *e);

/* Reads until the stream is over or broken, or so many seconds passed (EXEC_MORE). */
enum exec_more hand_read(struct exec_stream *s, struct hand *t, double seconds, struct err *e);
/* Until the log holds text. */
bool hand_wait_for(struct exec_stream *s, struct hand *t, const char *text, double seconds);
/* Starts the job and reads it to its end; the line it ended with. */
struct state_line hand_run(const struct exec_host *h, int64_t id, struct hand *t);
/* The last line of a state, of kind STATE_SAMPLE when it is none. */
struct state_line hand_last(const struct hand *t);

#endif
