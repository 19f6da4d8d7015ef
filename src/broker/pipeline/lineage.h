/* lineage: what set versions came from, and which jobs it takes to have one again. */
#ifndef BROKER_PIPELINE_LINEAGE_H
#define BROKER_PIPELINE_LINEAGE_H

#include "base/err.h"
#include "broker/machine/bill.h"
#include "lake/set/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lineage_node {
    int64_t version; /* id of the set version */
    const char *set; /* its name */
    int64_t number;
    int64_t job;  /* that made it; 0 = none: by hand */
    bool there;   /* all its content is */
    bool priced;  /* the job's cost is known */
    bool secrets; /* the job was given some, which are not kept: it cannot run again */
    bool gang;    /* it was one of several that ran together, and cannot run again alone */
    int64_t cost_microusd;
    double runtime_s;
    const size_t *from; /* what it was made from: indices, all lower than its own */
    size_t n_from;
};

struct lineage {
    struct lineage_node *nodes; /* by age */
    size_t n;
    uint32_t *marks; /* of the walk at hand; all 0 to begin with */
    uint32_t walk;
    void *priv;
};
void lineage_clear(struct lineage *g);

/* Of what lake_trace found, which must stay. contents: looks whether each one's content is there;
 * else it counts as there. */
int lineage_load(struct lake *l,
                 const struct lake_graph *found,
                 bool contents,
                 struct lineage *out,
                 struct err *e);
/* Index of a set version, SIZE_MAX = it is not among them. */
size_t lineage_find(const struct lineage *g, int64_t version);
/* "@S:3"; new string. */
char *lineage_ref(const struct lineage_node *n);

/* The jobs that must run so that a set version is made again: its own, and those whose output is
 * not there and is needed on the way. */
struct lineage_need {
    size_t *nodes; /* what they made; by age */
    size_t n, cap;
    bool priced; /* all costs are known */
    int64_t cost_microusd;
    double runtime_s;
};
void lineage_need_clear(struct lineage_need *n);
/* ERR_NOTFOUND: something on the way is gone that no job makes; ERR_USAGE: no job made it, or one
 * cannot run again. */
int lineage_need(struct lineage *g, size_t node, struct lineage_need *out, struct err *e);

/* What lake_lineage_cost told, with the bills of its jobs that are open instead of what their
 * records have. */
int lineage_add_open(struct lake *l,
                     const struct lake_ref *ref,
                     const struct open_bills *open,
                     struct lake_lineage_cost *cost,
                     struct err *e);

/* ---- what it costs to keep a set, and what to make it again. Pure. ---- */

struct economics_terms {
    double gb_month_usd; /* of 10^9 bytes */
    double months;       /* that it would be kept */
};

struct economics_set {
    size_t node; /* of the lineage */
    uint64_t only_bytes;
    /* Out. */
    double keep_usd_per_month;
    int64_t keep_microusd; /* for as many months as the terms say */
    int64_t replay_microusd;
    double replay_s;
    size_t replay_jobs;
    bool goes;
    char why[200]; /* it stays whatever it costs; "" = by its price */
};

/* In the order given, which is that of age: what goes is not there for those that come after it, so
 * that what it takes to make them again is told with it. Changes `there` of the lineage. A set that
 * cannot be made again, or for an unknown price, or that holds nothing of its own, stays;
 * so does one that is as cheap to keep. */
void economics_weigh(struct lineage *g,
                     const struct economics_terms *terms,
                     struct economics_set *sets,
                     size_t n);

#endif
