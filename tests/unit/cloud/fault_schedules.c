#include "fault_schedules.h"

#include "base/mem.h"
#include "broker/machine/machines.h"
#include "tap.h"
#include "world.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN 1
#define LAUNCH_TRIES 4
#define ATTEMPTS 3
#define POLLS 400
#define POLL_MS 15000

/* The model of the cloud that is tested. */
struct bench {
    const struct fault_schedules *of;
    struct cloud_model model;
};

/* One process with a home, and the model's region. */
struct party {
    const struct fault_schedules *of;
    struct cloud_model *model;
    const char *home;
    struct machines *records;
    struct cloud *cloud;
    struct machine_provisioner provisioner;
};

static void fail(const char *what, const char *why)
{
    printf("# %s: %s\n", what, why);
    fflush(stdout);
    _exit(1);
}

static void party_open(struct party *p, struct bench *b, const char *home)
{
    struct cloud_model *m = &b->model;
    struct err e = {0};

    *p = (struct party){.of = b->of, .model = m, .home = home};
    p->records = machines_open(home, &e);
    if (!p->records)
        fail("records", e.text);
    machines_relax(p->records);
    struct cloud_options o = cloud_model_options(m, home, machines_owner(p->records));
    p->cloud = cloud_open(&o, &e);
    if (!p->cloud)
        fail("cloud", e.text);
    p->provisioner = (struct machine_provisioner){p->records, p->cloud, 0, cloud_model_now, m};
}

static void party_close(struct party *p)
{
    cloud_free(p->cloud);
    machines_free(p->records);
}

/* ---- work: two stages, each on a machine of its own ---- */

static bool passes(enum cloud_failure f)
{
    return f == CLOUD_THROTTLE || f == CLOUD_TRANSIENT || f == CLOUD_UNKNOWN;
}

static void release(struct party *p, struct machine *m)
{
    struct cloud_error e;

    for (int i = 0; i < POLLS && m->state != MACHINE_GONE; i++) {
        machine_release(&p->provisioner, m, "its work is over", &e);
        *p->model->now_ms += POLL_MS;
    }
}

/* As machines.h tells callers of machine_launch to do. 1: a machine. */
static int provide(struct party *p, const struct machine_order *order, struct machine *out)
{
    struct cloud_error e;

    for (int i = 0; i < LAUNCH_TRIES; i++) {
        if (machine_launch(&p->provisioner, order, out, &e) == 0)
            return 1;
        if (e.failure == CLOUD_INVALID)
            fail("launch", e.err.text);
        if (!passes(e.failure))
            break;
        *p->model->now_ms += 5000;
    }
    if (out->state != MACHINE_GONE)
        release(p, out);
    return 0;
}

/* The first attempt leaves the zone to EC2, later ones take one after the other. */
static const char *zone_of(struct party *p,
                           const struct cloud_request *q,
                           unsigned attempt,
                           char (*zones)[CLOUD_ZONE_BYTES])
{
    struct cloud_error e;
    size_t n;

    if (attempt == 1 || cloud_zones(p->cloud, q, zones, 3, &n, &e) < 0)
        return NULL;
    return zones[attempt % n];
}

static void work_stage(struct party *p, int stage, bool spot)
{
    for (unsigned attempt = 1; attempt <= ATTEMPTS; attempt++) {
        struct machine m;
        struct cloud_error e;
        char token[32], zones[3][CLOUD_ZONE_BYTES];
        snprintf(token, sizeof token, "run-1-%d-%u", stage, attempt);
        struct machine_order order = {
            .request = world_request(token), .stage = stage, .attempt = attempt};
        order.request.run = RUN;
        order.request.job = 0;
        order.request.provider = p->of->kind->driver;
        order.request.region = p->of->kind->region;
        order.request.instance_type = p->of->instance_type;
        order.request.accelerator = NULL;
        order.request.zone = NULL;
        order.request.spot = spot;
        order.request.zone = zone_of(p, &order.request, attempt, zones);
        if (!provide(p, &order, &m))
            continue;
        for (int i = 0; i < 8 && m.state < MACHINE_RUNNING; i++) {
            *p->model->now_ms += POLL_MS;
            machine_look(&p->provisioner, &m, &e);
        }
        release(p, &m);
        if (m.state == MACHINE_GONE && strcmp(m.facts.instance_type, p->of->instance_type) != 0)
            fail("record", "it does not say any more what the machine was");
        return;
    }
}

static void work(struct bench *b, const char *home, unsigned seed)
{
    struct party p;

    party_open(&p, b, home);
    work_stage(&p, 0, seed % 3 == 0);
    work_stage(&p, 1, seed % 2 == 0);
    party_close(&p);
}

/* ---- a later process cleans up ---- */

static int is_over(void *context, int64_t run, int64_t job, struct err *e)
{
    (void)context;
    (void)job;
    (void)e;
    return run == RUN;
}

static int count_leftover(
    void *context, const char *kind, const char *id, const char *why, struct err *e)
{
    (void)kind;
    (void)id;
    (void)why;
    (void)e;
    ++*(int *)context;
    return 0;
}

