#include "spec/config_edit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/number.h"
#include "spec/yaml.h"

#include <ctype.h>
#include <string.h>

#define MAX_PARTS 8
#define MAX_VALUE_BYTES 65536
#define ARENA_MAX_BYTES ((size_t)32 << 20)

struct part {
    const char *text;
    size_t len;
};

struct edit {
    const char *text;
    size_t len;
    const char *key;
    struct part parts[MAX_PARTS];
    size_t n_parts;
    struct buf value; /* as YAML */
};

static int split_key(struct edit *edit, const char *key, struct err *e)
{
    const char *p = key;

    edit->key = key;
    for (;;) {
        size_t n = strcspn(p, ".");
        for (size_t i = 0; i < n; i++)
            if (!isalnum((unsigned char)p[i]) && p[i] != '_' && p[i] != '-')
                n = 0;
        if (n == 0 || edit->n_parts == MAX_PARTS)
            return err_set(
                e, ERR_USAGE,
                "\"%.100s\" is not the name of a setting: write letters, digits, _ and - "
                "with dots between, as in plan.boot_s",
                key);
        edit->parts[edit->n_parts++] = (struct part){p, n};
        if (!p[n])
            return 0;
        p += n + 1;
    }
}

/* Whether text stands for itself without quotes, in {} and [] too. */
static bool is_plain(const char *text)
{
    if (!*text || !isalnum((unsigned char)*text))
        return false;
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_-./+$", *p) &&
            (*p != ':' || p[1] == ' ' || !p[1]))
            return false;
    return true;
}

static int quote(struct buf *out, const char *text)
{
    buf_puts(out, "\"");
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_printf(out, "\\%c", *p);
        else if (*p == '\n')
            buf_puts(out, "\\n");
        else
            buf_add(out, p, 1);
    }
    return buf_puts(out, "\"");
}

/* A list or map must read as one by itself, and end on the line it began on. */
static int check_flow(const char *key, const char *value, struct err *e)
{
    AUTO(arena) struct arena *a = arena_new(ARENA_MAX_BYTES);
    struct yaml_file file;

    if (strchr(value, '\n') || yaml_parse(value, strlen(value), a, &file) < 0 ||
        file.n_documents != 1 || file.documents[0]->kind == YAML_SCALAR ||
        yaml_byte_offset(value, strlen(value), file.documents[0]->end) != strlen(value))
        return err_set(e, ERR_USAGE,
                       "%s: \"%.100s\" is not a list or map: write [a, b] or {a: 1, b: 2}", key,
                       value);
    return 0;
}

static int write_value(struct edit *edit, const char *value, struct err *e)
{
    if (strlen(value) > MAX_VALUE_BYTES)
        return err_set(e, ERR_USAGE, "%s: a value has at most %d bytes", edit->key,
                       MAX_VALUE_BYTES);
    if (*value == '[' || *value == '{') {
        if (check_flow(edit->key, value, e) < 0)
            return -1;
        return buf_puts(&edit->value, value);
    }
    return is_plain(value) ? buf_puts(&edit->value, value) : quote(&edit->value, value);
}

/* "plan: {boot_s: 60}" from the part numbered first on. */
static void put_nested(const struct edit *edit, size_t first, struct buf *out)
{
    for (size_t i = first; i < edit->n_parts; i++)
        buf_printf(out, "%s%.*s: ", i > first ? "{" : "", (int)edit->parts[i].len,
                   edit->parts[i].text);
    buf_puts(out, buf_str(&edit->value));
    for (size_t i = first + 1; i < edit->n_parts; i++)
        buf_puts(out, "}");
}

static const struct yaml_node *child_of(const struct yaml_node *node, const struct part *part)
{
    char name[256];
    double index;

    if (part->len >= sizeof name)
        return NULL;
    memcpy(name, part->text, part->len);
    name[part->len] = 0;
    if (node->kind == YAML_LIST && number_parse(name, &index) && index >= 0 &&
        index < (double)node->n)
        return node->items[(size_t)index];
    return yaml_get(node, name);
}

static size_t offset(const struct edit *edit, size_t index)
{
    return yaml_byte_offset(edit->text, edit->len, index);
}

/* Where a node's text ends. libyaml ends a block at the token behind it, comments included. */
static size_t end_of(const struct edit *edit, const struct yaml_node *node)
{
    if (node->kind == YAML_SCALAR || node->flow || node->n == 0)
        return offset(edit, node->end);
    return end_of(edit, node->kind == YAML_MAP ? node->entries[node->n - 1].value
                                               : node->items[node->n - 1]);
}

