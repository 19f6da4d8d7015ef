/* Answers of find, held against a plain loop over all things with conditions built beside their
 * text. */
#include "lake/meta/internal.h"
#include "scratch.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define FILES 600 /* enough that sources are counted in several rounds */
#define BATCH 100
#define VERSIONS 2
#define SETS 12
#define THINGS_MAX (FILES * VERSIONS + FILES + SETS)
#define QUESTIONS 1500
#define QUESTIONS_SLOW 300 /* under a sanitizer */

enum { MODEL, PRECISION, MIXED, DAY, GOLDEN, RARE, N_KEYS };
static const char *const key_names[N_KEYS] = {"model", "precision", "mixed",
                                              "day",   "golden",    "data/rare-1"};

/* Values with what they must mean, worked out by hand or by timegm. */
struct value {
    const char *text; /* NULL = a tag without a value */
    enum lake_value_kind kind;
    double number, until;
};

#define NUMBER(text, n)                                                                            \
    {                                                                                              \
        text, LAKE_VALUE_NUMBER, n, 0                                                              \
    }
#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, LAKE_VALUE_TEXT, 0, 0                                                                \
    }
#define TIME(text)                                                                                 \
    {                                                                                              \
        text, LAKE_VALUE_TIME, 0, 0                                                                \
    }
static struct value pool[] = {
    NUMBER("0", 0),
    NUMBER("-0", 0),
    NUMBER("0.5", 0.5),
    NUMBER("5e-1", 0.5),
    NUMBER("-1", -1),
    NUMBER("-1.25", -1.25),
    NUMBER("1", 1),
    NUMBER("1.0", 1),
    NUMBER("10", 10),
    NUMBER("9", 9),
    NUMBER("1e308", 1e308),
    NUMBER("-1e308", -1e308),
    TEXT("BERT"),
    TEXT("bert"),
    TEXT("GPT"),
    TEXT("b'; DROP TABLE meta; --"),
    TEXT("\xc3\xa4\xc3\xb6 \xe2\x82\xac"),
    TEXT(""),
    TEXT("10x"),
    TEXT("a \"b\""),
    TIME("2026-11-15"),
    TIME("2026-11-15T10:30Z"),
    TIME("2026-11-15T10:30:05Z"),
    TIME("2026-11-15T11:30:05+01:00"),
    TIME("2026-11-16"),
    TIME("1969-12-31"),
};
#define N_POOL (sizeof pool / sizeof *pool)
#define FIRST_TEXT 12
#define FIRST_TIME 20

struct thing {
    int kind; /* 0 file, 1 path, 2 set */
    char ref[64];
    int64_t create_ms, size, number;
    const char *creator;
    char name[32]; /* path or name */
    bool secret;   /* ann's alone */
    bool has[N_KEYS];
    struct value values[N_KEYS];
};
static struct thing things[THINGS_MAX];
static size_t n_things;
static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

static double at(int year, int month, int day, int hour, int minute, int second)
{
    struct tm t = {.tm_year = year - 1900,
                   .tm_mon = month - 1,
                   .tm_mday = day,
                   .tm_hour = hour,
                   .tm_min = minute,
                   .tm_sec = second};

    return (double)timegm(&t) * 1000;
}

static void set_times(void)
{
    struct value *t = pool + FIRST_TIME;

    t[0].number = at(2026, 11, 15, 0, 0, 0), t[0].until = at(2026, 11, 16, 0, 0, 0);
    t[1].number = at(2026, 11, 15, 10, 30, 0), t[1].until = at(2026, 11, 15, 10, 31, 0);
    t[2].number = at(2026, 11, 15, 10, 30, 5), t[2].until = at(2026, 11, 15, 10, 30, 6);
    t[3] = (struct value){t[3].text, LAKE_VALUE_TIME, t[2].number, t[2].until};
    t[4].number = at(2026, 11, 16, 0, 0, 0), t[4].until = at(2026, 11, 17, 0, 0, 0);
    t[5].number = at(1969, 12, 31, 0, 0, 0), t[5].until = 0;
}

