#include "web/mcp/mcp.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "web/mcp/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A pipeline's file travels in one message. */
#define LINE_MAX_BYTES ((size_t)16 << 20)
#define PIECE 65536
/* Messages that wait while an operation lasts. */
#define WAITING_MAX 64
#define PROGRESS_EVERY_S 0.25
/* How often a stop is noticed while no request comes. */
#define LOOK_MS 200

/* JSON-RPC's own codes. */
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, BAD_PARAMS = -32602 };

/* The newest first. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static const char instructions[] =
    "Tradewind plans machine-learning pipelines across clouds, runs them, and records inputs, "
    "outputs, metrics and dollars. plan_solve takes the text of a pipeline in `pipeline`; "
    "lake_find and lake_trace search results and their provenance; run_get and job_get show how "
    "work stands, job_log what it printed. Costs are in US dollars, times in seconds.";

struct mcp {
    const struct mcp_options *options;
    bool (*stop)(void);
    struct mcp_tools tools;
    struct buf in;      /* bytes that are no whole line yet */
    bool is_cut, ended; /* the line at hand is too long; the other side has closed */
    json_t *waiting[WAITING_MAX];
    size_t n_waiting;
    /* The call at hand. */
    const json_t *id, *progress_token; /* NULL = none */
    bool cancelled;
    double told_s;
    json_int_t progress;
    struct err error; /* of writing */
};

/* ---- writing ---- */

static void send(struct mcp *m, json_t *given)
{
    AUTO_JSON json_t *message = given;
    AUTO_MEM char *text = NULL;

    json_object_set_new(message, "jsonrpc", json_string("2.0"));
    text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
    AUTO_MEM char *line = mem_printf("%s\n", text ? text : "{}");
    if (m->error.kind == ERR_NONE && file_write_all(m->options->out, line, strlen(line)) < 0)
        file_error(&m->error, "write to", "the assistant");
}

static json_t *failure(int code, const char *text)
{
    return json_pack("{s:{s:i, s:s}}", "error", "code", code, "message", text);
}

static void reply(struct mcp *m, const json_t *id, json_t *message)
{
    json_object_set_new(message, "id", id ? json_deep_copy(id) : json_null());
    send(m, message);
}

/* ---- reading ---- */

/* The next line that has arrived, without its end; new string, NULL = none. */
static char *next_line(struct mcp *m)
{
    char *end = m->in.len ? memchr(m->in.data, '\n', m->in.len) : NULL;

    if (!end)
        return NULL;
    size_t n = (size_t)(end - m->in.data);
    char *line = mem_printf("%.*s", (int)n, m->in.data);
    memmove(m->in.data, end + 1, m->in.len - n - 1);
    m->in.len -= n + 1;
    return line;
}

/* Takes what there is to read, once; waits at most that long. False: nothing came. */
static bool read_some(struct mcp *m, int wait_ms)
{
    struct pollfd p = {.fd = m->options->in, .events = POLLIN};
    char piece[PIECE];

    if (m->ended || poll(&p, 1, wait_ms) <= 0)
        return false;
    ssize_t n = read(m->options->in, piece, sizeof piece);
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        file_error(&m->error, "read from", "the assistant");
    if (n == 0 || m->error.kind != ERR_NONE)
        m->ended = true;
    if (n > 0 && buf_add(&m->in, piece, (size_t)n) < 0) {
        /* The rest of the line is dropped as well: what is kept has no end yet. */
        buf_clear(&m->in);
        buf_init(&m->in, LINE_MAX_BYTES);
        m->is_cut = true;
    }
    return n > 0;
}

/* ---- while an operation lasts ---- */

/* A message says that the call at hand is not wanted any more. */
static bool is_cancelling(const struct mcp *m, const json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");

    return m->id && method && !strcmp(method, "notifications/cancelled") &&
           json_equal(json_object_get(params, "requestId"), m->id);
}

/* The next message, unless it is about the call at hand; false: none has arrived. */
static bool keep_for_later(struct mcp *m)
{
    AUTO_MEM char *line = next_line(m);
    json_t *message = line ? json_loads(line, JSON_REJECT_DUPLICATES, NULL) : NULL;

    if (is_cancelling(m, message)) {
        m->cancelled = true;
        json_decref(message);
    } else if (message) {
        m->waiting[m->n_waiting++] = message;
    }
    return line != NULL;
}

static bool is_cancelled(void *context)
{
    struct mcp *m = context;

    if (m->stop && m->stop())
        m->cancelled = true;
    while (m->n_waiting < WAITING_MAX && read_some(m, 0))
        while (m->n_waiting < WAITING_MAX && keep_for_later(m))
            ;
    return m->cancelled || m->error.kind != ERR_NONE;
}

/* At most a few a second, each with a higher number. */
static void tell_progress(struct mcp *m, const char *text)
{
    double now_s = time_monotonic_s();

    if (!m->progress_token || now_s - m->told_s < PROGRESS_EVERY_S)
        return;
    m->told_s = now_s;
    AUTO_JSON json_t *safe = json_text(text);
    send(m,
         json_pack("{s:s, s:{s:O, s:I, s:O}}", "method", "notifications/progress", "params",
                   "progressToken", m->progress_token, "progress", ++m->progress, "message", safe));
}

static void hear_status(void *context, const char *text)
{
    tell_progress(context, text);
}

