#include "view/writer.h"

#include "base/mem.h"
#include "view/table.h"

#include <assert.h>
#include <stdio_ext.h>
#include <string.h>

#define CELL_MAX_BYTES 65536
#define ITEM_MAX_BYTES ((size_t)1 << 30)
#define PAGE_BYTES 32768

static bool is_column(const struct writer *w, const struct field *f)
{
    return f->heading && (w->with_details || !f->is_detail);
}

static struct table *new_table(const struct writer *w, const struct record *r)
{
    AUTO_MEM struct table_column *columns = mem_zero(r->n_fields, sizeof *columns);
    size_t n = 0;

    for (size_t i = 0; i < r->n_fields; i++) {
        const struct field *f = &r->fields[i];
        if (is_column(w, f))
            columns[n++] = (struct table_column){.title = f->heading,
                                                 .right = field_is_number(f) && !f->left,
                                                 .cut_rank = f->cut_rank,
                                                 .least = f->least_width,
                                                 .is_optional = f->is_optional};
    }
    return n ? table_new(columns, n) : NULL;
}

void writer_init(struct writer *w,
                 enum writer_format format,
                 const struct record *head,
                 const struct record *item,
                 const char *items_name,
                 bool with_details,
                 FILE *out)
{
    *w = (struct writer){.format = format,
                         .out = out,
                         .head = head,
                         .item = item,
                         .items_name = items_name,
                         .with_details = with_details};
    buf_init(&w->page, ITEM_MAX_BYTES);
    if (format == WRITER_TABLE && item)
        w->table = new_table(w, item);
}

void writer_clear(struct writer *w)
{
    table_free(w->table);
    w->table = NULL;
    /* After an error, the items before it. */
    fwrite(buf_str(&w->page), 1, w->page.len, w->out);
    buf_clear(&w->page);
    encoder_clear(&w->encoder);
}

/* ---- tables ---- */

static void add_row(struct writer *w, const void *record)
{
    const struct record *r = w->item;

    for (size_t i = 0; i < r->n_fields; i++) {
        AUTO_CLEAR(buf) struct buf cell;
        buf_init(&cell, CELL_MAX_BYTES);
        if (!is_column(w, &r->fields[i]))
            continue;
        field_cell(&r->fields[i], record, &cell);
        table_put(w->table, buf_str(&cell));
    }
}

/* The head as lines of "heading  value". */
static void print_head(const struct writer *w, const void *record)
{
    static const struct table_column columns[] = {{.title = "field"}, {.title = "value"}};
    AUTO(table) struct table *t = table_new(columns, 2);
    const struct text_look look = text_look_for(w->out);

    for (size_t i = 0; i < w->head->n_fields; i++) {
        const struct field *f = &w->head->fields[i];
        AUTO_CLEAR(buf) struct buf cell;
        buf_init(&cell, CELL_MAX_BYTES);
        if (!is_column(w, f) || field_is_none(f, record))
            continue;
        field_cell(f, record, &cell);
        table_put(t, f->heading);
        table_put(t, buf_str(&cell));
    }
    table_print(t, w->out, 0, &look);
}

/* ---- CSV ---- */

/* Quoted where RFC 4180 wants it. */
static void put_csv(struct buf *line, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        buf_puts(line, text);
        return;
    }
    buf_puts(line, "\"");
    for (const char *c = text; *c; c++)
        buf_add(line, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    buf_puts(line, "\"");
}

static void put_csv_value(struct buf *line, const struct field *f, const void *record)
{
    AUTO_JSON json_t *value = field_json(f, record);

    if (json_is_null(value))
        return;
    if (json_is_string(value)) {
        put_csv(line, json_string_value(value));
        return;
    }
    AUTO_MEM char *text =
        json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(json_digits(value)));
    put_csv(line, text ? text : "");
}

static int print_csv(struct writer *w, const struct record *r, const void *record, struct err *e)
{
    AUTO_CLEAR(buf) struct buf line;
    bool titles = w->n_items == 0;

    buf_init(&line, r->n_fields * CELL_MAX_BYTES);
    for (int row = titles ? 0 : 1; row < 2; row++) {
        bool first = true;
        for (size_t i = 0; i < r->n_fields; i++) {
            if (r->fields[i].is_column_only)
                continue;
            buf_puts(&line, first ? "" : ",");
            first = false;
            if (row == 0)
                put_csv(&line, r->fields[i].name);
            else
                put_csv_value(&line, &r->fields[i], record);
        }
        buf_puts(&line, "\n");
    }
    if (fwrite(buf_str(&line), 1, line.len, w->out) != line.len)
        return err_set(e, ERR_IO, "write CSV: output failed");
    return 0;
}

/* ---- JSON ---- */

static int write_page(struct writer *w, struct err *e)
{
    size_t n = w->page.len;

    w->page.len = 0;
    if (n > 0 && fwrite(w->page.data, 1, n, w->out) != n)
        return err_set(e, ERR_IO, "write JSON: output failed");
    return 0;
}

/* What stands before the next item: one a line, in an array of their own or within the head. */
static void put_separator(struct writer *w)
{
    const char *text = w->list_begun ? ",\n    " : "[\n    ";

    w->list_begun = true;
    buf_add(&w->page, text, strlen(w->in_object ? ",\n    " : ",\n  "));
}

static int close_list(struct writer *w, struct err *e)
{
    const char *end = !w->list_begun ? "[]" : w->in_object ? "\n  ]" : "\n]";

    if (write_page(w, e) < 0)
        return -1;
    return fputs(end, w->out) < 0 ? err_set(e, ERR_IO, "write JSON: output failed") : 0;
}

