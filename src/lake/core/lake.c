#include "lake/core/lake.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "lake/core/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define STEP_BACK_MS 60000

/* Everything options can hold; thousands of groups fit. */
#define COPIES_MAX_BYTES ((size_t)4 << 20)

/* A lake's mark: 64 bits as hexadecimal digits. */
#define MARK_BYTES 17

static int copy_store(struct lake *l, const struct store_settings *from, struct err *e)
{
    struct store_settings *s = &l->settings;
    const char **texts[] = {&s->url, &s->endpoint, &s->region, &s->cache};

    *s = *from;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i] && !(*texts[i] = arena_dup(l->arena, *texts[i])))
            return err_set(e, ERR_USAGE, "open the lake: the store's address is too long");
    return 0;
}

static int copy_caller(struct lake *l, const struct lake_caller *from, struct err *e)
{
    if (path_project_check(from->project, e) < 0 || path_user_check("a user", from->user, e) < 0)
        return -1;
    l->project_name = arena_dup(l->arena, from->project);
    l->user = arena_dup(l->arena, from->user);
    l->groups = arena_alloc(l->arena, from->n_groups + 1, sizeof *l->groups);
    bool whole = l->project_name && l->user && l->groups;
    for (size_t i = 0; whole && i < from->n_groups; i++) {
        if (path_user_check("a group", from->groups[i], e) < 0)
            return -1;
        l->groups[i] = arena_dup(l->arena, from->groups[i]);
        whole = l->groups[i] != NULL;
    }
    if (!whole)
        return err_set(e, ERR_USAGE, "open the lake: %s is in too many groups", from->user);
    l->n_groups = from->n_groups;
    l->admin = from->admin;
    return 0;
}

static struct db *open_database(const char *home,
                                bool (*allow)(void *context, const char *sql),
                                void *context,
                                struct err *e)
{
    AUTO_MEM char *file = mem_printf("%s/lake.db", home);
    struct db_options options = {
        .url = file,
        .name = "the lake",
        .migrations = lake_migrations,
        .allow = allow,
        .context = context,
    };

    return file_make_own_dirs(home, e) < 0 ? NULL : db_open(&options, e);
}

/* 1: found, 0: no such project, -1 */
static int find_project(struct lake *l, struct err *e)
{
    return db_get_int(l->db, e, &l->project, "SELECT id FROM project WHERE name = $1",
                      DB_TEXT(l->project_name));
}

static int insert_project(struct lake *l, struct err *e)
{
    /* Another process may have been faster. */
    int found = find_project(l, e);

    if (found != 0)
        return found < 0 ? -1 : 0;
    if (db_ids(l->db, "project", 1, &l->project, e) < 0)
        return -1;
    return db_run(l->db, e, "INSERT INTO project (id, name) VALUES ($1, $2)", DB_INT(l->project),
                  DB_TEXT(l->project_name));
}

/* A setting: "mark", or "store", which has the content. *out is NULL when there is none yet; the
 * caller frees it. */
static int find_setting(struct db *d, const char *name, char **out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(d, e, "SELECT value FROM setting WHERE name = $1", DB_TEXT(name));
    int found = db_step(q, e);

    *out = found == 1 ? mem_dup(db_text(q, 0)) : NULL;
    return found < 0 ? -1 : 0;
}

/* One that is there stays. */
static int add_setting(struct db *d, const char *name, const char *value, struct err *e)
{
    return db_run(d, e,
                  "INSERT INTO setting (name, value) VALUES ($1, $2)"
                  " ON CONFLICT (name) DO NOTHING",
                  DB_TEXT(name), DB_TEXT(value));
}

static int insert_mark(struct lake *l, struct err *e)
{
    uint64_t mark;
    char text[MARK_BYTES];

    if (getrandom(&mark, sizeof mark, 0) != sizeof mark)
        return err_set(e, ERR_IO,
                       "make a mark for the lake: the system gives no random numbers: %s",
                       strerror(errno));
    snprintf(text, sizeof text, "%016llx", (unsigned long long)mark);
    return add_setting(l->db, "mark", text, e);
}

static int make_project(struct lake *l, struct err *e)
{
    if (db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, insert_mark(l, e) < 0 ? -1 : insert_project(l, e), e);
}

static int open_project(struct lake *l, struct err *e)
{
    AUTO_MEM char *mark = NULL;
    int found = find_project(l, e);

    if (found == 0 && !l->admin)
        return err_set(e, ERR_NOTFOUND, "there is no project \"%s\": an admin must make it",
                       l->project_name);
    if (found == 0 && make_project(l, e) < 0)
        return -1;
    if (found < 0 || find_setting(l->db, "mark", &mark, e) < 0)
        return -1;
    l->area = arena_printf(l->arena, "%s-%s", l->project_name, mark ? mark : "");
    if (!l->area)
        return err_set(e, ERR_USAGE, "open the lake: %s is in too many groups", l->user);
    return 0;
}

