#include "broker/daemon/queue.h"

#include "base/buf.h"
#include "base/mem.h"
#include "broker/core/gpus.h"

#include <stdlib.h>
#include <string.h>

/* How often others pass a job that does not fit, before its location is reserved for it. */
#define PASSED_MAX 16

/* The list of what a job holds. */
#define HELD_BYTES_MAX 4096
#define DEVICES_BYTES_MAX 65536

/* GPUs of one type that a job wants, of these. */
struct wanted {
    unsigned gpus; /* 0 = none */
    char **devices;
    size_t n;
};

/* A job, or a gang of them: ids one after another in the order they came. */
struct waiting {
    int64_t id, priority; /* of a gang, its first */
    double cpus;          /* of one node */
    uint64_t memory_mb;
    size_t place;
    unsigned passed;
    char *gang; /* NULL = none; owned like the ids, which a single job has none of */
    int64_t *ids;
    size_t n_ids, cap_ids;
    unsigned nodes;
    struct wanted wanted; /* of one node */
};

struct owner {
    char *project, *user;
    unsigned active;
    uint64_t served_at;
};

/* What an owner wants to start at one place, with some of the same GPUs. */
struct line {
    size_t owner, place;
    char *devices;        /* those texts, a line each; "" = without GPUs; owned */
    struct waiting *jobs; /* from head on, in order */
    size_t head, n, cap;
};

struct active {
    int64_t id;
    size_t line, place;
    double cpus; /* 0 once its room is free again */
    uint64_t memory_mb;
    char *gang; /* NULL = none */
    struct wanted wanted;
    char *held; /* NULL = none */
};

/* A gang that lacks nodes. */
struct forming {
    struct waiting gang;
    size_t line;
};

struct place {
    char *name;
    bool bounded;
    double cpus, cpus_used;
    uint64_t memory_mb, memory_used;
};

struct queue {
    unsigned jobs_per_user;
    struct owner *owners;
    size_t n_owners, cap_owners;
    struct line *lines;
    size_t n_lines, cap_lines;
    struct place *places;
    size_t n_places, cap_places;
    struct active *active;
    size_t n_active, cap_active;
    struct forming *forming;
    size_t n_forming, cap_forming;
    int64_t *due; /* of gangs that have started: active, and not told yet */
    size_t n_due, cap_due;
    size_t n_waiting;
    uint64_t now; /* counts starts */
};

struct queue *queue_new(unsigned jobs_per_user)
{
    struct queue *q = mem_zero(1, sizeof *q);

    queue_set_jobs_per_user(q, jobs_per_user);
    return q;
}

void queue_set_jobs_per_user(struct queue *q, unsigned jobs_per_user)
{
    q->jobs_per_user = jobs_per_user ? jobs_per_user : 1;
}

static void wanted_clear(struct wanted *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->devices[i]);
    free(w->devices);
    *w = (struct wanted){0};
}

static void waiting_free(struct waiting *w)
{
    free(w->gang);
    free(w->ids);
    wanted_clear(&w->wanted);
}

static void active_clear(struct active *a)
{
    free(a->gang);
    free(a->held);
    wanted_clear(&a->wanted);
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    for (size_t i = 0; i < q->n_lines; i++) {
        for (size_t k = q->lines[i].head; k < q->lines[i].n; k++)
            waiting_free(&q->lines[i].jobs[k]);
        free(q->lines[i].jobs);
        free(q->lines[i].devices);
    }
    for (size_t i = 0; i < q->n_owners; i++) {
        free(q->owners[i].project);
        free(q->owners[i].user);
    }
    for (size_t i = 0; i < q->n_places; i++)
        free(q->places[i].name);
    for (size_t i = 0; i < q->n_forming; i++)
        waiting_free(&q->forming[i].gang);
    for (size_t i = 0; i < q->n_active; i++)
        active_clear(&q->active[i]);
    free(q->owners);
    free(q->lines);
    free(q->places);
    free(q->active);
    free(q->forming);
    free(q->due);
    free(q);
}

