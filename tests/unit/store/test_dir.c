#include "base/file.h"
#include "base/mem.h"
#include "store/conformance.h"
#include "tap.h"

#include <string.h>
#include <unistd.h>

static void tell(bool good, const char *what)
{
    CHECK(good, "%s", what);
}

static void test_conformance(const char *root)
{
    AUTO_MEM char *url = mem_printf("dir:%s/new/deeper/", root);
    struct store_settings settings = {.url = url};

    conformance_run(&settings, tell);
}

static void test_urls(void)
{
    static const struct {
        const char *url, *says;
    } bad[] = {
        {"dir:relative/path", "absolute"},
        {"dir:", "absolute"},
        {"/data", "dir:PATH"},
        {"", "dir:PATH"},
        {"ftp://host/x", "dir:PATH"},
    };
    struct err e;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        e = (struct err){0};
        CHECK(store_check_url(bad[i].url, &e) == -1 && e.kind == ERR_USAGE &&
                  strstr(e.text, bad[i].says),
              "\"%s\" is refused: %s", bad[i].url, e.text);
    }
    CHECK(store_check_url("dir:/data", &e) == 0, "an absolute path is fine");
    struct store_settings file = {.url = "dir:/dev/null"};
    CHECK(!store_open(&file, &e) && e.kind == ERR_USAGE, "a file is no store: %s", e.text);
}

int main(void)
{
    char root[] = "/tmp/tradewind-store-XXXXXX";

    if (!mkdtemp(root))
        return TAP_SKIP_ALL("no temporary directory");
    test_urls();
    test_conformance(root);
    file_remove_tree(root);
    return TAP_DONE();
}
