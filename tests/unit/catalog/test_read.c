#include "base/file.h"
#include "fixture.h"
#include "tap.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char dir[] = "/tmp/tradewind-read-XXXXXX";

static const char *path(const char *name)
{
    static char text[300];

    snprintf(text, sizeof text, "%s/%s", dir, name);
    return text;
}

static void put(const char *name, const char *text)
{
    size_t len = strlen(name);

    if (len > 3 && strcmp(name + len - 3, ".gz") == 0) {
        gzFile f = gzopen(path(name), "wb");
        gzputs(f, text);
        gzclose(f);
    } else {
        FILE *f = fopen(path(name), "wb");
        fputs(text, f);
        fclose(f);
    }
}

static void check_tables(void)
{
    static const struct {
        const char *file, *text;
        enum catalog_table table;
    } cases[] = {
        {"a.csv", FIXTURE_OFFERS, CATALOG_TABLE_OFFERS},
        {"b.csv", FIXTURE_TRANSFERS "x\n", CATALOG_TABLE_TRANSFERS},
        {"c.csv", FIXTURE_STORAGE, CATALOG_TABLE_STORAGE},
        {"d.csv.gz", "# remark\n#\n\n" FIXTURE_OFFERS, CATALOG_TABLE_OFFERS},
        {"e.csv", "InstanceType,vCPUs,MemoryGiB,Price,Region\n", CATALOG_TABLE_SKYPILOT},
        {"f.csv",
         "cloud,region,zone,type,vcpu,memory_gib,accelerator,count,gbps,"
         "price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n",
         CATALOG_TABLE_OFFERS},
        {"g.csv", "instance_type,az_id,date,ondemand_usd_h,spot_usd_h\n", CATALOG_TABLE_UNKNOWN},
        {"h.csv", "", CATALOG_TABLE_UNKNOWN},
        {"i.csv", "\"unclosed\n", CATALOG_TABLE_UNKNOWN},
        {"storage.csv", "nonsense\n", CATALOG_TABLE_STORAGE},
        {"transfers.csv.gz", "nonsense\n", CATALOG_TABLE_TRANSFERS},
        {"storage.csv.old", "nonsense\n", CATALOG_TABLE_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        enum catalog_table table = CATALOG_TABLE_UNKNOWN;
        put(cases[i].file, cases[i].text);
        CHECK(catalog_read_table(path(cases[i].file), &table, &e) == 0 && table == cases[i].table,
              "%s is %s", cases[i].file, catalog_table_text(cases[i].table));
        unlink(path(cases[i].file));
    }
}

/* Remarks longer than what is read to recognise a file. */
static void check_long_remark(void)
{
    static char text[20000];
    struct err e = {0};
    enum catalog_table table = CATALOG_TABLE_OFFERS;

    memset(text, 'x', sizeof text - 1);
    text[0] = '#';
    put("long.csv", text);
    CHECK(catalog_read_table(path("long.csv"), &table, &e) == 0 && table == CATALOG_TABLE_UNKNOWN,
          "an endless first line is nothing we know");
    unlink(path("long.csv"));
    CHECK(catalog_read_table(path("long.csv"), &table, &e) < 0 && e.kind == ERR_USAGE, "%s",
          e.text);
    CHECK(catalog_read_table(dir, &table, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
}

static void check_dir(void)
{
    struct err e = {0};
    struct catalog *c = catalog_open_dir(dir, &e);

    CHECK(!c && e.kind == ERR_USAGE && strstr(e.text, "there is no offers.csv"), "%s", e.text);
    put("offers.csv.gz", "# date: 2026-01-02\n" FIXTURE_OFFERS "a,r,,t,1,1,,,,1,,\n");
    c = catalog_open_dir(dir, &e);
    CHECK(c && c->n_offers == 1 && c->n_moves == 0, "offers alone will do");
    char origin[300];
    snprintf(origin, sizeof origin, "%s, 2026-01-02", dir);
    CHECK(c && strcmp(c->origin, origin) == 0, "the origin is the directory, with its date");
    catalog_free(c);
    put("transfers.csv", FIXTURE_TRANSFERS "a,*,*,*,1,,,\n");
    put("storage.csv.gz", FIXTURE_STORAGE "a,*,standard,2,,,\n");
    c = catalog_open_dir(dir, &e);
    CHECK(c && c->n_moves == 1 && catalog_storage_usd(c, 0) == 2, "all three");
    catalog_free(c);
    put("storage.csv", FIXTURE_STORAGE "a,*,standard,-2,,,\n");
    c = catalog_open_dir(dir, &e);
    CHECK(!c && strstr(e.text, "storage.csv:2: usd_per_gb_month \"-2\" is negative"), "%s", e.text);
    catalog_free(c);
}

static void check_names(void)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"us-east-1", true}, {"", true},          {"Zürich", true},        {"a b", true},
        {"a\tb", false},     {"a\nb", false},     {"\x7F", false},         {"\x1B[0m", false},
        {"\xC3", false},     {"\xC0\x80", false}, {"\xED\xA0\x80", false},
    };
    char endless[257];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct csv_field f = {cases[i].text, strlen(cases[i].text)};
        CHECK(catalog_name_good(&f) == cases[i].good, "name %zu is %s", i,
              cases[i].good ? "good" : "refused");
    }
    memset(endless, 'x', sizeof endless);
    endless[256] = 0;
    CHECK(!catalog_name_good(&(struct csv_field){endless, 256}), "256 bytes are too many");
    endless[255] = 0;
    CHECK(catalog_name_good(&(struct csv_field){endless, 255}), "255 are not");
}

int main(void)
{
    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    check_tables();
    check_long_remark();
    check_dir();
    check_names();
    file_remove_tree(dir);
    return TAP_DONE();
}
