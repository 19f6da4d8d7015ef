#include "azure_case.h"

#include <stdlib.h>
#include <string.h>

struct cloud_model model;
struct world w;

struct cloud *open_as(const char *admit)
{
    struct cloud_options o = cloud_model_options(&model, w.home, "me");
    struct err e = {0};

    o.admit = admit;
    struct cloud *c = cloud_open(&o, &e);
    if (!c)
        printf("# %s\n", e.text);
    return c;
}

struct cloud_request azure_request(const char *token)
{
    struct cloud_request q = world_request(token);

    q.zone = NULL;
    q.region = "eastus";
    q.instance_type = AZURE_SIZE;
    q.expires_ms = *model.now_ms / 1000 * 1000 + DAY_MS;
    return q;
}

/* How many things of each kind there are: "disk 1, resource-group 2". */
const char *left(void)
{
    static char text[400];
    AUTO_JSON json_t *state = cloud_model_state(&model);
    static const char *const kinds[] = {"resource-group",    "instance", "disk",
                                        "network-interface", "network",  "public-address",
                                        "security-group"};
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = json_array_size(json_object_get(json_object_get(state, "left"), kinds[i]));
        if (n)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %zu", at ? ", " : "",
                                   kinds[i], n);
    }
    return text;
}

const char *text_at(const json_t *object, const char *const *path)
{
    for (; *path; path++)
        object = json_is_array(object) ? json_array_get(object, strtoul(*path, NULL, 10))
                                       : json_object_get(object, *path);
    return json_is_string(object) ? json_string_value(object) : "";
}

void azure_case_begin(void)
{
    cloud_model_start(&model, &cloud_model_azure);
    world_init(&w, "azure");
}

void azure_case_end(void)
{
    world_clear(&w);
    cloud_model_stop(&model);
}
