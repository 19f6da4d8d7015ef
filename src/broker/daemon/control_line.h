/* control_line: the lines that clients send to the broker's control socket (control_socket.h). */
#ifndef BROKER_DAEMON_CONTROL_LINE_H
#define BROKER_DAEMON_CONTROL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_LINE_MAX 128

/* Moves the first whole line of these *len bytes to out, without its newline. False: there is none
 * yet. *len <= CONTROL_LINE_MAX. */
bool control_line_cut(char *bytes, size_t *len, char out[static CONTROL_LINE_MAX]);

enum control_line_kind {
    CONTROL_LINE_NONE, /* no line of the protocol */
    CONTROL_LINE_WAKE,
    CONTROL_LINE_RETIRE,
    CONTROL_LINE_WAIT, /* for *job_out, above 0 */
};
enum control_line_kind control_line_parse(const char *line, int64_t *job_out);

#endif
