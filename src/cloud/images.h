/* images: the table of images that machines are launched from, data/images.csv. Included by
 * src/cloud and its sub-rooms only. */
#ifndef CLOUD_IMAGES_H
#define CLOUD_IMAGES_H

#include "base/arena.h"
#include "base/err.h"

struct cloud_image {
    const char *name;    /* "ubuntu-22.04" */
    const char *owner;   /* the account that publishes it */
    const char *pattern; /* of the cloud's name for it, with '*' */
    const char *login;   /* the user whom it admits */
};
/* The provider's image of that name, or, with a NULL name, its first one: with drivers for the
 * accelerator unless that is NULL, else without any. Texts live in a. ERR_USAGE lists the names. */
int cloud_image_find(struct arena *a,
                     const char *provider,
                     const char *name,
                     const char *accelerator,
                     struct cloud_image *out,
                     struct err *e);

#endif
