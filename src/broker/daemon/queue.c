#include "broker/daemon/queue.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* How often others pass a job that does not fit, before its location is reserved for it. */
#define PASSED_MAX 16

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
};

struct owner {
    char *project, *user;
    unsigned active;
    uint64_t served_at;
};

/* What an owner wants to start at one place. */
struct line {
    size_t owner, place;
    struct waiting *jobs; /* from head on, in order */
    size_t head, n, cap;
};

struct active {
    int64_t id;
    size_t line, place;
    double cpus; /* 0 once its room is free again */
    uint64_t memory_mb;
    char *gang; /* NULL = none */
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

static void waiting_free(struct waiting *w)
{
    free(w->gang);
    free(w->ids);
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    for (size_t i = 0; i < q->n_lines; i++) {
        for (size_t k = q->lines[i].head; k < q->lines[i].n; k++)
            waiting_free(&q->lines[i].jobs[k]);
        free(q->lines[i].jobs);
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
        free(q->active[i].gang);
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

static size_t line_index(struct queue *q, const struct queue_job *job)
{
    size_t owner = owner_index(q, job->project, job->user), place = place_index(q, job->place);

    for (size_t i = 0; i < q->n_lines; i++)
        if (q->lines[i].owner == owner && q->lines[i].place == place)
            return i;
    q->lines = mem_room(q->lines, q->n_lines, &q->cap_lines, sizeof *q->lines);
    q->lines[q->n_lines] = (struct line){.owner = owner, .place = place};
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
                                               .gang = w->gang ? mem_dup(w->gang) : NULL};
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
                            .nodes = 1};
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
        free(w.gang);
    } else {
        add_to_gang(q, line, job);
    }
}

void queue_adopt(struct queue *q, const struct queue_job *job)
{
    size_t line = line_index(q, job);
    struct waiting w = waiting_of(q, job);

    w.gang = is_gang(job) ? mem_dup(job->gang) : NULL;
    activate(q, line, &w, job->id);
    free(w.gang);
}

/* Half a millionth of a CPU aside: sums of tenths are not exact. A job larger than the whole place
 * starts alone: who let it in decided so. */
static bool fits(const struct queue *q, const struct waiting *w)
{
    const struct place *p = &q->places[w->place];

    if (!p->bounded)
        return true;
    if (p->cpus_used <= 5e-7 && p->memory_used == 0)
        return true;
    return p->cpus_used + w->cpus * w->nodes <= p->cpus + 5e-7 &&
           p->memory_used + w->memory_mb * w->nodes <= p->memory_mb;
}

/* The first of the line, if its user may start one more. */
static struct waiting *first_of(const struct queue *q, size_t line)
{
    const struct line *l = &q->lines[line];

    return l->head < l->n && owner_of(q, line)->active < q->jobs_per_user ? &l->jobs[l->head]
                                                                          : NULL;
}

/* A location that is reserved for a job passed by too often: only that job starts there. */
static bool is_reserved(const struct queue *q, size_t place)
{
    for (size_t i = 0; i < q->n_lines; i++) {
        const struct waiting *w = first_of(q, i);
        if (w && w->place == place && w->passed >= PASSED_MAX && !fits(q, w))
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
        if (w && fits(q, w) && !is_reserved(q, w->place) &&
            (best == SIZE_MAX || goes_before(q, i, best)))
            best = i;
    }
    return best;
}

static void count_passed(struct queue *q, size_t place)
{
    for (size_t i = 0; i < q->n_lines; i++) {
        struct waiting *w = first_of(q, i);
        if (w && w->place == place && !fits(q, w))
            w->passed++;
    }
}

static int64_t next_due(struct queue *q)
{
    int64_t id = q->due[0];

    memmove(q->due, q->due + 1, --q->n_due * sizeof *q->due);
    return id;
}

int64_t queue_next(struct queue *q)
{
    if (q->n_due)
        return next_due(q);
    size_t i = best_line(q);
    if (i == SIZE_MAX)
        return 0;
    struct line *l = &q->lines[i];
    struct waiting w = l->jobs[l->head++];
    int64_t id = w.id;
    q->n_waiting--;
    owner_of(q, i)->served_at = ++q->now;
    count_passed(q, w.place);
    activate(q, i, &w, id);
    for (size_t k = 0; k < w.n_ids; k++) {
        if (w.ids[k] == id)
            continue;
        activate(q, i, &w, w.ids[k]);
        make_due(q, w.ids[k]);
    }
    waiting_free(&w);
    return id;
}

static struct active *find_active(const struct queue *q, int64_t id)
{
    for (size_t i = 0; i < q->n_active; i++)
        if (q->active[i].id == id)
            return &q->active[i];
    return NULL;
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
    struct waiting w = {
        .id = id, .cpus = a->cpus, .memory_mb = a->memory_mb, .place = a->place, .nodes = 1};
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
    free(a.gang);
}

size_t queue_waiting(const struct queue *q)
{
    return q->n_waiting + q->n_due;
}

size_t queue_active(const struct queue *q)
{
    return q->n_active;
}
