/* histories: the commands `market import` and `market ls`. */
#include "app/market/market.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "view/table.h"

#include <stdint.h>
#include <string.h>

#define FILES_SHOWN_MAX 30
#define FORMATS_MAX 8 /* market.import knows 6 */

/* ---- market import ---- */

/* The files of one format, added up. */
struct sum {
    const char *format;
    size_t n_files;
    uint64_t rows_read, rows_kept, lives;
};

static void add_file(struct sum *sums, size_t *n, const struct app_market_file *f)
{
    size_t i = 0;

    while (i < *n && strcmp(sums[i].format, f->format) != 0)
        i++;
    if (i == *n) {
        if (*n == FORMATS_MAX)
            return;
        sums[(*n)++] = (struct sum){.format = f->format};
    }
    sums[i].n_files++;
    sums[i].rows_read += f->rows.rows_read;
    sums[i].rows_kept += f->rows.rows_kept;
    sums[i].lives += f->rows.lives;
}

static void print_formats(const struct operate_text *t, const struct app_market_imported *done)
{
    static const struct table_column columns[] = {
        {.title = "format"},
        {.title = "files", .right = true},
        {.title = "rows", .right = true},
        {.title = "kept", .right = true},
        {.title = "dropped", .right = true},
        {.title = "lifetimes", .right = true},
    };
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    const struct app_market_file *files = done->files.items;
    struct sum sums[FORMATS_MAX];
    size_t n = 0;
    char text[32];

    for (size_t i = 0; i < done->files.n; i++)
        add_file(sums, &n, &files[i]);
    for (size_t i = 0; i < n; i++) {
        table_put(table, sums[i].format);
        table_put(table, text_count(sums[i].n_files, text));
        table_put(table, text_count(sums[i].rows_read, text));
        table_put(table, text_count(sums[i].rows_kept, text));
        table_put(table, text_count(sums[i].rows_read - sums[i].rows_kept, text));
        table_put(table, sums[i].lives ? text_count(sums[i].lives, text) : "-");
    }
    table_print(table, t->out, 0, &t->look);
}

static void print_counts(FILE *out, const char *heading, const struct field_records *counts)
{
    const struct app_market_count *list = counts->items;
    char text[32];

    for (size_t i = 0; i < counts->n; i++)
        fprintf(out, "%s  %s %s\n", i ? "" : heading, text_count(list[i].count, text),
                list[i].reason);
}

static void print_first_dropped(const struct operate_text *t,
                                const struct app_market_imported *done)
{
    const struct app_market_file *files = done->files.items;
    size_t shown = 0;

    for (size_t i = 0; i < done->files.n && shown < FILES_SHOWN_MAX; i++) {
        char line[600];
        if (!files[i].first)
            continue;
        snprintf(line, sizeof line, "  %.300s:%ju: %s", files[i].path,
                 (uintmax_t)files[i].dropped.line, files[i].dropped.why);
        fputs(shown++ ? "" : "\nFirst dropped row of each file:\n", t->out);
        text_paragraph(t->out, line, 4, &t->look);
    }
}

static void print_imported(struct operate_text *t, const void *record)
{
    const struct app_market_imported *done = record;
    char offers[32], records[32];

    print_formats(t, done);
    print_counts(t->out, "\nDropped:\n", &done->rows.dropped);
    print_counts(t->out, "\nKept, with warnings:\n", &done->rows.notes);
    print_first_dropped(t, done);
    for (size_t i = 0; i < done->not_recognised.n && i < FILES_SHOWN_MAX; i++) {
        fputs(i ? "" : "\nNot recognised, left out:\n", t->out);
        fputs("  ", t->out);
        text_paragraph(t->out, done->not_recognised.items[i], 4, &t->look);
    }
    fprintf(t->out, "\n%s: %s offers with %s records.\n",
            done->changed ? "Histories now" : "Nothing new; histories as before",
            text_count(done->offers, offers), text_count(done->records, records));
}

const struct command command_market_import = {
    .name = "market import",
    .operands = "[DIR|FILE...]",
    .max_operands = SIZE_MAX,
    .summary = "Import price histories of spot instances",
    .details =
        "Reads files, plain or gzip, and every file of a directory that looks like a history:\n"
        "  aws        answers of `aws ec2 describe-spot-price-history`, JSON\n"
        "  azure      one row per day (Date), one column per instance size; the file's name is "
        "the region\n"
        "  gcp        launch probes, one file per sweep, its name the time\n"
        "  keepalive  logs of instances kept alive: how long until a preemption\n"
        "  csv        cloud,region,zone,instance_type,time,price_usd_per_hour; no price = "
        "withdrawn\n"
        "  daily      instance_type,az_id,date,ondemand_usd_h,spot_usd_h of a catalog\n"
        "\n"
        "New records join the histories imported before. An import takes all of its files or "
        "none. Records that exist already change nothing. The report counts the rows that cannot "
        "be used and those with warnings. A file without a usable row is an error that names file "
        "and line.\n"
        "\n"
        "With --from aws, asks AWS for the history that the account sees "
        "(ec2:DescribeSpotPriceHistory), of all instance types or those of --type. Asked again, "
        "it asks for what is new.",
    .example = "tradewind market import prices/aws",
    .operation = &market_import_operation,
    .text = &(const struct command_text){.head = print_imported},
    .is_long = true,
};

/* ---- market ls ---- */

const struct command command_market_ls = {
    .name = "market ls",
    .summary = "List the imported price histories",
    .details = "One row per region, instance type and format; the zones are counted together. "
               "Lifetimes are those of instances that were watched until their preemption.",
    .example = "tradewind market ls",
    .operation = &market_list_operation,
    .text = &(const struct command_text){.empty = "There are no price histories; tradewind market "
                                                  "import FILE... imports some."},
};
