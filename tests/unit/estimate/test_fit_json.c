#include "estimate/fit_internal.h"

#include "base/json.h"
#include "simulate.h"
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static double product_truth(const struct simulate_run *run)
{
    return simulate_amdahl_cliff(run) * exp(0.5 * log(run->cpus) * log(run->epoch));
}

/* Through text and back; NULL when it cannot be read. */
static struct fit *through_text(const struct fit *f, struct err *e)
{
    AUTO_JSON json_t *root = fit_to_json(f);
    AUTO_MEM char *text = json_dumps(root, JSON_COMPACT);
    AUTO_JSON json_t *again = json_loads(text, 0, NULL);

    return fit_from_json(again, e);
}

static bool same_prediction(const struct fit *a, const struct fit *b, const struct fit_value *at)
{
    struct fit_prediction x, y;

    return fit_predict(a, at, 3, &x, NULL) == 0 && fit_predict(b, at, 3, &y, NULL) == 0 &&
           x.predicted_s == y.predicted_s && x.low_s == y.low_s && x.high_s == y.high_s &&
           x.outside == y.outside && memcmp(x.factor, y.factor, sizeof x.factor) == 0;
}

static void round_trip(void)
{
    static const struct {
        simulate_truth *truth;
        const char *kind;
    } cases[] = {
        {simulate_cliff, "memory-cliff"},
        {simulate_amdahl, "amdahl"},
        {simulate_capped, "amdahl-capped"},
        {simulate_amdahl_cliff, "amdahl+memory-cliff"},
        {product_truth, "amdahl+memory-cliff+interaction"},
    };
    struct simulate_profile p;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        struct fit_value far[3];
        uint64_t seed = 3;
        simulate_profile(&p, cases[i].truth, 1, 0.01, &seed);
        simulate_values(&(struct simulate_run){7, 3.3, 900}, far);
        AUTO(fit) struct fit *f = fit_new(p.runs, p.n, &e);
        CHECK(f && strstr(f->kind, cases[i].kind), "%s is fitted: %s", cases[i].kind,
              f ? f->kind : e.text);
        AUTO(fit) struct fit *g = f ? through_text(f, &e) : NULL;
        CHECK(g && strcmp(f->kind, g->kind) == 0 && fit_loo_error(f) == fit_loo_error(g) &&
                  f->r2 == g->r2 && same_prediction(f, g, p.values[4]) &&
                  same_prediction(f, g, far),
              "%s comes back exactly: %s", cases[i].kind, e.text);
        AUTO_JSON json_t *before = f ? fit_to_json(f) : NULL;
        AUTO_JSON json_t *after = g ? fit_to_json(g) : NULL;
        CHECK(before && json_equal(before, after), "%s is the same text again", cases[i].kind);
    }
}

/* Three runs with texts, and with numbers that never change. */
static struct fit *small_model(void)
{
    static const struct fit_value values[3][3] = {
        {{.name = "mode", .text = "a"}, {.name = "n", .number = 2}, {.name = "k", .number = 5}},
        {{.name = "mode", .text = "b"}, {.name = "n", .number = 2}, {.name = "k", .number = 5}},
        {{.name = "mode", .text = "b"}, {.name = "n", .number = 2}, {.name = "k", .number = 5}},
    };
    struct fit_run runs[3];

    for (int i = 0; i < 3; i++)
        runs[i] = (struct fit_run){
            .name = "r", .values = values[i], .n_values = 3, .runtime_s = i < 2 ? 1 : 2};
    return fit_new(runs, 3, NULL);
}

static void texts_and_unknowns(void)
{
    static const struct fit_value at[] = {
        {.name = "mode", .text = "a"}, {.name = "n", .number = 2}, {.name = "k", .number = 5}};
    AUTO(fit) struct fit *f = small_model();
    AUTO_JSON json_t *root = f ? fit_to_json(f) : NULL;
    AUTO_JSON json_t *box =
        json_pack("{s:[f,f],s:[s,s],s:[f,f]}", "k", 5.0, 5.0, "mode", "a", "b", "n", 2.0, 2.0);
    const json_t *coefficients = json_object_get(root, "coefficients");
    struct err e = {0};

    CHECK(json_equal(json_object_get(root, "box"), box), "the box has ranges and texts");
    CHECK(json_object_size(coefficients) == 4 && json_is_null(json_object_get(coefficients, "n")) &&
              json_is_number(json_object_get(coefficients, "mode=b")),
          "what the runs do not tell is null");
    AUTO(fit) struct fit *g = f ? through_text(f, &e) : NULL;
    CHECK(g && same_prediction(f, g, at), "and comes back: %s", e.text);
    json_t *mode = json_object_get(json_object_get(root, "box"), "mode");
    json_array_set_new(mode, 0, json_string("c"));
    AUTO(fit) struct fit *unsorted = fit_from_json(root, &e);
    CHECK(!unsorted && strstr(e.text, "sorted texts"), "texts out of order are refused");
}

