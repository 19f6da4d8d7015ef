#include "fed/round.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "fed/average.h"
#include "fed/internal.h"
#include "fed/packing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Inputs that were written twice with other numbers of samples are two objects. */
#define LISTED_MAX ((size_t)4 * FED_WORKERS_MAX)
/* Each is little more than a round trip. */
#define DELETES_AT_ONCE 16
#define CHUNK ((size_t)256 << 10)

struct listed {
    char *key, *etag;
    uint64_t size;
    int64_t modified_ms;
    struct fed_input_key input;
};

/* What the list showed, and what was made of it. */
struct round {
    const struct fed_aggregator *a;
    struct fed_input_key event;
    struct store_tally *tally;
    struct listed *listed;
    size_t n_listed, cap;
    size_t *chosen; /* of listed: the newest of each worker, by worker */
    size_t n_chosen;
    bool has_mean, is_done;
    struct fed_claim claim;
};

static void forget_list(struct round *r)
{
    for (size_t i = 0; i < r->n_listed; i++) {
        free(r->listed[i].key);
        free(r->listed[i].etag);
    }
    free(r->listed);
    free(r->chosen);
    r->listed = NULL;
    r->chosen = NULL;
    r->n_listed = r->cap = r->n_chosen = 0;
}

static void round_clear(struct round *r)
{
    forget_list(r);
    fed_claim_clear(&r->claim);
}

const char *fed_round_outcome_text(enum fed_round_outcome o)
{
    static const char *const texts[] = {"ignored", "waiting", "claimed", "over", "averaged"};

    return texts[o];
}

static unsigned needed(const struct fed_aggregator *a)
{
    return a->quorum ? a->quorum : a->workers;
}

static bool may_be_late(const struct fed_aggregator *a)
{
    return needed(a) < a->workers;
}

/* ---- what is there ---- */

static int see(void *context, const struct store_keyed *o, struct err *e)
{
    struct round *r = context;
    char name[FED_ROUND_KEY];
    struct fed_input_key input;

    fed_round_key(r->event.prefix, r->event.round, "mean", name);
    r->has_mean = r->has_mean || strcmp(o->key, name) == 0;
    fed_round_key(r->event.prefix, r->event.round, "done", name);
    r->is_done = r->is_done || strcmp(o->key, name) == 0;
    if (strcmp(o->key, r->claim.key) == 0)
        fed_claim_seen(&r->claim, o);
    if (!fed_round_parse(o->key, &input) || input.round != r->event.round ||
        strcmp(input.prefix, r->event.prefix) != 0)
        return 0;
    if (r->n_listed == LISTED_MAX)
        return err_set(e, ERR_IO, "round %u has more than %zu inputs", r->event.round, LISTED_MAX);
    r->listed = mem_room(r->listed, r->n_listed, &r->cap, sizeof *r->listed);
    r->listed[r->n_listed++] = (struct listed){.key = mem_dup(o->key),
                                               .etag = mem_dup(o->etag),
                                               .size = o->size,
                                               .modified_ms = o->modified_ms,
                                               .input = input};
    return 0;
}

static int by_worker(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;

    if (x->input.worker != y->input.worker)
        return x->input.worker < y->input.worker ? -1 : 1;
    if (x->modified_ms != y->modified_ms)
        return x->modified_ms < y->modified_ms ? -1 : 1;
    return strcmp(x->key, y->key);
}

static int look(struct round *r, struct err *e)
{
    char prefix[FED_ROUND_KEY];

    fed_round_key(r->event.prefix, r->event.round, "", prefix);
    struct store_keyed_list list = {
        .prefix = prefix, .visit = see, .context = r, .tally = r->tally};
    if (store_keyed_list(r->a->store, &list, e) < 0)
        return err_wrap(e, "list round %u", r->event.round);
    r->claim.now_ms = list.now_ms;
    if (r->n_listed)
        qsort(r->listed, r->n_listed, sizeof *r->listed, by_worker);
    r->chosen = mem_zero(r->n_listed + 1, sizeof *r->chosen);
    for (size_t i = 0; i < r->n_listed; i++) {
        unsigned worker = r->listed[i].input.worker;
        bool newest = i + 1 == r->n_listed || r->listed[i + 1].input.worker != worker;
        if (newest && worker < r->a->workers)
            r->chosen[r->n_chosen++] = i;
    }
    return 0;
}

