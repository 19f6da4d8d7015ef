/* Any bytes as a file of secrets: no look-up leads beyond them, and what is found is in them. Three
 * lines each are packed, too, and found again. */
#include "base/mem.h"
#include "broker/core/secrets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SECRETS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const uint8_t *data, size_t size)
{
    struct secrets s = {.bytes = mem_zero(size + 3, 1), .n = size};

    memcpy(s.bytes, data, size);
    const char *value = secrets_get(&s, "train", "TOKEN");
    assert(!value || (value > s.bytes && value < s.bytes + size));
    if (size) /* the first one is found by its own names, if it is whole */
        secrets_get(&s, s.bytes, s.bytes + strlen(s.bytes) + 1);
    secrets_clear(&s);
}

static void pack(char *text)
{
    struct run_secret all[SECRETS_MAX] = {0};
    const char *parts[3 * SECRETS_MAX];
    struct secrets s;
    size_t n = 0;
    char *line;

    while (n < 3 * SECRETS_MAX && (line = strsep(&text, "\n")))
        parts[n++] = line;
    n /= 3;
    for (size_t i = 0; i < n; i++)
        all[i] = (struct run_secret){parts[3 * i], parts[3 * i + 1], parts[3 * i + 2]};
    assert(secrets_pack(all, n, &s, NULL) == 0);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0; /* the first of that name */
        while (strcmp(all[k].stage, all[i].stage) || strcmp(all[k].name, all[i].name))
            k++;
        const char *value = secrets_get(&s, all[i].stage, all[i].name);
        assert(value && strcmp(value, all[k].value) == 0);
    }
    secrets_clear(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_MEM char *text = mem_zero(size + 1, 1);

    look_up(data, size);
    memcpy(text, data, size);
    pack(text);
    return 0;
}
