/* Means to get access tokens of Google: service accounts, users of gcloud, and the machine's own.
 * token.h declares the functions; token.c sends what is made here. */
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "net/base64.h"
#include "net/internal.h"
#include "net/metadata.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SERVER "http://169.254.169.254"
#define STANDARD_URL "https://oauth2.googleapis.com/token"
#define LIFE_S 3600
#define SIGNATURE_MAX 1024

/* ---- where they are found ---- */

static char *dup_text(const json_t *root, const char *name)
{
    const char *text = net_json_text(root, name);

    return text ? mem_dup(text) : NULL;
}

static int lacks(const char *path, const char *member, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s: it has no %s: make the file again with Google's tools", path,
                   member);
}

static int read_account(const char *path, const json_t *root, struct token_login *l, struct err *e)
{
    l->way = TOKEN_GOOGLE_SERVICE_ACCOUNT;
    l->identity = dup_text(root, "client_email");
    l->key_id = dup_text(root, "private_key_id");
    l->secret.hidden = dup_text(root, "private_key");
    if (!l->identity || !l->secret.hidden)
        return lacks(path, l->identity ? "private_key" : "client_email", e);
    return 0;
}

static int read_user(const char *path, const json_t *root, struct token_login *l, struct err *e)
{
    l->way = TOKEN_GOOGLE_USER;
    l->client = dup_text(root, "client_id");
    l->client_secret.hidden = dup_text(root, "client_secret");
    l->secret.hidden = dup_text(root, "refresh_token");
    l->identity = mem_dup("a user of gcloud");
    if (!l->client || !l->client_secret.hidden || !l->secret.hidden)
        return lacks(path, "client_id, client_secret or refresh_token", e);
    return 0;
}

/* 1 = read, 0 = there is none, -1. */
static int read_file(const char *path, struct token_login *l, struct err *e)
{
    AUTO_JSON json_t *root = NULL;
    int there = net_read_json(path, &root, e);

    if (there <= 0)
        return there;
    const char *type = net_json_text(root, "type"), *url = net_json_text(root, "token_uri");
    l->url = mem_dup(url ? url : STANDARD_URL);
    l->project = dup_text(root, "project_id");
    if (!l->project)
        l->project = dup_text(root, "quota_project_id");
    if (type && strcmp(type, "service_account") == 0)
        return read_account(path, root, l, e) < 0 ? -1 : 1;
    if (type && strcmp(type, "authorized_user") == 0)
        return read_user(path, root, l, e) < 0 ? -1 : 1;
    return err_set(e, ERR_USAGE,
                   "%s: credentials of type \"%.60s\" cannot be used, those of service_account and "
                   "authorized_user can",
                   path, type ? type : "");
}

static char *gcloud_file(const struct credentials_sources *s)
{
    static const char name[] = "application_default_credentials.json";
    const char *directory = net_variable(s, "CLOUDSDK_CONFIG");

    if (directory)
        return mem_printf("%s/%s", directory, name);
    AUTO_MEM char *tail = mem_printf("/.config/gcloud/%s", name);
    return net_home_file(s, tail);
}

/* The address by which the server goes without asking for its name. New string. */
static char *server(const struct credentials_sources *s)
{
    const char *host = net_variable(s, "GCE_METADATA_HOST");

    if (s->metadata_endpoint)
        return mem_dup(s->metadata_endpoint);
    return host && strcmp(host, "metadata.google.internal") != 0 ? mem_printf("http://%s", host)
                                                                 : mem_dup(SERVER);
}

static int find(const struct credentials_sources *s, struct token_login *out, struct err *e)
{
    const char *named = net_variable(s, "GOOGLE_APPLICATION_CREDENTIALS");
    const char *disabled = net_variable(s, "NO_GCE_CHECK");
    AUTO_MEM char *standard = gcloud_file(s);

    *out = (struct token_login){.origin = "GOOGLE_APPLICATION_CREDENTIALS"};
    int found = named ? read_file(named, out, e) : 0;
    if (named && found == 0)
        return err_set(e, ERR_USAGE, "GOOGLE_APPLICATION_CREDENTIALS: there is no file %s", named);
    if (!named && standard) {
        out->origin = "gcloud's application default credentials";
        found = read_file(standard, out, e);
    }
    if (found)
        return found < 0 ? -1 : 0;
    *out = (struct token_login){
        .way = TOKEN_GOOGLE_MACHINE, .origin = "Google's metadata server", .url = server(s)};
    if (!disabled || strcasecmp(disabled, "true") != 0)
        return 0;
    return err_set(e, ERR_DENIED,
                   "no Google credentials: name a service account's key file in "
                   "GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login "
                   "(looked at %s; NO_GCE_CHECK is true)",
                   standard ? standard : "no home directory");
}

