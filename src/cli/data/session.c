/* session: the commands `session begin`, `status`, `put`, `finish` and `abort`. */
#include "base/buf.h"
#include "cli/data/data.h"
#include "view/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Files that people see; the rest is counted. */
#define LINES_MAX 20

/* ---- one session with its files ---- */

static void print_session(struct operate_text *t, const void *record)
{
    static const struct table_column columns[] = {
        {.title = "state"},
        {.title = "version", .right = true},
        {.title = "size", .right = true},
        {.title = "path", .cut_rank = 1, .least = 20},
    };
    const struct data_session *s = record;
    char bytes[32];

    t->state = table_new(columns, sizeof columns / sizeof *columns);
    fprintf(t->out, "session %" PRId64 ": %s", s->id, data_session_states[s->state]);
    if (s->state == DATA_SESSION_PENDING) {
        fprintf(t->out, " until %s, %" PRIu64, s->expires_at, s->arrived);
        /* A put records files as they arrive: their number is not known beforehand. */
        if (!s->put)
            fprintf(t->out, " of %" PRIu64, s->files);
        fprintf(t->out, " files have arrived (%s)", text_bytes(s->bytes_arrived, bytes));
    }
    if (s->put) {
        AUTO_CLEAR(buf) struct buf b;
        buf_init(&b, 4096);
        text_put(&b, s->put, text_columns(&t->look) - strlen("tradewind "), t->look.utf8);
        fprintf(t->out, "\ntradewind %s", buf_str(&b));
    }
    putc('\n', t->out);
}

static void print_session_file(struct operate_text *t, const void *record)
{
    const struct data_session_file *f = record;
    struct table *table = t->state;
    char bytes[32];

    if (f->url) {
        fprintf(t->out, "%s\n  PUT %s\n%s%s%s", f->path, f->url, f->header ? "  " : "",
                f->header ? f->header : "", f->header ? "\n" : "");
    } else if (t->n_items <= LINES_MAX) {
        table_put(table, data_file_states[f->state]);
        if (f->version == FIELD_NONE)
            table_put(table, "");
        else
            table_printf(table, "%" PRId64, f->version);
        table_put(table, f->bytes == UINT64_MAX ? "" : text_bytes(f->bytes, bytes));
        table_put(table, f->path);
    }
}

static void end_session(struct operate_text *t)
{
    char number[32];

    if (!t->n_items || command_has(t->args, "--urls"))
        return;
    table_print(t->state, t->out, 0, &t->look);
    if (t->n_items > LINES_MAX)
        fprintf(t->out, "... and %s more\n", text_count(t->n_items - LINES_MAX, number));
}

static void clear_session(struct operate_text *t)
{
    table_free(t->state);
}

static const struct command_text session_text = {
    .head = print_session, .item = print_session_file, .end = end_session, .clear = clear_session};

/* ---- session status ---- */

static int run_status(const struct command_args *args, struct err *e)
{
    static const struct command_text list_text = {.empty = "No sessions are pending."};

    if (args->n_operands)
        return operate_with(args, &session_get_operation, &session_text, e);
    if (command_has(args, "--urls"))
        return err_set(e, ERR_USAGE, "--urls needs the number of a session");
    return operate_with(args, &session_list_operation, &list_text, e);
}

const struct command command_session_status = {
    .name = "session status",
    .operands = "[ID]",
    .summary = "Show pending upload sessions, or one session with its files",
    .details = "Each call makes new upload URLs. They last an hour, or until the session expires. "
               "Anyone who has one can send the file with an HTTP PUT that has the header shown "
               "below it.",
    .example = "tradewind session status 7 --urls",
    .operation = &session_get_operation,
    .max_operands = 1,
    .run = run_status,
};

/* ---- session begin ---- */

static json_t *load(const char *file, struct err *e)
{
    json_error_t why = {0};
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");

    if (!in) {
        err_set(e, errno == ENOENT ? ERR_NOTFOUND : ERR_IO, "read %s: %s", file, strerror(errno));
        return NULL;
    }
    json_t *root = json_loadf(in, JSON_REJECT_DUPLICATES, &why);
    if (in != stdin)
        fclose(in);
    if (!root)
        err_set(e, ERR_USAGE, "%s:%d: %s", file, why.line, why.text);
    return root;
}

/* The files that a list names. Members other than path, size_bytes and sha256 are left out, so that
 * the output of ls and put can be used. */
static json_t *read_files(const char *file, struct err *e)
{
    static const char *const members[] = {"path", "size_bytes", "sha256"};
    AUTO_JSON json_t *list = load(file, e);
    AUTO_JSON json_t *files = json_array();
    json_t *item;
    size_t i;

    if (!list)
        return NULL;
    if (!json_is_array(list)) {
        err_set(e, ERR_USAGE, "%s: must be an array of {path, size_bytes, sha256}", file);
        return NULL;
    }
    json_array_foreach(list, i, item)
    {
        json_t *target = json_object();
        json_array_append_new(files, target);
        if (!json_is_string(json_object_get(item, "path"))) {
            err_set(e, ERR_USAGE, "%s: element %zu has no \"path\"", file, i);
            return NULL;
        }
        for (size_t k = 0; k < sizeof members / sizeof *members; k++)
            if (json_object_get(item, members[k]))
                json_object_set(target, members[k], json_object_get(item, members[k]));
    }
    return TAKE(files);
}

