#include "spec/yaml.h"

#include "base/arena.h"
#include "base/buf.h"
#include "load.h"

#include <fcntl.h>
#include <unistd.h>

static struct arena *arena;
static struct yaml_file file;

static const struct yaml_node *parse(const char *text)
{
    arena_free(arena);
    arena = arena_new((size_t)64 << 20);
    yaml_parse(text, strlen(text), arena, &file);
    return file.n_documents ? file.documents[0] : NULL;
}

static const char *text_of(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *node = yaml_get(map, key);

    return node && node->kind == YAML_SCALAR ? node->text : NULL;
}

static void values(void)
{
    const struct yaml_node *root = parse("a: 1\nb: [x, 'y']\nc:\n  d: |\n    two\n    lines\n"
                                         "e: \"q\\u00e9\"\nf:\ng: ~\nh: 'null'\n");
    const struct yaml_node *b = yaml_get(root, "b");

    CHECK(root && root->kind == YAML_MAP && root->n == 7, "a map of seven");
    CHECK(same(text_of(root, "a"), "1") && root->entries[0].line == 1, "a scalar and its line");
    CHECK(b && b->kind == YAML_LIST && b->n == 2 && b->flow && b->line == 2 &&
              same(b->items[1]->text, "y") && !b->items[1]->plain,
          "a list in brackets");
    CHECK(same(text_of(yaml_get(root, "c"), "d"), "two\nlines\n"), "a block scalar");
    CHECK(yaml_get(yaml_get(root, "c"), "d")->line == 4, "a nested line");
    CHECK(same(text_of(root, "e"), "q\xc3\xa9"), "an escape");
    CHECK(yaml_is_null(yaml_get(root, "f")) && yaml_is_null(yaml_get(root, "g")) &&
              yaml_is_null(NULL),
          "nulls");
    CHECK(!yaml_is_null(yaml_get(root, "h")) && !yaml_is_null(b), "not nulls");
    CHECK(!yaml_get(root, "z") && !yaml_get(b, "a") && !yaml_get(NULL, "a"), "what is absent");
    CHECK(same(yaml_kind_text(b), "a list") && same(yaml_kind_text(root), "a map") &&
              same(yaml_kind_text(yaml_get(root, "a")), "text") &&
              same(yaml_kind_text(yaml_get(root, "f")), "nothing"),
          "kinds in words");
    parse("a: 1\n---\nb: 2\n---\n- c\n");
    CHECK(file.n_documents == 3 && file.documents[2]->line == 5, "several documents");
    parse("");
    CHECK(file.n_documents == 0 && file.n_problems == 0, "an empty text has no document");
    parse("\xef\xbb\xbf"
          "a: 1\n");
    CHECK(file.n_problems == 0 && same(text_of(file.documents[0], "a"), "1"),
          "a byte-order mark is skipped");
}

static void aliases(void)
{
    const struct yaml_node *root = parse("base: &b {x: 1, y: 2}\n"
                                         "own:\n  y: 3\n  <<: *b\n"
                                         "two:\n  <<: [{x: 7, z: 8}, *b]\n"
                                         "same: *b\n");
    const struct yaml_node *own = yaml_get(root, "own"), *two = yaml_get(root, "two");

    CHECK(same(text_of(own, "x"), "1") && same(text_of(own, "y"), "3") && own->n == 2,
          "own keys win over merged ones, wherever << stands");
    CHECK(same(text_of(two, "x"), "7") && same(text_of(two, "y"), "2") && two->n == 3,
          "of several merged maps the first wins");
    CHECK(yaml_get(root, "same") == yaml_get(root, "base") && yaml_get(root, "same")->line == 1,
          "an alias is the anchored node");
    CHECK(file.n_aliases == 3, "aliases are counted");
    root = parse("a: &x 1\nb: &x 2\nc: *x\n");
    CHECK(same(text_of(root, "c"), "2"), "the last anchor of a name counts");
    root = parse("a: {'<<': 1}\n");
    CHECK(same(text_of(yaml_get(root, "a"), "<<"), "1"), "a quoted << is a key");
}

