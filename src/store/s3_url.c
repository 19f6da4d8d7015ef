/* Presigned URLs of S3, for downloads and uploads without credentials. The driver `s3` lists the
 * functions. */
#include "base/mem.h"
#include "store/s3.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int s3_presign_get(struct store *store,
                   const char *project,
                   const struct store_place *place,
                   unsigned expires_s,
                   struct store_url *out,
                   struct err *e)
{
    struct s3 *s = store->priv;
    char key[S3_KEY], range[64];
    struct sigv4_pair header = {"range", range};
    bool whole = place->offset == 0 && strcmp(s3_room(place->blob), "packs") != 0;

    if (!whole && place->size == 0)
        return err_set(e, ERR_NOFIT, "empty content has no URL: no range of a pack covers it");
    snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, place->offset,
             place->offset + place->size - 1);
    struct s3_call call = {
        .method = "GET",
        .key = s3_key(s, project, place->blob, key),
        .headers = &header,
        .n_headers = whole ? 0 : 1,
    };
    if (s3_presign(s, &call, expires_s, &out->url, e) < 0)
        return -1;
    out->header = whole ? NULL : mem_printf("Range: %s", range);
    return 0;
}

/* The condition is signed too: who holds the URL can fill the target once, and not change what has
 * been taken over since. */
int s3_presign_put(struct store *store,
                   const char *project,
                   const char *name,
                   unsigned expires_s,
                   struct store_url *out,
                   struct err *e)
{
    struct s3 *s = store->priv;
    char key[S3_KEY];
    struct sigv4_pair header = {"if-none-match", "*"};
    struct s3_call call = {
        .method = "PUT",
        .key = s3_key(s, project, name, key),
        .headers = &header,
        .n_headers = 1,
    };

    if (s3_presign(s, &call, expires_s, &out->url, e) < 0)
        return -1;
    out->header = mem_dup("If-None-Match: *");
    return 0;
}
