/* Sets made at random, against a model of plain arrays. */
#include "lake/set/internal.h"
#include "lake/set/set.h"

#include "scratch.h"
#include "set_checks.h"
#include "tap.h"

#include <string.h>

#define DIRECTORIES 8
#define PER_DIRECTORY 900
#define FILES (DIRECTORIES * PER_DIRECTORY)
#define ROUNDS 24
#define SETS 4

static uint64_t seed = 3;

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

/* ---- the model: version numbers by file, 0 = not in the set ---- */

struct version {
    struct lake_ref ref;
    int numbers[FILES];
};

struct world {
    struct lake *l;
    char *paths[FILES];
    int64_t ids[FILES][3]; /* of versions 1, 2, 3; 0 = none */
    int latest[FILES];
    struct version versions[ROUNDS + 3];
    size_t n_versions;
};

static void put_all(struct world *w, int number)
{
    struct err e = {0};
    struct lake_made made;

    if (db_begin(w->l->db, &e) < 0 || lake_made_new(w->l, w->l->user, &made, &e) < 0)
        exit(1);
    AUTO_MEM char *text = mem_printf("content of version %d", number);
    int64_t object = scratch_object(w->l, text);
    for (size_t i = 0; i < FILES; i++) {
        if (number > 1 && draw(3) > 0)
            continue;
        struct version_new v = {.path = w->paths[i], .object = object};
        struct version_done done;
        if (scratch_version(w->l, &made, &v, &done, &e) < 0)
            exit(1);
        w->ids[i][done.number - 1] = done.version;
        w->latest[i] = (int)done.number;
    }
    if (db_commit(w->l->db, &e) < 0)
        exit(1);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A set of everything as it is now, so that later sets meet other versions of most files. */
static void add_base(struct world *w)
{
    struct version *v = &w->versions[w->n_versions++];
    struct err e = {0};

    memcpy(v->numbers, w->latest, sizeof v->numbers);
    const char *all = "/";
    if (lake_set_create(w->l, &(struct lake_set_request){.name = "base", .refs = &all, .n_refs = 1},
                        NULL, &e) < 0 ||
        lake_resolve(w->l, "@base", LAKE_READ, &v->ref, &e) < 0)
        exit(1);
}

static void world_init(struct world *w, struct lake *l)
{
    w->l = l;
    for (size_t i = 0; i < FILES; i++)
        w->paths[i] = mem_printf("/d%zu/%s%llu-%zu", i / PER_DIRECTORY, i % 3 ? "s/" : "",
                                 (unsigned long long)draw(100000), i);
    qsort(w->paths, FILES, sizeof w->paths[0], compare_paths);
    for (int number = 1; number <= 3; number++) {
        put_all(w, number);
        add_base(w);
    }
}

static void world_clear(struct world *w)
{
    for (size_t i = 0; i < FILES; i++)
        free(w->paths[i]);
    for (size_t i = 0; i < w->n_versions; i++)
        lake_ref_clear(&w->versions[i].ref);
}

/* One reference as text, and what the model says it holds. */
struct source {
    char *text;
    int numbers[FILES];
    bool any;
    int64_t set_version;
};

static void draw_source(struct world *w, struct source *s)
{
    size_t kind = draw(w->n_versions ? 5 : 2), directory = draw(DIRECTORIES);
    const struct version *from = w->n_versions ? &w->versions[draw(w->n_versions)] : NULL;
    AUTO_MEM char *prefix = mem_printf("/d%zu/", directory);
    size_t one = draw(FILES);

    *s = (struct source){0};
    for (size_t i = 0; i < FILES; i++) {
        bool below = strncmp(w->paths[i], prefix, strlen(prefix)) == 0;
        if (kind == 0)
            s->numbers[i] = below ? w->latest[i] : 0;
        else if (kind == 1)
            s->numbers[i] = i == one ? 1 : 0;
        else if (kind == 2)
            s->numbers[i] = below ? from->numbers[i] : 0;
        else
            s->numbers[i] = from->numbers[i];
        s->any |= s->numbers[i] > 0;
    }
    if (kind == 0)
        s->text = mem_dup(prefix);
    else if (kind == 1)
        s->text = mem_printf("%s#1", w->paths[one]);
    else
        s->text = mem_printf("%s@%s:%lld", kind == 2 ? prefix : "", from->ref.set_name,
                             (long long)from->ref.number);
    s->set_version = kind >= 2 ? from->ref.set_version : 0;
}

static void count_conflict(void *context, const struct lake_set_conflict *c)
{
    if (c->path[0] == '/' && c->kept != c->dropped && c->kept_of && c->dropped_of)
        ++*(size_t *)context;
}

static size_t merge_sources(const struct source *sources, size_t n, int *numbers)
{
    size_t conflicts = 0;

    memset(numbers, 0, FILES * sizeof *numbers);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < FILES; i++)
            if (sources[k].numbers[i])
                numbers[i] = sources[k].numbers[i];
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < FILES; i++)
            conflicts += sources[k].numbers[i] && sources[k].numbers[i] != numbers[i];
    return conflicts;
}

