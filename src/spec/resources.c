/* Reads a stage's `resources`, its own over the inherited ones, with the alternatives of
 * `any_of` and `ordered`. stage.c calls it. */
#include "spec/image.h"
#include "spec/place.h"
#include "spec/reader.h"
#include "spec/value.h"

#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Where a map says to run: once as `infra`, once as `cloud`, `region`, `zone`. */
struct where {
    const char *part[3]; /* cloud, region, zone; NULL = not said */
    size_t line[3];
    bool is_reset[3]; /* written as null or `*`: whatever was inherited does not hold */
};

struct own {
    struct spec_resources res;
    struct where infra, plain;
    struct reader_value any_of, ordered; /* .node NULL = absent */
    bool is_alternative; /* an entry of any_of or ordered, which cannot have its own */
};

static const char *const part_names[] = {"cloud", "region", "zone"};

static void say_part(const struct reader_value *v, struct where *w, int part, const char *text)
{
    if (strcmp(text, "*") == 0) {
        w->is_reset[part] = true;
        return;
    }
    if (part == 0) {
        text = spec_cloud_name(v->r->arena, text);
        v->r->is_full |= !text;
    }
    w->part[part] = text;
    w->line[part] = v->line;
}

/* `cloud`, `region` or `zone`. */
static void read_part(const struct reader_value *v, void *into)
{
    struct own *own = into;
    const char *dot = strrchr(v->field, '.'), *name = dot ? dot + 1 : v->field, *text;
    int part = 0;

    while (strcmp(part_names[part], name) != 0)
        part++;
    if (yaml_is_null(v->node))
        own->plain.is_reset[part] = true;
    else if (reader_name(v, &text))
        say_part(v, &own->plain, part, text);
}

/* Kubernetes contexts and SSH pools are names of their own and may hold slashes and colons. */
static bool is_named_pool(const char *text, size_t cloud_len)
{
    static const char *const pools[] = {"kubernetes", "k8s", "ssh"};

    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
        if (strlen(pools[i]) == cloud_len && strncasecmp(text, pools[i], cloud_len) == 0)
            return true;
    return false;
}

static void read_infra(const struct reader_value *v, void *into)
{
    struct own *own = into;
    const char *text;

    if (yaml_is_null(v->node)) {
        own->infra.is_reset[0] = own->infra.is_reset[1] = own->infra.is_reset[2] = true;
        return;
    }
    if (!reader_name(v, &text))
        return;
    const char *rest = text;
    for (int part = 0; rest; part++) {
        size_t n = strcspn(rest, "/:");
        if (part == 1 && is_named_pool(text, (size_t)(rest - text) - 1))
            n = strlen(rest);
        if (n == 0 || part == 3) {
            reader_value_error(v, "%s is not CLOUD, CLOUD/REGION or CLOUD/REGION/ZONE",
                               reader_shown(v));
            return;
        }
        char *piece = reader_printf(v->r, "%.*s", (int)n, rest);
        if (!piece)
            return;
        say_part(v, &own->infra, part, piece);
        rest = rest[n] ? rest + n + 1 : NULL;
    }
    if (own->infra.is_reset[0] && own->infra.part[1])
        reader_warn(v->r, v->line, "%s: %s: any cloud that has this region may be taken", v->field,
                    reader_shown(v));
}

static void read_instance_type(const struct reader_value *v, void *into)
{
    struct own *own = into;

    own->res.instance_type = NULL;
    if (!yaml_is_null(v->node))
        reader_name(v, &own->res.instance_type);
}

static const char accelerator_forms[] =
    "is not an accelerator: write A100, A100:8, {A100: 8} or a list of these";

