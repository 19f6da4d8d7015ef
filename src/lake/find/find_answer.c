/* Reads the built-in keys and the metadata of one thing. find.c calls it. */
#include "lake/find/find_scope.h"

#include "base/mem.h"
#include "base/time.h"
#include "lake/core/internal.h"
#include "lake/job/job.h"
#include "lake/meta/meta.h"
#include "lake/meta/meta_value.h"

#include <stdlib.h>
#include <string.h>

/* A thing with more metadata than this is cut off with an error. */
#define TEXTS_MAX ((size_t)256 << 20)

void find_answer_init(struct find_answer *a)
{
    *a = (struct find_answer){0};
    buf_init(&a->texts, TEXTS_MAX);
}

void find_answer_clear(struct find_answer *a)
{
    free(a->values);
    free(a->places);
    free(a->ref);
    buf_clear(&a->texts);
    *a = (struct find_answer){0};
}

static size_t keep(struct find_answer *a, const char *text)
{
    size_t at = a->texts.len;

    buf_add(&a->texts, text, strlen(text) + 1);
    return at;
}

/* The buffer no longer moves: offsets become texts. */
static void settle(struct find_answer *a)
{
    for (size_t i = 0; i < a->n; i++) {
        struct lake_value *v = &a->values[i];
        v->key = a->texts.data + a->places[i].key;
        v->text = v->kind == LAKE_VALUE_NONE ? NULL : a->texts.data + a->places[i].text;
    }
}

static void add(struct find_answer *a, const char *key, const struct lake_value *value)
{
    a->values = mem_room(a->values, a->n, &a->cap, sizeof *a->values);
    a->places = mem_room(a->places, a->n, &a->places_cap, sizeof *a->places);
    a->values[a->n] = *value;
    a->places[a->n].key = keep(a, key);
    a->places[a->n].text = value->text ? keep(a, value->text) : 0;
    a->n++;
}

static void add_text(struct find_answer *a, const char *key, const char *text)
{
    add(a, key, &(struct lake_value){.kind = LAKE_VALUE_TEXT, .text = text});
}

static void add_whole(struct find_answer *a, const char *key, int64_t whole)
{
    AUTO_MEM char *text = mem_printf("%lld", (long long)whole);

    add(a, key,
        &(struct lake_value){.kind = LAKE_VALUE_NUMBER, .text = text, .number = (double)whole});
}

static void add_time(struct find_answer *a, const char *key, int64_t epoch_ms)
{
    char text[32];

    add(a, key,
        &(struct lake_value){.kind = LAKE_VALUE_TIME,
                             .text = time_iso_ms(epoch_ms, text),
                             .number = (double)epoch_ms});
}

/* STATE on: of jobs alone. */
enum { NAME, OWNER, TEAM, MODE, NUMBER, SIZE, CREATE_TIME, CREATOR, STATE, NUMBERS };

static const char *const builtin_sql[] = {
    [LAKE_ITEM_FILE] =
        "SELECT f.path, f.owner, f.team, f.mode, v.number, o.size, d.create_time, d.creator"
        " FROM version v CROSS JOIN file f CROSS JOIN object o CROSS JOIN made d"
        " WHERE v.id = $1 AND v.project = $2 AND f.id = v.file AND o.id = v.object"
        " AND d.id = v.made",
    [LAKE_ITEM_PATH] = "SELECT f.path, f.owner, f.team, f.mode, 0, 0, d.create_time, d.creator"
                       " FROM file f CROSS JOIN version v CROSS JOIN made d WHERE f.id = $1"
                       " AND f.project = $2 AND v.file = f.id AND v.number = 1 AND d.id = v.made",
    [LAKE_ITEM_SET] =
        "SELECT f.name, f.owner, f.team, f.mode, v.number, v.bytes, d.create_time, d.creator"
        " FROM set_version v CROSS JOIN fileset f CROSS JOIN made d WHERE v.id = $1"
        " AND v.project = $2 AND f.id = v.fileset AND d.id = v.made",
    [LAKE_ITEM_JOB] =
        "SELECT name, creator, '', " LAKE_JOB_MODE_SQL ", id, NULL, queued, creator, state,"
        " cpus, memory_mb, time_limit_s, runtime_s, cost_microusd / 1e6, exit_code, run,"
        " machine, input, output FROM job WHERE id = $1 AND project = $2",
};

static const char *kind_text(enum lake_item kind)
{
    return find_scopes[kind - LAKE_ITEM_FILE]->kind;
}

static char *ref_text(enum lake_item kind, const char *name, int64_t number)
{
    return kind == LAKE_ITEM_FILE   ? lake_file_ref(name, number)
           : kind == LAKE_ITEM_PATH ? lake_path_ref(name)
                                    : lake_ref_of_set(name, number);
}

static void add_real(struct find_answer *a, const char *key, double real)
{
    AUTO_MEM char *text = mem_printf("%.15g", real);

    add(a, key, &(struct lake_value){.kind = LAKE_VALUE_NUMBER, .text = text, .number = real});
}

