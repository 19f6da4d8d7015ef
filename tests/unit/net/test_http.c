#include "net/http.h"

#include "content.h"
#include "tap.h"

#include <string.h>
#include <unistd.h>

static struct http_options options = {.max_bytes = 1000, .timeout_s = 5, .attempts = 1};

static void check_errors(struct http *h, const char *to, const char *source)
{
    char url[300];
    struct err e = {0};

    CHECK(http_download(h, "ftp://example.org/x", to, &options, &e) < 0 && e.kind == ERR_USAGE,
          "%s", e.text);
    CHECK(http_download(h, "/etc/passwd", to, &options, &e) < 0 && e.kind == ERR_USAGE, "%s",
          e.text);
    snprintf(url, sizeof url, "file://%s-not-there", source);
    CHECK(http_download(h, url, to, &options, &e) < 0 && e.kind == ERR_NOTFOUND, "%s", e.text);
    snprintf(url, sizeof url, "file://%s", source);
    options.max_bytes = 4;
    CHECK(http_download(h, url, to, &options, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "limit of 4 bytes"),
          "%s", e.text);
    options.max_bytes = 5;
    CHECK(http_download(h, url, to, &options, &e) == 0, "the limit itself is allowed");
    CHECK(http_download(h, url, "/not/there/x", &options, &e) < 0 && e.kind == ERR_IO, "%s",
          e.text);
    /* Port 1 of this machine: nobody listens there. */
    options.attempts = 2;
    options.first_wait_s = 0.01;
    CHECK(http_download(h, "http://127.0.0.1:1/x?key=topsecret", to, &options, &e) < 0 &&
              e.kind == ERR_RETRY && !strstr(e.text, "topsecret"),
          "%s", e.text);
}

int main(void)
{
    char source[] = "/tmp/tradewind-http-XXXXXX", to[100], url[300];
    struct err e = {0};
    struct http *h = http_new(1, &e);
    int fd = mkstemp(source);

    if (!h)
        return TAP_SKIP_ALL("libcurl is not installed");
    if (fd < 0 || write(fd, "hello", 5) != 5 || close(fd) < 0)
        return EXIT_FAILURE;
    snprintf(to, sizeof to, "%s.copy", source);
    snprintf(url, sizeof url, "file://%s", source);
    CHECK(http_download(h, url, to, &options, &e) == 0, "a file URL %s", e.text);
    CHECK(strcmp(content_of(to), "hello") == 0, "is copied");
    check_errors(h, to, source);
    http_free(h);
    http_free(NULL);
    unlink(source);
    unlink(to);
    return TAP_DONE();
}
