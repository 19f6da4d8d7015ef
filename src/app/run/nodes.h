/* nodes: the nodes of a stage while it runs: the lines of their logs and, of a training cluster,
 * their usage, for run.follow. */
#ifndef APP_RUN_NODES_H
#define APP_RUN_NODES_H

#include "app/run/run.h"

struct app_run_nodes;

/* home is borrowed. */
struct app_run_nodes *app_run_nodes_new(const char *home);
void app_run_nodes_free(struct app_run_nodes *n);
AUTO_DEFINE(app_run_nodes)

/* Reads the logs. s is the stage as it is now: a new attempt begins with new logs. */
void app_run_nodes_look(struct app_run_nodes *n, const struct run_stage *s);
/* Sets rank, role and text of out to the next whole line, by rank; last: also a line without a
 * newline. The text is valid until the next call. False: there is none, or the last look has handed
 * out as much as it may; what a flood prints besides is left out, and a line says so. Control
 * characters are as the node printed them. */
bool app_run_nodes_next(struct app_run_nodes *n,
                        const struct run_stage *s,
                        bool last,
                        struct app_run_event *out);
/* The latest usage of a node; false when none is known yet. */
bool app_run_nodes_usage(const struct app_run_nodes *n,
                         const struct run_stage *s,
                         unsigned rank,
                         struct app_run_usage *out);

#endif
