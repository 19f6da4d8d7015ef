/* Content that gc moves or removes between the look at the database and the reading of the store.
 */
#include "lake/clean/clean.h"
#include "lake/clean/internal.h"
#include "local.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Another process: before the reader's first read it does its work. */
struct meanwhile {
    struct lake *other;
    void (*work)(struct lake *other);
    pthread_mutex_t lock;
};

static bool allow(void *context, const char *operation)
{
    struct meanwhile *m = context;

    pthread_mutex_lock(&m->lock);
    void (*work)(struct lake * other) = strcmp(operation, "read") == 0 ? m->work : NULL;
    if (work) {
        m->work = NULL;
        work(m->other);
    }
    pthread_mutex_unlock(&m->lock);
    return true;
}

static void move_all(struct lake *other)
{
    struct err e = {0};
    uint64_t moved = 0;
    char name[STORE_BLOB_NAME] = "";
    struct db_query *q = db_prepare(other->db, "SELECT name FROM blob ORDER BY id LIMIT 1", &e);

    if (q && db_step(q, &e) == 1)
        snprintf(name, sizeof name, "%s", db_text(q, 0));
    if (q)
        db_reset(q);
    CHECK(repack(other, name, &moved, &e) == 0 && moved > 0, "moved meanwhile: %s", e.text);
}

static void remove_all(struct lake *other)
{
    const struct lake_gc_options options = {.remove = true};
    struct lake_gc_summary summary;
    struct err e = {0};

    CHECK(lake_gc(other, &options, NULL, NULL, &summary, &e) == 0 && summary.versions == 2,
          "removed meanwhile: %s", e.text);
}

static void lose_all(struct lake *other)
{
    AUTO_MEM char *from = mem_printf("%s/objects", other->home);
    AUTO_MEM char *to = mem_printf("%s/lost", other->home);

    CHECK(rename(from, to) == 0, "lost meanwhile");
}

static int count_problem(void *context, const char *text, struct err *e)
{
    (void)e;
    printf("# %s\n", text);
    ++*(int *)context;
    return 0;
}

struct outcome {
    char *cat;
    struct err got, checked;
    struct lake_get_summary written;
    struct lake_fsck_summary found;
    int problems;
};

/* Each reader anew, in a lake of its own. */
static struct outcome readers(void (*work)(struct lake *other))
{
    struct outcome o = {0};

    for (int reader = 0; reader < 3; reader++) {
        struct scratch s;
        struct err e = {0};
        scratch_init_fast(&s);
        AUTO(lake) struct lake *other = scratch_open(&s);
        struct meanwhile m = {other, NULL, PTHREAD_MUTEX_INITIALIZER};
        struct lake_options options = scratch_options(&s);
        options.store.allow = allow;
        options.store.context = &m;
        AUTO(lake) struct lake *l = lake_open(&options, &e);
        CHECK(l && scratch_put(other, "/a", "one", &e) == 1 && scratch_put(other, "/b", "two", &e),
              "a lake: %s", e.text);
        m.work = work;
        if (reader == 0)
            o.cat = local_cat(l, "/a");
        else if (reader == 1)
            (void)local_get(l, "/", local_path(&s, "out"), &o.written, &o.got);
        else
            (void)lake_fsck(l, NULL, count_problem, &o.problems, &o.found, &o.checked);
        CHECK(!m.work, "it happened while reading");
        scratch_clear(&s);
    }
    return o;
}

int main(void)
{
    struct outcome o = readers(move_all);

    CHECK(o.cat && strcmp(o.cat, "one") == 0, "moved: cat finds it");
    CHECK(o.got.kind == ERR_NONE && o.written.files == 2, "moved: get finds both: %s", o.got.text);
    CHECK(o.checked.kind == ERR_NONE && o.problems == 0 && o.found.files >= 2,
          "moved: fsck finds both: %s", o.checked.text);
    free(o.cat);

    o = readers(remove_all);
    CHECK(!o.cat, "removed: cat fails");
    CHECK(o.got.kind == ERR_NOTFOUND && strstr(o.got.text, "removed by gc: /a, /b"),
          "removed: get says that gc did it: %s", o.got.text);
    CHECK(o.checked.kind == ERR_NONE && o.problems == 0, "removed: for fsck no problem: %s",
          o.checked.text);
    free(o.cat);

    o = readers(lose_all);
    CHECK(!o.cat, "lost: cat fails");
    CHECK(o.got.kind == ERR_IO && strstr(o.got.text, "/a, /b"), "lost: get names both: %s",
          o.got.text);
    CHECK(o.checked.kind == ERR_NONE && o.problems == 2, "lost: fsck names both: %s",
          o.checked.text);
    free(o.cat);
    return TAP_DONE();
}
