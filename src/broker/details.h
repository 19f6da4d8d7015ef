/* details: what the lake keeps of a job without looking into it: JSON of these. */
#ifndef BROKER_DETAILS_H
#define BROKER_DETAILS_H

#include "base/auto.h"
#include "base/err.h"
#include "spec/spec.h"

#include <jansson.h>

struct job_details {
    json_t *root;           /* owns everything below */
    struct spec_pair *envs; /* "K", "V" */
    size_t n_envs;
    struct spec_pair
        *secrets; /* names; values stand in home/jobs/ID/secrets, mode 600, never here */
    size_t n_secrets;
    const char *on;         /* "local", or a host group of the configuration; never NULL */
    const char *stage;      /* of a pipeline; "" = none */
    const char *git_commit; /* "" = none */
    bool git_dirty;
    double checkpoint_s; /* 0 = none */
    const char *pattern; /* the command with its options' values taken out: what profiles go by */
};

/* As JSON text; the caller frees it. */
char *job_details_text(const struct job_details *d);
int job_details_parse(const char *text, struct job_details *out, struct err *e);
void job_details_clear(struct job_details *d);

#endif
