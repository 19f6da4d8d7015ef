/* Instances as EC2 describes them: found by token, listed by owner, terminated. aws.c, launch.c and
 * clean.c call. */
#include "base/time.h"
#include "cloud/aws/internal.h"

#include <stdio.h>
#include <string.h>

#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from))
#define PAGE "1000"

static enum cloud_state state_of(const char *name, const char *why)
{
    if (strcmp(name, "running") == 0)
        return CLOUD_RUNNING;
    if (strcmp(name, "shutting-down") == 0 || strcmp(name, "stopping") == 0)
        return CLOUD_DELETING;
    if (strcmp(name, "terminated") != 0)
        return CLOUD_REQUESTED; /* pending; stopped, whose disk bills */
    return strncmp(why, "Server.SpotInstance", 19) == 0 ? CLOUD_PREEMPTED : CLOUD_GONE;
}

/* "User initiated (2026-11-15 22:36:00 GMT)"; 0 = it does not say when. */
static int64_t time_within(const char *reason)
{
    const char *open = strrchr(reason, '(');
    char text[32];

    if (!open || strlen(open) < 20)
        return 0;
    snprintf(text, sizeof text, "%.10sT%.8sZ", open + 1, open + 12);
    return time_from_iso(text);
}

static void read_times(const struct ec2 *a, const struct xml *item, struct cloud_machine *m)
{
    int64_t now_ms = cloud_now_ms(a->cloud) + a->skew_ms;
    int64_t launched_ms = time_from_iso(xml_text(item, "launchTime"));

    m->launched_ms = launched_ms ? launched_ms : now_ms;
    /* EC2 does not say since when an instance runs: it bills from its launch on. */
    m->ready_ms = m->state == CLOUD_RUNNING ? m->launched_ms : 0;
    m->ended_ms = 0;
    if (m->state != CLOUD_GONE && m->state != CLOUD_PREEMPTED)
        return;
    int64_t ended_ms = time_within(xml_text(item, "reason"));
    m->ended_ms = ended_ms >= m->launched_ms ? ended_ms : now_ms;
    m->notice_ms = m->state == CLOUD_PREEMPTED ? m->ended_ms : 0;
}

void ec2_read_instance(const struct ec2 *a, const struct xml *item, struct cloud_tagged *t)
{
    struct cloud_machine *m = &t->machine;

    for (const struct xml *tag = xml_items(item, "tagSet"); tag; tag = tag->next)
        cloud_tag_read(t, xml_text(tag, "key"), xml_text(tag, "value"));
    COPY(m->id, xml_text(item, "instanceId"));
    COPY(m->provider, "aws");
    COPY(m->region, a->cloud->options.region);
    COPY(m->zone, xml_text(item, "placement/availabilityZone"));
    COPY(m->instance_type, xml_text(item, "instanceType"));
    COPY(m->exec_driver, "ssh");
    COPY(m->root, a->cloud->options.root ? a->cloud->options.root : "~/.tradewind-jobs");
    m->spot = strcmp(xml_text(item, "instanceLifecycle"), "spot") == 0;
    m->state = state_of(xml_text(item, "instanceState/name"), xml_text(item, "stateReason/code"));
    read_times(a, item, m);
    const char *address = xml_text(item, "ipAddress");
    if (!*address)
        address = xml_text(item, "privateIpAddress");
    COPY(m->private_address, xml_text(item, "privateIpAddress"));
    m->address[0] = '\0';
    if (*address)
        snprintf(m->address, sizeof m->address, "%s%s%s", t->login, *t->login ? "@" : "", address);
}

static bool is_over(const struct cloud_machine *m)
{
    return m->state == CLOUD_GONE || m->state == CLOUD_PREEMPTED;
}

/* ---- lists ---- */

/* Items of reservationSet hold instances. */
struct reservations {
    const struct ec2 *ec2;
    int (*visit)(void *context, const struct cloud_tagged *t, struct cloud_error *e);
    void *context;
};

static int visit_reservation(void *context, const struct xml *item, struct cloud_error *e)
{
    const struct reservations *r = context;

    for (const struct xml *i = xml_items(item, "instancesSet"); i; i = i->next) {
        struct cloud_tagged t = {0};
        ec2_read_instance(r->ec2, i, &t);
        if (*t.machine.id && r->visit(r->context, &t, e) < 0)
            return -1;
    }
    return 0;
}

static int describe(struct ec2 *a,
                    struct ec2_call *x,
                    int (*visit)(void *context,
                                 const struct cloud_tagged *t,
                                 struct cloud_error *e),
                    void *context,
                    struct cloud_error *e)
{
    struct reservations r = {a, visit, context};

    ec2_add_filter(x, 1, "tag:" CLOUD_TAG_OWNER, (const char *[]){a->cloud->options.owner, NULL});
    ec2_add(x, PAGE, "MaxResults");
    return ec2_each(a, x, "reservationSet", visit_reservation, &r, e);
}

struct finding {
    struct cloud_tagged *out;
    struct ec2_ids *ids;
    size_t n;
};

/* A second one can only be there after a failure of EC2's own: the first that bills counts, and all
 * are terminated. */
static int keep_found(void *context, const struct cloud_tagged *t, struct cloud_error *e)
{
    struct finding *f = context;
    struct ec2_ids *ids = f->ids;

    (void)e;
    if (f->n++ == 0 || (is_over(&f->out->machine) && !is_over(&t->machine)))
        *f->out = *t;
    if (ids && !is_over(&t->machine) && ids->n < sizeof ids->items / sizeof *ids->items) {
        COPY(ids->items[ids->n], t->machine.id);
        ids->n++;
    }
    return 0;
}

int ec2_find(struct ec2 *a,
             const char *token,
             struct cloud_tagged *out,
             struct ec2_ids *ids,
             struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    struct finding f = {.out = out, .ids = ids};

    ec2_call_init(&x, "DescribeInstances");
    ec2_add_filter(&x, 2, "tag:" CLOUD_TAG_TOKEN, (const char *[]){token, NULL});
    if (ids)
        ids->n = 0;
    if (describe(a, &x, keep_found, &f, e) < 0)
        return -1;
    return f.n > 0;
}

struct machines_of {
    int (*visit)(void *context, const struct cloud_machine *m, struct cloud_error *e);
    void *context;
};

static int visit_machine(void *context, const struct cloud_tagged *t, struct cloud_error *e)
{
    const struct machines_of *m = context;

    return *t->machine.token ? m->visit(m->context, &t->machine, e) : 0;
}

int ec2_each_instance(struct ec2 *a,
                      int (*visit)(void *context,
                                   const struct cloud_machine *m,
                                   struct cloud_error *e),
                      void *context,
                      struct cloud_error *e)
{
    static const char *const alive[] = {"pending",  "running", "shutting-down",
                                        "stopping", "stopped", NULL};
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    struct machines_of m = {visit, context};

    ec2_call_init(&x, "DescribeInstances");
    ec2_add_filter(&x, 2, "instance-state-name", alive);
    return describe(a, &x, visit_machine, &m, e);
}

int ec2_terminate(struct ec2 *a, const struct ec2_ids *ids, struct cloud_error *e)
{
    for (size_t i = 0; i < ids->n; i++) {
        AUTO_CLEAR(ec2_call) struct ec2_call x;
        ec2_call_init(&x, "TerminateInstances");
        ec2_add(&x, ids->items[i], "InstanceId.1");
        if (ec2_send(a, &x, e) < 0 && !ec2_failed_with(&x, "InvalidInstanceID.NotFound"))
            return -1;
    }
    *e = (struct cloud_error){0};
    return 0;
}
