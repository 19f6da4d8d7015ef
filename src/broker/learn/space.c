#include "broker/learn/space.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/number.h"
#include "broker/learn/template.h"
#include "lake/job/job.h"
#include "lake/job/job_args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers that a double holds exactly. */
#define WHOLE_MAX 9007199254740992.0
/* Draws for each trial that is wanted, before a space counts as exhausted. */
#define DRAWS_PER_TRIAL 200

/* before[0] param[0] before[1] param[1] ... after */
struct space_word {
    const char **before;
    size_t *params;
    size_t n, cap_before, cap_params;
    const char *after;
};

void space_free(struct space *s)
{
    if (s)
        arena_free(s->arena);
}

void space_trials_clear(struct space_trials *t)
{
    arena_free(t->arena);
    *t = (struct space_trials){0};
}

/* ---- values ---- */

static void add_value(struct arena *a, struct space_param *p, const char *text, size_t n)
{
    p->values = arena_room(a, p->values, p->n, &p->cap, sizeof *p->values);
    p->values[p->n++] = arena_dup_n(a, text, n);
}

/* Commas separate; \, \{ and \} are signs of a value. */
static void read_list(struct arena *a, struct space_param *p, const char *text, size_t n)
{
    AUTO_CLEAR(buf) struct buf item;

    buf_init(&item, LAKE_JOB_TEXT_MAX);
    p->kind = SPACE_LIST;
    for (size_t i = 0; i <= n; i++) {
        if (i == n || text[i] == ',') {
            add_value(a, p, buf_str(&item), item.len);
            buf_clear(&item);
            buf_init(&item, LAKE_JOB_TEXT_MAX);
            continue;
        }
        i += text[i] == '\\' && i + 1 < n && strchr(",{}", text[i + 1]);
        buf_add(&item, &text[i], 1);
    }
}

static bool is_whole(double v)
{
    return floor(v) == v && fabs(v) < WHOLE_MAX;
}

/* "2..8": true unless the text has another form. */
static bool read_range(const char *text, struct space_param *p)
{
    const char *end;
    double count = 0;

    p->is_log = strncmp(text, "log:", 4) == 0;
    text += p->is_log ? 4 : 0;
    const char *dots = strstr(text, "..");
    if (!dots)
        return false;
    /* "2..8": the number must not take the first dot, as in "2.". */
    AUTO_MEM char *low = mem_printf("%.*s", (int)(dots - text), text);
    if (!number_parse(low, &p->low) || !number_prefix(dots + 2, &end, &p->high))
        return false;
    if (*end == '/' && (!number_parse(end + 1, &count) || count < 2 || !is_whole(count) ||
                        count > SPACE_TRIALS_MAX))
        return false;
    if (*end && *end != '/')
        return false;
    p->count = (size_t)count;
    bool is_integer =
        strcspn(low, ".eE") == strlen(low) && strcspn(dots + 2, ".eE/") == strlen(dots + 2);
    p->kind = is_integer && !p->is_log ? SPACE_INTEGERS : SPACE_REALS;
    return true;
}

static int check_range(const struct space_param *p, const char *text, struct err *e)
{
    if (!(p->low < p->high))
        return err_set(e, ERR_USAGE, "%s=%.100s: the first number must be the lower one", p->name,
                       text);
    if (p->is_log && !(p->low > 0))
        return err_set(e, ERR_USAGE, "%s=%.100s: a log range must be above 0", p->name, text);
    if (p->kind == SPACE_INTEGERS && (!is_whole(p->low) || !is_whole(p->high)))
        return err_set(e, ERR_USAGE, "%s=%.100s: these numbers are too large", p->name, text);
    return 0;
}

static int read_values(struct arena *a, struct space_param *p, const char *text, struct err *e)
{
    if (read_range(text, p))
        return check_range(p, text, e);
    if (strncmp(text, "log:", 4) == 0)
        return err_set(e, ERR_USAGE, "%s=%.100s: write a range as log:1e-5..1e-1", p->name, text);
    p->is_log = false;
    read_list(a, p, text, strlen(text));
    return 0;
}

static struct space *space_begin(void)
{
    struct arena *a = arena_new(SIZE_MAX);
    struct space *s = arena_zero(a, 1, sizeof *s);

    s->arena = a;
    return s;
}

