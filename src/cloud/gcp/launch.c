/* Launches an instance: the one that a token stands for, or a new one in the request's zone. gcp.c
 * lists the function.
 *
 * A token is tried in one zone only, whose name for it is taken once: if an answer of one zone were
 * lost and the call came again, another zone would launch a second machine. Without a zone in the
 * request it is the first that offers the type. */
#include "base/hash.h"
#include "base/mem.h"
#include "cloud/boot.h"
#include "cloud/gcp/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISK_GB 100.0
/* Request ids of one launch: an operation that failed without doing anything is answered again
 * when its id comes again. */
#define IDS 4

/* ---- the request ---- */

static json_t *metadata(const struct gce *g, const struct gce_image *image)
{
    AUTO_MEM char *key = mem_printf("%s:%s", image->login, g->rest.cloud->options.key);
    AUTO_MEM char *script = cloud_boot_script(image->login);

    /* When the script powers the instance off, it is stopped, and its disk bills until it is
     * terminated. With OS Login, keys of metadata would not count. */
    return json_pack("{s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}", "items", "key",
                     "ssh-keys", "value", key, "key", "block-project-ssh-keys", "value", "TRUE",
                     "key", "enable-oslogin", "value", "FALSE", "key", "startup-script", "value",
                     script);
}

static json_t *scheduling(const struct cloud_request *r, const struct gce_type *type)
{
    bool leaves = r->spot || type->has_accelerators;
    json_t *s = json_pack("{s:s, s:b}", "onHostMaintenance", leaves ? "TERMINATE" : "MIGRATE",
                          "automaticRestart", 0);

    if (r->spot)
        json_object_set_new(s, "provisioningModel", json_string("SPOT"));
    if (r->max_run_s > 0) {
        AUTO_MEM char *seconds = mem_printf("%.0f", ceil(r->max_run_s));
        json_object_set_new(s, "maxRunDuration", json_pack("{s:s}", "seconds", seconds));
    }
    if (r->spot || r->max_run_s > 0)
        json_object_set_new(s, "instanceTerminationAction", json_string("DELETE"));
    return s;
}

static json_t *disk(const struct cloud_request *r,
                    const char *name,
                    const char *zone,
                    const struct gce_type *type,
                    const struct gce_image *image,
                    json_t *labels)
{
    AUTO_MEM char *size = mem_printf("%.0f", ceil(r->disk_gb > 0 ? r->disk_gb : DISK_GB));
    AUTO_MEM char *disk_type = mem_printf("zones/%s/diskTypes/%s", zone, type->disk_type);

    return json_pack("{s:b, s:b, s:{s:s, s:s, s:s, s:s, s:O}}", "boot", 1, "autoDelete", 1,
                     "initializeParams", "diskName", name, "sourceImage", image->path, "diskSizeGb",
                     size, "diskType", disk_type, "labels", labels);
}

json_t *gce_body(const struct gce *g,
                 const struct cloud_request *r,
                 const char *zone,
                 const struct gce_type *type,
                 const struct gce_image *image)
{
    AUTO_MEM char *machine = mem_printf("zones/%s/machineTypes/%s", zone, type->machine);
    char name[GCE_NAME_BYTES], firewall[GCE_NAME_BYTES];
    struct cloud_tags tags;

    gce_name(g, r->owner, r->token, name);
    gce_firewall_name(r->owner, firewall);
    cloud_tags_of(r, image->login, &tags);
    AUTO_JSON json_t *labels = gce_labels(&tags);
    json_t *body = json_pack(
        "{s:s, s:s, s:O, s:{s:[s]}, s:[o], s:[{s:s, s:[{s:s, s:s}]}], s:o, s:o}", "name", name,
        "machineType", machine, "labels", labels, "tags", "items", firewall, "disks",
        disk(r, name, zone, type, image, labels), "networkInterfaces", "network",
        "global/networks/default", "accessConfigs", "type", "ONE_TO_ONE_NAT", "name",
        "External NAT", "metadata", metadata(g, image), "scheduling", scheduling(r, type));
    if (!type->count)
        return body;
    AUTO_MEM char *accelerator =
        mem_printf("zones/%s/acceleratorTypes/%s", zone, type->accelerator);
    json_object_set_new(body, "guestAccelerators",
                        json_pack("[{s:s, s:i}]", "acceleratorType", accelerator,
                                  "acceleratorCount", (int)type->count));
    return body;
}

/* Of everything that makes the machine what it is, and of what its token stands for. Expiry and
 * price, which are labels alone, may differ. */