/* ---- when it is over ---- */

static int delete_input(void *context, size_t i, struct err *e)
{
    const struct round *r = context;

    return store_keyed_delete(r->a->store, r->listed[i].key, NULL, e);
}

/* The claim goes last: as long as it is there no other invocation begins. The mean of the round
 * before has been read by all whose inputs are here, which with a quorum need not be all. */
static int clean_up(struct round *r, struct err *e)
{
    struct store *s = r->a->store;
    char key[FED_ROUND_KEY];

    if (r->n_listed == 0 && !r->claim.there)
        return 0;
    r->tally->deletes += r->n_listed;
    if (parallel_each(r->n_listed, DELETES_AT_ONCE, delete_input, r, e) < 0)
        return -1;
    if (r->event.round > 0 && !may_be_late(r->a) && !r->a->keep_means) {
        fed_round_key(r->event.prefix, r->event.round - 1, "mean", key);
        if (store_keyed_delete(s, key, r->tally, e) < 0)
            return -1;
    }
    return r->claim.there ? store_keyed_delete(s, r->claim.key, r->tally, e) : 0;
}

/* ---- the mean ---- */

/* A mean on its way from the average, which writes it in any order, to a store, which wants it in
 * order and with its digest. It lies in a file without a name meanwhile. */
struct mean {
    int fd; /* -1: none yet */
    uint64_t size;
    struct sha256_digest digest; /* of what mean_finish found */
};

static const char mean_name[] = "the mean in the directory for temporary files";

static void mean_clear(struct mean *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
}

/* A mean that does not fit is refused for good: the same event would find no more room. */
static int mean_error(const char *verb, struct err *e)
{
    if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
        return file_error(e, verb, mean_name);
    return err_set(e, ERR_USAGE,
                   "%s %s: %s; give it a larger one (TMPDIR), or make room, and start again", verb,
                   mean_name, strerror(errno));
}

static int begin(void *context, uint64_t size_bytes, struct err *e)
{
    struct mean *m = context;
    const char *dir = getenv("TMPDIR");
    AUTO_MEM char *path = mem_printf("%s/tradewind-mean-XXXXXX", dir && *dir ? dir : "/tmp");

    m->fd = mkostemp(path, O_CLOEXEC);
    if (m->fd < 0)
        return file_error(e, "create", path);
    unlink(path);
    m->size = size_bytes;
    /* A full disk is found out about now, not in the middle. Some file systems cannot tell. */
    errno = size_bytes ? posix_fallocate(m->fd, 0, (off_t)size_bytes) : 0;
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? mean_error("make room for", e)
                                                                : 0;
}

static int write_at(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    const struct mean *m = context;

    return file_pwrite_all(m->fd, bytes, n, offset) < 0 ? mean_error("write", e) : 0;
}

static int read_at(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    const struct mean *m = context;

    errno = 0;
    return file_pread_all(m->fd, bytes, n, offset) == (ssize_t)n ? 0
                                                                 : file_error(e, "read", mean_name);
}

static int mean_finish(struct mean *m, struct err *e)
{
    AUTO_MEM char *chunk = mem_zero(CHUNK, 1);
    AUTO(sha256) struct sha256 *sha = sha256_new();

    for (uint64_t at = 0; at < m->size;) {
        size_t n = m->size - at < CHUNK ? (size_t)(m->size - at) : CHUNK;
        if (read_at(m, at, chunk, n, e) < 0)
            return -1;
        sha256_add(sha, chunk, n);
        at += n;
    }
    m->digest = sha256_take(sha);
    return 0;
}

/* ---- averaging ---- */

