/* driver: the functions of a cloud, and the helpers that cloud.c has for all drivers. Included by
 * src/cloud only. The contracts are those of cloud.h; the wrappers there have checked tokens and
 * requests (texts are never NULL, but for accelerator, and fit into a struct cloud_machine), and
 * *trouble is zero when a driver is called. */
#ifndef CLOUD_DRIVER_H
#define CLOUD_DRIVER_H

#include "cloud/cloud.h"

struct arena;
struct cloud_driver;

struct cloud {
    const struct cloud_driver *driver;
    struct cloud_options options; /* its texts and hosts are the cloud's own */
    struct arena *arena;
    void *priv; /* owned by the driver: made in open, released in close */
};

/* After -1 a driver has set *trouble by cloud_fail, or left it zero: then the kind of the error
 * decides. */
struct cloud_driver {
    const char *name;  /* as written in options: "pool" */
    bool sees_at_once; /* cloud_sees_at_once */
    int (*open)(struct cloud *c, struct err *e);
    void (*close)(struct cloud *c); /* also after a failed open: priv may be NULL */
    int (*launch)(struct cloud *c,
                  const struct cloud_request *request,
                  struct cloud_machine *out,
                  struct cloud_trouble *trouble,
                  struct err *e);
    int (*look)(struct cloud *c,
                const char *token,
                struct cloud_machine *out,
                struct cloud_trouble *trouble,
                struct err *e);
    int (*terminate)(struct cloud *c,
                     const char *token,
                     struct cloud_trouble *trouble,
                     struct err *e);
    int (*list)(struct cloud *c,
                int (*visit)(void *context, const struct cloud_machine *m, struct err *e),
                void *context,
                struct cloud_trouble *trouble,
                struct err *e);
    /* Optional: NULL where hosts have no names beforehand. */
    int (*free_hosts)(struct cloud *c,
                      const struct cloud_request *request,
                      const char **out,
                      size_t max,
                      size_t *n_out,
                      struct cloud_trouble *trouble,
                      struct err *e);
    /* Optional: NULL where events cannot be foreseen. */
    int64_t (*next_ms)(struct cloud *c);
};

extern const struct cloud_driver cloud_pool, cloud_sim;

/* Whether it fits into room bytes with its NUL and is one line of UTF-8. */
bool cloud_is_line(const char *text, size_t room);
int64_t cloud_now_ms(const struct cloud *c);
/* Fills *trouble and e, whose kind follows from the failure. Returns -1. */
int cloud_fail(struct cloud_trouble *trouble,
               struct err *e,
               enum cloud_failure failure,
               enum cloud_scope scope,
               const char *fmt,
               ...) __attribute__((format(printf, 5, 6)));

#endif
