#include "spec/image.h"

#include <string.h>

#define IMAGE_MAX 512

bool spec_is_image(const char *text)
{
    size_t n = strlen(text);

    if (n == 0 || n > IMAGE_MAX || text[0] == '-')
        return false;
    for (; *text; text++)
        if (*text <= ' ' || *text > '~' || strchr("\"'\\", *text))
            return false;
    return true;
}