struct work {
    struct round *round;
    struct fed_object *objects;
    double *weights;
    bool lost;      /* the claim, to an invocation that took us for dead */
    struct err why; /* the claim cannot be renewed */
};

/* Whether we still hold the claim and may go on. */
static bool hold_on(struct work *w)
{
    struct round *r = w->round;
    int result = w->lost || w->why.kind ? 0 : fed_claim_renew(&r->claim, &w->why);

    w->lost = w->lost || result > 0;
    return !w->lost && !w->why.kind;
}

static bool go_on(void *context, uint64_t done_bytes, uint64_t all_bytes)
{
    (void)done_bytes;
    (void)all_bytes;
    return hold_on(context);
}

static int same_format(const struct round *r, struct err *e)
{
    const struct listed *first = &r->listed[r->chosen[0]];

    for (size_t i = 1; i < r->n_chosen; i++) {
        const struct listed *l = &r->listed[r->chosen[i]];
        if (l->input.format != first->input.format)
            return err_set(e, ERR_USAGE, "%s is of another format than %s", l->key, first->key);
    }
    return 0;
}

/* The mean of packed inputs is packed as they are; of topk it has all numbers that any had. */
static int pack_mean(enum fed_packing kind, struct mean *mean, struct err *e)
{
    AUTO_CLEAR(mean) struct mean packed = {.fd = -1};
    struct fed_source plain = {
        .name = mean_name, .size = mean->size, .read = read_at, .context = mean};
    struct fed_sink sink = {begin, write_at, &packed};

    if (kind == FED_PACKING_NONE)
        return 0;
    if (fed_pack(kind, 0, &plain, &sink, e) < 0)
        return -1;
    mean_clear(mean);
    *mean = packed;
    packed.fd = -1;
    return 0;
}

static int average(struct work *w, struct mean *mean, struct err *e)
{
    struct round *r = w->round;
    AUTO(fed_inputs)
    struct fed_inputs *inputs = fed_inputs_open(r->a->store, w->objects, r->n_chosen, e);
    struct fed_summary summary;

    if (!inputs)
        return -1;
    struct fed_average request = {
        .format = r->listed[r->chosen[0]].input.format,
        .inputs = fed_inputs_sources(inputs),
        .n = r->n_chosen,
        .weights = r->a->weighted ? w->weights : NULL,
        .only_finite = r->a->only_finite,
        .threads = r->a->threads,
        .progress = go_on,
        .context = w,
    };
    struct fed_sink sink = {begin, write_at, mean};
    int result = fed_average(&request, &sink, &summary, e);
    fed_inputs_stop(inputs, r->tally);
    if (result < 0 || pack_mean(summary.packing, mean, e) < 0)
        return -1;
    return mean_finish(mean, e);
}

/* Samples of all inputs, or how many there are: what their mean counts in a mean of means. */
static uint64_t weight_of(const struct round *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->n_chosen; i++) {
        uint64_t samples = r->listed[r->chosen[i]].input.samples;
        sum += r->a->weighted && samples ? samples : 1;
    }
    return sum;
}

/* ---- writing the mean ---- */

static int see_later(void *context, const struct store_keyed *o, struct err *e)
{
    struct fed_input_key *k = context;
    char next[FED_ROUND_KEY], mean[FED_ROUND_KEY];

    (void)e;
    fed_round_key(k->prefix, k->round + 1, "", next);
    fed_round_key(k->prefix, k->round, "mean", mean);
    /* Numbers of rounds are of one length. */
    if (strncmp(o->key, next, strlen(next) - strlen("000000/")) == 0 &&
        (strcmp(o->key, next) > 0 || strcmp(o->key, mean) == 0))
        k->samples = 1;
    return 0;
}

/* Another may have written our mean there before it died; when the place has gone on since, it must
 * not be written again: no invocation would ever delete it. */
