#include "net/credentials.h"

#include "base/mem.h"
#include "net/aws_profile.h"
#include "net/http.h"
#include "net/internal.h"
#include "net/metadata.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKEN_FILE_MAX ((size_t)16 << 10)
#define SEED 1 /* one short wait depends on it */

/* What one search knows. */
struct search {
    const struct credentials_sources *sources;
    struct credentials *out;
    const char *profile;
    bool profile_named;
    char *credentials_file, *config_file; /* NULL: without a home directory */
    const char *unsupported;              /* by a setting of the profile */
    struct err no_metadata;               /* why there is none */
};

void net_wipe(struct secret *s)
{
    if (s->hidden)
        OPENSSL_cleanse(s->hidden, strlen(s->hidden));
    free(s->hidden);
    s->hidden = NULL;
}

void credentials_clear(struct credentials *c)
{
    free(c->key_id);
    net_wipe(&c->secret);
    net_wipe(&c->token);
    free(c->region);
    *c = (struct credentials){0};
}

void net_wipe_answer(struct http_answer *a)
{
    if (a->body)
        OPENSSL_cleanse(a->body, a->body_bytes);
    http_answer_clear(a);
}

const char *net_variable(const struct credentials_sources *s, const char *name)
{
    const char *value = s && s->environment ? s->environment(s->context, name) : getenv(name);

    return value && *value ? value : NULL;
}

char *net_home_file(const struct credentials_sources *s, const char *tail)
{
    const char *home = s && s->home ? s->home : net_variable(s, "HOME");

    return home ? mem_printf("%s%s", home, tail) : NULL;
}

static const char *variable(const struct search *s, const char *name)
{
    return net_variable(s->sources, name);
}

/* Without white space around it, which shell scripts leave there. New string or NULL. */
static char *variable_dup(const struct search *s, const char *name)
{
    static const char blanks[] = " \t\r\n";
    const char *value = variable(s, name);

    if (!value)
        return NULL;
    value += strspn(value, blanks);
    size_t len = strlen(value);
    while (len && strchr(blanks, value[len - 1]))
        len--;
    return len ? mem_printf("%.*s", (int)len, value) : NULL;
}

