#include "spec/image.h"

#include <string.h>

#define IMAGE_MAX 512

/* isalnum without the locale. */
static bool is_alnum(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool spec_is_image(const char *text)
{
    bool begins = true;

    if (strlen(text) > IMAGE_MAX)
        return false;
    for (; *text; text++) {
        if (!is_alnum(*text) && (begins || !strchr("._-:@/", *text)))
            return false;
        begins = *text == '/';
    }
    return !begins;
}
