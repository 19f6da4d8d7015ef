/* load: pipeline texts for the tests of spec/, and tables of texts that must be refused. */
#ifndef TEST_SPEC_LOAD_H
#define TEST_SPEC_LOAD_H

#include "spec/spec.h"
#include "tap.h"

#include <math.h>
#include <string.h>

/* A text that does not load: a finding on that line says part. */
struct refused {
    const char *text;
    size_t line;
    const char *part;
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* One that must load; a failed check and exit when it does not, for nothing after it makes sense.
 */
static inline struct spec *load(const char *text)
{
    struct err e = {0};
    struct spec *s = spec_parse("test.yaml", text, strlen(text), NULL, NULL, NULL, &e);

    if (!s) {
        CHECK(false, "loads: %s", text);
        printf("# %s\n", e.text);
        exit(TAP_DONE());
    }
    return s;
}

static inline void check_refused(const struct refused *c)
{
    struct spec_finding *findings = NULL;
    struct err e = {0};
    size_t n = 0;
    bool found = false;
    struct spec *s = spec_parse("test.yaml", c->text, strlen(c->text), NULL, &findings, &n, &e);

    for (size_t i = 0; i < n; i++)
        found |= findings[i].is_error && findings[i].line == c->line &&
                 strstr(findings[i].text, c->part);
    CHECK(!s && e.kind == ERR_USAGE && found, "line %zu: %s", c->line, c->part);
    if (!found) {
        printf("# %s\n", s ? "it loads" : e.text);
        for (size_t i = 0; i < n; i++)
            printf("# %s %zu: %s\n", findings[i].is_error ? "error" : "warning", findings[i].line,
                   findings[i].text);
    }
    spec_findings_free(findings, n);
    spec_free(s);
}

static inline void check_all_refused(const struct refused *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_refused(&cases[i]);
}

static inline bool near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-12 * fabs(b);
}

static inline bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The warning on that line that says part. */
static inline bool warns(const struct spec *s, size_t line, const char *part)
{
    for (size_t i = 0; i < s->n_findings; i++)
        if (!s->findings[i].is_error && s->findings[i].line == line &&
            strstr(s->findings[i].text, part))
            return true;
    return false;
}

static inline bool guessed(const struct spec *s, const char *what, const char *value)
{
    for (size_t i = 0; i < s->guesses.n; i++)
        if (same(s->guesses.items[i].what, what) && same(s->guesses.items[i].value, value))
            return true;
    return false;
}

#endif