/* What setting `store` remembers: a directory below the home by its path from there, so that the
 * home may move. */
static char *store_word(const char *home, const char *url)
{
    size_t n = strlen(home);
    char *word;

    if (strncmp(url, "dir:", 4) == 0 && strncmp(url + 4, home, n) == 0 && url[4 + n] == '/')
        word = mem_printf("dir:%s", url + 4 + n + 1);
    else
        word = mem_dup(url);
    for (size_t len = strlen(word); len > 0 && word[len - 1] == '/' && len > strlen("dir:/"); len--)
        word[len - 1] = 0;
    return word;
}

static int other_store(const char *home, const char *recorded, const char *asked, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "the lake in %s has its content in %s, not in %s: `tradewind config set store "
                   "%s`, or another TRADEWIND_HOME for a new lake",
                   home, recorded, asked, recorded);
}

static int check_store(const struct lake *l, struct err *e)
{
    AUTO_MEM char *asked = store_word(l->home, l->settings.url);
    AUTO_MEM char *recorded = NULL;

    if (find_setting(l->db, "store", &recorded, e) < 0)
        return -1;
    if (recorded && strcmp(recorded, asked) != 0)
        return other_store(l->home, recorded, asked, e);
    return 0;
}

/* ---- content of other lakes in the same store ---- */

/* Lakes may share a store. But a lake without content that finds some has most likely lost its
 * database. */
struct others {
    struct store *store;
    const char *mark;
    const char *home;
    const char *url;
};

static int refuse(void *context, const struct store_blob *blob, struct err *e)
{
    const struct others *s = context;

    if (blob->unfinished)
        return 0;
    return err_set(
        e, ERR_USAGE,
        "the store %s has content that lake.db in %s does not know: restore lake.db from "
        "a backup if it was lost, choose another store, or begin a new lake beside that "
        "content with `tradewind init --new`",
        s->url, s->home);
}

/* Names of projects in a store end in "-" and the mark of their lake. */
static const char *mark_of(const char *project)
{
    const char *dash = strrchr(project, '-');
    size_t digits = dash ? strspn(dash + 1, "0123456789abcdef") : 0;

    return digits == MARK_BYTES - 1 && dash[1 + digits] == '\0' ? dash + 1 : NULL;
}

static int look(void *context, const char *project, struct err *e)
{
    const struct others *s = context;
    const char *mark = mark_of(project);

    if (!mark || strcmp(mark, s->mark) == 0)
        return 0;
    return store_list(s->store, project, refuse, context, e);
}

/* ERR_USAGE with the fix when the store has content of a lake with another mark: a lake that has no
 * content yet, and was not told to, does not begin beside that of others. */
static int check_others(struct db *d,
                        const char *home,
                        const struct store_settings *settings,
                        struct err *e)
{
    AUTO_MEM char *recorded = NULL;
    AUTO_MEM char *mark = NULL;

    if (find_setting(d, "store", &recorded, e) < 0 || find_setting(d, "mark", &mark, e) < 0)
        return -1;
    if (recorded)
        return 0;
    AUTO(store) struct store *store = store_open(settings, e);
    struct others s = {store, mark ? mark : "", home, settings->url};
    struct err why = {0};
    /* A bucket that is still to be made has no content. */
    if (store && (store_projects(store, look, &s, &why) == 0 || why.kind == ERR_NOTFOUND))
        return 0;
    return store ? err_set(e, why.kind, "%s", why.text) : -1;
}

int lake_remember_store(struct lake *l, struct err *e)
{
    AUTO_MEM char *word = store_word(l->home, l->settings.url);

    /* Checked again: another process may have stored the first content meanwhile, elsewhere. */
    return check_store(l, e) < 0 ? -1 : add_setting(l->db, "store", word, e);
}

struct lake *lake_open(const struct lake_options *options, struct err *e)
{
    AUTO(lake) struct lake *l = mem_zero(1, sizeof *l);

    l->arena = arena_new(COPIES_MAX_BYTES);
    l->now_ms = options->now_ms;
    l->context = options->context;
    l->home = arena_dup(l->arena, options->home);
    if (!l->home) {
        err_set(e, ERR_USAGE, "open the lake: the path of its home is too long");
        return NULL;
    }
    if (copy_store(l, &options->store, e) < 0 || copy_caller(l, &options->caller, e) < 0 ||
        store_check_url(l->settings.url, e) < 0)
        return NULL;
    l->db = open_database(l->home, options->allow, options->context, e);
    if (!l->db || check_store(l, e) < 0 || open_project(l, e) < 0 ||
        check_others(l->db, l->home, &l->settings, e) < 0)
        return NULL;
    lake_reserve_make(l->home);
    return TAKE(l);
}

