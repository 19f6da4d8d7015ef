#include "cli/core/help.h"

#include "app/core/operation.h"
#include "base/auto.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "view/text.h"

#include <string.h>

/* Longer lines are hard to read. */
#define COLUMNS_MOST 100
/* Terms wider than this get a line of their own. */
#define TERM_MAX 32

/* ---- what help and the man page both say about the program as a whole ---- */

const char help_summary[] =
    "plan machine-learning pipelines across clouds, run them, and record what they made";

const char help_description[] =
    "Tradewind reads a pipeline file and computes where each stage should run, when, for how long "
    "and at what cost, data transfer included, over every offer in its catalog. The plan is proved "
    "optimal, or carries a lower bound and a gap. Tradewind then runs the stages on this machine, "
    "on hosts over ssh, or in a simulation.\n"
    "\n"
    "Its data lake stores files in versions and groups them in file sets, in a directory or on S3. "
    "Files, sets and jobs are searchable by metadata, and every set has its provenance and its "
    "cost in dollars.";

const struct help_entry help_exit_codes[] = {
    {"0", "success"},
    {"2", "the command line or a file is wrong: change it"},
    {"3", "not found: the named file, set, job or run does not exist"},
    {"4", "credentials or permissions are missing"},
    {"5",
     "nothing satisfies the request: no feasible plan, no free quota, no URL from a directory"},
    {"6", "a temporary error, or interrupted: retry later"},
    {"7", "disk, network or database failed, content is damaged, or output was not written"},
    {0},
};

const struct help_entry help_environment[] = {
    {"TRADEWIND_HOME", "directory of the configuration, the imported catalog and the data lake; "
                       "default ~/.tradewind"},
    {"TRADEWIND_LOG", "log level on stderr: error, warn (default), info or debug"},
    {"NO_COLOR", "turns colours off"},
    {"COLUMNS", "width of tables; default: the terminal's, or 100 where there is none"},
    {"TRADEWIND_INSECURE", "1 allows http:// to other machines, where others can read it"},
    {"TRADEWIND_TODAY",
     "date from which the age of prices counts, as in 2026-11-18; default today"},
    {"AWS_*",
     "credentials, profile and region of a lake on S3, read as the AWS command line reads them"},
    {0},
};

const struct help_entry help_files[] = {
    {"$TRADEWIND_HOME/config.yaml", "the configuration; see tradewind config show"},
    {"$TRADEWIND_HOME/lake.db", "database of the data lake"},
    {"$TRADEWIND_HOME/objects", "content of its files, unless tradewind init chose another store"},
    {0},
};

/* ---- printing ---- */

/* Prints len bytes of text from column `at` on, wrapped between words, later lines indented to
 * the same column. Ends with a newline. */
static void wrap(FILE *out, const char *text, size_t len, size_t at)
{
    const struct text_look look = text_look_for(out);
    size_t column = at, columns = text_columns(&look);

    if (columns > COLUMNS_MOST)
        columns = COLUMNS_MOST;
    while (len) {
        size_t word = 0;
        while (word < len && text[word] != ' ')
            word++;
        if (column > at && column + 1 + word > columns) {
            fprintf(out, "\n%*s", (int)at, "");
            column = at;
        } else if (column > at) {
            putc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        while (word < len && text[word] == ' ')
            word++;
        text += word;
        len -= word;
    }
    putc('\n', out);
}

static void print_text(FILE *out, const char *text)
{
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        if (*text == ' ')
            fprintf(out, "%.*s\n", (int)len, text);
        else
            wrap(out, text, len, 0);
    }
}

static void print_entry(FILE *out, const char *term, size_t term_width, const char *text)
{
    size_t at = 2 + term_width + 2;

    if (strlen(term) > term_width)
        fprintf(out, "  %s\n%*s", term, (int)at, "");
    else
        fprintf(out, "  %-*s  ", (int)term_width, term);
    wrap(out, text, strlen(text), at);
}

static void widen(size_t *width, size_t len)
{
    if (len > *width && len <= TERM_MAX)
        *width = len;
}

static void print_entries(FILE *out, const char *title, const struct help_entry *entries)
{
    size_t width = 0;

    fprintf(out, "\n%s:\n", title);
    for (const struct help_entry *r = entries; r->term; r++)
        widen(&width, strlen(r->term));
    for (const struct help_entry *r = entries; r->term; r++)
        print_entry(out, r->term, width, r->text);
}

static char *synopsis(const struct command *c, const struct command_option *options)
{
    return mem_printf("%s%s%s%s", c->name, options->name ? " [OPTIONS]" : "",
                      c->operands ? " " : "", c->operands ? c->operands : "");
}

static const char *title_before(const struct command *c)
{
    for (const struct command_group *g = command_groups; g->title; g++)
        if (g->first == c)
            return g->title;
    return NULL;
}

static bool is_everyday(const struct command *c)
{
    for (const struct command *const *d = commands_everyday; *d; d++)
        if (*d == c)
            return true;
    return false;
}

static size_t names_width(void)
{
    size_t width = 0;

    for (const struct command *const *c = commands; *c; c++)
        widen(&width, strlen((*c)->name));
    return width;
}

/* The everyday commands, then all others under the titles of their groups. */
static void print_all_commands(FILE *out)
{
    size_t width = names_width();
    const char *title = NULL;

    fputs("\nEveryday:\n", out);
    for (const struct command *const *c = commands_everyday; *c; c++)
        print_entry(out, (*c)->name, width, (*c)->summary);
    for (const struct command *const *c = commands; *c; c++) {
        const char *begun = title_before(*c);
        title = begun ? begun : title;
        if (is_everyday(*c))
            continue;
        if (title)
            fprintf(out, "\n%s:\n", title);
        title = NULL;
        print_entry(out, (*c)->name, width, (*c)->summary);
    }
}

