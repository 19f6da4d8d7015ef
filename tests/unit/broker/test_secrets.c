#include "base/file.h"
#include "base/mem.h"
#include "broker/core/secrets.h"
#include "tap.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[32];

static bool is_there(int64_t run, mode_t *mode_out)
{
    AUTO_MEM char *path = mem_printf("%s/secrets/%lld", home, (long long)run);
    struct stat st;
    bool there = stat(path, &st) == 0;

    *mode_out = there ? st.st_mode & 0777 : 0;
    return there;
}

static bool says(const struct secrets *s, const char *stage, const char *name, const char *value)
{
    const char *got = secrets_get(s, stage, name);

    return value ? got && !strcmp(got, value) : !got;
}

static void test_kept(void)
{
    static const struct run_secret all[] = {
        {"a", "KEY", "one"}, {"b", "KEY", "line\nand = more"}, {"b", "EMPTY", ""}};
    struct secrets s;
    struct err e = {0};
    mode_t mode;

    CHECK(secrets_write(home, 7, all, 3, &e) == 0, "written: %s", e.text);
    CHECK(is_there(7, &mode) && mode == 0600, "for the owner alone: %o", mode);
    CHECK(secrets_read(home, 7, &s, &e) == 0, "read: %s", e.text);
    CHECK(says(&s, "a", "KEY", "one") && says(&s, "b", "KEY", "line\nand = more") &&
              says(&s, "b", "EMPTY", ""),
          "as they were");
    CHECK(says(&s, "a", "EMPTY", NULL) && says(&s, "KEY", "one", NULL), "each its stage's own");
    secrets_clear(&s);
    CHECK(secrets_write(home, 7, NULL, 0, &e) == 0 && !is_there(7, &mode), "none: no file");
    CHECK(secrets_read(home, 7, &s, &e) < 0 && e.kind == ERR_NOTFOUND && strstr(e.text, "--resume"),
          "the way out is said: %s", e.text);
}

static void test_bounds(void)
{
    AUTO_MEM char *path = mem_printf("%s/secrets/8", home);
    AUTO_MEM char *large = mem_zero(SECRETS_BYTES_MAX + 1, 1);
    struct secrets s;
    struct err e = {0};
    mode_t mode;

    memset(large, 'x', SECRETS_BYTES_MAX);
    const struct run_secret all[] = {{"a", "KEY", large}};
    CHECK(secrets_write(home, 8, all, 1, &e) < 0 && e.kind == ERR_USAGE, "too long: %s", e.text);
    CHECK(!strstr(e.text, "xxx") && !is_there(8, &mode), "nothing is shown or written");
    /* A file that was cut anywhere. */
    const char bytes[] = "a\0KEY\0value";
    for (size_t n = 0; n < sizeof bytes - 1; n++) {
        if (file_replace(path, bytes, n, 0600, &e) < 0 || secrets_read(home, 8, &s, &e) < 0) {
            CHECK(false, "%s", e.text);
            continue;
        }
        const char *value = secrets_get(&s, "a", "KEY");
        CHECK(!value || (n > 6 && !strncmp(value, "value", n - 6)), "cut after %zu bytes", n);
        secrets_clear(&s);
    }
    secrets_remove(home, 8);
    secrets_remove(home, 8);
    CHECK(!is_there(8, &mode), "removed, and again");
}

int main(void)
{
    snprintf(home, sizeof home, "/tmp/secrets-XXXXXX");
    if (!mkdtemp(home))
        return 1;
    test_kept();
    test_bounds();
    file_remove_tree(home);
    return TAP_DONE();
}
