#include "exec/jobfile.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "tradewind-job 1"
/* Beyond these no limit is meant seriously, and arithmetic with them stays far from overflow. */
#define CPUS_MAX 1e6
#define MEMORY_MB_MAX ((uint64_t)1 << 40)
#define SECONDS_MAX 1e10

struct owned {
    char *text; /* what the values point into */
    const char **command, **env, **secrets, **unset;
    struct jobfile_mount *mounts;
};

static int check_list(const struct jobfile *j, struct err *e)
{
    if (!j->n_command || !*j->command[0])
        return err_set(e, ERR_USAGE, "a job needs a command");
    for (size_t i = 0; i < j->n_env; i++)
        if (!strchr(j->env[i], '=') || *j->env[i] == '=')
            return err_set(e, ERR_USAGE, "env entry %zu is not written NAME=VALUE", i + 1);
    for (size_t i = 0; i < j->n_secrets; i++)
        if (!*j->secrets[i] || strchr(j->secrets[i], '='))
            return err_set(e, ERR_USAGE, "secret entry %zu is not the name of a variable", i + 1);
    for (size_t i = 0; i < j->n_unset; i++)
        if (!*j->unset[i] || strchr(j->unset[i], '='))
            return err_set(e, ERR_USAGE, "unset entry %zu is not the name of a variable", i + 1);
    for (size_t i = 0; i < j->n_mounts; i++)
        if (!*j->mounts[i].target || strchr(j->mounts[i].source, '\t'))
            return err_set(e, ERR_USAGE, "mount entry %zu is not a source and a target", i + 1);
    if (j->image && (!*j->image || *j->image == '-'))
        return err_set(e, ERR_USAGE, "image is not the name of one");
    return 0;
}

static int check_range(const char *word, double value, double max, struct err *e)
{
    if (value >= 0 && value <= max)
        return 0;
    return err_set(e, ERR_USAGE, "%s %g is not between 0 and %g", word, value, max);
}

static int check(const struct jobfile *j, struct err *e)
{
    if (j->id <= 0)
        return err_set(e, ERR_USAGE, "a job needs an id above 0");
    if (j->memory_mb > MEMORY_MB_MAX)
        return err_set(e, ERR_USAGE, "memory_mb %" PRIu64 " is too much", j->memory_mb);
    if (check_range("cpus", j->cpus, CPUS_MAX, e) < 0 ||
        check_range("time_limit_s", j->time_limit_s, SECONDS_MAX, e) < 0 ||
        check_range("grace_s", j->grace_s, SECONDS_MAX, e) < 0 ||
        check_range("lease_s", j->lease_s, SECONDS_MAX, e) < 0)
        return -1;
    return check_list(j, e);
}

static void add_value(struct buf *b, const char *word, const char *value)
{
    buf_printf(b, "%s ", word);
    for (const char *p = value; *p; p++) {
        if (*p == '\\')
            buf_puts(b, "\\\\");
        else if (*p == '\n')
            buf_puts(b, "\\n");
        else
            buf_add(b, p, 1);
    }
    buf_puts(b, "\n");
}

static void add_list(struct buf *b, const char *word, const char *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_value(b, word, values[i]);
}

static void add_mounts(struct buf *b, const struct jobfile *j)
{
    for (size_t i = 0; i < j->n_mounts; i++) {
        AUTO_MEM char *both = mem_printf("%s\t%s", j->mounts[i].source, j->mounts[i].target);
        add_value(b, "mount", both);
    }
}

