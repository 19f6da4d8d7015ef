/* The map against a plain array: texts and numbers as keys, growth, removal, hashes that collide.
 */
#include "base/map.h"

#include "base/hash.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 20000

struct name {
    char text[16];
};

static bool same_name(const void *names, uint32_t i, const void *text)
{
    return strcmp(((const struct name *)names)[i].text, text) == 0;
}

static bool same_number(const void *numbers, uint32_t i, const void *number)
{
    return ((const uint64_t *)numbers)[i] == *(const uint64_t *)number;
}

static void check_texts(void)
{
    static struct name names[MANY];
    AUTO(map) struct map *m = map_new();
    size_t wrong = 0;

    CHECK(map_find(m, hash_text("x"), same_name, names, "x") == MAP_NONE, "an empty map has none");
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(names[i].text, sizeof names[i].text, "name-%u", i);
        map_add(m, hash_text(names[i].text), i);
    }
    for (uint32_t i = 0; i < MANY; i++)
        wrong += map_find(m, hash_text(names[i].text), same_name, names, names[i].text) != i;
    CHECK(wrong == 0, "each of 20,000 texts is found");
    CHECK(map_find(m, hash_text("name"), same_name, names, "name") == MAP_NONE, "another is not");
    map_clear(m);
    CHECK(map_find(m, hash_text("name-1"), same_name, names, "name-1") == MAP_NONE, "all go");
    map_add(m, hash_text("name-1"), 1);
    CHECK(map_find(m, hash_text("name-1"), same_name, names, "name-1") == 1, "and may come again");
}

/* Numbers come and go in disorder; `hash` decides how badly they collide. */
static void check_removal(const char *what, uint64_t (*hash)(uint64_t number))
{
    static uint64_t numbers[2000];
    static bool in[2000];
    AUTO(map) struct map *m = map_new();
    size_t wrong = 0;

    srand(7);
    memset(in, 0, sizeof in);
    for (uint32_t i = 0; i < 2000; i++)
        numbers[i] = i * UINT64_C(1000003);
    for (int round = 0; round < 20000; round++) {
        uint32_t i = (uint32_t)(rand() % 2000);
        if (in[i])
            map_remove(m, hash(numbers[i]), i);
        else
            map_add(m, hash(numbers[i]), i);
        in[i] = !in[i];
        uint32_t k = (uint32_t)(rand() % 2000);
        wrong += map_find(m, hash(numbers[k]), same_number, numbers, &numbers[k]) !=
                 (in[k] ? k : MAP_NONE);
    }
    for (uint32_t i = 0; i < 2000; i++)
        wrong += map_find(m, hash(numbers[i]), same_number, numbers, &numbers[i]) !=
                 (in[i] ? i : MAP_NONE);
    CHECK(wrong == 0, "numbers come and go: %s", what);
}

static uint64_t spread(uint64_t number)
{
    return hash_xxh3(&number, sizeof number);
}

static uint64_t crowded(uint64_t number)
{
    return number % 5;
}

/* The last slots, so that runs of slots go around the end. */
static uint64_t at_the_end(uint64_t number)
{
    return UINT32_MAX - number % 3;
}

int main(void)
{
    AUTO(map) struct map *m = map_new();

    check_texts();
    check_removal("good hashes", spread);
    check_removal("five hashes for all", crowded);
    check_removal("hashes of the last slots", at_the_end);
    map_remove(m, 1, 1);
    CHECK(map_find(m, 1, same_number, NULL, NULL) == MAP_NONE,
          "removing what is not there is fine");
    map_free(NULL);
    return TAP_DONE();
}
