/* cluster_learn: what training clusters were seen to do, written down where `cluster recommend`
 * looks for it (cluster/measured.h). */
#ifndef BROKER_LEARN_CLUSTER_LEARN_H
#define BROKER_LEARN_CLUSTER_LEARN_H

#include "broker/core/runs.h"
#include "cluster/measured.h"

/* The workers of a stage that is over, on average: Mbit/s and iterations per second of one.
 * ERR_NOTFOUND when none of them told enough. */
int cluster_learn_rates(const char *home,
                        const struct run_stage *s,
                        double *mbps_out,
                        double *per_s_out,
                        struct err *e);
/* Appends to the table in home; several may at once. */
int cluster_learn_add(const char *home, const struct cluster_measurement *m, struct err *e);
/* The text by which what a stage runs is known: that of `run` in its file. */
const char *cluster_learn_command(const struct run_stage_plan *p);

/* Of a stage that finished on hosts with a server: both. What cannot be learned is left. */
void cluster_learn(const char *home, const struct run *run, const struct run_stage *s);

#endif
