#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

/* A signal handler has no other way to leave word. */
static volatile sig_atomic_t seen;

static void note(int number)
{
    (void)number;
    seen = 1;
}

void interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupt_seen(void)
{
    return seen;
}