/* ---- things ---- */

static struct value random_value(int key)
{
    switch (key) {
    case MODEL:
        return pool[FIRST_TEXT + dice(FIRST_TIME - FIRST_TEXT)];
    case PRECISION:
        return pool[dice(FIRST_TEXT)];
    case DAY:
        return pool[FIRST_TIME + dice(N_POOL - FIRST_TIME)];
    case GOLDEN:
        return (struct value){NULL, LAKE_VALUE_NONE, 0, 0};
    default:
        return dice(8) ? pool[dice(N_POOL)] : (struct value){NULL, LAKE_VALUE_NONE, 0, 0};
    }
}

static bool tag(struct lake *l, struct thing *t)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct err e = {0};
    char *pairs[N_KEYS];
    size_t n = 0;

    for (int k = 0; k < N_KEYS; k++) {
        if (dice(k == RARE ? 20 : 3) == 0 || (k == RARE && dice(10)))
            continue;
        t->has[k] = true;
        t->values[k] = random_value(k);
        pairs[n++] = t->values[k].text ? mem_printf("%s=%s", key_names[k], t->values[k].text)
                                       : mem_dup(key_names[k]);
    }
    bool good = lake_resolve(l, t->ref, LAKE_WRITE, &ref, &e) == 0 &&
                meta_tag_ref(l, &ref, (const char *const *)pairs, n, &e) == 0;
    if (!good)
        printf("# %s: %s\n", t->ref, e.text);
    for (size_t i = 0; i < n; i++)
        free(pairs[i]);
    return good;
}

static bool make_file(struct scratch *s, struct lake *l, int file, int number)
{
    struct thing *t = &things[n_things++];
    char text[64];
    struct version_done done = {0};
    struct err e = {0};
    struct lake_made made;

    t->creator = l->user;
    t->number = number;
    snprintf(t->name, sizeof t->name, "/d%d/f%02d", file % 3, file);
    snprintf(t->ref, sizeof t->ref, "/d%d/f%02d#%d", file % 3, file, number);
    t->size = snprintf(text, sizeof text, "%0*d", 5 + (int)dice(20), file * 10 + number);
    t->create_ms = s->now_ms;
    struct version_new v = {.path = t->name, .object = scratch_object(l, text)};
    return lake_made_new(l, l->user, &made, &e) == 0 &&
           scratch_version(l, &made, &v, &done, &e) == 0 && done.number == number;
}

/* Some files in one transaction, by one of the two. */
static bool make_batch(struct scratch *s, struct lake *l, int first, int number)
{
    struct err e = {0};
    bool good = db_begin(l->db, &e) == 0;

    for (int f = first; f < first + BATCH; f++)
        if (number == 1 || f % 2 == 0)
            good &= make_file(s, l, f, number);
    return good && db_commit(l->db, &e) == 0;
}

static bool make_set(struct scratch *s, struct lake *l, int set)
{
    struct thing *t = &things[n_things++];
    const char *paths[] = {"/d0/f00#1", "/d1/f01#1"};
    size_t n = 1 + (size_t)dice(2);

    t->kind = 2;
    t->creator = l->user;
    t->number = 1 + set / 4;
    snprintf(t->name, sizeof t->name, "S%d", set % 4);
    snprintf(t->ref, sizeof t->ref, "@S%d:%d", set % 4, (int)t->number);
    t->size = things[0].size + (n == 2 ? things[1].size : 0);
    t->create_ms = s->now_ms;
    return scratch_set(l, t->name, paths, n) > 0;
}

