/* job_logs: the command `job logs`, the bytes of a log made safe for a terminal. */
#include "base/file.h"
#include "base/utf8.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"
#include "view/text.h"

#include <string.h>
#include <unistd.h>

#define PIECE 65536
#define WARNINGS_BYTES ((size_t)1 << 20)
#define WARNING_COLUMNS 1000

struct printing {
    bool harmless; /* without control characters */
    char rest[4];  /* the beginning of a character whose end has not come yet */
    size_t n_rest;
};

/* ---- bytes ---- */

static int write_out(const char *bytes, size_t n, struct err *e)
{
    if (fwrite(bytes, 1, n, stdout) == n && fflush(stdout) == 0)
        return 0;
    return file_error(e, "write to", "standard output");
}

/* Bytes at the end that may be the beginning of a longer character. */
static size_t unfinished(const char *bytes, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)bytes[n - back];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t wanted = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return wanted > back ? back : 0;
    }
    return 0;
}

/* Characters that could steer a terminal become '?': all but tab, newline and the return that
 * progress bars need. */
static void disarm(char *text, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c;
        len = utf8_decode(text + i, n - i, &c);
        bool plain = len && c != 0x7f && (c >= 0x20 || c == '\t' || c == '\n' || c == '\r') &&
                     (c < 0x80 || c >= 0xa0);
        len = len ? len : 1;
        if (!plain)
            memset(text + i, '?', len);
    }
}

static int print_piece(struct printing *p, const char *bytes, size_t n, bool last, struct err *e)
{
    char text[PIECE + sizeof p->rest];

    memcpy(text, p->rest, p->n_rest);
    memcpy(text + p->n_rest, bytes, n);
    n += p->n_rest;
    p->n_rest = last ? 0 : unfinished(text, n);
    n -= p->n_rest;
    memcpy(p->rest, text + n, p->n_rest);
    disarm(text, n);
    return write_out(text, n, e);
}

static int print_bytes(void *context, const char *bytes, size_t n, struct err *e)
{
    struct printing *p = context;

    if (!p->harmless)
        return write_out(bytes, n, e);
    if (n == 0)
        return print_piece(p, "", 0, true, e);
    for (size_t piece; n; bytes += piece, n -= piece) {
        piece = n < PIECE ? n : PIECE;
        if (print_piece(p, bytes, piece, false, e) < 0)
            return -1;
    }
    return 0;
}

/* Lines of the log with tags and metrics that could not be read. */
static int print_warnings(struct app *app, int64_t id, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(WARNINGS_BYTES);
    struct field_list warnings;

    if (app_job_warnings(app, id, arena, &warnings, e) < 0)
        return -1;
    for (size_t i = 0; i < warnings.n; i++) {
        fputs("warning: ", stderr);
        text_print(stderr, warnings.items[i], WARNING_COLUMNS);
        fputc('\n', stderr);
    }
    return 0;
}

/* ---- the command ---- */

static int read_request(const struct command_args *args, struct app_job_logs *out, struct err *e)
{
    const struct record *r = &app_job_logs_record;
    const char *tail = command_value(args, "--tail");
    AUTO(arena) struct arena *arena = arena_new(COMMAND_OPTIONS_MAX_BYTES);
    AUTO_JSON json_t *request = json_pack("{s:b}", "follow", command_has(args, "--follow"));

    if (record_put_text(r, request, "id", args->operands[0], e) < 0 ||
        (tail && record_put_text(r, request, "tail", tail, e) < 0))
        return -1;
    return record_decode(r, request, FIELD_AS_OPTION, out, arena, e);
}

static int run_logs(const struct command_args *args, struct err *e)
{
    struct printing p = {.harmless = isatty(STDOUT_FILENO) && !command_has(args, "--raw")};
    struct app_job_logs request = {.take = print_bytes, .context = &p};

    if (read_request(args, &request, e) < 0)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    interrupt_watch(1);
    int result = app_job_logs(operate_app(terminal), &request, e);
    if (result == 0)
        return CLI_JOB_EXIT_INTERRUPTED;
    return result < 0 ? -1 : print_warnings(operate_app(terminal), request.id, e);
}

static const struct command_option options[] = {
    {.name = "--follow", .letter = 'f', .help = "Continue until the job is over."},
    {.name = "--tail", .value = "N", .help = "Begin with the last N lines."},
    {.name = "--raw", .help = "Print control characters as they are, on a terminal too."},
    {0},
};

const struct command command_job_logs = {
    .name = "job logs",
    .operands = "ID",
    .summary = "Print the log of a job, byte for byte",
    .details = "On a terminal, control characters become '?', unless --raw is given. Ctrl-C ends "
               "the following, not the job.",
    .example = "tradewind job logs -f 7",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_logs,
};
