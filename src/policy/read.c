#include "policy/read.h"

#include "base/nearest.h"
#include "policy/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Two tables of POLICY_PAIRS_MAX numbers (throughputs; units or prices), and names. */
#define ARENA_BYTES ((size_t)512 << 20)
#define NAME_BYTES_MAX 200

/* Where we are in the file: "jobs[3].throughput". */
struct place {
    char text[400];
};

static struct place at(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static struct place at(const char *fmt, ...)
{
    struct place p;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p.text, sizeof p.text, fmt, ap);
    va_end(ap);
    return p;
}

/* A member of what is at this place: "jobs[3].gang", "line 4: gang". */
static struct place in(const struct place *p, const char *key)
{
    bool is_line = strncmp(p->text, "line ", 5) == 0 && !strchr(p->text, ':');

    return at("%s%s%.100s", p->text, !*p->text ? "" : is_line ? ": " : ".", key);
}

struct reader {
    struct arena *arena;
    struct policy_file *file;
    struct policy_problem *p;
    bool is_trace; /* which adds fields */
    const struct policy_lines *lines;
    json_t *root;
    json_t *object; /* that is read, and where it is */
    struct place place;
    json_t *type_index; /* name -> number */
    json_t *names;      /* likewise, of the list that is read */
    size_t nth;         /* item of that list */
    double *arrival_h;  /* per job */
    struct err *e;
};

static int no_room(const struct reader *r)
{
    return err_set(r->e, ERR_USAGE, "the file takes more than %zu MB of memory: split it",
                   ARENA_BYTES >> 20);
}

/* ---- fields ---- */

