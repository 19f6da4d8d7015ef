/* run_crew: the nodes of a training cluster while it runs: what each prints, behind its rank, and
 * what its machine does. */
#ifndef CLI_RUN_RUN_CREW_H
#define CLI_RUN_RUN_CREW_H

#include "broker/core/runs.h"

#include <stdio.h>

struct run_crew;

/* A stage with a server; home is borrowed. */
struct run_crew *run_crew_new(const char *home);
void run_crew_free(struct run_crew *c);
AUTO_DEFINE(run_crew)

/* Whether it has printed something that is not shown yet; reads it. s is the stage as it is now:
 * another attempt begins anew. */
bool run_crew_look(struct run_crew *c, const struct run_stage *s);
/* Shows whole lines, "[1 worker] ..."; last: also what has no newline. json: an object a line. */
void run_crew_print(struct run_crew *c, const struct run_stage *s, bool json, bool last, FILE *out);

/* "  1 worker  0.9 CPU  12 MB  3.1 Mbit/s in  3.0 out" of each node. New string for rank, NULL when
 * nothing is known of it yet. */
char *run_crew_usage(const struct run_crew *c, const struct run_stage *s, unsigned rank);

#endif
