#include "spec/reader.h"

#include "base/arena.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/time.h"
#include "base/utf8.h"
#include "spec/value.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_BYTES 60
#define MAX_KNOWN 96
/* More are not listed in an error. */
#define KNOWN_SHOWN 10

void *reader_alloc(struct reader *r, size_t n, size_t size)
{
    void *p = arena_alloc(r->arena, n, size);

    r->is_full |= !p;
    return p;
}

char *reader_printf(struct reader *r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    char *text = arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    r->is_full |= !text;
    return text;
}

/* The text without the stage it was found in, to tell a repeated finding. */
static bool is_known(const struct reader *r, size_t line, const char *message)
{
    for (size_t i = 0; i < r->n_findings; i++) {
        const char *text = r->findings[i].text;
        size_t skip = strlen(text) >= strlen(message) ? strlen(text) - strlen(message) : 0;
        if (r->findings[i].line == line && strcmp(text + skip, message) == 0)
            return true;
    }
    return false;
}

/* Where a finding goes: the end, or, once the list is full, over a warning if it is an error. */
static struct spec_finding *finding_slot(struct reader *r, bool is_error)
{
    if (r->n_findings < SPEC_MAX_FINDINGS - 1)
        return &r->findings[r->n_findings++];
    r->n_left_out++;
    for (size_t i = r->n_findings; is_error && i-- > 0;)
        if (!r->findings[i].is_error)
            return &r->findings[i];
    return NULL;
}

void reader_finding(struct reader *r, bool is_error, size_t line, const char *fmt, ...)
{
    char message[800];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    utf8_disarm(message);
    if (is_known(r, line, message))
        return;
    const char *text = r->stage ? reader_printf(r, "stage %s: %s", r->stage, message)
                                : reader_printf(r, "%s", message);
    r->n_errors += is_error;
    struct spec_finding *slot = text ? finding_slot(r, is_error) : NULL;
    if (slot)
        *slot = (struct spec_finding){is_error, line, text};
}

void reader_value_error(const struct reader_value *v, const char *fmt, ...)
{
    char message[700];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    reader_error(v->r, v->line, "%s: %s", v->field, message);
}

int reader_first_error(const struct reader *r, const char *file, struct err *e)
{
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct spec_finding *f = &r->findings[i];
        if (f->is_error && !file)
            return err_set(e, ERR_USAGE, "%s", f->text);
        if (f->is_error && f->line)
            return err_set(e, ERR_USAGE, "%s:%zu: %s", file, f->line, f->text);
        if (f->is_error)
            return err_set(e, ERR_USAGE, "%s: %s", file, f->text);
    }
    return err_set(e, ERR_USAGE, "%s: too large to be read", file ? file : "value");
}

const char *reader_quote(struct reader *r, const char *text)
{
    char out[SHOWN_BYTES + 16];
    size_t n = 0, at = 0;

    while (text[at] && n < SHOWN_BYTES) {
        size_t width = utf8_width(text + at);
        if ((unsigned char)text[at] < 0x20) {
            out[n++] = ' ';
        } else {
            memcpy(out + n, text + at, width);
            n += width;
        }
        at += width;
    }
    out[n] = 0;
    const char *quoted = reader_printf(r, "\"%s%s\"", out, text[at] ? "..." : "");
    return quoted ? quoted : "(a text)";
}

const char *reader_shown(const struct reader_value *v)
{
    if (v->node->kind != YAML_SCALAR || yaml_is_null(v->node))
        return yaml_kind_text(v->node);
    return reader_quote(v->r, v->node->text);
}

struct reader_value reader_entry(const struct reader_value *parent, size_t i)
{
    const struct yaml_entry *entry = &parent->node->entries[i];
    const char *name = parent->field[0]
                           ? reader_printf(parent->r, "%s.%.100s", parent->field, entry->key)
                           : entry->key;

