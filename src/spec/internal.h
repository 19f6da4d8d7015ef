/* internal: what the files that read a geo-distributed training share. */
#ifndef SPEC_INTERNAL_H
#define SPEC_INTERNAL_H

#include "spec/geo.h"
#include "spec/reader.h"

/* sites: into is a struct spec_geo. */
void spec_geo_read_sites(const struct reader_value *v, void *into);

#endif
