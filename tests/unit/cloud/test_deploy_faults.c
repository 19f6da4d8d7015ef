/* Functions deployed and destroyed while every call may fail: schedules of faults drawn from seeds,
 * and a kill -9 at every call. Afterwards nothing is left in the account, and what others have
 * there is as it was. SEEDS=N: so many schedules; FIRST_SEED=N: from that one on. */
#include "base/mem.h"
#include "broker/machine/resources.h"
#include "cloud_model.h"
#include "tap.h"
#include "world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How each platform's model is started, and what is deployed there. */
struct setting {
    struct cloud_model_kind kind;
    const char *cloud, *region;
    struct deploy_function function; /* but its name */
    int calls_min;                   /* of a deployment and its end, without faults */
    const char *theirs;              /* what the model's state says of what is others' */
};

/* A zip with an empty file "bootstrap", by PKZIP's application note, and another one. */
static const unsigned char zip[] = {
    'P', 'K', 3, 4,  10, 0,   0,   0,   0,   0,   0,   0,   33,  0,   0,   0,   0,   0,   0,   0,
    0,   0,   0, 0,  0,  0,   9,   0,   0,   0,   'b', 'o', 'o', 't', 's', 't', 'r', 'a', 'p', 'P',
    'K', 1,   2, 10, 0,  10,  0,   0,   0,   0,   0,   0,   0,   33,  0,   0,   0,   0,   0,   0,
    0,   0,   0, 0,  0,  0,   0,   9,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,   0,   0, 0,  0,  'b', 'o', 'o', 't', 's', 't', 'r', 'a', 'p', 'P', 'K', 5,   6,   0,   0,
    0,   0,   1, 0,  1,  0,   55,  0,   0,   0,   39,  0,   0,   0,   0,   0};

static const struct deploy_variable variables[] = {{"TRADEWIND_STORE", "s3://gradients/shirts/all"},
                                                   {"TRADEWIND_WORKERS", "3"}};
static const struct deploy_store others[] = {{"", "gradients-london", "shirts/"}};

static const struct setting aws = {
    .kind = {.server = "lambda",
             .driver = "aws",
             .region = "us-west-2",
             .variables = {{"AWS_ACCESS_KEY_ID", "AKIDMODEL"},
                           {"AWS_SECRET_ACCESS_KEY", "model/secret+key"},
                           {"AWS_ENDPOINT_URL", "URL"},
                           {"AWS_EC2_METADATA_DISABLED", "true"}}},
    .cloud = "aws",
    .region = "us-west-2",
    .function = {.deployment = "shirts",
                 .in = {"", "gradients", "shirts/all/"},
                 .others = others,
                 .n_others = 1,
                 .variables = variables,
                 .n_variables = 2,
                 .memory_mb = 1024,
                 .timeout_s = 300,
                 .disk_mb = 512,
                 .zip = zip,
                 .zip_bytes = sizeof zip},
    .calls_min = 25,
    .theirs = "<Id>theirs</Id>",
};

static const struct deploy_variable gs_variables[] = {
    {"TRADEWIND_STORE", "gs://gradients/shirts/all"}, {"TRADEWIND_WORKERS", "3"}};
