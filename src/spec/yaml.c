#include "spec/yaml.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

struct anchor {
    const char *name;
    struct yaml_node *node;
};

/* What stands on the stack while its list or map is still being read. */
struct child {
    const char *key; /* NULL in lists */
    size_t line;
    struct yaml_node *value;
    bool is_merge; /* the key is a plain `<<` */
};

struct builder {
    yaml_parser_t parser;
    struct arena *arena;
    struct yaml_file *out;
    const char *text;
    struct child *stack;
    size_t n_stack, cap_stack;
    struct anchor *anchors;
    size_t n_anchors, cap_anchors;
    size_t cap_documents, cap_problems;
    size_t total; /* nodes so far, aliases expanded */
    size_t document_line;
    bool is_full; /* no room for a problem: nothing read counts */
};

__attribute__((format(printf, 3, 4))) static void problem(struct builder *b,
                                                          size_t line,
                                                          const char *fmt,
                                                          ...)
{
    struct yaml_file *out = b->out;
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *copy = arena_dup(b->arena, text);
    struct yaml_problem *all =
        arena_room(b->arena, out->problems, out->n_problems, &b->cap_problems, sizeof *all);
    b->is_full |= !copy || !all;
    if (b->is_full)
        return;
    out->problems = all;
    all[out->n_problems++] = (struct yaml_problem){line, copy};
}

/* A problem after which reading on makes no sense. */
#define BROKEN(b, line, ...) (problem(b, line, __VA_ARGS__), (b)->out->broken = true, -1)

static int no_memory(struct builder *b, size_t line)
{
    return BROKEN(b, line, "the file needs more memory than a file of this kind may");
}

/* A character that is UTF-8 but not text (U+0080, U+FFFE ...): libyaml knows the byte alone. */
static int bad_character(struct builder *b)
{
    size_t line = 1, bad = b->parser.problem_offset;

    for (size_t i = 0; i < bad; i++)
        line += b->text[i] == '\n';
    return BROKEN(b, line, "a character that is not text at byte %zu", bad);
}

static int syntax_error(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    const char *what = p->problem ? p->problem : "cannot be read";
    const char *hint = "";

    if (p->error == YAML_MEMORY_ERROR)
        return no_memory(b, p->mark.line + 1);
    if (p->error == YAML_READER_ERROR)
        return bad_character(b);
    if (strstr(what, "cannot start any token"))
        hint = " (indent with spaces, not tabs, and quote text that begins with %, @ or `)";
    else if (strstr(what, "mapping values are not allowed"))
        hint = " (quote text that holds a colon and a space)";
    if (p->context && p->context_mark.line != p->problem_mark.line)
        return BROKEN(b, p->problem_mark.line + 1, "not YAML: %s, %s that begins on line %zu%s",
                      what, p->context, p->context_mark.line + 1, hint);
    return BROKEN(b, p->problem_mark.line + 1, "not YAML: %s%s", what, hint);
}

static int next_event(struct builder *b, yaml_event_t *event)
{
    return yaml_parser_parse(&b->parser, event) ? 0 : syntax_error(b);
}

static int count(struct builder *b, size_t nodes, size_t line)
{
    b->total += nodes;
    if (b->total > YAML_MAX_NODES)
        return BROKEN(b, line, "more than %d values once aliases are expanded", YAML_MAX_NODES);
    return 0;
}

static struct yaml_node *new_node(struct builder *b, enum yaml_kind kind, const yaml_event_t *event)
{
    size_t line = event->start_mark.line + 1;

    if (count(b, 1, line) < 0)
        return NULL;
    struct yaml_node *node = arena_alloc(b->arena, 1, sizeof *node);
    if (!node) {
        no_memory(b, line);
        return NULL;
    }
    node->kind = kind;
    node->line = line;
    node->column = event->start_mark.column;
    node->begin = event->start_mark.index;
    node->end = event->end_mark.index;
    node->weight = 1;
    return node;
}

static int add_anchor(struct builder *b, const yaml_char_t *name, struct yaml_node *node)
{
    if (!name)
        return 0;
    if (b->n_anchors == YAML_MAX_ANCHORS)
        return BROKEN(b, node->line, "more than %d anchors in one document", YAML_MAX_ANCHORS);
    const char *copy = arena_dup(b->arena, (const char *)name);
    if (!copy)
        return no_memory(b, node->line);
    b->anchors = mem_room(b->anchors, b->n_anchors, &b->cap_anchors, sizeof *b->anchors);
    b->anchors[b->n_anchors++] = (struct anchor){copy, node};
    return 0;
}

