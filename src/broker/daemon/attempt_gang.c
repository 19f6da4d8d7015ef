/* Jobs that start together. No node fetches its input before all nodes have machines, whose
 * addresses each node is given; no node starts before all are prepared. A node that ends badly ends
 * the others, of a stage through its pipeline (advance_job.c). Called by attempt_life.c,
 * attempt_host.c and broker.c. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/internal.h"

#include <inttypes.h>
#include <string.h>

#define HOSTS_BYTES_MAX ((size_t)1 << 20)
/* How soon a gang that found too few machines asks again, each time later. */
#define WAIT_MS 1000
#define WAIT_MAX_MS 60000
/* Spreads the numbers of jobs over the time that they wait. */
#define SPREAD 7919

/* The machine that a worker thread provisions is the thread's. */
static bool has_machine(const struct attempt *j)
{
    if (!j->remote)
        return true;
    return j->state != LIFE_PROVISIONING && j->state != LIFE_GANG_WAITING &&
           j->work != ACTION_PROVISION && j->remote->machine.facts.address[0];
}

static bool is_prepared(const struct attempt *j)
{
    return j->state >= LIFE_PREPARED;
}

/* Their numbers follow one another. */
static int64_t node_id(const struct attempt *j, unsigned rank)
{
    return j->job.id - j->details.rank + rank;
}

/* The gang does not wait for a job that finished before this broker started, nor, when elastic, for
 * a job that ran and ended in any way. */
static bool is_through(struct broker *b, const struct attempt *j, int64_t id)
{
    struct lake_job job;

    if (lake_job_load(b->lake, id, NULL, &job, NULL) < 0)
        return false;
    return job.state == LAKE_JOB_FINISHED ||
           (j->details.elastic && lake_job_state_final(job.state) && job.started_ms);
}

static bool all_are(struct broker *b,
                    const struct attempt *j,
                    bool (*holds)(const struct attempt *j))
{
    for (unsigned rank = 0; rank < j->details.nodes; rank++) {
        const struct attempt *node = broker_find_attempt(b, node_id(j, rank));
        if (node ? !holds(node) : !is_through(b, j, node_id(j, rank)))
            return false;
    }
    return true;
}

bool attempt_gang_has_machines(struct broker *b, const struct attempt *j)
{
    return j->details.nodes <= 1 || all_are(b, j, has_machine);
}

bool attempt_gang_is_prepared(struct broker *b, const struct attempt *j)
{
    return j->details.nodes <= 1 || all_are(b, j, is_prepared);
}

void attempt_gang_release(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;

    if (r->machine.facts.token[0]) {
        hosts_clear(b, &r->machine,
                    r->is_moving ? "its gang moves" : "others of its gang have none", false);
        /* Machines of clouds are not had again by the same token. */
        r->attempt += r->launch.offer.provider[0] != 0;
    }
    r->machine = (struct machine){0};
    if (r->is_moving)
        r->launch.offer = r->next;
    r->is_moving = false;
    j->retry_ms = r->gang_until_ms;
}

static bool is_before_fetch(const struct attempt *j)
{
    return j->state == LIFE_PROVISIONING || j->state == LIFE_GANG_WAITING ||
           j->state == LIFE_BOOTING || j->state == LIFE_GATHERING;
}

/* Two gangs that kept their machines, where one's location is part of the other's, would wait for
 * each other for ever, and pay for it. Nor do gangs ask again at the same times. */
void attempt_gang_wait(struct broker *b, struct attempt *j)
{
    unsigned times = j->remote->gang_waits;
    int64_t wait_ms = hosts_later(WAIT_MS, times, WAIT_MAX_MS);
    int64_t until_ms =
        time_monotonic_ms() + wait_ms + node_id(j, 0) % WAIT_MAX_MS * SPREAD % wait_ms;

    for (unsigned rank = 0; rank < j->details.nodes; rank++) {
        struct attempt *node = broker_find_attempt(b, node_id(j, rank));
        if (!node || !node->remote || !is_before_fetch(node))
            continue;
        node->remote->gang_until_ms = until_ms;
        node->remote->gang_waits = times + 1;
        attempt_fire(b, node, EVENT_GANG_FULL);
    }
}

/* A cloud refused a machine: nodes elsewhere would not reach each other well. */
void attempt_gang_move(struct broker *b, struct attempt *j)
{
    const struct launch_progress to = j->remote->launch;
    int64_t now_ms = time_monotonic_ms();

    for (unsigned rank = 0; rank < j->details.nodes; rank++) {
        struct attempt *node = broker_find_attempt(b, node_id(j, rank));
        if (!node || !node->remote || !is_before_fetch(node))
            continue;
        bool is_server = rank < j->details.servers && to.servers.provider[0];
        const struct job_offer *next = is_server ? &to.servers : &to.workers;
        /* Nodes that were refused at the same time found the same. */
        if (node != j && node->remote->gang_moves && job_offer_same(next, &node->remote->next))
            continue;
        node->remote->next = *next;
        node->remote->is_moving = true;
        node->remote->gang_moves++;
        node->remote->gang_until_ms = now_ms;
        attempt_fire(b, node, EVENT_GANG_FULL);
    }
}

static bool is_apart(const struct attempt *j, const struct attempt *first)
{
    const struct job_offer *a = &j->remote->launch.offer, *b = &first->remote->launch.offer;

    return strcmp(a->provider, b->provider) != 0 || strcmp(a->region, b->region) != 0;
}

/* A broker that was killed while a gang moved has left machines in both regions. True: the node
 * follows the first one. */
