/* details: the part of a job's request that the lake stores as JSON without reading it. */
#ifndef BROKER_CORE_DETAILS_H
#define BROKER_CORE_DETAILS_H

#include "base/auto.h"
#include "base/err.h"
#include "broker/core/offer.h"
#include "lake/job/job.h"
#include "spec/spec.h"

#include <jansson.h>

#define JOB_DETAILS_MAX LAKE_JOB_TEXT_MAX

struct job_details {
    json_t *root;           /* of parsed ones: owns the strings below; NULL = they are borrowed */
    const char **names;     /* of parsed ones: the lists secrets, outputs, inputs, devices */
    struct spec_pair *envs; /* "K", "V"; of a key that comes twice the last counts */
    size_t n_envs;
    /* Those of job_submitter_names that the submitter's shell had, for a job on this machine: the
     * job gets these and no others of the names. 0 = not known: it gets the broker's. */
    struct spec_pair *submitter;
    size_t n_submitter;
    const char *image; /* of the container that it runs in; "" = none */
    /* Where files of its input are for the command: a path, and a path below $TRADEWIND_INPUT. */
    struct spec_pair *mounts;
    size_t n_mounts;
    const char *const *secrets; /* names; values have a file of their own (secrets.h) */
    size_t n_secrets;
    const char *on;       /* "local", a host group of the configuration, or a cloud; never NULL */
    unsigned gpus;        /* that it gets for its own, all of one type; 0 = none asked for */
    const char *gpu_type; /* as asked for: "A100"; on hosts as the configuration has it; "" = any */
    const char *const *devices; /* local: the GPUs it may get, gpus_text (gpus.h) of each */
    size_t n_devices;
    const char *stage;   /* of a pipeline; "" = none */
    const char *because; /* of a stage: what changed since its last job, in a line; "" = nothing */
    const char *git_commit; /* "" = none */
    bool git_dirty;
    double checkpoint_s;        /* 0 = none */
    bool json_metrics;          /* printed lines of JSON are metrics */
    const char *const *outputs; /* in $TRADEWIND_OUTPUT; the job fails unless it writes all */
    size_t n_outputs;
    /* Of a stage: what its input was made of, "@S:3 DIGEST" each, to say later what changed. */
    const char *const *inputs;
    size_t n_inputs;
    bool learn;                /* the agent watches which files of the code are used */
    double price_usd_per_hour; /* of the machine it was planned for; 0 = priced by its size */
    int64_t continues;         /* the job whose saved checkpoint it begins with; 0 = none */
    /* Of several that start together, or not at all: "RUN.STAGE.ATTEMPT"; "" = none. */
    const char *gang;
    unsigned rank, nodes; /* from 0 on; how many they are */
    unsigned servers; /* number of first nodes that hold the model, which others train; 0 = none */
    bool elastic;     /* the others continue when a worker ends badly */
    const char *restores;   /* the set version it makes again, "@S:3"; "" = none */
    struct job_offer offer; /* on a cloud: the machine it was planned for; provider "" = none */
    const char *request; /* on a cloud, of a job without a pipeline: how it was planned, as JSON */
};

/* An output with an extension in its name ("model.pt") is a file that the command writes; any other
 * is a directory that the command finds made. */
bool job_output_is_file(const char *name);

/* Variables that decide which programs and libraries a command finds. */
#define JOB_SUBMITTER_NAMES 6
extern const char *const job_submitter_names[JOB_SUBMITTER_NAMES];

/* As JSON text; the caller frees it. Texts that are NULL count as "" (on: as "local"). ERR_USAGE
 * when a text is no UTF-8, which JSON cannot hold, or all is longer than JOB_DETAILS_MAX. */
char *job_details_text(const struct job_details *d, struct err *e);
/* Skips unknown keys; missing ones are empty. ERR_IO: the text is not JSON of these. */
int job_details_parse(const char *text, struct job_details *out, struct err *e);
/* Of such a text: the job whose checkpoint is continued; 0 = none, or it cannot be read. */
int64_t job_details_continued(const char *text);
/* Of parsed ones. */
void job_details_clear(struct job_details *d);

#endif
