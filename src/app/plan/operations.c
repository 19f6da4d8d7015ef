/* operations: plan.solve and plan.check, which `tradewind plan` calls. */
#include "app/plan/internal.h"
#include "base/mem.h"

#include <stdint.h>

/* ---- plan.solve ---- */

struct solve_request {
    struct plan_request plan;
    bool pareto;
    const char *explain;
    struct field_list what_if;
};

/* clang-format off */
static const struct field solve_fields[] = {
    PLAN_PIPELINE_FIELDS(struct solve_request, plan.),
    PLAN_GOAL_FIELDS(struct solve_request, plan.),
    {"pareto", FIELD(BOOL, struct solve_request, pareto),
     .help = "Also compute the Pareto frontier: each plan that no other beats in cost and time."},
    {"explain", FIELD(TEXT, struct solve_request, explain), .value = "STAGE",
     .help = "Show the added cost and time of this stage at each other location."},
    {"what_if", FIELD(LIST, struct solve_request, what_if), .value = "KEY=VALUE",
     .help = "Show the difference that a change makes: cloud=aws, region=eu-west-1, market=spot, "
             "objective=time, deadline=2h, budget=5, max-hourly=1, "
             "STAGE.location=aws/us-east-1."},
    PLAN_WORLD_FIELDS(struct solve_request, plan.),
};
/* clang-format on */

/* What else the request asks for, of a plan that exists. */
static int ask_further(struct app_plan *p,
                       const struct solve_request *q,
                       struct answer *out,
                       struct app_plan_report *report,
                       struct err *e)
{
    char option[64];

    if (q->pareto && app_plan_report_pareto(p, out->arena, report, e) < 0)
        return -1;
    report->explained = q->explain;
    if (q->explain && app_plan_explain(p, app_plan_find_stage(p->spec, q->explain, NULL), out,
                                       &report->explain, e) < 0)
        return err_wrap(e, "%s %s", answer_spell(out, "explain", option), q->explain);
    if (app_plan_what_if(p, &q->what_if, out, &report->what_if, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "what_if", option));
    return 0;
}

static int run_solve(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct solve_request *q = request;
    AUTO(app_plan) struct app_plan *p = mem_zero(1, sizeof *p);
    struct app_plan_report report;
    char option[64];

    if (app_plan_open(p, app, &q->plan, out, e) < 0)
        return -1;
    /* A mistake is told before the search, not after it. */
    if (q->explain && app_plan_find_stage(p->spec, q->explain, e) == SIZE_MAX)
        return err_wrap(e, "%s %s", answer_spell(out, "explain", option), q->explain);
    p->asks_further = q->explain || q->what_if.n > 0;
    if (app_plan_ask(p, q->pareto, e) < 0)
        return -1;
    bool exists = plan_found(&p->answer);
    app_plan_warn_of_accelerators(app, p);
    if (app_plan_warn_of_prices(app, p, e) < 0)
        return -1;
    if (exists) {
        app_plan_ask_singles(p);
        app_plan_suggest(p);
    }
    if (app_plan_report(p, out->arena, &report, e) < 0 ||
        (exists && ask_further(p, q, out, &report, e) < 0))
        return -1;
    return answer_head(out, &report, e);
}

const struct operation plan_solve_operation = {
    .name = "plan.solve",
    .summary = "Plan a pipeline: where and when each stage runs, at what cost, with a proof.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct solve_request, solve_fields),
    .answer = &app_plan_report_record,
    .run = run_solve,
};

/* ---- plan.check ---- */

/* clang-format off */
static const struct field check_fields[] = {PLAN_PIPELINE_FIELDS(struct plan_request, )};

static const struct field finding_fields[] = {
    {"line", FIELD(INT, struct app_plan_finding, line), .help = "Line of the file; 0 = none."},
    {"severity", FIELD(TEXT, struct app_plan_finding, severity), .help = "warning or error."},
    {"text", FIELD(TEXT, struct app_plan_finding, text), .help = "The finding."},
};
static const struct record finding_record =
    RECORD("finding", struct app_plan_finding, finding_fields);

static const struct field checked_fields[] = {
    {"valid", FIELD(BOOL, struct app_plan_checked, valid), .help = "Whether the file has no error."},
    {"findings", FIELD(RECORDS, struct app_plan_checked, findings), .record = &finding_record,
     .help = "Warnings and errors, in the order of the file."},
    {"file", FIELD(TEXT, struct app_plan_checked, file), .omit_none = true,
     .help = "Path of the file."},
    {"stages", FIELD(COUNT, struct app_plan_checked, stages), .help = "Number of its stages."},
};
/* clang-format on */

static int answer_findings(struct answer *out,
                           struct app_plan_checked *checked,
                           const struct spec_finding *f,
                           size_t n,
                           struct err *e)
{
    struct app_plan_finding *items = answer_alloc(out, n, sizeof *items, e);

    if (!items)
        return -1;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct app_plan_finding){(int64_t)f[i].line,
                                             f[i].is_error ? "error" : "warning", f[i].text};
    checked->findings = (struct field_records){items, n};
    return answer_head(out, checked, e);
}

static int run_check(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct plan_request *q = request;
    struct spec_finding *refused = NULL;
    size_t n_refused = 0;
    AUTO(spec) struct spec *spec = app_plan_read_spec(q, &refused, &n_refused, e);
    struct app_plan_checked checked = {
        .valid = spec, .file = q->file, .stages = spec ? spec->n_stages : 0};

    (void)app;
    if (!spec && n_refused == 0) /* the file could not be read at all */
        return -1;
    int result = answer_findings(out, &checked, spec ? spec->findings : refused,
                                 spec ? spec->n_findings : n_refused, e);
    spec_findings_free(refused, n_refused);
    return result;
}

const struct operation plan_check_operation = {
    .name = "plan.check",
    .summary = "Check a pipeline file: list each warning and error with its line.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct plan_request, check_fields),
    .answer = RECORD_AT("plan_checked", struct app_plan_checked, checked_fields),
    .run = run_check,
};
