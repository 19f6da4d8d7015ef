#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "cli/core/lake_progress.h"
#include "cli/data/gc_economic.h"
#include "lake/clean/clean.h"
#include "view/json_list.h"
#include "view/text.h"

#include <stdio.h>
#include <string.h>

/* Versions a person is shown; --json lists all. */
#define SHOWN_MAX 20

/* ---- gc ---- */

/* More than any lake gives up at once: some ten million versions. */
#define GOING_MAX_BYTES ((size_t)1 << 30)

/* The versions that go, each its size and its reference: a JSON object for each of a million would
 * fill the memory. */
struct going {
    bool all; /* else only as many as are shown */
    struct buf list;
    size_t n;
};

static void going_clear(struct going *g)
{
    buf_clear(&g->list);
}

/* Called within the lake's transaction: nothing is printed here, where a slow reader would keep
 * other writers waiting. */
static int note_version(void *context, const char *ref, uint64_t size, struct err *e)
{
    struct going *g = context;

    if (g->n++ >= SHOWN_MAX && !g->all)
        return 0;
    buf_add(&g->list, &size, sizeof size);
    if (buf_add(&g->list, ref, strlen(ref) + 1) < 0)
        return err_set(e, ERR_USAGE, "too many versions to list as JSON; gc without --json works");
    return 0;
}

/* The version that begins at *at, which moves on; NULL at the end. */
static const char *next_version(const struct going *g, size_t *at, uint64_t *size_out)
{
    if (*at >= g->list.len)
        return NULL;
    memcpy(size_out, g->list.data + *at, sizeof *size_out);
    const char *ref = g->list.data + *at + sizeof *size_out;
    *at += sizeof *size_out + strlen(ref) + 1;
    return ref;
}

static json_t *gc_json(const struct lake_gc_summary *s, bool removed)
{
    return json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "removed",
                     removed, "versions", (json_int_t)s->versions, "latest_versions",
                     (json_int_t)s->latest_versions, "objects", (json_int_t)s->objects,
                     "size_bytes", (json_int_t)s->bytes, "blobs", (json_int_t)s->blobs,
                     "blob_bytes", (json_int_t)s->blob_bytes, "rewritten_bytes",
                     (json_int_t)s->rewritten_bytes, "leftovers", (json_int_t)s->leftovers,
                     "leftover_bytes", (json_int_t)s->leftover_bytes, "sessions_expired",
                     (json_int_t)s->sessions_expired, "busy", (json_int_t)s->busy);
}

static int print_gc_json(const struct lake_gc_summary *s,
                         bool removed,
                         const struct going *going,
                         struct err *e)
{
    AUTO_JSON json_t *head = gc_json(s, removed);
    struct json_list list;
    const char *ref;
    uint64_t size;
    size_t at = 0;

    if (json_list_begin_within(&list, stdout, head, "files", e) < 0)
        return -1;
    while ((ref = next_version(going, &at, &size))) {
        json_t *item = json_object();
        json_object_set_new(item, "ref", json_text(ref));
        json_object_set_new(item, "size_bytes", json_integer((json_int_t)size));
        if (json_list_add(&list, item, e) < 0)
            return -1;
    }
    return json_list_end(&list, e);
}

static void print_versions(const struct lake_gc_summary *s, bool removed, const struct going *going)
{
    char count[32], bytes[32];
    const char *ref;
    uint64_t size;
    size_t at = 0;

    printf("%s the content of %s file %s in no set, job or pin, %s\n",
           removed ? "Removed" : "Would remove", text_count((size_t)s->versions, count),
           s->versions == 1 ? "version" : "versions", text_bytes(s->bytes, bytes));
    while ((ref = next_version(going, &at, &size)))
        printf("  %s  %s\n", ref, text_bytes(size, bytes));
    if (going->n > SHOWN_MAX)
        printf("  and %s more (--json lists all)\n", text_count(going->n - SHOWN_MAX, count));
    if (s->latest_versions)
        printf("%s of them %s the newest of a listed file: `tradewind pin`, a set or --keep-latest "
               "keeps such.\n",
               text_count((size_t)s->latest_versions, count),
               s->latest_versions == 1 ? "is" : "are");
}

