/* What a job asks for of GPUs, which of them are that, and their texts in records. The operations
 * that submit jobs and the queue of the broker call it. */
#include "broker/core/gpus.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16

/* ---- the wish ---- */

static bool read_count(const char *text, unsigned *out)
{
    char *end;
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 4 || text[digits])
        return false;
    *out = (unsigned)strtoul(text, &end, 10);
    return *out <= GPUS_WISH_MAX;
}

static bool is_type_name(const char *text, size_t n)
{
    bool has_letter = false;

    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr("-_ .", text[i]))
            return false;
        has_letter = has_letter || isalpha((unsigned char)text[i]);
    }
    return has_letter && n < sizeof((struct gpus_wish *)0)->type;
}

int gpus_wish_read(const char *text, struct gpus_wish *out, struct err *e)
{
    size_t n = strcspn(text, ":");

    *out = (struct gpus_wish){.n = 1};
    if (!text[n] && read_count(text, &out->n))
        return 0;
    bool counted = text[n] == ':';
    if (!is_type_name(text, n) || (counted && (!read_count(text + n + 1, &out->n) || !out->n)))
        return err_set(e, ERR_USAGE,
                       "\"%.60s\" is not a number of GPUs: write 2, A100:2 or A100, at most %d",
                       text, GPUS_WISH_MAX);
    snprintf(out->type, sizeof out->type, "%.*s", (int)n, text);
    return 0;
}

const char *gpus_wish_text(const struct gpus_wish *w, char out[static 80])
{
    if (w->type[0])
        snprintf(out, 80, "%s:%u", w->type, w->n);
    else
        snprintf(out, 80, "%u GPU%s", w->n, w->n == 1 ? "" : "s");
    return out;
}

/* ---- types ---- */

struct words {
    char text[160];
    char *list[WORDS_MAX];
    size_t n;
};

/* The runs of letters and digits, in capitals. */
static void cut(const char *name, struct words *out)
{
    char *at = out->text, *end = out->text + sizeof out->text - 1;

    out->n = 0;
    while (*name && out->n < WORDS_MAX && at < end) {
        while (*name && !isalnum((unsigned char)*name))
            name++;
        if (!*name)
            break;
        out->list[out->n++] = at;
        while (isalnum((unsigned char)*name) && at < end)
            *at++ = (char)toupper((unsigned char)*name++);
        if (at < end)
            *at++ = '\0';
    }
    *at = '\0';
}

/* How many words from `at` on make up `word` together: "RTX 3090" is RTX3090. 0: none do. */
static size_t joined(const struct words *name, size_t at, const char *word)
{
    for (size_t i = at; i < name->n; i++) {
        size_t n = strlen(name->list[i]);
        if (strncmp(word, name->list[i], n) != 0)
            return 0;
        word += n;
        if (!*word)
            return i - at + 1;
    }
    return 0;
}

/* "80GB" of a card whose name does not say it; a card has a little less than its name promises. */
static bool has_memory(const struct gpu *g, const char *word)
{
    char *end;
    double gb = strtod(word, &end);

    return isdigit((unsigned char)*word) && !strcmp(end, "GB") && g->memory_mb > 0 &&
           fabs(g->memory_mb / 1024 / gb - 1) < 0.1;
}

bool gpus_is_type(const struct gpu *g, const char *type)
{
    struct words asked, name;
    size_t at = 0;

    cut(type, &asked);
    cut(g->name, &name);
    for (size_t i = 0; i < asked.n; i++) {
        size_t n = 0, k = at;
        while (k < name.n && !(n = joined(&name, k, asked.list[i])))
            k++;
        if (!n && !has_memory(g, asked.list[i]))
            return false;
        at = n ? k + n : at;
    }
    return asked.n > 0;
}

bool gpus_is_amd(const char *type)
{
    bool is_instinct = toupper((unsigned char)type[0]) == 'M' &&
                       toupper((unsigned char)type[1]) == 'I' && isdigit((unsigned char)type[2]);

    return is_instinct || strcasestr(type, "instinct") || strcasestr(type, "radeon");
}

bool gpus_choose(struct gpus *g, const struct gpus_wish *w, unsigned nodes)
{
    size_t kept = 0, served = 0;

    for (size_t i = 0; i < g->n; i++)
        if (!w->type[0] || gpus_is_type(&g->list[i], w->type))
            g->list[kept++] = g->list[i];
    g->n = kept;
    for (size_t i = 0; i < g->n && w->n; i++) {
        size_t same = 0;
        bool seen = false;
        for (size_t k = 0; k < g->n; k++) {
            bool is_same = !strcmp(g->list[k].name, g->list[i].name);
            seen = seen || (is_same && k < i);
            same += is_same;
        }
        served += seen ? 0 : same / w->n;
    }
    return w->n == 0 || served >= (nodes ? nodes : 1);
}

/* ---- texts ---- */

struct gpu_text gpus_text(const struct gpu *g)
{
    struct gpu_text t;

    snprintf(t.text, sizeof t.text, "%s %s", g->id, g->name);
    return t;
}

size_t gpus_id_length(const char *text)
{
    return strcspn(text, " ");
}

const char *gpus_type_of(const char *text)
{
    text += gpus_id_length(text);
    return *text ? text + 1 : text;
}

bool gpus_has(const char *list, const char *text)
{
    size_t n = gpus_id_length(text);

    for (size_t len; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (len == n && !strncmp(list, text, n))
            return true;
    }
    return false;
}

void gpus_put_numbers(const char *list, const char *vendor, struct buf *out)
{
    size_t n = strlen(vendor), before = out->len;

    for (size_t len; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (len > n + 1 && !strncmp(list, vendor, n) && list[n] == ':')
            buf_printf(out, "%s%.*s", out->len > before ? "," : "", (int)(len - n - 1),
                       list + n + 1);
    }
}
