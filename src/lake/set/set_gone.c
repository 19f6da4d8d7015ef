/* The job that made a set version, and the content of a set version that gc removed. `replay` and
 * `gc --economic` call it. */
#include "lake/set/set.h"

#include "base/mem.h"
#include "lake/core/entries.h"
#include "lake/core/internal.h"

int lake_set_maker(struct lake *l, int64_t set_version, int64_t *job_out, struct err *e)
{
    *job_out = 0;
    /* The first: later ones made the same again. */
    int found = db_get_int(l->db, e, job_out,
                           "SELECT id FROM job WHERE output_version = $1 AND project = $2"
                           " ORDER BY id LIMIT 1",
                           DB_INT(set_version), DB_INT(l->project));
    return found < 0 ? -1 : 0;
}

struct counting {
    struct lake *l;
    struct lake_gone *sum;
};

static int count_gone(void *context, const struct lake_entry *entry, struct err *e)
{
    struct counting *c = context;
    int64_t blob;
    int there = db_get_int(c->l->db, e, &blob,
                           "SELECT o.blob FROM version v JOIN object o ON o.id = v.object"
                           " WHERE v.id = $1",
                           DB_INT(entry->version));

    if (there < 0)
        return -1;
    c->sum->files += !there;
    c->sum->bytes += there ? 0 : entry->size;
    return 0;
}

int lake_set_gone(struct lake *l, const struct lake_ref *ref, struct lake_gone *out, struct err *e)
{
    struct counting c = {l, out};

    *out = (struct lake_gone){0};
    if (ref->kind != LAKE_REF_SET && ref->kind != LAKE_REF_FILE)
        return err_set(e, ERR_USAGE, "only the content of set versions and their parts is counted");
    if (ref_ask(l, ref, LAKE_READ, e) < 0)
        return -1;
    if (ref->kind == LAKE_REF_SET)
        return entries_each(l, ref->set_version, ref->path, count_gone, &c, e);
    return count_gone(&c, &(struct lake_entry){.version = ref->version}, e);
}
