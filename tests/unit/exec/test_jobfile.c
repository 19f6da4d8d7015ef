#include "exec/jobfile.h"

#include "tap.h"

#include <string.h>

#define HEAD "tradewind-job 1\nid 7\ncommand true\n"

static void test_round_trip(void)
{
    const char *command[] = {"python3", "-c", "print('a\\n')\nprint(2)", ""};
    const char *env[] = {"A=1", "B=two words\\", "C="};
    const char *secrets[] = {"B"};
    const char *unset[] = {"PATH", "D"};
    const struct jobfile_mount mounts[] = {{"/p/a b/", "/data"}, {"p/f", "~/\\f"}};
    struct jobfile in = {.id = INT64_MAX,
                         .command = command,
                         .n_command = 4,
                         .env = env,
                         .n_env = 3,
                         .unset = unset,
                         .n_unset = 2,
                         .secrets = secrets,
                         .n_secrets = 1,
                         .image = "a/b:1",
                         .gpus = JOBFILE_NVIDIA,
                         .mounts = mounts,
                         .n_mounts = 2,
                         .cpus = 0.1,
                         .memory_mb = 768,
                         .time_limit_s = 1.5,
                         .grace_s = 0,
                         .log_max = 1 << 20,
                         .lease_s = 600,
                         .power_off = "sudo poweroff\n"};
    struct jobfile out;
    struct err e = {0};
    char *text = jobfile_text(&in, &e);

    CHECK(text && jobfile_parse(text, strlen(text), &out, &e) == 0, "what was written reads again");
    CHECK(out.id == INT64_MAX && out.n_command == 4 && out.n_env == 3 && out.n_secrets == 1,
          "id and counts");
    bool same = true;
    for (size_t i = 0; i < 4; i++)
        same = same && !strcmp(out.command[i], command[i]);
    for (size_t i = 0; i < 3; i++)
        same = same && !strcmp(out.env[i], env[i]);
    CHECK(out.n_unset == 2 && !strcmp(out.unset[0], "PATH") && !strcmp(out.unset[1], "D"),
          "variables that it does not get");
    CHECK(same && !out.command[4], "every word as it was, and a NULL for exec");
    CHECK(out.cpus == 0.1 && out.memory_mb == 768 && out.time_limit_s == 1.5 && out.grace_s == 0 &&
              out.log_max == 1 << 20 && out.lease_s == 600,
          "numbers to the last bit");
    CHECK(!strcmp(out.power_off, "sudo poweroff\n"), "the command that powers off");
    CHECK(!strcmp(out.image, "a/b:1") && out.gpus == JOBFILE_NVIDIA, "the image, and its GPUs");
    same = out.n_mounts == 2;
    for (size_t i = 0; same && i < 2; i++)
        same = !strcmp(out.mounts[i].source, mounts[i].source) &&
               !strcmp(out.mounts[i].target, mounts[i].target);
    CHECK(same, "the mounts");
    jobfile_clear(&out);
    free(text);
}

static void test_defaults(void)
{
    struct jobfile out;

    CHECK(jobfile_parse(HEAD, strlen(HEAD), &out, NULL) == 0, "id and command suffice");
    CHECK(out.grace_s == 30 && out.cpus == 0 && out.memory_mb == 0 && !out.power_off,
          "grace is 30 s, no limits, no power-off");
    jobfile_clear(&out);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "line 1"},
        {"tradewind-job 2\n", "line 1"},
        {"tradewind-job 1\nid 7\n", "command"},
        {"tradewind-job 1\ncommand true\n", "id"},
        {"tradewind-job 1\nid 0\ncommand true\n", "id"},
        {"tradewind-job 1\nid 7\ncommand \n", "command"},
        {HEAD "cpus", "line 4"},
        {HEAD "cpus\n", "line 4"},
        {HEAD "cpus x\n", "line 4"},
        {HEAD "cpus -1\n", "cpus"},
        {HEAD "cpus 1\ncpus 1\n", "line 5"},
        {HEAD "memory_mb 1.5\n", "line 4"},
        {HEAD "memory_mb 99999999999999999999\n", "line 4"},
        {HEAD "colour red\n", "colour"},
        {HEAD "env nothing\n", "env entry 1"},
        {HEAD "env =x\n", "env entry 1"},
        {HEAD "env A=\\x\n", "line 4"},
        {HEAD "env A=\\\n", "line 4"},
        {HEAD "secret A=B\n", "secret entry 1"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct jobfile out;
        struct err e = {0};
        int result = jobfile_parse(cases[i].text, strlen(cases[i].text), &out, &e);
        CHECK(result < 0 && e.kind == ERR_USAGE && strstr(e.text, cases[i].part) && !out.command,
              "case %zu is refused and names \"%s\"", i, cases[i].part);
    }
    struct jobfile out;
    struct err e = {0};
    CHECK(jobfile_parse("tradewind-job 1\nid 7\0", 22, &out, &e) < 0, "a NUL byte is refused");
    CHECK(jobfile_parse(HEAD "env hunter2\n", strlen(HEAD) + 12, &out, &e) < 0 &&
              !strstr(e.text, "hunter2"),
          "no value stands in a message");
}

static void test_too_long(void)
{
    char *big = malloc(JOBFILE_BYTES_MAX + 1);
    struct err e = {0};

    memset(big, 'x', JOBFILE_BYTES_MAX);
    big[JOBFILE_BYTES_MAX] = 0;
    const char *command[] = {big};
    CHECK(!jobfile_text(&(struct jobfile){.id = 1, .command = command, .n_command = 1}, &e) &&
              e.kind == ERR_USAGE,
          "a command that does not fit is refused");
    free(big);
    CHECK(!jobfile_text(&(struct jobfile){.id = 1}, &e), "so is none");
}

int main(void)
{
    test_round_trip();
    test_defaults();
    test_refused();
    test_too_long();
    return TAP_DONE();
}
