#include "broker/pipeline/economics.h"

#include "base/auto.h"
#include "base/money.h"

#include <stdio.h>

static void stay(struct economics_set *s, const char *why)
{
    snprintf(s->why, sizeof s->why, "%.199s", why);
}

static void weigh(struct lineage *g, const struct economics_terms *terms, struct economics_set *s)
{
    AUTO_CLEAR(lineage_need) struct lineage_need need = {0};
    struct err e = {0};

    s->keep_usd_per_month = (double)s->only_bytes / 1e9 * terms->gb_month_usd;
    double keep_usd = s->keep_usd_per_month * terms->months;
    s->keep_microusd = money_from_usd(keep_usd < MONEY_MAX_USD ? keep_usd : MONEY_MAX_USD);
    if (lineage_need(g, s->node, &need, &e) < 0) {
        stay(s, e.text);
        return;
    }
    s->replay_microusd = need.cost_microusd;
    s->replay_s = need.runtime_s;
    s->replay_jobs = need.n;
    if (s->only_bytes == 0)
        stay(s, "nothing is its alone");
    else if (!need.priced)
        stay(s, "the cost of its jobs is unknown");
    else
        s->goes = s->replay_microusd < s->keep_microusd;
}

void economics_weigh(struct lineage *g,
                     const struct economics_terms *terms,
                     struct economics_set *sets,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sets[i].goes = false;
        sets[i].why[0] = '\0';
        weigh(g, terms, &sets[i]);
        if (sets[i].goes)
            g->nodes[sets[i].node].there = false;
    }
}
