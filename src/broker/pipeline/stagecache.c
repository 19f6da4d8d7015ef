#include "broker/pipeline/stagecache.h"

#include "base/mem.h"
#include "broker/pipeline/internal.h"
#include "lake/job/job_code.h"
#include "lake/meta/meta.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Earlier jobs of one key that are looked at, the newest first. */
#define CANDIDATES_MAX 256
#define ARENA_BYTES ((size_t)256 << 20)

/* ---- the key ---- */

static void hash_words(struct sha256 *h, const char *what, const char *const *words, size_t n)
{
    sha256_add(h, what, strlen(what) + 1);
    for (size_t i = 0; i < n; i++)
        sha256_add(h, words[i], strlen(words[i]) + 1);
}

static int by_key(const void *a, const void *b)
{
    const struct run_pair *one = a, *other = b;

    return strcmp(one->key, other->key);
}

/* A run that was stored has its variables and mounts in the order of their names, a pipeline file
 * in any. */
static void hash_pairs(struct sha256 *h, const char *what, const struct run_pair *pairs, size_t n)
{
    AUTO_MEM struct run_pair *sorted = mem_zero(n + 1, sizeof *sorted);

    if (n > 0)
        memcpy(sorted, pairs, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t k = 0; k < n; k++) {
        const char *const words[] = {sorted[k].key, sorted[k].value};
        hash_words(h, what, words, 2);
    }
}

/* Everything but the input. */
static void hash_plan(struct sha256 *h,
                      const struct run_stage_plan *p,
                      const char *const *code,
                      size_t n_code)
{
    hash_words(h, "command", p->command, p->n_command);
    hash_words(h, "outputs", p->outputs, p->n_outputs);
    hash_words(h, "code", code, n_code);
    hash_words(h, "output", &p->output, p->output ? 1 : 0);
    hash_words(h, "secrets", p->secrets, p->n_secrets);
    sha256_add(h, &p->nodes, sizeof p->nodes);
    if (p->servers)
        sha256_add(h, &p->servers, sizeof p->servers);
    if (p->image)
        hash_words(h, "image", &p->image, 1);
    hash_pairs(h, "mount", p->mounts, p->n_mounts);
    hash_pairs(h, "env", p->envs, p->n_envs);
}

bool stagecache_learns(const struct run_stage_plan *p)
{
    return p->code && !p->all_code && !p->n_picks;
}

/* "learned", or what decides without it. */
static int code_text(struct advance *a,
                     const struct run_stage_plan *p,
                     char out[static SHA256_HEX],
                     struct err *e)
{
    memcpy(out, "learned", sizeof "learned");
    if (!p->code || stagecache_learns(p))
        return 0;
    const struct codefiles *c = codefiles_of(a->lake, &a->code, p->code, e);
    if (!c)
        return -1;
    struct sha256_digest digest =
        p->all_code ? c->whole : codefiles_picked(c, p->picks, p->n_picks);
    sha256_text(&digest, out);
    return 0;
}

int stagecache_key(struct advance *a,
                   size_t i,
                   const struct refs *inputs,
                   struct sha256_digest *out,
                   struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO(sha256) struct sha256 *h = sha256_new();
    char code[SHA256_HEX];
    const char *const words[] = {code};

    if (code_text(a, p, code, e) < 0)
        return -1;
    hash_plan(h, p, words, p->code ? 1 : 0);
    /* A set version with the same versions of files is the same input. */
    for (size_t k = 0; k < inputs->n; k++) {
        const char *const digest[] = {strchr(inputs->texts[k], ' ')};
        hash_words(h, "input", digest, 1);
    }
    *out = sha256_take(h);
    return 0;
}

/* The key of earlier versions of the program, of whose jobs all code counts. */
static int old_key(struct advance *a,
                   size_t i,
                   const struct refs *refs,
                   char out[static SHA256_HEX],
                   struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO(sha256) struct sha256 *h = sha256_new();

    hash_plan(h, p, &p->code, p->code ? 1 : 0);
    if (advance_hash_input(a, refs, h, e) < 0)
        return -1;
    struct sha256_digest digest = sha256_take(h);
    sha256_text(&digest, out);
    return 0;
}

/* ---- finding ---- */

/* Whether every used file has the digest it had: 1, 0, -1. */
static int used_matches(
    struct lake *l, int64_t used, const struct codefiles *now, struct arena *arena, struct err *e)
{
    AUTO_CLEAR(usedcode) struct usedcode list = {0};
    const void *bytes;
    size_t n;

    if (lake_job_code_used(l, used, arena, &bytes, &n, e) < 0 ||
        usedcode_read(&list, bytes, n, e) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        const struct codefile *f = codefiles_find(now, list.list[i].path);
        if (!f || !sha256_equal(&f->digest, &list.list[i].digest))
            return 0;
    }
    return 1;
}