static size_t place_index(struct queue *q, const char *name)
{
    for (size_t i = 0; i < q->n_places; i++)
        if (!strcmp(q->places[i].name, name))
            return i;
    q->places = mem_room(q->places, q->n_places, &q->cap_places, sizeof *q->places);
    q->places[q->n_places] = (struct place){.name = mem_dup(name)};
    return q->n_places++;
}

void queue_set_place(struct queue *q, const char *name, double cpus, uint64_t memory_mb)
{
    size_t i = place_index(q, name); /* which may move the array */
    struct place *p = &q->places[i];

    p->bounded = true;
    p->cpus = cpus;
    p->memory_mb = memory_mb;
}

static size_t owner_index(struct queue *q, const char *project, const char *user)
{
    for (size_t i = 0; i < q->n_owners; i++)
        if (!strcmp(q->owners[i].user, user) && !strcmp(q->owners[i].project, project))
            return i;
    q->owners = mem_room(q->owners, q->n_owners, &q->cap_owners, sizeof *q->owners);
    q->owners[q->n_owners] = (struct owner){.project = mem_dup(project), .user = mem_dup(user)};
    return q->n_owners++;
}

/* New string. */
static char *join_devices(const struct queue_job *job)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, DEVICES_BYTES_MAX);
    for (size_t i = 0; job->gpus && i < job->n_devices; i++)
        buf_printf(&b, "%s\n", job->devices[i]);
    return mem_dup(buf_str(&b));
}

static size_t line_index(struct queue *q, const struct queue_job *job)
{
    size_t owner = owner_index(q, job->project, job->user), place = place_index(q, job->place);
    AUTO_MEM char *devices = join_devices(job);

    for (size_t i = 0; i < q->n_lines; i++)
        if (q->lines[i].owner == owner && q->lines[i].place == place &&
            !strcmp(q->lines[i].devices, devices))
            return i;
    q->lines = mem_room(q->lines, q->n_lines, &q->cap_lines, sizeof *q->lines);
    q->lines[q->n_lines] = (struct line){.owner = owner, .place = place, .devices = TAKE(devices)};
    return q->n_lines++;
}

static struct owner *owner_of(const struct queue *q, size_t line)
{
    return &q->owners[q->lines[line].owner];
}

