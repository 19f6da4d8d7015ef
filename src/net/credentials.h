/* credentials: keys for AWS and S3-compatible services, from the sources that AWS's tools use. */
#ifndef NET_CREDENTIALS_H
#define NET_CREDENTIALS_H

#include "base/auto.h"
#include "base/err.h"

#include <stdint.h>

/* A text that must not be shown: no formatter takes it. Only those who sign or send it look. */
struct secret {
    char *hidden;
};

struct credentials {
    char *key_id;
    struct secret secret;
    struct secret token; /* hidden NULL = none */
    int64_t expires_ms;  /* epoch; 0 = never */
    char *region;        /* from the environment or the shared files; NULL = none named */
    const char *origin;  /* "environment", "shared file", "container", "instance metadata" */
};
/* Overwrites the secrets before it frees them. */
void credentials_clear(struct credentials *c);

/* What is looked at, so that tests need not change the process. NULL members: the real thing. */
struct credentials_sources {
    const char *(*environment)(void *context, const char *name);
    void *context;
    const char *home;              /* where .aws, .azure and .config/gcloud lie */
    const char *metadata_endpoint; /* "http://169.254.169.254"; a container's relative URI too */
};

/* In order: AWS_ACCESS_KEY_ID and its companions; profile AWS_PROFILE or "default" of
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_CONFIG_FILE (~/.aws/config);
 * AWS_CONTAINER_CREDENTIALS_FULL_URI / RELATIVE_URI; the instance's metadata service (version 2),
 * unless AWS_EC2_METADATA_DISABLED=true. A profile that is named and missing, or half given keys,
 * is ERR_USAGE with file and line; nothing anywhere is ERR_DENIED that says where it looked. */
int credentials_find(const struct credentials_sources *sources,
                     struct credentials *out,
                     struct err *e);

#endif
