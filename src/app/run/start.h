/* start: a request to run a pipeline, planned first and then started or simulated. */
#ifndef APP_RUN_START_H
#define APP_RUN_START_H

#include "app/run/compose.h"
#include "app/run/simulate.h"

extern const struct operation run_start_operation, run_simulate_operation;

/* The request of run.start and run.simulate. */
struct app_run_request {
    struct plan_request plan;
    const char *on;       /* NULL = local; run.simulate takes it as sim */
    int64_t max_microusd; /* FIELD_NONE = no spending cap */
    struct field_list secrets;
    bool resume, no_cache;
    /* Of simulations. */
    double noise;            /* NAN = 0.03 */
    const char *faults;      /* file; NULL = none */
    const char *faults_text; /* its text; NULL = read the file */
    struct app_run_follow_request market;
};

/* A request that is planned and not started. Texts are borrowed from the request. */
struct app_run_prepared {
    struct app_run_request request;
    struct app_plan *plan; /* solved; its status may be PLAN_INFEASIBLE */
    struct app_run_location location;
    struct app_run_follow follow;
    char *faults; /* text; NULL = none */
};
void app_run_prepared_clear(struct app_run_prepared *r);

/* ERR_USAGE for contradictions within the request, before anything is read but the faults. */
int app_run_prepare(struct app *app,
                    const struct app_run_request *q,
                    struct app_run_prepared *out,
                    struct err *e);
bool app_run_wants_simulation(const struct app_run_request *q);

/* Composes a run from the plan, stores it and wakes the broker. */
int app_run_start(struct app *app,
                  const struct app_run_prepared *r,
                  int64_t *id_out,
                  struct err *e);
/* The simulation that the request asks for, without tell. */
struct app_simulation app_run_simulation(const struct app_run_prepared *r);

#endif