static const struct setting google = {
    .kind = {.server = "cloudrun",
             .driver = "aws",
             .region = "us-west1",
             .variables = {{"GOOGLE_APPLICATION_CREDENTIALS", "DIR/credentials"},
                           {"GOOGLE_CLOUD_PROJECT", "model-project"},
                           {"CLOUDSDK_API_ENDPOINT_OVERRIDES_RUN", "URL/"},
                           {"CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM", "URL/"},
                           {"CLOUDSDK_API_ENDPOINT_OVERRIDES_EVENTARC", "URL/"},
                           {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", "URL/storage/v1/"},
                           {"CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER", "URL/"}},
             .credentials =
                 "{\"type\": \"authorized_user\", \"client_id\": \"c\", \"client_secret\": \"s\","
                 " \"refresh_token\": \"refresh-me\", \"token_uri\": \"URL/token\"}"},
    .cloud = "gcp",
    .region = "us-west1",
    .function = {.deployment = "shirts",
                 .in = {"", "gradients", "shirts/all/"},
                 .variables = gs_variables,
                 .n_variables = 2,
                 .memory_mb = 1024,
                 .timeout_s = 300,
                 .image = "us-docker.pkg.dev/model-project/tradewind/aggregator:1"},
    .calls_min = 25,
    .theirs = "user:ann@example.com",
};

static char token[] = "a token that must not be shown";
static const struct deploy_variable az_variables[] = {
    {"TRADEWIND_STORE", "az://gradients/rounds/shirts/all"}, {"TRADEWIND_WORKERS", "3"}};
static const struct setting azure = {
    .kind = {.server = "containerapps",
             .driver = "aws",
             .region = "westus2",
             .variables = {{"AZURE_TENANT_ID", "11111111-2222-3333-4444-555555555555"},
                           {"AZURE_CLIENT_ID", "66666666-7777-8888-9999-000000000000"},
                           {"AZURE_CLIENT_SECRET", "model/secret+key"},
                           {"AZURE_SUBSCRIPTION_ID", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"},
                           {"AZURE_AUTHORITY_HOST", "URL"},
                           {"AZURE_RESOURCE_MANAGER_ENDPOINT", "URL"}}},
    .cloud = "azure",
    .region = "westus2",
    .function = {.deployment = "shirts",
                 .in = {"gradients", "rounds", "shirts/all/"},
                 .variables = az_variables,
                 .n_variables = 2,
                 .memory_mb = 1024,
                 .timeout_s = 300,
                 .disk_mb = 1024,
                 .image = "docker.io/example/aggregator:1",
                 .token = {token}},
    .calls_min = 25,
    .theirs = "theirs",
};

/* ---- one process ---- */

static void open_party(struct resource_party *p, struct cloud_model *m, const char *home)
{
    struct err e = {0};
    const struct cloud_options o = cloud_model_options(m, home, "other");

    *p = (struct resource_party){.options = {.home = home,
                                             .outside = o.outside,
                                             .now_ms = o.now_ms,
                                             .context = o.context,
                                             .seed = o.seed}};
    p->records = machines_open(home, &e);
    if (!p->records) {
        printf("# records: %s\n", e.text);
        _exit(1);
    }
    machines_relax(p->records);
}

static int deploy(struct resource_party *p,
                  const struct setting *s,
                  unsigned memory_mb,
                  struct err *e)
{
    struct deploy_function f = s->function;
    AUTO_MEM char *name = mem_printf("%s-shirts-all", machines_owner(p->records));

    f.name = name;
    f.memory_mb = memory_mb;
    return deployed_deploy(p, s->cloud, s->region, &f, e);
}

/* Deploys, changes something, and destroys, as far as faults let it. */
static void work(struct cloud_model *m, const struct setting *s, const char *home)
{
    struct resource_party p;
    struct err e = {0};

    open_party(&p, m, home);
    for (int i = 0; i < 3 && deploy(&p, s, 1024, &e) < 0; i++)
        *m->now_ms += 5000;
    deploy(&p, s, 2048, &e);
    deployed_destroy(&p, "shirts", &e);
    resource_party_clear(&p);
    machines_free(p.records);
}

/* A child works, killed at a call where m->kill_at says so. 1: it was killed; 0: it ended; -1. */
static int work_apart(struct cloud_model *m, const struct setting *s, const char *home)
{
    int status;

    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        work(m, s, home);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return 1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* ---- a later process ---- */

/* `geo destroy` and `machines cleanup`, until both find nothing. Faults end some time. */
static bool clean_up(struct cloud_model *m, const char *home, struct err *e)
{
    struct resource_party p;
    bool is_clean = false;

    open_party(&p, m, home);
    for (int i = 0; i < 12 && !is_clean; i++) {
        struct resource_cleanup how = {0};
        if (i == 4)
            cloud_model_do(m, "{\"settings\": {\"faults\": 0}}");
        *e = (struct err){0};
        is_clean = deployed_destroy(&p, "shirts", e) == 0 && deployed_cleanup(&p, &how, e) == 0 &&
                   !how.open;
        *m->now_ms += 45000;
    }
    resource_party_clear(&p);
    machines_free(p.records);
    return is_clean;
}

static bool is_empty(struct cloud_model *m, const struct setting *s, char *out, size_t room)
{
    AUTO_JSON json_t *state = cloud_model_state(m);
    AUTO_MEM char *all = json_dumps(json_object_get(state, "notifications"), 0);
    AUTO_MEM char *left = json_dumps(json_object_get(state, "left"), 0);
    bool has_theirs = !s->theirs || (all && strstr(all, s->theirs));

    snprintf(out, room, "%s%s", left, has_theirs ? "" : ", others' settings are lost");
    return strcmp(left, "{}") == 0 && has_theirs;
}

/* ---- schedules ---- */

static bool schedule(struct cloud_model *m, const struct setting *s, unsigned seed, char what[800])
{
    struct world w;
    struct err e = {0};
    char left[300];
    double faults = seed % 5 == 0 ? 0 : 0.05 * (1 + seed % 7);

    world_init(&w, "aws");
    cloud_model_begin(m,
                      "{\"seed\": %u, \"faults\": %g, \"lag_s\": %d, \"skew_s\": %d, \"page\": %d,"
                      " \"others\": true, \"slow_s\": %d}",
                      seed, faults, seed % 4 * 10, seed % 3 == 1 ? 1200 : 0, seed % 3 ? 50 : 1,
                      seed % 2 * 8);
    m->kill_at = seed % 2 ? (long)(seed * 2654435761u >> 26) + 1 : 0;
    m->kill_after = seed % 4 == 1;
    int ended = work_apart(m, s, w.home);
    m->kill_at = 0;
    bool is_clean = clean_up(m, w.home, &e), nothing = is_empty(m, s, left, sizeof left);
    snprintf(what, 800, "%s, %s%s, left %s",
             ended < 0 ? "failed"
             : ended   ? "killed"
                       : "ended",
             is_clean ? "clean" : "not clean: ", is_clean ? "" : e.text, left);
    world_clear(&w);
    return ended >= 0 && is_clean && nothing;
}

static void schedules(struct cloud_model *m, const struct setting *s)
{
    const char *n_text = getenv("SEEDS"), *first_text = getenv("FIRST_SEED");
    unsigned n = n_text ? (unsigned)atoi(n_text) : 80;
    unsigned first = first_text ? (unsigned)atoi(first_text) : 1;
    char what[800];

    for (unsigned seed = first; seed < first + n; seed++) {
        bool good = schedule(m, s, seed, what);
        CHECK(good, "%s, seed %u: %s", s->cloud, seed, what);
    }
}

/* ---- a kill at every call ---- */

static void kills(struct cloud_model *m, const struct setting *s, bool after)
{
    int n = 0;

    for (long at = 1;; at++, n++) {
        struct world w;
        struct err e = {0};
        char left[300];
        world_init(&w, "aws");
        cloud_model_begin(m, "{\"seed\": 1, \"faults\": 0, \"lag_s\": 10, \"others\": true}");
        m->kill_at = at;
        m->kill_after = after;
        int ended = work_apart(m, s, w.home);
        m->kill_at = 0;
        bool is_clean = clean_up(m, w.home, &e), nothing = is_empty(m, s, left, sizeof left);
        world_clear(&w);
        if (ended < 0 || !is_clean || !nothing) {
            CHECK(false, "%s, killed at call %ld: %s, left %s", s->cloud, at, e.text, left);
            return;
        }
        if (ended == 0)
            break;
    }
    CHECK(n >= s->calls_min, "%s, killed %s each of %d calls: nothing is left", s->cloud,
          after ? "after" : "before", n);
}

/* ---- without faults ---- */

struct told {
    char text[2000];
};

static int keep_done(void *context,
                     const struct deploy_resource *r,
                     const char *done,
                     struct err *e)
{
    struct told *t = context;

    (void)e;
    snprintf(t->text + strlen(t->text), sizeof t->text - strlen(t->text), "%s %s, ", r->kind, done);
    return 0;
}

/* Whether every line of the text ends with this. */
static bool all_are(const struct told *t, const char *done)
{
    size_t n = 0;

    for (const char *line = t->text; *line; line = strchr(line, ',') + 2, n++) {
        size_t length = strcspn(line, ","), end = strlen(done);
        if (length < end || strncmp(line + length - end, done, end) != 0)
            return false;
    }
    return n > 2;
}

static void repeats(struct cloud_model *m, const struct setting *s)
{
    struct world w;
    struct resource_party p;
    struct err e = {0};
    struct told t = {0};
    char left[300];

    world_init(&w, "aws");
    cloud_model_begin(m, "{\"others\": true}");
    open_party(&p, m, w.home);
    p.watch = (struct deploy_watch){.tell = keep_done, .context = &t};
    CHECK(deploy(&p, s, 1024, &e) == 0 && all_are(&t, "created"), "%s: deployed: %s%s", s->cloud,
          t.text, e.text);
    t.text[0] = '\0';
    CHECK(deploy(&p, s, 1024, &e) == 0 && all_are(&t, "unchanged"), "again: nothing changes");
    t.text[0] = '\0';
    CHECK(deployed_prune(&p, "shirts", &e) == 0 && !*t.text, "nothing else is there");
    t.text[0] = '\0';
    CHECK(deploy(&p, s, 2048, &e) == 0 && strstr(t.text, " updated") &&
              strstr(t.text, " unchanged"),
          "with more memory: what differs is updated: %s", t.text);
    t.text[0] = '\0';
    CHECK(deployed_destroy(&p, "others", &e) == 0 && !*t.text, "another training's: nothing");
    CHECK(deployed_destroy(&p, "shirts", &e) == 0 && all_are(&t, "deleted"), "destroyed: %s%s",
          t.text, e.text);
    t.text[0] = '\0';
    CHECK(deployed_destroy(&p, "shirts", &e) == 0 && !*t.text, "again: nothing to do");
    CHECK(is_empty(m, s, left, sizeof left), "nothing is left: %s", left);
    resource_party_clear(&p);
    machines_free(p.records);
    world_clear(&w);
}

struct shown {
    int n;
    bool has_token;
};

static int keep_call(void *context, const char *line, struct err *e)
{
    struct shown *x = context;

    (void)e;
    x->n++;
    x->has_token = x->has_token || strstr(line, token) || strstr(line, "model/secret");
    return 0;
}

static void dry_runs(struct cloud_model *m, const struct setting *s)
{
    struct world w;
    struct resource_party p;
    struct err e = {0};
    struct shown shown = {0};
    char left[300];

    world_init(&w, "aws");
    cloud_model_begin(m, "{\"others\": true}");
    open_party(&p, m, w.home);
    p.watch = (struct deploy_watch){.call = keep_call, .context = &shown};
    CHECK(deploy(&p, s, 1024, &e) == 0 && shown.n >= 5 && !shown.has_token &&
              is_empty(m, s, left, sizeof left),
          "%s: a dry run shows %d calls, without secrets, and changes nothing: %s", s->cloud,
          shown.n, e.text);
    resource_party_clear(&p);
    machines_free(p.records);
    world_clear(&w);
}

/* A home whose records are lost, but not its owner's name: only the tags tell. */
static int forget(void *context, const struct deploy_resource *r, struct err *e)
{
    struct deploy_resource gone = *r;

    gone.state = DEPLOY_GONE;
    return deployed_note(context, &gone, e);
}

static int count(void *context,
                 const struct deploy_resource *r,
                 enum resource_finding finding,
                 const char *why,
                 struct err *e)
{
    (void)r;
    (void)e;
    *(int *)context += finding == RESOURCE_ORPHAN && !why;
    return 0;
}

static void orphans(struct cloud_model *m, const struct setting *s)
{
    struct world w;
    struct resource_party p;
    struct err e = {0};
    int found = 0;
    char left[300];
    struct resource_cleanup how = {.dry_run = true, .tell = count, .context = &found};

    world_init(&w, "aws");
    cloud_model_begin(m, "{\"others\": true, \"page\": 1}");
    open_party(&p, m, w.home);
    deploy(&p, s, 1024, &e);
    CHECK(deployed_cleanup(&p, &how, &e) == 0 && found == 0, "%s: what is deployed is no orphan",
          s->cloud);
    deployed_each(p.records, NULL, forget, p.records, &e);
    CHECK(deployed_cleanup(&p, &how, &e) == 0 && found > 2 && !is_empty(m, s, left, sizeof left),
          "without records, a dry run finds %d by their tags", found);
    how.dry_run = false;
    CHECK(deployed_cleanup(&p, &how, &e) == 0 && is_empty(m, s, left, sizeof left),
          "and a cleanup deletes them: %s%s", left, e.text);
    resource_party_clear(&p);
    machines_free(p.records);
    world_clear(&w);
}

static void test(const struct setting *s)
{
    struct cloud_model model;

    cloud_model_start(&model, &s->kind);
    if (!getenv("SEEDS")) {
        repeats(&model, s);
        dry_runs(&model, s);
        orphans(&model, s);
        kills(&model, s, false);
        kills(&model, s, true);
    }
    schedules(&model, s);
    cloud_model_stop(&model);
}

int main(void)
{
    test(&aws);
    test(&google);
    test(&azure);
    return TAP_DONE();
}
