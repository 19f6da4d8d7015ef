/* deploy: what geo.deploy and geo.destroy share: how they reach clouds, tell what they do, and keep
 * others from deploying meanwhile. */
#ifndef APP_GEO_DEPLOY_H
#define APP_GEO_DEPLOY_H

#include "app/geo/internal.h"
#include "broker/machine/resources.h"

struct app_geo_deploying {
    struct app *app;
    struct answer *out;
    struct resource_party party;
    int lock; /* -1 = none */
};
/* Opens the records, and waits for another deploy or destroy of this home. */
int app_geo_deploying_open(
    struct app_geo_deploying *d, struct app *app, struct answer *out, bool dry_run, struct err *e);
void app_geo_deploying_clear(struct app_geo_deploying *d);

/* The training's name as tags and names of resources have it. */
#define APP_GEO_DEPLOYMENT_BYTES 25
void app_geo_deployment(const char *training, char out[static APP_GEO_DEPLOYMENT_BYTES]);

/* functions.c: the functions of a laid out training. */
struct app_geo_functions {
    struct deploy_function *items;
    struct app_geo_function *shown;
    const struct geo_site **sites; /* of each */
    size_t n;
    const char *home;
    char *zip; /* mapped; NULL = none is needed */
    size_t zip_bytes;
};
/* All is in the arena of g but for the zip. */
int app_geo_functions_of(struct app_geo_functions *f,
                         struct app_geo_run *g,
                         struct app *app,
                         const char *deployment,
                         const char *zip,
                         const char *image,
                         const char *owner,
                         struct err *e);
void app_geo_functions_clear(struct app_geo_functions *f);
/* Whether a placement can be deployed: each function beside the store whose objects start it, and
 * all of them in one cloud, whose identity their stores know. */
bool app_geo_can_deploy(const struct app_geo_run *g, const struct geo_placement *at);

extern const struct record app_geo_deployed_record, app_geo_deployed_item_record;

#endif
