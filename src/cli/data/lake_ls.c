/* lake_ls: what is in the lake, and the history of a file. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "app/core/lake_open.h"
#include "cli/data/lake_rights.h"
#include "lake/core/files.h"
#include "lake/core/path.h"
#include "view/json_list.h"
#include "view/text.h"

#include <string.h>

/* Of everything that -l prints before the path. */
#define DETAILS_COLUMNS 71

/* How the files are shown. */
struct show {
    bool json;
    bool with_details;
    bool with_history; /* removed, gone */
    struct text_look look;
    struct json_list list;
    size_t n;
};

static void set_time(json_t *item, const struct lake_file *f)
{
    char time[32];

    json_object_set_new(item, "create_time",
                        json_string(time_iso_ms(f->origin.create_time_ms, time)));
    json_object_set_new(item, "creator", json_text(f->origin.creator));
}

static json_t *file_json(const struct show *s, const struct lake_file *f)
{
    static const char *const of_files[] = {"version", "size_bytes", "sha256", "create_time",
                                           "creator"};
    json_t *item = json_object();
    char digest[SHA256_HEX];

    json_object_set_new(item, "path", json_text(f->path));
    if (f->path[strlen(f->path) - 1] == '/') {
        for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
            json_object_set_new(item, of_files[i], json_null());
        if (s->with_details)
            lake_rights_json(item, NULL);
        return item;
    }
    json_object_set_new(item, "version", json_integer(f->number));
    json_object_set_new(item, "size_bytes", json_integer((json_int_t)f->size));
    json_object_set_new(item, "sha256", json_string(sha256_text(&f->digest, digest)));
    set_time(item, f);
    if (s->with_details)
        lake_rights_json(item, &(struct lake_rights){f->owner, f->group, f->mode});
    if (s->with_history) {
        json_object_set_new(item, "removed", json_boolean(f->removed));
        json_object_set_new(item, "gone", json_boolean(f->gone));
    }
    return item;
}

/* "2026-11-15 22:36" */
static const char *time_short(int64_t epoch_ms, char out[static 32])
{
    time_iso(epoch_ms, out);
    if (strlen(out) > 16) {
        out[10] = ' ';
        out[16] = 0;
    }
    return out;
}

/* A text without what could steer a terminal, and padded. */
static void print_text(const struct show *s, const char *text, size_t columns)
{
    AUTO_CLEAR(buf) struct buf b = {0};

    buf_init(&b, 4 * (size_t)(LAKE_PATH_MAX + 1));
    text_put(&b, text, columns ? columns : LAKE_PATH_MAX, s->look.utf8);
    size_t width = text_width(buf_str(&b));
    printf("%s%*s", buf_str(&b), columns > width ? (int)(columns - width) : 0, "");
}

static void print_details(const struct show *s, const struct lake_file *f)
{
    char mode[10], size[32], time[32], number[32];

    snprintf(number, sizeof number, "#%lld", (long long)f->number);
    printf("%s  ", lake_rights_mode(f->mode, f->executable, mode));
    print_text(s, f->owner, 10);
    printf("  ");
    print_text(s, *f->group ? f->group : "-", 8);
    printf("  %6s  %10s  %s  ", number, text_bytes(f->size, size),
           time_short(f->origin.create_time_ms, time));
}

static void print_version(const struct show *s, const struct lake_file *f)
{
    char size[32], time[32], digest[SHA256_HEX], number[32];

    snprintf(number, sizeof number, "#%lld", (long long)f->number);
    printf("%6s  %10s  %s  ", number, text_bytes(f->size, size),
           time_short(f->origin.create_time_ms, time));
    print_text(s, f->origin.creator, 16);
    printf("  %.16s%s\n", sha256_text(&f->digest, digest),
           f->removed && f->gone ? "  removed, content gone"
           : f->removed          ? "  removed"
           : f->gone             ? "  content gone"
                                 : "");
}

