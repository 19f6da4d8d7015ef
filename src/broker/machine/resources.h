/* resources: the record of every resource that a deployed function needs in a cloud, beside the
 * machines of the home and with their owner's name.
 *
 * Tradewind records a resource before it makes it, and keeps the record until the cloud has
 * confirmed that the resource is gone:
 *
 *     intended -> made -> deleting -> gone
 *
 * Records of what is gone stay: they tell in which regions this home has ever deployed anything. */
#ifndef BROKER_MACHINE_RESOURCES_H
#define BROKER_MACHINE_RESOURCES_H

#include "broker/machine/machines.h"
#include "cloud/deploy/deploy.h"

/* Writes the record, whether or not there is one. */
int deployed_note(struct machines *m, const struct deploy_resource *r, struct err *e);
/* The record of this cloud, region, kind, name and parent. 1: *out has it; 0: there is none; -1. */
int deployed_get(struct machines *m,
                 const struct deploy_resource *r,
                 struct deploy_resource *out,
                 struct err *e);

typedef int resource_visit(void *context, const struct deploy_resource *r, struct err *e);
/* Those that are not gone, in the order in which they are to be deleted. deployment NULL = of all.
 * visit may note. */
int deployed_each(struct machines *m,
                  const char *deployment,
                  resource_visit *visit,
                  void *context,
                  struct err *e);
/* Cloud and region of each record, also of what is gone, once each; other members are empty. */
int deployed_each_region(struct machines *m, resource_visit *visit, void *context, struct err *e);

/* ---- deploying and destroying ---- */

/* Who deploys. cloud and region of the options and note of the watch are filled in here. */
struct resource_party {
    struct machines *records;
    struct deploy_options options;
    struct deploy_watch watch;
    /* What the functions need that were deployed; zero at first. */
    struct deploy_resource *wanted;
    size_t n_wanted, cap_wanted;
};
void resource_party_clear(struct resource_party *p);

/* Deploys a function: each resource is recorded before it is made. Repeatable. */
int deployed_deploy(struct resource_party *p,
                    const char *cloud,
                    const char *region,
                    const struct deploy_function *f,
                    struct err *e);
/* Deletes the recorded resources of a deployment. One that cannot be deleted now does not keep the
 * others, and e is about the first. */
int deployed_destroy(struct resource_party *p, const char *deployment, struct err *e);
/* The same for those that no function needs that this party deployed. */
int deployed_prune(struct resource_party *p, const char *deployment, struct err *e);

enum resource_finding {
    RESOURCE_ORPHAN = 1, /* it carries this home's tag, and no record has it */
    RESOURCE_LEAVING,    /* being deleted, not confirmed yet */
};
const char *resource_finding_text(enum resource_finding finding);
struct resource_cleanup {
    bool dry_run;
    /* Each finding, after it was dealt with. why: it is not gone yet; NULL = it is, or the run is
     * dry. */
    int (*tell)(void *context,
                const struct deploy_resource *r,
                enum resource_finding finding,
                const char *why,
                struct err *e);
    void *context;
    size_t open; /* out: not confirmed to be gone */
};
/* In every region where this home ever deployed: finishes what a destroy began, and deletes what
 * carries this home's tag without a record. What is deployed stays. A region that cannot be asked
 * is told of by its error, after all others. Repeatable. */
int deployed_cleanup(struct resource_party *p, struct resource_cleanup *how, struct err *e);

#endif
