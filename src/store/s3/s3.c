#include "store/s3/s3.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The condition of a write is signed too: who holds the URL can fill the target once, and not
 * change what has been taken over since. */
static int presign(struct store *store,
                   const struct store_grant *grant,
                   struct store_url *out,
                   struct err *e)
{
    struct remote *r = store->priv;
    const struct store_place *place = &grant->place;
    char key[REMOTE_KEY], range[64];
    bool whole = place->offset == 0 && strcmp(remote_room(place->blob), "packs") != 0;
    struct sigv4_pair header = {"range", range};

    if (!grant->writes && !whole && place->size == 0)
        return err_set(e, ERR_NOFIT, "empty content has no URL: no range of a pack covers it");
    snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, place->offset,
             place->offset + place->size - 1);
    if (grant->writes)
        header = (struct sigv4_pair){"if-none-match", "*"};
    struct remote_call call = {
        .method = grant->writes ? "PUT" : "GET",
        .key = remote_key(r, grant->project, place->blob, key),
        .headers = &header,
        .n_headers = grant->writes || !whole,
    };
    if (s3_presign(r, &call, grant->expires_s, &out->url, e) < 0)
        return -1;
    if (grant->writes)
        out->header = mem_dup("If-None-Match: *");
    else
        out->header = whole ? NULL : mem_printf("Range: %s", range);
    return 0;
}

/* Parts are read from the file as they are sent: their memory is libcurl's buffers. */
#define PARTS_AT_ONCE 8

static const struct remote_service service = {
    .noun = "bucket",
    .is_hashed = true,
    .open = s3_open,
    .close = s3_close,
    .prepare = s3_prepare,
    .judge = s3_judge,
    .put = s3_put,
    .get = s3_get,
    .read_etag = remote_read_etag,
    .head = remote_head,
    .remove = s3_remove,
    .make_bucket = s3_make_bucket,
    .page = s3_page,
    .abort_key = s3_abort_key,
    .parts_at_once = PARTS_AT_ONCE,
    .upload_begin = s3_upload_begin,
    .upload_part = s3_upload_part,
    .upload_end = s3_upload_end,
    .upload_abort = s3_upload_abort,
};

const struct store_driver store_s3_driver = {
    .name = "s3",
    .scheme = "s3://",
    .form = "s3://BUCKET/PREFIX",
    .service = &service,
    .check_url = s3_check_url,
    .presign = presign,
    REMOTE_ENTRIES,
};