static struct yaml_node *find_anchor(struct builder *b, const yaml_event_t *event, unsigned depth)
{
    const char *name = (const char *)event->data.alias.anchor;
    size_t line = event->start_mark.line + 1;

    for (size_t i = b->n_anchors; i-- > 0;) {
        struct yaml_node *node = b->anchors[i].node;
        if (strcmp(b->anchors[i].name, name) != 0)
            continue;
        if (node->open) {
            (void)BROKEN(b, line, "alias *%s stands inside its own anchor", name);
            return NULL;
        }
        if (depth + node->height > YAML_MAX_DEPTH) {
            (void)BROKEN(b, line, "nested more than %d levels deep", YAML_MAX_DEPTH);
            return NULL;
        }
        return count(b, node->weight, line) < 0 ? NULL : node;
    }
    (void)BROKEN(b, line, "alias *%s: no anchor &%s before it in this document", name, name);
    return NULL;
}

static struct yaml_node *build_scalar(struct builder *b, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    struct yaml_node *node = new_node(b, YAML_SCALAR, event);

    if (!node)
        return NULL;
    if (memchr(value, 0, len)) {
        (void)BROKEN(b, node->line, "a text holds a NUL character");
        return NULL;
    }
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = arena_dup_n(b->arena, value, len);
    if (!node->text) {
        no_memory(b, node->line);
        return NULL;
    }
    return add_anchor(b, event->data.scalar.anchor, node) < 0 ? NULL : node;
}

static void push(struct builder *b, struct child child)
{
    b->stack = mem_room(b->stack, b->n_stack, &b->cap_stack, sizeof *b->stack);
    b->stack[b->n_stack++] = child;
}

static void weigh(struct yaml_node *parent, const struct yaml_node *child)
{
    parent->weight += child->weight;
    if (parent->height < child->height + 1)
        parent->height = child->height + 1;
}

static int close_list(struct builder *b, struct yaml_node *list, size_t base)
{
    list->n = b->n_stack - base;
    list->items = arena_alloc(b->arena, list->n, sizeof(struct yaml_node *));
    if (!list->items)
        return no_memory(b, list->line);
    for (size_t i = 0; i < list->n; i++) {
        list->items[i] = b->stack[base + i].value;
        weigh(list, list->items[i]);
    }
    return 0;
}

/* Puts the entries of what `<<` names behind the map's own, to be weighed against them. */
static int push_merged(struct builder *b, const struct yaml_node *from, size_t line)
{
    if (from->kind == YAML_LIST) {
        for (size_t i = 0; i < from->n; i++) {
            if (from->items[i]->kind == YAML_LIST)
                return BROKEN(b, line, "`<<` takes a map or a list of maps");
            if (push_merged(b, from->items[i], line) < 0)
                return -1;
        }
        return 0;
    }
    if (from->kind != YAML_MAP)
        return BROKEN(b, line, "`<<` takes a map or a list of maps, not text");
    if (count(b, from->n, line) < 0)
        return -1;
    for (size_t i = 0; i < from->n; i++)
        push(b, (struct child){from->entries[i].key, from->entries[i].line, from->entries[i].value,
                               false});
    return 0;
}

struct ranked {
    const struct child *child;
    size_t rank;
};

static int by_key_then_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int order = strcmp(x->child->key, y->child->key);

    return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Marks in keep which children stay: of equal keys the first, the map's own before merged ones.
 * An own key that stands twice is a problem. */
static void settle_keys(
    struct builder *b, const struct child *children, size_t n, size_t n_own, bool *keep)
{
    AUTO_MEM struct ranked *sorted = mem_zero(n, sizeof *sorted);

    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct ranked){&children[i], i};
    qsort(sorted, n, sizeof *sorted, by_key_then_rank);
    for (size_t i = 0, first = 0; i < n; i++) {
        const struct child *c = sorted[i].child;
        if (i == 0 || strcmp(c->key, sorted[first].child->key) != 0)
            first = i;
        keep[sorted[i].rank] = first == i && !c->is_merge;
        if (first != i && sorted[i].rank < n_own && !c->is_merge)
            problem(b, c->line, "key \"%.100s\" is given twice: first on line %zu", c->key,
                    sorted[first].child->line);
    }
}

