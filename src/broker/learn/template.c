#include "broker/learn/template.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/shell.h"
#include "estimate/fit.h"
#include "lake/job/job.h"
#include "lake/job/job_args.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A word is literal texts and lists in turn: before[0] list[0] before[1] list[1] ... after. */
struct list {
    char *before;
    char *name; /* "" = none */
    char **items;
    size_t n, cap;
};

struct template_word {
    struct list *lists;
    size_t n_lists, cap;
    char *after; /* the last list; the whole word where there is none */
};

void template_free(struct template *t)
{
    if (t)
        arena_free(t->arena);
}

/* ---- reading a word ---- */

bool template_is_code(const char *from, const char *end)
{
    bool after_comma = false, within = false;

    for (const char *p = from; p < end; p++) {
        const char *next = memchr(p, ',', (size_t)(end - p)), *last = next ? next : end;
        after_comma = after_comma || (p > from && *p == ' ');
        while (p < last && *p == ' ')
            p++;
        while (last > p && last[-1] == ' ')
            last--;
        const char *first = p + (p + 1 < last && *p == '\\');
        if (first < last && strchr("\"'", *first))
            return true;
        within = within || memchr(p, ' ', (size_t)(last - p));
        p = next ? next : end;
    }
    return after_comma && within;
}

/* Where the list that begins at text ends: behind its '}'; NULL when there is none. */
static const char *list_end(const char *text)
{
    size_t commas = 0;

    for (const char *p = text + 1; *p && *p != '{'; p++) {
        if (*p == '}')
            return commas && !template_is_code(text + 1, p) ? p + 1 : NULL;
        if (*p == '\\' && p[1] && strchr(",{}", p[1]))
            p++;
        else
            commas += *p == ',';
    }
    return NULL;
}

size_t template_name_bytes(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && (strchr("_-.", text[n]) || (text[n] >= '0' && text[n] <= '9') ||
                       (text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z')))
        n++;
    bool is_name =
        n > 0 && n <= 64 && n < len && text[n] == '=' && strchr("-.0123456789", *text) == NULL;
    return is_name ? n : 0;
}

/* Of the list from its '{' to behind its '}'. With another '=' the texts have names of their own.
 */
static size_t list_name_bytes(const char *text, const char *end)
{
    size_t n = template_name_bytes(text + 1, (size_t)(end - text - 2));

    return n && !memchr(text + n + 2, '=', (size_t)(end - text - 2) - n) ? n : 0;
}

static void list_add(struct arena *a, struct list *list, const char *text)
{
    list->items = arena_room(a, list->items, list->n, &list->cap, sizeof *list->items);
    list->items[list->n++] = arena_dup(a, text);
}

static void read_items(struct arena *a, struct list *list, const char *from, const char *end)
{
    AUTO_CLEAR(buf) struct buf item;

    buf_init(&item, LAKE_JOB_TEXT_MAX);
    for (const char *p = from + 1; p < end; p++) {
        if (*p == ',' || *p == '}') {
            list_add(a, list, buf_str(&item));
            buf_clear(&item);
            buf_init(&item, LAKE_JOB_TEXT_MAX);
            continue;
        }
        p += *p == '\\' && strchr(",{}", p[1]);
        buf_add(&item, p, 1);
    }
}

static void word_read(struct arena *a, struct template_word *w, const char *text)
{
    AUTO_CLEAR(buf) struct buf literal;

    buf_init(&literal, LAKE_JOB_TEXT_MAX);
    for (const char *p = text; *p;) {
        const char *end = *p == '{' ? list_end(p) : NULL;
        if (!end) {
            p += *p == '\\' && p[1] == '{';
            buf_add(&literal, p++, 1);
            continue;
        }
        w->lists = arena_room(a, w->lists, w->n_lists, &w->cap, sizeof *w->lists);
        struct list *list = &w->lists[w->n_lists++];
        size_t name = list_name_bytes(p, end);
        *list = (struct list){.before = arena_dup(a, buf_str(&literal)),
                              .name = arena_dup_n(a, p + 1, name)};
        read_items(a, list, name ? p + name + 1 : p, end);
        buf_clear(&literal);
        buf_init(&literal, LAKE_JOB_TEXT_MAX);
        p = end;
    }
    w->after = arena_dup(a, buf_str(&literal));
}

/* ---- writing a word ---- */

static void put_marked(struct buf *b, const char *text, const char *signs)
{
    for (const char *p = text; *p; p++) {
        buf_puts(b, strchr(signs, *p) ? "\\" : "");
        buf_add(b, p, 1);
    }
}

static char *word_write(struct arena *a, const struct template_word *w)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, LAKE_JOB_TEXT_MAX);
    for (size_t i = 0; i < w->n_lists; i++) {
        put_marked(&b, w->lists[i].before, "{");
        buf_printf(&b, "{%s%s", w->lists[i].name, w->lists[i].name[0] ? "=" : "");
        for (size_t k = 0; k < w->lists[i].n; k++) {
            buf_puts(&b, k ? "," : "");
            put_marked(&b, w->lists[i].items[k], ",{}");
        }
        buf_puts(&b, "}");
    }
    put_marked(&b, w->after, "{");
    return arena_dup(a, buf_str(&b));
}

