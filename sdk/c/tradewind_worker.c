#include "tradewind_worker.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/parallel.h"
#include "base/time.h"
#include "fed/event.h"
#include "fed/formats.h"
#include "fed/packing.h"
#include "fed/round.h"
#include "net/http.h"
#include "store/keyed.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MEAN_MAX ((size_t)8 << 30)
#define CONNECTIONS_MAX 64
#define TELL_AGAIN_S 0.4
#define FIRST_WAIT_S 0.1
#define MAX_WAIT_S 3.0
/* Events that no aggregator took, of rounds that are over; more than aggregators can have died of
 * at once.
 */
#define UNTOLD_MAX 8

struct tradewind_worker {
    struct store *store, *mean_store; /* the latter NULL: the same */
    char *event_url, *event_token, *event_log;
    struct http *http; /* for events */
    unsigned worker, workers;
    double poll_s, retry_s;
    unsigned connections;
    uint64_t about; /* bytes of a mean; 0 = not known yet */
    struct tradewind_counts counts;
    struct store_tally tally;
    bool pushed;     /* since it was opened */
    unsigned rounds; /* that are over: whose means were pulled */
    struct buf mean; /* found before it was asked for */
    bool has_mean;
    char *untold[UNTOLD_MAX]; /* keys whose events no aggregator took yet, the last one first */
    double next_tell_s;
    enum fed_packing packing;
    double share;
    char *checkpoint;
    float *rest; /* what was left out so far, of all tensors */
    float *next; /* and with the push that is under way */
    size_t n_rest;
};

/* ---- settings ---- */

static const char *choose(const char *given, const char *name)
{
    const char *value = given ? given : getenv(name);

    return value && *value ? value : NULL;
}

static int choose_number(
    double given, const char *name, double otherwise, double *out, struct err *e)
{
    const char *text = getenv(name);

    *out = given;
    if (given > 0)
        return 0;
    *out = otherwise;
    if (text && *text && (!number_parse(text, out) || !(*out >= 0 && *out <= 1e9)))
        return err_set(e, ERR_USAGE, "%s=%.60s: write a number", name, text);
    return 0;
}

static struct store *open_store(
    const char *name, const char *url, const char *endpoint, const char *region, struct err *e)
{
    struct store *s = store_open(&(struct store_settings){.url = url,
                                                          .endpoint = endpoint,
                                                          .region = region,
                                                          .path_style = -1,
                                                          .seed = (uint64_t)getpid()},
                                 e);

    if (!s)
        err_wrap(e, "%s", name);
    return s;
}

static char *own(const char *text)
{
    return text ? mem_dup(text) : NULL;
}

static int open_stores(struct tradewind_worker *w,
                       const struct tradewind_worker_settings *s,
                       struct err *e)
{
    const char *url = choose(s->store, "TRADEWIND_STORE");
    const char *mean = choose(s->mean_store, "TRADEWIND_MEAN_STORE");

    if (!url)
        return err_set(e, ERR_USAGE,
                       "TRADEWIND_STORE is not set: write s3://BUCKET/PREFIX or dir:/PATH");
    w->store = open_store("TRADEWIND_STORE", url, choose(s->endpoint, "TRADEWIND_STORE_ENDPOINT"),
                          choose(s->region, "TRADEWIND_STORE_REGION"), e);
    if (!w->store)
        return -1;
    if (mean)
        w->mean_store = open_store("TRADEWIND_MEAN_STORE", mean,
                                   choose(s->mean_endpoint, "TRADEWIND_MEAN_ENDPOINT"),
                                   choose(s->mean_region, "TRADEWIND_MEAN_REGION"), e);
    return mean && !w->mean_store ? -1 : 0;
}

static int read_numbers(struct tradewind_worker *w,
                        const struct tradewind_worker_settings *s,
                        struct err *e)
{
    double worker = 0, workers = 0, connections = 0;

