/* Writes a catalog as our CSVs. The store of imported catalogs and `catalog export` call it. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "catalog/internal.h"
#include "catalog/read.h"
#include "catalog/store.h"

#include <math.h>

/* 4 GiB of snapshot do not make more text than this. */
#define TABLE_MAX_BYTES ((size_t)16 << 30)

/* List prices have a few decimals: dividing an integer below 2^53 by a power of ten gives the
 * double nearest to that decimal, so the first one that fits is the shortest text. */
static void put_number(struct buf *b, double v, bool last_in_row)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    char text[32];

    for (size_t p = 0; v >= 0 && v < 1e9 && p < sizeof powers / sizeof *powers; p++) {
        uint64_t n = (uint64_t)(v * powers[p] + 0.5);
        if ((double)n / powers[p] != v)
            continue;
        size_t at = sizeof text;
        text[--at] = last_in_row ? '\n' : ',';
        for (size_t i = 0; i < p; i++, n /= 10)
            text[--at] = (char)('0' + n % 10);
        if (p)
            text[--at] = '.';
        do {
            text[--at] = (char)('0' + n % 10);
        } while (n /= 10);
        buf_add(b, text + at, sizeof text - at);
        return;
    }
    csv_put_number(b, v, last_in_row);
}

static void put_header(struct buf *b, enum catalog_table table)
{
    const struct catalog_layout *l = catalog_layout_of(table);

    for (size_t i = 0; i < l->n_columns; i++)
        csv_put(b, l->columns[i].name, i + 1 == l->n_columns);
}

/* The columns between zone and price, the same for all offers of a kind. */
static void put_machine(struct buf *b, const struct catalog *c, const struct catalog_kind *k)
{
    csv_put(b, catalog_text(c, k->instance_type), false);
    put_number(b, k->vcpus, false);
    put_number(b, k->memory_gib, false);
    csv_put(b, catalog_text(c, k->accelerator), false);
    put_number(b, k->accelerator_count, false);
    put_number(b, k->network_gbps, false);
}

static void put_offers(struct buf *b, const struct catalog *c)
{
    AUTO_CLEAR(buf) struct buf machine;

    buf_init(&machine, TABLE_MAX_BYTES);
    for (size_t i = 0; i < c->n_kinds; i++) {
        const struct catalog_kind *k = &c->kinds[i];
        machine.len = 0;
        put_machine(&machine, c, k);
        for (size_t j = 0; j < k->n_offers; j++) {
            const struct catalog_offer *o = &c->offers[k->first_offer + j];
            csv_put(b, catalog_text(c, k->cloud), false);
            csv_put(b, catalog_text(c, c->places[o->place].region), false);
            csv_put(b, catalog_text(c, o->zone), false);
            buf_add(b, machine.data, machine.len);
            put_number(b, o->price_usd, false);
            put_number(b, o->spot_usd, false);
            put_number(b, o->preemptions, true);
        }
    }
}

static void put_transfers(struct buf *b, const struct catalog *c)
{
    for (size_t i = 0; i < c->n_moves; i++) {
        const struct catalog_rule *r = &c->rules[i];
        const struct catalog_move *m = &c->moves[i];
        for (size_t t = 0; t < m->n_tiers; t++) {
            const struct catalog_tier *tier = &c->tiers[m->first_tier + t];
            csv_put(b, catalog_text(c, r->src_cloud), false);
            csv_put(b, catalog_text(c, r->src_region), false);
            csv_put(b, catalog_text(c, r->dst_cloud), false);
            csv_put(b, catalog_text(c, r->dst_region), false);
            put_number(b, tier->usd_per_gb, false);
            put_number(b, tier->from_gb, false);
            /* Speed and rtt are the lowest tier's. */
            put_number(b, t ? (double)NAN : m->gbit_per_s, false);
            put_number(b, t ? (double)NAN : m->rtt_ms, true);
        }
    }
}

static void put_storage(struct buf *b, const struct catalog *c)
{
    for (size_t i = 0; i < c->n_storage; i++) {
        const struct snapshot_storage *s = &c->storage[i];
        csv_put(b, catalog_text(c, s->cloud), false);
        csv_put(b, catalog_text(c, s->region), false);
        csv_put(b, catalog_text(c, s->class), false);
        put_number(b, s->usd_per_gb_month, false);
        put_number(b, s->usd_per_1000_read, false);
        put_number(b, s->usd_per_1000_write, false);
        put_number(b, s->usd_per_1000_list, true);
    }
}

static void put_sources(struct buf *b, const struct catalog *c)
{
    csv_put(b, "*", false);
    csv_put(b, catalog_text(c, c->meta->origin), false);
    csv_put(b, catalog_text(c, c->meta->date), true);
    for (size_t i = 0; i < c->n_sources; i++) {
        csv_put(b, catalog_text(c, c->sources[i].cloud), false);
        csv_put(b, catalog_text(c, c->sources[i].source), false);
        csv_put(b, catalog_text(c, c->sources[i].date), true);
    }
}

static int write_table(const struct catalog *c,
                       enum catalog_table table,
                       void (*put_rows)(struct buf *, const struct catalog *),
                       const char *dir,
                       mode_t mode,
                       struct err *e)
{
    AUTO_CLEAR(buf) struct buf b;
    const char *file = catalog_layout_of(table)->file;

    buf_init(&b, TABLE_MAX_BYTES);
    put_header(&b, table);
    put_rows(&b, c);
    if (b.full)
        return err_set(e, ERR_IO, "%s/%s: longer than %zu bytes", dir, file, TABLE_MAX_BYTES);
    AUTO_MEM char *path = mem_printf("%s/%s", dir, file);
    return file_replace(path, b.data, b.len, mode, e);
}

int catalog_write_tables(const struct catalog *c, const char *dir, mode_t mode, struct err *e)
{
    if (write_table(c, CATALOG_TABLE_OFFERS, put_offers, dir, mode, e) < 0 ||
        write_table(c, CATALOG_TABLE_TRANSFERS, put_transfers, dir, mode, e) < 0)
        return -1;
    return write_table(c, CATALOG_TABLE_STORAGE, put_storage, dir, mode, e);
}

int catalog_write_sources(const struct catalog *c, const char *dir, struct err *e)
{
    return write_table(c, CATALOG_TABLE_SOURCES, put_sources, dir, FILE_OWN, e);
}
