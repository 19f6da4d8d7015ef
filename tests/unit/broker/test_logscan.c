#include "broker/learn/logscan.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "tap.h"

#include <string.h>

/* What was found, as text: "T set pair;", "M name step value;", "!;" */
struct found {
    struct buf text;
    char malformed[700];
};

static void note_tag(void *context, const char *set, const char *pair)
{
    struct found *f = context;

    buf_printf(&f->text, "T %s %s;", set ? set : "-", pair);
}

static void note_metric(void *context, const char *name, double step, double value)
{
    struct found *f = context;

    buf_printf(&f->text, "M %s %g %g;", name, step, value);
}

static void note_malformed(void *context, const char *text)
{
    struct found *f = context;

    buf_puts(&f->text, "!;");
    snprintf(f->malformed, sizeof f->malformed, "%s", text);
}

static struct logscan *new_scan(struct found *f, bool json)
{
    const struct logscan_visitor visitor = {f, note_tag, note_metric, note_malformed, json};

    buf_init(&f->text, 1 << 20);
    return logscan_new(&visitor);
}

static const struct line_case {
    const char *log, *found;
} line_cases[] = {
    {"[TRADEWIND_TAG] model:BERT\n", "T - model=BERT;"},
    {"  \t[TRADEWIND_TAG]   model:BERT  \r\n", "T - model=BERT;"},
    {"[TRADEWIND_TAG] model:BERT", "T - model=BERT;"},
    {"[TRADEWIND_TAG] note:all is well: yes\n", "T - note=all is well: yes;"},
    {"[TRADEWIND_TAG] note: spaced\n", "T - note=spaced;"},
    {"[TRADEWIND_TAG] url:http://a/b?c=d\n", "T - url=http://a/b?c=d;"},
    {"[TRADEWIND_TAG] empty:\n", "T - empty=;"},
    {"[TRADEWIND_TAG] Model precision:0.9\n", "T Model precision=0.9;"},
    {"[TRADEWIND_TAG] @Model precision:0.9\n", "T Model precision=0.9;"},
    {"[ACAI_TAG] HotpotQA precision:0.9\n", "T HotpotQA precision=0.9;"},
    {"[TRADEWIND_TAG_NUM] loss:-1.5e-3\n", "T - loss=-1.5e-3;"},
    {"[TRADEWIND_TAG_NUM] M loss: 2\n", "T M loss=2;"},
    {"[TRADEWIND_METRIC] loss 10 0.25\n", "M loss 10 0.25;"},
    {"[TRADEWIND_METRIC]\tval/loss  1.5  -2 \n", "M val/loss 1.5 -2;"},
    {"a\n[TRADEWIND_TAG] a:1\nb\n[TRADEWIND_TAG] b:2\n", "T - a=1;T - b=2;"},
    /* no marks */
    {"epoch 1 [TRADEWIND_TAG] a:1\n", ""},
    {"[tradewind_tag] a:1\n", ""},
    {"[INFO] a:1\n[A] b:2\n", ""},
    {"\n\n", ""},
    {"[TRADEWIND_TAG\n] a:1\n", "!;"},
    /* marks that cannot be read */
    {"[TRADEWIND_TAG]\n", "!;"},
    {"[TRADEWIND_TAG]a:1\n", "!;"},
    {"[TRADEWIND_TAG] alone\n", "!;"},
    {"[TRADEWIND_TAG] two words\n", "!;"},
    {"[TRADEWIND_TAG] acc : 0.5\n", "!;"},
    {"[TRADEWIND_TAG] :value\n", "!;"},
    {"[TRADEWIND_TAG] 1st:value\n", "!;"},
    {"[TRADEWIND_TAG] k=a:value\n", "!;"},
    {"[TRADEWIND_TAG] create_time:2026-01-01\n", "!;"},
    {"[TRADEWIND_TAG] bad/set k:v\n", "!;"},
    {"[TRADEWIND_TAG] k:\xff\n", "!;"},
    {"[TRADEWIND_TAG] k:a\x1b[2J\n", "!;"},
    {"[TRADEWIND_TAG_NUM] acc:high\n", "!;"},
    {"[TRADEWIND_TAG_NUM] acc:nan\n", "!;"},
    {"[TRADEWIND_TAG_NUM] acc:\n", "!;"},
    {"[TRADEWIND_TAG_NUM] acc:0x10\n", "!;"},
    {"[TRADEWIND_METRIC] loss 1\n", "!;"},
    {"[TRADEWIND_METRIC] loss 1 2 3\n", "!;"},
    {"[TRADEWIND_METRIC] loss one 2\n", "!;"},
    {"[TRADEWIND_METRIC] loss 1 inf\n", "M loss 1 nan;"},
    {"[TRADEWIND_METRIC] loss 1 -NaN\n", "M loss 1 nan;"},
    {"{\"loss\": 1}\n", ""},
    {"[TRADEWIND_TAGS] a:1\n", "!;"},
    /* the ones after a bad one still count */
    {"[TRADEWIND_TAG]\n[TRADEWIND_TAG] a:1\n", "!;T - a=1;"},
};

