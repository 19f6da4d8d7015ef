/* Writes and runs the SQL of find. find_plan.c calls it. */
#include "lake/find/find_scope.h"
#include "lake/meta/meta.h"

#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Far above what all conditions together need. */
#define SQL_MAX 65536
#define PARAMETERS_MAX (8 * (FIND_CONDITIONS_MAX + 4))

/* ---- pieces ---- */

/* A query on its way. */
struct sql {
    const struct find_question *q;
    const struct find_scope *scope;
    const struct find_source *source;
    struct buf text;
    /* Texts are borrowed from the conditions: they must last as long as the query. */
    struct db_value values[PARAMETERS_MAX];
    int n;
    /* Of answers alone: */
    uint64_t candidates;
    char item[24];                         /* the column with the thing's id */
    size_t order[FIND_CONDITIONS_MAX + 1]; /* users' keys to look up, rarest first */
    size_t n_order;
};

static void sql_clear(struct sql *s)
{
    buf_clear(&s->text);
}

/* The text before it, and a parameter with this value. */
static void put(struct sql *s, const char *before, struct db_value value)
{
    assert(s->n < PARAMETERS_MAX);
    s->values[s->n++] = value;
    buf_printf(&s->text, "%s$%d", before, s->n);
}

static struct db_value bound_value(const struct find_condition *c, const struct find_bound *b)
{
    return c->kind == LAKE_VALUE_TEXT ? DB_TEXT(b->text) : DB_REAL(b->number);
}

/* "TRUE" is not written: a condition without bounds ends up as column IS NOT NULL. */
static void put_range(struct sql *s, const char *column, const struct find_condition *c)
{
    buf_puts(&s->text, column);
    if (find_is_equality(c)) {
        put(s, " = ", bound_value(c, &c->low));
        return;
    }
    buf_puts(&s->text, " IS NOT NULL");
    if (c->low.given) {
        buf_printf(&s->text, " AND %s", column);
        put(s, c->low.open ? " > " : " >= ", bound_value(c, &c->low));
    }
    if (c->high.given) {
        buf_printf(&s->text, " AND %s", column);
        put(s, c->high.open ? " < " : " <= ", bound_value(c, &c->high));
    }
}

/* And the column begins as everything does that the pattern matches. */
static void put_prefix(struct sql *s, const char *column, const struct find_condition *c)
{
    buf_printf(&s->text, " AND %s", column);
    put(s, " >= ", DB_TEXT(c->prefix));
    buf_printf(&s->text, " AND %s", column);
    put(s, " < ", DB_TEXT(c->past));
}

/* The value a WITHIN or OUTSIDE condition names, in row m. */
static void put_value(struct sql *s, const char *m, const struct find_term *t)
{
    const struct find_condition *c = t->condition;
    char column[32];

    buf_printf(&s->text, "%s.slot", m);
    put(s, " = ", DB_INT(meta_slot(t->key, s->scope->item, c->kind)));
    if (c->kind == LAKE_VALUE_NONE)
        return;
    buf_puts(&s->text, " AND ");
    snprintf(column, sizeof column, "%s.%s", m, c->kind == LAKE_VALUE_TEXT ? "value" : "number");
    put_range(s, column, c);
}

/* What a condition on a user's key asks of row m, which has that key; begins with AND, or is empty.
 */
static void put_meta_test(struct sql *s, const char *m, const struct find_term *t)
{
    switch (t->condition->op) {
    case FIND_WITHIN:
        buf_puts(&s->text, " AND ");
        put_value(s, m, t);
        break;
    case FIND_OUTSIDE:
        buf_puts(&s->text, " AND NOT (");
        put_value(s, m, t);
        buf_puts(&s->text, ")");
        break;
    case FIND_MATCHES:
        buf_printf(&s->text, " AND %s.value IS NOT NULL", m);
        break;
    case FIND_EXISTS:
    case FIND_MISSING:
        break;
    }
}

/* Rows m whose values begin as all do that a pattern matches: a range in each kind of values. */
static void put_meta_prefix(struct sql *s,
                            const char *m,
                            int64_t first,
                            const struct find_condition *c)
{
    char column[32];

    snprintf(column, sizeof column, "%s.value", m);
    buf_printf(&s->text, "%s.slot", m);
    for (int i = 0; i < META_SLOTS; i++)
        put(s, i ? ", " : " IN (", DB_INT(first + i));
    buf_puts(&s->text, ")");
    put_prefix(s, column, c);
}

