#include "fed/function/invoke.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of telling the global aggregator; after that the store's next event tries again. */
#define TELL_TRIES 5
#define TELL_WAIT_S 0.2
#define TELL_MAX_WAIT_S 3.0

static int tell_up(void *context, const char *key, struct err *e)
{
    struct function *f = context;
    const struct function_settings *s = &f->settings;
    const char *prefix = store_prefix(s->up.store);
    AUTO_MEM char *full = mem_printf("%s%s%s", prefix, *prefix ? "/" : "", key);
    const struct fed_notice notice = {s->up_event_url, s->token, store_bucket(s->up.store), full};
    struct err why = {0};

    for (unsigned i = 1; i <= TELL_TRIES; i++) {
        if (i > 1)
            http_wait(f->http, i, TELL_WAIT_S, TELL_MAX_WAIT_S);
        if (fed_notify(f->http, &notice, NULL, &why) == 0)
            return 0;
        if (why.kind == ERR_USAGE)
            break;
    }
    if (e)
        *e = why;
    return -1;
}

int function_open(struct function *f, struct err *e)
{
    *f = (struct function){0};
    if (function_settings_read(&f->settings, e) < 0)
        return -1;
    if (!f->settings.up_event_url)
        return 0;
    f->http = http_new((uint64_t)time_epoch_ms(), e);
    f->settings.aggregator.sent_up = tell_up;
    f->settings.aggregator.context = f;
    return f->http ? 0 : -1;
}

void function_clear(struct function *f)
{
    function_settings_clear(&f->settings);
    http_free(f->http);
}

void function_result_clear(struct function_result *r)
{
    json_decref(r->answer);
    r->answer = NULL;
}

/* ---- what was done ---- */

static json_t *report_json(const struct fed_round_report *r, const char *outcome)
{
    const struct store_tally *t = &r->tally;

    return json_pack("{s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "outcome", outcome,
                     "round", (int)r->round, "worker", (int)r->worker, "inputs", (int)r->inputs,
                     "bytes", (json_int_t)r->bytes, "lists", (json_int_t)t->lists, "reads",
                     (json_int_t)t->reads, "writes", (json_int_t)t->writes, "deletes",
                     (json_int_t)t->deletes, "read_bytes", (json_int_t)t->read_bytes,
                     "written_bytes", (json_int_t)t->written_bytes);
}

/* One line, written in one go: several may write to the file at once. A log that cannot be written
 * does not stop the training. */
static void log_event(const struct function *f, json_t *report, int64_t start_ms)
{
    const char *path = f->settings.event_log;

    if (!path)
        return;
    AUTO_JSON json_t *line = json_copy(report);
    json_object_set_new(line, "kind", json_string("invoke"));
    json_object_set_new(line, "who", json_string("function"));
    json_object_set_new(line, "start", json_real((double)start_ms / 1e3));
    json_object_set_new(line, "end", json_real((double)time_epoch_ms() / 1e3));
    AUTO_MEM char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15));
    AUTO_MEM char *with_end = mem_printf("%s\n", text);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || file_write_all(fd, with_end, strlen(with_end)) < 0)
        log_warn("aggregator", "cannot write to %s", path);
    if (fd >= 0)
        close(fd);
}

/* ---- one event ---- */

/* The key below our store; NULL = it is none of ours. */
static const char *key_below(const struct function_settings *s, const struct fed_event *v)
{
    const char *bucket = store_bucket(s->aggregator.store);
    const char *prefix = store_prefix(s->aggregator.store);
    size_t n = strlen(prefix);

    /* Events of a directory tell keys alone. */
    if (*bucket && strcmp(bucket, v->bucket) != 0)
        return NULL;
    if (n == 0)
        return v->key;
    return strncmp(v->key, prefix, n) == 0 && v->key[n] == '/' ? v->key + n + 1 : NULL;
}

static json_t *handle(struct function *f, const struct fed_event *v, struct err *e)
{
    struct fed_round_report report = {.outcome = FED_ROUND_IGNORED};
    const char *key = key_below(&f->settings, v);
    int64_t start_ms = time_epoch_ms();

    int result = key ? fed_round_event(&f->settings.aggregator, key, &report, e) : 0;
    json_t *json =
        report_json(&report, result < 0 ? "failed" : fed_round_outcome_text(report.outcome));
    if (result < 0)
        json_object_set_new(json, "error", json_text(e->text));
    else
        *e = (struct err){0}; /* a write that lost to another's says so, and is no failure */
    log_event(f, json, start_ms);
    json_object_set_new(json, "key", json_text(v->key));
    log_info("aggregator", "%s: %s%s%s", v->key,
             result < 0 ? "failed" : fed_round_outcome_text(report.outcome), result < 0 ? ": " : "",
             result < 0 ? e->text : "");
    return json;
}

/* What may pass is delivered again, whatever else is wrong. */
static bool is_worse(const struct err *a, const struct err *b)
{
    return a->kind && (!b->kind || (b->kind == ERR_USAGE && a->kind != ERR_USAGE));
}

void function_invoke(struct function *f,
                     const struct function_message *m,
                     struct function_result *out)
{
    AUTO_CLEAR(fed_events) struct fed_events events = {0};

    *out = (struct function_result){0};
    if (fed_events_read(&events, m->type, m->subject, m->body, m->n, &out->why) < 0) {
        out->answer = json_pack("{s:o}", "error", json_text(out->why.text));
        return;
    }
    out->readable = true;
    out->sender = events.sender;
    if (events.validation) {
        out->answer = json_pack("{s:s}", "validationResponse", events.validation);
        return;
    }
    json_t *all = json_array();
    for (size_t i = 0; i < events.n; i++) {
        struct err why = {0};
        json_array_append_new(all, handle(f, &events.all[i], &why));
        if (is_worse(&why, &out->why))
            out->why = why;
    }
    out->answer = json_pack("{s:o}", "events", all);
    if (events.in_handler) {
        AUTO_MEM char *text = json_dumps(out->answer, JSON_COMPACT);
        json_decref(out->answer);
        out->answer = json_pack("{s:{}, s:[s], s:n}", "Outputs", "Logs", text, "ReturnValue");
    }
}
