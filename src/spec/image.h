/* image: names of container images. */
#ifndef SPEC_IMAGE_H
#define SPEC_IMAGE_H

#include <stdbool.h>

/* Whether text can be one, without "docker:": letters, digits, and ".", "_", "-", ":", "@" between
 * them, in parts that "/" divides and that begin with a letter or digit: no option, no path. */
bool spec_is_image(const char *text);

#endif
