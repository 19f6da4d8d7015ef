/* Means to get access tokens of Azure: applications, federated tokens, identities of machines, and
 * users of az. token.h declares the functions; token.c sends what is made here. */
#include "base/json.h"
#include "base/mem.h"
#include "net/aws_profile.h"
#include "net/internal.h"
#include "net/sigv4.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AUTHORITY "https://login.microsoftonline.com"
#define SERVICE "http://169.254.169.254"
#define TOKEN_FILE_MAX ((size_t)64 << 10)
/* The id under which az logs in. */
#define AZ_CLIENT "04b07795-8ddb-461a-bbee-02f9e1bf7b46"

/* Of a subscription's id, which is a part of paths. */
#define ID_CHARACTERS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"
#define ID_MAX 64

/* ---- where they are found ---- */

static char *dup_variable(const struct credentials_sources *s, const char *name)
{
    const char *value = net_variable(s, name);

    return value ? mem_dup(value) : NULL;
}

static char *token_url(const struct credentials_sources *s, const char *tenant)
{
    const char *authority = net_variable(s, "AZURE_AUTHORITY_HOST");
    AUTO_MEM char *encoded = sigv4_encode(tenant, false);

    authority = authority ? authority : AUTHORITY;
    /* Some write a host alone. */
    return mem_printf("%s%.*s/%s/oauth2/v2.0/token", strstr(authority, "://") ? "" : "https://",
                      (int)(strlen(authority) - (authority[strlen(authority) - 1] == '/')),
                      authority, encoded);
}

/* 1 = found, 0 = nothing there, -1. */
static int from_variables(const struct credentials_sources *s, struct token_login *l, struct err *e)
{
    const char *tenant = net_variable(s, "AZURE_TENANT_ID");
    const char *client = net_variable(s, "AZURE_CLIENT_ID");
    const char *secret = net_variable(s, "AZURE_CLIENT_SECRET");
    const char *file = net_variable(s, "AZURE_FEDERATED_TOKEN_FILE");

    if (!secret && !file)
        return 0;
    if (!tenant || !client)
        return err_set(e, ERR_USAGE, "%s is set but %s is not: set both",
                       secret ? "AZURE_CLIENT_SECRET" : "AZURE_FEDERATED_TOKEN_FILE",
                       tenant ? "AZURE_CLIENT_ID" : "AZURE_TENANT_ID");
    *l = (struct token_login){
        .way = secret ? TOKEN_AZURE_SECRET : TOKEN_AZURE_FEDERATED,
        .origin = secret ? "AZURE_CLIENT_SECRET" : "AZURE_FEDERATED_TOKEN_FILE",
        .url = token_url(s, tenant),
        .client = mem_dup(client),
        .identity = mem_printf("application %s", client),
        .file = secret ? NULL : mem_dup(file),
        .secret.hidden = secret ? mem_dup(secret) : NULL,
    };
    return 1;
}

static int from_app(const struct credentials_sources *s, struct token_login *l)
{
    const char *url = net_variable(s, "IDENTITY_ENDPOINT");
    const char *header = net_variable(s, "IDENTITY_HEADER");

    if (!url || !header)
        return 0;
    *l = (struct token_login){.way = TOKEN_AZURE_APP,
                              .origin = "IDENTITY_ENDPOINT",
                              .url = mem_dup(url),
                              .client = dup_variable(s, "AZURE_CLIENT_ID"),
                              .secret.hidden = mem_dup(header)};
    return 1;
}

/* New string. */
static char *az_file(const struct credentials_sources *s, const char *name)
{
    const char *directory = net_variable(s, "AZURE_CONFIG_DIR");
    AUTO_MEM char *tail = mem_printf("/.azure/%s", name);

    return directory ? mem_printf("%s/%s", directory, name) : net_home_file(s, tail);
}

/* The subscription that az would use: borrowed from *root_out, which is a new reference; NULL when
 * there is none. */
static const json_t *default_subscription(const struct credentials_sources *s, json_t **root_out)
{
    AUTO_MEM char *path = az_file(s, "azureProfile.json");
    size_t i;
    json_t *one;

    if (!path || net_read_json(path, root_out, NULL) <= 0)
        return NULL;
    json_array_foreach(json_object_get(*root_out, "subscriptions"), i, one)
    {
        if (net_json_text(one, "tenantId") && json_is_true(json_object_get(one, "isDefault")))
            return one;
    }
    return NULL;
}

/* Its tenant and user; both NULL when there is none. */
static void read_subscription(const struct credentials_sources *s, char **tenant, char **user)
{
    AUTO_JSON json_t *root = NULL;
    const json_t *one = default_subscription(s, &root);

    if (!one)
        return;
    const char *who = net_json_text(json_object_get(one, "user"), "name");
    *tenant = mem_dup(net_json_text(one, "tenantId"));
    *user = who ? mem_dup(who) : NULL;
}

char *token_azure_subscription(const struct credentials_sources *s, struct err *e)
{
    AUTO_JSON json_t *root = NULL;
    const char *id = net_variable(s, "AZURE_SUBSCRIPTION_ID");

    if (!id)
        id = net_json_text(default_subscription(s, &root), "id");
    if (!id) {
        err_set(e, ERR_DENIED,
                "no Azure subscription: set AZURE_SUBSCRIPTION_ID, or run az account set "
                "--subscription NAME");
        return NULL;
    }
    if (strspn(id, ID_CHARACTERS) == strlen(id) && strlen(id) <= ID_MAX)
        return mem_dup(id);
    err_set(e, ERR_USAGE, "AZURE_SUBSCRIPTION_ID: this is no subscription's id");
    return NULL;
}