/* In pieces of this size: what is found must not depend on it. */
static bool finds(const struct line_case *c, size_t piece)
{
    struct found f = {0};
    AUTO(logscan) struct logscan *s = new_scan(&f, false);
    size_t n = strlen(c->log);

    for (size_t i = 0; i < n; i += piece)
        logscan_take(s, c->log + i, n - i < piece ? n - i : piece);
    logscan_end(s);
    bool good = strcmp(buf_str(&f.text), c->found) == 0;
    if (!good)
        printf("# found %s, want %s\n", buf_str(&f.text), c->found);
    buf_clear(&f.text);
    return good;
}

static void lines(void)
{
    for (size_t i = 0; i < sizeof line_cases / sizeof *line_cases; i++)
        CHECK(finds(&line_cases[i], SIZE_MAX) && finds(&line_cases[i], 1) &&
                  finds(&line_cases[i], 7),
              "line %zu", i);
}

static void zero_byte(void)
{
    static const char log[] = "[TRADEWIND_TAG] a:1\0002\n";
    struct found f = {0};
    AUTO(logscan) struct logscan *s = new_scan(&f, false);

    logscan_take(s, log, sizeof log - 1);
    CHECK(strcmp(buf_str(&f.text), "!;") == 0, "a zero byte in a mark is told");
    buf_clear(&f.text);
}

/* "[TRADEWIND_TAG] k:" and value bytes: at the limit it is a mark, one more and it is none. */
static void long_lines(void)
{
    static const char begin[] = "[TRADEWIND_TAG] k:";

    for (size_t over = 0; over < 2; over++) {
        struct found f = {0};
        AUTO(logscan) struct logscan *s = new_scan(&f, false);
        size_t n = LOGSCAN_LINE_MAX + over;
        AUTO_MEM char *line = mem_zero(n + 2, 1);
        memset(line, 'x', n);
        memcpy(line, begin, sizeof begin - 1);
        line[n] = '\n';
        logscan_take(s, line, n + 1);
        logscan_take(s, "[TRADEWIND_TAG] a:1\n", 20);
        CHECK((strstr(buf_str(&f.text), "T - k=") != NULL) == (over == 0) &&
                  strstr(buf_str(&f.text), "T - a=1;") != NULL,
              "a line of %zu bytes", n);
        buf_clear(&f.text);
    }
}

static void messages(void)
{
    struct found f = {0};
    AUTO(logscan) struct logscan *s = new_scan(&f, false);

    logscan_take(s, "[TRADEWIND_TAG_NUM] acc:\x1b[1mhigh\n", 33);
    CHECK(strstr(f.malformed, "[TRADEWIND_TAG_NUM] acc:?[1mhigh: ") == f.malformed &&
              strstr(f.malformed, "is not a number") && !strchr(f.malformed, '\x1b'),
          "what is told is printable and begins with the line: %s", f.malformed);
    AUTO_MEM char *many = mem_zero(8001, 1);
    memset(many, 'y', 8000);
    logscan_take(s, "[TRADEWIND_METRIC] ", 19);
    logscan_take(s, many, 8000);
    logscan_take(s, "\n", 1);
    CHECK(strlen(f.malformed) < 600 && strstr(f.malformed, "yyy...: "),
          "and cut when the line is long");
    buf_clear(&f.text);
}

