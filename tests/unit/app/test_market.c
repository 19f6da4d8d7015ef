/* market.import, .list, .stats, .tables, .replay and .sweep: from a file of prices to replays,
 * without a command line. */
#include "app/calling.h"

#include "base/buf.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static struct calling c;
static char *prices, *speeds;

static json_t *request(const char *more)
{
    json_t *out = json_pack("{s:s}", "throughputs", speeds);
    AUTO_JSON json_t *rest = json_loads(more, 0, NULL);

    json_object_update(out, rest);
    return out;
}

static bool is_near(const json_t *object, const char *name, double wanted)
{
    return json_is_number(json_object_get(object, name)) &&
           fabs(calling_number(object, name) - wanted) < 1e-9;
}

static const json_t *first_of(const json_t *object, const char *name)
{
    return json_array_get(json_object_get(object, name), 0);
}

/* Ten days of a V100 at $1, from the sixth on $2; of eight K80 at $1.60, $0.20 each. */
static char *make_prices(void)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 1 << 16);
    buf_puts(&b, "cloud,region,zone,instance_type,time,price_usd_per_hour\n");
    for (int day = 1; day <= 10; day++) {
        buf_printf(&b, "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-%02d,%d\n", day,
                   day < 6 ? 1 : 2);
        buf_printf(&b, "aws,us-east-1,us-east-1a,p2.8xlarge,2020-01-%02d,1.6\n", day);
    }
    return mem_dup(calling_put(&c, "prices.csv", buf_str(&b)));
}

static void check_import(void)
{
    CHECK(calling_call(&c, "market.list", json_object()) == 0 && json_array_size(c.items) == 0,
          "no histories yet: %s", c.err.text);
    CHECK(calling_call(&c, "market.import",
                       json_pack("{s:[s], s:s}", "paths", prices, "format", "xml")) < 0 &&
              c.err.kind == ERR_USAGE && strstr(c.err.text, "format"),
          "an unknown format: %s", c.err.text);
    int result = calling_call(&c, "market.import", json_pack("{s:[s]}", "paths", prices));
    const json_t *file = first_of(c.head, "files");
    CHECK(result == 0, "imported: %s", c.err.text);
    CHECK(is_near(c.head, "rows_read", 20) && is_near(c.head, "rows_kept", 20) &&
              is_near(c.head, "offers", 2) && json_is_true(json_object_get(c.head, "changed")),
          "every row is kept");
    CHECK(!strcmp(calling_text(file, "format"), "csv") && is_near(file, "rows_dropped", 0) &&
              !json_object_get(file, "first_dropped"),
          "the report of the file");
    result = calling_call(&c, "market.import", json_pack("{s:[s]}", "paths", prices));
    CHECK(result == 0 && json_is_false(json_object_get(c.head, "changed")) &&
              is_near(first_of(c.head, "dropped"), "count", 20),
          "the same file again is all duplicates");
}

static void check_list(void)
{
    int result = calling_call(&c, "market.list", json_object());
    const json_t *first = json_array_get(c.items, 0);

    CHECK(result == 0 && json_array_size(c.items) == 2, "one item per instance type: %s",
          c.err.text);
    CHECK(!strcmp(calling_text(first, "instance_type"), "p2.8xlarge") &&
              !strcmp(calling_text(first, "gpu"), "K80") && is_near(first, "gpus", 8) &&
              is_near(first, "records", 10) &&
              !strcmp(calling_text(first, "begin"), "2020-01-01T00:00:00Z"),
          "with GPUs, records and times");
}

