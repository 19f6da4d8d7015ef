/* Every type of field: text and JSON to members and back, bounds, presets, unknown names. */
#include "base/buf.h"
#include "base/mem.h"
#include "tap.h"
#include "view/record.h"
#include "view/writer.h"

#include <math.h>
#include <string.h>

enum colour { RED = 1, GREEN };
static const char *const colours[] = {[RED] = "red", [GREEN] = "green"};

struct part {
    const char *name;
    int64_t n;
};
static const struct field part_fields[] = {
    {"name", FIELD(TEXT, struct part, name), .required = true},
    {"n", FIELD(INT, struct part, n), .preset = "7"},
};
static const struct record part_record = RECORD("part", struct part, part_fields);

struct thing {
    const char *text;
    int64_t n;
    uint64_t count;
    double real;
    int64_t cost_microusd;
    uint64_t bytes;
    int64_t at_ms;
    double wait_s;
    enum colour colour;
    bool on;
    struct field_list tags;
    const void *part;
    struct field_records parts;
    json_t *any;
};
static const struct field fields[] = {
    {"text", FIELD(TEXT, struct thing, text), .least = 1, .most = 5, .heading = "text"},
    {"n", FIELD(INT, struct thing, n), .least = 1, .most = 10, .preset = "3", .heading = "n"},
    {"count", FIELD(COUNT, struct thing, count), .heading = "count"},
    {"real", FIELD(REAL, struct thing, real), .heading = "real"},
    {"cost_usd", FIELD(MONEY, struct thing, cost_microusd), .heading = "cost", .unit = "USD"},
    {"size_bytes", FIELD(BYTES, struct thing, bytes), .heading = "size"},
    {"at", FIELD(TIME, struct thing, at_ms), .heading = "at"},
    {"wait_s", FIELD(DURATION, struct thing, wait_s), .heading = "wait", .option = "--wait"},
    {"colour", FIELD(ENUM, struct thing, colour), FIELD_CHOICES(colours), .heading = "colour"},
    {"on", FIELD(BOOL, struct thing, on), .heading = "on"},
    {"tags", FIELD(LIST, struct thing, tags), .heading = "tags"},
    {"part", FIELD(RECORD, struct thing, part), .record = &part_record},
    {"parts", FIELD(RECORDS, struct thing, parts), .record = &part_record},
    {"any", FIELD(JSON, struct thing, any), .omit_none = true},
};
static const struct record record = RECORD("thing", struct thing, fields);

static void check_refused(const char *json, const char *why)
{
    AUTO(arena) struct arena *a = arena_new(1 << 20);
    AUTO_JSON json_t *object = json_loads(json, 0, NULL);
    struct err e = {0};
    struct thing t;

    int result = record_decode(&record, object, FIELD_AS_NAME, &t, a, &e);
    CHECK(result < 0 && e.kind == ERR_USAGE && strcmp(e.text, why) == 0, "%s: %s", json, e.text);
}

static void test_refused(void)
{
    check_refused("{\"n\": 11}", "n 11: must be from 1 to 10");
    check_refused("{\"n\": 1.5}", "n 1.5: must be a whole number");
    check_refused("{\"n\": \"x\"}", "n \"x\": must be a whole number");
    check_refused("{\"count\": -1}", "count -1: must be a whole number");
    check_refused("{\"text\": \"\"}", "text \"\": must be from 1 to 5 characters");
    check_refused("{\"text\": 1}", "text 1: must be a text");
    check_refused("{\"cost_usd\": 1e12}", "cost_usd 1e+12: is more than a billion dollars");
    check_refused("{\"wait_s\": \"soon\"}",
                  "wait_s \"soon\": must be a time such as 90s, 10m, 3h or 2d");
    check_refused("{\"at\": \"noon\"}", "at \"noon\": must be a time such as 2026-11-15T22:36:00Z");
    check_refused("{\"colour\": \"gren\"}", "colour \"gren\": did you mean green?");
    check_refused("{\"colour\": \"x\"}", "colour \"x\": must be red or green");
    check_refused("{\"on\": 1}", "on 1: must be true or false");
    check_refused("{\"tags\": [1]}", "tags 1: must be a list of texts");
    check_refused("{\"part\": {}}", "part: name: is missing");
    check_refused("{\"parts\": [{\"name\": \"a\"}, {}]}", "parts[1]: name: is missing");
    check_refused("{\"txet\": 1}", "unknown field \"txet\"; did you mean \"text\"?");
    check_refused("[]", "must be an object");
}