void gce_request_id(const struct cloud_request *r,
                    const char *zone,
                    const json_t *body,
                    unsigned n,
                    char out[static 40])
{
    AUTO_JSON json_t *same = json_deep_copy(body);
    json_t *boot = json_array_get(json_object_get(same, "disks"), 0);
    char hex[SHA256_HEX];

    json_object_del(same, "labels");
    json_object_del(json_object_get(boot, "initializeParams"), "labels");
    AUTO_MEM char *asked = json_dumps(same, JSON_COMPACT | JSON_SORT_KEYS);
    AUTO_MEM char *text = mem_printf("%s\n%s\n%016llx\n%s\n%u\n%s", r->owner, r->token,
                                     (unsigned long long)instance_fingerprint(r), zone, n, asked);
    struct sha256_digest digest = sha256_of(text, strlen(text));
    /* Version 4 and its variant, as random ones have them. */
    digest.bytes[6] = (unsigned char)((digest.bytes[6] & 0x0f) | 0x40);
    digest.bytes[8] = (unsigned char)((digest.bytes[8] & 0x3f) | 0x80);
    sha256_text(&digest, hex);
    snprintf(out, 40, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

/* ---- the instance of a token that was used before ---- */

/* What is being launched, as far as the request says it. */
static void as_asked(const struct gce *g,
                     const struct cloud_request *r,
                     const char *zone,
                     const char *login,
                     struct cloud_tagged *t)
{
    AUTO_JSON json_t *nothing = json_object();
    struct cloud_machine *m = &t->machine;
    struct cloud_tags tags;

    *t = (struct cloud_tagged){0};
    cloud_tags_of(r, login, &tags);
    for (size_t i = 0; i < tags.n; i++)
        cloud_tag_read(t, tags.items[i].key, tags.items[i].value);
    gce_read_instance(g, zone, nothing, t);
    gce_name(g, r->owner, r->token, m->id);
    snprintf(m->instance_type, sizeof m->instance_type, "%s", r->instance_type);
    m->spot = r->spot;
}

/* The machine is gone. It was of this request if one of its ids says so. */
static int take_gone(const struct gce *g,
                     const struct cloud_request *r,
                     const struct gce_past *past,
                     const json_t *body,
                     const char *login,
                     struct cloud_machine *out,
                     struct cloud_error *e)
{
    struct cloud_machine end;
    struct cloud_tagged t;
    bool is_same = false;
    char id[40];

    for (unsigned n = 0; n < IDS; n++) {
        gce_request_id(r, past->zone, body, n, id);
        is_same = is_same || strcmp(id, past->request_id) == 0;
    }
    if (!is_same)
        return cloud_fail(e, CLOUD_CONFLICT, CLOUD_ACCOUNT,
                          "this token was used for another request, whose instance is gone");
    as_asked(g, r, past->zone, login, &t);
    gce_outline(g, r->token, t.machine.id, past, &end);
    *out = t.machine;
    out->state = end.state;
    out->launched_ms = end.launched_ms;
    out->ended_ms = end.ended_ms;
    out->notice_ms = end.notice_ms;
    return 0;
}

/* ---- a new one ---- */

struct launch {
    struct gce *gce;
    const struct cloud_request *request;
    char zone[CLOUD_ZONE_BYTES], name[GCE_NAME_BYTES];
    struct gce_type type;
    struct gce_image image;
    json_t *body;
};

/* The instance of this name is there; answers about it may not be yet. */
static int take_named(struct launch *l, struct cloud_machine *out, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {.name = "instances.get", .method = "GET"};
    struct cloud_tagged t = {0};

    if (gce_send(l->gce, &x, e, "/zones/%s/instances/%s", l->zone, l->name) < 0)
        return -1;
    gce_read_instance(l->gce, l->zone, x.root, &t);
    return cloud_take_known(&t, l->request, out, e);
}

/* The name is taken: by an earlier try, unless somebody else uses our names. */
static int resolve(struct launch *l, struct cloud_machine *out, struct cloud_error *e)
{
    if (take_named(l, out, e) == 0)
        return 0;
    if (e->failure == CLOUD_CONFLICT)
        return -1;
    AUTO_MEM char *text = mem_dup(e->err.text);
    return cloud_fail(e, CLOUD_UNKNOWN, CLOUD_ACCOUNT,
                      "the instance %s exists already and cannot be read: %s", l->name, text);
}

/* A failed launch can leave its disk. What stays in spite of this, cleaning finds. */
static void drop_disk(struct launch *l)
{
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {.name = "disks.delete", .method = "DELETE"};
    struct cloud_error e;

    gce_send(l->gce, &x, &e, "/zones/%s/disks/%s", l->zone, l->name);
}

static int take_new(struct launch *l, struct cloud_machine *out, struct cloud_error *e)
{
    struct cloud_tagged t;

    if (take_named(l, out, e) == 0)
        return 0;
    if (e->failure == CLOUD_CONFLICT)
        return -1;
    as_asked(l->gce, l->request, l->zone, l->image.login, &t);
    return cloud_take_known(&t, l->request, out, e);
}

static bool is_refusal(enum cloud_failure f)
{
    return f != CLOUD_THROTTLE && f != CLOUD_TRANSIENT && f != CLOUD_UNKNOWN && f != CLOUD_CONFLICT;
}

/* 0: *out. -1: failed; *again: this id is used up, and nothing was done. */
static int insert(
    struct launch *l, unsigned n, bool *again, struct cloud_machine *out, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {
        .name = "instances.insert", .method = "POST", .body = json_incref(l->body)};
    AUTO_JSON json_t *done = NULL;
    char id[40];

    *again = false;
    gce_request_id(l->request, l->zone, l->body, n, id);
    if (gce_send(l->gce, &x, e, "/zones/%s/instances?requestId=%s", l->zone, id) < 0) {
        if (e->failure == CLOUD_CONFLICT)
            return resolve(l, out, e);
        if (!x.is_open || !is_refusal(e->failure))
            return -1;
        /* An earlier try has no answer: this refusal does not prove that there is no instance. */
        AUTO_MEM char *text = mem_dup(e->err.text);
        return cloud_fail(e, CLOUD_UNKNOWN, e->scope, "%s, after a try without an answer", text);
    }
    if (gce_wait(l->gce, x.root, &done, e) < 0)
        return -1;
    if (gce_judge_operation(&x, done, e) == 0)
        return take_new(l, out, e);
    if (e->failure == CLOUD_CONFLICT)
        return resolve(l, out, e);
    *again = !is_refusal(e->failure);
    drop_disk(l);
    return -1;
}

static int run(struct launch *l, struct cloud_machine *out, struct cloud_error *e)
{
    bool again = true;

    for (unsigned n = 0; again && n < IDS; n++) {
        if (n)
            cloud_wait(l->gce->rest.cloud, 1.0);
        if (insert(l, n, &again, out, e) == 0)
            return 0;
    }
    return -1;
}

/* ---- what stands before it ---- */

static int check_request(const struct gce *g,
                         const struct cloud_request *request,
                         struct cloud_error *e)
{
    const struct cloud_options *o = &g->rest.cloud->options;
    size_t n = strlen(o->region);

    if (*request->region && strcmp(request->region, o->region) != 0)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "a machine in %s was asked for in %s",
                          request->region, o->region);
    if (*request->zone && (strncmp(request->zone, o->region, n) != 0 || request->zone[n] != '-'))
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "the zone %s is not in %s",
                          request->zone, o->region);
    if (!o->key || !*o->key)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "no ssh key is given to launch with");
    return 0;
}