/* Prices are known for nine days: five at $1, four at $2. */
static void check_stats(void)
{
    int result = calling_call(&c, "market.stats", json_pack("{s:s}", "gpu", "V100"));
    const json_t *gpu = first_of(c.head, "gpus"), *offer = first_of(c.head, "offers");

    CHECK(result == 0, "summarized: %s", c.err.text);
    CHECK(is_near(offer, "min_usd_per_hour", 1) && is_near(offer, "mean_usd_per_hour", 13.0 / 9) &&
              is_near(offer, "max_usd_per_hour", 2) && is_near(offer, "changes", 1) &&
              !json_object_get(offer, "lives"),
          "an offer");
    CHECK(!strcmp(calling_text(gpu, "gpu"), "V100") &&
              json_array_size(json_object_get(gpu, "cheapest")) == 2,
          "its GPU: two prices over time");
    const json_t *usual = json_object_get(gpu, "most_often_cheapest");
    CHECK(!strcmp(calling_text(usual, "zone"), "us-east-1a") &&
              !strcmp(calling_text(usual, "instance_type"), "p3.2xlarge") &&
              !json_object_get(offer, "prices"),
          "and the offer that is cheapest most of the time");
    result = calling_call(&c, "market.stats", json_pack("{s:s, s:b}", "gpu", "V100", "prices", 1));
    offer = first_of(c.head, "offers");
    CHECK(result == 0 && is_near(first_of(offer, "prices"), "at_s", 1577836800) &&
              is_near(first_of(offer, "prices"), "usd_per_hour", 1) &&
              is_near(offer, "prices_end_s", 1577836800 + 9 * 86400.0),
          "prices over time, where requested");
    CHECK(calling_call(&c, "market.stats", json_pack("{s:s}", "gpu", "H100")) < 0 &&
              c.err.kind == ERR_NOTFOUND,
          "no such history: %s", c.err.text);
}

/* On demand a p3.2xlarge costs $3.06; the lowest spot price is $1. */
static void check_tables(void)
{
    int result = calling_call(&c, "market.tables", json_pack("{s:[s]}", "models", "A3C"));
    const json_t *row;
    size_t i;
    double best = 0;

    CHECK(result == 0, "computed: %s", c.err.text);
    json_array_foreach(json_object_get(c.head, "table3"), i,
                       row) if (!strcmp(calling_text(row, "cloud"), "aws")) best =
        calling_number(json_object_get(row, "reduction"), "V100");
    CHECK(fabs(best - 3.06) < 1e-9, "the best case of spot");
    CHECK(json_array_size(json_object_get(json_object_get(c.head, "table1"), "models")) == 1,
          "the requested model");
}

/* A V100 does twice the work of a K80: a V100-day on K80s costs 48 hours at $0.20. */
static void check_paper(void)
{
    int result = calling_call(&c, "market.replay",
                              request("{\"work\": \"2 V100-days\", \"starts\": \"2020-01-04\"}"));
    const json_t *rows = json_object_get(c.head, "strategies");

    CHECK(result == 0, "replayed: %s", c.err.text);
    CHECK(json_array_size(rows) == 5 && is_near(json_array_get(rows, 0), "mean_cost_usd", 48) &&
              is_near(json_array_get(rows, 2), "mean_cost_usd", 19.2),
          "costs of strategies");
    CHECK(json_is_null(json_object_get(c.head, "regret")) && !json_object_get(c.head, "cloud") &&
              !json_object_get(c.head, "regret_usd") && !json_object_get(c.head, "trace"),
          "members of mode market are null or absent");
    CHECK(calling_call(&c, "market.replay", request("{\"seed\": 3}")) < 0 &&
              !strcmp(c.err.text, "seed needs mode market"),
          "a field of the other mode: %s", c.err.text);
    CHECK(calling_call(&c, "market.replay", request("{\"trace\": true}")) < 0 &&
              c.err.kind == ERR_USAGE,
          "a trace in mode paper: %s", c.err.text);
    CHECK(calling_call(&c, "market.replay", request("{\"strategies\": \"best\"}")) < 0 &&
              c.err.kind == ERR_USAGE && strstr(c.err.text, "not a strategy; give some of 1xV100"),
          "an unknown strategy: %s", c.err.text);
}

