/* The question before a command acts. Commands that start or change much call it. */
#include "cli/core/operate.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int operate_confirm(const char *question, const char *no_terminal, struct err *e)
{
    struct sigaction before;
    char answer[16] = "";

    if (!isatty(STDIN_FILENO))
        return err_set(e, ERR_USAGE, "%s", no_terminal);
    fprintf(stderr, "%s [Y/n] ", question);
    fflush(stderr);
    /* Ctrl-C at the question ends the program, whatever it means while an operation lasts. */
    sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_DFL}, &before);
    const char *line = fgets(answer, sizeof answer, stdin);
    sigaction(SIGINT, &before, NULL);
    if (line && (answer[0] == '\n' || answer[0] == 'y' || answer[0] == 'Y'))
        return 1;
    fputs("Nothing was started.\n", stderr);
    return 0;
}