    return (struct reader_value){parent->r, name ? name : entry->key, entry->line, entry->value};
}

struct reader_value reader_item(const struct reader_value *parent, size_t i)
{
    const struct yaml_node *item = parent->node->items[i];
    const char *name = reader_printf(parent->r, "%s[%zu]", parent->field, i);

    return (struct reader_value){parent->r, name ? name : parent->field, item->line, item};
}

bool reader_is_map(const struct reader_value *v)
{
    if (v->node->kind == YAML_MAP)
        return true;
    reader_value_error(v, "must be a map, not %s", yaml_kind_text(v->node));
    return false;
}

const struct reader_field *reader_find_field(const struct reader_field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (strcmp(fields->name, name) == 0)
            return fields;
    return NULL;
}

/* Fields that SkyPilot, DVC, Slurm and CI systems have, or that stand on another level here. */
static const struct {
    const char *words, *instead;
} foreign_words[] = {
    {"stages steps jobs tasks",
     "write each stage as a document of its own, with a line --- between two of them"},
    {"cmd command commands script", "write run: COMMAND"},
    {"deps dependencies", "write inputs: [STAGE.OUTPUT, FILE] for data, needs: [STAGE] for stages"},
    {"depends_on after", "write needs: [STAGE]"},
    {"outs artifacts", "write outputs: {NAME: GIGABYTES}"},
    {"env environment params", "write envs: {NAME: VALUE}"},
    {"wdir working_directory working-directory", "write workdir: DIRECTORY"},
    {"nodes ntasks", "write num_nodes: N"},
    {"time time_limit timeout",
     "write estimate: {hours: 3} for a stage, deadline: 6h for the whole pipeline"},
    {"partition runs-on", "write resources: {infra: CLOUD/REGION}"},
    {"image container docker", "write resources: {image_id: IMAGE}"},
    {"gpu gpus gres", "write resources: {accelerators: A100:8}"},
    {"mem ram", "write resources: {memory: 16+}"},
    {"spot preemptible", "write resources: {use_spot: true}"},
    {"resources.gpu resources.gpus resources.gres", "write accelerators: A100:8"},
    {"resources.mem resources.ram", "write memory: 16+"},
    {"resources.spot resources.preemptible", "write use_spot: true"},
    {"resources.instance resources.machine_type", "write instance_type: NAME"},
    {"resources.location resources.place", "write infra: CLOUD/REGION"},
    {"resources.nodes resources.num_nodes", "write num_nodes: N beside resources"},
};

static bool is_among(const char *words, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = words; len && (at = strstr(at, word)); at += len)
        if ((at == words || at[-1] == ' ') && (!at[len] || at[len] == ' '))
            return true;
    return false;
}

/* What to write in a pipeline file instead of such a field; NULL = not known. */
static const char *instead_of(const struct reader_value *v)
{
    if (!v->r->spec)
        return NULL;
    for (size_t i = 0; i < sizeof foreign_words / sizeof *foreign_words; i++)
        if (is_among(foreign_words[i].words, v->field))
            return foreign_words[i].instead;
    return reader_find_field(resources_fields(), v->field)
               ? reader_printf(v->r, "write resources: {%s: ...}", v->field)
               : NULL;
}

/* "; the fields here are hours, rate and work"; "" where there are too many to read. */
static const char *list_known(struct reader *r, const char *const *known, size_t n)
{
    const char *list = "";

    for (size_t i = 0; i < n && n <= KNOWN_SHOWN; i++)
        list = reader_printf(r, "%s%s%s", i ? list : "; the fields here are ",
                             i == 0       ? ""
                             : i + 1 == n ? " and "
                                          : ", ",
                             known[i]);
    return list;
}