static void problems(void)
{
    static const struct refused cases[] = {
        {"a: 1\nb: 2\na: 3\n", 3, "key \"a\" is given twice: first on line 1"},
        {"a: [1\nb: 2\n", 2, "not YAML"},
        {"a: b: c\n", 1, "quote text that holds a colon"},
        {"a:\n\t- b\n", 2, "not tabs"},
        {"a: \"open\nb: c\n", 3, "not YAML"},
        {"a: *nobody\n", 1, "no anchor &nobody"},
        {"a: &a\n  b: *a\n", 2, "inside its own anchor"},
        {"a: &x 1\n---\nb: *x\n", 3, "no anchor &x"},
        {"? [a, b]\n: c\n", 1, "a key must be text, not a list"},
        {"a: {<<: 3}\n", 1, "`<<` takes a map"},
        {"a: {<<: [[1]]}\n", 1, "`<<` takes a map"},
        {"a: \"x\\0y\"\n", 1, "a NUL character"},
        {"a: 1\nb: caf\xe9\n", 2, "not UTF-8: byte 0xe9 at byte 11"},
        {"a: \x01\n", 1, "control character 0x01"},
        {"a: 1\nb: \xc2\x80\n", 2, "not text at byte 8"},
        {"\xff\xfe"
         "a\n",
         1, "not UTF-8"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        parse(cases[i].text);
        CHECK(file.n_problems == 1 && file.problems[0].line == cases[i].line &&
                  strstr(file.problems[0].text, cases[i].part),
              "problem: %s", cases[i].part);
        if (file.n_problems)
            printf("# %zu: %s\n", file.problems[0].line, file.problems[0].text);
    }
    const struct yaml_node *root = parse("a: 1\na: 2\nb: {c: 1, c: 2}\n");
    CHECK(file.n_problems == 2 && !file.broken && same(text_of(root, "a"), "1"),
          "duplicate keys do not break the rest; the first value stays");
    arena_free(arena);
    arena = arena_new((size_t)1 << 20);
    yaml_parse("a: \0b", 5, arena, &file);
    CHECK(file.broken && strstr(file.problems[0].text, "0x00 at byte 3"), "a NUL byte");
}

static void bounds(void)
{
    AUTO_CLEAR(buf) struct buf text;

    buf_init(&text, (size_t)8 << 20);
    for (int i = 0; i < YAML_MAX_DEPTH; i++)
        buf_puts(&text, "[");
    for (int i = 0; i < YAML_MAX_DEPTH; i++)
        buf_puts(&text, "]");
    parse(buf_str(&text));
    CHECK(file.n_problems == 0, "%d levels", YAML_MAX_DEPTH);
    buf_clear(&text);
    for (int i = 0; i < 200000; i++)
        buf_puts(&text, "[");
    parse(buf_str(&text));
    CHECK(file.broken && strstr(file.problems[0].text, "nested more than 64"), "200,000 levels");

    buf_clear(&text);
    buf_puts(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++)
        buf_printf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i,
                   i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    parse(buf_str(&text));
    CHECK(file.broken && strstr(file.problems[0].text, "aliases are expanded"), "an alias bomb");

    buf_clear(&text);
    buf_puts(&text, "a0: &a0 {k: v}\n");
    for (int i = 1; i < 80; i++)
        buf_printf(&text, "a%d: &a%d {k: *a%d}\n", i, i, i - 1);
    parse(buf_str(&text));
    CHECK(file.broken && strstr(file.problems[0].text, "nested more than"),
          "depth counts through aliases");

    buf_clear(&text);
    for (int i = 0; i <= YAML_MAX_ANCHORS; i++)
        buf_printf(&text, "k%d: &a%d 1\n", i, i);
    parse(buf_str(&text));
    CHECK(file.broken && strstr(file.problems[0].text, "anchors"), "too many anchors");

    buf_clear(&text);
    buf_puts(&text, "[");
    for (int i = 0; i < YAML_MAX_NODES; i++)
        buf_puts(&text, "1,");
    buf_puts(&text, "]");
    parse(buf_str(&text));
    CHECK(file.broken && strstr(file.problems[0].text, "more than 200000 values"),
          "too many values");

    buf_clear(&text);
    while (text.len <= YAML_MAX_BYTES)
        buf_puts(&text, "# all work and no play\n");
    parse(buf_str(&text));
    CHECK(file.broken && strstr(file.problems[0].text, "larger than 4 MiB"), "too many bytes");

    arena_free(arena);
    arena = arena_new(300);
    yaml_parse("a: [1, 2, 3, 4, 5, 6, 7]", 24, arena, &file);
    CHECK(file.broken && file.n_problems == 1, "an arena too small");
}

static void reading(void)
{
    AUTO_CLEAR(buf) struct buf text;
    char path[] = "/tmp/tradewind-yaml-XXXXXX";
    struct err e = {0};
    int fd = mkstemp(path);

    buf_init(&text, YAML_MAX_BYTES);
    CHECK(fd >= 0 && write(fd, "a: 1\n", 5) == 5, "a file");
    CHECK(yaml_read(path, &text, &e) == 0 && same(buf_str(&text), "a: 1\n"), "is read");
    CHECK(ftruncate(fd, (off_t)YAML_MAX_BYTES + 1) == 0, "grown past the limit");
    buf_clear(&text);
    CHECK(yaml_read(path, &text, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "4 MiB"),
          "a file too large is refused by its size");
    close(fd);
    unlink(path);
    CHECK(yaml_read(path, &text, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, path),
          "a file that is not there");
    CHECK(yaml_read("/tmp", &text, &e) < 0 && e.kind == ERR_USAGE, "a directory");
    CHECK(yaml_byte_offset("\xef\xbb\xbf"
                           "ab",
                           5, 1) == 4,
          "a byte order mark is no character");
    parse("\xef\xbb\xbf"
          "name: x\nrun: y\n");
    CHECK(file.n_problems == 0 && yaml_get(file.documents[0], "name"), "a byte order mark");
    CHECK(yaml_byte_offset("a\xc3\xa9z", 4, 2) == 3 && yaml_byte_offset("ab", 2, 9) == 2,
          "characters to bytes");
}

int main(void)
{
    values();
    aliases();
    problems();
    bounds();
    reading();
    arena_free(arena);
    return TAP_DONE();
}
