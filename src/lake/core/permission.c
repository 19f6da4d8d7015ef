/* Changes owners and modes of files and sets. `chmod` and `chown` call it. */
#include "base/mem.h"
#include "lake/core/files.h"
#include "lake/core/internal.h"

#include <stdlib.h>
#include <string.h>

/* Nothing is executed in a lake. */
#define ALL_BITS 0666U

/* One clause of a mode: bits of `classes` (a mask such as 0770) become, gain or lose `bits`. */
struct clause {
    unsigned classes;
    char sign; /* '+', '-', '=' */
    unsigned bits;
};

static int bad_mode(const char *mode, struct err *e)
{
    char shown[PATH_SHOWN];

    return err_set(
        e, ERR_USAGE,
        "\"%s\" is not a mode; give three digits of 0, 2 (write), 4 (read) and 6 such as 640, or "
        "changes such as o-w or g=r,o=",
        path_shown(mode, shown));
}

static bool read_octal(const char *mode, unsigned *out)
{
    mode += mode[0] == '0' && strlen(mode) == 4;
    if (strlen(mode) != 3 || strspn(mode, "0246") != 3)
        return false;
    *out =
        (unsigned)(mode[0] - '0') << 6 | (unsigned)(mode[1] - '0') << 3 | (unsigned)(mode[2] - '0');
    return true;
}

static const char *read_clause(const char *text, struct clause *out)
{
    static const char names[] = "ugoa";
    static const unsigned masks[] = {0700, 0070, 0007, 0777};
    const char *name;

    *out = (struct clause){0};
    for (; *text && (name = strchr(names, *text)); text++)
        out->classes |= masks[name - names];
    out->classes = out->classes ? out->classes : 0777;
    if (!*text || !strchr("+-=", *text))
        return NULL;
    out->sign = *text++;
    for (; *text == 'r' || *text == 'w'; text++)
        out->bits |= *text == 'r' ? 0444U : 0222U;
    return *text && *text != ',' ? NULL : text;
}

/* The mode that `old` becomes. */
static int change_mode(const char *text, unsigned old, unsigned *out, struct err *e)
{
    const char *at = text;
    struct clause c;

    if (read_octal(text, out))
        return 0;
    *out = old;
    do {
        at = read_clause(at, &c);
        if (!at)
            return bad_mode(text, e);
        if (c.sign == '+')
            *out |= c.classes & c.bits;
        else if (c.sign == '-')
            *out &= ~(c.classes & c.bits);
        else
            *out = (*out & ~c.classes) | (c.classes & c.bits);
    } while (*at++ == ',');
    *out &= ALL_BITS;
    return 0;
}

/* What becomes of each file or set named. */
struct change {
    const char *mode; /* NULL: owner or team change */
    char *owner;      /* NULL: stays */
    char *team;       /* NULL: stays; "": none */
};

/* A file or set that the change is made to: checked, and what it needs. */
struct target {
    int64_t id;
    unsigned mode;
};

struct targets {
    struct lake *l;
    const struct change *change;
    struct target *all;
    size_t n, cap;
    bool sets; /* of table fileset, else file */
};

static void targets_clear(struct targets *t)
{
    free(t->all);
    *t = (struct targets){0};
}

static int check_right(const struct targets *t, const char *name, const char *owner, struct err *e)
{
    const struct lake *l = t->l;
    const struct change *c = t->change;
    char shown[PATH_SHOWN];

    if (l->admin)
        return 0;
    path_shown(name, shown);
    if (strcmp(owner, l->user) != 0)
        return err_set(e, ERR_DENIED, "%s belongs to %s: only they or an admin may change that",
                       shown, owner);
    if (c->owner && strcmp(c->owner, l->user) != 0)
        return err_set(e, ERR_DENIED, "%s: only an admin may give it to %s", shown, c->owner);
    if (c->team && *c->team && !lake_in_group(l, c->team))
        return err_set(e, ERR_DENIED, "%s: %s is not in the group %s", shown, l->user, c->team);
    return 0;
}

