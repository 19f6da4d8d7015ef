/* deploy: puts an aggregator as a function into a cloud, and takes it away again, resource by
 * resource: what a function needs around it (a role, a trigger) is a resource of its own. One table
 * per platform (driver.h): AWS Lambda, Google Cloud Run, Azure Container Apps.
 *
 * Each resource has a name that follows from the function, so that every call may be repeated. The
 * caller records a resource before it is made and until it is confirmed to be gone. A struct deploy
 * is for one thread at a time and one region. */
#ifndef CLOUD_DEPLOY_DEPLOY_H
#define CLOUD_DEPLOY_DEPLOY_H

#include "cloud/cloud.h"
#include "net/credentials.h"

#define DEPLOY_NAME_BYTES 256
#define DEPLOY_PLATFORMS "aws, gcp and azure"

/* ---- what is deployed ---- */

struct deploy_variable {
    const char *name, *value;
};
struct deploy_store {    /* objects that a function reads and writes */
    const char *account; /* Azure's storage account; "" elsewhere */
    const char *bucket;  /* or container */
    const char *prefix;  /* of keys; "" or ends in '/' */
};
struct deploy_function {
    const char *deployment;            /* the training's name, which is a tag */
    const char *name;                  /* at most 63 of [a-z0-9-]; begins with the owner and '-' */
    struct deploy_store in;            /* whose new objects start it */
    const struct deploy_store *others; /* that it writes to */
    size_t n_others;
    const struct deploy_variable *variables; /* of its environment, sorted by name; no secret */
    size_t n_variables;
    unsigned memory_mb, timeout_s, disk_mb;
    const void *zip; /* AWS: the program as packaging/mkfunction packs it */
    size_t zip_bytes;
    const char *image; /* Google, Azure: of a container with the program */
    /* Azure: that the events of the trigger carry; hidden NULL elsewhere. */
    struct secret token;
};

/* ---- resources ---- */

enum deploy_state {
    DEPLOY_INTENDED = 1, /* may or may not be there */
    DEPLOY_MADE,
    DEPLOY_DELETING,
    DEPLOY_GONE, /* confirmed */
};
const char *deploy_state_text(enum deploy_state state);

struct deploy_resource {
    char cloud[16], region[64];
    char kind[32]; /* "function", of the platform's list */
    char name[DEPLOY_NAME_BYTES];
    char parent[DEPLOY_NAME_BYTES]; /* in which the name is unique, such as a bucket; "" = none */
    char deployment[64];
    enum deploy_state state;
};

/* What the caller of deploy_apply and deploy_remove does meanwhile. Members may be NULL. */
struct deploy_watch {
    /* Writes the record so that it survives a crash. */
    int (*note)(void *context, const struct deploy_resource *r, struct err *e);
    /* What was done about it: "created", "updated", "unchanged", "deleted", "absent". */
    int (*tell)(void *context, const struct deploy_resource *r, const char *done, struct err *e);
    /* Before work that may last: "creating". */
    void (*status)(void *context, const char *verb, const struct deploy_resource *r);
    bool (*cancelled)(void *context);
    /* A dry run: nothing is changed or noted. It gets each call that would change something, one
     * line, without secrets. */
    int (*call)(void *context, const char *line, struct err *e);
    void *context;
};

/* ---- a platform ---- */

struct deploy_options {
    const char *cloud; /* "aws", as in locations */
    const char *region;
    const char *home, *owner;
    /* Of Google and Azure: the project; the subscription and the resource group. NULL = as their
     * tools' settings say. */
    const char *project, *subscription, *group;
    struct cloud_outside outside;
    int64_t (*now_ms)(void *context); /* NULL = the real clock */
    void *context;
    uint64_t seed;
};

struct deploy;
/* Texts of options stay as long as it is open. */
struct deploy *deploy_open(const struct deploy_options *options, struct err *e);
void deploy_free(struct deploy *d);
AUTO_DEFINE(deploy)

/* The resources of a function in the order in which they are made, at most DEPLOY_KINDS_MAX: their
 * number. */
#define DEPLOY_KINDS_MAX 8
size_t deploy_resources(struct deploy *d,
                        const struct deploy_function *f,
                        struct deploy_resource out[static DEPLOY_KINDS_MAX]);

/* Makes what is missing, and updates what differs. Repeatable: the second time changes nothing. */
int deploy_apply(struct deploy *d,
                 const struct deploy_function *f,
                 const struct deploy_watch *w,
                 struct cloud_error *e);
/* Deletes one resource and waits until it is gone. Resources go in the reverse order of making.
 * Repeatable, also for one that never was there. */
int deploy_remove(struct deploy *d,
                  const struct deploy_resource *r,
                  const struct deploy_watch *w,
                  struct cloud_error *e);
/* The rank of a kind among those of its cloud: what has a higher one is made later and goes first.
 * -1: the platform has no such kind. */
int deploy_rank(const char *cloud, const char *kind);
/* Every resource in the region that carries the owner's tag, whichever process made it. -1 from
 * visit ends it. */
typedef int deploy_visit(void *context, const struct deploy_resource *r, struct err *e);
int deploy_list(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e);

#endif
