/* token: access tokens of Google and Azure: where the means to get one were found, getting one, and
 * keeping it until shortly before it ends. */
#ifndef NET_TOKEN_H
#define NET_TOKEN_H

#include "base/auto.h"
#include "base/err.h"
#include "net/credentials.h"
#include "net/http.h"

#include <stdint.h>

#define TOKEN_SCOPE_GOOGLE "https://www.googleapis.com/auth/cloud-platform"
#define TOKEN_SCOPE_AZURE_STORAGE "https://storage.azure.com/.default"
#define TOKEN_SCOPE_AZURE_MANAGEMENT "https://management.azure.com/.default"

enum token_way {
    TOKEN_GOOGLE_SERVICE_ACCOUNT, /* a request signed with its key */
    TOKEN_GOOGLE_USER,            /* a refresh token of gcloud */
    TOKEN_GOOGLE_MACHINE,         /* its metadata server */
    TOKEN_AZURE_SECRET,           /* client credentials */
    TOKEN_AZURE_FEDERATED,        /* a file with another issuer's token */
    TOKEN_AZURE_USER,             /* a refresh token of az login */
    TOKEN_AZURE_APP,              /* the identity service of App Service and Container Apps */
    TOKEN_AZURE_MACHINE,          /* a virtual machine's identity */
};

/* The means to get tokens. */
struct token_login {
    enum token_way way;
    const char *origin;          /* where they were found, for people */
    char *url;                   /* that gives tokens */
    char *identity;              /* whose: an address, a client's id; NULL = the answer will say */
    char *client;                /* its id; NULL = none */
    char *key_id;                /* of a service account's key; NULL = not said */
    char *project;               /* of Google; NULL = not said */
    char *file;                  /* with the federated token: read each time */
    struct secret secret;        /* private key, client's secret, refresh token or header */
    struct secret client_secret; /* beside a refresh token; hidden NULL = none */
    int64_t skew_ms;             /* what the issuer's clock is ahead, once that mattered */
};
/* Overwrites the secrets before it frees them. */
void token_login_clear(struct token_login *l);

/* As Google's tools: GOOGLE_APPLICATION_CREDENTIALS; application_default_credentials.json in
 * CLOUDSDK_CONFIG or ~/.config/gcloud; the metadata server (GCE_METADATA_HOST), which is not asked
 * here. 0: found; the last one always is, unless NO_GCE_CHECK=true: ERR_DENIED that says where it
 * looked. ERR_USAGE names a file that is no such file. *out is
 * empty after a failure. */
int token_find_google(const struct credentials_sources *sources,
                      struct token_login *out,
                      struct err *e);
/* As Azure's tools: AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET or
 * AZURE_FEDERATED_TOKEN_FILE; IDENTITY_ENDPOINT; what az login left in AZURE_CONFIG_DIR or
 * ~/.azure; the machine's identity, which is not asked here. */
int token_find_azure(const struct credentials_sources *sources,
                     struct token_login *out,
                     struct err *e);

struct token {
    struct secret bearer;
    int64_t expires_ms;
};
void token_clear(struct token *t);

/* A new one. Tries again what may pass. ERR_DENIED: the issuer refuses, or there is no metadata
 * server; no message holds a secret. *out must be empty. */
int token_fetch(
    struct token_login *l, struct http *h, const char *scope, struct token *out, struct err *e);

/* A token that is kept; the caller guards it against other threads and fills in the first half. */
struct token_cache {
    int (*find)(const struct credentials_sources *sources, struct token_login *out, struct err *e);
    const struct credentials_sources *sources; /* NULL = the real ones */
    const char *scope;

    bool is_found;
    struct token_login login;
    struct token token;
    unsigned round; /* counts the tokens that were got */
};
void token_cache_clear(struct token_cache *c);
/* Makes sure that the login is found. */
int token_cache_find(struct token_cache *c, struct err *e);
/* The token, borrowed until the next call: the one that is kept until 300 s before its end. */
int token_cache_get(struct token_cache *c, struct http *h, const char **bearer_out, struct err *e);
/* The token of that round was refused: the next one is new, from files that are read again. */
void token_cache_refuse(struct token_cache *c, unsigned round);

/* Google's project: GOOGLE_CLOUD_PROJECT, CLOUDSDK_CORE_PROJECT, the login's, the metadata
 * server's. New string; NULL: nothing says it, as e tells. */
char *token_google_project(const struct credentials_sources *sources,
                           const struct token_login *l,
                           struct http *h,
                           struct err *e);
/* Azure's subscription: AZURE_SUBSCRIPTION_ID, or the default one of az. New string; NULL: nothing
 * says it, as e tells. */
char *token_azure_subscription(const struct credentials_sources *sources, struct err *e);

#endif
