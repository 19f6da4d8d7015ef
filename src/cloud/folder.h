/* folder: the functions that the drivers pool and sim share: clouds whose state is a folder of the
 * home. priv of such a cloud begins with a struct cloud_folder. */
#ifndef CLOUD_FOLDER_H
#define CLOUD_FOLDER_H

#include "cloud/driver.h"
#include "cloud/instances.h"

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
