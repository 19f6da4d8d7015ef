#include "spec/place.h"

#include "base/arena.h"
#include "load.h"

int main(void)
{
    static const struct {
        const char *text, *cloud, *region;
        bool good;
    } cases[] = {
        {"aws/us-east-1", "aws", "us-east-1", true},
        {"aws:us-east-1", "aws", "us-east-1", true},
        {"AWS/us-east-1", "aws", "us-east-1", true},
        {"gcp", "gcp", NULL, true},
        {"local", "local", "local", true},
        {"local/local", "local", "local", true},
        {"*/us-east-1", NULL, "us-east-1", true},
        {"aws/*", "aws", NULL, true},
        {"*", NULL, NULL, true},
        {"", NULL, NULL, false},
        {"/us-east-1", NULL, NULL, false},
        {"aws/", NULL, NULL, false},
        {"aws/us-east-1/us-east-1a", NULL, NULL, false},
        {"aws:us:east", NULL, NULL, false},
    };
    AUTO(arena) struct arena *a = arena_new(1 << 16);

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct spec_place p = {0};
        struct err e = {0};
        int result = spec_place_parse(cases[i].text, a, &p, &e);
        CHECK((result == 0) == cases[i].good && same(p.cloud, cases[i].cloud) &&
                  same(p.region, cases[i].region) && (result == 0 || e.kind == ERR_USAGE),
              "\"%s\"", cases[i].text);
    }
    AUTO(arena) struct arena *small = arena_new(16);
    struct spec_place p;
    struct err e = {0};
    CHECK(spec_place_parse("aws/us-east-1-and-a-long-name", small, &p, &e) < 0,
          "a full arena is an error");
    return TAP_DONE();
}