static struct space_param *add_param(
    struct space *s, const char *name, size_t len, bool is_named, struct err *e)
{
    if (s->n == SPACE_PARAMS_MAX) {
        err_set(e, ERR_USAGE, "a sweep has at most %d parameters", SPACE_PARAMS_MAX);
        return NULL;
    }
    for (size_t i = 0; is_named && i < s->n; i++)
        if (s->params[i].is_named && strlen(s->params[i].name) == len &&
            strncmp(s->params[i].name, name, len) == 0) {
            err_set(e, ERR_USAGE, "parameter %.*s has values twice", (int)len, name);
            return NULL;
        }
    s->params = arena_room(s->arena, s->params, s->n, &s->cap, sizeof *s->params);
    s->params[s->n] =
        (struct space_param){.name = arena_dup_n(s->arena, name, len), .is_named = is_named};
    return &s->params[s->n++];
}

/* ---- --param ---- */

struct space *space_of_params(const char *const *texts, size_t n, struct err *e)
{
    AUTO(space) struct space *s = space_begin();

    for (size_t i = 0; i < n; i++) {
        size_t name = template_name_bytes(texts[i], strlen(texts[i]));
        if (!name) {
            err_set(e, ERR_USAGE, "\"%.60s\" is not NAME=VALUES, as in LR=0.1,0.2 or layers=2..8",
                    texts[i]);
            return NULL;
        }
        struct space_param *p = add_param(s, texts[i], name, true, e);
        if (!p || read_values(s->arena, p, texts[i] + name + 1, e) < 0)
            return NULL;
    }
    return TAKE(s);
}

/* ---- a command ---- */

/* Where the braces that begin at text end: behind "}"; NULL = they are no parameter. */
static const char *braces_end(const char *text, size_t *name_out)
{
    size_t commas = 0, equals = 0;
    const char *p = text + 1;

    for (; *p && *p != '{' && *p != '}'; p++) {
        if (*p == '\\' && p[1] && strchr(",{}", p[1])) {
            p++;
            continue;
        }
        commas += *p == ',';
        equals += *p == '=';
    }
    if (*p != '}' || template_is_code(text + 1, p))
        return NULL;
    size_t name = equals == 1 ? template_name_bytes(text + 1, (size_t)(p - text - 1)) : 0;
    struct space_param range;
    AUTO_MEM char *values =
        mem_printf("%.*s", (int)(p - text - 2 - (ptrdiff_t)name), text + 2 + name);
    bool is_range = name && (read_range(values, &range) || strncmp(values, "log:", 4) == 0);
    *name_out = commas || is_range ? name : 0;
    return commas || is_range ? p + 1 : NULL;
}

static int read_braces(struct space *s,
                       struct space_word *w,
                       const char *text,
                       const char *end,
                       size_t name,
                       struct err *e)
{
    struct space_param *p = add_param(s, text + 1, name, name > 0, e);

    if (!p)
        return -1;
    w->params = arena_room(s->arena, w->params, w->n - 1, &w->cap_params, sizeof *w->params);
    w->params[w->n - 1] = s->n - 1;
    const char *from = text + 1 + (name ? name + 1 : 0);
    if (!name) {
        read_list(s->arena, p, from, (size_t)(end - 1 - from));
        return 0;
    }
    AUTO_MEM char *values = mem_printf("%.*s", (int)(end - 1 - from), from);
    return read_values(s->arena, p, values, e);
}

static int read_word(struct space *s, struct space_word *w, const char *text, struct err *e)
{
    AUTO_CLEAR(buf) struct buf literal;
    size_t name = 0;

    buf_init(&literal, LAKE_JOB_TEXT_MAX);
    for (const char *p = text; *p;) {
        const char *end = *p == '{' ? braces_end(p, &name) : NULL;
        if (!end) {
            p += *p == '\\' && p[1] == '{';
            buf_add(&literal, p++, 1);
            continue;
        }
        w->before = arena_room(s->arena, w->before, w->n, &w->cap_before, sizeof *w->before);
        w->before[w->n++] = arena_dup(s->arena, buf_str(&literal));
        if (read_braces(s, w, p, end, name, e) < 0)
            return -1;
        buf_clear(&literal);
        buf_init(&literal, LAKE_JOB_TEXT_MAX);
        p = end;
    }
    w->after = arena_dup(s->arena, buf_str(&literal));
    return 0;
}

char **space_command(const struct space *s, const char *const *row)
{
    char **words = mem_zero(s->n_words + 1, sizeof *words);

    for (size_t i = 0; i < s->n_words; i++) {
        const struct space_word *w = &s->words[i];
        AUTO_CLEAR(buf) struct buf b;
        buf_init(&b, LAKE_JOB_TEXT_MAX);
        for (size_t k = 0; k < w->n; k++) {
            buf_puts(&b, w->before[k]);
            buf_puts(&b, row[w->params[k]]);
        }
        buf_puts(&b, w->after);
        words[i] = mem_dup(buf_str(&b));
    }
    return words;
}