/* Whether the job used what the stage would use: 1, 0, -1. */
static int code_matches(struct advance *a,
                        const struct run_stage_plan *p,
                        const struct lake_job_code *c,
                        int64_t code_version,
                        struct arena *arena,
                        struct err *e)
{
    if (!stagecache_learns(p))
        return 1; /* the key says so */
    if (!c->why)
        return c->asked_version == code_version;
    if (c->code_version == code_version)
        return 1;
    const struct codefiles *now = codefiles_of(a->lake, &a->code, p->code, e);
    if (!now)
        return -1;
    if (c->why[0])
        return sha256_equal(&c->whole, &now->whole);
    return sha256_equal(&c->names, &now->names) ? used_matches(a->lake, c->used, now, arena, e) : 0;
}

static bool same_record(const struct lake_job_code *one, const struct lake_job_code *other)
{
    return one->why && other->why && one->used && one->used == other->used &&
           one->code_version == other->code_version && !strcmp(one->why, other->why) &&
           sha256_equal(&one->names, &other->names);
}

static int output_is_there(struct advance *a, int64_t job, bool has_output, struct err *e)
{
    struct job_outcome found;

    if (!has_output)
        return 1;
    if (advance_read_job(a, job, &found, e) < 0)
        return -1;
    return found.output_set[0] ? advance_is_there(a->lake, found.output_set, e) : 0;
}

static int find_old_job(void *context, const struct lake_found *found, struct err *e)
{
    (void)e;
    if (!strncmp(found->ref, "job:", 4))
        *(int64_t *)context = strtoll(found->ref + 4, NULL, 10);
    return 0;
}

/* By the tag of earlier versions of the program. */
static int find_old(
    struct advance *a, size_t i, const struct refs *refs, int64_t *job_out, struct err *e)
{
    struct lake_find_options options = {.sort = "create_time", .reverse = true, .limit = 1};
    char key[SHA256_HEX];

    if (old_key(a, i, refs, key, e) < 0)
        return -1;
    AUTO_MEM char *expression = mem_printf("kind=job state=finished " STAGE_CACHE_KEY "=%s", key);
    if (lake_find(a->lake, expression, &options, find_old_job, job_out, e) < 0)
        return -1;
    int there = *job_out ? output_is_there(a, *job_out, a->run->stages[i].plan.output, e) : 0;
    if (there <= 0)
        *job_out = 0;
    return there < 0 ? -1 : 0;
}

int stagecache_find(struct advance *a,
                    size_t i,
                    const struct refs *refs,
                    const struct sha256_digest *key,
                    int64_t *job_out,
                    struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_MEM struct lake_job_code *found = mem_zero(CANDIDATES_MAX, sizeof *found);
    AUTO_CLEAR(lake_ref) struct lake_ref code = {0};
    int n = lake_job_code_find(a->lake, key, arena, found, CANDIDATES_MAX, e), same = 0;

    *job_out = 0;
    if (n < 0 || (p->code && lake_resolve(a->lake, p->code, LAKE_READ, &code, e) < 0))
        return -1;
    for (int k = 0; k < n; k++) {
        /* Jobs with the same record have the same answer. */
        if (k == 0 || !same_record(&found[k], &found[k - 1]))
            same = code_matches(a, p, &found[k], code.set_version, arena, e);
        int there = same == 1 ? output_is_there(a, found[k].job, p->output != NULL, e) : same;
        if (there < 0)
            return -1;
        if (there == 1) {
            *job_out = found[k].job;
            return 0;
        }
    }
    return find_old(a, i, refs, job_out, e);
}

/* ---- what a job used ---- */

/* Their users decide by the times of files that they do not open. */
static const char *const build_files[] = {
    "Makefile",    "makefile",   "GNUmakefile", "build.ninja", "CMakeLists.txt",
    "meson.build", "SConstruct", "Snakefile",   "Rakefile",
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n > k && !strcmp(text + n - k, end);
}

static bool is_build_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof build_files / sizeof *build_files; i++)
        if (!strcmp(name, build_files[i]))
            return true;
    return ends_with(name, ".mk");
}

static void add_path(struct usedcode *u, const struct codefiles *c, const char *path)
{
    const struct codefile *f = codefiles_find(c, path);

    if (f)
        usedcode_add(u, f->path, &f->digest);
}

/* "a/__pycache__/m.cpython-311.pyc" and "a/m.pyc" were made of "a/m.py". */
static void add_source(struct usedcode *u, const struct codefiles *c, const char *path)
{
    static const char cache[] = "__pycache__/";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n_dir = (size_t)(name - path), n = sizeof cache - 1;

    if (!ends_with(path, ".pyc"))
        return;
    if (n_dir >= n && !memcmp(name - n, cache, n))
        n_dir -= n;
    AUTO_MEM char *source =
        mem_printf("%.*s%.*s.py", (int)n_dir, path, (int)strcspn(name, "."), name);
    add_path(u, c, source);
}

