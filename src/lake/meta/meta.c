/* Metadata of files, sets and jobs: written, changed, removed. `tag` and put call it. */
#include "lake/meta/meta.h"

#include "base/mem.h"
#include "lake/core/internal.h"
#include "lake/meta/internal.h"
#include "lake/meta/meta_value.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int meta_key_find(struct lake *l, const char *name, int64_t *id_out, struct err *e)
{
    return db_get_int(l->db, e, id_out, "SELECT id FROM meta_key WHERE project = $1 AND name = $2",
                      DB_INT(l->project), DB_TEXT(name));
}

static int key_make(struct lake *l, const char *name, int64_t *id_out, struct err *e)
{
    int got = meta_key_find(l, name, id_out, e);

    if (got != 0)
        return got < 0 ? -1 : 0;
    if (db_ids(l->db, "meta_key", 1, id_out, e) < 0)
        return -1;
    return db_run(l->db, e, "INSERT INTO meta_key (id, project, name) VALUES ($1, $2, $3)",
                  DB_INT(*id_out), DB_INT(l->project), DB_TEXT(name));
}

int meta_put_pair(
    struct lake *l, enum lake_item kind, int64_t item, const struct meta_pair *pair, struct err *e)
{
    bool is_number = pair->kind == LAKE_VALUE_NUMBER || pair->kind == LAKE_VALUE_TIME;
    int64_t key = 0;

    if (key_make(l, pair->key, &key, e) < 0)
        return -1;
    return db_run(l->db, e,
                  "INSERT INTO meta (kind, item, key, slot, number, value)"
                  " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (kind, item, key) DO UPDATE SET"
                  " slot = excluded.slot, number = excluded.number, value = excluded.value",
                  DB_INT(kind), DB_INT(item), DB_INT(key), DB_INT(meta_slot(key, kind, pair->kind)),
                  is_number ? DB_REAL(pair->number) : DB_NULL, DB_TEXT(pair->value));
}

int meta_put(struct lake *l, enum lake_item kind, int64_t item, const char *pair, struct err *e)
{
    struct meta_pair split;

    if (meta_pair_split(pair, &split, e) < 0)
        return -1;
    if (meta_put_pair(l, kind, item, &split, e) < 0)
        return err_wrap(e, "tag %s", split.key);
    return 0;
}

int lake_tag_check(const char *pair, struct err *e)
{
    struct meta_pair split;

    return meta_pair_split(pair, &split, e);
}

/* ---- which things a reference means ---- */

static const char *const owner_sql[] = {
    [LAKE_ITEM_FILE] = "SELECT f.owner, f.team, f.mode FROM version v JOIN file f ON f.id = v.file"
                       " WHERE v.id = $1 AND v.project = $2",
    [LAKE_ITEM_PATH] = "SELECT owner, team, mode FROM file WHERE id = $1 AND project = $2",
    [LAKE_ITEM_SET] = "SELECT f.owner, f.team, f.mode FROM set_version s JOIN fileset f"
                      " ON f.id = s.fileset WHERE s.id = $1 AND s.project = $2",
    [LAKE_ITEM_JOB] =
        "SELECT creator, '', " LAKE_JOB_MODE_SQL " FROM job WHERE id = $1 AND project = $2",
};

/* Asked of every single thing: a directory holds files of many owners. */
static int check_writable(
    struct lake *l, enum lake_item kind, int64_t item, const char *name, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, owner_sql[kind], DB_INT(item), DB_INT(l->project));
    int got = db_step(q, e);

    if (got == 0)
        return err_set(e, ERR_NOTFOUND, "%s is not in this project", name);
    return got < 0 ? -1 : lake_row_ask(l, q, 0, name, LAKE_WRITE, e);
}

/* What is done to every thing of a reference. */
struct each {
    struct lake *l;
    int (*act)(struct each *each, enum lake_item kind, int64_t item, struct err *e);
    const char *const *words; /* pairs or keys */
    size_t n;
    uint64_t *removed; /* by key: how many had it */
};

static int act_on(
    struct each *each, enum lake_item kind, int64_t item, const char *name, struct err *e)
{
    if (check_writable(each->l, kind, item, name, e) < 0)
        return -1;
    if (each->act(each, kind, item, e) < 0)
        return err_wrap(e, "%s", name);
    return 0;
}

static int act_on_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    return act_on(context, LAKE_ITEM_FILE, entry->version, entry->path, e);
}