/* What is NULL is not known, or there is none. */
static void add_job_builtins(struct find_answer *a, struct db_query *q)
{
    static const char *const numbers[] = {"cpus",     "memory_mb", "time_limit_s", "runtime_s",
                                          "cost_usd", "exit_code", "run"};
    static const char *const texts[] = {"machine", "input", "output"};
    enum { N_NUMBERS = sizeof numbers / sizeof *numbers, N_TEXTS = sizeof texts / sizeof *texts };

    add_time(a, "create_time", db_int(q, CREATE_TIME));
    add_text(a, "creator", db_text(q, CREATOR));
    add_text(a, "kind", "job");
    add_text(a, "name", db_text(q, NAME));
    add_text(a, "state", lake_job_state_text((enum lake_job_state)db_int(q, STATE)));
    for (int i = 0; i < N_NUMBERS; i++)
        if (!db_is_null(q, NUMBERS + i))
            add_real(a, numbers[i], db_real(q, NUMBERS + i));
    for (int i = 0; i < N_TEXTS; i++)
        if (!db_is_null(q, NUMBERS + N_NUMBERS + i))
            add_text(a, texts[i], db_text(q, NUMBERS + N_NUMBERS + i));
    a->ref = mem_printf("job:%lld", (long long)db_int(q, NUMBER));
}

static void add_builtins(struct find_answer *a, enum lake_item kind, struct db_query *q)
{
    if (kind == LAKE_ITEM_JOB) {
        add_job_builtins(a, q);
        return;
    }
    add_time(a, "create_time", db_int(q, CREATE_TIME));
    add_text(a, "creator", db_text(q, CREATOR));
    add_text(a, "kind", kind_text(kind));
    add_text(a, kind == LAKE_ITEM_SET ? "name" : "path", db_text(q, NAME));
    if (kind != LAKE_ITEM_PATH) {
        add_whole(a, "size", db_int(q, SIZE));
        add_whole(a, "version", db_int(q, NUMBER));
    }
    a->ref = ref_text(kind, db_text(q, NAME), db_int(q, NUMBER));
}

static int read_builtins(
    struct lake *l, struct find_answer *a, enum lake_item kind, int64_t item, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, builtin_sql[kind], DB_INT(item), DB_INT(l->project));
    int got = db_step(q, e);

    if (got == 1) {
        a->readable = lake_row_may(l, q, OWNER, LAKE_READ);
        add_builtins(a, kind, q);
    }
    return got;
}

static int read_meta(
    struct lake *l, struct find_answer *a, enum lake_item kind, int64_t item, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT k.name, m.slot, m.number, m.value FROM meta m"
                 " CROSS JOIN meta_key k WHERE m.kind = $1 AND m.item = $2"
                 " AND k.id = m.key",
                 DB_INT(kind), DB_INT(item));
    int got;

    while ((got = db_step(q, e)) == 1) {
        struct lake_value v = {.kind = meta_slot_kind(db_int(q, 1)), .number = db_real(q, 2)};
        v.text = v.kind == LAKE_VALUE_NONE ? NULL : db_text(q, 3);
        add(a, db_text(q, 0), &v);
    }
    return got;
}

static int by_key(const void *a, const void *b)
{
    const struct lake_value *x = a, *y = b;

    return strcmp(x->key, y->key);
}

/* The key without "param." or "metric."; NULL when it has neither. */
static const char *bare_key(const char *key)
{
    static const char *const prefixes[] = {"metric.", "param."};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
            return key + strlen(prefixes[i]);
    return NULL;
}

/* Whether the value stands under its bare name as well. */
static bool is_repeated(const struct find_answer *a, size_t from, const struct lake_value *v)
{
    const struct lake_value wanted = {.key = bare_key(v->key)};

    if (!wanted.key)
        return false;
    const struct lake_value *bare =
        bsearch(&wanted, a->values + from, a->n - from, sizeof *a->values, by_key);
    return bare && bare->kind == v->kind && (!v->text || strcmp(bare->text, v->text) == 0);
}

/* Of sorted values: param.NAME and metric.NAME are for names that mean something else, too. */
static void drop_repeated(struct find_answer *a, size_t from)
{
    AUTO_MEM bool *again = mem_zero(a->n + 1, sizeof *again);
    size_t kept = from;

    for (size_t i = from; i < a->n; i++)
        again[i] = is_repeated(a, from, &a->values[i]);
    for (size_t i = from; i < a->n; i++)
        if (!again[i])
            a->values[kept++] = a->values[i];
    a->n = kept;
}

int find_answer_get(struct lake *l,
                    struct find_answer *a,
                    enum lake_item kind,
                    int64_t item,
                    struct lake_found *out,
                    struct err *e)
{
    a->n = 0;
    a->texts.len = 0;
    free(TAKE(a->ref));
    int got = read_builtins(l, a, kind, item, e);
    if (got != 1)
        return got;
    size_t builtins = a->n;
    if (read_meta(l, a, kind, item, e) < 0)
        return -1;
    if (a->texts.full)
        return err_set(e, ERR_NOFIT, "%s has more than %zu MB of metadata", a->ref,
                       TEXTS_MAX >> 20);
    settle(a);
    qsort(a->values + builtins, a->n - builtins, sizeof *a->values, by_key);
    drop_repeated(a, builtins);
    *out = (struct lake_found){a->ref, kind_text(kind), a->values, a->n};
    return 1;
}
