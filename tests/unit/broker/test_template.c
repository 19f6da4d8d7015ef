#include "broker/learn/template.h"

#include "base/buf.h"
#include "base/mem.h"
#include "tap.h"

#include <string.h>

#define WORDS_MAX 12
#define COMMANDS_MAX 12

static size_t count(const char *const *words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

/* "a b|c d": the commands of a template, one after another. New string. */
static char *expand(const struct template *t)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 1 << 16);
    for (size_t i = 0; i < t->combinations; i++) {
        char **words = template_command(t, i);
        buf_puts(&b, i ? "|" : "");
        for (size_t k = 0; words[k]; k++)
            buf_printf(&b, "%s%s", k ? " " : "", words[k]);
        template_words_free(words);
    }
    return mem_dup(buf_str(&b));
}

static const struct {
    const char *name;
    const char *words[WORDS_MAX];
    const char *commands;
} expansions[] = {
    {"no list", {"a", "b"}, "a b"},
    {"a word of its own", {"t", "{1,2,5}"}, "t 1|t 2|t 5"},
    {"the last list changes fastest", {"t", "{1,2}", "{a,b}"}, "t 1 a|t 1 b|t 2 a|t 2 b"},
    {"within a word",
     {"t", "--x={1,2}", "m-{a,b}.bin"},
     "t --x=1 m-a.bin|t --x=1 m-b.bin|t --x=2 m-a.bin|t --x=2 m-b.bin"},
    {"two in one word", {"t", "{a,b}-{1,2}"}, "t a-1|t a-2|t b-1|t b-2"},
    {"an empty text", {"t", "x{,y}"}, "t x|t xy"},
    {"a name", {"t", "{n=1,2}", "--x={rate=a,b}"}, "t 1 --x=a|t 1 --x=b|t 2 --x=a|t 2 --x=b"},
    {"names of the texts are none of the list", {"t", "{a=1,b=2}"}, "t a=1|t b=2"},
    {"one text is no list", {"t", "{1}"}, "t {1}"},
    {"no end", {"t", "{1,2"}, "t {1,2"},
    {"no beginning", {"t", "1,2}"}, "t 1,2}"},
    {"none within another: the inner one counts", {"t", "{a{1,2}"}, "t {a1|t {a2"},
    {"programs of other languages stay", {"awk", "{print $1}"}, "awk {print $1}"},
    {"with commas, too", {"awk", "{print $1, $2}"}, "awk {print $1, $2}"},
    {"and JSON", {"t", "{\"a\": 1, \"b\":2}"}, "t {\"a\": 1, \"b\":2}"},
    {"and JSON in a script", {"t", "x {\\\"a\\\":1,\\\"b\\\":2}"}, "t x {\\\"a\\\":1,\\\"b\\\":2}"},
    {"blanks behind commas alone are those of a list", {"t", "{1, 2}"}, "t 1|t  2"},
    {"as are those within values", {"t", "{a b,c d}"}, "t a b|t c d"},
    {"a marked brace is none", {"t", "\\{\"a\":1,\"b\":2}"}, "t {\"a\":1,\"b\":2}"},
    {"a marked comma belongs to the text", {"t", "{a\\,b,c}"}, "t a,b|t c"},
    {"marked braces, too", {"t", "{\\{a\\},c}"}, "t {a}|t c"},
    {"only a marked comma: no list", {"t", "{a\\,b}"}, "t {a\\,b}"},
    {"other backslashes stay", {"t", "a\\n\\", "{\\d,x}"}, "t a\\n\\ \\d|t a\\n\\ x"},
};

static void expansion(void)
{
    for (size_t i = 0; i < sizeof expansions / sizeof *expansions; i++) {
        struct err e = {0};
        AUTO(template)
        struct template *t = template_new(expansions[i].words, count(expansions[i].words), &e);
        AUTO_MEM char *got = t ? expand(t) : mem_dup(e.text);
        CHECK(strcmp(got, expansions[i].commands) == 0, "%s: %s", expansions[i].name, got);
    }
}