/* "A100x8" and "8xA100" look like counts, and are names. A name with more digits may be one. */
static void warn_of_count(const struct reader_value *v, const char *name)
{
    size_t n = strlen(name), before = strspn(name, "0123456789"), after = 0;

    while (after < n && isdigit((unsigned char)name[n - 1 - after]))
        after++;
    if (before && before <= 2 && name[before] == 'x' && name[before + 1])
        reader_warn(v->r, v->line,
                    "%s: %s is the name of one accelerator; for %.*s of them write %s:%.*s",
                    v->field, reader_quote(v->r, name), (int)before, name, name + before + 1,
                    (int)before, name);
    else if (after && after <= 2 && n > after + 1 && name[n - 1 - after] == 'x')
        reader_warn(v->r, v->line,
                    "%s: %s is the name of one accelerator; for %s of them write %.*s:%s", v->field,
                    reader_quote(v->r, name), name + n - after, (int)(n - 1 - after), name,
                    name + n - after);
}

bool resources_read_accelerator(const struct reader_value *v,
                                const char *text,
                                const struct yaml_node *count,
                                struct spec_accelerator *out)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    const char *digits = NULL;
    double number = 1;

    if (n == 0 || n > SPEC_MAX_NAME_BYTES || strpbrk(text, " \t\n,")) {
        reader_value_error(v, "%s %s", reader_quote(v->r, text), accelerator_forms);
        return false;
    }
    if (colon && !yaml_is_null(count)) {
        reader_value_error(v, "%s has two counts: write {A100: 8} or A100:8",
                           reader_quote(v->r, text));
        return false;
    }
    if (colon)
        digits = colon + 1;
    else if (count && !yaml_is_null(count))
        digits = count->kind == YAML_SCALAR ? count->text : "";
    if (digits &&
        (!number_parse(digits, &number) || !(number > 0) || number > VALUE_MAX_ACCELERATORS)) {
        reader_value_error(v, "%s: count %s is not a number above 0 and up to %.0f",
                           reader_quote(v->r, text), reader_quote(v->r, digits),
                           VALUE_MAX_ACCELERATORS);
        return false;
    }
    out->name = reader_printf(v->r, "%.*s", (int)n, text);
    out->count = number;
    if (out->name && !digits)
        warn_of_count(v, out->name);
    return out->name != NULL;
}

/* One alternative, or a map of several; returns how many were read into out. */
static size_t read_accelerator_node(const struct reader_value *v,
                                    struct spec_accelerator *out,
                                    size_t room)
{
    const struct yaml_node *node = v->node;
    size_t n = 0;

    if (node->kind == YAML_SCALAR && !yaml_is_null(node))
        return resources_read_accelerator(v, node->text, NULL, out) ? 1 : 0;
    if (node->kind != YAML_MAP) {
        reader_value_error(v, "%s %s", reader_shown(v), accelerator_forms);
        return 0;
    }
    for (size_t i = 0; i < node->n && n < room; i++) {
        struct reader_value entry = {v->r, v->field, node->entries[i].line, node->entries[i].value};
        n += resources_read_accelerator(&entry, node->entries[i].key, entry.node, &out[n]);
    }
    return n;
}

static void read_accelerators(const struct reader_value *v, void *into)
{
    struct own *own = into;
    size_t n = 0;

    own->res.accelerators = NULL;
    own->res.n_accelerators = 0;
    if (yaml_is_null(v->node))
        return;
    size_t room = v->node->kind == YAML_SCALAR ? 1 : v->node->n;
    for (size_t i = 0; v->node->kind == YAML_LIST && i < v->node->n; i++)
        room += v->node->items[i]->n;
    if (room > SPEC_MAX_ALTERNATIVES) {
        reader_value_error(v, "more than %d alternatives", SPEC_MAX_ALTERNATIVES);
        return;
    }
    struct spec_accelerator *all = reader_alloc(v->r, room, sizeof *all);
    if (!all)
        return;
    if (v->node->kind != YAML_LIST)
        n = read_accelerator_node(v, all, room);
    for (size_t i = 0; v->node->kind == YAML_LIST && i < v->node->n; i++) {
        struct reader_value item = reader_item(v, i);
        n += read_accelerator_node(&item, all + n, room - n);
    }
    own->res.accelerators = all;
    own->res.n_accelerators = n;
}

