/* finds: what launches have found in a region of a cloud, such as the id of an image, kept for a
 * while so that a hundred launches ask for it once. Shared by threads, each of which has a struct
 * cloud of its own (cloud_set_finds). All functions take NULL: then nothing is kept. */
#ifndef CLOUD_FINDS_H
#define CLOUD_FINDS_H

#include "base/auto.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Long enough for a burst of launches; short enough that a laptop that travels is let in again. */
#define CLOUD_FINDS_MS ((int64_t)120 * 1000)
#define CLOUD_FINDS_KEY 400
#define CLOUD_FINDS_BYTES 256

struct cloud_finds;
struct cloud_finds *cloud_finds_new(void);
void cloud_finds_free(struct cloud_finds *f);
AUTO_DEFINE(cloud_finds)

/* True: value gets the n bytes that were kept of this key. False: the caller looks for it, and ends
 * that with cloud_finds_put or cloud_finds_fail; others that want the same wait until then. */
bool cloud_finds_get(struct cloud_finds *f, const char *key, int64_t now_ms, void *value, size_t n);
void cloud_finds_put(
    struct cloud_finds *f, const char *key, int64_t now_ms, const void *value, size_t n);
void cloud_finds_fail(struct cloud_finds *f, const char *key);
/* Forgets all: something that was found may be gone. */
void cloud_finds_drop(struct cloud_finds *f);

#endif
