#include "broker/machine/key.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SAID_MAX 1000

/* NULL: there is none, or an empty one, as a power cut leaves it. */
static char *read_public(const char *path)
{
    struct err why;
    size_t n;
    char *bytes = file_map(path, &n, &why);

    if (!bytes)
        return NULL;
    const char *end = memchr(bytes, '\n', n);
    char *line = mem_printf("%.*s", (int)(end ? (size_t)(end - bytes) : n), bytes);
    munmap(bytes, n);
    return line;
}

static int run_keygen(const char *draft, struct err *e)
{
    const char *const argv[] = {"ssh-keygen", "-q",        "-t", "ed25519", "-N", "",
                                "-C",         "tradewind", "-f", draft,     NULL};
    AUTO_CLEAR(buf) struct buf said;
    struct program_run run = {.argv = argv, .out = &said};

    buf_init(&said, SAID_MAX);
    int ran = program_run(&run, e);
    if (ran < 0)
        return -1;
    if (ran == 0)
        return err_set(e, ERR_NOTFOUND, "ssh-keygen is not installed (package openssh-client)");
    if (run.status)
        return err_set(e, ERR_IO, "ssh-keygen ends with code %d: %s", run.status, run.complaint);
    return 0;
}

/* The public half first: where the private one is, both are. */
static int make(const char *private, const char *public, struct err *e)
{
    AUTO_MEM char *draft = mem_printf("%s.new", private);
    AUTO_MEM char *draft_public = mem_printf("%s.pub", draft);

    /* What a kill left: ssh-keygen would ask whether to replace it. */
    unlink(draft);
    unlink(draft_public);
    if (run_keygen(draft, e) < 0)
        return -1;
    if (rename(draft_public, public) < 0 || rename(draft, private) < 0)
        return file_error(e, "make", private);
    return 0;
}

char *machine_key(const char *home, char **private_out, struct err *e)
{
    AUTO_MEM char *dir = mem_printf("%s/clouds", home);
    AUTO_MEM char *private = mem_printf("%s/ssh_key", dir);
    AUTO_MEM char *public = mem_printf("%s.pub", private);
    AUTO_MEM char *lock = mem_printf("%s.lock", private);

    if (file_make_own_dirs(dir, e) < 0)
        return NULL;
    AUTO_FD int held = file_lock(lock, e);
    if (held < 0)
        return NULL;
    char *line = access(private, R_OK) == 0 ? read_public(public) : NULL;
    if (!line) {
        if (make(private, public, e) < 0 || file_sync_dir(dir, e) < 0) {
            err_wrap(e, "the ssh key of machines in clouds");
            return NULL;
        }
        line = read_public(public);
    }
    if (!line)
        err_set(e, ERR_IO, "read %s: it is empty", public);
    else
        *private_out = TAKE(private);
    return line;
}