static void make_things(struct scratch *s, struct lake *ann, struct lake *bob)
{
    struct err e = {0};
    bool good = true;

    for (int v = 1; v <= VERSIONS; v++)
        for (int f = 0; f < FILES; f += BATCH)
            good &= make_batch(s, dice(2) ? ann : bob, f, v);
    for (int f = 0; f < FILES; f++) {
        struct thing *t = &things[n_things++];
        t->kind = 1;
        snprintf(t->name, sizeof t->name, "/d%d/f%02d", f % 3, f);
        snprintf(t->ref, sizeof t->ref, "/d%d/f%02d#*", f % 3, f);
        /* It came to be with its first version: the fth thing that was made. */
        t->create_ms = things[f].create_ms;
        t->creator = things[f].creator;
    }
    for (int i = 0; i < SETS; i++)
        good &= make_set(s, dice(2) ? ann : bob, i);
    good &= db_begin(ann->db, &e) == 0;
    for (size_t i = 0; i < n_things; i++)
        if (dice(6))
            good &= tag(ann, &things[i]);
    good &= db_commit(ann->db, &e) == 0;
    CHECK(good, "%zu things", n_things);
}

/* Every fifth file and every fourth set is for ann alone, with all versions. */
static void hide_some(struct lake *ann)
{
    static char *refs[THINGS_MAX];
    const char *const *all = (const char *const *)refs;
    struct err e = {0};
    size_t n = 0;

    for (size_t i = 0; i < n_things; i++) {
        struct thing *t = &things[i];
        t->secret =
            t->kind == 2 ? strcmp(t->name, "S1") == 0 : atoi(t->name + strlen("/d0/f")) % 5 == 0;
        if (t->secret && t->kind != 0)
            refs[n++] = mem_printf("%s%s", t->kind == 2 ? "@" : "", t->name);
    }
    CHECK(n == FILES / 5 + SETS / 4 && lake_chown(ann, "ann", all, n, &e) == 0 &&
              lake_chmod(ann, "600", all, n, &e) == 0,
          "%zu things are ann's alone: %s", n, e.text);
    for (size_t i = 0; i < n; i++)
        free(refs[i]);
}

/* ---- conditions ---- */

enum op { EQ, NE, LT, LE, GT, GE, RANGE, HAS, LACKS, MATCH, N_OPS };
static const char *const op_texts[] = {"=", "!=", "<", "<=", ">", ">=", "="};

struct condition {
    int key; /* N_KEYS on: built-ins */
    enum op op;
    struct value value, high;
    const char *pattern; /* a text to be found, with ^ for the begin */
};
enum { CREATE_TIME = N_KEYS, CREATOR, KIND, NAME, PATH, SIZE, VERSION, N_ALL };
static const char *const builtin_names[] = {"create_time", "creator", "kind",   "name",
                                            "path",        "size",    "version"};
static const char *const kind_names[] = {"file", "path", "set"};

static const char *name_of(int key)
{
    return key < N_KEYS ? key_names[key] : builtin_names[key - N_KEYS];
}

static bool get(const struct thing *t, int key, struct value *out)
{
    static char digits[32];

    *out = (struct value){0};
    switch (key) {
    case CREATE_TIME:
        *out = (struct value){"", LAKE_VALUE_TIME, (double)t->create_ms, 0};
        return true;
    case CREATOR:
        *out = (struct value){t->creator, LAKE_VALUE_TEXT, 0, 0};
        return true;
    case KIND:
        *out = (struct value){kind_names[t->kind], LAKE_VALUE_TEXT, 0, 0};
        return true;
    case NAME:
    case PATH:
        *out = (struct value){t->name, LAKE_VALUE_TEXT, 0, 0};
        return (key == NAME) == (t->kind == 2);
    case SIZE:
    case VERSION:
        *out = (struct value){digits, LAKE_VALUE_NUMBER,
                              (double)(key == SIZE ? t->size : t->number), 0};
        return t->kind != 1;
    default:
        *out = t->values[key];
        return t->has[key];
    }
}

static bool same_or(const struct value *v, const struct value *low, const struct value *high)
{
    if (v->kind != low->kind)
        return false;
    if (v->kind == LAKE_VALUE_TEXT)
        return strcmp(v->text, low->text) >= 0 && strcmp(v->text, high->text) <= 0;
    if (v->kind == LAKE_VALUE_TIME)
        return v->number >= low->number && v->number < high->until;
    return v->number >= low->number && v->number <= high->number;
}

