/* internal: the rows behind throughput.h, for the files of this room. */
#ifndef ESTIMATE_INTERNAL_H
#define ESTIMATE_INTERNAL_H

#include "base/err.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct csv;

#define THROUGHPUT_NAME_MAX_BYTES 200
#define THROUGHPUT_NOT_MEASURED ((double)NAN)

struct throughput_table {
    const char **accelerators;
    size_t n_accelerators;
};

struct throughput_row {
    const char *model; /* as the table spells it, without the batch size */
    const char *key;   /* the same, folded */
    double batch_size; /* 0 = none */
    bool builtin;
    size_t line;
    const struct throughput_table *table;
    double *per_s; /* one per accelerator of the table; NaN = not measured */
};

struct throughputs {
    struct arena *arena;
    struct throughput_row *rows; /* by key, batch size, the user's before the built-in one */
    size_t n_rows, cap_rows;
    const char **models;
    size_t n_models;
};

/* A model as written, folded and taken apart. */
struct throughput_name {
    char key[THROUGHPUT_NAME_MAX_BYTES + 1];
    size_t model_len;  /* of the text before any "(batch size N)" */
    double batch_size; /* 0 = not written */
};

/* False when the text is empty or longer than any model's name. */
bool throughput_name_parse(const char *text, struct throughput_name *out);

/* Appends the rows of one table; ERR_USAGE with FILE:LINE. */
int throughputs_read(struct throughputs *t, struct csv *csv, bool builtin, struct err *e);

#endif
