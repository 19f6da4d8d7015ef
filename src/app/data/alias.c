/* alias: operations on aliases, names that stand for a version of a set until they are moved to
 * another version. `tradewind alias` calls them. */
#include "app/data/data.h"
#include "base/buf.h"
#include "lake/set/set.h"

#include <inttypes.h>

static void name_cell(const void *record, struct buf *out)
{
    const struct data_alias *a = record;

    buf_printf(out, "@%s:%s", a->set, a->alias);
}

static void version_cell(const void *record, struct buf *out)
{
    const struct data_alias *a = record;

    buf_printf(out, "@%s:%" PRId64, a->set, a->version);
}

/* clang-format off */
static const struct field alias_fields[] = {
    {"set", FIELD(TEXT, struct data_alias, set), .help = "Name of the set."},
    {"alias", FIELD(TEXT, struct data_alias, alias), .help = "The alias.", .heading = "alias",
     .cell = name_cell},
    {"version", FIELD(INT, struct data_alias, version), .help = "Set version it stands for.",
     .heading = "set version", .cell = version_cell, .left = true},
};
/* clang-format on */
static const struct record alias_record = RECORD("alias", struct data_alias, alias_fields);

/* ---- alias.list ---- */

static int list_alias(
    void *context, const char *set, const char *alias, int64_t number, struct err *e)
{
    const struct data_alias item = {set, alias, number};

    return answer_item(context, &item, e);
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct lake *l = app_lake(app, e);

    (void)request;
    return l ? lake_alias_list(l, list_alias, out, e) : -1;
}

const struct operation alias_list_operation = {
    .name = "alias.list",
    .summary = "List the aliases of set versions.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &record_none,
    .item = &alias_record,
    .run = run_list,
};

/* ---- alias.set ---- */

struct set_request {
    const char *ref, *alias;
};

/* clang-format off */
static const struct field set_fields[] = {
    {"ref", FIELD(TEXT, struct set_request, ref), .required = true, .operand = true,
     .help = "The set version, as in @train:3."},
    {"alias", FIELD(TEXT, struct set_request, alias), .required = true, .operand = true,
     .help = "The alias, as in prod."},
};
/* clang-format on */

static int run_set(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct set_request *q = request;
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake *l = app_lake(app, e);

    if (!l || lake_resolve(l, q->ref, LAKE_READ, &ref, e) < 0 ||
        lake_alias_set(l, &ref, q->alias, e) < 0)
        return -1;
    return answer_head(out, &(struct data_alias){ref.set_name, q->alias, ref.number}, e);
}

const struct operation alias_set_operation = {
    .name = "alias.set",
    .summary = "Let an alias stand for a set version.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct set_request, set_fields),
    .answer = &alias_record,
    .run = run_set,
};

/* ---- alias.remove: answers with its request ---- */

static const struct field remove_fields[] = {
    {"removed", FIELD(TEXT, struct data_alias_removed, alias), .required = true, .operand = true,
     .help = "The alias, as in @train:prod."},
};
static const struct record remove_record =
    RECORD("alias_remove", struct data_alias_removed, remove_fields);

static int run_remove(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct data_alias_removed *q = request;
    struct lake *l = app_lake(app, e);

    if (!l || lake_alias_remove(l, q->alias, e) < 0)
        return -1;
    return answer_head(out, q, e);
}

const struct operation alias_remove_operation = {
    .name = "alias.remove",
    .summary = "Remove an alias; the set version stays.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &remove_record,
    .answer = &remove_record,
    .run = run_remove,
};