static void test_round(void)
{
    static const char whole[] =
        "{\"text\": \"a\", \"n\": 2, \"count\": 3, \"real\": 1.5, \"cost_usd\": 0.25,"
        " \"size_bytes\": 8, \"at\": \"2026-11-15T22:36:00.250Z\", \"wait_s\": 90.0,"
        " \"colour\": \"green\", \"on\": true, \"tags\": [\"x\", \"y\"],"
        " \"part\": {\"name\": \"p\", \"n\": 7}, \"parts\": [{\"name\": \"q\", \"n\": 1}],"
        " \"any\": {\"k\": [1]}}";
    AUTO(arena) struct arena *a = arena_new(1 << 20);
    AUTO_JSON json_t *object = json_loads(whole, 0, NULL);
    struct err e = {0};
    struct thing t;

    CHECK(record_decode(&record, object, FIELD_AS_NAME, &t, a, &e) == 0, "decodes: %s", e.text);
    CHECK(t.cost_microusd == 250000 && t.colour == GREEN && t.tags.n == 2 && t.on, "members");
    CHECK(t.at_ms == 1794782160250, "22:36 on 15 November 2026 in epoch milliseconds");
    CHECK(((const struct part *)t.part)->n == 7, "a nested preset");
    AUTO_JSON json_t *back = record_encode(&record, &t);
    CHECK(json_equal(object, back), "JSON survives decoding and encoding");
}

static void test_none(void)
{
    AUTO(arena) struct arena *a = arena_new(1 << 20);
    AUTO_JSON json_t *request = json_object();
    struct err e = {0};
    struct thing t;

    CHECK(record_decode(&record, request, FIELD_AS_NAME, &t, a, &e) == 0, "nothing given: %s",
          e.text);
    CHECK(t.n == 3, "but a preset");
    CHECK(!t.text && isnan(t.real) && t.cost_microusd == FIELD_NONE && !t.colour, "none values");
    AUTO_JSON json_t *back = record_encode(&record, &t);
    CHECK(json_is_null(json_object_get(back, "text")) && !json_object_get(back, "any"),
          "null, or left out");
    CHECK(json_array_size(json_object_get(back, "parts")) == 0 &&
              json_is_array(json_object_get(back, "parts")),
          "lists are never null");
}

static void test_text(void)
{
    AUTO(arena) struct arena *a = arena_new(1 << 20);
    AUTO_JSON json_t *request = json_object();
    struct err e = {0};
    struct thing t;
    char option[64];

    record_put_text(&record, request, "wait_s", "1h30m", &e);
    record_put_text(&record, request, "cost_usd", "$2.5", &e);
    record_put_text(&record, request, "tags", "x", &e);
    record_put_text(&record, request, "tags", "y,z", &e);
    record_put_text(&record, request, "on", "true", &e);
    record_put_text(&record, request, "at", "2026-11-15", &e);
    CHECK(record_decode(&record, request, FIELD_AS_OPTION, &t, a, &e) == 0, "decodes: %s", e.text);
    CHECK(t.wait_s >= 5400 && t.wait_s <= 5400 && t.cost_microusd == 2500000, "units");
    CHECK(t.tags.n == 2 && !strcmp(t.tags.items[1], "y,z") && t.on, "lists and switches");
    CHECK(t.at_ms == 1794700800000, "a date is its first second");
    CHECK(!strcmp(field_option(record_field(&record, "cost_usd"), option), "--cost-usd"),
          "the option of a name");
    json_object_set_new(request, "wait_s", json_string("x"));
    CHECK(record_decode(&record, request, FIELD_AS_OPTION, &t, a, &e) < 0 &&
              !strncmp(e.text, "--wait \"x\":", 11),
          "errors spell the option: %s", e.text);
    CHECK(record_put_text(&record, request, "text", "\xff", &e) < 0, "not UTF-8");
}

