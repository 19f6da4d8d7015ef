/* Rounds over a directory and, where STORE_ENDPOINT names a server, over a bucket: what is left,
 * what it cost, and that whatever happens each is averaged once. */
#include "fed/round.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "base/time.h"
#include "store/keyed.h"
#include "tap.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define NUMBERS 3
#define WORKERS_MAX 64
/* A lease that is over as soon as anybody looks; holders of it die in these tests. */
#define NO_LEASE_S 1e-4

static bool slow; /* sanitizers: fewer tries */

/* ---- a store that fails on demand ---- */

struct faults {
    atomic_int left; /* operations until one fails; negative = none does */
};

static bool allow(void *context, const char *operation)
{
    struct faults *f = context;

    (void)operation;
    return atomic_fetch_sub(&f->left, 1) != 1;
}

/* Dead processes do nothing any more, so that after the fault all fail. */
static bool allow_until(void *context, const char *operation)
{
    struct faults *f = context;

    (void)operation;
    return atomic_fetch_sub(&f->left, 1) > 1;
}

static struct store *open_at(const char *url, bool (*hook)(void *, const char *), void *context)
{
    struct err e = {0};
    struct store_settings settings = {
        .url = url,
        .endpoint = getenv("STORE_ENDPOINT"),
        .path_style = -1,
        .allow = hook,
        .context = context,
    };
    struct store *s = store_open(&settings, &e);

    if (!s) {
        printf("Bail out! %s\n", e.text);
        exit(1);
    }
    return s;
}

/* ---- inputs and means ---- */

/* Number k of worker w in a round; its mean is computed here in double. */
static float number(unsigned round, unsigned w, unsigned k)
{
    return (float)((double)(round + 1) * 0.1 + (double)w * 1.7 - (double)k * 0.3);
}

static int put(struct store *s, const char *key, const void *bytes, size_t n)
{
    return store_keyed_put(s, &(struct store_keyed_put){.key = key, .bytes = bytes, .n = n}, NULL);
}

static const char *push(
    struct store *s, const char *prefix, unsigned round, unsigned w, uint64_t samples)
{
    static _Thread_local char key[FED_ROUND_KEY];
    struct fed_input_key k = {
        .round = round, .worker = w, .samples = samples, .format = FED_RAW_F32};
    float numbers[NUMBERS];

    snprintf(k.prefix, sizeof k.prefix, "%s", prefix);
    for (unsigned i = 0; i < NUMBERS; i++)
        numbers[i] = number(round, w, i);
    if (fed_round_input_key(&k, key, NULL) < 0 || put(s, key, numbers, sizeof numbers) != 0)
        printf("Bail out! push\n");
    return key;
}

struct floats {
    float v[NUMBERS];
    size_t n;
};

static int collect(void *context, const void *bytes, size_t n, struct err *e)
{
    struct floats *f = context;

    if (n > sizeof f->v - f->n)
        return err_set(e, ERR_IO, "too long");
    memcpy((char *)f->v + f->n, bytes, n);
    f->n += n;
    return 0;
}

/* Whether the mean of the round is that of these workers, weighted by samples w + 1 or not. */
static bool is_mean(struct store *s, const char *prefix, unsigned round, unsigned n, bool weighted)
{
    struct floats f = {0};
    char key[FED_ROUND_KEY];
    struct store_keyed_get get = {.key = key, .sink = collect, .context = &f};

    fed_round_key(prefix, round, "mean", key);
    if (store_keyed_get(s, &get, NULL) < 0 || f.n != sizeof f.v)
        return false;
    for (unsigned k = 0; k < NUMBERS; k++) {
        double sum = 0, total = 0;
        for (unsigned w = 0; w < n; w++) {
            double weight = weighted ? w + 1 : 1;
            sum += weight * (double)number(round, w, k);
            total += weight;
        }
        /* B7: 2 n units in the last place; a rounding more where means of regions are averaged. */
        double bound = 2 * n * fabs(sum / total) * 0x1p-23;
        if (!(fabs((double)f.v[k] - sum / total) <= bound))
            return false;
    }
    return true;
}

