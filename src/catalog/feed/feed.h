/* feed: the price lists that clouds publish, and the spot prices that an AWS account sees, read
 * into rows of a catalog. */
#ifndef CATALOG_FEED_FEED_H
#define CATALOG_FEED_FEED_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct catalog;
struct catalog_rows;
struct feed;

enum feed_cloud { FEED_AWS, FEED_AZURE, FEED_GCP, FEED_N_CLOUDS };
/* "aws", "azure", "gcp" */
extern const char *const feed_cloud_texts[FEED_N_CLOUDS];

struct feed_settings {
    /* Addresses in place of the clouds' own; NULL = their own. */
    const char *aws_pricing, *aws_ec2, *azure, *gcp;
    const char *gcp_key;                             /* an API key; NULL = there is none */
    bool may_be_exposed;                             /* http:// may lead to other machines */
    double first_wait_s;                             /* before the second try of a call; 0 = 1 s */
    void (*status)(void *context, const char *text); /* how far it is; NULL = not told */
    bool (*cancelled)(void *context);                /* NULL = never */
    void *context;
};

/* The settings' texts must outlive it. */
struct feed *feed_new(const struct feed_settings *settings, struct err *e);
void feed_free(struct feed *f);
AUTO_DEFINE(feed)

/* The calls made so far, those of one method, address and action counted together. No part of them
 * is secret. */
struct feed_call {
    const char *method;
    char *url;          /* without its query */
    const char *action; /* of EC2; "" = none */
    size_t count;
};
const struct feed_call *feed_calls(const struct feed *f, size_t *n_out);

/* The account's region, or NULL; ERR_DENIED when there are no AWS credentials. */
int feed_account_region(struct feed *f, const char **region_out, struct err *e);
/* Whether text may be the name of a region: it goes into addresses. */
bool feed_region_good(const char *text);

/* ---- price lists ---- */

/* Why an item of a price list is not used. */
enum feed_drop {
    FEED_DROP_OTHER,     /* another product: Windows, reserved, dedicated, storage, ... */
    FEED_DROP_PRICE,     /* not above 0, no number, or larger than any */
    FEED_DROP_MALFORMED, /* fields missing, or not what they should be */
    FEED_DROP_SHAPE,     /* of an instance type that neither list nor catalog describes */
    FEED_N_DROPS
};
extern const char *const feed_drop_texts[FEED_N_DROPS];

struct feed_region {
    char *name;
    bool has_spot;   /* spot prices came, too */
    char *why_not;   /* else why they did not; NULL = nothing to say */
    size_t n_prices; /* that can be used */
};

/* What a cloud says about its regions. */
struct feed_list {
    enum feed_cloud cloud;
    struct feed_region *regions;
    size_t n_regions;
    size_t items, dropped[FEED_N_DROPS];
    /* Prices by region, zone ("" = all) and instance type, in price_usd; of gcp, whose list has no
     * instance types, of cores, memory and accelerators. The text ids of both are on_demand's. */
    struct catalog_rows *on_demand, *spot;
};
void feed_list_init(struct feed_list *list,
                    enum feed_cloud cloud,
                    const char *const *regions,
                    size_t n_regions);
void feed_list_clear(struct feed_list *list);

/* Reads the lists of all regions. ERR_NOTFOUND when a region has no price in it. */
int feed_fetch(struct feed *f, struct feed_list *list, struct err *e);

/* ---- what becomes of them ---- */

#define FEED_LARGEST 10

/* Texts are ids of the rows that were filled. */
struct feed_change {
    uint32_t region, zone, instance_type;
    bool spot;
    double was_usd, now_usd;
};

struct feed_changes {
    size_t offers;                     /* of the cloud afterwards */
    size_t added, changed, same, gone; /* in the regions that were read */
    size_t kept;                       /* of these regions, about which the list says nothing */
    size_t elsewhere;                  /* of other regions, which stay as they were */
    struct feed_change largest[FEED_LARGEST]; /* by ratio, the largest first */
    size_t n_largest;
};

/* Adds all offers of the cloud to rows, which hold none of them yet: those of old, with the prices
 * of the list in its regions. Instance types keep what old says about them. The date of the cloud
 * becomes date, unless regions of it stay as they were. */
int feed_merge(struct feed_list *list,
               const struct catalog *old,
               const char *date,
               struct catalog_rows *rows,
               struct feed_changes *changes,
               struct err *e);

/* ---- spot prices ---- */

struct feed_spot_query {
    const char *region;
    const char *const *types; /* instance types; n_types 0 = all */
    size_t n_types;
    int64_t from_s, to_s; /* seconds since 1970 */
};

struct feed_spot_price {
    const char *zone, *instance_type, *product, *usd_per_hour, *time; /* as AWS writes them */
};

/* Calls each for every price that Linux instances had in the account's zones, those in force at
 * the beginning among them, page by page in the order of AWS. */
int feed_spot(struct feed *f,
              const struct feed_spot_query *q,
              int (*each)(void *context, const struct feed_spot_price *p, struct err *e),
              void *context,
              struct err *e);

#endif
