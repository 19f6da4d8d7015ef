/* What files that are one map share, and settings of the command line that go over them. */
#include "base/arena.h"
#include "spec/reader.h"

#include <string.h>

const struct yaml_node *reader_document(struct reader *r,
                                        const char *text,
                                        size_t len,
                                        const char *what)
{
    struct yaml_file file;

    yaml_parse(text, len, r->arena, &file);
    for (size_t i = 0; i < file.n_problems; i++)
        reader_error(r, file.problems[i].line, "%s", file.problems[i].text);
    if (file.n_documents > 1)
        reader_error(r, file.documents[1]->line, "a second document: a %s has one", what);
    if (r->n_errors)
        return NULL;
    if (file.n_documents == 0 || yaml_is_null(file.documents[0])) {
        reader_error(r, 0, "the file is empty");
        return NULL;
    }
    const struct yaml_node *root = file.documents[0];
    if (root->kind == YAML_MAP)
        return root;
    reader_error(r, root->line, "a %s is a map of fields, not %s", what, yaml_kind_text(root));
    return NULL;
}

static const struct reader_field *find_setting(const struct reader_group *groups, const char *name)
{
    for (; groups->fields; groups++)
        if (strncmp(name, groups->prefix, strlen(groups->prefix)) == 0)
            return reader_find_field(groups->fields, name + strlen(groups->prefix));
    return NULL;
}

int reader_set(struct arena *arena,
               const struct reader_group *groups,
               const char *name,
               const char *value,
               void *into,
               struct err *e)
{
    struct spec_finding findings[SPEC_MAX_FINDINGS];
    struct reader r = {.arena = arena, .findings = findings};
    const struct reader_field *field = find_setting(groups, name);
    struct yaml_node node = {.kind = YAML_SCALAR, .plain = true};

    node.text = arena_dup(arena, value);
    if (!field || !node.text)
        return err_set(e, ERR_USAGE, "%s: %s", name, field ? "too long" : "no such setting");
    struct reader_value v = {&r, name, 0, &node};
    field->read(&v, into);
    return r.n_errors || r.is_full ? reader_first_error(&r, NULL, e) : 0;
}
