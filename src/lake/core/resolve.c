/* Resolves a reference as users write it to a version of a file or of a set, or says what is
 * nearest. Every command on the lake calls it. */
#include "base/mem.h"
#include "base/nearest.h"
#include "lake/core/bits.h"
#include "lake/core/entries.h"
#include "lake/core/files.h"
#include "lake/core/internal.h"
#include "lake/core/ref.h"

#include <stdlib.h>
#include <string.h>

/* The longest path with everything escaped, and a set behind it. */
#define TEXT_MAX (3 * LAKE_PATH_MAX + 2 * LAKE_NAME_MAX + 4)
/* Names looked at for "did you mean", as in the SQL below. */
#define SUGGEST_MAX 256

/* One reading of a text after another is tried; the last to fail with something to say is told. */
struct resolve {
    struct lake *l;
    const char *text;
    unsigned access;
    struct lake_ref *out;
    struct item_row set; /* that the text names, once found */
    struct err why;      /* ERR_NONE: nothing better than "no such file" */
};

static char *cut(const char *text, size_t n)
{
    return mem_printf("%.*s", (int)n, text);
}

/* Digits only; false when there are none or too many. */
static bool read_number(const char *text, int64_t *out)
{
    size_t n = strlen(text);

    if (n == 0 || n > 18 || strspn(text, "0123456789") != n)
        return false;
    *out = strtoll(text, NULL, 10);
    return true;
}

/* ---- files ---- */

/* Version 0: the file as a whole. */
static int take_file(struct resolve *r,
                     const char *path,
                     const struct item_row *row,
                     int64_t version,
                     int64_t number,
                     struct err *e)
{
    char shown[PATH_SHOWN];

    if (item_ask(r->l, row, path_shown(path, shown), r->access, e) < 0)
        return -1;
    *r->out = (struct lake_ref){
        .kind = version ? LAKE_REF_FILE : LAKE_REF_PATH,
        .project = r->l->project,
        .may = row->may,
        .path = mem_dup(path),
        .file = row->id,
        .version = version,
        .number = number,
        .whole = !version,
    };
    return 1;
}

/* The readings below: 1 = it is this one, 0 = it is not, -1 = failed or denied. */

static int try_latest(struct resolve *r, const char *path, struct err *e)
{
    struct item_row row;
    char shown[PATH_SHOWN];
    int found = lake_file_find(r->l, path, &row, e);

    if (found != 1)
        return found;
    if (row.removed) {
        err_set(&r->why, ERR_NOTFOUND, "%s was removed: `tradewind log` shows its versions",
                path_shown(path, shown));
        return 0;
    }
    found = take_file(r, path, &row, row.latest_version, row.latest, e);
    r->out->whole = true;
    return found;
}

static int take_version(
    struct resolve *r, const char *path, const struct item_row *row, int64_t number, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(r->l->db, e, "SELECT id, removed FROM version WHERE file = $1 AND number = $2",
                 DB_INT(row->id), DB_INT(number));
    char shown[PATH_SHOWN];

    int found = db_step(q, e);
    int64_t id = found == 1 ? db_int(q, 0) : 0;
    bool removed = found == 1 && db_int(q, 1) != 0;
    db_reset(q);
    if (found == 1 && !removed)
        return take_file(r, path, row, id, number, e);
    if (removed)
        err_set(&r->why, ERR_NOTFOUND, "version %lld of %s was removed by rm", (long long)number,
                path_shown(path, shown));
    else
        err_set(&r->why, ERR_NOTFOUND, "%s has no version %lld: the newest is %lld",
                path_shown(path, shown), (long long)number, (long long)row->last);
    return found < 0 ? -1 : 0;
}

/* /p#2 /p:2 /p#*; base is text without the suffix, read with escapes first: a reference that was
 * made for a file must lead back to it. */
static int try_version_of(struct resolve *r, const char *base, const char *suffix, struct err *e)
{
    AUTO_MEM char *path = lake_path_unescape(base);
    const char *readings[] = {path, base};
    struct item_row row;
    int64_t number;
    int found = 0;

    for (size_t i = 0; i < 2 && found == 0; i++) {
        if (i == 1 && strcmp(path, base) == 0)
            break;
        found = lake_file_find(r->l, readings[i], &row, e);
        if (found == 1 && strcmp(suffix, "*") == 0)
            return take_file(r, readings[i], &row, 0, 0, e);
        if (found == 1 && read_number(suffix, &number))
            return take_version(r, readings[i], &row, number, e);
    }
    return found < 0 ? -1 : 0;
}

static const char *version_suffix(const char *text)
{
    const char *hash = strrchr(text, '#'), *colon = strrchr(text, ':');
    const char *mark = !hash || (colon && colon > hash) ? colon : hash;
    int64_t number;

    if (!mark || (!read_number(mark + 1, &number) && strcmp(mark, "#*") != 0))
        return NULL;
    return mark;
}