/* 1 = found, 0 = none there, -1 = half given. */
static int from_environment(struct search *s, struct err *e)
{
    struct credentials *out = s->out;

    out->key_id = variable_dup(s, "AWS_ACCESS_KEY_ID");
    out->secret.hidden = variable_dup(s, "AWS_SECRET_ACCESS_KEY");
    if (!out->key_id && !out->secret.hidden)
        return 0;
    if (!out->key_id || !out->secret.hidden)
        return err_set(e, ERR_USAGE, "%s is set but %s is not: set both or none",
                       out->key_id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                       out->key_id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    out->token.hidden = variable_dup(s, "AWS_SESSION_TOKEN");
    out->origin = "environment";
    return 1;
}

/* The file that a variable names, "~/" in front expanded, else the one in ~/.aws; NULL without a
 * home. New string. */
static char *shared_file(const struct search *s, const char *name, const char *standard)
{
    const char *named = variable(s, name);
    AUTO_MEM char *tail = mem_printf("/.aws/%s", standard);

    if (named && strncmp(named, "~/", 2) == 0) {
        char *expanded = net_home_file(s->sources, named + 1);
        return expanded ? expanded : mem_dup(named);
    }
    return named ? mem_dup(named) : net_home_file(s->sources, tail);
}

static void take_keys(struct credentials *out, struct aws_profile *p)
{
    if (out->key_id || !p->key_id.text)
        return;
    out->key_id = TAKE(p->key_id.text);
    out->secret.hidden = TAKE(p->secret.text);
    out->token.hidden = TAKE(p->token.text);
    out->origin = "shared file";
}

/* Keys and region, each from the first of the two files that has it and only if still missing. */
static int from_files(struct search *s, struct err *e)
{
    AUTO_CLEAR(aws_profile) struct aws_profile keys = {0};
    AUTO_CLEAR(aws_profile) struct aws_profile config = {0};
    struct credentials *out = s->out;

    if (s->credentials_file &&
        aws_profile_read(s->credentials_file, false, s->profile, &keys, e) < 0)
        return -1;
    if (s->config_file && aws_profile_read(s->config_file, true, s->profile, &config, e) < 0)
        return -1;
    if (s->profile_named && !keys.found && !config.found)
        return err_set(e, ERR_USAGE, "profile \"%.60s\" (AWS_PROFILE) is in neither %s nor %s",
                       s->profile, s->credentials_file ? s->credentials_file : "~/.aws/credentials",
                       s->config_file ? s->config_file : "~/.aws/config");
    take_keys(out, &keys);
    take_keys(out, &config);
    if (!out->region && config.region.text)
        out->region = TAKE(config.region.text);
    if (!out->region && keys.region.text)
        out->region = TAKE(keys.region.text);
    s->unsupported = config.unsupported ? config.unsupported : keys.unsupported;
    return 0;
}

/* The value for Authorization: 1 and a string to be wiped, 0 when none is named, -1. */
static int container_token(const struct search *s, struct secret *out, struct err *e)
{
    const char *path = variable(s, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    size_t n;

    if (!path) {
        out->hidden = variable_dup(s, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
        return out->hidden != NULL;
    }
    int there = aws_profile_read_file(path, TOKEN_FILE_MAX, &out->hidden, &n, e);
    if (there < 0)
        return -1;
    if (there == 0)
        return err_set(e, ERR_USAGE, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: there is no file %s",
                       path);
    out->hidden[strcspn(out->hidden, "\r\n")] = '\0';
    return 1;
}

/* The URL to ask, new string; NULL and e->kind ERR_NONE when no variable names one. */
static char *container_url(const struct search *s, struct err *e)
{
    static const char relative_name[] = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
    static const char full_name[] = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    const char *relative = variable(s, relative_name), *full = variable(s, full_name);
    const char *endpoint = s->sources->metadata_endpoint;

    if (relative && *relative != '/') {
        err_set(e, ERR_USAGE, "%s must begin with \"/\"", relative_name);
        return NULL;
    }
    if (relative)
        return mem_printf("%s%s", endpoint ? endpoint : "http://169.254.170.2", relative);
    /* Keys in the clear are for this machine and its host alone. */
    if (full && strncasecmp(full, "https://", 8) != 0 &&
        (strncasecmp(full, "http://", 7) != 0 || !net_url_is_near(full))) {
        err_set(e, ERR_USAGE,
                "%s must be an https URL, or http to a loopback or link-local address", full_name);
        return NULL;
    }
    return full ? mem_dup(full) : NULL;
}

/* 1 = found, 0 = none named, -1. */
static int from_container(const struct search *s, struct http *h, struct err *e)
{
    struct err why = {0};
    AUTO_MEM char *url = container_url(s, &why);
    struct secret token = {0};

    if (!url)
        return why.kind == ERR_NONE ? 0 : err_set(e, why.kind, "%s", why.text);
    int result = container_token(s, &token, e);
    if (result >= 0)
        result = metadata_container(h, url, token.hidden, s->out, e);
    net_wipe(&token);
    return result < 0 ? -1 : 1;
}

static int from_instance(struct search *s, struct http *h, struct err *e)
{
    const char *disabled = variable(s, "AWS_EC2_METADATA_DISABLED");
    const char *endpoint = s->sources->metadata_endpoint;

    if (disabled && strcasecmp(disabled, "true") == 0) {
        err_set(&s->no_metadata, ERR_DENIED, "AWS_EC2_METADATA_DISABLED is true");
        return 0;
    }
    if (!endpoint)
        endpoint = "http://169.254.169.254";
    return metadata_instance(h, endpoint, s->out, &s->no_metadata, e);
}

/* 1 = found, 0 = no source has any, -1. */
static int from_network(struct search *s, struct err *e)
{
    AUTO(http) struct http *h = http_new(SEED, e);

    if (!h)
        return -1;
    int found = from_container(s, h, e);
    return found ? found : from_instance(s, h, e);
}

/* They become part of headers and URLs. */
static int check_clean(const struct credentials *c, struct err *e)
{
    const struct {
        const char *name, *text;
    } parts[] = {{"key id", c->key_id},
                 {"secret key", c->secret.hidden},
                 {"session token", c->token.hidden},
                 {"region", c->region}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const char *p = parts[i].text; p && *p; p++) {
            if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
                return err_set(e, ERR_USAGE,
                               "AWS credentials: the %s (%s) holds a space or a character that "
                               "does not belong there",
                               parts[i].name, c->origin);
        }
    }
    return 0;
}

static int none(const struct search *s, struct err *e)
{
    const char *unsupported = s->unsupported;

    return err_set(
        e, ERR_DENIED,
        "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (looked at the "
        "environment; profile \"%.60s\" of %s and %s%s%s; the instance's metadata service: %s)",
        s->profile, s->credentials_file ? s->credentials_file : "~/.aws/credentials",
        s->config_file ? s->config_file : "~/.aws/config",
        unsupported ? ", which has no keys but " : "", unsupported ? unsupported : "",
        s->no_metadata.text);
}

static int find(struct search *s, struct err *e)
{
    int found = from_environment(s, e);

    if (found < 0)
        return -1;
    s->out->region = variable_dup(s, "AWS_REGION");
    if (!s->out->region)
        s->out->region = variable_dup(s, "AWS_DEFAULT_REGION");
    if ((!found || !s->out->region) && from_files(s, e) < 0)
        return -1;
    if (!s->out->key_id) {
        found = from_network(s, e);
        if (found <= 0)
            return found < 0 ? -1 : none(s, e);
    }
    return check_clean(s->out, e);
}

int credentials_find(const struct credentials_sources *sources,
                     struct credentials *out,
                     struct err *e)
{
    struct search s = {.sources = sources, .out = out};

    *out = (struct credentials){0};
    s.profile = variable(&s, "AWS_PROFILE");
    s.profile_named = s.profile && strcmp(s.profile, "default") != 0;
    if (!s.profile)
        s.profile = "default";
    s.credentials_file = shared_file(&s, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
    s.config_file = shared_file(&s, "AWS_CONFIG_FILE", "config");
    int result = find(&s, e);
    free(s.credentials_file);
    free(s.config_file);
    if (result < 0)
        credentials_clear(out);
    return result;
}
