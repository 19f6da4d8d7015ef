/* curl: the functions of libcurl that the client calls, found at run time. */
#ifndef NET_CURL_H
#define NET_CURL_H

#include "base/err.h"

#include <curl/curl.h>
/* Its type-checking macros cannot stand in front of a pointer to the function. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

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

/* ERR_IO when the library is not installed. */
int net_curl_load(struct curl_api *api, struct err *e);
void net_curl_unload(struct curl_api *api);

#endif