void lake_free(struct lake *l)
{
    if (!l)
        return;
    store_free(l->store);
    db_free(l->db);
    arena_free(l->arena);
    free(l);
}

static int move_store(struct db *d, const char *home, const char *asked, struct err *e)
{
    AUTO_MEM char *recorded = NULL;
    int64_t object;

    if (find_setting(d, "store", &recorded, e) < 0)
        return -1;
    if (!recorded || strcmp(recorded, asked) == 0)
        return 0;
    int content = db_get_int(d, e, &object, "SELECT id FROM object LIMIT 1", DB_NONE);
    if (content != 0)
        return content < 0 ? -1 : other_store(home, recorded, asked, e);
    return db_exec(d, "DELETE FROM setting WHERE name = 'store'", e);
}

int lake_use_store(const char *home, const struct store_settings *store, bool anew, struct err *e)
{
    AUTO_MEM char *asked = store_word(home, store->url);
    AUTO(db) struct db *d = NULL;

    if (store_check_url(store->url, e) < 0)
        return -1;
    d = open_database(home, NULL, NULL, e);
    if (!d || db_begin(d, e) < 0)
        return -1;
    int result = move_store(d, home, asked, e);
    if (result == 0)
        result = anew ? add_setting(d, "store", asked, e) : check_others(d, home, store, e);
    return db_end(d, result, e);
}

int64_t lake_now_ms(const struct lake *l)
{
    return l->now_ms ? l->now_ms(l->context) : time_epoch_ms();
}

struct store *lake_store(struct lake *l, struct err *e)
{
    if (!l->store)
        l->store = store_open(&l->settings, e);
    return l->store;
}

bool lake_in_group(const struct lake *l, const char *group)
{
    for (size_t i = 0; i < l->n_groups; i++)
        if (strcmp(l->groups[i], group) == 0)
            return true;
    return false;
}

bool lake_may(
    const struct lake *l, const char *owner, const char *group, unsigned mode, unsigned access)
{
    unsigned wanted = (access & LAKE_READ ? 4U : 0U) | (access & LAKE_WRITE ? 2U : 0U);
    unsigned given = mode & 7;

    if (l->admin)
        return true;
    /* As in POSIX the first class that the caller is in decides, be it the narrower one. */
    if (strcmp(owner, l->user) == 0)
        given = mode >> 6 & 7;
    else if (lake_in_group(l, group))
        given = mode >> 3 & 7;
    return (given & wanted) == wanted;
}

bool lake_row_may(const struct lake *l, struct db_query *q, int column, unsigned access)
{
    return lake_may(l, db_text(q, column), db_text(q, column + 1), (unsigned)db_int(q, column + 2),
                    access);
}

int lake_row_ask(struct lake *l,
                 struct db_query *q,
                 int column,
                 const char *shown,
                 unsigned access,
                 struct err *e)
{
    return lake_row_may(l, q, column, access)
               ? 0
               : lake_denied(l, shown, db_text(q, column), access, e);
}

int lake_denied(struct lake *l, const char *what, const char *owner, unsigned access, struct err *e)
{
    return err_set(e, ERR_DENIED, "%s may not %s %s: its owner %s can allow it", l->user,
                   access & LAKE_WRITE ? "write" : "read", what, owner);
}

static int64_t after_last(int64_t now, int64_t last)
{
    if (now >= last)
        return now;
    if (last - now <= STEP_BACK_MS)
        return last;
    log_warn("lake", "the clock says an earlier time than at the last change; times of versions "
                     "are out of order");
    return now;
}

int lake_made_new(struct lake *l, const char *owner, struct lake_made *out, struct err *e)
{
    int64_t last = INT64_MIN;

    if (db_get_int(l->db, e, &last,
                   "SELECT create_time FROM made WHERE project = $1 ORDER BY id DESC LIMIT 1",
                   DB_INT(l->project)) < 0)
        return -1;
    *out = (struct lake_made){.owner = owner, .time_ms = after_last(lake_now_ms(l), last)};
    if (db_ids(l->db, "made", 1, &out->id, e) < 0)
        return -1;
    return db_run(l->db, e,
                  "INSERT INTO made (id, project, create_time, creator) VALUES ($1, $2, $3, $4)",
                  DB_INT(out->id), DB_INT(l->project), DB_INT(out->time_ms), DB_TEXT(owner));
}
