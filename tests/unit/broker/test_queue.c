#include "broker/daemon/queue.h"
#include "tap.h"

#include <string.h>

static void add_as(struct queue *q, int64_t id, const char *user, double cpus)
{
    queue_add(q, &(struct queue_job){.id = id,
                                     .project = "default",
                                     .user = user,
                                     .place = "local",
                                     .cpus = cpus,
                                     .memory_mb = 100});
}

static void test_first_in_first_out(void)
{
    AUTO(queue) struct queue *q = queue_new(100);

    for (int64_t id = 1; id <= 5; id++)
        add_as(q, id, "ann", 1);
    bool in_order = true;
    for (int64_t id = 1; id <= 5; id++)
        in_order = in_order && queue_next(q) == id;
    CHECK(in_order, "a user's jobs start in the order they came");
    CHECK(queue_next(q) == 0 && queue_waiting(q) == 0 && queue_active(q) == 5,
          "then there are no more");
}

static void test_quota(void)
{
    AUTO(queue) struct queue *q = queue_new(2);

    for (int64_t id = 1; id <= 4; id++)
        add_as(q, id, "ann", 1);
    CHECK(queue_next(q) == 1 && queue_next(q) == 2, "two of a user's jobs start");
    CHECK(queue_next(q) == 0, "the third waits");
    queue_free_room(q, 1);
    CHECK(queue_next(q) == 0, "a job that is storing still counts for its user");
    queue_done(q, 1);
    CHECK(queue_next(q) == 3 && queue_next(q) == 0, "the third starts when one is over");
    queue_done(q, 1);
    queue_done(q, 99);
    CHECK(queue_active(q) == 2, "what is not under way cannot end");
}

static void test_nobody_starves(void)
{
    AUTO(queue) struct queue *q = queue_new(100);
    int64_t order[4];

    queue_set_place(q, "local", 1, 1000);
    for (int64_t id = 1; id <= 1000; id++)
        add_as(q, id, "ann", 1);
    add_as(q, 2001, "bob", 1);
    add_as(q, 2002, "bob", 1);
    for (size_t i = 0; i < 4; i++) {
        order[i] = queue_next(q);
        queue_done(q, order[i]);
    }
    CHECK(order[0] == 1 && order[1] == 2001 && order[2] == 2 && order[3] == 2002,
          "two users take turns, whatever the length of their lines");
}

static void test_projects_are_apart(void)
{
    AUTO(queue) struct queue *q = queue_new(1);
    struct queue_job job = {.id = 1, .project = "a", .user = "ann", .place = "local", .cpus = 1};

    queue_add(q, &job);
    job.id = 2;
    job.project = "b";
    queue_add(q, &job);
    CHECK(queue_next(q) == 1 && queue_next(q) == 2, "the same user in two projects has two quotas");
}

static void test_capacity(void)
{
    AUTO(queue) struct queue *q = queue_new(100);

    queue_set_place(q, "local", 2, 1000);
    add_as(q, 1, "ann", 1.5);
    add_as(q, 2, "ann", 0.5);
    add_as(q, 3, "ann", 0.5);
    CHECK(queue_next(q) == 1 && queue_next(q) == 2, "1.5 and 0.5 CPUs fit two");
    CHECK(queue_next(q) == 0, "half a CPU more does not");
    queue_free_room(q, 2);
    CHECK(queue_next(q) == 3, "it does when one has stopped running");
    queue_done(q, 2);
    add_as(q, 4, "ann", 0.5);
    CHECK(queue_next(q) == 0, "room that was given back once is not given back twice");
}

static void test_memory_counts(void)
{
    AUTO(queue) struct queue *q = queue_new(100);

    queue_set_place(q, "local", 100, 250);
    add_as(q, 1, "ann", 1);
    add_as(q, 2, "ann", 1);
    add_as(q, 3, "ann", 1);
    CHECK(queue_next(q) == 1 && queue_next(q) == 2 && queue_next(q) == 0,
          "100 MB fit 250 MB twice");
}

