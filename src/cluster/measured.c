#include "cluster/measured.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_MAX_BYTES ((size_t)64 << 20)

enum { COMMAND, BATCH, TYPE, MBPS, PER_S, WORKERS, COLUMNS };
static const char *const columns[COLUMNS] = {"command", "batch", "type",
                                             "mbps",    "per_s", "workers"};

static bool is_positive(const char *text, double *out)
{
    return number_parse(text, out) && *out > 0 && *out <= 1e12;
}

/* Takes the row if it is of this command and batch size. */
static int take_row(struct cluster_measured *m,
                    const struct csv *csv,
                    const char *const cells[COLUMNS],
                    const char *command,
                    double batch,
                    struct err *e)
{
    double said = 0, mbps, per_s, workers = 1;

    if ((*cells[BATCH] && !is_positive(cells[BATCH], &said)) || !is_positive(cells[MBPS], &mbps) ||
        !is_positive(cells[PER_S], &per_s) || !*cells[TYPE] ||
        (*cells[WORKERS] && !is_positive(cells[WORKERS], &workers)))
        return err_set(e, ERR_USAGE,
                       "%s:%zu: batch, mbps, per_s and workers are numbers above 0, type a name",
                       csv_name(csv), csv_line(csv));
    if (strcmp(cells[COMMAND], command) != 0 || fabs(said - batch) > 1e-9 * batch)
        return 0;
    char *type = arena_dup(m->arena, cells[TYPE]);
    if (!type)
        return err_set(e, ERR_USAGE, "%s: the table is too large", csv_name(csv));
    m->rows = mem_room(m->rows, m->n, &m->cap, sizeof *m->rows);
    m->rows[m->n++] = (struct cluster_measured_row){type, mbps, per_s, workers};
    return 0;
}

struct cluster_measured *cluster_measured_read(struct csv *csv,
                                               const char *command,
                                               double batch,
                                               struct err *e)
{
    AUTO(cluster_measured) struct cluster_measured *m = mem_zero(1, sizeof *m);
    const struct csv_field *fields;
    size_t at[COLUMNS], n;
    int got;

    m->arena = arena_new(ARENA_MAX_BYTES);
    if (csv_header(csv, columns, COLUMNS, at, e) < 0)
        return NULL;
    while ((got = csv_next(csv, &fields, &n, e)) > 0) {
        const char *cells[COLUMNS];
        for (size_t i = 0; i < COLUMNS; i++)
            cells[i] = at[i] < n ? fields[at[i]].text : "";
        if (take_row(m, csv, cells, command, batch, e) < 0)
            return NULL;
    }
    return got < 0 ? NULL : TAKE(m);
}

void cluster_measured_free(struct cluster_measured *m)
{
    if (!m)
        return;
    arena_free(m->arena);
    free(m->rows);
    free(m);
}

const struct cluster_measured_row *cluster_measured_of(const struct cluster_measured *m,
                                                       const char *type)
{
    const struct cluster_measured_row *best = NULL;

    for (size_t i = m ? m->n : 0; i-- > 0;)
        if (strcmp(m->rows[i].type, type) == 0 && (!best || m->rows[i].workers < best->workers))
            best = &m->rows[i];
    return best;
}

/* ---- writing ---- */

static void put_cell(struct buf *out, const struct cluster_measurement *m, size_t column, bool last)
{
    const double numbers[COLUMNS] = {
        [BATCH] = m->batch > 0 ? m->batch : (double)NAN,
        [MBPS] = m->row.mbps,
        [PER_S] = m->row.per_s,
        [WORKERS] = m->row.workers,
    };

    if (column == COLUMNS)
        csv_put(out, "", last);
    else if (column == COMMAND || column == TYPE)
        csv_put(out, column == COMMAND ? m->command : m->row.type, last);
    else
        csv_put_number(out, numbers[column], last);
}

int cluster_measured_put(struct csv *csv,
                         const struct cluster_measurement *m,
                         struct buf *out,
                         struct err *e)
{
    size_t at[COLUMNS], n = 0;

    for (size_t i = 0; i < COLUMNS && !csv; i++) {
        csv_put(out, columns[i], i + 1 == COLUMNS);
        at[i] = i;
    }
    if (csv && csv_header(csv, columns, COLUMNS, at, e) < 0)
        return -1;
    for (size_t i = 0; i < COLUMNS; i++) {
        bool needed = i != WORKERS || m->row.workers > 1;
        if (at[i] == SIZE_MAX && needed)
            return err_set(e, ERR_USAGE, "%s has no column %s: add it to its first line",
                           csv_name(csv), columns[i]);
        n = at[i] != SIZE_MAX && at[i] >= n ? at[i] + 1 : n;
    }
    for (size_t field = 0; field < n; field++) {
        size_t column = 0;
        while (column < COLUMNS && at[column] != field)
            column++;
        put_cell(out, m, column, field + 1 == n);
    }
    return out->full ? err_set(e, ERR_USAGE, "a command too long for a table") : 0;
}
