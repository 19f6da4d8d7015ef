#include "cli/core/command.h"

#include "app/core/operation.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/shell.h"
#include "cli/core/help.h"
#include "cli/core/operate.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bound of the commands, and of the options of one command. */
/* Bytes of a command that a message shows. */
#define SHOWN_BYTES 240
#define CANDIDATES_MAX 128
/* Bound of the names that stand for one word. */
#define MEANT_BYTES 1024

static bool spells(const char *name, const char *const *words, size_t n, size_t *used)
{
    const char *rest = name;

    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(words[i]);
        if (strncmp(rest, words[i], len) != 0)
            return false;
        if (!rest[len]) {
            *used = i + 1;
            return true;
        }
        if (rest[len] != ' ')
            return false;
        rest += len + 1;
    }
    return false;
}

static bool names_command(const struct command *c, const char *const *words, size_t n, size_t *used)
{
    return spells(c->name, words, n, used) || (c->former && spells(c->former, words, n, used));
}

const struct command *command_find(const char *const *words, size_t n, size_t *used_out)
{
    const struct command *found = NULL;
    size_t used;

    /* "run ls" is that command, and not `run` of a file named ls. */
    for (const struct command *const *c = commands; *c; c++)
        if (names_command(*c, words, n, &used) && (!found || used > *used_out)) {
            found = *c;
            *used_out = used;
        }
    return found;
}

bool command_is_group(const char *word)
{
    size_t len = strlen(word);

    for (const struct command *const *c = commands; *c && len; c++)
        if (strncmp((*c)->name, word, len) == 0 && (*c)->name[len] == ' ')
            return true;
    return false;
}

/* Commands of other tools, and the command here that does the same. */
static const struct {
    const char *word, *tool, *command;
} counterparts[] = {
    {"launch", "sky launch", "run"},
    {"exec", "sky exec", "job submit"},
    {"status", "sky status", "run ls` or `tradewind machines ls"},
    {"queue", "sky queue", "job ls"},
    {"logs", "sky logs", "job logs"},
    {"cancel", "sky cancel", "job kill"},
    {"stop", "sky stop", "run stop"},
    {"down", "sky down", "run stop`, then `tradewind machines cleanup"},
    {"check", "sky check", "doctor"},
    {"show-gpus", "sky show-gpus", "catalog list"},
    {"sbatch", "sbatch", "job submit"},
    {"srun", "srun", "job submit --wait"},
    {"squeue", "squeue", "job ls"},
    {"scancel", "scancel", "job kill"},
    {"sacct", "sacct", "job ls --all"},
    {"sinfo", "sinfo", "machines ls"},
    {"add", "dvc add", "put"},
    {"repro", "dvc repro", "run"},
};

/* "jobs" for "job ls", and "compare" for "job compare" or "run compare". New string; NULL when
 * there is none. */
static char *commands_meant(const char *word, bool is_alone)
{
    AUTO_CLEAR(buf) struct buf b;
    size_t len = strlen(word);

    buf_init(&b, MEANT_BYTES);
    for (const struct command *const *c = commands; *c; c++) {
        if (strcmp((*c)->name, word) == 0)
            return NULL;
        const char *blank = strchr((*c)->name, ' ');
        size_t group = blank ? (size_t)(blank - (*c)->name) : 0;
        bool is_plural = is_alone && group && len == group + 1 && word[group] == 's' &&
                         strncmp(word, (*c)->name, group) == 0 && strcmp(blank + 1, "ls") == 0;
        if (is_plural || (blank && strcmp(blank + 1, word) == 0))
            buf_printf(&b, "%s\"%s\"", *buf_str(&b) ? " or " : "", (*c)->name);
    }
    return *buf_str(&b) ? mem_dup(buf_str(&b)) : NULL;
}

