#include "random_case.h"

#include "base/auto.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TRANSFER_COLUMNS                                                                           \
    "src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,gbit_per_s,rtt_ms\n"
#define STORAGE_COLUMNS                                                                            \
    "cloud,region,class,usd_per_gb_month,usd_per_1000_read,usd_per_1000_write,usd_per_1000_list\n"

unsigned random_below(uint64_t *state, unsigned n)
{
    /* splitmix64: the same numbers on every machine. */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

static bool one_in(struct random_case *c, unsigned n)
{
    return random_below(&c->state, n) == 0;
}

static const char *const clouds[] = {"aws", "gcp", "lambda"};
static const char *const regions[] = {"east", "west", "east-2", "south", "east-3", "west-2"};

static void make_offers(struct random_case *c,
                        unsigned n_clouds,
                        unsigned n_regions,
                        unsigned n_kinds)
{
    static const double prices[] = {0.5, 1, 1, 2, 2.5, 4, 0.000001, 30};
    static const double spots[] = {0.2, 0.5, 1, 1.25, 3};
    static const char *const kinds[] = {"a1,4,16,,", "b1,8,32,,", "g1,8,60,V100,1",
                                        "g2,16,90,A100,1", "g8,96,900,A100,8"};

    unsigned first_kind = random_below(&c->state, 5);

    buf_puts(&c->offers, "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,"
                         "accelerator_count,network_gbps,price_usd_per_hour,spot_usd_per_hour,"
                         "preemptions_per_hour\n");
    for (unsigned i = 0; i < n_clouds; i++)
        for (unsigned r = 0; r < n_regions; r++)
            for (unsigned i_kind = 0; i_kind < n_kinds; i_kind++) {
                unsigned k = (i_kind + first_kind) % 5;
                unsigned zones = one_in(c, 4) ? 2 : 1;
                if (one_in(c, 3) && !(i == 0 && r == 0))
                    continue;
                for (unsigned z = 0; z < zones; z++) {
                    buf_printf(&c->offers, "%s,%s,%s,%s,,%g,", clouds[i], regions[r],
                               zones == 1 ? ""
                               : z        ? "zb"
                                          : "za",
                               kinds[k], prices[random_below(&c->state, 8)]);
                    if (!one_in(c, 3))
                        buf_printf(&c->offers, "%g", spots[random_below(&c->state, 5)]);
                    buf_puts(&c->offers, one_in(c, 3) ? ",0.3\n" : one_in(c, 4) ? ",0\n" : ",\n");
                }
            }
}

static void make_transfers(struct random_case *c, unsigned n_clouds)
{
    static const double prices[] = {0, 0.01, 0.02, 0.05, 0.09, 0.12};
    static const char *const speeds[] = {"", "0.5", "1", "5", "20"};

    buf_puts(&c->transfers, TRANSFER_COLUMNS);
    for (unsigned i = 0; i < n_clouds; i++) {
        buf_printf(&c->transfers, "%s,*,internet,*,%g,0,%s,%u\n", clouds[i],
                   prices[random_below(&c->state, 6)], speeds[random_below(&c->state, 5)],
                   random_below(&c->state, 3) * 40);
        if (one_in(c, 2))
            buf_printf(&c->transfers, "%s,*,internet,*,%g,10,,\n", clouds[i],
                       prices[random_below(&c->state, 6)]);
        if (!one_in(c, 6))
            buf_printf(&c->transfers, "%s,*,=,*,%g,0,%s,%u\n", clouds[i],
                       prices[random_below(&c->state, 6)], speeds[random_below(&c->state, 5)],
                       random_below(&c->state, 2) * 20);
        if (one_in(c, 3))
            buf_printf(&c->transfers, "%s,east,%s,west,%g,0,%s,5\n", clouds[i],
                       clouds[random_below(&c->state, n_clouds)],
                       prices[random_below(&c->state, 6)], speeds[random_below(&c->state, 5)]);
    }
    buf_puts(&c->storage, STORAGE_COLUMNS "aws,*,standard,0.023,,,\ngcp,east,standard,0.5,,,\n");
}

static void make_inputs(struct random_case *c, unsigned stage, unsigned n_outputs)
{
    if (stage > 0 && one_in(c, 3))
        return; /* all outputs of what it needs */
    buf_puts(&c->pipeline, "inputs:\n");
    bool any = false;
    for (unsigned u = 0; u < stage; u++)
        if (one_in(c, 2)) {
            buf_printf(&c->pipeline, "  - {from: s%u.o%u}\n", u,
                       random_below(&c->state, n_outputs));
            any = true;
        }
    if (one_in(c, 3) || !any)
        buf_puts(&c->pipeline, "  - {from: s3://bucket/base, size: 30}\n");
    if (one_in(c, 4))
        buf_puts(&c->pipeline, "  - {from: s3://bucket/east, size: 12, place: aws/east}\n");
    if (one_in(c, 5))
        buf_puts(&c->pipeline, "  - {from: gs://bucket/far, size: 4, place: gcp/north}\n");
    if (one_in(c, 6))
        buf_puts(&c->pipeline, "  - {from: lake:/notes, size: 0.5}\n");
}

static void make_estimate(struct random_case *c)
{
    switch (random_below(&c->state, 5)) {
    case 0:
        buf_printf(&c->pipeline, "estimate: {hours: %u, setup: 30}\n",
                   1 + random_below(&c->state, 4));
        break;
    case 1:
        buf_puts(&c->pipeline, "estimate: {hours: {V100: 4, A100: 2, g8: 0.5, a1: 9}}\n");
        break;
    case 2:
        buf_puts(&c->pipeline,
                 "estimate: {work: 100, rate: {vcpu: 0.001, V100: {base: 0.02, parallel: 0.9}, "
                 "A100: 0.03}}\n");
        break;
    case 3:
        buf_printf(&c->pipeline, "estimate: {seconds: %u}\n", random_below(&c->state, 40));
        break;
    default:
        break; /* guessed: one hour */
    }
}

static void make_stage(struct random_case *c, unsigned i, unsigned n_outputs)
{
    static const char *const resources[] = {"{accelerators: [V100, A100]}", "{cpus: 8+}",
                                            "{use_spot: true}", "{cloud: aws}",
                                            "{any_of: [{accelerators: A100}, {cpus: 4}]}"};

    buf_printf(&c->pipeline, "---\nname: s%u\n", i);
    if (i && one_in(c, 2)) {
        buf_puts(&c->pipeline, "needs: [");
        bool any = false;
        for (unsigned u = 0; u < i; u++)
            if (one_in(c, 2)) {
                buf_printf(&c->pipeline, "%ss%u", any ? ", " : "", u);
                any = true;
            }
        buf_puts(&c->pipeline, "]\n");
    }
    make_inputs(c, i, n_outputs);
    buf_puts(&c->pipeline, "outputs:\n");
    for (unsigned o = 0; o < n_outputs; o++)
        buf_printf(&c->pipeline, "  - {name: o%u, size: %u%s}\n", o, random_below(&c->state, 4) * 9,
                   one_in(c, 4) ? ", keep: 10" : "");
    make_estimate(c);
    if (one_in(c, 2))
        buf_printf(&c->pipeline, "resources: %s\n", resources[random_below(&c->state, 5)]);
    if (one_in(c, 3))
        buf_puts(&c->pipeline, "checkpoint: 10m\n");
    if (one_in(c, 5))
        buf_puts(&c->pipeline, "num_nodes: 2\n");
}

static int write_file(const char *dir, const char *name, const struct buf *b, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/%s", dir, name);
    FILE *f = fopen(path, "w");

    if (!f || fputs(buf_str(b), f) < 0 || fclose(f) != 0)
        return err_set(e, ERR_IO, "cannot write %s", path);
    return 0;
}

static int load(struct random_case *c, const char *dir, struct err *e)
{
    mkdir(dir, 0700);
    if (write_file(dir, "offers.csv", &c->offers, e) < 0 ||
        write_file(dir, "transfers.csv", &c->transfers, e) < 0 ||
        write_file(dir, "storage.csv", &c->storage, e) < 0)
        return -1;
    c->spec = spec_parse("random.yaml", buf_str(&c->pipeline), c->pipeline.len, dir, NULL, NULL, e);
    c->catalog = c->spec ? catalog_open_dir(dir, e) : NULL;
    c->config = c->catalog ? config_load(dir, e) : NULL;
    c->throughputs = c->config ? throughputs_load(NULL, e) : NULL;
    return c->throughputs ? 0 : -1;
}

int random_case_make(struct random_case *c, uint64_t seed, const char *dir, struct err *e)
{
    *c = (struct random_case){.state = seed};
    buf_init(&c->offers, 1 << 20);
    buf_init(&c->transfers, 1 << 20);
    buf_init(&c->storage, 1 << 20);
    buf_init(&c->pipeline, 1 << 20);
    /* Small enough for the exhaustive solver: many stages see few offers, many places few stages.
     */
    bool wide = one_in(c, 5);
    unsigned n_stages = 1 + random_below(&c->state, wide ? 2 : 5);
    unsigned n_clouds = wide ? 3 : 1 + random_below(&c->state, n_stages > 3 ? 2 : 3);
    unsigned n_kinds = wide ? 2 : n_stages > 3 ? 1 + random_below(&c->state, 2) : 4;
    make_offers(c, n_clouds, wide ? 6 : 2, n_kinds);
    make_transfers(c, n_clouds);
    buf_printf(&c->pipeline, "name: random%s\n", one_in(c, 4) ? "\nexecution: parallel" : "");
    unsigned n_outputs = 1 + random_below(&c->state, 2);
    for (unsigned i = 0; i < n_stages; i++)
        make_stage(c, i, n_outputs);
    c->market = (enum plan_market)random_below(&c->state, 3);
    return load(c, dir, e);
}

int random_case_load(struct random_case *c,
                     const char *dir,
                     const char *pipeline,
                     const char *offers,
                     const char *config,
                     struct err *e)
{
    *c = (struct random_case){0};
    buf_init(&c->offers, 1 << 20);
    buf_init(&c->transfers, 1 << 20);
    buf_init(&c->storage, 1 << 20);
    buf_init(&c->pipeline, 1 << 20);
    buf_puts(&c->offers, offers);
    buf_puts(&c->transfers, TRANSFER_COLUMNS);
    buf_puts(&c->storage, STORAGE_COLUMNS);
    buf_puts(&c->pipeline, pipeline);
    mkdir(dir, 0700);
    AUTO_CLEAR(buf) struct buf text;
    buf_init(&text, 1 << 16);
    buf_puts(&text, config);
    return write_file(dir, "config.yaml", &text, e) < 0 ? -1 : load(c, dir, e);
}

void random_case_clear(struct random_case *c)
{
    throughputs_free(c->throughputs);
    config_free(c->config);
    catalog_free(c->catalog);
    spec_free(c->spec);
    buf_clear(&c->offers);
    buf_clear(&c->transfers);
    buf_clear(&c->storage);
    buf_clear(&c->pipeline);
}
