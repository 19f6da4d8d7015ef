/* yaml: a YAML text as a bounded tree with line numbers, for every file users write. */
#ifndef SPEC_YAML_H
#define SPEC_YAML_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct buf;

#define YAML_MAX_BYTES ((size_t)4 << 20)
#define YAML_MAX_DEPTH 64
/* Counted after aliases are expanded, so a few lines of anchors cannot stand for a billion. */
#define YAML_MAX_NODES 200000
#define YAML_MAX_ANCHORS 1000

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_entry {
    const char *key;
    size_t line;
    struct yaml_node *value;
};

/* Aliases point at the anchored node itself: the tree may share branches, and is never changed. */
struct yaml_node {
    enum yaml_kind kind;
    size_t line;       /* from 1; where the node was written, also when reached by an alias */
    size_t column;     /* from 0, in characters */
    size_t begin, end; /* the node's span in characters from the start of the text */
    bool plain;        /* scalar without quotes, not a block scalar */
    bool flow;         /* list or map in [] or {} */
    const char *text;  /* scalar: never NULL, holds no NUL character */
    size_t n;          /* entries of a list or map */
    struct yaml_node **items;   /* list */
    struct yaml_entry *entries; /* map: keys are unique, merge keys (`<<`) are resolved */
    size_t weight;              /* nodes it stands for, aliases expanded */
    unsigned height;            /* levels below it */
    bool open;                  /* being read: an alias to it would be endless */
};

struct yaml_problem {
    size_t line; /* 0 = the file as a whole */
    const char *text;
};

struct yaml_file {
    struct yaml_node **documents;
    size_t n_documents;
    struct yaml_problem *problems;
    size_t n_problems;
    size_t n_aliases;
    bool broken; /* the text could not be read to its end; documents holds what came before */
};

/* Everything is allocated in a. Duplicate keys are problems that do not break the rest. Returns 0
 * when there is no problem at all. */
int yaml_parse(const char *text, size_t len, struct arena *a, struct yaml_file *out);

/* Reads a whole file ("-" = stdin) of at most YAML_MAX_BYTES into out. */
int yaml_read(const char *path, struct buf *out, struct err *e);

/* NULL when absent; map may be any kind of node or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
/* A plain empty scalar, `~` or `null`. NULL counts too. */
bool yaml_is_null(const struct yaml_node *node);
/* "text", "a list", "a map", "nothing": for messages. */
const char *yaml_kind_text(const struct yaml_node *node);
/* Where character number index begins in the bytes of text; a byte order mark before them is not
 * counted. */
size_t yaml_byte_offset(const char *text, size_t len, size_t index);

#endif
