/* Explains why no offer is left for a stage: the conditions are applied one after the other, and
 * the one that empties the set is named, with what the last offers before it have instead. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "plan/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void describe_range(struct buf *b, const char *what, const struct spec_range *r)
{
    if (r->min == r->max)
        buf_printf(b, "%s %g", what, r->min);
    else if (isinf(r->max))
        buf_printf(b, "%s %g+", what, r->min);
    else
        buf_printf(b, "%s %g-%g", what, r->min, r->max);
}

static void describe_two(struct buf *b, const char *what, const char *own, const char *flag)
{
    if (own && flag && strcmp(own, flag) != 0)
        buf_printf(b, "%s both %s and %s", what, own, flag);
    else
        buf_printf(b, "%s %s", what, own ? own : flag);
}

static void describe(struct buf *b,
                     const struct plan_world *w,
                     const struct spec_resources *r,
                     enum condition condition)
{
    static const char *const markets[] = {"on-demand", "spot", "any"};

    switch (condition) {
    case HAS_ACCELERATOR:
        for (size_t i = 0; i < r->n_accelerators; i++)
            buf_printf(b, "%s%g x %s", i ? " or " : "", r->accelerators[i].count,
                       r->accelerators[i].name);
        break;
    case HAS_TYPE:
        buf_printf(b, "instance type %s", r->instance_type);
        break;
    case HAS_CPUS:
        describe_range(b, "cpus", &r->cpus);
        break;
    case HAS_MEMORY:
        describe_range(b, "memory", &r->memory_gb);
        buf_puts(b, " GB");
        break;
    case IN_CLOUD:
        describe_two(b, "cloud", r->cloud, w->cloud);
        break;
    case IN_REGION:
        describe_two(b, "region", r->region, w->region);
        break;
    case CONFIGURED:
        buf_printf(b, "a region that %s allows (clouds.*.regions)", w->config->file);
        break;
    case IN_ZONE:
        buf_printf(b, "zone %s", r->zone);
        break;
    case FOR_SALE:
        buf_printf(b, "a price in the %s market",
                   r->use_spot == 1   ? "spot"
                   : r->use_spot == 0 ? "on-demand"
                                      : markets[w->market]);
        break;
    case WITHIN_HOURLY:
        buf_printf(b, "a price of at most $%g an hour", eligible_hourly_limit(w, r));
        break;
    case CONDITIONS:
        break;
    }
}

/* Goes through the offers, from the kind k and its offer j on, to the next that meets the first n
 * conditions; NULL behind the last. */
static const struct catalog_offer *next_meeting(const struct plan_world *w,
                                                const struct spec_resources *r,
                                                int n,
                                                const struct catalog_kind **k,
                                                uint32_t *j)
{
    const struct catalog_kind *end = w->catalog->kinds + w->catalog->n_kinds;

    for (; *k < end; ++*k, *j = 0)
        while (*j < (*k)->n_offers) {
            const struct catalog_offer *o = &w->catalog->offers[(*k)->first_offer + (*j)++];
            int met = 0;
            while (met < n && eligible_meets(w, r, *k, o, (enum condition)met))
                met++;
            if (met == n)
                return o;
        }
    return NULL;
}

#define NEAREST_SHOWN 3

/* What the offers that fail only the last condition have instead, each text once. */
struct instead {
    const struct plan_world *world;
    const struct spec_resources *resources;
    enum condition failed;
    bool unknown_name; /* no offer has an accelerator of any name asked for */
    struct offer_text {
        char *text;
        double distance; /* from what was asked for */
    } * items;           /* ascending distance, catalog order among equals */
    size_t n, cap;
};

#define ANOTHER_ACCELERATOR 1e6 /* farther than any count of the same */

/* Enough to find the nearest spelling among; distances need only the few that are shown. */
#define WORDS_MAX 1000

static double outside(double value, const struct spec_range *r)
{
    if (isnan(value))
        return (double)INFINITY;
    return value < r->min ? r->min - value : value > r->max ? value - r->max : 0;
}

/* Lowest price in the markets that are allowed. */
static double lowest_price(const struct instead *in, const struct catalog_offer *o)
{
    double lowest = (double)INFINITY;

    if (in->resources->use_spot != 1 && catalog_priced(o->price_usd))
        lowest = o->price_usd;
    if (in->resources->use_spot == 1 && catalog_priced(o->spot_usd))
        lowest = fmin(lowest, o->spot_usd);
    return lowest;
}

static double count_distance(const struct instead *in, const struct catalog_kind *k)
{
    const char *listed = catalog_text(in->world->catalog, k->accelerator);
    double least = ANOTHER_ACCELERATOR;

    for (size_t i = 0; i < in->resources->n_accelerators; i++)
        if (catalog_same_accelerator(in->resources->accelerators[i].name, listed))
            least = fmin(least, fabs(in->resources->accelerators[i].count - k->accelerator_count));
    return least;
}

static bool any_of_that_name(const struct instead *in)
{
    const struct catalog *c = in->world->catalog;

    for (size_t i = 0; i < c->n_kinds; i++)
        if (*catalog_text(c, c->kinds[i].accelerator) &&
            count_distance(in, &c->kinds[i]) < ANOTHER_ACCELERATOR)
            return true;
    return false;
}

