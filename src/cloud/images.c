#include "cloud/images.h"

#include "base/buf.h"
#include "base/csv.h"

#include <stdbool.h>
#include <string.h>

/* data/images.csv, linked in by builtin.S. */
extern const char cloud_images_builtin[], cloud_images_builtin_end[];

enum { PROVIDER, IMAGE, DRIVERS, OWNER, PATTERN, LOGIN, COLUMNS };
static const char *const columns[COLUMNS] = {"provider", "image",   "drivers",
                                             "owner",    "pattern", "login"};

static const char *text_of(struct arena *a, const struct csv_field *fields, size_t at)
{
    const char *text = arena_dup(a, fields[at].text);

    return text ? text : "";
}

int cloud_image_find(struct arena *a,
                     const char *provider,
                     const char *name,
                     const char *accelerator,
                     struct cloud_image *out,
                     struct err *e)
{
    size_t n_bytes = (size_t)(cloud_images_builtin_end - cloud_images_builtin), n, at[COLUMNS];
    AUTO(csv) struct csv *csv = csv_from_memory("data/images.csv", cloud_images_builtin, n_bytes);
    AUTO_CLEAR(buf) struct buf known;
    const struct csv_field *f;
    int got;

    buf_init(&known, 200);
    if (csv_header(csv, columns, COLUMNS, at, e) < 0)
        return -1;
    while ((got = csv_next(csv, &f, &n, e)) > 0) {
        if (n < COLUMNS || strcmp(f[at[PROVIDER]].text, provider) != 0)
            continue;
        buf_printf(&known, "%s%s", known.len ? ", " : "", f[at[IMAGE]].text);
        bool fits =
            name ? strcmp(f[at[IMAGE]].text, name) == 0 : !*f[at[DRIVERS]].text == !accelerator;
        if (!fits)
            continue;
        *out = (struct cloud_image){text_of(a, f, at[IMAGE]), text_of(a, f, at[OWNER]),
                                    text_of(a, f, at[PATTERN]), text_of(a, f, at[LOGIN])};
        return 0;
    }
    if (got < 0)
        return -1;
    return err_set(e, ERR_USAGE, "no image of %s is named \"%.60s\"; there are %s", provider,
                   name ? name : "", buf_str(&known));
}
