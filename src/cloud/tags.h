/* tags: what a launch writes on everything it creates in a cloud, and how a machine is known by
 * them again. Keys and values are within what all clouds allow: lower-case letters, digits, '-' and
 * '_'. Included by src/cloud and its sub-rooms only. */
#ifndef CLOUD_TAGS_H
#define CLOUD_TAGS_H

#include "cloud/cloud.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOUD_TAG_OWNER "broker-owner"
#define CLOUD_TAG_TOKEN "broker-attempt"

#define CLOUD_TAGS_MAX 10
/* Of a value: an accelerator of 63 bytes, each as three. */
#define CLOUD_TAG_BYTES 200

struct cloud_tags {
    struct cloud_tag {
        const char *key;
        char value[CLOUD_TAG_BYTES];
    } items[CLOUD_TAGS_MAX];
    size_t n;
};
/* login: the user whom the image admits. Fields that cannot be told from the cloud's own answer are
 * among them: sizes, price, shortest time that is billed. */
void cloud_tags_of(const struct cloud_request *request, const char *login, struct cloud_tags *out);

struct cloud_tagged {
    struct cloud_machine machine;
    uint64_t asked; /* fingerprint of the request */
    char login[64];
};
/* Fills in what the tag says; other keys and values that make no sense change nothing. */
void cloud_tag_read(struct cloud_tagged *t, const char *key, const char *value);
/* A tag in seconds since 1970; 0 for what is no such time. */
int64_t cloud_tag_ms(const char *value);
/* The machine that a token stands for already: *out, or CONFLICT where the request is another. */
int cloud_take_known(const struct cloud_tagged *t,
                     const struct cloud_request *request,
                     struct cloud_machine *out,
                     struct cloud_error *e);

#endif
