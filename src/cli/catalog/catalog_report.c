#include "cli/catalog/catalog_parts.h"

#include "base/auto.h"
#include "base/buf.h"
#include "view/table.h"
#include "view/text.h"

#include <string.h>

#define LINE_MAX_BYTES 8192

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void print_files(const struct catalog_report *r, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "file", .cut_rank = 1, .least = 16},
        {.title = "table"},
        {.title = "rows", .right = true},
        {.title = "kept", .right = true},
        {.title = "dropped", .right = true},
        {.title = "offers", .right = true},
    };
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    char text[32];

    for (size_t i = 0; i < r->n_files; i++) {
        const struct catalog_file_report *f = &r->files[i];
        bool skypilot = f->table == CATALOG_TABLE_SKYPILOT;
        table_put(t, base_name(f->path));
        table_put(t, skypilot ? f->cloud : catalog_table_text(f->table));
        table_put(t, text_count(f->rows_read, text));
        table_put(t, text_count(f->rows_kept, text));
        table_put(t, text_count(catalog_report_dropped(f), text));
        table_put(t, f->offers ? text_count(f->offers, text) : "-");
    }
    table_print(t, out, 0, TEXT_COLUMNS, look);
}

static void print_reason(
    const char *file, size_t n, const char *why, FILE *out, const struct text_look *look)
{
    char count[32], line[400];

    snprintf(line, sizeof line, "%s: %s %s, %s", file, text_count(n, count),
             n == 1 ? "row" : "rows", why);
    fputs("  ", out);
    text_paragraph(out, line, 4, look);
}

static void print_reasons(const struct catalog_report *r, FILE *out, const struct text_look *look)
{
    bool any = false;

    for (size_t i = 0; i < r->n_files; i++) {
        const struct catalog_file_report *f = &r->files[i];
        for (size_t d = 0; d < CATALOG_N_DROPS; d++) {
            if (!f->dropped[d])
                continue;
            fputs(any ? "" : "\nDropped:\n", out);
            any = true;
            print_reason(base_name(f->path), f->dropped[d], catalog_drop_text((enum catalog_drop)d),
                         out, look);
        }
    }
    any = false;
    for (size_t i = 0; i < r->n_files; i++) {
        if (!r->files[i].spot_above_on_demand)
            continue;
        fputs(any ? "" : "\nKept as listed:\n", out);
        any = true;
        print_reason(base_name(r->files[i].path), r->files[i].spot_above_on_demand,
                     "spot price above the on-demand price", out, look);
    }
}

static bool sends_anything(const struct catalog *c, size_t place)
{
    for (size_t to = 0; to < catalog_n_places(c); to++) {
        if (to != place && catalog_move(c, place, to))
            return true;
    }
    return catalog_n_places(c) == 1;
}

/* Clouds with a place that data cannot leave, for want of rows in transfers.csv: plans keep all
 * stages that share data within it, which is seldom what an importer has in mind. */
static json_t *clouds_without_transfers(const struct catalog *c)
{
    json_t *clouds = json_array();
    uint32_t last = UINT32_MAX;

    for (size_t i = 0; i < catalog_n_places(c); i++) {
        uint32_t cloud = catalog_places(c)[i].cloud;
        if (cloud == last || sends_anything(c, i))
            continue;
        last = cloud;
        json_array_append_new(clouds, cli_text_json(catalog_text(c, cloud)));
    }
    return clouds;
}

static void print_without_transfers(const struct catalog *c,
                                    FILE *out,
                                    const struct text_look *look)
{
    AUTO_JSON json_t *clouds = clouds_without_transfers(c);
    AUTO_CLEAR(buf) struct buf line;

    buf_init(&line, LINE_MAX_BYTES);
    for (size_t i = 0; i < json_array_size(clouds); i++) {
        const char *name = json_string_value(json_array_get(clouds, i));
        buf_printf(&line, "%s%s",
                   i ? ", " : "No row of transfers.csv lets data leave: ", name ? name : "?");
    }
    if (!line.len)
        return;
    fputs("\n", out);
    text_paragraph(out, line.data, 2, look);
}

void cli_catalog_print_report(const struct catalog_report *r, const struct catalog *c, FILE *out)
{
    const struct text_look look = text_look_for(out);
    char offers[32], places[32];

    print_files(r, out, &look);
    print_reasons(r, out, &look);
    for (size_t i = 0; i < r->n_unrecognised; i++) {
        fputs(i ? "" : "\nNot recognised, left alone:\n", out);
        fputs("  ", out);
        text_paragraph(out, base_name(r->unrecognised[i]), 4, &look);
    }
    print_without_transfers(c, out, &look);
    fprintf(out, "\nIn use now: %s offers in %s places.\n", text_count(catalog_n_offers(c), offers),
            text_count(catalog_n_places(c), places));
}

static json_t *file_json(const struct catalog_file_report *f)
{
    json_t *dropped = json_array();

    for (size_t d = 0; d < CATALOG_N_DROPS; d++) {
        if (f->dropped[d])
            json_array_append_new(dropped, json_pack("{s:s, s:I}", "reason",
                                                     catalog_drop_text((enum catalog_drop)d),
                                                     "count", (json_int_t)f->dropped[d]));
    }
    bool skypilot = f->table == CATALOG_TABLE_SKYPILOT;
    return json_pack("{s:o, s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:o, s:I}", "file",
                     cli_text_json(f->path), "format", skypilot ? "skypilot" : "tradewind", "table",
                     skypilot ? "offers" : catalog_table_text(f->table), "cloud", f->cloud,
                     "rows_read", (json_int_t)f->rows_read, "rows_kept", (json_int_t)f->rows_kept,
                     "rows_dropped", (json_int_t)catalog_report_dropped(f), "offers",
                     (json_int_t)f->offers, "dropped", dropped, "spot_above_on_demand",
                     (json_int_t)f->spot_above_on_demand);
}

int cli_catalog_print_report_json(const struct catalog_report *r,
                                  const struct catalog *c,
                                  struct err *e)
{
    json_t *files = json_array(), *unrecognised = json_array();
    json_int_t read = 0, kept = 0, offers = 0;

    for (size_t i = 0; i < r->n_files; i++) {
        json_array_append_new(files, file_json(&r->files[i]));
        read += (json_int_t)r->files[i].rows_read;
        kept += (json_int_t)r->files[i].rows_kept;
        offers += (json_int_t)r->files[i].offers;
    }
    for (size_t i = 0; i < r->n_unrecognised; i++)
        json_array_append_new(unrecognised, cli_text_json(r->unrecognised[i]));
    AUTO_JSON json_t *root =
        json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:{s:o, s:I, s:I}}", "rows_read", read,
                  "rows_kept", kept, "rows_dropped", read - kept, "offers", offers, "files", files,
                  "not_recognised", unrecognised, "without_transfers", clouds_without_transfers(c),
                  "catalog", "origin", cli_text_json(catalog_origin(c)), "offers",
                  (json_int_t)catalog_n_offers(c), "places", (json_int_t)catalog_n_places(c));
    return json_write(stdout, root, e);
}
