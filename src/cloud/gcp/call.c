/* Calls of Compute Engine below a project, the operations they begin, and its aggregated lists. All
 * files of the room call them. */
#include "base/mem.h"
#include "cloud/gcp/internal.h"
#include "net/sigv4.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPUTE_URL "https://compute.googleapis.com/compute/v1/"
#define PAGE 500
#define PAGES_MAX 1000
/* An instance is inserted or deleted within a minute or two, unless something is wrong there. */
#define OPERATION_MS ((int64_t)10 * 60 * 1000)
#define POLL_FIRST_S 2.0
#define POLL_MOST_S 15.0

const char *gce_last(const char *url)
{
    const char *slash = url ? strrchr(url, '/') : NULL;

    return slash ? slash + 1 : url ? url : "";
}

const char *gce_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

char *gce_encode(const char *text)
{
    return sigv4_encode(text, false);
}

/* ---- calls ---- */

int gce_ready(struct gce *g, struct cloud_error *e)
{
    struct err why = {0};

    if (g->project)
        return 0;
    if (cloud_rest_login(&g->rest, e) < 0)
        return -1;
    struct http *http = cloud_rest_http(&g->rest, &why);
    if (http)
        g->project = token_google_project(&g->rest.sources, &g->rest.tokens.login, http, &why);
    if (g->project)
        return 0;
    return cloud_fail(e, CLOUD_AUTH, CLOUD_ACCOUNT, "%s", why.text);
}

__attribute__((format(printf, 4, 0))) static int send_at(struct gce *g,
                                                         struct cloud_rest_call *x,
                                                         struct cloud_error *e,
                                                         const char *path_fmt,
                                                         va_list ap)
{
    struct cloud_outside *outside = &g->rest.cloud->options.outside;
    const char *base = cloud_variable(outside, "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE");
    char path[4096];

    if (!base || !*base)
        base = COMPUTE_URL;
    int n = vsnprintf(path, sizeof path, path_fmt, ap);
    if (n < 0 || (size_t)n >= sizeof path)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "%s: the URL is too long", x->name);
    if (gce_ready(g, e) < 0)
        return -1;
    free(x->url);
    x->url = mem_printf("%s%sprojects/%s%s", base, base[strlen(base) - 1] == '/' ? "" : "/",
                        g->project, path);
    return cloud_rest_send(&g->rest, x, e);
}

int gce_send(
    struct gce *g, struct cloud_rest_call *x, struct cloud_error *e, const char *path_fmt, ...)
{
    va_list ap;

    va_start(ap, path_fmt);
    int result = send_at(g, x, e, path_fmt, ap);
    va_end(ap);
    return result;
}

/* ---- operations ---- */

static int poll(struct gce *g,
                const json_t *operation,
                struct cloud_rest_call *x,
                struct cloud_error *e)
{
    const char *zone = gce_last(gce_text(operation, "zone"));
    const char *region = gce_last(gce_text(operation, "region"));
    const char *name = gce_text(operation, "name");

    if (*zone)
        return gce_send(g, x, e, "/zones/%s/operations/%s", zone, name);
    if (*region)
        return gce_send(g, x, e, "/regions/%s/operations/%s", region, name);
    return gce_send(g, x, e, "/global/operations/%s", name);
}

/* The call was taken on: no failure to ask about it says what became of it. */
static int lost(const json_t *operation, struct cloud_error *e)
{
    AUTO_MEM char *text = mem_dup(e->err.text);

    return cloud_fail(e, CLOUD_UNKNOWN, CLOUD_ACCOUNT, "operation %s may or may not succeed: %s",
                      gce_text(operation, "name"), text);
}

