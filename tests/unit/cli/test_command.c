#include "base/mem.h"
#include "cli/core/command.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* What the last run command was given, as text: "plan --budget=5 | a b". */
static char seen[256];

static int record(const struct command_args *args, struct err *e)
{
    size_t n = (size_t)snprintf(seen, sizeof seen, "%s", args->command->name);

    for (size_t i = 0; i < args->n_given; i++)
        n += (size_t)snprintf(seen + n, sizeof seen - n, " %s=%s", args->given[i].option->name,
                              args->given[i].value ? args->given[i].value : "on");
    n += (size_t)snprintf(seen + n, sizeof seen - n, " |");
    for (size_t i = 0; i < args->n_operands; i++)
        n += (size_t)snprintf(seen + n, sizeof seen - n, " %s", args->operands[i]);
    (void)e;
    return 0;
}

static const char *budget;
static bool has_json;

static int read_values(const struct command_args *args, struct err *e)
{
    has_json = command_has(args, "--json");
    budget = command_value(args, "--budget");
    (void)e;
    return 0;
}

static int five(const struct command_args *args, struct err *e)
{
    (void)args;
    (void)e;
    return 5;
}

static const struct command_option options[] = {
    {.name = "--budget", .value = "USD", .help = "dollars"},
    {.name = "--wait", .value = "TIME", .help = "time", .former = "--patience"},
    {.name = "--env", .value = "KEY=VALUE", .help = "variable", .repeatable = true},
    {.name = "--json", .help = "JSON", .letter = 'j'},
    {.name = "--recursive", .help = "all", .letter = 'r'},
    {.name = "--limit", .value = "N", .help = "number", .letter = 'n'},
    {0},
};
static const struct command plan = {.name = "plan",
                                    .operands = "FILE...",
                                    .summary = "",
                                    .options = options,
                                    .min_operands = 1,
                                    .max_operands = 2,
                                    .run = record};
static const struct command read_command = {
    .name = "read", .summary = "", .options = options, .run = read_values};
static const struct command store_add = {.name = "store add", .summary = "", .run = five};
static const struct command store_list = {
    .name = "store list", .summary = "", .max_operands = SIZE_MAX, .run = record};

/* This table takes the place of the program's. */
const struct command *const commands[] = {&plan, &read_command, &store_add, &store_list, NULL};
const struct command_group command_groups[] = {{"All", &plan}, {0}};
const struct command *const commands_everyday[] = {&plan, NULL};

/* Splits line at blanks, "''" being an empty word, and runs it. */
static int run(const char *line, struct err *e)
{
    static char copy[200]; /* values are read after the call */
    char *words[16], *rest = copy, *word;
    int n = 0;

    snprintf(copy, sizeof copy, "%s", line);
    while ((word = strsep(&rest, " ")) && n < 16)
        words[n++] = strcmp(word, "''") == 0 ? word + 2 : word;
    seen[0] = 0;
    *e = (struct err){0};
    return command_main(n, words, e);
}

static void accepted(void)
{
    static const struct {
        const char *line, *seen;
    } cases[] = {
        {"plan a", "plan | a"},
        {"plan a b", "plan | a b"},
        {"plan --budget 5 a", "plan --budget=5 | a"},
        {"plan a --budget=5", "plan --budget=5 | a"},
        {"plan --budget= a", "plan --budget= | a"},
        {"plan --budget -5 a", "plan --budget=-5 | a"},
        {"plan --env A=1 --env=B=2 a", "plan --env=A=1 --env=B=2 | a"},
        {"plan --patience 5 a", "plan --wait=5 | a"},
        {"plan --json a", "plan --json=on | a"},
        {"plan -", "plan | -"},
        {"plan -r a", "plan --recursive=on | a"},
        {"plan -rj a", "plan --recursive=on --json=on | a"},
        {"plan a -n 5 -j", "plan --limit=5 --json=on | a"},
        {"plan -rn 5 a", "plan --recursive=on --limit=5 | a"},
        {"plan -- --json", "plan | --json"},
        {"plan --json -- -h --", "plan --json=on | -h --"},
        {"plan ''", "plan | "},
        {"store list", "store list |"},
        {"store list a b c", "store list | a b c"},
    };
    struct err e;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(run(cases[i].line, &e) == 0 && strcmp(seen, cases[i].seen) == 0, "%s: %s (%s)",
              cases[i].line, cases[i].seen, e.text);
    CHECK(run("store add", &e) == 5, "a command's exit code comes through");
}

static void refused(void)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"plan", "an operand is missing"},
        {"plan a b c", "too many operands at \"c\""},
        {"plan --budget", "--budget needs a value: --budget USD"},
        {"plan --budget --json a", "--budget needs a value"},
        {"plan --json=1 a", "--json takes no value"},
        {"plan --json --json a", "--json is given twice"},
        {"plan --budget 1 --budget 2 a", "--budget is given twice"},
        {"plan --budgt 1 a", "did you mean --budget?"},
        {"plan -rr a", "--recursive is given twice"},
        {"plan -rx a", "no option -rx"},
        {"plan a -n", "--limit needs a value: --limit N"},
        {"plan -nr a", "-n needs a value: -n N"},
        {"plan -json a", "did you mean --json?"},
        {"plan --budg 1 a", "did you mean --budget?"},
        {"plan --kitchen a", "no option --kitchen; `tradewind help plan` lists them"},
        {"plan -- --json a b", "too many operands"},
        {"paln x", "no command \"paln\"; did you mean \"plan\"?"},
        {"store ad", "no command \"store ad\"; did you mean \"store add\"?"},
        {"store lst x", "no command \"store lst\"; did you mean \"store list\"?"},
        {"stor list", "did you mean \"store list\"?"},
        {"kitchen sink", "no command \"kitchen\"; `tradewind help` lists them"},
        {"down", "no command \"down\"; for `sky down` use `tradewind run stop`, then"},
        {"squeue -u me", "no command \"squeue\"; for `squeue` use `tradewind job ls`"},
        {"store --json", "no command \"store\""},
        {"--json", "no command \"--json\""},
    };
    struct err e;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = run(cases[i].line, &e);
        CHECK(code == -1 && e.kind == ERR_USAGE && strstr(e.text, cases[i].text) && !seen[0],
              "%s: %s", cases[i].line, e.text);
    }
}

static void values(void)
{
    struct err e;

    CHECK(run("read", &e) == 0 && !budget && !has_json, "what is not given has no value");
    CHECK(run("read --budget 2.5 --wait 3 --json", &e) == 0 && budget &&
              strcmp(budget, "2.5") == 0 && has_json,
          "values and switches are read");
    CHECK(run("read --budget=", &e) == 0 && budget && !*budget, "a value may be empty");
}

static void lookup(void)
{
    const char *words[] = {"store", "list", "x"};
    size_t used = 0;

    CHECK(command_find(words, 3, &used) == &store_list && used == 2, "a name of two words");
    CHECK(!command_find(words, 1, &used), "half a name is none");
    CHECK(!command_find(words + 1, 1, &used), "nor is its other half");
    CHECK(command_is_group("store") && !command_is_group("stor") && !command_is_group("plan") &&
              !command_is_group(""),
          "groups are first words of longer names");
}

int main(void)
{
    accepted();
    refused();
    values();
    lookup();
    return TAP_DONE();
}
