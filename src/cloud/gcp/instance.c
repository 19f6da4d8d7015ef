/* Instances as Compute Engine describes them: found by token, read, terminated; and what operations
 * tell of those that are gone. gcp.c, launch.c and clean.c call. */
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "cloud/gcp/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from))
#define LABEL_BYTES 63
#define LABEL_PARTS 4
#define FILTER_MAX 4096

void gce_name(const struct gce *g, const char *owner, const char *token, char out[GCE_NAME_BYTES])
{
    AUTO_MEM char *text = mem_printf("%s\n%s", owner, token);
    const struct sha256_digest digest = sha256_of(text, strlen(text));
    char hex[SHA256_HEX];

    (void)g;
    snprintf(out, GCE_NAME_BYTES, "tradewind-%.32s", sha256_text(&digest, hex));
}

/* ---- labels ---- */

/* The key of a part of a value: KEY, KEY-2, ... */
static void part_key(const char *key, unsigned part, char out[static 80])
{
    snprintf(out, 80, part ? "%s-%u" : "%s", key, part + 1);
}

json_t *gce_labels(const struct cloud_tags *tags)
{
    json_t *labels = json_object();
    char key[80];

    for (size_t i = 0; i < tags->n; i++) {
        const char *value = tags->items[i].value;
        for (unsigned part = 0; part < LABEL_PARTS && (!part || *value); part++) {
            size_t n = strnlen(value, LABEL_BYTES);
            part_key(tags->items[i].key, part, key);
            json_object_set_new(labels, key, json_stringn(value, n));
            value += n;
        }
    }
    return labels;
}

static void read_labels(json_t *labels, struct cloud_tagged *t)
{
    const char *key;
    const json_t *first;

    json_object_foreach(labels, key, first)
    {
        char value[CLOUD_TAG_BYTES] = "", name[80];
        size_t n = strlen(key);
        if (n > 60 || (n > 2 && key[n - 2] == '-' && isdigit((unsigned char)key[n - 1])))
            continue;
        for (unsigned part = 0; part < LABEL_PARTS; part++) {
            part_key(key, part, name);
            size_t at = strlen(value);
            snprintf(value + at, sizeof value - at, "%s", gce_text(labels, name));
        }
        cloud_tag_read(t, key, value);
    }
}

static void add_filter(struct buf *b, const char *key, const char *value)
{
    char name[80];

    for (unsigned part = 0; part < LABEL_PARTS && (!part || *value); part++) {
        size_t n = strnlen(value, LABEL_BYTES);
        part_key(key, part, name);
        buf_printf(b, "%s(labels.%s = \"%.*s\")", b->len ? " " : "", name, (int)n, value);
        value += n;
    }
}

char *gce_filter(const char *owner, const char *token)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, FILTER_MAX);
    add_filter(&b, CLOUD_TAG_OWNER, owner);
    if (token)
        add_filter(&b, CLOUD_TAG_TOKEN, token);
    return mem_dup(buf_str(&b));
}

/* ---- reading ---- */

/* One that is stopped does not go by itself, and its disk bills: it is to be terminated. */
static enum cloud_state state_of(const char *status)
{
    static const char *const going[] = {"STOPPING",       "SUSPENDING", "SUSPENDED", "TERMINATED",
                                        "DEPROVISIONING", "STOPPED",    NULL};

    if (strcmp(status, "RUNNING") == 0 || strcmp(status, "REPAIRING") == 0)
        return CLOUD_RUNNING;
    for (size_t i = 0; going[i]; i++)
        if (strcmp(status, going[i]) == 0)
            return CLOUD_DELETING;
    return CLOUD_REQUESTED; /* PROVISIONING, STAGING */
}

