/* reader: what the parts of the pipeline-file reader share. For files of spec/ alone. */
#ifndef SPEC_READER_H
#define SPEC_READER_H

#include "spec/spec.h"
#include "spec/yaml.h"

#include <stdbool.h>
#include <stddef.h>

#define SPEC_MAX_STAGES 1000
#define SPEC_MAX_DATASETS 10000 /* inputs of all stages; outputs likewise */
#define SPEC_MAX_FINDINGS 100
#define SPEC_MAX_ALTERNATIVES 256
#define SPEC_MAX_NAME_BYTES 256

/* An input as written: what is said and what is not. */
struct draft_input {
    const char *from;
    size_t line;
    bool has_size;
    double size_gb;
    bool has_place;
    struct spec_place place;
    bool is_mount; /* from file_mounts, which has no field for size or location */
    bool is_known; /* what it refers to was found out: the rest holds */
    enum spec_source source;
    size_t stage, output; /* SPEC_FROM_STAGE */
    const char *cloud;    /* SPEC_FROM_URI: of its scheme, NULL when that says nothing */
};

/* How large an output is, until its stage's inputs are known. */
struct draft_size {
    bool is_said;
    bool is_factor; /* times the stage's total input */
    double value;
};

/* A stage between reading and resolving; spec->stages[i] belongs to drafts[i]. */
struct draft {
    const struct yaml_node *node; /* the document with the defaults merged in */
    const struct yaml_node *needs;
    size_t needs_line;
    bool has_inputs; /* `inputs` is written, be it empty */
    struct draft_input *inputs;
    size_t n_inputs, cap_inputs;
    struct draft_size *sizes; /* of the stage's outputs */
    bool work_is_input;
};

struct reader {
    struct arena *arena;
    struct spec *spec;
    const char *base_dir; /* NULL: local paths are not looked at */
    const char *stage;    /* whose field is being read, NULL outside of stages */
    struct draft *drafts;
    const struct yaml_node *default_resources;
    bool parallel; /* stages without `needs` need nothing */
    struct spec_finding *findings;
    size_t n_findings, n_errors, n_left_out;
    size_t n_inputs, n_outputs; /* of all stages so far */
    bool is_full;               /* the arena is used up: everything read is worthless */
};

/* One value on its way into a struct. */
struct reader_value {
    struct reader *r;
    const char *field; /* "resources.cpus" */
    size_t line;
    const struct yaml_node *node; /* never NULL */
};

enum reader_use {
    READER_READ,    /* by the function */
    READER_OLD,     /* the same: an old name of the field before it in the table */
    READER_CARRIED, /* has its meaning elsewhere; nothing to read for planning */
    READER_IGNORED, /* SkyPilot's, without meaning here: a warning */
};

struct reader_field {
    const char *name;
    enum reader_use use;
    void (*read)(const struct reader_value *v, void *into);
};

/* Reads a map by a table of its fields, which ends with {0}. A field not in it is an error that
 * names the nearest; also_known (such a table, or NULL) has further names to suggest. False when v
 * is no map. */
bool reader_fields(const struct reader_value *v,
                   const struct reader_field *fields,
                   const struct reader_field *also_known,
                   void *into);

const struct reader_field *reader_find_field(const struct reader_field *fields, const char *name);

/* Findings. The stage and, for a value, its field are put in front; one that stands in the list
 * already (a default or an alias read for several stages) is not added again. */
