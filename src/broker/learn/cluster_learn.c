#include "broker/learn/cluster_learn.h"

#include "base/buf.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "broker/learn/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The workers of a stage that is over, on average: Mbit/s and iterations per second of one.
 * ERR_NOTFOUND when none of them told enough. */
static int cluster_learn_rates(
    const char *home, const struct run_stage *s, double *mbps_out, double *per_s_out, struct err *e)
{
    double mbps = 0, per_s = 0;
    unsigned n = 0;

    for (unsigned rank = s->plan.servers; s->job && rank < s->plan.nodes; rank++) {
        struct usage_rates r;
        if (usage_rates(home, s->job + rank, &r, e) < 0)
            continue;
        mbps += r.mbps;
        per_s += r.per_s;
        n++;
    }
    if (n == 0)
        return e && e->kind ? -1 : err_set(e, ERR_NOTFOUND, "there is no worker");
    *mbps_out = mbps / n;
    *per_s_out = per_s / n;
    return 0;
}

/* ---- the table ---- */

/* Whole; NULL when it cannot be read. New string. */
static char *read_table(int fd, const char *path, size_t *len_out, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > CLUSTER_MEASURED_MAX_BYTES) {
        err_set(e, ERR_USAGE, "%s is larger than %zu MB: remove old rows", path,
                CLUSTER_MEASURED_MAX_BYTES >> 20);
        return NULL;
    }
    AUTO_MEM char *text = mem_zero((size_t)st.st_size + 1, 1);
    ssize_t n = file_pread_all(fd, text, (size_t)st.st_size, 0);
    if (n < 0) {
        file_error(e, "read", path);
        return NULL;
    }
    *len_out = (size_t)n;
    return TAKE(text);
}

static int append(int fd, const char *path, const struct cluster_measurement *m, struct err *e)
{
    AUTO_CLEAR(buf) struct buf row;
    size_t len = 0;
    AUTO_MEM char *text = read_table(fd, path, &len, e);

    buf_init(&row, CLUSTER_MEASURED_MAX_BYTES);
    if (!text)
        return -1;
    AUTO(csv) struct csv *csv = len ? csv_from_memory(path, text, len) : NULL;
    if (len && text[len - 1] != '\n')
        buf_puts(&row, "\n");
    if (cluster_measured_put(csv, m, &row, e) < 0)
        return -1;
    return file_write_all(fd, buf_str(&row), row.len) < 0 ? file_error(e, "write", path) : 0;
}

int broker_cluster_learn_add(const char *home, const struct cluster_measurement *m, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/%s", home, CLUSTER_MEASURED_FILE);
    AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0)
        return file_error(e, "write", path);
    while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
        continue;
    return append(fd, path, m, e); /* the lock ends with fd */
}

/* ---- of a run ---- */

void broker_cluster_learn(const char *home, const struct run *run, const struct run_stage *s)
{
    const struct run_stage_plan *p = &s->plan;
    double mbps = 0, per_s = 0;
    struct err why = {0};

    /* On this machine all share one network, which does not see what they tell each other. */
    if (!p->servers || !strcmp(run->on, "local") || !p->instance_type || !*p->instance_type)
        return;
    if (cluster_learn_rates(home, s, &mbps, &per_s, &why) < 0 || mbps <= 0 || per_s <= 0)
        return;
    const struct cluster_measurement m = {
        p->n_command ? p->command[p->n_command - 1] : "", /* the text of `run` in its file */
        p->batch,
        {.type = p->instance_type, .mbps = mbps, .per_s = per_s, .workers = p->nodes - p->servers}};
    if (broker_cluster_learn_add(home, &m, &why) < 0)
        log_warn("broker", "run %" PRId64 ": its measured rates are not recorded: %s", run->id,
                 why.text);
}
