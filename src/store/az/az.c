#include "store/az/az.h"

#include "base/mem.h"
#include "base/time.h"

#include <string.h>

/* Blocks are read from the file as they are sent: their memory is libcurl's buffers. */
#define PARTS_AT_ONCE 8

/* An account's key signs URLs for whole blobs: no signature covers a range. Who holds one for
 * writing can fill the target once: "create" replaces nothing. */
static int presign(struct store *store,
                   const struct store_grant *grant,
                   struct store_url *out,
                   struct err *e)
{
    struct remote *r = store->priv;
    const struct az *a = r->own;
    const struct store_place *place = &grant->place;
    char key[REMOTE_KEY], until[32];

    pthread_mutex_lock(&r->lock);
    int found = az_find_keys(r, e);
    pthread_mutex_unlock(&r->lock);
    if (found < 0)
        return -1;
    if (!a->key)
        return err_set(e, ERR_NOFIT,
                       "%s: URLs for other programs are signed with the account's key: set "
                       "AZURE_STORAGE_KEY",
                       r->shown);
    if (!grant->writes && (place->offset || strcmp(remote_room(place->blob), "packs") == 0))
        return err_set(e, ERR_NOFIT,
                       "%s: the content lies in a pack with others, and Azure signs no URLs for "
                       "parts of a blob",
                       r->shown);
    remote_key(r, grant->project, place->blob, key);
    time_iso(time_epoch_ms() + a->skew_ms + (int64_t)grant->expires_s * 1000, until);
    AUTO_MEM char *sas = az_sas(a, r->bucket, key, grant->writes ? "c" : "r", until,
                                strcmp(r->scheme, "https") == 0);
    AUTO_MEM char *path = az_path(r, key);
    const char *host = strstr(a->base, "://") + 3;
    out->url =
        mem_printf("%.*s%s?%s", (int)(host + strcspn(host, "/") - a->base), a->base, path, sas);
    out->header = grant->writes ? mem_dup("x-ms-blob-type: BlockBlob") : NULL;
    return 0;
}

static const struct remote_service service = {
    .noun = "container",
    .open = az_open,
    .close = az_close,
    .prepare = az_prepare,
    .judge = az_judge,
    .put = az_put,
    .get = az_get,
    .read_etag = remote_read_etag,
    .head = remote_head,
    .remove = az_remove,
    .make_bucket = az_make_bucket,
    .page = az_page,
    .parts_at_once = PARTS_AT_ONCE,
    .upload_begin = az_upload_begin,
    .upload_part = az_upload_part,
    .upload_end = az_upload_end,
    .upload_abort = az_upload_abort,
};

const struct store_driver store_az_driver = {
    .name = "az",
    .scheme = "az://",
    .form = "az://ACCOUNT/CONTAINER/PREFIX",
    .service = &service,
    .check_url = az_check_url,
    .presign = presign,
    REMOTE_ENTRIES,
};
