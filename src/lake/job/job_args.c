#include "lake/job/job_args.h"
#include "lake/meta/meta.h"

#include "base/number.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* "-5" and "-" are values. */
static bool is_option(const char *word)
{
    double number;

    return word[0] == '-' && word[1] && !number_parse(word, &number);
}

/* False: the name is too long or empty. */
static bool make_key(const char *name, size_t len, char out[static LAKE_KEY_MAX + 1])
{
    static const char prefix[] = "arg.";
    size_t at = 0;

    if (len == 0 || len > LAKE_KEY_MAX)
        return false;
    memcpy(out, name, len);
    out[len] = 0;
    for (size_t i = 0; i < len; i++)
        if (!meta_key_char(out[i]))
            out[i] = '_';
    if (meta_key_begins(out[0]) && meta_job_builtin(out) == META_NONE)
        return true;
    at = strlen(prefix);
    if (at + len > LAKE_KEY_MAX)
        return false;
    memmove(out + at, out, len + 1);
    memcpy(out, prefix, at);
    return true;
}

/* False: it cannot be kept as metadata. */
static bool make_value(const char *value, struct meta_pair *out)
{
    size_t len = strlen(value), line;

    if (len > LAKE_VALUE_MAX || utf8_first_bad(value, len, &line) < len)
        return false;
    out->value = value;
    out->kind = meta_value_kind(value, &out->number);
    return true;
}

/* Words that the option at i takes: itself, and perhaps the next. False: it is left out. */
static bool read_option(
    const char *const *command, size_t n, size_t i, size_t *taken, struct meta_pair *out)
{
    const char *name = command[i] + 1 + (command[i][1] == '-');
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;

    if (!value && i + 1 < n && !is_option(command[i + 1])) {
        value = command[i + 1];
        *taken = 2;
    }
    return make_key(name, len, out->key) && (!value || make_value(value, out));
}

int lake_job_args_each(const char *const *command,
                       size_t n,
                       int (*visit)(void *context, const struct meta_pair *pair, struct err *e),
                       void *context,
                       struct err *e)
{
    size_t place = 0, taken;
    bool options = true;

    for (size_t i = 1; i < n; i += taken) {
        struct meta_pair pair = {.kind = LAKE_VALUE_NONE};
        bool good;
        taken = 1;
        if (options && strcmp(command[i], "--") == 0) {
            options = false;
            continue;
        }
        if (options && is_option(command[i])) {
            /* sh -c SCRIPT has no parameter c. */
            pair.is_option = command[i][1] == '-';
            good = read_option(command, n, i, &taken, &pair);
        } else {
            snprintf(pair.key, sizeof pair.key, "arg%zu", ++place);
            good = make_value(command[i], &pair);
        }
        if (good && visit(context, &pair, e) < 0)
            return -1;
    }
    return 0;
}