/* -1, 0 or 1: v lies before, in or after w. */
static int side(const struct value *v, const struct value *w)
{
    if (same_or(v, w, w))
        return 0;
    if (v->kind == LAKE_VALUE_TEXT)
        return strcmp(v->text, w->text) < 0 ? -1 : 1;
    return v->number < w->number ? -1 : 1;
}

static bool holds(const struct condition *c, const struct thing *t)
{
    struct value v;
    bool has = get(t, c->key, &v);

    if (c->op == HAS || c->op == LACKS)
        return has == (c->op == HAS);
    if (!has)
        return false;
    if (c->op == MATCH)
        return v.text &&
               (c->pattern[0] == '^' ? strncmp(v.text, c->pattern + 1, strlen(c->pattern + 1)) == 0
                                     : strstr(v.text, c->pattern) != NULL);
    if (c->op == NE)
        return !same_or(&v, &c->value, &c->value);
    if (c->op == RANGE)
        return same_or(&v, &c->value, &c->high);
    if (v.kind != c->value.kind)
        return false;
    int s = side(&v, &c->value);
    return c->op == EQ   ? s == 0
           : c->op == LT ? s < 0
           : c->op == LE ? s <= 0
           : c->op == GT ? s > 0
                         : s >= 0;
}

/* A value that a condition on the key may name. */
static struct value operand(int key, char text[static 64])
{
    const struct thing *t = &things[dice((uint32_t)n_things)];
    struct value v;

    if (key < N_KEYS) {
        do
            v = key == MIXED || dice(5) == 0 ? pool[dice(N_POOL)] : random_value(key);
        while (!v.text);
        return v;
    }
    while (!get(t, key, &v))
        t = &things[dice((uint32_t)n_things)];
    if (key == CREATE_TIME) {
        time_t seconds = (time_t)(t->create_ms / 1000);
        struct tm utc;
        gmtime_r(&seconds, &utc);
        bool exact = dice(4);
        size_t n = strftime(text, 64, "%Y-%m-%dT%H:%M:%S", &utc);
        snprintf(text + n, 64 - n, exact ? ".%03dZ" : "Z", (int)(t->create_ms % 1000));
        v.number = exact ? (double)t->create_ms : (double)seconds * 1000;
        v.until = v.number + (exact ? 1 : 1000);
        v.text = text;
    } else if (v.kind == LAKE_VALUE_NUMBER) {
        snprintf(text, 64, key == SIZE && dice(2) ? "%gB" : "%g", v.number);
        v.text = text;
    }
    return v;
}

static void quote(char *out, size_t size, const struct value *v)
{
    size_t n = 0;
    bool needed = v->kind == LAKE_VALUE_TEXT && (!*v->text || strpbrk(v->text, " \"'") || dice(2));

    if (!needed) {
        snprintf(out, size, "%s", v->text);
        return;
    }
    out[n++] = '"';
    for (const char *p = v->text; *p && n + 3 < size; p++) {
        if (*p == '"')
            out[n++] = '"';
        out[n++] = *p;
    }
    out[n++] = '"';
    out[n] = 0;
}