static bool declares(const struct job_details *d, const char *key)
{
    for (size_t i = 0; i < d->n_envs; i++)
        if (!strcmp(d->envs[i].key, key))
            return true;
    return false;
}

/* What was told, as files of the code. Returns why all of it counts; new string or NULL. */
static char *take_told(struct usedcode *u,
                       const struct codefiles *c,
                       const struct job_details *d,
                       const struct stagecache_told *told)
{
    if (told->doubt[0])
        return mem_dup(told->doubt);
    for (size_t i = 0; i < told->n; i++) {
        if (is_build_file(told->paths[i]) && codefiles_find(c, told->paths[i]))
            return mem_printf("%s was used: build tools look at files without opening them",
                              told->paths[i]);
        add_path(u, c, told->paths[i]);
        add_source(u, c, told->paths[i]);
    }
    /* With bytecode elsewhere a source is not opened. */
    for (size_t i = 0; i < c->n && declares(d, "PYTHONPYCACHEPREFIX"); i++)
        if (ends_with(c->list[i].path, ".py"))
            add_path(u, c, c->list[i].path);
    usedcode_sort(u);
    return NULL;
}

static void mix(struct sha256_digest *one, const struct sha256_digest *other)
{
    struct sha256_digest both[2] = {*one, *other};

    if (!sha256_equal(one, other))
        *one = sha256_of(both, sizeof both);
}

/* A record, while others are added to it. */
struct record {
    struct lake_job_code code;
    struct usedcode used;
    char *why; /* NULL = none */
};

static void record_clear(struct record *r)
{
    usedcode_clear(&r->used);
    free(r->why);
}

/* Adds what another job used. Other code can never be met again: its digests make that sure. */
static int add_record(
    struct lake *l, struct record *r, int64_t other, struct arena *arena, struct err *e)
{
    struct lake_job_code code;
    const void *bytes;
    size_t n;
    int found = lake_job_code_load(l, other, arena, &code, e);

    if (found < 0)
        return -1;
    if (found == 0 || !code.why) {
        if (!r->why)
            r->why =
                mem_printf("job %" PRId64 ", which it continues, told nothing of its code", other);
        return 0;
    }
    if (code.why[0] && !r->why)
        r->why = mem_dup(code.why);
    if (code.code_version != r->code.code_version)
        r->code.code_version = 0;
    mix(&r->code.names, &code.names);
    mix(&r->code.whole, &code.whole);
    if (lake_job_code_used(l, code.used, arena, &bytes, &n, e) < 0 ||
        usedcode_read(&r->used, bytes, n, e) < 0)
        return -1;
    usedcode_sort(&r->used);
    return 0;
}

static int write_record(struct lake *l, struct record *r, struct err *e)
{
    size_t n;
    AUTO_MEM void *bytes = usedcode_bytes(&r->used, &n);

    r->code.why = r->why ? r->why : "";
    return lake_job_code_note(l, &r->code, bytes, n, e);
}

int stagecache_note(struct lake *l,
                    struct codefiles_cache *cache,
                    const struct lake_job *job,
                    const struct job_details *details,
                    const struct stagecache_told *told,
                    char **why_out,
                    struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_CLEAR(record) struct record r = {.code = {.job = job->id}};
    const struct codefiles *c = codefiles_of(l, cache, job->asked.code, e);

    *why_out = NULL;
    if (!c)
        return -1;
    r.code.code_version = c->set_version;
    r.code.names = c->names;
    r.code.whole = c->whole;
    r.why = take_told(&r.used, c, details, told);
    if (details->continues && add_record(l, &r, details->continues, arena, e) < 0)
        return -1;
    if (write_record(l, &r, e) < 0)
        return -1;
    *why_out = TAKE(r.why);
    return 0;
}

int stagecache_join(struct advance *a, int64_t first, unsigned nodes, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_CLEAR(record) struct record r = {0};
    const void *bytes;
    size_t n;
    int found = lake_job_code_load(a->lake, first, arena, &r.code, e);

    if (found <= 0 || !r.code.why)
        return found < 0 ? -1 : 0;
    r.why = r.code.why[0] ? mem_dup(r.code.why) : NULL;
    if (lake_job_code_used(a->lake, r.code.used, arena, &bytes, &n, e) < 0 ||
        usedcode_read(&r.used, bytes, n, e) < 0)
        return -1;
    for (unsigned rank = 1; rank < nodes; rank++)
        if (add_record(a->lake, &r, first + rank, arena, e) < 0)
            return -1;
    return write_record(a->lake, &r, e);
}

/* ---- asked by `run --why` ---- */

