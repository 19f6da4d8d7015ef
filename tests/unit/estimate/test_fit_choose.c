#include "estimate/fit_internal.h"

#include "simulate.h"
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The noise of the published experiments' size. */
#define SIGMA 0.15

/* Errors and hits over many profiles of one truth, of the chosen model and of log-linear. */
struct tally {
    double error[2];  /* mean |predicted / truth - 1| */
    double inside[2]; /* share of new runs in the interval */
    size_t asked;
    int cliffs;          /* how often a memory cliff was found */
    bool worse_left_out; /* the chosen model's error of runs left out was ever the larger one */
};

/* Predicts one run that is not in the profile, by both models. */
static void ask(struct tally *t,
                struct fit *const models[2],
                const struct simulate_run *run,
                simulate_truth *truth,
                uint64_t *seed)
{
    struct fit_value values[3];
    double expected_s = truth(run), measured_s = expected_s * exp(SIGMA * simulate_normal(seed));

    simulate_values(run, values);
    for (int i = 0; i < 2; i++) {
        struct fit_prediction p = {0};
        struct err e = {0};
        if (fit_predict(models[i], values, 3, &p, &e) < 0)
            printf("# %s\n", e.text);
        t->error[i] += fabs(p.predicted_s / expected_s - 1);
        t->inside[i] += measured_s >= p.low_s && measured_s <= p.high_s;
    }
    t->asked++;
}

/* A run within the box, or of the published evaluation: up to 20 epochs, 8 CPUs and 8192 MB. */
static struct simulate_run draw(bool beyond, double cpus_max, uint64_t *seed)
{
    static const double epochs[] = {5, 10, 20};
    double cpus = 0.5 * pow(cpus_max / 0.5, simulate_uniform(seed));

    if (!beyond)
        return (struct simulate_run){1 + floor(3 * simulate_uniform(seed)), cpus,
                                     512 << (int)(3 * simulate_uniform(seed))};
    return (struct simulate_run){epochs[(int)(3 * simulate_uniform(seed))],
                                 fmax(0.5, floor(9 * simulate_uniform(seed))),
                                 512 << (int)(5 * simulate_uniform(seed))};
}

static struct fit *log_linear(const struct simulate_profile *p, double *loo_out)
{
    AUTO_CLEAR(fit_data) struct fit_data d = {0};
    struct fit_shape shape;

    if (fit_data_init(&d, p->runs, p->n, NULL) < 0 ||
        !fit_judge(&d, &(struct fit_form){0}, &shape, loo_out))
        return NULL;
    return fit_build(&d, &shape, *loo_out);
}

static struct tally simulate(simulate_truth *truth, bool wide, bool beyond, int profiles)
{
    struct simulate_profile p;
    struct tally t = {0};

    for (int k = 0; k < profiles; k++) {
        uint64_t seed = 1000 + (uint64_t)k;
        double loo = 0;
        simulate_profile(&p, truth, wide, SIGMA, &seed);
        AUTO(fit) struct fit *chosen = fit_new(p.runs, p.n, NULL);
        AUTO(fit) struct fit *plain = log_linear(&p, &loo);
        if (!chosen || !plain)
            continue;
        t.cliffs += strstr(chosen->kind, "memory-cliff") != NULL;
        t.worse_left_out |= fit_loo_error(chosen) > loo;
        for (int i = 0; i < 20; i++) {
            struct simulate_run run = draw(beyond, wide ? 8 : 2, &seed);
            ask(&t, (struct fit *const[]){chosen, plain}, &run, truth, &seed);
        }
    }
    for (int i = 0; i < 2; i++) {
        t.error[i] /= (double)t.asked;
        t.inside[i] /= (double)t.asked;
    }
    return t;
}

int main(void)
{
    /* at_most: of log-linear's error, what the chosen model's may be. Where log-linear is the
     * truth, choosing may cost 5 % of its error at most; where it is not, it must gain. covers:
     * bounds on what the 95 % intervals hold. Beyond the box they know nothing of shapes that the
     * runs do not show; where the shape is the published one they must hold there, too. */
    static const struct {
        const char *name;
        simulate_truth *truth;
        bool wide, beyond, cliff;
        int profiles;
        double at_most, covers_low, covers_high;
    } cases[] = {
        {"the published shape", simulate_published, false, false, false, 100, 1.05, 0.93, 0.98},
        {"the published shape, beyond", simulate_published, false, true, false, 100, 1.05, 0.92,
         0.98},
        {"a serial share", simulate_amdahl, true, false, false, 40, 0.75, 0.93, 0.98},
        {"a serial share, beyond", simulate_amdahl, false, true, false, 40, 0.9, 0.80, 0.98},
        {"a serial share that half a CPU halves", simulate_capped, true, false, false, 40, 0.75,
         0.93, 0.98},
        {"a memory cliff", simulate_cliff, false, false, true, 40, 0.35, 0.92, 0.98},
        {"a memory cliff, beyond", simulate_cliff, false, true, true, 40, 0.5, 0.92, 0.98},
        {"a serial share and a cliff", simulate_amdahl_cliff, true, false, true, 40, 0.35, 0.92,
         0.98},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tally t =
            simulate(cases[i].truth, cases[i].wide, cases[i].beyond, cases[i].profiles);
        printf("# %s: error %.4f, log-linear's %.4f; intervals hold %.3f; %d cliffs\n",
               cases[i].name, t.error[0], t.error[1], t.inside[0], t.cliffs);
        CHECK(t.asked == 20 * (size_t)cases[i].profiles, "%s: all profiles are fitted",
              cases[i].name);
        CHECK(!t.worse_left_out, "%s: never worse than log-linear on runs left out", cases[i].name);
        CHECK(t.error[0] <= cases[i].at_most * t.error[1],
              "%s: on new runs at most %g of log-linear's error", cases[i].name, cases[i].at_most);
        CHECK(cases[i].cliff ? t.cliffs == cases[i].profiles : t.cliffs <= cases[i].profiles / 10,
              "%s: a memory cliff is found where there is one", cases[i].name);
        CHECK(t.inside[0] >= cases[i].covers_low && t.inside[0] <= cases[i].covers_high,
              "%s: intervals hold 95 %% of new runs", cases[i].name);
    }
    return TAP_DONE();
}
