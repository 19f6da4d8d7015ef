/* profile: a command with lists, the sizes of machines it was tried on, and what was learned of it.
 *
 * home/profiles/NAME.json, replaced as a whole; home/profiles/lock is held while one is changed.
 * The runs are those that were imported, which are in the file, and jobs of the lake: those that a
 * profile asked for are named "profile NAME" and tagged profile=NAME; what is learned comes from
 * every finished job of the same command. */
#ifndef BROKER_LEARN_PROFILE_H
#define BROKER_LEARN_PROFILE_H

#include "base/auto.h"
#include "base/err.h"
#include "broker/learn/profile_import.h"
#include "broker/learn/template.h"
#include "estimate/fit.h"
#include "lake/core/lake.h"

#define PROFILE_SIZES_MAX 100
#define PROFILE_NAME_MAX 64

struct profile_sizes {
    double *values; /* ascending, each once */
    size_t n;
};
void profile_sizes_clear(struct profile_sizes *s);
/* Keeps the order, and each once. */
void profile_sizes_add(struct profile_sizes *s, double value);

struct broker_profile {
    char *name;
    struct template *template; /* template_none: its runs were imported, and it has no command */
    struct profile_sizes cpus, mems_mb;
    struct profile_runs imported;
    struct fit *fit; /* NULL = nothing learned yet */
};

/* Letters, digits, '_', '-' and '.', beginning with a letter or a digit; no word that follows
 * `tradewind profile`. ERR_USAGE. */
int broker_profile_name_check(const char *name, struct err *e);
/* "profile NAME": the name of its jobs. New string. */
char *broker_profile_job_name(const char *name);

/* ERR_NOTFOUND names the nearest one. */
struct broker_profile *broker_profile_load(const char *home, const char *name, struct err *e);
void broker_profile_free(struct broker_profile *p);
AUTO_DEFINE(broker_profile)
/* In order of names. */
int broker_profile_each(const char *home,
                        int (*visit)(void *context, const char *name, struct err *e),
                        void *context,
                        struct err *e);

/* Until the descriptor is closed no other process has it. Also for those who submit what is not
 * there yet. */
int broker_profile_lock(const char *home, struct err *e);

/* With the lock held: makes the profile, or adds these values and sizes to it. ERR_USAGE when there
 * is one of this name and of another command. */
int broker_profile_extend(const char *home,
                          const char *name,
                          const struct template *template,
                          const struct profile_sizes *cpus,
                          const struct profile_sizes *mems_mb,
                          struct err *e);

/* Takes the lock, adds measured runs to the profile of this name, or makes one without a command,
 * and learns. ERR_USAGE when the columns are not the values of its command, or no model can take
 * such runs; then nothing changes. *too_few_out is set when there are too few to learn from, which
 * is no error. */
int broker_profile_import(const char *home,
                          struct lake *l,
                          const char *name,
                          const struct profile_runs *runs,
                          size_t *n_added_out,
                          struct err *too_few_out,
                          struct err *e);

/* Learns from all finished runs, in memory alone. ERR_NOFIT when they are too few. */
int broker_profile_fit(struct lake *l, struct broker_profile *p, struct err *e);

/* Takes the lock and keeps p's model; what others added to the profile meanwhile stays. */
int broker_profile_keep_fit(const char *home, const struct broker_profile *p, struct err *e);

/* Learns from all finished jobs of the command, the newest FIT_RUNS_MAX of them, and keeps it.
 * Features are the CPUs, the memory, every argument with a list, and other options that are not the
 * same in all of them. ERR_NOFIT when they are too few. */
int broker_profile_learn(const char *home, struct lake *l, struct broker_profile *p, struct err *e);

/* Learns again when there are other runs than the model knows. Where they are too few a model that
 * is there stays. ERR_NOFIT when there is none. */
int broker_profile_refresh(const char *home,
                           struct lake *l,
                           struct broker_profile *p,
                           struct err *e);

/* Every run that the model is learned from, in order, and what the model predicts for it from all
 * others (NAN: cannot be). Features as of broker_profile_learn. */
struct profile_check {
    double cpus, memory_mb, measured_s, predicted_s;
};
/* Caller frees *out. ERR_NOFIT when they are too few. */
int broker_profile_left_out(struct lake *l,
                            const struct broker_profile *p,
                            struct profile_check **out,
                            size_t *n_out,
                            struct err *e);

/* What the model is to be asked with, but for CPUs and memory: the settings, and for what is no
 * list the template's own values. ERR_USAGE when one is missing or unknown. Texts are borrowed from
 * both. */
struct profile_values {
    struct fit_value items[FIT_FEATURES_MAX];
    size_t n;
    char **words; /* the first command of the template: what others point into */
};
int broker_profile_values(const struct broker_profile *p,
                          const struct template_setting *settings,
                          size_t n,
                          struct profile_values *out,
                          struct err *e);
void profile_values_clear(struct profile_values *v);

#endif