static int show_file(void *context, const struct lake_file *f, struct err *e)
{
    struct show *s = context;
    bool directory = f->path[strlen(f->path) - 1] == '/';

    s->n++;
    if (interrupt_seen())
        return err_set(e, ERR_RETRY, "interrupted");
    if (s->json)
        return json_list_add(&s->list, file_json(s, f), e);
    if (s->with_history) {
        print_version(s, f);
        return 0;
    }
    if (s->with_details && directory)
        printf("%*s", DETAILS_COLUMNS, "");
    else if (s->with_details)
        print_details(s, f);
    print_text(s, f->path, 0);
    putchar('\n');
    return 0;
}

static void show_begin(struct show *s, const struct command_args *args)
{
    *s = (struct show){.json = command_has(args, "--json"), .look = text_look_for(stdout)};
    json_list_begin(&s->list, stdout);
    interrupt_watch();
}

static int show_end(struct show *s, int result, struct err *e)
{
    return result < 0 ? -1 : s->json ? json_list_end(&s->list, e) : 0;
}

static int run_ls(const struct command_args *args, struct err *e)
{
    AUTO(lake) struct lake *l = NULL;
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct show s;

    l = lake_open_here(e);
    if (!l || lake_resolve(l, args->n_operands ? args->operands[0] : "/", LAKE_READ, &ref, e) < 0)
        return -1;
    show_begin(&s, args);
    s.with_details = command_has(args, "--long");
    return show_end(&s, lake_list(l, &ref, command_has(args, "--recursive"), show_file, &s, e), e);
}

/* A file that was removed has a history still. */
static int resolve_history(struct lake *l, const char *text, struct lake_ref *out, struct err *e)
{
    AUTO_MEM char *all = mem_printf("%s#*", text);
    struct err again = {0};

    if (lake_resolve(l, text, LAKE_READ, out, e) == 0)
        return 0;
    if (e->kind != ERR_NOTFOUND || lake_resolve(l, all, LAKE_READ, out, &again) < 0)
        return -1;
    return 0;
}

static int run_log(const struct command_args *args, struct err *e)
{
    AUTO(lake) struct lake *l = NULL;
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct show s;

    l = lake_open_here(e);
    if (!l || resolve_history(l, args->operands[0], &ref, e) < 0)
        return -1;
    show_begin(&s, args);
    s.with_history = true;
    return show_end(&s, lake_log(l, &ref, show_file, &s, e), e);
}

static const struct command_option ls_options[] = {
    {.name = "--recursive", .letter = 'r', .help = "Everything below a directory."},
    {.name = "--long",
     .letter = 'l',
     .help = "Also permissions, owner, group, version, size and time (UTC)."},
    {.name = "--json",
     .help = "Print an array of path, version, size_bytes, sha256, create_time, creator, with "
             "--long also owner, group and mode (\"640\"); of directories, whose path ends in /, "
             "only the path."},
    {0},
};

const struct command command_ls = {
    .name = "ls",
    .operands = "[REF]",
    .summary = "List files in the lake",
    .details = "Lists a directory (/ when none is named), one version of a file (/p, /p#2), or the "
               "files of a set (@S, @S:1, /dir/@S).",
    .example = "tradewind ls -r /data/",
    .options = ls_options,
    .max_operands = 1,
    .run = run_ls,
};

static const struct command_option log_options[] = {
    {.name = "--json",
     .help = "Print an array of path, version, size_bytes, sha256, create_time, creator, removed "
             "(by rm) and gone (content removed by gc)."},
    {0},
};

const struct command command_log = {
    .name = "log",
    .operands = "/PATH",
    .summary = "Show all versions of a file, newest first",
    .details = "Version, size, time (UTC), creator and the first digits of the SHA-256 of each "
               "version. Versions that were removed are shown as such.",
    .example = "tradewind log /data/train.json",
    .options = log_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_log,
};