static void print_gc(const struct lake_gc_summary *s, bool removed, const struct going *going)
{
    char count[32], bytes[32];

    if (s->versions || s->objects)
        print_versions(s, removed, going);
    if (s->leftovers)
        printf("%s %s %s of interrupted writers, %s\n", removed ? "Removed" : "Would remove",
               text_count((size_t)s->leftovers, count),
               s->leftovers == 1 ? "leftover" : "leftovers", text_bytes(s->leftover_bytes, bytes));
    if (s->rewritten_bytes)
        printf("Packs written anew: %s moved\n", text_bytes(s->rewritten_bytes, bytes));
    if (s->busy)
        printf("%s left alone: someone is writing there\n", text_count((size_t)s->busy, count));
    if (!s->versions && !s->objects && !s->leftovers)
        printf("Nothing to remove.\n");
    else if (!removed)
        printf("Nothing was removed; `tradewind gc --yes` does it.\n");
}

static int run_gc(const struct command_args *args, struct err *e)
{
    struct lake_gc_options options = {.remove = command_has(args, "--yes"),
                                      .keep_latest = command_has(args, "--keep-latest")};
    AUTO_CLEAR(going) struct going going = {.all = command_has(args, "--json")};
    struct lake_gc_summary summary;
    struct lake_progress_line line;

    if (command_has(args, "--economic"))
        return gc_economic(args, e);
    if (command_value(args, "--horizon") || command_value(args, "--gb-month"))
        return err_set(e, ERR_USAGE, "--horizon and --gb-month are of --economic");
    AUTO(lake) struct lake *l = lake_open_here(e);
    if (!l)
        return -1;
    buf_init(&going.list, GOING_MAX_BYTES);
    options.progress = lake_progress_begin(&line, "removing");
    int result = lake_gc(l, &options, note_version, &going, &summary, e);
    lake_progress_end(&line);
    if (result < 0)
        return -1;
    if (command_has(args, "--json"))
        return print_gc_json(&summary, options.remove, &going, e);
    print_gc(&summary, options.remove, &going);
    return 0;
}

static const struct command_option gc_options[] = {
    {.name = "--yes", .help = "Remove it; without this, only look."},
    {.name = "--keep-latest", .help = "Keep the newest version of every listed file, too."},
    {.name = "--economic",
     .help = "Instead, let go of sets that their jobs make again for less than keeping costs."},
    {.name = "--horizon",
     .value = "MONTHS",
     .help = "With --economic: for how long they would be kept (1)."},
    {.name = "--gb-month",
     .value = "USD",
     .help = "With --economic: what a GB costs a month (the catalog's price of the store's place, "
             "else 0.023)."},
    {.name = "--json",
     .help = "Print versions, latest_versions, objects, size_bytes, blobs and more as one object, "
             "with files: an array of ref and size_bytes. With --economic: gb_month_usd, "
             "price_basis, horizon_months and sets: set, job, own_bytes, keep_usd_per_month, "
             "keep_usd, replay_usd, replay_s, replay_jobs, goes and why."},
    {0},
};

const struct command command_gc = {
    .name = "gc",
    .summary = "Remove content that no set, job, pin or live session needs",
    .details = "Shows what would go; --yes removes it. Files that are in no set go as well, the "
               "newest version included, unless they are pinned or --keep-latest is given.\n\n"
               "Versions keep their numbers, digests and "
               "provenance: only their bytes go, and putting the same content again brings them "
               "back. What interrupted commands left behind goes, too, once their session is over. "
               "Safe beside any other command.\n\n"
               "With --economic, sets that jobs made and that are neither pinned nor named by an "
               "alias are weighed: what it costs to keep the content that only they hold, against "
               "what their jobs cost. What is cheaper to make again loses its content, and "
               "`tradewind replay` brings it back.",
    .example = "tradewind gc --keep-latest",
    .options = gc_options,
    .run = run_gc,
};

/* ---- fsck ---- */

struct report {
    json_t *problems; /* NULL: print them as they come */
    struct lake_progress_line *line;
};

static int note_problem(void *context, const char *text, struct err *e)
{
    struct report *r = context;

    (void)e;
    if (r->problems) {
        json_array_append_new(r->problems, json_text(text));
        return 0;
    }
    lake_progress_end(r->line);
    text_paragraph(stdout, text, 4, &(struct text_look){.utf8 = text_look_for(stdout).utf8});
    return 0;
}

