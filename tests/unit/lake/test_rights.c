#include "base/file.h"
#include "local.h"
#include "tap.h"

#include <string.h>
#include <unistd.h>

/* ann's /d/a, /d/secret (for her alone) and /d/z, and @S that holds all three. */
static void fill(struct scratch *s, struct lake *ann)
{
    const char *const members[] = {"/d/a", "/d/secret", "/d/z"}, *const secret[] = {"/d/secret"};
    struct err e = {0};

    local_text(s, "d/a", "one");
    local_text(s, "d/secret", "two");
    local_text(s, "d/z", "three");
    CHECK(local_put(ann, local_path(s, "d"), "/d", NULL, &e) == 0, "put: %s", e.text);
    scratch_set(ann, "S", members, 3);
    CHECK(lake_chmod(ann, "600", secret, 1, &e) == 0, "a file for ann alone: %s", e.text);
}

static int create_set(struct lake *l, const char *name, const char *ref, struct err *e)
{
    struct lake_set set = {0};

    *e = (struct err){0};
    return lake_set_create(l, &(struct lake_set_request){.name = name, .refs = &ref, .n_refs = 1},
                           &set, e);
}

/* Who asks for all of something gets all of it, or hears which file he may not have. */
static void all_or_nothing(struct scratch *s, struct lake *ann, struct lake *bob)
{
    static const char *const refs[] = {"@S", "/d/@S", "/d/", "/"};
    const char *back = local_path(s, "back");
    struct lake_get_summary sum;
    struct err e = {0};

    for (size_t i = 0; i < sizeof refs / sizeof refs[0]; i++) {
        e = (struct err){0};
        CHECK(local_get(bob, refs[i], back, &sum, &e) < 0 && e.kind == ERR_DENIED &&
                  strstr(e.text, "bob may not read /d/secret: its owner ann") &&
                  access(back, F_OK) < 0,
              "get %s writes nothing: %s", refs[i], e.text);
        CHECK(create_set(bob, "Part", refs[i], &e) < 0 && e.kind == ERR_DENIED &&
                  strstr(e.text, "bob may not read /d/secret: its owner ann"),
              "no set of %s: %s", refs[i], e.text);
    }
    CHECK(scratch_number(ann, "SELECT count(*) FROM fileset") == 1, "no set was made");
    CHECK(local_get(bob, "/d/a@S", back, &sum, &e) == 0 && sum.files == 1, "one he may: %s",
          e.text);
    CHECK(local_get(ann, "@S", local_path(s, "hers"), &sum, &e) == 0 && sum.files == 3,
          "the owner gets all: %s", e.text);
    CHECK(create_set(ann, "Mine", "@S", &e) == 0, "and makes sets of it: %s", e.text);
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    lake_free(scratch_open_as(&s, "default", "root", true));
    struct lake *ann = scratch_open_as(&s, "default", "ann", false);
    struct lake *bob = scratch_open_as(&s, "default", "bob", false);
    fill(&s, ann);
    all_or_nothing(&s, ann, bob);
    lake_free(bob);
    lake_free(ann);
    scratch_clear(&s);
    return TAP_DONE();
}
