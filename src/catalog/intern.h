/* intern: texts to small numbers, so that rows are compared and stored as integers. */
#ifndef CATALOG_INTERN_H
#define CATALOG_INTERN_H

#include "base/auto.h"

#include <stddef.h>
#include <stdint.h>

struct catalog_intern;

/* Ids count from 0 in the order of first use; id 0 is "". */
struct catalog_intern *catalog_intern_new(size_t max_bytes);
void catalog_intern_free(struct catalog_intern *t);
AUTO_DEFINE(catalog_intern)

#define CATALOG_INTERN_FULL UINT32_MAX
/* CATALOG_INTERN_FULL when the texts together would take more than max_bytes. */
uint32_t catalog_intern(struct catalog_intern *t, const char *text, size_t len);
const char *catalog_intern_text(const struct catalog_intern *t, uint32_t id);
size_t catalog_intern_count(const struct catalog_intern *t);

#endif