static void test_own_line_is_not_overtaken(void)
{
    AUTO(queue) struct queue *q = queue_new(100);

    queue_set_place(q, "local", 2, 1000);
    add_as(q, 1, "ann", 1);
    add_as(q, 2, "ann", 2);
    add_as(q, 3, "ann", 1);
    CHECK(queue_next(q) == 1 && queue_next(q) == 0,
          "a small job does not overtake the large one before it in its own line");
}

/* Bob's jobs of one CPU fill the gap beside each other; ann's of two must come all the same. */
static void add_at(struct queue *q, int64_t id, const char *place, int64_t priority)
{
    queue_add(q, &(struct queue_job){.id = id,
                                     .project = "default",
                                     .user = "ann",
                                     .place = place,
                                     .priority = priority,
                                     .cpus = 1,
                                     .memory_mb = 1});
}

static void test_full_place_holds_up_nobody_else(void)
{
    AUTO(queue) struct queue *q = queue_new(3);

    queue_set_place(q, "lab", 1, 1);
    queue_set_place(q, "local", 8, 8000);
    add_at(q, 1, "lab", 0);
    add_at(q, 2, "lab", 0);
    add_at(q, 3, "local", 0);
    add_at(q, 4, "lab", 0);
    add_at(q, 5, "local", 0);
    add_at(q, 6, "local", 0);
    CHECK(queue_next(q) == 1, "the first of a user's jobs has the only host");
    CHECK(queue_next(q) == 3, "one for this machine passes those that wait for it");
    CHECK(queue_next(q) == 5, "and the next");
    CHECK(queue_next(q) == 0, "but not more of them at once than the user may have");
    queue_done(q, 1);
    CHECK(queue_next(q) == 2, "when the host is free, whoever came first has it");
    queue_done(q, 2);
    queue_done(q, 3);
    CHECK(queue_next(q) == 4 && queue_next(q) == 6, "where all can start they do in their order");
}

static void test_priority_between_places(void)
{
    AUTO(queue) struct queue *q = queue_new(10);

    add_at(q, 1, "lab", 0);
    add_at(q, 2, "local", 5);
    add_at(q, 3, "lab", 5);
    CHECK(queue_next(q) == 2 && queue_next(q) == 3 && queue_next(q) == 1,
          "the more urgent goes first, wherever it goes");
}

static void test_limit_changes(void)
{
    AUTO(queue) struct queue *q = queue_new(1);

    for (int64_t id = 1; id <= 3; id++)
        add_as(q, id, "ann", 1);
    CHECK(queue_next(q) == 1 && queue_next(q) == 0, "one at a time");
    queue_set_jobs_per_user(q, 2);
    CHECK(queue_next(q) == 2 && queue_next(q) == 0, "two from now on");
    queue_set_jobs_per_user(q, 1);
    queue_done(q, 1);
    CHECK(queue_next(q) == 0, "one again: who is under way stays, and is waited for");
}

static void test_large_job_comes(void)
{
    AUTO(queue) struct queue *q = queue_new(100);
    int64_t running[2], next = 100;

    queue_set_place(q, "local", 2, 100000);
    add_as(q, next++, "bob", 1);
    add_as(q, next++, "bob", 1);
    running[0] = queue_next(q);
    running[1] = queue_next(q);
    add_as(q, 1, "ann", 2);
    unsigned turns = 0;
    bool came = false;
    for (; turns < 100 && !came; turns++) {
        add_as(q, next++, "bob", 1);
        queue_done(q, running[turns % 2]);
        int64_t id = queue_next(q);
        came = id == 1;
        running[turns % 2] = id;
    }
    CHECK(came && turns <= 20, "a job of two CPUs comes after %u of one CPU passed it", turns);
}