/* ---- names of plain lists ---- */

struct naming {
    struct space *s;
    char **command; /* with the first values */
};

static int name_list(void *context, const struct meta_pair *pair, struct err *e)
{
    struct naming *n = context;
    struct space *s = n->s;

    (void)e;
    for (size_t i = 0; pair->value && i < s->n_words; i++) {
        const struct space_word *w = &s->words[i];
        uintptr_t at = (uintptr_t)pair->value, begin = (uintptr_t)n->command[i];
        if (w->n != 1 || at < begin || at > begin + strlen(n->command[i]) ||
            s->params[w->params[0]].is_named || strlen(w->before[0]) < at - begin)
            continue;
        s->params[w->params[0]].name = arena_dup(s->arena, pair->key);
    }
    return 0;
}

static const char *first_value(const struct space_param *p)
{
    return p->kind == SPACE_LIST ? p->values[0] : "1";
}

static int name_lists(struct space *s, struct err *e)
{
    AUTO_MEM const char **row = mem_zero(s->n + 1, sizeof *row);

    for (size_t i = 0; i < s->n; i++)
        row[i] = first_value(&s->params[i]);
    struct naming n = {s, space_command(s, row)};
    int result = lake_job_args_each((const char *const *)n.command, s->n_words, name_list, &n, e);
    for (size_t i = 0; i < s->n_words; i++)
        free(n.command[i]);
    free(n.command);
    return result;
}

struct space *space_of_command(const char *const *words, size_t n, struct err *e)
{
    AUTO(space) struct space *s = space_begin();

    if (template_check_words(words, n, e) < 0)
        return NULL;
    s->words = arena_zero(s->arena, n, sizeof *s->words);
    s->n_words = n;
    for (size_t i = 0; i < n; i++)
        if (read_word(s, &s->words[i], words[i], e) < 0)
            return NULL;
    return name_lists(s, e) < 0 ? NULL : TAKE(s);
}

/* ---- grid ---- */

static const char *number_value(struct arena *a, double v)
{
    return arena_printf(a, "%.6g", v);
}

static double between(const struct space_param *p, double at)
{
    if (at <= 0 || at >= 1)
        return at <= 0 ? p->low : p->high;
    return p->is_log ? exp(log(p->low) + at * (log(p->high) - log(p->low)))
                     : p->low + at * (p->high - p->low);
}

/* The ends and the powers of ten between them. */
static void put_decades(struct arena *a, const struct space_param *p, struct space_param *out)
{
    const char *text = number_value(a, p->low);

    add_value(a, out, text, strlen(text));
    for (double k = floor(log10(p->low)) - 1; k <= log10(p->high) + 1; k++) {
        double v = pow(10, k);
        if (v <= p->low * (1 + 1e-9) || v >= p->high * (1 - 1e-9))
            continue;
        text = number_value(a, v);
        add_value(a, out, text, strlen(text));
    }
    text = number_value(a, p->high);
    add_value(a, out, text, strlen(text));
}

/* The values of a parameter in a grid; those of a list are its own. */
static int grid_values(struct arena *a,
                       const struct space_param *p,
                       struct space_param *out,
                       struct err *e)
{
    *out = *p;
    if (p->kind == SPACE_LIST)
        return 0;
    if (p->kind == SPACE_INTEGERS) {
        if (p->high - p->low >= SPACE_TRIALS_MAX)
            return err_set(e, ERR_USAGE,
                           "%s: %.0f..%.0f are more than %d values; use --search random", p->name,
                           p->low, p->high, SPACE_TRIALS_MAX);
        for (double v = p->low; v <= p->high; v++) {
            const char *text = arena_printf(a, "%.0f", v);
            add_value(a, out, text, strlen(text));
        }
        return 0;
    }
    if (p->is_log && !p->count) {
        put_decades(a, p, out);
        return 0;
    }
    if (!p->count)
        return err_set(e, ERR_USAGE,
                       "%s: a grid needs the number of values: write %s=%g..%g/5, or use --search "
                       "random",
                       p->name, p->name, p->low, p->high);
    for (size_t i = 0; i < p->count; i++) {
        const char *text = number_value(a, between(p, (double)i / (double)(p->count - 1)));
        add_value(a, out, text, strlen(text));
    }
    return 0;
}

static int too_many(struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "the parameters make more than %d combinations: leave some values out, or use "
                   "--search random",
                   SPACE_TRIALS_MAX);
}

/* ---- each once ---- */

struct rows {
    const struct space *s;
    struct space_trials *out;
    struct map *seen;
    size_t cap;
};