void reader_error(struct reader *r, size_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void reader_warn(struct reader *r, size_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void reader_value_error(const struct reader_value *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The value for a message: quoted and cut, or what kind of thing it is. */
const char *reader_shown(const struct reader_value *v);
const char *reader_quote(struct reader *r, const char *text);

/* The first error as "FILE:LINE: ...", without these when file is NULL. Always -1. */
int reader_first_error(const struct reader *r, const char *file, struct err *e);

/* The one map a file consists of, for files other than pipelines; NULL after errors. what names it:
 * "training". */
const struct yaml_node *reader_document(struct reader *r,
                                        const char *text,
                                        size_t len,
                                        const char *what);

/* One setting of the command line by its dotted name in the file; groups end with {0}, the one
 * without a prefix last. Errors have no line. */
struct reader_group {
    const char *prefix; /* "model." */
    const struct reader_field *fields;
};
int reader_set(struct arena *arena,
               const struct reader_group *groups,
               const char *name,
               const char *value,
               void *into,
               struct err *e);

/* Memory of the spec; NULL and is_full when there is no more. */
void *reader_alloc(struct reader *r, size_t n, size_t size);
char *reader_printf(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Each false after an error finding; a null value is an error. */
bool reader_text(const struct reader_value *v, const char **out);
bool reader_name(const struct reader_value *v, const char **out); /* short, one line, not empty */
bool reader_number(const struct reader_value *v, double min, double max, double *out);
bool reader_bool(const struct reader_value *v, bool *out);
bool reader_size(const struct reader_value *v, double *gb_out);
bool reader_usd(const struct reader_value *v, double *out);
bool reader_duration(const struct reader_value *v, double bare_unit_s, double max_s, double *out);
bool reader_is_map(const struct reader_value *v);
/* The value of one entry or item, named after its parent. */
struct reader_value reader_entry(const struct reader_value *parent, size_t i);
struct reader_value reader_item(const struct reader_value *parent, size_t i);

/* spec.c: one map as a pipeline of one stage, for files that are more than that; all of it is in
 * the reader's arena. NULL when that is full. */
struct spec *spec_read_alone(struct reader *r,
                             const char *file,
                             const char *name,
                             const struct yaml_node *map);

/* stage.c: reads drafts[index].node into spec->stages[index]. */
void spec_stage_read(struct reader *r, size_t index);
const struct reader_field *spec_stage_fields(void);

/* header.c: reads the pipeline-wide fields of a map, of a stage's map (not alone) only those;
 * *defaults_out as written. */
void header_read(struct reader *r,
                 const struct yaml_node *node,
                 bool is_alone,
                 const struct yaml_node **defaults_out);
const struct reader_field *header_fields(void);

/* resources.c: own and inherited may be NULL. */
void resources_read(struct reader *r,
                    const struct reader_value *own,
                    const struct yaml_node *inherited,
                    struct spec_stage *stage);

/* "A100" or "A100:8"; count, when not NULL, is the value of a map's entry instead. False after an
 * error. */
bool resources_read_accelerator(const struct reader_value *v,
                                const char *text,
                                const struct yaml_node *count,
                                struct spec_accelerator *out);

/* timing.c */
void timing_read(const struct reader_value *v, struct draft *draft, struct spec_estimate *out);
/* The defaults' estimate under the stage's own: one form, never a mix of two. */
const struct yaml_node *timing_merge(struct reader *r,
                                     const struct yaml_node *defaults,
                                     const struct yaml_node *own);

/* data.c */
void data_read_inputs(const struct reader_value *v, struct draft *draft);
void data_read_outputs(const struct reader_value *v, struct draft *draft, struct spec_stage *stage);
void data_read_mounts(const struct reader_value *v,
                      struct draft *draft,
                      const struct spec_stage *stage);

/* merge.c: own over defaults, field by field. */
const struct yaml_node *merge_defaults(struct reader *r,
                                       const struct yaml_node *defaults,
                                       const struct yaml_node *own);
const struct yaml_node *merge_maps(struct reader *r,
                                   const struct yaml_node *defaults,
                                   const struct yaml_node *own);

/* graph.c: finds out what inputs and needs refer to, sets the stages' needs and the topological
 * order, which stays NULL when there is none. */
void spec_graph_resolve(struct reader *r);

/* source.c: a reference that is no stage's output. False after an error. */
bool spec_source_classify(struct reader *r, struct draft_input *input);

/* datasets.c: inputs of all stages, and every size and location. */
void datasets_resolve(struct reader *r);

/* disk.c: bytes of a file or tree; symbolic links in it are not followed. Visits at most
 * *entries_left entries and counts it down; *is_cut when that or a directory that cannot be read
 * left something out. -1 with errno when there is nothing at path. */
int disk_size(const char *path, size_t *entries_left, double *bytes_out, bool *is_cut);
/* Where a path of the pipeline file is: `~` is home, relative ones start at base_dir. */
char *disk_path(const char *path, const char *base_dir);

#endif
