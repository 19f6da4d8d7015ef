/* The terms of a model's form: their list, their names, and their values for one run. fit.c and
 * fit_choose.c use them. */
#include "estimate/fit_internal.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* Adds the terms of one feature: a number has one, a category one for each level but the first. */
static size_t add_feature(const struct fit_space *space,
                          size_t k,
                          const struct fit_form *form,
                          struct fit_term *terms,
                          size_t n)
{
    if (form->cpu != FIT_CPU_POWER && k == fit_space_number(space, FIT_CPUS))
        return n;
    if (space->features[k].n_levels == 0) {
        bool cliff = form->cliff && k == fit_space_number(space, FIT_MEMORY);
        if (n < FIT_COLUMNS_MAX)
            terms[n] =
                (struct fit_term){.kind = cliff ? FIT_TERM_CLIFF : FIT_TERM_POWER, .feature = k};
        return n + 1;
    }
    for (size_t level = 1; level < space->features[k].n_levels; level++, n++)
        if (n < FIT_COLUMNS_MAX)
            terms[n] = (struct fit_term){.kind = FIT_TERM_LEVEL, .feature = k, .other = level};
    return n;
}

size_t fit_terms(const struct fit_space *space,
                 const struct fit_form *form,
                 struct fit_term terms[static FIT_COLUMNS_MAX])
{
    size_t n = 0;

    terms[n++] = (struct fit_term){.kind = FIT_TERM_ONE};
    for (size_t k = 0; k < space->n; k++)
        n = add_feature(space, k, form, terms, n);
    /* room for both of what follows, so that whether a form fits does not depend on the form */
    if (n + 2 > FIT_COLUMNS_MAX)
        return 0;
    if (form->product)
        terms[n++] = (struct fit_term){
            .kind = FIT_TERM_PRODUCT, .feature = form->pair[0], .other = form->pair[1]};
    if (form->cpu != FIT_CPU_POWER)
        terms[n++] = (struct fit_term){.kind = FIT_TERM_SERIAL,
                                       .feature = fit_space_number(space, FIT_CPUS)};
    if (form->fixed)
        terms[n++] = (struct fit_term){.kind = FIT_TERM_FIXED};
    return n;
}

/* Time on these CPUs over the time on one. */
static double cpu_factor(enum fit_cpu cpu, double serial, double cpus)
{
    double at_most_one = cpu == FIT_CPU_CAPPED ? fmin(cpus, 1) : 1;

    return serial / at_most_one + (1 - serial) / cpus;
}

double fit_cpu_log(enum fit_cpu cpu, double serial, double cpus)
{
    return cpu == FIT_CPU_POWER ? 0 : log(cpu_factor(cpu, serial, cpus));
}

/* Derivative of fit_cpu_log by the serial share. */
static double serial_slope(const struct fit_shape *shape, double cpus)
{
    enum fit_cpu cpu = shape->form.cpu;

    return (cpu_factor(cpu, 1, cpus) - cpu_factor(cpu, 0, cpus)) /
           cpu_factor(cpu, shape->serial, cpus);
}

double fit_term_at(const struct fit_term *term,
                   const struct fit_space *space,
                   const struct fit_shape *shape,
                   const double *point)
{
    double at = point[term->feature];

    assert(term->feature < space->n);
    switch (term->kind) {
    case FIT_TERM_ONE:
        return 1;
    case FIT_TERM_POWER:
        return log(at);
    case FIT_TERM_LEVEL:
        return (size_t)at == term->other;
    case FIT_TERM_CLIFF:
        return at < shape->cliff_mb;
    case FIT_TERM_PRODUCT:
        return log(at) * log(point[term->other]);
    case FIT_TERM_SERIAL:
        return serial_slope(shape, at);
    case FIT_TERM_FIXED:
        return 1;
    }
    return 0;
}

bool fit_is_linear(const struct fit_form *form, const struct fit_term *term)
{
    return term->kind == FIT_TERM_POWER && form->linear >> term->feature & 1;
}

double fit_log_at(const struct fit *f, const double *point, double *x)
{
    const struct fit_form *form = &f->shape.form;
    double log_s = 0;

    for (size_t i = 0; i < f->n_terms; i++) {
        const struct fit_term *term = &f->terms[i];
        x[i] = fit_term_at(term, &f->space, &f->shape, point);
        if (term->kind == FIT_TERM_SERIAL)
            log_s += fit_cpu_log(form->cpu, f->shape.serial, point[term->feature]);
        else if (term->kind != FIT_TERM_FIXED)
            log_s += f->beta[i] * x[i];
        if (fit_is_linear(form, term))
            x[i] = 0; /* not estimated */
    }
    if (!form->fixed)
        return log_s;
    double total_s = f->shape.fixed_s + exp(log_s), share = exp(log_s) / total_s;
    if (!isfinite(total_s))
        return log_s;
    for (size_t i = 0; i < f->n_terms; i++)
        x[i] *= f->terms[i].kind == FIT_TERM_FIXED ? 1 - share : share;
    return log(total_s);
}

char *fit_term_name(const struct fit_term *term,
                    const struct fit_space *space,
                    const struct fit_shape *shape)
{
    const struct fit_feature *f = &space->features[term->feature];

    switch (term->kind) {
    case FIT_TERM_ONE:
        return mem_dup("log(a)");
    case FIT_TERM_POWER:
        return mem_dup(f->name);
    case FIT_TERM_LEVEL:
        return mem_printf("%s=%s", f->name, f->levels[term->other]);
    case FIT_TERM_CLIFF:
        return mem_printf("%s<%.15g", f->name, shape->cliff_mb);
    case FIT_TERM_PRODUCT:
        return mem_printf("%s*%s", f->name, space->names[term->other]);
    case FIT_TERM_SERIAL:
        return mem_printf("serial(%s)", f->name);
    case FIT_TERM_FIXED:
        break;
    }
    return mem_dup("fixed(s)");
}

void fit_kind_write(const struct fit_form *form, char out[static 64])
{
    const char *cpu = form->cpu == FIT_CPU_AMDAHL   ? "+amdahl"
                      : form->cpu == FIT_CPU_CAPPED ? "+amdahl-capped"
                                                    : "";
    char all[64];

    snprintf(all, sizeof all, "%s%s%s%s", cpu, form->cliff ? "+memory-cliff" : "",
             form->product ? "+interaction" : "", form->fixed ? "+fixed-part" : "");
    snprintf(out, 64, "%s", all[0] ? all + 1 : "log-linear");
}
