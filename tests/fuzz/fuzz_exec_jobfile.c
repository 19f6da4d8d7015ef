/* Job files: what can be read can be written, and then reads the same. */
#include "exec/jobfile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void same_list(const char *const *a, size_t n_a, const char *const *b, size_t n_b)
{
    if (n_a != n_b)
        abort();
    for (size_t i = 0; i < n_a; i++)
        if (strcmp(a[i], b[i]) != 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(jobfile) struct jobfile first = {0}, again = {0};

    if (jobfile_parse((const char *)data, size, &first, NULL) < 0)
        return 0;
    AUTO_MEM char *text = jobfile_text(&first, NULL);
    if (!text || jobfile_parse(text, strlen(text), &again, NULL) < 0)
        abort();
    same_list(first.command, first.n_command, again.command, again.n_command);
    same_list(first.env, first.n_env, again.env, again.n_env);
    same_list(first.secrets, first.n_secrets, again.secrets, again.n_secrets);
    if (first.id != again.id || first.memory_mb != again.memory_mb ||
        first.log_max != again.log_max || memcmp(&first.cpus, &again.cpus, sizeof first.cpus) != 0)
        abort();
    return 0;
}