static int try_version(struct resolve *r, struct err *e)
{
    const char *mark = version_suffix(r->text);

    if (!mark)
        return 0;
    AUTO_MEM char *base = cut(r->text, (size_t)(mark - r->text));
    return try_version_of(r, base, mark + 1, e);
}

static struct lake_ref tree_ref(const struct lake *l, char *directory)
{
    return (struct lake_ref){
        .kind = LAKE_REF_TREE,
        .project = l->project,
        .may = LAKE_READ | LAKE_WRITE,
        .path = directory,
        .whole = true,
    };
}

static int try_directory(struct resolve *r, const char *path, struct err *e)
{
    size_t len = strlen(path);
    char *directory = path[len - 1] == '/' ? mem_dup(path) : mem_printf("%s/", path);
    int found = len == 1 ? 1 : directory_exists(r->l, directory, e);

    if (found == 1)
        *r->out = tree_ref(r->l, TAKE(directory));
    free(directory);
    return found;
}

/* ---- sets ---- */

/* r->why becomes `what`, with the nearest to name, behind `before`, of the names that sql tells
 * with owner, team and mode of what they belong to: names that the caller may not read are not
 * told. */
static int no_name(struct resolve *r,
                   const char *sql,
                   int64_t key,
                   const char *name,
                   const char *what,
                   const char *before,
                   struct err *e)
{
    AUTO_CLEAR(lake_names) struct lake_names names = {0};
    AUTO_RESET struct db_query *q = db_query(r->l->db, e, sql, DB_INT(key));
    int more;

    while ((more = db_step(q, e)) == 1)
        if (lake_row_may(r->l, q, 1, LAKE_READ))
            lake_names_add(&names, db_text(q, 0));
    const char *close = nearest(name, (const char *const *)names.items, names.n);
    if (close)
        err_set(&r->why, ERR_NOTFOUND, "%s: did you mean %s%s?", what, before, close);
    else
        err_set(&r->why, ERR_NOTFOUND, "%s", what);
    return more;
}

static int no_set(struct resolve *r, const char *name, struct err *e)
{
    AUTO_MEM char *what = mem_printf("there is no set @%s", name);

    return no_name(r,
                   "SELECT name, owner, team, mode FROM fileset WHERE project = $1"
                   " ORDER BY name LIMIT 256",
                   r->l->project, name, what, "@", e);
}

/* 1 and the number that alias stands for, or 0 with r->why. */
static int find_alias(
    struct resolve *r, const char *name, const char *alias, int64_t *number_out, struct err *e)
{
    AUTO_MEM char *what = mem_printf("no version of @%s is named %s", name, alias);
    AUTO_MEM char *before = mem_printf("@%s:", name);

    *number_out = 0;
    int found = db_get_int(r->l->db, e, number_out,
                           "SELECT number FROM set_alias WHERE fileset = $1 AND name = $2",
                           DB_INT(r->set.id), DB_TEXT(alias));
    if (found != 0)
        return found;
    return no_name(r,
                   "SELECT a.name, s.owner, s.team, s.mode FROM set_alias a JOIN fileset s"
                   " ON s.id = a.fileset WHERE a.fileset = $1 ORDER BY a.name LIMIT 256",
                   r->set.id, alias, what, before, e);
}

/* 1 and the id of that version of the set, or 0 with r->why. */
static int find_set_version(
    struct resolve *r, const char *name, int64_t number, int64_t *id_out, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        r->l->db, e, "SELECT id, removed FROM set_version WHERE fileset = $1 AND number = $2",
        DB_INT(r->set.id), DB_INT(number));
    int found = db_step(q, e);

    *id_out = found == 1 ? db_int(q, 0) : 0;
    bool removed = found == 1 && db_int(q, 1) != 0;
    if (removed)
        err_set(&r->why, ERR_NOTFOUND, "@%s:%lld was removed by rm", name, (long long)number);
    if (found == 0)
        err_set(&r->why, ERR_NOTFOUND, "@%s has no version %lld: the newest is %lld", name,
                (long long)number, (long long)r->set.last);
    return found < 0 ? -1 : found == 1 && !removed;
}

/* A set version that exists and may be used; suffix: "" for the latest, else number or alias. */
static int find_set(
    struct resolve *r, const char *name, const char *suffix, struct lake_ref *out, struct err *e)
{
    AUTO_MEM char *shown = mem_printf("@%s", name);
    int64_t number, id;
    int found = fileset_find(r->l, name, &r->set, e);

