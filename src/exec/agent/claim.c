/* Which home uses this machine. Homes that come as the same user see each other's claims, in
 * one small file beside their directories of jobs. */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/modes.h"
#include "exec/inuse.h"
#include "exec/jobfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FILE_MAX 2048

/* The file, locked: its reader may write it before any other process reads. It is emptied, never
 * removed, so that all lock the same one. */
struct claim {
    int fd;
    char *path;
    char *parent; /* the directory that holds those of all homes, absolute */
    char *owner;  /* which of them this is: its name */
    struct inuse said;
};

static void claim_clear(struct claim *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->path);
    free(c->parent);
    free(c->owner);
}

static void read_claim(struct claim *c)
{
    char text[FILE_MAX + 1];
    ssize_t n = pread(c->fd, text, FILE_MAX, 0);

    text[n > 0 ? n : 0] = 0;
    inuse_parse(text, &c->said);
}

/* Machines may share a file system: each has a file of its own. */
static int claim_open(struct claim *c, const char *root, struct err *e)
{
    struct utsname machine;
    char path[PATH_MAX];

    *c = (struct claim){.fd = -1};
    if (!realpath(root, path)) {
        file_error(e, "find", root);
        return -1;
    }
    char *slash = strrchr(path, '/');
    *slash = 0;
    c->owner = mem_dup(slash + 1);
    c->parent = mem_dup(path);
    if (!inuse_is_word(c->owner))
        return err_set(e, ERR_USAGE, "%s: cannot be the directory of a home", root);
    if (uname(&machine) < 0 || !inuse_is_word(machine.nodename))
        snprintf(machine.nodename, sizeof machine.nodename, "machine");
    c->path = mem_printf("%s/in-use.%s", path, machine.nodename);
    c->fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (c->fd < 0)
        return file_error(e, "open", c->path);
    while (flock(c->fd, LOCK_EX) < 0)
        if (errno != EINTR)
            return file_error(e, "lock", c->path);
    read_claim(c);
    return 0;
}

/* A clock that was put back makes no claim longer than it can be. A job that runs may have outlived
 * its broker, and the claim with it. */
static bool is_anothers(const struct claim *c)
{
    int64_t now_ms = time_epoch_ms();

    if (!c->said.by[0] || !strcmp(c->said.by, c->owner))
        return false;
    if (now_ms < c->said.until_ms && c->said.until_ms <= now_ms + (int64_t)(CLAIM_MAX_S * 1000))
        return true;
    AUTO_MEM char *root = mem_printf("%s/%s", c->parent, c->said.by);
    return lease_has_work(root);
}

/* By what is left of it: nothing is there yet for which it was taken. */
static bool is_of_looking(const struct claim *c)
{
    return c->said.until_ms <= time_epoch_ms() + (int64_t)(CLAIM_LOOKING_S * 1000);
}

static int write_claim(const struct claim *c, const char *text, struct err *e)
{
    size_t n = strlen(text);

    if (ftruncate(c->fd, 0) < 0 || file_pwrite_all(c->fd, text, n, 0) < 0)
        return file_error(e, "write", c->path);
    return 0;
}

int claim_take(
    const char *root, const char *token, double seconds, const char *label, struct err *e)
{
    AUTO_CLEAR(claim) struct claim c = {.fd = -1};

    if (!inuse_is_word(token) || !*label || strlen(label) > INUSE_WORD_MAX || strchr(label, '\n'))
        return err_set(e, ERR_USAGE, "claim: a token is a word, a label one line of text");
    if (claim_open(&c, root, e) < 0)
        return -1;
    if (is_anothers(&c))
        return err_set(e, ERR_NOFIT, "in use by %s", c.said.label);
    if (seconds > CLAIM_MAX_S)
        seconds = CLAIM_MAX_S;
    /* Another job of this home only looked for a host. */
    if (!strcmp(c.said.by, c.owner) && seconds <= CLAIM_LOOKING_S && !is_of_looking(&c))
        return 0;
    struct inuse ours = {.until_ms = time_epoch_ms() + (int64_t)(seconds * 1000)};
    snprintf(ours.by, sizeof ours.by, "%s", c.owner);
    snprintf(ours.token, sizeof ours.token, "%s", token);
    snprintf(ours.label, sizeof ours.label, "%s", label);
    AUTO_MEM char *text = inuse_text(&ours);
    return write_claim(&c, text, e);
}

int claim_release(const char *root, const char *token, struct err *e)
{
    AUTO_CLEAR(claim) struct claim c = {.fd = -1};

    if (claim_open(&c, root, e) < 0)
        return -1;
    bool is_ours =
        !strcmp(c.said.by, c.owner) && (!strcmp(c.said.token, token) || is_of_looking(&c));
    return is_ours ? write_claim(&c, "", e) : 0;
}
