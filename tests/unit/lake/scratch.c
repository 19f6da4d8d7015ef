#include "scratch.h"

#include "base/file.h"
#include "lake/set/internal.h"
#include "tap.h"

#include <string.h>
#include <unistd.h>

static int64_t clock_ms(void *context)
{
    return ((struct scratch *)context)->now_ms++;
}

static bool allow(void *context, const char *sql)
{
    struct scratch *s = context;

    (void)sql;
    if (s->calls_left < 0)
        return true;
    if (s->calls_left == 0)
        return false;
    s->calls_left--;
    return true;
}

static void give_up(const char *what, const struct err *e)
{
    CHECK(false, "%s: %s", what, e->text);
    exit(TAP_DONE());
}

static void init_below(struct scratch *s, const char *base)
{
    struct err e = {.text = "no temporary directory"};

    /* 2026-11-15T22:36:00Z */
    *s = (struct scratch){.now_ms = INT64_C(1794782160000), .calls_left = -1};
    snprintf(s->home, sizeof s->home, "%s/tradewind-lake-XXXXXX", base);
    if (!mkdtemp(s->home))
        give_up("scratch", &e);
    snprintf(s->url, sizeof s->url, "dir:%s/objects", s->home);
}

void scratch_init(struct scratch *s)
{
    const char *base = getenv("TMPDIR");

    init_below(s, base && strlen(base) < 30 ? base : "/tmp");
}

void scratch_init_fast(struct scratch *s)
{
    if (access("/dev/shm", W_OK) == 0)
        init_below(s, "/dev/shm");
    else
        scratch_init(s);
}

void scratch_clear(struct scratch *s)
{
    file_remove_tree(s->home);
}

struct lake_options scratch_options(struct scratch *s)
{
    return (struct lake_options){
        .home = s->home,
        .store = {.url = s->url, .path_style = -1, .seed = 1},
        .caller = {.project = "default", .user = "ann", .admin = true},
        .now_ms = clock_ms,
        .allow = allow,
        .context = s,
    };
}

struct lake *scratch_open_as(struct scratch *s, const char *project, const char *user, bool admin)
{
    struct lake_options options = scratch_options(s);
    struct err e = {0};

    options.caller.project = project;
    options.caller.user = user;
    options.caller.admin = admin;
    struct lake *l = lake_open(&options, &e);
    if (!l)
        give_up("open a lake", &e);
    return l;
}

struct lake *scratch_open(struct scratch *s)
{
    return scratch_open_as(s, "default", "ann", true);
}

int scratch_version(struct lake *l,
                    const struct lake_made *made,
                    const struct version_new *v,
                    struct version_done *out,
                    struct err *e)
{
    AUTO(version_rows) struct version_rows *rows = version_rows_new(l, made);

    return version_rows_add(rows, v, out, e) < 0 ? -1 : version_rows_flush(rows, e);
}

static int64_t add_version(struct lake *l,
                           const char *path,
                           const struct store_content *content,
                           struct err *e)
{
    struct version_new v = {.path = path};
    struct version_done done = {0};
    struct lake_made made;

    if (db_begin(l->db, e) < 0)
        return -1;
    if (lake_made_new(l, l->user, &made, e) < 0 || object_keep(l, content, &v.object, e) < 0 ||
        scratch_version(l, &made, &v, &done, e) < 0) {
        db_rollback(l->db);
        return -1;
    }
    return db_commit(l->db, e) < 0 ? -1 : done.number;
}

int64_t scratch_put(struct lake *l, const char *path, const char *text, struct err *e)
{
    struct store_content content = {.digest = sha256_of(text, strlen(text))};
    struct store *store = lake_store(l, e);
    AUTO(store_writer) struct store_writer *w = NULL;

    if (!store)
        return -1;
    w = store_writer_new(store, l->area, 0, e);
    if (!w || store_write_small(w, text, strlen(text), &content.digest, &content.place, e) < 0 ||
        store_flush(w, e) < 0)
        return -1;
    return add_version(l, path, &content, e);
}

static struct store_content fake_content(const char *text)
{
    return (struct store_content){
        .digest = sha256_of(text, strlen(text)),
        .place = {.blob = "p-fake", .size = strlen(text)},
    };
}

int64_t scratch_fake(struct lake *l, const char *path, const char *text, struct err *e)
{
    struct store_content content = fake_content(text);

    return add_version(l, path, &content, e);
}

int64_t scratch_object(struct lake *l, const char *text)
{
    struct store_content content = fake_content(text);
    struct err e = {0};
    int64_t id;

    if (object_keep(l, &content, &id, &e) < 0)
        give_up("keep content", &e);
    return id;
}

char *scratch_resolve(struct lake *l, const char *text, unsigned access)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct err e = {0};

    if (lake_resolve(l, text, access, &ref, &e) < 0)
        return mem_printf("%d: %s", (int)e.kind, e.text);
    return lake_ref_text(&ref);
}

static int add_to_set(void *context, const struct lake_entry *entry, struct err *e)
{
    return set_builder_add(context, entry, e);
}

int64_t scratch_set(struct lake *l, const char *name, const char *const *paths, size_t n)
{
    AUTO(set_builder) struct set_builder *b = NULL;
    struct lake_set done = {0};
    struct err e = {0};
    struct lake_made made = {0};

    if (db_begin(l->db, &e) < 0 || lake_made_new(l, l->user, &made, &e) < 0)
        give_up("begin a set", &e);
    b = set_builder_new(l, name, &made, &e);
    for (size_t i = 0; b && i < n; i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        if (lake_resolve(l, paths[i], LAKE_READ, &ref, &e) < 0 ||
            lake_each_file(l, &ref, add_to_set, b, &e) < 0)
            give_up("fill a set", &e);
    }
    if (!b || set_builder_finish(b, NULL, 0, &done, &e) < 0 || db_commit(l->db, &e) < 0)
        give_up("finish a set", &e);
    return done.version;
}

int64_t scratch_number(struct lake *l, const char *sql)
{
    struct err e = {0};
    struct db_query *q = db_prepare(l->db, sql, &e);

    if (!q)
        give_up(sql, &e);
    int64_t number = db_step(q, &e) == 1 ? db_int(q, 0) : -1;
    db_reset(q);
    return number;
}
