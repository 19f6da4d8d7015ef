/* Any bytes as the index of a git repository: its files are in order, each is found, and what is
 * taken for a directory has files below it. */
#include "base/arena.h"
#include "base/mem.h"
#include "broker/pipeline/repository.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct repository *r, size_t oid_bytes)
{
    for (size_t i = 0; i < r->n_files; i++) {
        const struct repository_file *f = &r->files[i];
        const char *slash = strchr(f->path, '/');
        assert(*f->path && (i == 0 || strcmp(r->files[i - 1].path, f->path) <= 0));
        assert(repository_find(r, f->path));
        assert(!f->commit || strlen(f->commit) == 2 * oid_bytes);
        if (slash) {
            AUTO_MEM char *top = mem_printf("%.*s", (int)(slash - f->path), f->path);
            assert(repository_has_below(r, top));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t oid_bytes = 20; oid_bytes <= 32; oid_bytes += 12) {
        AUTO(arena) struct arena *a = arena_new((size_t)1 << 30);
        struct repository r = {0};
        if (repository_parse_index(&r, a, data, size, oid_bytes))
            check(&r, oid_bytes);
        else
            assert(!r.n_files);
    }
    return 0;
}
