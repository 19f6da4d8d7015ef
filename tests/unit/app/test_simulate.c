/* The operation run.simulate from the pipeline file to the bill: refused stages are planned again
 * over the catalog, and outputs stay where they were made. */
#include "app/run/simulate.h"
#include "base/file.h"
#include "base/mem.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 0.36 dollars an hour are 100 micro-dollars a second; the other costs twice that. */
static const char offers[] =
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,"
    "price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
    "aws,r1,,cheap,4,16,,,,0.36,,\n"
    "aws,r2,,cheap,4,16,,,,0.37,,\n"
    "aws,r1,,big,8,32,,,,0.36,,\n"
    "aws,r2,,big,8,32,,,,0.37,,\n"
    "gcp,r9,,dear,4,16,,,,0.72,,\n";
static const char transfers[] =
    "src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,gbit_per_s,rtt_ms\n"
    "*,*,*,*,0.1,0,8,0\n";
static const char pipeline[] = "name: two\n---\n"
                               "name: make\nresources: {region: r1}\noutputs: {data: 1GB}\n"
                               "estimate: {seconds: 600}\nrun: a\n---\n"
                               "name: use\ninputs: [{from: make.data}]\n"
                               "estimate: {seconds: 600}\nrun: b\n";

static char dir[300];
static struct err err;

static void put(const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/%s", dir, name);

    FILE *out = fopen(path, "we");

    if (!out || fputs(text, out) < 0 || fclose(out) != 0)
        printf("Bail out! %s\n", path);
}

/* ---- the answer ---- */

static json_t *bill;   /* of the last call; NULL = none */
static json_t *events; /* its events */

static int keep_bill(void *context, const void *record, struct err *e)
{
    (void)context;
    (void)e;
    bill = record_encode(run_simulate_operation.answer, record);
    return 0;
}

static int keep_event(void *context, const void *record, struct err *e)
{
    (void)context;
    (void)e;
    json_array_append_new(events, record_encode(run_simulate_operation.item, record));
    return 0;
}

/* faults NULL = none, most < 0 = no spending cap. Noise is 0. The state, "" after an error. */
static const char *play(const char *faults, double most, bool resume)
{
    AUTO_MEM char *file = mem_printf("%s/p.yaml", dir);
    AUTO_MEM char *catalog = mem_printf("%s/catalog", dir);
    AUTO_MEM char *home = mem_printf("%s/home", dir);
    AUTO(arena) struct arena *arena = arena_new((size_t)64 << 20);
    AUTO(app) struct app *app = app_new(&(struct app_options){.home = home, .role = APP_MEMBER});
    AUTO_JSON json_t *request = json_pack("{s:s, s:s, s:i, s:b}", "file", file, "catalog", catalog,
                                          "noise", 0, "resume", resume);
    struct answer answer = {.arena = arena, .head = keep_bill, .item = keep_event};

    if (faults)
        json_object_set_new(request, "faults_text", json_string(faults));
    if (most >= 0)
        json_object_set_new(request, "max_cost_usd", json_real(most));
    json_decref(bill);
    json_decref(events);
    bill = NULL;
    events = json_array();
    err = (struct err){0};
    if (operation_call(app, &run_simulate_operation, request, FIELD_AS_NAME, &answer, &err) < 0)
        return "";
    return json_string_value(json_object_get(bill, "state"));
}

static bool is(const char *state, const char *wanted)
{
    if (!strcmp(state, wanted))
        return true;
    printf("# %s, not %s; %s\n", state, wanted, err.text);
    return false;
}

/* Whether an event, or the bill, has this text. */
static bool says(const char *text)
{
    AUTO_MEM char *all = json_dumps(events, JSON_COMPACT);
    AUTO_MEM char *last = json_dumps(bill, JSON_COMPACT);

    return strstr(all, text) || strstr(last, text);
}

static double billed(const char *key)
{
    return json_number_value(json_object_get(bill, key));
}

