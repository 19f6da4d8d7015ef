#include "cloud/faults.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/time.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_MAX_BYTES ((size_t)1 << 20)
#define WORDS_MAX 6
#define COUNT_DIGITS_MAX 9
/* Longer than any run. */
#define SECONDS_MAX (366 * 86400.0)
#define THROTTLE_S 5.0

static const struct kind {
    const char *name;
    bool has_place; /* happens to launches */
    bool has_time, needs_time;
    enum cloud_scope scope; /* without a place */
} kinds[] = {
    [CLOUD_FAULT_CAPACITY] = {"capacity", true, false, false, CLOUD_ZONE},
    [CLOUD_FAULT_QUOTA] = {"quota", true, false, false, CLOUD_REGION},
    [CLOUD_FAULT_UNSUPPORTED] = {"unsupported", true, false, false, CLOUD_ZONE},
    [CLOUD_FAULT_PERMISSION] = {"permission", true, false, false, CLOUD_ACCOUNT},
    [CLOUD_FAULT_AUTH] = {"auth", false, false, false, CLOUD_ACCOUNT},
    [CLOUD_FAULT_THROTTLE] = {"throttle", false, true, false, CLOUD_ACCOUNT},
    [CLOUD_FAULT_TRANSIENT] = {"transient", false, false, false, CLOUD_ACCOUNT},
    [CLOUD_FAULT_TIMEOUT_BEFORE_LAUNCH] = {"timeout-before-launch", true, false, false,
                                           CLOUD_ACCOUNT},
    [CLOUD_FAULT_TIMEOUT_AFTER_LAUNCH] = {"timeout-after-launch", true, false, false,
                                          CLOUD_ACCOUNT},
    [CLOUD_FAULT_SLOW_VISIBLE] = {"slow-visible", true, true, true, CLOUD_ACCOUNT},
    [CLOUD_FAULT_SLOW_BOOT] = {"slow-boot", true, true, true, CLOUD_ACCOUNT},
    [CLOUD_FAULT_NEVER_BOOTS] = {"never-boots", true, false, false, CLOUD_ACCOUNT},
    [CLOUD_FAULT_PREEMPT_AFTER] = {"preempt-after", true, true, true, CLOUD_ACCOUNT},
    [CLOUD_FAULT_NO_NOTICE] = {"no-notice", true, false, false, CLOUD_ACCOUNT},
    [CLOUD_FAULT_TERMINATE_FAILS] = {"terminate-fails", false, false, false, CLOUD_ACCOUNT},
    [CLOUD_FAULT_TIMEOUT_AFTER_TERMINATE] = {"timeout-after-terminate", false, false, false,
                                             CLOUD_ACCOUNT},
    [CLOUD_FAULT_LIST_FAILS] = {"list-fails", false, false, false, CLOUD_ACCOUNT},
    [CLOUD_FAULT_LIST_EMPTY] = {"list-empty", false, false, false, CLOUD_ACCOUNT},
};

#define N_KINDS (sizeof kinds / sizeof *kinds)

static int find_kind(const char *word, enum cloud_fault_kind *out, struct err *e)
{
    const char *names[N_KINDS];

    for (size_t i = 0; i < N_KINDS; i++) {
        names[i] = kinds[i].name;
        if (strcmp(word, names[i]) == 0) {
            *out = (enum cloud_fault_kind)i;
            return 0;
        }
    }
    const char *close = nearest(word, names, N_KINDS);
    return err_set(e, ERR_USAGE, "no fault is named \"%.80s\"%s%s%s", word,
                   close ? ": did you mean " : "", close ? close : "", close ? "?" : "");
}

static const char *part(const char *text)
{
    return *text && strcmp(text, "*") != 0 ? text : NULL;
}

/* PROVIDER[/REGION[/ZONE]]; word is cut into its parts. */
static int read_place(char *word, struct cloud_fault *t, struct err *e)
{
    static const enum cloud_scope scopes[] = {CLOUD_ACCOUNT, CLOUD_REGION, CLOUD_ZONE};
    const char **parts[] = {&t->provider, &t->region, &t->zone};
    char *rest = word;
    size_t n = 0;

    while (rest && n < 3) {
        char *begin = strsep(&rest, "/");
        if (!*begin)
            break;
        t->scope = scopes[n];
        *parts[n++] = part(begin);
    }
    if (rest || n == 0)
        return err_set(e, ERR_USAGE,
                       "a location is PROVIDER, PROVIDER/REGION or PROVIDER/REGION/ZONE");
    return 0;
}