static int count(void *context, const struct store_keyed *o, struct err *e)
{
    (void)o;
    (void)e;
    ++*(int *)context;
    return 0;
}

static int objects(struct store *s, const char *prefix)
{
    AUTO_MEM char *all = mem_printf("%s/", prefix);
    int n = 0;

    struct store_keyed_list list = {.prefix = all, .visit = count, .context = &n};
    return store_keyed_list(s, &list, NULL) < 0 ? -1 : n;
}

/* ---- keys ---- */

static void check_keys(void)
{
    static const struct {
        const char *key;
        bool good;
        unsigned round, worker;
        uint64_t samples;
        const char *prefix;
    } keys[] = {
        {"round-000007/in/worker-0003.f32", true, 7, 3, 0, ""},
        {"a/b/round-123456/in/worker-0000.w128.safetensors", true, 123456, 0, 128, "a/b"},
        {"p/round-000000/in/worker-9999.w9007199254740992.npy", true, 0, 9999, 9007199254740992,
         "p"},
        {"p/round-000000/in/worker-9999.w9007199254740993.npy", false, 0, 0, 0, ""},
        {"p/round-000000/in/worker-9999.w99999999999999999999.npy", false, 0, 0, 0, ""},
        {"p/round-000007/mean", false, 0, 0, 0, ""},
        {"p/round-000007/claim", false, 0, 0, 0, ""},
        {"p/round-7/in/worker-0003.f32", false, 0, 0, 0, ""},
        {"p/round-000007/in/worker-003.f32", false, 0, 0, 0, ""},
        {"p/round-000007/in/worker-0003", false, 0, 0, 0, ""},
        {"p/round-000007/in/worker-0003.w0.f32", false, 0, 0, 0, ""},
        {"p/round-000007/in/worker-0003.w5.x.f32", false, 0, 0, 0, ""},
        {"p/round-000007/in/worker-0003.txt", false, 0, 0, 0, ""},
        {"p/round-000007/out/worker-0003.f32", false, 0, 0, 0, ""},
        {"xround-000007/in/worker-0003.f32", false, 0, 0, 0, ""},
        {"", false, 0, 0, 0, ""},
        {"///", false, 0, 0, 0, ""},
    };
    char back[FED_ROUND_KEY];

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct fed_input_key k;
        bool good = fed_round_parse(keys[i].key, &k);
        CHECK(good == keys[i].good &&
                  (!good ||
                   (k.round == keys[i].round && k.worker == keys[i].worker &&
                    k.samples == keys[i].samples && strcmp(k.prefix, keys[i].prefix) == 0 &&
                    fed_round_input_key(&k, back, NULL) == 0 && strcmp(back, keys[i].key) == 0)),
              "key \"%s\"", keys[i].key);
    }
}

/* ---- plain rounds ---- */