static void read_range(const struct reader_value *v,
                       bool sizes,
                       double limit,
                       struct spec_range *out)
{
    *out = (struct spec_range){0, (double)INFINITY};
    if (yaml_is_null(v->node))
        return;
    if (v->node->kind != YAML_SCALAR || !value_range(v->node->text, sizes, limit, out))
        reader_value_error(v, "%s is not %s, %s+ (at least) or %s (between); at most %.0f",
                           reader_shown(v), sizes ? "16GB" : "4", sizes ? "16GB" : "4",
                           sizes ? "16GB-64GB" : "4-8", limit);
}

static void read_cpus(const struct reader_value *v, void *into)
{
    struct own *own = into;

    read_range(v, false, VALUE_MAX_CPUS, &own->res.cpus);
}

static void read_memory(const struct reader_value *v, void *into)
{
    struct own *own = into;

    read_range(v, true, VALUE_MAX_GB, &own->res.memory_gb);
}

static void read_use_spot(const struct reader_value *v, void *into)
{
    struct own *own = into;
    bool spot;

    own->res.use_spot = -1;
    if (!yaml_is_null(v->node) && reader_bool(v, &spot))
        own->res.use_spot = spot;
}

static void read_alternatives(const struct reader_value *v,
                              const struct own *own,
                              struct reader_value *out)
{
    if (yaml_is_null(v->node))
        return;
    if (own->is_alternative)
        reader_value_error(v, "alternatives cannot have alternatives of their own");
    else if (v->node->kind != YAML_LIST)
        reader_value_error(v, "must be a list of maps, not %s", yaml_kind_text(v->node));
    else if (v->node->n == 0)
        reader_value_error(v, "is empty: list at least one alternative, or remove it");
    else if (v->node->n > SPEC_MAX_ALTERNATIVES)
        reader_value_error(v, "more than %d alternatives", SPEC_MAX_ALTERNATIVES);
    else
        *out = *v;
}

static void read_any_of(const struct reader_value *v, void *into)
{
    read_alternatives(v, into, &((struct own *)into)->any_of);
}

static void read_ordered(const struct reader_value *v, void *into)
{
    read_alternatives(v, into, &((struct own *)into)->ordered);
}

/* A container's image, or that of a machine of a cloud (an AMI and the like). SkyPilot also has one
 * for each region, as a map. */
static void read_image(const struct reader_value *v, void *into)
{
    struct own *own = into;
    const char *text, *name;

    own->res.image = own->res.machine_image = NULL;
    if (yaml_is_null(v->node))
        return;
    if (v->node->kind != YAML_SCALAR) {
        reader_warn(v->r, v->line, "%s: is ignored: write one image, not one for each region",
                    v->field);
        return;
    }
    if (!reader_name(v, &text))
        return;
    if (strncmp(text, "docker:", 7) != 0) {
        own->res.machine_image = text;
        return;
    }
    name = text + 7;
    if (spec_is_image(name))
        own->res.image = name;
    else
        reader_value_error(v, "%s is not docker: and the name of an image", reader_shown(v));
}

static const struct reader_field fields[] = {
    {"infra", .read = read_infra},
    {"cloud", .read = read_part},
    {"region", .read = read_part},
    {"zone", .read = read_part},
    {"instance_type", .read = read_instance_type},
    {"accelerators", .read = read_accelerators},
    {"cpus", .read = read_cpus},
    {"memory", .read = read_memory},
    {"use_spot", .read = read_use_spot},
    {"disk_size", READER_INTO(SIZE, own, res.disk_gb), .may_be_null = true},
    {"max_hourly_cost", READER_INTO(USD, own, res.max_hourly_usd), 0, 0, true, (double)INFINITY},
    {"any_of", .read = read_any_of},
    {"ordered", .read = read_ordered},
    {"image_id", .read = read_image},
    {"disk_tier", .use = READER_IGNORED},
    {"ports", .use = READER_IGNORED},
    {"labels", .use = READER_IGNORED},
    {"autostop", .use = READER_IGNORED},
    {"accelerator_args", .use = READER_IGNORED},
    {"network_tier", .use = READER_IGNORED},
    {"spot_recovery", .use = READER_IGNORED},
    {"job_recovery", .use = READER_IGNORED},
    {"local_disk", .use = READER_IGNORED},
    {"priority", .use = READER_IGNORED},
    {"cluster_name", .use = READER_IGNORED},
    {"volumes", .use = READER_IGNORED},
    {0},
};

