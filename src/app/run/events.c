/* events: the fields of what a run tells while it lasts. `tradewind run --json` prints them. */
#include "app/run/run.h"

/* clang-format off */
static const struct field started_fields[] = {
    {"event", FIELD(TEXT, struct app_run_started, event), 
     .help = "One of started, nothing: there was nothing to run."},
    {"run", FIELD(INT, struct app_run_started, run), .help = "Number of the run.",
     .omit_none = true},
};
const struct record app_run_started_record =
    RECORD("run_started", struct app_run_started, started_fields);

static const struct field change_fields[] = {
    {"event", FIELD(TEXT, struct app_run_change, event), .help = "Always stage."},
    {"run", FIELD(INT, struct app_run_change, run), .help = "Number of the run."},
    {"stage", FIELD(TEXT, struct app_run_change, stage), .help = "Name of the stage."},
    {"state", FIELD(TEXT, struct app_run_change, state), .help = "Its new state."},
    {"job", FIELD(INT, struct app_run_change, job), .help = "Its job; 0 = none."},
    {"reason", FIELD(TEXT, struct app_run_change, reason), .help = "Why it is in that state."},
    {"runtime_s", FIELD(DURATION, struct app_run_change, runtime_s), .unit = "s",
     .help = "Run time of its job until now."},
    {"cost_usd", FIELD(MONEY, struct app_run_change, cost_microusd), .unit = "USD",
     .help = "Cost of its jobs until now."},
};
const struct record app_run_change_record =
    RECORD("run_change", struct app_run_change, change_fields);

static const struct field log_fields[] = {
    {"event", FIELD(TEXT, struct app_run_log, event), .help = "Always log."},
    {"rank", FIELD(INT, struct app_run_log, rank), .help = "Rank of the node."},
    {"role", FIELD(TEXT, struct app_run_log, role), .help = "Role of the node: server or worker."},
    {"text", FIELD(TEXT, struct app_run_log, text), .help = "Line that the node printed."},
};
const struct record app_run_log_record = RECORD("run_log", struct app_run_log, log_fields);
/* clang-format on */
