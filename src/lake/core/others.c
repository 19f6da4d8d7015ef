#include "lake/core/others.h"

#include <string.h>

struct search {
    struct store *store;
    const char *mark;
    const char *home;
    const char *url;
};

/* Ends the search: as an error, which it is. */
static int refuse(void *context, const struct store_blob *blob, struct err *e)
{
    const struct search *s = context;

    if (blob->unfinished)
        return 0;
    return err_set(
        e, ERR_USAGE,
        "the store %s has content that lake.db in %s does not know: restore lake.db from "
        "a backup if it was lost, choose another store, or begin a new lake beside that "
        "content with `tradewind init --new`",
        s->url, s->home);
}

/* Names of projects in a store end in "-" and the mark of their lake. */
static const char *mark_of(const char *project)
{
    const char *dash = strrchr(project, '-');
    size_t digits = dash ? strspn(dash + 1, "0123456789abcdef") : 0;

    return digits == OTHERS_MARK - 1 && dash[1 + digits] == '\0' ? dash + 1 : NULL;
}

static int look(void *context, const char *project, struct err *e)
{
    const struct search *s = context;
    const char *mark = mark_of(project);

    if (!mark || strcmp(mark, s->mark) == 0)
        return 0;
    return store_list(s->store, project, refuse, context, e);
}

int others_refuse(const struct store_settings *settings,
                  const char *mark,
                  const char *home,
                  struct err *e)
{
    AUTO(store) struct store *store = store_open(settings, e);
    struct search s = {.store = store, .mark = mark, .home = home, .url = settings->url};
    struct err why = {0};

    if (!store)
        return -1;
    /* A bucket that is still to be made has no content. */
    if (store_projects(store, look, &s, &why) == 0 || why.kind == ERR_NOTFOUND)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}
