/* Any JSON as a request, or lines "NAME VALUE" as options: what is decoded is within its bounds and
 * the same when it is encoded and decoded again; what is not is refused in words that JSON takes.
 */
#include "base/arena.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "view/record.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A field of every type, and of every kind of bounds. */
struct part {
    const char *text;
    int64_t number;
};
static const struct field part_fields[] = {
    {"text", FIELD(TEXT, struct part, text), .required = true, .least = 1, .most = 20},
    {"number", FIELD(INT, struct part, number), .prefix = "job:", .least = 1, .most = 1e9},
};
static const struct record part_record = RECORD("part", struct part, part_fields);

struct request {
    const char *text;
    int64_t number, cost_microusd, time_ms;
    uint64_t count, bytes;
    double real, duration_s;
    unsigned int choice;
    bool is_set;
    struct field_list list;
    struct field_ints ints;
    const void *part;
    struct field_records parts;
    json_t *any;
};
static const char *const choices[] = {NULL, "cost", "time", "value"};
static const struct field fields[] = {
    {"text", FIELD(TEXT, struct request, text), .operand = true},
    {"number", FIELD(INT, struct request, number)},
    {"cost_usd", FIELD(MONEY, struct request, cost_microusd), .unit = "USD",
     .most = (double)INFINITY},
    {"time", FIELD(TIME, struct request, time_ms)},
    {"count", FIELD(COUNT, struct request, count), .preset = "7"},
    {"bytes", FIELD(BYTES, struct request, bytes)},
    {"real", FIELD(REAL, struct request, real), .least = 0, .most = 1},
    {"duration_s", FIELD(DURATION, struct request, duration_s), .unit = "s", .bare_unit_s = 60},
    {"choice", FIELD(ENUM, struct request, choice), FIELD_CHOICES(choices), .preset = "cost"},
    {"is_set", FIELD(BOOL, struct request, is_set)},
    {"list", FIELD(LIST, struct request, list), .least = 0, .most = 3},
    {"ints", FIELD(INTS, struct request, ints), .prefix = "job:", .least = 1, .most = 1e9},
    {"part", FIELD(RECORD, struct request, part), .record = &part_record},
    {"parts", FIELD(RECORDS, struct request, parts), .record = &part_record, .most = 3},
    {"any", FIELD(JSON, struct request, any)},
};
static const struct record record = RECORD("request", struct request, fields);

static void is_refused_in_words(const struct err *e)
{
    size_t line, n = strlen(e->text);

    assert(e->kind == ERR_USAGE && n > 0 && utf8_first_bad(e->text, n, &line) == n);
}

static void check(const struct request *r)
{
    const struct part *part = r->part;

    assert(isnan(r->real) || (r->real >= 0 && r->real <= 1));
    assert(r->cost_microusd == FIELD_NONE || r->cost_microusd >= 0);
    assert(r->bytes == UINT64_MAX || r->bytes <= INT64_MAX);
    assert(r->choice < sizeof choices / sizeof *choices);
    assert(r->list.n <= 3 && r->parts.n <= 3);
    for (size_t i = 0; i < r->ints.n; i++)
        assert(r->ints.items[i] >= 1 && r->ints.items[i] <= 1000000000);
    assert(!part || (part->text && strlen(part->text) <= 20));
}

static void decode(json_t *object, enum field_spelling spelling, bool is_again)
{
    AUTO(arena) struct arena *a = arena_new((size_t)64 << 20);
    struct request r = {0};
    struct err e = {0};

    if (record_decode(&record, object, spelling, &r, a, &e) < 0) {
        assert(!is_again);
        is_refused_in_words(&e);
        return;
    }
    check(&r);
    AUTO_JSON json_t *encoded = record_encode(&record, &r);
    AUTO_JSON json_t *copy = json_deep_copy(encoded);
    assert(encoded && copy);
    if (!is_again) {
        decode(copy, spelling, true);
        assert(json_equal(encoded, copy));
    }
}

/* As the command line and queries have it. */
static json_t *from_options(char *text)
{
    AUTO_JSON json_t *object = json_object();

    for (char *line = text, *next; line; line = next) {
        struct err e = {0};
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        char *value = strchr(line, ' ');
        if (value)
            *value++ = 0;
        if (record_put_text(&record, object, line, value ? value : "true", &e) < 0)
            assert(e.kind == ERR_USAGE && *e.text);
    }
    return TAKE(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_MEM char *text = mem_zero(size + 1, 1);

    memcpy(text, data, size);
    AUTO_JSON json_t *given = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    AUTO_JSON json_t *object = json_is_object(given) ? json_incref(given) : from_options(text);
    decode(object, json_is_object(given) ? FIELD_AS_NAME : FIELD_AS_OPTION, false);
    return 0;
}