int command_unknown(const char *const *words, size_t n, struct err *e)
{
    bool two_words = n > 1 && words[1][0] != '-';
    AUTO_MEM char *meant = command_is_group(words[0]) ? NULL : commands_meant(words[0], !two_words);

    for (size_t i = 0; i < sizeof counterparts / sizeof *counterparts; i++)
        if (strcmp(words[0], counterparts[i].word) == 0)
            return err_set(e, ERR_USAGE, "no command \"%s\"; for `%s` use `tradewind %s`", words[0],
                           counterparts[i].tool, counterparts[i].command);
    if (meant)
        return err_set(e, ERR_USAGE, "no command \"%s\"; did you mean %s?", words[0], meant);
    AUTO_MEM char *typed = two_words ? mem_printf("%s %s", words[0], words[1]) : mem_dup(words[0]);
    const char *names[CANDIDATES_MAX];
    size_t n_names = 0;

    for (const struct command *const *c = commands; *c && n_names < CANDIDATES_MAX; c++)
        names[n_names++] = (*c)->name;
    const char *close = nearest(typed, names, n_names);
    if (!close && !command_is_group(words[0]))
        close = nearest(words[0], names, n_names);
    bool is_command = close && strcmp(close, words[0]) == 0;
    if (!command_is_group(words[0]) && !is_command)
        typed[strlen(words[0])] = 0;
    if (close)
        return err_set(e, ERR_USAGE, "no command \"%s\"; did you mean \"%s\"?", typed, close);
    return err_set(e, ERR_USAGE, "no command \"%s\"; `tradewind help` lists them", typed);
}

/* ---- options ---- */

static const char *value_text(const struct field *f, struct arena *a)
{
    static const char *const texts[] = {
        [FIELD_TEXT] = "TEXT",     [FIELD_INT] = "N",        [FIELD_REAL] = "X",
        [FIELD_MONEY] = "USD",     [FIELD_BYTES] = "BYTES",  [FIELD_TIME] = "TIME",
        [FIELD_DURATION] = "TIME", [FIELD_BOOL] = NULL,      [FIELD_LIST] = "TEXT",
        [FIELD_RECORD] = "JSON",   [FIELD_RECORDS] = "JSON", [FIELD_JSON] = "JSON",
        [FIELD_ENUM] = "",
    };
    const char *choices = "";

    if (f->value || f->type != FIELD_ENUM)
        return f->value ? f->value : texts[f->type];
    for (size_t i = 1; i < f->n_choices; i++) {
        choices = arena_printf(a, "%s%s%s", choices, i > 1 ? "|" : "", f->choices[i]);
        assert(choices);
    }
    return choices;
}

static struct command_option option_of(const struct field *f, struct arena *a)
{
    char name[64];

    return (struct command_option){
        .name = arena_dup(a, field_option(f, name)),
        .value = value_text(f, a),
        .help = f->help,
        .repeatable = field_is_list(f),
        .letter = f->letter,
        .former = f->former,
        .field = f,
    };
}

static size_t n_fields(const struct operation *op)
{
    return op ? op->request->n_fields : 0;
}

const struct command_option *command_options(const struct command *c, struct arena *a)
{
    const struct operation *op = c->operation;
    const struct operation *const both[] = {op, c->also};
    size_t n_own = 0, n = 0;
    bool has_json = false;

    for (; c->options && c->options[n_own].name; n_own++)
        has_json = has_json || strcmp(c->options[n_own].name, "--json") == 0;
    struct command_option *all =
        arena_alloc(a, n_own + n_fields(op) + n_fields(c->also) + 3, sizeof *all);
    assert(all);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < n_fields(both[k]); i++) {
            const struct field *f = &both[k]->request->fields[i];
            bool is_known = k && record_field(op->request, f->name);
            if (!f->operand && !f->is_remote_only && !is_known)
                all[n++] = option_of(f, a);
        }
    for (size_t i = 0; i < n_own; i++)
        all[n++] = c->options[i];
    if (op && (op->answer || op->item) && !has_json)
        all[n++] = (struct command_option){.name = "--json", .help = operate_json_help(op, a)};
    if (op && op->item)
        all[n++] = (struct command_option){.name = "--csv", .help = "Print the rows as CSV."};
    return all;
}

static bool is_option(const char *option, const char *name, size_t len)
{
    return option && strlen(option) == len && strncmp(option, name, len) == 0;
}

static const struct command_option *find_option(const struct command_option *options,
                                                const char *name,
                                                size_t len)
{
    for (const struct command_option *o = options; o->name; o++)
        if (is_option(o->name, name, len) || is_option(o->former, name, len))
            return o;
    return NULL;
}

/* "job submit python3 x.py --lr 0.1": how to write it, so that the option is one of the command
 * that is to run. argv[at] is the option. New string; NULL: no such command was begun. */
