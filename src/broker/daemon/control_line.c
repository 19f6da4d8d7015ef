#include "broker/daemon/control_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool control_line_cut(char *bytes, size_t *len, char out[static CONTROL_LINE_MAX])
{
    const char *end = memchr(bytes, '\n', *len);
    size_t n = end ? (size_t)(end - bytes) : 0;

    if (!end)
        return false;
    memcpy(out, bytes, n);
    out[n] = '\0';
    *len -= n + 1;
    memmove(bytes, end + 1, *len);
    return true;
}

static bool job_number(const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *out > 0;
}

enum control_line_kind control_line_parse(const char *line, int64_t *job_out)
{
    if (!strcmp(line, "wake"))
        return CONTROL_LINE_WAKE;
    if (!strcmp(line, "retire"))
        return CONTROL_LINE_RETIRE;
    if (!strncmp(line, "wait ", 5) && job_number(line + 5, job_out))
        return CONTROL_LINE_WAIT;
    return CONTROL_LINE_NONE;
}
