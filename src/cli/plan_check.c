#include "cli/plan_parts.h"

#include "base/json.h"

static void print_findings(const char *path, const struct spec_finding *f, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *severity = f[i].is_error ? "error" : "warning";
        if (f[i].line)
            fprintf(out, "%s:%zu: %s: %s\n", path, f[i].line, severity, f[i].text);
        else
            fprintf(out, "%s: %s: %s\n", path, severity, f[i].text);
    }
}

static int write_findings(
    const struct spec_finding *f, size_t n, bool valid, FILE *out, struct err *e)
{
    AUTO_JSON json_t *root = json_object();
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:I, s:s, s:o}", "line", (json_int_t)f[i].line,
                                              "severity", f[i].is_error ? "error" : "warning",
                                              "text", json_text(f[i].text)));
    json_object_set_new(root, "valid", json_boolean(valid));
    json_object_set_new(root, "findings", list);
    return json_write(out, root, e);
}

static int report(const char *path,
                  const struct spec *spec,
                  const struct spec_finding *f,
                  size_t n,
                  bool json,
                  FILE *out,
                  struct err *e)
{
    if (json)
        return write_findings(f, n, spec != NULL, out, e);
    print_findings(path, f, n, out);
    if (spec)
        fprintf(out, "%s: valid, %zu stage%s, %zu warning%s\n", path, spec->n_stages,
                spec->n_stages == 1 ? "" : "s", n, n == 1 ? "" : "s");
    return 0;
}

int cli_plan_check(const char *path, bool json, FILE *out, struct err *e)
{
    struct spec_finding *findings = NULL;
    size_t n = 0;
    struct err why = {0};
    AUTO(spec) struct spec *spec = spec_load(path, &findings, &n, &why);
    int result;

    if (spec) {
        result = report(path, spec, spec->findings, spec->n_findings, json, out, e);
    } else if (n > 0) {
        result = report(path, NULL, findings, n, json, out, e);
        result = result < 0 ? result : err_exit_code(ERR_USAGE);
    } else { /* the file could not be read at all */
        *e = why;
        result = -1;
    }
    spec_findings_free(findings, n);
    return result;
}
