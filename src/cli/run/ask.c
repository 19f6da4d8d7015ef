/* ask: what commands that start runs say and ask on the terminal before and after the start. */
#include "app/core/credentials.h"
#include "cli/run/run.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static void say_hosts(const struct app_run_location *p)
{
    double low = HUGE_VAL, high = 0;

    for (size_t i = 0; i < p->n_hosts; i++) {
        low = fmin(low, p->hosts[i]->price_usd_per_hour);
        high = fmax(high, p->hosts[i]->price_usd_per_hour);
    }
    printf("\nRunning on the %zu host%s of %s", p->n_hosts, p->n_hosts == 1 ? "" : "s",
           p->on == app_run_any_host ? "the configuration" : p->on);
    if (high <= 0)
        printf(", at no cost: the configuration has no price%s.\n",
               p->n_hosts == 1 ? " for it" : "s for them");
    else if (low < high)
        printf(", at $%g to $%g per hour.\n", low, high);
    else
        printf(", at $%g per hour%s.\n", high, p->n_hosts == 1 ? "" : " each");
}

/* Why the default is this machine. */
static const char *why_here(const struct app_run_location *p)
{
    if (p->asked)
        return "";
    return app_credentials_any() ? ": cloud instances are not supported yet"
                                 : ": no cloud credentials are set up";
}

void cli_run_say_location(const struct app_run_location *p)
{
    if (!strcmp(p->on, "sim"))
        puts("\nRunning in simulation (--on sim), in virtual time: nothing is launched, no work is "
             "done.");
    else if (p->n_hosts)
        say_hosts(p);
    else
        printf("\nRunning locally (--on local%s): real work on\n%g CPUs and %.0f GB of "
               "this machine, priced as the planned machines.\n",
               why_here(p), p->here.cpus, (double)p->here.memory_mb / 1024);
}

int cli_run_confirm(bool yes, const char *question, struct err *e)
{
    char answer[16] = "";

    if (yes)
        return 1;
    if (!isatty(STDIN_FILENO))
        return err_set(e, ERR_USAGE, "no terminal to confirm the plan on: --yes runs it");
    fprintf(stderr, "%s [Y/n] ", question);
    fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) &&
        (answer[0] == '\n' || answer[0] == 'y' || answer[0] == 'Y'))
        return 1;
    fputs("Nothing was started.\n", stderr);
    return 0;
}

void cli_run_say_detached(int64_t id, bool json)
{
    if (json)
        cli_run_print_event(&app_run_started_record,
                            &(struct app_run_started){.event = "started", .run = id});
    else
        printf("run %" PRId64 "\nFollow it with: tradewind run show %" PRId64
               " --follow\nStop it with: tradewind run stop %" PRId64 "\n",
               id, id, id);
}