static void test_larger_than_the_machine(void)
{
    AUTO(queue) struct queue *q = queue_new(100);

    queue_set_place(q, "local", 2, 1000);
    add_as(q, 1, "ann", 8);
    add_as(q, 2, "ann", 1);
    CHECK(queue_next(q) == 1 && queue_next(q) == 0, "a job larger than the machine runs alone");
    queue_done(q, 1);
    CHECK(queue_next(q) == 2, "and the next after it");
}

static void test_adopted_jobs_take_room(void)
{
    AUTO(queue) struct queue *q = queue_new(2);

    queue_set_place(q, "local", 2, 1000);
    queue_adopt(q, &(struct queue_job){.id = 1,
                                       .project = "default",
                                       .user = "ann",
                                       .place = "local",
                                       .cpus = 1.5,
                                       .memory_mb = 100});
    add_as(q, 2, "ann", 1);
    CHECK(queue_next(q) == 0, "what runs since before takes its room");
    queue_done(q, 1);
    CHECK(queue_next(q) == 2, "until it is over");
}

static void test_priority(void)
{
    AUTO(queue) struct queue *q = queue_new(100);
    struct queue_job job = {.project = "default", .user = "ann", .place = "local", .cpus = 1};

    for (job.id = 1; job.id <= 3; job.id++) {
        job.priority = job.id == 3 ? 5 : 0;
        queue_add(q, &job);
    }
    CHECK(queue_next(q) == 3 && queue_next(q) == 1 && queue_next(q) == 2,
          "higher priorities of a line first, equal ones as they came");
}

/* A plain model beside it: who may start is looked for among all jobs each time. */
static void test_put_back(void)
{
    AUTO(queue) struct queue *q = queue_new(2);

    queue_set_place(q, "local", 2, 1000000);
    add_as(q, 1, "a", 2);
    queue_put_back(q, 9);
    CHECK(queue_next(q) == 1, "a job that nobody started cannot be put back");
    queue_put_back(q, 1);
    CHECK(queue_active(q) == 0 && queue_waiting(q) == 1, "one that did not start waits again");
    add_as(q, 2, "a", 2);
    CHECK(queue_next(q) == 1, "in front of its line");
    CHECK(queue_next(q) == 0, "with its room");
    queue_done(q, 1);
    CHECK(queue_next(q) == 2, "and the others follow");
    queue_put_back(q, 2);
    queue_add(q, &(struct queue_job){.id = 3,
                                     .project = "default",
                                     .user = "a",
                                     .place = "local",
                                     .priority = -1,
                                     .cpus = 2,
                                     .memory_mb = 1});
    CHECK(queue_next(q) == 2, "also when nobody was behind it");
}

static void test_never_over_the_limits(void)
{
    enum { JOBS = 3000 };
    AUTO(queue) struct queue *q = queue_new(3);
    static struct {
        unsigned user;
        double cpus;
        bool runs;
    } jobs[JOBS + 1];
    static const char *const users[] = {"a", "b", "c", "d", "e"};
    unsigned seed = 7, started = 0, active[5] = {0};
    double used = 0;
    bool held = true;

    queue_set_place(q, "local", 6, 1000000);
    for (int64_t id = 1; id <= JOBS; id++) {
        seed = seed * 1103515245U + 12345U;
        jobs[id].user = seed / 65536U % 5;
        jobs[id].cpus = 0.5 * (1 + seed / 1024U % 8);
        add_as(q, id, users[jobs[id].user], jobs[id].cpus);
    }
    for (unsigned turn = 0; turn < 100 * JOBS && started < JOBS; turn++) {
        int64_t id = queue_next(q);
        if (id) {
            held = held && !jobs[id].runs && ++active[jobs[id].user] <= 3;
            used += jobs[id].cpus;
            held = held && used <= 6;
            jobs[id].runs = true;
            started++;
            continue;
        }
        seed = seed * 1103515245U + 12345U;
        int64_t end = 1 + (int64_t)(seed / 256U % JOBS);
        for (int64_t i = 0; i < JOBS && !jobs[end].runs; i++)
            end = end % JOBS + 1;
        queue_done(q, end);
        jobs[end].runs = false;
        active[jobs[end].user]--;
        used -= jobs[end].cpus;
    }
    CHECK(held, "neither a quota nor the machine's CPUs are ever exceeded");
    CHECK(started == JOBS, "and all %d jobs start", JOBS);
}