/* The commands whose names begin with prefix. */
static void print_commands(FILE *out, const char *prefix)
{
    size_t width = names_width();

    for (const struct command *const *c = commands; *c; c++)
        if (strncmp((*c)->name, prefix, strlen(prefix)) == 0)
            print_entry(out, (*c)->name, width, (*c)->summary);
}

void help_program(FILE *out)
{
    fprintf(out, "tradewind: %s\n\nUsage: tradewind COMMAND [OPTIONS] [OPERANDS]\n", help_summary);
    print_all_commands(out);
    fputs("\nOptions:\n", out);
    print_entry(out, "-h, --help", strlen("-h, --help"),
                "Show this text, or the help of COMMAND after it.");
    print_entry(out, "--version", strlen("-h, --help"), "Print the version.");
    print_entries(out, "Environment", help_environment);
    print_entries(out, "Exit codes", help_exit_codes);
    fputs("\n`tradewind help COMMAND` explains a command and its options.\n", out);
}

void help_group(FILE *out, const char *group)
{
    AUTO_MEM char *prefix = mem_printf("%s ", group);

    fprintf(out, "Usage: tradewind %s COMMAND [OPTIONS] [OPERANDS]\n\nCommands:\n", group);
    print_commands(out, prefix);
    fprintf(out, "\n`tradewind help %s COMMAND` explains a command and its options.\n", group);
}

static char *option_term(const struct command_option *o)
{
    char letter[] = {'-', o->letter, ',', ' ', 0};

    return mem_printf("%s%s%s%s", o->letter ? letter : "", o->name, o->value ? " " : "",
                      o->value ? o->value : "");
}

static void print_options(FILE *out, const struct command_option *options)
{
    size_t width = strlen("-h, --help");

    for (const struct command_option *o = options; o->name; o++) {
        AUTO_MEM char *term = option_term(o);
        widen(&width, strlen(term));
    }
    fputs("\nOptions:\n", out);
    for (const struct command_option *o = options; o->name; o++) {
        AUTO_MEM char *term = option_term(o);
        AUTO_MEM char *text = mem_printf("%s%s", o->help, o->repeatable ? " May be repeated." : "");
        print_entry(out, term, width, text);
    }
    print_entry(out, "-h, --help", width, "Show this text.");
}

void help_command(FILE *out, const struct command *c)
{
    AUTO(arena) struct arena *arena = arena_new(COMMAND_OPTIONS_MAX_BYTES);
    const struct command_option *options = command_options(c, arena);
    AUTO_MEM char *usage = synopsis(c, options);

    fprintf(out, "tradewind %s: %s\n\nUsage: tradewind %s\n", c->name, c->summary, usage);
    if (c->details) {
        putc('\n', out);
        print_text(out, c->details);
    }
    print_options(out, options);
    if (c->example)
        fprintf(out, "\nExample:\n  %s\n", c->example);
}

void help_version(FILE *out)
{
    fputs("tradewind " TRADEWIND_VERSION "\n", out);
}

static void print_operation(const struct operation *op)
{
    const struct record *shown = op->answer ? op->answer : op->item;

    printf("%s: %s\n  %s, %s; answers %s%s%s\n", op->name, op->summary, app_role_text(op->role),
           op->effect == OPERATION_READS ? "reads" : "writes", shown ? shown->name : "nothing",
           op->answer && op->item ? " and a list of " : "",
           op->answer && op->item ? op->item->name
           : op->item             ? ", a list"
                                  : "");
    for (size_t i = 0; i < op->request->n_fields; i++) {
        const struct field *f = &op->request->fields[i];
        AUTO_MEM char *term = mem_printf("%s (%s%s)", f->name, field_type_text(f->type),
                                         f->required ? ", required" : "");
        print_entry(stdout, term, TERM_MAX, f->help ? f->help : "");
    }
}

static int print_operations(bool json, struct err *e)
{
    AUTO_JSON json_t *list = json_array();

    for (const struct operation *const *const *family = operation_families; *family; family++)
        for (const struct operation *const *op = *family; *op; op++)
            if (!json)
                print_operation(*op);
            else
                json_array_append_new(list, operation_describe(*op));
    return json ? json_write(stdout, list, e) : 0;
}

static int run_help(const struct command_args *args, struct err *e)
{
    size_t used;

    if (command_has(args, "--operations"))
        return print_operations(command_has(args, "--json"), e);
    if (command_has(args, "--json"))
        return err_set(e, ERR_USAGE, "help: --json needs --operations");

    if (command_has(args, "--man")) {
        help_man_page(stdout);
        return 0;
    }
    if (args->n_operands == 0) {
        help_program(stdout);
        return 0;
    }
    const struct command *c = command_find(args->operands, args->n_operands, &used);
    if (c && used == args->n_operands) {
        help_command(stdout, c);
        return 0;
    }
    if (!c && args->n_operands == 1 && command_is_group(args->operands[0])) {
        help_group(stdout, args->operands[0]);
        return 0;
    }
    return command_unknown(args->operands, args->n_operands, e);
}

static const struct command_option help_options[] = {
    {.name = "--man", .help = "Print the whole manual as a man page (roff)."},
    {.name = "--operations",
     .help = "List the operations that commands, programs and servers share."},
    {.name = "--json", .help = "With --operations: print each with its request and answer."},
    {0},
};

const struct command command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "Explain a command, or list them all",
    .example = "tradewind help plan",
    .options = help_options,
    .max_operands = 2,
    .run = run_help,
};
