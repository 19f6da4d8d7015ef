#include "base/file.h"
#include "catalog/store.h"
#include "content.h"
#include "fixture.h"
#include "tap.h"

static const char *read_whole(const char *dir, const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return content_of(path);
}

static void check_tables(const char *dir)
{
    static const char offers[] = "a,r1,,gpu,8,61,V100,1,10,3.06,0.9,\n"
                                 "a,r1,,odd,0.1,0.3333333333333333,,,,0.000123456,,\n"
                                 "a,r1,\"z,1\",m,1,1.7998046875,,,,12345.678901,1e-09,0.02\n"
                                 "a,r1,z2,m,1,1.7998046875,,,,100000,,\n";
    static const char transfers[] = "a,*,=,*,0.02,0,,0\n"
                                    "a,*,internet,*,0.09,0,4.7,40.5\n"
                                    "a,*,internet,*,0.05,10240,,\n";
    static const char storage[] = "a,*,standard,0.023,0.0004,,0.005\n";
    struct err e = {0};
    struct catalog *c = fixture(offers, transfers, storage, &e);

    CHECK(c && catalog_write_tables(c, dir, 0600, &e) == 0, "tables are written %s", e.text);
    if (!c)
        return;
    /* Kinds in the order of a snapshot: gpu, m, odd. */
    CHECK(strcmp(read_whole(dir, "offers.csv"),
                 FIXTURE_OFFERS "a,r1,,gpu,8,61,V100,1,10,3.06,0.9,\n"
                                "a,r1,\"z,1\",m,1,1.7998046875,,,,12345.678901,1e-09,0.02\n"
                                "a,r1,z2,m,1,1.7998046875,,,,100000,,\n"
                                "a,r1,,odd,0.1,0.3333333333333333,,,,0.000123456,,\n") == 0,
          "offers.csv holds the same texts");
    CHECK(strncmp(read_whole(dir, "transfers.csv"), FIXTURE_TRANSFERS, strlen(FIXTURE_TRANSFERS)) ==
                  0 &&
              strcmp(read_whole(dir, "transfers.csv") + strlen(FIXTURE_TRANSFERS), transfers) == 0,
          "transfers.csv");
    CHECK(strcmp(read_whole(dir, "storage.csv") + strlen(FIXTURE_STORAGE), storage) == 0,
          "storage.csv");
    char first[4096];
    snprintf(first, sizeof first, "%s", read_whole(dir, "offers.csv"));
    struct catalog *again = catalog_open_dir(dir, &e);
    CHECK(again && catalog_write_tables(again, dir, 0600, &e) == 0 &&
              strcmp(read_whole(dir, "offers.csv"), first) == 0,
          "what was written reads back %s", e.text);
    catalog_free(again);
    catalog_free(c);
}

int main(void)
{
    char dir[] = "/tmp/tradewind-write-XXXXXX";

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    check_tables(dir);
    file_remove_tree(dir);
    return TAP_DONE();
}
