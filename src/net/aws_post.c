#include "net/aws_post.h"

#include "base/hash.h"
#include "base/mem.h"
#include "net/sigv4.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *real_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

char *aws_endpoint(const char *service,
                   const char *region,
                   const char *(*variable)(void *context, const char *name),
                   void *context)
{
    char name[64] = "AWS_ENDPOINT_URL_";
    size_t n = strlen(name);

    if (!variable)
        variable = real_variable;
    for (const char *p = service; *p && n + 1 < sizeof name; p++)
        name[n++] = (char)(isalnum((unsigned char)*p) ? toupper((unsigned char)*p) : '_');
    name[n] = '\0';
    const char *url = variable(context, name);
    if (!url || !*url)
        url = variable(context, "AWS_ENDPOINT_URL");
    if (url && *url)
        return mem_printf("%s%s", url, url[strlen(url) - 1] == '/' ? "" : "/");
    if (strcmp(service, "iam") == 0 && strncmp(region, "cn-", 3) != 0)
        return mem_dup("https://iam.amazonaws.com/");
    return mem_printf("https://%s.%s.amazonaws.com%s/", service, region,
                      strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
}

void aws_form_add(struct buf *form, const char *name, const char *value)
{
    AUTO_MEM char *encoded_name = sigv4_encode(name, false);
    AUTO_MEM char *encoded = sigv4_encode(value, false);

    buf_printf(form, "%s%s=%s", form->len ? "&" : "", encoded_name, encoded);
}

void aws_post_headers_clear(struct aws_post_headers *h)
{
    for (size_t i = 0; h->items[i]; i++) {
        OPENSSL_cleanse(h->items[i], strlen(h->items[i]));
        free(h->items[i]);
        h->items[i] = NULL;
    }
}

/* "host[:port]" of a URL. */
static char *host_of(const char *url)
{
    const char *begin = strstr(url, "://");

    begin = begin ? begin + 3 : url;
    return mem_printf("%.*s", (int)strcspn(begin, "/?#"), begin);
}

/* Its path, a new string, and what follows '?', or "". */
static char *path_of(const char *url, const char **query_out)
{
    const char *begin = strstr(url, "://");

    begin = begin ? begin + 3 : url;
    begin += strcspn(begin, "/?#");
    size_t n = strcspn(begin, "?#");
    *query_out = begin[n] == '?' ? begin + n + 1 : "";
    return n ? mem_printf("%.*s", (int)n, begin) : mem_dup("/");
}

static const char *content_type_of(const struct aws_post *p)
{
    if (p->content_type)
        return p->content_type;
    return p->target ? "application/x-amz-json-1.1"
                     : "application/x-www-form-urlencoded; charset=utf-8";
}

int aws_post_sign(const struct aws_post *p,
                  const struct credentials *credentials,
                  int64_t epoch_s,
                  struct aws_post_headers *out,
                  struct err *e)
{
    AUTO_CLEAR(sigv4_signature) struct sigv4_signature signature = {0};
    const char *query, *content_type = content_type_of(p);
    AUTO_MEM char *host = host_of(p->url), *path = path_of(p->url, &query);
    const struct sha256_digest digest = sha256_of(p->body, strlen(p->body));
    char payload[SHA256_HEX];
    struct sigv4_pair headers[4];
    size_t n = 0, signed_headers;

    *out = (struct aws_post_headers){0};
    headers[n++] = (struct sigv4_pair){"host", host};
    if (*content_type)
        headers[n++] = (struct sigv4_pair){"content-type", content_type};
    if (p->target)
        headers[n++] = (struct sigv4_pair){"x-amz-target", p->target};
    sha256_text(&digest, payload);
    if (strcmp(p->service, "s3") == 0)
        headers[n++] = (struct sigv4_pair){"x-amz-content-sha256", payload};
    signed_headers = n;
    const struct sigv4_request request = {.method = p->method ? p->method : "POST",
                                          .path = path,
                                          .query = query,
                                          .headers = headers,
                                          .n_headers = signed_headers,
                                          .payload = payload};
    const struct sigv4_scope scope = {
        .credentials = credentials, .region = p->region, .service = p->service, .epoch_s = epoch_s};
    if (sigv4_sign(&request, &scope, &signature, e) < 0)
        return -1;
    for (n = 0; n < signed_headers; n++)
        out->items[n] = mem_printf("%s: %s", headers[n].name, headers[n].value);
    out->items[n++] = mem_printf("x-amz-date: %s", signature.date);
    out->items[n++] = mem_printf("Authorization: %s", signature.authorization);
    if (credentials->token.hidden)
        out->items[n++] = mem_printf("x-amz-security-token: %s", credentials->token.hidden);
    return 0;
}
