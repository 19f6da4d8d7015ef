/* catalog_parts: what the catalog commands share. */
#ifndef CLI_CATALOG_CATALOG_PARTS_H
#define CLI_CATALOG_CATALOG_PARTS_H

#include "base/err.h"
#include "base/json.h"
#include "catalog/catalog.h"
#include "catalog/import.h"
#include "catalog/report.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct config;

/* The configuration and the catalog in use. */
struct cli_catalog {
    struct config *config;
    struct catalog *catalog;
};
int cli_catalog_open(struct cli_catalog *c, struct err *e);
void cli_catalog_clear(struct cli_catalog *c);

/* An offer with the machine it is. */
struct cli_offer {
    const struct catalog_kind *kind;
    const struct catalog_offer *offer;
    double key; /* what lists are sorted by */
};

/* json_text, but null for "". New reference. */
json_t *cli_text_json(const char *s);
/* {cloud, region, zone, instance_type, ...}; null where unknown. New reference. */
json_t *cli_catalog_offer_json(const struct catalog *c, const struct cli_offer *o);
/* All of them as one array on stdout. */
int cli_catalog_print_json(const struct catalog *c,
                           const struct cli_offer *offers,
                           size_t n,
                           struct err *e);
/* The same as a table for people, with a column for the instance type if wanted. */
void cli_catalog_print_table(const struct catalog *c,
                             const struct cli_offer *offers,
                             size_t n,
                             bool with_machine,
                             FILE *out);
/* By key, then cloud, region, instance type and zone as bytes. */
void cli_catalog_sort(struct cli_offer *offers, size_t n);

/* "8", "3.75", "-" when unknown. */
const char *cli_figure_text(double v, char out[static 32]);

/* Imports the files, dated today and with a line of progress, and prints the report. */
int cli_catalog_import(const struct catalog_import *from,
                       const struct catalog_import_path *paths,
                       size_t n,
                       bool json,
                       struct err *e);

/* What an import did; catalog is the one in use afterwards. */
void cli_catalog_print_report(const struct catalog_report *r, const struct catalog *c, FILE *out);
int cli_catalog_print_report_json(const struct catalog_report *r,
                                  const struct catalog *c,
                                  struct err *e);

#endif