    if (choose_number(s->worker > 0 ? s->worker : 0, s->worker < 0 ? "TRADEWIND_WORKER" : "", -1,
                      &worker, e) < 0 ||
        choose_number(s->workers, "TRADEWIND_WORKERS", 0, &workers, e) < 0 ||
        choose_number(s->connections, "TRADEWIND_CONNECTIONS", 1, &connections, e) < 0 ||
        choose_number(s->poll_s, "TRADEWIND_POLL_S", 0.1, &w->poll_s, e) < 0 ||
        choose_number(s->patience_s, "TRADEWIND_PATIENCE_S", 60, &w->retry_s, e) < 0)
        return -1;
    if (s->worker == 0)
        worker = 0;
    if (worker < 0 || worker != floor(worker) || workers != floor(workers) || worker >= workers ||
        workers > FED_WORKERS_MAX)
        return err_set(e, ERR_USAGE,
                       "TRADEWIND_WORKER and TRADEWIND_WORKERS: write the worker's number, from 0, "
                       "and how many there are");
    if (!(connections >= 1 && connections <= CONNECTIONS_MAX))
        return err_set(e, ERR_USAGE, "TRADEWIND_CONNECTIONS: write a number from 1 to %d",
                       CONNECTIONS_MAX);
    w->connections = (unsigned)connections;
    w->worker = (unsigned)worker;
    w->workers = (unsigned)workers;
    return 0;
}

static int set_up(struct tradewind_worker *w,
                  const struct tradewind_worker_settings *s,
                  struct err *e)
{
    if (read_numbers(w, s, e) < 0 || open_stores(w, s, e) < 0)
        return -1;
    w->event_url = own(choose(s->event_url, "TRADEWIND_EVENT_URL"));
    w->event_token = own(choose(NULL, "TRADEWIND_EVENT_TOKEN"));
    w->event_log = own(choose(s->event_log, "TRADEWIND_EVENT_LOG"));
    w->checkpoint = own(choose(s->checkpoint, "TRADEWIND_CHECKPOINT"));
    buf_init(&w->mean, MEAN_MAX);
    const char *compression = choose(s->compression, "TRADEWIND_COMPRESSION");
    if (compression && fed_packing_parse(compression, &w->packing, &w->share, e) < 0)
        return err_wrap(e, "TRADEWIND_COMPRESSION");
    if (w->event_url && !(w->http = http_new((uint64_t)getpid(), e)))
        return -1;
    return 0;
}

static int tell_why(const struct err *e, char *why)
{
    if (why)
        snprintf(why, TRADEWIND_WHY, "%s", e->text);
    return -1;
}

struct tradewind_worker *tradewind_worker_open(const struct tradewind_worker_settings *settings,
                                               char *why)
{
    const struct tradewind_worker_settings none = {.worker = -1};
    struct tradewind_worker *w = mem_zero(1, sizeof *w);
    struct err e = {0};

    if (set_up(w, settings ? settings : &none, &e) == 0)
        return w;
    tell_why(&e, why);
    tradewind_worker_close(w);
    return NULL;
}

struct tradewind_counts tradewind_worker_counts(const struct tradewind_worker *w)
{
    return w->counts;
}

