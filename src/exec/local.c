/* local: jobs on this machine. Their directories are where they were made. */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "exec/driver.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static int local_prepare(const struct exec_host *h, struct err *e)
{
    if (access(h->agent, X_OK) < 0)
        return file_error(e, "run", h->agent);
    return file_make_dirs(h->root, 0700, e);
}

static int local_agent_command(const struct exec_host *h,
                               const struct exec_call *call,
                               struct words *out,
                               struct err *e)
{
    AUTO_MEM char *dir = call->id ? mem_printf("%s/%" PRId64, h->root, call->id) : mem_dup(h->root);

    (void)e;
    words_add(out, h->agent);
    words_add(out, call->verb);
    words_add(out, dir);
    for (size_t i = 0; i < EXEC_WORDS_MAX && call->words[i]; i++)
        words_add(out, call->words[i]);
    return 0;
}

static int local_explain(const struct exec_host *h, int code, const char *said, struct err *e)
{
    (void)h;
    return err_set(e, ERR_RETRY, "the agent here ended with code %d%s%.*s", code, *said ? ": " : "",
                   (int)strcspn(said, "\n"), said);
}

const struct exec_driver exec_local = {
    .name = "local",
    .prepare = local_prepare,
    .agent_command = local_agent_command,
    .explain = local_explain,
};
