/* read: one CSV file into rows, with an account of what became of each line. */
#ifndef CATALOG_READ_H
#define CATALOG_READ_H

#include "base/err.h"
#include "catalog/report.h"
#include "catalog/rows.h"

#include <stddef.h>

struct csv;
struct csv_field;

/* What a file is, by the columns of its first line that is no remark, else by its name
 * (offers.csv); CATALOG_TABLE_UNKNOWN when it is none of ours. Reads the beginning of the file
 * only. */
int catalog_read_table(const char *path, enum catalog_table *table_out, struct err *e);

/* A table of our own layout (not CATALOG_TABLE_SKYPILOT). Anything wrong with it is ERR_USAGE with
 * file and line. Lines that begin with # are remarks; "# date: X" above the header dates the file:
 * *date_out is the interned X, 0 without one (NULL: not wanted). */
int catalog_read_tradewind(struct csv *csv,
                           enum catalog_table table,
                           struct catalog_rows *rows,
                           struct catalog_file_report *report,
                           uint32_t *date_out,
                           struct err *e);

/* SkyPilot's vms.csv of one cloud. Bad lines are dropped and counted; a file that lacks the
 * columns InstanceType, Region or Price is ERR_USAGE. */
int catalog_read_skypilot(struct csv *csv,
                          const char *cloud,
                          struct catalog_rows *rows,
                          struct catalog_file_report *report,
                          struct err *e);

/* The tables of a directory of our CSVs: offers.csv must be there, the others may be missing. */
int catalog_read_dir(const char *dir, struct catalog_rows *rows, struct err *e);

/* Text that may name something: UTF-8 without control characters, at most 255 bytes. */
bool catalog_name_good(const struct csv_field *f);

#endif
