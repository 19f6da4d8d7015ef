/* profile_evaluate: the commands profile import and profile evaluate. */
#include "app/job/profile.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "draw/chart_errors.h"

#include <math.h>

/* ---- profile import ---- */

static void print_imported(struct operate_text *t, const void *record)
{
    const struct app_profile_imported *got = record;

    fprintf(t->out, "profile %s: %lld run%s read, %lld new, %lld imported in all\n", got->name,
            (long long)got->read, got->read == 1 ? "" : "s", (long long)got->added,
            (long long)got->imported);
    if (got->model)
        fprintf(t->out, "model %s, learned from %lld runs: leave-one-out error %.1f %%\n",
                got->model, (long long)got->learned_from, 100 * got->loo_error);
    else
        fprintf(t->out, "nothing learned yet: %s\n", got->reason);
}

const struct command command_profile_import = {
    .name = "profile import",
    .operands = "NAME FILE",
    .summary = "Add measured runs to a profile, and learn from them",
    .details =
        "The first row of the CSV file names the columns: cpus, memory_mb and runtime_s, and one "
        "for each value of the command, as in epoch. Runs that the profile has already are not "
        "added again. A profile of a command takes the columns that are its values; a new name "
        "makes a profile that predicts, until `tradewind profile NAME -- CMD` gives it a command "
        "to run.",
    .example = "tradewind profile import mnist runs.csv",
    .operation = &profile_import_operation,
    .text = &(const struct command_text){.head = print_imported},
};

/* ---- profile evaluate ---- */

static void print_evaluation(struct operate_text *t, const void *record)
{
    const struct app_profile_evaluation *v = record;
    char error[32];

    if (v->file)
        fprintf(t->out, "profile %s on %lld run%s of %s\n", v->name, (long long)v->runs,
                v->runs == 1 ? "" : "s", v->file);
    else
        fprintf(t->out, "profile %s on its own %lld runs, each predicted from all others\n",
                v->name, (long long)v->runs);
    if (v->mean_absolute_error_s < 1)
        fprintf(t->out, "mean absolute error  %.4g s\n", v->mean_absolute_error_s);
    else
        fprintf(t->out, "mean absolute error  %s\n", time_text(v->mean_absolute_error_s, error));
    fprintf(t->out, "mean squared error   %.4g s\u00b2\n", v->mean_squared_error_s2);
    if (isnan(v->explained_variance))
        fputs("explained variance   undefined against their mean: all took as long\n", t->out);
    else
        fprintf(t->out, "explained variance   %.4f against their mean\n", v->explained_variance);
    fprintf(t->out, "                     %.4f against zero\n", v->explained_variance_zero);
    if (v->unknown)
        fprintf(t->out, "%lld more run%s without a prediction: no other run tells their effect\n",
                (long long)v->unknown, v->unknown == 1 ? "" : "s");
}

static int save_errors(struct operate_text *t, const void *record, struct err *e)
{
    const struct app_profile_evaluation *v = record;
    const struct app_profile_check *checks = v->predictions.items;
    const char *path = command_value(t->args, "--svg");
    size_t n = v->predictions.n, known = 0;
    AUTO_MEM double *columns = mem_zero(4 * n + 1, sizeof *columns);
    double *cpus = columns, *memory = columns + n, *measured = columns + 2 * n;
    double *error = columns + 3 * n;

    if (!path)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(checks[i].predicted_s))
            continue;
        cpus[known] = checks[i].cpus;
        memory[known] = checks[i].memory_mb / 1024;
        measured[known] = checks[i].measured_s;
        error[known++] = checks[i].predicted_s - checks[i].measured_s;
    }
    const struct chart_errors_panel panels[] = {{"CPUs", CHART_NUMBER, cpus},
                                                {"memory, GiB", CHART_NUMBER, memory},
                                                {"the measured run time", CHART_TIME, measured}};
    AUTO_MEM char *title = mem_printf("profile %s: errors of %zu predictions", v->name, known);
    AUTO_CLEAR(buf) struct buf svg;
    buf_init(&svg, CHART_SVG_MAX_BYTES);
    chart_errors_svg(&svg, &(struct chart_errors){
                               .title = title,
                               .error_s = error,
                               .n = known,
                               .panels = panels,
                               .n_panels = 3,
                           });
    return chart_save(path, &svg, e);
}

static const struct command_option evaluate_options[] = {
    {.name = "--svg",
     .value = "FILE",
     .help = "Draw the errors against CPUs, memory and measured run time into this file."},
    {0},
};

const struct command command_profile_evaluate = {
    .name = "profile evaluate",
    .operands = "NAME [FILE]",
    .summary = "Judge the predictions of a profile by measured runs",
    .details =
        "Predicts each run of the CSV file, which has the columns of profile import, and compares. "
        "Without a file, each run of the profile is predicted from all others. Explained variance "
        "is 1 - S / T, with S the sum of squared errors, and T that of squared distances from the "
        "mean of the runs: 0 is as good as always predicting their mean. Against zero, T is the "
        "sum of squared run times, which flatters every model.",
    .example = "tradewind profile evaluate mnist held-out.csv --svg errors.svg",
    .options = evaluate_options,
    .operation = &profile_evaluate_operation,
    .text = &(const struct command_text){.save = save_errors, .head = print_evaluation},
};