static void unknown_field(const struct reader_value *v,
                          const char *name,
                          const struct reader_field *fields,
                          const struct reader_field *also_known)
{
    const char *known[MAX_KNOWN], *quoted = reader_quote(v->r, v->field);
    const char *instead = instead_of(v);
    size_t n = 0;

    for (; fields->name && n < MAX_KNOWN; fields++)
        known[n++] = fields->name;
    for (; also_known && also_known->name && n < MAX_KNOWN; also_known++)
        known[n++] = also_known->name;
    const char *close = nearest(name, known, n);
    if (instead)
        reader_error(v->r, v->line, "unknown field %s: %s", quoted, instead);
    else if (close)
        reader_error(v->r, v->line, "unknown field %s: did you mean %s?", quoted, close);
    else
        reader_error(v->r, v->line, "unknown field %s: remove it%s", quoted,
                     list_known(v->r, known, n));
}

bool reader_fields(const struct reader_value *v,
                   const struct reader_field *fields,
                   const struct reader_field *also_known,
                   void *into)
{
    if (!reader_is_map(v))
        return false;
    for (size_t i = 0; i < v->node->n && !v->r->is_full; i++) {
        const char *name = v->node->entries[i].key;
        struct reader_value entry = reader_entry(v, i);
        const struct reader_field *field = reader_find_field(fields, name);

        if (!field && name[0] != '_')
            unknown_field(&entry, name, fields, also_known);
        else if (!field || field->use == READER_IGNORED)
            reader_warn(v->r, entry.line, "%s: has no meaning here and is ignored", entry.field);
        else if (field->is_old && yaml_get(v->node, field[-1].name))
            reader_value_error(&entry, "is the old name of %s, which is given, too: remove it",
                               field[-1].name);
        else
            reader_field(field, &entry, into);
    }
    return true;
}

static bool is_scalar(const struct reader_value *v)
{
    return v->node->kind == YAML_SCALAR && !yaml_is_null(v->node);
}

bool reader_text(const struct reader_value *v, const char **out)
{
    if (!is_scalar(v)) {
        reader_value_error(v, "must be text, not %s", yaml_kind_text(v->node));
        return false;
    }
    *out = v->node->text;
    return true;
}

bool reader_name(const struct reader_value *v, const char **out)
{
    const char *text;

    if (!reader_text(v, &text))
        return false;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20) {
            reader_value_error(v, "%s must be one line", reader_shown(v));
            return false;
        }
    size_t n = strlen(text);
    if (n == 0 || n > SPEC_MAX_NAME_BYTES) {
        reader_value_error(v, "must have 1 to %d bytes, has %zu", SPEC_MAX_NAME_BYTES, n);
        return false;
    }
    *out = text;
    return true;
}

/* A value that is text but not the text that was wanted. */
static bool bad(const struct reader_value *v, const char *wanted)
{
    reader_value_error(v, "%s is not %s", reader_shown(v), wanted);
    return false;
}

bool reader_number(const struct reader_value *v, double min, double max, double *out)
{
    double value;

    if (!is_scalar(v) || !number_parse(v->node->text, &value))
        return bad(v, "a number");
    if (!(value >= min && value <= max)) {
        reader_value_error(v, "%s is out of range: %.15g to %.15g", reader_shown(v), min, max);
        return false;
    }
    *out = value;
    return true;
}

static bool read_above(const struct reader_value *v, double max, double *out)
{
    double value;

    if (!reader_number(v, 0, max, &value))
        return false;
    if (value <= 0) {
        reader_value_error(v, "must be above 0");
        return false;
    }
    *out = value;
    return true;
}

bool reader_whole(const struct reader_value *v, double min, double max, double *out)
{
    double value;

    if (!reader_number(v, min, max, &value))
        return false;
    if (value != floor(value))
        return bad(v, "a whole number");
    *out = value;
    return true;
}

bool reader_bool(const struct reader_value *v, bool *out)
{
    return (is_scalar(v) && value_bool(v->node->text, out)) || bad(v, "true or false");
}

