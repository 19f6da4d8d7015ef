/* Items of long lists are written as Jansson writes them, whatever is in them. */
#include "view/writer.h"

#include "base/auto.h"
#include "base/mem.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

struct value {
    json_t *json;
};
static const struct field value_fields[] = {{"value", FIELD(JSON, struct value, json)}};
static const struct record value_record = {.name = "value",
                                           .size = sizeof(struct value),
                                           .fields = value_fields,
                                           .n_fields = 1,
                                           .is_bare = true};

/* Takes the reference. */
static void same(const char *what, json_t *item)
{
    AUTO_MEM char *wanted = json_dumps(item, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    AUTO_MEM char *list = mem_printf("[\n  %s\n]\n", wanted);
    char *got = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&got, &n);
    struct writer w;
    struct err e = {0};

    writer_init(&w, WRITER_JSON, NULL, &value_record, NULL, false, out);
    bool good = writer_item(&w, &(struct value){item}, &e) == 0 && writer_end(&w, &e) == 0;
    writer_clear(&w);
    fclose(out);
    CHECK(good && strcmp(got, list) == 0, "%s: %.60s", what, wanted);
    free(got);
    json_decref(item);
}

int main(void)
{
    char text[3000];

    same("flat", json_pack("{s:s, s:n, s:i, s:s}", "type", "m4.large", "place", "workers", 7,
                           "limited_by", "budget"));
    same("empty", json_object());
    same("escapes", json_pack("{s:s, s:s}", "a\"b", "c\\d", "e", "f\tg\nh\x01"));
    same("UTF-8", json_pack("{s:s}", "stra\xc3\x9f\x65", "\xe6\x9d\xb1\xf0\x9f\x8c\x8d\x7f/"));
    same("a zero byte", json_pack("{s:o}", "z", json_stringn("a\0b", 3)));
    same("numbers", json_pack("{s:I, s:I, s:f, s:b, s:b}", "least", INT64_MIN, "most", INT64_MAX,
                              "real", 0.5, "yes", 1, "no", 0));
    same("nested", json_pack("{s:s, s:{s:i}, s:[i, i]}", "a", "b", "in", "x", 1, "list", 1, 2));
    same("no object", json_pack("[i, s]", 1, "a"));
    same("a text alone", json_string("a"));
    /* Around the size of what is kept in one piece. */
    for (size_t n = 2030; n <= 2060; n++) {
        memset(text, 'x', n);
        text[n] = '\0';
        AUTO_JSON json_t *item = json_pack("{s:s, s:i}", "t", text, "n", 1);
        same("long", json_incref(item));
    }
    return TAP_DONE();
}
