#include "app/core/lake_open.h"

#include "app/core/app.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "lake/clean/clean.h"
#include "lake/meta/meta.h"
#include "spec/config.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cuts the last part off; the root stays. */
static void cut_last(char *path, size_t *len)
{
    while (*len > 1 && path[--*len] != '/')
        ;
    path[*len] = 0;
}

static char *tidy(const char *path)
{
    char *out = mem_zero(strlen(path) + 2, 1);
    size_t len = 1;

    out[0] = '/';
    for (size_t n; *path; path += n) {
        path += strspn(path, "/");
        n = strcspn(path, "/");
        if (n == 0 || (n == 1 && path[0] == '.'))
            continue;
        if (n == 2 && path[0] == '.' && path[1] == '.') {
            cut_last(out, &len);
            continue;
        }
        if (len > 1)
            out[len++] = '/';
        memcpy(out + len, path, n);
        len += n;
        out[len] = 0;
    }
    return out;
}

char *app_absolute_path(const char *path, struct err *e)
{
    char here[PATH_MAX];

    if (path[0] == '/')
        return tidy(path);
    if (!getcwd(here, sizeof here)) {
        file_error(e, "find", "the current directory");
        return NULL;
    }
    AUTO_MEM char *whole = mem_printf("%s/%s", here, path);
    return tidy(whole);
}

int app_store_settings(const struct config *c,
                       struct store_settings *out,
                       char **url_out,
                       struct err *e)
{
    AUTO_MEM char *home = app_absolute_path(c->home, e);
    const char *dir = strncmp(c->store, "dir:", 4) == 0 ? c->store + 4 : NULL;

    if (!home)
        return -1;
    if (dir && dir[0] != '/') {
        AUTO_MEM char *below = mem_printf("%s/%s", home, dir);
        AUTO_MEM char *path = tidy(below);
        *url_out = mem_printf("dir:%s", path);
    } else {
        *url_out = mem_dup(c->store);
    }
    *out = (struct store_settings){
        .url = *url_out,
        .endpoint = c->endpoint,
        .region = c->region,
        .path_style = c->path_style,
        .may_be_exposed = c->insecure,
        .seed = (uint64_t)time_epoch_ms() * 1000003U + (uint64_t)getpid(),
    };
    return 0;
}

int app_modes(struct app *app, struct lake_modes *out, char **url_out, struct err *e)
{
    struct store_settings settings;
    const struct config *c = app_config(app, e);

    if (!c || app_store_settings(c, &settings, url_out, e) < 0)
        return -1;
    out->home = app_home(app, e);
    out->store = strncmp(settings.url, "dir:", 4) == 0 ? settings.url + 4 : NULL;
    return out->home ? 0 : -1;
}

char *app_store_cache(const struct config *c, uint64_t *bytes_out)
{
    *bytes_out = (uint64_t)(c->limits.cache_gb * 1e9);
    if (strncmp(c->store, "dir:", 4) == 0 || !*bytes_out)
        return NULL;
    AUTO_MEM char *home = app_absolute_path(c->home, NULL);
    return home ? mem_printf("%s/cache", home) : NULL;
}

/* An entry of the accounts; one that is longer counts as none. */
#define ACCOUNT_BYTES 4096

/* room is where the name may lie. Several threads ask at once. */
static const char *user_name(char *room, size_t size)
{
    struct passwd account, *found = NULL;
    bool known = getpwuid_r(getuid(), &account, room, size, &found) == 0 && found;
    const char *user = known && *account.pw_name ? account.pw_name : getenv("USER");

    return user && *user ? user : "unknown";
}

struct lake *app_lake_as(
    const struct config *c, const char *project, const char *user, bool admin, struct err *e)
{
    AUTO_MEM char *url = NULL;
    AUTO_MEM char *home = NULL;
    AUTO_MEM char *cache = NULL;
    char account[ACCOUNT_BYTES];
    struct lake_options options = {
        .caller = {.project = project ? project : "default",
                   .user = user ? user : user_name(account, sizeof account),
                   .admin = admin},
    };

    if (app_store_settings(c, &options.store, &url, e) < 0)
        return NULL;
    home = app_absolute_path(c->home, e);
    options.home = home;
    cache = app_store_cache(c, &options.store.cache_bytes);
    options.store.cache = cache;
    return home ? lake_open(&options, e) : NULL;
}

struct lake *app_lake_here(struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);

    return c ? app_lake_as(c, NULL, NULL, true, e) : NULL;
}

/* strtoll takes all of a number's text only if it is whole. */
static bool is_whole(const char *number, long long *out)
{
    char *end;

    errno = 0;
    *out = strtoll(number, &end, 10);
    return errno == 0 && !*end;
}

json_t *lake_value_json(const struct lake_value *v)
{
    long long whole;

    switch (v->kind) {
    case LAKE_VALUE_NONE:
        return json_true();
    case LAKE_VALUE_NUMBER:
        return is_whole(v->text, &whole) ? json_integer(whole) : json_number(v->number);
    case LAKE_VALUE_TIME:
    case LAKE_VALUE_TEXT:
        break;
    }
    return json_text(v->text);
}