static void hear_progress(void *context,
                          const char *verb,
                          uint64_t files,
                          uint64_t bytes,
                          uint64_t all_files,
                          uint64_t all_bytes)
{
    AUTO_MEM char *text = mem_printf("%s %llu of %llu files, %llu of %llu bytes", verb,
                                     (unsigned long long)files, (unsigned long long)all_files,
                                     (unsigned long long)bytes, (unsigned long long)all_bytes);

    tell_progress(context, text);
}

static void hear_notice(void *context, const char *text)
{
    struct mcp *m = context;

    if (json_array_size(m->tools.notices) < WAITING_MAX)
        json_array_append_new(m->tools.notices, json_text(text));
}

/* ---- messages ---- */

/* The version that the assistant asks for, if there is one of that name, else the newest. */
static const char *version_for(const char *asked)
{
    for (size_t i = 0; asked && i < sizeof versions / sizeof *versions; i++)
        if (!strcmp(versions[i], asked))
            return versions[i];
    return versions[0];
}

static json_t *initialize(const json_t *params)
{
    const char *asked = json_string_value(json_object_get(params, "protocolVersion"));

    return json_pack("{s:{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}}", "result", "protocolVersion",
                     version_for(asked), "capabilities", "tools", "serverInfo", "name", "tradewind",
                     "version", TRADEWIND_VERSION, "instructions", instructions);
}

static json_t *call_tool(struct mcp *m, const json_t *id, const json_t *params)
{
    const char *name = json_string_value(json_object_get(params, "name"));
    const json_t *arguments = json_object_get(params, "arguments");

    if (!name)
        return failure(BAD_PARAMS, "name: the name of a tool is missing; tools/list lists them");
    m->id = id;
    m->progress_token = json_object_get(json_object_get(params, "_meta"), "progressToken");
    m->cancelled = false;
    m->told_s = 0;
    m->progress = 0;
    json_t *result = mcp_tools_call(&m->tools, name, arguments);
    m->id = m->progress_token = NULL;
    return result ? json_pack("{s:o}", "result", result)
                  : failure(BAD_PARAMS, "there is no such tool; tools/list lists them");
}

static json_t *answer(struct mcp *m, const json_t *id, const char *method, const json_t *params)
{
    if (!strcmp(method, "initialize"))
        return initialize(params);
    if (!strcmp(method, "ping"))
        return json_pack("{s:{}}", "result");
    if (!strcmp(method, "tools/list"))
        return json_pack("{s:o}", "result", mcp_tools_list(&m->tools));
    if (!strcmp(method, "tools/call"))
        return call_tool(m, id, params);
    return failure(NO_METHOD, "no such method; tools/list and tools/call are there");
}

static void take(struct mcp *m, json_t *given)
{
    AUTO_JSON json_t *message = given;
    const json_t *id = json_object_get(message, "id");
    const char *method = json_string_value(json_object_get(message, "method"));
    bool is_reply = json_object_get(message, "result") || json_object_get(message, "error");

    if (!message)
        reply(m, NULL, failure(PARSE_ERROR, "this is not JSON; give one message per line"));
    else if (!json_is_object(message) || (!method && !is_reply) ||
             (id && !json_is_string(id) && !json_is_integer(id)))
        reply(m, NULL, failure(INVALID_REQUEST, "give an object with id and method"));
    else if (id && method) {
        json_t *answered = answer(m, id, method, json_object_get(message, "params"));
        /* A cancelled call gets no answer. */
        if (m->cancelled)
            json_decref(answered);
        else
            reply(m, id, answered);
        m->cancelled = false;
    }
}

static void take_line(struct mcp *m)
{
    AUTO_MEM char *line = next_line(m);

    if (m->is_cut && line) {
        m->is_cut = false;
        reply(m, NULL, failure(INVALID_REQUEST, "the message is longer than 16 MiB"));
    } else if (line && line[strspn(line, " \t\r")]) {
        take(m, json_loads(line, JSON_REJECT_DUPLICATES, NULL));
    }
}

static json_t *next_waiting(struct mcp *m)
{
    json_t *first = m->waiting[0];

    memmove(m->waiting, m->waiting + 1, --m->n_waiting * sizeof *m->waiting);
    return first;
}

static const char *variable(const char *name)
{
    return getenv(name);
}

int mcp_serve(const struct mcp_options *options, bool (*stop)(void), struct err *e)
{
    struct mcp m = {.options = options, .stop = stop};
    struct app_options own = {
        .role = APP_PLATFORM_ADMIN,
        .program = APP_PROGRAM_SELF,
        .variable = variable,
        .listener = {.notice = hear_notice,
                     .status = hear_status,
                     .progress = hear_progress,
                     .cancelled = is_cancelled,
                     .context = &m},
    };
    AUTO(app) struct app *app = app_new(&own);

    m.tools = (struct mcp_tools){
        .app = app, .allow_write = options->allow_write, .notices = json_array()};
    buf_init(&m.in, LINE_MAX_BYTES);
    while (m.error.kind == ERR_NONE && !(stop && stop())) {
        if (m.n_waiting)
            take(&m, next_waiting(&m));
        else if (m.in.len && memchr(m.in.data, '\n', m.in.len))
            take_line(&m);
        else if (!read_some(&m, LOOK_MS) && m.ended)
            break;
    }
    for (size_t i = 0; i < m.n_waiting; i++)
        json_decref(m.waiting[i]);
    buf_clear(&m.in);
    mcp_tools_clear(&m.tools);
    return m.error.kind == ERR_NONE ? 0 : err_set(e, m.error.kind, "%s", m.error.text);
}
