/* Long chains over many places against plain dynamic programming over (stage, place): far more
 * plans than can be tried, but a chain needs nothing cleverer. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "plan/internal.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A clock that stands still: no limit is ever over, however slow the machine is. */
static double stopped_clock(void)
{
    return 0;
}

#define STAGES 7

static int put(const char *dir, const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/%s", dir, name);
    FILE *f = fopen(path, "w");

    return f && fputs(text, f) >= 0 && fclose(f) == 0 ? 0 : -1;
}

static void write_catalog(const char *dir, uint64_t *state)
{
    AUTO_CLEAR(buf) struct buf offers, transfers;

    buf_init(&offers, 1 << 20);
    buf_init(&transfers, 1 << 20);
    buf_puts(&offers, "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,"
                      "accelerator_count,network_gbps,price_usd_per_hour,spot_usd_per_hour,"
                      "preemptions_per_hour\n");
    buf_puts(&transfers, "src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,"
                         "gbit_per_s,rtt_ms\n");
    for (unsigned c = 0; c < 4; c++) {
        for (unsigned r = 0; r < 9; r++)
            for (unsigned k = 0; k < 3; k++)
                if (random_below(state, 4))
                    buf_printf(&offers, "c%u,r%u,,k%u,4,16,GPU%u,1,,%u.%u,,\n", c, r, k, k,
                               random_below(state, 4), 1 + random_below(state, 9));
        buf_printf(&transfers, "c%u,*,internet,*,0.0%u,0,%u,50\n", c, random_below(state, 10),
                   1 + random_below(state, 5));
        buf_printf(&transfers, "c%u,*,=,*,0.0%u,0,%u,10\n", c, random_below(state, 3),
                   1 + random_below(state, 9));
        if (c == 0)
            buf_puts(&transfers, "c0,r1,=,r2,0.002,0,9,1\nc0,r3,internet,*,0.001,0,2,30\n");
    }
    if (put(dir, "offers.csv", buf_str(&offers)) < 0 ||
        put(dir, "transfers.csv", buf_str(&transfers)) < 0)
        abort();
}

static struct spec *make_chain(uint64_t *state, struct err *e)
{
    AUTO_CLEAR(buf) struct buf text;

    buf_init(&text, 1 << 16);
    buf_puts(&text, "name: chain\n");
    for (unsigned i = 0; i < STAGES; i++)
        buf_printf(&text,
                   "---\nname: s%u\noutputs: {o: %u}\n"
                   "estimate: {hours: {GPU0: %u, GPU1: %u, GPU2: %u}}\n",
                   i, random_below(state, 200), 1 + random_below(state, 9),
                   1 + random_below(state, 5), 1 + random_below(state, 3));
    return spec_parse("chain.yaml", buf_str(&text), text.len, NULL, NULL, NULL, e);
}

/* cost[k] of the stage at its k-th site: stage by stage, every pair of sites, every choice. */
static int64_t by_dynamic_programming(const struct plan_problem *p)
{
    int64_t *before = NULL, best = INT64_MAX;

    for (size_t s = 0; s < p->n_stages; s++) {
        const struct pstage *stage = &p->stages[s];
        int64_t *cost = mem_zero(stage->n_sites, sizeof *cost);
        for (size_t k = 0; k < stage->n_sites; k++) {
            const struct site *site = &stage->sites[k];
            cost[k] = INT64_MAX;
            for (size_t q = 0; q < (s ? p->stages[s - 1].n_sites : 1); q++) {
                struct transfer t = {0};
                if (s)
                    t = costmodel_move(p, &p->datasets[stage->datasets[0]],
                                       p->stages[s - 1].sites[q].place, site->place);
                int64_t moved = t.microusd;
                double input_s = t.seconds;
                for (size_t i = 0; i < site->n_choices && moved != NEVER; i++) {
                    struct outcome o;
                    if (!costmodel_outcome(stage, site, &site->choices[i], input_s, &o))
                        continue;
                    int64_t sum = (s ? before[q] : 0) + moved + o.compute_microusd;
                    cost[k] = sum < cost[k] ? sum : cost[k];
                }
            }
        }
        free(before);
        before = cost;
    }
    for (size_t k = 0; k < p->stages[STAGES - 1].n_sites; k++)
        best = before[k] < best ? before[k] : best;
    free(before);
    return best;
}

int main(void)
{
    char dir[] = "/tmp/tradewind-chain-XXXXXX";
    size_t n = getenv("TRADEWIND_SLOW") ? 10 : 60, wrong = 0, unproven = 0, sites = 0;
    uint64_t state = 3;

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    for (size_t i = 0; i < n; i++) {
        struct err e = {0};
        AUTO(arena) struct arena *arena = arena_new(1 << 20);
        struct guess_list guesses = {.arena = arena};
        write_catalog(dir, &state);
        AUTO(spec) struct spec *spec = make_chain(&state, &e);
        AUTO(catalog) struct catalog *catalog = catalog_open_dir(dir, &e);
        AUTO(config) struct config *config = config_load(dir, &e);
        AUTO(throughputs) struct throughputs *table = throughputs_load(NULL, &e);
        struct plan_world w = {.spec = spec,
                               .catalog = catalog,
                               .config = config,
                               .throughputs = table,
                               .max_hourly_usd = (double)INFINITY};
        AUTO(plan_problem) struct plan_problem *p = plan_problem_new(&w, &guesses, &e);
        struct plan_query q = plan_query_default(stopped_clock);
        struct plan_answer a = {0};
        if (!p || plan_solve(p, &q, &a, &e) < 0) {
            printf("# %s\n", e.text);
            wrong++;
            continue;
        }
        sites += p->stages[0].n_sites;
        wrong += a.plan.cost_microusd != by_dynamic_programming(p);
        unproven += a.status != PLAN_OPTIMAL;
        plan_answer_clear(&a);
    }
    CHECK(sites / n > 25, "%zu places a stage", sites / n);
    CHECK(wrong == 0, "the exact cost of %zu chains of %d stages is the one found stage by stage",
          n, STAGES);
    CHECK(unproven == 0, "and every one is proven");
    return TAP_DONE();
}