static void splice(
    const struct edit *edit, size_t begin, size_t end, const char *text, struct buf *out)
{
    buf_add(out, edit->text, begin);
    buf_puts(out, text);
    buf_add(out, edit->text + end, edit->len - end);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Puts text in a node's place. */
static void replace(const struct edit *edit,
                    const struct yaml_node *node,
                    const char *text,
                    struct buf *out)
{
    size_t begin = offset(edit, node->begin), end = end_of(edit, node);
    AUTO_CLEAR(buf) struct buf spaced;

    buf_init(&spaced, YAML_MAX_BYTES);
    /* A block moves up behind its key, unless a comment stands between. */
    if (node->kind != YAML_SCALAR && !node->flow) {
        size_t colon = begin;
        while (colon > 0 && is_blank(edit->text[colon - 1]))
            colon--;
        if (colon > 0 && edit->text[colon - 1] == ':')
            begin = colon;
    }
    if (begin > 0 && edit->text[begin - 1] == ':')
        buf_puts(&spaced, " ");
    buf_puts(&spaced, text);
    /* A block scalar ends behind its line break. */
    if (end > begin && edit->text[end - 1] == '\n')
        buf_puts(&spaced, "\n");
    splice(edit, begin, end, buf_str(&spaced), out);
}

static void insert(const struct edit *edit,
                   const struct yaml_node *map,
                   size_t first,
                   struct buf *out)
{
    AUTO_CLEAR(buf) struct buf text;
    size_t at =
        map->n ? end_of(edit, map->entries[map->n - 1].value) : offset(edit, map->begin) + 1;

    buf_init(&text, YAML_MAX_BYTES);
    if (map->flow) {
        if (map->n)
            buf_puts(&text, ", ");
    } else {
        while (at > 0 && is_blank(edit->text[at - 1]))
            at--;
        while (at < edit->len && edit->text[at] != '\n')
            at++;
        buf_printf(&text, "\n%*s", (int)map->column, "");
    }
    put_nested(edit, first, &text);
    splice(edit, at, at, buf_str(&text), out);
}

static void append(const struct edit *edit, struct buf *out)
{
    buf_add(out, edit->text, edit->len);
    if (edit->len && edit->text[edit->len - 1] != '\n')
        buf_puts(out, "\n");
    put_nested(edit, 0, out);
    buf_puts(out, "\n");
}

static int apply(const struct edit *edit,
                 const struct yaml_node *root,
                 struct buf *out,
                 struct err *e)
{
    const struct yaml_node *node = root;
    size_t depth = 0;

    if (!root || yaml_is_null(root)) {
        append(edit, out);
        return 0;
    }
    for (; depth < edit->n_parts; depth++) {
        const struct yaml_node *child = child_of(node, &edit->parts[depth]);
        if (!child)
            break;
        node = child;
    }
    if (depth == edit->n_parts) {
        replace(edit, node, buf_str(&edit->value), out);
    } else if (node->kind == YAML_MAP) {
        insert(edit, node, depth, out);
    } else if (yaml_is_null(node)) {
        AUTO_CLEAR(buf) struct buf nested;
        buf_init(&nested, YAML_MAX_BYTES);
        buf_puts(&nested, "{");
        put_nested(edit, depth, &nested);
        buf_puts(&nested, "}");
        replace(edit, node, buf_str(&nested), out);
    } else if (depth == 0) {
        return err_set(e, ERR_USAGE, "the file holds %s, not a map of settings: edit it by hand",
                       yaml_kind_text(node));
    } else {
        const struct part *last = &edit->parts[depth - 1];
        return err_set(e, ERR_USAGE, "%s: %.*s on line %zu is %s, not a map: edit it by hand",
                       edit->key, (int)(last->text + last->len - edit->key), edit->key, node->line,
                       yaml_kind_text(node));
    }
    return 0;
}

/* Reads the edited text back: no surprise of YAML's grammar may reach the disk. */
static int verify(const struct edit *edit, const struct buf *edited, struct err *e)
{
    AUTO(arena) struct arena *a = arena_new(2 * ARENA_MAX_BYTES);
    struct yaml_file before, after;
    const struct yaml_node *node, *wanted;

    if (edited->full || yaml_parse(buf_str(edited), edited->len, a, &after) < 0 ||
        after.n_documents != 1 ||
        yaml_parse(buf_str(&edit->value), edit->value.len, a, &before) < 0)
        return err_set(e, ERR_USAGE, "%s: the file cannot be edited safely: edit it by hand",
                       edit->key);
    node = after.documents[0];
    for (size_t i = 0; node && i < edit->n_parts; i++)
        node = child_of(node, &edit->parts[i]);
    wanted = before.documents[0];
    if (!node || node->kind != wanted->kind || node->weight != wanted->weight ||
        (node->kind == YAML_SCALAR && strcmp(node->text, wanted->text) != 0))
        return err_set(e, ERR_USAGE, "%s: the file cannot be edited safely: edit it by hand",
                       edit->key);
    return 0;
}

static int edit_text(struct edit *edit, struct buf *out, struct err *e)
{
    AUTO(arena) struct arena *a = arena_new(ARENA_MAX_BYTES);
    struct yaml_file file;

    if (yaml_parse(edit->text, edit->len, a, &file) < 0)
        return err_set(e, ERR_USAGE, "line %zu: %s", file.problems[0].line, file.problems[0].text);
    if (file.n_documents > 1 || file.n_aliases > 0)
        return err_set(e, ERR_USAGE,
                       "%s: a file with aliases or several documents is edited by hand", edit->key);
    if (apply(edit, file.n_documents ? file.documents[0] : NULL, out, e) < 0)
        return -1;
    return verify(edit, out, e);
}

int config_edit(const char *text,
                size_t len,
                const char *key,
                const char *value,
                struct buf *out,
                struct err *e)
{
    struct edit edit = {.text = text, .len = len};
    int result = -1;

    buf_init(&edit.value, YAML_MAX_BYTES);
    if (split_key(&edit, key, e) == 0 && write_value(&edit, value, e) == 0)
        result = edit_text(&edit, out, e);
    buf_clear(&edit.value);
    return result;
}
