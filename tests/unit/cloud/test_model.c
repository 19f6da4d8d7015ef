/* Random calls, random troubles and a clock that moves, against a plain model of what is there: the
 * list is what may still bill, whatever happened before. The cloud is opened anew for every call,
 * as after a crash. */
#include "cloud/cloud.h"

#include "tap.h"
#include "world.h"

#include <string.h>

#define TOKENS 8
#define ROUNDS 40
#define STEPS 80

struct model {
    bool exists, spot;
    int64_t launched_ms, visible_ms, taken_ms, ended_ms; /* the last two: 0 = not */
};

struct game {
    struct world world;
    struct model machines[TOKENS];
    uint64_t random;
    int step, wrong;
};

static uint64_t draw(struct game *g, uint64_t n)
{
    g->random = g->random * 6364136223846793005u + 1442695040888963407u;
    return (g->random >> 33) % n;
}

enum trouble {
    NONE,
    CAPACITY,
    THROTTLE,
    LOST_BEFORE,
    LOST_AFTER,
    TERMINATE_FAILS,
    TERMINATE_LOST,
    SLOW_VISIBLE,
    TAKEN,
    LIST_FAILS,
    TROUBLES,
};

static const char *const texts[TROUBLES] = {
    [NONE] = "",
    [CAPACITY] = "capacity 1x",
    [THROTTLE] = "throttle 1x",
    [LOST_BEFORE] = "timeout-before-launch 1x",
    [LOST_AFTER] = "timeout-after-launch 1x",
    [TERMINATE_FAILS] = "terminate-fails 1x",
    [TERMINATE_LOST] = "timeout-after-terminate 1x",
    [SLOW_VISIBLE] = "slow-visible 25s 1x",
    [TAKEN] = "preempt-after 90s 1x",
    [LIST_FAILS] = "list-fails 1x",
};

static bool is_taken(const struct model *m, int64_t now_ms)
{
    return m->taken_ms && m->taken_ms <= now_ms && (!m->ended_ms || m->taken_ms < m->ended_ms);
}

static bool may_bill(const struct model *m, int64_t now_ms)
{
    return m->exists && !is_taken(m, now_ms) && !(m->ended_ms && m->ended_ms + 10000 <= now_ms);
}

static enum cloud_failure expect_launch(struct game *g, struct model *m, enum trouble t, bool spot)
{
    int64_t now_ms = g->world.now_ms;

    if (t == THROTTLE)
        return CLOUD_THROTTLE;
    if (t == LOST_BEFORE)
        return CLOUD_UNKNOWN;
    if (m->exists && m->spot != spot)
        return CLOUD_CONFLICT;
    if (!m->exists && t == CAPACITY)
        return CLOUD_CAPACITY;
    if (!m->exists)
        *m = (struct model){.exists = true,
                            .spot = spot,
                            .launched_ms = now_ms,
                            .visible_ms = t == SLOW_VISIBLE ? now_ms + 25000 : now_ms,
                            .taken_ms = spot && t == TAKEN ? now_ms + 90000 : 0};
    return t == LOST_AFTER ? CLOUD_UNKNOWN : CLOUD_FINE;
}

static enum cloud_failure expect_terminate(struct game *g, struct model *m, enum trouble t)
{
    int64_t now_ms = g->world.now_ms;

    if (t == THROTTLE)
        return CLOUD_THROTTLE;
    if (t == TERMINATE_FAILS)
        return CLOUD_TRANSIENT;
    if (m->exists && m->visible_ms <= now_ms && !m->ended_ms && !is_taken(m, now_ms))
        m->ended_ms = now_ms;
    return t == TERMINATE_LOST ? CLOUD_UNKNOWN : CLOUD_FINE;
}

static void expect_list(const struct game *g, char *out, size_t room)
{
    size_t at = 0;

    out[0] = 0;
    for (int i = 0; i < TOKENS; i++)
        if (may_bill(&g->machines[i], g->world.now_ms) &&
            g->machines[i].visible_ms <= g->world.now_ms)
            at += (size_t)snprintf(out + at, room - at, "t-%d ", i);
}

static bool looks_right(const struct game *g,
                        const struct model *m,
                        const struct cloud_machine *got)
{
    int64_t now_ms = g->world.now_ms;
    bool over = got->state == CLOUD_GONE || got->state == CLOUD_PREEMPTED;

    return over == !may_bill(m, now_ms) && (got->state == CLOUD_PREEMPTED) == is_taken(m, now_ms) &&
           got->launched_ms == m->launched_ms &&
           got->ended_ms == (is_taken(m, now_ms) ? m->taken_ms : m->ended_ms);
}

static void wrong(struct game *g, const char *call, int token, enum trouble t)
{
    printf("# step %d: %s of t-%d under \"%s\": %s\n", g->step, call, token, texts[t],
           world_error.err.text);
    g->wrong++;
}

static void check_list(struct game *g, struct cloud *c, enum trouble t)
{
    char expected[TOKENS * 8];

    expect_list(g, expected, sizeof expected);
    if (t == THROTTLE || t == LIST_FAILS)
        snprintf(expected, sizeof expected, "failed");
    if (strcmp(listed(c), expected) != 0)
        wrong(g, "list", -1, t);
}

static void play(struct game *g)
{
    enum trouble t = draw(g, 3) ? NONE : (enum trouble)draw(g, TROUBLES);
    int token = (int)draw(g, TOKENS);
    struct model *m = &g->machines[token];
    struct cloud_machine got;
    char name[16], text[64];

    g->world.now_ms += (int64_t)draw(g, 20000);
    snprintf(name, sizeof name, "t-%d", token);
    /* A text of its own each time: counts of an old one go on. */
    snprintf(text, sizeof text, "%s # %d", texts[t], g->step);
    g->world.options.troubles = text;
    AUTO(cloud) struct cloud *c = world_open(&g->world);
    struct cloud_request q = world_request(name);
    q.spot = draw(g, 4) != 0;
    switch (draw(g, 4)) {
    case 0:
        if (launch_as(c, &q, &got) != expect_launch(g, m, t, q.spot))
            wrong(g, "launch", token, t);
        break;
    case 1:
        if (terminate(c, name) != expect_terminate(g, m, t))
            wrong(g, "terminate", token, t);
        break;
    case 2: {
        bool seen = m->exists && m->visible_ms <= g->world.now_ms;
        enum cloud_failure failure = look(c, name, &got);
        if (failure != (t == THROTTLE ? CLOUD_THROTTLE
                        : seen        ? CLOUD_FINE
                                      : CLOUD_NOT_FOUND) ||
            (failure == CLOUD_FINE && !looks_right(g, m, &got)))
            wrong(g, "look", token, t);
        break;
    }
    default:
        check_list(g, c, t);
    }
}

int main(void)
{
    int steps = 0;
    struct game g = {.random = 20201};

    for (int round = 0; round < ROUNDS; round++) {
        world_init(&g.world, "sim");
        memset(g.machines, 0, sizeof g.machines);
        for (int i = 0; i < STEPS; i++, steps++) {
            g.step = steps;
            play(&g);
        }
        g.world.options.troubles = NULL;
        AUTO(cloud) struct cloud *c = world_open(&g.world);
        check_list(&g, c, NONE);
        world_clear(&g.world);
    }
    CHECK(g.wrong == 0, "%d random calls do what the model does", steps);
    return TAP_DONE();
}