static bool before(const struct waiting *a, const struct waiting *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

/* The jobs that left the front leave their room behind: used again before the array grows. */
static void make_room(struct line *l)
{
    if (l->n < l->cap || l->head == 0) {
        l->jobs = mem_room(l->jobs, l->n, &l->cap, sizeof *l->jobs);
        return;
    }
    memmove(l->jobs, l->jobs + l->head, (l->n - l->head) * sizeof *l->jobs);
    l->n -= l->head;
    l->head = 0;
}

static void stand_in_line(struct queue *q, size_t line, const struct waiting *w)
{
    struct line *l = &q->lines[line];

    make_room(l);
    size_t at = l->n++;
    for (; at > l->head && before(w, &l->jobs[at - 1]); at--)
        l->jobs[at] = l->jobs[at - 1];
    l->jobs[at] = *w;
    q->n_waiting++;
}

static bool is_under_way(const struct queue *q, const char *gang)
{
    for (size_t i = 0; i < q->n_active; i++)
        if (q->active[i].gang && !strcmp(q->active[i].gang, gang))
            return true;
    return false;
}

/* ---- GPUs ---- */

static bool is_taken(const struct queue *q, const char *device)
{
    for (size_t i = 0; i < q->n_active; i++)
        if (q->active[i].held && gpus_has(q->active[i].held, device))
            return true;
    return false;
}

static bool same_type(const struct wanted *w, size_t a, size_t b)
{
    return !strcmp(gpus_type_of(w->devices[a]), gpus_type_of(w->devices[b]));
}

/* Free devices of the type of the first of them; 0 where an earlier one counted them. */
static size_t free_of_type(const struct queue *q, const struct wanted *w, size_t first)
{
    size_t n = 0;

    for (size_t i = 0; i < first; i++)
        if (same_type(w, i, first))
            return 0;
    for (size_t i = first; i < w->n; i++)
        n += same_type(w, i, first) && !is_taken(q, w->devices[i]);
    return n;
}

/* Whether so many nodes can have their GPUs now. */
static bool has_gpus(const struct queue *q, const struct wanted *w, unsigned nodes)
{
    size_t served = 0;

    for (size_t i = 0; w->gpus && i < w->n; i++)
        served += free_of_type(q, w, i) / w->gpus;
    return w->gpus == 0 || served >= nodes;
}

/* Of the type with the fewest free ones that are enough: large requests find the others. */
static char *choose_gpus(const struct queue *q, const struct wanted *w)
{
    AUTO_CLEAR(buf) struct buf held;
    size_t best = SIZE_MAX, least = SIZE_MAX;
    unsigned n = 0;

    buf_init(&held, HELD_BYTES_MAX);
    for (size_t i = 0; i < w->n; i++) {
        size_t there = free_of_type(q, w, i);
        if (there >= w->gpus && there < least) {
            least = there;
            best = i;
        }
    }
    for (size_t i = best; i < w->n && n < w->gpus; i++)
        if (same_type(w, i, best) && !is_taken(q, w->devices[i]))
            buf_printf(&held, "%s%.*s", n++ ? "," : "", (int)gpus_id_length(w->devices[i]),
                       w->devices[i]);
    return n ? mem_dup(buf_str(&held)) : NULL;
}

/* False: a GPU of its own is taken. */
static bool take_gpus(const struct queue *q, struct active *a)
{
    if (a->wanted.gpus && !a->held)
        a->held = choose_gpus(q, &a->wanted);
    return !a->wanted.gpus || a->held;
}

static struct wanted wanted_of(const struct queue_job *job)
{
    struct wanted w = {.gpus = job->gpus};

    if (!job->gpus)
        return w;
    w.devices = mem_zero(job->n_devices + 1, sizeof *w.devices);
    for (; w.n < job->n_devices; w.n++)
        w.devices[w.n] = mem_dup(job->devices[w.n]);
    return w;
}

static struct wanted wanted_dup(const struct wanted *w)
{
    return wanted_of(&(struct queue_job){
        .gpus = w->gpus, .devices = (const char *const *)w->devices, .n_devices = w->n});
}

/* ---- starting ---- */

/* A gang counts as one job of its user. */
static void activate(struct queue *q, size_t line, const struct waiting *w, int64_t id)
{
    struct place *p = &q->places[w->place];

    owner_of(q, line)->active += !w->gang || !is_under_way(q, w->gang);
    q->active = mem_room(q->active, q->n_active, &q->cap_active, sizeof *q->active);
    q->active[q->n_active++] = (struct active){.id = id,
                                               .line = line,
                                               .place = w->place,
                                               .cpus = w->cpus,
                                               .memory_mb = w->memory_mb,
                                               .gang = w->gang ? mem_dup(w->gang) : NULL,
                                               .wanted = wanted_dup(&w->wanted)};
    p->cpus_used += w->cpus;
    p->memory_used += w->memory_mb;
}

static void make_due(struct queue *q, int64_t id)
{
    q->due = mem_room(q->due, q->n_due, &q->cap_due, sizeof *q->due);
    q->due[q->n_due++] = id;
}

static bool is_gang(const struct queue_job *job)
{
    return job->gang && *job->gang && job->nodes > 1;
}

static struct waiting waiting_of(struct queue *q, const struct queue_job *job)
{
    return (struct waiting){.id = job->id,
                            .priority = job->priority,
                            .cpus = job->cpus,
                            .memory_mb = job->memory_mb,
                            .place = place_index(q, job->place),
                            .nodes = 1,
                            .wanted = wanted_of(job)};
}

static struct forming *forming_of(struct queue *q, const struct queue_job *job, size_t line)
{
    for (size_t i = 0; i < q->n_forming; i++)
        if (!strcmp(q->forming[i].gang.gang, job->gang))
            return &q->forming[i];
    struct waiting w = waiting_of(q, job);
    w.gang = mem_dup(job->gang);
    w.nodes = job->nodes;
    q->forming = mem_room(q->forming, q->n_forming, &q->cap_forming, sizeof *q->forming);
    q->forming[q->n_forming] = (struct forming){w, line};
    return &q->forming[q->n_forming++];
}

static void add_to_gang(struct queue *q, size_t line, const struct queue_job *job)
{
    struct forming *f = forming_of(q, job, line);
    struct waiting *w = &f->gang;

    w->ids = mem_room(w->ids, w->n_ids, &w->cap_ids, sizeof *w->ids);
    w->ids[w->n_ids++] = job->id;
    if (w->n_ids < w->nodes)
        return;
    stand_in_line(q, line, w);
    *f = q->forming[--q->n_forming];
}

void queue_add(struct queue *q, const struct queue_job *job)
{
    size_t line = line_index(q, job);
    struct waiting w = waiting_of(q, job);

    if (!is_gang(job)) {
        stand_in_line(q, line, &w);
    } else if (is_under_way(q, job->gang)) {
        /* With or without capacity: the other nodes wait for this one, and no job overtakes them.
         */
        w.gang = mem_dup(job->gang);
        activate(q, line, &w, job->id);
        make_due(q, job->id);
        waiting_free(&w);
    } else {
        waiting_free(&w);
        add_to_gang(q, line, job);
    }
}

void queue_adopt(struct queue *q, const struct queue_job *job)
{
    size_t line = line_index(q, job);
    struct waiting w = waiting_of(q, job);

    w.gang = is_gang(job) ? mem_dup(job->gang) : NULL;
    activate(q, line, &w, job->id);
    if (job->held && *job->held)
        q->active[q->n_active - 1].held = mem_dup(job->held);
    waiting_free(&w);
}

/* Half a millionth of a CPU aside: sums of tenths are not exact. A job larger than the whole place
 * starts alone: who let it in decided so. */
static bool has_room(const struct queue *q, const struct waiting *w)
{
    const struct place *p = &q->places[w->place];

    if (!p->bounded)
        return true;
    if (p->cpus_used <= 5e-7 && p->memory_used == 0)
        return true;
    return p->cpus_used + w->cpus * w->nodes <= p->cpus + 5e-7 &&
           p->memory_used + w->memory_mb * w->nodes <= p->memory_mb;
}

static bool fits(const struct queue *q, const struct waiting *w)
{
    return has_room(q, w) && has_gpus(q, &w->wanted, w->nodes);
}

/* The first of the line, if its user may start one more. */
static struct waiting *first_of(const struct queue *q, size_t line)
{
    const struct line *l = &q->lines[line];

    return l->head < l->n && owner_of(q, line)->active < q->jobs_per_user ? &l->jobs[l->head]
                                                                          : NULL;
}

/* Whether w has to wait although it fits: its location is reserved for a job passed by too often.
 * What waits for GPUs alone is in the way of jobs with GPUs alone. */
static bool is_reserved(const struct queue *q, const struct waiting *w)
{
    for (size_t i = 0; i < q->n_lines; i++) {
        const struct waiting *other = first_of(q, i);
        if (other && other->place == w->place && other->passed >= PASSED_MAX && !fits(q, other) &&
            (w->wanted.gpus || !has_room(q, other)))
            return true;
    }
    return false;
}

/* Of two lines whose first may start. */
static bool goes_before(const struct queue *q, size_t line, size_t other)
{
    const struct owner *a = owner_of(q, line), *b = owner_of(q, other);
    const struct waiting *x = first_of(q, line), *y = first_of(q, other);

    if (a == b)
        return before(x, y);
    if (a->active != b->active)
        return a->active < b->active;
    if (a->served_at != b->served_at)
        return a->served_at < b->served_at;
    return x->id < y->id;
}

static size_t best_line(const struct queue *q)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < q->n_lines; i++) {
        const struct waiting *w = first_of(q, i);
        if (w && fits(q, w) && !is_reserved(q, w) && (best == SIZE_MAX || goes_before(q, i, best)))
            best = i;
    }
    return best;
}