static int close_map(struct builder *b, struct yaml_node *map, size_t base)
{
    size_t n_own = b->n_stack - base, kept = 0;

    for (size_t i = 0; i < n_own; i++) {
        struct child own = b->stack[base + i];
        weigh(map, own.value);
        map->weight++; /* the key */
        if (own.is_merge && push_merged(b, own.value, own.line) < 0)
            return -1;
    }
    size_t n = b->n_stack - base;
    map->entries = arena_alloc(b->arena, n, sizeof *map->entries);
    if (!map->entries)
        return no_memory(b, map->line);
    if (n == 0)
        return 0;
    AUTO_MEM bool *keep = mem_zero(n, sizeof *keep);
    settle_keys(b, b->stack + base, n, n_own, keep);
    for (size_t i = 0; i < n; i++) {
        const struct child *c = &b->stack[base + i];
        if (keep[i])
            map->entries[kept++] = (struct yaml_entry){c->key, c->line, c->value};
    }
    map->n = kept;
    return 0;
}

static struct yaml_node *build_node(struct builder *b, const yaml_event_t *event, unsigned depth);

/* Reads one event and the node that begins with it. *end: the event closed the collection. */
static struct yaml_node *next_node(struct builder *b, unsigned depth, bool *end, size_t *end_index)
{
    yaml_event_t event;
    struct yaml_node *node = NULL;

    *end = false;
    if (next_event(b, &event) < 0)
        return NULL;
    if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
        *end = true;
        *end_index = event.end_mark.index;
    } else {
        node = build_node(b, &event, depth);
    }
    yaml_event_delete(&event);
    return node;
}

/* Everything up to the end of the list or map goes on the stack. */
static int read_children(struct builder *b, struct yaml_node *parent, unsigned depth)
{
    for (;;) {
        struct child c = {.line = parent->line};
        bool end;

        c.value = next_node(b, depth, &end, &parent->end);
        if (end)
            return 0;
        if (!c.value)
            return -1;
        if (parent->kind == YAML_MAP) {
            const struct yaml_node *key = c.value;
            if (key->kind != YAML_SCALAR)
                return BROKEN(b, key->line, "a key must be text, not %s", yaml_kind_text(key));
            c.key = key->text;
            c.line = key->line;
            c.is_merge = key->plain && strcmp(key->text, "<<") == 0;
            c.value = next_node(b, depth, &end, &parent->end);
            if (!c.value)
                return -1;
        }
        push(b, c);
    }
}

static struct yaml_node *build_collection(struct builder *b,
                                          const yaml_event_t *event,
                                          unsigned depth)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor =
        is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    struct yaml_node *node = new_node(b, is_map ? YAML_MAP : YAML_LIST, event);
    size_t base = b->n_stack;

    if (!node)
        return NULL;
    if (depth > YAML_MAX_DEPTH) {
        (void)BROKEN(b, node->line, "nested more than %d levels deep", YAML_MAX_DEPTH);
        return NULL;
    }
    node->flow = is_map ? event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                        : event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    node->open = true;
    if (add_anchor(b, anchor, node) < 0 || read_children(b, node, depth + 1) < 0)
        return NULL;
    int closed = is_map ? close_map(b, node, base) : close_list(b, node, base);
    b->n_stack = base;
    node->open = false;
    return closed < 0 ? NULL : node;
}

static struct yaml_node *build_node(struct builder *b, const yaml_event_t *event, unsigned depth)
{
    if (event->type == YAML_ALIAS_EVENT) {
        b->out->n_aliases++;
        return find_anchor(b, event, depth);
    }
    if (event->type == YAML_SCALAR_EVENT)
        return build_scalar(b, event);
    return build_collection(b, event, depth);
}