/* The home account of that user, NULL = any. Borrowed from root. */
static const char *account_of(const json_t *root, const char *user)
{
    const char *key;
    json_t *one;

    json_object_foreach(json_object_get(root, "Account"), key, one)
    {
        const char *name = net_json_text(one, "username");
        if (user && name && strcmp(name, user) == 0)
            return net_json_text(one, "home_account_id");
    }
    return NULL;
}

/* 1 = found, 0 = no user is logged in. */
static int from_az(const struct credentials_sources *s, struct token_login *l, struct err *e)
{
    AUTO_MEM char *path = az_file(s, "msal_token_cache.json");
    AUTO_MEM char *tenant = NULL, *user = NULL;
    AUTO_JSON json_t *root = NULL;
    const char *key;
    json_t *one;

    int there = path ? net_read_json(path, &root, e) : 0;
    if (there <= 0)
        return there;
    read_subscription(s, &tenant, &user);
    const char *account = account_of(root, user);
    json_object_foreach(json_object_get(root, "RefreshToken"), key, one)
    {
        const char *secret = net_json_text(one, "secret");
        const char *whose = net_json_text(one, "home_account_id");
        const char *client = net_json_text(one, "client_id");
        if (!secret || (account && (!whose || strcmp(whose, account) != 0)))
            continue;
        *l = (struct token_login){.way = TOKEN_AZURE_USER,
                                  .origin = "az login",
                                  .url = token_url(s, tenant ? tenant : "organizations"),
                                  .client = mem_dup(client ? client : AZ_CLIENT),
                                  .identity = user ? mem_dup(user) : mem_dup("a user of az"),
                                  .secret.hidden = mem_dup(secret)};
        return 1;
    }
    return 0;
}

int token_find_azure(const struct credentials_sources *s, struct token_login *out, struct err *e)
{
    const char *host = net_variable(s, "AZURE_POD_IDENTITY_AUTHORITY_HOST");

    *out = (struct token_login){0};
    int found = from_variables(s, out, e);
    if (!found)
        found = from_app(s, out);
    if (!found)
        found = from_az(s, out, e);
    if (found < 0)
        token_login_clear(out);
    if (found)
        return found < 0 ? -1 : 0;
    const char *base = s->metadata_endpoint ? s->metadata_endpoint : host ? host : SERVICE;
    *out = (struct token_login){
        .way = TOKEN_AZURE_MACHINE,
        .origin = "the identity of an Azure machine",
        .url = mem_printf("%s%s", strstr(base, "://") ? "" : "http://", base),
        .client = dup_variable(s, "AZURE_CLIENT_ID"),
    };
    return 0;
}

/* ---- what is sent ---- */

char *net_machine_url(const struct token_login *l, const char *scope)
{
    static const char tail[] = "/.default";
    size_t n = strlen(scope);

    if (l->way == TOKEN_GOOGLE_MACHINE)
        return mem_printf("%s/computeMetadata/v1/instance/service-accounts/default/token", l->url);
    /* Older than scopes: the resource is what stands before their last part. */
    if (n > sizeof tail && strcmp(scope + n - (sizeof tail - 1), tail) == 0)
        n -= sizeof tail - 2; /* with the slash */
    AUTO_MEM char *resource = mem_printf("%.*s", (int)n, scope);
    AUTO_MEM char *encoded = sigv4_encode(resource, false);
    AUTO_MEM char *client = l->client ? sigv4_encode(l->client, false) : NULL;
    return mem_printf("%s%s&resource=%s%s%s", l->url,
                      l->way == TOKEN_AZURE_APP
                          ? "?api-version=2019-08-01"
                          : "/metadata/identity/oauth2/token?api-version=2018-02-01",
                      encoded, client ? "&client_id=" : "", client ? client : "");
}

static int add_federated(const struct token_login *l, struct net_form *out, struct err *e)
{
    char *bytes = NULL;
    size_t n;
    int there = aws_profile_read_file(l->file, TOKEN_FILE_MAX, &bytes, &n, e);

    if (there < 0)
        return -1;
    if (there == 0)
        return err_set(e, ERR_USAGE, "AZURE_FEDERATED_TOKEN_FILE: there is no file %s", l->file);
    bytes[strcspn(bytes, "\r\n")] = '\0';
    net_form_add(out, "client_assertion_type",
                 "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    net_form_add(out, "client_assertion", bytes);
    OPENSSL_cleanse(bytes, n);
    free(bytes);
    return 0;
}

int net_azure_form(struct token_login *l, const char *scope, struct net_form *out, struct err *e)
{
    bool is_user = l->way == TOKEN_AZURE_USER;

    net_form_add(out, "grant_type", is_user ? "refresh_token" : "client_credentials");
    net_form_add(out, "client_id", l->client);
    net_form_add(out, "scope", scope);
    if (l->way == TOKEN_AZURE_FEDERATED)
        return add_federated(l, out, e);
    net_form_add(out, is_user ? "refresh_token" : "client_secret", l->secret.hidden);
    return 0;
}