static void check_plain(struct store *s)
{
    struct fed_aggregator a = {.store = s, .workers = 8, .lease_s = 60};
    struct fed_round_report report;
    struct err e = {0};
    char last[FED_ROUND_KEY] = "";

    for (unsigned round = 0; round < 3; round++) {
        struct store_tally sum = {0};
        unsigned waiting = 0, averaged = 0;
        for (unsigned w = 0; w < 8; w++) {
            const char *key = push(s, "plain/x", round, (w * 3 + 1) % 8, 0);
            snprintf(last, sizeof last, "%s", key);
            if (fed_round_event(&a, key, &report, &e) < 0)
                printf("# %s\n", e.text);
            waiting += report.outcome == FED_ROUND_WAITING && report.inputs == w + 1;
            averaged += report.outcome == FED_ROUND_AVERAGED;
            sum.lists += report.tally.lists;
            sum.reads += report.tally.reads;
            sum.writes += report.tally.writes;
        }
        CHECK(waiting == 7 && averaged == 1, "seven wait, the eighth averages: %u, %u", waiting,
              averaged);
        CHECK(sum.lists == 8 && sum.reads == 8 && sum.writes == 2,
              "B6, (5) and the claim: %d lists, %d reads, %d writes", (int)sum.lists,
              (int)sum.reads, (int)sum.writes);
        CHECK(is_mean(s, "plain/x", round, 8, false), "B7: the mean");
        CHECK(objects(s, "plain/x") == 1, "B8: one object is left: %d", objects(s, "plain/x"));
    }
    CHECK(fed_round_event(&a, last, &report, &e) == 0 && report.outcome == FED_ROUND_OVER &&
              objects(s, "plain/x") == 1,
          "an event that comes late finds it over");
    push(s, "plain/x", 2, 5, 0);
    CHECK(fed_round_event(&a, last, &report, &e) == 0 && report.outcome == FED_ROUND_OVER &&
              objects(s, "plain/x") == 1,
          "an input that comes late is removed");
    CHECK(fed_round_event(&a, "plain/x/round-000002/mean", &report, &e) == 0 &&
              report.outcome == FED_ROUND_IGNORED && report.tally.lists == 0,
          "other objects are no events");
    CHECK(fed_round_event(&a, "plain/x/round-000002/in/worker-0008.f32", &report, &e) < 0 &&
              e.kind == ERR_USAGE,
          "a worker too many: %s", e.text);
    fed_round_key("plain/x", 2, "mean", last);
    store_keyed_delete(s, last, NULL, NULL);
}

static void check_claims(struct store *s)
{
    struct fed_aggregator a = {.store = s, .workers = 2, .lease_s = 60};
    struct fed_round_report report;
    struct err e = {0};
    static const char body[] = "{\"worker\":0,\"token\":\"x\"}";

    char first[FED_ROUND_KEY], second[FED_ROUND_KEY];
    snprintf(first, sizeof first, "%s", push(s, "claims", 0, 0, 0));
    snprintf(second, sizeof second, "%s", push(s, "claims", 0, 1, 0));
    put(s, "claims/round-000000/claim", body, sizeof body - 1);
    CHECK(fed_round_event(&a, second, &report, &e) == 0 && report.outcome == FED_ROUND_CLAIMED &&
              objects(s, "claims") == 3,
          "another's claim is left alone");
    CHECK(fed_round_event(&a, first, &report, &e) < 0 && e.kind == ERR_RETRY &&
              objects(s, "claims") == 3,
          "one's own is looked at again later: %s", e.text);
    a.lease_s = NO_LEASE_S;
    /* Dates of lists have whole seconds. */
    usleep(store_kind(s)[0] == 'd' ? 5000 : 1100000);
    CHECK(fed_round_event(&a, second, &report, &e) == 0 && report.outcome == FED_ROUND_AVERAGED &&
              is_mean(s, "claims", 0, 2, false) && objects(s, "claims") == 1,
          "one that is too old is taken over %s", e.text);
    store_keyed_delete(s, "claims/round-000000/mean", NULL, NULL);
}

static void check_weights(struct store *s)
{
    struct fed_aggregator a = {.store = s, .workers = 3, .weighted = true};
    struct fed_round_report report = {0};

    for (unsigned w = 0; w < 3; w++)
        fed_round_event(&a, push(s, "weights", 0, w, w + 1), &report, NULL);
    CHECK(report.outcome == FED_ROUND_AVERAGED && is_mean(s, "weights", 0, 3, true), "by samples");
    /* Worker 2 tells one number, and then another. */
    push(s, "weights", 1, 2, 77);
    usleep(store_kind(s)[0] == 'd' ? 5000 : 1100000);
    push(s, "weights", 1, 2, 3);
    for (unsigned w = 0; w < 2; w++)
        fed_round_event(&a, push(s, "weights", 1, w, w + 1), &report, NULL);
    CHECK(is_mean(s, "weights", 1, 3, true) && objects(s, "weights") == 1,
          "written twice, the last counts, and both are deleted");
    store_keyed_delete(s, "weights/round-000001/mean", NULL, NULL);
}

