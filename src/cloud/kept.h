/* kept: what local, pool and sim have in common: clouds whose memory is a folder of ours. priv of
 * such a cloud begins with a struct kept. */
#ifndef CLOUD_KEPT_H
#define CLOUD_KEPT_H

#include "cloud/driver.h"
#include "cloud/rents.h"

struct kept {
    struct rents *rents;
    int64_t delete_ms; /* how long a machine takes to go once it is given back */
    /* Finishes what rent_begin has made of a request, or refuses it. Called with the lock held, for
     * tokens that are not known yet. */
    int (*rent)(struct cloud *c,
                const struct cloud_request *request,
                struct rent *rent,
                struct cloud_trouble *trouble,
                struct err *e);
};

/* Each as the driver's function of that name. */
int kept_launch(struct cloud *c,
                const struct cloud_request *request,
                struct cloud_machine *out,
                struct cloud_trouble *trouble,
                struct err *e);
int kept_look(struct cloud *c,
              const char *token,
              struct cloud_machine *out,
              struct cloud_trouble *trouble,
              struct err *e);
int kept_terminate(struct cloud *c,
                   const char *token,
                   struct cloud_trouble *trouble,
                   struct err *e);
int kept_list(struct cloud *c,
              int (*visit)(void *context, const struct cloud_machine *m, struct err *e),
              void *context,
              struct cloud_trouble *trouble,
              struct err *e);
void kept_close(struct cloud *c);

#endif
