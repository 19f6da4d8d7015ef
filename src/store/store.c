#include "store/store.h"

#include "base/mem.h"
#include "store/driver.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct store_driver *const store_drivers[] = {
    &store_dir_driver,
    &store_s3_driver,
    &store_gs_driver,
    &store_az_driver,
};

static const struct store_driver *find_driver(const char *url)
{
    for (size_t i = 0; i < COUNT(store_drivers); i++)
        if (!strncmp(url, store_drivers[i]->scheme, strlen(store_drivers[i]->scheme)))
            return store_drivers[i];
    return NULL;
}

static int unknown_url(const char *url, struct err *e)
{
    char forms[200] = "";
    size_t len = 0;

    for (size_t i = 0; i < COUNT(store_drivers) && len < sizeof forms; i++) {
        int n = snprintf(forms + len, sizeof forms - len, "%s%s", i ? " or " : "",
                         store_drivers[i]->form);
        len += n > 0 ? (size_t)n : 0;
    }
    return err_set(e, ERR_USAGE, "\"%s\" is not the URL of a store; give %s", url, forms);
}

int store_check_url(const char *url, struct err *e)
{
    const struct store_driver *d = find_driver(url);

    return d ? d->check_url(url, e) : unknown_url(url, e);
}

struct store *store_open(const struct store_settings *settings, struct err *e)
{
    const struct store_driver *d = find_driver(settings->url);

    if (!d) {
        unknown_url(settings->url, e);
        return NULL;
    }
    if (d->check_url(settings->url, e) < 0)
        return NULL;
    AUTO(store) struct store *s = mem_zero(1, sizeof *s);
    s->driver = d;
    s->settings = *settings;
    const char **texts[] = {&s->settings.url, &s->settings.endpoint, &s->settings.region,
                            &s->settings.cache};
    for (size_t i = 0; i < COUNT(texts); i++)
        if (*texts[i])
            *texts[i] = s->texts[i] = mem_dup(*texts[i]);
    s->kept = read_cache_new(&s->settings);
    if (d->open(s, e) < 0) {
        err_wrap(e, "open store %s", s->settings.url);
        return NULL;
    }
    return TAKE(s);
}

void store_free(struct store *s)
{
    if (!s)
        return;
    s->driver->close(s);
    for (size_t i = 0; i < COUNT(s->texts); i++)
        free(s->texts[i]);
    read_cache_free(s->kept);
    free(s);
}

const char *store_kind(const struct store *s)
{
    return s->driver->name;
}

const char *store_bucket(const struct store *s)
{
    return s->bucket ? s->bucket : "";
}

const char *store_prefix(const struct store *s)
{
    return s->prefix ? s->prefix : "";
}

int store_probe(struct store *s, struct err *e)
{
    return s->driver->probe(s, e);
}

int store_allow(const struct store *s, const char *operation, const char *object, struct err *e)
{
    if (!s->settings.allow || s->settings.allow(s->settings.context, operation))
        return 0;
    return err_set(e, ERR_IO, "%s %s: refused", operation, object);
}

void store_content_clear(struct store_content *c)
{
    free(c->parts);
    c->parts = NULL;
    c->n_parts = 0;
}

/* ---- writing ---- */

struct store_writer *store_writer_new(struct store *s,
                                      const char *project,
                                      int64_t session,
                                      struct err *e)
{
    assert(session >= 0);
    if (store_check_project(project, e) < 0)
        return NULL;
    AUTO(store_writer) struct store_writer *w = mem_zero(1, sizeof *w);
    w->store = s;
    w->session = session;
    snprintf(w->project, sizeof w->project, "%s", project);
    if (s->driver->writer_open(w, e) < 0)
        return NULL;
    return TAKE(w);
}

void store_writer_fresh(struct store_writer *w)
{
    w->fresh = true;
}

void store_writer_keep(struct store_writer *w)
{
    w->keep = true;
}

void store_writer_free(struct store_writer *w)
{
    if (!w)
        return;
    w->store->driver->writer_close(w);
    free(w);
}