const struct reader_field *resources_fields(void)
{
    return fields;
}

static void apply_place(struct reader *r, struct own *own)
{
    struct spec_resources *res = &own->res;
    const char **slots[] = {&res->cloud, &res->region, &res->zone};

    for (int part = 0; part < 3; part++) {
        const char *infra = own->infra.part[part], *plain = own->plain.part[part];
        const char *said = infra ? infra : plain;

        if (infra && plain && strcmp(infra, plain) != 0)
            reader_error(
                r, own->plain.line[part],
                "resources: %s %s disagrees with infra on line %zu, which says %s: keep one",
                part_names[part], reader_quote(r, plain), own->infra.line[part],
                reader_quote(r, infra));
        if (own->infra.is_reset[part] || own->plain.is_reset[part])
            *slots[part] = NULL;
        if (!said)
            continue;
        /* Another cloud has other regions, another region other zones. */
        if (*slots[part] && strcmp(*slots[part], said) != 0)
            for (int below = part + 1; below < 3; below++)
                *slots[below] = NULL;
        *slots[part] = said;
    }
}

/* Lays one map over own->res: what it does not name stays. */
static void overlay(const struct reader_value *v, struct own *own)
{
    own->res.line = v->line;
    if (!reader_fields(v, fields, NULL, own))
        return;
    apply_place(v->r, own);
    if (own->any_of.node && own->ordered.node)
        reader_error(v->r, own->ordered.line,
                     "resources: ordered beside any_of on line %zu: keep one", own->any_of.line);
}

/* A `resources` value taken apart: its own fields, and the list of its alternatives if any. */
struct layer {
    const struct reader_value *fields; /* NULL = none */
    struct reader_value list;          /* .node NULL = none */
    bool ordered;
};

static struct layer take_apart(const struct reader_value *v)
{
    struct own own = {0};
    struct layer layer = {.fields = v};

    if (!v)
        return layer;
    if (v->node->kind == YAML_LIST) {
        layer.fields = NULL;
        read_alternatives(v, &own, &own.any_of);
    } else {
        overlay(v, &own);
    }
    layer.ordered = own.ordered.node != NULL;
    layer.list = layer.ordered ? own.ordered : own.any_of;
    return layer;
}

static void lay(const struct reader_value *v, bool is_alternative, struct spec_resources *res)
{
    struct own own = {.res = *res, .is_alternative = is_alternative};

    if (!v || v->r->is_full)
        return;
    struct reader_value named = *v;
    named.field = "resources";
    overlay(&named, &own);
    *res = own.res;
}

void resources_read(struct reader *r,
                    const struct reader_value *own,
                    const struct yaml_node *inherited,
                    struct spec_stage *stage)
{
    struct reader_value from_defaults = {r, "resources", inherited ? inherited->line : 0,
                                         inherited};
    struct layer base = take_apart(inherited ? &from_defaults : NULL);
    struct layer top = take_apart(own);
    const struct layer *listed = top.list.node ? &top : &base;
    size_t n = listed->list.node ? listed->list.node->n : 1;

    stage->ordered = listed->list.node && listed->ordered;
    stage->n_alternatives = 0;
    stage->alternatives = reader_alloc(r, n, sizeof *stage->alternatives);
    for (size_t i = 0; i < n && !r->is_full; i++) {
        struct spec_resources *res = &stage->alternatives[i];
        struct reader_value item = {0};

        *res = (struct spec_resources){.cpus = {0, (double)INFINITY},
                                       .memory_gb = {0, (double)INFINITY},
                                       .use_spot = -1,
                                       .max_hourly_usd = (double)INFINITY,
                                       .line = stage->line};
        if (listed->list.node)
            item = reader_item(&listed->list, i);
        lay(base.fields, false, res);
        if (listed == &base && item.node)
            lay(&item, true, res);
        lay(top.fields, false, res);
        if (listed == &top && item.node)
            lay(&item, true, res);
        stage->n_alternatives++;
    }
}