static struct queue_job node(int64_t id, const char *gang, unsigned nodes, double cpus)
{
    return (struct queue_job){.id = id,
                              .project = "default",
                              .user = "ann",
                              .place = "local",
                              .cpus = cpus,
                              .memory_mb = 100,
                              .gang = gang,
                              .nodes = nodes};
}

static void add_node(struct queue *q, int64_t id, const char *gang, unsigned nodes, double cpus)
{
    const struct queue_job job = node(id, gang, nodes, cpus);

    queue_add(q, &job);
}

static void test_gang_starts_at_once(void)
{
    AUTO(queue) struct queue *q = queue_new(1);

    queue_set_place(q, "local", 4, 1000);
    add_node(q, 1, "g", 3, 1);
    add_node(q, 2, "g", 3, 1);
    CHECK(queue_next(q) == 0 && queue_waiting(q) == 0, "a gang that lacks a node is not in line");
    add_as(q, 4, "bob", 2);
    CHECK(queue_next(q) == 4, "and keeps nobody back");
    add_node(q, 3, "g", 3, 1);
    CHECK(queue_next(q) == 0 && queue_waiting(q) == 1,
          "room for two of three is room for none of them");
    queue_done(q, 4);
    CHECK(queue_next(q) == 1 && queue_next(q) == 2 && queue_next(q) == 3,
          "with room for all, all start, as one job of their user");
    add_as(q, 5, "ann", 1);
    CHECK(queue_next(q) == 0, "who may have no other");
    queue_done(q, 1);
    queue_done(q, 3);
    CHECK(queue_next(q) == 0, "as long as one node is under way");
    queue_done(q, 2);
    CHECK(queue_next(q) == 5, "but then");
}

static void test_gang_comes(void)
{
    AUTO(queue) struct queue *q = queue_new(100);
    int64_t id = 100, last = 0, next;
    unsigned passed = 0;

    queue_set_place(q, "local", 2, 1000);
    add_as(q, id, "bob", 1);
    CHECK(queue_next(q) == id, "somebody's job runs");
    add_node(q, 1, "g", 2, 1);
    add_node(q, 2, "g", 2, 1);
    /* There is always one that runs, and always one more that waits. */
    for (last = id; passed < 1000; passed++, last = next) {
        add_as(q, ++id, "bob", 1);
        next = queue_next(q);
        if (next != id)
            break;
        queue_done(q, last);
    }
    CHECK(passed < 100, "a gang is passed by others for a while, not for ever: %u", passed);
    queue_done(q, last);
    CHECK(queue_next(q) == 1 && queue_next(q) == 2, "it starts when the machine has come free");
}

static void test_gang_interrupted(void)
{
    AUTO(queue) struct queue *q = queue_new(4);

    queue_set_place(q, "local", 2, 1000);
    add_node(q, 1, "g", 2, 1);
    add_node(q, 2, "g", 2, 1);
    CHECK(queue_next(q) == 1, "the first node of a gang");
    queue_put_back(q, 1);
    add_as(q, 9, "ann", 1);
    CHECK(queue_next(q) == 2 && queue_next(q) == 1 && queue_next(q) == 0,
          "one that could not start is next, and nobody has its room");
    queue_done(q, 1);
    queue_put_back(q, 2);
    queue_done(q, 2);
    CHECK(queue_next(q) == 9 && queue_waiting(q) == 0, "one that is over starts no more");

    /* As a killed broker leaves it: one node runs, the other waits. */
    AUTO(queue) struct queue *later = queue_new(1);
    const struct queue_job first = node(1, "g", 2, 1);
    queue_set_place(later, "local", 1, 1000);
    queue_adopt(later, &first);
    add_node(later, 2, "g", 2, 1);
    CHECK(queue_next(later) == 2, "the rest of a gang that runs follows at once");
    CHECK(queue_active(later) == 2, "both are under way");
}