char *jobfile_text(const struct jobfile *j, struct err *e)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, JOBFILE_BYTES_MAX);
    if (check(j, e) < 0)
        return NULL;
    buf_printf(&b, FIRST_LINE "\nid %" PRId64 "\n", j->id);
    add_list(&b, "command", j->command, j->n_command);
    add_list(&b, "env", j->env, j->n_env);
    add_list(&b, "unset", j->unset, j->n_unset);
    add_list(&b, "secret", j->secrets, j->n_secrets);
    buf_printf(&b, "cpus %.17g\nmemory_mb %" PRIu64 "\n", j->cpus, j->memory_mb);
    buf_printf(&b, "time_limit_s %.17g\ngrace_s %.17g\n", j->time_limit_s, j->grace_s);
    buf_printf(&b, "log_max %" PRIu64 "\nlease_s %.17g\n", j->log_max, j->lease_s);
    if (j->learn)
        buf_printf(&b, "learn %" PRIu64 "\n", j->learn);
    if (j->gpus)
        buf_printf(&b, "gpus %" PRIu64 "\n", j->gpus);
    if (j->image)
        add_value(&b, "image", j->image);
    add_mounts(&b, j);
    if (j->power_off)
        add_value(&b, "power_off", j->power_off);
    if (b.full) {
        err_set(e, ERR_USAGE, "job %" PRId64 ": command and environment are longer than %zu bytes",
                j->id, JOBFILE_BYTES_MAX);
        return NULL;
    }
    char *text = b.data;
    b.data = NULL;
    return text;
}

static bool unescape(char *value)
{
    char *to = value;

    for (const char *from = value; *from; from++) {
        char c = *from;
        if (c == '\\') {
            c = *++from == 'n' ? '\n' : *from;
            if (c != '\n' && c != '\\')
                return false;
        }
        *to++ = c;
    }
    *to = 0;
    return true;
}

static bool read_u64(const char *value, uint64_t *out)
{
    uint64_t n = 0;

    if (!*value)
        return false;
    for (; *value; value++)
        if (*value < '0' || *value > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*value - '0'), &n))
            return false;
    *out = n;
    return true;
}

struct reading {
    struct jobfile *job;
    struct owned *owned;
    size_t cap_command, cap_env, cap_secrets, cap_unset, cap_mounts;
    unsigned seen; /* a bit for each entry of numbers[] */
};

/* Words that stand for one number each. */
static const struct {
    const char *word;
    size_t at;
    bool whole;
} numbers[] = {
    {"id", offsetof(struct jobfile, id), true},
    {"cpus", offsetof(struct jobfile, cpus), false},
    {"memory_mb", offsetof(struct jobfile, memory_mb), true},
    {"time_limit_s", offsetof(struct jobfile, time_limit_s), false},
    {"grace_s", offsetof(struct jobfile, grace_s), false},
    {"log_max", offsetof(struct jobfile, log_max), true},
    {"lease_s", offsetof(struct jobfile, lease_s), false},
    {"learn", offsetof(struct jobfile, learn), true},
    {"gpus", offsetof(struct jobfile, gpus), true},
};

static int read_number(struct reading *r, size_t which, const char *value, struct err *e)
{
    char *place = (char *)r->job + numbers[which].at;
    double real;
    uint64_t whole;

    if (r->seen & (1U << which))
        return err_set(e, ERR_USAGE, "%s stands there twice", numbers[which].word);
    r->seen |= 1U << which;
    if (numbers[which].whole) {
        if (!read_u64(value, &whole) || whole > INT64_MAX)
            return err_set(e, ERR_USAGE, "%s is not a whole number", numbers[which].word);
        memcpy(place, &whole, sizeof whole);
        return 0;
    }
    if (!number_parse(value, &real))
        return err_set(e, ERR_USAGE, "%s is not a number", numbers[which].word);
    memcpy(place, &real, sizeof real);
    return 0;
}

static const char **append(const char **list, size_t *n, size_t *cap, const char *value)
{
    list = mem_room(list, *n, cap, sizeof *list);
    list[(*n)++] = value;
    return list;
}

