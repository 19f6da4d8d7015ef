#include "cluster/measured.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_MAX_BYTES ((size_t)64 << 20)

enum { COMMAND, BATCH, TYPE, MBPS, PER_S, COLUMNS };
static const char *const columns[COLUMNS] = {"command", "batch", "type", "mbps", "per_s"};

static bool is_positive(const char *text, double *out)
{
    return csv_number(text, out) && *out > 0 && *out <= 1e12;
}

/* Takes the row if it is of this command and batch size. */
static int take_row(struct cluster_measured *m,
                    const struct csv *csv,
                    const char *const cells[COLUMNS],
                    const char *command,
                    double batch,
                    struct err *e)
{
    double said = 0, mbps, per_s;

    if ((*cells[BATCH] && !is_positive(cells[BATCH], &said)) || !is_positive(cells[MBPS], &mbps) ||
        !is_positive(cells[PER_S], &per_s) || !*cells[TYPE])
        return err_set(e, ERR_USAGE,
                       "%s:%zu: batch, mbps and per_s are numbers above 0, type a name",
                       csv_name(csv), csv_line(csv));
    if (strcmp(cells[COMMAND], command) != 0 || fabs(said - batch) > 1e-9 * batch)
        return 0;
    char *type = arena_dup(m->arena, cells[TYPE]);
    if (!type)
        return err_set(e, ERR_USAGE, "%s: the table is too large", csv_name(csv));
    m->rows = mem_room(m->rows, m->n, &m->cap, sizeof *m->rows);
    m->rows[m->n++] = (struct cluster_measured_row){type, mbps, per_s};
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
    for (size_t i = m ? m->n : 0; i-- > 0;)
        if (strcmp(m->rows[i].type, type) == 0)
            return &m->rows[i];
    return NULL;
}
