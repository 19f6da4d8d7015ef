/* Any JSON as a stored model of run times: what is taken predicts without harm, and written again
 * it is the same. */
#include "base/json.h"
#include "estimate/fit.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All features numbers, then all the same text. */
static void predict(const struct fit *f, const char *text)
{
    struct fit_value at[FIT_FEATURES_MAX];
    struct fit_prediction p;
    struct err e = {0};
    size_t n;
    const char *const *names = fit_features(f, &n);

    assert(n > 0 && n <= FIT_FEATURES_MAX);
    for (size_t i = 0; i < n; i++)
        at[i] = (struct fit_value){.name = names[i], .text = text, .number = 3};
    if (fit_predict(f, at, n, &p, &e) == 0)
        assert(isfinite(p.predicted_s) && p.outside >= 1);
    assert(fit_predict(f, at, n - 1, &p, &e) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_JSON json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    struct err e = {0};

    if (!root)
        return 0;
    AUTO(fit) struct fit *f = fit_from_json(root, &e);
    if (!f) {
        assert(e.kind == ERR_USAGE && *e.text);
        return 0;
    }
    predict(f, NULL);
    predict(f, "a");
    AUTO_JSON json_t *first = fit_to_json(f);
    AUTO(fit) struct fit *g = fit_from_json(first, &e);
    assert(g);
    AUTO_JSON json_t *second = fit_to_json(g);
    assert(json_equal(first, second));
    return 0;
}
