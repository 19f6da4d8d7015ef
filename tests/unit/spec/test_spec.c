#include "load.h"

#include "base/buf.h"

#include <unistd.h>

static void documents(void)
{
    static const struct refused bad[] = {
        {"", 0, "is empty"},
        {"# only a comment\n", 0, "is empty"},
        {"---\n---\n", 0, "is empty"},
        {"- run: x\n", 1, "a document must be a map of fields, such as run: ..., not a list"},
        {"run: x\n---\njust text\n", 3, "not text"},
        {"run: x\nrun: y\n", 2, "key \"run\" is given twice: first on line 1"},
        {"run: \"x\n", 2, "not YAML"},
        {"run: x\nname: \xff\n", 2, "not UTF-8"},
        {"a: &a [*a]\n", 1, "inside its own anchor"},
    };

    check_all_refused(bad, COUNT(bad));
    AUTO(spec) struct spec *s = load("---\nrun: x\n---\n");
    CHECK(s->n_stages == 1 && s->n_findings == 1 && warns(s, 3, "an empty document"),
          "an empty document is ignored with a warning");
    AUTO(spec) struct spec *named = load("name: only\n");
    CHECK(named->n_stages == 1 && same(named->stages[0].name, "only"),
          "one document is one stage, whatever it holds");
    AUTO(spec)
    struct spec *merged = load("defaults: &d {num_nodes: 2}\n---\nrun: x\n<<: {setup: y}\n");
    CHECK(merged->stages[0].num_nodes == 2 && same(merged->stages[0].setup, "y"), "merge keys");
    AUTO(spec)
    struct spec *anchors =
        load("run: x\nresources: {any_of: [&a {cpus: 2}, {<<: *a, memory: 4}]}\n");
    CHECK(anchors->stages[0].alternatives[1].cpus.min == 2 &&
              anchors->stages[0].alternatives[1].memory_gb.min == 4,
          "anchors and merge keys inside a stage");
}

static void all_findings(void)
{
    static const char text[] = "num_nodes: 0\nrunn: x\nservice: {}\nresources: {cpus: 8x}\n";
    struct spec_finding *findings;
    struct err e = {0};
    size_t n;
    struct spec *s = spec_parse("dir/t.yaml", text, strlen(text), NULL, &findings, &n, &e);

    CHECK(!s && n == 4 && findings[0].line == 1 && findings[1].line == 2 && findings[2].line == 3 &&
              findings[3].line == 4,
          "every finding, in file order");
    CHECK(findings[0].is_error && findings[1].is_error && !findings[2].is_error &&
              findings[3].is_error,
          "errors and warnings");
    CHECK(e.kind == ERR_USAGE && strncmp(e.text, "dir/t.yaml:1: stage stage-1: num_nodes", 38) == 0,
          "the first error has file and line");
    spec_findings_free(findings, n);
    s = spec_parse("t", text, strlen(text), NULL, NULL, NULL, NULL);
    CHECK(!s, "nobody has to listen");
    s = spec_parse("t", "run: x\nservice: {}\n", 19, NULL, &findings, &n, &e);
    CHECK(s && !findings && n == 0 && s->n_findings == 1, "a file that loads keeps its warnings");
    spec_free(s);
}

static void many_findings(void)
{
    AUTO_CLEAR(buf) struct buf text;
    struct spec_finding *findings;
    struct err e = {0};
    size_t n, errors = 0;

    buf_init(&text, 1 << 20);
    for (int i = 0; i < 200; i++)
        buf_printf(&text, "_w%d: x\n", i);
    buf_puts(&text, "num_nodes: 0\n");
    struct spec *s = spec_parse("t", buf_str(&text), text.len, NULL, &findings, &n, &e);
    for (size_t i = 0; i < n; i++)
        errors += findings[i].is_error;
    CHECK(!s && n == 100 && errors == 1, "at most 100, and an error is never crowded out");
    CHECK(n && strstr(findings[n - 1].text, "102 more findings are not listed"),
          "the last says how many are missing");
    spec_findings_free(findings, n);
}

static void bounds(void)
{
    AUTO_CLEAR(buf) struct buf text;
    struct err e = {0};
    struct spec *s;

    buf_init(&text, (size_t)8 << 20);
    buf_puts(&text, "run: |\n");
    while (text.len < (size_t)5 << 20)
        buf_puts(&text, "  echo all work and no play makes jack a dull boy\n");
    s = spec_parse("t", buf_str(&text), text.len, NULL, NULL, NULL, &e);
    CHECK(!s && strstr(e.text, "larger than 4 MiB"), "5 MB are too much");
    s = spec_parse("t", buf_str(&text), (size_t)3 << 20, NULL, NULL, NULL, &e);
    CHECK(s && strlen(s->stages[0].run) > 2500000, "3 MB of script are not");
    spec_free(s);

    /* 1,000 stages, each with the defaults' 256 alternatives of 256 accelerators. */
    buf_clear(&text);
    buf_puts(&text, "defaults: {resources: {accelerators: [");
    for (int i = 0; i < 256; i++)
        buf_printf(&text, "A%d,", i);
    buf_puts(&text, "], any_of: [");
    for (int i = 0; i < 256; i++)
        buf_puts(&text, "{cpus: 1},");
    buf_puts(&text, "]}}\n");
    for (int i = 0; i < 1000; i++)
        buf_puts(&text, "---\nrun: x\n");
    s = spec_parse("t", buf_str(&text), text.len, NULL, NULL, NULL, &e);
    CHECK(!s && e.kind == ERR_USAGE && strstr(e.text, "64 MiB"), "memory is bounded");
}

static void files(void)
{
    char path[] = "/tmp/tradewind-spec-XXXXXX.yaml";
    struct spec_finding *findings;
    struct err e = {0};
    size_t n = 7;
    int fd = mkstemps(path, 5);

    CHECK(fd >= 0 && write(fd, "run: x\n", 7) == 7, "a file");
    close(fd);
    AUTO(spec) struct spec *s = spec_load(path, &findings, &n, &e);
    CHECK(s && same(s->file, path) && strncmp(s->name, "tradewind-spec-", 15) == 0 &&
              !strchr(s->name, '.') && n == 0,
          "the pipeline is named after its file");
    unlink(path);
    struct spec *gone = spec_load(path, &findings, &n, &e);
    CHECK(!gone && e.kind == ERR_USAGE && strstr(e.text, path) && !findings,
          "a file that is not there");
}

int main(void)
{
    documents();
    all_findings();
    many_findings();
    bounds();
    files();
    spec_free(NULL);
    spec_findings_free(NULL, 0);
    return TAP_DONE();
}
