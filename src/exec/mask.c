#include "exec/mask.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* This number of lines of values is looked for: each costs a search of all that is printed. */
#define LINES_MAX 1000
#define COVER "***"

_Static_assert(sizeof COVER - 1 <= MASK_LEAST, "what is masked never grows");

struct mask_value {
    const char *bytes;
    size_t n;
};

static const char *value_of(const struct jobfile *job, const char *name)
{
    size_t len = strlen(name);
    const char *value = NULL;

    for (size_t i = 0; i < job->n_env; i++)
        if (!strncmp(job->env[i], name, len) && job->env[i][len] == '=')
            value = job->env[i] + len + 1;
    return value;
}

static void add(struct mask *m, const char *bytes, size_t n)
{
    if (n < MASK_LEAST)
        return;
    m->values = mem_room(m->values, m->n, &m->cap_values, sizeof *m->values);
    m->values[m->n++] = (struct mask_value){bytes, n};
}

/* A key of several lines may be printed with something before each of them. */
static void add_lines(struct mask *m, const char *value, size_t *left)
{
    while (*value && *left) {
        size_t n = strcspn(value, "\r\n");
        if (n >= MASK_LEAST) {
            add(m, value, n);
            --*left;
        }
        value += n + (value[n] != '\0');
    }
}

void mask_init(struct mask *m, const struct jobfile *job)
{
    size_t lines_left = LINES_MAX;

    *m = (struct mask){0};
    for (size_t i = 0; i < job->n_secrets; i++) {
        const char *value = value_of(job, job->secrets[i]);
        if (!value)
            continue;
        add(m, value, strlen(value));
        if (value[strcspn(value, "\r\n")])
            add_lines(m, value, &lines_left);
    }
}

void mask_clear(struct mask *m)
{
    free(m->values);
    free(m->seen);
    free(m->out);
    *m = (struct mask){0};
}

/* Marks in out the bytes of every value that is seen. */
static void mark(struct mask *m, size_t n)
{
    memset(m->out, 0, n);
    memset(m->out, 1, m->n_marked);
    for (size_t i = 0; i < m->n; i++) {
        const struct mask_value *v = &m->values[i];
        for (const char *at = m->seen;
             (at = memmem(at, n - (size_t)(at - m->seen), v->bytes, v->n)); at++)
            memset(m->out + (at - m->seen), 1, v->n);
    }
}

/* Puts what is seen, and the cover for what is marked, where the marks were. Marks that continue
 * those of before have their cover already; others are of a whole value, of which at least
 * MASK_LEAST bytes are in seen, and make room for it. */
static size_t cover(struct mask *m, size_t n)
{
    size_t to = 0;

    for (size_t i = 0; i < n; i++) {
        bool has_cover = m->covered;
        m->covered = m->out[i];
        if (!m->covered) {
            m->out[to++] = m->seen[i];
            continue;
        }
        while (i + 1 < n && m->out[i + 1])
            i++;
        if (has_cover)
            continue;
        memcpy(m->out + to, COVER, sizeof COVER - 1);
        to += sizeof COVER - 1;
    }
    return to;
}

/* Number of marked bytes from this one on that belong to a value which began before it. */
static size_t count_marked(const struct mask *m, size_t from, size_t n)
{
    size_t at = from;

    if (from ? m->out[from - 1] : m->covered)
        while (at < n && m->out[at])
            at++;
    return at - from;
}

/* How many bytes at the end begin a value that has not come whole yet. */
static size_t unfinished(const struct mask *m, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < m->n; i++) {
        const struct mask_value *v = &m->values[i];
        for (size_t k = v->n - 1 < n ? v->n - 1 : n; k > most; k--)
            if (!memcmp(m->seen + n - k, v->bytes, k)) {
                most = k;
                break;
            }
    }
    return most;
}

size_t mask_take(struct mask *m, const char *bytes, size_t n, const char **out_out)
{
    size_t total = m->held + n;

    if (!m->n || !n) {
        *out_out = bytes;
        return n;
    }
    if (total > m->cap) {
        m->cap = total;
        m->seen = mem_grow(m->seen, m->cap, 1);
        m->out = mem_grow(m->out, m->cap, 1);
    }
    memcpy(m->seen + m->held, bytes, n);
    mark(m, total);
    size_t done = total - unfinished(m, total);
    m->n_marked = count_marked(m, done, total);
    size_t written = cover(m, done);
    m->held = total - done;
    memmove(m->seen, m->seen + done, m->held);
    *out_out = m->out;
    return written;
}

/* A line of a value may be whole in it. */
size_t mask_rest(struct mask *m, const char **out_out)
{
    size_t n = m->held;

    m->held = 0;
    *out_out = m->out;
    if (!n)
        return 0;
    mark(m, n);
    m->n_marked = 0;
    return cover(m, n);
}