static int keep_lines(const struct why *why,
                      struct arena *arena,
                      struct stagecache_answer *out,
                      struct err *e)
{
    out->lines = arena_alloc(arena, why->n + 2, sizeof *out->lines);
    for (size_t i = 0; out->lines && i < why->n; i++) {
        out->lines[out->n_lines] = arena_dup(arena, why->lines[i]);
        out->n_lines += out->lines[out->n_lines] != NULL;
    }
    if (out->n_lines < why->n)
        return err_set(e, ERR_USAGE, "the answer is too large");
    if (why->left_out)
        out->lines[out->n_lines++] = arena_printf(arena, "%zu more files changed", why->left_out);
    return 0;
}

/* "3 of 12 files of its code count: job 7 used them" */
static const char *counted_files(struct advance *a,
                                 const struct codefiles *c,
                                 const struct lake_job_code *record,
                                 struct arena *arena,
                                 struct stagecache_answer *out,
                                 struct err *e)
{
    AUTO_CLEAR(usedcode) struct usedcode used = {0};
    const void *bytes;
    size_t n;

    if (lake_job_code_used(a->lake, record->used, arena, &bytes, &n, e) < 0 ||
        usedcode_read(&used, bytes, n, e) < 0)
        return NULL;
    out->used = arena_alloc(arena, used.n + 1, sizeof *out->used);
    for (; out->used && out->n_used < used.n; out->n_used++)
        out->used[out->n_used] = used.list[out->n_used].path; /* of the arena */
    return arena_printf(arena,
                        "The content of %zu of the %zu files of its code counts, those that job "
                        "%" PRId64 " used, and the names of all.",
                        used.n, c->n, record->job);
}

/* Compared with the job whose output is reused, or the last one. */
static const char *what_counts(struct advance *a,
                               const struct run_stage_plan *p,
                               struct arena *arena,
                               struct stagecache_answer *out,
                               struct err *e)
{
    int64_t job = out->job ? out->job : out->last;
    struct lake_job_code record = {0};

    if (p->all_code)
        return "All of its code counts: the pipeline file says code: all.";
    if (p->n_picks)
        return "The files that `code` of the pipeline file names count.";
    if (job && lake_job_code_load(a->lake, job, arena, &record, e) < 0)
        return NULL;
    const struct codefiles *c = codefiles_of(a->lake, &a->code, p->code, e);
    if (!c)
        return NULL;
    if (record.why && !record.why[0])
        return counted_files(a, c, &record, arena, out, e);
    return arena_printf(arena, "All of its code counts: %s.",
                        record.why ? record.why
                        : job      ? "what it used was not recorded"
                                   : "it has not finished yet");
}

/* A stage that this one needs and that runs again. */
static const struct run_stage *running_need(const struct run *run, size_t i)
{
    const struct run_stage_plan *p = &run->stages[i].plan;

    for (size_t k = 0; k < p->n_needs; k++)
        if (run->stages[p->needs[k]].state != STAGE_REUSED)
            return &run->stages[p->needs[k]];
    return NULL;
}

static int ask(
    struct advance *a, size_t i, struct arena *arena, struct stagecache_answer *out, struct err *e)
{
    AUTO_CLEAR(refs) struct refs refs = {0};
    AUTO_CLEAR(refs) struct refs inputs = {0};
    AUTO_CLEAR(why) struct why why = {0};
    const struct run_stage *needed = running_need(a->run, i);
    struct sha256_digest key;

    if (!needed) {
        if (advance_refs(a, i, &refs, e) < 0 || advance_input_texts(a, &refs, &inputs, e) < 0 ||
            stagecache_key(a, i, &inputs, &key, e) < 0 ||
            stagecache_find(a, i, &refs, &key, &out->job, e) < 0)
            return -1;
        a->run->stages[i].job = out->job;
        if (out->job) {
            a->run->stages[i].state = STAGE_REUSED;
            return 0;
        }
    }
    if (why_find(a, i, needed ? NULL : &inputs, &why, e) < 0)
        return -1;
    out->last = why.job;
    if (needed)
        why_add(&why, mem_printf("stage %s runs again: its output may change", needed->plan.name));
    return keep_lines(&why, arena, out, e);
}

int stagecache_ask(struct lake *l,
                   struct runs *runs,
                   struct run *run,
                   size_t i,
                   struct arena *arena,
                   struct stagecache_answer *out,
                   struct err *e)
{
    struct advance a = {.lake = l, .runs = runs, .run = run};

    *out = (struct stagecache_answer){0};
    int result = ask(&a, i, arena, out, e);
    if (result == 0 && run->stages[i].plan.code) {
        out->counts = what_counts(&a, &run->stages[i].plan, arena, out, e);
        if (!out->counts)
            result = e->kind ? -1 : err_set(e, ERR_USAGE, "the answer is too large");
    }
    codefiles_cache_clear(&a.code);
    return result;
}