/* ---- regions ---- */

struct up {
    struct fed_aggregator *global;
    unsigned averaged;
};

static int sent_up(void *context, const char *key, struct err *e)
{
    struct up *up = context;
    struct fed_round_report report;

    if (fed_round_event(up->global, key, &report, e) < 0)
        return -1;
    up->averaged += report.outcome == FED_ROUND_AVERAGED;
    return 0;
}

/* Regions of 1, 2 and 5 workers; worker w of all is of region 0, 1, 1, 2, ... */
static void check_regions(struct store *s, bool fanout)
{
    static const unsigned sizes[] = {1, 2, 5};
    static const char *const names[] = {"regions/r0", "regions/r1", "regions/r2"};
    struct fed_place up = {s, "regions/global"};
    struct fed_place places[] = {{s, names[0]}, {s, names[1]}, {s, names[2]}};
    struct fed_aggregator global = {.store = s, .workers = 3, .weighted = true};
    struct up state = {.global = &global};
    struct fed_round_report report;
    char key[FED_ROUND_KEY];
    struct err e = {0};

    if (fanout) {
        global.fanout = places;
        global.n_fanout = 3;
    }
    for (unsigned round = 0; round < 2; round++) {
        unsigned all = 0;
        for (unsigned region = 0; region < 3; region++) {
            struct fed_aggregator a = {.store = s,
                                       .workers = sizes[region],
                                       .up = &up,
                                       .up_index = region,
                                       .sent_up = sent_up,
                                       .context = &state};
            for (unsigned i = 0; i < sizes[region]; i++, all++) {
                /* The number is that of the worker among all, its place that in the region. */
                struct fed_input_key k = {.round = round, .worker = i, .format = FED_RAW_F32};
                float numbers[NUMBERS];
                for (unsigned j = 0; j < NUMBERS; j++)
                    numbers[j] = number(round, all, j);
                snprintf(k.prefix, sizeof k.prefix, "%s", names[region]);
                fed_round_input_key(&k, key, NULL);
                put(s, key, numbers, sizeof numbers);
                if (fed_round_event(&a, key, &report, &e) < 0)
                    printf("# %s\n", e.text);
            }
        }
        CHECK(state.averaged == round + 1, "the regions' events make one mean: %u", state.averaged);
        for (unsigned region = 0; region < 3 && fanout; region++)
            CHECK(is_mean(s, names[region], round, 8, false) && objects(s, names[region]) == 1,
                  "B13: the mean of all, in region %u, and nothing else", region);
        CHECK(fanout ? objects(s, "regions/global") == 0
                     : is_mean(s, "regions/global", round, 8, false) && objects(s, "regions") == 1,
              "B13: regions count as their workers do");
    }
    for (unsigned region = 0; region < 3; region++) {
        fed_round_key(names[region], 1, "mean", key);
        store_keyed_delete(s, key, NULL, NULL);
    }
    store_keyed_delete(s, "regions/global/round-000001/mean", NULL, NULL);
}

static void check_quorum(struct store *s)
{
    struct fed_aggregator a = {.store = s, .workers = 4, .quorum = 3};
    struct fed_round_report report = {0};

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned w = 0; w < 3; w++)
            fed_round_event(&a, push(s, "quorum", round, w, 0), &report, NULL);
        CHECK(report.outcome == FED_ROUND_AVERAGED && is_mean(s, "quorum", round, 3, false),
              "three of four are enough");
    }
    CHECK(fed_round_event(&a, push(s, "quorum", 0, 3, 0), &report, NULL) == 0 &&
              report.outcome == FED_ROUND_OVER && objects(s, "quorum") == 2,
          "the fourth comes late, and finds the means it needs");
    store_keyed_delete(s, "quorum/round-000000/mean", NULL, NULL);
    store_keyed_delete(s, "quorum/round-000001/mean", NULL, NULL);
}

