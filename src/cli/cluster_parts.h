/* cluster_parts: what the files of the cluster commands share. */
#ifndef CLI_CLUSTER_PARTS_H
#define CLI_CLUSTER_PARTS_H

#include "base/json.h"
#include "cluster/recommend.h"
#include "spec/cluster.h"

#include <stdbool.h>
#include <stdio.h>

/* What one of the rules answers; has_answer false when there is none. */
struct cluster_rule {
    enum cluster_algorithm algorithm;
    bool has_answer;
    struct cluster_choice choice;
};
#define CLUSTER_RULES 4

struct cluster_view {
    const struct spec_cluster *spec;
    const struct cluster_problem *problem;
    enum cluster_algorithm algorithm;
    enum cluster_objective objective;
    const struct cluster_answer *answer;
    const struct cluster_rule *rules; /* to compare with */
    size_t n_rules;
};

void cluster_print(const struct cluster_view *view, FILE *out);
int cluster_write_json(const struct cluster_view *view, FILE *out, struct err *e);

#endif
