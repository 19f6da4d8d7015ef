/* value: parsers for numbers, sizes, durations and amounts in a YAML scalar. */
#ifndef SPEC_VALUE_H
#define SPEC_VALUE_H

#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>

/* Past these a figure is taken for a slip. */
#define VALUE_MAX_GB 1e9
#define VALUE_MAX_NODES 100000
#define VALUE_MAX_RUN_S (10 * 365.25 * 86400)
#define VALUE_MAX_KEEP_S (100 * 365.25 * 86400)
#define VALUE_MAX_CPUS 1e6
#define VALUE_MAX_ACCELERATORS 1e4

/* All return false, *out untouched, for anything but what they describe. */

/* YAML 1.1: true/false, yes/no, on/off, y/n, in lower, upper or title case. */
bool value_bool(const char *text, bool *out);
/* Gigabytes of 1e9 bytes, at most VALUE_MAX_GB: `12`, `500MB`, `2 TB`, `10GiB`. */
bool value_size_gb(const char *text, double *out);
/* `9x`: the factor. */
bool value_factor(const char *text, double *out);
/* `4` exactly, `4+` at least, `4-8` between; 0 < min <= max <= limit. With sizes, every figure may
 * have a unit (`16GB+`); GB and GiB are the same there, as memory is sold. */
bool value_range(const char *text, bool sizes, double limit, struct spec_range *out);
/* `12`, `12.5`, `$12`. */
bool value_usd(const char *text, double *out);

#endif
