/* follow: a training from its start to its end. Its events are lines that workers and functions
 * print. geo.run calls it. */
#include "app/geo/internal.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "broker/core/home.h"
#include "lake/job/job.h"
#include "spec/config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE 65536
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
    struct app_geo_run *g;
    struct app *app;
    struct answer *out;
    struct lake *lake;
    int64_t id;
    struct geo_events *events;
    size_t seen; /* events that rounds[] has */
    struct tail *tails;
    struct geo_teller *functions; /* one for each aggregator */
    struct round_seen *rounds;
    size_t n_rounds, done;
    unsigned bad_lines;
    bool is_stopped; /* the caller cancelled */
};

/* ---- lines ---- */

static void note_bad(struct watch *w,
                     const struct tail *t,
                     const char *stage,
                     const struct err *why)
{
    if (w->bad_lines++ == 0)
        log_warn("geo", "%s, job %" PRId64 ": a line that is not an event: %s", stage, t->job,
                 why->text);
}

static void take_line(struct watch *w, size_t i, const char *line, size_t len)
{
    const struct app_geo_party *party = &w->g->parties[i];
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
        return; /* another line of the program */
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

/* A stage whose job was lost gets another job, with another log. */
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
        AUTO_MEM char *path = broker_job_path(w->g->geo.config->home, job, "log");
        t->fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    /* The start of a job may be recorded after its first line. */
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

static int tell_round(struct watch *w, size_t i, struct err *e)
{
    const struct round_seen *r = &w->rounds[i];

    return answer_item(w->out,
                       &(struct app_geo_run_event){.event = "round",
                                                   .run = w->id,
                                                   .round = (int64_t)i,
                                                   .rounds = (int64_t)w->n_rounds,
                                                   .time_s = r->ended_s - r->began_s},
                       e);
}

static int see_rounds(struct watch *w, struct err *e)
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
    while (w->done < w->n_rounds && w->rounds[w->done].readers >= w->g->geo.problem->n_workers)
        if (tell_round(w, w->done++, e) < 0)
            return -1;
    return 0;
}

static void show_progress(struct watch *w, const struct run *r)
{
    size_t started = 0;

    for (size_t i = 0; i < r->n_stages; i++)
        started += w->tails[i].fd >= 0;
    if (started < r->n_stages)
        app_status(w->app, "%zu of %zu workers and functions have started", started, r->n_stages);
    else if (w->done < w->n_rounds)
        app_status(w->app, "round %zu of %zu: %zu of %zu workers have its result", w->done + 1,
                   w->n_rounds, w->rounds[w->done].readers, w->g->geo.problem->n_workers);
    else
        app_status(w->app, "all rounds are trained; storing the model");
}

/* ---- to the end ---- */

/* Cancelling stops the run, whose end is followed as well. */
static int look(void *context, const struct run *r, struct err *e)
{
    struct watch *w = context;

    if (read_logs(w, r, e) < 0 || see_rounds(w, e) < 0)
        return -1;
    if (r->state != RUN_GOING)
        return 0;
    show_progress(w, r);
    if (w->is_stopped || !app_cancelled(w->app))
        return 0;
    w->is_stopped = true;
    return runs_ask_stop(app_runs(w->app, e), w->id, 1, e) < 0 ? -1 : app_wake_broker(w->app, e);
}

static void set_tellers(struct watch *w)
{
    const struct app_geo_run *g = w->g;
    const struct app_geo_aggregator *last = &g->aggregators[g->n_aggregators - 1];

    for (size_t i = 0; i < g->n_aggregators; i++) {
        const struct app_geo_aggregator *a = &g->aggregators[i];
        /* Workers read in their own region, or in the global store; a quorum keeps results. */
        bool has_result =
            (g->at.topology == SPEC_GEO_FANOUT ? a != last : a == last) && g->geo.spec->quorum >= 1;
        w->functions[i] = (struct geo_teller){.worker = GEO_EVENT_NO_WORKER,
                                              .site = a->site,
                                              .store = a->in.site,
                                              .targets = a->targets,
                                              .n_targets = a->n_targets,
                                              .has_result = has_result};
    }
    for (size_t i = 0; i < g->n_parties; i++) {
        const struct app_geo_party *party = &g->parties[i];
        w->tails[i].fd = -1;
        if (party->worker == GEO_EVENT_NO_WORKER)
            continue;
        const struct app_geo_aggregator *a = &g->aggregators[g->gatherer_of[party->worker]];
        bool at_home = g->at.topology == SPEC_GEO_FANOUT;
        w->tails[i].teller = (struct geo_teller){.worker = party->worker,
                                                 .site = party->site,
                                                 .store = a->in.site,
                                                 .targets = at_home ? &a->in.site : &last->in.site,
                                                 .n_targets = 1};
    }
}

/* Its directories in the home; buckets keep the last mean of each prefix. */
static void clean_up(const struct app_geo_run *g)
{
    AUTO_MEM char *own = mem_printf("%s/geo/%s", g->geo.config->home, g->token);

    file_remove_tree(own);
}

int app_geo_run_follow(struct app *app, struct app_geo_run *g, struct answer *out, struct err *e)
{
    struct watch w = {.g = g,
                      .app = app,
                      .out = out,
                      .lake = app_lake(app, e),
                      .id = g->run.id,
                      .events = &g->events};

    if (!w.lake)
        return -1;
    w.n_rounds = (size_t)g->geo.spec->rounds;
    w.tails = mem_zero(g->n_parties, sizeof *w.tails);
    w.functions = mem_zero(g->n_aggregators, sizeof *w.functions);
    w.rounds = mem_zero(w.n_rounds, sizeof *w.rounds);
    set_tellers(&w);
    int result = app_run_wait(app, w.id, look, &w, &g->ended, e);
    if (w.bad_lines > 1)
        log_warn("geo", "%u lines of workers and functions were not events", w.bad_lines);
    for (size_t i = 0; i < g->n_parties; i++)
        if (w.tails[i].fd >= 0)
            close(w.tails[i].fd);
    free(w.tails);
    free(w.functions);
    free(w.rounds);
    if (result < 0)
        return err_wrap(e, "run %" PRId64 " continues, tradewind run stop %" PRId64 " stops it",
                        w.id, w.id);
    clean_up(g);
    return 0;
}