/* "@S" is the set version itself; "/dir/" and "/dir/@S" are each of their files. */
static int for_each_item(struct each *each, const struct lake_ref *ref, struct err *e)
{
    AUTO_MEM char *name = lake_ref_text(ref);
    enum lake_item kind;
    int64_t item;

    /* The right to write is asked of each item. */
    if (ref_ask(each->l, ref, 0, e) < 0)
        return -1;
    return ref_item(ref, &kind, &item) ? act_on(each, kind, item, name, e)
                                       : lake_every_file(each->l, ref, act_on_entry, each, e);
}

/* ---- tag and untag ---- */

/* A tag by hand stays when a metric of its name goes on: see enum job_key_kind. */
static int own_keys(struct each *each, int64_t job, struct err *e)
{
    struct meta_pair split;
    int64_t key = 0;

    for (size_t i = 0; i < each->n; i++) {
        if (meta_pair_split(each->words[i], &split, e) < 0 ||
            meta_key_find(each->l, split.key, &key, e) < 0 ||
            db_run(each->l->db, e, "UPDATE job_tag SET kind = 0 WHERE job = $1 AND key = $2",
                   DB_INT(job), DB_INT(key)) < 0)
            return -1;
    }
    return 0;
}

static int put_pairs(struct each *each, enum lake_item kind, int64_t item, struct err *e)
{
    for (size_t i = 0; i < each->n; i++)
        if ((kind == LAKE_ITEM_JOB && meta_job_pair_check(each->words[i], e) < 0) ||
            meta_put(each->l, kind, item, each->words[i], e) < 0)
            return -1;
    return kind == LAKE_ITEM_JOB ? own_keys(each, item, e) : 0;
}

int meta_tag_ref(
    struct lake *l, const struct lake_ref *ref, const char *const *pairs, size_t n, struct err *e)
{
    struct each each = {.l = l, .act = put_pairs, .words = pairs, .n = n};

    return for_each_item(&each, ref, e);
}

int lake_tag(
    struct lake *l, const struct lake_ref *ref, const char *const *pairs, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (lake_tag_check(pairs[i], e) < 0)
            return -1;
    return db_begin(l->db, e) < 0 ? -1 : db_end(l->db, meta_tag_ref(l, ref, pairs, n, e), e);
}

static int remove_keys(struct each *each, enum lake_item kind, int64_t item, struct err *e)
{
    for (size_t i = 0; i < each->n; i++) {
        if (db_run(each->l->db, e,
                   "DELETE FROM meta WHERE kind = $1 AND item = $2"
                   " AND key = (SELECT id FROM meta_key WHERE project = $3 AND name = $4)",
                   DB_INT(kind), DB_INT(item), DB_INT(each->l->project),
                   DB_TEXT(each->words[i])) < 0)
            return -1;
        each->removed[i] += (uint64_t)db_changes(each->l->db);
    }
    return 0;
}

static int untag_all(struct each *each, const struct lake_ref *ref, struct err *e)
{
    if (for_each_item(each, ref, e) < 0)
        return -1;
    for (size_t i = 0; i < each->n; i++) {
        if (each->removed[i])
            continue;
        AUTO_MEM char *name = lake_ref_text(ref);
        return err_set(e, ERR_NOTFOUND, "%s has no key \"%s\"", name, each->words[i]);
    }
    return 0;
}

/* The same key twice would not be found the second time. */
static int check_keys(const char *const *keys, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr(keys[i], '='))
            return err_set(e, ERR_USAGE, "\"%.150s\": name the key alone to remove it", keys[i]);
        if (meta_key_check_settable(keys[i], strlen(keys[i]), e) < 0)
            return -1;
        for (size_t j = 0; j < i; j++)
            if (strcmp(keys[i], keys[j]) == 0)
                return err_set(e, ERR_USAGE, "key %s is named twice", keys[i]);
    }
    return 0;
}

int lake_untag(
    struct lake *l, const struct lake_ref *ref, const char *const *keys, size_t n, struct err *e)
{
    if (check_keys(keys, n, e) < 0)
        return -1;
    AUTO_MEM uint64_t *removed = mem_zero(n + 1, sizeof *removed);
    struct each each = {.l = l, .act = remove_keys, .words = keys, .n = n, .removed = removed};
    return db_begin(l->db, e) < 0 ? -1 : db_end(l->db, untag_all(&each, ref, e), e);
}
