/* The readers of logs: launch probes, one file per probe run, and keep-alive logs of instances.
 * import.c calls them. */
#include "base/mem.h"
#include "base/number.h"
#include "catalog/catalog.h"
#include "market/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next line, cut off in place; NULL at the end. */
static char *next_line(struct import_at *at, char **rest)
{
    char *line = *rest;

    while (line && *line) {
        char *newline = strchr(line, '\n');
        size_t len = newline ? (size_t)(newline - line) : strlen(line);
        *rest = newline ? newline + 1 : line + len;
        at->line++;
        line[len] = 0;
        if (len && line[len - 1] == '\r')
            line[--len] = 0;
        if (len)
            return line;
        line = *rest;
    }
    return NULL;
}

/* What follows a word, up to the character that ends it, copied; false when it is not there or too
 * long. */
static bool word_after(const char *line, const char *label, const char *stop, char out[static 64])
{
    const char *p = strstr(line, label);

    if (!p)
        return false;
    p += strlen(label);
    size_t n = strcspn(p, stop);
    if (n == 0 || n >= 64)
        return false;
    snprintf(out, 64, "%.*s", (int)n, p);
    return import_name_good(out);
}

/* "V100" of "nvidia-tesla-v100" and "v100". */
static const char *gpu_name(const char *listed, char out[static 64])
{
    static const char prefix[] = "nvidia-tesla-", short_prefix[] = "nvidia-";

    if (strncmp(listed, prefix, strlen(prefix)) == 0)
        listed += strlen(prefix);
    else if (strncmp(listed, short_prefix, strlen(short_prefix)) == 0)
        listed += strlen(short_prefix);
    snprintf(out, 64, "%.63s", listed);
    for (char *p = out; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return catalog_accelerator(out);
}

static bool gpu_count(const char *text, double *out)
{
    return number_parse(text, out) && *out >= 1 && *out <= 1024;
}

/* ---- launch probes ---- */

/* "2020-03-02T07-54-34" in the name of the file. */
static bool sweep_time(const struct import_at *at, double *out)
{
    const char *slash = strrchr(at->from->name, '/');
    const char *name = slash ? slash + 1 : at->from->name;
    char text[32];

    if (strlen(name) < 19)
        return false;
    snprintf(text, sizeof text, "%.19sZ", name);
    for (size_t i = 11; i < 19; i++)
        text[i] = text[i] == '-' ? ':' : text[i];
    return market_parse_time(text, out);
}

static int probe_line(struct import_at *at, const char *line, double at_s, struct err *e)
{
    char zone[64], listed[64], count[64], price[64], region[64], gpu[64], type[64];
    const char *cloud = at->from->cloud ? at->from->cloud : "gcp";
    double gpus, usd;

    if (!word_after(line, "Zone: ", ",", zone) || !word_after(line, "GPU type: ", ",", listed) ||
        !word_after(line, "Number of GPUs: ", ",", count) || !gpu_count(count, &gpus) ||
        !word_after(line, "Price per hour: ", " ", price) ||
        !import_region_of_zone(cloud, zone, region))
        return import_drop(
            at, MARKET_DROP_MALFORMED,
            "not like \"Zone: us-west1-b, GPU type: nvidia-tesla-v100, Number of GPUs: 1, "
            "Price per hour: $0.851\"");
    if (!import_parse_price(at, price, &usd))
        return 0;
    const struct import_names names = {
        cloud, at->from->region ? at->from->region : region, zone,
        import_type_of_gpu(cloud, gpu_name(listed, gpu), gpus, type)};
    uint32_t offer = import_offer(at->im, &names, MARKET_FEED_GCP, e);
    return offer == IMPORT_NO_OFFER ? -1 : import_price(at, offer, at_s, usd, e);
}

int import_read_gcp(struct import_at *at, struct err *e)
{
    char *rest = at->from->text, *line;
    double at_s;

    if (!sweep_time(at, &at_s))
        return err_set(e, ERR_USAGE,
                       "%s: launch probes tell their time by the name of their file, as in "
                       "2020-03-02T07-54-34.out",
                       at->from->name);
    while ((line = next_line(at, &rest))) {
        at->report->rows_read++;
        if (probe_line(at, line, at_s, e) < 0)
            return -1;
    }
    import_sweep(at->im, at_s, at->from->cloud ? at->from->cloud : "gcp");
    return 0;
}

/* ---- machines kept alive ---- */

struct life {
    char id[64];
    uint32_t offer;
    double begin_s;
};

/* A collector keeps a few machines; ids come back after each preemption. */
#define LIVES_MAX 1000

struct lives {
    struct life alive[LIVES_MAX];
    size_t n;
    double last_s;
};

static struct life *find_life(struct lives *l, const char *id)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->alive[i].id, id) == 0)
            return &l->alive[i];
    return NULL;
}

