/* Any bytes as tables of measurements, runs of a profile and rates of workers: what is taken is
 * above 0, finite, and the same when it is written and read again. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/csv.h"
#include "base/json.h"
#include "broker/learn/profile_import.h"
#include "cluster/measured.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_figure(double value)
{
    return isfinite(value) && value > 0;
}

/* ---- runs of a profile ---- */

static void same_runs(const struct profile_runs *a, const struct profile_runs *b)
{
    assert(a->n == b->n && a->n_columns == b->n_columns);
    for (size_t i = 0; i < a->n; i++) {
        const struct profile_run *x = &a->items[i], *y = &b->items[i];
        assert(strcmp(x->name, y->name) == 0 && x->cpus == y->cpus &&
               x->memory_mb == y->memory_mb && x->runtime_s == y->runtime_s);
        for (size_t k = 0; k < a->n_columns; k++)
            assert(strcmp(x->values[k], y->values[k]) == 0);
    }
}

static void check_runs(const uint8_t *data, size_t size)
{
    AUTO_FD int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct profile_runs runs, again, all = {0};
    struct err e = {0};
    size_t added = 0;
    char path[64];

    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (profile_runs_read(path, &runs, &e) < 0) {
        assert(e.kind == ERR_USAGE && *e.text && !runs.arena);
        return;
    }
    assert(runs.n > 0);
    for (size_t i = 0; i < runs.n; i++)
        assert(is_figure(runs.items[i].cpus) && is_figure(runs.items[i].memory_mb) &&
               is_figure(runs.items[i].runtime_s));
    AUTO_JSON json_t *root = profile_runs_json(&runs);
    assert(root && profile_runs_from_json(root, &again) == 0);
    same_runs(&runs, &again);
    /* Equal runs are one, and a second time there are none to add. */
    assert(profile_runs_add(&all, &runs, &added, &e) == 0 && added == all.n && added > 0);
    assert(profile_runs_add(&all, &again, &added, &e) == 0 && added == 0);
    profile_runs_clear(&all);
    profile_runs_clear(&again);
    profile_runs_clear(&runs);
}

/* ---- rates of workers ---- */

static struct cluster_measured *read_rates(const void *bytes, size_t size)
{
    AUTO(csv) struct csv *csv = csv_from_memory("measured.csv", bytes, size);
    struct err e = {0};
    struct cluster_measured *m = cluster_measured_read(csv, "c", 8, &e);

    assert(m || (e.kind == ERR_USAGE && *e.text));
    return m;
}

static void check_rates(const uint8_t *data, size_t size)
{
    AUTO(cluster_measured) struct cluster_measured *m = read_rates(data, size);
    AUTO_CLEAR(buf) struct buf out;
    struct err e = {0};

    buf_init(&out, (size_t)64 << 20);
    for (size_t i = 0; m && i < m->n; i++) {
        const struct cluster_measured_row *row = &m->rows[i];
        assert(*row->type && isfinite(row->mbps) && row->mbps >= 0 && is_figure(row->per_s) &&
               is_figure(row->workers));
        assert(cluster_measured_of(m, row->type));
        AUTO(csv)
        struct csv *head = out.len ? csv_from_memory("again", out.data, out.len) : NULL;
        const struct cluster_measurement one = {.command = "c", .batch = 8, .row = *row};
        assert(cluster_measured_put(head, &one, &out, &e) == 0);
    }
    if (!out.len)
        return;
    AUTO(cluster_measured) struct cluster_measured *again = read_rates(out.data, out.len);
    assert(again && again->n == m->n);
    for (size_t i = 0; i < m->n; i++)
        assert(strcmp(m->rows[i].type, again->rows[i].type) == 0 &&
               m->rows[i].mbps == again->rows[i].mbps && m->rows[i].per_s == again->rows[i].per_s &&
               m->rows[i].workers == again->rows[i].workers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_runs(data, size);
    check_rates(data, size);
    return 0;
}