static char *with_separator(const struct command_args *args, char **argv, size_t n, size_t at)
{
    const struct command *c = args->command;
    const char *words = c->operands ? strstr(c->operands, "CMD") : NULL;
    AUTO_CLEAR(buf) struct buf b;
    size_t before = 0;

    buf_init(&b, SHOWN_BYTES);
    /* The operands in front of it: "NAME -- CMD...". */
    for (const char *p = c->operands; words && p < words; p++)
        before += *p == ' ' && p[-1] != '-';
    if (!words || args->n_operands <= before)
        return NULL;
    buf_printf(&b, "tradewind %s", c->name);
    for (size_t i = 0; i < args->n_given; i++) {
        shell_put_word(&b, args->given[i].option->name);
        if (args->given[i].value)
            shell_put_word(&b, args->given[i].value);
    }
    for (size_t i = 0; i < args->n_operands; i++) {
        buf_puts(&b, i == before ? " --" : "");
        shell_put_word(&b, args->operands[i]);
    }
    for (size_t i = at; i < n; i++)
        shell_put_word(&b, argv[i]);
    return mem_printf("%s%s", buf_str(&b), b.full ? "..." : "");
}

/* argv[at] has it, in its first len bytes. */
static int unknown_option(const struct command_args *args,
                          char **argv,
                          size_t n_words,
                          size_t at,
                          size_t len,
                          struct err *e)
{
    AUTO_MEM char *separated = with_separator(args, argv, n_words, at);
    const char *name = argv[at];

    const struct command *c = args->command;
    const char *names[CANDIDATES_MAX] = {"--help"};
    size_t n = 1;
    AUTO_MEM char *typed = mem_printf("%.*s", (int)len, name);

    for (const struct command_option *o = args->options; o->name && n < CANDIDATES_MAX; o++)
        names[n++] = o->name;
    const char *close = nearest(typed, names, n);
    if (close)
        return err_set(e, ERR_USAGE, "%s: no option %s; did you mean %s?", c->name, typed, close);
    if (separated)
        return err_set(e, ERR_USAGE,
                       "%s: no option %s; if it belongs to the command that is to run, write -- "
                       "before that: %s",
                       c->name, typed, separated);
    if (!strcmp(typed, "--yes") || !strcmp(typed, "-y"))
        return err_set(e, ERR_USAGE, "%s: no option %s: the command asks nothing; leave it out",
                       c->name, typed);
    if (c->operands && strstr(c->operands, "KEY=VALUE") && !strncmp(typed, "--", 2))
        return err_set(e, ERR_USAGE, "%s: no option %s; a value is written %s=VALUE", c->name,
                       typed, typed + 2);
    return err_set(e, ERR_USAGE, "%s: no option %s; `tradewind help %s` lists them", c->name, typed,
                   c->name);
}

static bool was_given(const struct command_args *args, const struct command_option *option)
{
    for (size_t i = 0; i < args->n_given; i++)
        if (args->given[i].option == option)
            return true;
    return false;
}

/* The option o at argv[*at], perhaps with a value behind it; moves *at past one that follows. */
static int take_option(struct command_args *args,
                       const struct command_option *o,
                       const char *value,
                       const char *next, /* argument; NULL = none */
                       size_t *at,
                       struct err *e)
{
    const struct command *c = args->command;

    if (!o->value && value)
        return err_set(e, ERR_USAGE, "%s: %s takes no value", c->name, o->name);
    if (o->value && !value && next && strncmp(next, "--", 2) != 0) {
        value = next;
        ++*at;
    }
    if (o->value && !value)
        return err_set(e, ERR_USAGE, "%s: %s needs a value: %s %s", c->name, o->name, o->name,
                       o->value);
    if (!o->repeatable && was_given(args, o))
        return err_set(e, ERR_USAGE, "%s: %s is given twice", c->name, o->name);
    args->given[args->n_given++] = (struct command_given){o, value};
    return 0;
}

/* -r, or -rl: each letter an option. */
static int parse_letters(
    struct command_args *args, char **argv, size_t n, size_t *at, struct err *e)
{
    const char *text = argv[*at], *next = *at + 1 < n ? argv[*at + 1] : NULL;
    const struct command *c = args->command;

    for (const char *letter = text + 1; *letter; letter++) {
        const struct command_option *o = args->options;
        while (o->name && o->letter != *letter)
            o++;
        if (!o->name)
            return unknown_option(args, argv, n, *at, strlen(text), e);
        if (o->value && letter[1])
            return err_set(e, ERR_USAGE, "%s: -%c needs a value: -%c %s", c->name, *letter, *letter,
                           o->value);
        if (take_option(args, o, NULL, next, at, e) < 0)
            return -1;
    }
    return 0;
}

