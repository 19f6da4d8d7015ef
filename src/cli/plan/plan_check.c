#include "cli/plan/plan_parts.h"

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

int cli_plan_check(const char *path, bool json, FILE *out, struct err *e)
{
    struct spec_finding *refused = NULL;
    size_t n_refused = 0;
    AUTO(spec) struct spec *spec = spec_load(path, &refused, &n_refused, e);
    const struct spec_finding *findings = spec ? spec->findings : refused;
    size_t n = spec ? spec->n_findings : n_refused;
    int result = spec ? 0 : err_exit_code(ERR_USAGE);

    if (!spec && n == 0) /* the file could not be read at all */
        return -1;
    if (json) {
        result = write_findings(findings, n, spec != NULL, out, e) < 0 ? -1 : result;
    } else {
        print_findings(path, findings, n, out);
        if (spec)
            fprintf(out, "%s: valid, %zu stage%s, %zu warning%s\n", path, spec->n_stages,
                    spec->n_stages == 1 ? "" : "s", n, n == 1 ? "" : "s");
    }
    spec_findings_free(refused, n_refused);
    return result;
}
