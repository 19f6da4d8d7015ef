#include "exec/notices.h"

#include "base/time.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ADDRESS "169.254.169.254"
#define PORT 80
/* Between the notice and the end, where the notice does not say: what the cloud promises. */
#define GCP_LEFT_MS ((int64_t)30 * 1000)
#define LEFT_MS_MAX ((int64_t)3600 * 1000)

static const char *const clouds[] = {
    [NOTICES_NONE] = "none",
    [NOTICES_AWS] = "aws",
    [NOTICES_GCP] = "gcp",
    [NOTICES_AZURE] = "azure",
};

/* "127.0.0.1:8080" or "127.0.0.1" */
static bool read_address(const char *text, struct notices *out)
{
    size_t n = strcspn(text, ":");
    struct in_addr address;

    if (n >= sizeof out->address)
        return false;
    snprintf(out->address, sizeof out->address, "%.*s", (int)n, text);
    if (inet_pton(AF_INET, out->address, &address) != 1)
        return false;
    if (!text[n])
        return true;
    char *end;
    errno = 0;
    unsigned long port = strtoul(text + n + 1, &end, 10);
    if (text[n + 1] < '0' || text[n + 1] > '9' || *end || errno || !port || port > UINT16_MAX)
        return false;
    out->port = (uint16_t)port;
    return true;
}

bool notices_parse(const char *word, struct notices *out)
{
    size_t n = strcspn(word, "@");

    *out = (struct notices){.address = ADDRESS, .port = PORT};
    for (size_t i = 0; i < sizeof clouds / sizeof clouds[0]; i++)
        if (strlen(clouds[i]) == n && !strncmp(clouds[i], word, n)) {
            out->cloud = (enum notices_cloud)i;
            return !word[n] || read_address(word + n + 1, out);
        }
    return false;
}

/* ---- HTTP ---- */

/* The value of a header; "" when it is not there. Lines end at end with a newline. */
static const char *header(const char *head, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = head; (line = strchr(line, '\n'));) {
        line++;
        if (!strncasecmp(line, name, n) && line[n] == ':')
            return line + n + 1 + strspn(line + n + 1, " \t");
    }
    return "";
}

/* "1a\r\n" and 26 bytes and "\r\n", until "0\r\n". false: a part of it. */
static bool join_chunks(char *body, size_t *n)
{
    size_t from = 0, to = 0;

    for (;;) {
        char *end;
        /* The NUL behind the body ends a number. */
        unsigned long size = strtoul(body + from, &end, 16);
        const char *line = memchr(body + from, '\n', *n - from);
        if (!line || end == body + from || body[from] == '-' || size > *n)
            return false;
        from = (size_t)(line - body) + 1;
        if (size == 0)
            break;
        if (size > *n - from)
            return false;
        memmove(body + to, body + from, size);
        from += size;
        to += size;
        from += from < *n && body[from] == '\r';
        if (from >= *n || body[from++] != '\n')
            return false;
    }
    *n = to;
    return true;
}

static bool read_length(const char *text, size_t *out)
{
    char *end;

    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || (*end != '\r' && *end != '\n') || errno)
        return false;
    *out = n;
    return true;
}

bool notices_answer_read(char *bytes, size_t n, struct notices_answer *out)
{
    size_t length;

    *out = (struct notices_answer){0};
    bytes[n] = 0;
    if (strncmp(bytes, "HTTP/1.", 7) != 0 || strspn(bytes + 7, "0123456789") != 1 ||
        bytes[8] != ' ' || strspn(bytes + 9, "0123456789") != 3)
        return false;
    char *gap = strstr(bytes, "\r\n\r\n");
    if (!gap)
        return false;
    char *body = gap + 4;
    size_t left = n - (size_t)(body - bytes);
    /* The head ends with the newline of its last line. */
    gap[2] = 0;
    const char *told = header(bytes, "Content-Length");
    if (!strncasecmp(header(bytes, "Transfer-Encoding"), "chunked", 7)) {
        if (!join_chunks(body, &left))
            return false;
    } else if (*told) {
        if (!read_length(told, &length) || length > left)
            return false;
        left = length;
    }
    body[left] = 0;
    int status = (bytes[9] - '0') * 100 + (bytes[10] - '0') * 10 + (bytes[11] - '0');
    *out = (struct notices_answer){status, body, left};
    return true;
}

/* ---- JSON, as much of it as is needed: its strings, in order ---- */

#define DEPTH_MAX 32

struct json_text {
    const char *at;
    int depth;     /* objects and lists that are open */
    char key[64];  /* of the last member; cut to its room */
    char text[96]; /* of the last string; cut to its room */
};

enum json_part { JSON_TEXT, JSON_CLOSE, JSON_OVER, JSON_BAD };

/* At the quote; what is escaped by a number becomes '?'. */
static bool take_string(struct json_text *j)
{
    size_t n = 0;

    for (j->at++; *j->at && *j->at != '"'; j->at++) {
        char c = *j->at;
        if (c == '\\') {
            c = *++j->at;
            if (!c)
                return false;
            if (!strchr("\"\\/", c))
                c = '?';
        }
        if (n + 1 < sizeof j->text)
            j->text[n++] = c;
    }
    j->text[n] = 0;
    if (*j->at != '"')
        return false;
    j->at++;
    return true;
}

