/* profile: operations on profiles, which learn how long a command takes from its jobs, and the
 * records that they answer with. */
#ifndef APP_JOB_PROFILE_H
#define APP_JOB_PROFILE_H

#include "app/job/job.h"
#include "broker/learn/profile.h"

/* One profile. */
struct app_profile {
    const char *name;
    const char *template;
    int64_t runs, done;         /* jobs that the profile asked for; those that finished */
    int64_t imported;           /* runs */
    json_t *model, *box;        /* what was learned, and from which values; NULL = nothing yet */
    json_t *cpus, *memories_mb; /* arrays of numbers */
    double loo_error;           /* of the model */
};
extern const struct record app_profile_record;

/* Answers with a profile. */
int app_profile_answer(struct app *app,
                       const struct broker_profile *p,
                       int (*answer)(struct answer *out, const void *record, struct err *e),
                       struct answer *out,
                       struct err *e);

/* The profile of this name as it is stored; ERR_NOTFOUND. */
struct broker_profile *app_profile_load(struct app *app, const char *name, struct err *e);
/* The profile of this name, with a model that knows all finished jobs: it learns again where there
 * are new ones. ERR_NOTFOUND, ERR_NOFIT when nothing can be learned. */
struct broker_profile *app_profile_open(struct app *app, const char *name, struct err *e);

/* "k=v" texts of the fields values and settings, several of them in one text with commas between.
 * Texts live in the answer's arena. */
struct app_profile_settings {
    struct template_setting *items;
    size_t n, cap;
};
int app_profile_settings_read(struct app_profile_settings *s,
                              const struct field_list *values,
                              const struct field_list *settings,
                              const struct answer *out,
                              struct err *e);

/* Prediction of one run; answer of profile.predict, and part of that of autoprovision. */
struct app_prediction {
    double predicted_s;
    double low_s, high_s; /* 95 of 100 runs lie between */
    double outside;     /* the largest factor beyond the runs that were learned from; 1 = within */
    json_t *outside_by; /* factor of each feature beyond them */
};
/* outside_by is a new reference. */
int app_profile_predict(const struct broker_profile *p,
                        const struct profile_values *values,
                        double cpus,
                        double memory_mb,
                        struct app_prediction *out,
                        struct err *e);

/* Answer of profile.import. */
struct app_profile_imported {
    const char *name;
    int64_t read, added, imported; /* runs of the file; new ones; of the profile, all in all */
    const char *model;             /* NULL = too few runs to learn from, see reason */
    double loo_error;
    int64_t learned_from;
    const char *reason;
};

/* One run that a profile is judged by. */
struct app_profile_check {
    double cpus, memory_mb, measured_s;
    double predicted_s; /* NAN = nothing is known about it without the run itself */
};

/* Answer of profile.evaluate. */
struct app_profile_evaluation {
    const char *name, *file; /* file: NULL = its own runs, each predicted from all others */
    int64_t runs, unknown;   /* judged; left out, as no other run tells their effect */
    double mean_absolute_error_s, mean_squared_error_s2;
    double explained_variance, explained_variance_zero; /* NAN = undefined */
    struct field_records predictions;                   /* struct app_profile_check */
};

/* A size of a machine with its prediction and cost. */
struct app_size {
    double vcpus;
    int64_t memory_mb;
    struct app_prediction prediction;
    int64_t cost_microusd;
    const void *offer; /* struct app_size_offer; NULL = a size of the grid, at unit prices */
};

struct app_size_offer {
    const char *cloud, *region, *instance_type;
    double price_usd_per_hour;
};

/* One size of the grid. */
struct app_size_cell {
    double vcpus;
    int64_t memory_mb;
    double predicted_s;
    bool feasible;
};

/* autoprovision.submit asks to be told that the prediction may be further outside the runs. */
#define APP_AUTOPROVISION_OUTSIDE_MAX 4.0

/* Answer of autoprovision.plan and autoprovision.submit. */
struct app_autoprovision {
    bool feasible;
    struct app_size size; /* none unless feasible */
    int64_t considered;   /* sizes */
    int64_t job;
    const void *nearest;       /* struct app_size; NULL = feasible */
    struct field_records grid; /* struct app_size_cell: for each number of vCPUs each memory */
    bool has_grid;             /* in no field */
    const char *profile;
    int64_t max_cost_microusd; /* FIELD_NONE = the limit is max_time_s */
    double max_time_s;
};

#endif
