#include "pipeline.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX ((size_t)4 << 20)

struct simulate_stage cheap(double work_s)
{
    return (struct simulate_stage){.provider = "aws",
                                   .region = "us-east-1",
                                   .zone = "us-east-1a",
                                   .instance_type = "m5.large",
                                   .accelerator = "",
                                   .nodes = 1,
                                   .price_usd_per_hour = CHEAP * 3600 / 1e6,
                                   .cpus = 2,
                                   .memory_gb = 8,
                                   .work_s = work_s};
}

struct simulate_stage dear(double work_s)
{
    struct simulate_stage s = cheap(work_s);

    s.provider = "gcp";
    s.region = "us-central1";
    s.zone = "";
    s.instance_type = "e2-big";
    s.price_usd_per_hour = DEAR * 3600 / 1e6;
    return s;
}

static bool is_blocked(const struct simulate_question *q, const struct simulate_stage *s)
{
    for (size_t i = 0; i < q->n_blocks; i++)
        if (simulate_block_meets(&q->blocks[i], s))
            return true;
    return false;
}

static int replan(void *context,
                  const struct simulate_question *q,
                  struct simulate_stage *stages,
                  struct err *e)
{
    struct pipeline *p = context;

    p->replans++;
    for (size_t i = 0; i < p->run.n_stages; i++) {
        struct simulate_stage other = dear(stages[i].work_s);
        if (!(q->left[i] > 0))
            continue;
        other.nodes = stages[i].nodes;
        if (!is_blocked(q, &stages[i]) && !stages[i].spot)
            continue;
        if (is_blocked(q, &other))
            return err_set(e, ERR_NOFIT, "nothing is left");
        stages[i] = other;
    }
    return 0;
}

static int tell(void *context, const struct simulate_event *event, struct err *e)
{
    struct pipeline *p = context;

    (void)e;
    buf_printf(&p->log, "%.3f %d %s %.3f %lld %s\n", event->at_s, (int)event->stage,
               event->kind == SIMULATE_NOTE ? "note" : run_stage_state_text(event->state),
               event->took_s, (long long)event->cost_microusd, event->text);
    return 0;
}

static void fill(struct pipeline *p)
{
    for (size_t i = 0; i < p->run.n_stages; i++) {
        snprintf(p->names[i], sizeof p->names[i], "s%zu", i);
        p->needs[i] = i - 1;
        p->stages[i] = (struct run_stage){
            .plan = {.name = p->names[i], .needs = &p->needs[i], .n_needs = i > 0, .nodes = 1}};
        p->where[i] = cheap(600);
    }
    p->run.stages = p->stages;
}

void pipeline_init(struct pipeline *p, size_t n)
{
    const char *tmp = getenv("TMPDIR");

    *p = (struct pipeline){0};
    snprintf(p->home, sizeof p->home, "%s/tradewind-sim-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(p->home) || !(p->runs = runs_open(p->home, &p->err)) ||
        !(p->machines = machines_open(p->home, &p->err))) {
        printf("Bail out! %s: %s\n", p->home, p->err.text);
        exit(EXIT_FAILURE);
    }
    runs_relax(p->runs);
    machines_relax(p->machines);
    buf_init(&p->log, LOG_MAX);
    p->run = (struct run){.name = "p", .file = "p.yaml", .user = "me", .on = "sim", .n_stages = n};
    fill(p);
    p->options = (struct simulate_options){.home = p->home,
                                           .runs = p->runs,
                                           .machines = p->machines,
                                           .run = &p->run,
                                           .stages = p->where,
                                           .seed = 1,
                                           .max_microusd = -1,
                                           .replan = replan,
                                           .tell = tell,
                                           .context = p};
}

void pipeline_again(struct pipeline *p)
{
    buf_clear(&p->log);
    buf_init(&p->log, LOG_MAX);
    p->replans = 0;
    fill(p);
}

void pipeline_clear(struct pipeline *p)
{
    buf_clear(&p->log);
    runs_free(p->runs);
    machines_free(p->machines);
    file_remove_tree(p->home);
}

static int simulate(struct pipeline *p)
{
    p->err = (struct err){0};
    if (simulate_run(&p->options, &p->result, &p->err) == 0)
        return 0;
    printf("# %s\n", p->err.text);
    return -1;
}

int pipeline_run(struct pipeline *p)
{
    return runs_add(p->runs, &p->run, &p->err) < 0 ? -1 : simulate(p);
}

int pipeline_resume(struct pipeline *p)
{
    struct run stored;
    int64_t id = p->run.id;

    if (runs_reopen(p->runs, id, &p->err) < 0 || runs_get(p->runs, id, &stored, &p->err) < 0)
        return -1;
    p->run.created_ms = stored.created_ms;
    for (size_t i = 0; i < p->run.n_stages; i++)
        p->stages[i].state = stored.stages[i].state;
    run_clear(&stored);
    return simulate(p);
}

int64_t pipeline_cost(const struct pipeline *p)
{
    return p->result.compute_microusd + p->result.data_microusd;
}

struct sum {
    enum machine_state state;
    int64_t microusd;
    size_t n;
};

static int add(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct sum *s = context;
    int64_t ms = m->facts.ended_ms - m->facts.launched_ms;
    int64_t each = m->facts.instance_type[0] == 'm' ? CHEAP : DEAR;

    (void)now_ms;
    (void)e;
    s->n += !s->state || m->state == s->state;
    if (!m->facts.launched_ms || !m->facts.ended_ms)
        return 0;
    int64_t seconds = (ms + 999) / 1000;
    s->microusd += each * (seconds < 60 ? 60 : seconds);
    return 0;
}

static struct sum sum_up(struct pipeline *p, enum machine_state state)
{
    struct sum s = {.state = state};
    struct machine_filter all = {.run = p->run.id, .with_gone = true};

    if (machines_each(p->machines, &all, add, &s, &p->err) < 0)
        printf("Bail out! %s\n", p->err.text);
    return s;
}

int64_t pipeline_recorded(struct pipeline *p)
{
    return sum_up(p, 0).microusd;
}

size_t pipeline_count(struct pipeline *p, enum machine_state state)
{
    return sum_up(p, state).n;
}
