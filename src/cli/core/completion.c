/* completion: shell scripts made from the command table, so that they never lag behind it. */
#include "cli/core/command.h"
#include "cli/core/commands.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* One alternative of a value: "cost", "FILE", the "weighted:" of "weighted:W". */
struct part {
    const char *text;
    size_t len;
};

enum part_kind { PART_WORD, PART_FILE, PART_DIR, PART_COMMAND, PART_FREE };

/* Steps through "[DIR|FILE...]"; false at the end. */
static bool next_part(const char **rest, struct part *out)
{
    const char *p = *rest + strspn(*rest, "[]|. ");

    *out = (struct part){p, strcspn(p, "[]| ")};
    while (out->len && p[out->len - 1] == '.')
        out->len--;
    *rest = p + out->len;
    return out->len > 0;
}

static bool part_is(const struct part *part, const char *text)
{
    return strlen(text) == part->len && strncmp(part->text, text, part->len) == 0;
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Capitals name something to fill in. Those behind "weighted:" or "KEY=" are cut off. */
static enum part_kind classify(struct part *part)
{
    if (part_is(part, "FILE") || part_is(part, "PIPELINE"))
        return PART_FILE;
    if (part_is(part, "DIR"))
        return PART_DIR;
    if (part_is(part, "COMMAND"))
        return PART_COMMAND;
    if (is_capital(part->text[0]) || ispunct((unsigned char)part->text[0]))
        return PART_FREE; /* NAME and the :COUNT of NAME[:COUNT] */
    while (part->len && is_capital(part->text[part->len - 1]))
        part->len--;
    return PART_WORD;
}

static bool has_part(const char *value, enum part_kind kind)
{
    struct part part;

    while (value && next_part(&value, &part))
        if (classify(&part) == kind)
            return true;
    return false;
}

/* The words among the alternatives of value; each colon with `colon` in its place. */
static void put_words(FILE *out, const char *value, const char *colon)
{
    struct part part;
    const char *separator = "";

    while (value && next_part(&value, &part)) {
        if (classify(&part) != PART_WORD)
            continue;
        fputs(separator, out);
        for (size_t i = 0; i < part.len; i++)
            if (part.text[i] == ':')
                fputs(colon, out);
            else
                putc(part.text[i], out);
        separator = " ";
    }
}

/* True for the first command of a group; *len_out = length of the group's name. */
static bool begins_group(const struct command *const *c, size_t *len_out)
{
    size_t len = strcspn((*c)->name, " ");

    *len_out = len;
    if (!(*c)->name[len])
        return false;
    return c == commands || strncmp((*c)->name, c[-1]->name, len + 1) != 0;
}

/* `run` is a command, and `run ls` another one. */
static bool is_command(const char *name, size_t len)
{
    for (const struct command *const *c = commands; *c; c++)
        if (strncmp((*c)->name, name, len) == 0 && !(*c)->name[len])
            return true;
    return false;
}

/* First words of all commands, each once. */
static void put_first_words(FILE *out)
{
    for (const struct command *const *c = commands; *c; c++) {
        size_t len = strcspn((*c)->name, " ");
        if (!(*c)->name[len] || (begins_group(c, &len) && !is_command((*c)->name, len)))
            fprintf(out, "%.*s ", (int)len, (*c)->name);
    }
}

/* The names behind the group's: as words, or as alternatives of a pattern. */
static void put_group(FILE *out, const char *group, size_t len, bool is_pattern)
{
    const char *before = "";

    for (const struct command *const *c = commands; *c; c++)
        if (strncmp((*c)->name, group, len) == 0 && (*c)->name[len] == ' ') {
            fprintf(out, "%s%s%s", before, (*c)->name + len + 1, is_pattern ? "" : " ");
            before = is_pattern ? "|" : "";
        }
}

/* Sets words and actions of compgen for one value or operand. */
static void bash_value(FILE *out, const char *value)
{
    fputs("words='", out);
    if (has_part(value, PART_COMMAND))
        put_first_words(out);
    put_words(out, value, ":");
    fprintf(out, "' action=%s ;;\n",
            has_part(value, PART_FILE)  ? "file"
            : has_part(value, PART_DIR) ? "directory"
                                        : "");
}

/* Of a group that is a command, too, the second word may be an operand. */
static void bash_group(FILE *out, const char *name, size_t len)
{
    if (is_command(name, len)) {
        fputs("        if ((at == 2)); then\n"
              "            group='",
              out);
        put_group(out, name, len, false);
        fputs("'\n"
              "        elif [[ ${COMP_WORDS[2]} == @(",
              out);
        put_group(out, name, len, true);
        fputs(") ]]; then\n"
              "            command+=\" ${COMP_WORDS[2]}\"\n"
              "        fi ;;\n",
              out);
        return;
    }
    fputs("        if ((at == 2)); then\n"
          "            mapfile -t COMPREPLY < <(compgen -W '",
          out);
    put_group(out, name, len, false);
    fputs("--help' -- \"$cur\")\n"
          "            return\n"
          "        fi\n"
          "        command+=\" ${COMP_WORDS[2]}\" ;;\n",
          out);
}

static void bash_groups(FILE *out)
{
    size_t len;

    for (const struct command *const *c = commands; *c; c++) {
        if (!begins_group(c, &len))
            continue;
        fprintf(out, "    %.*s)\n", (int)len, (*c)->name);
        bash_group(out, (*c)->name, len);
    }
}

static void bash_commands(FILE *out)
{
    for (const struct command *const *c = commands; *c; c++) {
        AUTO(arena) struct arena *arena = arena_new(COMMAND_OPTIONS_MAX_BYTES);
        for (const struct command_option *o = command_options(*c, arena); o->name; o++)
            if (o->value) {
                fprintf(out, "    '%s %s') ", (*c)->name, o->name);
                bash_value(out, o->value);
            }
    }
    fputs("    *) value_follows= ;;\n    esac\n    if [[ ! $value_follows ]]; then\n"
          "        case $command in\n",
          out);
    for (const struct command *const *c = commands; *c; c++) {
        AUTO(arena) struct arena *arena = arena_new(COMMAND_OPTIONS_MAX_BYTES);
        fprintf(out, "        '%s') options='", (*c)->name);
        for (const struct command_option *o = command_options(*c, arena); o->name; o++) {
            if (o->letter)
                fprintf(out, "-%c ", o->letter);
            fprintf(out, "%s ", o->name);
        }
        fputs("--help' ", out);
        bash_value(out, (*c)->operands);
    }
    fputs("        esac\n    fi\n", out);
}

static void bash_script(FILE *out)
{
    fputs("# bash completion for tradewind; generated by `tradewind completion bash`\n"
          "_tradewind()\n"
          "{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} at=$COMP_CWORD\n"
          "    local command=${COMP_WORDS[1]} options='' words='' action='' value_follows=1 "
          "group=''\n"
          "    local option=${COMP_WORDS[at-1]}\n"
          "    # bash cuts --name=value into three words\n"
          "    if [[ $cur == = ]]; then\n"
          "        cur=''\n"
          "    elif [[ $option == = ]]; then\n"
          "        option=${COMP_WORDS[at-2]}\n"
          "    fi\n"
          "    if ((at == 1)); then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '",
          out);
    put_first_words(out);
    fputs("--help --version' -- \"$cur\")\n"
          "        return\n"
          "    fi\n"
          "    case $command in\n",
          out);
    bash_groups(out);
    fputs("    esac\n    case \"$command $option\" in\n", out);
    bash_commands(out);
    fputs("    if [[ $cur == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
          "        return\n"
          "    fi\n"
          "    [[ $action ]] && compopt -o filenames 2>/dev/null\n"
          "    mapfile -t COMPREPLY < <(compgen ${action:+-A $action} -W \"$words $group\" -- "
          "\"$cur\")\n"
          "    [[ ${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace 2>/dev/null\n"
          "    return 0\n"
          "}\n"
          "complete -F _tradewind tradewind\n",
          out);
}

/* Text inside '...', with a backslash before the bytes of special. */
static void zsh_text(FILE *out, const char *text, const char *special)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr(special, *text))
            fprintf(out, "\\%c", *text);
        else
            putc(*text, out);
}