int store_write_small(struct store_writer *w,
                      const void *bytes,
                      size_t n,
                      const struct sha256_digest *digest,
                      struct store_place *place_out,
                      struct err *e)
{
    if (n > STORE_SMALL_MAX)
        return err_set(e, ERR_USAGE, "%zu bytes are too many for a pack: at most %" PRIu64, n,
                       STORE_SMALL_MAX);
    if (w->store->driver->write_small(w, bytes, n, digest, place_out, e) < 0)
        return -1;
    if (w->keep)
        read_cache_keep(w->store->kept,
                        &(struct store_content){.digest = *digest, .place = *place_out}, bytes, -1);
    return 0;
}

int store_write_large(struct store_writer *w,
                      const struct store_source *source,
                      struct store_content *out,
                      struct err *e)
{
    *out = (struct store_content){0};
    if (w->store->driver->write_large(w, source, out, e) < 0) {
        store_content_clear(out);
        return -1;
    }
    if (w->keep)
        read_cache_keep(w->store->kept, out, NULL, source->fd);
    return 0;
}

int store_flush(struct store_writer *w, struct err *e)
{
    return w->store->driver->flush(w, e);
}

/* ---- reading: the verified kinds are in read_many.c and verify.c ---- */

int store_read(struct store *s,
               const char *project,
               const struct store_place *place,
               uint64_t offset,
               void *bytes,
               size_t n,
               struct err *e)
{
    if (store_check_place(project, place, e) < 0)
        return -1;
    if (offset > place->size || n > place->size - offset)
        return err_set(e, ERR_USAGE,
                       "blob %s: %zu bytes from %" PRIu64 " are not within the %" PRIu64
                       " of the content",
                       place->blob, n, offset, place->size);
    if (n == 0)
        return 0;
    struct store_place range = *place;
    range.offset += offset;
    range.size = n;
    return s->driver->read(s, project, &range, bytes, e);
}

bool store_link(struct store *s,
                const char *project,
                const struct store_content *content,
                const char *path,
                bool hard)
{
    return s->driver->link && store_check_place(project, &content->place, NULL) == 0 &&
           s->driver->link(s, project, content, path, hard);
}

/* ---- keeping house ---- */

int store_projects(struct store *s, store_visit_project *visit, void *context, struct err *e)
{
    return s->driver->projects(s, visit, context, e);
}

int store_list(
    struct store *s, const char *project, store_visit_blob *visit, void *context, struct err *e)
{
    if (store_check_project(project, e) < 0)
        return -1;
    return s->driver->list(s, project, visit, context, e);
}

static bool always(void *context, const char *blob_name)
{
    (void)context;
    (void)blob_name;
    return true;
}

int store_delete(struct store *s,
                 const char *project,
                 const struct store_blob *blob,
                 bool (*still)(void *context, const char *blob_name),
                 void *context,
                 struct err *e)
{
    if (store_check_project(project, e) < 0 || store_check_name(blob->name, e) < 0)
        return -1;
    return s->driver->remove(s, project, blob, still ? still : always, context, e);
}

int store_size(struct store *s, const char *project, const char *name, uint64_t *out, struct err *e)
{
    if (store_check_project(project, e) < 0 || store_check_name(name, e) < 0)
        return -1;
    return s->driver->size(s, project, name, out, e);
}

/* ---- for foreign clients ---- */

void store_url_clear(struct store_url *l)
{
    free(l->url);
    free(l->header);
    *l = (struct store_url){0};
}

bool store_has_urls(const struct store *s)
{
    return s->driver->presign != NULL;
}

int store_presign(struct store *s,
                  const struct store_grant *grant,
                  struct store_url *out,
                  struct err *e)
{
    if (!s->driver->presign)
        return err_set(e, ERR_NOFIT, "store %s has no URLs for other programs: s3 and az have",
                       s->settings.url);
    if (store_check_place(grant->project, &grant->place, e) < 0)
        return -1;
    *out = (struct store_url){0};
    return s->driver->presign(s, grant, out, e);
}