static void print_fsck(const struct lake_fsck_summary *s)
{
    char files[32], bytes[32], count[32];

    printf("%s file %s read and verified, %s; ", text_count((size_t)s->files, files),
           s->files == 1 ? "version" : "versions", text_bytes(s->bytes, bytes));
    if (s->problems)
        printf("%s %s\n", text_count((size_t)s->problems, count),
               s->problems == 1 ? "problem" : "problems");
    else
        printf("no problems\n");
    if (s->leftovers)
        printf("%s %s of interrupted writers, %s: `tradewind gc --yes` removes them once their "
               "session is over.\n",
               text_count((size_t)s->leftovers, count),
               s->leftovers == 1 ? "leftover" : "leftovers", text_bytes(s->leftover_bytes, bytes));
}

static int run_fsck(const struct command_args *args, struct err *e)
{
    AUTO_JSON json_t *problems = command_has(args, "--json") ? json_array() : NULL;
    struct lake_progress_line line;
    struct report report = {problems, &line};
    struct lake_fsck_summary s;
    AUTO(lake) struct lake *l = lake_open_here(e);

    if (!l)
        return -1;
    struct lake_progress progress = lake_progress_begin(&line, "checked");
    int result = lake_fsck(l, &progress, note_problem, &report, &s, e);
    lake_progress_end(&line);
    if (result < 0)
        return -1;
    int code = s.problems ? err_exit_code(ERR_IO) : 0;
    if (!problems) {
        print_fsck(&s);
        return code;
    }
    AUTO_JSON json_t *root =
        json_pack("{s:I, s:I, s:O, s:I, s:I}", "checked_files", (json_int_t)s.files,
                  "checked_bytes", (json_int_t)s.bytes, "problems", problems, "leftovers",
                  (json_int_t)s.leftovers, "leftover_bytes", (json_int_t)s.leftover_bytes);
    return json_write(stdout, root, e) < 0 ? -1 : code;
}

static const struct command_option fsck_options[] = {
    {.name = "--json",
     .help = "Print checked_files, checked_bytes, problems (an array of texts), leftovers and "
             "leftover_bytes as one object."},
    {0},
};

const struct command command_fsck = {
    .name = "fsck",
    .summary = "Read everything in the lake and check it against its digests",
    .details = "Checks the database, the numbering of versions, sets and provenance, and reads all "
               "content. Each problem names the file versions it concerns. Exit code 7 when there "
               "are problems.",
    .example = "tradewind fsck",
    .options = fsck_options,
    .run = run_fsck,
};

/* ---- pin ---- */

struct pins {
    bool json;
    struct json_list list;
    size_t n;
};

static int list_pin(void *context, const char *ref, struct err *e)
{
    struct pins *pins = context;

    pins->n++;
    if (pins->json)
        return json_list_add(&pins->list, json_text(ref), e);
    printf("%s\n", ref);
    return 0;
}

static int list_pins(struct lake *l, bool as_json, struct err *e)
{
    struct pins pins = {.json = as_json};

    json_list_begin(&pins.list, stdout);
    if (lake_pin_list(l, list_pin, &pins, e) < 0)
        return -1;
    if (as_json)
        return json_list_end(&pins.list, e);
    if (pins.n == 0)
        printf("Nothing is pinned; tradewind pin REF does it.\n");
    return 0;
}

static int run_pin(const struct command_args *args, struct err *e)
{
    bool remove = command_has(args, "--remove"), as_json = command_has(args, "--json");
    AUTO(lake) struct lake *l = lake_open_here(e);

    if (!l)
        return -1;
    if (remove && !args->n_operands)
        return err_set(e, ERR_USAGE, "pin --remove: name what is no longer to be kept");
    int result = 0; /* a list alone changes nothing, not even where nothing can be changed */
    if (args->n_operands)
        result = remove ? lake_unpin(l, args->operands, args->n_operands, e)
                        : lake_pin(l, args->operands, args->n_operands, e);
    if (result < 0)
        return -1;
    return args->n_operands && !as_json ? 0 : list_pins(l, as_json, e);
}

static const struct command_option pin_options[] = {
    {.name = "--remove", .help = "No longer keep them."},
    {.name = "--json", .help = "Print all pins as a list of references."},
    {0},
};

const struct command command_pin = {
    .name = "pin",
    .operands = "[REF...]",
    .summary = "Keep file versions and set versions whatever gc does; alone, list what is kept",
    .details = "/p pins the version that is the latest now, /p#2 that version, @S:1 a set version "
               "with all its files. Files put later are not pinned by it.",
    .example = "tradewind pin /models/bert.bin#3 @release:2",
    .options = pin_options,
    .max_operands = SIZE_MAX,
    .run = run_pin,
};
