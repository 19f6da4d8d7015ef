#include "spec/config_edit.h"

#include "base/buf.h"
#include "load.h"

struct change {
    const char *name, *before, *key, *value, *after; /* after NULL: refused, with value's problem */
};

int main(void)
{
    static const struct change cases[] = {
        {"an empty file", "", "plan.boot_s", "60", "plan: {boot_s: 60}\n"},
        {"only comments", "# mine\n", "store", "dir:x", "# mine\nstore: dir:x\n"},
        {"no line break at the end", "store: dir:a", "region", "x", "store: dir:a\nregion: x"},
        {"a value in a block", "plan:\n  boot_s: 60   # one minute\n  local_gbit: 1\n",
         "plan.boot_s", "90", "plan:\n  boot_s: 90   # one minute\n  local_gbit: 1\n"},
        {"a value in braces", "plan: {boot_s: 60, local_gbit: 1} # x\n", "plan.boot_s", "90",
         "plan: {boot_s: 90, local_gbit: 1} # x\n"},
        {"a new key in a block", "plan:\n    boot_s: 60 # x\n\n# y\nstore: dir:a\n",
         "plan.local_gbit", "5",
         "plan:\n    boot_s: 60 # x\n    local_gbit: 5\n\n# y\nstore: dir:a\n"},
        {"a new key in braces", "plan: {boot_s: 60}\n", "plan.local_gbit", "5",
         "plan: {boot_s: 60, local_gbit: 5}\n"},
        {"a new key in empty braces", "plan: {}\n", "plan.local_gbit", "5",
         "plan: {local_gbit: 5}\n"},
        {"a new key in the root", "plan: {boot_s: 60}\n\n# end\n", "limits.jobs_per_user", "2",
         "plan: {boot_s: 60}\nlimits: {jobs_per_user: 2}\n\n# end\n"},
        {"several new levels", "plan:\n  boot_s: 60\n", "plan.preemptions_per_hour.aws", "0.1",
         "plan:\n  boot_s: 60\n  preemptions_per_hour: {aws: 0.1}\n"},
        {"a key without a value", "plan:\nstore: dir:a\n", "plan.boot_s", "9",
         "plan: {boot_s: 9}\nstore: dir:a\n"},
        {"quotes stay out of the way", "store: 'dir:a b'\n", "store", "dir:c", "store: dir:c\n"},
        {"quotes where needed", "", "store", "dir:a # b", "store: \"dir:a # b\"\n"},
        {"a quote in the value", "", "store", "a\"b\\c", "store: \"a\\\"b\\\\c\"\n"},
        {"a list", "", "catalog.update", "[https://a, https://b]",
         "catalog: {update: [https://a, https://b]}\n"},
        {"over a block list",
         "catalog:\n  update:\n    - https://a # one\n    - https://b\nstore: x\n",
         "catalog.update", "https://c", "catalog:\n  update: https://c\nstore: x\n"},
        {"an item of a list", "catalog:\n  update:\n    - https://a # one\n    - https://b\n",
         "catalog.update.1", "https://c",
         "catalog:\n  update:\n    - https://a # one\n    - https://c\n"},
        {"over a block scalar", "a: |\n  one\n  two\nb: 1\n", "a", "x", "a: x\nb: 1\n"},
        {"behind a block scalar", "p:\n  a: |\n    one\n    two\nb: 1\n", "p.c", "x",
         "p:\n  a: |\n    one\n    two\n  c: x\nb: 1\n"},
        {"characters of several bytes",
         "# \xc3\xa9t\xc3\xa9\nstore: dir:\xe2\x82\xac # x\nregion: a\n", "region", "b",
         "# \xc3\xa9t\xc3\xa9\nstore: dir:\xe2\x82\xac # x\nregion: b\n"},
        {"line breaks of Windows", "store: dir:a\r\nregion: b\r\n", "store", "dir:c",
         "store: dir:c\r\nregion: b\r\n"},
        {"through a number", "plan: {boot_s: 60}\n", "plan.boot_s.aws", "5", NULL},
        {"a name with a space", "", "plan.boot s", "5", NULL},
        {"an empty name", "", "", "5", NULL},
        {"an empty part", "", "plan..x", "5", NULL},
        {"brackets that do not close", "", "catalog.update", "[a", NULL},
        {"brackets and more", "", "catalog.update", "[a] b", NULL},
        {"brackets and a comment", "", "catalog.update", "[a] # b", NULL},
        {"two lines of brackets", "", "catalog.update", "[a,\nb]", NULL},
        {"a file with aliases", "a: &x 1\nb: *x\n", "b", "2", NULL},
        {"a file of two documents", "a: 1\n---\nb: 1\n", "b", "2", NULL},
        {"a file that is no YAML", "a: [\n", "b", "2", NULL},
        {"a file that is a list", "- a\n", "b", "2", NULL},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_CLEAR(buf) struct buf out;
        struct err e = {0};
        buf_init(&out, 1 << 20);
        int result = config_edit(cases[i].before, strlen(cases[i].before), cases[i].key,
                                 cases[i].value, &out, &e);
        bool good = cases[i].after ? result == 0 && same(buf_str(&out), cases[i].after)
                                   : result < 0 && e.kind == ERR_USAGE && e.text[0];
        CHECK(good, "%s", cases[i].name);
        if (!good)
            printf("# %s\n# got: %s\n", e.text, buf_str(&out));
    }
    return TAP_DONE();
}
