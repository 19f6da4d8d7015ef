/* Changes of jobs, recorded in the lake in one transaction, and the events that follow. Called by
 * all files of the broker that end or move a job. */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Changes that nothing waits for are recorded with the next ones, if those come within this time: a
 * short job's beginning with its end. */
#define GATHER_S 0.01

static struct step *add(struct broker *b, int64_t id, enum lake_job_state to, const char *why)
{
    if (b->n_steps == 0)
        b->first_step_s = time_monotonic_s();
    b->steps = mem_room(b->steps, b->n_steps, &b->cap_steps, sizeof *b->steps);
    struct step *s = &b->steps[b->n_steps++];
    *s = (struct step){.reason = mem_dup(why)};
    s->change = (struct lake_job_change){
        .id = id, .to = to, .reason = s->reason, .runtime_s = -1, .may_be_gone = true};
    return s;
}

void step_note(struct broker *b, int64_t id, enum lake_job_state to, const char *why)
{
    add(b, id, to, why);
}

struct step *step_add(
    struct broker *b, struct attempt *j, enum lake_job_state to, bool awaited, const char *why)
{
    struct step *s = add(b, j->job.id, to, why);

    s->attempt = j;
    s->awaited = awaited;
    return s;
}

/* ---- clients that wait ---- */

void step_tell_end(struct broker *b, int64_t id)
{
    struct err why = {0};
    struct lake_job job;

    if (!control_socket_is_awaited(b->socket, id))
        return;
    if (lake_job_load(b->lake, id, NULL, &job, &why) < 0)
        log_warn("broker", "job %" PRId64 ": %s", id, why.text);
    else if (lake_job_is_over(&job))
        control_socket_tell(b->socket, id, lake_job_state_text(job.state));
}

/* ---- writing ---- */

/* The step is recorded: its attempt continues. */
static void act(struct broker *b, struct step *s)
{
    int64_t id = s->change.id;

    if (!s->attempt) {
        step_tell_end(b, id);
    } else if (s->awaited && life_is_final(s->attempt->state)) {
        attempt_finish(b, s->attempt);
        step_tell_end(b, id);
    } else if (s->awaited) {
        attempt_fire(b, s->attempt, s->change.applied ? EVENT_RECORDED : EVENT_OVERRULED);
    }
    s->awaited = false;
}

static bool starts(const struct step *s)
{
    return s->awaited && s->attempt->state == LIFE_PLACED;
}

static int keep_told(struct broker *b, struct err *e)
{
    for (size_t i = 0; i < b->n_attempts; i++)
        if ((attempt_has_told(b->attempts[i]) &&
             attempt_keep_told(b->attempts[i], b->lake, &b->code, e) < 0) ||
            attempt_tell_metrics(b->attempts[i], b->lake, e) < 0)
            return -1;
    return 0;
}

static int write_steps(struct broker *b, struct err *e)
{
    AUTO_MEM struct lake_job_change *changes = mem_zero(b->n_steps + 1, sizeof *changes);

    if (keep_told(b, e) < 0)
        return -1;
    for (size_t i = 0; i < b->n_steps; i++)
        changes[i] = b->steps[i].change;
    if (b->n_steps && lake_job_step(b->lake, changes, b->n_steps, e) < 0)
        return -1;
    for (size_t i = 0; i < b->n_steps; i++)
        b->steps[i].change.applied = changes[i].applied;
    return 0;
}

void step_note_refused(struct broker *b, const char *what, const struct err *why)
{
    if ((b->refused & (b->refused - 1)) == 0)
        log_warn("broker", "%s; trying again: %s", what, why->text);
    b->refused++;
}

bool steps_settle(struct broker *b)
{
    struct err why = {0};

    int written = write_steps(b, &why);
    if (written < 0 && why.kind == ERR_IO && lake_reserve_use(b->o->home))
        written = write_steps(b, &why);
    if (written < 0) {
        step_note_refused(b, "the lake does not take what happened", &why);
        return false;
    }
    struct step *done = TAKE(b->steps);
    size_t n = b->n_steps, n_later = 0;
    AUTO_MEM struct step **later = mem_zero(n + 1, sizeof *later);
    b->n_steps = b->cap_steps = 0;
    /* Starts go first: the removal of what others left continues beside them. */
    for (size_t i = 0; i < n; i++)
        if (starts(&done[i]))
            act(b, &done[i]);
        else
            later[n_later++] = &done[i];
    for (size_t i = 0; i < n_later; i++)
        act(b, later[i]);
    for (size_t i = 0; i < n; i++)
        free(done[i].reason);
    free(done);
    return true;
}

double steps_wait_s(const struct broker *b)
{
    for (size_t i = 0; i < b->n_steps; i++)
        if (b->steps[i].awaited || !b->steps[i].attempt)
            return 0;
    for (size_t i = 0; i < b->n_attempts; i++)
        if (attempt_has_told(b->attempts[i]))
            return 0;
    return b->n_steps ? fmax(b->first_step_s + GATHER_S - time_monotonic_s(), 0) : 0;
}