/* ---- GPUs ---- */

static const char *const machine[] = {"nvidia:0 A100", "nvidia:1 A100", "nvidia:2 T4"};

static struct queue_job with_gpus(int64_t id, const char *user, unsigned gpus)
{
    return (struct queue_job){.id = id,
                              .project = "default",
                              .user = user,
                              .place = "local",
                              .cpus = 1,
                              .memory_mb = 100,
                              .gpus = gpus,
                              .devices = machine,
                              .n_devices = 3};
}

static void add_gpus(struct queue *q, int64_t id, const char *user, unsigned gpus)
{
    const struct queue_job job = with_gpus(id, user, gpus);

    queue_add(q, &job);
}

static void test_gpus_are_held_once(void)
{
    AUTO(queue) struct queue *q = queue_new(100);

    queue_set_place(q, "local", 100, 100000);
    for (int64_t id = 1; id <= 4; id++)
        add_gpus(q, id, "ann", 1);
    CHECK(queue_next(q) == 1 && queue_next(q) == 2 && queue_next(q) == 3 && queue_next(q) == 0,
          "three GPUs are for three jobs");
    CHECK(!strcmp(queue_held(q, 1), "nvidia:2") && !strcmp(queue_held(q, 2), "nvidia:0") &&
              !strcmp(queue_held(q, 3), "nvidia:1"),
          "each has its own, of the type with the fewest first");
    queue_free_room(q, 2);
    CHECK(queue_next(q) == 4 && !strcmp(queue_held(q, 4), "nvidia:0") && !*queue_held(q, 2),
          "a program that has ended leaves its GPU");
    CHECK(!*queue_held(q, 99), "an unknown job holds none");
}

static void test_gpus_of_one_type(void)
{
    AUTO(queue) struct queue *q = queue_new(100);

    add_gpus(q, 1, "ann", 1);
    add_gpus(q, 2, "ann", 2);
    add_gpus(q, 3, "ann", 2);
    CHECK(queue_next(q) == 1 && queue_next(q) == 2 &&
              !strcmp(queue_held(q, 2), "nvidia:0,nvidia:1"),
          "two of one type");
    queue_done(q, 1);
    CHECK(queue_next(q) == 0, "not two of two types");
    queue_done(q, 2);
    CHECK(queue_next(q) == 3, "but the two again");
}

static void test_other_jobs_do_not_wait_for_gpus(void)
{
    AUTO(queue) struct queue *q = queue_new(100);

    queue_set_place(q, "local", 4, 1000);
    add_gpus(q, 1, "ann", 2);
    add_gpus(q, 2, "ann", 2);
    for (int64_t id = 3; id < 60; id++)
        add_as(q, id, "ann", 1);
    CHECK(queue_next(q) == 1, "the GPUs are taken");
    bool all = true;
    for (int64_t id = 3; id < 60; id++) {
        all = all && queue_next(q) == id;
        queue_done(q, id);
    }
    CHECK(all, "any number of jobs overtake one that waits for GPUs, in its own line, too");
    queue_done(q, 1);
    CHECK(queue_next(q) == 2, "which starts when they are free");
}

