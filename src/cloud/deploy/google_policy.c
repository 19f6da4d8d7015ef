/* The roles of a function's service account, which are entries of the policies of a bucket, the
 * project and the service. google.c lists them. */
#include "base/mem.h"
#include "cloud/deploy/google.h"
#include "cloud/driver.h"

#include <stdlib.h>
#include <string.h>

/* ---- policies: who has which role at a project, bucket or service ---- */

struct policy {
    const char *role;
    const char *get, *set;               /* permissions */
    const char *get_method, *set_method; /* of their calls */
    char *get_url, *set_url;
    bool wraps; /* a change has the policy as a member */
};

static void policy_clear(struct policy *p)
{
    free(p->get_url);
    free(p->set_url);
    p->get_url = p->set_url = NULL;
}

static struct policy bucket_policy(struct deploy *d, const char *bucket)
{
    AUTO_MEM char *path = mem_printf("b/%s/iam", bucket);

    return (struct policy){
        "roles/storage.objectUser",
        "storage.buckets.getIamPolicy",
        "storage.buckets.setIamPolicy",
        "GET",
        "PUT",
        google_url(d, "STORAGE", "https://storage.googleapis.com/storage/v1/", path),
        google_url(d, "STORAGE", "https://storage.googleapis.com/storage/v1/", path),
        false,
    };
}

static struct policy project_policy(struct deploy *d, const char *project)
{
    static const char base[] = "https://cloudresourcemanager.googleapis.com/";
    AUTO_MEM char *get = mem_printf("v1/projects/%s:getIamPolicy", project);
    AUTO_MEM char *set = mem_printf("v1/projects/%s:setIamPolicy", project);

    return (struct policy){
        "roles/eventarc.eventReceiver",
        "resourcemanager.projects.getIamPolicy",
        "resourcemanager.projects.setIamPolicy",
        "POST",
        "POST",
        google_url(d, "CLOUDRESOURCEMANAGER", base, get),
        google_url(d, "CLOUDRESOURCEMANAGER", base, set),
        true,
    };
}

static struct policy service_policy(struct deploy *d, const char *name)
{
    return (struct policy){
        "roles/run.invoker",
        "run.services.getIamPolicy",
        "run.services.setIamPolicy",
        "GET",
        "POST",
        google_service_url(d, name, ":getIamPolicy"),
        google_service_url(d, name, ":setIamPolicy"),
        true,
    };
}

/* 1: *out is the policy; 0: there is nothing that could have one. */
static int get_policy(struct deploy *d, const struct policy *p, json_t **out, struct cloud_error *e)
{
    struct google *g = d->priv;
    bool posts = strcmp(p->get_method, "POST") == 0;
    const struct deploy_call call = {.permission = p->get,
                                     .method = p->get_method,
                                     .url = mem_dup(p->get_url),
                                     .body = posts ? json_object() : NULL,
                                     .reads = true};

    return deploy_api_find(d, &g->rest, call, out, e);
}

/* The list of members of the role; NULL = there is none. */
static json_t *members_of(const json_t *policy, const char *role)
{
    const json_t *b;
    size_t i;

    json_array_foreach(json_object_get(policy, "bindings"), i, b)
    {
        if (strcmp(deploy_text(b, "role"), role) == 0 && !json_object_get(b, "condition"))
            return json_object_get(b, "members");
    }
    return NULL;
}

static size_t find_member(const json_t *members, const char *member)
{
    size_t i = 0;

    while (i < json_array_size(members) &&
           strcmp(json_string_value(json_array_get(members, i)), member) != 0)
        i++;
    return i;
}

static int look_policy(struct deploy *d,
                       struct policy p,
                       const struct deploy_resource *r,
                       enum deploy_found *out,
                       struct cloud_error *e)
{
    AUTO_JSON json_t *policy = NULL;
    char member[GOOGLE_EMAIL_BYTES + 20] = "serviceAccount:";

    google_email(d, r->name, member + strlen(member));
    int found = get_policy(d, &p, &policy, e);
    const json_t *members = members_of(policy, p.role);
    *out = find_member(members, member) < json_array_size(members) ? DEPLOY_SAME : DEPLOY_ABSENT;
    policy_clear(&p);
    return found < 0 ? -1 : 0;
}

/* The whole policy again, which its etag guards against others' changes meanwhile. */
static int change_policy(struct deploy *d,
                         struct policy p,
                         const struct deploy_resource *r,
                         bool add,
                         struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *policy = NULL;
    char member[GOOGLE_EMAIL_BYTES + 20] = "serviceAccount:";
    int done = get_policy(d, &p, &policy, e);

    google_email(d, r->name, member + strlen(member));
    if (done == 0 && deploy_is_dry(d)) {
        policy = json_object();
        done = 1;
    }
    json_t *members = members_of(policy, p.role);
    size_t at = find_member(members, member);
    if (done > 0 && add && !members) {
        if (!json_object_get(policy, "bindings"))
            json_object_set_new(policy, "bindings", json_array());
        json_array_append_new(json_object_get(policy, "bindings"),
                              json_pack("{s:s, s:[s]}", "role", p.role, "members", member));
    } else if (done > 0 && add) {
        json_array_append_new(members, json_string(member));
    } else if (done > 0) {
        json_array_remove(members, at);
    }
    if (done > 0)
        done =
            deploy_api(d, &g->rest,
                       (struct deploy_call){.permission = p.set,
                                            .method = p.set_method,
                                            .url = mem_dup(p.set_url),
                                            .body = p.wraps ? json_pack("{s:O}", "policy", policy)
                                                            : json_incref(policy)},
                       NULL, e);
    else if (done == 0 && add)
        done = cloud_fail(e, CLOUD_INVALID, CLOUD_REGION, "there is no %s %s", r->kind, r->parent);
    policy_clear(&p);
    return done;
}

/* ---- its roles ---- */

#define ROLE(NAME, POLICY)                                                                         \
    int google_##NAME##_look(struct deploy *d, const struct deploy_resource *r,                    \
                             const struct deploy_function *f, enum deploy_found *out,              \
                             struct cloud_error *e)                                                \
    {                                                                                              \
        (void)f;                                                                                   \
        return google_project(d, e) < 0 ? -1 : look_policy(d, POLICY, r, out, e);                  \
    }                                                                                              \
    int google_##NAME##_make(struct deploy *d, const struct deploy_resource *r,                    \
                             const struct deploy_function *f, struct cloud_error *e)               \
    {                                                                                              \
        (void)f;                                                                                   \
        return change_policy(d, POLICY, r, true, e);                                               \
    }                                                                                              \
    int google_##NAME##_remove(struct deploy *d, const struct deploy_resource *r,                  \
                               struct cloud_error *e)                                              \
    {                                                                                              \
        return deploy_api_forgive(change_policy(d, POLICY, r, false, e), e);                       \
    }

ROLE(store, bucket_policy(d, r->parent))
ROLE(receiver, project_policy(d, r->parent))
ROLE(invoker, service_policy(d, r->name))
