/* accelerator: one name for one accelerator, whatever a price list calls it. */
#ifndef CATALOG_ACCELERATOR_H
#define CATALOG_ACCELERATOR_H

/* The name this catalog uses; the argument itself when we know no better one. Borrowed. */
const char *catalog_accelerator(const char *listed);

#endif
