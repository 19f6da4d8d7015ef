#include "store/s3.h"

#include "base/mem.h"

#include <stdlib.h>

static int open_bucket(struct store *store, struct err *e)
{
    struct s3 *s = mem_zero(1, sizeof *s);

    store->priv = s;
    s->store = store;
    pthread_mutex_init(&s->lock, NULL);
    return s3_read_address(s, &store->settings, e);
}

static void close_bucket(struct store *store)
{
    struct s3 *s = store->priv;

    if (!s)
        return;
    http_free(s->http);
    credentials_clear(&s->credentials);
    pthread_mutex_destroy(&s->lock);
    free(s->region);
    free(s->bucket);
    free(s->prefix);
    free(s->scheme);
    free(s->authority);
    free(s);
    store->priv = NULL;
}

static int read_range(struct store *store,
                      const char *project,
                      const char *blob,
                      uint64_t offset,
                      void *bytes,
                      size_t n,
                      struct err *e)
{
    struct s3 *s = store->priv;
    char key[S3_KEY];

    return s3_get_range(s, s3_key(s, project, blob, key), offset, bytes, n, e);
}

static int remove_blob(struct store *store,
                       const char *project,
                       const struct store_blob *blob,
                       bool (*still)(void *context, const char *blob_name),
                       void *context,
                       struct err *e)
{
    struct s3 *s = store->priv;
    char key[S3_KEY];

    /* Nothing is appended to an object, so there is no lock to take first. */
    if (!still(context, blob->name))
        return 0;
    s3_key(s, project, blob->name, key);
    return blob->unfinished ? s3_abort_uploads(s, key, e) : s3_delete(s, key, e);
}

static int blob_size(
    struct store *store, const char *project, const char *blob, uint64_t *out, struct err *e)
{
    struct s3 *s = store->priv;
    char key[S3_KEY];

    return s3_head(s, s3_key(s, project, blob, key), out, e);
}

const struct store_driver store_s3_driver = {
    .name = "s3",
    .scheme = "s3://",
    .form = "s3://BUCKET/PREFIX",
    /* A request costs about what this many bytes do. */
    .gap_bytes = (size_t)256 << 10,
    .read_bytes = (size_t)4 << 20,
    .copy_bytes = (size_t)4 << 20,
    .in_flight = 16,
    .check_url = s3_check_url,
    .open = open_bucket,
    .close = close_bucket,
    .probe = s3_probe,
    .writer_open = s3_writer_open,
    .writer_close = s3_writer_close,
    .write_small = s3_write_small,
    .write_large = s3_write_large,
    .flush = s3_flush,
    .read = read_range,
    .projects = s3_projects,
    .list = s3_list,
    .remove = remove_blob,
    .size = blob_size,
    .presign_get = s3_presign_get,
    .presign_put = s3_presign_put,
    .keyed_list = s3_keyed_list,
    .keyed_put = s3_keyed_put,
    .keyed_get = s3_keyed_get,
    .keyed_delete = s3_keyed_delete,
};
