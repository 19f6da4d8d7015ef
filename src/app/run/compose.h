/* compose: a planned pipeline made into a run: its inputs and code stored in the lake, its
 * variables and secrets given their values. */
#ifndef APP_RUN_COMPOSE_H
#define APP_RUN_COMPOSE_H

#include "app/plan/plan.h"
#include "app/run/gpus.h"
#include "app/run/location.h"
#include "app/run/run.h"

/* Working directories that are stored, for stages that share them. Zero = empty. */
struct app_run_code;
struct app_run_codes {
    struct app_run_code *items;
    size_t n, cap;
};
void app_run_codes_clear(struct app_run_codes *codes);

/* What is wanted of a run besides its plan. */
struct app_run_order {
    const struct app_run_location *location;
    const char *image;         /* of all stages; NULL = as the file says */
    struct field_list secrets; /* NAME=VALUE, or NAME for a variable of the caller's environment */
    const struct answer *answer; /* for errors that spell fields */
    const struct run *resumed;   /* its stages may continue from their checkpoints; NULL = none */
    const struct app_run_gpus *gpus; /* NULL = it looks for them */
    bool without_gpus;               /* stages may run without those that are not there */
    double keep_warm_s;              /* machines of clouds wait for other work after a stage */
    struct app_run_codes *codes;     /* that several runs share; NULL = those of this run alone */
};

/* Refuses containers and mounts that the location cannot have, mounts of nothing, and code that is
 * not there. Hosts answer when the stage starts. */
int app_run_check_stages(struct app *app,
                         const struct app_plan *p,
                         const struct app_run_order *order,
                         struct err *e);

/* The planned pipeline as a run. Stages get the planned resources as far as the location has them.
 * Everything in *out is in the arena. */
int app_run_compose(struct app *app,
                    const struct app_plan *p,
                    const struct app_run_order *order,
                    struct arena *arena,
                    struct run *out,
                    struct err *e);

/* ---- for runs that are not of a planned pipeline ---- */

/* A run while it is composed. */
struct app_run_draft {
    struct app *app;
    const struct app_plan *plan; /* spec, config and the request's env are used */
    const struct app_run_order *order;
    struct lake *lake;
    struct arena *arena;
    struct run *run;
    const struct app_run_gpus *gpus; /* of the planned stages; NULL = none are planned */
    struct run_secret *secrets;      /* of all stages; moved to the run at the end */
    size_t n_secrets, cap_secrets;
    struct app_run_codes codes; /* unless the order has some */
    bool too_large;             /* the arena is full */
};

/* A copy in the arena; NULL stays NULL. */
const char *app_run_draft_keep(struct app_run_draft *c, const char *s);
/* Zeroed, one more than asked for; NULL when the arena is full, which app_run_draft_end reports. */
void *app_run_draft_alloc(struct app_run_draft *c, size_t n, size_t size);
/* A path of the pipeline file, which is relative to the file's directory. New string. */
char *app_run_draft_path(const struct app_run_draft *c, const char *path);

/* Fills in name, needs, command, outputs, variables and secrets of a stage. Stores nothing. */
int app_run_draft_stage(struct app_run_draft *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e);
/* Stores the stage's inputs and code in the lake. */
int app_run_draft_store(struct app_run_draft *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e);
/* The last call: the secrets of all stages become the run's. Returns result, the outcome of the
 * calls before, unless the arena was full. */
int app_run_draft_end(struct app_run_draft *c, int result, struct err *e);

/* ---- parts of app_run_draft_stage and app_run_draft_store ---- */

/* envs.c */
/* Warns about variables of the request that no stage declares. */
void app_run_warn_envs(const struct app *app, const struct app_plan *p, const struct answer *out);
/* A variable of the request goes to the stages that declare it, or to all where none does. */
int app_run_draft_envs(struct app_run_draft *c,
                       const struct spec_stage *stage,
                       struct run_stage_plan *out,
                       struct err *e);
int app_run_draft_secrets(struct app_run_draft *c,
                          const struct spec_stage *stage,
                          struct run_stage_plan *out,
                          struct err *e);

/* mounts.c: the image of a stage; where its file_mounts are, once its inputs are stored. */
int app_run_draft_image(struct app_run_draft *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e);
int app_run_draft_mounts(struct app_run_draft *c,
                         const struct spec_stage *stage,
                         struct run_stage_plan *out,
                         struct err *e);
/* Where the lake has a local input. New string, NULL on failure. */
char *app_run_draft_lake_path(const struct app_run_draft *c, const char *path, struct err *e);

/* inputs.c: refuses inputs that can never be fetched, before anything is stored. */
int app_run_draft_check_inputs(const struct app_run_draft *c,
                               const struct spec_stage *stage,
                               struct err *e);
int app_run_draft_inputs(struct app_run_draft *c,
                         const struct spec_stage *stage,
                         struct run_stage_plan *out,
                         struct err *e);
/* reads.c: what stages read from outside the directory of the pipeline file. */
int app_run_list_reads(struct app *app,
                       const struct app_plan *p,
                       struct answer *out,
                       struct field_records *reads,
                       struct err *e);
/* code.c: warns about commands that name files which lie beside the pipeline's file, of stages
 * without a working directory. */
void app_run_warn_code(struct app *app, const struct app_plan *p);
/* Refuses a working directory that is not there, and patterns of `code` without files. */
int app_run_draft_check_code(const struct app_run_draft *c,
                             const struct spec_stage *stage,
                             struct err *e);
/* Stores the working directory. */
int app_run_draft_code(struct app_run_draft *c,
                       const struct spec_stage *stage,
                       struct run_stage_plan *out,
                       struct err *e);

#endif
