/* What the text of an input refers to when it is no stage's output. */
#include "base/nearest.h"
#include "spec/reader.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    const char *cloud; /* NULL: the scheme does not say where the data lies */
} schemes[] = {
    {"s3", "aws"}, {"gs", "gcp"},        {"az", "azure"}, {"https", NULL},      {"http", NULL},
    {"hf", NULL},  {"r2", "cloudflare"}, {"oci", "oci"},  {"nebius", "nebius"}, {"cos", "ibm"},
};

#define N_SCHEMES (sizeof schemes / sizeof *schemes)

static bool unknown_scheme(struct reader *r, const struct draft_input *input, size_t len)
{
    const char *names[N_SCHEMES];
    const char *given = reader_printf(r, "%.*s", (int)(len < 40 ? len : 40), input->from);

    for (size_t i = 0; i < N_SCHEMES; i++)
        names[i] = schemes[i].name;
    const char *close = given ? nearest(given, names, N_SCHEMES) : NULL;
    if (close)
        reader_error(r, input->line, "input %s: unknown scheme, did you mean %s://?",
                     reader_quote(r, input->from), close);
    else
        reader_error(r, input->line, "input %s: unknown scheme, use s3, gs, az, https or a path",
                     reader_quote(r, input->from));
    return false;
}

/* Azure's buckets are also named by their web address. */
static bool is_azure_blob(const char *uri)
{
    const char *host = strstr(uri, "://") + 3;
    const char *blob = strstr(host, ".blob.core.windows.net");

    return blob && blob < host + strcspn(host, "/");
}

/* No lake reference begins so. */
static bool is_plainly_path(const char *text)
{
    return !strncmp(text, "./", 2) || !strncmp(text, "../", 3) || !strncmp(text, "~/", 2);
}

bool spec_source_classify(struct reader *r, struct draft_input *input)
{
    const char *colon = strstr(input->from, "://");

    if (colon) {
        size_t len = (size_t)(colon - input->from);
        for (size_t i = 0; i < N_SCHEMES; i++)
            if (strlen(schemes[i].name) == len &&
                strncasecmp(schemes[i].name, input->from, len) == 0) {
                input->source = SPEC_FROM_URI;
                input->cloud = schemes[i].cloud;
                if (!input->cloud && input->is_mount && is_azure_blob(input->from))
                    input->cloud = "azure";
                return true;
            }
        return unknown_scheme(r, input, len);
    }
    bool is_lake =
        strncmp(input->from, "lake:", 5) == 0 ||
        (!input->is_mount && !is_plainly_path(input->from) && strpbrk(input->from, "@#"));
    input->source = is_lake ? SPEC_FROM_LAKE : SPEC_FROM_LOCAL;
    return true;
}
