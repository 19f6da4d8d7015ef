/* gs: what Google's Cloud Storage has of its own: addresses, tokens, generations, resumable
 * uploads, JSON. For the files of this driver. */
#ifndef STORE_GS_GS_H
#define STORE_GS_GS_H

#include "net/token.h"
#include "store/remote.h"

struct gs {
    char *base;        /* "https://storage.googleapis.com" */
    bool is_anonymous; /* an emulator, without credentials */

    /* The rest is guarded by the lock of struct remote. */
    struct token_cache tokens;
};

/* ---- addresses and requests (gs_request.c) ---- */

int gs_check_url(const char *url, struct err *e);
int gs_open(struct remote *r, const struct store_settings *settings, struct err *e);
void gs_close(struct remote *r);
/* The path of an object's metadata; of the list of objects when key is NULL. New string. */
char *gs_path(const struct remote *r, const char *key);
/* The path by which objects are uploaded. New string. */
char *gs_upload_path(const struct remote *r);
remote_preparer gs_prepare;

/* ---- judging answers (gs_error.c) ---- */

remote_judge gs_judge;

/* ---- objects (gs_object.c) ---- */

/* What Google says of an object. */
struct gs_object {
    char generation[32];
    char crc32c[16]; /* base64; "" = not said */
    uint64_t size;
};
/* ERR_IO for what is no object's JSON. */
int gs_read_object(const char *body, size_t n, struct gs_object *out, struct err *e);
/* The items of a page, and where the next begins. */
int gs_read_page(struct remote_page *p, const char *body, size_t n, struct err *e);
/* Whether an object that was written is what was sent; asks for it when the answer did not say, and
 * deletes one that was damaged on the way: ERR_RETRY. */
int gs_verify(struct remote *r,
              const char *key,
              const struct remote_answer *a,
              uint32_t crc,
              struct gs_object *out,
              struct err *e);
void gs_add_crc(void *crc, const void *bytes, size_t n);

/* ---- members of its struct remote_service ---- */

remote_putter gs_put;
remote_getter gs_get;
remote_sizer gs_head;
remote_remover gs_remove;
remote_maker gs_make_bucket;
remote_pager gs_page;
remote_upload_step gs_upload_begin;
remote_part_sender gs_upload_part;
remote_upload_step gs_upload_end;
remote_upload_quitter gs_upload_abort;

#endif