static char *written(enum writer_format format, const struct thing *t, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct writer w;

    writer_init(&w, format, NULL, &record, NULL, false, out);
    for (size_t i = 0; i < n; i++)
        writer_item(&w, t, NULL);
    writer_end(&w, NULL);
    writer_clear(&w);
    fclose(out);
    return text;
}

static void test_writer(void)
{
    const char *const tags[] = {"a,b", "c\"d"};
    const struct thing t = {.text = "x",
                            .n = 1,
                            .count = 12345,
                            .real = 0.5,
                            .cost_microusd = 1500000,
                            .bytes = 8192,
                            .at_ms = 1794782160250,
                            .wait_s = 90,
                            .colour = RED,
                            .tags = {tags, 2}};
    AUTO_MEM char *table = written(WRITER_TABLE, &t, 1);
    AUTO_MEM char *csv = written(WRITER_CSV, &t, 1);
    AUTO_MEM char *json = written(WRITER_JSON, &t, 2);
    AUTO_MEM char *none = written(WRITER_JSON, &t, 0);
    AUTO_JSON json_t *array = json_loads(json, 0, NULL);

    CHECK(strstr(table, "12,345") && strstr(table, "$1.50") && strstr(table, "8.0 KiB"),
          "a table for people");
    CHECK(!strncmp(csv, "text,n,count,real,cost_usd,", 27), "CSV begins with the names");
    CHECK(strstr(csv, "x,1,12345,0.5,1.5,8192,2026-11-15T22:36:00.250Z,90.0,red,false,"
                      "\"[\"\"a,b\"\",\"\"c\\\"\"d\"\"]\","),
          "CSV quotes: %s", csv);
    CHECK(json_array_size(array) == 2, "a JSON array");
    CHECK(!strcmp(none, "[]\n"), "an empty one");
}

/* A line of JSON says what the encoded record says, whatever a text holds. */
static void test_line(void)
{
    static const char *const texts[] = {"plain /a#2",  "",       "q\"b\\", "tab\t\x01\x7f",
                                        "gr\xc3\xbcn", "bad\xff"};
    const char *const tags[] = {"a\"b"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        AUTO_CLEAR(buf) struct buf line;
        const struct thing t = {.text = texts[i],
                                .n = i ? INT64_MIN + (int64_t)i : -7,
                                .count = i ? 0 : UINT64_MAX,
                                .real = 0.1,
                                .bytes = INT64_MAX,
                                .wait_s = (double)NAN,
                                .tags = {tags, 1}};
        buf_init(&line, 1 << 20);
        encoder_put_one(&record, &t, &line);
        AUTO_JSON json_t *read = json_loads(buf_str(&line), 0, NULL);
        AUTO_JSON json_t *wanted = record_encode(&record, &t);
        CHECK(read && json_equal(read, wanted) && !strchr(buf_str(&line), '\n'), "%s",
              buf_str(&line));
    }
}

/* Texts of all lengths up to a few words, plain and with a quote as their last byte, in one growing
 * buffer; and one that is too small. */
static void test_line_lengths(void)
{
    AUTO_CLEAR(encoder) struct encoder x = {0};
    AUTO_CLEAR(buf) struct buf all, small;
    char text[300];
    bool good = true;

    buf_init(&all, 1 << 24);
    buf_init(&small, 600);
    encoder_begin(&x, &record);
    for (size_t n = 0; n < 2 * sizeof text; n++) {
        size_t len = n / 2, before = all.len;
        memset(text, 'x', sizeof text);
        text[len] = 0;
        if (n % 2 && len)
            text[len - 1] = '"';
        const struct thing t = {.text = text, .n = (int64_t)n, .wait_s = (double)NAN};
        encoder_put(&x, &t, &all);
        encoder_put(&x, &t, &small);
        AUTO_JSON json_t *read = json_loads(buf_str(&all) + before, 0, NULL);
        AUTO_JSON json_t *wanted = record_encode(&record, &t);
        good = good && read && json_equal(read, wanted);
    }
    CHECK(good && !all.full, "lines with texts of all lengths");
    CHECK(small.full && small.len <= 600, "a buffer that is too small is full");
}

