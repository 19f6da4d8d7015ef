/* data: what the commands on files, sets, metadata and the lake share. */
#ifndef CLI_DATA_DATA_H
#define CLI_DATA_DATA_H

#include "app/data/data.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

/* Prints a text without what could steer a terminal. columns > 0: cut and padded to that width. */
void cli_data_print(const struct operate_text *t, const char *text, size_t columns);
/* "rw-r-----" for "640"; executable: x for those who may read. out is returned. */
const char *cli_data_rights_text(const char *mode, bool executable, char out[static 10]);

/* Files that were put, one a line as far as people read them, and the sum of them. */
struct data_put_lines {
    size_t n;
    uint64_t bytes, unchanged;
};
void cli_data_print_put(const struct operate_text *t,
                        struct data_put_lines *lines,
                        const char *ref,
                        uint64_t bytes,
                        bool unchanged);
void cli_data_print_put_sum(FILE *out,
                            const struct data_put_lines *lines,
                            const struct data_put_summary *s);

#endif
