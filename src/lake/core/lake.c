#include "lake/core/lake.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "lake/core/internal.h"
#include "lake/core/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define STEP_BACK_MS 60000

/* Everything options can hold; thousands of groups fit. */
#define COPIES_MAX_BYTES ((size_t)4 << 20)
/* For its owner alone, as the configuration beside it. */
#define HOME_MODE 0700

/* A lake's mark: 64 bits as hexadecimal digits. */
#define MARK_BYTES 17

static int copy_store(struct lake *l, const struct store_settings *from, struct err *e)
{
    l->settings = *from;
    l->settings.url = arena_dup(l->arena, from->url);
    l->settings.endpoint = from->endpoint ? arena_dup(l->arena, from->endpoint) : NULL;
    l->settings.region = from->region ? arena_dup(l->arena, from->region) : NULL;
    l->settings.cache = from->cache ? arena_dup(l->arena, from->cache) : NULL;
    if (!l->settings.url || (from->endpoint && !l->settings.endpoint) ||
        (from->region && !l->settings.region) || (from->cache && !l->settings.cache))
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

    return file_make_dirs(home, HOME_MODE, e) < 0 ? NULL : db_open(&options, e);
}

/* 1: found, 0: no such project, -1 */
static int find_project(struct lake *l, struct err *e)
{
    return db_get_int(l->db, e, &l->project, "SELECT id FROM project WHERE name = $1",
                      DB_TEXT(l->project_name));
}

static int insert_project(struct lake *l, struct err *e)
{
    int64_t id;
    /* Another process may have been faster. */
    int found = find_project(l, e);

    if (found != 0)
        return found < 0 ? -1 : 0;
    if (db_ids(l->db, "project", 1, &id, e) < 0)
        return -1;
    l->project = id;
    return db_run(l->db, e, "INSERT INTO project (id, name) VALUES ($1, $2)", DB_INT(id),
                  DB_TEXT(l->project_name));
}

/* The lake's mark in *out, "" when it has none yet. */
static int find_mark(struct db *d, char out[static MARK_BYTES], struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(d, e, "SELECT value FROM setting WHERE name = 'mark'", DB_NONE);

    out[0] = 0;
    int found = db_step(q, e);
    if (found == 1)
        snprintf(out, MARK_BYTES, "%s", db_text(q, 0));
    return found < 0 ? -1 : 0;
}

static int insert_mark(struct lake *l, struct err *e)
{
    uint64_t mark;
    char text[MARK_BYTES];

    if (getrandom(&mark, sizeof mark, 0) != sizeof mark)
        return err_set(e, ERR_IO, "make a mark for the lake: no random numbers: %s",
                       strerror(errno));
    snprintf(text, sizeof text, "%016llx", (unsigned long long)mark);
    return db_run(l->db, e,
                  "INSERT INTO setting (name, value) VALUES ('mark', $1)"
                  " ON CONFLICT (name) DO NOTHING",
                  DB_TEXT(text));
}

static int make_project(struct lake *l, struct err *e)
{
    if (db_begin(l->db, e) < 0)
        return -1;
    if (insert_mark(l, e) < 0 || insert_project(l, e) < 0) {
        db_rollback(l->db);
        return -1;
    }
    return db_commit(l->db, e);
}

static int open_project(struct lake *l, struct err *e)
{
    char mark[MARK_BYTES];
    int found = find_project(l, e);

    if (found == 0 && !l->admin)
        return err_set(e, ERR_NOTFOUND, "there is no project \"%s\": an admin must make it",
                       l->project_name);
    if (found == 0 && make_project(l, e) < 0)
        return -1;
    if (found < 0 || find_mark(l->db, mark, e) < 0)
        return -1;
    l->area = arena_printf(l->arena, "%s-%s", l->project_name, mark);
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

/* The store that content lies in, in *out (NULL: none yet); the caller frees it. */
static int recorded_store(struct db *d, char **out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(d, e, "SELECT value FROM setting WHERE name = 'store'", DB_NONE);

    *out = NULL;
    int found = db_step(q, e);
    if (found == 1)
        *out = mem_dup(db_text(q, 0));
    return found < 0 ? -1 : 0;
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

    if (recorded_store(l->db, &recorded, e) < 0)
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

/* ERR_USAGE with the fix when the store has content of a lake with another mark ("" = none yet).
 * home: the directory of the database that does not know the content. */
static int refuse_others(const struct store_settings *settings,
                         const char *mark,
                         const char *home,
                         struct err *e)
{
    AUTO(store) struct store *store = store_open(settings, e);
    struct others s = {.store = store, .mark = mark, .home = home, .url = settings->url};
    struct err why = {0};

    if (!store)
        return -1;
    /* A bucket that is still to be made has no content. */
    if (store_projects(store, look, &s, &why) == 0 || why.kind == ERR_NOTFOUND)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

/* A lake that has no content yet, and was not told to, does not begin beside that of others. */
static int check_others(struct db *d,
                        const char *home,
                        const struct store_settings *settings,
                        struct err *e)
{
    AUTO_MEM char *recorded = NULL;
    char mark[MARK_BYTES];

    if (recorded_store(d, &recorded, e) < 0)
        return -1;
    if (recorded)
        return 0;
    return find_mark(d, mark, e) < 0 ? -1 : refuse_others(settings, mark, home, e);
}

static int record_store(struct db *d, const char *word, struct err *e)
{
    return db_run(d, e,
                  "INSERT INTO setting (name, value) VALUES ('store', $1)"
                  " ON CONFLICT (name) DO NOTHING",
                  DB_TEXT(word));
}

int lake_remember_store(struct lake *l, struct err *e)
{
    AUTO_MEM char *word = store_word(l->home, l->settings.url);

    /* Checked again: another process may have stored the first content meanwhile, elsewhere. */
    return check_store(l, e) < 0 ? -1 : record_store(l->db, word, e);
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

/* 1: objects of any project, 0: none, -1 */
static int has_content(struct db *d, struct err *e)
{
    int64_t id;

    return db_get_int(d, e, &id, "SELECT id FROM object LIMIT 1", DB_NONE);
}

static int move_store(struct db *d, const char *home, const char *asked, struct err *e)
{
    AUTO_MEM char *recorded = NULL;

    if (recorded_store(d, &recorded, e) < 0)
        return -1;
    if (!recorded || strcmp(recorded, asked) == 0)
        return 0;
    int content = has_content(d, e);
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
    if (move_store(d, home, asked, e) < 0 ||
        (anew ? record_store(d, asked, e) : check_others(d, home, store, e)) < 0) {
        db_rollback(d);
        return -1;
    }
    return db_commit(d, e);
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
    else
        for (size_t i = 0; i < l->n_groups; i++)
            if (strcmp(group, l->groups[i]) == 0)
                given = mode >> 3 & 7;
    return (given & wanted) == wanted;
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
