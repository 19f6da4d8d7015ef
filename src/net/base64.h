/* base64: bytes as text, in the alphabet of RFC 4648 and in the one for URLs. */
#ifndef NET_BASE64_H
#define NET_BASE64_H

#include <stddef.h>

/* With padding. New string. */
char *base64_encode(const void *bytes, size_t n);
/* With '-' and '_' and without padding. New string. */
char *base64_url_encode(const void *bytes, size_t n);
/* The bytes of a padded text, NUL-terminated; NULL for what is none. */
unsigned char *base64_decode(const char *text, size_t *n_out);

#endif
