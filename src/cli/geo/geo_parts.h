/* geo_parts: what the files of the geo commands share. */
#ifndef CLI_GEO_GEO_PARTS_H
#define CLI_GEO_GEO_PARTS_H

#include "base/json.h"
#include "geo/plan.h"

#include <stdio.h>

struct catalog;
struct config;
struct geo_facts;

/* What all questions are asked with. */
struct geo_world {
    struct config *config;
    struct catalog *catalog;
    struct geo_facts *facts;
};

/* directory NULL = the catalog in use. */
int geo_world_open(struct geo_world *w, const char *directory, struct err *e);
void geo_world_clear(struct geo_world *w);

/* The best placement when one setting is changed. */
struct geo_option {
    char setting[24], value[24]; /* "compression", "int8" */
    const char *meaning;
    struct geo_placement best;
};
#define GEO_OPTIONS_MAX 8

struct geo_view {
    const struct spec_geo *spec;
    const struct geo_problem *problem;
    struct geo_question question;
    const struct geo_plan *plan;
    struct geo_total total; /* of the best */
    const struct geo_option *options;
    size_t n_options;
    bool pareto, all;
};

/* "aws/us-west-2" */
const char *geo_site_text(const struct geo_site *site, char out[static 128]);
void geo_print(const struct geo_view *view, FILE *out);
int geo_write_json(const struct geo_view *view, FILE *out, struct err *e);

/* geo_paper.c: the tables of the paper the model comes from, ours beside its statements. */
int geo_paper(const struct geo_world *w, bool json, struct err *e);

#endif