/* Four workers of a region, two are enough; the others come when all is over. */
static void check_late_in_region(struct store *s, bool fanout)
{
    struct fed_place up = {s, "lr/global"}, home = {s, "lr/r"};
    struct fed_aggregator global = {.store = s,
                                    .workers = 1,
                                    .weighted = true,
                                    .keep_means = true,
                                    .fanout = &home,
                                    .n_fanout = fanout};
    struct up state = {.global = &global};
    struct fed_aggregator region = {
        .store = s, .workers = 4, .quorum = 2, .up = &up, .sent_up = sent_up, .context = &state};
    const char *means = fanout ? "lr/r" : "lr/global";
    struct fed_round_report report;
    struct err e = {0};
    char late[2][FED_ROUND_KEY];

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned w = 0; w < 2; w++)
            fed_round_event(&region, push(s, "lr/r", round, w, 0), &report, &e);
        CHECK(report.outcome == FED_ROUND_AVERAGED && is_mean(s, means, round, 2, false),
              "two of four are enough in a region %s", e.text);
    }
    for (unsigned round = 0; round < 2; round++) {
        unsigned over = 0;
        for (unsigned k = 0; k < 2; k++)
            snprintf(late[k], sizeof *late, "%s", push(s, "lr/r", round, 2 + k, 0));
        for (unsigned k = 0; k < 2; k++)
            over += fed_round_event(&region, late[k], &report, &e) == 0 &&
                    report.outcome == FED_ROUND_OVER;
        CHECK(over == 2 && state.averaged == 2, "two more are too late, and not averaged: %u, %u",
              over, state.averaged);
    }
    /* Of both rounds: "done" in the region, and the mean. */
    CHECK(is_mean(s, means, 0, 2, false) && is_mean(s, means, 1, 2, false) && objects(s, "lr") == 4,
          "the means they missed are there, and nothing that was late: %d", objects(s, "lr"));
    for (unsigned round = 0; round < 2; round++) {
        fed_round_key("lr/r", round, "done", late[0]);
        fed_round_key(means, round, "mean", late[1]);
        store_keyed_delete(s, late[0], NULL, NULL);
        store_keyed_delete(s, late[1], NULL, NULL);
    }
}

/* The third input comes when the first two are being averaged: after the list, which is the first
 * operation, and the claim. */
struct latecomer {
    struct store *good;
    unsigned operations;
};

static bool come_late(void *context, const char *operation)
{
    struct latecomer *l = context;

    (void)operation;
    if (++l->operations == 4)
        push(l->good, "meanwhile", 0, 2, 0);
    return true;
}

static void check_meanwhile(const char *url)
{
    AUTO(store) struct store *good = open_at(url, NULL, NULL);
    struct latecomer latecomer = {.good = good};
    AUTO(store) struct store *s = open_at(url, come_late, &latecomer);
    struct fed_aggregator a = {.store = s, .workers = 3, .quorum = 2, .threads = 1};
    struct fed_round_report report;
    struct err e = {0};
    char key[FED_ROUND_KEY];

    push(good, "meanwhile", 0, 0, 0);
    snprintf(key, sizeof key, "%s", push(good, "meanwhile", 0, 1, 0));
    CHECK(fed_round_event(&a, key, &report, &e) == 0 && report.outcome == FED_ROUND_AVERAGED &&
              report.inputs == 2 && report.tally.lists == 2,
          "two of three, and a second look %s", e.text);
    CHECK(is_mean(good, "meanwhile", 0, 2, false) && objects(good, "meanwhile") == 1,
          "what came meanwhile is gone: %d", objects(good, "meanwhile"));
    store_keyed_delete(good, "meanwhile/round-000000/mean", NULL, NULL);
}