static void count_passed(struct queue *q, const struct waiting *started)
{
    for (size_t i = 0; i < q->n_lines; i++) {
        struct waiting *w = first_of(q, i);
        if (w && w->place == started->place && !fits(q, w) &&
            (started->wanted.gpus || !has_room(q, w)))
            w->passed++;
    }
}

static struct active *find_active(const struct queue *q, int64_t id)
{
    for (size_t i = 0; i < q->n_active; i++)
        if (q->active[i].id == id)
            return &q->active[i];
    return NULL;
}

static int64_t next_due(struct queue *q)
{
    for (size_t i = 0; i < q->n_due; i++) {
        int64_t id = q->due[i];
        struct active *a = find_active(q, id);
        if (a && !take_gpus(q, a))
            continue;
        memmove(q->due + i, q->due + i + 1, (--q->n_due - i) * sizeof *q->due);
        return id;
    }
    return 0;
}

int64_t queue_next(struct queue *q)
{
    int64_t due = next_due(q);
    if (due)
        return due;
    size_t i = best_line(q);
    if (i == SIZE_MAX)
        return 0;
    struct line *l = &q->lines[i];
    struct waiting w = l->jobs[l->head++];
    int64_t id = w.id;
    q->n_waiting--;
    owner_of(q, i)->served_at = ++q->now;
    count_passed(q, &w);
    activate(q, i, &w, id);
    for (size_t k = 0; k < w.n_ids; k++) {
        if (w.ids[k] == id)
            continue;
        activate(q, i, &w, w.ids[k]);
        make_due(q, w.ids[k]);
    }
    for (size_t k = 0; k < q->n_active; k++)
        take_gpus(q, &q->active[k]);
    waiting_free(&w);
    return id;
}