static bool is_usd(const char *key, double usd)
{
    double got = billed(key);

    if (got > usd - 5e-7 && got < usd + 5e-7)
        return true;
    printf("# %s: %.6f, not %.6f; %s\n", key, got, usd, err.text);
    return false;
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(dir, sizeof dir, "%s/tradewind-simulate-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    AUTO_MEM char *catalog = mem_printf("%s/catalog", dir);
    AUTO_MEM char *home = mem_printf("%s/home", dir);
    file_make_dirs(catalog, 0700, &err);
    file_make_dirs(home, 0700, &err);
    put("catalog/offers.csv", offers);
    put("catalog/transfers.csv", transfers);
    put("home/config.yaml", "plan: {boot_s: 0, local_gbit: 8}\n");
    put("p.yaml", pipeline);

    /* 600 s, then 1 s to read a gigabyte at 8 Gbit/s and 600 s, on the same machine. */
    CHECK(is(play(NULL, -1, false), "finished") && is_usd("cost_usd", 1201e-4) &&
              billed("machines") == 1,
          "as planned: one machine of 1201 s");
    CHECK(is_usd("planned_usd", 1201e-4) && billed("time_s") == 1201, "the plan says the same");

    /* The second stage keeps the machine of the first: no launch can be refused. */
    CHECK(is(play("capacity aws/r2", -1, false), "finished") && billed("machines") == 1,
          "an offer that is not used is not refused");
    /* r1 alone may run the first. */
    CHECK(is(play("capacity aws/r1", -1, false), "failed") && says("no other plan") &&
              says("\"skipped\"") && is_usd("cost_usd", 0),
          "a stage without another offer fails, and stages that need it are skipped");

    /* A stage that is not pinned takes another instance type. */
    put("p.yaml", "name: one\nresources: {cpus: 4}\nestimate: {seconds: 600}\nrun: a\n");
    /* 0.37 dollars an hour for 600 s. */
    CHECK(is(play("capacity aws/r1", -1, false), "finished") && is_usd("cost_usd", 0.061667) &&
              says("cheap in aws/r1: there is none now; next best: cheap in aws/r2"),
          "no capacity in a region: the next best region");
    CHECK(is(play("quota aws", -1, false), "finished") && is_usd("cost_usd", 0.12) &&
              says("next best: dear in gcp/r9"),
          "no quota in a cloud: another cloud");
    CHECK(is(play("auth", -1, false), "failed") && says("sign in again") && is_usd("cost_usd", 0),
          "without credentials the run stops with the reason");
    CHECK(is(play(NULL, 0.05, false), "stopped") && is_usd("cost_usd", 0.05) &&
              says("spending limit of $0.05"),
          "spending stops at its limit");
    CHECK(is(play(NULL, -1, true), "finished") && is_usd("cost_usd", 0.11) &&
              billed("machines") == 2,
          "resume continues the run, in one bill");
    CHECK(is(play(NULL, -1, true), "") && err.kind == ERR_USAGE,
          "a run that has finished is not resumed: %s", err.text);
    CHECK(is(play("no such fault", -1, false), "") && err.kind == ERR_USAGE &&
              strstr(err.text, "line 1"),
          "an unknown fault is reported with its line: %s", err.text);

    /* The output of the first lies in r1, where the second finds no machine: 600 s in r1, a
     * gigabyte moved for 0.1 dollars in 1 s, and 601 s at 0.37 dollars an hour. */
    put("p.yaml", "name: two\n---\n"
                  "name: make\nresources: {region: r1, cpus: 4}\noutputs: {data: 1GB}\n"
                  "estimate: {seconds: 600}\nrun: a\n---\n"
                  "name: use\nresources: {cpus: 8}\ninputs: [{from: make.data}]\n"
                  "estimate: {seconds: 600}\nrun: b\n");
    CHECK(is(play("capacity aws/r1 big", -1, false), "finished") &&
              is_usd("compute_usd", 0.121769) && is_usd("data_usd", 0.1),
          "outputs are fetched from where they were made");
    json_decref(bill);
    json_decref(events);
    file_remove_tree(dir);
    return TAP_DONE();
}
