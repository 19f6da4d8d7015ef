/* nodes: the nodes of a training cluster while it runs: the lines of their logs and their usage. */
#ifndef APP_RUN_NODES_H
#define APP_RUN_NODES_H

#include "app/run/run.h"
#include "broker/learn/usage.h"

struct app_run_nodes;

/* For a stage with a parameter server; home is borrowed. */
struct app_run_nodes *app_run_nodes_new(const char *home);
void app_run_nodes_free(struct app_run_nodes *n);
AUTO_DEFINE(app_run_nodes)

/* Reads the logs. True: app_run_nodes_next has a line. s is the stage as it is now: a new attempt
 * begins with new logs. */
bool app_run_nodes_look(struct app_run_nodes *n, const struct run_stage *s);
/* The next whole line, by rank; last: also a line without a newline. *out is valid until the next
 * call. False: there is none. */
bool app_run_nodes_next(struct app_run_nodes *n,
                        const struct run_stage *s,
                        bool last,
                        struct app_run_log *out);
/* The latest usage of a node; false when none is known yet. */
bool app_run_nodes_usage(const struct app_run_nodes *n,
                         const struct run_stage *s,
                         unsigned rank,
                         struct usage_point *out);
/* "server" or "worker". */
const char *app_run_node_role(const struct run_stage *s, unsigned rank);

#endif
