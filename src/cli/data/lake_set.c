/* lake_set: making sets, and what is in them. */
#include "app/core/lake_open.h"
#include "app/data/data.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/operate.h"
#include "cli/data/lake_rights.h"
#include "lake/core/path.h"
#include "lake/set/set.h"
#include "view/json_list.h"
#include "view/table.h"

#include <inttypes.h>

/* Conflicts that are shown; the others are counted. */
#define CONFLICTS_SHOWN 20

/* ---- what several commands show ---- */

/* A text without what could steer a terminal. */
static void print_safe(const char *text)
{
    AUTO_CLEAR(buf) struct buf b;
    struct text_look look = text_look_for(stdout);

    buf_init(&b, (size_t)4 * (LAKE_PATH_MAX + 1));
    text_put(&b, text, LAKE_PATH_MAX, look.utf8);
    fputs(buf_str(&b), stdout);
}

static json_t *set_json(const struct lake_set *set)
{
    json_t *item = json_object();
    char time[32];

    json_object_set_new(item, "set", json_text(set->name));
    json_object_set_new(item, "version", json_integer(set->number));
    json_object_set_new(item, "files_count", json_integer((json_int_t)set->files));
    json_object_set_new(item, "size_bytes", json_integer((json_int_t)set->bytes));
    json_object_set_new(item, "create_time",
                        json_string(time_iso_ms(set->origin.create_time_ms, time)));
    json_object_set_new(item, "creator", json_text(set->origin.creator));
    return item;
}

/* The same with its permissions. */
static json_t *listed_json(const struct lake_set *set)
{
    json_t *item = set_json(set);

    lake_rights_json(item, &(struct lake_rights){set->owner, set->group, set->mode});
    return item;
}

static int add_parent(void *context, const char *ref, struct err *e)
{
    (void)e;
    json_array_append_new(context, json_text(ref));
    return 0;
}

/* An array of references; NULL when the lake fails. */
static json_t *parents_json(struct lake *l, int64_t set_version, struct err *e)
{
    AUTO_JSON json_t *parents = json_array();

    if (lake_set_parents(l, set_version, add_parent, parents, e) < 0)
        return NULL;
    return TAKE(parents);
}

/* "from @A:1, @B:2", nothing when it came from files. */
static void print_parents(const json_t *parents)
{
    for (size_t i = 0; i < json_array_size(parents); i++)
        printf("%s%s", i ? ", " : "from ", json_string_value(json_array_get(parents, i)));
    if (json_array_size(parents) > 0)
        printf("\n");
}

static void print_set(const struct lake_set *set)
{
    char files[32], bytes[32];

    printf("@%s:%lld: %s file%s, %s\n", set->name, (long long)set->number,
           text_count(set->files, files), set->files == 1 ? "" : "s",
           text_bytes(set->bytes, bytes));
}

/* ---- set create ---- */

static int print_created(struct operate_text *t, const void *record, struct err *e)
{
    const struct data_set_created *made = record;
    const struct data_conflict *conflicts = made->conflicts.items;
    char files[32], bytes[32], count[32];

    (void)e;
    fprintf(t->out, "@%s:%" PRId64 ": %s file%s, %s\n", made->set.name, made->set.version,
            text_count(made->set.files, files), made->set.files == 1 ? "" : "s",
            text_bytes(made->set.bytes, bytes));
    for (size_t i = 0; i < made->parents.n; i++)
        fprintf(t->out, "%s%s%s", i ? ", " : "from ", made->parents.items[i],
                i + 1 == made->parents.n ? "\n" : "");
    for (size_t i = 0; i < made->conflicts.n && i < CONFLICTS_SHOWN; i++) {
        print_safe(conflicts[i].path);
        printf(": #%" PRId64 " of ", conflicts[i].kept);
        print_safe(conflicts[i].kept_of);
        printf(" wins over #%" PRId64 " of ", conflicts[i].dropped);
        print_safe(conflicts[i].dropped_of);
        printf("\n");
    }
    if (made->n_conflicts > CONFLICTS_SHOWN)
        printf("and %s more conflicts, in each of which the later reference wins\n",
               text_count((size_t)made->n_conflicts - CONFLICTS_SHOWN, count));
    return 0;
}

const struct command command_set_create = {
    .name = "set create",
    .operands = "NAME REF...",
    .summary = "Make the next version of a set from files, directories and other sets",
    .details = "A set version is a list of file versions, and never changes. @A @B merges two "
               "sets, @A /new/file updates one (its next version, when NAME is A), /dir/@A takes "
               "the part of one below a directory, /dir/ the latest version of everything below "
               "it. Where two references hold different versions of one file, the later one wins "
               "and the command says so.",
    .example = "tradewind set create train @raw /data/labels.json",
    .operation = &set_create_operation,
    .text = &(const struct command_text){.head = print_created},
    .is_long = true,
    .min_operands = 2,
    .max_operands = SIZE_MAX,
};

/* ---- set ls ---- */

static const struct command_option ls_options[] = {
    {.name = "--long", .letter = 'l', .help = "Also permissions, owner and group."},
    {0},
};

const struct command command_set_ls = {
    .name = "set ls",
    .operands = "[NAME]",
    .summary = "List sets",
    .example = "tradewind set ls --all train",
    .options = ls_options,
    .operation = &set_list_operation,
    .text =
        &(const struct command_text){.empty = "There are no sets; tradewind set create makes one."},
    .is_long = true,
    .max_operands = 1,
};

struct listing {
    bool json;
    struct json_list list;
    size_t n;
};

/* ---- set show ---- */

struct show {
    struct lake *l;
    bool json;
    struct json_list list;
};