/* "n1-standard-8+T4:2", as catalogs name it. */
static void read_type(const json_t *item, char *out, size_t room)
{
    static const char prefix[] = "nvidia-tesla-";
    const json_t *attached = json_array_get(json_object_get(item, "guestAccelerators"), 0);
    const char *machine = gce_last(gce_text(item, "machineType"));
    const char *accelerator = gce_last(gce_text(attached, "acceleratorType"));

    snprintf(out, room, "%s", machine);
    if (strncmp(machine, "n1-", 3) != 0 || strncmp(accelerator, prefix, strlen(prefix)) != 0)
        return;
    size_t n = strlen(out), name = n + 1;
    snprintf(out + n, room - n, "+%s:%d", accelerator + strlen(prefix),
             (int)json_integer_value(json_object_get(attached, "acceleratorCount")));
    for (; name < room && out[name] && out[name] != ':'; name++)
        out[name] = (char)toupper((unsigned char)out[name]);
}

static void read_address(const json_t *item, const char *login, struct cloud_machine *m)
{
    const json_t *nic = json_array_get(json_object_get(item, "networkInterfaces"), 0);
    const json_t *outer = json_array_get(json_object_get(nic, "accessConfigs"), 0);
    const char *address = gce_text(outer, "natIP");

    if (!*address)
        address = gce_text(nic, "networkIP");
    snprintf(m->private_address, sizeof m->private_address, "%s", gce_text(nic, "networkIP"));
    m->address[0] = '\0';
    if (*address)
        snprintf(m->address, sizeof m->address, "%s%s%s", login, *login ? "@" : "", address);
}

void gce_read_instance(const struct gce *g,
                       const char *zone,
                       const json_t *item,
                       struct cloud_tagged *t)
{
    const struct cloud_options *o = &g->rest.cloud->options;
    const json_t *scheduling = json_object_get(item, "scheduling");
    struct cloud_machine *m = &t->machine;

    read_labels(json_object_get(item, "labels"), t);
    COPY(m->id, gce_text(item, "name"));
    COPY(m->provider, "gcp");
    COPY(m->region, o->region);
    COPY(m->zone, zone);
    COPY(m->exec_driver, "ssh");
    COPY(m->root, o->root ? o->root : "~/.tradewind-jobs");
    read_type(item, m->instance_type, sizeof m->instance_type);
    m->spot = strcmp(gce_text(scheduling, "provisioningModel"), "SPOT") == 0 ||
              json_is_true(json_object_get(scheduling, "preemptible"));
    m->state = state_of(gce_text(item, "status"));
    int64_t made_ms = time_from_iso(gce_text(item, "creationTimestamp"));
    int64_t started_ms = time_from_iso(gce_text(item, "lastStartTimestamp"));
    m->launched_ms = made_ms ? made_ms : cloud_now_ms(g->rest.cloud) + g->rest.skew_ms;
    m->ready_ms = m->state != CLOUD_RUNNING ? 0 : started_ms ? started_ms : m->launched_ms;
    m->ended_ms = m->notice_ms = 0;
    read_address(item, t->login, m);
}

/* ---- one token's ---- */

struct finding {
    const struct gce *g;
    struct cloud_tagged *out;
    struct gce_places *places;
    size_t n;
};

/* A second one, in another zone, can only be there after a failure of Google's own: the first
 * counts, and all are terminated. */
static int keep_found(void *context, const char *scope, const json_t *item, struct cloud_error *e)
{
    struct finding *f = context;
    struct gce_places *places = f->places;

    (void)e;
    if (f->n++ == 0) {
        *f->out = (struct cloud_tagged){0};
        gce_read_instance(f->g, gce_last(scope), item, f->out);
    }
    if (places && places->n < sizeof places->items / sizeof *places->items) {
        COPY(places->items[places->n].zone, gce_last(scope));
        COPY(places->items[places->n].name, gce_text(item, "name"));
        places->n++;
    }
    return 0;
}

int gce_find(struct gce *g,
             const char *token,
             struct cloud_tagged *out,
             struct gce_places *places,
             struct cloud_error *e)
{
    AUTO_MEM char *filter = gce_filter(g->rest.cloud->options.owner, token);
    struct finding f = {.g = g, .out = out, .places = places};
    const struct gce_list list = {
        .kind = "instances", .filter = filter, .visit = keep_found, .context = &f};

    if (places)
        places->n = 0;
    if (gce_each(g, &list, e) < 0)
        return -1;
    return f.n > 0;
}

