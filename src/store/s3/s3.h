/* s3: what S3 and servers like it have of their own: addresses, signatures, regions, XML. For the
 * files of this driver. */
#ifndef STORE_S3_S3_H
#define STORE_S3_S3_H

#include "net/credentials.h"
#include "net/sigv4.h"
#include "store/remote.h"

struct s3 {
    bool path_style;
    /* The rest is guarded by the lock of struct remote. */
    struct credentials credentials;
    int64_t looked_ms; /* when credentials were last looked for */
    char *region;
};

/* ---- addresses (s3_address.c) ---- */

int s3_check_url(const char *url, struct err *e);
int s3_open(struct remote *r, const struct store_settings *settings, struct err *e);
void s3_close(struct remote *r);
/* What stands in a URL for this key (NULL = the bucket): the host and the encoded path. */
struct s3_target {
    char *host, *path;
};
void s3_target_clear(struct s3_target *t);
void s3_target_init(struct s3_target *t,
                    const struct remote *r,
                    const char *region,
                    const char *key);

/* ---- requests (s3_sign.c) ---- */

remote_preparer s3_prepare;
/* A URL that does this for expires_s seconds. */
int s3_presign(
    struct remote *r, const struct remote_call *c, unsigned expires_s, char **out, struct err *e);
/* New string; may have to look for credentials, which name it. */
int s3_region(struct remote *r, char **out, struct err *e);
/* The bucket lies there. */
void s3_move_to(struct remote *r, const char *region);
void s3_forget_keys(struct remote *r);

/* ---- judging answers (s3_error.c) ---- */

remote_judge s3_judge;

/* ---- members of its struct remote_service ---- */

remote_putter s3_put;
remote_getter s3_get;
remote_remover s3_remove;
remote_maker s3_make_bucket;
remote_pager s3_page;
remote_aborter s3_abort_key;
remote_upload_step s3_upload_begin;
remote_part_sender s3_upload_part;
remote_upload_step s3_upload_end;
remote_upload_quitter s3_upload_abort;

#endif