static size_t word_choices(const struct template_word *w)
{
    size_t n = 1;

    for (size_t i = 0; i < w->n_lists; i++)
        n *= w->lists[i].n;
    assert(n > 0); /* a list has two texts at least */
    return n;
}

/* The word where each list is one of its texts; `choice` counts through them, the last fastest. */
static char *word_at(const struct template_word *w, size_t choice)
{
    AUTO_CLEAR(buf) struct buf b;
    size_t divisor = word_choices(w);

    buf_init(&b, LAKE_JOB_TEXT_MAX);
    for (size_t i = 0; i < w->n_lists; i++) {
        divisor /= w->lists[i].n;
        buf_puts(&b, w->lists[i].before);
        buf_puts(&b, w->lists[i].items[choice / divisor % w->lists[i].n]);
    }
    buf_puts(&b, w->after);
    return mem_dup(buf_str(&b));
}

/* ---- combinations ---- */

static int count_combinations(struct template *t, struct err *e)
{
    t->combinations = 1;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->words[i].n_lists; k++) {
            t->combinations *= t->words[i].lists[k].n;
            if (t->combinations > TEMPLATE_COMBINATIONS_MAX)
                return err_set(e, ERR_USAGE,
                               "the lists make more than %d combinations; leave some values out",
                               TEMPLATE_COMBINATIONS_MAX);
        }
    return 0;
}

char **template_command(const struct template *t, size_t combination)
{
    char **words = mem_zero(t->n + 1, sizeof *words);

    for (size_t i = t->n; i-- > 0;) {
        size_t choices = word_choices(&t->words[i]);
        words[i] = word_at(&t->words[i], combination % choices);
        combination /= choices;
    }
    return words;
}

void template_words_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

/* ---- arguments ---- */

struct args_reader {
    struct template *t;
    char **command; /* the first one */
};

/* Names that the model has for resources, and signs that it does not take. */
static char *feature_name(struct arena *a, const char *key)
{
    bool taken = strcmp(key, FIT_CPUS) == 0 || strcmp(key, FIT_MEMORY) == 0;
    char *name = arena_printf(a, "%s%s", taken ? "arg." : "", key);

    for (char *p = name; *p; p++)
        if (*p == '/')
            *p = '_';
    return name;
}

static struct template_arg *arg_slot(struct template *t, const char *key)
{
    for (size_t i = 0; i < t->n_args; i++)
        if (strcmp(t->args[i].key, key) == 0)
            return &t->args[i];
    t->args = arena_room(t->arena, t->args, t->n_args, &t->cap_args, sizeof *t->args);
    return &t->args[t->n_args++];
}

static int note_arg(void *context, const struct meta_pair *pair, struct err *e)
{
    struct args_reader *r = context;
    struct template *t = r->t;

    (void)e;
    for (size_t i = 0; pair->value && i < t->n; i++) {
        const char *word = r->command[i];
        size_t len = strlen(word);
        uintptr_t at = (uintptr_t)pair->value, begin = (uintptr_t)word;
        if (at < begin || at > begin + len)
            continue;
        const char *name = t->words[i].n_lists ? t->words[i].lists[0].name : "";
        char *key = feature_name(t->arena, *name ? name : pair->key);
        *arg_slot(t, key) = (struct template_arg){
            .key = key,
            .word = i,
            .offset = at - begin,
            .listed = t->words[i].n_lists > 0,
            .option = strncmp(pair->key, "arg", 3) != 0 || pair->key[3] < '0' || pair->key[3] > '9',
        };
    }
    return 0;
}