/* One option at argv[*at]; moves *at past its value. */
static int parse_option(struct command_args *args, char **argv, size_t n, size_t *at, struct err *e)
{
    const char *text = argv[*at], *next = *at + 1 < n ? argv[*at + 1] : NULL;
    size_t len = strcspn(text, "=");
    const struct command_option *o = find_option(args->options, text, len);

    if (text[1] != '-')
        return parse_letters(args, argv, n, at, e);
    if (!o)
        return unknown_option(args, argv, n, *at, len, e);
    return take_option(args, o, text[len] ? text + len + 1 : NULL, next, at, e);
}

static int check_operands(const struct command_args *args, struct err *e)
{
    const struct command *c = args->command;
    bool by_fields = !c->min_operands && !c->max_operands && c->operation;
    size_t least = c->min_operands, most = c->max_operands;

    for (size_t i = 0; by_fields && i < c->operation->request->n_fields; i++) {
        const struct field *f = &c->operation->request->fields[i];
        if (!f->operand)
            continue;
        least += f->required;
        most = field_is_list(f) || most == SIZE_MAX ? SIZE_MAX : most + 1;
    }
    if (args->n_operands > most)
        return err_set(e, ERR_USAGE, "%s: too many operands at \"%s\"; usage: tradewind %s%s%s",
                       c->name, args->operands[most], c->name, c->operands ? " " : "",
                       c->operands ? c->operands : "");
    if (args->n_operands < least)
        return err_set(e, ERR_USAGE, "%s: an operand is missing; usage: tradewind %s %s", c->name,
                       c->name, c->operands);
    return 0;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Options that these words can give at most. */
static size_t count_options(char **argv, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++)
        most += argv[i][0] == '-' && argv[i][1] != '-' ? strlen(argv[i]) : 1;
    return most;
}

/* Runs c on what follows its name. */
static int run_command(const struct command *c, char **argv, size_t n, struct err *e)
{
    AUTO_MEM struct command_given *given = mem_zero(count_options(argv, n), sizeof *given);
    AUTO_MEM const char **operands = mem_zero(n, sizeof *operands);
    AUTO(arena) struct arena *arena = arena_new(COMMAND_OPTIONS_MAX_BYTES);
    struct command_args args = {
        .command = c, .options = command_options(c, arena), .given = given, .operands = operands};
    bool options_ended = false;

    for (size_t i = 0; i < n; i++) {
        const char *text = argv[i];
        if (options_ended || text[0] != '-' || !text[1]) {
            operands[args.n_operands++] = text;
        } else if (strcmp(text, "--") == 0) {
            options_ended = true;
        } else if (is_help(text)) {
            help_command(stdout, c);
            return 0;
        } else if (parse_option(&args, argv, n, &i, e) < 0) {
            return -1;
        }
    }
    if (check_operands(&args, e) < 0)
        return -1;
    return c->run ? c->run(&args, e) : operate_run(&args, e);
}

int command_main(int argc, char **argv, struct err *e)
{
    const char *const *words = (const char *const *)argv;
    size_t n = (size_t)argc, used;

    if (n == 0 || is_help(words[0])) {
        help_program(stdout);
        return 0;
    }
    if (strcmp(words[0], "--version") == 0) {
        help_version(stdout);
        return 0;
    }
    const struct command *c = command_find(words, n, &used);
    if (c)
        return run_command(c, argv + used, n - used, e);
    if (command_is_group(words[0]) && (n == 1 || is_help(words[1]))) {
        help_group(n == 1 ? stderr : stdout, words[0]);
        return n == 1 ? err_exit_code(ERR_USAGE) : 0;
    }
    return command_unknown(words, n, e);
}

static const struct command_given *find_given(const struct command_args *args, const char *option)
{
    const struct command_option *o = find_option(args->options, option, strlen(option));

    assert(o);
    for (size_t i = 0; i < args->n_given; i++)
        if (args->given[i].option == o)
            return &args->given[i];
    return NULL;
}

const char *command_value(const struct command_args *args, const char *option)
{
    const struct command_given *g = find_given(args, option);

    return g ? g->value : NULL;
}

bool command_has(const struct command_args *args, const char *option)
{
    return find_given(args, option) != NULL;
}
