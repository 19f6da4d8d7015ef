#include "base/buf.h"
#include "base/csv.h"
#include "base/number.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* All rows as text: fields in <>, "|" ends a row, "!" stands for a malformed row. */
static const char *rows(struct csv *c, struct buf *out, struct err *e)
{
    const struct csv_field *fields;
    size_t n;
    int got;

    while ((got = csv_next(c, &fields, &n, e)) != 0) {
        for (size_t i = 0; got > 0 && i < n; i++)
            buf_printf(out, "<%s>", strlen(fields[i].text) == fields[i].len ? fields[i].text : "?");
        buf_puts(out, got > 0 ? "|" : "!");
    }
    return buf_str(out);
}

#define TEXT(literal) literal, sizeof literal - 1

static void parse(void)
{
    static const struct {
        const char *name, *text;
        size_t len;
        const char *rows;
    } cases[] = {
        {"plain", TEXT("a,b\nc,d\n"), "<a><b>|<c><d>|"},
        {"no newline at the end", TEXT("a,b\nc,d"), "<a><b>|<c><d>|"},
        {"CRLF", TEXT("a,b\r\nc,d\r\n"), "<a><b>|<c><d>|"},
        {"CR at the very end", TEXT("a,b\r"), "<a><b>|"},
        {"CR inside a field", TEXT("a\rb,c\n"), "<a\rb><c>|"},
        {"empty", TEXT(""), ""},
        {"only newlines", TEXT("\n\r\n\n"), ""},
        {"empty lines are skipped", TEXT("\na\n\n\r\nb\n"), "<a>|<b>|"},
        {"empty fields", TEXT(",\n,,\n\"\"\n"), "<><>|<><><>|<>|"},
        {"empty last field at the end", TEXT("a,"), "<a><>|"},
        {"byte-order mark",
         TEXT("\xEF\xBB\xBF"
              "a,b\n"),
         "<a><b>|"},
        {"quoted", TEXT("\"a,b\",\"c\"\"d\",\"e\nf\"\n"), "<a,b><c\"d><e\nf>|"},
        {"quoted with CRLF after it", TEXT("\"a\"\r\n\"b\"\r\n"), "<a>|<b>|"},
        {"quoted at the end", TEXT("x,\"a\""), "<x><a>|"},
        {"only quotes", TEXT("\"\"\"\"\n"), "<\">|"},
        {"quote inside a plain field", TEXT("a\"b,c\n"), "<a\"b><c>|"},
        {"space is kept", TEXT(" a , b\n"), "< a >< b>|"},
        {"unclosed quote", TEXT("a\n\"b\nc\n"), "<a>|!"},
        {"quote that opens at the end", TEXT("a,\""), "!"},
        {"text after a closing quote", TEXT("\"a\"b,c\nd\n"), "!<d>|"},
        {"NUL byte", TEXT("a\0b\nc\n"), "!<c>|"},
        {"NUL byte in quotes", TEXT("\"a\0b\"\nc\n"), "!<c>|"},
        {"CR after a closing quote", TEXT("\"a\"\rb\nc\n"), "!<c>|"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        AUTO_CLEAR(buf) struct buf out;
        buf_init(&out, 1000);
        AUTO(csv) struct csv *c = csv_from_memory("t.csv", cases[i].text, cases[i].len);
        const char *got = rows(c, &out, &e);
        CHECK(strcmp(got, cases[i].rows) == 0, "%s", cases[i].name);
        CHECK((strchr(cases[i].rows, '!') != NULL) == (e.kind == ERR_USAGE), "  error or not");
    }
}

static void lines(void)
{
    const char text[] = "h\n\n\"a\nb\"\nc\n\"x\"y\n";
    const struct csv_field *fields;
    struct err e = {0};
    size_t n;
    AUTO(csv) struct csv *c = csv_from_memory("t.csv", text, sizeof text - 1);

    csv_next(c, &fields, &n, &e);
    CHECK(csv_line(c) == 1, "the header is line 1");
    csv_next(c, &fields, &n, &e);
    CHECK(csv_line(c) == 3, "a row of two lines counts from its first");
    csv_next(c, &fields, &n, &e);
    CHECK(csv_line(c) == 5, "newlines in quotes count");
    CHECK(csv_next(c, &fields, &n, &e) == -1 && strncmp(e.text, "t.csv:6: ", 9) == 0,
          "an error names file and line: %s", e.text);
    CHECK(strcmp(csv_name(c), "t.csv") == 0, "the name is kept");
}

static void too_many_fields(void)
{
    char commas[300];
    const struct csv_field *fields;
    struct err e = {0};
    size_t n = 0;

    memset(commas, ',', sizeof commas);
    commas[255] = '\n';
    AUTO(csv) struct csv *fits = csv_from_memory("t.csv", commas, 256);
    CHECK(csv_next(fits, &fields, &n, &e) == 1 && n == 256, "256 fields are a row");
    commas[255] = ',';
    AUTO(csv) struct csv *over = csv_from_memory("t.csv", commas, sizeof commas);
    CHECK(csv_next(over, &fields, &n, &e) == -1 && strstr(e.text, "256"), "257 are not: %s",
          e.text);
    CHECK(csv_next(over, &fields, &n, &e) == 0, "and the row is over");
}

static void header(void)
{
    static const char *const names[] = {"price", "cloud", "zone"};
    const char text[] = "cloud,region,price\n", twice[] = "price,cloud,price\n";
    struct err e = {0};
    size_t at[3];
    AUTO(csv) struct csv *c = csv_from_memory("t.csv", text, sizeof text - 1);
    AUTO(csv) struct csv *d = csv_from_memory("t.csv", twice, sizeof twice - 1);
    AUTO(csv) struct csv *empty = csv_from_memory("t.csv", "", 0);

    CHECK(csv_header(c, names, 3, at, &e) == 0, "a header is read");
    CHECK(at[0] == 2 && at[1] == 0 && at[2] == SIZE_MAX, "columns are found, or said to be absent");
    CHECK(csv_header(d, names, 3, at, &e) == -1 && strstr(e.text, "\"price\" is listed twice"),
          "a column that is listed twice is an error: %s", e.text);
    CHECK(csv_header(empty, names, 3, at, &e) == -1 && e.kind == ERR_USAGE,
          "an empty file is an error: %s", e.text);
}

static void write_file(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
        abort();
}

static void files(void)
{
    char path[] = "/tmp/tradewind-csv-XXXXXX";
    unsigned char packed[200];
    struct err e = {0};
    int fd = mkstemp(path);

    close(fd);
    write_file(path, "a,b\n", 4);
    AUTO(csv) struct csv *plain = csv_open(path, 4, &e);
    AUTO_CLEAR(buf) struct buf out;
    buf_init(&out, 1000);
    CHECK(plain && strcmp(rows(plain, &out, &e), "<a><b>|") == 0, "a plain file");
    CHECK(!csv_open(path, 3, &e) && e.kind == ERR_USAGE && strstr(e.text, "limit of 3 bytes"),
          "a file over the limit: %s", e.text);

    gzFile gz = gzopen(path, "wb");
    for (int i = 0; i < 100000; i++)
        gzputs(gz, "a,b\n");
    gzclose(gz);
    AUTO(csv) struct csv *unpacked = csv_open(path, 1 << 20, &e);
    const struct csv_field *fields;
    size_t n, count = 0;
    while (unpacked && csv_next(unpacked, &fields, &n, &e) == 1)
        count += n == 2;
    CHECK(count == 100000, "a gzip file");
    CHECK(!csv_open(path, 1000, &e) && e.kind == ERR_USAGE, "the limit counts unpacked bytes: %s",
          e.text);

    FILE *f = fopen(path, "rb");
    size_t got = fread(packed, 1, sizeof packed, f);
    fclose(f);
    write_file(path, packed, got);
    CHECK(!csv_open(path, 1 << 20, &e) && e.kind == ERR_USAGE, "a cut gzip file: %s", e.text);
    packed[40] ^= 0x55;
    packed[41] ^= 0x55;
    write_file(path, packed, got);
    CHECK(!csv_open(path, 1 << 20, &e) && e.kind == ERR_USAGE, "a damaged gzip file: %s", e.text);
    unlink(path);

    CHECK(!csv_open(path, 1000, &e) && e.kind == ERR_USAGE && strstr(e.text, path),
          "a missing file: %s", e.text);
    CHECK(!csv_open("/", 1000, &e) && e.kind == ERR_USAGE, "a directory: %s", e.text);
}

static void put(void)
{
    static const struct {
        const char *text, *field;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"a,b", "\"a,b\""},
        {"say \"hi\"", "\"say \"\"hi\"\"\""},
        {" x", "\" x\""},
        {"x ", "\"x \""},
        {"two\nlines", "\"two\nlines\""},
        {"a\rb", "\"a\rb\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(buf) struct buf b, back;
        struct err e = {0};
        buf_init(&b, 100);
        buf_init(&back, 100);
        CHECK(csv_put(&b, cases[i].text, false) == 0 && csv_put(&b, "z", true) == 0,
              "a row goes in");
        CHECK(strncmp(buf_str(&b), cases[i].field, strlen(cases[i].field)) == 0 &&
                  strcmp(buf_str(&b) + strlen(cases[i].field), ",z\n") == 0,
              "written as %s", cases[i].field);
        AUTO(csv) struct csv *c = csv_from_memory("t.csv", b.data, b.len);
        AUTO_CLEAR(buf) struct buf want;
        buf_init(&want, 100);
        buf_printf(&want, "<%s><z>|", cases[i].text);
        CHECK(strcmp(rows(c, &back, &e), buf_str(&want)) == 0, "and read back");
    }
}

static void numbers(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},
        {3, "3"},
        {1e6, "1000000"},
        {0.1 + 0.2, "0.30000000000000004"},
        {-2.5, "-2.5"},
        {1.0 / 3, "0.3333333333333333"},
        {0.0000123, "1.23e-05"},
    };
    double value = -7;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(buf) struct buf b;
        buf_init(&b, 100);
        csv_put_number(&b, cases[i].value, false);
        b.data[b.len - 1] = 0;
        CHECK(strcmp(b.data, cases[i].text) == 0, "%.17g is written %s, got %s", cases[i].value,
              cases[i].text, b.data);
        CHECK(number_parse(b.data, &value) && value == cases[i].value, "and reads back the same");
    }
    AUTO_CLEAR(buf) struct buf b;
    buf_init(&b, 100);
    csv_put_number(&b, (double)NAN, false);
    csv_put_number(&b, (double)INFINITY, true);
    CHECK(strcmp(buf_str(&b), ",\n") == 0, "what is not finite is an empty field");
    CHECK(!number_parse("", &value), "and an empty field is no number");
}

/* The caller's text is cut up and stays the caller's. */
static void test_in_place(void)
{
    char text[] = "a,\"b\"\nc,d";
    AUTO(csv) struct csv *c = csv_in_place("place", text, sizeof text - 1);
    const struct csv_field *fields;
    size_t n;

    CHECK(csv_next(c, &fields, &n, NULL) == 1 && n == 2 && fields[0].text == text &&
              strcmp(fields[1].text, "b") == 0,
          "fields lie in the caller's text");
    CHECK(csv_next(c, &fields, &n, NULL) == 1 && strcmp(fields[1].text, "d") == 0 &&
              csv_next(c, &fields, &n, NULL) == 0,
          "to its end");
}

int main(void)
{
    parse();
    lines();
    too_many_fields();
    header();
    files();
    put();
    numbers();
    csv_free(NULL);
    test_in_place();
    return TAP_DONE();
}
