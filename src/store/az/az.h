/* az: what Azure's Blob service has of its own: addresses, SharedKey, SAS and tokens, blocks. For
 * the files of this driver. */
#ifndef STORE_AZ_AZ_H
#define STORE_AZ_AZ_H

#include "net/token.h"
#include "store/remote.h"

struct az {
    char *account;
    char *base; /* what stands in URLs before the container: "https://ACCOUNT.blob.core..." */

    /* The rest is guarded by the lock of struct remote. The key, decoded, or the SAS, or a token.
     */
    bool has_looked;
    unsigned char *key;
    size_t key_bytes;
    struct secret sas;
    struct token_cache tokens;
    int64_t skew_ms; /* what the server's clock is ahead, once that mattered */
};

/* ---- addresses (az_address.c) ---- */

int az_check_url(const char *url, struct err *e);
int az_open(struct remote *r, const struct store_settings *settings, struct err *e);
void az_close(struct remote *r);

/* The value of a member of a connection string ("AccountKey"); NULL = none. New string. */
char *az_member(const char *connection, const char *name);
/* The path of a URL for this key, NULL = the container: from its first '/' on. New string. */
char *az_path(const struct remote *r, const char *key);

/* ---- signatures (az_sign.c) ---- */

/* What SharedKey signs. path: of the URL, encoded, from its first '/' on; headers: all that are
 * sent, names in lower case. New string. */
char *az_string_to_sign(const char *account,
                        const struct remote_call *c,
                        const char *path,
                        const struct sigv4_pair *headers,
                        size_t n_headers);
/* base64 of HMAC-SHA256. New string. */
char *az_hmac(const unsigned char *key, size_t key_bytes, const char *text);
/* The query of a service SAS for one blob until then ("2024-03-02T00:00:00Z"), without '?'.
 * permissions: "r", "c"; only_https as the endpoint has it. New string. */
char *az_sas(const struct az *a,
             const char *container,
             const char *blob,
             const char *permissions,
             const char *until,
             bool only_https);
/* With the lock held: finds key, SAS or login, once. */
int az_find_keys(struct remote *r, struct err *e);
remote_preparer az_prepare;

/* ---- judging answers (az_error.c) ---- */

remote_judge az_judge;

/* ---- lists (az_object.c) ---- */

/* The items of a page, and where the next begins. */
int az_read_page(struct remote_page *p, const char *body, size_t n, struct err *e);

/* ---- members of its struct remote_service ---- */

remote_putter az_put;
remote_getter az_get;
remote_remover az_remove;
remote_maker az_make_bucket;
remote_pager az_page;
remote_upload_step az_upload_begin;
remote_part_sender az_upload_part;
remote_upload_step az_upload_end;
remote_upload_quitter az_upload_abort;

#endif
