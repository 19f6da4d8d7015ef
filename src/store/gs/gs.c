#include "store/gs/gs.h"

#include <stdio.h>

static void read_generation(const struct remote_answer *a, char out[static STORE_ETAG])
{
    const char *generation = http_answer_header(&a->http, "x-goog-generation");

    snprintf(out, STORE_ETAG, "%s", generation ? generation : "");
}

static const struct remote_service service = {
    .noun = "bucket",
    .open = gs_open,
    .close = gs_close,
    .prepare = gs_prepare,
    .judge = gs_judge,
    .put = gs_put,
    .get = gs_get,
    .read_etag = read_generation,
    .head = gs_head,
    .remove = gs_remove,
    .make_bucket = gs_make_bucket,
    .page = gs_page,
    .parts_at_once = 1,
    .upload_begin = gs_upload_begin,
    .upload_part = gs_upload_part,
    .upload_end = gs_upload_end,
    .upload_abort = gs_upload_abort,
};

const struct store_driver store_gs_driver = {
    .name = "gs",
    .scheme = "gs://",
    .form = "gs://BUCKET/PREFIX",
    .service = &service,
    .check_url = gs_check_url,
    REMOTE_ENTRIES,
};
