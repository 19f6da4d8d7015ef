/* image: names of container images. */
#ifndef SPEC_IMAGE_H
#define SPEC_IMAGE_H

#include <stdbool.h>

/* Whether text can be one, without "docker:": printable, no spaces or quotes, no option. */
bool spec_is_image(const char *text);

#endif
