/* cluster_learn: what training clusters were seen to do, written down where `cluster recommend`
 * looks for it (cluster/measured.h). */
#ifndef BROKER_LEARN_CLUSTER_LEARN_H
#define BROKER_LEARN_CLUSTER_LEARN_H

#include "broker/core/runs.h"
#include "cluster/measured.h"

/* Appends to the table in home; several may at once. */
int broker_cluster_learn_add(const char *home, const struct cluster_measurement *m, struct err *e);

/* Of a stage that finished on hosts with a server: both. What cannot be learned is left. */
void broker_cluster_learn(const char *home, const struct run *run, const struct run_stage *s);

#endif
