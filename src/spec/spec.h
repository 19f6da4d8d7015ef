/* spec: a pipeline file, read, checked and resolved into plain structs.
 *
 * What a field means is in docs/pipeline-file.md. After a successful load every reference is an
 * index, every size a number, every default filled in, and the stages form a DAG. */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include "base/auto.h"
#include "base/err.h"
#include "spec/guess.h"
#include "spec/place.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* One finding about a file. Errors first make the load fail; warnings do not. */
struct spec_finding {
    bool is_error;
    size_t line; /* from 1; 0 = the file as a whole */
    const char *text;
};

struct spec_range {
    double min, max; /* inclusive; {0, INFINITY} when not said */
};

struct spec_accelerator {
    const char *name; /* as written; compared without regard to case */
    double count;
};

/* One alternative of what a stage may run on. Every condition must hold. */
struct spec_resources {
    const char *cloud, *region, *zone, *instance_type; /* NULL = any */
    struct spec_accelerator *accelerators;             /* any one of these; none = any machine */
    size_t n_accelerators;
    struct spec_range cpus, memory_gb;
    int use_spot;          /* 1 spot only, 0 on-demand only, -1 as the command line says */
    double max_hourly_usd; /* per node; INFINITY = no limit */
    double disk_gb;        /* 0 = not said */
    const char *image;     /* of a container, without "docker:"; NULL = none */
    /* Of machines of clouds: a name of data/images.csv, or the cloud's own; NULL = not said. */
    const char *machine_image;
    size_t line;
};

enum spec_source {
    SPEC_FROM_STAGE, /* an output of a stage of this pipeline */
    SPEC_FROM_LAKE,
    SPEC_FROM_LOCAL, /* a path on this machine */
    SPEC_FROM_URI,
};

struct spec_input {
    const char *from; /* the dataset's name: equal texts are one dataset */
    enum spec_source source;
    size_t stage, output; /* SPEC_FROM_STAGE: whose output */
    double size_gb;
    /* Where it lies. Stage outputs: both NULL. A URI without `place`: cloud known from its scheme,
     * region NULL. Local paths and lake references without `place`: local/local. */
    struct spec_place place;
    size_t line;
};

/* An entry of file_mounts. */
struct spec_mount {
    const char *target; /* "/data", "~/models", or below the working directory */
    size_t input;       /* index of what is there; SIZE_MAX = a bucket to be made, without source */
    size_t line;
};

struct spec_output {
    const char *name; /* NAME or URI */
    double size_gb;
    double keep_s; /* 0 = not kept */
    size_t line;
};

enum spec_estimate_kind {
    SPEC_ESTIMATE_GUESS,   /* none given */
    SPEC_ESTIMATE_SECONDS, /* seconds: one figure or a map */
    SPEC_ESTIMATE_WORK,
    SPEC_ESTIMATE_ITERATIONS,
    SPEC_ESTIMATE_PROFILE,
};

struct spec_rate {
    const char *name; /* accelerator or instance type; WORK: accelerator, instance type or "vcpu" */
    double value;     /* SECONDS: seconds; WORK: units per second of one vCPU or accelerator */
    double parallel;  /* WORK: Amdahl's parallel share, 1 = scales perfectly */
};

struct spec_pair {
    const char *key;
    const char *value; /* NULL: must come from the command line or the environment at run time */
};

struct spec_estimate {
    enum spec_estimate_kind kind;
    double seconds;          /* SECONDS with one figure; else NaN */
    struct spec_rate *rates; /* SECONDS with a map, WORK */
    size_t n_rates;
    double work;            /* WORK: units (`input` already resolved to the stage's total input GB);
                             * GUESS: that total */
    double left;            /* GUESS: share of the run that is left; 0 = all of it */
    double iterations;      /* ITERATIONS */
    const char *model;      /* ITERATIONS */
    const char *profile;    /* PROFILE */
    struct spec_pair *args; /* PROFILE */
    size_t n_args;
    double setup_s;
    size_t line;
};

struct spec_stage {
    const char *name;
    size_t line;
    const char *run, *setup; /* shell text, NULL when absent */
    const char *workdir, *workdir_ref;
    /* `code`: what of the workdir decides whether the stage is run again. */
    bool all_code;     /* all of it */
    const char **code; /* files, directories and patterns; without either it is learned */
    size_t n_code;
    size_t code_line;
    struct spec_pair *envs;
    size_t n_envs;
    struct spec_pair *secrets;
    size_t n_secrets;
    unsigned num_nodes;
    size_t *needs; /* indices of stages, ascending, each once; includes producers of inputs */
    size_t n_needs;
    struct spec_input *inputs; /* resolved: stage outputs, URIs, file mounts; each dataset once */
    size_t n_inputs;
    struct spec_mount *mounts;
    size_t n_mounts;
    struct spec_output *outputs;
    size_t n_outputs;
    struct spec_estimate estimate;
    double checkpoint_s;                 /* 0 = none */
    bool json_metrics;                   /* `metrics: json`: printed lines of JSON are metrics */
    struct spec_resources *alternatives; /* at least one */
    size_t n_alternatives;
    bool ordered; /* the first alternative with any eligible offer wins */
};

enum spec_objective { SPEC_COST, SPEC_TIME, SPEC_VALUE, SPEC_WEIGHTED };

struct spec_goal {
    enum spec_objective objective;
    double weight;     /* SPEC_WEIGHTED: W in 0..1 */
    double budget_usd; /* INFINITY = none */
    double deadline_s; /* INFINITY = none */
};

struct spec {
    struct arena *arena;  /* owns everything below */
    const char *file;     /* as named by the user, for messages */
    const char *text;     /* of the file, as it was read */
    const char *base_dir; /* where relative local inputs start; NULL = nowhere */
    const char *name;     /* pipeline's name; the file's base name when not said */
    struct spec_goal goal;
    struct spec_stage *stages; /* file order */
    size_t n_stages;
    size_t *topological;       /* stage indices, needs before needers, file order among equals */
    struct guess_list guesses; /* sizes that could not be detected, regions not said ... */
    struct spec_finding *findings; /* warnings of a file that loads */
    size_t n_findings;
};

/* "cost", "time", "value", "weighted:0.3". */
int spec_objective_parse(const char *text, struct spec_goal *out, struct err *e);

/* Reads path ("-" = stdin). On errors returns NULL, e holds the first ("FILE:LINE: ..."), and
 * all findings, warnings too, go to *findings_out / *n_out when not NULL (in file order; free
 * with spec_findings_free). I/O: the file itself, and sizes of local input paths. */
struct spec *spec_load(const char *path,
                       struct spec_finding **findings_out,
                       size_t *n_out,
                       struct err *e);
/* The same from memory; base_dir is where relative local inputs start. Without it (NULL) no local
 * path is looked at: sizes not given are guessed, as they are for URIs. */
struct spec *spec_parse(const char *name,
                        const char *text,
                        size_t len,
                        const char *base_dir,
                        struct spec_finding **findings_out,
                        size_t *n_out,
                        struct err *e);
void spec_free(struct spec *s);
AUTO_DEFINE(spec)
void spec_findings_free(struct spec_finding *findings, size_t n);

#endif