/* A region's aggregator dies when its mean has gone up and come back; its event is delivered again
 * when the claim is still fresh. */
static void check_dead_region(struct store *s)
{
    struct fed_place up = {s, "dead/global"};
    struct fed_aggregator region = {.store = s, .workers = 2, .up = &up};
    struct fed_round_report report;
    struct err e = {0};
    static const char body[] = "{\"worker\":1,\"token\":\"x\"}";
    char first[FED_ROUND_KEY], second[FED_ROUND_KEY];

    snprintf(first, sizeof first, "%s", push(s, "dead/r", 0, 0, 0));
    snprintf(second, sizeof second, "%s", push(s, "dead/r", 0, 1, 0));
    put(s, "dead/r/round-000000/claim", body, sizeof body - 1);
    put(s, "dead/r/round-000000/mean", "12345678", 8);
    CHECK(fed_round_event(&region, first, &report, &e) == 0 &&
              report.outcome == FED_ROUND_CLAIMED && objects(s, "dead/r") == 4,
          "somebody may be about to end it");
    CHECK(fed_round_event(&region, second, &report, &e) < 0 && e.kind == ERR_RETRY,
          "whose own claim that is comes again: %s", e.text);
    region.lease_s = NO_LEASE_S;
    usleep(store_kind(s)[0] == 'd' ? 5000 : 1100000);
    CHECK(fed_round_event(&region, second, &report, &e) == 0 && report.outcome == FED_ROUND_OVER &&
              objects(s, "dead/r") == 1,
          "and ends the round: the mean alone is left");
    store_keyed_delete(s, "dead/r/round-000000/mean", NULL, NULL);
}

static void check_bad_input(struct store *s)
{
    struct fed_aggregator a = {.store = s, .workers = 2};
    struct fed_round_report report;
    struct err e = {0};

    push(s, "bad", 0, 0, 0);
    put(s, "bad/round-000000/in/worker-0001.f32", "12345678", 8);
    CHECK(fed_round_event(&a, "bad/round-000000/in/worker-0001.f32", &report, &e) < 0 &&
              e.kind == ERR_USAGE && strstr(e.text, "its shape is [2]"),
          "inputs that do not match: %s", e.text);
    CHECK(objects(s, "bad") == 2, "and nobody holds the round");
    CHECK(fed_round_event(&a, push(s, "bad", 0, 1, 0), &report, &e) == 0 &&
              report.outcome == FED_ROUND_AVERAGED && is_mean(s, "bad", 0, 2, false),
          "a better one, and it goes on");
    push(s, "bad", 1, 0, 0);
    put(s, "bad/round-000001/in/worker-0001.f16", "12345678", 8);
    CHECK(fed_round_event(&a, "bad/round-000001/in/worker-0001.f16", &report, &e) < 0 &&
              e.kind == ERR_USAGE,
          "formats that differ: %s", e.text);
    store_keyed_delete(s, "bad/round-000001/in/worker-0001.f16", NULL, NULL);
    store_keyed_delete(s, "bad/round-000001/in/worker-0000.f32", NULL, NULL);
    store_keyed_delete(s, "bad/round-000000/mean", NULL, NULL);
}

/* ---- everything at once ---- */

struct crowd {
    struct store *store;
    unsigned round, workers, times;
    atomic_int averaged, failed;
};

static int arrive(void *context, size_t i, struct err *e)
{
    struct crowd *c = context;
    struct fed_aggregator a = {.store = c->store, .workers = c->workers, .threads = 1};
    struct fed_round_report report;
    struct err why = {0};
    char key[FED_ROUND_KEY];

    (void)e;
    snprintf(key, sizeof key, "%s", push(c->store, "crowd", c->round, (unsigned)i % c->workers, 0));
    /* Events are delivered until they are done with. */
    for (unsigned tries = 0; tries < 1000; tries++) {
        if (fed_round_event(&a, key, &report, &why) == 0) {
            c->averaged += report.outcome == FED_ROUND_AVERAGED;
            return 0;
        }
        if (why.kind != ERR_RETRY)
            break;
        usleep(10000);
    }
    printf("# %s\n", why.text);
    c->failed++;
    return 0;
}

