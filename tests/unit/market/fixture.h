/* A market of a few files, for the tests of this room. */
#ifndef MARKET_FIXTURE_H
#define MARKET_FIXTURE_H

#include "base/mem.h"
#include "market/import.h"
#include "market/store.h"

#include <stdlib.h>
#include <string.h>

struct fixture_file {
    const char *name, *text;
};

static inline void fixture_release(void *bytes, size_t len)
{
    (void)len;
    free(bytes);
}

static inline int fixture_add(struct market_import *im,
                              const struct fixture_file *file,
                              struct err *e)
{
    AUTO_MEM char *text = mem_dup(file->text);
    const struct market_source from = {
        .name = file->name, .text = text, .len = strlen(text), .feed = MARKET_N_FEEDS};

    return market_import_file(im, &from, e);
}

/* What is in im so far. */
static inline struct market *fixture_finish(struct market_import *im)
{
    size_t len;
    void *bytes = market_import_finish(im, &len, NULL);

    return bytes ? market_open_bytes("fixture", bytes, len, fixture_release, NULL) : NULL;
}

static inline struct market *fixture_market(const struct fixture_file *files, size_t n)
{
    AUTO(market_import) struct market_import *im = market_import_new(NULL);

    for (size_t i = 0; i < n; i++)
        if (fixture_add(im, &files[i], NULL) < 0)
            return NULL;
    return fixture_finish(im);
}

/* The offer of these names, or NULL. */
static inline const struct market_offer *fixture_offer(const struct market *m,
                                                       const char *cloud,
                                                       const char *region,
                                                       const char *instance_type,
                                                       const char *zone)
{
    const struct market_offer *o = m->offers;

    for (size_t i = 0; i < m->n_offers; i++)
        if (!strcmp(o[i].cloud, cloud) && !strcmp(o[i].region, region) &&
            !strcmp(o[i].instance_type, instance_type) && !strcmp(o[i].zone, zone))
            return &o[i];
    return NULL;
}

#endif
