/* One machine in the state of a pool or a simulated cloud. Its state at a moment
 * follows from times that are fixed at launch and termination: nothing has to be written when a
 * boot ends or a spot instance is preempted. */
#include "base/buf.h"
#include "base/hash.h"
#include "cloud/instances.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1
#define TEXT_BYTES 1024
/* The checks of requests; nothing larger was ever written. */
#define NUMBER_MAX 1e9

/* cloud.c has checked that it fits. */
#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from))

void instance_begin(struct instance *r, const struct cloud_request *request, int64_t now_ms)
{
    struct cloud_machine *m = &r->machine;

    *r = (struct instance){.asked = instance_fingerprint(request),
                           .visible_ms = now_ms,
                           .notice_ms = INSTANCE_NEVER,
                           .taken_ms = INSTANCE_NEVER,
                           .gone_ms = INSTANCE_NEVER};
    m->run = request->run;
    m->job = request->job;
    m->expires_ms = request->expires_ms;
    m->launched_ms = m->ready_ms = now_ms;
    COPY(m->token, request->token);
    COPY(m->owner, request->owner);
}

void instance_as_asked(struct instance *r, const struct cloud_request *request)
{
    struct cloud_machine *m = &r->machine;

    m->cpus = request->cpus;
    m->memory_gb = request->memory_gb;
    m->accelerators = request->accelerator ? request->accelerators : 0;
    m->spot = request->spot;
    m->bill_min_s = request->bill_min_s;
    COPY(m->provider, request->provider);
    COPY(m->region, request->region);
    COPY(m->zone, request->zone);
    COPY(m->instance_type, request->instance_type);
    COPY(m->accelerator, request->accelerator ? request->accelerator : "");
}

uint64_t instance_fingerprint(const struct cloud_request *request)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, TEXT_BYTES);
    buf_printf(&b, "%s\n%" PRId64 " %" PRId64 "\n%s\n%s\n%s\n%s\n%s\n%d %.17g %.17g %.17g",
               request->owner, request->run, request->job, request->provider, request->region,
               request->zone, request->instance_type,
               request->accelerator ? request->accelerator : "", request->spot, request->cpus,
               request->memory_gb, request->accelerators);
    if (request->image || request->disk_gb > 0)
        buf_printf(&b, "\n%s\n%.17g", request->image ? request->image : "", request->disk_gb);
    assert(!b.full);
    return hash_xxh3(b.data, b.len);
}

/* Clocks of two processes differ, and the real one may be set back: nothing is looked at before it
 * happened. */
static int64_t at_least(const struct instance *r, int64_t now_ms)
{
    if (now_ms < r->machine.launched_ms)
        now_ms = r->machine.launched_ms;
    return now_ms < r->machine.ended_ms ? r->machine.ended_ms : now_ms;
}

static bool is_taken(const struct instance *r, int64_t now_ms)
{
    return r->taken_ms <= now_ms && (!r->machine.ended_ms || r->taken_ms < r->machine.ended_ms);
}

static enum cloud_state state_of(const struct instance *r, int64_t now_ms)
{
    if (is_taken(r, now_ms))
        return CLOUD_PREEMPTED;
    if (r->machine.ended_ms)
        return r->gone_ms <= now_ms ? CLOUD_GONE : CLOUD_DELETING;
    return r->machine.ready_ms <= now_ms ? CLOUD_RUNNING : CLOUD_REQUESTED;
}

bool instance_is_visible(const struct instance *r, int64_t now_ms)
{
    return r->visible_ms <= at_least(r, now_ms);
}

void instance_look(const struct instance *r, int64_t now_ms, struct cloud_machine *out)
{
    now_ms = at_least(r, now_ms);
    int64_t end_ms = instance_end_ms(r, now_ms);

    *out = r->machine;
    out->state = state_of(r, now_ms);
    out->ended_ms = end_ms == INSTANCE_NEVER ? 0 : end_ms;
    /* A machine that ended while it booted was never up. */
    if (out->ready_ms > (end_ms < now_ms ? end_ms : now_ms))
        out->ready_ms = 0;
    out->notice_ms = r->notice_ms <= now_ms && r->notice_ms < end_ms ? r->taken_ms : 0;
    if (out->state == CLOUD_PREEMPTED)
        out->notice_ms = r->taken_ms;
}

bool instance_is_over(const struct instance *r, int64_t now_ms)
{
    now_ms = at_least(r, now_ms);
    return is_taken(r, now_ms) || (r->machine.ended_ms && r->gone_ms <= now_ms);
}

int64_t instance_end_ms(const struct instance *r, int64_t now_ms)
{
    if (is_taken(r, now_ms))
        return r->taken_ms;
    return r->machine.ended_ms ? r->machine.ended_ms : INSTANCE_NEVER;
}

static int64_t sooner(int64_t a, int64_t b, int64_t now_ms)
{
    return b > now_ms && b < a ? b : a;
}

int64_t instance_next_ms(const struct instance *r, int64_t now_ms)
{
    if (instance_is_over(r, now_ms))
        return INSTANCE_NEVER;
    int64_t next_ms = sooner(INSTANCE_NEVER, r->visible_ms, now_ms);
    if (r->machine.ended_ms)
        return sooner(next_ms, r->gone_ms, now_ms);
    next_ms = sooner(next_ms, r->machine.ready_ms, now_ms);
    next_ms = sooner(next_ms, r->notice_ms, now_ms);
    return sooner(next_ms, r->taken_ms, now_ms);
}