int token_find_google(const struct credentials_sources *s, struct token_login *out, struct err *e)
{
    int result = find(s, out, e);

    if (result < 0)
        token_login_clear(out);
    return result;
}

char *token_google_project(const struct credentials_sources *s,
                           const struct token_login *l,
                           struct http *h,
                           struct err *e)
{
    static const char *const names[] = {"GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"};
    struct http_answer a = {0};
    char *project = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (net_variable(s, names[i]))
            return mem_dup(net_variable(s, names[i]));
    if (l->project)
        return mem_dup(l->project);
    if (l->way == TOKEN_GOOGLE_MACHINE) {
        AUTO_MEM char *url = mem_printf("%s/computeMetadata/v1/project/project-id", l->url);
        if (net_ask_near(h, url, "Metadata-Flavor: Google", METADATA_TIMEOUT_S, &a, e) < 0)
            return NULL;
        size_t n = strspn(a.body, "abcdefghijklmnopqrstuvwxyz0123456789-.:");
        if (a.status == 200 && n)
            project = mem_printf("%.*s", (int)n, a.body);
        http_answer_clear(&a);
    }
    if (!project)
        err_set(e, ERR_USAGE, "nothing names the Google project: set GOOGLE_CLOUD_PROJECT");
    return project;
}

/* ---- what is sent ---- */

/* RS256: PKCS #1 v1.5 over SHA-256. New string, NULL: the key is none. */
static char *sign(const char *pem, const char *text)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char signature[SIGNATURE_MAX];
    size_t n = sizeof signature;

    bool good =
        key && context && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA &&
        (size_t)EVP_PKEY_get_size(key) <= sizeof signature &&
        EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestSign(context, signature, &n, (const unsigned char *)text, strlen(text)) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    BIO_free(bio);
    return good ? base64_url_encode(signature, n) : NULL;
}

static char *encoded_json(json_t *object)
{
    AUTO_MEM char *text = json_dumps(object, JSON_COMPACT);

    json_decref(object);
    return base64_url_encode(text ? text : "", text ? strlen(text) : 0);
}

/* New string, to be wiped. */
static char *assertion(const struct token_login *l, const char *scope, struct err *e)
{
    int64_t now_s = (time_epoch_ms() + l->skew_ms) / 1000;
    json_t *head = json_pack("{s:s,s:s,s:s*}", "alg", "RS256", "typ", "JWT", "kid", l->key_id);
    json_t *claims =
        json_pack("{s:s,s:s,s:s,s:I,s:I}", "iss", l->identity, "scope", scope, "aud", l->url, "iat",
                  (json_int_t)now_s, "exp", (json_int_t)(now_s + LIFE_S));
    AUTO_MEM char *first = encoded_json(head);
    AUTO_MEM char *second = encoded_json(claims);
    AUTO_MEM char *text = mem_printf("%s.%s", first, second);
    AUTO_MEM char *signature = sign(l->secret.hidden, text);

    if (!signature) {
        err_set(e, ERR_USAGE, "%s: the private key of %s is not an RSA key in PEM", l->origin,
                l->identity);
        return NULL;
    }
    return mem_printf("%s.%s", text, signature);
}

int net_google_form(struct token_login *l, const char *scope, struct net_form *out, struct err *e)
{
    if (l->way == TOKEN_GOOGLE_USER) {
        net_form_add(out, "grant_type", "refresh_token");
        net_form_add(out, "client_id", l->client);
        net_form_add(out, "client_secret", l->client_secret.hidden);
        net_form_add(out, "refresh_token", l->secret.hidden);
        return 0;
    }
    char *jwt = assertion(l, scope, e);
    if (!jwt)
        return -1;
    net_form_add(out, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
    net_form_add(out, "assertion", jwt);
    OPENSSL_cleanse(jwt, strlen(jwt));
    free(jwt);
    return 0;
}
