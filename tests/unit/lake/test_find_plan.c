/* Every key is indexed: whatever find asks the database for is looked up, by its value, never
 * searched through. The database itself says how it would answer the queries that a find makes. */
#include "base/buf.h"
#include "scratch.h"
#include "tap.h"

#include <string.h>

#define QUERIES_MAX 64

/* The scratch comes first: the clock of the lake reads it, too. */
struct spy {
    struct scratch s;
    bool listening;
    char *queries[QUERIES_MAX];
    size_t n;
};

static bool overhear(void *context, const char *sql)
{
    struct spy *spy = context;

    if (!spy->listening || strncmp(sql, "SELECT", 6) != 0)
        return true;
    for (size_t i = 0; i < spy->n; i++)
        if (strcmp(spy->queries[i], sql) == 0)
            return true;
    if (spy->n < QUERIES_MAX)
        spy->queries[spy->n++] = mem_dup(sql);
    return true;
}

static void forget(struct spy *spy)
{
    for (size_t i = 0; i < spy->n; i++)
        free(spy->queries[i]);
    spy->n = 0;
}

static int count_answer(void *context, const struct lake_found *found, struct err *e)
{
    (void)found;
    (void)e;
    ++*(unsigned *)context;
    return 0;
}

/* A question, and the index that must have answered it, with the columns it was entered by. */
struct question {
    const char *expression, *max, *index;
};

/* How the database goes about a query: its tables and indexes, a line each. */
static void add_plan(struct lake *l, const char *sql, struct buf *out)
{
    AUTO_MEM char *explain = mem_printf("EXPLAIN QUERY PLAN %s", sql);
    struct err e = {0};
    struct db_query *q = db_prepare(l->db, explain, &e);

    if (!q)
        CHECK(false, "the plan of %s: %s", sql, e.text);
    while (q && db_step(q, &e) == 1)
        buf_printf(out, "%s\n", db_text(q, 3));
}

static void looked_up(struct spy *spy, struct lake *l, const struct question *asked)
{
    const struct lake_find_options options = {.max = asked->max};
    AUTO_CLEAR(buf) struct buf plan;
    unsigned answers = 0;
    struct err e = {0};

    spy->listening = true;
    int result = lake_find(l, asked->expression, &options, count_answer, &answers, &e);
    spy->listening = false;
    CHECK(result == 0 && answers > 0 && spy->n > 0, "%s: %u answers by %zu queries %s",
          asked->expression, answers, spy->n, e.text);
    buf_init(&plan, 100000);
    for (size_t i = 0; i < spy->n; i++)
        add_plan(l, spy->queries[i], &plan);
    const char *scan = strstr(buf_str(&plan), "SCAN");
    CHECK(!scan, "%s: no table is gone through %.80s", asked->expression, scan ? scan : "");
    CHECK(strstr(buf_str(&plan), asked->index), "%s: by %s", asked->expression, asked->index);
    forget(spy);
}

static void fill(struct lake *l)
{
    static const char *const pairs[] = {"model=BERT", "precision=0.5", "day=2026-11-15", "golden"};
    const char *path = "/data/a";
    struct err e = {0};

    scratch_fake(l, path, "one", &e);
    scratch_set(l, "S", &path, 1);
    for (size_t i = 0; i < 2; i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        CHECK(lake_resolve(l, i ? "@S" : path, LAKE_WRITE, &ref, &e) == 0 &&
                  lake_tag(l, &ref, pairs, 4, &e) == 0,
              "tagged %s", e.text);
    }
}

int main(void)
{
    static const struct question questions[] = {
        {"model=BERT", NULL, "meta_value (slot=? AND value=?"},
        {"precision=0.5", NULL, "meta_number (slot=? AND number=?"},
        {"precision>0", NULL, "meta_number (slot=? AND number>?"},
        {"precision=0..1", NULL, "meta_number (slot=? AND number>? AND number<?"},
        {"day<2026-11-16", NULL, "meta_number (slot=? AND number"},
        {"golden", NULL, "meta_value (slot"},
        {"model~^BE", NULL, "meta_value (slot=? AND value>? AND value<?"},
        {"day~^2026-.*5", NULL, "meta_value (slot=? AND value>? AND value<?"},
        {"golden", "precision", "meta_number (slot=?"},
        {"kind=set model=BERT precision>0.1", NULL, "meta_value (slot=? AND value=?"},
        {"create_time>=2026-11-15", NULL, "made_time (project=? AND create_time>?"},
        {"creator=ann", NULL, "made_creator (project=? AND creator=?"},
        {"size=3", NULL, "object_size (project=? AND size=?"},
        {"kind=set size=3", NULL, "set_version_bytes (project=? AND bytes=?"},
        {"kind=file version=1", NULL, "version_number (project=? AND number=?"},
        {"kind=set version=1", NULL, "set_version_project (project=? AND number=?"},
        {"path=/data/a", NULL, "file_path (project=? AND path=?"},
        {"path~^/data/", NULL, "file_path (project=? AND path>?"},
        {"name=S", NULL, "fileset_name (project=? AND name=?"},
    };
    struct spy spy = {0};
    struct err e = {0};

    scratch_init(&spy.s);
    struct lake_options options = scratch_options(&spy.s);
    options.allow = overhear;
    options.context = &spy;
    AUTO(lake) struct lake *l = lake_open(&options, &e);
    CHECK(l != NULL, "a lake %s", e.text);
    if (l)
        fill(l);
    for (size_t i = 0; l && i < sizeof questions / sizeof *questions; i++)
        looked_up(&spy, l, &questions[i]);
    lake_free(TAKE(l));
    scratch_clear(&spy.s);
    return TAP_DONE();
}
