#include "broker/core/offer.h"

#include "base/json.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *key;
    size_t at, room;
} texts[] = {
#define TEXT(member)                                                                               \
    {                                                                                              \
#member, offsetof(struct job_offer, member), sizeof(((struct job_offer *)0)->member)       \
    }
    TEXT(provider), TEXT(region), TEXT(zone), TEXT(instance_type), TEXT(accelerator), TEXT(image),
};

static const struct {
    const char *key;
    size_t at;
} numbers[] = {
#define NUMBER(member)                                                                             \
    {                                                                                              \
#member, offsetof(struct job_offer, member)                                                \
    }
    NUMBER(accelerators),
    NUMBER(cpus),
    NUMBER(memory_gb),
    NUMBER(price_usd_per_hour),
    NUMBER(max_price_usd_per_hour),
    NUMBER(disk_gb),
    NUMBER(keep_warm_s),
};

#define N(list) (sizeof(list) / sizeof *(list))

json_t *job_offer_json(const struct job_offer *o)
{
    json_t *object = json_object();

    for (size_t i = 0; i < N(texts); i++)
        if (((const char *)o)[texts[i].at])
            json_object_set_new(object, texts[i].key, json_text((const char *)o + texts[i].at));
    for (size_t i = 0; i < N(numbers); i++) {
        double value;
        memcpy(&value, (const char *)o + numbers[i].at, sizeof value);
        if (value > 0)
            json_object_set_new(object, numbers[i].key, json_number(value));
    }
    if (o->spot)
        json_object_set_new(object, "spot", json_true());
    return object;
}

void job_offer_read(const json_t *object, struct job_offer *out)
{
    *out = (struct job_offer){0};
    for (size_t i = 0; i < N(texts); i++) {
        const char *text = json_string_value(json_object_get(object, texts[i].key));
        snprintf((char *)out + texts[i].at, texts[i].room, "%s", text ? text : "");
    }
    for (size_t i = 0; i < N(numbers); i++) {
        double value = json_number_value(json_object_get(object, numbers[i].key));
        memcpy((char *)out + numbers[i].at, &value, sizeof value);
    }
    out->spot = json_is_true(json_object_get(object, "spot"));
}

void job_offer_text(const struct job_offer *o, char out[static 256])
{
    bool has_region = strncmp(o->zone, o->region, strlen(o->region)) == 0;

    snprintf(out, 256, "%s/%s%s%s %s, %s", o->provider, has_region && *o->zone ? "" : o->region,
             *o->zone && !has_region ? "/" : "", o->zone, o->instance_type,
             o->spot ? "spot" : "on-demand");
}

bool job_offer_same(const struct job_offer *a, const struct job_offer *b)
{
    return !strcmp(a->provider, b->provider) && !strcmp(a->region, b->region) &&
           !strcmp(a->zone, b->zone) && !strcmp(a->instance_type, b->instance_type) &&
           a->spot == b->spot;
}
