#include "net/token.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/time.h"
#include "net/aws_profile.h"
#include "net/internal.h"
#include "net/metadata.h"
#include "net/sigv4.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 20)
#define ANSWER_BYTES_MAX ((size_t)256 << 10)
#define TRIES 4
#define FIRST_WAIT_S 0.25
#define MAX_WAIT_S 5.0
#define TIMEOUT_S 30.0
/* Azure's service makes the token when it is asked. */
#define AZURE_MACHINE_TIMEOUT_S 3.0
/* Tokens are got again this long before they end. */
#define RENEW_MS INT64_C(300000)
/* Issuers forgive less than their clients' clocks are off. */
#define SKEW_MS INT64_C(60000)
#define WHY_MAX 200

void token_login_clear(struct token_login *l)
{
    free(l->url);
    free(l->identity);
    free(l->client);
    free(l->key_id);
    free(l->project);
    free(l->file);
    net_wipe(&l->secret);
    net_wipe(&l->client_secret);
    *l = (struct token_login){0};
}

void token_clear(struct token *t)
{
    net_wipe(&t->bearer);
    *t = (struct token){0};
}

/* ---- forms and files ---- */

void net_form_add(struct net_form *f, const char *name, const char *value)
{
    char *encoded = sigv4_encode(value, false);
    size_t n = strlen(encoded), more = strlen(name) + n + 3;

    if (f->len + more > f->cap) {
        /* Not mem_grow, which would leave a copy behind. */
        size_t cap = 2 * (f->len + more);
        char *text = mem_zero(cap, 1);
        memcpy(text, f->text ? f->text : "", f->len);
        if (f->text)
            OPENSSL_cleanse(f->text, f->len);
        free(f->text);
        f->text = text;
        f->cap = cap;
    }
    f->len += (size_t)snprintf(f->text + f->len, f->cap - f->len, "%s%s=%s", f->len ? "&" : "",
                               name, encoded);
    OPENSSL_cleanse(encoded, n);
    free(encoded);
}

void net_form_clear(struct net_form *f)
{
    if (f->text)
        OPENSSL_cleanse(f->text, f->len);
    free(f->text);
    *f = (struct net_form){0};
}

int net_read_json(const char *path, json_t **out, struct err *e)
{
    char *bytes = NULL;
    size_t n;
    int there = aws_profile_read_file(path, FILE_MAX, &bytes, &n, e);

    if (there <= 0)
        return there;
    /* Azure's tools begin files with a byte order mark. */
    size_t mark = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    *out = json_loadb(bytes + mark, n - mark, 0, NULL);
    OPENSSL_cleanse(bytes, n);
    free(bytes);
    if (json_is_object(*out))
        return 1;
    json_decref(*out);
    *out = NULL;
    return err_set(e, ERR_USAGE, "%s: this is no JSON object", path);
}

const char *net_json_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text && *text ? text : NULL;
}

/* ---- answers ---- */

/* A number, or one in a text as older services write it; -1 for none. */
static int64_t seconds_of(const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);
    double seconds = json_is_string(v) ? -1 : json_is_number(v) ? json_number_value(v) : -1;

    if (json_is_string(v) && !number_parse(json_string_value(v), &seconds))
        return -1;
    return seconds >= 0 && seconds < 1e12 ? (int64_t)seconds : -1;
}

static bool is_clean(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

static int read_token(const struct token_login *l,
                      const struct http_answer *a,
                      struct token *out,
                      struct err *e)
{
    AUTO_JSON json_t *root = json_loadb(a->body, a->body_bytes, 0, NULL);
    const char *bearer = net_json_text(root, "access_token");
    int64_t in_s = seconds_of(root, "expires_in"), on_s = seconds_of(root, "expires_on");
    int64_t now_ms = time_epoch_ms();

    if (!bearer || !is_clean(bearer))
        return err_set(e, ERR_IO, "%s: the answer holds no access token", l->origin);
    if (in_s < 0 && on_s < 0)
        return err_set(e, ERR_IO, "%s: the answer does not say when the token ends", l->origin);
    out->bearer.hidden = mem_dup(bearer);
    out->expires_ms = in_s >= 0 ? now_ms + in_s * 1000 : on_s * 1000;
    return 0;
}

/* What the issuer says, its first line, unless it repeats a secret. */
static void describe(const struct token_login *l, const json_t *root, char out[static WHY_MAX])
{
    const char *code = net_json_text(root, "error"),
               *text = net_json_text(root, "error_description");
    const char *const secrets[] = {l->secret.hidden, l->client_secret.hidden};

    snprintf(out, WHY_MAX, "%s%.60s%s%.*s", code ? ": " : "", code ? code : "", text ? ": " : "",
             text ? (int)strcspn(text, "\r\n") : 0, text ? text : "");
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (secrets[i] && strstr(out, secrets[i]))
            *out = '\0';
}

enum outcome { GOT, AGAIN, CLOCK, REFUSED };

static enum outcome judge(struct token_login *l,
                          const struct http_answer *a,
                          struct token *out,
                          struct err *e)
{
    char why[WHY_MAX], shown[NET_URL_SHOWN];

    if (a->status == 200)
        return read_token(l, a, out, e) < 0 ? REFUSED : GOT;
    AUTO_JSON json_t *root = json_loadb(a->body, a->body_bytes, 0, NULL);
    describe(l, root, why);
    bool passes = a->status == 408 || a->status == 429 || a->status >= 500;
    err_set(e, passes ? ERR_RETRY : ERR_DENIED, "%s (%s)%s%s: %s answers %d%s", l->origin,
            l->identity ? l->identity : "this machine", l->file ? ", " : "", l->file ? l->file : "",
            net_url_shown(l->url, shown), a->status, why);
    if (passes)
        return AGAIN;
    const char *code = net_json_text(root, "error"), *date = http_answer_header(a, "date");
    int64_t ahead = date && time_from_http(date) ? time_from_http(date) - time_epoch_ms() : 0;
    if (!code || strcmp(code, "invalid_grant") != 0 || l->skew_ms ||
        (ahead < SKEW_MS && ahead > -SKEW_MS))
        return REFUSED;
    l->skew_ms = ahead;
    return CLOCK;
}

/* ---- requests ---- */

static int post_form(struct token_login *l,
                     struct http *h,
                     const char *scope,
                     struct http_answer *out,
                     struct err *e)
{
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
                                          "Accept: application/json", NULL};
    AUTO_CLEAR(net_form) struct net_form form = {0};
    int made = l->way <= TOKEN_GOOGLE_MACHINE ? net_google_form(l, scope, &form, e)
                                              : net_azure_form(l, scope, &form, e);

    if (made < 0)
        return -1;
    const struct http_request r = {.method = "POST",
                                   .url = l->url,
                                   .headers = headers,
                                   .body = form.text,
                                   .body_bytes = form.len,
                                   .max_answer_bytes = ANSWER_BYTES_MAX,
                                   .timeout_s = TIMEOUT_S};
    return http_send(h, &r, out, e);
}

