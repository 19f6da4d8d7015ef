#include "tap.h"
#include "view/table.h"

#include <string.h>

static const struct table_column columns[] = {
    {.title = "stage", .cut_rank = 1, .least = 5},
    {.title = "where", .cut_rank = 2, .least = 5},
    {.title = "usd", .right = true},
};

static const struct table_column optional[] = {
    {.title = "job"},
    {.title = "user", .is_optional = true},
    {.title = "cpus", .is_optional = true},
    {.title = " cost", .right = true},
};

static char *printed(const struct table *t,
                     size_t indent,
                     size_t max_columns,
                     struct text_look look)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    look.columns = max_columns;
    table_print(t, out, indent, &look);
    fclose(out);
    return text;
}

static void check(const char *name, char *got, const char *want)
{
    CHECK(!strcmp(got, want), "%s", name);
    if (strcmp(got, want) != 0)
        printf("# got:\n%s# want:\n%s", got, want);
    free(got);
}

int main(void)
{
    struct text_look ascii = {0}, utf8 = {.utf8 = true}, colour = {.utf8 = true, .colour = true};
    AUTO(table) struct table *t = table_new(columns, 3);

    check("no rows: the titles alone", printed(t, 0, 80, ascii), "stage  where  usd\n");
    table_put(t, "preprocess");
    table_put(t, "gcp/us-central1");
    table_printf(t, "%.2f", 0.05);
    table_rule(t);
    table_put(t, "total");
    table_put(t, "");
    table_printf(t, "%d", 1234);
    check("columns as wide as their widest cell, numbers to the right", printed(t, 0, 80, ascii),
          "stage       where             usd\n"
          "preprocess  gcp/us-central1  0.05\n"
          "---------------------------------\n"
          "total                        1234\n");
    check("indented, rule in UTF-8", printed(t, 2, 80, utf8),
          "  stage       where             usd\n"
          "  preprocess  gcp/us-central1  0.05\n"
          "  \xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
          "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
          "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
          "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
          "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\n"
          "  total                        1234\n");
    check("the column of lowest rank is cut first", printed(t, 0, 30, ascii),
          "stage    where             usd\n"
          "prep...  gcp/us-central1  0.05\n"
          "------------------------------\n"
          "total                     1234\n");
    CHECK(table_least_width(t) == 18, "the least width: 5, 5 and 4 columns with gaps");
    check("then the next, down to its least", printed(t, 0, 18, ascii),
          "stage  where   usd\n"
          "pr...  gc...  0.05\n"
          "------------------\n"
          "total         1234\n");
    check("what does not fit follows below, beside the first column", printed(t, 1, 17, ascii),
          " stage  where\n"
          " pr...  gcp/us...\n"
          " ----------------\n"
          " total\n"
          "\n"
          " stage        usd\n"
          " preprocess  0.05\n"
          " ----------------\n"
          " total       1234\n");
    AUTO(table) struct table *jobs = table_new(optional, 4);
    for (int i = 0; i < 4; i++)
        table_put(jobs, "1234");
    check("optional columns are left out, the rightmost first", printed(jobs, 0, 17, ascii),
          "job   user   cost\n"
          "1234  1234   1234\n");
    check("only as many as it takes", printed(jobs, 0, 16, ascii),
          "job    cost\n"
          "1234   1234\n");
    AUTO(table) struct table *one = table_new(columns, 1);
    check("titles stand out on a terminal", printed(one, 0, 80, colour), "\033[1mstage\033[0m\n");
    return TAP_DONE();
}
