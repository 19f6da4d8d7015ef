#include "exec/statefile.h"

#include "base/number.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const causes[] = {
    [STATE_EXIT] = "exit",           [STATE_SIGNAL] = "signal", [STATE_STOPPED] = "stopped",
    [STATE_TIME] = "time",           [STATE_MEMORY] = "memory", [STATE_NO_START] = "no-start",
    [STATE_PREEMPTED] = "preempted",
};
static const char *const kinds[] = {
    [STATE_STARTED] = "started", [STATE_SAMPLE] = "sample",   [STATE_NOTICE] = "notice",
    [STATE_USED] = "used",       [STATE_LEARNED] = "learned", [STATE_ENDED] = "ended",
};

const char *state_line_text(const struct state_line *s, char out[static STATE_LINE_MAX])
{
    size_t room = STATE_LINE_MAX - 1; /* the newline */
    int n = 0;

    switch (s->kind) {
    case STATE_STARTED:
        n = snprintf(out, room, "%" PRId64 " started pid=%" PRId64 " limits=%s", s->at_ms, s->pid,
                     s->text);
        break;
    case STATE_SAMPLE:
        n = snprintf(out, room,
                     "%" PRId64 " sample cpu_s=%.2f memory_mb=%.1f received=%" PRIu64
                     " sent=%" PRIu64 " log=%" PRIu64 " gpu=%.0f",
                     s->at_ms, s->cpu_s, s->memory_mb, s->received, s->sent, s->log_bytes,
                     s->gpu_percent);
        break;
    case STATE_NOTICE:
        n = snprintf(out, room, "%" PRId64 " notice until=%" PRId64 " text=%s", s->at_ms,
                     s->until_ms, s->text);
        break;
    case STATE_USED:
        n = snprintf(out, room, "%" PRId64 " used text=%s", s->at_ms, s->text);
        break;
    case STATE_LEARNED:
        n = snprintf(out, room, "%" PRId64 " learned files=%" PRIu64 " text=%s", s->at_ms, s->files,
                     s->text);
        break;
    case STATE_ENDED:
        n = snprintf(out, room,
                     "%" PRId64
                     " ended code=%d runtime_s=%.3f cpu_s=%.2f peak_mb=%.1f received=%" PRIu64
                     " sent=%" PRIu64 " log=%" PRIu64 " cause=%s text=%s",
                     s->at_ms, s->code, s->runtime_s, s->cpu_s, s->memory_mb, s->received, s->sent,
                     s->log_bytes, causes[s->cause], s->text);
        break;
    }
    size_t len = n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)out[i] < ' ')
            out[i] = ' '; /* a line stays one line */
    memcpy(out + len, "\n", 2);
    return out;
}

static bool read_i64(const char *value, int64_t *out)
{
    const char *digits = value + (*value == '-');
    uint64_t n = 0;

    if (!*digits)
        return false;
    for (; *digits; digits++) {
        if (*digits < '0' || *digits > '9')
            return false;
        n = n * 10 + (uint64_t)(*digits - '0');
        if (n > INT64_MAX / 10)
            return false;
    }
    *out = *value == '-' ? -(int64_t)n : (int64_t)n;
    return true;
}

static bool read_cause(const char *value, enum state_cause *out)
{
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (!strcmp(value, causes[i])) {
            *out = (enum state_cause)i;
            return true;
        }
    return false;
}

/* Words that stand for one number each. */
static const struct {
    const char *word;
    size_t at;
    enum { REAL, WHOLE, COUNT } is; /* WHOLE may be negative */
} numbers[] = {
    {"pid", offsetof(struct state_line, pid), WHOLE},
    {"cpu_s", offsetof(struct state_line, cpu_s), REAL},
    {"memory_mb", offsetof(struct state_line, memory_mb), REAL},
    {"peak_mb", offsetof(struct state_line, memory_mb), REAL},
    {"received", offsetof(struct state_line, received), COUNT},
    {"sent", offsetof(struct state_line, sent), COUNT},
    {"log", offsetof(struct state_line, log_bytes), COUNT},
    {"files", offsetof(struct state_line, files), COUNT},
    {"gpu", offsetof(struct state_line, gpu_percent), REAL},
    {"until", offsetof(struct state_line, until_ms), COUNT},
    {"runtime_s", offsetof(struct state_line, runtime_s), REAL},
};

/* A word and its value; words that are not known come from a later version. */
static bool read_word(const char *word, const char *value, struct state_line *s)
{
    int64_t n;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        void *at = (char *)s + numbers[i].at;
        if (strcmp(word, numbers[i].word) != 0)
            continue;
        if (numbers[i].is == REAL)
            return number_parse(value, at);
        return read_i64(value, at) && (numbers[i].is == WHOLE || *(int64_t *)at >= 0);
    }
    if (!strcmp(word, "code")) {
        bool good = read_i64(value, &n) && n >= 0 && n <= 255;
        s->code = good ? (int)n : -1;
        return good;
    }
    return strcmp(word, "cause") != 0 || read_cause(value, &s->cause);
}

static int bad(struct err *e, const char *line)
{
    return err_set(e, ERR_IO, "'%.100s' is not a line of a state file", line);
}

/* "word=value" one after the other; limits and text take the rest. */
static bool read_words(char *at, struct state_line *s)
{
    while (*at) {
        char *equals = strchr(at, '=');
        if (!equals)
            return false;
        *equals = 0;
        if (!strcmp(at, "text") || !strcmp(at, "limits")) {
            snprintf(s->text, sizeof s->text, "%s", equals + 1);
            return true;
        }
        char *space = strchr(equals + 1, ' ');
        if (space)
            *space = 0;
        if (!read_word(at, equals + 1, s))
            return false;
        at = space ? space + 1 : equals + 1 + strlen(equals + 1);
    }
    return true;
}

static bool read_kind(const char *word, enum state_kind *out)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(word, kinds[i])) {
            *out = (enum state_kind)i;
            return true;
        }
    return false;
}

int state_line_parse(const char *line, struct state_line *out, struct err *e)
{
    char copy[STATE_LINE_MAX];
    struct state_line s = {.gpu_percent = -1, .code = -1};

    if (strlen(line) >= sizeof copy)
        return bad(e, line);
    memcpy(copy, line, strlen(line) + 1);
    char *kind = strchr(copy, ' ');
    char *words = kind ? strchr(kind + 1, ' ') : NULL;
    if (!words)
        return bad(e, line);
    *kind++ = 0;
    *words++ = 0;
    if (!read_i64(copy, &s.at_ms) || !read_kind(kind, &s.kind) || !read_words(words, &s))
        return bad(e, line);
    if (s.kind == STATE_ENDED && s.code < 0)
        return bad(e, line);
    if (s.kind != STATE_ENDED)
        s.code = 0;
    *out = s;
    return 0;
}