/* Twelve hours from the second on: $12 on the V100; 24 hours at $0.20 on a K80. */
static void check_live(void)
{
    int result = calling_call(&c, "market.replay",
                              request("{\"mode\": \"market\", \"work\": \"12 V100-hours\","
                                      " \"starts\": \"2020-01-02\", \"restart_s\": 0,"
                                      " \"preemptions\": \"0\", \"trace\": true}"));
    const json_t *rows = json_object_get(c.head, "strategies");
    const json_t *trace = json_object_get(c.head, "trace");

    CHECK(result == 0, "replayed: %s", c.err.text);
    CHECK(is_near(json_array_get(rows, 0), "mean_cost_usd", 12) &&
              is_near(json_array_get(rows, 4), "mean_cost_usd", 4.8) &&
              is_near(json_object_get(c.head, "offline"), "mean_cost_usd", 4.8) &&
              is_near(c.head, "regret", 0),
          "dynamic takes the cheapest, without regret");
    CHECK(json_array_size(json_object_get(trace, "points")) > 1 &&
              !strcmp(calling_text(trace, "start_day"), "2020-01-02") &&
              is_near(trace, "start_s", 1577836800 + 86400.0) &&
              is_near(first_of(trace, "regrets"), "start_s", 1577836800 + 86400.0),
          "the requested trace");
    CHECK(calling_call(&c, "market.replay",
                       request("{\"mode\": \"market\", \"starts\": \"2021-01-01\"}")) < 0 &&
              c.err.kind == ERR_NOFIT,
          "a start without prices: %s", c.err.text);
}

static void check_sweep(void)
{
    int result =
        calling_call(&c, "market.sweep",
                     request("{\"days\": 2, \"durations\": \"1,2\", \"starts\": \"2020-01-04\"}"));
    const json_t *five = first_of(json_object_get(c.head, "figure5"), "models");
    const json_t *six = first_of(json_object_get(c.head, "figure6"), "models");

    CHECK(result == 0, "swept: %s", c.err.text);
    CHECK(!c.head || !json_object_get(c.head, "cells"), "no cells in mode paper");
    CHECK(five && six && json_array_size(json_object_get(six, "reduction")) == 2, "both figures");
    CHECK(calling_call(&c, "market.sweep", request("{\"durations\": \"1,x\"}")) < 0 &&
              c.err.kind == ERR_USAGE && strstr(c.err.text, "durations"),
          "a duration that is no number: %s", c.err.text);
}

/* Errors spell fields as the caller typed them. */
static void check_spelling(void)
{
    static const struct {
        const char *request, *name, *option;
    } cases[] = {
        {"{\"mode\": \"market\", \"worth_usd_per_hour\": 1}",
         "worth_usd_per_hour is for policy threshold", "--worth is for --policy threshold"},
        {"{\"mode\": \"market\", \"policy\": \"threshold\"}", "as in deadline_s 10d",
         "as in --deadline 10d"},
        {"{\"mode\": \"market\", \"preemptions\": \"-1\"}", "preemptions -1 is not between",
         "--preemptions -1 is not between"},
        {"{\"mode\": \"market\", \"clouds\": \",\"}", "clouds: name clouds",
         "--clouds: name clouds"},
        {"{\"starts\": \"May\"}", "starts \"May\"", "--starts \"May\""},
        {"{\"region\": \"azure:*\"}", "region azure:*: write", "--region azure:*: write"},
        {"{\"region\": \"gcp:us-east1\"}", "region of aws; mode market begins anywhere",
         "region of aws; --mode market begins anywhere"},
        {"{\"work\": \"much\"}", "work \"much\" is not an amount",
         "--work \"much\" is not an amount"},
        {"{\"gap_percent\": 1}", "gap_percent needs mode", "--gap needs --mode"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int as_option = 0; as_option < 2; as_option++) {
            const char *wanted = as_option ? cases[i].option : cases[i].name;
            c.spelling = as_option ? FIELD_AS_OPTION : FIELD_AS_NAME;
            int result = calling_call(&c, "market.replay", request(cases[i].request));
            CHECK(result < 0 && strstr(c.err.text, wanted) &&
                      (as_option || !strstr(c.err.text, "--")),
                  "%s: %s", wanted, c.err.text);
        }
    c.spelling = FIELD_AS_NAME;
}

int main(void)
{
    calling_open(&c);
    prices = make_prices();
    speeds = mem_dup(calling_put(&c, "speeds.csv", "model,batch_size,K80,V100\ntoy,,1,2\n"));
    check_import();
    check_list();
    check_stats();
    check_tables();
    check_paper();
    check_live();
    check_sweep();
    check_spelling();
    free(prices);
    free(speeds);
    calling_close(&c);
    return TAP_DONE();
}