static bool follows(struct broker *b, struct attempt *j, const struct attempt *first)
{
    struct job_offer next = first->remote->launch.offer;

    if (!is_before_fetch(j) || !is_before_fetch(first) || !is_apart(j, first))
        return false;
    /* Of a training cluster its server may be of another type. */
    if (j->details.servers && !strcmp(next.provider, j->remote->launch.offer.provider)) {
        const char *region = first->remote->launch.offer.region;
        next = j->remote->launch.offer;
        snprintf(next.region, sizeof next.region, "%s", region);
        next.zone[0] = 0;
    }
    j->remote->next = next;
    j->remote->is_moving = true;
    j->remote->gang_until_ms = time_monotonic_ms();
    attempt_fire(b, j, EVENT_GANG_FULL);
    return true;
}

bool attempt_gang_is_together(struct broker *b, struct attempt *j)
{
    const struct attempt *first =
        j->details.nodes > 1 ? broker_find_attempt(b, node_id(j, 0)) : NULL;
    unsigned apart = 0;

    if (!first || !first->remote || !first->remote->launch.offer.provider[0])
        return true;
    for (unsigned rank = 1; rank < j->details.nodes; rank++) {
        struct attempt *node = broker_find_attempt(b, node_id(j, rank));
        apart += node && node->remote && follows(b, node, first);
    }
    return apart == 0;
}

/* Waiting costs nothing: no node provisions before all can. */
enum life_event attempt_gang_ask(struct broker *b, struct attempt *j)
{
    for (unsigned rank = 0; rank < j->details.nodes; rank++) {
        const struct attempt *node = broker_find_attempt(b, node_id(j, rank));
        if (node && node->work == ACTION_ASK_GANG) {
            j->retry_ms = time_monotonic_ms() + WAIT_MS;
            return EVENT_NONE;
        }
    }
    attempt_give(b, j, ACTION_ASK_GANG);
    return EVENT_NONE;
}

enum life_event attempt_gang_answer(struct broker *b, struct attempt *j)
{
    if (j->stop_wanted)
        return attempt_because(j, EVENT_STOPPED, "%s", j->stop_reason);
    /* A request that no host can meet fails when the nodes themselves provision. */
    if (j->task_error.kind != ERR_NONE && j->remote->refused != CLOUD_UNSUPPORTED &&
        j->remote->refused != CLOUD_AUTH) {
        attempt_gang_wait(b, j);
        return EVENT_NONE;
    }
    for (unsigned rank = 0; rank < j->details.nodes; rank++) {
        struct attempt *node = broker_find_attempt(b, node_id(j, rank));
        if (!node || !node->remote || node->work)
            continue;
        if (node->state == LIFE_GANG_WAITING)
            attempt_fire(b, node, EVENT_GANG_FREE);
        else if (node->state == LIFE_PROVISIONING)
            attempt_fire(b, node, EVENT_DUE);
    }
    return EVENT_NONE;
}

/* Machines of a cloud reach each other by addresses of their network. */
static const char *address_of(const struct attempt *node)
{
    const struct cloud_machine *f = &node->remote->machine.facts;

    return f->private_address[0] ? f->private_address : node->host.address;
}

void attempt_gang_tell_hosts(struct broker *b, struct attempt *j)
{
    AUTO_CLEAR(buf) struct buf hosts;
    unsigned nodes = j->details.nodes > 1 ? j->details.nodes : 1;

    buf_init(&hosts, HOSTS_BYTES_MAX);
    if (!j->remote || (nodes == 1 && !j->details.stage[0]))
        return;
    for (unsigned rank = 0; rank < nodes; rank++) {
        const struct attempt *node = nodes > 1 ? broker_find_attempt(b, node_id(j, rank)) : j;
        buf_printf(&hosts, "%s%s", rank ? "\n" : "", node ? address_of(node) : "127.0.0.1");
    }
    attempt_set_nodes(j, buf_str(&hosts));
}

/* ---- a gang without a pipeline ends together ---- */

/* The node that looks after its gang: of those that are here the first. */
static bool is_first(const struct broker *b, const struct attempt *j)
{
    for (unsigned rank = 0; rank < j->details.rank; rank++)
        if (broker_find_attempt(b, node_id(j, rank)))
            return false;
    return true;
}

/* The node that ended badly, and what it was then; -1 = none. */
static int find_bad(struct broker *b, const struct attempt *j, enum lake_job_state *out)
{
    struct lake_job job;

    for (unsigned rank = 0; rank < j->details.nodes; rank++)
        if (lake_job_load(b->lake, node_id(j, rank), NULL, &job, NULL) == 0 &&
            lake_job_state_final(job.state) && job.state != LAKE_JOB_FINISHED) {
            *out = job.state;
            return (int)rank;
        }
    return -1;
}

static int end_together(struct broker *b, const struct attempt *j, struct err *e)
{
    enum lake_job_state state = LAKE_JOB_FAILED;
    int bad = find_bad(b, j, &state);
    bool over;

    if (bad < 0)
        return 0;
    AUTO_MEM char *why =
        mem_printf("rank %d of its gang, job %" PRId64 ", %s%s", bad, node_id(j, (unsigned)bad),
                   state == LAKE_JOB_FAILED ? "" : "was ", lake_job_state_text(state));
    for (unsigned rank = 0; rank < j->details.nodes; rank++)
        if (lake_job_ask_stop(b->lake, node_id(j, rank), why, &over, e) < 0)
            return -1;
    return 0;
}

int attempt_gangs_look(struct broker *b, struct err *e)
{
    for (size_t i = 0; i < b->n_attempts; i++) {
        const struct attempt *j = b->attempts[i];
        bool alone = j->details.nodes > 1 && !j->job.asked.run;
        if (alone && !j->stop_wanted && is_first(b, j) && end_together(b, j, e) < 0)
            return -1;
    }
    return 0;
}
