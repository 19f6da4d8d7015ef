#include "lake/set/set_nesting.h"

#include "lake/core/internal.h"

#include <string.h>

enum set_nesting_file set_nesting_is_file(const struct set_nesting *n, size_t length)
{
    for (size_t i = n->n_files; i > 0 && n->files[i - 1] >= length; i--)
        if (n->files[i - 1] == length)
            return SET_NESTING_YES;
    return length <= n->unread ? SET_NESTING_UNREAD : SET_NESTING_NO;
}

/* Further up path and last have the same directories, and last was asked about those. */
size_t set_nesting_above(const struct set_nesting *n, const char *path)
{
    size_t shared = path_shared(n->last, path);

    return path[shared] == '/' ? shared : 0;
}

/* "/a" matters to a chunk from "/a-b" on when the chunk goes on to "/a/" or further. */
size_t set_nesting_above_some(const struct set_nesting *n,
                              const char *first,
                              const char *last,
                              size_t length)
{
    size_t within = path_shared(first, last), before = path_shared(n->last, first);

    for (size_t i = length > within ? length : within; i <= before && first[i]; i++)
        if ((unsigned char)first[i] < '/' && (i > within || (unsigned char)last[i] >= '/'))
            return i;
    return 0;
}

/* Only what the next path begins with, too, can be above it or those behind it. */
static void keep_shared(struct set_nesting *n, const char *path)
{
    size_t shared = path_shared(n->last, path);

    while (n->n_files > 0 && n->files[n->n_files - 1] > shared)
        n->n_files--;
    if (n->unread > shared)
        n->unread = shared;
    n->last_len = shared + strlen(path + shared);
    memcpy(n->last + shared, path + shared, n->last_len - shared + 1);
}

void set_nesting_add(struct set_nesting *n, const char *path)
{
    keep_shared(n, path);
    if (n->n_files == 0 || n->files[n->n_files - 1] < n->last_len)
        n->files[n->n_files++] = (uint16_t)n->last_len;
}

void set_nesting_pass(struct set_nesting *n, const char *first, const char *last)
{
    keep_shared(n, first);
    keep_shared(n, last);
    n->unread = n->last_len;
}
