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

/* One value on its way into a struct. */
struct reader_value {
    struct reader *r;
    const char *field; /* "resources.cpus" */
    size_t line;
    const struct yaml_node *node; /* never NULL */
};

/* An input as written: what is said and what is not. */
struct draft_input {
    const char *from;
    size_t line;
    bool has_size;
    double size_gb;
    bool has_place;
    struct spec_place place;
    const char *target; /* of a mount: where it is to be */
    bool is_mount;      /* from file_mounts, which has no field for size or location */
    bool is_known;      /* what it refers to was found out: the rest holds */
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
    struct reader_value resources, mounts; /* as written; .node NULL = absent */
    bool has_inputs;                       /* `inputs` is written, be it empty */
    struct draft_input *inputs;
    struct spec_mount *empty_mounts; /* without source */
    size_t n_empty, cap_empty;
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
    const struct yaml_node *defaults, *default_resources; /* as written; NULL = none */
    bool parallel;                                        /* stages without `needs` need nothing */
    struct spec_finding *findings;
    size_t n_findings, n_errors, n_left_out;
    size_t n_inputs, n_outputs; /* of all stages so far */
    bool is_full;               /* the arena is used up: everything read is worthless */
};

/* What becomes of the value of a field. */
enum reader_use {
    READER_READ,    /* the function reads it */
    READER_CARRIED, /* has its meaning elsewhere; nothing to read for planning */
    READER_IGNORED, /* SkyPilot's, without meaning here: a warning */
    READER_MAP,     /* a map: the fields `inner` of the same struct */
    /* Read into the member at `at`, which has the C type below. */
    READER_TEXT,
    READER_NAME, /* short, one line, not empty */
    READER_BOOL,
    READER_COUNT,   /* min to max, no fraction */
    READER_PLACE,   /* a cloud, a region, or `any` */
    READER_REGION,  /* a cloud and a region */
    READER_NUMBER,  /* min to max; all that follow are doubles, too */
    READER_ABOVE,   /* above 0, at most max */
    READER_WHOLE,   /* min to max, no fraction */
    READER_SIZE,    /* gigabytes */
    READER_USD,     /* dollars, at most max; max 0 = no limit */
    READER_PRICE,   /* dollars above 0, at most max */
    READER_SECONDS, /* a duration of at most max; a bare number counts in seconds */
    READER_DAYS,    /* likewise in seconds; a bare number counts in days */
};
#define READER_TYPE_TEXT const char *
#define READER_TYPE_NAME const char *
#define READER_TYPE_BOOL bool
#define READER_TYPE_NUMBER double
#define READER_TYPE_ABOVE double
#define READER_TYPE_WHOLE double
#define READER_TYPE_COUNT unsigned
#define READER_TYPE_SIZE double
#define READER_TYPE_USD double
#define READER_TYPE_PRICE double
#define READER_TYPE_SECONDS double
#define READER_TYPE_DAYS double
#define READER_TYPE_PLACE struct spec_place
#define READER_TYPE_REGION struct spec_place
/* Use and member of a field; does not compile when the member has another C type. */
#define READER_INTO(use, type, member)                                                             \
    READER_##use, .at = offsetof(struct type, member) +                                            \
                        0 * sizeof((READER_TYPE_##use *)0 == &((struct type *)0)->member)

struct reader_field {
    const char *name;
    enum reader_use use;
    void (*read)(const struct reader_value *v, void *into);
    size_t at;
    double min, max;
    bool may_be_null; /* null leaves the member as it is; a double becomes `unsaid` */
    double unsaid;
    const struct reader_field *inner;
    bool is_open; /* a map whose keys are the user's */
    bool is_old;  /* an old name of the field before it in the table */
    int group;    /* of fields that exclude those of other groups; 0 = of none */
};

/* Reads a map by a table of its fields, which ends with {0}. A field not in it is an error that
 * names the nearest; also_known (such a table, or NULL) has further names to suggest. False when v
 * is no map. */
bool reader_fields(const struct reader_value *v,
                   const struct reader_field *fields,
                   const struct reader_field *also_known,
                   void *into);

const struct reader_field *reader_find_field(const struct reader_field *fields, const char *name);
/* Reads one value as its field says. */
void reader_field(const struct reader_field *field, const struct reader_value *v, void *into);

/* Findings. The stage and, for a value, its field are put in front; one that stands in the list
 * already (a default or an alias read for several stages) is not added again. */
void reader_finding(struct reader *r, bool is_error, size_t line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define reader_error(r, line, ...) reader_finding(r, true, line, __VA_ARGS__)
#define reader_warn(r, line, ...) reader_finding(r, false, line, __VA_ARGS__)
void reader_value_error(const struct reader_value *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The value for a message: quoted and cut, or what kind of thing it is. */
const char *reader_shown(const struct reader_value *v);
const char *reader_quote(struct reader *r, const char *text);

/* The first error as "FILE:LINE: ...", without these when file is NULL. Always -1. */
int reader_first_error(const struct reader *r, const char *file, struct err *e);

/* The documents of a text; what is wrong with them becomes findings. */
void reader_yaml(struct reader *r, const char *text, size_t len, struct yaml_file *out);

/* Reads a file that consists of one map, for files other than pipelines; what names it: "training".
 * then(), unless NULL, reads on in the map. */
struct reader_file {
    struct arena *arena;
    const char *name; /* for messages; NULL: they have no line */
    const char *what;
    const struct reader_field *fields; /* NULL: then() reads them */
    void (*then)(struct reader *r, const struct yaml_node *root, void *into);
    bool may_be_empty;
};
int reader_file(
    const struct reader_file *file, const char *text, size_t len, void *into, struct err *e);

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
bool reader_duration(const struct reader_value *v, double bare_unit_s, double max_s, double *out);
bool reader_is_map(const struct reader_value *v);
bool reader_place(const struct reader_value *v, struct spec_place *out);
bool reader_region(const struct reader_value *v, struct spec_place *out); /* and a cloud */
bool reader_whole(const struct reader_value *v, double min, double max, double *out);
/* One text or a list of texts, each by reader_text or reader_name. */
bool reader_texts(const struct reader_value *v,
                  bool (*read)(const struct reader_value *v, const char **out),
                  const char ***out,
                  size_t *n_out);
/* The value of one entry or item, named after its parent. */
struct reader_value reader_entry(const struct reader_value *parent, size_t i);
struct reader_value reader_item(const struct reader_value *parent, size_t i);

/* spec.c: one map as a pipeline of one stage, for files that are more than that; all of it is in
 * the reader's arena. NULL when that is full. */
struct spec *spec_read_alone(struct reader *r,
                             const char *file,
                             const char *name,
                             const struct yaml_node *map);

struct draft *spec_stage_draft(const struct reader *r, const struct spec_stage *stage);

/* stage.c: reads drafts[index].node into spec->stages[index]. */
void spec_stage_read(struct reader *r, size_t index);
const struct reader_field *spec_stage_fields(void);

/* spec.c: the pipeline-wide fields. */
const struct reader_field *header_fields(void);

/* resources.c */
const struct reader_field *resources_fields(void);
/* own and inherited may be NULL. */
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

/* timing.c: into is the stage. */
void timing_read(const struct reader_value *v, void *into);
/* The defaults' estimate under the stage's own: one form, never a mix of two. */
const struct yaml_node *timing_merge(struct reader *r,
                                     const struct yaml_node *defaults,
                                     const struct yaml_node *own);

/* spec.c: own over defaults, key by key. */
const struct yaml_node *merge_maps(struct reader *r,
                                   const struct yaml_node *defaults,
                                   const struct yaml_node *own);

/* graph.c: finds out what inputs and needs refer to, sets the stages' needs and the topological
 * order, which stays NULL when there is none. */
void spec_graph_resolve(struct reader *r);

/* datasets.c: inputs of all stages, and every size and location. */
void datasets_resolve(struct reader *r);

/* Bytes of a file or tree; symbolic links in it are not followed. Visits at most
 * *entries_left entries and counts it down; *is_cut when that or a directory that cannot be read
 * left something out. -1 with errno when there is nothing at path. */
int disk_size(const char *path, size_t *entries_left, double *bytes_out, bool *is_cut);
/* Where a path of the pipeline file is: `~` is home, relative ones start at base_dir. */
char *disk_path(const char *path, const char *base_dir);

#endif
