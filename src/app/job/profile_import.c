/* profile_import: operations profile.import, which takes measured runs, and profile.evaluate, which
 * judges a model by measured runs. */
#include "app/job/profile.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* ---- profile.import ---- */

struct file_request {
    const char *name, *file;
};

/* clang-format off */
#define REQUESTED(TYPE, member) FIELD(TYPE, struct file_request, member)
#define FILE_HELP "CSV file: cpus, memory_mb, runtime_s and a column for each value of the command."
static const struct field import_fields[] = {
    {"name", REQUESTED(TEXT, name), .help = "Name of the profile.", .required = true,
     .operand = true},
    {"file", REQUESTED(TEXT, file), .help = FILE_HELP, .value = "FILE", .required = true,
     .operand = true, .is_local = true},
};

#define IMPORTED(TYPE, member) FIELD(TYPE, struct app_profile_imported, member)
static const struct field imported_fields[] = {
    {"name", IMPORTED(TEXT, name), .help = "Name of the profile."},
    {"read", IMPORTED(INT, read), .help = "Runs of the file."},
    {"added", IMPORTED(INT, added), .help = "Those that the profile did not have."},
    {"imported", IMPORTED(INT, imported), .help = "Imported runs of the profile."},
    {"model", IMPORTED(TEXT, model), .help = "Kind of the model; null = too few runs."},
    {"loo_error", IMPORTED(REAL, loo_error), .help = "Leave-one-out error of the model."},
    {"learned_from", IMPORTED(INT, learned_from), .help = "Runs that the model is learned from."},
    {"reason", IMPORTED(TEXT, reason), .omit_none = true, .help = "Why there is no model."},
};
/* clang-format on */

static int answer_imported(struct app *app,
                           struct app_profile_imported *got,
                           const struct err *too_few,
                           struct answer *out,
                           struct err *e)
{
    AUTO(broker_profile) struct broker_profile *p = app_profile_load(app, got->name, e);

    if (!p)
        return -1;
    AUTO_JSON json_t *fit = p->fit ? fit_to_json(p->fit) : NULL;
    got->imported = (int64_t)p->imported.n;
    got->model = fit ? json_string_value(json_object_get(fit, "kind")) : NULL;
    got->loo_error = p->fit ? fit_loo_error(p->fit) : (double)NAN;
    got->learned_from = p->fit ? (int64_t)fit_n_runs(p->fit) : FIELD_NONE;
    got->reason = p->fit ? NULL : too_few->text;
    return answer_head(out, got, e);
}

static int run_import(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct file_request *q = request;
    AUTO_CLEAR(profile_runs) struct profile_runs runs = {0};
    const char *home = app_home(app, e);
    struct lake *l = home ? app_lake(app, e) : NULL;
    struct err too_few;
    size_t added;

    if (!l || profile_runs_read(q->file, &runs, e) < 0 ||
        broker_profile_import(home, l, q->name, &runs, &added, &too_few, e) < 0)
        return -1;
    struct app_profile_imported got = {
        .name = q->name, .read = (int64_t)runs.n, .added = (int64_t)added};
    return answer_imported(app, &got, &too_few, out, e);
}

const struct operation profile_import_operation = {
    .name = "profile.import",
    .summary = "Add measured runs to a profile, and learn from them.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct file_request, import_fields),
    .answer = RECORD_AT("profile_imported", struct app_profile_imported, imported_fields),
    .run = run_import,
};

/* ---- profile.evaluate ---- */

/* clang-format off */
static const struct field evaluate_fields[] = {
    {"name", REQUESTED(TEXT, name), .help = "Name of the profile.", .required = true,
     .operand = true},
    {"file", REQUESTED(TEXT, file), .value = "FILE", .operand = true, .is_local = true,
     .help = FILE_HELP " Without one, the profile's own runs, each predicted from all others."},
};

#define CHECKED(TYPE, member) FIELD(TYPE, struct app_profile_check, member)
static const struct field check_fields[] = {
    {"cpus", CHECKED(REAL, cpus), .help = "CPUs of the run."},
    {"memory_mb", CHECKED(REAL, memory_mb), .unit = "MB", .help = "Memory of the run."},
    {"measured_s", CHECKED(DURATION, measured_s), .unit = "s", .help = "Its run time."},
    {"predicted_s", CHECKED(DURATION, predicted_s), .unit = "s",
     .help = "Predicted run time; null when no other run tells its effect."},
};
static const struct record check_record =
    RECORD("profile_check", struct app_profile_check, check_fields);

