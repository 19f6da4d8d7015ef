#include "broker/core/gpus.h"

#include "base/json.h"
#include "base/number.h"
#include "base/time.h"
#include "broker/core/program.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nvidia-smi takes seconds where no daemon keeps the driver loaded. */
#define TOOL_S 10.0
#define OUTPUT_MAX 65536
#define NUMBER_MAX 999
#define SHOWN_MAX 8

/* ---- what the tools print ---- */

/* "a, b, c" of one line; the name may have commas. */
struct line {
    const char *text;
    size_t n;
};

static bool next_line(const char **at, struct line *out)
{
    *at += strspn(*at, "\r\n");
    *out = (struct line){*at, strcspn(*at, "\r\n")};
    *at += out->n;
    return out->n > 0;
}

static bool read_number(const char *text, size_t n, unsigned *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)text[i]) || *out > NUMBER_MAX)
            return false;
        *out = *out * 10 + (unsigned)(text[i] - '0');
    }
    return n > 0 && *out <= NUMBER_MAX;
}

static void trim(const char **text, size_t *n)
{
    while (*n && isspace((unsigned char)**text)) {
        ++*text;
        --*n;
    }
    while (*n && isspace((unsigned char)(*text)[*n - 1]))
        --*n;
}

/* Records and terminals get plain text. */
static bool put_plain(char *out, size_t size, const char *text, size_t n)
{
    trim(&text, &n);
    if (n == 0 || n >= size)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
    out[n] = '\0';
    return true;
}

static bool add(struct gpus *g, const struct gpu *one)
{
    for (size_t i = 0; i < g->n; i++)
        if (!strcmp(g->list[i].id, one->id))
            return false;
    if (g->n < GPUS_LISTED_MAX)
        g->list[g->n++] = *one;
    return true;
}

/* "0, NVIDIA A100-SXM4-40GB, 40960"; a driver that does not know the memory writes "[N/A]". */
static bool read_nvidia_line(const struct line *line, struct gpu *out)
{
    const char *first = memchr(line->text, ',', line->n), *last = line->text + line->n;
    const char *end = last, *index = line->text;
    size_t n_index = first ? (size_t)(first - line->text) : 0;
    unsigned number;

    while (first && last > first && last[-1] != ',')
        last--;
    trim(&index, &n_index);
    if (!first || last <= first + 1 || !read_number(index, n_index, &number))
        return false;
    *out = (struct gpu){.memory_mb = 0};
    snprintf(out->id, sizeof out->id, "nvidia:%u", number);
    char memory[32];
    double mb;
    if (put_plain(memory, sizeof memory, last, (size_t)(end - last)) && number_parse(memory, &mb) &&
        mb > 0)
        out->memory_mb = mb;
    return put_plain(out->name, sizeof out->name, first + 1, (size_t)(last - 1 - first - 1));
}

bool gpus_read_nvidia(const char *csv, struct gpus *out)
{
    size_t before = out->n;
    struct line line;
    struct gpu one;

    while (next_line(&csv, &line))
        if (!read_nvidia_line(&line, &one) || !add(out, &one)) {
            out->n = before;
            return false;
        }
    return true;
}

/* "0, GPU-8f6d2c1e-..." */
bool gpus_read_uuids(const char *csv, struct gpus *out)
{
    struct line line;

    while (next_line(&csv, &line)) {
        struct gpu one;
        char id[sizeof one.id];
        unsigned number;
        const char *comma = memchr(line.text, ',', line.n);
        size_t n = comma ? (size_t)(comma - line.text) : 0;
        if (!comma || !read_number(line.text, n, &number) ||
            !put_plain(one.uuid, sizeof one.uuid, comma + 1, line.n - n - 1))
            return false;
        snprintf(id, sizeof id, "nvidia:%u", number);
        for (size_t i = 0; i < out->n; i++)
            if (!strcmp(out->list[i].id, id))
                memcpy(out->list[i].uuid, one.uuid, sizeof one.uuid);
    }
    return true;
}

/* Versions of rocm-smi differ in the case of keys; what a card does not tell is "N/A". */
static const char *rocm_name(json_t *card)
{
    static const char *const keys[] = {"Card Series", "Card series", "Device Name", "Card Model",
                                       "Card model"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *name = json_string_value(json_object_get(card, keys[i]));
        if (name && *name && strcmp(name, "N/A") != 0)
            return name;
    }
    return "AMD GPU";
}

static bool read_rocm_card(const char *key, json_t *card, struct gpu *out)
{
    const char *name = rocm_name(card);
    unsigned number;

    *out = (struct gpu){.memory_mb = 0};
    if (!json_is_object(card) || !read_number(key + 4, strlen(key + 4), &number))
        return false;
    snprintf(out->id, sizeof out->id, "amd:%u", number);
    return put_plain(out->name, sizeof out->name, name, strnlen(name, sizeof out->name - 1));
}

static int by_number(const void *a, const void *b)
{
    const struct gpu *x = a, *y = b;
    unsigned long m = strtoul(strchr(x->id, ':') + 1, NULL, 10);
    unsigned long n = strtoul(strchr(y->id, ':') + 1, NULL, 10);

    return m < n ? -1 : m > n;
}