static void limits(void)
{
    static const char ten[] = "{0,1,2,3,4,5,6,7,8,9}";
    const char *words[] = {"t", ten, ten, ten, ten, "{a,b}"};
    struct err e = {0};

    AUTO(template) struct template *most = template_new(words, 5, &e);
    CHECK(most && most->combinations == 10000, "10,000 combinations");
    AUTO(template) struct template *more = template_new(words, 6, &e);
    CHECK(!more && e.kind == ERR_USAGE && strstr(e.text, "10000"), "20,000: %s", e.text);
    AUTO(template) struct template *none = template_new(words, 0, &e);
    CHECK(!none && e.kind == ERR_USAGE, "no word: %s", e.text);
}

static void arguments(void)
{
    const char *const words[] = {"train.py", "data-{a,b}", "--epoch", "{1,2}", "--rate=0.1",
                                 "--cpus",   "{3,4}",      "--fast",  "--x/y", "z"};
    struct err e = {0};
    AUTO(template) struct template *t = template_new(words, 10, &e);
    size_t n = t ? t->n_args : 0;
    const struct template_arg *args = t ? t->args : NULL;
    static const struct {
        const char *key, *value;
        bool listed, option;
    } want[] = {{"arg1", "data-a", true, false},
                {"epoch", "1", true, true},
                {"rate", "0.1", false, true},
                {"arg.cpus", "3", true, true},
                {"x_y", "z", false, true}};
    char **first = template_command(t, 0);

    CHECK(n == 5, "five arguments have values: %zu", n);
    for (size_t i = 0; i < n && i < 5; i++)
        CHECK(strcmp(args[i].key, want[i].key) == 0 &&
                  strcmp(template_value(&args[i], (const char *const *)first), want[i].value) ==
                      0 &&
                  args[i].listed == want[i].listed && args[i].option == want[i].option,
              "%s: its value, whether there is a list in it", want[i].key);
    template_words_free(first);
    CHECK(template_check_args(t, &e) == 0, "all lists are in values");
}

static void lists_elsewhere(void)
{
    static const char *const bad[][WORDS_MAX] = {{"./{a,b}", "1"},
                                                 {"t", "--{a,b}=1"},
                                                 {"t", "--{fast,slow}"},
                                                 {"t", "--x", "{1,2}", "--x", "3"}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        AUTO(template) struct template *t = template_new(bad[i], count(bad[i]), &e);
        CHECK(t && template_check_args(t, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "list"),
              "no value: %s", e.text);
    }
}

static const char *const trained[] = {"train.py",   "in-{a,b}.csv", "--epoch", "{1,2}",
                                      "--rate=0.1", "--fast",       NULL};

static const struct {
    const char *name;
    const char *words[WORDS_MAX];
    bool matches;
} commands[] = {
    {"one of it", {"train.py", "in-a.csv", "--epoch", "1", "--rate=0.1", "--fast"}, true},
    {"other values in lists",
     {"train.py", "in-z.csv", "--epoch", "9", "--rate=0.1", "--fast"},
     true},
    {"another option", {"train.py", "in-a.csv", "--epoch", "1", "--rate=7", "--fast"}, true},
    {"negative values", {"train.py", "in-a.csv", "--epoch", "-1", "--rate=-7", "--fast"}, true},
    {"another program", {"test.py", "in-a.csv", "--epoch", "1", "--rate=0.1", "--fast"}, false},
    {"another name around the list",
     {"train.py", "a.csv", "--epoch", "1", "--rate=0.1", "--fast"},
     false},
    {"another option's name",
     {"train.py", "in-a.csv", "--step", "1", "--rate=0.1", "--fast"},
     false},
    {"an option in the place of a value",
     {"train.py", "in-a.csv", "--epoch", "--x", "--rate=0.1", "--fast"},
     false},
    {"another switch", {"train.py", "in-a.csv", "--epoch", "1", "--rate=0.1", "--slow"}, false},
    {"fewer words", {"train.py", "in-a.csv", "--epoch", "1", "--rate=0.1"}, false},
};

static void matching(void)
{
    struct err e = {0};
    AUTO(template) struct template *t = template_new(trained, 6, &e);

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        CHECK(template_matches(t, commands[i].words, count(commands[i].words)) ==
                  commands[i].matches,
              "%s%s", commands[i].name, commands[i].matches ? "" : ": no");
}

