/* run_text: a stage's plan as JSON text, which is how runs keep it. */
#ifndef BROKER_CORE_RUN_TEXT_H
#define BROKER_CORE_RUN_TEXT_H

#include "broker/core/runs.h"

struct arena;

/* The caller frees it. */
char *run_plan_text(const struct run_stage_plan *p);
/* Strings go to the arena. ERR_IO for what is no such text. */
int run_plan_parse(struct arena *arena,
                   const char *text,
                   struct run_stage_plan *out,
                   struct err *e);

#endif
