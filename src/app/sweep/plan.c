/* plan: the definition of a sweep as a file of the home. start.c and show.c call it. */
#include "app/sweep/trials.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sweep_plan_clear(struct sweep_plan *p)
{
    free(p->name);
    free(p->search);
    free(p->metric);
    free(p->output);
    *p = (struct sweep_plan){0};
}

static json_t *text_or_null(const char *s)
{
    return s ? json_text(s) : json_null();
}

int sweep_plan_save(const char *home, const struct sweep_plan *p, struct err *e)
{
    AUTO_MEM char *directory = mem_printf("%s/sweeps", home);
    AUTO_MEM char *path = mem_printf("%s/%s.json", directory, p->name);
    AUTO_JSON json_t *root = json_object();

    json_object_set_new(root, "name", json_text(p->name));
    json_object_set_new(root, "search", json_text(p->search));
    json_object_set_new(root, "metric", text_or_null(p->metric));
    json_object_set_new(root, "goal", json_string(p->less_is_better ? "min" : "max"));
    json_object_set_new(root, "output", text_or_null(p->output));
    json_object_set_new(root, "pipeline", json_boolean(p->is_pipeline));
    json_object_set_new(root, "first_step", json_real(p->first_step));
    AUTO_MEM char *text = json_dumps(root, JSON_INDENT(2));
    if (file_make_own_dirs(directory, e) < 0)
        return -1;
    return text ? file_replace(path, text, strlen(text), FILE_OWN, e)
                : err_set(e, ERR_USAGE, "sweep %s: a name is not UTF-8 text", p->name);
}

static char *dup_or_null(const json_t *root, const char *key)
{
    const char *text = json_string_value(json_object_get(root, key));

    return text ? mem_dup(text) : NULL;
}

int sweep_plan_load(const char *home, const char *name, struct sweep_plan *out, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/sweeps/%s.json", home, name);
    json_error_t why;

    *out = (struct sweep_plan){.name = mem_dup(name)};
    if (access(path, F_OK) < 0) {
        out->search = mem_dup("grid");
        out->less_is_better = true;
        return 0;
    }
    AUTO_JSON json_t *root = json_load_file(path, 0, &why);
    if (!root)
        return err_set(e, ERR_IO, "%s cannot be read: %s", path, why.text);
    out->search = dup_or_null(root, "search");
    out->search = out->search ? out->search : mem_dup("grid");
    out->metric = dup_or_null(root, "metric");
    out->output = dup_or_null(root, "output");
    const char *goal = json_string_value(json_object_get(root, "goal"));
    out->less_is_better = !goal || strcmp(goal, "max") != 0;
    out->is_pipeline = json_is_true(json_object_get(root, "pipeline"));
    out->first_step = json_number_value(json_object_get(root, "first_step"));
    return 1;
}