struct total {
    int64_t n;
    struct field_records parts;
    const char *secret;
};
static bool has_no_secret(const void *total)
{
    return !*((const struct total *)total)->secret;
}
static json_t *double_n(const void *total)
{
    return json_integer(2 * ((const struct total *)total)->n);
}
static const struct field total_fields[] = {
    {"n", FIELD(INT, struct total, n)},
    {"parts", FIELD(RECORDS, struct total, parts), .record = &part_record},
    {"secret", FIELD(TEXT, struct total, secret), .is_absent = has_no_secret},
    {"twice", FIELD(INT, struct total, n), .json = double_n},
};
static const struct record total_record = RECORD("total", struct total, total_fields);
static const struct record name_record = {.name = "name",
                                          .size = sizeof(struct part),
                                          .fields = part_fields,
                                          .n_fields = 1,
                                          .is_bare = true};

/* An answer with a head and two items; head_at: items before the head. */
static char *written_as(enum writer_format format,
                        const struct record *item,
                        const char *items_name,
                        size_t head_at)
{
    static const struct part parts[] = {{"a", 1}, {"b", 2}};
    const struct total total = {.n = 5, .parts = {parts, 2}, .secret = ""};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct writer w;

    writer_init(&w, format, &total_record, item, items_name, false, out);
    for (size_t i = 0; i <= 2; i++) {
        if (i == head_at)
            writer_head(&w, &total, NULL);
        if (i < 2)
            writer_item(&w, &parts[i], NULL);
    }
    writer_end(&w, NULL);
    writer_clear(&w);
    fclose(out);
    return text;
}

static void test_head(void)
{
    AUTO_MEM char *before = written_as(WRITER_JSON, &name_record, "names", 0);
    AUTO_MEM char *after = written_as(WRITER_JSON, &name_record, "names", 2);
    AUTO_MEM char *without = written_as(WRITER_JSON, &part_record, NULL, 2);
    AUTO_MEM char *lines = written_as(WRITER_LINES, &part_record, NULL, 2);

    CHECK(!strcmp(lines, "{\"name\": \"a\", \"n\": 1}\n{\"name\": \"b\", \"n\": 2}\n"
                         "{\"n\": 5, \"parts\": [{\"name\": \"a\", \"n\": 1}, "
                         "{\"name\": \"b\", \"n\": 2}], \"twice\": 10}\n"),
          "each record on a line: %s", lines);

    CHECK(!strcmp(before,
                  "{\n  \"n\": 5,\n  \"twice\": 10,\n  \"parts\": [\n"
                  "    {\"name\": \"a\", \"n\": 1},\n    {\"name\": \"b\", \"n\": 2}\n  ],\n"
                  "  \"names\": [\n    \"a\",\n    \"b\"\n  ]\n}\n"),
          "the head, lists an item a line, then the items: %s", before);
    CHECK(!strcmp(after, "{\n  \"names\": [\n    \"a\",\n    \"b\"\n  ],\n  \"n\": 5,\n"
                         "  \"twice\": 10,\n  \"parts\": [\n    {\"name\": \"a\", \"n\": 1},\n"
                         "    {\"name\": \"b\", \"n\": 2}\n  ]\n}\n"),
          "a head behind the items: %s", after);
    CHECK(!strcmp(without, "[\n  {\"name\": \"a\", \"n\": 1},\n  {\"name\": \"b\", \"n\": 2}\n]\n"),
          "items without a name: the head is not in the JSON: %s", without);
}

