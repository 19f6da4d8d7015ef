/* internal: what the files of src/catalog/feed share. */
#ifndef CATALOG_FEED_INTERNAL_H
#define CATALOG_FEED_INTERNAL_H

#include "base/buf.h"
#include "base/json.h"
#include "catalog/feed/feed.h"
#include "catalog/rows.h"
#include "net/credentials.h"
#include "net/http.h"
#include "net/retry.h"

struct feed {
    struct feed_settings settings;
    struct http *http;
    struct credentials credentials; /* of AWS, once they were looked for */
    int64_t clock_ms;               /* AWS's clock less ours */
    struct feed_call *calls;
    size_t n_calls, cap_calls;
};

/* ---- call.c ---- */

/* The address a cloud's calls go to, without a slash at its end. New string. */
char *feed_address(const char *setting, const char *own);
int feed_check_cancelled(const struct feed *f, struct err *e);
void feed_status(const struct feed *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A JSON document of at most max_bytes. New reference. */
json_t *feed_get_json(struct feed *f, const char *url, size_t max_bytes, struct err *e);
/* The same with any body, or into a sink. Fills in what the request leaves out. */
int feed_call(struct feed *f,
              const struct http_request *r,
              const char *action,
              const struct retry *how, /* judge, prepare and context; NULL = none */
              struct http_answer *out,
              struct err *e);

/* The pages of a list; a list that comes back to a page, or has more than any has, is an error. */
struct feed_pages {
    uint64_t *seen;
    size_t n, cap;
};
int feed_pages_add(struct feed_pages *p, const char *name, const char *token, struct err *e);
void feed_pages_clear(struct feed_pages *p);

/* ---- list.c ---- */

/* Keeps a price of the region at this index, unless it is none: then it is counted. */
int feed_list_put(
    struct feed_list *list,
    size_t region,
    bool spot,
    const char *zone,
    const struct catalog_offer_row *what, /* price_usd and shape; texts are not read */
    const char *instance_type,
    struct err *e);
/* The index of a region, or SIZE_MAX. */
size_t feed_list_region(const struct feed_list *list, const char *name);
/* ERR_NOTFOUND while the region has no price. */
int feed_list_check(const struct feed_list *list, size_t region, struct err *e);
/* A row of nothing: all numbers are unknown. */
struct catalog_offer_row feed_nothing(void);

/* ---- the clouds: each reads one list, or what a test or fuzzer has of it ---- */

int feed_fetch_aws(struct feed *f, struct feed_list *list, struct err *e);
int feed_fetch_azure(struct feed *f, struct feed_list *list, struct err *e);
int feed_fetch_gcp(struct feed *f, struct feed_list *list, struct err *e);

/* A page of Azure's list for the region at this index; *next_out: path and query of the page that
 * follows, a new string, or NULL. */
int feed_azure_page(
    const json_t *page, struct feed_list *list, size_t region, char **next_out, struct err *e);

/* A page of Google's list; *next_out: the token of the page that follows, borrowed, or NULL. */
int feed_gcp_page(const json_t *page, struct feed_list *list, const char **next_out, struct err *e);
/* gcp.c's prices of cores, memory and accelerators as prices of the instance types of a catalog:
 * what old has in the regions of parts, into list, which has none yet. */
int feed_gcp_combine(const struct feed_list *parts,
                     const struct catalog *old,
                     struct feed_list *list,
                     struct err *e);

/* AWS's list of a region, CSV in pieces of any size, of which no more than a row is kept. */
struct feed_offers {
    const char *name; /* what messages call it */
    struct feed_list *list;
    size_t region;
    struct buf pending; /* of a row that is not whole yet */
    size_t scanned;     /* of pending */
    bool quoted;        /* at scanned */
    bool has_header;
    size_t n_head; /* lines before the header */
    size_t *at;    /* where the columns are */
    size_t items_before, dropped_before[FEED_N_DROPS];
};
void feed_offers_init(struct feed_offers *o,
                      const char *name,
                      struct feed_list *list,
                      size_t region);
void feed_offers_clear(struct feed_offers *o);
int feed_offers_add(struct feed_offers *o, const void *bytes, size_t n, struct err *e);
int feed_offers_end(struct feed_offers *o, struct err *e);

/* ---- ec2.c ---- */

/* The zones of a region by name and id. */
struct feed_zones {
    struct {
        char *name, *id;
    } * zones;
    size_t n, cap;
};
void feed_zones_clear(struct feed_zones *z);
int feed_zones_get(struct feed *f, const char *region, struct feed_zones *out, struct err *e);
/* An answer to DescribeSpotPriceHistory; *token_out: of the next page, a new string, or NULL. */
int feed_spot_page(const char *bytes,
                   size_t n,
                   int (*each)(void *context, const struct feed_spot_price *p, struct err *e),
                   void *context,
                   char **token_out,
                   struct err *e);
/* Looks for credentials once. ERR_DENIED when there are none. */
int feed_credentials(struct feed *f, struct err *e);

#endif