static void random_condition(struct condition *c, char *text, size_t size)
{
    static const char *const patterns[] = {"^/d1/",  "^/d2/f",   "f0", "^B", "1",  "S1",
                                           "^2026-", "^/d0/f03", "e",  "^S", "set"};
    static char texts[8][64];
    static unsigned turn;
    char a[96], b[96];

    *c = (struct condition){.key = (int)dice(N_ALL), .op = (enum op)dice(N_OPS)};
    bool text_key = c->key < N_KEYS || (c->key >= CREATOR && c->key <= PATH);
    if (c->op == MATCH && !text_key)
        c->op = GE;
    if (c->op == HAS || c->op == LACKS) {
        snprintf(text, size, "%s%s", c->op == LACKS ? "!" : "", name_of(c->key));
        return;
    }
    if (c->op == MATCH) {
        c->pattern = patterns[dice(sizeof patterns / sizeof *patterns)];
        snprintf(text, size, "%s~%s", name_of(c->key), c->pattern);
        return;
    }
    if (c->key == KIND && c->op == RANGE)
        c->op = EQ;
    c->value = operand(c->key, texts[turn++ % 8]);
    quote(a, sizeof a, &c->value);
    if (c->op != RANGE) {
        snprintf(text, size, "%s%s%s", name_of(c->key), op_texts[c->op], a);
        return;
    }
    do
        c->high = operand(c->key, texts[turn % 8]);
    while (c->high.kind != c->value.kind);
    turn++;
    if (side(&c->high, &c->value) < 0 ||
        (c->value.kind == LAKE_VALUE_TIME && c->high.until < c->value.number)) {
        struct value swap = c->value;
        c->value = c->high;
        c->high = swap;
    }
    /* Ends that need quotes are not written as a range: it is one value then. */
    if (c->value.kind == LAKE_VALUE_TEXT &&
        (!*c->value.text || !*c->high.text || strpbrk(c->value.text, " \"'") ||
         strpbrk(c->high.text, " \"'")))
        c->high = c->value, c->op = EQ;
    quote(a, sizeof a, &c->value);
    snprintf(b, sizeof b, "%s", c->high.text);
    if (c->op == EQ)
        snprintf(text, size, "%s=%s", name_of(c->key), a);
    else
        snprintf(text, size, "%s=%s..%s", name_of(c->key), c->value.text, b);
}

/* ---- answers ---- */

#define CONDITIONS_MAX 5
struct question {
    struct condition conditions[CONDITIONS_MAX];
    size_t n;
    char text[1024];
    int sort; /* -1 = none */
    bool max, min, reverse;
    uint64_t limit;
};

static bool path_is_asked(const struct question *q)
{
    if (q->sort >= 0 && q->sort < N_KEYS)
        return true;
    for (size_t i = 0; i < q->n; i++)
        if (q->conditions[i].key == KIND ||
            (q->conditions[i].key < N_KEYS && q->conditions[i].op != LACKS))
            return true;
    return q->sort == KIND;
}

static bool is_answer(const struct question *q, const struct thing *t)
{
    struct value v;
    bool asked = true;

    for (size_t i = 0; i < q->n; i++)
        if (!holds(&q->conditions[i], t))
            return false;
    if ((q->max || q->min) &&
        (!get(t, q->sort, &v) || (v.kind != LAKE_VALUE_NUMBER && v.kind != LAKE_VALUE_TIME)))
        return false;
    if (t->kind == 1) {
        struct question plain = *q;
        plain.sort = -1;
        /* The key sorted by asks for whole files only where they have it. */
        asked =
            path_is_asked(&plain) || (path_is_asked(q) && (q->sort == KIND || get(t, q->sort, &v)));
    }
    return asked;
}

static const struct question *sorting; /* qsort has no context */

static int rank(const struct value *v)
{
    static const int ranks[] = {[LAKE_VALUE_NUMBER] = 0,
                                [LAKE_VALUE_TIME] = 1,
                                [LAKE_VALUE_TEXT] = 2,
                                [LAKE_VALUE_NONE] = 3};

    return ranks[v->kind];
}

static int compare_things(const void *a, const void *b)
{
    const struct thing *x = *(const struct thing *const *)a, *y = *(const struct thing *const *)b;
    struct value v, w;

    if (sorting->sort >= 0) {
        bool has_v = get(x, sorting->sort, &v), has_w = get(y, sorting->sort, &w);
        int order = 0;
        if (has_v != has_w)
            return has_v ? -1 : 1;
        if (has_v && rank(&v) != rank(&w))
            return rank(&v) - rank(&w);
        if (has_v && v.kind == LAKE_VALUE_TEXT)
            order = strcmp(v.text, w.text);
        else if (has_v)
            order = (v.number > w.number) - (v.number < w.number);
        if (order)
            return sorting->max || sorting->reverse ? -order : order;
    }
    /* Things were made in order of their kind, and within it of their ids. */
    return (x > y) - (x < y);
}