/* Rows m of an index that a condition begins from. */
static void put_meta_rows(struct sql *s, const char *m, const struct find_term *t)
{
    int64_t first = meta_slot(t->key, s->scope->item, LAKE_VALUE_NONE);

    if (t->condition->op == FIND_WITHIN) {
        put_value(s, m, t);
        return;
    }
    if (t->condition->op == FIND_MATCHES && t->condition->prefix) {
        put_meta_prefix(s, m, first, t->condition);
        return;
    }
    buf_printf(&s->text, "%s.slot", m);
    put(s, " >= ", DB_INT(first));
    buf_printf(&s->text, " AND %s.slot", m);
    put(s, " < ", DB_INT(first + META_SLOTS));
}

static void put_builtin_test(struct sql *s, const struct find_condition *c)
{
    const char *column = s->scope->columns[c->builtin];

    switch (c->op) {
    case FIND_WITHIN:
        buf_puts(&s->text, " AND ");
        put_range(s, column, c);
        break;
    case FIND_OUTSIDE:
        buf_puts(&s->text, " AND NOT (");
        put_range(s, column, c);
        buf_puts(&s->text, ")");
        if (s->scope->gaps)
            buf_printf(&s->text, " AND %s IS NOT NULL", column);
        break;
    case FIND_MATCHES:
        if (c->prefix)
            put_prefix(s, column, c);
        break;
    case FIND_EXISTS:
        if (s->scope->gaps)
            buf_printf(&s->text, " AND %s IS NOT NULL", column);
        break;
    case FIND_MISSING:
        if (column)
            buf_printf(&s->text, " AND %s IS NULL", column);
        break;
    }
}

static void put_key(struct sql *s, const char *m, int64_t key)
{
    buf_printf(&s->text, " AND %s.kind = %d AND %s.key", m, s->scope->item, m);
    put(s, " = ", DB_INT(key));
}

static void put_project(struct sql *s, const char *alias)
{
    buf_puts(&s->text, alias);
    put(s, ".project = ", DB_INT(s->q->l->project));
}

/* ---- what a source holds ---- */

/* The column that orders a question, in rows of alias m for users' keys. */
static void put_sort_column(struct sql *s, const struct find_condition *c, const char *m)
{
    if (c->builtin != META_NONE)
        buf_puts(&s->text, s->scope->columns[c->builtin]);
    else
        buf_printf(&s->text, "%s.%s", m, c->kind == LAKE_VALUE_TEXT ? "value" : "number");
}

static void put_order(struct sql *s, const char *m, const char *item)
{
    buf_puts(&s->text, " ORDER BY ");
    if (s->q->sort && s->q->sort->condition->builtin != META_KIND) {
        put_sort_column(s, s->q->sort->condition, m);
        buf_puts(&s->text, s->q->descending ? " DESC, " : ", ");
    }
    buf_puts(&s->text, item);
}

/* The tables from this one to the home table. */
static void put_way(struct sql *s, const struct find_table *from)
{
    buf_puts(&s->text, from->name);
    while ((from = find_scope_next(s->scope, from)))
        buf_printf(&s->text, " CROSS JOIN %s", from->name);
}

/* shallow: rows of the index itself, not yet the things they lead to. */
static void put_builtin_source(struct sql *s, const struct find_term *t, bool shallow)
{
    const struct find_table *table = find_scope_table(s->scope, t);
    char alias[2] = {table->letter, 0};

    buf_puts(&s->text, " FROM ");
    if (shallow)
        buf_puts(&s->text, table->name);
    else
        put_way(s, table);
    buf_puts(&s->text, " WHERE ");
    put_project(s, alias);
    for (; !shallow && table->link; table = find_scope_next(s->scope, table))
        buf_printf(&s->text, " AND %s", table->link);
    if (t)
        put_builtin_test(s, t->condition);
}

static bool is_meta_source(const struct sql *s)
{
    return s->source->term && s->source->term->condition->builtin == META_NONE;
}

/* FROM and WHERE of it. */
static void put_source(struct sql *s, bool shallow)
{
    if (is_meta_source(s)) {
        buf_puts(&s->text, " FROM meta m WHERE ");
        put_meta_rows(s, "m", s->source->term);
    } else {
        put_builtin_source(s, s->source->term, shallow);
    }
}

static void put_limit(struct sql *s, uint64_t limit)
{
    put(s, " LIMIT ", DB_INT(limit > INT64_MAX ? INT64_MAX : (int64_t)limit));
}

/* ---- running it ---- */

static struct db_query *prepare(struct sql *s, struct err *e)
{
    assert(!s->text.full && s->n < PARAMETERS_MAX);
    s->values[s->n] = DB_NONE;
    return db_query_bound(s->q->l->db, buf_str(&s->text), s->values, e);
}