static int prepare(struct launch *l, struct cloud_error *e)
{
    struct gce *g = l->gce;
    const struct cloud_request *r = l->request;
    char zones[1][CLOUD_ZONE_BYTES];
    size_t n;

    if (gce_parse_type(r->instance_type, &l->type, e) < 0 || gce_find_image(r, &l->image, e) < 0 ||
        gce_zones(g->rest.cloud, r, zones, 1, &n, e) < 0)
        return -1;
    memcpy(l->zone, zones[0], sizeof l->zone);
    gce_name(g, r->owner, r->token, l->name);
    l->body = gce_body(g, r, l->zone, &l->type, &l->image);
    return 0;
}

int gce_launch(struct cloud *c,
               const struct cloud_request *request,
               struct cloud_machine *out,
               struct cloud_error *e)
{
    struct launch l = {.gce = c->priv, .request = request};
    struct cloud_tagged known;
    struct gce_past past;

    if (check_request(l.gce, request, e) < 0)
        return -1;
    int found = gce_find(l.gce, request->token, &known, NULL, e);
    if (found)
        return found < 0 ? -1 : cloud_take_known(&known, request, out, e);
    if (prepare(&l, e) < 0)
        return -1;
    int result = gce_look_back(l.gce, l.name, &past, e);
    if (result == 0 && past.is_over)
        result = take_gone(l.gce, request, &past, l.body, l.image.login, out, e);
    else if (result == 0 && (result = gce_share(l.gce, e)) == 0)
        result = run(&l, out, e);
    json_decref(l.body);
    return result;
}