/* Columns: id, name, owner, mode. */
static int collect(struct targets *t, struct db_query *query, struct err *e)
{
    AUTO_RESET struct db_query *q = query;
    int more;

    while ((more = db_step(q, e)) == 1) {
        if (check_right(t, db_text(q, 1), db_text(q, 2), e) < 0)
            return -1;
        t->all = mem_room(t->all, t->n, &t->cap, sizeof *t->all);
        t->all[t->n++] = (struct target){db_int(q, 0), (unsigned)db_int(q, 3)};
    }
    return more;
}

static int collect_tree(struct targets *t, const char *directory, struct err *e)
{
    AUTO_MEM char *after = path_after(directory);

    return collect(t,
                   db_query(t->l->db, e,
                            "SELECT id, path, owner, mode FROM file WHERE project = $1"
                            " AND path > $2 AND path < $3 AND removed = 0",
                            DB_INT(t->l->project), DB_TEXT(directory), DB_TEXT(after)),
                   e);
}

static int collect_one(struct targets *t, const char *sql, int64_t id, struct err *e)
{
    return collect(t, db_query(t->l->db, e, sql, DB_INT(t->l->project), DB_INT(id)), e);
}

static int find_targets(struct targets *t, const struct lake_ref *r, struct err *e)
{
    switch (r->kind) {
    case LAKE_REF_FILE:
    case LAKE_REF_PATH:
        return collect_one(
            t, "SELECT id, path, owner, mode FROM file WHERE project = $1 AND id = $2", r->file, e);
    case LAKE_REF_TREE:
        return collect_tree(t, r->path, e);
    case LAKE_REF_SET:
        if (strcmp(r->path, "/") != 0)
            break;
        t->sets = true;
        return collect_one(
            t, "SELECT id, '@' || name, owner, mode FROM fileset WHERE project = $1 AND id = $2",
            r->set, e);
    case LAKE_REF_JOB:
        break;
    }
    return ref_refuse(r, "has no permissions; name a file, a directory or a whole set", e);
}

#define UPDATE(table)                                                                              \
    "UPDATE " table " SET mode = $2, owner = coalesce($3, owner),"                                 \
    " team = coalesce($4, team) WHERE id = $1"

static int apply(const struct targets *t, const struct target *target, struct err *e)
{
    const struct change *c = t->change;
    unsigned mode = target->mode;

    if (c->mode && change_mode(c->mode, target->mode, &mode, e) < 0)
        return -1;
    return db_run(t->l->db, e, t->sets ? UPDATE("fileset") : UPDATE("file"), DB_INT(target->id),
                  DB_INT(mode), DB_TEXT(c->owner), DB_TEXT(c->team));
}

static int change_all(
    struct lake *l, const struct change *c, const char *const *refs, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref r = {0};
        AUTO_CLEAR(targets) struct targets t = {.l = l, .change = c};
        if (lake_resolve(l, refs[i], 0, &r, e) < 0 || find_targets(&t, &r, e) < 0)
            return -1;
        for (size_t k = 0; k < t.n; k++)
            if (apply(&t, &t.all[k], e) < 0)
                return -1;
    }
    return 0;
}

int lake_chmod(struct lake *l, const char *mode, const char *const *refs, size_t n, struct err *e)
{
    struct change c = {.mode = mode};
    unsigned ignored;

    if (change_mode(mode, 0, &ignored, e) < 0)
        return -1;
    return db_begin(l->db, e) < 0 ? -1 : db_end(l->db, change_all(l, &c, refs, n, e), e);
}

int lake_chown(struct lake *l, const char *owner, const char *const *refs, size_t n, struct err *e)
{
    AUTO_MEM char *user = mem_dup(owner);
    char *colon = strchr(user, ':');
    struct change c = {.owner = user[0] && user[0] != ':' ? user : NULL};

    if (colon) {
        *colon = 0;
        c.team = colon + 1;
    }
    if (!c.owner && !c.team)
        return err_set(e, ERR_USAGE, "no owner is named: OWNER, OWNER:GROUP or :GROUP");
    if ((c.owner && path_user_check("a user", c.owner, e) < 0) ||
        (c.team && *c.team && path_user_check("a group", c.team, e) < 0))
        return -1;
    return db_begin(l->db, e) < 0 ? -1 : db_end(l->db, change_all(l, &c, refs, n, e), e);
}