/* What means something inside a specification of _arguments. */
#define ZSH_ARGUMENTS_SPECIAL "[]:\\"

static void zsh_value(FILE *out, const char *value)
{
    fputs(":", out);
    zsh_text(out, value, ZSH_ARGUMENTS_SPECIAL);
    if (has_part(value, PART_COMMAND) || has_part(value, PART_WORD)) {
        fputs(":(", out);
        if (has_part(value, PART_COMMAND))
            put_first_words(out);
        put_words(out, value, "\\:");
        fputs(")", out);
    } else if (has_part(value, PART_FILE)) {
        fputs(":_files", out);
    } else if (has_part(value, PART_DIR)) {
        fputs(":_files -/", out);
    } else {
        fputs(": ", out);
    }
}

/* "'--name[help]:value'", and the same for the letter. */
static void zsh_option(FILE *out, const struct command_option *o, bool by_letter)
{
    char letter[] = {'-', o->letter, 0};

    fprintf(out, " \\\n            '%s%s%s[", o->repeatable ? "*" : "",
            by_letter ? letter : o->name, o->value && !by_letter ? "=" : "");
    zsh_text(out, o->help, ZSH_ARGUMENTS_SPECIAL);
    putc(']', out);
    if (o->value)
        zsh_value(out, o->value);
    putc('\'', out);
}

