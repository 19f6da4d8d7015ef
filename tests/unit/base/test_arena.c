#include "base/arena.h"
#include "tap.h"

#include <stdint.h>
#include <string.h>

static void alignment(struct arena *a)
{
    int aligned = 1;

    for (size_t size = 1; size < 40; size++)
        aligned &= (uintptr_t)arena_alloc(a, 1, size) % _Alignof(max_align_t) == 0;
    CHECK(aligned, "everything is aligned for anything");
}

static void growing(struct arena *a)
{
    int *items = NULL, sum = 0;
    size_t cap = 0;

    for (int i = 0; i < 100; i++) {
        items = arena_room(a, items, (size_t)i, &cap, sizeof *items);
        items[i] = i;
    }
    for (int i = 0; i < 100; i++)
        sum += items[i];
    CHECK(sum == 4950 && cap == 128, "an array grows and keeps its items");
    CHECK(arena_room(a, items, 100, &cap, sizeof *items) == items, "room that is there is used");
}

static void caps(void)
{
    AUTO(arena) struct arena *a = arena_new(1024);
    volatile size_t half = SIZE_MAX / 2;

    CHECK(arena_alloc(a, half, 4) == NULL, "n * size that overflows is refused");
    CHECK(arena_alloc(a, half, 1) == NULL, "so is half the address space");
    CHECK(arena_alloc(a, 1, 1025) == NULL, "so is more than the cap");
    CHECK(arena_alloc(a, 1, 1024) != NULL, "what was refused is not counted: exactly the cap fits");
    CHECK(arena_alloc(a, 1, 1) == NULL && arena_dup(a, "") == NULL, "then it is full");
    CHECK(arena_printf(a, "%d", 1) == NULL, "for formatted text too");
    size_t cap = 0;
    CHECK(arena_room(a, NULL, 0, &cap, 8) == NULL && cap == 0, "and for arrays");
}

int main(void)
{
    AUTO(arena) struct arena *a = arena_new((size_t)64 << 20);
    unsigned char *big = arena_alloc(a, 3, 1 << 20);
    int nonzero = 0;

    for (size_t i = 0; big && i < 3 << 20; i++)
        nonzero |= big[i];
    CHECK(big && !nonzero, "memory is zeroed, blocks larger than a block work");
    CHECK(strcmp(arena_dup(a, "north"), "north") == 0, "arena_dup copies");
    CHECK(strcmp(arena_dup_n(a, "northwest", 5), "north") == 0, "arena_dup_n ends the text");
    CHECK(strcmp(arena_printf(a, "%s:%d", "x", 3), "x:3") == 0, "arena_printf formats");
    alignment(a);
    growing(a);
    caps();
    arena_free(NULL);
    return TAP_DONE();
}
