#include "store/keyed.h"

#include "store/driver.h"

#include <assert.h>
#include <string.h>

#define KEY_MAX 800
static const char key_chars[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-=";

int store_keyed_check(const char *key, struct err *e)
{
    size_t len = strlen(key);
    bool good = len > 0 && len <= KEY_MAX;

    for (const char *segment = key; good; segment++) {
        size_t n = strspn(segment, key_chars);
        good = n > 0 && *segment != '.' && (segment[n] == '/' || segment[n] == '\0');
        segment += n;
        if (*segment == '\0')
            break;
    }
    return good ? 0
                : err_set(e, ERR_USAGE,
                          "\"%.100s\": a key has at most %d bytes, in segments of letters, digits, "
                          "'_', '-', '=' and '.' (not in front)",
                          key, KEY_MAX);
}

/* A prefix is a key and a slash, or nothing. */
static int check_prefix(const char *prefix, struct err *e)
{
    size_t n = strlen(prefix);
    char key[KEY_MAX + 1];

    if (n == 0)
        return 0;
    if (n > KEY_MAX || prefix[n - 1] != '/')
        return err_set(e, ERR_USAGE, "\"%.100s\": what is listed ends with a slash", prefix);
    memcpy(key, prefix, n);
    key[n - 1] = '\0';
    return store_keyed_check(key, e);
}

int store_keyed_list(struct store *s, struct store_keyed_list *list, struct err *e)
{
    struct store_keyed_list counted = *list;

    if (check_prefix(list->prefix, e) < 0)
        return -1;
    counted.tally = list->tally ? list->tally : &(struct store_tally){0};
    int result = s->driver->keyed_list(s, &counted, e);
    list->now_ms = counted.now_ms;
    return result;
}

size_t store_keyed_parts(uint64_t n, unsigned connections)
{
    uint64_t most = n / STORE_PART_LEAST;

    most = most < connections ? most : connections;
    return most > 1 ? (size_t)most : 1;
}

int store_keyed_put(struct store *s, const struct store_keyed_put *put, struct err *e)
{
    struct store_keyed_put counted = *put;
    char etag[STORE_ETAG];

    assert(put->pull ? put->digest != NULL : put->n == 0 || put->bytes);
    assert(put->condition != STORE_MATCH || put->etag);
    if (store_keyed_check(put->key, e) < 0)
        return -1;
    counted.etag_out = put->etag_out ? put->etag_out : etag;
    counted.tally = put->tally ? put->tally : &(struct store_tally){0};
    return s->driver->keyed_put(s, &counted, e);
}

int store_keyed_get(struct store *s, const struct store_keyed_get *get, struct err *e)
{
    struct store_keyed_get counted = *get;

    if (store_keyed_check(get->key, e) < 0)
        return -1;
    counted.tally = get->tally ? get->tally : &(struct store_tally){0};
    return s->driver->keyed_get(s, &counted, e);
}

int store_keyed_delete(struct store *s, const char *key, struct store_tally *tally, struct err *e)
{
    if (store_keyed_check(key, e) < 0)
        return -1;
    return s->driver->keyed_delete(s, key, tally ? tally : &(struct store_tally){0}, e);
}

int store_foreign_list(struct store *s, const struct store_keyed_list *list, struct err *e)
{
    assert(s->driver->foreign_list);
    return s->driver->foreign_list(s, list, e);
}

int store_foreign_read(
    struct store *s, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    assert(s->driver->foreign_read);
    return s->driver->foreign_read(s, key, offset, bytes, n, e);
}
