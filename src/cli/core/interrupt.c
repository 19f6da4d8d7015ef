#include "cli/core/interrupt.h"

#include <signal.h>
#include <stddef.h>

/* A signal handler has no other way to leave word. */
static volatile sig_atomic_t seen, noted_at_most;

static void note(int number)
{
    seen = seen + 1;
    /* A terminal that goes says so more than once: itself, and by its shell. */
    if (seen >= noted_at_most && number != SIGHUP)
        signal(number, SIG_DFL);
}

static void watch_signal(int number)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void interrupt_watch(int at_most)
{
    noted_at_most = at_most;
    watch_signal(SIGINT);
    watch_signal(SIGTERM);
}

void interrupt_watch_terminal(void)
{
    struct sigaction before;

    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        watch_signal(SIGHUP);
}

bool interrupt_seen(void)
{
    return seen > 0;
}

unsigned interrupt_count(void)
{
    return (unsigned)seen;
}
