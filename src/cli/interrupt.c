#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

/* A signal handler has no other way to leave word. */
static volatile sig_atomic_t seen, noted_at_most = 1;

static void note(int number)
{
    seen = seen + 1;
    if (seen >= noted_at_most)
        signal(number, SIG_DFL);
}

static void watch(int at_most)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};

    noted_at_most = at_most;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void interrupt_watch(void)
{
    watch(1);
}

void interrupt_watch_two(void)
{
    watch(2);
}

bool interrupt_seen(void)
{
    return seen > 0;
}

unsigned interrupt_count(void)
{
    return (unsigned)seen;
}
