/* driver: the functions of a cloud, and the helpers that cloud.c has for all drivers. Included by
 * src/cloud and its sub-rooms only. The contracts are those of cloud.h; the wrappers there have
 * checked tokens and requests (texts are never NULL, but for accelerator, and fit into a struct
 * cloud_machine), and *e is zero when a driver is called. */
#ifndef CLOUD_DRIVER_H
#define CLOUD_DRIVER_H

#include "cloud/cloud.h"
#include "cloud/instances.h"

struct cloud_driver;

struct cloud {
    const struct cloud_driver *driver;
    struct cloud_options options;
    struct cloud_host *hosts; /* with root the cloud's own, of the options */
    char *root;
    struct cloud_finds *finds; /* NULL: nothing is kept */
    void *priv;                /* owned by the driver: made in open, released in close */
};

/* After -1 a driver has set e by cloud_fail, or e->err alone, whose kind decides then. */
struct cloud_driver {
    const char *name; /* as written in options: "pool" */
    const char
        *some_region;  /* clouds on the network: one that every account has; NULL = it is none */
    bool sees_at_once; /* cloud_sees_at_once */
    int (*open)(struct cloud *c, struct err *e);
    void (*close)(struct cloud *c); /* also after a failed open: priv may be NULL */
    cloud_launch_fn *launch;
    cloud_look_fn *look;
    cloud_terminate_fn *terminate;
    cloud_list_fn *list;
    cloud_free_hosts_fn *free_hosts; /* optional: NULL where hosts have no names beforehand */
    cloud_zones_fn *zones;           /* optional: NULL where there are none to choose from */
    cloud_clean_fn *clean;           /* optional: NULL where launches leave nothing */
    cloud_check_fn *check;           /* optional: NULL where there is no account */
    cloud_sign_in_fn *sign_in;       /* optional: the same */
    cloud_regions_fn *regions;       /* optional: the same */
    /* Optional: NULL where events cannot be foreseen. */
    int64_t (*next_ms)(struct cloud *c);
};

extern const struct cloud_driver cloud_pool, cloud_sim, cloud_aws, cloud_azure, cloud_gcp;

/* Whether it fits into room bytes with its NUL and is one line of UTF-8. */
bool cloud_is_line(const char *text, size_t room);
int64_t cloud_now_ms(const struct cloud *c);
/* Fills e, the kind of whose err follows from the failure. Returns -1. */
int cloud_fail(struct cloud_error *e,
               enum cloud_failure failure,
               enum cloud_scope scope,
               const char *fmt,
               ...) __attribute__((format(printf, 4, 5)));

/* Where findings of a check go. what: of the account; fix "" = nothing to do; found is printed. */
struct cloud_findings {
    cloud_visit_finding *visit;
    void *context;
};
int cloud_say(const struct cloud_findings *out,
              struct cloud_error *e,
              enum cloud_verdict verdict,
              const char *what,
              const char *fix,
              const char *fmt,
              ...) __attribute__((format(printf, 6, 7)));

/* ---- folder.c ---- */

struct cloud_folder {
    struct instances *instances;
    int64_t delete_ms; /* how long a machine takes to go once it is terminated */
    /* Finishes what instance_begin has made of a request, or refuses it. Called with the lock held,
     * for tokens that are not known yet. */
    int (*provision)(struct cloud *c,
                     const struct cloud_request *request,
                     struct instance *instance,
                     struct cloud_error *e);
};

/* Each as the driver's function of that name. */
cloud_launch_fn cloud_folder_launch;
cloud_look_fn cloud_folder_look;
cloud_terminate_fn cloud_folder_terminate;
cloud_list_fn cloud_folder_list;
void cloud_folder_close(struct cloud *c);

#endif
