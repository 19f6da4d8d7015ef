/* internal: the HTTP client's connections and requests, for the files of src/net. */
#ifndef NET_INTERNAL_H
#define NET_INTERNAL_H

#include "net/http.h"
#include "net/token.h"

#include <curl/curl.h>
#include <jansson.h>
#include <pthread.h>
/* Its type-checking macros cannot stand in front of a pointer to the function. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define NET_IDLE_MAX 64
#define NET_URL_SHOWN 256

/* The functions of libcurl that the client calls, found at run time. */
struct curl_api {
    void *library;
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_global_cleanup) global_cleanup;
    __typeof__(&curl_easy_init) easy_init;
    __typeof__(&curl_easy_setopt) easy_setopt;
    __typeof__(&curl_easy_perform) easy_perform;
    __typeof__(&curl_easy_getinfo) easy_getinfo;
    __typeof__(&curl_easy_strerror) easy_strerror;
    __typeof__(&curl_easy_reset) easy_reset;
    __typeof__(&curl_easy_cleanup) easy_cleanup;
    __typeof__(&curl_slist_append) slist_append;
    __typeof__(&curl_slist_free_all) slist_free_all;
};

struct http {
    struct curl_api api;
    bool may_be_exposed;
    pthread_mutex_t lock; /* of all below */
    uint64_t random;
    CURL *idle[NET_IDLE_MAX]; /* used before: their connections may still be open */
    size_t n_idle;
};

/* A handle without options, to be released; NULL when libcurl has none. */
CURL *net_handle_get(struct http *h);
void net_handle_put(struct http *h, CURL *curl);

/* At random from 0 to below 1; thread-safe. */
double net_random(struct http *h);

/* The URL as messages may have it: user, password, query and fragment can be secrets and are left
 * out. Written into out and returned. */
const char *net_url_shown(const char *url, char out[static NET_URL_SHOWN]);

/* The URL's host is this machine or a link-local address: never asked through a proxy. */
bool net_url_is_near(const char *url);

/* ---- credentials of all clouds (credentials.c) ---- */

/* NULL when it is not set, or empty. Borrowed. */
const char *net_variable(const struct credentials_sources *s, const char *name);
/* "~" followed by tail; NULL without a home. New string. */
char *net_home_file(const struct credentials_sources *s, const char *tail);
void net_wipe(struct secret *s);
/* Keys and tokens are in there. */
void net_wipe_answer(struct http_answer *a);

/* ---- tokens (token.c) ---- */

/* A form, built up pair by pair; wiped and freed by net_form_free. */
struct net_form {
    char *text;
    size_t len, cap;
};
void net_form_add(struct net_form *f, const char *name, const char *value);
void net_form_clear(struct net_form *f);

/* The JSON of a small file: 1; 0 when there is none; -1: it is none. what: for messages. */
int net_read_json(const char *path, json_t **out, struct err *e);
/* The text of a member, NULL where it is none or empty. */
const char *net_json_text(const json_t *object, const char *name);

/* One GET of a metadata service; header: one, or NULL. Asked twice at most, as it answers at once
 * or is not there. *out must be wiped. */
int net_ask_near(struct http *h,
                 const char *url,
                 const char *header,
                 double timeout_s,
                 struct http_answer *out,
                 struct err *e);

/* The body of a request for a token, and where it goes. */
int net_google_form(struct token_login *l, const char *scope, struct net_form *out, struct err *e);
int net_azure_form(struct token_login *l, const char *scope, struct net_form *out, struct err *e);
/* The URL for a machine's token. New string. */
char *net_machine_url(const struct token_login *l, const char *scope);

#endif