int gce_wait(struct gce *g, const json_t *operation, json_t **out, struct cloud_error *e)
{
    struct cloud *c = g->rest.cloud;
    int64_t until_ms = cloud_now_ms(c) + OPERATION_MS;
    double wait_s = POLL_FIRST_S;
    AUTO_JSON json_t *now = json_deep_copy(operation);

    while (strcmp(gce_text(now, "status"), "DONE") != 0) {
        AUTO_CLEAR(cloud_rest_call)
        struct cloud_rest_call x = {.name = "operations.get", .method = "GET"};
        if (cloud_now_ms(c) >= until_ms) {
            cloud_fail(e, CLOUD_UNKNOWN, CLOUD_ACCOUNT, "it is not done after %d minutes",
                       (int)(OPERATION_MS / 60000));
            return lost(operation, e);
        }
        cloud_wait(c, wait_s);
        wait_s = fmin(wait_s * 1.5, POLL_MOST_S);
        if (poll(g, operation, &x, e) == 0) {
            json_decref(now);
            now = json_incref(x.root);
        } else if (e->failure != CLOUD_NOT_FOUND) { /* which may not be visible yet */
            return lost(operation, e);
        }
    }
    *e = (struct cloud_error){0};
    *out = json_incref(now);
    return 0;
}

int gce_change(
    struct gce *g, struct cloud_rest_call *x, struct cloud_error *e, const char *path_fmt, ...)
{
    AUTO_JSON json_t *done = NULL;
    va_list ap;

    va_start(ap, path_fmt);
    int result = send_at(g, x, e, path_fmt, ap);
    va_end(ap);
    if (result < 0 || gce_wait(g, x->root, &done, e) < 0)
        return -1;
    return gce_judge_operation(x, done, e);
}

/* ---- lists ---- */

static bool is_here(const struct gce *g, const struct gce_list *list, const char *scope)
{
    const char *region = g->rest.cloud->options.region;
    size_t n = strlen(region);

    if (list->everywhere)
        return true;
    if (strncmp(scope, "regions/", 8) == 0)
        return strcmp(scope + 8, region) == 0;
    return strncmp(scope, "zones/", 6) == 0 && strncmp(scope + 6, region, n) == 0 &&
           scope[6 + n] == '-';
}

struct reading {
    const struct gce_list *list;
    char lacks[400]; /* scopes that cannot be reached */
};

static void note_lack(struct reading *r, const char *scope)
{
    size_t n = strlen(r->lacks);

    snprintf(r->lacks + n, sizeof r->lacks - n, "%s%s", n ? ", " : "", gce_last(scope));
}

static int read_page(struct gce *g, struct reading *r, const json_t *page, struct cloud_error *e)
{
    const char *scope;
    const json_t *part, *item;
    size_t i;

    json_object_foreach(json_object_get(page, "items"), scope, part)
    {
        const char *warning = gce_text(json_object_get(part, "warning"), "code");
        if (!is_here(g, r->list, scope))
            continue;
        if (*warning && strcmp(warning, "NO_RESULTS_ON_PAGE") != 0)
            note_lack(r, scope);
        json_array_foreach(json_object_get(part, r->list->kind), i, item)
        {
            if (r->list->visit(r->list->context, scope, item, e) < 0)
                return -1;
        }
    }
    json_array_foreach(json_object_get(page, "unreachables"), i, item)
    {
        const char *named = json_string_value(item) ? json_string_value(item) : "";
        const char *zones = strstr(named, "zones/"), *regions = strstr(named, "regions/");
        const char *of = zones ? zones : regions ? regions : named;
        if (is_here(g, r->list, of))
            note_lack(r, of);
    }
    return 0;
}

int gce_each(struct gce *g, const struct gce_list *list, struct cloud_error *e)
{
    AUTO_MEM char *filter = gce_encode(list->filter);
    AUTO_MEM char *name = mem_printf("%s.aggregatedList", list->kind);
    AUTO_MEM char *token = mem_dup("");
    struct reading r = {.list = list};

    for (unsigned page = 0; page < PAGES_MAX; page++) {
        AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x = {.name = name, .method = "GET"};
        AUTO_MEM char *encoded = gce_encode(token);
        if (gce_send(g, &x, e,
                     "/aggregated/%s?filter=%s&maxResults=%d&returnPartialSuccess=true%s%s",
                     list->kind, filter, PAGE, *token ? "&pageToken=" : "", encoded) < 0 ||
            read_page(g, &r, x.root, e) < 0)
            return -1;
        const char *next = gce_text(x.root, "nextPageToken");
        if (!*next && !*r.lacks)
            return 0;
        if (!*next)
            return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "%s: %s cannot be reached", name,
                              r.lacks);
        if (strcmp(next, token) == 0)
            break;
        free(token);
        token = mem_dup(next);
    }
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "%s: the pages of the list do not end",
                      name);
}
