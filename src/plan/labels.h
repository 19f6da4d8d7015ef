/* labels: the exact Pareto frontier of cost and time over a frame.
 *
 * The elimination of costnet.h, with sets of labels instead of single numbers: what the eliminated
 * stages cost, and how long they keep the remaining ones apart (see labels.c). Sets keep only
 * labels that no other beats in everything; bounds drop those that cannot lead to a wanted plan. */
#ifndef PLAN_LABELS_H
#define PLAN_LABELS_H

#include "plan/view.h"

struct label_run;

/* The view's schedule must be exact and include the links; its passes drop labels. NULL when time
 * or memory ran out. */
struct label_run *labels_new(const struct view *v,
                             const struct incumbent *incumbent,
                             const struct cutoff *cutoff);
void label_run_free(struct label_run *r);
AUTO_DEFINE(label_run)

/* Whole plans: ascending cost. Costs are bounds where the frame shares datasets. */
size_t labels_n(const struct label_run *r);
struct totals labels_totals(const struct label_run *r, size_t i);
void labels_picks(const struct label_run *r, size_t i, struct pick *picks);

#endif
