/* Paths of a pipeline file on this machine, and how many bytes are there. source.c and
 * datasets.c call it. */
#include "base/mem.h"
#include "spec/reader.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *disk_path(const char *path, const char *base_dir)
{
    const char *home = getenv("HOME");

    if (path[0] == '~' && (path[1] == '/' || !path[1]) && home)
        return mem_printf("%s%s", home, path + 1);
    if (path[0] == '/')
        return mem_dup(path);
    return mem_printf("%s/%s", base_dir, path);
}

int disk_size(const char *path, size_t *entries_left, double *bytes_out, bool *is_cut)
{
    AUTO_MEM char *root = mem_dup(path);
    char *const roots[] = {root, NULL};
    /* The user may name a link; what lies below is not chased around the disk. */
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    int result = 0;

    *bytes_out = 0;
    *is_cut = false;
    if (!walk)
        return -1;
    while ((entry = fts_read(walk))) {
        if ((entry->fts_info == FTS_NS || entry->fts_info == FTS_SLNONE) &&
            entry->fts_level == FTS_ROOTLEVEL) {
            errno = entry->fts_errno ? entry->fts_errno : ENOENT;
            result = -1;
            break;
        }
        if (*entries_left == 0) {
            *is_cut = true;
            break;
        }
        *entries_left -= entry->fts_info != FTS_DP;
        if (entry->fts_info == FTS_F)
            *bytes_out += (double)entry->fts_statp->st_size;
        *is_cut |= entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR;
    }
    int saved = errno;
    fts_close(walk);
    errno = saved;
    return result;
}