static int add_document(struct builder *b, const yaml_event_t *first)
{
    struct yaml_file *out = b->out;
    struct yaml_node *root;

    b->n_anchors = 0;
    b->n_stack = 0;
    root = build_node(b, first, 1);
    if (!root)
        return -1;
    if (root->begin == root->end) /* an empty one ends, and so begins, where the next does */
        root->line = b->document_line;
    struct yaml_node **all = arena_room(b->arena, out->documents, out->n_documents,
                                        &b->cap_documents, sizeof(struct yaml_node *));
    if (!all)
        return no_memory(b, root->line);
    out->documents = all;
    all[out->n_documents++] = root;
    return 0;
}

static int read_documents(struct builder *b)
{
    bool more = true;

    while (more) {
        yaml_event_t event;
        int result = 0;

        if (next_event(b, &event) < 0)
            return -1;
        if (event.type == YAML_STREAM_END_EVENT)
            more = false;
        else if (event.type == YAML_DOCUMENT_START_EVENT)
            b->document_line = event.start_mark.line + 1;
        else if (event.type == YAML_ALIAS_EVENT || event.type == YAML_SCALAR_EVENT ||
                 event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT)
            result = add_document(b, &event);
        yaml_event_delete(&event);
        if (result < 0)
            return -1;
    }
    return 0;
}

/* libyaml reports bytes it cannot take without a line, and reads UTF-16 as well: check first. */
static int check_bytes(struct builder *b, const char *text, size_t len)
{
    size_t line, bad;

    if (len > YAML_MAX_BYTES)
        return BROKEN(b, 0, "larger than %zu MiB", YAML_MAX_BYTES >> 20);
    bad = utf8_first_bad(text, len, &line);
    if (bad == len)
        return 0;
    if ((unsigned char)text[bad] < 0x80)
        return BROKEN(b, line, "control character 0x%02x at byte %zu", (unsigned)text[bad], bad);
    return BROKEN(b, line, "not UTF-8: byte 0x%02x at byte %zu", (unsigned char)text[bad], bad);
}

int yaml_parse(const char *text, size_t len, struct arena *a, struct yaml_file *out)
{
    static struct yaml_problem out_of_room[] = {{0, "too large to be read"}};
    struct builder b = {.arena = a, .out = out, .text = text};

    *out = (struct yaml_file){0};
    if (check_bytes(&b, text, len) == 0) {
        if (!yaml_parser_initialize(&b.parser)) {
            no_memory(&b, 0);
        } else {
            size_t begin = yaml_byte_offset(text, len, 0);
            b.text = text + begin;
            yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
            yaml_parser_set_input_string(&b.parser, (const unsigned char *)b.text, len - begin);
            read_documents(&b);
        }
        yaml_parser_delete(&b.parser);
    }
    free(b.stack);
    free(b.anchors);
    if (b.is_full)
        *out = (struct yaml_file){.problems = out_of_room, .n_problems = 1, .broken = true};
    return out->n_problems ? -1 : 0;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    if (!map || map->kind != YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->entries[i].key, key) == 0)
            return map->entries[i].value;
    return NULL;
}

bool yaml_is_null(const struct yaml_node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

    if (!node)
        return true;
    if (node->kind != YAML_SCALAR || !node->plain)
        return false;
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        if (strcmp(node->text, nulls[i]) == 0)
            return true;
    return false;
}

const char *yaml_kind_text(const struct yaml_node *node)
{
    if (yaml_is_null(node))
        return "nothing";
    if (node->kind == YAML_LIST)
        return "a list";
    return node->kind == YAML_MAP ? "a map" : "text";
}

size_t yaml_byte_offset(const char *text, size_t len, size_t index)
{
    size_t at = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

    while (index-- > 0 && at < len)
        at += utf8_width(text + at);
    return at < len ? at : len;
}

static int read_all(int fd, const char *path, struct buf *out, struct err *e)
{
    char chunk[65536];
    ssize_t got;

    while ((got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(e, errno == EISDIR ? ERR_USAGE : ERR_IO, "%s: %s", path,
                           strerror(errno));
        if (out->len + (size_t)got > YAML_MAX_BYTES)
            return err_set(e, ERR_USAGE, "%s: larger than %zu MiB", path, YAML_MAX_BYTES >> 20);
        buf_add(out, chunk, (size_t)got);
    }
    return 0;
}

int yaml_read(const char *path, struct buf *out, struct err *e)
{
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "stdin", out, e);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_USAGE, "%s: %s", path, strerror(errno));
    int result = read_all(fd, path, out, e);
    close(fd);
    return result;
}