/* Nothing else was found, and this is no machine of the cloud. */
static int no_machine(const struct token_login *l, const char *why, struct err *e)
{
    static const char *const ways[] = {
        [TOKEN_GOOGLE_MACHINE] =
            "no Google credentials: name a service account's key file in "
            "GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login",
        [TOKEN_AZURE_MACHINE] =
            "no Azure credentials: set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, "
            "or run az login",
        [TOKEN_AZURE_APP] = "no Azure credentials",
    };

    return err_set(e, ERR_DENIED, "%s (%s: %s)", ways[l->way], l->origin, why);
}

static int ask_machine(const struct token_login *l,
                       struct http *h,
                       const char *scope,
                       struct http_answer *out,
                       struct err *e)
{
    bool google = l->way == TOKEN_GOOGLE_MACHINE;
    AUTO_MEM char *url = net_machine_url(l, scope);
    char *header = l->way == TOKEN_AZURE_APP
                       ? mem_printf("X-IDENTITY-HEADER: %s", l->secret.hidden)
                       : mem_dup(google ? "Metadata-Flavor: Google" : "Metadata: true");
    struct err why = {0};

    int result = net_ask_near(h, url, header, google ? METADATA_TIMEOUT_S : AZURE_MACHINE_TIMEOUT_S,
                              out, &why);
    OPENSSL_cleanse(header, strlen(header));
    free(header);
    if (result < 0)
        return no_machine(l, why.text, e);
    /* Other clouds' services have the same address. */
    const char *flavor = http_answer_header(out, "metadata-flavor");
    if (google && (!flavor || strcmp(flavor, "Google") != 0)) {
        net_wipe_answer(out);
        return no_machine(l, "what answers there is not Google's", e);
    }
    return 0;
}

static bool is_of_machine(const struct token_login *l)
{
    return l->way == TOKEN_GOOGLE_MACHINE || l->way == TOKEN_AZURE_MACHINE ||
           l->way == TOKEN_AZURE_APP;
}

static enum outcome fetch_once(
    struct token_login *l, struct http *h, const char *scope, struct token *out, struct err *e)
{
    struct http_answer a = {0};
    int sent = is_of_machine(l) ? ask_machine(l, h, scope, &a, e) : post_form(l, h, scope, &a, e);

    if (sent < 0)
        return e->kind == ERR_RETRY ? AGAIN : REFUSED;
    enum outcome outcome = judge(l, &a, out, e);
    net_wipe_answer(&a);
    return outcome;
}

int token_fetch(
    struct token_login *l, struct http *h, const char *scope, struct token *out, struct err *e)
{
    struct err why = {0};

    for (unsigned tries = 1;; tries++) {
        enum outcome outcome = fetch_once(l, h, scope, out, &why);
        if (outcome == GOT)
            return 0;
        if (outcome == REFUSED || tries == TRIES)
            return err_set(e, why.kind, "%s", why.text);
        if (outcome == AGAIN)
            http_wait(h, tries + 1, FIRST_WAIT_S, MAX_WAIT_S);
    }
}

/* ---- the cache ---- */

void token_cache_clear(struct token_cache *c)
{
    token_clear(&c->token);
    token_login_clear(&c->login);
    c->is_found = false;
}

int token_cache_find(struct token_cache *c, struct err *e)
{
    static const struct credentials_sources real;

    if (c->is_found)
        return 0;
    if (c->find(c->sources ? c->sources : &real, &c->login, e) < 0)
        return -1;
    c->is_found = true;
    return 0;
}

int token_cache_get(struct token_cache *c, struct http *h, const char **bearer_out, struct err *e)
{
    if (!c->token.bearer.hidden || time_epoch_ms() >= c->token.expires_ms - RENEW_MS) {
        struct token fresh = {0};
        struct err why = {0};
        int got = token_cache_find(c, &why);
        if (got == 0)
            got = token_fetch(&c->login, h, c->scope, &fresh, &why);
        /* While the issuer is away the old one serves until its end. */
        if (got < 0 && (why.kind != ERR_RETRY || !c->token.bearer.hidden ||
                        time_epoch_ms() >= c->token.expires_ms))
            return err_set(e, why.kind, "%s", why.text);
        if (got == 0) {
            token_clear(&c->token);
            c->token = fresh;
            c->round++;
        }
    }
    *bearer_out = c->token.bearer.hidden;
    return 0;
}

void token_cache_refuse(struct token_cache *c, unsigned round)
{
    if (c->round == round)
        token_cache_clear(c);
}
