#include "lake/find/find_scope.h"

#include "lake/core/internal.h"

#include <stddef.h>
#include <string.h>

#define OF_FILES_AND_SETS "f.owner, f.team, f.mode"

static const struct find_scope files = {
    LAKE_ITEM_FILE,
    "file",
    "v.id",
    {{'v', "version v", NULL, 0},
     {'f', "file f", "f.id = v.file", 0},
     {'o', "object o", "o.id = v.object", 0},
     {'d', "made d", "d.id = v.made", 0}},
    {[META_CREATE_TIME] = "d.create_time",
     [META_CREATOR] = "d.creator",
     [META_KIND] = "'file'",
     [META_PATH] = "f.path",
     [META_SIZE] = "o.size",
     [META_VERSION] = "v.number"},
    "v.removed = 0 AND f.removed = 0",
    OF_FILES_AND_SETS,
    false,
};

static const struct find_scope paths = {
    LAKE_ITEM_PATH,
    "path",
    "f.id",
    /* It came to be with its first version. */
    {{'f', "file f", NULL, 0},
     {'v', "version v", "v.file = f.id AND v.number = 1", 0},
     {'d', "made d", "d.id = v.made", 'v'}},
    {[META_CREATE_TIME] = "d.create_time",
     [META_CREATOR] = "d.creator",
     [META_KIND] = "'path'",
     [META_PATH] = "f.path"},
    "f.removed = 0",
    OF_FILES_AND_SETS,
    false,
};

static const struct find_scope sets = {
    LAKE_ITEM_SET,
    "set",
    "v.id",
    {{'v', "set_version v", NULL, 0},
     {'f', "fileset f", "f.id = v.fileset", 0},
     {'d', "made d", "d.id = v.made", 0}},
    {[META_CREATE_TIME] = "d.create_time",
     [META_CREATOR] = "d.creator",
     [META_KIND] = "'set'",
     [META_NAME] = "f.name",
     [META_SIZE] = "v.bytes",
     [META_VERSION] = "v.number"},
    "v.removed = 0",
    OF_FILES_AND_SETS,
    false,
};

/* enum lake_job_state */
#define STATE_TEXT                                                                                 \
    "CASE f.state WHEN 1 THEN 'queued' WHEN 2 THEN 'launching' WHEN 3 THEN 'fetching'"             \
    " WHEN 4 THEN 'running' WHEN 5 THEN 'storing' WHEN 6 THEN 'finished' WHEN 7 THEN 'failed'"     \
    " WHEN 8 THEN 'killed' WHEN 9 THEN 'lost' WHEN 10 THEN 'unsaved' END"

static const struct find_scope jobs = {
    LAKE_ITEM_JOB,
    "job",
    "f.id",
    {{'f', "job f", NULL, 0}},
    {[META_CREATE_TIME] = "f.queued",
     [META_CREATOR] = "f.creator",
     [META_KIND] = "'job'",
     [META_NAME] = "f.name",
     [META_RUNTIME_S] = "f.runtime_s",
     [META_COST_USD] = "f.cost_microusd / 1e6",
     [META_EXIT_CODE] = "f.exit_code",
     [META_STATE] = STATE_TEXT,
     [META_STATE_NUMBER] = "f.state",
     [META_CPUS] = "f.cpus",
     [META_MEMORY_MB] = "f.memory_mb",
     [META_TIME_LIMIT_S] = "f.time_limit_s",
     [META_MACHINE] = "f.machine",
     [META_RUN] = "f.run",
     [META_INPUT] = "f.input",
     [META_OUTPUT] = "f.output"},
    NULL,
    "f.creator, '', " LAKE_JOB_MODE_SQL,
    true,
};

const struct find_scope *const find_scopes[] = {&files, &paths, &sets, &jobs, NULL};

/* ---- what can be told without the database ---- */

static bool kind_holds(const struct find_condition *c, const char *kind)
{
    const struct lake_value v = {.kind = LAKE_VALUE_TEXT, .text = kind};

    return find_holds(c, &v);
}

/* Whole files stand beside their versions; they answer when they are asked for: by kind, or by a
 * key of theirs. */
static bool asks_for_paths(const struct find_question *q)
{
    for (size_t i = 0; i < q->n; i++) {
        const struct find_condition *c = q->terms[i].condition;
        if (c->builtin == META_KIND || (c->builtin == META_NONE && c->op != FIND_MISSING))
            return true;
    }
    return false;
}

bool find_scope_fits(const struct find_scope *s, const struct find_question *q)
{
    for (size_t i = 0; i < q->n; i++) {
        const struct find_condition *c = q->terms[i].condition;
        if (c->builtin == META_NONE)
            continue;
        const char *column = s->columns[c->builtin];
        bool missing = c->op == FIND_MISSING;
        if (c->builtin == META_KIND ? !kind_holds(c, s->kind)
            : column                ? missing && !s->gaps
                                    : !missing)
            return false;
    }
    return s->item != LAKE_ITEM_PATH || asks_for_paths(q);
}

static const struct find_table *table_of(const struct find_scope *s, char letter)
{
    for (size_t i = 0; i < FIND_TABLES_MAX; i++)
        if (s->tables[i].letter && s->tables[i].letter == letter)
            return &s->tables[i];
    return NULL;
}

const struct find_table *find_scope_next(const struct find_scope *s, const struct find_table *t)
{
    return t->via ? table_of(s, t->via) : t->link ? s->tables : NULL;
}

/* The table whose index a built-in source reads. Kinds have none: all things are their source. */
const struct find_table *find_scope_table(const struct find_scope *s, const struct find_term *t)
{
    const struct find_table *table = t ? table_of(s, s->columns[t->condition->builtin][0]) : NULL;

    return table ? table : s->tables;
}

bool find_source_usable(const struct find_scope *s, const struct find_term *t)
{
    const struct find_condition *c = t->condition;

    if (c->builtin == META_NONE)
        return c->op != FIND_MISSING;
    if (c->builtin == META_KIND || c->op == FIND_MISSING || c->op == FIND_OUTSIDE)
        return false;
    return s->columns[c->builtin] && (c->op == FIND_WITHIN || (c->op == FIND_MATCHES && c->prefix));
}

bool find_source_in_order(const struct find_question *q, const struct find_term *t)
{
    if (q->sort)
        return t == q->sort;
    return t->condition->builtin == META_NONE && find_is_equality(t->condition);
}