/* ---- comparing ---- */

struct expected {
    const struct world *w;
    const int *numbers;
    size_t at;
    bool good;
};

static void to_next(struct expected *x, const char *prefix)
{
    while (x->at < FILES &&
           (x->numbers[x->at] == 0 || strncmp(x->w->paths[x->at], prefix, strlen(prefix)) != 0))
        x->at++;
}

struct prefixed {
    struct expected x;
    const char *prefix;
};

static int see(void *context, const struct lake_entry *entry, struct err *e)
{
    struct prefixed *p = context;
    struct expected *x = &p->x;

    (void)e;
    to_next(x, p->prefix);
    if (x->at == FILES || strcmp(x->w->paths[x->at], entry->path) != 0 ||
        entry->number != x->numbers[x->at] ||
        entry->version != x->w->ids[x->at][entry->number - 1] ||
        entry->size != strlen("content of version 1"))
        x->good = false;
    else
        x->at++;
    return 0;
}

static bool holds(const struct world *w,
                  int64_t set_version,
                  const char *prefix,
                  const int *numbers)
{
    struct prefixed p = {{.w = w, .numbers = numbers, .good = true}, prefix};
    struct err e = {0};

    if (entries_each(w->l, set_version, prefix, see, &p, &e) < 0)
        return false;
    to_next(&p.x, prefix);
    return p.x.good && p.x.at == FILES;
}

static bool finds(const struct world *w, int64_t set_version, const int *numbers)
{
    struct err e = {0};

    for (int k = 0; k < 20; k++) {
        size_t i = draw(FILES);
        struct lake_entry entry;
        int found = entries_find(w->l, set_version, w->paths[i], &entry, &e);
        if (found != (numbers[i] > 0) ||
            (found == 1 && (entry.number != numbers[i] || entry.path != w->paths[i])))
            return false;
    }
    struct lake_entry entry;
    return entries_find(w->l, set_version, "/d0", &entry, &e) == 0 &&
           entries_find(w->l, set_version, "/zzz", &entry, &e) == 0;
}

/* A set is cut into the same chunks however it came about. */
static bool cut_as_from_scratch(const struct world *w, int64_t set_version, const int *numbers)
{
    struct err e = {0};
    struct lake_made made = {0};
    struct lake_set again;
    bool good = db_begin(w->l->db, &e) == 0 && lake_made_new(w->l, w->l->user, &made, &e) == 0;
    AUTO(set_builder) struct set_builder *b = set_builder_new(w->l, "again", &made, &e);

    for (size_t i = 0; good && i < FILES; i++)
        if (numbers[i] &&
            set_builder_add(b,
                            &(struct lake_entry){.path = w->paths[i],
                                                 .number = numbers[i],
                                                 .version = w->ids[i][numbers[i] - 1],
                                                 .size = strlen("content of version 1")},
                            &e) < 0)
            good = false;
    good = good && set_builder_finish(b, NULL, 0, &again, &e) == 0;
    AUTO_CLEAR(parts) struct parts x = {0};
    AUTO_CLEAR(parts) struct parts y = {0};
    good = good && parts_of(w->l, set_version, "/", &x, &e) == 0 &&
           parts_of(w->l, again.version, "/", &y, &e) == 0 && x.n == y.n;
    for (size_t i = 0; good && i < x.n; i++)
        good = x.items[i].chunk == y.items[i].chunk;
    db_rollback(w->l->db);
    return good;
}

struct diff_expected {
    const struct world *w;
    const int *before, *after;
    size_t at;
    bool good;
};

static int see_change(void *context,
                      enum lake_set_change change,
                      const struct lake_entry *before,
                      const struct lake_entry *after,
                      struct err *e)
{
    struct diff_expected *x = context;

    (void)e;
    while (x->at < FILES && x->before[x->at] == x->after[x->at])
        x->at++;
    if (x->at == FILES) {
        x->good = false;
        return 0;
    }
    size_t i = x->at++;
    enum lake_set_change wanted = x->before[i] == 0  ? LAKE_SET_ADDED
                                  : x->after[i] == 0 ? LAKE_SET_REMOVED
                                                     : LAKE_SET_CHANGED;
    if (change != wanted || (before ? before->number : 0) != x->before[i] ||
        (after ? after->number : 0) != x->after[i] ||
        strcmp((before ? before : after)->path, x->w->paths[i]) != 0)
        x->good = false;
    return 0;
}

