#include "base/file.h"
#include "lake/clean/clean.h"
#include "lake/meta/meta.h"
#include "lake/put/session.h"
#include "lake/set/graph.h"
#include "lake/set/set.h"
#include "local.h"
#include "tap.h"

#include <string.h>
#include <unistd.h>

/* Bytes of a list as a text. */
#define TEXT 200

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

/* ---- references that came from elsewhere ---- */

static int see_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    (void)entry;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static int see_file(void *context, const struct lake_file *file, struct err *e)
{
    (void)file;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static int see_set(void *context, const struct lake_set *set, struct err *e)
{
    (void)set;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static int see_change(void *context,
                      enum lake_set_change change,
                      const struct lake_entry *before,
                      const struct lake_entry *after,
                      struct err *e)
{
    (void)change;
    (void)before;
    (void)after;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static int see_found(void *context, const struct lake_found *found, struct err *e)
{
    (void)found;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static int see_bytes(void *context, const void *bytes, size_t n, struct err *e)
{
    (void)bytes;
    (void)e;
    *(size_t *)context += n + 1;
    return 0;
}

static int see_trace(struct lake *l, const struct lake_ref *ref, size_t *seen, struct err *e)
{
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    int result = lake_trace(l, ref, LAKE_BACK, 9, &g, e);

    *seen += g.n_nodes;
    return result;
}

/* Everything that takes a resolved reference refuses this one in the same way, and tells nothing.
 */
static void refused(struct lake *l,
                    const char *what,
                    const struct lake_ref *ref,
                    enum err_kind kind)
{
    enum { CALLS = 9 };
    static const char *const pair[] = {"k=v"}, *const key[] = {"k"};
    struct err e[CALLS] = {0};
    size_t seen = 0;
    const int results[CALLS] = {
        lake_each_file(l, ref, see_entry, &seen, &e[0]),
        lake_every_file(l, ref, see_entry, &seen, &e[1]),
        lake_list(l, ref, true, see_file, &seen, &e[2]),
        ref->kind == LAKE_REF_FILE ? lake_log(l, ref, see_file, &seen, &e[3])
                                   : lake_set_get(l, ref, see_set, &seen, &e[3]),
        ref->kind == LAKE_REF_FILE ? lake_cat(l, ref, see_bytes, &seen, &e[4])
                                   : lake_set_diff(l, ref, ref, see_change, &seen, &e[4]),
        see_trace(l, ref, &seen, &e[5]),
        lake_describe(l, ref, see_found, &seen, &e[6]),
        lake_tag(l, ref, pair, 1, &e[7]),
        ref->kind == LAKE_REF_FILE ? lake_untag(l, ref, key, 1, &e[8])
                                   : lake_alias_set(l, ref, "prod", &e[8]),
    };

    for (size_t i = 0; i < CALLS; i++)
        CHECK(results[i] < 0 && e[i].kind == kind, "%s, call %zu: %s", what, i, e[i].text);
    CHECK(seen == 0, "%s: nothing was told", what);
}

static void strange_refs(struct scratch *s, struct lake *ann, struct lake *bob)
{
    AUTO(lake) struct lake *other = scratch_open_as(s, "other", "root", true);
    AUTO_CLEAR(lake_ref) struct lake_ref set = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref file = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref secret = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref hidden = {0};
    const char *const mine[] = {"@Mine"};
    struct err e = {0};

    CHECK(lake_resolve(ann, "@S", LAKE_READ, &set, &e) == 0 &&
              lake_resolve(ann, "/d/a", LAKE_READ, &file, &e) == 0,
          "of ann's project: %s", e.text);
    refused(other, "a set of another project", &set, ERR_NOTFOUND);
    refused(other, "a file of another project", &file, ERR_NOTFOUND);
    CHECK(lake_chmod(ann, "600", mine, 1, &e) == 0 &&
              lake_resolve(bob, "/d/secret", 0, &secret, &e) == 0 &&
              lake_resolve(bob, "@Mine", 0, &hidden, &e) == 0,
          "what bob may not read, found without asking for it: %s", e.text);
    refused(bob, "a file that may not be read", &secret, ERR_DENIED);
    refused(bob, "a set that may not be read", &hidden, ERR_DENIED);
    CHECK(scratch_number(ann, "SELECT (SELECT count(*) FROM set_alias)"
                              " + (SELECT count(*) FROM meta)") == 0,
          "and nothing was written");
}

/* ---- names ---- */

static int add_change(void *context,
                      enum lake_set_change change,
                      const struct lake_entry *before,
                      const struct lake_entry *after,
                      struct err *e)
{
    static const char marks[] = {
        [LAKE_SET_ADDED] = '+', [LAKE_SET_REMOVED] = '-', [LAKE_SET_CHANGED] = '*'};
    char *text = context;
    size_t n = strlen(text);

    (void)e;
    snprintf(text + n, TEXT - n, "%c%s ", marks[change], before ? before->path : after->path);
    return 0;
}

static const char *differences(struct lake *l, const char *from, const char *to, char out[TEXT])
{
    AUTO_CLEAR(lake_ref) struct lake_ref a = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref b = {0};
    struct err e = {0};

    out[0] = 0;
    CHECK(lake_resolve(l, from, LAKE_READ, &a, &e) == 0 &&
              lake_resolve(l, to, LAKE_READ, &b, &e) == 0 &&
              lake_set_diff(l, &a, &b, add_change, out, &e) == 0,
          "%s compares %s and %s: %s", l->user, from, to, e.text);
    return out;
}

static int add_pin(void *context, const char *ref, struct err *e)
{
    char *text = context;
    size_t n = strlen(text);

    (void)e;
    snprintf(text + n, TEXT - n, "%s ", ref);
    return 0;
}

static const char *pins(struct lake *l, char out[TEXT])
{
    struct err e = {0};

    out[0] = 0;
    CHECK(lake_pin_list(l, add_pin, out, &e) == 0, "%s lists pins: %s", l->user, e.text);
    return out;
}

/* @T holds a new /d/secret and no /d/z: bob hears of the latter alone. */
static void names(struct lake *ann, struct lake *bob)
{
    const char *const members[] = {"/d/a", "/d/secret"}, *const few[] = {"/d/a"};
    const char *const held[] = {"/d/a", "/d/secret", "@S:1", "@Mine:1"};
    struct err e = {0};
    char text[TEXT];

    CHECK(scratch_put(ann, "/d/secret", "more", &e) == 2, "a second version: %s", e.text);
    scratch_set(ann, "T", members, 2);
    scratch_set(ann, "U", few, 1);
    CHECK(strcmp(differences(ann, "@S", "@T", text), "*/d/secret -/d/z ") == 0, "ann: %s", text);
    CHECK(strcmp(differences(bob, "@S", "@T", text), "-/d/z ") == 0, "bob: %s", text);
    CHECK(!*differences(bob, "@T", "@U", text), "bob, one less: %s", text);
    CHECK(!*differences(bob, "@U", "@T", text), "bob, one more: %s", text);
    CHECK(lake_pin(ann, held, 4, &e) == 0, "pins: %s", e.text);
    CHECK(strcmp(pins(ann, text), "/d/a#1 /d/secret#2 @Mine:1 @S:1 ") == 0, "ann: %s", text);
    CHECK(strcmp(pins(bob, text), "/d/a#1 @S:1 ") == 0, "bob: %s", text);
    AUTO_MEM char *hers = scratch_resolve(ann, "@Mien", LAKE_READ);
    AUTO_MEM char *his = scratch_resolve(bob, "@Mien", LAKE_READ);
    AUTO_MEM char *file = scratch_resolve(bob, "/d/secrte", LAKE_READ);
    CHECK(strcmp(hers, "2: there is no set @Mien: did you mean @Mine?") == 0, "ann: %s", hers);
    CHECK(strcmp(his, "2: there is no set @Mien") == 0, "bob is not told what he may not read: %s",
          his);
    CHECK(strcmp(file, "2: there is no file /d/secrte") == 0, "nor of files: %s", file);
}

/* The pin of a file that was removed is found in the list of pins, but not by everybody. */
static void removed_pin(struct lake *ann, struct lake *bob)
{
    const char *const secret[] = {"/d/secret#2"};
    struct lake_remove_options options = {0};
    uint64_t removed;
    struct err e = {0};
    char text[TEXT];

    CHECK(lake_remove(ann, secret, 1, &options, &removed, &e) == 0, "ann removes it: %s", e.text);
    CHECK(lake_unpin(bob, secret, 1, &e) < 0 && strstr(pins(ann, text), "/d/secret#2 "),
          "bob cannot take its pin off: %s", e.text);
    CHECK(lake_unpin(ann, secret, 1, &e) == 0 && !strstr(pins(ann, text), "/d/secret#2 "),
          "ann can: %s", e.text);
}

/* ---- sessions ---- */

static int see_session(void *context, const struct lake_session *session, struct err *e)
{
    (void)session;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static int see_session_file(void *context, const struct lake_session_file *file, struct err *e)
{
    (void)file;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static void sessions(struct scratch *s, struct lake *ann, struct lake *bob)
{
    AUTO(lake) struct lake *root = scratch_open_as(s, "default", "root", true);
    const struct lake_target target = {.path = "/d/to-come"};
    struct lake *const theirs[] = {ann, root};
    struct err e = {0};
    int64_t id = 0;
    size_t seen = 0;

    CHECK(lake_session_begin(ann, &target, 1, NULL, 0, &id, &e) == 0, "ann's session: %s", e.text);
    CHECK(lake_session_list(bob, 0, see_session, &seen, &e) == 0 && seen == 0, "bob sees none: %s",
          e.text);
    CHECK(lake_session_list(bob, id, see_session, &seen, &e) < 0 && e.kind == ERR_DENIED &&
              seen == 0,
          "nor by its number: %s", e.text);
    e = (struct err){0};
    CHECK(lake_session_files(bob, id, see_session_file, &seen, &e) < 0 && e.kind == ERR_DENIED &&
              seen == 0,
          "nor its files: %s", e.text);
    e = (struct err){0};
    CHECK(lake_session_list(bob, id + 1, see_session, &seen, &e) < 0 && e.kind == ERR_NOTFOUND,
          "one that nobody has: %s", e.text);
    for (size_t i = 0; i < 2; i++) {
        seen = 0;
        CHECK(lake_session_list(theirs[i], 0, see_session, &seen, &e) == 0 &&
                  lake_session_list(theirs[i], id, see_session, &seen, &e) == 0 &&
                  lake_session_files(theirs[i], id, see_session_file, &seen, &e) == 0 && seen == 3,
              "%s sees all: %s", theirs[i]->user, e.text);
    }
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
    strange_refs(&s, ann, bob);
    names(ann, bob);
    removed_pin(ann, bob);
    sessions(&s, ann, bob);
    lake_free(bob);
    lake_free(ann);
    scratch_clear(&s);
    return TAP_DONE();
}