static void end_life(struct import_at *at, struct lives *l, struct life *life, bool preempted)
{
    const struct market_spell spell = {life->begin_s, l->last_s, preempted};

    import_spell(at, life->offer, &spell);
    *life = l->alive[--l->n];
}

/* "Created instance ID with N GPU(s) of type T in zone Z". */
static int begin_life(struct import_at *at, struct lives *l, const char *text, struct err *e)
{
    char id[64], count[64], listed[64], zone[64], region[64], gpu[64], type[64];
    double gpus;

    if (!word_after(text, "Created instance ", " ", id) ||
        !word_after(text, " with ", " ", count) || !gpu_count(count, &gpus) ||
        !word_after(text, " of type ", " ", listed) || !word_after(text, " in zone ", " ", zone))
        return import_drop(at, MARKET_DROP_MALFORMED,
                           "not like \"Created instance ID with 1 GPU(s) of "
                           "type v100 in zone us-east-1b\"");
    const char *cloud = at->from->cloud                              ? at->from->cloud
                        : import_region_of_zone("gcp", zone, region) ? "gcp"
                                                                     : "aws";
    if (!import_region_of_zone(cloud, zone, region) || find_life(l, id) || l->n == LIVES_MAX)
        return import_drop(at, MARKET_DROP_MALFORMED,
                           "\"%.40s\" is not a zone, or instance %.40s lives already", zone, id);
    const struct import_names names = {
        cloud, at->from->region ? at->from->region : region, zone,
        import_type_of_gpu(cloud, gpu_name(listed, gpu), gpus, type)};
    uint32_t offer = import_offer(at->im, &names, MARKET_FEED_KEEPALIVE, e);
    if (offer == IMPORT_NO_OFFER)
        return -1;
    struct life *life = &l->alive[l->n++];
    *life = (struct life){.offer = offer, .begin_s = l->last_s};
    snprintf(life->id, sizeof life->id, "%s", id);
    return 0;
}

/* One event. "not running" ends a life as a preemption; "deleted" of a machine that was still
 * running is its owner's doing. */
static int event(struct import_at *at, struct lives *l, const char *text, struct err *e)
{
    char id[64];
    struct life *life;

    if (strncmp(text, "Created instance ", 17) == 0)
        return begin_life(at, l, text, e);
    if (strstr(text, "creation failed")) {
        at->report->notes[MARKET_NOTE_FAILED]++;
        return 0;
    }
    bool deleted = strncmp(text, "Successfully deleted instance ", 30) == 0;
    if (word_after(text, deleted ? "deleted instance " : "Instance ", " ", id) &&
        (deleted || strstr(text, " not running") || strstr(text, " running"))) {
        life = find_life(l, id);
        if (life && (deleted || strstr(text, " not running")))
            end_life(at, l, life, !deleted);
        return 0;
    }
    return import_drop(at, MARKET_DROP_MALFORMED, "\"%.60s\" is not an event of a keep-alive log",
                       text);
}

/* "[time] text". */
static int event_line(struct import_at *at, struct lives *l, char *line, struct err *e)
{
    char *close = strchr(line, ']');
    double at_s;

    at->report->rows_read++;
    if (line[0] != '[' || !close || close[1] != ' ')
        return import_drop(at, MARKET_DROP_MALFORMED,
                           "not like \"[2020-03-01T10:11:21.000Z] text\"");
    *close = 0;
    if (!import_parse_time(at, line + 1, &at_s))
        return 0;
    if (at_s < l->last_s) /* a life cannot be told from events in disorder */
        return import_drop(at, MARKET_DROP_TIME, "earlier than the line above");
    l->last_s = at_s;
    return event(at, l, close + 2, e);
}

int import_read_keepalive(struct import_at *at, struct err *e)
{
    AUTO_MEM struct lives *l = mem_zero(1, sizeof *l);
    char *rest = at->from->text, *line;

    while ((line = next_line(at, &rest)))
        if (event_line(at, l, line, e) < 0)
            return -1;
    while (l->n)
        end_life(at, l, &l->alive[l->n - 1], false);
    return 0;
}