/* Whether the source has at least n rows: skipping is twice as fast as counting up to a limit. */
static int has_rows(struct sql *s, bool shallow, uint64_t n, struct err *e)
{
    int64_t there;

    s->n = 0;
    s->text.len = 0;
    buf_puts(&s->text, "SELECT 1");
    put_source(s, shallow);
    put(s, " LIMIT 1 OFFSET ", DB_INT((int64_t)n - 1));
    return db_take_int(prepare(s, e), &there, e);
}

int find_count(const struct find_question *q,
               const struct find_scope *scope,
               const struct find_source *source,
               uint64_t most,
               uint64_t *out,
               struct err *e)
{
    AUTO_CLEAR(sql) struct sql s = {.q = q, .scope = scope, .source = source};
    int64_t count = 0;
    int more = 0;

    *out = most;
    buf_init(&s.text, SQL_MAX);
    /* Many rows of an index may lead to few things: a user's million puts and one set. */
    if (!is_meta_source(&s) && find_scope_table(scope, source->term)->link)
        more = has_rows(&s, true, most, e);
    if (more == 0)
        more = has_rows(&s, false, most, e);
    if (more != 0)
        return more < 0 ? -1 : 0;
    s.n = 0;
    s.text.len = 0;
    buf_puts(&s.text, "SELECT count(*)");
    put_source(&s, false);
    more = db_take_int(prepare(&s, e), &count, e);
    *out = (uint64_t)count;
    return more < 0 ? -1 : 0;
}

/* ---- answers ---- */

static const char *alias_of(size_t i, char out[static 24])
{
    snprintf(out, 24, "m%zu", i);
    return out;
}

/* Ended counts first, then single values: they are tested within few pages of their index. */
static bool comes_before(const struct find_term *a, const struct find_term *b)
{
    if (a->count != b->count)
        return a->count < b->count;
    return find_is_equality(a->condition) && !find_is_equality(b->condition);
}

/* Rows of the source's own key are where the query begins: no need to look them up. */
static bool begins_with(const struct sql *s, size_t i)
{
    return s->candidates == 0 && s->source->term == &s->q->terms[i];
}

