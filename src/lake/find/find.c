/* Queries of metadata. Answers are ordered by kind (file, path, set, job), then by creation; with
 * --sort by value first. `find` calls it. */
#include "lake/core/internal.h"
#include "lake/find/find_scope.h"
#include "lake/job/job.h"
#include "lake/meta/internal.h"
#include "lake/meta/meta.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define N_SCOPES_MAX 4

struct search {
    struct lake *l;
    const struct find_expression *expression;
    uint64_t left; /* answers still wanted */
    lake_visit_found *visit;
    void *context;
    struct find_answer answer;
};

/* Answers of one kind. */
struct cursor {
    const struct find_scope *scope;
    struct db_query *query; /* NULL = no more */
};

/* ---- the question ---- */

/* *can_out turns false when nothing can meet the condition. */
static int add_term(struct find_question *q,
                    const struct find_condition *c,
                    bool *can_out,
                    struct err *e)
{
    struct find_term *t = &q->terms[q->n];
    int known = 1;

    *t = (struct find_term){.condition = c};
    if (c->builtin == META_NONE)
        known = meta_key_find(q->l, c->key, &t->key, e);
    if (known == 1)
        q->n++;
    *can_out = known != 0 || c->op == FIND_MISSING;
    return known < 0 ? -1 : 0;
}

/* Some keys are the lake's own on jobs and the users' on everything else: there are two questions.
 */
struct questions {
    const struct find_condition *sort; /* NULL = by id */
    struct find_question of_files;     /* of paths and sets as well */
    struct find_question of_jobs;
    bool files_can, jobs_can; /* something of the kind may meet it */
    struct find_condition conditions[FIND_CONDITIONS_MAX + 1]; /* as jobs understand them */
};

/* One state is looked up by its number, which an index has; others are held against its name. */
static void state_by_number(struct find_condition *c)
{
    enum lake_job_state state;

    if (!c->low.given || c->low.open || !c->high.given || c->high.open ||
        strcmp(c->low.text, c->high.text) != 0 || lake_job_state_parse(c->low.text, &state, NULL))
        return;
    c->builtin = META_STATE_NUMBER;
    c->kind = LAKE_VALUE_NUMBER;
    c->low.number = c->high.number = state;
}

/* False when no job can meet it. */
static bool as_jobs_do(const struct find_condition *c, struct find_condition *out)
{
    enum meta_builtin builtin = meta_job_builtin(c->key);
    enum lake_value_kind kind = meta_builtin_kind(builtin);

    *out = *c;
    if (builtin == c->builtin)
        return true;
    out->builtin = builtin;
    switch (c->op) {
    case FIND_EXISTS:
    case FIND_MISSING:
        break;
    case FIND_WITHIN:
    case FIND_OUTSIDE:
        if (c->kind == kind && builtin == META_STATE)
            state_by_number(out);
        if (c->kind == kind)
            break;
        out->op = FIND_EXISTS;
        return c->op == FIND_OUTSIDE;
    case FIND_MATCHES:
        if (kind != LAKE_VALUE_TEXT)
            out->prefix = NULL;
        break;
    }
    return true;
}

static int add_condition(struct questions *all, const struct find_condition *c, struct err *e)
{
    struct find_condition *of_jobs = &all->conditions[all->of_jobs.n];

    if (all->files_can && add_term(&all->of_files, c, &all->files_can, e) < 0)
        return -1;
    all->jobs_can = all->jobs_can && as_jobs_do(c, of_jobs);
    return all->jobs_can ? add_term(&all->of_jobs, of_jobs, &all->jobs_can, e) : 0;
}

static int ask(struct questions *all,
               const struct find_expression *x,
               const struct find_condition *extra, /* NULL = none */
               struct err *e)
{
    all->files_can = all->jobs_can = true;
    for (size_t i = 0; i < x->n; i++)
        if (add_condition(all, &x->conditions[i], e) < 0)
            return -1;
    if (extra && add_condition(all, extra, e) < 0)
        return -1;
    if (all->sort && all->of_files.n)
        all->of_files.sort = &all->of_files.terms[all->of_files.n - 1];
    if (all->sort && all->of_jobs.n)
        all->of_jobs.sort = &all->of_jobs.terms[all->of_jobs.n - 1];
    return 0;
}

/* NULL: nothing of that kind can answer. */
static struct find_question *question_for(struct questions *all, const struct find_scope *scope)
{
    bool jobs = scope->item == LAKE_ITEM_JOB;
    struct find_question *q = jobs ? &all->of_jobs : &all->of_files;

    return (jobs ? all->jobs_can : all->files_can) && find_scope_fits(scope, q) ? q : NULL;
}