static int read_args(struct template *t, struct err *e)
{
    struct args_reader r = {.t = t, .command = template_command(t, 0)};
    int result = lake_job_args_each((const char *const *)r.command, t->n, note_arg, &r, e);

    template_words_free(r.command);
    return result;
}

int template_check_args(const struct template *t, struct err *e)
{
    for (size_t i = 0; i < t->n; i++) {
        bool found = t->words[i].n_lists == 0;
        for (size_t k = 0; k < t->n_args && !found; k++)
            found = t->args[k].word == i && strlen(t->args[k].key) <= FIT_NAME_MAX_BYTES &&
                    (t->args[k].offset == 0 ||
                     strlen(t->words[i].lists[0].before) >= t->args[k].offset);
        if (!found)
            return err_set(
                e, ERR_USAGE,
                "the list in \"%.100s\" is not a value of an argument, so nothing can be "
                "learned about it",
                t->written[i]);
    }
    return 0;
}

const char *template_value(const struct template_arg *arg, const char *const *command)
{
    const char *word = command[arg->word];

    /* Where a list holds the '=' ("-x{=1,}"), other commands have a shorter word. */
    return word + strnlen(word, arg->offset);
}

/* ---- making ---- */

static struct template *template_begin(size_t n)
{
    struct arena *a = arena_new(SIZE_MAX);
    struct template *t = arena_zero(a, 1, sizeof *t);

    t->arena = a;
    t->written = arena_zero(a, n, sizeof *t->written);
    t->words = arena_zero(a, n, sizeof *t->words);
    t->n = n;
    return t;
}

static int template_finish(struct template *t, struct err *e)
{
    return count_combinations(t, e) < 0 ? -1 : read_args(t, e);
}

int template_check_words(const char *const *words, size_t n, struct err *e)
{
    size_t bytes = 0;

    if (n == 0 || n > TEMPLATE_WORDS_MAX)
        return err_set(e, ERR_USAGE,
                       n ? "the command has more than %d words" : "there is no command",
                       TEMPLATE_WORDS_MAX);
    for (size_t i = 0; i < n && bytes <= LAKE_JOB_TEXT_MAX; i++)
        bytes += strlen(words[i]) + 1;
    if (bytes > LAKE_JOB_TEXT_MAX)
        return err_set(e, ERR_USAGE, "the command is longer than %zu bytes: put it into a script",
                       LAKE_JOB_TEXT_MAX);
    return 0;
}

struct template *template_new(const char *const *words, size_t n, struct err *e)
{
    if (template_check_words(words, n, e) < 0)
        return NULL;
    AUTO(template) struct template *t = template_begin(n);
    for (size_t i = 0; i < n; i++) {
        t->written[i] = arena_dup(t->arena, words[i]);
        word_read(t->arena, &t->words[i], words[i]);
    }
    return template_finish(t, e) < 0 ? NULL : TAKE(t);
}

struct template *template_none(void)
{
    return template_begin(0);
}

char *template_text(const struct template *t)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 4 * LAKE_JOB_TEXT_MAX);
    for (size_t i = 0; i < t->n; i++)
        shell_put_word(&b, t->written[i]);
    return mem_dup(buf_str(&b));
}

/* ---- commands of the template ---- */

static const struct template_arg *arg_of_word(const struct template *t, size_t word)
{
    for (size_t i = 0; i < t->n_args; i++)
        if (t->args[i].word == word)
            return &t->args[i];
    return NULL;
}

/* The texts before the first and behind the last list stand in every word of the template. */
static bool list_word_matches(const struct template_word *w, const char *text)
{
    size_t before = strlen(w->lists[0].before), after = strlen(w->after), len = strlen(text);

    return len >= before + after && strncmp(text, w->lists[0].before, before) == 0 &&
           strcmp(text + len - after, w->after) == 0;
}

