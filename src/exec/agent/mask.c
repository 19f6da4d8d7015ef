#include "exec/agent/mask.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *value_of(const struct jobfile *job, const char *name)
{
    size_t len = strlen(name);
    const char *value = NULL;

    for (size_t i = 0; i < job->n_env; i++)
        if (!strncmp(job->env[i], name, len) && job->env[i][len] == '=')
            value = job->env[i] + len + 1;
    return value;
}

void mask_init(struct mask *m, const struct jobfile *job)
{
    *m = (struct mask){0};
    if (!job->n_secrets)
        return;
    m->values = mem_zero(job->n_secrets, sizeof *m->values);
    for (size_t i = 0; i < job->n_secrets; i++) {
        const char *value = value_of(job, job->secrets[i]);
        size_t len = value ? strlen(value) : 0;
        if (len < MASK_LEAST)
            continue;
        m->values[m->n++] = value;
        m->longest = len > m->longest ? len : m->longest;
    }
}

void mask_clear(struct mask *m)
{
    free(m->values);
    free(m->seen);
    free(m->out);
    *m = (struct mask){0};
}

/* Stars over every value; where the last of them ends. */
static size_t cover(struct mask *m, size_t n)
{
    size_t last = 0;

    for (size_t i = 0; i < m->n; i++) {
        size_t len = strlen(m->values[i]);
        for (const char *at = m->seen;
             (at = memmem(at, n - (size_t)(at - m->seen), m->values[i], len)); at++) {
            size_t from = (size_t)(at - m->seen);
            memset(m->out + from, '*', len);
            last = from + len > last ? from + len : last;
        }
    }
    return last;
}

/* How many bytes at the end begin a value that has not come whole yet. */
static size_t unfinished(const struct mask *m, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < m->n; i++) {
        size_t len = strlen(m->values[i]);
        for (size_t k = len - 1 < n ? len - 1 : n; k > most; k--)
            if (!memcmp(m->seen + n - k, m->values[i], k)) {
                most = k;
                break;
            }
    }
    return most;
}

size_t mask_take(struct mask *m, const char *bytes, size_t n, const char **out_out)
{
    size_t total = m->held + n;

    if (!m->n) {
        *out_out = bytes;
        return n;
    }
    if (total > m->cap) {
        m->cap = total;
        m->seen = mem_grow(m->seen, m->cap, 1);
        m->out = mem_grow(m->out, m->cap, 1);
    }
    memcpy(m->seen + m->held, bytes, n);
    memcpy(m->out, m->seen, total);
    size_t covered = cover(m, total);
    size_t hold = unfinished(m, total);
    if (hold > total - covered)
        hold = total - covered; /* what has its star is done */
    m->held = hold;
    memmove(m->seen, m->seen + total - hold, hold);
    *out_out = m->out;
    return total - hold;
}

size_t mask_rest(struct mask *m, const char **out_out)
{
    size_t n = m->held;

    m->held = 0;
    *out_out = m->seen;
    return n;
}
