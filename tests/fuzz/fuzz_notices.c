/* What a metadata service answers, as HTTP and as notices; the file by which agents pass them on.
 * The first byte says which cloud it is. What is taken as a notice is within an hour, and reads as
 * it was written. */
#include "base/auto.h"
#include "base/mem.h"
#include "exec/notices.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS ((int64_t)1800000000000)

static void check_notice(const struct notice *n)
{
    char text[NOTICE_FILE_MAX];
    struct notice again;

    assert(n->until_ms >= NOW_MS && n->until_ms <= NOW_MS + 3600 * 1000);
    assert(notices_file_parse(notices_file_text(n, text), &again));
    assert(again.until_ms == n->until_ms && !strcmp(again.text, n->text));
}

static void read_file(const char *text)
{
    struct notice n;
    struct notices service;

    if (notices_file_parse(text, &n))
        assert(n.until_ms >= 0 && !strchr(n.text, '\n') && strlen(n.text) < sizeof n.text);
    if (notices_parse(text, &service))
        assert(service.port && *service.address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct notices_answer a;
    struct notice n;

    if (!size || size > NOTICES_ANSWER_MAX)
        return 0;
    AUTO_MEM char *text = mem_zero(size, 1);
    memcpy(text, data + 1, size - 1);
    read_file(text);
    if (!notices_answer_read(text, size - 1, &a))
        return 0;
    assert(a.status >= 0 && a.status <= 999);
    assert(a.body >= text && a.n < size && !a.body[a.n]);
    bool found = data[0] == 'a'   ? notices_read_aws(&a, NOW_MS, &n)
                 : data[0] == 'g' ? notices_read_gcp(&a, NOW_MS, &n)
                                  : notices_read_azure(&a, "vm", NOW_MS, &n);
    if (found)
        check_notice(&n);
    return 0;
}