static void filling(void)
{
    const struct template_setting settings[] = {
        {"epoch", "20"}, {"rate", "5"}, {"arg1", "in-c.csv"}};
    const struct template_setting wrong[] = {{"epochs", "20"}};
    struct err e = {0};
    AUTO(template) struct template *t = template_new(trained, 6, &e);
    char **words = template_fill(t, settings, 3, &e);

    CHECK(words && strcmp(words[1], "in-c.csv") == 0 && strcmp(words[3], "20") == 0 &&
              strcmp(words[4], "--rate=5") == 0,
          "values go where they belong");
    template_words_free(words);
    CHECK(!template_fill(t, wrong, 1, &e) && e.kind == ERR_USAGE && strstr(e.text, "epoch"),
          "an unknown one is told: %s", e.text);
}

static void joining(void)
{
    const char *const a_words[] = {"t", "{x\\,y,2}", "\\{1,2}"};
    const char *const b_words[] = {"t", "{2,3}", "\\{1,2}"};
    const char *const c_words[] = {"t", "{2,3}", "{1,2}"};
    struct err e = {0};
    AUTO(template) struct template *a = template_new(a_words, 3, &e);
    AUTO(template) struct template *b = template_new(b_words, 3, &e);
    AUTO(template) struct template *c = template_new(c_words, 3, &e);
    AUTO(template) struct template *both = template_union(a, b, &e);
    AUTO_MEM char *got = both ? expand(both) : mem_dup(e.text);

    CHECK(template_same_shape(a, b) && !template_same_shape(a, c), "the same but for the texts");
    CHECK(strcmp(got, "t x,y {1,2}|t 2 {1,2}|t 3 {1,2}") == 0, "each text once: %s", got);
    CHECK(both && strcmp(both->written[1], "{x\\,y,2,3}") == 0, "as it would be written: %s",
          both ? both->written[1] : "");
    const char *written[] = {both->written[0], both->written[1], both->written[2]};
    AUTO(template) struct template *again = template_new(written, 3, &e);
    AUTO_MEM char *same = again ? expand(again) : mem_dup(e.text);
    CHECK(strcmp(same, got) == 0, "written and read it is the same: %s", same);
    AUTO_MEM char *text = template_text(both);
    CHECK(strcmp(text, "t '{x\\,y,2,3}' '\\{1,2}'") == 0, "for a shell: %s", text);
}

/* The name comes before that of the option, and is written again. */
static void named(void)
{
    const char *const words[] = {"t", "--epoch", "{e=1,2}", "{n=3,4}"};
    struct err e = {0};
    AUTO(template) struct template *t = template_new(words, 4, &e);
    AUTO(template) struct template *both = t ? template_union(t, t, &e) : NULL;

    CHECK(t && template_find_arg(t, "e") && template_find_arg(t, "n") &&
              !template_find_arg(t, "epoch") && !template_find_arg(t, "arg1"),
          "a list names its argument %s", e.text);
    CHECK(both && strcmp(both->written[2], "{e=1,2}") == 0, "and keeps its name: %s",
          both ? both->written[2] : e.text);
}

/* The '=' of an argument in a list: in other commands the value begins behind their end. */
static void sign_in_list(void)
{
    const char *const words[] = {"p", "--longer{=1,}"};
    struct err e = {0};
    AUTO(template) struct template *t = template_new(words, 2, &e);
    size_t n = t ? t->n_args : 0;
    const struct template_arg *args = t ? t->args : NULL;
    char **second = t ? template_command(t, 1) : NULL;

    CHECK(n == 1 && second && !*template_value(&args[0], (const char *const *)second),
          "a value that is not there is empty");
    CHECK(t && template_check_args(t, &e) < 0, "and nothing is learned about it: %s", e.text);
    template_words_free(second);
}

/* Values that look like options: of the template's own commands, not of any others. */
static void options_as_values(void)
{
    const char *const words[] = {"p", "--x", "{1,-a}", "--", "-m{1,2}.bin"};
    const char *const own[] = {"p", "--x", "-a", "--", "-m2.bin"};
    const char *const other[] = {"p", "--x", "-b", "--", "-m2.bin"};
    const char *const last[] = {"p", "--x", "1", "--", "-n2.bin"};
    struct err e = {0};
    AUTO(template) struct template *t = template_new(words, 5, &e);

    CHECK(t && template_matches(t, own, 5), "a command of its own %s", e.text);
    CHECK(t && !template_matches(t, other, 5) && !template_matches(t, last, 5), "no others");
}

int main(void)
{
    expansion();
    limits();
    arguments();
    lists_elsewhere();
    matching();
    filling();
    joining();
    named();
    sign_in_list();
    options_as_values();
    return TAP_DONE();
}