static void check_crowd(struct store *s)
{
    for (unsigned round = 0; round < (slow ? 2 : 5); round++) {
        struct crowd c = {.store = s, .round = round, .workers = 8};
        parallel_each(8, 8, arrive, &c, NULL);
        CHECK(c.averaged == 1 && c.failed == 0 && is_mean(s, "crowd", round, 8, false) &&
                  objects(s, "crowd") == 1,
              "eight at once, one averages: %d of %d", (int)c.averaged, objects(s, "crowd"));
    }
    /* Inputs written again after the mean may be left to later events, never averaged again. */
    struct crowd c = {.store = s, .round = 6, .workers = 8};
    parallel_each(16, 16, arrive, &c, NULL);
    CHECK(c.averaged == 1 && c.failed == 0 && is_mean(s, "crowd", 6, 8, false),
          "each twice, sixteen at once: %d", (int)c.averaged);
    for (unsigned round = 0; round < 7; round++) {
        char key[FED_ROUND_KEY];
        fed_round_key("crowd", round, "mean", key);
        store_keyed_delete(s, key, NULL, NULL);
    }
}

/* ---- every operation fails, or is the last ---- */

static void check_faults(const char *url, bool die)
{
    struct faults faults = {.left = -1};
    AUTO(store) struct store *good = open_at(url, NULL, NULL);
    AUTO(store) struct store *bad = open_at(url, die ? allow_until : allow, &faults);
    struct fed_aggregator a = {.store = bad, .workers = 3, .threads = 1, .lease_s = NO_LEASE_S};
    struct fed_round_report report;
    unsigned failed = 0, right = 0, tries = 0;
    bool more = true;

    for (int at = 1; more && at < 200; at += slow ? 3 : 1, tries++) {
        unsigned round = tries;
        struct err e = {0};
        char key[FED_ROUND_KEY];
        for (unsigned w = 0; w < 3; w++)
            snprintf(key, sizeof key, "%s", push(good, "faults", round, w, 0));
        atomic_store(&faults.left, at);
        more = fed_round_event(&a, key, &report, &e) < 0;
        failed += more;
        atomic_store(&faults.left, die ? 1000000 : -1);
        for (int i = 0; more && i < 5; i++) {
            usleep(2000);
            if (fed_round_event(&a, key, &report, &e) == 0)
                break;
        }
        right += is_mean(good, "faults", round, 3, false) && objects(good, "faults") == 1;
    }
    CHECK(failed > 10 / (slow ? 3 : 1) && right == tries,
          "%s at any of %u operations, the event comes again: %u right", die ? "dead" : "trouble",
          tries, right);
    AUTO_MEM char *remove = mem_printf("rm -rf %s/faults", url + strlen("dir:"));
    if (system(remove) != 0)
        printf("# %s fails\n", remove);
}

/* A region of two workers and a global aggregator; one of both is dead from some operation on,
 * until the worker's event comes again. */
