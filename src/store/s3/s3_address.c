/* Where an S3 store is: parses s3://BUCKET/PREFIX and the endpoint, and makes URLs. The driver and
 * s3_sign.c call it. */
#include "base/mem.h"
#include "store/s3/s3.h"

#include <stdlib.h>
#include <string.h>

static const char scheme[] = "s3://";
static const char bucket_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";

int s3_check_url(const char *url, struct err *e)
{
    const char *bucket = url + strlen(scheme);
    size_t n = strcspn(bucket, "/");

    if (!remote_good_bucket(bucket, n, bucket_chars))
        return err_set(e, ERR_USAGE,
                       "\"%.100s\": a bucket's name has 3 to 63 lower-case letters, digits, '.' "
                       "and '-', as in s3://my-bucket/lake",
                       url);
    return bucket[n] ? remote_check_prefix(url, bucket + n + 1, e) : 0;
}

int s3_open(struct remote *r, const struct store_settings *settings, struct err *e)
{
    struct s3 *s = r->own = mem_zero(1, sizeof *s);
    const char *bucket = settings->url + strlen(scheme);
    size_t n = strcspn(bucket, "/");

    r->bucket = mem_printf("%.*s", (int)n, bucket);
    r->shown = mem_printf("s3://%s", r->bucket);
    remote_set_prefix(r, bucket[n] ? bucket + n + 1 : "");
    if (settings->endpoint && remote_read_endpoint(r, settings->endpoint, NULL, e) < 0)
        return -1;
    if (!settings->endpoint)
        r->scheme = mem_dup("https");
    s->path_style = settings->path_style > 0;
    /* The certificate of *.s3.REGION.amazonaws.com does not cover names with more dots. */
    if (settings->path_style < 0)
        s->path_style = settings->endpoint || strchr(r->bucket, '.');
    return 0;
}

void s3_close(struct remote *r)
{
    struct s3 *s = r->own;

    if (!s)
        return;
    credentials_clear(&s->credentials);
    free(s->region);
    free(s);
}

void s3_target_clear(struct s3_target *t)
{
    free(t->host);
    free(t->path);
    *t = (struct s3_target){0};
}

void s3_target_init(struct s3_target *t,
                    const struct remote *r,
                    const char *region,
                    const char *key)
{
    const struct s3 *s = r->own;
    /* Amazon's Chinese regions have a domain of their own. */
    const char *suffix = strncmp(region, "cn-", 3) == 0 ? ".cn" : "";
    AUTO_MEM char *base = r->authority ? remote_plain_authority(r)
                                       : mem_printf("s3.%s.amazonaws.com%s", region, suffix);
    AUTO_MEM char *encoded = sigv4_encode(key ? key : "", true);

    if (s->path_style) {
        t->host = mem_dup(base);
        t->path = mem_printf("/%s%s%s", r->bucket, key ? "/" : "", encoded);
    } else {
        t->host = mem_printf("%s.%s", r->bucket, base);
        t->path = mem_printf("/%s", encoded);
    }
}