static bool same_row(const void *things, uint32_t number, const void *key)
{
    const struct rows *r = things;
    const char *const *a = (const char *const *)key;

    for (size_t i = 0; i < r->s->n; i++)
        if (strcmp(a[i], r->out->rows[number][i]) != 0)
            return false;
    return true;
}

/* Adds the row unless it is there already. Whether it was added. */
static bool add_row(struct rows *r, const char **row)
{
    AUTO_CLEAR(buf) struct buf all;

    buf_init(&all, SIZE_MAX / 2);
    for (size_t i = 0; i < r->s->n; i++)
        buf_add(&all, row[i], strlen(row[i]) + 1);
    uint64_t hash = hash_xxh3(buf_str(&all), all.len);
    if (map_find(r->seen, hash, same_row, r, row) != MAP_NONE)
        return false;
    struct space_trials *t = r->out;
    t->rows = arena_room(t->arena, t->rows, t->n, &r->cap, sizeof *t->rows);
    t->rows[t->n] = arena_zero(t->arena, r->s->n + 1, sizeof **t->rows);
    for (size_t i = 0; i < r->s->n; i++)
        t->rows[t->n][i] = arena_dup(t->arena, row[i]);
    map_add(r->seen, hash, (uint32_t)t->n++);
    return true;
}

int space_grid(const struct space *s, struct space_trials *out, struct err *e)
{
    AUTO(arena) struct arena *a = arena_new(SIZE_MAX);
    AUTO(map) struct map *seen = map_new();
    struct space_param *params = arena_zero(a, s->n + 1, sizeof *params);
    const char **row = arena_zero(a, s->n + 1, sizeof *row);
    struct rows r = {.s = s, .out = out, .seen = seen};
    size_t all = 1;

    *out = (struct space_trials){.arena = arena_new(SIZE_MAX)};
    for (size_t i = 0; i < s->n; i++) {
        if (grid_values(a, &s->params[i], &params[i], e) < 0)
            return -1;
        all *= params[i].n;
        if (all > SPACE_TRIALS_MAX)
            return too_many(e);
    }
    for (size_t k = 0; k < all; k++) {
        size_t left = k;
        for (size_t i = s->n; i-- > 0;) {
            row[i] = params[i].values[left % params[i].n];
            left /= params[i].n;
        }
        add_row(&r, row);
    }
    return 0;
}

/* ---- random ---- */

/* SplitMix64: the same numbers on every machine. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* In [0, 1). */
static double next_unit(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

static const char *draw(struct arena *a, const struct space_param *p, uint64_t *state)
{
    double at = next_unit(state);

    if (p->kind == SPACE_LIST)
        return p->values[(size_t)(at * (double)p->n)];
    if (p->kind == SPACE_INTEGERS)
        return arena_printf(a, "%.0f", p->low + floor(at * (p->high - p->low + 1)));
    if (p->count)
        return number_value(a, between(p, floor(at * (double)p->count) / (double)(p->count - 1)));
    return number_value(a, between(p, at));
}

/* Number of combinations; infinite where a range holds any number. */
static double combinations(const struct space *s)
{
    double all = 1;

    for (size_t i = 0; i < s->n; i++) {
        const struct space_param *p = &s->params[i];
        all *= p->kind == SPACE_LIST       ? (double)p->n
               : p->kind == SPACE_INTEGERS ? p->high - p->low + 1
               : p->count                  ? (double)p->count
                                           : HUGE_VAL;
    }
    return all;
}

int space_random(
    const struct space *s, size_t wanted, uint64_t seed, struct space_trials *out, struct err *e)
{
    AUTO(map) struct map *seen = map_new();
    AUTO_MEM const char **row = mem_zero(s->n + 1, sizeof *row);
    struct rows r = {.s = s, .out = out, .seen = seen};
    double all = combinations(s);
    uint64_t state = seed;

    *out = (struct space_trials){.arena = arena_new(SIZE_MAX)};
    if (!wanted && isfinite(all) && all > SPACE_TRIALS_MAX)
        return err_set(e, ERR_USAGE,
                       "the parameters make more than %d combinations: say how many with --trials",
                       SPACE_TRIALS_MAX);
    if (!wanted)
        wanted = isfinite(all) ? (size_t)all : SPACE_TRIALS_DEFAULT;
    for (size_t k = 0; out->n < wanted && k < wanted * DRAWS_PER_TRIAL; k++) {
        AUTO(arena) struct arena *a = arena_new(SIZE_MAX);
        for (size_t i = 0; i < s->n; i++)
            row[i] = draw(a, &s->params[i], &state);
        add_row(&r, row);
    }
    return 0;
}
