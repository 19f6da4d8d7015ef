#include "lake/meta/meta_value.h"
#include "lake/meta/meta.h"

#include "base/number.h"
#include "base/utf8.h"

#include <string.h>

#define DAY_MS INT64_C(86400000)
#define HOUR_MS INT64_C(3600000)
#define MINUTE_MS INT64_C(60000)

static const struct {
    const char *name;
    enum meta_builtin key;
    enum lake_value_kind kind;
} builtins[] = {
    {"create_time", META_CREATE_TIME, LAKE_VALUE_TIME},
    {"creator", META_CREATOR, LAKE_VALUE_TEXT},
    {"kind", META_KIND, LAKE_VALUE_TEXT},
    {"name", META_NAME, LAKE_VALUE_TEXT},
    {"path", META_PATH, LAKE_VALUE_TEXT},
    {"size", META_SIZE, LAKE_VALUE_NUMBER},
    {"version", META_VERSION, LAKE_VALUE_NUMBER},
    {"runtime_s", META_RUNTIME_S, LAKE_VALUE_NUMBER},
    {"cost_usd", META_COST_USD, LAKE_VALUE_NUMBER},
    {"exit_code", META_EXIT_CODE, LAKE_VALUE_NUMBER},
    {"state", META_STATE, LAKE_VALUE_TEXT},
    {"cpus", META_CPUS, LAKE_VALUE_NUMBER},
    {"memory_mb", META_MEMORY_MB, LAKE_VALUE_NUMBER},
    {"time_limit_s", META_TIME_LIMIT_S, LAKE_VALUE_NUMBER},
    {"machine", META_MACHINE, LAKE_VALUE_TEXT},
    {"run", META_RUN, LAKE_VALUE_NUMBER},
    {"input", META_INPUT, LAKE_VALUE_TEXT},
    {"output", META_OUTPUT, LAKE_VALUE_TEXT},
};
#define N_BUILTINS (sizeof builtins / sizeof *builtins)

enum meta_builtin meta_builtin(const char *key)
{
    enum meta_builtin found = meta_job_builtin(key);

    return found >= META_STATE ? META_NONE : found;
}

enum meta_builtin meta_job_builtin(const char *key)
{
    for (size_t i = 0; i < N_BUILTINS; i++)
        if (strcmp(key, builtins[i].name) == 0)
            return builtins[i].key;
    return META_NONE;
}

enum lake_value_kind meta_builtin_kind(enum meta_builtin key)
{
    for (size_t i = 0; i < N_BUILTINS; i++)
        if (builtins[i].key == key)
            return builtins[i].kind;
    return LAKE_VALUE_NONE;
}

