#include "broker/pipeline/usedcode.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void usedcode_clear(struct usedcode *u)
{
    free(u->list);
    *u = (struct usedcode){0};
}

void usedcode_add(struct usedcode *u, const char *path, const struct sha256_digest *digest)
{
    u->list = mem_room(u->list, u->n, &u->cap, sizeof *u->list);
    u->list[u->n++] = (struct codefile){.path = path, .digest = *digest};
}

static int by_path_and_digest(const void *a, const void *b)
{
    const struct codefile *one = a, *other = b;
    int order = strcmp(one->path, other->path);

    return order ? order : memcmp(one->digest.bytes, other->digest.bytes, SHA256_BYTES);
}

void usedcode_sort(struct usedcode *u)
{
    size_t n = 0;

    if (!u->n)
        return;
    qsort(u->list, u->n, sizeof *u->list, by_path_and_digest);
    for (size_t i = 1; i < u->n; i++)
        if (by_path_and_digest(&u->list[n], &u->list[i]) != 0)
            u->list[++n] = u->list[i];
    u->n = n + 1;
}

void *usedcode_bytes(const struct usedcode *u, size_t *n_out)
{
    size_t n = 0;

    for (size_t i = 0; i < u->n; i++)
        n += strlen(u->list[i].path) + 1 + SHA256_BYTES;
    *n_out = n;
    if (!n)
        return NULL;
    char *bytes = mem_zero(n, 1), *at = bytes;
    for (size_t i = 0; i < u->n; i++) {
        at = (char *)mempcpy(at, u->list[i].path, strlen(u->list[i].path) + 1);
        at = (char *)mempcpy(at, u->list[i].digest.bytes, SHA256_BYTES);
    }
    return bytes;
}

int usedcode_read(struct usedcode *u, const void *bytes, size_t n, struct err *e)
{
    const char *path = bytes;

    for (size_t left = n; left > 0;) {
        const char *nul = memchr(path, 0, left);
        size_t used = nul ? (size_t)(nul - path) + 1 + SHA256_BYTES : 0;
        struct sha256_digest digest;
        if (!nul || used > left)
            return err_set(e, ERR_IO, "a list of used code in the lake is damaged");
        memcpy(digest.bytes, nul + 1, SHA256_BYTES);
        usedcode_add(u, path, &digest);
        path += used;
        left -= used;
    }
    return 0;
}
