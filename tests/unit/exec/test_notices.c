/* What metadata services answer, by the examples of the clouds' documentation, and what they should
 * not. */
#include "exec/notices.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/time.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define NOW "2017-09-18T08:20:30Z"

static int64_t now_ms(void)
{
    return time_from_iso(NOW);
}

static void test_words(void)
{
    static const char *const wrong[] = {"",
                                        "ibm",
                                        "AWS",
                                        "aws@",
                                        "aws@host",
                                        "aws@1.2.3.4:0",
                                        "aws@1.2.3.4:65536",
                                        "aws@::1",
                                        "aws@1.2.3.4:x",
                                        "aws@1.2.3.4:"};
    struct notices n;

    CHECK(notices_parse("aws", &n) && n.cloud == NOTICES_AWS && n.port == 80 &&
              !strcmp(n.address, "169.254.169.254"),
          "a cloud, at the address they share");
    CHECK(notices_parse("none", &n) && n.cloud == NOTICES_NONE, "none");
    CHECK(notices_parse("azure@127.0.0.1:8080", &n) && n.cloud == NOTICES_AZURE && n.port == 8080 &&
              !strcmp(n.address, "127.0.0.1"),
          "one that is elsewhere");
    CHECK(notices_parse("gcp@127.0.0.1", &n) && n.cloud == NOTICES_GCP && n.port == 80,
          "without a port");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!notices_parse(wrong[i], &n), "'%s' is none", wrong[i]);
}

/* text as an answer; the caller frees *room. */
static bool read_answer(const char *text, char **room, struct notices_answer *out)
{
    size_t n = strlen(text);

    *room = mem_zero(n + 1, 1);
    memcpy(*room, text, n);
    return notices_answer_read(*room, n, out);
}

static void test_http(void)
{
    static const struct {
        const char *text;
        int status; /* 0: none */
        const char *body, *name;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nTRUE", 200, "TRUE", "a body with its length"},
        {"HTTP/1.0 404 Not Found\r\n\r\n<html>", 404, "<html>", "one until the end"},
        {"HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\nabc", 200, "ab", "not more than its length"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 0, "", "part of one"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1a\r\n"
         "defghijklmnopqrstuvwxyzABC\r\n0\r\n\r\n",
         200, "abcdefghijklmnopqrstuvwxyzABC", "chunks"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 0, "",
         "chunks without the last"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc", 0, "", "half a chunk"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc\r\n", 0, "",
         "a chunk without an end"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n", 0, "",
         "a negative one"},
        {"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc", 0, "", "a length that is none"},
        {"HTTP/1.1 200 OK\r\n", 0, "", "half a head"},
        {"HTTP/1.1 20 OK\r\n\r\n", 0, "", "half a status"},
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", 0, "", "another protocol"},
        {"", 0, "", "nothing"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_MEM char *room = NULL;
        struct notices_answer a;
        bool good = read_answer(cases[i].text, &room, &a);
        CHECK(cases[i].status ? good && a.status == cases[i].status &&
                                    !strcmp(a.body, cases[i].body) && a.n == strlen(a.body)
                              : !good,
              "%s", cases[i].name);
    }
}

static struct notices_answer answer(char *body)
{
    return (struct notices_answer){.status = 200, .body = body, .n = strlen(body)};
}

/* "Spot Instance interruption notices", Amazon EC2 User Guide */
static void test_aws(void)
{
    struct notices_answer a =
        answer((char[]){"{\"action\": \"terminate\", \"time\": \"2017-09-18T08:22:00Z\"}"});
    struct notice n;

    CHECK(notices_read_aws(&a, now_ms(), &n) &&
              n.until_ms == time_from_iso("2017-09-18T08:22:00Z") &&
              !strcmp(n.text, "AWS terminates the machine at 2017-09-18T08:22:00Z"),
          "AWS: %s", n.text);
    a.status = 404;
    CHECK(!notices_read_aws(&a, now_ms(), &n), "AWS: no notice is 404");
    a = answer((char[]){"{\"action\": \"hibernate\", \"time\": \"2017-09-18T08:20:00Z\"}"});
    CHECK(notices_read_aws(&a, now_ms(), &n) && n.until_ms == now_ms(), "AWS: at once");
    a = answer((char[]){"{\"action\": \"stop\", \"time\": \"2037-09-18T08:20:00Z\"}"});
    CHECK(notices_read_aws(&a, now_ms(), &n) && n.until_ms == now_ms() + 3600000,
          "AWS: at most an hour");
    static const char *const wrong[] = {
        "",
        "{\"action\": \"terminate\"",
        "{\"action\": \"rm -rf\", \"time\": \"2017-09-18T08:22:00Z\"}",
        "{\"action\": \"terminate\", \"time\": \"soon\"}",
        "{\"action\": \"terminate\"}",
        "{\"x\": {\"action\": \"terminate\", \"time\": \"2017-09-18T08:22:00Z\"}}",
        "{\"action\": \"terminate\", \"time\": \"2017-09-18T08:22:00Z\"",
        "{\"action\": \"terminate\\",
        "]{\"action\": \"terminate\", \"time\": \"2017-09-18T08:22:00Z\"}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        AUTO_MEM char *body = mem_dup(wrong[i]);
        a = answer(body);
        CHECK(!notices_read_aws(&a, now_ms(), &n), "AWS: no notice: %s", wrong[i]);
    }
}

/* "Detect if a Spot VM was preempted" and "Monitor and plan for a host maintenance event", Compute
 * Engine documentation */
static void test_gcp(void)
{
    static const struct {
        const char *body;
        bool is_notice;
    } cases[] = {{"TRUE", true},     {"TRUE\n", true}, {"TERMINATE_ON_HOST_MAINTENANCE", true},
                 {"FALSE", false},   {"NONE", false},  {"MIGRATE_ON_HOST_MAINTENANCE", false},
                 {"TRUEISH", false}, {"", false}};
    struct notice n;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_MEM char *body = mem_dup(cases[i].body);
        struct notices_answer a = answer(body);
        CHECK(notices_read_gcp(&a, now_ms(), &n) == cases[i].is_notice, "Google: '%.*s'",
              (int)strcspn(cases[i].body, "\n"), cases[i].body);
        a.status = 403;
        CHECK(!notices_read_gcp(&a, now_ms(), &n), "Google: not with an error");
    }
    struct notices_answer a = answer((char[]){"TRUE"});
    CHECK(notices_read_gcp(&a, now_ms(), &n) && n.until_ms == now_ms() + 30000,
          "Google: 30 s are left");
}

