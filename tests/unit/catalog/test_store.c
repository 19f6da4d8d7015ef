#include "base/file.h"
#include "base/log.h"
#include "catalog/store.h"
#include "fixture.h"
#include "tap.h"

#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/tmp/tradewind-store-XXXXXX";

static const char *path(const char *name)
{
    static char text[512];

    snprintf(text, sizeof text, "%s/catalog/%s", home, name);
    return text;
}

/* Puts a catalog with n offers in use. */
static int put(unsigned n, struct err *e)
{
    char rows[1000] = "";
    size_t len = 0;

    for (unsigned i = 0; i < n; i++)
        len += (size_t)snprintf(rows + len, sizeof rows - len, "a,r%u,,t,1,1,,,,1,,\n", i);
    struct catalog *c = fixture(rows, "a,*,*,*,1,,,\n", "a,*,standard,1,,,\n", e);
    struct catalog_store *s = catalog_store_lock(home, e);
    int result = c && s ? catalog_store_put(s, c, e) : -1;
    catalog_store_free(s);
    catalog_free(c);
    return result;
}

/* The number of offers in use; 0 when there is no catalog. */
static size_t in_use(struct err *e)
{
    struct catalog *c = catalog_store_open(home, e);
    size_t n = c ? c->n_offers : 0;

    catalog_free(c);
    return n;
}

static void overwrite(const char *name, long at, const char *text)
{
    FILE *f = fopen(path(name), "r+");

    if (!f || fseek(f, at, SEEK_SET) != 0 || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
}

static bool exists(const char *name)
{
    struct stat st;

    return lstat(path(name), &st) == 0;
}

static void check_generations(void)
{
    struct err e = {0};

    CHECK(in_use(&e) == 0 && e.kind == ERR_NOTFOUND, "nothing at first: %s", e.text);
    CHECK(put(1, &e) == 0 && in_use(&e) == 1, "a first generation %s", e.text);
    CHECK(put(2, &e) == 0 && in_use(&e) == 2, "a second one replaces it");
    CHECK(!exists("gen-1") && exists("gen-2"), "and is the only one left");
    CHECK(exists("gen-2/offers.csv") && exists("gen-2/transfers.csv") &&
              exists("gen-2/storage.csv") && exists("gen-2/sources.csv") &&
              exists("gen-2/snapshot"),
          "with all its files");
    /* What a writer that was killed leaves behind. */
    mkdir(path("gen-7"), 0755);
    fclose(fopen(path("gen-7/offers.csv"), "w"));
    CHECK(symlink("gen-7", path("next")) == 0 && in_use(&e) == 2, "a half-written one is not seen");
    CHECK(put(3, &e) == 0 && in_use(&e) == 3 && !exists("gen-7") && exists("gen-8"),
          "and is removed by the next import %s", e.text);
}

static void check_damage(void)
{
    struct err e = {0};

    overwrite("gen-8/snapshot", 200, "damage");
    CHECK(in_use(&e) == 3, "a damaged snapshot is built again %s", e.text);
    struct catalog *whole = catalog_open_file(path("gen-8/snapshot"), &e);
    CHECK(whole, "for good");
    catalog_free(whole);
    CHECK(truncate(path("gen-8/snapshot"), 100) == 0 && in_use(&e) == 3, "a cut one too");
    CHECK(truncate(path("gen-8/snapshot"), 0) == 0 && in_use(&e) == 3, "and an empty one");
    unlink(path("gen-8/snapshot"));
    CHECK(in_use(&e) == 3 && exists("gen-8/snapshot"), "and a missing one");
    overwrite("gen-8/snapshot", 8, "\x63");
    CHECK(in_use(&e) == 3, "and one of another version");
    overwrite("gen-8/snapshot", 200, "damage");
    overwrite("gen-8/offers.csv", 0, "clowd");
    CHECK(in_use(&e) == 0 && e.kind == ERR_IO && strstr(e.text, "gen-8/snapshot: damaged") &&
              strstr(e.text, "offers.csv:1: unknown column") &&
              strstr(e.text, "`tradewind catalog reset`"),
          "if the CSVs are damaged as well, it says so: %s", e.text);
    struct catalog *c = catalog_open(home, &e);
    CHECK(!c, "and the built-in catalog does not take over silently");
    catalog_free(c);
    CHECK(put(4, &e) == 0 && in_use(&e) == 4, "an import heals it");
}

static void check_reset(void)
{
    struct err e = {0};
    bool was = false;
    struct catalog_store *s = catalog_store_lock(home, &e);

    CHECK(s && catalog_store_reset(s, &was, &e) == 0 && was, "reset");
    CHECK(in_use(&e) == 0 && !exists("current"), "nothing is left");
    CHECK(catalog_store_reset(s, &was, &e) == 0 && !was, "a second reset finds nothing");
    catalog_store_free(s);
    struct catalog *c = catalog_open(home, &e);
    CHECK(c && strncmp(c->origin, "built-in", 8) == 0, "the built-in catalog is in use");
    catalog_free(c);
}

int main(void)
{
    if (!mkdtemp(home))
        return EXIT_FAILURE;
    log_set_level(LOG_ERROR);
    check_generations();
    check_damage();
    check_reset();
    file_remove_tree(home);
    return TAP_DONE();
}
