/* wrap: what stands between the agent and a job's command: bubblewrap for a job with mounts, podman
 * or docker for one with an image. */
#ifndef EXEC_AGENT_WRAP_H
#define EXEC_AGENT_WRAP_H

#include "base/auto.h"
#include "base/err.h"
#include "exec/agent/jobdir.h"
#include "exec/jobfile.h"

#include <stdbool.h>
#include <stddef.h>

struct wrap {
    char **argv; /* to execute instead of the command, NULL at the end; NULL = the command itself */
    size_t n, cap;
    char *engine;      /* path of podman or docker; NULL = no container */
    char *container;   /* its name */
    char *report;      /* directory that init.c writes to */
    bool keeps_memory; /* the engine holds the container to the job's memory */
};

/* Decides by the job's image and mounts. env: the variables of the command. name: of a container.
 * Fails, with the program to install, before anything was started. */
int wrap_prepare(const struct jobdir *d,
                 const struct jobfile *job,
                 char *const *env,
                 const char *name,
                 struct wrap *out,
                 struct err *e);
void wrap_clear(struct wrap *w);

/* Adds a copy of word to argv. */
void wrap_add(struct wrap *w, const char *word);
/* The path of a program, by the agent's own PATH. New string; NULL = not installed. */
char *wrap_find(const char *program);
/* Runs argv without input; its output is in no log. Its exit code, -1 when it did not
 * end in time. line, unless NULL, gets the first line that it printed. */
int wrap_run(char *const *argv, double wait_s, char *line, size_t size);

/* The path of a mount: `~` is home, others that do not begin with '/' are below work/. New string.
 */
char *wrap_target(const struct jobdir *d, const char *target, const char *home);
/* Where the content of a mount lies. New string; NULL with e when it is missing. */
char *wrap_source(const struct jobdir *d, const struct jobfile_mount *m, struct err *e);

/* ---- sandbox.c ---- */
int sandbox_prepare(const struct jobdir *d,
                    const struct jobfile *job,
                    char *const *env,
                    struct wrap *out,
                    struct err *e);

/* ---- container.c ---- */
#define CONTAINER_HOME "/root"
/* Where the agent and the job file are in the container, and where init.c leaves a file for us. */
#define CONTAINER_INSIDE "/run/tradewind"
#define CONTAINER_REPORT CONTAINER_INSIDE "/report"
#define CONTAINER_OVER "memory"

int container_prepare(const struct jobdir *d,
                      const struct jobfile *job,
                      const char *name,
                      struct wrap *out,
                      struct err *e);
/* Whether the kernel killed the container for its memory. */
bool container_over(const struct wrap *w);
/* Removes the container, and kills what runs in it. Nothing there is fine. */
void container_remove(const char *engine, const char *name);

/* ---- init.c ---- */
/* The first process of a container: becomes the parent of the command of the job file, passes
 * SIGTERM to every process of the container. Returns the exit code. */
int init_run(const char *jobfile, const char *directory, struct err *e);

#endif
