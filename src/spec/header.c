/* Reads the pipeline-wide fields of a pipeline file: name, objective, constraints, defaults.
 * spec.c calls it. */
#include "base/number.h"
#include "spec/reader.h"
#include "spec/value.h"

#include <string.h>

struct header {
    struct spec *spec;
    const struct yaml_node **defaults_out;
};

int spec_objective_parse(const char *text, struct spec_goal *out, struct err *e)
{
    static const struct {
        const char *name;
        enum spec_objective objective;
    } names[] = {{"cost", SPEC_COST}, {"time", SPEC_TIME}, {"value", SPEC_VALUE}};
    static const char weighted[] = "weighted:";
    double weight;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i].name) == 0) {
            out->objective = names[i].objective;
            return 0;
        }
    if (strncmp(text, weighted, sizeof weighted - 1) != 0 ||
        !number_parse(text + sizeof weighted - 1, &weight) || !(weight >= 0 && weight <= 1))
        return err_set(e, ERR_USAGE,
                       "\"%.60s\" is no objective: use cost, time, value or weighted:W with W "
                       "from 0 (cost) to 1 (time)",
                       text);
    out->objective = SPEC_WEIGHTED;
    out->weight = weight;
    return 0;
}

static void read_name(const struct reader_value *v, void *into)
{
    if (!yaml_is_null(v->node))
        reader_name(v, &((struct header *)into)->spec->name);
}

static void read_objective(const struct reader_value *v, void *into)
{
    const char *text;
    struct err e;

    if (yaml_is_null(v->node) || !reader_text(v, &text))
        return;
    if (spec_objective_parse(text, &((struct header *)into)->spec->goal, &e) < 0)
        reader_value_error(v, "%s", e.text);
}

static void read_budget(const struct reader_value *v, void *into)
{
    if (!yaml_is_null(v->node))
        reader_usd(v, &((struct header *)into)->spec->goal.budget_usd);
}

static void read_deadline(const struct reader_value *v, void *into)
{
    if (!yaml_is_null(v->node))
        reader_duration(v, 1, VALUE_MAX_KEEP_S, &((struct header *)into)->spec->goal.deadline_s);
}

static void read_defaults(const struct reader_value *v, void *into)
{
    if (yaml_is_null(v->node) || !reader_is_map(v))
        return;
    for (size_t i = 0; i < v->node->n; i++)
        if (strcmp(v->node->entries[i].key, "name") == 0)
            reader_error(v->r, v->node->entries[i].line,
                         "defaults.name: every stage has a name of its own: remove it");
    *((struct header *)into)->defaults_out = v->node;
}

static void read_execution(const struct reader_value *v, void *into)
{
    const char *text;

    (void)into;
    if (yaml_is_null(v->node) || !reader_text(v, &text))
        return;
    v->r->parallel = strcmp(text, "parallel") == 0;
    if (!v->r->parallel && strcmp(text, "serial") != 0)
        reader_value_error(v, "%s is neither serial nor parallel", reader_shown(v));
}

static const struct reader_field fields[] = {
    {"name", READER_READ, read_name},
    {"objective", READER_READ, read_objective},
    {"budget", READER_READ, read_budget},
    {"deadline", READER_READ, read_deadline},
    {"defaults", READER_READ, read_defaults},
    {"execution", READER_READ, read_execution},
    {0},
};

const struct reader_field *header_fields(void)
{
    return fields;
}

void header_read(struct reader *r,
                 const struct yaml_node *node,
                 bool is_alone,
                 const struct yaml_node **defaults_out)
{
    struct reader_value whole = {r, "", node->line, node};
    struct header header = {r->spec, defaults_out};

    if (is_alone) {
        reader_fields(&whole, fields, spec_stage_fields(), &header);
        return;
    }
    for (size_t i = 0; i < node->n; i++) {
        struct reader_value v = reader_entry(&whole, i);
        const struct reader_field *field = reader_find_field(fields, v.field);
        if (field)
            field->read(&v, &header);
    }
}
