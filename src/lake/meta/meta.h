/* meta: keys and values on file versions, files, set versions and jobs, and questions about them.
 */
#ifndef LAKE_META_META_H
#define LAKE_META_META_H

#include "lake/core/ref.h"

#define LAKE_KEY_MAX 128
#define LAKE_VALUE_MAX 65536

/* pairs "k=v", or "k": a tag without a value. Built-in keys are ERR_USAGE. In one transaction. A
 * set is the set version itself; a directory, also of a set, stands for each of its file versions.
 */
int lake_tag(
    struct lake *l, const struct lake_ref *ref, const char *const *pairs, size_t n, struct err *e);
/* Keys that are not there (for directories: on no file): ERR_NOTFOUND that names one, and nothing
 * changes. */
int lake_untag(
    struct lake *l, const struct lake_ref *ref, const char *const *keys, size_t n, struct err *e);
/* Checks without writing, for callers that tag later. */
int lake_tag_check(const char *pair, struct err *e);
/* Many at once, in one transaction: lines "REF k=v k=v ..." as pulled, NULL at the end. A
 * reference, a value or a pair with blanks is quoted, "so" or 'so', a quote within doubled; empty
 * lines and those that begin with '#' are skipped. Errors name the line. */
int lake_tag_lines(struct lake *l,
                   const char *(*next_line)(void *context),
                   void *context,
                   uint64_t *tagged_out,
                   struct err *e);

enum lake_value_kind { LAKE_VALUE_NONE, LAKE_VALUE_NUMBER, LAKE_VALUE_TIME, LAKE_VALUE_TEXT };
struct lake_value {
    const char *key;
    enum lake_value_kind kind;
    const char *text; /* as given */
    double number;    /* NUMBER; TIME: epoch ms */
};

/* An answer; borrowed for the call. Values: built-ins first, then the others by key. param.NAME and
 * metric.NAME are among them where NAME alone has another value. */
struct lake_found {
    const char *ref;  /* "/p#2", "/p#*", "@S:1", "job:7" */
    const char *kind; /* "file", "path", "set", "job" */
    const struct lake_value *values;
    size_t n_values;
};

typedef int lake_visit_found(void *context, const struct lake_found *found, struct err *e);

struct lake_find_options {
    const char *max, *min, *sort; /* a key; at most one of the three. max, min: best first */
    bool reverse;                 /* of sort */
    uint64_t limit;               /* 0: max and min give one answer, others all */
};

/* expression: conditions on keys joined by AND or by nothing (lake/find_parse.h); "" = everything.
 * ERR_USAGE points at the place in the expression. Things that were removed or that the caller may
 * not read are left out; whole files (kind path) answer when the expression asks for a kind or for
 * a key of theirs. In order of kind (file, path, set, job), then of creation; sorted ones by the
 * value, numbers before times before text before tags without a value before things without the
 * key, and then so. max and min leave out all but numbers and times. visit must not change the
 * lake. */
int lake_find(struct lake *l,
              const char *expression,
              const struct lake_find_options *options,
              lake_visit_found *visit,
              void *context,
              struct err *e);
/* The same conditions for values that the caller has. NULL: e. */
struct lake_where;
struct lake_where *lake_where_new(const char *expression, struct err *e);
void lake_where_free(struct lake_where *w);
AUTO_DEFINE(lake_where)
/* Of values with the same key the first counts. Texts of numbers may be NULL. */
bool lake_where_holds(const struct lake_where *w, const struct lake_value *values, size_t n);

/* The keys that an expression asks to be there, each once. */
int lake_find_keys(const char *expression, lake_visit_text *visit, void *context, struct err *e);
/* Everything known about a thing, as find would show it; about each file of a directory. */
int lake_describe(struct lake *l,
                  const struct lake_ref *ref,
                  lake_visit_found *visit,
                  void *context,
                  struct err *e);

#endif