static void test_small_gpu_jobs_do_not_starve_large(void)
{
    AUTO(queue) struct queue *q = queue_new(100);
    int64_t id = 10, running = 0;
    unsigned passed = 0;

    queue_set_place(q, "local", 100, 100000);
    add_gpus(q, 1, "ann", 1); /* T4 */
    add_gpus(q, 2, "ann", 1);
    queue_next(q);
    queue_next(q);
    add_gpus(q, 3, "bob", 2);
    for (; passed < 100; passed++) {
        add_gpus(q, ++id, "ann", 1);
        int64_t next = queue_next(q);
        if (next != id)
            break;
        queue_done(q, running ? running : 2);
        running = next;
    }
    CHECK(passed < 20, "small jobs with GPUs overtake a large one a few times");
    queue_done(q, running);
    CHECK(queue_next(q) == 3, "then it starts");
}

static void test_gpus_of_a_restarted_broker(void)
{
    AUTO(queue) struct queue *q = queue_new(100);
    struct queue_job job = with_gpus(1, "ann", 2);

    job.held = "nvidia:0,nvidia:1";
    queue_adopt(q, &job);
    add_gpus(q, 2, "ann", 2);
    add_gpus(q, 3, "bob", 1);
    CHECK(!strcmp(queue_held(q, 1), "nvidia:0,nvidia:1"), "an adopted job keeps its GPUs");
    CHECK(queue_next(q) == 3 && !strcmp(queue_held(q, 3), "nvidia:2") && queue_next(q) == 0,
          "others get the rest");
    queue_put_back(q, 3);
    CHECK(!*queue_held(q, 3) && queue_next(q) == 3 && !strcmp(queue_held(q, 3), "nvidia:2"),
          "a job that was put back gets them anew");
    queue_done(q, 1);
    CHECK(queue_next(q) == 2 && !strcmp(queue_held(q, 2), "nvidia:0,nvidia:1"), "and so on");
}

static void test_gpus_of_a_gang(void)
{
    AUTO(queue) struct queue *q = queue_new(100);
    struct queue_job job = with_gpus(1, "ann", 1);

    queue_set_place(q, "local", 100, 100000);
    add_gpus(q, 9, "bob", 1); /* T4 */
    CHECK(queue_next(q) == 9, "one GPU is taken");
    job.gang = "g";
    job.nodes = 3;
    for (job.id = 1; job.id <= 3; job.id++)
        queue_add(q, &job);
    CHECK(queue_next(q) == 0, "three nodes do not start with two GPUs");
    queue_done(q, 9);
    CHECK(queue_next(q) == 1 && queue_next(q) == 2 && queue_next(q) == 3, "they do with three");
    CHECK(!strcmp(queue_held(q, 1), "nvidia:2") && !strcmp(queue_held(q, 2), "nvidia:0") &&
              !strcmp(queue_held(q, 3), "nvidia:1"),
          "of which each has one");
    /* A broker was killed while one node of a gang was started. */
    AUTO(queue) struct queue *again = queue_new(100);
    job.id = 1;
    job.held = "nvidia:2";
    queue_adopt(again, &job);
    job.held = NULL;
    job.id = 2;
    queue_add(again, &job);
    CHECK(queue_next(again) == 2 && !strcmp(queue_held(again, 2), "nvidia:0"),
          "a node that follows gets its own");
}

int main(void)
{
    test_first_in_first_out();
    test_quota();
    test_nobody_starves();
    test_projects_are_apart();
    test_capacity();
    test_memory_counts();
    test_own_line_is_not_overtaken();
    test_full_place_holds_up_nobody_else();
    test_priority_between_places();
    test_limit_changes();
    test_large_job_comes();
    test_larger_than_the_machine();
    test_adopted_jobs_take_room();
    test_priority();
    test_put_back();
    test_never_over_the_limits();
    test_gang_starts_at_once();
    test_gang_comes();
    test_gang_interrupted();
    test_gpus_are_held_once();
    test_gpus_of_one_type();
    test_other_jobs_do_not_wait_for_gpus();
    test_small_gpu_jobs_do_not_starve_large();
    test_gpus_of_a_restarted_broker();
    test_gpus_of_a_gang();
    return TAP_DONE();
}
