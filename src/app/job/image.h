/* image: whether this machine can run a job in a container, or with mounts. */
#ifndef APP_JOB_IMAGE_H
#define APP_JOB_IMAGE_H

#include "base/err.h"

/* "docker:NAME" or "NAME": its name, borrowed from text. NULL: it is none; spelled: "--image". */
const char *app_job_image_read(const char *text, const char *spelled, struct err *e);

/* ERR_NOFIT when this machine has no container engine that answers. */
int app_job_check_image(const char *image, struct err *e);
/* ERR_NOFIT when this machine has no bubblewrap, or it cannot make mounts. */
int app_job_check_mounts(struct err *e);

#endif
