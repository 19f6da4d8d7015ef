/* random_case: small pipelines and catalogs from a seed, for comparing solvers. */
#ifndef RANDOM_CASE_H
#define RANDOM_CASE_H

#include "base/buf.h"
#include "catalog/catalog.h"
#include "estimate/throughput.h"
#include "plan/plan.h"
#include "spec/config.h"
#include "spec/spec.h"

#include <stdint.h>

struct random_case {
    uint64_t state; /* of the generator */
    struct buf offers, transfers, storage, pipeline;
    struct spec *spec;
    struct catalog *catalog;
    struct config *config;
    struct throughputs *throughputs;
    enum plan_market market;
};

/* A whole case in scratch directory `dir` (made if needed). -1 with e when it does not load. */
int random_case_make(struct random_case *c, uint64_t seed, const char *dir, struct err *e);
/* A case by hand, without transfers and storage prices; config: text of config.yaml. */
int random_case_load(struct random_case *c,
                     const char *dir,
                     const char *pipeline,
                     const char *offers,
                     const char *config,
                     struct err *e);
void random_case_clear(struct random_case *c);
/* 0 .. n-1 */
unsigned random_below(uint64_t *state, unsigned n);

#endif
