/* Finds the finished job whose output a stage can reuse, by a digest of everything that decides
 * the output. advance.c calls it. */
#include "base/mem.h"
#include "broker/pipeline/internal.h"
#include "lake/meta/meta.h"
#include "lake/set/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hash_words(struct sha256 *h, const char *what, const char *const *words, size_t n)
{
    sha256_add(h, what, strlen(what) + 1);
    for (size_t i = 0; i < n; i++)
        sha256_add(h, words[i], strlen(words[i]) + 1);
}

static int hash_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    char number[24];
    int n = snprintf(number, sizeof number, "#%" PRId64, entry->number);

    (void)e;
    sha256_add(context, entry->path, strlen(entry->path));
    sha256_add(context, number, (size_t)n + 1);
    return 0;
}

static int hash_input(struct advance *a, const struct refs *refs, struct sha256 *h, struct err *e)
{
    for (size_t i = 0; i < refs->n; i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        if (lake_resolve(a->lake, refs->texts[i], LAKE_READ, &ref, e) < 0 ||
            lake_every_file(a->lake, &ref, hash_entry, h, e) < 0)
            return -1;
    }
    return 0;
}

int advance_cache_key(struct advance *a,
                      size_t i,
                      const struct refs *refs,
                      char out[static SHA256_HEX],
                      struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO(sha256) struct sha256 *h = sha256_new();

    hash_words(h, "command", p->command, p->n_command);
    hash_words(h, "outputs", p->outputs, p->n_outputs);
    hash_words(h, "code", &p->code, p->code ? 1 : 0);
    hash_words(h, "output", &p->output, p->output ? 1 : 0);
    hash_words(h, "secrets", p->secrets, p->n_secrets);
    sha256_add(h, &p->nodes, sizeof p->nodes);
    if (p->servers)
        sha256_add(h, &p->servers, sizeof p->servers);
    for (size_t k = 0; k < p->n_envs; k++) {
        const char *const pair[] = {p->envs[k].key, p->envs[k].value};
        hash_words(h, "env", pair, 2);
    }
    if (hash_input(a, refs, h, e) < 0)
        return -1;
    struct sha256_digest digest = sha256_take(h);
    sha256_text(&digest, out);
    return 0;
}

static int note_found(void *context, const struct lake_found *found, struct err *e)
{
    (void)e;
    if (!strncmp(found->ref, "job:", 4))
        *(int64_t *)context = strtoll(found->ref + 4, NULL, 10);
    return 0;
}

int advance_is_there(struct lake *l, const char *text, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake_gone gone;

    if (lake_resolve(l, text, LAKE_READ, &ref, NULL) < 0)
        return 0;
    return lake_set_gone(l, &ref, &gone, e) < 0 ? -1 : gone.files == 0;
}

int advance_find_done(
    struct advance *a, const char *key, bool has_output, int64_t *job_out, struct err *e)
{
    AUTO_MEM char *expression = mem_printf("kind=job state=finished " STAGE_CACHE_KEY "=%s", key);
    struct lake_find_options options = {.sort = "create_time", .reverse = true, .limit = 1};
    struct job_outcome found;

    *job_out = 0;
    if (lake_find(a->lake, expression, &options, note_found, job_out, e) < 0)
        return -1;
    if (*job_out == 0 || !has_output)
        return 0;
    if (advance_read_job(a, *job_out, &found, e) < 0)
        return -1;
    int there = found.output_set[0] ? advance_is_there(a->lake, found.output_set, e) : 0;
    if (there == 0)
        *job_out = 0;
    return there < 0 ? -1 : 0;
}

int advance_tag_key(struct advance *a, int64_t job, const char *key, struct err *e)
{
    AUTO_MEM char *pair = mem_printf(STAGE_CACHE_KEY "=%s", key);
    const char *const pairs[] = {pair};

    return lake_job_tag(a->lake, job, pairs, 1, e);
}