static double distance_of(const struct instead *in,
                          const struct catalog_kind *k,
                          const struct catalog_offer *o)
{
    if (in->failed == HAS_ACCELERATOR)
        return in->unknown_name ? 0 : count_distance(in, k);
    if (in->failed == HAS_CPUS)
        return outside(k->vcpus, &in->resources->cpus);
    if (in->failed == HAS_MEMORY)
        return outside(k->memory_gib, &in->resources->memory_gb);
    return in->failed == WITHIN_HOURLY ? lowest_price(in, o) : 0;
}

static char *what_it_has(const struct instead *in,
                         const struct catalog_kind *k,
                         const struct catalog_offer *o)
{
    const struct catalog *c = in->world->catalog;
    const struct catalog_place *place = &c->places[o->place];
    const char *type = catalog_text(c, k->instance_type);

    switch (in->failed) {
    case HAS_ACCELERATOR:
        if (in->unknown_name)
            return mem_dup(catalog_text(c, k->accelerator));
        return mem_printf("%g x %s", k->accelerator_count, catalog_text(c, k->accelerator));
    case HAS_TYPE:
        return mem_dup(type);
    case HAS_CPUS:
        return mem_printf("%s (%g)", type, k->vcpus);
    case HAS_MEMORY:
        return mem_printf("%s (%g GB)", type, k->memory_gib);
    case IN_CLOUD:
        return mem_dup(catalog_text(c, k->cloud));
    case IN_REGION:
    case CONFIGURED:
        return mem_printf("%s/%s", catalog_text(c, place->cloud), catalog_text(c, place->region));
    case IN_ZONE:
        return mem_dup(catalog_text(c, o->zone));
    case FOR_SALE:
        return mem_printf("%s %s", type, catalog_priced(o->price_usd) ? "on demand" : "on spot");
    case WITHIN_HOURLY:
        return mem_printf("%s at $%g", type, lowest_price(in, o));
    case CONDITIONS:
        break;
    }
    return mem_dup("");
}

static bool compares_words(const struct instead *in)
{
    return in->failed == HAS_TYPE || in->failed == IN_CLOUD || in->failed == IN_REGION ||
           in->failed == IN_ZONE || (in->failed == HAS_ACCELERATOR && in->unknown_name);
}

static void insert_text(struct instead *in, size_t at, char *text, double distance)
{
    in->items = mem_room(in->items, in->n, &in->cap, sizeof *in->items);
    memmove(&in->items[at + 1], &in->items[at], (in->n - at) * sizeof *in->items);
    in->items[at] = (struct offer_text){text, distance};
    in->n++;
}

/* False: enough of them. */
static bool collect(struct instead *in, const struct catalog_kind *k, const struct catalog_offer *o)
{
    size_t most = compares_words(in) ? WORDS_MAX : NEAREST_SHOWN, at = in->n;

    if (in->failed == HAS_ACCELERATOR && !*catalog_text(in->world->catalog, k->accelerator))
        return true;
    double distance = distance_of(in, k, o);
    while (at > 0 && in->items[at - 1].distance > distance)
        at--;
    if (at >= most)
        return !compares_words(in); /* words are all equally far: enough of them */
    AUTO_MEM char *text = what_it_has(in, k, o);
    for (size_t i = 0; i < in->n; i++)
        if (!strcmp(in->items[i].text, text))
            return true;
    if (!*text)
        return true;
    insert_text(in, at, TAKE(text), distance);
    if (in->n > most)
        free(in->items[--in->n].text);
    return true;
}

static void asked_word(const struct instead *in, struct buf *b)
{
    const struct spec_resources *r = in->resources;
    const struct plan_world *w = in->world;

    if (in->failed == HAS_ACCELERATOR && in->unknown_name)
        buf_puts(b, r->accelerators[0].name);
    else if (in->failed == HAS_TYPE)
        buf_puts(b, r->instance_type);
    else if (in->failed == IN_CLOUD)
        buf_puts(b, r->cloud ? r->cloud : w->cloud);
    else if (in->failed == IN_REGION && (r->region || w->region))
        buf_printf(b, "%s/%s",
                   r->cloud   ? r->cloud
                   : w->cloud ? w->cloud
                              : "aws",
                   r->region ? r->region : w->region);
    else if (in->failed == IN_ZONE)
        buf_puts(b, r->zone);
}

/* The closest spelling first, then others in order. */
static void list_nearest(const struct instead *in, struct buf *out)
{
    AUTO_CLEAR(buf) struct buf word;
    AUTO_MEM const char **texts = mem_zero(in->n, sizeof *texts);
    size_t shown = 0;

    buf_init(&word, 200);
    asked_word(in, &word);
    for (size_t i = 0; i < in->n; i++)
        texts[i] = in->items[i].text;
    const char *first = word.len ? nearest(buf_str(&word), texts, in->n) : NULL;
    if (first) {
        buf_puts(out, first);
        shown++;
    }
    for (size_t i = 0; i < in->n && shown < NEAREST_SHOWN; i++)
        if (texts[i] != first)
            buf_printf(out, "%s%s", shown++ ? ", " : "", texts[i]);
}