/* "3x"; also "-3x", which read_count refuses. */
static bool is_count(const char *word)
{
    word += *word == '-';
    size_t n = strspn(word, "0123456789");

    return n > 0 && strcmp(word + n, "x") == 0;
}

static int read_count(const char *word, struct cloud_fault *t, struct err *e)
{
    t->left = strlen(word) <= COUNT_DIGITS_MAX + 1 ? strtoll(word, NULL, 10) : 0;
    if (t->left > 0)
        return 0;
    return err_set(e, ERR_USAGE, "\"%.80s\": a count is 1x or more, with at most %d digits", word,
                   COUNT_DIGITS_MAX);
}

static int read_time(const char *word, struct cloud_fault *t, struct err *e)
{
    if (time_parse_duration(word, 1, &t->seconds, e) < 0)
        return -1;
    if (t->seconds > SECONDS_MAX)
        return err_set(e, ERR_USAGE, "\"%.80s\" is longer than a year", word);
    return 0;
}

static int read_words(char *const *words, size_t n, struct cloud_fault *t, struct err *e)
{
    size_t at = 1;

    if (find_kind(words[0], &t->kind, e) < 0)
        return -1;
    const struct kind *kind = &kinds[t->kind];
    t->scope = kind->scope;
    t->left = -1;
    t->seconds = THROTTLE_S;
    if (n > 1 && is_count(words[n - 1]) && read_count(words[--n], t, e) < 0)
        return -1;
    bool has_time = n > at && kind->has_time && words[n - 1][0] >= '0' && words[n - 1][0] <= '9';
    if (has_time && read_time(words[--n], t, e) < 0)
        return -1;
    if (!has_time && kind->needs_time)
        return err_set(e, ERR_USAGE, "%s needs a time, such as 30s", kind->name);
    if (at < n && kind->has_place && read_place(words[at++], t, e) < 0)
        return -1;
    if (at < n && kind->has_place)
        t->instance_type = part(words[at++]);
    if (at < n)
        return err_set(e, ERR_USAGE, "%s cannot have \"%.80s\"", kind->name, words[at]);
    return 0;
}

static int read_line(struct cloud_faults *t, char *line, struct err *e)
{
    char *words[WORDS_MAX], *word;
    size_t n = 0;

    line[strcspn(line, "#")] = 0;
    while ((word = strsep(&line, " \t\r")))
        if (*word && n == WORDS_MAX)
            return err_set(e, ERR_USAGE, "more than %d words", WORDS_MAX);
        else if (*word)
            words[n++] = word;
    if (n == 0)
        return 0;
    if (t->n == CLOUD_FAULTS_MAX)
        return err_set(e, ERR_USAGE, "more than %d faults", CLOUD_FAULTS_MAX);
    return read_words(words, n, &t->items[t->n++], e);
}

struct cloud_faults *cloud_faults_new(const char *text, struct err *e)
{
    AUTO(cloud_faults) struct cloud_faults *t = mem_zero(1, sizeof *t);
    char *line;

    if (strlen(text) > CLOUD_FAULTS_BYTES_MAX) {
        err_set(e, ERR_USAGE, "more than %zu bytes", CLOUD_FAULTS_BYTES_MAX);
        return NULL;
    }
    t->arena = arena_new(ARENA_MAX_BYTES);
    t->items = arena_alloc(t->arena, CLOUD_FAULTS_MAX, sizeof *t->items);
    char *rest = arena_dup(t->arena, text);
    if (!t->items || !rest) {
        err_set(e, ERR_USAGE, "too long");
        return NULL;
    }
    for (size_t number = 1; (line = strsep(&rest, "\n")); number++)
        if (read_line(t, line, e) < 0) {
            err_wrap(e, "line %zu", number);
            return NULL;
        }
    return TAKE(t);
}

void cloud_faults_free(struct cloud_faults *t)
{
    if (!t)
        return;
    arena_free(t->arena);
    free(t);
}

static bool is_for(const char *wanted, const char *text)
{
    return !wanted || strcmp(wanted, text) == 0;
}

struct cloud_fault *cloud_faults_find(struct cloud_faults *t,
                                      enum cloud_fault_kind kind,
                                      const struct cloud_request *request)
{
    for (size_t i = 0; i < t->n; i++) {
        struct cloud_fault *item = &t->items[i];
        if (item->kind == kind && item->left != 0 &&
            (!request ||
             (is_for(item->provider, request->provider) && is_for(item->region, request->region) &&
              is_for(item->zone, request->zone) &&
              is_for(item->instance_type, request->instance_type))))
            return item;
    }
    return NULL;
}