static void check_region_faults(const char *url, bool fanout)
{
    struct faults faults = {.left = 1000000};
    AUTO(store) struct store *good = open_at(url, NULL, NULL);
    AUTO(store) struct store *bad = open_at(url, allow_until, &faults);
    struct fed_place home = {bad, "rf/r"}, top = {fanout ? good : bad, "rf/global"};
    struct fed_aggregator global = {.store = fanout ? bad : good,
                                    .workers = 1,
                                    .weighted = true,
                                    .threads = 1,
                                    .lease_s = NO_LEASE_S,
                                    .fanout = &home,
                                    .n_fanout = fanout};
    struct up state = {.global = &global};
    struct fed_aggregator region = {.store = fanout ? good : bad,
                                    .workers = 2,
                                    .threads = 1,
                                    .lease_s = NO_LEASE_S,
                                    .up = &top,
                                    .sent_up = sent_up,
                                    .context = &state};
    struct fed_round_report report;
    unsigned failed = 0, right = 0, round = 0;
    bool more = true;

    for (int at = 1; more && at < 200; at += slow ? 3 : 1, round++) {
        struct err e = {0};
        char key[FED_ROUND_KEY];
        push(good, "rf/r", round, 0, 0);
        snprintf(key, sizeof key, "%s", push(good, "rf/r", round, 1, 0));
        atomic_store(&faults.left, at);
        more = fed_round_event(&region, key, &report, &e) < 0;
        failed += more;
        atomic_store(&faults.left, 1000000);
        for (int i = 0; more && i < 5; i++) {
            usleep(2000);
            if (fed_round_event(&region, key, &report, &e) == 0)
                break;
        }
        right += is_mean(good, fanout ? "rf/r" : "rf/global", round, 2, false) &&
                 objects(good, "rf") == 1;
    }
    CHECK(failed > 5 / (slow ? 3 : 1) && right == round,
          "%s dead at any of %u operations, the event comes again: %u right",
          fanout ? "fan-out" : "a region", round, right);
    AUTO_MEM char *remove = mem_printf("rm -rf %s/rf", url + strlen("dir:"));
    if (system(remove) != 0)
        printf("# %s fails\n", remove);
}

/* A region that died after its mean went up, and comes again when all others have gone on. */
static void check_late_region(struct store *s)
{
    struct fed_place up = {s, "late/global"};
    struct fed_aggregator region = {.store = s, .workers = 1, .up = &up, .lease_s = NO_LEASE_S};
    struct fed_round_report report;
    struct err e = {0};

    const char *key = push(s, "late/r", 4, 0, 0);
    put(s, "late/r/round-000004/claim", "{}", 2);
    put(s, "late/global/round-000005/mean", "{}", 2);
    usleep(store_kind(s)[0] == 'd' ? 5000 : 1100000);
    CHECK(fed_round_event(&region, key, &report, &e) == 0 && objects(s, "late/r") == 0 &&
              objects(s, "late/global") == 1,
          "a mean that no worker waits for is not written again %s", e.text);
    store_keyed_delete(s, "late/global/round-000005/mean", NULL, NULL);
}

static void check_all(struct store *s)
{
    check_plain(s);
    check_claims(s);
    check_weights(s);
    check_regions(s, false);
    check_regions(s, true);
    check_quorum(s);
    check_late_in_region(s, false);
    check_late_in_region(s, true);
    check_dead_region(s);
    check_bad_input(s);
    check_crowd(s);
    check_late_region(s);
}

int main(void)
{
    /* In memory where there is such a thing: disks take their time to sync. */
    char dir[32];

    snprintf(dir, sizeof dir, "%s/test-round-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    slow = getenv("TRADEWIND_SLOW") != NULL;
    check_keys();
    if (!mkdtemp(dir))
        return 1;
    AUTO_MEM char *url = mem_printf("dir:%s", dir);
    AUTO(store) struct store *s = open_at(url, NULL, NULL);
    check_all(s);
    check_meanwhile(url);
    check_faults(url, false);
    check_faults(url, true);
    check_region_faults(url, false);
    check_region_faults(url, true);
    AUTO_MEM char *remove = mem_printf("rm -rf %s", dir);
    CHECK(system(remove) == 0, "removed");
    if (getenv("STORE_ENDPOINT")) {
        const char *base = getenv("STORE_BASE");
        AUTO_MEM char *in = mem_printf("%stradewind-rounds/tests", base ? base : "s3://");
        AUTO(store) struct store *bucket = open_at(in, NULL, NULL);
        CHECK(store_probe(bucket, NULL) == 0, "a bucket");
        check_all(bucket);
    }
    return TAP_DONE();
}
