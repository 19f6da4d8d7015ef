/* Follows a training: its events are lines of what its workers and functions print. */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/daemon/client.h"
#include "cli/core/interrupt.h"
#include "cli/core/progress.h"
#include "cli/geo/geo_run_parts.h"
#include "lake/job/job.h"
#include "spec/config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_US 100000
/* As often as this a broker that went away is noticed, and another started. */
#define WAKE_LOOKS 10
#define PIECE 65536
/* Of many quick rounds not every one is told. */
#define TELL_S 1.0
#define LINE_MAX_BYTES (GEO_EVENT_LINE_MAX + 32)

/* The log of one stage's job, as far as it was read. */
struct tail {
    int64_t job;
    int fd; /* -1 = not open */
    char line[LINE_MAX_BYTES];
    size_t len;
    bool too_long; /* the line is no event: skipped to its end */
    struct geo_teller teller;
};

struct round_seen {
    double began_s, ended_s;
    size_t readers;
};

struct watch {
    struct geo_run *g;
    struct runs *runs;
    struct lake *lake;
    int64_t id;
    struct geo_events *events;
    size_t seen; /* events that rounds[] knows */
    struct tail *tails;
    struct geo_teller *functions; /* one for each aggregator */
    struct round_seen *rounds;
    size_t n_rounds, done;
    double told_s;
    unsigned stops, looks, bad_lines;
    struct broker_client *broker;
    struct progress progress;
};

/* ---- lines ---- */

static void note_bad(struct watch *w,
                     const struct tail *t,
                     const char *stage,
                     const struct err *why)
{
    if (w->bad_lines++ == 0)
        log_warn("geo", "%s, job %" PRId64 ": a line that is no event: %s", stage, t->job,
                 why->text);
}

static void take_line(struct watch *w, size_t i, const char *line, size_t len)
{
    const struct geo_party *party = &w->g->parties[i];
    struct tail *t = &w->tails[i];
    struct geo_teller *teller = &t->teller;
    struct err why = {0};

    if (party->worker == GEO_EVENT_NO_WORKER) {
        char *rest;
        unsigned long k = strtoul(line, &rest, 10);
        if (rest == line || *rest != ' ' || k >= w->g->n_aggregators)
            return;
        len -= (size_t)(rest + 1 - line);
        line = rest + 1;
        teller = &w->functions[k];
    }
    if (line[0] != '{' || !strstr(line, "\"kind\""))
        return; /* what programs print besides */
    if (geo_events_tell(w->events, teller, line, len, &why) < 0)
        note_bad(w, t, party->stage, &why);
}

static void take_bytes(struct watch *w, size_t i, const char *bytes, size_t n)
{
    struct tail *t = &w->tails[i];

    for (size_t k = 0; k < n; k++) {
        if (bytes[k] != '\n') {
            t->too_long = t->too_long || t->len + 1 == sizeof t->line;
            if (!t->too_long)
                t->line[t->len++] = bytes[k];
            continue;
        }
        t->line[t->len] = '\0';
        if (!t->too_long && t->len)
            take_line(w, i, t->line, t->len);
        t->len = 0;
        t->too_long = false;
    }
}