static const struct tail_case {
    const char *name, *log;
    size_t max;
    const char *tail;
} tail_cases[] = {
    {"nothing was printed", "", 100, ""},
    {"all of a short log", "one\ntwo\n", 100, "one\ntwo"},
    {"whole lines only", "one\ntwo\nthree\n", 9, "two\nthree"},
    {"a byte less and a line goes", "one\ntwo\nthree\n", 8, "three"},
    {"without a newline at the end", "one\ntwo", 3, "two"},
    {"empty lines at the end do not count", "one\n\n\n", 100, "one"},
    {"those within do", "one\n\ntwo\n", 100, "one\n\ntwo"},
    {"of a long line its end", "abcdefghij\n", 7, "...ghij"},
    {"characters stay whole", "abcd\xc3\xa9gh\n", 6, "...gh"},
    {"control characters are harmless", "a\x1b[2Jb\x07\n", 100, "a?[2Jb?"},
    {"bytes that are no UTF-8 too",
     "a\xff\xfe"
     "b\n",
     100, "a??b"},
    {"tabs are blanks", "a\tb\n", 100, "a b"},
    {"a progress bar shows its last state", "10%\r50%\r99%\nerror\n", 100, "99%\nerror"},
    {"lines of Windows", "one\r\ntwo\r\n", 100, "one\ntwo"},
};

static void last_lines(void)
{
    for (size_t i = 0; i < sizeof tail_cases / sizeof *tail_cases; i++) {
        const struct tail_case *c = &tail_cases[i];
        struct found f = {0};
        AUTO(logscan) struct logscan *s = new_scan(&f, false);
        logscan_take(s, c->log, strlen(c->log));
        const char *tail = logscan_last_lines(s, c->max);
        CHECK(strcmp(tail, c->tail) == 0, "last lines: %s", c->name);
        buf_clear(&f.text);
    }
}

/* However much came before, and in whatever pieces. */
static void last_of_many(void)
{
    struct found f = {0};
    AUTO(logscan) struct logscan *s = new_scan(&f, false);
    char line[32];
    bool good = true;

    for (int i = 0; i < 20000; i++) {
        int n = snprintf(line, sizeof line, "line %05d\n", i);
        logscan_take(s, line, (size_t)n);
        if (i % 997 || !i)
            continue;
        char want[64];
        snprintf(want, sizeof want, "line %05d\nline %05d", i - 1, i);
        good = good && strcmp(logscan_last_lines(s, 25), want) == 0;
    }
    CHECK(good, "the last two lines at many places of a long log");
    const char *most = logscan_last_lines(s, 1 << 20);
    CHECK(strncmp(most, "line ", 5) == 0 && strlen(most) >= (16 << 10) - 12 &&
              strlen(most) <= 32 << 10,
          "what is kept is bounded and begins with a whole line");
    buf_clear(&f.text);
}

/* With JSON asked for. */
static void json(void)
{
    static const struct line_case cases[] = {
        {"{\"loss\": 0.42, \"step\": 10}\n", "M loss 10 0.42;"},
        {"  {\"step\":2,\"a\":1,\"b\":-3e2} \r\n", "M a 2 1;M b 2 -300;"},
        {"{\"a\": 1}\nplain\n{\"a\": 2}", "M a 1 1;M a 2 2;"},
        {"{\"a\": NaN, \"b\": -Infinity, \"step\": 1, \"t\": \"NaN\"}\n", "M a 1 nan;M b 1 nan;"},
        {"{\"a\\\"NaN\": 1}\n", "M a\"NaN 1 1;"},
        {"{\"s\": \"x\", \"l\": [1], \"o\": {\"p\": 1}, \"t\": true, \"n\": null, \"\": 1}\n", ""},
        {"{'loss': 0.5}\n{'loss': 0.4}\n", "!;"},
        {"[TRADEWIND_METRIC] loss 1 2\n{\"loss\": 3, \"step\": 2}\n", "M loss 1 2;M loss 2 3;"},
        {"[1, 2]\n", ""},
        {"{\"a\\nb\": 1, \"a\\tb\": 2, \"a\\u001b[2J\": 3, \"a b\": 4}\n", "M a b 1 4;"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t piece = 1; piece < 50; piece += 9) {
            struct found f = {0};
            AUTO(logscan) struct logscan *s = new_scan(&f, true);
            for (size_t at = 0, n = strlen(cases[i].log); at < n; at += piece)
                logscan_take(s, cases[i].log + at, n - at < piece ? n - at : piece);
            logscan_end(s);
            CHECK(strcmp(buf_str(&f.text), cases[i].found) == 0, "JSON %zu in pieces of %zu: %s", i,
                  piece, buf_str(&f.text));
            buf_clear(&f.text);
        }
    }
}

int main(void)
{
    lines();
    json();
    zero_byte();
    long_lines();
    messages();
    last_lines();
    last_of_many();
    return TAP_DONE();
}
