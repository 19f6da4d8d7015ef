#include "store/remote.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int remote_open(struct store *store, struct err *e)
{
    struct remote *r = mem_zero(1, sizeof *r);

    store->priv = r;
    r->store = store;
    r->service = store->driver->service;
    pthread_mutex_init(&r->lock, NULL);
    int result = r->service->open(r, &store->settings, e);
    store->bucket = r->bucket;
    store->prefix = r->prefix;
    return result;
}

void remote_close(struct store *store)
{
    struct remote *r = store->priv;

    if (!r)
        return;
    r->service->close(r);
    http_free(r->http);
    pthread_mutex_destroy(&r->lock);
    free(r->bucket);
    free(r->prefix);
    free(r->shown);
    free(r->scheme);
    free(r->authority);
    free(r);
    store->priv = NULL;
}

int remote_read(struct store *store,
                const char *project,
                const struct store_place *range,
                void *bytes,
                struct err *e)
{
    struct remote *r = store->priv;
    char key[REMOTE_KEY];

    remote_key(r, project, range->blob, key);
    return remote_get_range(r, key, range->offset, bytes, (size_t)range->size, e);
}

int remote_remove(struct store *store,
                  const char *project,
                  const struct store_blob *blob,
                  bool (*still)(void *context, const char *blob_name),
                  void *context,
                  struct err *e)
{
    struct remote *r = store->priv;
    char key[REMOTE_KEY];

    /* Nothing is appended to an object, so there is no lock to take first. */
    if (!still(context, blob->name))
        return 0;
    remote_key(r, project, blob->name, key);
    if (!blob->unfinished)
        return remote_delete(r, key, e);
    return r->service->abort_key ? r->service->abort_key(r, key, e) : 0;
}

int remote_size(
    struct store *store, const char *project, const char *blob, uint64_t *out, struct err *e)
{
    struct remote *r = store->priv;
    char key[REMOTE_KEY];

    return r->service->head(r, remote_key(r, project, blob, key), out, e);
}

int remote_foreign_read(
    struct store *store, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    return remote_get_range(store->priv, key, offset, bytes, n, e);
}