static int run_begin(const struct command_args *args, struct err *e)
{
    const char *from = command_value(args, "--from");
    AUTO_JSON json_t *request = operate_request(args, &session_begin_operation, e);

    if (!request)
        return -1;
    if (from && (args->n_operands || command_has(args, "--size") || command_has(args, "--sha256")))
        return err_set(e, ERR_USAGE, "--from excludes paths, --size and --sha256");
    if (!from && !args->n_operands)
        return err_set(e, ERR_USAGE, "name the paths, or a list of them with --from");
    if (from) {
        json_t *files = read_files(from, e);
        if (!files)
            return -1;
        json_object_set_new(request, "files", files);
    }
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    return operate_call(args, terminal, &session_begin_operation, request, &session_text, e);
}

static const struct command_option begin_options[] = {
    {.name = "--from",
     .value = "FILE",
     .help = "Read the files from a JSON array of {path, size_bytes, sha256} instead; \"-\" is "
             "standard input."},
    {0},
};

const struct command command_session_begin = {
    .name = "session begin",
    .operands = "[/PATH...]",
    .summary = "Begin an upload whose files arrive one by one, from any machine",
    .details =
        "Names the paths to put. The files arrive by `tradewind session put`, or on "
        "S3 by upload URLs (session status --urls), in any order and from any machine. "
        "`session finish` then numbers all versions at once, or none: only when every file "
        "is there, with the length and digest announced. The session outlives the processes that "
        "take part; without activity it expires.",
    .example = "tradewind session begin /data/a.bin /data/b.bin --set Upload",
    .options = begin_options,
    .operation = &session_begin_operation,
    .run = run_begin,
};

/* ---- session put, finish, abort ---- */

static void print_arrived(struct operate_text *t, const void *record)
{
    (void)record;
    fprintf(t->out, "%s has arrived\n", t->args->operands[2]);
}

const struct command command_session_put = {
    .name = "session put",
    .operands = "ID FILE|- /PATH",
    .summary = "Store a local file as one of a session's files",
    .details = "A repeated put replaces the content that arrived before. The command refuses "
               "content of another length or digest than announced.",
    .example = "tradewind session put 7 a.bin /data/a.bin",
    .operation = &data_session_put_operation,
    .text = &(const struct command_text){.head = print_arrived, .item = operate_print_nothing},
    .is_long = true,
};

struct finished {
    struct data_put_lines lines;
    struct data_put_summary sum;
};

static void begin_finished(struct operate_text *t, const void *record)
{
    const struct data_session *s = record;
    struct finished *f = t->state;

    f->sum = (struct data_put_summary){.stored_bytes = UINT64_MAX,
                                       .set = s->set ? arena_dup(t->arena, s->set) : NULL,
                                       .set_version = s->set_version};
}

static void print_finished(struct operate_text *t, const void *record)
{
    const struct data_session_file *file = record;
    struct finished *f = t->state;

    cli_data_print_put(t, &f->lines, file->ref, file->bytes, file->unchanged);
}

static void end_finished(struct operate_text *t)
{
    struct finished *f = t->state;

    f->sum.files = f->lines.n;
    f->sum.bytes = f->lines.bytes;
    f->sum.unchanged = f->lines.unchanged;
    cli_data_print_put_sum(t->out, &f->lines, &f->sum);
}

const struct command command_session_finish = {
    .name = "session finish",
    .operands = "ID",
    .summary = "Number the versions of all files of a session at once",
    .details = "Reads and checks the files that arrived by URL first. When files are missing or "
               "differ from the announcement, the session stays as it is. "
               "Repeating the command gives the same answer.",
    .example = "tradewind session finish 7",
    .operation = &session_finish_operation,
    .text = &(const struct command_text){.head = begin_finished,
                                         .item = print_finished,
                                         .end = end_finished,
                                         .state_size = sizeof(struct finished)},
};

static void print_aborted(struct operate_text *t, const void *record)
{
    const struct data_session *s = record;

    fprintf(t->out, "session %" PRId64 " is aborted\n", s->id);
}

const struct command command_session_abort = {
    .name = "session abort",
    .operands = "ID",
    .summary = "Abort a session and remove the files that arrived",
    .details = "Also aborts the session that an interrupted put leaves.",
    .example = "tradewind session abort 7",
    .operation = &session_abort_operation,
    .text = &(const struct command_text){.head = print_aborted, .item = operate_print_nothing},
};
