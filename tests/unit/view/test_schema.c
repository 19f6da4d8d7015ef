/* Schemas of records: types, bounds, choices, presets, what may be null. */
#include "base/mem.h"
#include "tap.h"
#include "view/schema.h"

#include <stdlib.h>
#include <string.h>

enum colour { RED = 1, GREEN };
static const char *const colours[] = {[RED] = "red", [GREEN] = "green"};

struct part {
    int64_t n;
};
static const struct field part_fields[] = {{"n", FIELD(INT, struct part, n), .required = true}};
static const struct record part_record = RECORD("part", struct part, part_fields);

struct thing {
    const char *name;
    uint64_t count;
    double wait_s;
    enum colour colour;
    bool on;
    struct field_list tags;
    const void *part;
    struct field_records parts;
    json_t *any;
    const char *column;
};
static const struct field fields[] = {
    {"name", FIELD(TEXT, struct thing, name), .required = true, .least = 1, .most = 5,
     .help = "Its name."},
    {"count", FIELD(COUNT, struct thing, count), .least = 1, .most = 10, .preset = "3"},
    {"wait_s", FIELD(DURATION, struct thing, wait_s), .unit = "s", .help = "A time."},
    {"colour", FIELD(ENUM, struct thing, colour), FIELD_CHOICES(colours)},
    {"on", FIELD(BOOL, struct thing, on)},
    {"tags", FIELD(LIST, struct thing, tags), .least = 0, .most = 4},
    {"part", FIELD(RECORD, struct thing, part), .record = &part_record},
    {"parts", FIELD(RECORDS, struct thing, parts), .record = &part_record},
    {"any", FIELD(JSON, struct thing, any), .help = "Anything."},
    {"column", FIELD(TEXT, struct thing, column), .is_column_only = true},
};
static const struct record record = RECORD("thing", struct thing, fields);
static const struct record bare = {.name = "bare",
                                   .size = sizeof(struct part),
                                   .fields = part_fields,
                                   .n_fields = 1,
                                   .is_bare = true};

static void check_schema(json_t *got, const char *wanted, const char *what)
{
    AUTO_JSON json_t *schema = got, *expected = json_loads(wanted, 0, NULL);
    AUTO_MEM char *text = json_dumps(schema, JSON_INDENT(1));

    CHECK(expected && json_equal(schema, expected), "%s: %s", what, text);
}

int main(void)
{
    check_schema(
        schema_of_request(&record),
        "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"name\"],"
        " \"properties\": {"
        "  \"name\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 5,"
        "             \"description\": \"Its name.\"},"
        "  \"count\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 10, \"default\": 3},"
        "  \"wait_s\": {\"type\": \"number\", \"description\": \"A time. Unit: s.\"},"
        "  \"colour\": {\"type\": \"string\", \"enum\": [\"red\", \"green\"]},"
        "  \"on\": {\"type\": \"boolean\"},"
        "  \"tags\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}, \"minItems\": 0,"
        "             \"maxItems\": 4},"
        "  \"part\": {\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}},"
        "             \"required\": [\"n\"], \"additionalProperties\": false},"
        "  \"parts\": {\"type\": \"array\", \"items\": {\"type\": \"object\","
        "              \"properties\": {\"n\": {\"type\": \"integer\"}},"
        "              \"required\": [\"n\"], \"additionalProperties\": false}},"
        "  \"any\": {\"description\": \"Anything.\"}}}",
        "a request has bounds, presets and no other fields");
    check_schema(
        schema_of_answer(&record),
        "{\"type\": \"object\", \"properties\": {"
        "  \"name\": {\"type\": [\"string\", \"null\"], \"description\": \"Its name.\"},"
        "  \"count\": {\"type\": [\"integer\", \"null\"]},"
        "  \"wait_s\": {\"type\": [\"number\", \"null\"], \"description\": \"A time. Unit: s.\"},"
        "  \"colour\": {\"type\": [\"string\", \"null\"], \"enum\": [\"red\", \"green\", null]},"
        "  \"on\": {\"type\": \"boolean\"},"
        "  \"tags\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},"
        "  \"part\": {\"anyOf\": [{\"type\": \"object\", \"properties\":"
        "             {\"n\": {\"type\": [\"integer\", \"null\"]}}}, {\"type\": \"null\"}]},"
        "  \"parts\": {\"type\": \"array\", \"items\": {\"type\": \"object\", \"properties\":"
        "              {\"n\": {\"type\": [\"integer\", \"null\"]}}}},"
        "  \"any\": {\"description\": \"Anything.\"}}}",
        "an answer may have nulls");
    check_schema(schema_of_answer(&bare), "{\"type\": [\"integer\", \"null\"]}",
                 "a bare record is its value");
    return TAP_DONE();
}