bool meta_key_begins(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool meta_key_char(char c)
{
    return meta_key_begins(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/';
}

int meta_key_check(const char *key, size_t len, struct err *e)
{
    size_t line;
    /* What cannot be shown is not shown. */
    bool clean = utf8_first_bad(key, len, &line) == len;

    if (len == 0)
        return err_set(e, ERR_USAGE, "a key is empty; write key=value");
    if (len > LAKE_KEY_MAX)
        return err_set(e, ERR_USAGE, "key \"%.*s...\" is longer than %d bytes", clean ? 40 : 0, key,
                       LAKE_KEY_MAX);
    bool good = meta_key_begins(key[0]);
    for (size_t i = 1; i < len; i++)
        good &= meta_key_char(key[i]);
    if (!good)
        return err_set(
            e, ERR_USAGE,
            "\"%.*s\" is not a key; give letters, digits, '_', '-', '.' and '/', beginning with "
            "a letter or '_'",
            clean ? (int)len : 0, key);
    return 0;
}

static int kept_by_lake(const char *key, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s is set by the lake itself and cannot be set or removed", key);
}

int meta_key_check_settable(const char *key, size_t len, struct err *e)
{
    char name[LAKE_KEY_MAX + 1] = "";

    if (meta_key_check(key, len, e) < 0)
        return -1;
    memcpy(name, key, len);
    return meta_builtin(name) != META_NONE ? kept_by_lake(name, e) : 0;
}

/* ---- times ---- */

/* Exactly n digits at *p, which moves past them. */
static bool take_digits(const char **p, int n, int *out)
{
    *out = 0;
    for (int i = 0; i < n; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return false;
        *out = *out * 10 + (**p - '0');
    }
    return true;
}

static bool take(const char **p, char c)
{
    if (**p != c)
        return false;
    (*p)++;
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01; years count from March, so that the leap day comes last. */
static int64_t day_number(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static bool take_date(const char **p, int64_t *ms_out)
{
    int year, month, day;

    if (!take_digits(p, 4, &year) || !take(p, '-') || !take_digits(p, 2, &month) || !take(p, '-') ||
        !take_digits(p, 2, &day))
        return false;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    *ms_out = day_number(year, month, day) * DAY_MS;
    return true;
}

/* ".250": milliseconds; what is finer is cut off. */
static bool take_fraction(const char **p, struct meta_time *t)
{
    int64_t unit = 1000;
    const char *begin = *p;

    for (; **p >= '0' && **p <= '9'; (*p)++) {
        if (unit == 1)
            continue;
        unit /= 10;
        t->from_ms += (**p - '0') * unit;
    }
    t->until_ms = t->from_ms + unit;
    return *p > begin && *p - begin <= 9;
}

static bool take_clock(const char **p, struct meta_time *t)
{
    int hour, minute, second;

    if (!take_digits(p, 2, &hour) || !take(p, ':') || !take_digits(p, 2, &minute) || hour > 23 ||
        minute > 59)
        return false;
    t->from_ms += hour * HOUR_MS + minute * MINUTE_MS;
    t->until_ms = t->from_ms + MINUTE_MS;
    if (!take(p, ':'))
        return true;
    if (!take_digits(p, 2, &second) || second > 59)
        return false;
    t->from_ms += second * INT64_C(1000);
    t->until_ms = t->from_ms + 1000;
    return !take(p, '.') || take_fraction(p, t);
}

/* "Z", "+01", "+0100", "-05:30" or nothing. */
static bool take_zone(const char **p, int64_t *ahead_ms_out)
{
    int hour, minute = 0;
    bool west = **p == '-';

    *ahead_ms_out = 0;
    if (!**p || take(p, 'Z') || take(p, 'z'))
        return true;
    if (!take(p, '+') && !take(p, '-'))
        return false;
    if (!take_digits(p, 2, &hour))
        return false;
    if (**p && (take(p, ':'), !take_digits(p, 2, &minute)))
        return false;
    if (hour > 23 || minute > 59)
        return false;
    *ahead_ms_out = (west ? -1 : 1) * (hour * HOUR_MS + minute * MINUTE_MS);
    return true;
}

bool meta_time_parse(const char *text, struct meta_time *out)
{
    struct meta_time t;
    const char *p = text;
    int64_t ahead_ms;

    if (!take_date(&p, &t.from_ms))
        return false;
    t.until_ms = t.from_ms + DAY_MS;
    if (*p) {
        if (!take(&p, 'T') && !take(&p, 't') && !take(&p, ' '))
            return false;
        if (!take_clock(&p, &t) || !take_zone(&p, &ahead_ms) || *p)
            return false;
        t.from_ms -= ahead_ms;
        t.until_ms -= ahead_ms;
    }
    *out = t;
    return true;
}

/* ---- values ---- */

enum lake_value_kind meta_value_kind(const char *text, double *number_out)
{
    struct meta_time time;

    *number_out = 0;
    if (number_parse(text, number_out)) {
        *number_out += 0.0; /* -0 is 0 */
        return LAKE_VALUE_NUMBER;
    }
    *number_out = 0;
    if (!meta_time_parse(text, &time))
        return LAKE_VALUE_TEXT;
    *number_out = (double)time.from_ms;
    return LAKE_VALUE_TIME;
}

int64_t meta_slot(int64_t key, unsigned item_kind, enum lake_value_kind kind)
{
    return (key * 8 + item_kind) * META_SLOTS + (int64_t)kind;
}

enum lake_value_kind meta_slot_kind(int64_t slot)
{
    return (enum lake_value_kind)(slot % META_SLOTS);
}

int meta_pair_split(const char *pair, struct meta_pair *out, struct err *e)
{
    size_t key_len = strcspn(pair, "="), line;

    if (meta_key_check_settable(pair, key_len, e) < 0)
        return -1;
    *out = (struct meta_pair){.kind = LAKE_VALUE_NONE};
    memcpy(out->key, pair, key_len);
    if (!pair[key_len])
        return 0;
    out->value = pair + key_len + 1;
    size_t len = strlen(out->value);
    if (len > LAKE_VALUE_MAX)
        return err_set(e, ERR_USAGE, "the value of %s has %zu bytes; at most %d are allowed",
                       out->key, len, LAKE_VALUE_MAX);
    size_t bad = utf8_first_bad(out->value, len, &line);
    if (bad < len)
        return err_set(e, ERR_USAGE,
                       "the value of %s is not clean UTF-8 text: byte %zu is 0x%02x; keep such "
                       "content in a file",
                       out->key, bad + 1, (unsigned char)out->value[bad]);
    out->kind = meta_value_kind(out->value, &out->number);
    return 0;
}

int meta_job_pair_check(const char *pair, struct err *e)
{
    struct meta_pair split;

    if (meta_pair_split(pair, &split, e) < 0)
        return -1;
    return meta_job_builtin(split.key) != META_NONE ? kept_by_lake(split.key, e) : 0;
}
