#include "cloud/tags.h"

#include "cloud/driver.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The end of the year 9999. */
#define SECONDS_MAX INT64_C(253402300799)

/* ---- writing ---- */

__attribute__((format(printf, 3, 4))) static void add(struct cloud_tags *t,
                                                      const char *key,
                                                      const char *fmt,
                                                      ...)
{
    struct cloud_tag *tag = &t->items[t->n++];
    va_list ap;

    tag->key = key;
    va_start(ap, fmt);
    vsnprintf(tag->value, sizeof tag->value, fmt, ap);
    va_end(ap);
}

/* Bytes other than lower-case letters and digits as '_' and two hexadecimal digits. */
static void add_text(struct cloud_tags *t, const char *key, const char *text)
{
    struct cloud_tag *tag = &t->items[t->n++];
    size_t at = 0;

    tag->key = key;
    for (const char *p = text; *p && at + 4 < sizeof tag->value; p++) {
        if (islower((unsigned char)*p) || isdigit((unsigned char)*p))
            tag->value[at++] = *p;
        else
            at += (size_t)snprintf(tag->value + at, 4, "_%02x", (unsigned char)*p);
    }
    tag->value[at] = '\0';
}

static int64_t thousandths(double v)
{
    return llround(v * 1000);
}

void cloud_tags_of(const struct cloud_request *r, const char *login, struct cloud_tags *out)
{
    out->n = 0;
    add(out, CLOUD_TAG_OWNER, "%s", r->owner);
    add(out, CLOUD_TAG_TOKEN, "%s", r->token);
    add(out, "broker-run", "%" PRId64, r->run);
    add(out, "broker-job", "%" PRId64, r->job);
    add(out, "broker-expires", "%" PRId64, (r->expires_ms + 999) / 1000);
    add(out, "broker-request", "%016" PRIx64, instance_fingerprint(r));
    add(out, "broker-size", "%" PRId64 "-%" PRId64 "-%" PRId64, thousandths(r->cpus),
        thousandths(r->memory_gb), thousandths(r->accelerator ? r->accelerators : 0));
    /* Micro-dollars per hour, and the shortest time that is billed. */
    add(out, "broker-price", "%lld-%" PRId64, llround(r->price_usd_per_hour * 1e6),
        thousandths(r->bill_min_s));
    if (r->accelerator && *r->accelerator)
        add_text(out, "broker-accelerator", r->accelerator);
    if (*login)
        add_text(out, "broker-login", login);
}

/* ---- reading ---- */

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_text(const char *value, char *out, size_t room)
{
    size_t at = 0;

    for (const char *p = value; *p && at + 1 < room; p++) {
        int high = *p == '_' ? hex_digit(p[1]) : -1;
        int low = high >= 0 ? hex_digit(p[2]) : -1;
        out[at++] = low >= 0 ? (char)(high * 16 + low) : *p;
        p += low >= 0 ? 2 : 0;
    }
    out[at] = '\0';
}

/* "8000-61000-1000": up to n numbers; others stay as they are. */
static void read_numbers(const char *value, double scale, double **out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *end;
        errno = 0;
        long long v = strtoll(value, &end, 10);
        if (end == value || errno || v < 0)
            return;
        *out[i] = (double)v / (i ? 1000 : scale);
        if (*end != '-')
            return;
        value = end + 1;
    }
}

static int64_t integer(const char *value)
{
    return strtoll(value, NULL, 10);
}

int64_t cloud_tag_ms(const char *value)
{
    int64_t seconds = integer(value);

    return seconds > 0 && seconds <= SECONDS_MAX ? seconds * 1000 : 0;
}

void cloud_tag_read(struct cloud_tagged *t, const char *key, const char *value)
{
    struct cloud_machine *m = &t->machine;

    if (strcmp(key, CLOUD_TAG_OWNER) == 0)
        snprintf(m->owner, sizeof m->owner, "%s", value);
    else if (strcmp(key, CLOUD_TAG_TOKEN) == 0)
        snprintf(m->token, sizeof m->token, "%s", value);
    else if (strcmp(key, "broker-run") == 0)
        m->run = integer(value);
    else if (strcmp(key, "broker-job") == 0)
        m->job = integer(value);
    else if (strcmp(key, "broker-expires") == 0)
        m->expires_ms = cloud_tag_ms(value);
    else if (strcmp(key, "broker-request") == 0)
        t->asked = strtoull(value, NULL, 16);
    else if (strcmp(key, "broker-size") == 0)
        read_numbers(value, 1000, (double *[]){&m->cpus, &m->memory_gb, &m->accelerators}, 3);
    else if (strcmp(key, "broker-price") == 0)
        read_numbers(value, 1e6, (double *[]){&m->price_usd_per_hour, &m->bill_min_s}, 2);
    else if (strcmp(key, "broker-accelerator") == 0)
        read_text(value, m->accelerator, sizeof m->accelerator);
    else if (strcmp(key, "broker-login") == 0)
        read_text(value, t->login, sizeof t->login);
}

int cloud_take_known(const struct cloud_tagged *t,
                     const struct cloud_request *request,
                     struct cloud_machine *out,
                     struct cloud_error *e)
{
    if (t->asked != instance_fingerprint(request) || t->machine.spot != request->spot)
        return cloud_fail(e, CLOUD_CONFLICT, CLOUD_ACCOUNT,
                          "this token was used for another request: instance %s, %s%s",
                          t->machine.id, t->machine.instance_type, t->machine.spot ? ", spot" : "");
    *e = (struct cloud_error){0};
    *out = t->machine;
    return 0;
}
