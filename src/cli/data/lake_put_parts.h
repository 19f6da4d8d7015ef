/* lake_put_parts: files that were put, as put and session finish show them. */
#ifndef CLI_DATA_LAKE_PUT_PARTS_H
#define CLI_DATA_LAKE_PUT_PARTS_H

#include "base/buf.h"
#include "cli/core/command.h"
#include "lake/put/put.h"
#include "view/json_list.h"
#include "view/text.h"

#include <jansson.h>

/* Files that people see one by one; the rest is counted. */
#define LAKE_PUT_LINES 20
#define LAKE_PUT_REF_COLUMNS 74

struct lake_progress_line;

struct lake_put_show {
    bool json;
    struct json_list list; /* begun with the first file */
    struct text_look look;
    struct lake_progress_line *line; /* taken away before the first file is shown; may be NULL */
    uint64_t n;
};

/* For lake_put and lake_session_finish; context: struct lake_put_show. */
int lake_put_show(void *context, const struct lake_put_file *file, struct err *e);
/* Closes the array, or says what was done. set NULL = none. */
int lake_put_end(struct lake_put_show *show,
                 const struct lake_put_summary *summary,
                 const char *set,
                 struct err *e);
/* New reference. */
json_t *lake_put_file_json(const struct lake_put_file *file);

/* Every value of a repeatable option; room for args->n_given. Returns how many. */
size_t lake_put_values(const struct command_args *args, const char *option, const char **values);
/* The name that --set gives, with or without '@'; NULL = none */
const char *lake_put_set(const struct command_args *args);

#endif
