#include "net/curl.h"

#include "base/library.h"

#include <dlfcn.h>

static const char library[] = "libcurl.so.4";

int net_curl_load(struct curl_api *api, struct err *e)
{
    const struct library_function functions[] = {
        {"curl_global_init", &api->global_init},
        {"curl_global_cleanup", &api->global_cleanup},
        {"curl_easy_init", &api->easy_init},
        {"curl_easy_setopt", &api->easy_setopt},
        {"curl_easy_perform", &api->easy_perform},
        {"curl_easy_getinfo", &api->easy_getinfo},
        {"curl_easy_strerror", &api->easy_strerror},
        {"curl_easy_cleanup", &api->easy_cleanup},
        {"curl_easy_reset", &api->easy_reset},
        {"curl_slist_append", &api->slist_append},
        {"curl_slist_free_all", &api->slist_free_all},
    };

    api->library = library_open(library, "the network needs libcurl (Debian package libcurl4)",
                                functions, sizeof functions / sizeof *functions, e);
    if (!api->library)
        return -1;
    if (api->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return 0;
    dlclose(api->library);
    api->library = NULL;
    return err_set(e, ERR_IO, "%s does not start", library);
}

void net_curl_unload(struct curl_api *api)
{
    if (!api->library)
        return;
    api->global_cleanup();
    dlclose(api->library);
}
