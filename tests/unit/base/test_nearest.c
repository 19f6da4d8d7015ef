#include "base/nearest.h"
#include "tap.h"

#include <string.h>

int main(void)
{
    static const char *const words[] = {"cpus",  "memory",  "accelerators", "region",  "run",
                                        "setup", "outputs", "inputs",       "use_spot"};
    static const struct {
        const char *typed, *meant;
    } cases[] = {
        {"cpu", "cpus"},
        {"CPUS", "cpus"},
        {"acelerator", "accelerators"},
        {"accel", "accelerators"},
        {"regoin", "region"},
        {"rnu", "run"},
        {"memroy", "memory"},
        {"input", "inputs"},
        {"output", "outputs"},
        {"use-spot", "use_spot"},
        {"kitchen", NULL},
        {"", NULL},
        {"x", NULL},
        {"zone", NULL},
        {"ru", "run"},
    };
    char long_word[200];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = nearest(cases[i].typed, words, sizeof words / sizeof *words);
        const char *meant = cases[i].meant;
        CHECK(meant ? got && strcmp(got, meant) == 0 : !got, "\"%s\" means %s, got %s",
              cases[i].typed, meant ? meant : "nothing", got ? got : "nothing");
    }
    memset(long_word, 'a', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = 0;
    const char *const long_words[] = {long_word, "a"};
    CHECK(!nearest(long_word, words, 9), "a word of 199 letters is nobody's slip");
    CHECK(!nearest("aaaaaaaaaa", long_words, 2), "nor is a candidate of 199 letters");
    const char *const options[] = {"--cpus", "--name"};
    CHECK(!nearest("--bogus", options, 2), "the dashes of an option allow no slip more");
    CHECK(nearest("--cpu", options, 2) == options[0], "but are no hindrance");
    CHECK(!nearest("cpu", words, 0), "no candidates, no answer");
    const char *const commands[] = {"chown", "plan", "market"};
    CHECK(!nearest("down", commands, 3), "half of a word is no slip");
    CHECK(nearest("chwon", commands, 3) == commands[0], "two letters that change places are");
    CHECK(!nearest("mirtut", commands, 3) && nearest("mirkut", commands, 3) == commands[2],
          "in six letters, two slips are a third and three are too many");
    return TAP_DONE();
}
