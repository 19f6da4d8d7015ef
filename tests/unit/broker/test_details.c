#include "broker/core/details.h"

#include "base/mem.h"
#include "tap.h"

#include <string.h>

static void round_trip(void)
{
    struct spec_pair envs[] = {{"B", "2"}, {"A", "1 \"x\"\n"}, {"E", ""}};
    struct spec_pair submitter[] = {{"PATH", "/bin"}};
    const char *const secrets[] = {"TOKEN"};
    const char *const devices[] = {"nvidia:0 Tesla T4", "nvidia:1 Tesla T4"};
    const struct job_details d = {
        .envs = envs,
        .n_envs = 3,
        .submitter = submitter,
        .n_submitter = 1,
        .secrets = secrets,
        .n_secrets = 1,
        .on = "pool",
        .gpus = 2,
        .gpu_type = "T4",
        .devices = devices,
        .n_devices = 2,
        .stage = "train",
        .git_commit = "0123abcd",
        .git_dirty = true,
        .checkpoint_s = 90.5,
        .continues = 17,
    };
    AUTO_CLEAR(job_details) struct job_details back = {0};
    struct err e = {0};
    AUTO_MEM char *text = job_details_text(&d, &e);

    CHECK(text && job_details_parse(text, &back, &e) == 0, "reads back: %s", e.text);
    CHECK(back.n_envs == 3 && strcmp(back.envs[0].key, "B") == 0 &&
              strcmp(back.envs[0].value, "2") == 0 &&
              strcmp(back.envs[1].value, "1 \"x\"\n") == 0 && strcmp(back.envs[2].value, "") == 0,
          "the environment, in order");
    CHECK(back.n_submitter == 1 && strcmp(back.submitter[0].key, "PATH") == 0 &&
              strcmp(back.submitter[0].value, "/bin") == 0,
          "the submitter's");
    CHECK(back.n_secrets == 1 && strcmp(back.secrets[0], "TOKEN") == 0, "the names of secrets");
    CHECK(back.gpus == 2 && strcmp(back.gpu_type, "T4") == 0 && back.n_devices == 2 &&
              strcmp(back.devices[1], devices[1]) == 0,
          "the GPUs");
    CHECK(strcmp(back.on, "pool") == 0 && strcmp(back.stage, "train") == 0 &&
              strcmp(back.git_commit, "0123abcd") == 0 && back.git_dirty &&
              back.checkpoint_s == 90.5 && back.continues == 17,
          "the rest");
}

static void defaults(void)
{
    const struct job_details none = {0};
    AUTO_CLEAR(job_details) struct job_details back = {0};
    struct err e = {0};

    AUTO_MEM char *text = job_details_text(&none, &e);
    CHECK(text && strcmp(text, "{\"on\":\"local\"}") == 0, "what is not given is not told");
    CHECK(job_details_parse("{\"later\": [1]}", &back, &e) == 0 && strcmp(back.on, "local") == 0 &&
              strcmp(back.stage, "") == 0 && strcmp(back.git_commit, "") == 0 && !back.git_dirty &&
              back.checkpoint_s == 0 && back.gpus == 0 && back.n_devices == 0 && back.n_envs == 0 &&
              back.n_secrets == 0,
          "missing keys are none, unknown ones are skipped");
}

static void refused(void)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{",
        "{\"env\": 1}",
        "{\"env\": {\"A\": 1}}",
        "{\"submitter_env\": {\"A\": null}}",
        "{\"secrets\": {}}",
        "{\"secrets\": [1]}",
    };
    struct spec_pair env = {"A", "\xff"};
    const struct job_details d = {.envs = &env, .n_envs = 1};
    struct err e = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct job_details back;
        CHECK(job_details_parse(bad[i], &back, &e) == -1 && e.kind == ERR_IO && !back.root,
              "refused: %s", bad[i]);
    }
    AUTO_MEM char *text = job_details_text(&d, &e);
    CHECK(!text && e.kind == ERR_USAGE && strstr(e.text, "variable A "),
          "a value that JSON cannot hold is named: %s", e.text);
    AUTO_MEM char *large = mem_zero(JOB_DETAILS_MAX + 1, 1);
    memset(large, 'x', JOB_DETAILS_MAX);
    env.value = large;
    AUTO_MEM char *too_long = job_details_text(&d, &e);
    CHECK(!too_long && e.kind == ERR_USAGE && strstr(e.text, "1 MiB"), "as is too much: %s",
          e.text);
}

int main(void)
{
    round_trip();
    defaults();
    refused();
    return TAP_DONE();
}
