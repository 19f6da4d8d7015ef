/* Operations on the catalog: import, list, show, info, export and reset in a scratch home. */
#include "app/calling.h"

#include "tap.h"

#include <math.h>
#include <string.h>

static const char offers[] =
    "# date: 2026-01-02\n"
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,"
    "price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
    "east,e1,e1-a,small,2,8,,,10,0.1,0.03,\n"
    "east,e2,,small,2,8,,,10,0.2,,\n"
    "east,e1,,gpu,8,32,A100,1,,3.5,1.25,\n";

static struct calling c;

static void check_import(void)
{
    AUTO_MEM char *path = mem_dup(calling_put(&c, "lists/offers.csv", offers));
    int result = calling_call(&c, "catalog.import", json_pack("{s:[s]}", "paths", path));
    const json_t *file = json_array_get(json_object_get(c.head, "files"), 0);

    CHECK(result == 0 && (int)calling_number(c.head, "rows_read") == 3 &&
              (int)calling_number(c.head, "offers") == 3,
          "three rows: %s", c.err.text);
    CHECK(!strcmp(calling_text(file, "table"), "offers") &&
              !strcmp(calling_text(file, "format"), "tradewind") &&
              json_is_null(json_object_get(file, "cloud")) &&
              json_array_size(json_object_get(file, "dropped")) == 0,
          "the report of the file");
    CHECK(json_is_object(json_object_get(c.head, "catalog")), "the catalog in use");
    CHECK(calling_call(&c, "catalog.import",
                       json_pack("{s:[s], s:s, s:s}", "paths", path, "format", "tradewind", "cloud",
                                 "aws")) < 0 &&
              strstr(c.err.text, "cloud is for SkyPilot files"),
          "a cloud for rows that name theirs: %s", c.err.text);
    CHECK(calling_call(&c, "catalog.import", json_pack("{s:[]}", "paths")) < 0, "no path: %s",
          c.err.text);
}

/* The instance types and regions of the items: "small/e1 gpu/e1". */
static const char *listed(void)
{
    static char text[1000];

    text[0] = 0;
    for (size_t i = 0; i < json_array_size(c.items); i++) {
        const json_t *o = json_array_get(c.items, i);
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s/%s", i ? " " : "",
                 calling_text(o, "instance_type"), calling_text(o, "region"));
    }
    return text;
}

static void check_list(const char *more, const char *wanted)
{
    json_t *request = json_pack("{s:s}", "cloud", "east");
    AUTO_JSON json_t *rest = json_loads(more, 0, NULL);

    json_object_update(request, rest);
    int result = calling_call(&c, "catalog.list", request);
    CHECK(result == 0 && !strcmp(listed(), wanted), "list %s: %s%s", more, listed(), c.err.text);
}

static void check_lists(void)
{
    check_list("{}", "small/e1 small/e2 gpu/e1");
    check_list("{\"market\": \"spot\"}", "small/e1 gpu/e1");
    check_list("{\"sort\": \"location\"}", "gpu/e1 small/e1 small/e2");
    check_list("{\"cpus\": \"4+\"}", "gpu/e1");
    check_list("{\"max_price_usd\": 0.2, \"market\": \"on-demand\"}", "small/e1 small/e2");
    check_list("{\"limit\": 1}", "small/e1");
    CHECK((int)calling_number(c.head, "offers_count") == 3, "the head counts those past the limit");
    CHECK(calling_call(&c, "catalog.list", json_pack("{s:s}", "cloud", "eats")) < 0 &&
              c.err.kind == ERR_NOTFOUND && strstr(c.err.text, "did you mean \"east\"?"),
          "an unknown cloud: %s", c.err.text);
    CHECK(calling_call(&c, "catalog.list", json_pack("{s:s}", "cpus", "many")) < 0 &&
              strstr(c.err.text, "cpus \"many\" must be 4, 4+ or 4-8"),
          "a range: %s", c.err.text);
    c.spelling = FIELD_AS_OPTION;
    CHECK(calling_call(&c, "catalog.list", json_pack("{s:s}", "cpus", "many")) < 0 &&
              strstr(c.err.text, "--cpus \"many\" must be 4, 4+ or 4-8"),
          "as an option: %s", c.err.text);
    c.spelling = FIELD_AS_NAME;
}

static void check_show(void)
{
    int result = calling_call(&c, "catalog.show", json_pack("{s:s}", "instance_type", "small"));
    const json_t *first = json_array_get(c.items, 0);

    CHECK(result == 0 && !strcmp(listed(), "small/e1 small/e2"), "show: %s", listed());
    CHECK(json_is_null(json_object_get(first, "accelerator")) &&
              fabs(calling_number(first, "spot_usd_per_hour") - 0.03) < 1e-12,
          "unknown values are null");
    CHECK(calling_call(&c, "catalog.show", json_pack("{s:s}", "instance_type", "smal")) < 0 &&
              strstr(c.err.text, "did you mean \"small\"?"),
          "an unknown type: %s", c.err.text);
}

static void check_info(void)
{
    int result = calling_call(&c, "catalog.info", json_object());
    bool seen = false;

    for (size_t i = 0; i < json_array_size(c.items); i++) {
        const json_t *cloud = json_array_get(c.items, i);
        if (!strcmp(calling_text(cloud, "cloud"), "east"))
            seen = (int)calling_number(cloud, "regions") == 2 &&
                   (int)calling_number(cloud, "kinds") == 2 &&
                   (int)calling_number(cloud, "priced_spot") == 2;
    }
    CHECK(result == 0 && seen, "info counts regions, types and prices of a cloud");
    CHECK(strstr(calling_text(c.head, "origin"), "imported") != NULL, "origin: %s",
          calling_text(c.head, "origin"));
}

static void check_export_and_reset(void)
{
    AUTO_MEM char *dir = mem_printf("%s/out", c.home);
    AUTO_MEM char *file = mem_printf("%s/offers.csv", dir);
    int result = calling_call(&c, "catalog.export", json_pack("{s:s}", "directory", dir));

    FILE *in = fopen(file, "re");
    CHECK(result == 0 && in && calling_number(c.head, "offers") > 3, "exported to %s", dir);
    if (in)
        fclose(in);
    result = calling_call(&c, "catalog.reset", json_object());
    CHECK(result == 0 && json_is_true(json_object_get(c.head, "was_imported")) &&
              strstr(calling_text(c.head, "origin"), "built-in"),
          "reset: %s", calling_text(c.head, "origin"));
    result = calling_call(&c, "catalog.reset", json_object());
    CHECK(result == 0 && json_is_false(json_object_get(c.head, "was_imported")), "once is enough");
    CHECK(calling_call(&c, "catalog.update", json_object()) < 0 &&
              strstr(c.err.text, "has no URLs under catalog.update"),
          "update without URLs: %s", c.err.text);
}

int main(void)
{
    calling_open(&c);
    check_import();
    check_lists();
    check_show();
    check_info();
    check_export_and_reset();
    calling_close(&c);
    return TAP_DONE();
}