    if (found != 1)
        return found < 0 ? -1 : no_set(r, name, e);
    /* Whatever is wanted of a file reached through a set, the set must be readable. */
    if (item_ask(r->l, &r->set, shown, r->access ? LAKE_READ : 0, e) < 0)
        return -1;
    number = r->set.latest;
    if (*suffix && !read_number(suffix, &number))
        found = find_alias(r, name, suffix, &number, e);
    if (found == 1)
        found = find_set_version(r, name, number, &id, e);
    if (found != 1)
        return found;
    *out = (struct lake_ref){
        .kind = LAKE_REF_SET,
        .project = r->l->project,
        .may = r->set.may,
        .number = number,
        .set_name = mem_dup(name),
        .set = r->set.id,
        .set_version = id,
    };
    return 1;
}

static int take_set(struct resolve *r, struct lake_ref *set, const char *directory, struct err *e)
{
    AUTO_MEM char *shown = mem_printf("@%s", set->set_name);

    if (item_ask(r->l, &r->set, shown, r->access, e) < 0)
        return -1;
    *r->out = *set;
    r->out->path = mem_dup(directory);
    *set = (struct lake_ref){0};
    return 1;
}

static int stop_at_first(void *context, const struct lake_entry *entry, struct err *e)
{
    (void)entry;
    *(bool *)context = true;
    return err_set(e, ERR_NONE, "found");
}

static int try_directory_in_set(struct resolve *r,
                                const char *path,
                                struct lake_ref *set,
                                struct err *e)
{
    bool slash = path[strlen(path) - 1] == '/', any = false;
    AUTO_MEM char *directory = slash ? mem_dup(path) : mem_printf("%s/", path);
    struct err stop = {0};

    if (entries_each(r->l, set->set_version, directory, stop_at_first, &any, &stop) < 0 && !any) {
        *e = stop;
        return -1;
    }
    return any ? take_set(r, set, directory, e) : 0;
}

/* The file of a set: its own permissions count as well. */
static int try_file_in_set(struct resolve *r, const char *path, struct lake_ref *set, struct err *e)
{
    struct lake_entry entry;
    struct item_row row;
    int found = entries_find(r->l, set->set_version, path, &entry, e);

    if (found == 1)
        found = lake_file_find(r->l, path, &row, e);
    if (found != 1 || take_file(r, path, &row, entry.version, entry.number, e) < 0)
        return found == 1 ? -1 : found;
    if (!(set->may & LAKE_READ))
        r->out->may = 0;
    r->out->set_name = TAKE(set->set_name);
    r->out->set = set->set;
    r->out->set_version = set->set_version;
    return 1;
}

static int try_in_set(struct resolve *r, const char *base, struct lake_ref *set, struct err *e)
{
    AUTO_MEM char *path = lake_path_unescape(base);
    const char *readings[] = {path, base};
    char shown[PATH_SHOWN];
    int found = 0;

    if (!*base || strcmp(base, "/") == 0)
        return take_set(r, set, "/", e);
    for (size_t i = 0; i < 2 && found == 0; i++) {
        if (i == 1 && strcmp(path, base) == 0)
            break;
        if (readings[i][strlen(readings[i]) - 1] != '/')
            found = try_file_in_set(r, readings[i], set, e);
        if (found == 0)
            found = try_directory_in_set(r, readings[i], set, e);
    }
    if (found == 0)
        err_set(&r->why, ERR_NOTFOUND, "@%s:%lld holds no %s", set->set_name,
                (long long)set->number, path_shown(path, shown));
    return found;
}

/* PATH@NAME, PATH@NAME:VERSION; a text without such an ending is not read as one. */
static int try_set(struct resolve *r, struct err *e)
{
    const char *at = strrchr(r->text, '@');
    AUTO_CLEAR(lake_ref) struct lake_ref set = {0};

    if (!at)
        return 0;
    size_t len = strcspn(at + 1, ":");
    const char *suffix = at[1 + len] ? at + 1 + len + 1 : "";
    AUTO_MEM char *name = cut(at + 1, len);
    struct err no_name = {0};
    int64_t number;
    bool bad_suffix =
        at[1 + len] && !read_number(suffix, &number) && lake_path_check_alias(suffix, &no_name) < 0;
    if (bad_suffix || lake_path_check_set(name, &no_name) < 0) {
        if (r->text[0] == '@')
            r->why = no_name;
        return 0;
    }
    int found = find_set(r, name, suffix, &set, e);
    if (found != 1)
        return found;
    AUTO_MEM char *base = cut(r->text, (size_t)(at - r->text));
    return try_in_set(r, base, &set, e);
}

/* ---- what is said when nothing is found ---- */

static int collect_name(void *context, const struct lake_file *file, struct err *e)
{
    struct lake_names *names = context;

    if (names->n == SUGGEST_MAX)
        return err_set(e, ERR_NONE, "enough");
    const char *name = strrchr(file->path, '/') + 1;
    AUTO_MEM char *directory = *name ? NULL : mem_dup(file->path);
    if (directory) {
        directory[strlen(directory) - 1] = 0;
        name = strrchr(directory, '/') + 1;
    }
    lake_names_add(names, name);
    return 0;
}