static int show_json_head(struct show *s, const struct lake_set *set, struct err *e)
{
    AUTO_JSON json_t *root = listed_json(set);
    json_t *parents = parents_json(s->l, set->version, e);

    if (!parents)
        return -1;
    json_object_set_new(root, "parents", parents);
    return json_list_begin_within(&s->list, stdout, root, "files", e);
}

static int show_head(void *context, const struct lake_set *set, struct err *e)
{
    struct show *s = context;
    char time[32], mode[10];

    if (s->json)
        return show_json_head(s, set, e);
    AUTO_JSON json_t *parents = parents_json(s->l, set->version, e);
    if (!parents)
        return -1;
    print_set(set);
    printf("made %s by ", time_iso(set->origin.create_time_ms, time));
    print_safe(set->origin.creator);
    printf("\n%s, owner ", lake_rights_mode(set->mode, false, mode));
    print_safe(set->owner);
    printf("%s", *set->group ? ", group " : "");
    print_safe(set->group);
    printf("\n");
    print_parents(parents);
    return 0;
}

static int show_file(void *context, const struct lake_entry *entry, struct err *e)
{
    struct show *s = context;
    char bytes[32], number[32];

    if (interrupt_seen())
        return err_set(e, ERR_RETRY, "interrupted");
    if (s->json) {
        json_t *item = json_object();
        json_object_set_new(item, "path", json_text(entry->path));
        json_object_set_new(item, "version", json_integer(entry->number));
        json_object_set_new(item, "size_bytes", json_integer((json_int_t)entry->size));
        return json_list_add(&s->list, item, e);
    }
    snprintf(number, sizeof number, "#%lld", (long long)entry->number);
    printf("%6s  %10s  ", number, text_bytes(entry->size, bytes));
    print_safe(entry->path);
    printf("\n");
    return 0;
}

static int run_show(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct show s = {.json = command_has(args, "--json")};

    interrupt_watch();
    AUTO(lake) struct lake *l = lake_open_here(e);
    s.l = l;
    if (!l || lake_resolve(l, args->operands[0], LAKE_READ, &ref, e) < 0 ||
        lake_set_get(l, &ref, show_head, &s, e) < 0 ||
        lake_each_file(l, &ref, show_file, &s, e) < 0)
        return -1;
    return s.json ? json_list_end(&s.list, e) : 0;
}

static const struct command_option show_options[] = {
    {.name = "--json",
     .help = "Print set, version, files (path, version, size_bytes), parents, files_count, "
             "size_bytes, create_time, creator, owner, group, mode (\"640\")."},
    {0},
};

const struct command command_set_show = {
    .name = "set show",
    .operands = "@SET[:VERSION]",
    .summary = "Show the files of a set version and what it was made from",
    .details = "/dir/@SET shows those below a directory.",
    .example = "tradewind set show @train:2",
    .options = show_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_show,
};

/* ---- set diff ---- */

static json_t *change_json(enum lake_set_change change,
                           const struct lake_entry *before,
                           const struct lake_entry *after)
{
    static const char *const names[] = {
        [LAKE_SET_ADDED] = "added", [LAKE_SET_REMOVED] = "removed", [LAKE_SET_CHANGED] = "changed"};
    json_t *item = json_object();

    json_object_set_new(item, "path", json_text(before ? before->path : after->path));
    json_object_set_new(item, "change", json_string(names[change]));
    json_object_set_new(item, "before", before ? json_integer(before->number) : json_null());
    json_object_set_new(item, "after", after ? json_integer(after->number) : json_null());
    return item;
}

static int show_change(void *context,
                       enum lake_set_change change,
                       const struct lake_entry *before,
                       const struct lake_entry *after,
                       struct err *e)
{
    struct listing *s = context;

    s->n++;
    if (interrupt_seen())
        return err_set(e, ERR_RETRY, "interrupted");
    if (s->json)
        return json_list_add(&s->list, change_json(change, before, after), e);
    printf("%c ", change == LAKE_SET_ADDED ? '+' : change == LAKE_SET_REMOVED ? '-' : '~');
    print_safe(before ? before->path : after->path);
    if (before && after)
        printf(" #%lld -> #%lld\n", (long long)before->number, (long long)after->number);
    else
        printf(" #%lld\n", (long long)(before ? before : after)->number);
    return 0;
}

static int run_diff(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref a = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref b = {0};
    struct listing s = {.json = command_has(args, "--json")};

    json_list_begin(&s.list, stdout);
    interrupt_watch();
    AUTO(lake) struct lake *l = lake_open_here(e);
    if (!l || lake_resolve(l, args->operands[0], LAKE_READ, &a, e) < 0 ||
        lake_resolve(l, args->operands[1], LAKE_READ, &b, e) < 0 ||
        lake_set_diff(l, &a, &b, show_change, &s, e) < 0)
        return -1;
    if (s.json)
        return json_list_end(&s.list, e);
    if (s.n == 0)
        printf("The same files in the same versions.\n");
    return 0;
}

static const struct command_option diff_options[] = {
    {.name = "--json",
     .help = "Print an array of path, change (added, removed, changed), before and after (version "
             "numbers, null where there is none)."},
    {0},
};

const struct command command_set_diff = {
    .name = "set diff",
    .operands = "@SET[:VERSION] @SET[:VERSION]",
    .summary = "Show what it takes from one set version to another",
    .details = "A line for each file that differs: + added, - removed, ~ in another version.",
    .example = "tradewind set diff @train:1 @train:2",
    .options = diff_options,
    .min_operands = 2,
    .max_operands = 2,
    .run = run_diff,
};