static int check_fields(const struct reader *r, const char *const *known)
{
    const char *key;
    json_t *value;
    size_t n = 0;

    if (!json_is_object(r->object))
        return err_set(r->e, ERR_USAGE, "%s: expected an object", r->place.text);
    while (known[n])
        n++;
    json_object_foreach(r->object, key, value)
    {
        size_t i = 0;
        while (i < n && strcmp(known[i], key) != 0)
            i++;
        if (i < n)
            continue;
        const char *near = nearest(key, known, n);
        return err_set(r->e, ERR_USAGE, "%s: unknown field%s%s%s", in(&r->place, key).text,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    return 0;
}

/* A number of 0 or within POLICY_NUMBER_MIN .. POLICY_NUMBER_MAX, and not below least. */
static int take_number(
    const struct reader *r, const json_t *value, const char *place, double least, double *out)
{
    double v = json_number_value(value);

    if (!json_is_number(value))
        return err_set(r->e, ERR_USAGE, "%s: %s", place,
                       value ? "expected a number" : "missing; expected a number");
    if (!(v >= least) || v > POLICY_NUMBER_MAX || (v != 0 && v < POLICY_NUMBER_MIN))
        return err_set(r->e, ERR_USAGE, "%s: %g is not a number from %g to %g", place, v,
                       fmax(least, 0), POLICY_NUMBER_MAX);
    *out = v;
    return 0;
}

static int field(const struct reader *r, const char *key, double least, double *out)
{
    return take_number(r, json_object_get(r->object, key), in(&r->place, key).text, least, out);
}

/* Leaves *out as it is where the field is missing or null. */
static int field_if_there(const struct reader *r, const char *key, double least, double *out)
{
    const json_t *value = json_object_get(r->object, key);

    return !value || json_is_null(value) ? 0 : field(r, key, least, out);
}

static const char *take_name(const struct reader *r)
{
    const char *name = json_string_value(json_object_get(r->object, "name"));

    if (!name || !*name || strlen(name) > NAME_BYTES_MAX) {
        err_set(r->e, ERR_USAGE, "%s: expected a string of 1 to %d bytes",
                in(&r->place, "name").text, NAME_BYTES_MAX);
        return NULL;
    }
    char *copy = arena_dup(r->arena, name);
    if (!copy)
        no_room(r);
    return copy;
}

/* One member of an object of type names and numbers. */
static int take_of_type(const struct reader *r,
                        const struct place *place,
                        const char *key,
                        const json_t *value,
                        size_t *type_out,
                        double *out)
{
    const json_t *index = json_object_get(r->type_index, key);

    if (!index)
        return err_set(r->e, ERR_USAGE,
                       "%s: types has no \"%.100s\": add it there, or leave it out", place->text,
                       key);
    *type_out = (size_t)json_integer_value(index);
    return take_number(r, value, in(place, key).text, 0, out);
}

/* The field's numbers by name of type; types that are not named get `otherwise`[type], or 0 when it
 * is NULL. */
static const double *take_by_type(const struct reader *r,
                                  const char *field_key,
                                  const struct policy_type *otherwise)
{
    struct place place = in(&r->place, field_key);
    json_t *object = json_object_get(r->object, field_key);
    double *table = arena_alloc(r->arena, r->p->n_types, sizeof *table);
    const char *key;
    json_t *value;

    if (!table) {
        no_room(r);
        return NULL;
    }
    for (size_t j = 0; otherwise && j < r->p->n_types; j++)
        table[j] = otherwise[j].price_usd_per_hour;
    if (!json_is_object(object)) {
        err_set(r->e, ERR_USAGE, "%s: expected an object of type names and numbers", place.text);
        return NULL;
    }
    json_object_foreach(object, key, value)
    {
        size_t type = 0;
        double number;
        if (take_of_type(r, &place, key, value, &type, &number) < 0)
            return NULL;
        table[type] = number;
    }
    return table;
}

static int check_hours(const struct reader *r, const char *key, double hours)
{
    if (hours <= ROUNDS_HOURS_MAX)
        return 0;
    return err_set(r->e, ERR_USAGE, "%s: %g hours; the limit is %g", in(&r->place, key).text, hours,
                   ROUNDS_HOURS_MAX);
}

/* ---- the lists ---- */

static struct place item(const struct reader *r, const char *list, size_t i)
{
    if (r->lines->used && strcmp(list, "jobs") == 0)
        return at("line %zu", r->lines->job_line[i]);
    return at("%s[%zu]", list, i);
}

/* Says so when the name was there before. */
static int note_name(const struct reader *r, json_t *names, const char *name, const char *list)
{
    const json_t *before = json_object_get(names, name);

    if (before)
        return err_set(r->e, ERR_USAGE, "%s: \"%.100s\" is already the name of %s",
                       in(&r->place, "name").text, name,
                       item(r, list, (size_t)json_integer_value(before)).text);
    return json_object_set_new(names, name, json_integer((json_int_t)r->nth)) < 0 ? no_room(r) : 0;
}

/* Reads the array of this name, which may be missing: *n_out items of `size` bytes, each by read().
 * NULL with the reader's error. */
static void *read_list(struct reader *r,
                       const char *key,
                       size_t max,
                       size_t size,
                       int (*read)(struct reader *r, void *item),
                       size_t *n_out)
{
    const json_t *array = json_object_get(r->root, key);
    size_t n = json_array_size(array);

    if (array && !json_is_array(array) && !json_is_null(array)) {
        err_set(r->e, ERR_USAGE, "%s: expected an array", key);
        return NULL;
    }
    if (n > max) {
        err_set(r->e, ERR_USAGE, "%s: %zu; the limit is %zu", key, n, max);
        return NULL;
    }
    char *items = arena_alloc(r->arena, n + 1, size);
    AUTO_JSON json_t *names = json_object();
    if (!items)
        no_room(r);
    r->names = names;
    for (r->nth = 0; items && r->nth < n; r->nth++) {
        r->place = item(r, key, r->nth);
        r->object = json_array_get(array, r->nth);
        if (read(r, items + r->nth * size) < 0)
            return NULL;
    }
    *n_out = n;
    return items;
}

static int read_type(struct reader *r, void *item)
{
    static const char *const known[] = {"name", "price_usd_per_hour", "quota", NULL};
    struct policy_type *type = item;

    return check_fields(r, known) < 0 || !(type->name = take_name(r)) ||
                   note_name(r, r->type_index, type->name, "types") < 0 ||
                   field(r, "price_usd_per_hour", 0, &type->price_usd_per_hour) < 0 ||
                   field(r, "quota", 0, &type->quota) < 0
               ? -1
               : 0;
}

/* What traces add: when the job comes; and that it has an end. */
static int read_arrival(const struct reader *r, const struct policy_job *m)
{
    double *arrival_h = &r->arrival_h[r->nth];
    const char *key = r->lines->used ? "at_h" : "arrival_h";

    if (field_if_there(r, key, 0, arrival_h) < 0)
        return -1;
    if (m->iterations <= 0)
        return err_set(r->e, ERR_USAGE, "%s: job \"%.100s\" needs them, or it never ends",
                       in(&r->place, "iterations").text, m->name);
    return check_hours(r, key, *arrival_h) < 0 ||
                   (isfinite(m->slo_h) && check_hours(r, "slo_h", m->slo_h) < 0)
               ? -1
               : 0;
}

static int read_job(struct reader *r, void *item)
{
    const char *arrival = r->lines->used ? "at_h" : r->is_trace ? "arrival_h" : NULL;
    const char *const known[] = {"name",  "gang",  "throughput", "iterations",
                                 "slo_h", arrival, NULL};
    struct policy_job *m = item;

    *m = (struct policy_job){.gang = 1, .slo_h = (double)INFINITY};
    if (check_fields(r, known) < 0 || !(m->name = take_name(r)) ||
        field_if_there(r, "gang", 1, &m->gang) < 0 ||
        field_if_there(r, "iterations", POLICY_NUMBER_MIN, &m->iterations) < 0 ||
        field_if_there(r, "slo_h", POLICY_NUMBER_MIN, &m->slo_h) < 0)
        return -1;
    if (m->gang != floor(m->gang) || m->gang > POLICY_GANG_MAX)
        return err_set(r->e, ERR_USAGE, "%s: %g is not a whole number from 1 to %d",
                       in(&r->place, "gang").text, m->gang, POLICY_GANG_MAX);
    m->throughput = take_by_type(r, "throughput", NULL);
    if (!m->throughput || (r->is_trace && read_arrival(r, m) < 0))
        return -1;
    return note_name(r, r->names, m->name, "jobs");
}

static int read_jobs(struct reader *r)
{
    size_t n = json_array_size(json_object_get(r->root, "jobs"));

    if (n <= POLICY_JOBS_MAX && n * r->p->n_types > POLICY_PAIRS_MAX)
        return err_set(r->e, ERR_USAGE, "jobs times types: %zu; the limit is %d", n * r->p->n_types,
                       POLICY_PAIRS_MAX);
    r->arrival_h = arena_alloc(r->arena, n + 1, sizeof *r->arrival_h);
    if (!r->arrival_h)
        return no_room(r);
    r->file->arrival_h = r->arrival_h;
    r->p->jobs = read_list(r, "jobs", POLICY_JOBS_MAX, sizeof *r->p->jobs, read_job, &r->p->n_jobs);
    return r->p->jobs ? 0 : -1;
}

static int read_group(struct reader *r, void *item)
{
    static const char *const known[] = {"name", "units", "quota", NULL};
    struct policy_group *group = item;

    return check_fields(r, known) < 0 || !(group->name = take_name(r)) ||
                   note_name(r, r->names, group->name, "group_quotas") < 0 ||
                   field(r, "quota", 0, &group->quota) < 0 ||
                   !(group->units = take_by_type(r, "units", NULL))
               ? -1
               : 0;
}

static int read_interval(struct reader *r, void *item)
{
    static const char *const known[] = {"end_h", "prices", NULL};
    struct policy_interval *i = item;

    if (check_fields(r, known) < 0 || field(r, "end_h", POLICY_NUMBER_MIN, &i->end_h) < 0 ||
        !(i->price_usd_per_hour = take_by_type(r, "prices", r->p->types)))
        return -1;
    if (r->nth > 0 && i->end_h <= i[-1].end_h)
        return err_set(r->e, ERR_USAGE,
                       "%s.end_h: %g is not after %g, the end of the interval before",
                       r->place.text, i->end_h, i[-1].end_h);
    return r->is_trace ? check_hours(r, "end_h", i->end_h) : 0;
}

static int read_preemption(struct reader *r, void *item)
{
    static const char *const known[] = {"at_h", "until_h", "type", "instances", NULL};
    double at_h = 0, until_h = (double)INFINITY;
    const char *type = json_string_value(json_object_get(r->object, "type"));
    const json_t *index = type ? json_object_get(r->type_index, type) : NULL;
    struct rounds_preemption *out = item;

    if (check_fields(r, known) < 0 || field(r, "at_h", 0, &at_h) < 0 ||
        field_if_there(r, "until_h", 0, &until_h) < 0 ||
        field(r, "instances", POLICY_NUMBER_MIN, &out->instances) < 0 ||
        check_hours(r, "at_h", at_h) < 0 ||
        (isfinite(until_h) && check_hours(r, "until_h", until_h) < 0))
        return -1;
    if (!index)
        return err_set(r->e, ERR_USAGE, "%s.type: expected the name of a type%s%.100s%s",
                       r->place.text, type ? "; there is no \"" : "", type ? type : "",
                       type ? "\"" : "");
    if (until_h <= at_h)
        return err_set(r->e, ERR_USAGE, "%s.until_h: %g is not after %g, its at_h", r->place.text,
                       until_h, at_h);
    out->at_ms = rounds_ms(at_h);
    out->until_ms = isfinite(until_h) ? rounds_ms(until_h) : ROUNDS_NEVER;
    out->type = (uint32_t)json_integer_value(index);
    if (r->nth > 0 && out->at_ms < out[-1].at_ms)
        return err_set(r->e, ERR_USAGE,
                       "%s.at_h: earlier than the preemption before; sort preemptions by at_h",
                       r->place.text);
    return 0;
}

/* A line of prices: those of the types that it names, from then on. */
static int read_price_line(struct reader *r, size_t line, struct policy_steps *steps)
{
    static const char *const known[] = {"at_h", "prices", NULL};
    struct place prices = in(&r->place, "prices");
    struct policy_step step = {.line = line};
    const char *key;
    json_t *value;

    if (check_fields(r, known) < 0 || field(r, "at_h", 0, &step.at_h) < 0 ||
        check_hours(r, "at_h", step.at_h) < 0)
        return -1;
    if (!json_is_object(json_object_get(r->object, "prices")))
        return err_set(r->e, ERR_USAGE, "%s: expected an object of type names and numbers",
                       prices.text);
    json_object_foreach(json_object_get(r->object, "prices"), key, value)
    {
        if (take_of_type(r, &prices, key, value, &step.type, &step.usd_per_hour) < 0 ||
            policy_steps_add(steps, &step, r->e) < 0)
            return -1;
    }
    return 0;
}

static int read_price_lines(struct reader *r)
{
    AUTO_CLEAR(policy_steps) struct policy_steps steps = {0};
    size_t n = json_array_size(r->lines->prices);

    if (n > 0 && r->p->n_intervals > 0)
        return err_set(
            r->e, ERR_USAGE,
            "line %zu: the first line has price_intervals already; leave out one of both",
            r->lines->price_line[0]);
    for (size_t i = 0; i < n; i++) {
        size_t line = r->lines->price_line[i];
        r->place = at("line %zu", line);
        r->object = json_array_get(r->lines->prices, i);
        if (read_price_line(r, line, &steps) < 0)
            return -1;
    }
    return steps.n ? policy_steps_use(&steps, r->file, r->e) : 0;
}

/* What there is besides the jobs. */
static int read_others(struct reader *r)
{
    struct policy_problem *p = r->p;

    if (!(p->groups = read_list(r, "group_quotas", POLICY_GROUPS_MAX, sizeof *p->groups, read_group,
                                &p->n_groups)) ||
        !(p->intervals = read_list(r, "price_intervals", POLICY_INTERVALS_MAX, sizeof *p->intervals,
                                   read_interval, &p->n_intervals)))
        return -1;
    if (r->is_trace && !(r->file->preemptions = read_list(
                             r, "preemptions", ROUNDS_PREEMPTIONS_MAX, sizeof *r->file->preemptions,
                             read_preemption, &r->file->n_preemptions)))
        return -1;
    return read_price_lines(r);
}

static int read_all(struct reader *r)
{
    const char *const known[] = {"types",
                                 "jobs",
                                 "group_quotas",
                                 "price_intervals",
                                 "budget_usd",
                                 r->is_trace ? "preemptions" : NULL,
                                 NULL};

    if (!json_is_object(r->root))
        return err_set(r->e, ERR_USAGE, "expected an object {types, jobs, ...}");
    r->p->budget_usd = (double)INFINITY;
    r->object = r->root;
    if (check_fields(r, known) < 0 ||
        !(r->p->types = read_list(r, "types", POLICY_TYPES_MAX, sizeof *r->p->types, read_type,
                                  &r->p->n_types)) ||
        read_jobs(r) < 0 || read_others(r) < 0)
        return -1;
    r->object = r->root;
    r->place = (struct place){""};
    return field_if_there(r, "budget_usd", 0, &r->p->budget_usd);
}

int policy_read(const char *bytes, size_t n, bool is_trace, struct policy_file *out, struct err *e)
{
    AUTO_CLEAR(policy_lines) struct policy_lines lines = {0};

    *out = (struct policy_file){0};
    if (n > POLICY_FILE_BYTES_MAX)
        return err_set(e, ERR_USAGE, "larger than %zu MB: split it", POLICY_FILE_BYTES_MAX >> 20);
    AUTO_JSON json_t *root = policy_json_read(bytes, n, is_trace ? &lines : NULL, e);
    AUTO_JSON json_t *type_index = json_object();
    if (!root)
        return -1;
    out->arena = arena_new(ARENA_BYTES);
    struct reader r = {.arena = out->arena,
                       .file = out,
                       .p = &out->problem,
                       .is_trace = is_trace,
                       .lines = &lines,
                       .root = root,
                       .type_index = type_index,
                       .e = e};
    if (read_all(&r) == 0)
        return 0;
    policy_file_clear(out);
    return -1;
}

void policy_file_clear(struct policy_file *f)
{
    arena_free(f->arena);
    *f = (struct policy_file){0};
}