/* ---- answers ---- */

static int advance(const struct find_question *q, struct cursor *c, struct err *e)
{
    int got;

    do {
        got = db_step(c->query, e);
        if (got < 0)
            return -1;
    } while (got == 1 && !find_accepts(q, c->query));
    if (got == 0)
        c->query = NULL;
    return 0;
}

static int open_cursor(struct find_question *q,
                       const struct find_scope *scope,
                       struct cursor *c,
                       struct err *e)
{
    c->scope = scope;
    c->query = find_plan(q, scope, e);
    return c->query ? advance(q, c, e) : -1;
}

static int tell(struct search *s, const struct cursor *c, struct err *e)
{
    struct lake_found found;
    int got =
        find_answer_get(s->l, &s->answer, c->scope->item, db_int(c->query, FIND_ITEM), &found, e);

    if (got < 0 || (got == 1 && s->visit(s->context, &found, e) < 0))
        return -1;
    s->left--;
    return 0;
}

/* Kind after kind, each in order of its ids. */
static int tell_by_id(struct search *s, struct questions *all, struct err *e)
{
    for (size_t i = 0; find_scopes[i] && s->left; i++) {
        struct find_question *q = question_for(all, find_scopes[i]);
        struct cursor c;
        if (!q)
            continue;
        q->limit = s->left;
        if (open_cursor(q, find_scopes[i], &c, e) < 0)
            return -1;
        while (c.query && s->left) {
            if (tell(s, &c, e) < 0 || advance(q, &c, e) < 0)
                return -1;
        }
        if (c.query)
            db_reset(c.query);
    }
    return 0;
}

static int compare(const struct questions *all, const struct cursor *a, const struct cursor *b)
{
    int order;

    if (all->sort->kind == LAKE_VALUE_TEXT) {
        order = strcmp(db_text(a->query, FIND_SORT), db_text(b->query, FIND_SORT));
    } else {
        double x = db_real(a->query, FIND_SORT), y = db_real(b->query, FIND_SORT);
        order = (x > y) - (x < y);
    }
    return all->of_files.descending ? -order : order;
}

/* The best of the cursors; the earlier kind among equals. */
static struct cursor *first_of(const struct questions *all, struct cursor *cursors, size_t n)
{
    struct cursor *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (cursors[i].query && (!best || compare(all, &cursors[i], best) < 0))
            best = &cursors[i];
    return best;
}

static int tell_sorted(struct search *s, struct questions *all, struct err *e)
{
    struct cursor cursors[N_SCOPES_MAX], *c;
    size_t n = 0;

    for (size_t i = 0; find_scopes[i]; i++) {
        struct find_question *q = question_for(all, find_scopes[i]);
        assert(i < N_SCOPES_MAX);
        if (!q)
            continue;
        q->limit = s->left;
        if (open_cursor(q, find_scopes[i], &cursors[n++], e) < 0)
            return -1;
    }
    while (s->left && (c = first_of(all, cursors, n)))
        if (tell(s, c, e) < 0 || advance(question_for(all, c->scope), c, e) < 0)
            return -1;
    for (size_t i = 0; i < n; i++)
        if (cursors[i].query)
            db_reset(cursors[i].query);
    return 0;
}

/* ---- orders ---- */

/* The things for which `extra` (NULL = nothing more) holds as well. */
static int tell_those_with(struct search *s,
                           const struct find_condition *extra,
                           bool sorted,
                           bool descending,
                           struct err *e)
{
    struct questions all = {.sort = sorted ? extra : NULL,
                            .of_files = {.l = s->l, .descending = descending},
                            .of_jobs = {.l = s->l, .descending = descending}};

    if (!s->left)
        return 0;
    if (ask(&all, s->expression, extra, e) < 0)
        return -1;
    return sorted ? tell_sorted(s, &all, e) : tell_by_id(s, &all, e);
}

/* Whether the expression leaves room for things whose value of the key is of that kind. */
static bool may_be_of(const struct find_expression *x, const char *key, enum lake_value_kind kind)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct find_condition *c = &x->conditions[i];
        if (strcmp(c->key, key) == 0 && c->op == FIND_WITHIN && c->kind != kind)
            return false;
    }
    return true;
}

/* Whether it asks for things that have the key. */
static bool asks_for(const struct find_expression *x, const char *key)
{
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->conditions[i].key, key) == 0 && x->conditions[i].op != FIND_MISSING)
            return true;
    return false;
}

/* Values of different kinds do not compare: numbers come first, then times, texts, tags without a
 * value, and things without the key. max and min are about numbers and times alone. */