/* "--x" would be another option instead of the value of the one before it. */
static bool could_be_value(const char *text)
{
    double number;

    return text[0] != '-' || !text[1] || number_parse(text, &number);
}

/* Whether text is what the word stands for in some command, from this list on. There are at most
 * TEMPLATE_COMBINATIONS_MAX ways. */
static bool stands_for(const struct template_word *w, size_t list, const char *text)
{
    if (list == w->n_lists)
        return strcmp(text, w->after) == 0;
    const struct list *l = &w->lists[list];
    size_t len = strlen(l->before);
    if (strncmp(text, l->before, len) != 0)
        return false;
    for (size_t k = 0; k < l->n; k++) {
        size_t item_len = strlen(l->items[k]);
        if (strncmp(text + len, l->items[k], item_len) == 0 &&
            stands_for(w, list + 1, text + len + item_len))
            return true;
    }
    return false;
}

static bool word_matches(const struct template *t, size_t i, const char *text)
{
    const struct template_word *w = &t->words[i];
    const struct template_arg *arg = arg_of_word(t, i);

    if (arg && arg->offset == 0 && !could_be_value(text))
        return stands_for(w, 0, text);
    if (w->n_lists)
        return list_word_matches(w, text);
    if (arg && arg->option)
        return strncmp(text, w->after, arg->offset) == 0;
    return strcmp(text, w->after) == 0;
}

bool template_matches(const struct template *t, const char *const *command, size_t n)
{
    for (size_t i = 0; n == t->n && i < n; i++)
        if (!word_matches(t, i, command[i]))
            return false;
    return n > 0 && n == t->n;
}

const struct template_arg *template_find_arg(const struct template *t, const char *key)
{
    for (size_t i = 0; i < t->n_args; i++)
        if (strcmp(t->args[i].key, key) == 0)
            return &t->args[i];
    return NULL;
}

static int no_such_arg(const struct template *t, const char *key, struct err *e)
{
    AUTO_CLEAR(buf) struct buf known;

    buf_init(&known, 200);
    for (size_t i = 0; i < t->n_args; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", t->args[i].key);
    return err_set(e, ERR_USAGE, "%.60s is not an argument of the command (%s%s)", key,
                   t->n_args ? buf_str(&known) : "it has none", known.full ? "..." : "");
}

char **template_fill(const struct template *t,
                     const struct template_setting *settings,
                     size_t n,
                     struct err *e)
{
    char **words = template_command(t, 0);

    for (size_t i = 0; i < n; i++) {
        const struct template_arg *arg = template_find_arg(t, settings[i].key);
        if (!arg) {
            template_words_free(words);
            no_such_arg(t, settings[i].key, e);
            return NULL;
        }
        char *old = words[arg->word];
        words[arg->word] = mem_printf("%.*s%s", (int)arg->offset, old, settings[i].value);
        free(old);
    }
    return words;
}

/* ---- two templates ---- */

static bool same_word(const struct template_word *a, const struct template_word *b)
{
    bool same = a->n_lists == b->n_lists && strcmp(a->after, b->after) == 0;

    for (size_t i = 0; same && i < a->n_lists; i++)
        same = strcmp(a->lists[i].before, b->lists[i].before) == 0 &&
               strcmp(a->lists[i].name, b->lists[i].name) == 0;
    return same;
}

bool template_same_shape(const struct template *a, const struct template *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = same_word(&a->words[i], &b->words[i]);
    return same;
}

static bool list_has(const struct list *list, const char *item)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i], item) == 0)
            return true;
    return false;
}

static void list_join(struct arena *a, struct list *to, const struct list *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (!list_has(to, from->items[i]))
            list_add(a, to, from->items[i]);
}

struct template *template_union(const struct template *a, const struct template *b, struct err *e)
{
    AUTO(template) struct template *t = template_begin(a->n);

    for (size_t i = 0; i < a->n; i++) {
        struct template_word *w = &t->words[i];
        word_read(t->arena, w, a->written[i]);
        for (size_t k = 0; k < w->n_lists; k++)
            list_join(t->arena, &w->lists[k], &b->words[i].lists[k]);
        t->written[i] = w->n_lists ? word_write(t->arena, w) : arena_dup(t->arena, a->written[i]);
    }
    return template_finish(t, e) < 0 ? NULL : TAKE(t);
}
