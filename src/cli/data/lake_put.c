#include "base/json.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "cli/core/lake_progress.h"
#include "cli/data/lake_put_parts.h"
#include "lake/core/path.h"
#include "lake/put/put.h"
#include "view/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

json_t *lake_put_file_json(const struct lake_put_file *file)
{
    char hex[SHA256_HEX];

    return json_pack("{s:s, s:I, s:I, s:s, s:b}", "path", file->path, "version",
                     (json_int_t)file->number, "size_bytes", (json_int_t)file->size, "sha256",
                     sha256_text(&file->digest, hex), "unchanged", (int)file->unchanged);
}

static void show_line(const struct lake_put_file *file, const struct text_look *look)
{
    char size[32];
    AUTO_MEM char *ref = lake_file_ref(file->path, file->number);
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 4 * LAKE_PUT_REF_COLUMNS + 64);
    text_put(&b, ref, LAKE_PUT_REF_COLUMNS, look->utf8);
    printf("%s  %s%s\n", buf_str(&b), text_bytes(file->size, size),
           file->unchanged ? ", unchanged" : "");
}

int lake_put_show(void *context, const struct lake_put_file *file, struct err *e)
{
    struct lake_put_show *show = context;
    uint64_t n = show->n++;

    if (n == 0 && show->line)
        lake_progress_end(show->line);
    if (show->json && n == 0)
        json_list_begin(&show->list, stdout);
    if (show->json)
        return json_list_add(&show->list, lake_put_file_json(file), e);
    if (n < LAKE_PUT_LINES)
        show_line(file, &show->look);
    return 0;
}

static void count(char out[static 64], uint64_t n, const char *what)
{
    char number[32];

    snprintf(out, 64, "%s %s%s", text_count((size_t)n, number), what, n == 1 ? "" : "s");
}

int lake_put_end(struct lake_put_show *show,
                 const struct lake_put_summary *s,
                 const char *set,
                 struct err *e)
{
    char files[64], number[32], bytes[32];

    if (show->json && show->n == 0)
        json_list_begin(&show->list, stdout);
    if (show->json)
        return json_list_end(&show->list, e);
    if (show->n > LAKE_PUT_LINES)
        printf("... and %s more\n", text_count((size_t)(show->n - LAKE_PUT_LINES), number));
    count(files, s->files, "file");
    printf("%s, %s", files, text_bytes(s->bytes, bytes));
    if (s->unchanged)
        printf("; %s unchanged", text_count((size_t)s->unchanged, number));
    if (s->session)
        printf("; %s stored", text_bytes(s->new_bytes, bytes));
    if (s->skipped)
        printf("; %s left out", text_count((size_t)s->skipped, number));
    if (set)
        printf("; @%s:%lld", set, (long long)s->set_number);
    putchar('\n');
    return 0;
}

size_t lake_put_values(const struct command_args *args,
                       const char *option,
                       const char **values /* room for args->n_given */)
{
    size_t n = 0;

    for (size_t i = 0; i < args->n_given; i++)
        if (strcmp(args->given[i].option->name, option) == 0)
            values[n++] = args->given[i].value;
    return n;
}

const char *lake_put_set(const struct command_args *args)
{
    const char *name = command_value(args, "--set");

    return name && name[0] == '@' ? name + 1 : name;
}

static int run_put(const struct command_args *args, struct err *e)
{
    struct lake_progress_line line;
    struct lake_put_summary summary;
    struct lake_put_show show = {
        .json = command_has(args, "--json"), .look = text_look_for(stdout), .line = &line};
    AUTO_MEM const char **tags = mem_zero(args->n_given + 1, sizeof *tags);
    AUTO_MEM char *destination = lake_path_unescape(args->operands[args->n_operands - 1]);
    AUTO(lake) struct lake *l = lake_open_here(e);

    if (!l)
        return -1;
    const struct lake_put_options options = {
        .sources = args->operands,
        .n_sources = args->n_operands - 1,
        .destination = destination,
        .set = lake_put_set(args),
        .tags = tags,
        .n_tags = lake_put_values(args, "--tag", tags),
        .force = command_has(args, "--force"),
        .progress = lake_progress_begin(&line, "storing"),
    };
    int result = lake_put(l, &options, lake_put_show, &show, &summary, e);
    lake_progress_end(&line);
    if (result < 0)
        return -1;
    if (summary.resumed)
        fprintf(stderr, "resumed session %lld\n", (long long)summary.session);
    return lake_put_end(&show, &summary, options.set, e);
}

static const struct command_option put_options[] = {
    {.name = "--set", .value = "NAME", .help = "Also make a version of this set of the files."},
    {.name = "--tag",
     .value = "KEY=VALUE",
     .help = "Put this on every new version, and on the set version.",
     .repeatable = true},
    {.name = "--force",
     .help = "Make a new version even of unchanged content; content in the lake that turns out to "
             "be damaged is stored again."},
    {.name = "--json",
     .help = "Print an array of path, version, size_bytes, sha256 and unchanged, in the order of "
             "the request."},
    {0},
};

const struct command command_put = {
    .name = "put",
    .operands = "FILE|DIR|-... /DEST",
    .summary = "Put files and directories into the lake",
    .details =
        "As cp -r: a destination that ends in '/' receives each thing under its own name; "
        "otherwise the one source becomes exactly that path. DIR/. stands for what DIR holds, "
        "- for standard input. In the destination %23, %3A, %40 and %25 stand for '#', ':', '@' "
        "and '%', as in references. Links to files are followed; links to directories and special "
        "files "
        "are left out.\n"
        "\n"
        "Putting a path again makes its next version, unless the content is the same. It is all or "
        "nothing: data is made durable first, then one transaction numbers the versions. A put "
        "that was interrupted leaves a session: the same command goes on where it was, and "
        "`tradewind session abort` gives it up.",
    .example = "tradewind put data /data --set Corpus --tag source=web",
    .options = put_options,
    .min_operands = 2,
    .max_operands = SIZE_MAX,
    .run = run_put,
};
