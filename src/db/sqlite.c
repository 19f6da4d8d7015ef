#include "db/sqlite.h"

#include "base/auto.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Of a query made of parts; SQLite's own limit for ?1 ?2 ... */
#define PARAMETERS_MAX 32766
/* What a check looks for unless told otherwise; lines below one message count, too. */
#define PROBLEMS_MAX 100

struct db_statement {
    struct db *db;
    sqlite3_stmt *handle;
    int *index; /* of parameter $i, at [i - 1]; 0 = not in the text */
    int parameters;
    int bind_rc; /* the first failure of a bind, for the next step to tell */
    bool stepping;
};

static sqlite3 *handle_of(struct db *d)
{
    return ((struct sqlite *)d->connection)->handle;
}

/* PostgreSQL's are written postgresql://... */
static bool accepts(const char *url)
{
    return *url && !strstr(url, "://");
}

static bool writable(struct db *d)
{
    return ((struct sqlite *)d->connection)->writable;
}

static const char *const *statements(const struct db_migration *m)
{
    return m->sqlite;
}

static int exec(struct db *d, const char *sql, struct err *e)
{
    int rc = sqlite_run(d->connection, sql);

    return rc == SQLITE_OK ? 0 : sqlite_error(d, rc, e);
}

static int begin(struct db *d, enum db_transaction kind, struct err *e)
{
    return exec(d, kind == DB_TRANSACTION_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", e);
}

static int commit(struct db *d, struct err *e)
{
    return exec(d, "COMMIT", e);
}

static void rollback(struct db *d)
{
    sqlite3_exec(handle_of(d), "ROLLBACK", NULL, NULL, NULL);
}

static bool in_transaction(struct db *d)
{
    return !sqlite3_get_autocommit(handle_of(d));
}

static int64_t changes(struct db *d)
{
    return sqlite3_changes64(handle_of(d));
}

/* The log is synced when it is copied into the database, not at each commit. */
static void relax(struct db *d)
{
    sqlite3_exec(handle_of(d), "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
}

/* What is read in place counts as ours, 128 MB of it otherwise. */
static void spare_memory(struct db *d)
{
    sqlite3_exec(handle_of(d), "PRAGMA mmap_size=16777216", NULL, NULL, NULL);
}

/* The number in "$12". */
static int parameter_number(const char *name)
{
    int number = 0;

    assert(name && name[0] == '$' && name[1] != '\0');
    for (const char *p = name + 1; *p; p++) {
        assert(*p >= '0' && *p <= '9' && number <= PARAMETERS_MAX);
        number = number * 10 + (*p - '0');
    }
    assert(number >= 1 && number <= PARAMETERS_MAX);
    return number;
}

/* To SQLite $1 is a name like any other, and indexes go by first appearance. */
static void map_parameters(struct db_statement *s)
{
    int n = sqlite3_bind_parameter_count(s->handle);

    for (int i = 1; i <= n; i++) {
        int number = parameter_number(sqlite3_bind_parameter_name(s->handle, i));

        if (number > s->parameters)
            s->parameters = number;
    }
    s->index = mem_zero((size_t)s->parameters + 1, sizeof *s->index);
    for (int i = 1; i <= n; i++)
        s->index[parameter_number(sqlite3_bind_parameter_name(s->handle, i)) - 1] = i;
}

static int prepare_handle(struct db *d, const char *sql, sqlite3_stmt **out)
{
    struct sqlite *c = d->connection;
    int rc;
    int times = 0;

    sqlite_wait_start(c);
    do { /* reads the schema where that has changed, for which others may be in the way */
        rc = sqlite3_prepare_v3(c->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    } while (sqlite_is_busy(rc) && sqlite_wait(c, times++));
    return rc;
}

static struct db_statement *prepare(struct db *d, const char *sql, struct err *e)
{
    sqlite3_stmt *handle = NULL;
    struct db_statement *s;
    int rc = prepare_handle(d, sql, &handle);

    if (rc != SQLITE_OK) {
        sqlite_error(d, rc, e);
        return NULL;
    }
    assert(handle); /* no text of ours is empty */
    s = mem_zero(1, sizeof *s);
    s->db = d;
    s->handle = handle;
    map_parameters(s);
    return s;
}

static void finish(struct db_statement *s)
{
    sqlite3_finalize(s->handle);
    free(s->index);
    free(s);
}

static bool writes(const struct db_statement *s)
{
    return !sqlite3_stmt_readonly(s->handle);
}

static void reset(struct db_statement *s)
{
    sqlite3_reset(s->handle);
    s->stepping = false;
}

static void unbind(struct db_statement *s)
{
    sqlite3_clear_bindings(s->handle);
    s->bind_rc = SQLITE_OK;
}

static int bind_value(sqlite3_stmt *handle, int index, const struct db_value *v)
{
    switch (v->type) {
    case DB_TYPE_INT:
        return sqlite3_bind_int64(handle, index, v->as.integer);
    case DB_TYPE_REAL:
        return sqlite3_bind_double(handle, index, v->as.real);
    case DB_TYPE_TEXT:
        return sqlite3_bind_text64(handle, index, v->as.text, strlen(v->as.text), SQLITE_STATIC,
                                   SQLITE_UTF8);
    case DB_TYPE_BYTES:
        return sqlite3_bind_blob64(handle, index, v->as.bytes.data, v->as.bytes.n, SQLITE_STATIC);
    case DB_TYPE_NULL:
    case DB_TYPE_END:
        break;
    }
    return sqlite3_bind_null(handle, index);
}

static void bind(struct db_statement *s, int i, const struct db_value *v)
{
    int rc;

    assert(i >= 1 && i <= s->parameters && s->index[i - 1] > 0);
    rc = bind_value(s->handle, s->index[i - 1], v);
    if (s->bind_rc == SQLITE_OK)
        s->bind_rc = rc;
}

static int step(struct db_statement *s, struct err *e)
{
    struct sqlite *c = s->db->connection;
    int rc;
    int times = 0;

    if (s->bind_rc != SQLITE_OK)
        return err_set(e, ERR_IO, "%s: a value cannot be stored: %s", s->db->url,
                       sqlite3_errstr(s->bind_rc));
    sqlite_wait_start(c);
    rc = sqlite3_step(s->handle);
    /* Before the first row nothing has happened yet; later, others cannot be in the way. */
    while (!s->stepping && sqlite_is_busy(rc) && sqlite_wait(c, times++)) {
        sqlite3_reset(s->handle);
        rc = sqlite3_step(s->handle);
    }
    s->stepping = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        return rc == SQLITE_ROW;
    return sqlite_error(s->db, rc, e);
}

static int columns(const struct db_statement *s)
{
    return sqlite3_column_count(s->handle);
}

static bool is_null(struct db_statement *s, int column)
{
    return sqlite3_column_type(s->handle, column) == SQLITE_NULL;
}

static int64_t get_int(struct db_statement *s, int column)
{
    return sqlite3_column_int64(s->handle, column);
}

static double get_real(struct db_statement *s, int column)
{
    return sqlite3_column_double(s->handle, column);
}

static const char *get_text(struct db_statement *s, int column)
{
    return (const char *)sqlite3_column_text(s->handle, column);
}

static const void *get_bytes(struct db_statement *s, int column, size_t *n_out)
{
    const void *bytes = sqlite3_column_blob(s->handle, column);

    *n_out = (size_t)sqlite3_column_bytes(s->handle, column);
    /* SQLite gives NULL for no bytes, too. */
    return bytes || is_null(s, column) ? bytes : "";
}

static int contents(struct db *d, enum db_contents *out, struct err *e)
{
    struct db_statement *s =
        prepare(d, "SELECT count(*), total(name = 'db_migration') FROM sqlite_master", e);
    int row;

    if (!s)
        return -1;
    row = step(s, e);
    if (row > 0 && get_int(s, 1) > 0)
        *out = DB_CONTENTS_OURS;
    else
        *out = row > 0 && get_int(s, 0) > 0 ? DB_CONTENTS_FOREIGN : DB_CONTENTS_NONE;
    finish(s);
    return row < 0 ? -1 : 0;
}

struct listener {
    void (*problem)(void *context, const char *text);
    void *context;
    int told;
};

/* One message may hold several problems, a line each, below a heading in stars. */
static void tell(struct listener *to, const char *text)
{
    while (*text && to->told < PROBLEMS_MAX) {
        size_t n = strcspn(text, "\n");
        AUTO_MEM char *line = mem_printf("%.*s", (int)(n < 1000 ? n : 1000), text);

        if (n > 0 && strcmp(line, "ok") != 0 && strncmp(line, "***", 3) != 0) {
            to->problem(to->context, line);
            to->told++;
        }
        text += n + (text[n] == '\n');
    }
}

static int check(struct db *d,
                 void (*problem)(void *context, const char *text),
                 void *context,
                 struct err *e)
{
    struct listener to = {problem, context, 0};
    struct db_statement *s = prepare(d, "PRAGMA integrity_check", e);
    int row = s ? 0 : -1;

    while (s && (row = step(s, e)) > 0) {
        if (!is_null(s, 0))
            tell(&to, get_text(s, 0));
    }
    /* Past some damage the check itself cannot go on; that is an answer, too. */
    if (row < 0 && (sqlite3_errcode(handle_of(d)) & 0xff) == SQLITE_CORRUPT) {
        tell(&to, sqlite3_errmsg(handle_of(d)));
        row = 0;
    }
    if (s)
        finish(s);
    return row;
}

const struct db_driver db_sqlite = {
    .name = "sqlite",
    .accepts = accepts,
    .open = sqlite_open,
    .close = sqlite_close,
    .writable = writable,
    .contents = contents,
    .statements = statements,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .in_transaction = in_transaction,
    .exec = exec,
    .changes = changes,
    .relax = relax,
    .spare_memory = spare_memory,
    .check = check,
    .prepare = prepare,
    .finish = finish,
    .writes = writes,
    .reset = reset,
    .unbind = unbind,
    .bind = bind,
    .step = step,
    .columns = columns,
    .is_null = is_null,
    .get_int = get_int,
    .get_real = get_real,
    .get_text = get_text,
    .get_bytes = get_bytes,
};