struct answers {
    const struct thing **wanted;
    size_t n_wanted, n_got;
    bool good;
};

static int check_answer(void *context, const struct lake_found *found, struct err *e)
{
    struct answers *a = context;

    (void)e;
    if (a->n_got < a->n_wanted && strcmp(a->wanted[a->n_got]->ref, found->ref) != 0) {
        printf("# answer %zu is %s, not %s\n", a->n_got, found->ref, a->wanted[a->n_got]->ref);
        a->good = false;
    }
    a->n_got++;
    return 0;
}

static bool ask(struct lake *l, const struct question *q)
{
    static const struct thing *wanted[THINGS_MAX];
    struct answers a = {.wanted = wanted, .good = true};
    struct lake_find_options o = {.limit = q->limit, .reverse = q->reverse};
    struct err e = {0};
    uint64_t limit = q->limit ? q->limit : q->max || q->min ? 1 : UINT64_MAX;

    *(q->max ? &o.max : q->min ? &o.min : &o.sort) = q->sort >= 0 ? name_of(q->sort) : NULL;
    for (size_t i = 0; i < n_things; i++)
        if ((l->admin || !things[i].secret) && is_answer(q, &things[i]))
            wanted[a.n_wanted++] = &things[i];
    sorting = q;
    qsort(wanted, a.n_wanted, sizeof *wanted, compare_things);
    a.n_wanted = a.n_wanted > limit ? (size_t)limit : a.n_wanted;
    bool good =
        lake_find(l, q->text, &o, check_answer, &a, &e) == 0 && a.good && a.n_got == a.n_wanted;
    if (!good)
        printf("# %s: find '%s' by %s%s%s limit %llu: %zu answers, %zu wanted; %s\n", l->user,
               q->text, q->sort >= 0 ? name_of(q->sort) : "id",
               q->max   ? " max"
               : q->min ? " min"
                        : "",
               q->reverse ? " reverse" : "", (unsigned long long)q->limit, a.n_got, a.n_wanted,
               e.text);
    return good;
}

static void random_question(struct question *q)
{
    char text[200];
    size_t n = 0;

    *q = (struct question){.n = dice(CONDITIONS_MAX), .sort = -1};
    for (size_t i = 0; i < q->n; i++) {
        random_condition(&q->conditions[i], text, sizeof text);
        n += (size_t)snprintf(q->text + n, sizeof q->text - n, "%s%s",
                              i == 0    ? ""
                              : dice(2) ? " "
                                        : " and ",
                              text);
    }
    q->limit = dice(2) ? 0 : 1 + dice(12);
    if (dice(2) == 0)
        return;
    do
        q->sort = (int)dice(N_ALL);
    while (q->sort >= CREATOR && q->sort <= PATH && dice(2));
    bool text_key = q->sort >= CREATOR && q->sort <= PATH;
    uint32_t way = dice(text_key ? 2 : 4);
    q->reverse = way == 1;
    q->max = way == 2;
    q->min = way == 3;
}

static void test_random_questions(struct lake *ann, struct lake *bob)
{
    struct question q;
    size_t bad = 0, n = getenv("TRADEWIND_SLOW") ? QUESTIONS_SLOW : QUESTIONS;

    for (size_t i = 0; i < n; i++) {
        random_question(&q);
        bad += !ask(i % 2 ? bob : ann, &q);
    }
    CHECK(bad == 0, "%zu random questions are answered as a plain loop does (%zu are not)", n, bad);
}

int main(void)
{
    struct scratch s;

    scratch_init(&s);
    set_times();
    {
        AUTO(lake) struct lake *ann = scratch_open(&s);
        AUTO(lake) struct lake *bob = scratch_open_as(&s, "default", "bob", false);
        make_things(&s, ann, bob);
        hide_some(ann);
        test_random_questions(ann, bob);
    }
    scratch_clear(&s);
    return TAP_DONE();
}