static void choose_order(struct sql *s)
{
    for (size_t i = 0; i < s->q->n; i++) {
        const struct find_term *t = &s->q->terms[i];
        size_t at = s->n_order;
        if (t->condition->builtin != META_NONE || t->condition->op == FIND_MISSING ||
            begins_with(s, i))
            continue;
        for (; at > 0 && comes_before(t, &s->q->terms[s->order[at - 1]]); at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = i;
        s->n_order++;
    }
}

static void put_columns(struct sql *s)
{
    char alias[24];

    buf_printf(&s->text, "SELECT %s, ", s->item);
    if (s->q->sort)
        put_sort_column(s, s->q->sort->condition,
                        alias_of((size_t)(s->q->sort - s->q->terms), alias));
    else
        buf_puts(&s->text, "0");
    buf_printf(&s->text, ", %s", s->scope->rights);
    for (size_t i = 0; i < s->q->n; i++) {
        const struct find_condition *c = s->q->terms[i].condition;
        if (c->op != FIND_MATCHES)
            continue;
        if (c->builtin == META_NONE)
            buf_printf(&s->text, ", %s.value", alias_of(i, alias));
        else
            buf_printf(&s->text, ", %s", s->scope->columns[c->builtin]);
    }
}

/* Whether the way from one table to the home table leads over another; both ends count. */
static bool is_on_way(const struct find_scope *scope,
                      const struct find_table *from,
                      const struct find_table *table)
{
    while (from && from != table)
        from = find_scope_next(scope, from);
    return from != NULL;
}

static bool needs_table(const struct sql *s, const struct find_table *table)
{
    if (!table->link || table->letter == 'f')
        return true;
    for (size_t i = 0; i < s->q->n; i++) {
        const struct find_term *t = &s->q->terms[i];
        if (s->scope->columns[t->condition->builtin] &&
            is_on_way(s->scope, find_scope_table(s->scope, t), table))
            return true;
    }
    return false;
}

/* CROSS JOIN: in this order. The database has no figures about its tables; we counted. */
static void put_tables(struct sql *s)
{
    const struct find_table *home = s->scope->tables, *first = NULL;
    struct buf *text = &s->text;
    char alias[24];

    buf_puts(text, " FROM ");
    if (s->candidates) {
        buf_printf(text, "(SELECT %s AS item", is_meta_source(s) ? "m.item" : s->scope->id);
        put_source(s, false);
        put_order(s, "m", is_meta_source(s) ? "m.item" : s->scope->id);
        put_limit(s, s->candidates);
        buf_puts(text, ") c");
    } else if (is_meta_source(s)) {
        buf_printf(text, "meta %s", alias_of((size_t)(s->source->term - s->q->terms), alias));
    } else {
        first = find_scope_table(s->scope, s->source->term);
        put_way(s, first);
    }
    for (size_t i = 0; i < s->n_order; i++)
        buf_printf(text, " CROSS JOIN meta %s", alias_of(s->order[i], alias));
    for (const struct find_table *t = home; t < home + FIND_TABLES_MAX && t->letter; t++)
        if (!is_on_way(s->scope, first, t) && needs_table(s, t))
            buf_printf(text, " CROSS JOIN %s", t->name);
}

/* The place where the query begins belongs to the project, as users' keys do. */
static void put_beginning(struct sql *s)
{
    char alias[24];

    if (s->candidates) {
        buf_printf(&s->text, "%s = c.item", s->scope->id);
    } else if (is_meta_source(s)) {
        size_t i = (size_t)(s->source->term - s->q->terms);
        put_meta_rows(s, alias_of(i, alias), s->source->term);
        if (s->source->term->condition->op != FIND_WITHIN)
            put_meta_test(s, alias, s->source->term);
        buf_printf(&s->text, " AND %s = %s.item", s->scope->id, alias);
    } else {
        alias[0] = find_scope_table(s->scope, s->source->term)->letter;
        alias[1] = 0;
        put_project(s, alias);
    }
}

static void put_missing(struct sql *s, const struct find_term *t)
{
    buf_puts(&s->text, " AND NOT EXISTS (SELECT 1 FROM meta x WHERE ");
    buf_printf(&s->text, "x.item = %s", s->item);
    put_key(s, "x", t->key);
    buf_puts(&s->text, ")");
}

/* The row of a key of the thing at hand. A single value is looked up in its index, where the rows
 * of that value lie close together; the table's own order would lead to another page each time. */
static void put_lookup(struct sql *s, const char *alias, const struct find_term *t)
{
    buf_printf(&s->text, " AND %s.item = %s", alias, s->item);
    if (!find_is_equality(t->condition))
        put_key(s, alias, t->key);
    put_meta_test(s, alias, t);
}

static void put_conditions(struct sql *s)
{
    char alias[24];

    for (size_t i = 0; i < s->n_order; i++) {
        const struct find_term *t = &s->q->terms[s->order[i]];
        put_lookup(s, alias_of(s->order[i], alias), t);
    }
    for (size_t i = 0; i < s->q->n; i++) {
        const struct find_condition *c = s->q->terms[i].condition;
        if (c->builtin == META_NONE && c->op == FIND_MISSING)
            put_missing(s, &s->q->terms[i]);
        /* Kinds were chosen before. */
        if (c->builtin != META_NONE && c->builtin != META_KIND)
            put_builtin_test(s, c);
    }
}

static void put_links(struct sql *s)
{
    const struct find_table *home = s->scope->tables;

    for (const struct find_table *t = home; t < home + FIND_TABLES_MAX && t->letter; t++)
        if (t->link && needs_table(s, t))
            buf_printf(&s->text, " AND %s", t->link);
    if (s->scope->here)
        buf_printf(&s->text, " AND %s", s->scope->here);
}

struct db_query *find_query(const struct find_question *q,
                            const struct find_scope *scope,
                            const struct find_source *source,
                            uint64_t candidates,
                            uint64_t limit,
                            struct err *e)
{
    AUTO_CLEAR(sql)
    struct sql s = {.q = q, .scope = scope, .source = source, .candidates = candidates};
    char alias[24];

    buf_init(&s.text, SQL_MAX);
    if (candidates)
        snprintf(s.item, sizeof s.item, "c.item");
    else if (is_meta_source(&s))
        snprintf(s.item, sizeof s.item, "m%zu.item", (size_t)(source->term - q->terms));
    else
        snprintf(s.item, sizeof s.item, "%s", scope->id);
    choose_order(&s);
    put_columns(&s);
    put_tables(&s);
    buf_puts(&s.text, " WHERE ");
    put_beginning(&s);
    put_conditions(&s);
    put_links(&s);
    put_order(&s, q->sort ? alias_of((size_t)(q->sort - q->terms), alias) : "", s.item);
    /* Or SQLite may walk the whole table in that order, so as not to sort a few rows. */
    if (source->term && !find_source_in_order(q, source->term))
        buf_puts(&s.text, " + 0");
    put_limit(&s, limit);
    return prepare(&s, e);
}
