#include "broker/learn/profile.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/learn/models.h"
#include "lake/job/job.h"
#include "tap.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
    char base[40];
    char *home;
    struct lake *lake;
};

static struct template *template_of(const char *epochs)
{
    const char *const words[] = {"train", "--epoch", epochs, "--rate", "0.1"};
    struct err e = {0};

    return template_new(words, 5, &e);
}

static int extend(const struct world *w,
                  const char *name,
                  const char *epochs,
                  double cpus,
                  double mem_mb,
                  struct err *e)
{
    AUTO(template) struct template *t = template_of(epochs);
    const struct profile_sizes c = {&cpus, 1}, m = {&mem_mb, 1};
    int lock = broker_profile_lock(w->home, e);
    int result = lock < 0 ? -1 : broker_profile_extend(w->home, name, t, &c, &m, e);

    close(lock);
    return result;
}

/* ---- storage ---- */

static void names(void)
{
    static const char *const good[] = {"a", "mnist-2.x_Y", "9"};
    static const char *const bad[] = {"",    "-a",   ".a", "a/b",     "..",
                                      "a b", "show", "ls", "predict", "fit"};
    struct err e = {0};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(broker_profile_name_check(good[i], &e) == 0, "a name: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(broker_profile_name_check(bad[i], &e) < 0 && e.kind == ERR_USAGE, "none: %s", e.text);
}

static void sizes(void)
{
    AUTO_CLEAR(profile_sizes) struct profile_sizes s = {0};

    profile_sizes_add(&s, 2);
    profile_sizes_add(&s, 0.5);
    profile_sizes_add(&s, 2);
    profile_sizes_add(&s, 1);
    CHECK(s.n == 3 && s.values[0] == 0.5 && s.values[1] == 1 && s.values[2] == 2,
          "sizes are sorted, each once");
}

static void kept(const struct world *w)
{
    struct err e = {0};

    AUTO(broker_profile) struct broker_profile *none = broker_profile_load(w->home, "mnist", &e);
    CHECK(!none && e.kind == ERR_NOTFOUND, "there is none yet: %s", e.text);
    CHECK(extend(w, "mnist", "{1,2}", 2, 512, &e) == 0, "made: %s", e.text);
    CHECK(extend(w, "mnist", "{2,5}", 0.5, 512, &e) == 0, "extended: %s", e.text);
    AUTO(broker_profile) struct broker_profile *p = broker_profile_load(w->home, "mnist", &e);
    CHECK(p && p->cpus.n == 2 && p->cpus.values[0] == 0.5 && p->cpus.values[1] == 2 &&
              p->mems_mb.n == 1 && p->mems_mb.values[0] == 512 && !p->fit,
          "sizes of both: %s", e.text);
    CHECK(p && p->template->combinations == 3 && strcmp(p->template->written[2], "{1,2,5}") == 0,
          "values of both");
    AUTO(broker_profile) struct broker_profile *slip = broker_profile_load(w->home, "mnits", &e);
    CHECK(!slip && e.kind == ERR_NOTFOUND && strstr(e.text, "mnist"), "nearest: %s", e.text);
    const char *const other[] = {"test", "--epoch", "{1,2}"};
    AUTO(template) struct template *t = template_new(other, 3, &e);
    const struct profile_sizes one = {(double[]){1}, 1};
    CHECK(broker_profile_extend(w->home, "mnist", t, &one, &one, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "another command"),
          "another command: %s", e.text);
}

/* Many at once: nothing that one added is lost. */
static void together(const struct world *w)
{
    struct err e = {0};

    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            struct err inner = {0};
            _exit(extend(w, "shared", "{1,2}", i + 1, 512, &inner) < 0);
        }
    for (int i = 0; i < 8; i++) {
        int status;
        wait(&status);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "one of eight");
    }
    AUTO(broker_profile) struct broker_profile *p = broker_profile_load(w->home, "shared", &e);
    CHECK(p && p->cpus.n == 8, "eight processes, eight sizes: %s", e.text);
}

static void damaged(const struct world *w)
{
    static const char *const texts[] = {
        "", "[]", "{\"template\": [\"a\"], \"cpus\": [], \"mems_mb\": [1]}",
        "{\"template\": [1], \"cpus\": [1], \"mems_mb\": [1]}",
        "{\"template\": [\"a\"], \"cpus\": [1], \"mems_mb\": [1], \"model\": {\"kind\": 3}}"};
    AUTO_MEM char *path = mem_printf("%s/profiles/bad.json", w->home);

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err e = {0};
        file_replace(path, texts[i], strlen(texts[i]), 0666, &e);
        AUTO(broker_profile) struct broker_profile *p = broker_profile_load(w->home, "bad", &e);
        CHECK(!p && e.kind == ERR_IO && strstr(e.text, "bad.json"), "damaged: %s", e.text);
    }
    unlink(path);
}

static int join_names(void *context, const char *name, struct err *e)
{
    (void)e;
    return buf_printf(context, "%s ", name);
}

static void listed(const struct world *w)
{
    AUTO_CLEAR(buf) struct buf b;
    struct err e = {0};

    buf_init(&b, 1000);
    CHECK(broker_profile_each(w->home, join_names, &b, &e) == 0 &&
              strcmp(buf_str(&b), "mnist shared ") == 0,
          "all of them: %s", buf_str(&b));
    CHECK(broker_profile_each("/nonexistent", join_names, &b, &e) == 0, "a home without any");
}

/* ---- learning ---- */

