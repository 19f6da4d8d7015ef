#include "base/auto.h"
#include "base/buf.h"
#include "cli/market/market_parts.h"
#include "view/table.h"
#include "view/text.h"

#include <stdio.h>
#include <string.h>

#define FILES_SHOWN_MAX 30

/* The files of one feed, added up. */
struct sum {
    size_t n_files, rows_read, rows_kept, n_spells;
    size_t dropped[MARKET_N_DROPS], notes[MARKET_N_NOTES];
};

static struct sum sum_of(const struct cli_market_done *d, enum market_feed feed)
{
    struct sum s = {0};

    for (size_t i = 0; i < d->n_files; i++) {
        const struct market_file_report *f = &d->files[i];
        if (f->feed != feed && feed != MARKET_N_FEEDS)
            continue;
        s.n_files++;
        s.rows_read += f->rows_read;
        s.rows_kept += f->rows_kept;
        s.n_spells += f->n_spells;
        for (size_t k = 0; k < MARKET_N_DROPS; k++)
            s.dropped[k] += f->dropped[k];
        for (size_t k = 0; k < MARKET_N_NOTES; k++)
            s.notes[k] += f->notes[k];
    }
    return s;
}

static void print_feeds(const struct cli_market_done *d, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "format"},
        {.title = "files", .right = true},
        {.title = "rows", .right = true},
        {.title = "kept", .right = true},
        {.title = "dropped", .right = true},
        {.title = "lives", .right = true},
    };
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    char text[32];

    for (size_t i = 0; i < MARKET_N_FEEDS; i++) {
        struct sum s = sum_of(d, (enum market_feed)i);
        if (!s.n_files)
            continue;
        table_put(t, market_feed_text((enum market_feed)i));
        table_put(t, text_count(s.n_files, text));
        table_put(t, text_count(s.rows_read, text));
        table_put(t, text_count(s.rows_kept, text));
        table_put(t, text_count(s.rows_read - s.rows_kept, text));
        table_put(t, s.n_spells ? text_count(s.n_spells, text) : "-");
    }
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
}

static void print_counts(const struct sum *s)
{
    char text[32];
    bool any = false;

    for (size_t i = 0; i < MARKET_N_DROPS; i++) {
        if (!s->dropped[i])
            continue;
        printf("%s  %s %s\n", any ? "" : "\nDropped:\n", text_count(s->dropped[i], text),
               market_drop_text((enum market_drop)i));
        any = true;
    }
    any = false;
    for (size_t i = 0; i < MARKET_N_NOTES; i++) {
        if (!s->notes[i])
            continue;
        printf("%s  %s %s\n", any ? "" : "\nKept, but odd:\n", text_count(s->notes[i], text),
               market_note_text((enum market_note)i));
        any = true;
    }
}

static void print_first_bad(const struct cli_market_done *d, const struct text_look *look)
{
    size_t shown = 0;

    for (size_t i = 0; i < d->n_files && shown < FILES_SHOWN_MAX; i++) {
        const struct market_file_report *f = &d->files[i];
        char line[600];
        if (!f->bad_line)
            continue;
        snprintf(line, sizeof line, "  %.300s:%zu: %s", f->path, f->bad_line, f->bad_text);
        fputs(shown++ ? "" : "\nThe first of each file:\n", stdout);
        text_paragraph(stdout, line, 4, look);
    }
}

static size_t n_records(const struct market *m)
{
    size_t n = 0;

    for (size_t i = 0; i < market_n_offers(m); i++)
        n += market_offers(m)[i].n_points;
    return n;
}

void cli_market_print_import(const struct cli_market_done *d)
{
    const struct text_look look = text_look_for(stdout);
    const struct sum all = sum_of(d, MARKET_N_FEEDS);
    char offers[32], records[32];

    print_feeds(d, &look);
    print_counts(&all);
    print_first_bad(d, &look);
    for (size_t i = 0; i < d->n_unrecognised && i < FILES_SHOWN_MAX; i++) {
        fputs(i ? "" : "\nNot recognised, left alone:\n", stdout);
        fputs("  ", stdout);
        text_paragraph(stdout, d->unrecognised[i], 4, &look);
    }
    printf("\n%s: %s offers with %s records.\n",
           d->changed ? "Kept now" : "Nothing new; kept as before",
           text_count(market_n_offers(d->market), offers),
           text_count(n_records(d->market), records));
}

static json_t *counts_json(const size_t *counts, size_t n, const char *(*text)(int))
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        if (counts[i])
            json_array_append_new(list, json_pack("{s:s, s:I}", "reason", text((int)i), "count",
                                                  (json_int_t)counts[i]));
    return list;
}

static const char *drop_text(int i)
{
    return market_drop_text((enum market_drop)i);
}

static const char *note_text(int i)
{
    return market_note_text((enum market_note)i);
}

static json_t *file_json(const struct market_file_report *f)
{
    json_t *o =
        json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "file", json_text(f->path), "format",
                  market_feed_text(f->feed), "rows_read", (json_int_t)f->rows_read, "rows_kept",
                  (json_int_t)f->rows_kept, "rows_dropped",
                  (json_int_t)(f->rows_read - f->rows_kept), "lives", (json_int_t)f->n_spells,
                  "dropped", counts_json(f->dropped, MARKET_N_DROPS, drop_text), "notes",
                  counts_json(f->notes, MARKET_N_NOTES, note_text));

    if (f->bad_line)
        json_object_set_new(o, "first_dropped",
                            json_pack("{s:I, s:o}", "line", (json_int_t)f->bad_line, "why",
                                      json_text(f->bad_text)));
    return o;
}

int cli_market_print_import_json(const struct cli_market_done *d, struct err *e)
{
    const struct sum all = sum_of(d, MARKET_N_FEEDS);
    json_t *files = json_array(), *unrecognised = json_array();

    for (size_t i = 0; i < d->n_files; i++)
        json_array_append_new(files, file_json(&d->files[i]));
    for (size_t i = 0; i < d->n_unrecognised; i++)
        json_array_append_new(unrecognised, json_text(d->unrecognised[i]));
    AUTO_JSON json_t *root = json_pack(
        "{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:b, s:I, s:I}", "rows_read",
        (json_int_t)all.rows_read, "rows_kept", (json_int_t)all.rows_kept, "rows_dropped",
        (json_int_t)(all.rows_read - all.rows_kept), "lives", (json_int_t)all.n_spells, "dropped",
        counts_json(all.dropped, MARKET_N_DROPS, drop_text), "notes",
        counts_json(all.notes, MARKET_N_NOTES, note_text), "files", files, "not_recognised",
        unrecognised, "changed", d->changed, "offers", (json_int_t)market_n_offers(d->market),
        "records", (json_int_t)n_records(d->market));
    return json_write(stdout, root, e);
}
