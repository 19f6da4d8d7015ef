/* The sim cloud and the virtual clock of one simulated run, locked by one process
 * at a time. */
#include "base/file.h"
#include "base/mem.h"
#include "broker/sim/internal.h"
#include "broker/sim/simulate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* A machine takes ten seconds to go, and absence is believed after two minutes. */
#define ROUND_MS ((int64_t)30 * 1000)
#define ROUNDS_MAX 10

static int64_t now_ms(void *context)
{
    return ((const struct simulate_world *)context)->now_ms;
}

static int take_lock(struct simulate_world *w, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/lock", w->dir);

    if (file_make_dirs(w->dir, 0700, e) < 0)
        return -1;
    w->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (w->lock_fd < 0)
        return file_error(e, "open", path);
    if (flock(w->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return file_error(e, "lock", path);
    return err_set(e, ERR_RETRY, "run %" PRId64 " is being simulated by another process", w->run);
}

static int open_cloud(struct simulate_world *w, const struct cloud_options *options, struct err *e)
{
    struct cloud_options o = *options;

    o.name = "sim";
    o.home = w->dir;
    o.owner = machines_owner(w->records);
    o.now_ms = now_ms;
    o.context = w;
    w->cloud = cloud_open(&o, e);
    w->provisioner = (struct machine_provisioner){
        .records = w->records, .cloud = w->cloud, .world = w->run, .now_ms = now_ms, .context = w};
    return w->cloud ? 0 : -1;
}

struct simulate_world *simulate_world_open(const char *home,
                                           struct machines *records,
                                           int64_t run,
                                           int64_t begin_ms,
                                           const struct cloud_options *options,
                                           struct err *e)
{
    AUTO(simulate_world) struct simulate_world *w = mem_zero(1, sizeof *w);

    w->records = records;
    w->run = run;
    w->lock_fd = -1;
    w->dir = mem_printf("%s/sims/%" PRId64, home, run);
    if (take_lock(w, e) < 0 || machines_clock(records, run, &w->now_ms, e) < 0)
        return NULL;
    if (!w->now_ms && simulate_world_set(w, begin_ms, e) < 0)
        return NULL;
    if (open_cloud(w, options, e) < 0)
        return NULL;
    return TAKE(w);
}

void simulate_world_free(struct simulate_world *w)
{
    if (!w)
        return;
    cloud_free(w->cloud);
    if (w->lock_fd >= 0)
        close(w->lock_fd);
    free(w->dir);
    free(w);
}

int simulate_world_set(struct simulate_world *w, int64_t to_ms, struct err *e)
{
    if (to_ms <= w->now_ms)
        return 0;
    if (machines_set_clock(w->records, w->run, to_ms, e) < 0)
        return -1;
    w->now_ms = to_ms;
    return 0;
}

int simulate_world_end(struct simulate_world *w, struct err *e)
{
    struct err why = {0};

    if (machines_end_world(w->records, w->run, &why) < 0)
        return why.kind == ERR_USAGE ? 0 : err_set(e, why.kind, "%s", why.text);
    /* First the tree: a cleanup corrects the record of a world that is gone, but a tree without a
     * record would stay. */
    file_remove_tree(w->dir);
    return machines_flush(w->records, e);
}

/* ---- what was left behind ---- */

struct worlds {
    const char *home;
    struct runs *runs;
    struct machines *machines;
    struct machine_cleanup *how;
    size_t open;
};

static int always_over(void *context, int64_t run, int64_t job, struct err *e)
{
    (void)context;
    (void)run;
    (void)job;
    (void)e;
    return 1;
}

int simulate_world_cleanup(struct simulate_world *w, struct machine_cleanup *how, struct err *e)
{
    struct machine_cleanup round = {.dry_run = how->dry_run,
                                    .is_over = always_over,
                                    .tell = how->tell,
                                    .context = how->context};

    for (int i = 0; i < ROUNDS_MAX; i++) {
        if (machine_reconcile(&w->provisioner, &round, e) < 0)
            return -1;
        if (!round.open || how->dry_run)
            break;
        round.tell = NULL;
        if (simulate_world_set(w, w->now_ms + ROUND_MS, e) < 0)
            return -1;
    }
    how->open = round.open;
    return 0;
}

static int sweep_world(void *context, int64_t run, struct err *e)
{
    static const struct cloud_options plain = {0};
    struct worlds *all = context;
    struct err why = {0};
    AUTO(simulate_world)
    struct simulate_world *w = simulate_world_open(all->home, all->machines, run, 1, &plain, &why);

    if (!w && why.kind == ERR_RETRY)
        return 0; /* alive */
    if (!w)
        return err_set(e, why.kind, "%s", why.text);
    if (simulate_world_cleanup(w, all->how, e) < 0)
        return -1;
    all->open += all->how->open;
    if (all->how->open || all->how->dry_run)
        return 0;
    if (runs_end(all->runs, run, RUN_STOPPED, "the process that simulated it ended", e) < 0)
        return -1;
    return simulate_world_end(w, e);
}

int simulate_cleanup(const char *home,
                     struct runs *runs,
                     struct machines *machines,
                     struct machine_cleanup *how,
                     struct err *e)
{
    struct worlds all = {.home = home, .runs = runs, .machines = machines, .how = how};

    if (machines_each_world(machines, sweep_world, &all, e) < 0)
        return -1;
    how->open = all.open;
    return 0;
}