/* Items of a list are written a page at a time, but on a terminal one by one: they may be slow to
 * come. */
static int write_line(struct writer *w, const struct record *r, const void *record, struct err *e)
{
    bool is_alone = w->format == WRITER_LINES;

    if (!is_alone)
        put_separator(w);
    if (w->encoder.record != r)
        encoder_begin(&w->encoder, r);
    encoder_put(&w->encoder, record, &w->page);
    if (is_alone)
        buf_add(&w->page, "\n", 1);
    if (w->page.full)
        return err_set(e, ERR_NOFIT, "write JSON: an item is too large");
    return is_alone || w->page.len >= PAGE_BYTES || __flbf(w->out) ? write_page(w, e) : 0;
}

/* A list as the next member of the head's object. */
static void begin_list(struct writer *w, const char *name)
{
    fprintf(w->out, "%s  \"%s\": ", w->in_object ? ",\n" : "{\n", name);
    w->in_object = true;
    w->list_begun = false;
}

static bool is_list(const struct field *f)
{
    return f->type == FIELD_RECORDS && !f->json;
}

static int write_records(struct writer *w, const struct field *f, const void *record, struct err *e)
{
    const struct field_records *all = field_at(f, record);

    begin_list(w, f->name);
    for (size_t i = 0; i < all->n; i++)
        if (write_line(w, f->record, (const char *)all->items + i * f->record->size, e) < 0)
            return -1;
    return close_list(w, e);
}

/* The head's members: lists of records last, an item a line. */
static int write_members(struct writer *w, const void *record, struct err *e)
{
    const struct record *r = w->head;
    AUTO_JSON json_t *object = json_object();

    for (size_t i = 0; i < r->n_fields; i++)
        if (!is_list(&r->fields[i]) && field_is_shown(&r->fields[i], record))
            json_object_set_new(object, r->fields[i].name, field_json(&r->fields[i], record));
    if (json_object_size(object)) {
        AUTO_MEM char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        if (!text)
            return err_set(e, ERR_IO, "write JSON: output failed");
        text[strlen(text) - strlen("\n}")] = 0;
        fprintf(w->out, "%s%s", w->in_object ? "," : "{", text + 1);
        w->in_object = true;
    }
    for (size_t i = 0; i < r->n_fields; i++)
        if (is_list(&r->fields[i]) && field_is_shown(&r->fields[i], record) &&
            write_records(w, &r->fields[i], record, e) < 0)
            return -1;
    return 0;
}

static int write_head(struct writer *w, const void *record, struct err *e)
{
    if (!w->item) {
        AUTO_JSON json_t *object = record_encode(w->head, record);
        return json_write(w->out, object, e);
    }
    if (!w->items_name)
        return 0;
    w->list_ended = w->n_items > 0;
    if ((w->list_ended && close_list(w, e) < 0) || write_members(w, record, e) < 0)
        return -1;
    if (!w->list_ended)
        begin_list(w, w->items_name);
    return 0;
}

static int write_item(struct writer *w, const void *record, struct err *e)
{
    if (w->items_name && !w->in_object)
        begin_list(w, w->items_name);
    return write_line(w, w->item, record, e);
}

static int end_json(struct writer *w, struct err *e)
{
    if (!w->list_ended && close_list(w, e) < 0)
        return -1;
    if (fputs(w->in_object ? "\n}\n" : "\n", w->out) < 0)
        return err_set(e, ERR_IO, "write JSON: output failed");
    return 0;
}

/* ---- the answer ---- */

int writer_head(struct writer *w, const void *record, struct err *e)
{
    assert(w->head && !w->has_head);
    w->has_head = true;
    switch (w->format) {
    case WRITER_TABLE:
        print_head(w, record);
        return 0;
    case WRITER_CSV:
        return w->item ? 0 : print_csv(w, w->head, record, e);
    case WRITER_LINES:
        return write_line(w, w->head, record, e);
    case WRITER_JSON:
        break;
    }
    return write_head(w, record, e);
}

int writer_item(struct writer *w, const void *record, struct err *e)
{
    int result = 0;

    assert(w->item);
    if (w->format == WRITER_JSON)
        result = write_item(w, record, e);
    else if (w->format == WRITER_LINES)
        result = write_line(w, w->item, record, e);
    else if (w->format == WRITER_CSV)
        result = print_csv(w, w->item, record, e);
    else if (w->table)
        add_row(w, record);
    w->n_items++;
    return result;
}

int writer_end(struct writer *w, struct err *e)
{
    const struct text_look look = text_look_for(w->out);

    if (!w->item)
        return 0;
    if (w->format == WRITER_JSON)
        return end_json(w, e);
    if (w->format == WRITER_TABLE && w->table && w->n_items)
        table_print(w->table, w->out, w->indent, &look);
    return 0;
}

void writer_list(const struct record *r,
                 const void *record,
                 const char *member,
                 size_t most,
                 size_t indent,
                 bool with_details,
                 FILE *out)
{
    const struct field *f = record_field(r, member);
    const struct field_records *list = field_at(f, record);
    AUTO_CLEAR(writer) struct writer w;

    writer_init(&w, WRITER_TABLE, NULL, f->record, NULL, with_details, out);
    w.indent = indent;
    for (size_t i = 0; i < list->n && i < most; i++)
        writer_item(&w, (const char *)list->items + i * f->record->size, NULL);
    writer_end(&w, NULL);
}
