/* Reads the `sites` of a geo-distributed training. geo.c calls it. */
#include "spec/internal.h"

#include <string.h>

#define SITES_MAX 256

static void read_on(const struct reader_value *v, void *into)
{
    reader_name(v, &((struct spec_geo_site *)into)->on);
}

static void read_function_on(const struct reader_value *v, void *into)
{
    reader_name(v, &((struct spec_geo_site *)into)->function_on);
}

static void read_address(const struct reader_value *v, void *into)
{
    struct spec_geo_site *s = into;

    if (reader_name(v, &s->address) && strpbrk(s->address, "/@ "))
        reader_value_error(v, "%s is no name or address of a host alone", reader_shown(v));
}

static void read_port(const struct reader_value *v, void *into)
{
    double port;

    if (reader_number(v, 1, 65535, &port))
        ((struct spec_geo_site *)into)->port = (unsigned)port;
}

static void read_store(const struct reader_value *v, void *into)
{
    struct spec_geo_site *s = into;

    if (reader_name(v, &s->store) && strncmp(s->store, "s3://", 5) != 0 &&
        strncmp(s->store, "dir:/", 5) != 0)
        reader_value_error(v, "%s is no store: write s3://BUCKET/PREFIX or dir:/PATH",
                           reader_shown(v));
}

static void read_endpoint(const struct reader_value *v, void *into)
{
    struct spec_geo_site *s = into;

    if (reader_name(v, &s->endpoint) && strncmp(s->endpoint, "http://", 7) != 0 &&
        strncmp(s->endpoint, "https://", 8) != 0)
        reader_value_error(v, "%s is no address: write https://HOST:PORT", reader_shown(v));
}

static void read_region(const struct reader_value *v, void *into)
{
    reader_name(v, &((struct spec_geo_site *)into)->region);
}

static const struct reader_field fields[] = {
    {"on", READER_READ, read_on},           {"function_on", READER_READ, read_function_on},
    {"address", READER_READ, read_address}, {"port", READER_READ, read_port},
    {"store", READER_READ, read_store},     {"endpoint", READER_READ, read_endpoint},
    {"region", READER_READ, read_region},   {0},
};

static void read_site(const struct reader_value *v, const char *key, struct spec_geo *s)
{
    struct spec_geo_site *site = &s->sites[s->n_sites];
    struct err e;

    *site = (struct spec_geo_site){.line = v->line};
    if (spec_place_parse(key, v->r->arena, &site->place, &e) < 0) {
        reader_value_error(v, "%s", e.text);
        return;
    }
    if (!site->place.cloud || !site->place.region) {
        reader_value_error(v, "names no region: write CLOUD/REGION, as in aws/eu-west-2");
        return;
    }
    if (spec_geo_site(s, site->place.cloud, site->place.region)) {
        reader_value_error(v, "stands there twice");
        return;
    }
    if (reader_fields(v, fields, NULL, site))
        s->n_sites++;
}

void spec_geo_read_sites(const struct reader_value *v, void *into)
{
    struct spec_geo *s = into;

    if (!reader_is_map(v))
        return;
    if (v->node->n > SITES_MAX) {
        reader_value_error(v, "%zu locations: at most %d", v->node->n, SITES_MAX);
        return;
    }
    s->n_sites = 0;
    s->sites = reader_alloc(v->r, v->node->n + 1, sizeof *s->sites);
    for (size_t i = 0; s->sites && i < v->node->n; i++) {
        struct reader_value site = reader_entry(v, i);
        read_site(&site, v->node->entries[i].key, s);
    }
}

const struct spec_geo_site *spec_geo_site(const struct spec_geo *s,
                                          const char *cloud,
                                          const char *region)
{
    for (size_t i = 0; i < s->n_sites; i++)
        if (strcmp(s->sites[i].place.cloud, cloud) == 0 &&
            strcmp(s->sites[i].place.region, region) == 0)
            return &s->sites[i];
    return NULL;
}