/* ---- operations ---- */

static void note_end(struct gce_past *p, const json_t *operation, bool was_preempted)
{
    int64_t ended_ms = time_from_iso(gce_text(operation, "endTime"));

    if (strcmp(gce_text(operation, "status"), "DONE") != 0)
        return;
    p->is_over = true;
    p->was_preempted = p->was_preempted || was_preempted;
    if (ended_ms && (!p->ended_ms || ended_ms < p->ended_ms))
        p->ended_ms = ended_ms;
}

static int keep_past(void *context, const char *scope, const json_t *item, struct cloud_error *e)
{
    struct gce_past *p = context;
    const char *type = gce_text(item, "operationType");

    (void)e;
    if (json_object_get(item, "error"))
        return 0;
    if (strcmp(type, "insert") == 0) {
        p->was_there = true;
        COPY(p->zone, gce_last(scope));
        COPY(p->request_id, gce_text(item, "clientOperationId"));
        p->launched_ms = time_from_iso(gce_text(item, "insertTime"));
    } else if (strcmp(type, "delete") == 0) {
        note_end(p, item, false);
    } else if (strcmp(type, "compute.instances.preempted") == 0) {
        note_end(p, item, true);
    }
    return 0;
}

int gce_look_back(struct gce *g, const char *name, struct gce_past *out, struct cloud_error *e)
{
    AUTO_MEM char *filter = mem_printf("targetLink eq .*/instances/%s", name);
    const struct gce_list list = {
        .kind = "operations", .filter = filter, .visit = keep_past, .context = out};

    *out = (struct gce_past){0};
    return gce_each(g, &list, e);
}

void gce_outline(const struct gce *g,
                 const char *token,
                 const char *name,
                 const struct gce_past *past,
                 struct cloud_machine *out)
{
    const struct cloud_options *o = &g->rest.cloud->options;

    *out = (struct cloud_machine){.is_outline = true};
    out->state = past->was_preempted ? CLOUD_PREEMPTED : CLOUD_GONE;
    out->launched_ms = past->launched_ms;
    out->ended_ms = past->ended_ms ? past->ended_ms : cloud_now_ms(g->rest.cloud);
    out->notice_ms = past->was_preempted ? out->ended_ms : 0;
    COPY(out->id, name);
    COPY(out->token, token);
    COPY(out->owner, o->owner);
    COPY(out->provider, "gcp");
    COPY(out->region, o->region);
    COPY(out->zone, past->zone);
}

/* ---- terminating ---- */

static int delete_one(struct gce *g, const struct gce_place *p, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {.name = "instances.delete", .method = "DELETE"};

    /* Not waited for: it is gone once a look says so. */
    if (gce_send(g, &x, e, "/zones/%s/instances/%s", p->zone, p->name) == 0 ||
        e->failure == CLOUD_NOT_FOUND)
        return 0;
    return -1;
}

static int delete_disk(void *context, const char *scope, const json_t *item, struct cloud_error *e)
{
    struct gce *g = context;
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {.name = "disks.delete", .method = "DELETE"};

    if (json_array_size(json_object_get(item, "users")))
        return 0;
    if (gce_send(g, &x, e, "/%s/disks/%s", scope, gce_text(item, "name")) == 0 ||
        e->failure == CLOUD_NOT_FOUND)
        return 0;
    return -1;
}

int gce_terminate(struct gce *g, const char *token, struct cloud_error *e)
{
    AUTO_MEM char *filter = gce_filter(g->rest.cloud->options.owner, token);
    const struct gce_list disks = {
        .kind = "disks", .filter = filter, .visit = delete_disk, .context = g};
    struct cloud_tagged t;
    struct gce_places places;

    int found = gce_find(g, token, &t, &places, e);
    if (found < 0)
        return -1;
    for (size_t i = 0; i < places.n; i++)
        if (delete_one(g, &places.items[i], e) < 0)
            return -1;
    /* A disk that outlived its instance. */
    if (!found && gce_each(g, &disks, e) < 0)
        return -1;
    *e = (struct cloud_error){0};
    return 0;
}