/* The first condition that no offer meets together with those before it; CONDITIONS when some
 * offer meets them all. */
static enum condition first_failing(const struct plan_world *w, const struct spec_resources *r)
{
    const struct catalog_kind *k = w->catalog->kinds;
    uint32_t j = 0;
    int met = 0;

    /* An offer passed over for fewer conditions does not meet more. */
    while (met < CONDITIONS && next_meeting(w, r, met + 1, &k, &j)) {
        met++;
        j--;
    }
    return (enum condition)met;
}

static void explain_alternative(const struct plan_world *w,
                                const struct spec_resources *r,
                                enum condition failed,
                                struct buf *out)
{
    struct instead in = {.world = w, .resources = r, .failed = failed};
    bool first = true;

    buf_puts(out, "no offer ");
    for (enum condition i = 0; i < failed; i++)
        if (i != FOR_SALE && eligible_is_asked(w, r, i)) {
            buf_puts(out, first ? "with " : ", ");
            describe(out, w, r, i);
            first = false;
        }
    buf_puts(out, first ? "has " : " has ");
    describe(out, w, r, failed);
    in.unknown_name = failed == HAS_ACCELERATOR && !any_of_that_name(&in);
    const struct catalog_kind *k = w->catalog->kinds;
    const struct catalog_offer *o;
    uint32_t j = 0;
    while ((o = next_meeting(w, r, (int)failed, &k, &j)) && collect(&in, k, o))
        ;
    if (in.n) {
        buf_puts(out, "; nearest: ");
        list_nearest(&in, out);
    }
    for (size_t i = 0; i < in.n; i++)
        free(in.items[i].text);
    free(in.items);
}

/* Offers fit, but the estimate says nothing about any of them. */
static int explain_estimate(const struct plan_problem *p, const struct spec_stage *s, struct err *e)
{
    const struct catalog *c = p->world.catalog;
    const struct spec_estimate *estimate = &s->estimate;
    AUTO_CLEAR(buf) struct buf names;
    AUTO_MEM const char **listed = mem_zero(c->n_kinds, sizeof *listed);
    const char *close = NULL;

    buf_init(&names, 200);
    for (size_t i = 0; i < c->n_kinds; i++)
        listed[i] = catalog_text(c, c->kinds[i].accelerator);
    for (size_t i = 0; i < estimate->n_rates; i++) {
        buf_printf(&names, "%s%s", i ? ", " : "", estimate->rates[i].name);
        if (!close)
            close = nearest(estimate->rates[i].name, listed, c->n_kinds);
        if (close && catalog_same_accelerator(estimate->rates[i].name, close))
            close = NULL;
    }
    if (close)
        buf_printf(&names, "; did you mean %s?", close);
    return err_set(e, ERR_USAGE,
                   "%s:%zu: stage '%s': the estimate covers none of the offers that fit (it is for "
                   "%s); add their accelerator or instance type to it",
                   p->world.spec->file, estimate->line ? estimate->line : s->line, s->name,
                   names.len ? buf_str(&names) : "accelerators of the model's table");
}

/* Whether an offer that meets all conditions may be used: it is of a cloud that is left out, or was
 * refused, where none may. */
static bool any_allowed(const struct plan_world *w, const struct spec_resources *r)
{
    const struct catalog_kind *k = w->catalog->kinds;
    const struct catalog_offer *o;
    uint32_t j = 0;

    while ((o = next_meeting(w, r, (int)CONDITIONS, &k, &j)))
        if (!w->allows || w->allows(w->context, k, o, false) || w->allows(w->context, k, o, true))
            return true;
    return false;
}

static int explain_allowed(const struct plan_problem *p, const struct spec_stage *s, struct err *e)
{
    return err_set(
        e, ERR_NOFIT,
        "%s:%zu: stage '%s': none of the offers that fit may be used: they are of clouds "
        "that are left out, or were refused",
        p->world.spec->file, s->line, s->name);
}

int eligible_explain_none(const struct plan_problem *p, size_t stage, struct err *e)
{
    const struct spec_stage *s = p->stages[stage].spec;
    AUTO_CLEAR(buf) struct buf why;

    buf_init(&why, 4000);
    for (size_t i = 0; i < s->n_alternatives; i++)
        if (first_failing(&p->world, &s->alternatives[i]) == CONDITIONS)
            return any_allowed(&p->world, &s->alternatives[i]) ? explain_estimate(p, s, e)
                                                               : explain_allowed(p, s, e);
    explain_alternative(&p->world, &s->alternatives[0],
                        first_failing(&p->world, &s->alternatives[0]), &why);
    if (s->n_alternatives > 1)
        buf_printf(&why, " (and nothing in the other %zu alternatives)", s->n_alternatives - 1);
    return err_set(e, ERR_USAGE, "%s:%zu: stage '%s': %s", p->world.spec->file,
                   s->alternatives[0].line ? s->alternatives[0].line : s->line, s->name,
                   buf_str(&why));
}
