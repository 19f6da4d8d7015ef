/* The object keys of a training's rounds: written and parsed here, by workers, aggregator and
 * event readers alike. */
#include "fed/round.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUND "round-"
#define ROUND_DIGITS 6
#define WORKER "/in/worker-"
#define WORKER_DIGITS 4
/* Samples are weights, which are doubles. */
#define SAMPLES_MAX ((uint64_t)1 << 53)

/* Exactly so many digits. */
static bool read_digits(const char **at, unsigned digits, unsigned *out)
{
    *out = 0;
    for (unsigned i = 0; i < digits; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (unsigned)(**at - '0');
    }
    return true;
}

static bool skip(const char **at, const char *text)
{
    size_t n = strlen(text);

    if (strncmp(*at, text, n) != 0)
        return false;
    *at += n;
    return true;
}

/* ".w128", or nothing: true, and 0 samples. */
static bool read_samples(const char **at, uint64_t *out)
{
    char *end = NULL;

    *out = 0;
    if (strncmp(*at, ".w", 2) != 0 || (*at)[2] < '1' || (*at)[2] > '9')
        return true;
    errno = 0;
    *out = strtoull(*at + 2, &end, 10);
    *at = end;
    return errno == 0 && *out <= SAMPLES_MAX;
}

/* Where "round-" stands that begins the last three segments; NULL = nowhere. */
static const char *find_round(const char *key)
{
    const char *end = key + strlen(key);

    for (int slashes = 0; end > key; end--)
        if (end[-1] == '/' && ++slashes == 3)
            return end;
    return key;
}

bool fed_round_parse(const char *key, struct fed_input_key *out)
{
    const char *at = find_round(key);
    size_t prefix = at > key ? (size_t)(at - key) - 1 : 0;

    if (prefix > FED_PREFIX_MAX || (at > key && prefix == 0))
        return false;
    *out = (struct fed_input_key){0};
    memcpy(out->prefix, key, prefix);
    return skip(&at, ROUND) && read_digits(&at, ROUND_DIGITS, &out->round) && skip(&at, WORKER) &&
           read_digits(&at, WORKER_DIGITS, &out->worker) && read_samples(&at, &out->samples) &&
           fed_format_from_path(key, &out->format) &&
           strcmp(at, fed_format_suffix(out->format)) == 0;
}

void fed_round_key(const char *prefix,
                   unsigned round,
                   const char *name,
                   char out[static FED_ROUND_KEY])
{
    snprintf(out, FED_ROUND_KEY, "%.*s%s" ROUND "%0*u/%s", FED_PREFIX_MAX, prefix,
             *prefix ? "/" : "", ROUND_DIGITS, round, name);
}

int fed_round_input_key(const struct fed_input_key *k,
                        char out[static FED_ROUND_KEY],
                        struct err *e)
{
    char name[100], samples[32] = "";

    if (k->round >= FED_ROUNDS_MAX)
        return err_set(e, ERR_USAGE, "round %u: there are %d at most, from 0", k->round,
                       FED_ROUNDS_MAX);
    if (k->worker >= FED_WORKERS_MAX)
        return err_set(e, ERR_USAGE, "worker %u: there are %d at most, from 0", k->worker,
                       FED_WORKERS_MAX);
    if (k->samples > SAMPLES_MAX)
        return err_set(e, ERR_USAGE, "%" PRIu64 " samples: 2^53 are the most", k->samples);
    if (k->samples)
        snprintf(samples, sizeof samples, ".w%" PRIu64, k->samples);
    snprintf(name, sizeof name, "in/worker-%0*u%s%s", WORKER_DIGITS, k->worker, samples,
             fed_format_suffix(k->format));
    fed_round_key(k->prefix, k->round, name, out);
    return 0;
}