/* The entry of directory nearest to path, which lies directly in it; NULL when none is close. The
 * caller frees it. */
static char *nearest_in(struct lake *l, char *directory, const char *path)
{
    struct lake_ref tree = tree_ref(l, directory);
    AUTO_CLEAR(lake_names) struct lake_names names = {0};
    struct err ignored;

    lake_list(l, &tree, false, collect_name, &names, &ignored);
    const char *close =
        nearest(path + strlen(directory), (const char *const *)names.items, names.n);
    return close ? mem_printf("%s%s", directory, close) : NULL;
}

/* Goes down as far as directories exist, and looks for the next part there. */
static char *suggest(struct lake *l, const char *path)
{
    struct err ignored;
    size_t deepest = 0;

    for (size_t i = 1; path[i]; i++) {
        if (path[i] != '/')
            continue;
        AUTO_MEM char *directory = cut(path, i + 1);
        if (directory_exists(l, directory, &ignored) != 1)
            break;
        deepest = i;
    }
    AUTO_MEM char *directory = cut(path, deepest + 1);
    AUTO_MEM char *wanted = cut(path, deepest + 1 + strcspn(path + deepest + 1, "/"));
    return nearest_in(l, directory, wanted);
}

static int not_found(struct resolve *r, struct err *e)
{
    AUTO_MEM char *path = lake_path_unescape(r->text);
    char shown[PATH_SHOWN], close_shown[PATH_SHOWN];
    bool directory = path[strlen(path) - 1] == '/';

    if (r->why.kind != ERR_NONE)
        return err_set(e, r->why.kind, "%s", r->why.text);
    AUTO_MEM char *close = suggest(r->l, path);
    if (close)
        return err_set(e, ERR_NOTFOUND, "there is no %s: did you mean %s?",
                       path_shown(r->text, shown), path_shown(close, close_shown));
    return err_set(e, ERR_NOTFOUND, "there is no %s %s", directory ? "directory" : "file",
                   path_shown(r->text, shown));
}

/* ---- all readings ---- */

static int resolve_path(struct resolve *r, struct err *e)
{
    AUTO_MEM char *path = lake_path_unescape(r->text);
    bool escaped = strcmp(path, r->text) != 0;
    bool slash = path[strlen(path) - 1] == '/';
    int found = 0;

    if (!slash)
        found = try_latest(r, r->text, e);
    if (found == 0 && !slash)
        found = try_version(r, e);
    if (found == 0)
        found = try_set(r, e);
    if (found == 0 && !slash && escaped)
        found = try_latest(r, path, e);
    if (found == 0)
        found = try_directory(r, r->text, e);
    if (found == 0 && escaped)
        found = try_directory(r, path, e);
    return found == 0 ? not_found(r, e) : found < 0 ? -1 : 0;
}

static int take_job(struct resolve *r, int64_t id, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(r->l->db, e, "SELECT creator FROM job WHERE id = $1 AND project = $2", DB_INT(id),
                 DB_INT(r->l->project));
    int found = db_step(q, e);

    if (found <= 0)
        return found < 0 ? -1 : err_set(e, ERR_NOTFOUND, "there is no job %lld", (long long)id);
    bool own = r->l->admin || strcmp(db_text(q, 0), r->l->user) == 0;
    *r->out = (struct lake_ref){
        .kind = LAKE_REF_JOB,
        .project = r->l->project,
        .may = LAKE_READ | (own ? LAKE_WRITE : 0U),
        .number = id,
        .whole = true,
    };
    return ref_ask(r->l, r->out, r->access, e);
}

static int no_reference(const char *text, struct err *e)
{
    char shown[PATH_SHOWN];

    return err_set(e, ERR_USAGE,
                   "\"%s\" is not a reference; give /path, /path#2, /dir/, @set, @set:1 or job:7",
                   path_shown(text, shown));
}

int lake_resolve(
    struct lake *l, const char *text, unsigned access, struct lake_ref *out, struct err *e)
{
    struct resolve r = {.l = l, .text = text, .access = access, .out = out};
    int64_t job;

    *out = (struct lake_ref){0};
    if (strlen(text) > TEXT_MAX)
        return no_reference(text, e);
    if (text[0] == '/')
        return resolve_path(&r, e);
    if (strncmp(text, "job:", 4) == 0 && read_number(text + 4, &job))
        return take_job(&r, job, e);
    if (text[0] != '@')
        return no_reference(text, e);
    int found = try_set(&r, e);
    out->whole = !strchr(text, ':');
    return found == 0 ? not_found(&r, e) : found < 0 ? -1 : 0;
}
