#include "net/metadata.h"

#include "base/json.h"
#include "base/mem.h"
#include "net/internal.h"
#include "net/sigv4.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES 2
#define WAIT_S 0.1
#define ANSWER_BYTES_MAX ((size_t)16 << 10)
#define ROLE_MAX 128
#define TOKEN_MAX 1024

static const char token_ttl[] = "X-aws-ec2-metadata-token-ttl-seconds: 300";
static const char roles_path[] = "/latest/meta-data/iam/security-credentials/";

/* header: one, or NULL. */
static int ask_within(struct http *h,
                      const char *method,
                      const char *url,
                      const char *header,
                      double timeout_s,
                      struct http_answer *out,
                      struct err *e)
{
    const char *const headers[] = {header, NULL};
    const struct http_request r = {.method = method,
                                   .url = url,
                                   .headers = headers,
                                   .is_link_local = true,
                                   .max_answer_bytes = ANSWER_BYTES_MAX,
                                   .timeout_s = timeout_s};

    for (unsigned i = 1;; i++) {
        struct err why = {0};
        int sent = http_send(h, &r, out, &why);
        if (sent == 0 && (out->status < 500 || i == TRIES))
            return 0;
        if (sent < 0 && (why.kind != ERR_RETRY || i == TRIES))
            return err_set(e, why.kind, "%s", why.text);
        net_wipe_answer(out);
        http_wait(h, i + 1, WAIT_S, WAIT_S);
    }
}

static int ask(struct http *h,
               const char *method,
               const char *url,
               const char *header,
               struct http_answer *out,
               struct err *e)
{
    return ask_within(h, method, url, header, METADATA_TIMEOUT_S, out, e);
}

int net_ask_near(struct http *h,
                 const char *url,
                 const char *header,
                 double timeout_s,
                 struct http_answer *out,
                 struct err *e)
{
    return ask_within(h, "GET", url, header, timeout_s, out, e);
}

int64_t metadata_date_ms(const char *text)
{
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);

    if (end && *end == '.' && end[1] >= '0' && end[1] <= '9')
        end += 1 + strspn(end + 1, "0123456789");
    if (!end || (strcmp(end, "Z") != 0 && strcmp(end, "+00:00") != 0) || utc.tm_year > 9999 - 1900)
        return -1;
    return (int64_t)timegm(&utc) * 1000;
}

/* what: whose answer it is, for messages, which never quote it. */
static int read_keys(const char *what, const char *body, struct credentials *out, struct err *e)
{
    AUTO_JSON json_t *root = json_loads(body, 0, NULL);
    const char *code = NULL, *key_id = NULL, *secret = NULL, *token = NULL, *expiration = NULL;

    if (!root ||
        json_unpack(root, "{s?s,s?s,s?s,s?s,s?s}", "Code", &code, "AccessKeyId", &key_id,
                    "SecretAccessKey", &secret, "Token", &token, "Expiration", &expiration) < 0)
        return err_set(e, ERR_IO, "%s: the answer is not the JSON with keys that it should be",
                       what);
    if (code && strcmp(code, "Success") != 0)
        return err_set(e, ERR_DENIED, "%s: it has no keys and says %.40s", what, code);
    if (!key_id || !secret || !*key_id || !*secret)
        return err_set(e, ERR_IO, "%s: the answer lacks AccessKeyId or SecretAccessKey", what);
    int64_t expires_ms = expiration ? metadata_date_ms(expiration) : 0;
    if (expires_ms < 0)
        return err_set(e, ERR_IO, "%s: the answer's Expiration is not a date", what);
    out->key_id = mem_dup(key_id);
    out->secret.hidden = mem_dup(secret);
    out->token.hidden = token && *token ? mem_dup(token) : NULL;
    out->expires_ms = expires_ms;
    return 0;
}

static int judge(const char *what, int status, struct err *e)
{
    if (status == 200)
        return 0;
    return err_set(e, status >= 500 ? ERR_RETRY : ERR_DENIED, "%s: the server answers %d", what,
                   status);
}

