/* `run --on sim` from the pipeline file to the bill: what is refused is planned again over the
 * catalog, and outputs lie where they were made. */
#include "cli/run/run_sim.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/core/operate.h"
#include "cli/plan/options.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 0.36 dollars an hour are 100 micro-dollars a second; dear is twice that. */
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

static const struct command_option options[] = {
    CLI_PLAN_GOAL_OPTIONS,
    CLI_PLAN_WORLD_OPTIONS,
    {.name = "--seed", .value = "N"},
    {.name = "--noise", .value = "F"},
    {.name = "--troubles", .value = "FILE"},
    {.name = "--max-cost", .value = "USD"},
    {.name = "--resume"},
    {0},
};
static const struct command command = {.name = "run", .options = options};

static char dir[300];
static char output[1 << 16];
static struct err err;

static void put(const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/%s", dir, name);

    FILE *out = fopen(path, "we");

    if (!out || fputs(text, out) < 0 || fclose(out) != 0)
        printf("Bail out! %s\n", path);
}

static const struct command_option *option(const char *name)
{
    const struct command_option *o = options;

    while (strcmp(o->name, name) != 0)
        o++;
    return o;
}

/* What it prints goes to a file, for standard output is the test's own. */
static int captured(struct app_plan *p, const struct command_args *args)
{
    AUTO_MEM char *path = mem_printf("%s/output", dir);
    int kept = dup(STDOUT_FILENO);

    fflush(stdout);
    if (!freopen(path, "w", stdout))
        return -1;
    int result = run_on_sim(p, args, NULL, true, &err);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    FILE *in = fopen(path, "re");
    size_t n = in ? fread(output, 1, sizeof output - 1, in) : 0;
    output[n] = '\0';
    if (in)
        fclose(in);
    return result;
}

/* troubles, most: NULL = not given. Noise is 0. */
static int play(const char *troubles, const char *most, bool resume)
{
    AUTO_MEM char *file = mem_printf("%s/p.yaml", dir);
    AUTO_MEM char *catalog = mem_printf("%s/catalog", dir);
    AUTO_MEM char *path = mem_printf("%s/troubles", dir);
    const char *operands[] = {file};
    struct command_given given[8] = {{option("--catalog"), catalog}, {option("--noise"), "0"}};
    struct command_args args = {.command = &command,
                                .options = options,
                                .operands = operands,
                                .n_operands = 1,
                                .given = given,
                                .n_given = 2};
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    AUTO(app_plan) struct app_plan *p = mem_zero(1, sizeof *p);

    put("troubles", troubles ? troubles : "");
    if (troubles)
        given[args.n_given++] = (struct command_given){option("--troubles"), path};
    if (most)
        given[args.n_given++] = (struct command_given){option("--max-cost"), most};
    if (resume)
        given[args.n_given++] = (struct command_given){option("--resume"), NULL};
    err = (struct err){0};
    if (cli_plan_open(p, operate_app(door), &args, &err) < 0 || app_plan_ask(p, false, &err) < 0)
        return -1;
    return captured(p, &args);
}

/* A figure of the last line. */
static double billed(const char *key)
{
    char *end = strrchr(output, '\n');

    if (!end)
        return -1;
    *end = '\0';
    const char *last = strrchr(output, '\n');
    AUTO_JSON json_t *bill = json_loads(last ? last + 1 : output, 0, NULL);
    *end = '\n';
    return json_number_value(json_object_get(bill, key));
}

static bool is_usd(const char *key, double usd)
{
    double got = billed(key);

    if (got > usd - 5e-7 && got < usd + 5e-7)
        return true;
    printf("# %s: %.6f, not %.6f; %s\n# %s\n", key, got, usd, err.text, output);
    return false;
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(dir, sizeof dir, "%s/tradewind-run-sim-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    AUTO_MEM char *catalog = mem_printf("%s/catalog", dir);
    AUTO_MEM char *home = mem_printf("%s/home", dir);
    file_make_dirs(catalog, 0700, &err);
    file_make_dirs(home, 0700, &err);
    setenv("TRADEWIND_HOME", home, 1);
    put("catalog/offers.csv", offers);
    put("catalog/transfers.csv", transfers);
    put("home/config.yaml", "plan: {boot_s: 0, local_gbit: 8}\n");
    put("p.yaml", pipeline);

    /* 600 s, then 1 s to read a gigabyte at 8 Gbit/s and 600 s, on the same machine. */
    CHECK(play(NULL, NULL, false) == 0 && is_usd("cost_usd", 1201e-4) && billed("machines") == 1,
          "as planned: one machine of 1201 s");
    CHECK(is_usd("planned_usd", 1201e-4) && billed("time_s") == 1201, "the plan says the same");

    /* The machine of the first stage is kept, so that nothing is asked for that can be refused. */
    CHECK(play("capacity aws/r2", NULL, false) == 0 && billed("machines") == 1,
          "what is not asked for is not refused");
    /* r1 alone may run the first. */
    CHECK(play("capacity aws/r1", NULL, false) == 1 && strstr(output, "no other plan") &&
              strstr(output, "\"skipped\"") && is_usd("cost_usd", 0),
          "a stage that nothing else can run fails, and what needs it is left out");

    /* The first takes a second machine kind when nothing pins it. */
    put("p.yaml", "name: one\nresources: {cpus: 4}\nestimate: {seconds: 600}\nrun: a\n");
    /* 0.37 dollars an hour for 600 s. */
    CHECK(play("capacity aws/r1", NULL, false) == 0 && is_usd("cost_usd", 0.061667) &&
              strstr(output, "cheap in aws/r1: there is none now; next best: cheap in aws/r2"),
          "no capacity in a region: the next best region");
    CHECK(play("quota aws", NULL, false) == 0 && is_usd("cost_usd", 0.12) &&
              strstr(output, "next best: dear in gcp/r9"),
          "no quota in a cloud: another cloud");
    CHECK(play("auth", NULL, false) == 1 && strstr(output, "sign in again") &&
              is_usd("cost_usd", 0),
          "without credentials it stops and says so");
    CHECK(play(NULL, "0.05", false) == 130 && is_usd("cost_usd", 0.05) &&
              strstr(output, "spending limit of $0.05"),
          "spending stops at its limit");
    CHECK(play(NULL, NULL, true) == 0 && is_usd("cost_usd", 0.11) && billed("machines") == 2,
          "and --resume goes on, in one bill");
    CHECK(play(NULL, NULL, true) == -1 && err.kind == ERR_USAGE,
          "a run that has finished is not resumed: %s", err.text);
    CHECK(play("no such trouble", NULL, false) == -1 && err.kind == ERR_USAGE &&
              strstr(err.text, "line 1"),
          "a trouble nobody knows is told by its line: %s", err.text);

    /* The output of the first lies in r1, where the second finds no machine: 600 s in r1, a
     * gigabyte moved for 0.1 dollars in 1 s, and 601 s at 0.37 dollars an hour. */
    put("p.yaml", "name: two\n---\n"
                  "name: make\nresources: {region: r1, cpus: 4}\noutputs: {data: 1GB}\n"
                  "estimate: {seconds: 600}\nrun: a\n---\n"
                  "name: use\nresources: {cpus: 8}\ninputs: [{from: make.data}]\n"
                  "estimate: {seconds: 600}\nrun: b\n");
    CHECK(play("capacity aws/r1 big", NULL, false) == 0 && is_usd("compute_usd", 0.121769) &&
              is_usd("data_usd", 0.1),
          "what is finished is fetched from where it was made");
    file_remove_tree(dir);
    return TAP_DONE();
}