static void log_event(const struct tradewind_worker *w,
                      const char *kind,
                      unsigned round,
                      size_t bytes,
                      uint64_t requests,
                      int64_t start_ms)
{
    if (!w->event_log)
        return;
    AUTO_MEM char *line = mem_printf("{\"kind\": \"%s\", \"who\": \"worker-%04u\", \"round\": %u, "
                                     "\"bytes\": %zu, \"requests\": %llu, \"start\": %.3f, "
                                     "\"end\": %.3f}\n",
                                     kind, w->worker, round, bytes, (unsigned long long)requests,
                                     (double)start_ms / 1e3, (double)time_epoch_ms() / 1e3);
    int fd = open(w->event_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    /* A log that cannot be written does not stop the training. */
    (void)!file_write_all(fd, line, strlen(line));
    close(fd);
}

/* ---- retries ---- */

static void sleep_s(double s)
{
    struct timespec left = {(time_t)s, (long)((s - floor(s)) * 1e9)};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

struct retry {
    double limit_s, wait_s;
    double until_s; /* 0 = no error yet */
};

static struct retry retry_of(const struct tradewind_worker *w)
{
    return (struct retry){.limit_s = w->retry_s, .wait_s = FIRST_WAIT_S};
}

/* Whether to retry after this error; waits until it is time. The limit counts from the first error:
 * a request that took as long itself is retried once. */
static bool once_more(struct retry *r, const struct err *e)
{
    double now_s = time_monotonic_s();

    if (r->until_s == 0)
        r->until_s = now_s + r->limit_s;
    if (e->kind != ERR_RETRY || now_s + r->wait_s > r->until_s)
        return false;
    sleep_s(r->wait_s);
    r->wait_s = fmin(2 * r->wait_s, MAX_WAIT_S);
    return true;
}

/* ---- tensors as a safetensors file ---- */

static int check_tensor(const struct tradewind_tensor *t, struct err *e)
{
    size_t count = 1;

    for (size_t i = 0; t->dims && i < t->rank; i++)
        if (__builtin_mul_overflow(count, t->dims[i], &count))
            count = SIZE_MAX;
    if (!t->name || !*t->name || (t->dims && count != t->count))
        return err_set(e, ERR_USAGE,
                       "tensor \"%.60s\": it needs a name, and as many values as its "
                       "dimensions say",
                       t->name ? t->name : "");
    return 0;
}

/* Little-endian, as all machines this runs on are; the format is. */
static int write_tensors(struct buf *b,
                         const struct tradewind_tensor *tensors,
                         size_t n,
                         struct err *e)
{
    AUTO_JSON json_t *root = json_object();
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const struct tradewind_tensor *t = &tensors[i];
        if (check_tensor(t, e) < 0)
            return -1;
        struct fed_tensor as = {.name = t->name,
                                .dtype = FED_F32,
                                .rank = t->dims ? t->rank : 1,
                                .dims = t->dims ? t->dims : &t->count,
                                .offset = at,
                                .bytes = t->count * sizeof *t->values};
        fed_safetensors_add(root, &as);
        at += as.bytes;
    }
    if (fed_safetensors_header(root, b, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        buf_add(b, tensors[i].values, tensors[i].count * sizeof *tensors[i].values);
    return b->full ? err_set(e, ERR_USAGE, "the tensors are too large") : 0;
}

/* The file as it is, or what it stands for; *out keeps that. */
static const struct fed_source *unpack(const struct fed_source *stored,
                                       struct fed_unpacked **out,
                                       struct err *e)
{
    AUTO(fed_file) struct fed_file *f = fed_file_read(FED_SAFETENSORS, stored, e);

    if (!f || !f->packing)
        return f ? stored : NULL;
    *out = fed_unpack(f, stored, e);
    return *out ? fed_unpacked_source(*out) : NULL;
}

static int read_tensors(const struct buf *b,
                        const struct tradewind_tensor *tensors,
                        size_t n,
                        struct err *e)
{
    struct fed_source stored = fed_source_of_memory("the mean", b->data, b->len);
    AUTO(fed_unpacked) struct fed_unpacked *unpacked = NULL;
    const struct fed_source *source = unpack(&stored, &unpacked, e);
    AUTO(fed_file)
    struct fed_file *f = source ? fed_file_read(FED_SAFETENSORS, source, e) : NULL;

    if (!f)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct tradewind_tensor *t = &tensors[i];
        size_t k = 0;
        while (k < f->n && strcmp(f->tensors[k].name, t->name) != 0)
            k++;
        if (k == f->n || f->tensors[k].dtype != FED_F32 ||
            f->tensors[k].bytes != t->count * sizeof *t->values)
            return err_set(e, ERR_USAGE, "the mean has no tensor \"%.60s\" of %zu F32", t->name,
                           t->count);
        if (source->read(source->context, f->tensors[k].offset, t->values,
                         t->count * sizeof *t->values, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- compression ---- */

static char *rest_path(const struct tradewind_worker *w, unsigned round)
{
    return mem_printf("%s/tradewind-rest-%06u.f32", w->checkpoint, round);
}

/* What was left out before this round: of the push before, or, for one that was killed, in the file
 * that the push before wrote. */
static void find_rest(struct tradewind_worker *w, unsigned round, size_t n)
{
    bool first = !w->rest;

    if (first || w->n_rest != n) {
        free(w->rest);
        free(w->next);
        w->rest = mem_zero(n + 1, sizeof *w->rest);
        w->next = mem_zero(n + 1, sizeof *w->next);
        w->n_rest = n;
    }
    if (!first || !w->checkpoint)
        return;
    AUTO_MEM char *path = rest_path(w, round);
    FILE *f = fopen(path, "rbe");
    if (!f)
        return;
    if (fread(w->rest, sizeof *w->rest, n, f) != n || fgetc(f) != EOF)
        memset(w->rest, 0, n * sizeof *w->rest);
    fclose(f);
}

/* The push is done. The file is for who is killed later and begins with the next round; that of
 * this round stays for who begins with it once more. */
static int keep_rest(struct tradewind_worker *w, unsigned round, struct err *e)
{
    float *rest = w->next;

    if (w->packing == FED_PACKING_NONE)
        return 0;
    w->next = w->rest;
    w->rest = rest;
    if (!w->checkpoint)
        return 0;
    AUTO_MEM char *path = rest_path(w, round + 1);
    if (file_replace(path, w->rest, w->n_rest * sizeof *w->rest, 0666, e) < 0)
        return -1;
    if (round > 0) {
        AUTO_MEM char *old = rest_path(w, round - 1);
        unlink(old);
    }
    return 0;
}

static int sink_begin(void *context, uint64_t size_bytes, struct err *e)
{
    (void)context;
    (void)size_bytes;
    (void)e;
    return 0;
}

static int sink_write(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    (void)offset; /* it comes in order */
    return buf_add(context, bytes, n) < 0 ? err_set(e, ERR_USAGE, "the tensors are too large") : 0;
}

/* The data of a file are its end, in the same order before it was packed and after. */
static int subtract(float *rest, size_t n, const struct fed_source *sent, struct err *e)
{
    float block[1024];
    uint64_t at = sent->size - n * sizeof *rest;

    for (size_t i = 0; i < n; i += sizeof block / sizeof *block) {
        size_t some = n - i < sizeof block / sizeof *block ? n - i : sizeof block / sizeof *block;
        if (sent->read(sent->context, at + i * sizeof *rest, block, some * sizeof *rest, e) < 0)
            return -1;
        for (size_t k = 0; k < some; k++) {
            rest[i + k] -= block[k];
            /* What is not finite was told, and would never end. */
            rest[i + k] = isfinite(rest[i + k]) ? rest[i + k] : 0;
        }
    }
    return 0;
}

/* Packs what is in b, of n numbers, with what was left out before. */
static int pack(struct tradewind_worker *w, unsigned round, struct buf *b, size_t n, struct err *e)
{
    AUTO_CLEAR(buf) struct buf packed = {0};
    AUTO(fed_unpacked) struct fed_unpacked *unpacked = NULL;
    const struct fed_sink sink = {sink_begin, sink_write, &packed};
    char *data = b->data + b->len - n * sizeof *w->rest;

    find_rest(w, round, n);
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, data + i * sizeof x, sizeof x);
        w->next[i] = w->rest[i] + x;
    }
    memcpy(data, w->next, n * sizeof *w->next);
    buf_init(&packed, MEAN_MAX);
    struct fed_source plain = fed_source_of_memory("the gradients", b->data, b->len);
    if (fed_pack(w->packing, w->share, &plain, &sink, e) < 0)
        return -1;
    struct fed_source stored = fed_source_of_memory("the gradients", packed.data, packed.len);
    const struct fed_source *sent = unpack(&stored, &unpacked, e);
    if (!sent || subtract(w->next, n, sent, e) < 0)
        return -1;
    buf_clear(b);
    *b = packed;
    packed = (struct buf){0};
    return 0;
}

/* ---- the mean ---- */

static int collect(void *context, const void *bytes, size_t n, struct err *e)
{
    return buf_add(context, bytes, n) < 0 ? err_set(e, ERR_IO, "the mean is too large") : 0;
}

/* The mean in ranges, over a connection each; the first says whether it is there. */
struct ranges {
    struct store *store;
    const char *key;
    uint64_t each;
    size_t n;
    struct buf *bytes; /* of each range */
};

static int get_range(void *context, size_t i, struct err *e)
{
    const struct ranges *r = context;
    struct store_keyed_get get = {.key = r->key,
                                  .offset = r->each * i,
                                  .length = i + 1 < r->n ? r->each : 0,
                                  .sink = collect,
                                  .context = &r->bytes[i]};

    buf_clear(&r->bytes[i]);
    buf_init(&r->bytes[i], MEAN_MAX);
    return store_keyed_get(r->store, &get, e);
}

static int get_later_range(void *context, size_t i, struct err *e)
{
    return get_range(context, i + 1, e);
}

static int get_mean(struct tradewind_worker *w, const char *key, size_t n, struct err *e)
{
    struct store *from = w->mean_store ? w->mean_store : w->store;
    AUTO_MEM struct buf *bytes = mem_zero(n, sizeof *bytes);
    struct ranges r = {from, key, w->about / n, n, bytes};

    int result = get_range(&r, 0, e);
    if (result == 0 && n > 1)
        result = parallel_each(n - 1, (unsigned)n - 1, get_later_range, &r, e);
    buf_clear(&w->mean);
    buf_init(&w->mean, MEAN_MAX);
    for (size_t i = 0; i < n; i++) {
        if (result == 0)
            result = collect(&w->mean, bytes[i].data, bytes[i].len, e);
        buf_clear(&bytes[i]);
    }
    return result;
}

/* 1: it is there, and kept until it is asked for. 0: not yet. */
static int look(struct tradewind_worker *w, unsigned round, struct err *e)
{
    struct retry retry = retry_of(w);
    int64_t start_ms = time_epoch_ms();
    struct err why = {0};
    char key[FED_ROUND_KEY];

    fed_round_key("", round, "mean", key);
    /* A directory has no connections. */
    size_t n = *store_bucket(w->store) ? store_keyed_parts(w->about, w->connections) : 1;
    do {
        if (get_mean(w, key, n, &why) == 0) {
            w->has_mean = true;
            w->about = w->mean.len;
            w->counts.reads += n;
            w->counts.got_bytes += w->mean.len;
            log_event(w, "get", round, w->mean.len, n, start_ms);
            return 1;
        }
        if (why.kind == ERR_NOTFOUND) {
            w->counts.polls++;
            log_event(w, "poll", round, 0, 1, start_ms);
            return 0;
        }
    } while (once_more(&retry, &why));
    *e = why;
    return -1;
}

/* ---- events, where the store sends none ---- */

/* 1: taken, or of a round that is over and refused: nothing would change. 0: not, and *answers
 * tells whether that was said. */
static int is_taken(
    struct tradewind_worker *w, const char *key, unsigned round, bool *answers, struct err *e)
{
    struct err why = {0};
    struct fed_input_key k = {0};
    int64_t start_ms = time_epoch_ms();

    const struct fed_notice notice = {w->event_url, w->event_token, store_bucket(w->store), key};
    int result = fed_notify(w->http, &notice, answers, &why);
    log_event(w, "event", round, 0, 1, start_ms);
    if (result == 0)
        return 1;
    if (why.kind != ERR_USAGE && why.kind != ERR_DENIED)
        return 0;
    if (fed_round_parse(key, &k) && k.round != round)
        return 1;
    *e = why;
    return -1;
}

/* Of the last push, and of those before. What fails is tried again while the mean is waited for,
 * and in later rounds: the aggregator may be busy, or dead, and one that died with the mean written
 * has to delete what it had read. */
static int tell(struct tradewind_worker *w, unsigned round, struct err *e)
{
    size_t left = 0;
    bool answers = true;
    int result = 0;

    if (!w->untold[0] || !w->http || time_monotonic_s() < w->next_tell_s)
        return 0;
    for (size_t i = 0; i < UNTOLD_MAX && w->untold[i]; i++) {
        char *key = w->untold[i];
        /* Each would wait as long for one that does not answer. */
        int taken = result < 0 || !answers ? 0 : is_taken(w, key, round, &answers, e);
        w->untold[i] = NULL;
        if (taken > 0)
            free(key);
        else
            w->untold[left++] = key;
        result = taken < 0 ? -1 : result;
    }
    w->next_tell_s = time_monotonic_s() + TELL_AGAIN_S;
    return result;
}

static void add_untold(struct tradewind_worker *w, const char *key)
{
    free(w->untold[UNTOLD_MAX - 1]);
    memmove(w->untold + 1, w->untold, (UNTOLD_MAX - 1) * sizeof *w->untold);
    const char *prefix = store_prefix(w->store);
    w->untold[0] = mem_printf("%s%s%s", prefix, *prefix ? "/" : "", key);
    w->next_tell_s = 0;
}

/* A round that has no mean yet is ended by the worker that goes on with it. */
static void forget_unended(struct tradewind_worker *w)
{
    struct fed_input_key k;

    while (w->untold[0] && (!fed_round_parse(w->untold[0], &k) || k.round >= w->rounds)) {
        free(w->untold[0]);
        memmove(w->untold, w->untold + 1, (UNTOLD_MAX - 1) * sizeof *w->untold);
        w->untold[UNTOLD_MAX - 1] = NULL;
    }
}

/* Events that no aggregator took yet, of rounds whose mean is there: until an aggregator that died
 * has lost its claim. */
static void tell_rest(struct tradewind_worker *w)
{
    double until_s = time_monotonic_s() + w->retry_s + FED_LEASE_S;
    struct err why;

    forget_unended(w);
    while (w->http && w->untold[0] && time_monotonic_s() < until_s) {
        if (tell(w, w->rounds, &why) < 0)
            return;
        if (w->untold[0])
            sleep_s(FIRST_WAIT_S);
    }
}

void tradewind_worker_close(struct tradewind_worker *w)
{
    if (!w)
        return;
    tell_rest(w);
    for (size_t i = 0; i < UNTOLD_MAX; i++)
        free(w->untold[i]);
    store_free(w->store);
    store_free(w->mean_store);
    http_free(w->http);
    buf_clear(&w->mean);
    free(w->event_url);
    free(w->event_token);
    free(w->event_log);
    free(w->checkpoint);
    free(w->rest);
    free(w->next);
    free(w);
}

/* ---- the two calls ---- */

static int put(struct tradewind_worker *w, const char *key, const struct buf *b, struct err *e)
{
    struct retry retry = retry_of(w);
    struct store_keyed_put request = {.key = key,
                                      .bytes = b->data,
                                      .n = b->len,
                                      .connections = w->connections,
                                      .tally = &w->tally};
    struct err why = {0};

    do {
        int result = store_keyed_put(w->store, &request, &why);
        w->counts.writes = w->tally.writes;
        if (result == 0) {
            w->counts.sent_bytes += b->len;
            return 0;
        }
    } while (once_more(&retry, &why));
    *e = why;
    return -1;
}

static int push(struct tradewind_worker *w,
                unsigned round,
                const struct tradewind_tensor *tensors,
                size_t n,
                uint64_t samples,
                struct err *e)
{
    struct fed_input_key k = {
        .round = round, .worker = w->worker, .samples = samples, .format = FED_SAFETENSORS};
    AUTO_CLEAR(buf) struct buf b = {0};
    char key[FED_ROUND_KEY];
    size_t numbers = 0;

    buf_init(&b, MEAN_MAX);
    if (fed_round_input_key(&k, key, e) < 0 || write_tensors(&b, tensors, n, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        numbers += tensors[i].count;
    if (w->packing != FED_PACKING_NONE && pack(w, round, &b, numbers, e) < 0)
        return -1;
    /* One that was killed may have pushed already, and the others have gone on. */
    bool first = !w->pushed;
    w->pushed = true;
    int there = first && round > 0 ? look(w, round, e) : 0;
    if (there < 0)
        return -1;
    if (there) {
        /* Its event may have been taken, or not. */
        add_untold(w, key);
        return keep_rest(w, round, e) < 0 ? -1 : tell(w, round, e);
    }
    int64_t start_ms = time_epoch_ms();
    uint64_t writes = w->tally.writes;
    if (put(w, key, &b, e) < 0 || keep_rest(w, round, e) < 0)
        return -1;
    w->about = w->about ? w->about : b.len;
    log_event(w, "put", round, b.len, w->tally.writes - writes, start_ms);
    add_untold(w, key);
    return tell(w, round, e);
}

int tradewind_push(struct tradewind_worker *w,
                   unsigned round,
                   const struct tradewind_tensor *tensors,
                   size_t n,
                   uint64_t samples,
                   char *why)
{
    struct err e = {0};

    if (push(w, round, tensors, n, samples, &e) == 0)
        return 0;
    err_wrap(&e, "push round %u", round);
    return tell_why(&e, why);
}

static int pull(struct tradewind_worker *w, unsigned round, double timeout_s, struct err *e)
{
    double until_s = timeout_s > 0 ? time_monotonic_s() + timeout_s : HUGE_VAL;

    while (!w->has_mean) {
        if (tell(w, round, e) < 0)
            return -1;
        int there = look(w, round, e);
        if (there != 0)
            return there < 0 ? -1 : 0;
        if (time_monotonic_s() >= until_s) {
            err_set(e, ERR_RETRY, "no mean after %g s", timeout_s);
            return 1;
        }
        sleep_s(w->poll_s);
    }
    return 0;
}

int tradewind_pull(struct tradewind_worker *w,
                   unsigned round,
                   const struct tradewind_tensor *tensors,
                   size_t n,
                   double timeout_s,
                   char *why)
{
    struct err e = {0};
    int result = pull(w, round, timeout_s, &e);

    if (result == 0) {
        result = read_tensors(&w->mean, tensors, n, &e);
        buf_clear(&w->mean);
        w->has_mean = false;
        w->rounds = round + 1;
    }
    if (result == 0)
        return 0;
    err_wrap(&e, "pull round %u", round);
    tell_why(&e, why);
    return result;
}
