/* What a job wrote, before it is stored: only what is its own. A link that leads out of the output
 * would store any file that the broker may read. */
#include "base/file.h"
#include "base/mem.h"
#include "broker/daemon/attempt.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Links that are named in the warnings; the others are counted. */
#define NAMED_MAX 20

static bool is_below(const char *path, const char *top)
{
    size_t n = strlen(top);

    return !strncmp(path, top, n) && (path[n] == '/' || !path[n]);
}

/* One that leads nowhere is not followed by anybody. */
static bool leads_out(const char *link, const char *top)
{
    AUTO_MEM char *target = realpath(link, NULL);

    return target ? !is_below(target, top) : errno != ENOENT && errno != ELOOP;
}

static void warn_of(const struct attempt *j, const char *name)
{
    AUTO_MEM char *text =
        mem_printf("output: %.300s is left out: it leads out of the directory", name);

    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    attempt_note_warning(j, text);
}

static int drop_links(const struct attempt *j,
                      const char *directory,
                      const char *top,
                      struct err *e)
{
    AUTO_MEM char *walked = mem_dup(directory);
    char *const roots[] = {walked, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t n = 0;
    int result = 0;

    if (!walk)
        return file_error(e, "read", directory);
    for (const FTSENT *f; result == 0 && (f = fts_read(walk));) {
        bool is_link = f->fts_info == FTS_SL || f->fts_info == FTS_SLNONE;
        if (!is_link || !leads_out(f->fts_path, top))
            continue;
        if (unlink(f->fts_path) < 0)
            result = file_error(e, "leave out", f->fts_path);
        else if (n++ < NAMED_MAX)
            warn_of(j, f->fts_path + strlen(directory) + 1);
    }
    fts_close(walk);
    if (n > NAMED_MAX) {
        AUTO_MEM char *text = mem_printf("output: %zu more links are left out", n - NAMED_MAX);
        attempt_note_warning(j, text);
    }
    return result;
}

int attempt_clean_output(const struct attempt *j, const char *directory, struct err *e)
{
    struct stat st;

    if (lstat(directory, &st) < 0)
        return errno == ENOENT ? 0 : file_error(e, "read", directory);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE,
                       "the job replaced its directory "
                       "$TRADEWIND_OUTPUT by something else: nothing is stored");
    AUTO_MEM char *top = realpath(directory, NULL);
    return top ? drop_links(j, directory, top, e) : file_error(e, "read", directory);
}