static int has_passed(struct round *r, const struct fed_place *place, bool *out, struct err *e)
{
    struct fed_input_key k = {.round = r->event.round};
    AUTO_MEM char *prefix = mem_printf("%s%s", place->prefix, *place->prefix ? "/" : "");

    *out = false;
    if (!r->claim.taken_over)
        return 0;
    memcpy(k.prefix, place->prefix, strnlen(place->prefix, FED_PREFIX_MAX));
    struct store_keyed_list list = {
        .prefix = prefix, .visit = see_later, .context = &k, .tally = r->tally};
    if (store_keyed_list(place->store, &list, e) < 0)
        return -1;
    *out = k.samples;
    return 0;
}

static int put_mean(
    struct round *r, struct mean *mean, struct store *s, const char *key, struct err *e)
{
    const struct store_keyed_put put = {
        .key = key,
        .condition = STORE_ABSENT,
        .n = mean->size,
        .pull = read_at,
        .context = mean,
        .digest = &mean->digest,
        .tally = r->tally,
    };

    int result = store_keyed_put(s, &put, e);
    return result < 0 ? err_wrap(e, "write the mean of round %u", r->event.round) : result;
}

static int up_key(const struct round *r, char out[static FED_ROUND_KEY], struct err *e)
{
    const struct fed_place *up = r->a->up;
    struct fed_input_key k = {
        .round = r->event.round,
        .worker = r->a->up_index,
        .samples = weight_of(r),
        .format = r->event.format,
    };

    memcpy(k.prefix, up->prefix, strnlen(up->prefix, FED_PREFIX_MAX));
    return fed_round_input_key(&k, out, e);
}

static int tell_up(const struct round *r, const char *key, struct err *e)
{
    return r->a->sent_up ? r->a->sent_up(r->a->context, key, e) : 0;
}

static int send_up(struct round *r, struct mean *mean, struct err *e)
{
    char key[FED_ROUND_KEY];
    bool passed;

    if (up_key(r, key, e) < 0 || has_passed(r, r->a->up, &passed, e) < 0)
        return -1;
    if (passed)
        return 0;
    return put_mean(r, mean, r->a->up->store, key, e) < 0 ? -1 : tell_up(r, key, e);
}

static int fan_out(struct round *r, struct mean *mean, struct err *e)
{
    char key[FED_ROUND_KEY];

    for (size_t i = 0; i < r->a->n_fanout; i++) {
        const struct fed_place *place = &r->a->fanout[i];
        bool passed;
        if (has_passed(r, place, &passed, e) < 0)
            return -1;
        fed_round_key(place->prefix, r->event.round, "mean", key);
        if (!passed && put_mean(r, mean, place->store, key, e) < 0)
            return -1;
    }
    return 0;
}

/* 0: written. 1: another was faster. */
static int hand_over(struct round *r, struct mean *mean, struct err *e)
{
    char key[FED_ROUND_KEY];

    if (r->a->up)
        return send_up(r, mean, e);
    if (r->a->n_fanout)
        return fan_out(r, mean, e);
    fed_round_key(r->event.prefix, r->event.round, "mean", key);
    return put_mean(r, mean, r->a->store, key, e);
}

/* ---- one event ---- */

/* Inputs that came while others were averaged met the claim and are not in the list; those to come
 * have to find the round over. */
static int end_round(struct round *r, struct err *e)
{
    char key[FED_ROUND_KEY];
    const struct store_keyed_put empty = {.key = key, .bytes = "", .tally = r->tally};
    bool leaves_mean = !r->a->up && !r->a->n_fanout;

    if (!may_be_late(r->a))
        return clean_up(r, e);
    fed_round_key(r->event.prefix, r->event.round, "done", key);
    if (!leaves_mean && store_keyed_put(r->a->store, &empty, e) < 0)
        return err_wrap(e, "end round %u", r->event.round);
    forget_list(r);
    return look(r, e) < 0 ? -1 : clean_up(r, e);
}

