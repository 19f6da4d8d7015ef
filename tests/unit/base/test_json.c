#include "base/json.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static const char *written(const json_t *root, char *out, size_t size)
{
    struct err e = {0};
    FILE *file = tmpfile();

    CHECK(json_write(file, root, &e) == 0, "a document is written");
    rewind(file);
    out[fread(out, 1, size - 1, file)] = 0;
    fclose(file);
    return out;
}

static void numbers(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"}, {0.1 + 0.2, "0.3"}, {1, "1.0"}, {-2.5, "-2.5"}, {1e100, "1e100"}};
    char out[256];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_JSON json_t *list = json_pack("[o]", json_number(cases[i].value));
        AUTO_JSON json_t *back = json_loads(written(list, out, sizeof out), 0, NULL);
        CHECK(strstr(out, cases[i].text), "%.17g is written %s", cases[i].value, cases[i].text);
        CHECK(back && fabs(json_real_value(json_array_get(back, 0)) - cases[i].value) <=
                          1e-15 * fabs(cases[i].value),
              "and reads back");
    }
    AUTO_JSON json_t *nan = json_number((double)NAN), *infinite = json_number((double)INFINITY);
    CHECK(json_is_null(nan) && json_is_null(infinite), "NaN and infinity become null");
    AUTO_JSON json_t *usd = json_usd(12345678);
    CHECK(json_real_value(usd) == 12.345678, "micro-dollars become dollars");
    AUTO_JSON json_t *largest = json_pack("[o]", json_usd(999999999999999));
    CHECK(strstr(written(largest, out, sizeof out), "999999999.999999"),
          "a billion dollars is exact to the micro-dollar");
}

static void digits(void)
{
    AUTO_JSON json_t *plain = json_pack("{s:[f, f], s:i, s:s}", "a", 0.1, -1e300, "b", 7, "c", "x");
    AUTO_JSON json_t *odd = json_pack("[{s:f}, {s:[f]}]", "a", 0.1, "b", 0.1 + 0.2);
    AUTO_JSON json_t *large = json_real(9007199254740993e3);

    CHECK(json_digits(plain) == 15, "15 digits are enough for numbers as people write them");
    CHECK(json_digits(odd) == 17, "0.1 + 0.2 needs 17, wherever it is");
    CHECK(json_digits(large) == 16, "some need 16");
}

static void texts(void)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"", ""},           {"é\n", "é\n"},         {"/tmp/\xff/a", "/tmp/?/a"},
        {"\xe2\x82", "??"}, {"a\xff\033é", "a??é"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_JSON json_t *text = json_text(cases[i].text);
        CHECK(text && strcmp(json_string_value(text), cases[i].wanted) == 0, "text %zu", i);
    }
}

int main(void)
{
    AUTO_JSON json_t *root = json_pack("{s:s, s:[i]}", "z", "é\"", "a", 1);
    struct err e = {0};
    char out[256];

    CHECK(strcmp(written(root, out, sizeof out),
                 "{\n  \"z\": \"é\\\"\",\n  \"a\": [\n    1\n  ]\n}\n") == 0,
          "indented, in the order of insertion, with a final newline");
    numbers();
    digits();
    texts();

    FILE *full = fopen("/dev/full", "w");
    if (full) {
        setvbuf(full, NULL, _IONBF, 0);
        CHECK(json_write(full, root, &e) == -1 && e.kind == ERR_IO, "a full disk is ERR_IO: %s",
              e.text);
        fclose(full);
    }
    return TAP_DONE();
}