bool reader_size(const struct reader_value *v, double *gb_out)
{
    return (is_scalar(v) && value_size_gb(v->node->text, gb_out)) ||
           bad(v, "a size: write gigabytes (12.5) or 500MB, 10GB, 2TB; at most 1e9 GB");
}

static bool read_dollars(const struct reader_value *v, double *out)
{
    return (is_scalar(v) && value_usd(v->node->text, out)) ||
           bad(v, "an amount of dollars: write 12.5 or $12.5");
}

bool reader_duration(const struct reader_value *v, double bare_unit_s, double max_s, double *out)
{
    struct err e;
    double seconds;
    char longest[32];

    if (!is_scalar(v) || strlen(v->node->text) > SHOWN_BYTES)
        return bad(v, "a duration: write 90s, 10m, 3h or 2d");
    if (time_parse_duration(v->node->text, bare_unit_s, &seconds, &e) < 0) {
        reader_value_error(v, "%s", e.text);
        return false;
    }
    if (seconds > max_s) {
        reader_value_error(v, "%s is longer than %s", reader_shown(v), time_text(max_s, longest));
        return false;
    }
    *out = seconds;
    return true;
}

bool reader_place(const struct reader_value *v, struct spec_place *out)
{
    const char *text;
    struct err e;

    if (!reader_name(v, &text))
        return false;
    if (spec_place_parse(text, v->r->arena, out, &e) == 0)
        return true;
    reader_value_error(v, "%s", e.text);
    return false;
}

bool reader_region(const struct reader_value *v, struct spec_place *out)
{
    if (!reader_place(v, out))
        return false;
    if (out->cloud && out->region)
        return true;
    reader_value_error(v, "%s names no region: write CLOUD/REGION, as in aws/eu-west-2",
                       reader_shown(v));
    return false;
}

bool reader_texts(const struct reader_value *v,
                  bool (*read)(const struct reader_value *v, const char **out),
                  const char ***out,
                  size_t *n_out)
{
    bool is_list = v->node->kind == YAML_LIST;
    size_t n = is_list ? v->node->n : 1;
    const char **texts = reader_alloc(v->r, n, sizeof *texts);

    if (!texts || v->node->kind == YAML_MAP) {
        reader_value_error(v, "must be a list, not a map");
        return false;
    }
    *out = texts;
    *n_out = 0;
    for (size_t i = 0; i < n; i++) {
        struct reader_value item = is_list ? reader_item(v, i) : *v;
        *n_out += read(&item, &texts[*n_out]);
    }
    return *n_out == n;
}

static void read_usd(const struct reader_field *f, const struct reader_value *v, double *out)
{
    bool above = f->use == READER_PRICE;
    double usd;

    if (!read_dollars(v, &usd))
        return;
    if ((f->max > 0 && usd > f->max) || (above && usd <= 0))
        reader_value_error(v, "%s is out of range: %s 0, at most %.0f USD", reader_shown(v),
                           above ? "above" : "at least", f->max);
    else
        *out = usd;
}

static void read_count(const struct reader_field *f, const struct reader_value *v, unsigned *out)
{
    double n;

    if (reader_whole(v, f->min, f->max, &n))
        *out = (unsigned)n;
}