#define JUDGED(TYPE, member) FIELD(TYPE, struct app_profile_evaluation, member)
static const struct field evaluation_fields[] = {
    {"name", JUDGED(TEXT, name), .help = "Name of the profile."},
    {"file", JUDGED(TEXT, file),
     .help = "File of the runs; null = the profile's own, each predicted from all others."},
    {"runs", JUDGED(INT, runs), .help = "Runs that were predicted."},
    {"unknown", JUDGED(INT, unknown), .help = "Runs without a prediction."},
    {"mean_absolute_error_s", JUDGED(DURATION, mean_absolute_error_s), .unit = "s",
     .help = "Mean of |predicted - measured|."},
    {"mean_squared_error_s2", JUDGED(REAL, mean_squared_error_s2), .unit = "s2",
     .help = "Mean of (predicted - measured)^2."},
    {"explained_variance", JUDGED(REAL, explained_variance),
     .help = "1 - squared errors / squared distances from the mean of these runs; null when all "
             "took as long."},
    {"explained_variance_zero", JUDGED(REAL, explained_variance_zero),
     .help = "1 - squared errors / squared run times: the same against a prediction of zero."},
    {"predictions", JUDGED(RECORDS, predictions), .record = &check_record,
     .help = "Each run with its prediction."},
};
/* clang-format on */

static int predict_run(const struct broker_profile *p,
                       const struct profile_runs *runs,
                       size_t i,
                       struct app_profile_check *out,
                       struct err *e)
{
    const struct profile_run *run = &runs->items[i];
    AUTO_CLEAR(profile_values) struct profile_values values = {0};
    struct template_setting settings[FIT_FEATURES_MAX];
    struct app_prediction got;

    for (size_t c = 0; c < runs->n_columns; c++)
        settings[c] = (struct template_setting){runs->columns[c], run->values[c]};
    if (broker_profile_values(p, settings, runs->n_columns, &values, e) < 0 ||
        app_profile_predict(p, &values, run->cpus, run->memory_mb, &got, e) < 0)
        return err_wrap(e, "%s", run->name);
    json_decref(got.outside_by);
    *out = (struct app_profile_check){run->cpus, run->memory_mb, run->runtime_s, got.predicted_s};
    return 0;
}

static int predict_file(const struct broker_profile *p,
                        const char *file,
                        struct answer *out,
                        struct field_records *list,
                        struct err *e)
{
    AUTO_CLEAR(profile_runs) struct profile_runs runs = {0};

    if (profile_runs_read(file, &runs, e) < 0)
        return -1;
    struct app_profile_check *checks = answer_alloc(out, runs.n, sizeof *checks, e);
    if (!checks)
        return -1;
    for (size_t i = 0; i < runs.n; i++)
        if (predict_run(p, &runs, i, &checks[i], e) < 0)
            return -1;
    *list = (struct field_records){checks, runs.n};
    return 0;
}

static int predict_own(struct app *app,
                       const struct broker_profile *p,
                       struct answer *out,
                       struct field_records *list,
                       struct err *e)
{
    AUTO_MEM struct profile_check *own = NULL;
    size_t n;

    if (broker_profile_left_out(app_lake(app, e), p, &own, &n, e) < 0)
        return -1;
    struct app_profile_check *checks = answer_alloc(out, n, sizeof *checks, e);
    if (!checks)
        return -1;
    for (size_t i = 0; i < n; i++)
        checks[i] = (struct app_profile_check){own[i].cpus, own[i].memory_mb, own[i].measured_s,
                                               own[i].predicted_s};
    *list = (struct field_records){checks, n};
    return 0;
}

static void judge(struct app_profile_evaluation *v)
{
    const struct app_profile_check *checks = v->predictions.items;
    double mean = 0, absolute = 0, squared = 0, from_mean = 0, from_zero = 0;

    for (size_t i = 0; i < v->predictions.n; i++) {
        bool is_known = !isnan(checks[i].predicted_s);
        v->runs += is_known;
        v->unknown += !is_known;
        mean += is_known ? checks[i].measured_s : 0;
    }
    double n = (double)v->runs;
    mean /= n;
    for (size_t i = 0; i < v->predictions.n; i++) {
        double error = checks[i].predicted_s - checks[i].measured_s;
        if (isnan(error))
            continue;
        absolute += fabs(error);
        squared += error * error;
        from_mean += pow(checks[i].measured_s - mean, 2);
        from_zero += pow(checks[i].measured_s, 2);
    }
    v->mean_absolute_error_s = absolute / n;
    v->mean_squared_error_s2 = squared / n;
    v->explained_variance = from_mean > 0 ? 1 - squared / from_mean : (double)NAN;
    v->explained_variance_zero = 1 - squared / from_zero;
}

static int run_evaluate(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct file_request *q = request;
    AUTO(broker_profile) struct broker_profile *p = app_profile_open(app, q->name, e);
    struct app_profile_evaluation v = {.name = q->name, .file = q->file};

    if (!p || (q->file ? predict_file(p, q->file, out, &v.predictions, e)
                       : predict_own(app, p, out, &v.predictions, e)) < 0)
        return -1;
    judge(&v);
    if (!v.runs)
        return err_set(e, ERR_NOFIT, "profile %s: no run can be predicted from the others",
                       q->name);
    return answer_head(out, &v, e);
}

const struct operation profile_evaluate_operation = {
    .name = "profile.evaluate",
    .summary = "Judge the predictions of a profile by measured runs.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct file_request, evaluate_fields),
    .answer = RECORD_AT("profile_evaluation", struct app_profile_evaluation, evaluation_fields),
    .run = run_evaluate,
};