static void test_local(void)
{
    static const struct field local[] = {
        {"names", FIELD(LIST, struct thing, tags), .is_local = true}};
    static const struct record locals = RECORD("locals", struct thing, local);
    AUTO(arena) struct arena *a = arena_new(1 << 20);
    AUTO_JSON json_t *request = json_object();
    struct thing t;

    CHECK(record_put_text(&locals, request, "names", "\xff", NULL) == 0 &&
              record_decode(&locals, request, FIELD_AS_NAME, &t, a, NULL) == 0 && t.tags.n == 1 &&
              !strcmp(t.tags.items[0], "\xff"),
          "names of local files may be any bytes");
}

/* Numbers that may be written with what they number. */
static void ids(void)
{
    struct jobs {
        struct field_ints ids;
    } jobs;
    static const struct field ids_fields[] = {{"ids", FIELD(INTS, struct jobs, ids),
                                               .required = true, .prefix = "job:", .least = 1,
                                               .most = 100}};
    static const struct record ids_record = RECORD("jobs", struct jobs, ids_fields);
    AUTO(arena) struct arena *arena = arena_new(1 << 20);
    AUTO_JSON json_t *request = json_object();
    struct err e = {0};

    CHECK(record_put_text(&ids_record, request, "ids", "job:7", &e) == 0 &&
              record_put_text(&ids_record, request, "ids", "8", &e) == 0 &&
              record_decode(&ids_record, request, FIELD_AS_NAME, &jobs, arena, &e) == 0 &&
              jobs.ids.n == 2 && jobs.ids.items[0] == 7 && jobs.ids.items[1] == 8,
          "two texts are a list of integers: %s", e.text);
    AUTO_JSON json_t *encoded = record_encode(&ids_record, &jobs);
    CHECK(json_equal(encoded, request), "and integers in JSON");
    static const char *const wrong[] = {"0", "101", "1.5", "job:", "run:7", "x", "job:job:7"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        AUTO_JSON json_t *bad = json_object();
        CHECK(record_put_text(&ids_record, bad, "ids", wrong[i], &e) == 0 &&
                  record_decode(&ids_record, bad, FIELD_AS_NAME, &jobs, arena, &e) < 0 &&
                  e.kind == ERR_USAGE && strstr(e.text, "must be a number, as in 7 or job:7"),
              "%s: %s", wrong[i], e.text);
    }
    AUTO_JSON json_t *text = json_pack("{s:s}", "ids", "7");
    CHECK(record_decode(&ids_record, text, FIELD_AS_NAME, &jobs, arena, &e) < 0 &&
              strstr(e.text, "must be a list of integers"),
          "a text is no list: %s", e.text);
}

/* Texts and lists of a kept record are its own; all else stays. */
static void test_keep(void)
{
    char text[] = "word", tag[] = "a";
    const char *tags[] = {tag, "b"};
    struct thing t = {.text = text, .n = 4, .tags = {tags, 2}};
    struct err e = {0};
    AUTO(arena) struct arena *a = arena_new(1 << 20), *full = arena_new(24);

    CHECK(record_keep(&record, &t, a, &e) == 0, "a record is kept: %s", e.text);
    text[0] = tag[0] = 'x';
    tags[1] = "y";
    CHECK(strcmp(t.text, "word") == 0 && t.n == 4, "its text is a copy: %s", t.text);
    CHECK(t.tags.n == 2 && strcmp(t.tags.items[0], "a") == 0 && strcmp(t.tags.items[1], "b") == 0,
          "its list, too");
    t = (struct thing){0};
    CHECK(record_keep(&record, &t, a, &e) == 0 && !t.text && t.tags.n == 0, "none stays none");
    t = (struct thing){.text = text, .tags = {tags, 2}};
    CHECK(record_keep(&record, &t, full, &e) < 0 && e.kind == ERR_NOFIT, "what does not fit");
    CHECK(strcmp(e.text, "the thing is too large") == 0, "is named: %s", e.text);
}

int main(void)
{
    test_refused();
    test_round();
    test_none();
    test_text();
    test_writer();
    test_line();
    test_line_lengths();
    test_head();
    test_local();
    ids();
    test_keep();
    return TAP_DONE();
}
