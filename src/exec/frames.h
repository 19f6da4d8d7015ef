/* frames: how an agent tells its job's state and log over a pipe: "S 123\n" and 123 bytes that were
 * added to the file `state`, "L 123\n" and 123 bytes that were added to `log`, in the order of the
 * files each; "E 0\n" when the job is over and everything was told. The log comes first: who reads
 * that the job ended has all of its log. base alone. */
#ifndef EXEC_FRAMES_H
#define EXEC_FRAMES_H

#include "base/auto.h"
#include "base/err.h"

#include <stddef.h>

#define FRAME_BYTES_MAX ((size_t)64 << 10)

/* The agent's exit code when no agent lives there and the job never told its end. */
#define AGENT_EXIT_GONE 10

enum frame_kind { FRAME_STATE = 'S', FRAME_LOG = 'L', FRAME_END = 'E' };

/* Takes bytes as they come, in any pieces. */
struct frames;
struct frames *frames_new(void);
void frames_free(struct frames *f);
AUTO_DEFINE(frames)
typedef int frame_visit(
    void *context, enum frame_kind kind, const char *bytes, size_t n, struct err *e);
/* Calls visit for the bytes of each frame, as soon as some of them are there (a frame may come in
 * several calls); FRAME_END once, with n = 0. ERR_IO for anything that is no frame. */
int frames_take(struct frames *f,
                const void *bytes,
                size_t n,
                frame_visit *visit,
                void *context,
                struct err *e);
/* One whole frame to fd. -1 with errno. n <= FRAME_BYTES_MAX. */
int frames_write(int fd, enum frame_kind kind, const void *bytes, size_t n);

#endif