/* A finished job, so that runtime = 10 x epoch / cpus x factor. */
static void finish(
    const struct world *w, const char *epoch, const char *rate, double cpus, double factor)
{
    const char *const words[] = {"train", "--epoch", epoch, "--rate", rate};
    const struct lake_job_request r = {
        .command = words, .n_command = 5, .cpus = cpus, .memory_mb = 512};
    struct err e = {0};
    int64_t id;

    if (lake_job_submit(w->lake, &r, 1, &id, &e) < 0) {
        CHECK(false, "submitted: %s", e.text);
        return;
    }
    struct lake_job_change change = {.id = id,
                                     .to = LAKE_JOB_FINISHED,
                                     .exited = true,
                                     .runtime_s = 10 * strtod(epoch, NULL) / cpus * factor};
    if (lake_job_step(w->lake, &change, 1, &e) < 0)
        CHECK(false, "finished: %s", e.text);
}

static bool predicts(const struct broker_profile *p,
                     const struct template_setting *settings,
                     size_t n,
                     double want_s)
{
    AUTO_CLEAR(profile_values) struct profile_values v = {0};
    struct fit_value values[FIT_FEATURES_MAX] = {{.name = FIT_CPUS, .number = 1},
                                                 {.name = FIT_MEMORY, .number = 512}};
    struct fit_prediction out;
    struct err e = {0};

    if (broker_profile_values(p, settings, n, &v, &e) < 0) {
        printf("# %s\n", e.text);
        return false;
    }
    memcpy(values + 2, v.items, v.n * sizeof *v.items);
    if (fit_predict(p->fit, values, v.n + 2, &out, &e) < 0) {
        printf("# %s\n", e.text);
        return false;
    }
    return fabs(out.predicted_s / want_s - 1) < 0.01;
}

static void learns(const struct world *w)
{
    const struct template_setting ten[] = {{"epoch", "10"}};
    const struct template_setting usual[] = {{"epoch", "10"}, {"rate", "0.1"}};
    const struct template_setting rated[] = {{"epoch", "10"}, {"rate", "0.2"}};
    const struct template_setting slip[] = {{"epochs", "10"}};
    AUTO_CLEAR(profile_values) struct profile_values v = {0};
    struct err e = {0};
    AUTO(broker_profile) struct broker_profile *p = broker_profile_load(w->home, "mnist", &e);

    CHECK(broker_profile_learn(w->home, w->lake, p, &e) < 0 && e.kind == ERR_NOFIT,
          "no runs, no model: %s", e.text);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            finish(w, (const char *[]){"1", "2", "5"}[i], "0.1", 1 << k, 1);
    CHECK(broker_profile_learn(w->home, w->lake, p, &e) == 0, "nine runs: %s", e.text);
    CHECK(predicts(p, ten, 1, 100), "10 s for each epoch");
    CHECK(predicts(p, usual, 2, 100), "what is the same in all runs may be repeated");
    CHECK(broker_profile_values(p, rated, 2, &v, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "rate"),
          "but not changed: %s", e.text);
    profile_values_clear(&v);
    CHECK(broker_profile_values(p, slip, 1, &v, &e) < 0 && strstr(e.text, "did you mean epoch"),
          "a slip: %s", e.text);
    profile_values_clear(&v);
    CHECK(broker_profile_values(p, NULL, 0, &v, &e) < 0 && strstr(e.text, "--values epoch="),
          "what is missing: %s", e.text);
    AUTO(broker_profile) struct broker_profile *again = broker_profile_load(w->home, "mnist", &e);
    CHECK(again && again->fit && predicts(again, ten, 1, 100), "and it is kept");

    /* Runs that nobody profiled: twice the rate takes half the time. */
    finish(w, "1", "0.2", 1, 0.5);
    finish(w, "2", "0.2", 2, 0.5);
    finish(w, "5", "0.4", 4, 0.25);
    CHECK(broker_profile_learn(w->home, w->lake, p, &e) == 0 && predicts(p, rated, 2, 50),
          "another option that changes is learned: %s", e.text);
    CHECK(predicts(p, ten, 1, 100), "and is what the template says where nothing is said");
}

/* ---- models of a pipeline ---- */

static void models(const struct world *w)
{
    static const char text[] = "name: p\nrun: x\nestimate: {profile: mnist, args: {epoch: 10}}\n";
    struct err e = {0};
    AUTO(spec) struct spec *spec = spec_parse("p.yaml", text, strlen(text), NULL, NULL, NULL, &e);
    CHECK(spec != NULL, "a pipeline: %s", e.text);
    if (!spec)
        return;
    AUTO(broker_models) struct broker_models *m = broker_models_load(w->home, w->lake, spec, &e);
    const struct estimate_models *all = broker_models_get(m);
    CHECK(all && all->n == 2 && strcmp(all->items[0].name, "mnist") == 0 && all->items[0].fit &&
              all->items[0].n_usual == 1 && strcmp(all->items[0].usual[0].name, "rate") == 0 &&
              !all->items[1].fit,
          "the one that is asked for, and the names of the others: %s", e.text);
}

int main(void)
{
    struct world w = {.base = "/tmp/tw-profile-XXXXXX"};
    struct err e = {0};

    if (!mkdtemp(w.base))
        return EXIT_FAILURE;
    w.home = mem_printf("%s/home", w.base);
    AUTO_MEM char *url = mem_printf("dir:%s/objects", w.home);
    const struct lake_options options = {
        .home = w.home,
        .store = {.url = url},
        .caller = {.project = "default", .user = "ann", .admin = true},
    };
    names();
    sizes();
    kept(&w);
    together(&w);
    listed(&w);
    damaged(&w);
    w.lake = lake_open(&options, &e);
    CHECK(w.lake != NULL, "a lake: %s", e.text);
    if (w.lake) {
        learns(&w);
        models(&w);
    }
    lake_free(w.lake);
    file_remove_tree(w.base);
    free(w.home);
    return TAP_DONE();
}
