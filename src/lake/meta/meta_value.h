/* meta_value: what keys may be called and what values mean: numbers, times or text. */
#ifndef LAKE_META_META_VALUE_H
#define LAKE_META_META_VALUE_H

#include "base/err.h"
#include "lake/meta/meta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys that things have without asking; they cannot be set. */
enum meta_builtin {
    META_NONE, /* a user's key */
    META_CREATE_TIME,
    META_CREATOR,
    META_KIND,
    META_NAME, /* of sets and jobs */
    META_PATH, /* of files */
    META_SIZE,
    META_VERSION,
    META_RUNTIME_S, /* this one and those below: of jobs */
    META_COST_USD,
    META_EXIT_CODE,
    META_STATE, /* this one and those below: on other things they are keys of the users */
    META_CPUS,
    META_MEMORY_MB,
    META_TIME_LIMIT_S,
    META_MACHINE,
    META_RUN,
    META_INPUT,
    META_OUTPUT,
    META_STATE_NUMBER, /* no key: a state as the database has it (enum lake_job_state) */
    META_BUILTINS,     /* how many */
};
/* Of everything. */
enum meta_builtin meta_builtin(const char *key);
/* Of jobs: those, and some that are the users' elsewhere. */
enum meta_builtin meta_job_builtin(const char *key);
/* NUMBER, TIME or TEXT. */
enum lake_value_kind meta_builtin_kind(enum meta_builtin key);

/* Letters, digits, '_', '-', '.', '/'; the first is a letter or '_'. */
bool meta_key_begins(char c);
bool meta_key_char(char c);
/* ERR_USAGE for what is no key. */
int meta_key_check(const char *key, size_t len, struct err *e);
/* As above, and for built-in keys. */
int meta_key_check_settable(const char *key, size_t len, struct err *e);

/* A time as people write it names an interval of epoch milliseconds: a day, minute, second or part
 * of one. "2026-11-15", "2026-11-15T10:30", "2026-11-15 10:30:05.250+01:00"; UTC without a zone. */
struct meta_time {
    int64_t from_ms, until_ms; /* until is outside */
};
bool meta_time_parse(const char *text, struct meta_time *out);

/* NUMBER, TIME or TEXT by its look; *number_out is what it compares as, 0 for text. */
enum lake_value_kind meta_value_kind(const char *text, double *number_out);

/* What the indexes of table meta begin with: the key's id, the kind of thing (enum lake_item) and
 * the kind of value in one number. All slots of a key and kind of thing stand together. */
#define META_SLOTS 4 /* kinds of values */
int64_t meta_slot(int64_t key, unsigned item_kind, enum lake_value_kind kind);
enum lake_value_kind meta_slot_kind(int64_t slot);

/* "k=v" or "k" taken apart and checked. */
struct meta_pair {
    char key[LAKE_KEY_MAX + 1];
    enum lake_value_kind kind;
    const char *value; /* within the text that was split; NULL for NONE */
    double number;
    bool is_option; /* of a command: lake_job_args_each */
};
int meta_pair_split(const char *pair, struct meta_pair *out, struct err *e);
/* Whether it can be put on a job: ERR_USAGE for its built-in keys too. */
int meta_job_pair_check(const char *pair, struct err *e);

#endif
