/* gcp: machines with accelerators on Google Cloud, whose price list has host and accelerator as
 * rows of their own. Which host may have which accelerators is a rule, not data. */
#ifndef CATALOG_GCP_H
#define CATALOG_GCP_H

#include "base/auto.h"
#include "base/err.h"
#include "catalog/report.h"
#include "catalog/rows.h"

struct gcp;

/* Rows are collected, then combined into offers of `rows`; text ids are of rows->texts. */
struct gcp *gcp_new(struct catalog_rows *rows);
void gcp_free(struct gcp *g);
AUTO_DEFINE(gcp)

/* A row of the price list. Without an instance type it prices accelerators, or a TPU, which comes
 * with its host. What is dropped is counted in the report. */
int gcp_add(struct gcp *g,
            const struct catalog_offer_row *row,
            struct catalog_file_report *report,
            struct err *e);
/* Every host alone, if it is sold alone, and with the accelerators it may have. A host made for
 * accelerators keeps its name; others are called n1-standard-8+T4:2. */
int gcp_combine(struct gcp *g, struct catalog_file_report *report, struct err *e);

#endif