static int tell_by_user_key(
    struct search *s, struct find_condition *c, bool all, bool descending, struct err *e)
{
    static const enum lake_value_kind kinds[] = {LAKE_VALUE_NUMBER, LAKE_VALUE_TIME,
                                                 LAKE_VALUE_TEXT, LAKE_VALUE_NONE};

    c->op = FIND_WITHIN;
    for (size_t i = 0; i < (all ? 4 : 2); i++) {
        c->kind = kinds[i];
        if (!may_be_of(s->expression, c->key, c->kind))
            continue;
        if (tell_those_with(s, c, c->kind != LAKE_VALUE_NONE, descending, e) < 0)
            return -1;
    }
    return 0;
}

static int tell_in_order(struct search *s, const struct lake_find_options *o, struct err *e)
{
    const char *key = o->max ? o->max : o->min ? o->min : o->sort;
    bool all = o->sort != NULL, descending = o->max || (o->sort && o->reverse);
    struct find_condition c = {.op = FIND_EXISTS};

    if (!key)
        return tell_those_with(s, NULL, false, false, e);
    if (meta_key_check(key, strlen(key), e) < 0)
        return -1;
    memcpy(c.key, key, strlen(key) + 1);
    c.builtin = meta_builtin(key);
    c.kind = meta_builtin_kind(c.builtin);
    if (!all && c.kind == LAKE_VALUE_TEXT)
        return err_set(e, ERR_USAGE, "%s is text and has no greatest or least; sort by it", key);
    int told = c.builtin == META_NONE ? tell_by_user_key(s, &c, all, descending, e)
                                      : tell_those_with(s, &c, true, descending, e);
    if (told < 0 || !all || asks_for(s->expression, key))
        return told;
    c.op = FIND_MISSING;
    return tell_those_with(s, &c, false, false, e);
}

int lake_find(struct lake *l,
              const char *expression,
              const struct lake_find_options *options,
              lake_visit_found *visit,
              void *context,
              struct err *e)
{
    AUTO_CLEAR(find_expression) struct find_expression x = {0};
    struct search s = {.l = l, .expression = &x, .visit = visit, .context = context};

    if ((options->max != NULL) + (options->min != NULL) + (options->sort != NULL) > 1)
        return err_set(e, ERR_USAGE, "only one of max, min and sort can order the answers");
    if (find_parse(expression, &x, e) < 0)
        return -1;
    s.left = options->limit ? options->limit : options->max || options->min ? 1 : UINT64_MAX;
    if (db_begin_read(l->db, e) < 0)
        return -1;
    find_answer_init(&s.answer);
    int told = tell_in_order(&s, options, e);
    find_answer_clear(&s.answer);
    db_rollback(l->db);
    return told;
}

int lake_find_keys(const char *expression, lake_visit_text *visit, void *context, struct err *e)
{
    AUTO_CLEAR(find_expression) struct find_expression x = {0};

    if (find_parse(expression, &x, e) < 0)
        return -1;
    for (size_t i = 0; i < x.n; i++) {
        bool again = x.conditions[i].op == FIND_MISSING;
        for (size_t j = 0; j < i; j++)
            again |= strcmp(x.conditions[i].key, x.conditions[j].key) == 0;
        if (!again && visit(context, x.conditions[i].key, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- one thing ---- */

static int describe(struct search *s, enum lake_item kind, int64_t item, struct err *e)
{
    struct lake_found found;
    int got = find_answer_get(s->l, &s->answer, kind, item, &found, e);

    if (got == 0)
        return err_set(e, ERR_NOTFOUND, "it is not in this project");
    if (got < 0)
        return -1;
    if (!s->answer.readable)
        return err_set(e, ERR_DENIED, "%s: you may not read it", found.ref);
    return s->visit(s->context, &found, e);
}

static int describe_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    return describe(context, LAKE_ITEM_FILE, entry->version, e);
}

static int describe_ref(struct search *s, const struct lake_ref *ref, struct err *e)
{
    enum lake_item kind;
    int64_t item;

    if (ref_ask(s->l, ref, LAKE_READ, e) < 0)
        return -1;
    return ref_item(ref, &kind, &item) ? describe(s, kind, item, e)
                                       : lake_each_file(s->l, ref, describe_entry, s, e);
}

int lake_describe(struct lake *l,
                  const struct lake_ref *ref,
                  lake_visit_found *visit,
                  void *context,
                  struct err *e)
{
    struct search s = {.l = l, .visit = visit, .context = context};

    find_answer_init(&s.answer);
    int told = describe_ref(&s, ref, e);
    find_answer_clear(&s.answer);
    return told;
}