static void zsh_command(FILE *out, const struct command *c)
{
    AUTO(arena) struct arena *arena = arena_new(COMMAND_OPTIONS_MAX_BYTES);

    fprintf(out, "    '%s')\n        _arguments", c->name);
    for (const struct command_option *o = command_options(c, arena); o->name; o++) {
        zsh_option(out, o, false);
        if (o->letter)
            zsh_option(out, o, true);
    }
    fputs(" \\\n            '(- *)'{-h,--help}'[Show help.]'", out);
    if (c->operands) {
        fputs(" \\\n            '*", out);
        zsh_value(out, c->operands);
        putc('\'', out);
    }
    fputs(" ;;\n", out);
}

/* "name:summary", an item for _describe. */
static void zsh_item(FILE *out, const char *name, size_t len, const char *summary)
{
    fprintf(out, "            '%.*s:", (int)len, name);
    zsh_text(out, summary, "");
    fputs("'\n", out);
}

static void zsh_first_words(FILE *out)
{
    for (const struct command *const *c = commands; *c; c++) {
        size_t len = strcspn((*c)->name, " ");
        if (!(*c)->name[len])
            zsh_item(out, (*c)->name, len, (*c)->summary);
        else if (begins_group(c, &len) && !is_command((*c)->name, len))
            zsh_item(out, (*c)->name, len, "A group of commands");
    }
}

static void zsh_group_end(FILE *out, const char *name, size_t len)
{
    if (!is_command(name, len)) {
        fputs("        if ((CURRENT == 2)); then\n"
              "            _describe -t commands command list\n"
              "            return\n"
              "        fi\n"
              "        command+=\" $words[2]\"\n"
              "        shift words\n"
              "        ((CURRENT--)) ;;\n",
              out);
        return;
    }
    fputs("        if ((CURRENT == 2)); then\n"
          "            _describe -t commands command list\n"
          "        elif [[ $words[2] == (",
          out);
    put_group(out, name, len, true);
    fputs(") ]]; then\n"
          "            command+=\" $words[2]\"\n"
          "            shift words\n"
          "            ((CURRENT--))\n"
          "        fi ;;\n",
          out);
}

static void zsh_groups(FILE *out)
{
    size_t len;

    for (const struct command *const *g = commands; *g; g++) {
        if (!begins_group(g, &len))
            continue;
        fprintf(out, "    %.*s)\n        list=(\n", (int)len, (*g)->name);
        for (const struct command *const *c = g; *c; c++)
            if (strncmp((*c)->name, (*g)->name, len + 1) == 0)
                zsh_item(out, (*c)->name + len + 1, strlen((*c)->name + len + 1), (*c)->summary);
        fputs("        )\n", out);
        zsh_group_end(out, (*g)->name, len);
    }
}

static void zsh_script(FILE *out)
{
    fputs("#compdef tradewind\n"
          "# zsh completion for tradewind; generated by `tradewind completion zsh`\n"
          "_tradewind()\n"
          "{\n"
          "    local -a list\n"
          "    if ((CURRENT == 2)); then\n"
          "        list=(\n",
          out);
    zsh_first_words(out);
    fputs("        )\n"
          "        _describe -t commands command list\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $command in\n",
          out);
    zsh_groups(out);
    fputs("    esac\n    case $command in\n", out);
    for (const struct command *const *c = commands; *c; c++)
        zsh_command(out, *c);
    fputs("    esac\n}\n_tradewind \"$@\"\n", out);
}

static int run_completion(const struct command_args *args, struct err *e)
{
    const char *shell = args->operands[0];

    if (strcmp(shell, "bash") == 0)
        bash_script(stdout);
    else if (strcmp(shell, "zsh") == 0)
        zsh_script(stdout);
    else
        return err_set(e, ERR_USAGE, "completion: no script for \"%s\"; there are bash and zsh",
                       shell);
    return 0;
}

const struct command command_completion = {
    .name = "completion",
    .operands = "bash|zsh",
    .summary = "Print a completion script for a shell",
    .details = "For one session: source <(tradewind completion bash). `make install` puts the "
               "scripts where the shells look for them.",
    .example = "source <(tradewind completion bash)",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_completion,
};
