/* run_compose: the plan made into a run: what the files that do it share. */
#ifndef CLI_RUN_RUN_COMPOSE_H
#define CLI_RUN_RUN_COMPOSE_H

#include "cli/core/command.h"
#include "cli/run/run_parts.h"

struct run_compose {
    const struct app_plan *plan;
    const struct command_args *args;
    const struct run_order *order;
    struct lake *lake;
    struct arena *arena;
    struct run *run;
    struct run_secret *secrets; /* of all stages; moved to the run at last */
    size_t n_secrets, cap_secrets;
    bool too_large; /* the arena's bound */
};

/* A copy in the arena; NULL stays NULL. */
const char *run_compose_keep(struct run_compose *c, const char *s);
/* Zeroed, one more than asked for; NULL when the arena is full, which is told at last. */
void *run_compose_room(struct run_compose *c, size_t n, size_t size);
/* Paths of a pipeline file begin where the file lies. New string. */
char *run_compose_path(const struct run_compose *c, const char *path);

/* What a stage is whatever it was planned for: name, needs, command, outputs, variables and
 * secrets. Stores nothing. */
int run_compose_stage(struct run_compose *c,
                      const struct spec_stage *stage,
                      struct run_stage_plan *out,
                      struct err *e);
/* ... and then its data and its code. */
int run_compose_store(struct run_compose *c,
                      const struct spec_stage *stage,
                      struct run_stage_plan *out,
                      struct err *e);
/* Secrets of all stages become the run's; result is that of what came before, unless something was
 * too large. Nothing is composed after it. */
int run_compose_end(struct run_compose *c, int result, struct err *e);

/* run_env.c */
int run_compose_envs(struct run_compose *c,
                     const struct spec_stage *stage,
                     struct run_stage_plan *out,
                     struct err *e);
int run_compose_secrets(struct run_compose *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e);

/* run_inputs.c: before anything is stored, what can never be had is refused. */
int run_compose_check_inputs(const struct run_compose *c,
                             const struct spec_stage *stage,
                             struct err *e);
int run_compose_inputs(struct run_compose *c,
                       const struct spec_stage *stage,
                       struct run_stage_plan *out,
                       struct err *e);
/* The working directory, to the lake. */
int run_compose_code(struct run_compose *c,
                     const struct spec_stage *stage,
                     struct run_stage_plan *out,
                     struct err *e);

#endif