static int read_mount(struct reading *r, const char *value, struct err *e)
{
    struct jobfile *j = r->job;
    struct owned *o = r->owned;
    size_t n = strcspn(value, "\t");

    if (!value[n])
        return err_set(e, ERR_USAGE, "mount is not a source and a target");
    o->mounts = mem_room(o->mounts, j->n_mounts, &r->cap_mounts, sizeof *o->mounts);
    /* Both are in owned->text, which is ours to cut. */
    o->text[(size_t)(value - o->text) + n] = 0;
    o->mounts[j->n_mounts++] = (struct jobfile_mount){value, value + n + 1};
    j->mounts = o->mounts;
    return 0;
}

/* What word says; values are not quoted in errors, they may be secret. */
static int read_word(struct reading *r, const char *word, const char *value, struct err *e)
{
    struct jobfile *j = r->job;
    struct owned *o = r->owned;

    if (!strcmp(word, "command"))
        j->command = o->command = append(o->command, &j->n_command, &r->cap_command, value);
    else if (!strcmp(word, "env"))
        j->env = o->env = append(o->env, &j->n_env, &r->cap_env, value);
    else if (!strcmp(word, "unset"))
        j->unset = o->unset = append(o->unset, &j->n_unset, &r->cap_unset, value);
    else if (!strcmp(word, "secret"))
        j->secrets = o->secrets = append(o->secrets, &j->n_secrets, &r->cap_secrets, value);
    else if (!strcmp(word, "power_off"))
        j->power_off = value;
    else if (!strcmp(word, "image"))
        j->image = value;
    else if (!strcmp(word, "mount"))
        return read_mount(r, value, e);
    else {
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
            if (!strcmp(word, numbers[i].word))
                return read_number(r, i, value, e);
        return err_set(e, ERR_USAGE, "unknown word '%.40s'", word);
    }
    return 0;
}

static int read_line(struct reading *r, char *line, struct err *e)
{
    char *space = strchr(line, ' ');

    if (!space)
        return err_set(e, ERR_USAGE, "is not a word and a value");
    *space = 0;
    if (!unescape(space + 1))
        return err_set(e, ERR_USAGE, "%.40s: a backslash that escapes nothing", line);
    return read_word(r, line, space + 1, e);
}

static int read_lines(struct reading *r, char *text, struct err *e)
{
    size_t number = 0;

    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        number++;
        if (!end)
            return err_set(e, ERR_USAGE, "line %zu: has no end", number);
        *end = 0;
        if (number == 1 ? strcmp(line, FIRST_LINE) != 0 : read_line(r, line, e) < 0)
            return number == 1 ? err_set(e, ERR_USAGE, "line 1: is not '" FIRST_LINE "'")
                               : err_wrap(e, "line %zu", number);
        line = end + 1;
    }
    return number ? 0 : err_set(e, ERR_USAGE, "line 1: the file is empty");
}

int jobfile_parse(const char *text, size_t n, struct jobfile *out, struct err *e)
{
    struct jobfile j = {.grace_s = JOBFILE_GRACE_S};

    *out = (struct jobfile){0};
    if (n > JOBFILE_BYTES_MAX)
        return err_set(e, ERR_USAGE, "job file: %zu bytes are more than %zu", n, JOBFILE_BYTES_MAX);
    if (memchr(text, 0, n))
        return err_set(e, ERR_USAGE, "job file: holds a NUL byte");
    struct owned *o = mem_zero(1, sizeof *o);
    o->text = mem_zero(n + 1, 1);
    memcpy(o->text, text, n);
    j.priv = o;
    struct reading r = {.job = &j, .owned = o};
    if (read_lines(&r, o->text, e) < 0 || check(&j, e) < 0) {
        jobfile_clear(&j);
        return err_wrap(e, "job file");
    }
    o->command = append(o->command, &(size_t){j.n_command}, &r.cap_command, NULL);
    j.command = o->command;
    *out = j;
    return 0;
}

void jobfile_clear(struct jobfile *j)
{
    struct owned *o = j->priv;

    if (o) {
        free(o->text);
        free(o->command);
        free(o->env);
        free(o->secrets);
        free(o->unset);
        free(o->mounts);
        free(o);
    }
    *j = (struct jobfile){0};
}
