#include "app/job/gang.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/gang.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENV_BYTES ((size_t)4 << 20)

/* No two of them are the same in a home: one process submits one per millisecond at most. */
static char *make_name(void)
{
    return mem_printf("job.%lld.%ld", (long long)time_epoch_ms(), (long)getpid());
}

/* The details of one node. New string; NULL: e. */
static char *node_details(const struct job_details *d,
                          const char *gang,
                          unsigned rank,
                          struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ENV_BYTES);
    AUTO_MEM struct spec_pair *envs = mem_zero(GANG_ENVS + d->n_envs, sizeof *envs);
    const struct gang_node node = {.rank = rank,
                                   .nodes = d->nodes,
                                   .is_local = !strcmp(d->on, "local"),
                                   .gpus = d->gpus,
                                   .task = gang};
    struct job_details own = *d;

    own.gang = gang;
    own.rank = rank;
    own.n_envs = gang_put_envs(arena, &node, envs);
    for (size_t i = 0; i < d->n_envs; i++)
        if (!gang_env_is_own(d->envs[i].key))
            envs[own.n_envs++] = d->envs[i];
    own.envs = envs;
    return job_details_text(&own, e);
}

/* The requests of all nodes from that of the first; details: theirs, for the caller to free. */
static int make_requests(const struct lake_job_request *request,
                         const struct job_details *d,
                         unsigned nodes,
                         struct lake_job_request *requests,
                         char **details,
                         struct err *e)
{
    AUTO_MEM char *gang = make_name();

    for (unsigned rank = 0; rank < nodes; rank++) {
        details[rank] = nodes > 1 ? node_details(d, gang, rank, e) : job_details_text(d, e);
        if (!details[rank])
            return -1;
        requests[rank] = *request;
        requests[rank].details = details[rank];
        if (rank)
            requests[rank].output = NULL;
    }
    return 0;
}

int app_job_gang_submit(struct app *app,
                        const struct lake_job_request *request,
                        const struct job_details *d,
                        int64_t *first_out,
                        struct err *e)
{
    unsigned nodes = d->nodes ? d->nodes : 1;
    AUTO_MEM struct lake_job_request *requests = mem_zero(nodes, sizeof *requests);
    AUTO_MEM char **details = mem_zero(nodes, sizeof *details);
    int result = make_requests(request, d, nodes, requests, details, e);

    if (result == 0)
        result = lake_job_submit(app_lake(app, e), requests, nodes, first_out, e);
    for (unsigned rank = 0; rank < nodes; rank++)
        free(details[rank]);
    return result;
}

unsigned app_job_gang_of(const struct lake_job *job,
                         const struct job_details *d,
                         int64_t *first_out)
{
    *first_out = job->id - d->rank;
    return job->asked.run || d->nodes <= 1 || d->nodes > APP_JOB_NODES_MAX ? 0 : d->nodes;
}
