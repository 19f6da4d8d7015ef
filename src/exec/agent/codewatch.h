/* codewatch: which files of a job's work/ its command used. A file counts as used when it was
 * opened (inotify), when it was read (its access time), when it is gone, or when it is another file
 * or has another mode. Whenever that cannot be known, there is a doubt, and all files count. */
#ifndef EXEC_AGENT_CODEWATCH_H
#define EXEC_AGENT_CODEWATCH_H

#include "base/auto.h"

#include <stdbool.h>
#include <stddef.h>

/* More used files than these are not listed: then all count. */
#define CODEWATCH_USED_MAX 20000

struct codewatch;

/* Made in the directory for the probe, and removed before the command starts. */
#define CODEWATCH_PROBE ".tradewind-probe"

/* Watches directory, whose files are private copies: their access times are set to 1. Before the
 * command starts. Never fails: what goes wrong is a doubt. is_mounted: the command sees the
 * directory through a mount of a container, where codewatch_answer is called first. */
struct codewatch *codewatch_new(const char *directory, bool is_mounted);
/* In the container: shows whether files that are opened here are told outside. */
void codewatch_answer(const char *directory);
void codewatch_free(struct codewatch *w);
AUTO_DEFINE(codewatch)

/* To poll for reading; -1 when nothing is watched. */
int codewatch_fd(const struct codewatch *w);
/* Takes the events that are there. Called all the time: the kernel's queue is short. */
void codewatch_drain(struct codewatch *w);
/* All of the code counts; the first reason stays. */
void codewatch_doubt(struct codewatch *w, const char *why);

/* Once no process of the job lives: looks at all files. visit is told the path of each used file,
 * below directory, unless all count. Returns why all count; "" = they do not. */
const char *codewatch_end(struct codewatch *w,
                          void (*visit)(void *context, const char *path),
                          void *context);

#endif
