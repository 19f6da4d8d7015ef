/* set_checks: what tests of sets ask of them. */
#ifndef TEST_LAKE_SET_CHECKS_H
#define TEST_LAKE_SET_CHECKS_H

#include "lake/set/set.h"

/* wanted: "@A:1 @B:2 ", each with a space behind it. */
bool set_parents_are(struct lake *l, int64_t set_version, const char *wanted);

#endif
