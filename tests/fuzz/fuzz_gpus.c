/* What nvidia-smi and rocm-smi print, and what a job asks for: the first byte says which of them
 * the rest is meant to be. GPUs that are read have plain names, each once, and are chosen and
 * written without harm. */
#include "base/auto.h"
#include "base/mem.h"
#include "broker/core/gpus.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_plain(const char *text, size_t room)
{
    assert(memchr(text, 0, room));
    for (; *text; text++)
        assert(*text >= ' ' && *text <= '~');
}

static void check(const struct gpus *g)
{
    assert(g->n <= GPUS_LISTED_MAX);
    for (size_t i = 0; i < g->n; i++) {
        const struct gpu *one = &g->list[i];
        struct gpu_text text = gpus_text(one);
        assert(*one->id && *one->name && isfinite(one->memory_mb) && one->memory_mb >= 0);
        is_plain(one->id, sizeof one->id);
        is_plain(one->name, sizeof one->name);
        is_plain(one->uuid, sizeof one->uuid);
        assert(gpus_id_length(text.text) == strlen(one->id) &&
               strcmp(gpus_type_of(text.text), one->name) == 0 && gpus_has(one->id, text.text));
        for (size_t k = 0; k < i; k++)
            assert(strcmp(one->id, g->list[k].id) != 0);
    }
}

/* All of the type, or none: gpus_choose says which. */
static void choose(const struct gpus *g, const char *type)
{
    struct gpus_wish wish;
    struct err e = {0};

    if (gpus_wish_read(type, &wish, &e) < 0) {
        assert(e.kind == ERR_USAGE && *e.text);
        return;
    }
    char shown[80];
    assert(wish.n <= GPUS_WISH_MAX && *gpus_wish_text(&wish, shown));
    struct gpus chosen = *g;
    if (gpus_choose(&chosen, &wish, 1))
        assert(chosen.n >= wish.n);
    for (size_t i = 0; *wish.type && i < chosen.n; i++)
        assert(gpus_is_type(&chosen.list[i], wish.type));
}

static void narrow(const struct gpus *g, const char *visible)
{
    struct gpus left = *g;

    gpus_narrow(&left, "nvidia", visible);
    assert(left.n <= g->n);
    check(&left);
}

/* After the list, in a line of its own that begins with '!': what is asked for, and what is
 * visible. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_MEM char *text = mem_zero(size + 1, 1);
    struct gpus g = {0};
    AUTO_CLEAR(buf) struct buf out = {0};

    if (!size)
        return 0;
    memcpy(text, data + 1, size - 1);
    char *asked = strstr(text, "\n!");
    if (asked)
        *asked = 0;
    if (data[0] % 3 == 0 && gpus_read_nvidia(text, &g))
        gpus_read_uuids(text, &g);
    else if (data[0] % 3 == 1)
        gpus_read_rocm(text, &g);
    else if (data[0] % 3 == 2 && gpus_read_nvidia("0, NVIDIA A100, 40960\n7, Tesla T4, 1\n", &g))
        gpus_read_uuids(text, &g);
    check(&g);
    choose(&g, asked ? asked + 2 : "1");
    narrow(&g, asked ? asked + 2 : NULL);
    buf_init(&out, 1 << 20);
    gpus_put(&g, &out);
    assert(!out.full);
    return 0;
}