/* ---- as text ---- */

static const struct text_field {
    const char *name;
    size_t offset, room;
} text_fields[] = {
#define TEXT(field)                                                                                \
#field, offsetof(struct cloud_machine, field), sizeof(((struct cloud_machine *)0)->field)
    {TEXT(id)},          {TEXT(token)},   {TEXT(owner)},       {TEXT(provider)},
    {TEXT(region)},      {TEXT(zone)},    {TEXT(root)},        {TEXT(instance_type)},
    {TEXT(exec_driver)}, {TEXT(address)}, {TEXT(accelerator)},
};

static const struct number_field {
    const char *name;
    size_t offset;
} number_fields[] = {
#define NUMBER(field) #field, offsetof(struct cloud_machine, field)
    {NUMBER(cpus)},       {NUMBER(memory_gb)},          {NUMBER(accelerators)},
    {NUMBER(bill_min_s)}, {NUMBER(price_usd_per_hour)},
};

/* Tags and times, each with the least that it can be. */
static const struct integer_field {
    const char *name;
    size_t offset;
    int64_t min;
} integer_fields[] = {
    {"run", offsetof(struct instance, machine.run), INT64_MIN},
    {"job", offsetof(struct instance, machine.job), INT64_MIN},
    {"expires_ms", offsetof(struct instance, machine.expires_ms), INT64_MIN},
    {"launched_ms", offsetof(struct instance, machine.launched_ms), 1},
    {"ready_ms", offsetof(struct instance, machine.ready_ms), 1},
    {"ended_ms", offsetof(struct instance, machine.ended_ms), 0},
    {"visible_ms", offsetof(struct instance, visible_ms), 1},
    {"notice_ms", offsetof(struct instance, notice_ms), 1},
    {"taken_ms", offsetof(struct instance, taken_ms), 1},
    {"gone_ms", offsetof(struct instance, gone_ms), 1},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define AT(type, base, offset) ((type *)(void *)((char *)(base) + (offset)))
#define AT_CONST(type, base, offset) ((const type *)(const void *)((const char *)(base) + (offset)))

json_t *instance_json(const struct instance *r)
{
    json_t *o = json_object();
    char asked[17];

    json_object_set_new(o, "format", json_integer(FORMAT));
    for (size_t i = 0; i < COUNT(text_fields); i++)
        json_object_set_new(o, text_fields[i].name,
                            json_string(AT_CONST(char, &r->machine, text_fields[i].offset)));
    for (size_t i = 0; i < COUNT(number_fields); i++)
        json_object_set_new(o, number_fields[i].name,
                            json_real(*AT_CONST(double, &r->machine, number_fields[i].offset)));
    for (size_t i = 0; i < COUNT(integer_fields); i++)
        json_object_set_new(o, integer_fields[i].name,
                            json_integer(*AT_CONST(int64_t, r, integer_fields[i].offset)));
    snprintf(asked, sizeof asked, "%016" PRIx64, r->asked);
    json_object_set_new(o, "asked", json_string(asked));
    json_object_set_new(o, "spot", json_boolean(r->machine.spot));
    return o;
}

static int wrong(struct err *e, const char *field)
{
    return err_set(e, ERR_USAGE, "its %s is missing or makes no sense", field);
}

static int read_texts(const json_t *value, struct instance *out, struct err *e)
{
    for (size_t i = 0; i < COUNT(text_fields); i++) {
        const json_t *text = json_object_get(value, text_fields[i].name);
        if (!json_is_string(text) || json_string_length(text) >= text_fields[i].room ||
            strlen(json_string_value(text)) != json_string_length(text))
            return wrong(e, text_fields[i].name);
        memcpy(AT(char, &out->machine, text_fields[i].offset), json_string_value(text),
               json_string_length(text) + 1);
    }
    return 0;
}

static int read_numbers(const json_t *value, struct instance *out, struct err *e)
{
    for (size_t i = 0; i < COUNT(number_fields); i++) {
        const json_t *number = json_object_get(value, number_fields[i].name);
        double v = json_number_value(number);
        if (!json_is_number(number) || !(v >= 0) || v > NUMBER_MAX)
            return wrong(e, number_fields[i].name);
        *AT(double, &out->machine, number_fields[i].offset) = v;
    }
    for (size_t i = 0; i < COUNT(integer_fields); i++) {
        const json_t *number = json_object_get(value, integer_fields[i].name);
        if (!json_is_integer(number) || json_integer_value(number) < integer_fields[i].min)
            return wrong(e, integer_fields[i].name);
        *AT(int64_t, out, integer_fields[i].offset) = json_integer_value(number);
    }
    return 0;
}

int instance_from_json(const json_t *value, struct instance *out, struct err *e)
{
    const char *asked = json_string_value(json_object_get(value, "asked"));
    const json_t *spot = json_object_get(value, "spot");

    *out = (struct instance){0};
    if (json_integer_value(json_object_get(value, "format")) != FORMAT)
        return err_set(e, ERR_USAGE, "it has another format than %d", FORMAT);
    if (!asked || strlen(asked) != 16 || strspn(asked, "0123456789abcdef") != 16)
        return wrong(e, "fingerprint");
    out->asked = strtoull(asked, NULL, 16);
    if (!json_is_boolean(spot))
        return wrong(e, "spot");
    out->machine.spot = json_is_true(spot);
    if (read_texts(value, out, e) < 0)
        return -1;
    return read_numbers(value, out, e);
}