/* JSON_TEXT: a string that is a value, text, of the member key; JSON_CLOSE: the end of an object or
 * list, which had depth + 1. */
static enum json_part json_next(struct json_text *j)
{
    while (*j->at) {
        char c = *j->at;
        if (c == '"') {
            if (!take_string(j))
                return JSON_BAD;
            const char *next = j->at + strspn(j->at, " \t\r\n");
            if (*next != ':')
                return JSON_TEXT;
            snprintf(j->key, sizeof j->key, "%.63s", j->text);
            j->at = next + 1;
            continue;
        }
        j->at++;
        if ((c == '{' || c == '[') && ++j->depth > DEPTH_MAX)
            return JSON_BAD;
        if (c == '}' || c == ']') {
            if (--j->depth < 0)
                return JSON_BAD;
            return JSON_CLOSE;
        }
    }
    return j->depth == 0 ? JSON_OVER : JSON_BAD;
}

/* ---- what the answers say ---- */

static int64_t bounded(int64_t until_ms, int64_t now_ms)
{
    if (until_ms < now_ms)
        return now_ms;
    return until_ms > now_ms + LEFT_MS_MAX ? now_ms + LEFT_MS_MAX : until_ms;
}

static void tell(struct notice *out, const char *who, const char *what, int64_t until_ms)
{
    char when[32];

    out->until_ms = until_ms;
    snprintf(out->text, sizeof out->text, "%s %s the machine at %s", who, what,
             time_iso(until_ms, when));
}

bool notices_read_aws(const struct notices_answer *a, int64_t now_ms, struct notice *out)
{
    static const char *const actions[][2] = {
        {"terminate", "terminates"}, {"stop", "stops"}, {"hibernate", "hibernates"}};
    struct json_text j = {.at = a->status == 200 ? a->body : ""};
    const char *action = NULL;
    int64_t at_ms = 0;
    enum json_part part;

    while ((part = json_next(&j)) == JSON_TEXT || part == JSON_CLOSE) {
        if (part == JSON_CLOSE || j.depth != 1)
            continue;
        if (!strcmp(j.key, "time"))
            at_ms = time_from_iso(j.text);
        for (size_t i = 0; i < sizeof actions / sizeof *actions && !strcmp(j.key, "action"); i++)
            if (!strcmp(j.text, actions[i][0]))
                action = actions[i][1];
    }
    if (part == JSON_BAD || !action || !at_ms)
        return false;
    tell(out, "AWS", action, bounded(at_ms, now_ms));
    return true;
}

bool notices_read_gcp(const struct notices_answer *a, int64_t now_ms, struct notice *out)
{
    const char *what = NULL;
    char word[40];

    if (a->status != 200 || a->n >= sizeof word)
        return false;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(a->body, "\r\n"), a->body);
    if (!strcmp(word, "TRUE"))
        what = "preempts";
    else if (!strcmp(word, "TERMINATE_ON_HOST_MAINTENANCE"))
        what = "stops";
    if (!what)
        return false;
    tell(out, "Google Cloud", what, now_ms + GCP_LEFT_MS);
    return true;
}

/* One event of Azure's. */
struct azure_event {
    bool is_end, is_ours;
    int64_t at_ms;
};

static void take_member(struct azure_event *v, const struct json_text *j, const char *name)
{
    if (j->depth == 3 && !strcmp(j->key, "EventType"))
        v->is_end = !strcmp(j->text, "Preempt") || !strcmp(j->text, "Terminate");
    else if (j->depth == 3 && !strcmp(j->key, "NotBefore"))
        v->at_ms = time_from_http(j->text);
    else if (j->depth == 4 && !strcmp(j->key, "Resources") && !strcasecmp(j->text, name))
        v->is_ours = true;
}

/* {"Events": [{"EventType": ..., "Resources": [...]}]}: an event is at depth 3. NotBefore is empty
 * once it has begun. */
bool notices_read_azure(const struct notices_answer *a,
                        const char *name,
                        int64_t now_ms,
                        struct notice *out)
{
    struct json_text j = {.at = a->status == 200 ? a->body : ""};
    struct azure_event event = {0};
    bool found = false;
    enum json_part part;

    while ((part = json_next(&j)) == JSON_TEXT || part == JSON_CLOSE) {
        if (part == JSON_TEXT) {
            take_member(&event, &j, name);
        } else if (j.depth == 2) {
            if (event.is_end && event.is_ours && !found) {
                tell(out, "Azure", "evicts", bounded(event.at_ms, now_ms));
                found = true;
            }
            event = (struct azure_event){0};
        }
    }
    return found && part == JSON_OVER;
}

/* ---- the file ---- */

const char *notices_file_text(const struct notice *n, char out[static NOTICE_FILE_MAX])
{
    snprintf(out, NOTICE_FILE_MAX, "%" PRId64 " %.199s\n", n->until_ms, n->text);
    return out;
}

bool notices_file_parse(const char *text, struct notice *out)
{
    char *end;

    errno = 0;
    *out = (struct notice){.until_ms = strtoll(text, &end, 10)};
    if (*text < '0' || *text > '9' || *end != ' ' || errno)
        return false;
    snprintf(out->text, sizeof out->text, "%.*s", (int)strcspn(end + 1, "\n"), end + 1);
    return true;
}
