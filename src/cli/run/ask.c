/* ask: what commands that start runs do on the terminal: show what would be started, ask, start,
 * and stop at Ctrl-C. */
#include "cli/core/interrupt.h"
#include "cli/run/run.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)256 << 20)

struct cli_run cli_run_of(const struct command_args *args, struct operate_terminal *terminal)
{
    return (struct cli_run){.args = args,
                            .terminal = terminal,
                            .json = command_has(args, "--json"),
                            .yes = command_has(args, "--yes")};
}

int cli_run_call(struct cli_run *c,
                 const struct operation *op,
                 json_t *request,
                 int (*take)(void *context, const void *head, struct err *e),
                 void *context,
                 struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct answer answer = {.arena = arena, .head = take, .context = context};

    int result = operation_call(operate_app(c->terminal), op, request, FIELD_AS_OPTION, &answer, e);
    operate_terminal_quiet(c->terminal);
    return result;
}

/* ---- before ---- */

static void say_hosts(const struct app_run_where *w)
{
    const char *s = w->hosts == 1 ? "" : "s";

    printf("\nRunning on the %" PRIu64 " host%s of %s", w->hosts, s,
           strcmp(w->on, "ssh") == 0 ? "the configuration" : w->on);
    if (w->high_usd_per_hour <= 0)
        printf(", at no cost: the configuration has no price%s.\n",
               w->hosts == 1 ? " for it" : "s for them");
    else if (w->low_usd_per_hour < w->high_usd_per_hour)
        printf(", at $%g to $%g per hour.\n", w->low_usd_per_hour, w->high_usd_per_hour);
    else
        printf(", at $%g per hour%s.\n", w->high_usd_per_hour, w->hosts == 1 ? "" : " each");
}

void cli_run_say_location(const struct app_run_where *w)
{
    if (w->is_cloud)
        printf(
            "\nRunning on machines that are launched for it (--on %s), which cost money from then\n"
            "on. Each is terminated right after its stage.\n",
            w->on);
    else if (w->hosts)
        say_hosts(w);
    else
        printf("\nRunning locally (--on local): real work on %g CPUs and %.0f GB of this machine,\n"
               "priced as the planned machines. --on cloud launches those.\n",
               w->cpus, w->memory_gb);
}

struct asking {
    struct cli_run *c;
    int (*show)(void *context, const void *head, struct err *e);
    bool is_something;
};

static int show_planned(void *context, const void *head, struct err *e)
{
    struct asking *a = context;

    operate_terminal_quiet(a->c->terminal);
    int shown = a->show(a->c, head, e);
    fflush(stdout);
    a->is_something = shown > 0;
    return shown < 0 ? -1 : 0;
}

int cli_run_ask(struct cli_run *c,
                const struct operation *op,
                json_t *request,
                int (*show)(void *context, const void *head, struct err *e),
                const char *question,
                struct err *e)
{
    struct asking a = {.c = c, .show = show};

    /* Nothing would be shown or asked. */
    if (c->json && c->yes)
        return 1;
    json_object_set_new(request, "dry_run", json_true());
    if (cli_run_call(c, op, request, show_planned, &a, e) < 0)
        return -1;
    json_object_del(request, "dry_run");
    if (!a.is_something || c->yes)
        return a.is_something;
    return operate_confirm(question ? question : "Run it?",
                           "no terminal to confirm the plan on: --yes runs it", e);
}

/* ---- starting ---- */

/* With --detach the head itself is the answer, as is one that nothing was started for. */
static int take_started(void *context, const void *head, struct err *e)
{
    struct cli_run *c = context;
    const struct app_run_started *started = head;
    struct writer w;

    c->run = started->run == FIELD_NONE ? 0 : started->run;
    if (!c->json || (c->run && !c->detach))
        return 0;
    writer_init(&w, WRITER_LINES, c->starts->answer, NULL, NULL, false, stdout);
    int result = writer_head(&w, head, e);
    writer_clear(&w);
    return result;
}

int cli_run_start(struct cli_run *c, const struct operation *op, json_t *request, struct err *e)
{
    c->starts = op;
    if (cli_run_call(c, op, request, take_started, c, e) < 0)
        return -1;
    if (c->run && !c->detach) {
        cli_run_stop_on_interrupt(c);
        return cli_run_follow(c, c->run, e);
    }
    if (c->run && !c->json)
        printf("run %" PRId64 "\nFollow it with: tradewind run show %" PRId64
               " --follow\nStop it with: tradewind run stop %" PRId64 "\n",
               c->run, c->run, c->run);
    return 0;
}

/* ---- Ctrl-C ---- */

/* Passes interrupts on to the run; the operation that follows the run continues until its end. */
static bool stop_run(void *context)
{
    struct cli_run *c = context;
    unsigned seen = interrupt_count();
    struct err e = {0};

    if (seen <= c->stops || !c->run)
        return false;
    c->stops = seen;
    c->drawn = 0; /* the message comes below */
    operate_terminal_quiet(c->terminal);
    if (!c->json)
        fprintf(stderr,
                seen == 1
                    ? "\nStopping; finished stages keep their outputs. Ctrl-C again: at once.\n"
                    : "\nStopping at once.\n");
    AUTO_JSON json_t *request = json_pack("{s:I, s:b}", "run", (json_int_t)c->run, "now", seen > 1);
    if (cli_run_call(c, &run_stop_operation, request, NULL, NULL, &e) < 0)
        fprintf(stderr, "stop run %" PRId64 ": %s\n", c->run, e.text);
    return false;
}

void cli_run_stop_on_interrupt(struct cli_run *c)
{
    interrupt_watch(2);
    operate_on_interrupt(c->terminal, stop_run, c);
}