static int take_keys(const char *what,
                     struct http_answer *a,
                     struct credentials *out,
                     struct err *e)
{
    int result = judge(what, a->status, e) < 0 ? -1 : read_keys(what, a->body, out, e);

    net_wipe_answer(a);
    return result;
}

int metadata_container(struct http *h,
                       const char *url,
                       const char *authorization,
                       struct credentials *out,
                       struct err *e)
{
    static const char what[] = "the container's credentials service";
    struct http_answer a;
    char *header = authorization ? mem_printf("Authorization: %s", authorization) : NULL;
    int result = ask(h, "GET", url, header, &a, e);

    if (header)
        OPENSSL_cleanse(header, strlen(header));
    free(header);
    out->origin = "container";
    return result < 0 ? err_wrap(e, "%s", what) : take_keys(what, &a, out, e);
}

/* The header with the token for all further questions, new string; NULL: why_not says why. */
static char *get_token(struct http *h, const char *endpoint, struct err *why_not)
{
    AUTO_MEM char *url = mem_printf("%s/latest/api/token", endpoint);
    struct http_answer a;
    char *header = NULL;

    if (ask(h, "PUT", url, token_ttl, &a, why_not) < 0)
        return NULL;
    size_t len = strcspn(a.body, "\r\n");
    if (a.status != 200)
        err_set(why_not, ERR_DENIED, "it answers %d to the request for an IMDSv2 token", a.status);
    else if (len == 0 || len > TOKEN_MAX || a.body[len + strspn(a.body + len, "\r\n")])
        err_set(why_not, ERR_IO, "its answer is not a token");
    else
        header = mem_printf("X-aws-ec2-metadata-token: %.*s", (int)len, a.body);
    net_wipe_answer(&a);
    return header;
}

/* 1 and the URL of the first role's keys, new string; 0 when there is none; -1. */
static int get_role_url(
    struct http *h, const char *endpoint, const char *header, char **url_out, struct err *e)
{
    AUTO_MEM char *url = mem_printf("%s%s", endpoint, roles_path);
    struct http_answer a;

    if (ask(h, "GET", url, header, &a, e) < 0)
        return -1;
    int result = a.status == 404 ? 0 : judge("the list of roles", a.status, e) < 0 ? -1 : 1;
    a.body[strcspn(a.body, "\r\n")] = '\0';
    if (result == 1 && !*a.body)
        result = 0;
    if (result == 1 && strlen(a.body) > ROLE_MAX)
        result = err_set(e, ERR_IO, "the name of the role is longer than %d bytes", ROLE_MAX);
    if (result == 1) {
        AUTO_MEM char *role = sigv4_encode(a.body, false);
        *url_out = mem_printf("%s%s", url, role);
    }
    http_answer_clear(&a);
    return result;
}

/* 1, 0 or -1 as metadata_instance. */
static int get_keys(struct http *h,
                    const char *endpoint,
                    const char *header,
                    struct credentials *out,
                    struct err *e)
{
    static const char what[] = "the role's keys";
    AUTO_MEM char *url = NULL;
    struct http_answer a;
    int result = get_role_url(h, endpoint, header, &url, e);

    if (result <= 0)
        return result;
    if (ask(h, "GET", url, header, &a, e) < 0)
        return -1;
    out->origin = "instance metadata";
    return take_keys(what, &a, out, e) < 0 ? -1 : 1;
}

int metadata_instance(struct http *h,
                      const char *endpoint,
                      struct credentials *out,
                      struct err *why_not,
                      struct err *e)
{
    char *header = get_token(h, endpoint, why_not);

    if (!header)
        return 0;
    int result = get_keys(h, endpoint, header, out, e);
    OPENSSL_cleanse(header, strlen(header));
    free(header);
    if (result < 0)
        return err_wrap(e, "the instance's metadata service");
    if (result == 0)
        err_set(why_not, ERR_DENIED, "the instance has no role");
    return result;
}
