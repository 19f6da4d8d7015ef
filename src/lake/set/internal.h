/* internal: the builder of set versions, for the files of lake/set and for lake/put. */
#ifndef LAKE_SET_INTERNAL_H
#define LAKE_SET_INTERNAL_H

#include "lake/core/entries.h"

/* Builds the next version of a set, inside one transaction. Paths come in rising byte order, each
 * once; one that lies below another is ERR_USAGE. Needs LAKE_WRITE on a set that exists. */
struct set_builder;
struct set_builder *set_builder_new(struct lake *l,
                                    const char *name,
                                    const struct lake_made *made,
                                    struct err *e);
void set_builder_free(struct set_builder *b);
AUTO_DEFINE(set_builder)
int set_builder_add(struct set_builder *b, const struct lake_entry *entry, struct err *e);
/* parents: ids of set versions, in order of the request; repeated ones count once. */
int set_builder_finish(struct set_builder *b,
                       const int64_t *parents,
                       size_t n_parents,
                       struct lake_set *out,
                       struct err *e);

/* Whether a part can be added as it is, unread: it begins and ends where this set's chunks do, and
 * no file of it can lie below one that was added. 1, 0 or -1. */
int set_builder_takes_part(struct set_builder *b, const struct part *part, struct err *e);
/* The same as adding every entry of a part that it takes, without reading it. */
int set_builder_add_part(struct set_builder *b, const struct part *part, struct err *e);
/* ERR_IO for an entry that a chunk does not take. */
int set_entry_damaged(const struct lake_entry *entry, struct err *e);

#endif
