#include "net/aws_profile.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)

/* A piece of the file, not NUL-terminated. */
struct span {
    const char *text;
    size_t len;
};

struct parser {
    const char *file;
    size_t line;
    bool config;
    const char *name; /* the wanted profile */
    struct aws_profile *out;
    bool in_section, wanted;
    bool in_setting; /* one came since the section began, indented by: */
    size_t indent;
};

static void value_clear(struct aws_profile_value *v)
{
    if (v->text)
        OPENSSL_cleanse(v->text, strlen(v->text));
    free(v->text);
    *v = (struct aws_profile_value){0};
}

void aws_profile_clear(struct aws_profile *p)
{
    value_clear(&p->key_id);
    value_clear(&p->secret);
    value_clear(&p->token);
    value_clear(&p->region);
    *p = (struct aws_profile){0};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static struct span trim(struct span s)
{
    while (s.len && is_blank(*s.text)) {
        s.text++;
        s.len--;
    }
    while (s.len && is_blank(s.text[s.len - 1]))
        s.len--;
    return s;
}

static bool equals(struct span s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.text, text, s.len) == 0;
}

static int bad_line(const struct parser *p, const char *why, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s:%zu: %s", p->file, p->line, why);
}

/* The profile a section is for; len 0 when it is for something else. */
static struct span profile_of(struct span section, bool config)
{
    static const char word[] = "profile";
    const size_t len = sizeof word - 1;

    if (!config || equals(section, "default"))
        return section;
    if (section.len <= len || memcmp(section.text, word, len) != 0 || !is_blank(section.text[len]))
        return (struct span){"", 0};
    struct span name = trim((struct span){section.text + len, section.len - len});
    if (name.len >= 2 && (*name.text == '"' || *name.text == '\'') &&
        name.text[name.len - 1] == *name.text)
        name = (struct span){name.text + 1, name.len - 2};
    return name;
}

static int parse_section(struct parser *p, struct span text, struct err *e)
{
    const char *end = memchr(text.text, ']', text.len);

    if (!end)
        return bad_line(p, "a section's name ends in \"]\"", e);
    struct span after = trim((struct span){end + 1, (size_t)(text.text + text.len - end - 1)});
    if (after.len && *after.text != '#' && *after.text != ';')
        return bad_line(p, "there is text after a section's name", e);
    struct span section = trim((struct span){text.text + 1, (size_t)(end - text.text - 1)});
    if (section.len == 0)
        return bad_line(p, "the section has no name", e);
    p->in_section = true;
    p->in_setting = false;
    p->wanted = equals(profile_of(section, p->config), p->name);
    p->out->found |= p->wanted;
    return 0;
}

/* A comment after a value is set off by white space: '#' and ';' may be in one. */
static struct span without_comment(struct span value)
{
    for (size_t i = 1; i < value.len; i++) {
        if ((value.text[i] == '#' || value.text[i] == ';') && is_blank(value.text[i - 1]))
            return trim((struct span){value.text, i});
    }
    return value;
}

static void keep(struct parser *p, struct span name, struct span value)
{
    static const char *const other_ways[] = {"credential_process", "sso_session",
                                             "sso_start_url",      "role_arn",
                                             "credential_source",  "web_identity_token_file"};
    struct aws_profile *out = p->out;
    const struct {
        const char *name;
        struct aws_profile_value *value;
    } settings[] = {{"aws_access_key_id", &out->key_id},
                    {"aws_secret_access_key", &out->secret},
                    {"aws_session_token", &out->token},
                    {"region", &out->region}};

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (name.len != strlen(settings[i].name) ||
            strncasecmp(name.text, settings[i].name, name.len) != 0)
            continue;
        value_clear(settings[i].value);
        if (value.len == 0)
            return;
        settings[i].value->text = mem_zero(value.len + 1, 1);
        memcpy(settings[i].value->text, value.text, value.len);
        settings[i].value->line = p->line;
        return;
    }
    for (size_t i = 0; i < sizeof other_ways / sizeof *other_ways; i++) {
        if (equals(name, other_ways[i]))
            out->unsupported = other_ways[i];
    }
}

static int parse_line(struct parser *p, struct span line, struct err *e)
{
    struct span text = trim(line);
    size_t indent = text.len ? (size_t)(text.text - line.text) : 0;

    if (text.len == 0 || *text.text == '#' || *text.text == ';')
        return 0;
    if (memchr(text.text, 0, text.len))
        return bad_line(p, "the line holds a NUL byte", e);
    if (p->in_setting && indent > p->indent)
        return 0;
    if (*text.text == '[')
        return parse_section(p, text, e);
    const char *equals_sign = memchr(text.text, '=', text.len);
    if (!equals_sign || equals_sign == text.text)
        return bad_line(p, "neither \"[section]\" nor \"name = value\" nor a comment", e);
    if (!p->in_section)
        return bad_line(p, "a setting before the first \"[section]\"", e);
    p->in_setting = true;
    p->indent = indent;
    struct span name = trim((struct span){text.text, (size_t)(equals_sign - text.text)});
    struct span value =
        trim((struct span){equals_sign + 1, (size_t)(text.text + text.len - equals_sign - 1)});
    if (p->wanted)
        keep(p, name, without_comment(value));
    return 0;
}

static int check_halves(const struct parser *p, struct err *e)
{
    const struct aws_profile_value *id = &p->out->key_id, *secret = &p->out->secret;

    if (!id->text == !secret->text)
        return 0;
    return err_set(e, ERR_USAGE, "%s:%zu: profile \"%s\" has %s but no %s", p->file,
                   id->text ? id->line : secret->line, p->name,
                   id->text ? "aws_access_key_id" : "aws_secret_access_key",
                   id->text ? "aws_secret_access_key" : "aws_access_key_id");
}

int aws_profile_parse(const char *file,
                      const char *bytes,
                      size_t n,
                      bool config,
                      const char *name,
                      struct aws_profile *out,
                      struct err *e)
{
    struct parser p = {.file = file, .config = config, .name = name, .out = out};

    if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        bytes += 3;
        n -= 3;
    }
    while (n) {
        const char *end = memchr(bytes, '\n', n);
        size_t len = end ? (size_t)(end - bytes) : n;
        p.line++;
        if (parse_line(&p, (struct span){bytes, len}, e) < 0)
            return -1;
        bytes += end ? len + 1 : len;
        n -= end ? len + 1 : len;
    }
    return check_halves(&p, e);
}

int aws_profile_read_file(
    const char *path, size_t max, char **bytes_out, size_t *n_out, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t got;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0)
        return file_error(e, "read", path);
    char *bytes = mem_zero(max + 2, 1);
    while ((got = read(fd, bytes + n, max + 1 - n)) > 0)
        n += (size_t)got;
    int result = 1;
    if (got < 0)
        result = file_error(e, "read", path);
    else if (n > max)
        result = err_set(e, ERR_USAGE, "%s: larger than %zu KB", path, max >> 10);
    close(fd);
    if (result < 0) {
        OPENSSL_cleanse(bytes, n);
        free(bytes);
        return -1;
    }
    *bytes_out = bytes;
    *n_out = n;
    return 1;
}

int aws_profile_read(
    const char *path, bool config, const char *name, struct aws_profile *out, struct err *e)
{
    char *bytes = NULL;
    size_t n = 0;
    int there = aws_profile_read_file(path, FILE_BYTES_MAX, &bytes, &n, e);

    if (there <= 0)
        return there;
    int result = aws_profile_parse(path, bytes, n, config, name, out, e);
    OPENSSL_cleanse(bytes, n);
    free(bytes);
    return result;
}