void reader_field(const struct reader_field *field, const struct reader_value *v, void *into)
{
    const struct reader_field *f = field;
    /* READER_INTO checked the member's type. */
    void *member = (char *)into + f->at;

    if (f->may_be_null && yaml_is_null(v->node)) {
        if (f->use >= READER_NUMBER)
            *(double *)member = f->unsaid;
        return;
    }
    switch (f->use) {
    case READER_READ:
        f->read(v, into);
        break;
    case READER_CARRIED:
    case READER_IGNORED:
        break;
    case READER_MAP:
        reader_fields(v, f->inner, NULL, into);
        break;
    case READER_TEXT:
        reader_text(v, member);
        break;
    case READER_NAME:
        reader_name(v, member);
        break;
    case READER_BOOL:
        reader_bool(v, member);
        break;
    case READER_NUMBER:
        reader_number(v, f->min, f->max, member);
        break;
    case READER_ABOVE:
        read_above(v, f->max, member);
        break;
    case READER_WHOLE:
        reader_whole(v, f->min, f->max, member);
        break;
    case READER_COUNT:
        read_count(f, v, member);
        break;
    case READER_SIZE:
        reader_size(v, member);
        break;
    case READER_USD:
    case READER_PRICE:
        read_usd(f, v, member);
        break;
    case READER_SECONDS:
    case READER_DAYS:
        reader_duration(v, f->use == READER_DAYS ? 86400 : 1, f->max, member);
        break;
    case READER_PLACE:
        if (v->node->kind == YAML_SCALAR && strcmp(v->node->text, "any") == 0)
            *(struct spec_place *)member = (struct spec_place){0};
        else
            reader_place(v, member);
        break;
    case READER_REGION:
        reader_region(v, member);
        break;
    }
}

void reader_yaml(struct reader *r, const char *text, size_t len, struct yaml_file *out)
{
    yaml_parse(text, len, r->arena, out);
    for (size_t i = 0; i < out->n_problems; i++)
        reader_error(r, out->problems[i].line, "%s", out->problems[i].text);
}

/* The one map of a file; NULL when there is none, or after errors. */
static const struct yaml_node *read_document(struct reader *r,
                                             const struct reader_file *file,
                                             const char *text,
                                             size_t len)
{
    struct yaml_file yaml;

    reader_yaml(r, text, len, &yaml);
    if (yaml.n_documents > 1)
        reader_error(r, yaml.documents[1]->line, "a second document: a %s has one", file->what);
    if (r->n_errors)
        return NULL;
    const struct yaml_node *root = yaml.n_documents ? yaml.documents[0] : NULL;
    if (root && root->kind == YAML_MAP)
        return root;
    if (!yaml_is_null(root))
        reader_error(r, root->line, "a %s is a map of fields, not %s", file->what,
                     yaml_kind_text(root));
    else if (!file->may_be_empty)
        reader_error(r, 0, "the file is empty");
    return NULL;
}

int reader_file(
    const struct reader_file *file, const char *text, size_t len, void *into, struct err *e)
{
    struct spec_finding findings[SPEC_MAX_FINDINGS];
    struct reader r = {.arena = file->arena, .findings = findings};
    const struct yaml_node *root = read_document(&r, file, text, len);

    if (root && file->fields) {
        struct reader_value whole = {&r, "", root->line, root};
        reader_fields(&whole, file->fields, NULL, into);
    }
    if (root && file->then)
        file->then(&r, root, into);
    return r.n_errors || r.is_full ? reader_first_error(&r, file->name, e) : 0;
}

static const struct reader_field *find_setting(const struct reader_group *groups, const char *name)
{
    for (; groups->fields; groups++)
        if (strncmp(name, groups->prefix, strlen(groups->prefix)) == 0)
            return reader_find_field(groups->fields, name + strlen(groups->prefix));
    return NULL;
}

int reader_set(struct arena *arena,
               const struct reader_group *groups,
               const char *name,
               const char *value,
               void *into,
               struct err *e)
{
    struct spec_finding findings[SPEC_MAX_FINDINGS];
    struct reader r = {.arena = arena, .findings = findings};
    const struct reader_field *field = find_setting(groups, name);
    struct yaml_node node = {.kind = YAML_SCALAR, .plain = true};

    node.text = arena_dup(arena, value);
    if (!field || !node.text)
        return err_set(e, ERR_USAGE, "%s: %s", name, field ? "too long" : "no such setting");
    struct reader_value v = {&r, name, 0, &node};
    reader_field(field, &v, into);
    return r.n_errors || r.is_full ? reader_first_error(&r, NULL, e) : 0;
}