/* Every way to be no model is refused, and none is a crash. */
static void refused(void)
{
    static const struct {
        const char *name, *path[3], *value;
    } cases[] = {
        {"another kind", {"kind"}, "\"cubic\""},
        {"no kind", {"kind"}, NULL},
        {"a kind that lacks its coefficients", {"kind"}, "\"interaction\""},
        {"a cliff without its place", {"kind"}, "\"memory-cliff\""},
        {"a cliff at 0", {"cliff_mb"}, "0"},
        {"no box", {"box"}, NULL},
        {"an empty box", {"box"}, "{}"},
        {"a box without memory", {"box", "memory_mb"}, NULL},
        {"a range of one number", {"box", "cpus"}, "[1]"},
        {"a range upside down", {"box", "cpus"}, "[2, 1]"},
        {"a range from 0", {"box", "cpus"}, "[0, 1]"},
        {"a range of texts that are not sorted", {"box", "cpus"}, "[\"b\", \"a\"]"},
        {"texts and numbers", {"box", "cpus"}, "[\"b\", 1]"},
        {"a feature too many", {"box", "zzz"}, "[1, 2]"},
        {"a feature without a name", {"box", ""}, "[1, 2]"},
        {"no coefficients", {"coefficients"}, NULL},
        {"a coefficient too few", {"coefficients", "epoch"}, NULL},
        {"a coefficient too many", {"coefficients", "zzz"}, "1"},
        {"a coefficient that is a text", {"coefficients", "epoch"}, "\"1\""},
        {"a serial share above 1", {"coefficients", "serial(cpus)"}, "1.5"},
        {"a negative sigma", {"interval", "sigma"}, "-1"},
        {"no degrees of freedom", {"interval", "df"}, "0"},
        {"far too many", {"interval", "df"}, "1000000000000"},
        {"a short inverse", {"interval", "inverse"}, "[1]"},
        {"an inverse of texts", {"interval", "inverse", "0"}, "\"1\""},
        {"no interval", {"interval"}, NULL},
        {"no error", {"loo_error"}, NULL},
        {"an error that is none", {"loo_error"}, "null"},
        {"no R2", {"r2"}, "null"},
        {"no runs", {"runs"}, "0"},
    };
    struct simulate_profile p;
    uint64_t seed = 3;

    simulate_profile(&p, simulate_amdahl_cliff, 1, 0.01, &seed);
    AUTO(fit) struct fit *f = fit_new(p.runs, p.n, NULL);
    for (size_t i = 0; f && i < sizeof cases / sizeof *cases; i++) {
        AUTO_JSON json_t *root = fit_to_json(f);
        json_t *at = root,
               *value = cases[i].value ? json_loads(cases[i].value, JSON_DECODE_ANY, NULL) : NULL;
        struct err e = {0};
        int last = cases[i].path[2] ? 2 : cases[i].path[1] ? 1 : 0;
        for (int k = 0; k < last; k++)
            at = json_object_get(at, cases[i].path[k]);
        if (json_is_array(at))
            json_array_set_new(at, 0, value);
        else if (value)
            json_object_set_new(at, cases[i].path[last], value);
        else
            json_object_del(at, cases[i].path[last]);
        AUTO(fit) struct fit *g = fit_from_json(root, &e);
        CHECK(!g && e.kind == ERR_USAGE && strstr(e.text, "fit it again"), "%s: %s", cases[i].name,
              e.text);
    }
    struct err e = {0};
    CHECK(!fit_from_json(NULL, &e) && e.kind == ERR_USAGE, "nothing at all: %s", e.text);
}

int main(void)
{
    round_trip();
    texts_and_unknowns();
    refused();
    return TAP_DONE();
}