static bool differs(const struct world *w, const struct version *a, const struct version *b)
{
    struct diff_expected x = {w, a->numbers, b->numbers, 0, true};
    struct err e = {0};

    if (lake_set_diff(w->l, &a->ref, &b->ref, see_change, &x, &e) < 0)
        return false;
    while (x.at < FILES && x.before[x.at] == x.after[x.at])
        x.at++;
    return x.good && x.at == FILES;
}

static void add_wanted_parent(struct world *w, const struct source *s, struct buf *wanted)
{
    for (size_t i = 0; i < w->n_versions; i++) {
        if (w->versions[i].ref.set_version != s->set_version)
            continue;
        AUTO_MEM char *ref = mem_printf("@%s:%lld ", w->versions[i].ref.set_name,
                                        (long long)w->versions[i].ref.number);
        if (!strstr(buf_str(wanted), ref))
            buf_puts(wanted, ref);
    }
}

static void compare_created(
    struct world *w, const struct lake_set *set, const struct source *sources, size_t n, int round)
{
    struct version *v = &w->versions[w->n_versions];
    AUTO_MEM char *text = lake_ref_of_set(set->name, set->number);
    AUTO_CLEAR(buf) struct buf parents;
    struct err e = {0};
    size_t files = 0;

    buf_init(&parents, 65536);
    for (size_t k = 0; k < n; k++)
        add_wanted_parent(w, &sources[k], &parents);
    for (size_t i = 0; i < FILES; i++)
        files += v->numbers[i] > 0;
    CHECK(lake_resolve(w->l, text, LAKE_READ, &v->ref, &e) == 0 &&
              v->ref.set_version == set->version,
          "round %d: %s", round, text);
    CHECK(set->files == files && set->bytes == files * strlen("content of version 1"),
          "round %d: %zu files are counted", round, files);
    CHECK(holds(w, set->version, "/", v->numbers), "round %d: holds what the model says", round);
    CHECK(holds(w, set->version, "/d3/s/", v->numbers), "round %d: and below a directory", round);
    CHECK(finds(w, set->version, v->numbers), "round %d: single files are found", round);
    CHECK(set_parents_are(w->l, set->version, buf_str(&parents)), "round %d: from %s", round,
          buf_str(&parents));
    CHECK(cut_as_from_scratch(w, set->version, v->numbers), "round %d: cut as ever", round);
    w->n_versions++;
    for (size_t i = 0; i < w->n_versions; i += 1 + draw(4))
        CHECK(differs(w, &w->versions[i], v) && differs(w, v, &w->versions[i]),
              "round %d: differs from %zu as the model does", round, i);
}

static void test_round(struct world *w, struct source *sources, int round)
{
    size_t n = 1 + draw(4), conflicts = 0;
    const char *refs[4];
    AUTO_MEM char *name = mem_printf("S%d", (int)draw(SETS));
    struct lake_set set;
    struct err e = {0};
    bool all = true;

    for (size_t k = 0; k < n; k++) {
        draw_source(w, &sources[k]);
        refs[k] = sources[k].text;
        all = all && sources[k].any;
    }
    size_t wanted = merge_sources(sources, n, w->versions[w->n_versions].numbers);
    int64_t before = scratch_number(w->l, "SELECT COUNT(*) FROM set_version");
    const struct lake_set_request request = {
        .name = name, .refs = refs, .n_refs = n, .conflict = count_conflict, .context = &conflicts};
    int made = lake_set_create(w->l, &request, &set, &e);
    CHECK(made == (all ? 0 : -1), "round %d: made, or refused for an empty reference: %s", round,
          e.text);
    if (made == 0) {
        CHECK(conflicts == wanted, "round %d: %zu conflicts", round, wanted);
        compare_created(w, &set, sources, n, round);
    } else {
        CHECK(e.kind == ERR_NOTFOUND &&
                  scratch_number(w->l, "SELECT COUNT(*) FROM set_version") == before,
              "round %d: nothing happened", round);
    }
    for (size_t k = 0; k < n; k++)
        free(sources[k].text);
}

static void test_model(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    AUTO_MEM struct world *w = mem_zero(1, sizeof *w);
    AUTO_MEM struct source *sources = mem_zero(4, sizeof *sources);

    world_init(w, l);
    for (int round = 0; round < ROUNDS; round++)
        test_round(w, sources, round);
    world_clear(w);
}

int main(void)
{
    test_model();
    return TAP_DONE();
}
