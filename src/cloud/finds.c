#include "cloud/finds.h"

#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More keys than this are not kept: a run has a few instance types in a few regions. */
#define FINDS_MAX 1000

struct find {
    char key[CLOUD_FINDS_KEY];
    unsigned char value[CLOUD_FINDS_BYTES];
    int64_t until_ms; /* 0 = there is no value */
    bool is_sought;   /* a thread looks for it */
};

struct cloud_finds {
    pthread_mutex_t lock;   /* guards what follows */
    pthread_cond_t settled; /* what was sought is there, or not */
    struct find *list;
    size_t n, cap;
};

struct cloud_finds *cloud_finds_new(void)
{
    struct cloud_finds *f = mem_zero(1, sizeof *f);

    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->settled, NULL);
    return f;
}

void cloud_finds_free(struct cloud_finds *f)
{
    if (!f)
        return;
    pthread_cond_destroy(&f->settled);
    pthread_mutex_destroy(&f->lock);
    free(f->list);
    free(f);
}

/* With the lock held. NULL: there is no such key. */
static struct find *find_of(struct cloud_finds *f, const char *key)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->list[i].key, key) == 0)
            return &f->list[i];
    return NULL;
}

/* With the lock held. NULL: no more are kept. */
static struct find *add(struct cloud_finds *f, const char *key)
{
    if (f->n == FINDS_MAX || strlen(key) >= CLOUD_FINDS_KEY)
        return NULL;
    f->list = mem_room(f->list, f->n, &f->cap, sizeof *f->list);
    struct find *found = &f->list[f->n++];
    *found = (struct find){0};
    snprintf(found->key, sizeof found->key, "%s", key);
    return found;
}

bool cloud_finds_get(struct cloud_finds *f, const char *key, int64_t now_ms, void *value, size_t n)
{
    struct find *found;

    assert(n <= CLOUD_FINDS_BYTES);
    if (!f)
        return false;
    pthread_mutex_lock(&f->lock);
    /* The list may move while the lock is open. */
    while ((found = find_of(f, key)) && found->is_sought)
        pthread_cond_wait(&f->settled, &f->lock);
    bool is_known = found && now_ms < found->until_ms;
    if (is_known)
        memcpy(value, found->value, n);
    else if (found || (found = add(f, key)))
        found->is_sought = true;
    pthread_mutex_unlock(&f->lock);
    return is_known;
}

/* value NULL: it was not found. */
static void settle(
    struct cloud_finds *f, const char *key, int64_t until_ms, const void *value, size_t n)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    struct find *found = find_of(f, key);
    if (found) {
        found->is_sought = false;
        found->until_ms = until_ms;
        if (value)
            memcpy(found->value, value, n);
    }
    pthread_cond_broadcast(&f->settled);
    pthread_mutex_unlock(&f->lock);
}

void cloud_finds_put(
    struct cloud_finds *f, const char *key, int64_t now_ms, const void *value, size_t n)
{
    assert(n <= CLOUD_FINDS_BYTES);
    settle(f, key, now_ms + CLOUD_FINDS_MS, value, n);
}

void cloud_finds_fail(struct cloud_finds *f, const char *key)
{
    settle(f, key, 0, NULL, 0);
}

void cloud_finds_drop(struct cloud_finds *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->n; i++)
        f->list[i].until_ms = 0;
    pthread_mutex_unlock(&f->lock);
}
