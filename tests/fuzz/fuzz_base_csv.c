/* Any bytes: rows come out whole or refused, and what is written reads back the same. */
#include "base/buf.h"
#include "base/csv.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_row(struct buf *out, const struct csv_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        csv_put(out, fields[i].text, i + 1 == n);
}

static void reads_back(const struct buf *row, const struct csv_field *fields, size_t n)
{
    AUTO(csv) struct csv *c = csv_from_memory("row", row->data, row->len);
    const struct csv_field *again;
    struct err e = {0};
    size_t n_again;

    assert(csv_next(c, &again, &n_again, &e) == 1);
    assert(csv_next(c, &again, &n_again, &e) == 1 && n_again == n);
    for (size_t i = 0; i < n; i++)
        assert(strcmp(again[i].text, fields[i].text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(csv) struct csv *c = csv_from_memory("fuzz", data, size);
    const struct csv_field *fields;
    size_t n, line = 0;
    int got;
    struct err e = {0};

    while ((got = csv_next(c, &fields, &n, &e)) != 0) {
        assert(csv_line(c) > line);
        line = csv_line(c);
        if (got < 0)
            continue;
        assert(n >= 1 && n <= 256);
        for (size_t i = 0; i < n; i++)
            assert(strlen(fields[i].text) == fields[i].len);
        AUTO_CLEAR(buf) struct buf row;
        buf_init(&row, 4 * size + 1024);
        buf_puts(&row, "header\n"); /* a byte-order mark counts at the begin of a file only */
        write_row(&row, fields, n);
        /* A single empty field is an empty line, and those are skipped. */
        if (n > 1 || fields[0].len > 0)
            reads_back(&row, fields, n);
    }
    return 0;
}