static int average_all(struct round *r, struct fed_round_report *out, struct err *e)
{
    AUTO_CLEAR(mean) struct mean mean = {.fd = -1};
    AUTO_MEM struct fed_object *objects = mem_zero(r->n_chosen, sizeof *objects);
    AUTO_MEM double *weights = mem_zero(r->n_chosen, sizeof *weights);
    struct work w = {.round = r, .objects = objects, .weights = weights};
    struct err why = {0};

    for (size_t i = 0; i < r->n_chosen; i++) {
        const struct listed *l = &r->listed[r->chosen[i]];
        objects[i] = (struct fed_object){l->key, l->size, l->etag};
        weights[i] = l->input.samples ? (double)l->input.samples : 1;
    }
    int result = same_format(r, &why) < 0 ? -1 : average(&w, &mean, &why);
    /* After a long while another may have written the mean already. */
    bool held = hold_on(&w);
    if (w.lost) {
        out->outcome = FED_ROUND_CLAIMED;
        return 0;
    }
    if (!held) {
        why = w.why;
        result = -1;
    }
    /* Inputs are deleted when a mean has been written, and not before. */
    if (result < 0 && why.kind == ERR_NOTFOUND) {
        out->outcome = FED_ROUND_OVER;
        return clean_up(r, e);
    }
    if (result == 0)
        result = hand_over(r, &mean, &why);
    if (result < 0) {
        fed_claim_drop(&r->claim);
        if (e)
            *e = why;
        return -1;
    }
    out->outcome = result ? FED_ROUND_OVER : FED_ROUND_AVERAGED;
    out->bytes = mean.size;
    return end_round(r, e);
}

/* The mean is there, or was handed on: only then inputs are deleted. Of regions the mean comes back
 * from above, perhaps from one that died before it had deleted what we told it of: it is told
 * again, unless an invocation may live that is about to end the round here. */
static int finish(struct round *r, struct fed_round_report *out, struct err *e)
{
    char key[FED_ROUND_KEY];

    out->outcome = FED_ROUND_OVER;
    if (r->a->up && !r->is_done && r->n_chosen >= needed(r->a)) {
        if (r->claim.there && !fed_claim_is_stale(&r->claim)) {
            out->outcome = FED_ROUND_CLAIMED;
            return fed_claim_meet(&r->claim, e);
        }
        if (up_key(r, key, e) < 0 || tell_up(r, key, e) < 0)
            return -1;
    }
    return clean_up(r, e);
}

static int handle(struct round *r, struct fed_round_report *out, struct err *e)
{
    if (look(r, e) < 0)
        return -1;
    out->inputs = (unsigned)r->n_chosen;
    bool complete = r->n_chosen >= needed(r->a);
    /* Who claims has seen all inputs: when some are gone, it died while it deleted them. What was
     * claimed just now says nothing: lists are not made in one moment. */
    if (r->has_mean || r->is_done || (!complete && fed_claim_is_stale(&r->claim)))
        return finish(r, out, e);
    out->outcome = FED_ROUND_WAITING;
    if (!complete && !r->claim.there)
        return 0;
    int taken = fed_claim_take(&r->claim, e);
    if (taken < 0)
        return -1;
    if (taken == 0) {
        out->outcome = FED_ROUND_CLAIMED;
        return 0;
    }
    return average_all(r, out, e);
}

int fed_round_event(const struct fed_aggregator *a,
                    const char *key,
                    struct fed_round_report *out,
                    struct err *e)
{
    AUTO_CLEAR(round) struct round r = {.a = a, .tally = &out->tally};

    *out = (struct fed_round_report){.outcome = FED_ROUND_IGNORED};
    if (!fed_round_parse(key, &r.event))
        return 0;
    out->round = r.event.round;
    out->worker = r.event.worker;
    if (r.event.worker >= a->workers)
        return err_set(e, ERR_USAGE, "%s: there are %u workers, from 0", key, a->workers);
    r.claim = (struct fed_claim){
        .store = a->store,
        .tally = &out->tally,
        .worker = r.event.worker,
        .lease_s = a->lease_s > 0 ? a->lease_s : FED_LEASE_S,
    };
    fed_round_key(r.event.prefix, r.event.round, "claim", r.claim.key);
    int result = handle(&r, out, e);
    return result < 0 ? err_wrap(e, "round %u", r.event.round) : 0;
}
