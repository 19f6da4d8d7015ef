#include "exec/statefile.h"

#include "tap.h"

#include <string.h>

static void test_text(void)
{
    char out[STATE_LINE_MAX];
    struct state_line s = {.kind = STATE_STARTED, .at_ms = 1731740000123, .pid = 4711};

    snprintf(s.text, sizeof s.text, "cpu: cgroup v1, memory: cgroup v1");
    CHECK(!strcmp(state_line_text(&s, out), "1731740000123 started pid=4711 limits=cpu: cgroup v1, "
                                            "memory: cgroup v1\n"),
          "started");
    s = (struct state_line){.kind = STATE_SAMPLE,
                            .at_ms = 1731740001123,
                            .cpu_s = 0.5,
                            .memory_mb = 12,
                            .received = 3,
                            .sent = 4,
                            .gpu_percent = -1};
    CHECK(!strcmp(state_line_text(&s, out), "1731740001123 sample cpu_s=0.50 memory_mb=12.0 "
                                            "received=3 sent=4 log=0 gpu=-1\n"),
          "sample");
    s = (struct state_line){.kind = STATE_ENDED,
                            .at_ms = 5,
                            .code = 137,
                            .runtime_s = 9.001,
                            .cpu_s = 4.5,
                            .memory_mb = 40,
                            .cause = STATE_NO_START};
    snprintf(s.text, sizeof s.text, "two\nlines = one");
    CHECK(!strcmp(state_line_text(&s, out),
                  "5 ended code=137 runtime_s=9.001 cpu_s=4.50 peak_mb=40.0 received=0 "
                  "sent=0 log=0 cause=no-start "
                  "text=two lines = one\n"),
          "ended stays one line");
    s = (struct state_line){.kind = STATE_NOTICE, .at_ms = 6, .until_ms = 120006};
    snprintf(s.text, sizeof s.text, "AWS terminates the machine");
    CHECK(!strcmp(state_line_text(&s, out),
                  "6 notice until=120006 text=AWS terminates the machine\n"),
          "notice");
    memset(s.text, 'x', sizeof s.text - 1);
    s.text[sizeof s.text - 1] = 0;
    CHECK(strlen(state_line_text(&s, out)) < STATE_LINE_MAX && strchr(out, '\n')[1] == 0,
          "the longest text fits");
}

static void test_parse(void)
{
    struct state_line s;

    CHECK(state_line_parse("7 ended code=3 colour=red runtime_s=1.5 cpu_s=0.5 peak_mb=2 "
                           "cause=memory text=over = its limit",
                           &s, NULL) == 0 &&
              s.kind == STATE_ENDED && s.at_ms == 7 && s.code == 3 && s.runtime_s == 1.5 &&
              s.memory_mb == 2 && s.cause == STATE_MEMORY && !strcmp(s.text, "over = its limit"),
          "ended, with a word that is not known");
    CHECK(state_line_parse("7 notice until=120007 text=until = then", &s, NULL) == 0 &&
              s.kind == STATE_NOTICE && s.until_ms == 120007 && !strcmp(s.text, "until = then"),
          "notice");
    CHECK(state_line_parse("7 notice until=-1 text=x", &s, NULL) < 0, "not before time began");
    CHECK(state_line_parse("7 started pid=12 limits=cpu: none", &s, NULL) == 0 &&
              s.kind == STATE_STARTED && s.pid == 12 && !strcmp(s.text, "cpu: none"),
          "started");
    CHECK(state_line_parse("7 sample cpu_s=1.25 memory_mb=3 received=18 sent=5 gpu=40", &s, NULL) ==
                  0 &&
              s.cpu_s == 1.25 && s.received == 18 && s.sent == 5 && s.gpu_percent == 40,
          "sample");
    for (int c = STATE_EXIT; c <= STATE_PREEMPTED; c++) {
        char text[STATE_LINE_MAX];
        struct state_line in = {.kind = STATE_ENDED, .cause = (enum state_cause)c};
        state_line_text(&in, text);
        text[strlen(text) - 1] = 0;
        CHECK(state_line_parse(text, &s, NULL) == 0 && s.cause == (enum state_cause)c,
              "cause %d reads again", c);
    }
}

static void test_refused(void)
{
    static const char *const cases[] = {
        "",
        "7",
        "7 ended",
        "7 ended cause=exit",
        "x ended code=0",
        "7 over code=0",
        "7 ended code=256",
        "7 ended code=-1",
        "7 ended code=",
        "7 ended code=0 cause=magic",
        "7 sample cpu_s=fast",
        "7 sample received=-1",
        "7 sample received=99999999999999999999999",
        "7 started 12",
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct state_line s;
        struct err e = {0};
        CHECK(state_line_parse(cases[i], &s, &e) < 0 && e.kind == ERR_IO, "'%s' is refused",
              cases[i]);
    }
}

int main(void)
{
    test_text();
    test_parse();
    test_refused();
    return TAP_DONE();
}
