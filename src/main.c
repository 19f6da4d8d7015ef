/* main: sets the process up, runs one command, prints its error and chooses the exit code. */
#include "base/err.h"
#include "base/log.h"
#include "cli/core/command.h"
#include "view/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A file opened later must never land on a closed standard descriptor and get our output; what is
 * opened here instead fails when used, as the closed one would. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Credentials are in memory: no core file gets them, and no other process of the user reads them.
 * The leak checker of the sanitizers is such a process. */
static void hide_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
    prctl(PR_SET_DUMPABLE, 0);
#endif
}

/* A plan allocates and frees megabytes a dozen times in as many milliseconds: malloc
 * keeps freed memory instead of returning it to the system, which would fault it in again. */
static void keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
}

static int set_log_level(struct err *e)
{
    const char *text = getenv("TRADEWIND_LOG");
    enum log_level level;

    if (!text || !*text)
        return 0;
    if (log_level_from_text(text, &level) < 0)
        return err_set(e, ERR_USAGE, "TRADEWIND_LOG: no level \"%s\"; use error, warn, info, debug",
                       text);
    log_set_level(level);
    return 0;
}

static void print_error(const char *text)
{
    bool colour = text_look_for(stderr).colour;

    fprintf(stderr, "%stradewind:%s %s\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "",
            text);
}

/* `tradewind ... | head` ends when head has seen enough: nothing to complain about. */
static bool stdout_reader_is_gone(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO};

    return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

/* Whether everything printed has arrived; a full disk shows only here. */
static int finish_stdout(bool *reader_gone_out, struct err *e)
{
    errno = 0;
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    *reader_gone_out = stdout_reader_is_gone();
    /* Of an earlier write that failed stdio does not keep why: one more fails the same way. */
    if (failed && !errno && !*reader_gone_out && write(STDOUT_FILENO, "\n", 1) == 1)
        errno = EIO;
    if (fclose(stdout) == 0 && !failed)
        return 0;
    return err_set(e, ERR_IO, "write output: %s", errno ? strerror(errno) : "failed");
}

int main(int argc, char **argv)
{
    struct err e = {0}, output = {0};
    bool reader_gone;

    fill_standard_descriptors();
    hide_memory();
    keep_freed_memory();
    signal(SIGPIPE, SIG_IGN);
    int code = set_log_level(&e) < 0 ? -1 : command_main(argc ? argc - 1 : 0, argv + 1, &e);
    if (finish_stdout(&reader_gone, &output) < 0 && code >= 0) {
        e = output;
        code = -1;
    }
    if (code >= 0)
        return code;
    assert(e.kind != ERR_NONE);
    if (e.kind != ERR_IO || !reader_gone)
        print_error(e.text);
    return err_exit_code(e.kind);
}