const char *queue_held(const struct queue *q, int64_t id)
{
    const struct active *a = find_active(q, id);

    return a && a->held ? a->held : "";
}

void queue_free_room(struct queue *q, int64_t id)
{
    struct active *a = find_active(q, id);

    if (!a)
        return;
    struct place *p = &q->places[a->place];
    p->cpus_used -= a->cpus;
    p->memory_used -= a->memory_mb;
    a->cpus = 0;
    a->memory_mb = 0;
    free(a->held);
    a->held = NULL;
    wanted_clear(&a->wanted);
}

void queue_put_back(struct queue *q, int64_t id)
{
    struct active *a = find_active(q, id);

    if (!a)
        return;
    if (a->gang) {
        make_due(q, id);
        return;
    }
    struct line *l = &q->lines[a->line];
    struct waiting w = {.id = id,
                        .cpus = a->cpus,
                        .memory_mb = a->memory_mb,
                        .place = a->place,
                        .nodes = 1,
                        .wanted = wanted_dup(&a->wanted)};
    /* Its old place in front, or all others move by one. */
    if (l->head == 0) {
        l->jobs = mem_room(l->jobs, l->n, &l->cap, sizeof *l->jobs);
        memmove(l->jobs + 1, l->jobs, l->n++ * sizeof *l->jobs);
        l->head = 1;
    }
    /* As urgent as the next job: no job of its line goes before it. */
    if (l->head < l->n)
        w.priority = l->jobs[l->head].priority;
    l->jobs[--l->head] = w;
    q->n_waiting++;
    queue_done(q, id);
}

static void forget_due(struct queue *q, int64_t id)
{
    for (size_t i = 0; i < q->n_due; i++)
        if (q->due[i] == id) {
            memmove(q->due + i, q->due + i + 1, (--q->n_due - i) * sizeof *q->due);
            return;
        }
}

void queue_done(struct queue *q, int64_t id)
{
    struct active *found = find_active(q, id);

    if (!found)
        return;
    queue_free_room(q, id);
    forget_due(q, id);
    struct active a = *found;
    *found = q->active[--q->n_active];
    owner_of(q, a.line)->active -= !a.gang || !is_under_way(q, a.gang);
    active_clear(&a);
}

size_t queue_waiting(const struct queue *q)
{
    return q->n_waiting + q->n_due;
}

size_t queue_active(const struct queue *q)
{
    return q->n_active;
}
