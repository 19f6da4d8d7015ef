/* Any bytes as lines of metadata, as `tag -` reads them: all of them count or none. What is there
 * afterwards has valid keys, the kind of its value, and is the same when it is written again. */
#include "lake.h"

#include "base/buf.h"
#include "lake/meta/internal.h"
#include "lake/meta/meta.h"
#include "lake/meta/meta_value.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file, and one that gets the same pairs. */
static const char source[] = "/a", copy[] = "/copy";

static void fill_lake(void)
{
    open_lake();
    put_versions(source, 2);
    put_versions("/d/b c", 1);
    put_versions("/d/e", 1);
    make_set("S");
    put_versions(copy, 1);
}

static int64_t item_of(const char *ref_text)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct err e = {0};
    enum lake_item kind;
    int64_t item;

    assert(lake_resolve(lake, ref_text, LAKE_READ, &ref, &e) == 0 && ref_item(&ref, &kind, &item) &&
           kind == LAKE_ITEM_FILE);
    return item;
}

static int64_t count(const char *sql, int64_t first, int64_t second)
{
    struct err e = {0};
    int64_t n = 0;

    assert(db_get_int(lake->db, &e, &n, sql, DB_INT(first), DB_INT(second)) == 1);
    return n;
}

static int64_t count_all(void)
{
    return count("SELECT count(*) FROM meta WHERE $1 = $1 AND $2 = $2", 0, 0);
}

static void forget_all(void)
{
    struct err e = {0};

    assert(db_exec(lake->db, "DELETE FROM meta", &e) == 0 &&
           db_exec(lake->db, "DELETE FROM meta_key", &e) == 0);
}

/* ---- lines ---- */

struct lines {
    char *rest; /* NULL = at the end */
    uint64_t n;
};

static const char *next_line(void *context)
{
    struct lines *l = context;
    char *line = l->rest;

    if (!line || !*line)
        return NULL;
    char *end = strchr(line, '\n');
    l->rest = end ? end + 1 : NULL;
    if (end)
        *end = 0;
    l->n++;
    return line;
}

static int tag_lines(char *text, struct lines *lines, uint64_t *n_out, struct err *e)
{
    *lines = (struct lines){.rest = text};
    return lake_tag_lines(lake, next_line, lines, n_out, e);
}

/* ---- what was tagged ---- */

static void add_line(struct buf *lines, const char *key, const char *value)
{
    buf_printf(lines, "%s \"%s", copy, key);
    if (value)
        buf_puts(lines, "=");
    for (const char *c = value; c && *c; c++)
        buf_printf(lines, "%s%c", *c == '"' ? "\"" : "", *c);
    buf_puts(lines, "\"\n");
}

/* Checks each pair; those of the item are added to lines. */
static void read_pairs(int64_t item, struct buf *lines)
{
    struct err e = {0};
    AUTO_RESET struct db_query *q =
        db_query(lake->db, &e,
                 "SELECT m.kind, m.item, m.slot, m.number, m.value, k.name FROM meta m"
                 " JOIN meta_key k ON k.id = m.key",
                 DB_NONE);

    while (db_step(q, &e) == 1) {
        const char *value = db_text(q, 4), *key = db_text(q, 5);
        enum lake_value_kind kind = meta_slot_kind(db_int(q, 2));
        double number = 0;
        assert(meta_key_check_settable(key, strlen(key), &e) == 0);
        assert(kind == (value ? meta_value_kind(value, &number) : LAKE_VALUE_NONE));
        assert(isfinite(number) && (db_is_null(q, 3) || db_real(q, 3) == number));
        assert(!value || strlen(value) <= LAKE_VALUE_MAX);
        if (db_int(q, 0) == LAKE_ITEM_FILE && db_int(q, 1) == item)
            add_line(lines, key, value);
    }
    assert(!*e.text);
}

static void writes_again(void)
{
    static const char of_item[] = "SELECT count(*) FROM meta WHERE kind = $2 AND item = $1";
    static const char shared[] =
        "SELECT count(*) FROM meta a JOIN meta b ON a.kind = b.kind AND a.key = b.key AND"
        " a.slot = b.slot AND a.number IS b.number AND a.value IS b.value"
        " WHERE a.kind = 1 AND a.item = $1 AND b.item = $2";
    int64_t from = item_of(source), to = item_of(copy), pairs;
    AUTO_CLEAR(buf) struct buf lines;
    struct lines context;
    struct err e = {0};
    uint64_t n = 0;

    buf_init(&lines, (size_t)64 << 20);
    read_pairs(from, &lines);
    pairs = count(of_item, from, LAKE_ITEM_FILE);
    assert(!lines.full && db_exec(lake->db,
                                  "DELETE FROM meta WHERE item IN"
                                  " (SELECT v.id FROM version v JOIN file f ON"
                                  " f.id = v.file WHERE f.path = '/copy')",
                                  &e) == 0);
    AUTO_MEM char *text = mem_dup(buf_str(&lines));
    assert(tag_lines(text, &context, &n, &e) == 0 && (int64_t)n == pairs);
    assert(count(shared, from, to) == pairs && count(of_item, to, LAKE_ITEM_FILE) == pairs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_MEM char *text = mem_zero(size + 1, 1);
    struct lines lines;
    struct err e = {0};
    uint64_t n = 0;

    if (!lake)
        fill_lake();
    forget_all();
    memcpy(text, data, size);
    if (tag_lines(text, &lines, &n, &e) == 0) {
        assert(n <= lines.n && (n > 0 || count_all() == 0));
        writes_again();
        return 0;
    }
    AUTO_MEM char *line = mem_printf("line %llu", (unsigned long long)lines.n);
    assert(e.kind == ERR_USAGE || e.kind == ERR_NOTFOUND);
    assert(strncmp(e.text, line, strlen(line)) == 0 && count_all() == 0);
    return 0;
}
