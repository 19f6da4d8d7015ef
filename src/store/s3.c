#include "store/s3.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_bucket(struct store *store, struct err *e)
{
    struct s3 *s = mem_zero(1, sizeof *s);

    store->priv = s;
    s->store = store;
    pthread_mutex_init(&s->lock, NULL);
    int result = s3_read_address(s, &store->settings, e);
    store->bucket = s->bucket;
    store->prefix = s->prefix;
    return result;
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
                      const struct store_place *range,
                      void *bytes,
                      struct err *e)
{
    struct s3 *s = store->priv;
    char key[S3_KEY];

    s3_key(s, project, range->blob, key);
    return s3_get_range(s, key, range->offset, bytes, (size_t)range->size, e);
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

/* The condition of a write is signed too: who holds the URL can fill the target once, and not
 * change what has been taken over since. */
static int presign(struct store *store,
                   const struct store_grant *grant,
                   struct store_url *out,
                   struct err *e)
{
    struct s3 *s = store->priv;
    const struct store_place *place = &grant->place;
    char key[S3_KEY], range[64];
    bool whole = place->offset == 0 && strcmp(s3_room(place->blob), "packs") != 0;
    struct sigv4_pair header = {"range", range};

    if (!grant->writes && !whole && place->size == 0)
        return err_set(e, ERR_NOFIT, "empty content has no URL: no range of a pack covers it");
    snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, place->offset,
             place->offset + place->size - 1);
    if (grant->writes)
        header = (struct sigv4_pair){"if-none-match", "*"};
    struct s3_call call = {
        .method = grant->writes ? "PUT" : "GET",
        .key = s3_key(s, grant->project, place->blob, key),
        .headers = &header,
        .n_headers = grant->writes || !whole,
    };
    if (s3_presign(s, &call, grant->expires_s, &out->url, e) < 0)
        return -1;
    if (grant->writes)
        out->header = mem_dup("If-None-Match: *");
    else
        out->header = whole ? NULL : mem_printf("Range: %s", range);
    return 0;
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
    .presign = presign,
    .keyed_list = s3_keyed_list,
    .keyed_put = s3_keyed_put,
    .keyed_get = s3_keyed_get,
    .keyed_delete = s3_keyed_delete,
};