/* As machines cleanup: until nothing is left twice, a while apart. Faults end some time. */
static bool clean_up(struct bench *b, const char *home)
{
    struct party p;
    int quiet = 0;

    party_open(&p, b, home);
    for (int i = 0; i < 60 && quiet < 3; i++) {
        struct machine_cleanup how = {.is_over = is_over};
        struct cloud_error why;
        struct err e = {0};
        int left = 0;
        if (i == 20)
            cloud_model_do(&b->model, "{\"settings\": {\"faults\": 0}}");
        bool is_quiet = machine_reconcile(&p.provisioner, &how, &e) == 0 && how.open == 0 &&
                        cloud_clean(p.cloud, false, count_leftover, &left, &why) == 0 && !left;
        quiet = is_quiet ? quiet + 1 : 0;
        *b->model.now_ms += 45000;
    }
    party_close(&p);
    return quiet >= 3;
}

/* Nothing is left in the account, and there never were two machines for one token. */
static bool is_empty(struct bench *b, char *out, size_t room)
{
    AUTO_JSON json_t *state = cloud_model_state(&b->model);
    json_t *left = json_object_get(state, "left");
    json_int_t twins = json_integer_value(json_object_get(state, "twins"));
    char *text = json_dumps(left, 0);

    snprintf(out, room, "%lld twins, left %s", (long long)twins, text);
    free(text);
    return twins == 0 && json_object_size(left) == 0;
}

/* ---- schedules ---- */

/* A child works, killed at a call where the model says so. 1: it was killed; 0: it ended;
 * -1: it failed. */
static int work_apart(struct bench *b, const char *home, unsigned seed)
{
    int status;

    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        work(b, home, seed);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return 1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static bool schedule(struct bench *b, unsigned seed, char *what, size_t room)
{
    struct cloud_model *model = &b->model;
    struct world w;
    char left[600];
    /* Every third has a clock that is wrong by 20 minutes, every fifth a region without faults and
     * a zone without room. */
    int skew_s = seed % 3 == 1 ? 1200 : seed % 6 == 2 ? -1200 : 0;
    double faults = seed % 5 == 0 ? 0 : 0.05 * (1 + seed % 7);

    world_init(&w, b->of->kind->driver);
    cloud_model_begin(model,
                      "{\"seed\": %u, \"faults\": %g, \"lag_s\": %d, \"skew_s\": %d, \"page\": %d,"
                      " \"capacity\": {\"%s\": %d}, \"vcpus\": %d}",
                      seed, faults, seed % 4 * 10, skew_s, seed % 3 ? 1000 : 1, b->of->zone,
                      seed % 5 ? 9 : 0, seed % 11 ? 32 : 4);
    if (seed % 4 == 3)
        cloud_model_do(model, "{\"detach\": true}");
    /* Half of them are killed somewhere. */
    model->kill_at = seed % 2 ? (long)(seed * 2654435761u >> 26) + 1 : 0;
    model->kill_after = seed % 4 == 1;
    int ended = work_apart(b, w.home, seed);
    model->kill_at = 0;
    cloud_model_do(model, "{\"detach\": false}");
    bool is_clean = clean_up(b, w.home), nothing = is_empty(b, left, sizeof left);
    snprintf(what, room, "%s, %s, %s",
             ended < 0 ? "failed"
             : ended   ? "killed"
                       : "ended",
             is_clean ? "clean" : "not clean", left);
    world_clear(&w);
    return ended >= 0 && is_clean && nothing;
}

static void schedules(struct bench *b)
{
    const char *n_text = getenv("SEEDS"), *first_text = getenv("FIRST_SEED");
    unsigned n = n_text ? (unsigned)atoi(n_text) : 200;
    unsigned first = first_text ? (unsigned)atoi(first_text) : 1;
    char what[800];

    for (unsigned seed = first; seed < first + n; seed++) {
        bool good = schedule(b, seed, what, sizeof what);
        CHECK(good, "seed %u: %s", seed, what);
    }
}

/* ---- a kill at every call ---- */

static void kills(struct bench *b, bool after)
{
    struct cloud_model *model = &b->model;
    char left[600];
    int n = 0;

    for (long at = 1;; at++, n++) {
        struct world w;
        world_init(&w, b->of->kind->driver);
        cloud_model_begin(model, "{\"seed\": 1, \"faults\": 0, \"lag_s\": 10}");
        model->kill_at = at;
        model->kill_after = after;
        int ended = work_apart(b, w.home, 6);
        model->kill_at = 0;
        bool is_clean = clean_up(b, w.home), nothing = is_empty(b, left, sizeof left);
        world_clear(&w);
        if (ended < 0 || !is_clean || !nothing) {
            CHECK(false, "killed at call %ld: %s, %s", at, is_clean ? "clean" : "not clean", left);
            return;
        }
        if (ended == 0)
            break;
    }
    CHECK(n >= b->of->calls_min, "killed %s each of %d calls: no twins, nothing is left",
          after ? "after" : "before", n);
}

int fault_schedules_run(const struct fault_schedules *s)
{
    struct bench b = {.of = s};

    cloud_model_start(&b.model, s->kind);
    schedules(&b);
    kills(&b, false);
    kills(&b, true);
    cloud_model_stop(&b.model);
    return TAP_DONE();
}