/* A stage that was lost has another job, and another log. */
static int follow_job(struct watch *w, size_t i, int64_t job, struct err *e)
{
    struct tail *t = &w->tails[i];
    struct lake_job record;

    if (job != t->job && t->fd >= 0) {
        close(t->fd);
        t->fd = -1;
        t->len = 0;
    }
    t->job = job;
    if (job && t->fd < 0) {
        AUTO_MEM char *path = broker_job_path(w->g->world->config->home, job, "log");
        t->fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    /* Its start may be written down after its first line. */
    if (t->fd < 0 || t->teller.began || t->teller.since_s > 0)
        return 0;
    if (lake_job_load(w->lake, job, NULL, &record, e) < 0)
        return -1;
    t->teller.since_s = (double)record.started_ms / 1000;
    return 0;
}

static int read_logs(struct watch *w, const struct run *r, struct err *e)
{
    char bytes[PIECE];
    ssize_t n;

    for (size_t i = 0; i < r->n_stages; i++) {
        if (follow_job(w, i, r->stages[i].job, e) < 0)
            return -1;
        while (w->tails[i].fd >= 0 && (n = read(w->tails[i].fd, bytes, sizeof bytes)) > 0)
            take_bytes(w, i, bytes, (size_t)n);
    }
    return 0;
}

/* ---- rounds ---- */

static void tell_round(struct watch *w, size_t i)
{
    const struct round_seen *r = &w->rounds[i];
    double now_s = time_monotonic_s(), took_s = r->ended_s - r->began_s;

    progress_clear(&w->progress);
    if (w->g->json) {
        AUTO_JSON json_t *o =
            json_pack("{s:s, s:I, s:I, s:o}", "event", "round", "run", (json_int_t)w->id, "round",
                      (json_int_t)i, "time_s", json_number(took_s));
        AUTO_MEM char *text = json_dumps(o, JSON_COMPACT);
        printf("%s\n", text ? text : "{}");
    } else if (now_s - w->told_s >= TELL_S || i + 1 == w->n_rounds) {
        w->told_s = now_s;
        printf("  round %zu of %zu  %.2f s\n", i + 1, w->n_rounds, took_s);
    }
    fflush(stdout);
}

static void see_rounds(struct watch *w)
{
    for (; w->seen < w->events->n; w->seen++) {
        const struct geo_event *v = &w->events->all[w->seen];
        if (v->worker == GEO_EVENT_NO_WORKER || v->round >= w->n_rounds)
            continue;
        struct round_seen *r = &w->rounds[v->round];
        if (v->kind == GEO_EVENT_TRAIN)
            r->began_s = r->began_s > 0 ? fmin(r->began_s, v->start_s) : v->start_s;
        if (v->kind != GEO_EVENT_GET)
            continue;
        r->ended_s = fmax(r->ended_s, v->end_s);
        r->readers++;
    }
    while (w->done < w->n_rounds && w->rounds[w->done].readers >= w->g->problem->n_workers)
        tell_round(w, w->done++);
}

static void show_progress(struct watch *w, const struct run *r)
{
    size_t started = 0;

    for (size_t i = 0; i < r->n_stages; i++)
        started += w->tails[i].fd >= 0;
    if (started < r->n_stages)
        progress_show(&w->progress, "%zu of %zu workers and functions have started", started,
                      r->n_stages);
    else if (w->done < w->n_rounds)
        progress_show(&w->progress, "round %zu of %zu: %zu of %zu have its result", w->done + 1,
                      w->n_rounds, w->rounds[w->done].readers, w->g->problem->n_workers);
    else
        progress_show(&w->progress, "all rounds are trained; the model is being stored");
}

/* ---- to the end ---- */

static int pass_on_interrupts(struct watch *w, struct err *e)
{
    unsigned seen = interrupt_count();

    if (seen <= w->stops)
        return 0;
    w->stops = seen;
    fprintf(stderr, seen == 1 ? "\nStopping. Ctrl-C again: at once.\n" : "\nStopping at once.\n");
    if (runs_ask_stop(w->runs, w->id, seen, e) < 0)
        return -1;
    return broker_client_wake(w->broker, e);
}

static int keep_broker(struct watch *w, struct err *e)
{
    if (!w->broker)
        w->broker = broker_client_open(w->g->world->config->home, BROKER_CLIENT_SELF, e);
    if (!w->broker)
        return -1;
    return w->looks++ % WAKE_LOOKS == 0 ? broker_client_wake(w->broker, e) : 0;
}

static int watch(struct watch *w, struct run *out, struct err *e)
{
    for (;;) {
        AUTO_CLEAR(run) struct run r = {0};
        if (runs_get(w->runs, w->id, &r, e) < 0 || read_logs(w, &r, e) < 0)
            return -1;
        see_rounds(w);
        if (r.state == RUN_GOING) {
            show_progress(w, &r);
        } else {
            progress_clear(&w->progress);
            *out = r;
            r = (struct run){0};
            return 0;
        }
        if (keep_broker(w, e) < 0 || pass_on_interrupts(w, e) < 0)
            return -1;
        usleep(LOOK_US);
    }
}

static void set_tellers(struct watch *w)
{
    const struct geo_run *g = w->g;
    const struct geo_aggregator *last = &g->aggregators[g->n_aggregators - 1];

    for (size_t i = 0; i < g->n_aggregators; i++) {
        const struct geo_aggregator *a = &g->aggregators[i];
        /* Workers read at home, or where the last one gathers; with a quorum results are kept. */
        bool has_result =
            (g->at.topology == SPEC_GEO_FANOUT ? a != last : a == last) && g->spec->quorum >= 1;
        w->functions[i] = (struct geo_teller){.worker = GEO_EVENT_NO_WORKER,
                                              .site = a->site,
                                              .store = a->in.site,
                                              .targets = a->targets,
                                              .n_targets = a->n_targets,
                                              .has_result = has_result};
    }
    for (size_t i = 0; i < g->n_parties; i++) {
        const struct geo_party *party = &g->parties[i];
        w->tails[i].fd = -1;
        if (party->worker == GEO_EVENT_NO_WORKER)
            continue;
        const struct geo_aggregator *a = &g->aggregators[g->gatherer_of[party->worker]];
        bool at_home = g->at.topology == SPEC_GEO_FANOUT;
        w->tails[i].teller = (struct geo_teller){.worker = party->worker,
                                                 .site = party->site,
                                                 .store = a->in.site,
                                                 .targets = at_home ? &a->in.site : &last->in.site,
                                                 .n_targets = 1};
    }
}

int geo_run_watch(struct geo_run *g,
                  struct runs *runs,
                  struct lake *l,
                  int64_t id,
                  struct geo_events *events,
                  struct run *out,
                  struct err *e)
{
    struct watch w = {.g = g, .runs = runs, .lake = l, .id = id, .events = events};

    w.n_rounds = (size_t)g->spec->rounds;
    w.tails = mem_zero(g->n_parties, sizeof *w.tails);
    w.functions = mem_zero(g->n_aggregators, sizeof *w.functions);
    w.rounds = mem_zero(w.n_rounds, sizeof *w.rounds);
    set_tellers(&w);
    progress_init(&w.progress, stderr);
    interrupt_watch_two();
    int result = watch(&w, out, e);
    if (w.bad_lines > 1)
        log_warn("geo", "%u lines of workers and functions were no events", w.bad_lines);
    for (size_t i = 0; i < g->n_parties; i++)
        if (w.tails[i].fd >= 0)
            close(w.tails[i].fd);
    broker_client_free(w.broker);
    free(w.tails);
    free(w.functions);
    free(w.rounds);
    return result;
}
