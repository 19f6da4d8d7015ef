/* market_figures HISTORIES: replays the published figures 5 and 6 for six models in the histories
 * of a home (HOME/market/histories), 3,420 simulations; prints the CPU seconds that took, once the
 * histories were open. */
#include "base/csv.h"
#include "base/mem.h"
#include "estimate/throughput.h"
#include "market/paper.h"
#include "market/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FILE_MAX_BYTES ((size_t)1 << 30)

static const char *const models[] = {"A3C",
                                     "CycleGAN",
                                     "LM (batch size 80)",
                                     "Recommendation (batch size 8192)",
                                     "ResNet-18 (batch size 256)",
                                     "ResNet-50 (batch size 128)"};
static const double durations[] = {0.125, 0.25, 0.5, 1, 2, 4, 8};

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int replay(const struct market_paper *p,
                  const struct throughputs *speeds,
                  const char *model,
                  double *sum,
                  struct err *e)
{
    double per_s[MARKET_PAPER_GPUS_MAX] = {0};

    for (size_t i = 0; i < p->n_gpus; i++)
        per_s[i] = throughputs_get(speeds, model, p->gpus[i]);
    AUTO(market_paper_model) struct market_paper_model *m = market_paper_model_new(p, per_s, e);
    if (!m)
        return -1;
    for (size_t s = 0; s < MARKET_N_STRATEGIES; s++)
        *sum += market_paper_mean(m, (enum market_strategy)s, 4).cost_usd;
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)
        *sum += market_paper_dynamic_gain(m, durations[i]);
    return 0;
}

static int figures(const struct market *m, const struct throughputs *speeds, struct err *e)
{
    double begin_s = cpu_s(), sum = 0;
    AUTO(market_paper)
    struct market_paper *p = market_paper_new(m, "us-east-1", &(struct market_starts){0}, e);

    if (!p)
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (replay(p, speeds, models[i], &sum, e) < 0)
            return -1;
    printf("%.6f\n", cpu_s() - begin_s);
    return sum > 0 ? 0 : err_set(e, ERR_NOFIT, "nothing cost anything");
}

static int run(const char *path, struct err *e)
{
    size_t len;
    AUTO_MEM char *bytes = gzip_read(path, FILE_MAX_BYTES, &len, e);
    AUTO(market) struct market *m = bytes ? market_open_bytes(path, bytes, len, NULL, e) : NULL;
    AUTO(throughputs) struct throughputs *speeds = m ? throughputs_load(NULL, e) : NULL;

    return speeds ? figures(m, speeds, e) : -1;
}

int main(int argc, char **argv)
{
    struct err e = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: market_figures HISTORIES\n");
        return EXIT_FAILURE;
    }
    if (run(argv[1], &e) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "market_figures: %s\n", e.text);
    return EXIT_FAILURE;
}
