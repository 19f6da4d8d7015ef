/* Lists objects, projects and unfinished uploads of a bucket, page by page. The tables of the
 * drivers list the functions; services fetch the pages. */
#include "base/mem.h"
#include "base/time.h"
#include "store/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A server that always has one more page would keep us for ever. */
#define PAGES_MAX 1000000

int remote_page_item(struct remote_page *p, struct err *e)
{
    if (p->each(p, e) < 0)
        return -1;
    p->key[0] = p->upload[0] = p->etag[0] = '\0';
    p->size = 0;
    p->modified_ms = 0;
    return 0;
}

int remote_read_size(struct remote_page *p, const char *text, struct err *e)
{
    char *end;

    errno = 0;
    p->size = strtoull(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9' || p->size > INT64_MAX)
        return err_set(e, ERR_IO, "the size of %.200s in the list is not a number", p->key);
    return 0;
}

int remote_page_send(struct remote *r,
                     struct remote_page *p,
                     const struct remote_call *c,
                     struct remote_answer *out,
                     struct err *e)
{
    int result = remote_send(r, c, out, e);

    p->requests += out->tries;
    if (result < 0)
        return -1;
    const char *date = http_answer_header(&out->http, "date");
    snprintf(p->date, sizeof p->date, "%s", date ? date : "");
    p->next[0] = p->next_upload[0] = '\0';
    return 0;
}

int remote_each_page(struct remote *r, struct remote_page *p, struct err *e)
{
    p->next[0] = p->next_upload[0] = '\0';
    for (size_t pages = 0; pages < PAGES_MAX; pages++) {
        AUTO_MEM char *before = mem_printf("%s\n%s", p->next, p->next_upload);
        if (r->service->page(r, p, e) < 0)
            return -1;
        if (!*p->next)
            return 0;
        AUTO_MEM char *after = mem_printf("%s\n%s", p->next, p->next_upload);
        if (strcmp(before, after) == 0)
            return err_set(e, ERR_IO, "list %s: the server gives one page again and again",
                           r->shown);
    }
    return err_set(e, ERR_IO, "list %s: the list does not end", r->shown);
}

static struct remote_page *page_new(int (*each)(struct remote_page *p, struct err *e),
                                    void *context)
{
    struct remote_page *p = mem_zero(1, sizeof *p);

    p->each = each;
    p->context = context;
    return p;
}

/* ---- projects ---- */

/* The key is the prefix of the store, a name, and a slash. */
static int see_project(struct remote_page *p, struct err *e)
{
    const char *name = p->key + p->prefix_bytes;
    size_t n = strlen(p->key);

    if (n <= p->prefix_bytes)
        return 0;
    p->key[n - 1] = '\0';
    return store_check_project(name, NULL) < 0 ? 0 : p->visit_project(p->context, name, e);
}

int remote_projects(struct store *store, store_visit_project *visit, void *context, struct err *e)
{
    struct remote *r = store->priv;
    AUTO_MEM char *prefix = mem_printf("%s%s", r->prefix, *r->prefix ? "/" : "");
    AUTO_MEM struct remote_page *p = page_new(see_project, context);

    p->visit_project = visit;
    p->prefix = prefix;
    p->delimiter = "/";
    p->prefix_bytes = strlen(prefix);
    return remote_each_page(r, p, e);
}

/* ---- the blobs of a project ---- */

/* The name of the blob whose key this is, from the room on ("packs/NAME"), or NULL: others may keep
 * things here too. */
static const char *blob_of(const char *key)
{
    const char *slash = strchr(key, '/');

    if (!slash || !store_name_good(slash + 1))
        return NULL;
    const char *room = remote_room(slash + 1);
    size_t n = (size_t)(slash - key);
    return strlen(room) == n && strncmp(room, key, n) == 0 ? slash + 1 : NULL;
}

static int see_blob(struct remote_page *p, struct err *e)
{
    const char *name = strlen(p->key) > p->prefix_bytes ? blob_of(p->key + p->prefix_bytes) : NULL;

    if (!name)
        return 0;
    struct store_blob blob = {
        .name = name,
        .size = p->size,
        .session = store_name_session(name),
        .unfinished = p->unfinished,
    };
    return p->visit_blob(p->context, &blob, e);
}

int remote_list(
    struct store *store, const char *project, store_visit_blob *visit, void *context, struct err *e)
{
    struct remote *r = store->priv;
    char prefix[REMOTE_KEY];
    AUTO_MEM struct remote_page *p = page_new(see_blob, context);

    p->visit_blob = visit;
    p->prefix = remote_key(r, project, NULL, prefix);
    p->prefix_bytes = strlen(prefix);
    if (remote_each_page(r, p, e) < 0)
        return -1;
    p->unfinished = true;
    return r->service->abort_key ? remote_each_page(r, p, e) : 0;
}

/* ---- objects under keys, and those of other programs ---- */

static int see_object(struct remote_page *p, struct err *e)
{
    size_t quoted = p->etag[0] == '"', n = strcspn(p->etag + quoted, "\"");
    const char *key = p->key + p->prefix_bytes;

    p->etag[quoted + n] = '\0';
    if (!p->foreign &&
        (strlen(p->key) <= p->prefix_bytes || store_keyed_check(key, NULL) < 0 || n >= STORE_ETAG))
        return 0;
    const struct store_keyed o = {
        .key = key,
        .size = p->size,
        .etag = p->etag + quoted,
        .modified_ms = p->modified_ms,
    };
    return p->keyed->visit(p->keyed->context, &o, e);
}

int remote_keyed_list(struct store *store, struct store_keyed_list *list, struct err *e)
{
    struct remote *r = store->priv;
    AUTO_MEM char *all = mem_printf("%s%s%s", r->prefix, *r->prefix ? "/" : "", list->prefix);
    AUTO_MEM struct remote_page *p = page_new(see_object, NULL);

    p->keyed = list;
    p->prefix = all;
    p->prefix_bytes = strlen(all) - strlen(list->prefix);
    int result = remote_each_page(r, p, e);
    list->tally->lists += p->requests;
    list->now_ms = time_from_http(p->date);
    return result;
}

int remote_foreign_list(struct store *store, const struct store_keyed_list *list, struct err *e)
{
    AUTO_MEM struct remote_page *p = page_new(see_object, NULL);

    p->keyed = list;
    p->prefix = list->prefix;
    p->foreign = true;
    return remote_each_page(store->priv, p, e);
}