bool gpus_read_rocm(const char *text, struct gpus *out)
{
    const char *brace = strchr(text, '{'); /* warnings may stand before it */
    AUTO_JSON json_t *cards = brace ? json_loads(brace, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    size_t before = out->n;
    const char *key;
    json_t *card;
    struct gpu one;

    if (!json_is_object(cards))
        return false;
    json_object_foreach(cards, key, card)
    {
        if (strncmp(key, "card", 4) != 0)
            continue; /* "system": the driver */
        if (!read_rocm_card(key, card, &one) || !add(out, &one)) {
            out->n = before;
            return false;
        }
    }
    qsort(out->list + before, out->n - before, sizeof *out->list, by_number);
    return true;
}

/* ---- asking them ---- */

struct asking {
    double until_s;
    bool (*go_on)(void *context);
    void *context;
};

static bool may_wait(void *context)
{
    const struct asking *a = context;

    return time_monotonic_s() < a->until_s && a->go_on(a->context);
}

/* The first failure is told: it is why there are no GPUs. */
__attribute__((format(printf, 2, 3))) static void note(struct gpus *g, const char *fmt, ...)
{
    va_list ap;

    if (g->trouble[0])
        return;
    va_start(ap, fmt);
    vsnprintf(g->trouble, sizeof g->trouble, fmt, ap);
    va_end(ap);
    for (char *c = g->trouble; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static void ask(struct gpus *g,
                struct asking *a,
                const char *const *argv,
                bool (*read)(const char *, struct gpus *))
{
    AUTO_CLEAR(buf) struct buf text;
    struct program_run run = {.argv = argv, .go_on = may_wait, .context = a, .out = &text};
    struct err why = {0};

    buf_init(&text, OUTPUT_MAX);
    a->until_s = time_monotonic_s() + TOOL_S;
    int ran = program_run(&run, &why);
    const char *said = buf_str(&text);
    if (ran < 0)
        note(g, "%s", why.text);
    else if (ran == 0 || strstr(said, "No devices were found"))
        return;
    else if (run.stopped)
        note(g, "%s does not answer within %g s", argv[0], TOOL_S);
    else if (text.full)
        note(g, "%s prints more than a list of GPUs", argv[0]);
    else if (run.status != 0)
        note(g, "%s fails with exit code %d: %.150s", argv[0], run.status,
             run.complaint[0] ? run.complaint : said);
    else if (!read(said, g))
        note(g, "%s prints no list of GPUs: %.*s", argv[0], (int)strcspn(said, "\n"), said);
}

void gpus_find(struct gpus *out, bool uuids, bool (*go_on)(void *context), void *context)
{
    static const char *const nvidia[] = {"nvidia-smi", "--query-gpu=index,name,memory.total",
                                         "--format=csv,noheader,nounits", NULL};
    static const char *const uuid[] = {"nvidia-smi", "--query-gpu=index,uuid",
                                       "--format=csv,noheader,nounits", NULL};
    static const char *const rocm[] = {"rocm-smi", "--showproductname", "--json", NULL};

    struct asking a = {.go_on = go_on, .context = context};

    out->n = 0;
    out->trouble[0] = '\0';
    ask(out, &a, nvidia, gpus_read_nvidia);
    if (uuids && out->n)
        ask(out, &a, uuid, gpus_read_uuids);
    ask(out, &a, rocm, gpus_read_rocm);
}

/* ---- those that are visible ---- */

static bool is_of(const struct gpu *g, const char *vendor)
{
    size_t n = strlen(vendor);

    return !strncmp(g->id, vendor, n) && g->id[n] == ':';
}

/* "2", or the beginning of a UUID that no other has. */
static const struct gpu *find_visible(const struct gpus *g,
                                      const char *vendor,
                                      const char *name,
                                      size_t n)
{
    const struct gpu *found = NULL;
    unsigned number;
    char id[sizeof found->id];
    bool is_number = read_number(name, n, &number);

    if (is_number)
        snprintf(id, sizeof id, "%.8s:%u", vendor, number);
    for (size_t i = 0; i < g->n; i++) {
        const struct gpu *one = &g->list[i];
        bool same = is_number ? !strcmp(one->id, id)
                              : n > 4 && is_of(one, vendor) && !strncmp(one->uuid, name, n);
        if (same && found)
            return NULL;
        found = same ? one : found;
    }
    return found;
}

void gpus_narrow(struct gpus *g, const char *vendor, const char *visible)
{
    bool keep[GPUS_LISTED_MAX] = {false};
    size_t kept = 0;

    if (!visible)
        return;
    for (const char *at = visible; *at;) {
        const char *name = at;
        size_t n = strcspn(at, ",");
        at += n + (at[n] == ',');
        trim(&name, &n);
        const struct gpu *one = find_visible(g, vendor, name, n);
        if (!one)
            break;
        keep[one - g->list] = true;
    }
    for (size_t i = 0; i < g->n; i++)
        if (keep[i] || !is_of(&g->list[i], vendor))
            g->list[kept++] = g->list[i];
    g->n = kept;
}

/* ---- for people ---- */

void gpus_put(const struct gpus *g, struct buf *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < g->n; i++) {
        size_t before = 0, same = 0;
        for (size_t k = 0; k < g->n; k++) {
            bool is_same = !strcmp(g->list[k].name, g->list[i].name);
            before += is_same && k < i;
            same += is_same;
        }
        if (before || shown++ >= SHOWN_MAX)
            continue;
        buf_printf(out, "%s%zu x %s", shown > 1 ? ", " : "", same, g->list[i].name);
    }
    if (g->n == 0)
        buf_puts(out, "no GPU");
    if (g->trouble[0])
        buf_printf(out, " (%s)", g->trouble);
}