/* "Azure Metadata Service: Scheduled Events for Linux VMs" */
#define EVENT(type, when, machines)                                                                \
    "{\"EventId\": \"602d9444-d2cd-49c7-8624-8643e7171297\", \"EventStatus\": \"Scheduled\", "     \
    "\"EventType\": \"" type "\", \"ResourceType\": \"VirtualMachine\", \"Resources\": [" machines \
    "], \"NotBefore\": \"" when "\", \"Description\": \"\", \"EventSource\": \"Platform\", "       \
    "\"DurationInSeconds\": -1}"
#define EVENTS(list) "{\"DocumentIncarnation\": 2, \"Events\": [" list "]}"
#define AT "Mon, 18 Sep 2017 08:21:00 GMT"

static void test_azure(void)
{
    static const struct {
        const char *body;
        const char *until; /* NULL: no notice */
        const char *name;
    } cases[] = {
        {EVENTS(EVENT("Preempt", AT, "\"vm_1\"")), "2017-09-18T08:21:00Z", "an eviction"},
        {EVENTS(EVENT("Reboot", AT, "\"vm_1\"") ", " EVENT("Preempt", AT, "\"vm_0\", \"VM_1\"")),
         "2017-09-18T08:21:00Z", "among others"},
        {EVENTS(EVENT("Terminate", "", "\"vm_1\"")), NOW, "one that has begun"},
        {EVENTS(EVENT("Preempt", AT, "\"vm_0\"")), NULL, "of another machine"},
        {EVENTS(EVENT("Preempt", AT, "\"vm_0\"") ", " EVENT("Freeze", AT, "\"vm_1\"")), NULL,
         "of another machine, beside one of ours"},
        {EVENTS(""), NULL, "no events"},
        {"{\"DocumentIncarnation\": 2, \"Events\": [" EVENT("Preempt", AT, "\"vm_1\""), NULL,
         "half an answer"},
        {"{\"error\": \"vm_1\", \"EventType\": \"Preempt\"}", NULL, "an error"},
        {"", NULL, "nothing"},
    };
    struct notice n;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_MEM char *body = mem_dup(cases[i].body);
        struct notices_answer a = answer(body);
        bool found = notices_read_azure(&a, "vm_1", now_ms(), &n);
        CHECK(cases[i].until ? found && n.until_ms == time_from_iso(cases[i].until) : !found,
              "Azure: %s", cases[i].name);
    }
}

static void test_file(void)
{
    struct notice n = {.until_ms = 1731740000123, .text = "AWS stops the machine"}, again;
    char text[NOTICE_FILE_MAX];

    CHECK(!strcmp(notices_file_text(&n, text), "1731740000123 AWS stops the machine\n"), "a file");
    CHECK(notices_file_parse(text, &again) && again.until_ms == n.until_ms &&
              !strcmp(again.text, n.text),
          "is read as it was written");
    CHECK(!notices_file_parse("", &again) && !notices_file_parse("soon x\n", &again) &&
              !notices_file_parse("99999999999999999999 x\n", &again) &&
              !notices_file_parse("-1 x\n", &again),
          "others are none");
}

int main(void)
{
    test_words();
    test_http();
    test_aws();
    test_gcp();
    test_azure();
    test_file();
    return TAP_DONE();
}
