/* A worker of a geo-distributed training: softmax regression on images of 28 x 28 pixels, one
 * mini-batch per round, gradients or models averaged over all workers.
 *
 *     train --images FILE --labels FILE [--images FILE --labels FILE ...] [--rounds 10] [--batch
 * 16]
 *           [--rate 0.05] [--mode gradient|model] [--state FILE] [--out FILE] [--sleep SECONDS]
 * [--alone]
 *
 * Files are idx files, as data sets of images come, gzip-ed or not; variables set the rest
 * (tradewind_worker.h). With --state the model is saved before each push, and a worker that was
 * killed continues from there. --alone trains without others, on one mini-batch per pair of files
 * and round: the result of workers with these files. Everything is computed in double; workers
 * exchange floats. train.py does the same, number for number but for rounding. */
#include "tradewind_worker.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum {
    PIXELS = 28 * 28,
    CLASSES = 10,
    WEIGHTS = PIXELS * CLASSES,
    NUMBERS = WEIGHTS + CLASSES,
    SHARDS_MAX = 64
};

struct shard {
    unsigned count;
    unsigned char *pixels, *labels;
};

struct options {
    const char *images[SHARDS_MAX], *labels[SHARDS_MAX];
    unsigned n_images, n_labels;
    unsigned rounds, batch;
    double rate, sleep_s;
    int share_model, alone;
    const char *state, *out;
};

/* Weights class by class, then a bias for each class. */
struct model {
    unsigned round; /* the next */
    double numbers[NUMBERS];
};

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
    va_list ap;

    fputs("train: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(2);
}

/* ---- data ---- */

/* The content of an idx file of bytes with this many dimensions; *count_out is the first of them.
 */
static unsigned char *read_idx(const char *path, unsigned dims, size_t each, unsigned *count_out)
{
    unsigned char head[16];
    gzFile f = gzopen(path, "rb");

    if (!f || gzread(f, head, 4 + 4 * dims) != (int)(4 + 4 * dims) || head[2] != 8 ||
        head[3] != dims)
        fail("%s is no idx file of bytes", path);
    *count_out =
        (unsigned)head[4] << 24 | (unsigned)head[5] << 16 | (unsigned)head[6] << 8 | head[7];
    if (*count_out == 0 || *count_out > 1000000)
        fail("%s: %u images", path, *count_out);
    unsigned char *bytes = malloc(*count_out * each);
    if (!bytes || gzread(f, bytes, (unsigned)(*count_out * each)) != (int)(*count_out * each))
        fail("%s is cut", path);
    gzclose(f);
    return bytes;
}

static struct shard read_shard(const char *images, const char *labels)
{
    struct shard s;
    unsigned n;

    s.pixels = read_idx(images, 3, PIXELS, &s.count);
    s.labels = read_idx(labels, 1, 1, &n);
    if (n != s.count)
        fail("%s has %u images, %s %u labels", images, s.count, labels, n);
    return s;
}

/* ---- one mini-batch ---- */

/* Adds the gradients of one image to g; its loss. */
static double add_image(const struct model *m,
                        const unsigned char *pixels,
                        unsigned label,
                        double *g)
{
    double scores[CLASSES], most = -HUGE_VAL, sum = 0;

    for (int c = 0; c < CLASSES; c++) {
        scores[c] = m->numbers[WEIGHTS + c];
        for (int i = 0; i < PIXELS; i++)
            scores[c] += m->numbers[c * PIXELS + i] * (pixels[i] / 255.0);
        most = scores[c] > most ? scores[c] : most;
    }
    for (int c = 0; c < CLASSES; c++)
        sum += exp(scores[c] - most);
    for (int c = 0; c < CLASSES; c++) {
        double error = exp(scores[c] - most) / sum - ((unsigned)c == label);
        g[WEIGHTS + c] += error;
        for (int i = 0; i < PIXELS; i++)
            g[c * PIXELS + i] += error * (pixels[i] / 255.0);
    }
    return log(sum) + most - scores[label];
}

/* The mean gradients of the round's mini-batch of each shard; the mean loss. */
static double gradients(
    const struct model *m, const struct shard *shards, unsigned n_shards, unsigned batch, double *g)
{
    double loss = 0;

    memset(g, 0, NUMBERS * sizeof *g);
    for (unsigned k = 0; k < n_shards; k++)
        for (unsigned i = 0; i < batch; i++) {
            unsigned at = (m->round * batch + i) % shards[k].count;
            loss += add_image(m, shards[k].pixels + (size_t)at * PIXELS, shards[k].labels[at], g);
        }
    for (int i = 0; i < NUMBERS; i++)
        g[i] /= n_shards * batch;
    return loss / (n_shards * batch);
}

static double accuracy(const struct model *m, const struct shard *shards, unsigned n_shards)
{
    unsigned right = 0, all = 0;

    for (unsigned k = 0; k < n_shards; k++)
        for (unsigned at = 0; at < shards[k].count; at++, all++) {
            unsigned best = 0;
            double best_score = -HUGE_VAL;
            for (unsigned c = 0; c < CLASSES; c++) {
                double score = m->numbers[WEIGHTS + c];
                for (size_t i = 0; i < PIXELS; i++)
                    score += m->numbers[(size_t)c * PIXELS + i] *
                             (shards[k].pixels[at * (size_t)PIXELS + i] / 255.0);
                if (score > best_score) {
                    best = c;
                    best_score = score;
                }
            }
            right += best == shards[k].labels[at];
        }
    return (double)right / all;
}

/* ---- files ---- */

/* Written beside it, synced and renamed: a worker may be killed at any time. */
static void save(const char *path, const void *bytes, size_t n)
{
    char beside[4096];

    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *f = fopen(beside, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fflush(f) != 0 || fsync(fileno(f)) != 0 ||
        fclose(f) != 0 || rename(beside, path) != 0)
        fail("cannot write %s", path);
}

static void load(const char *path, struct model *m)
{
    FILE *f = fopen(path, "rb");

    if (!f)
        return;
    if (fread(m, sizeof *m, 1, f) != 1)
        fail("%s is no state of train", path);
    fclose(f);
}

static void save_model(const char *path, const struct model *m)
{
    float out[NUMBERS];

    for (int i = 0; i < NUMBERS; i++)
        out[i] = (float)m->numbers[i];
    save(path, out, sizeof out);
}

/* ---- training ---- */

static void step(struct model *m, const double *g, double rate)
{
    for (int i = 0; i < NUMBERS; i++)
        m->numbers[i] -= rate * g[i];
}

/* Hands over the gradients, or the model after a step of its own, and goes on with the mean. */
static void exchange(struct tradewind_worker *w,
                     struct model *m,
                     double *g,
                     const struct options *o)
{
    static float values[NUMBERS];
    const struct tradewind_tensor tensors[] = {
        {.name = "weight", .values = values, .count = WEIGHTS},
        {.name = "bias", .values = values + WEIGHTS, .count = CLASSES},
    };
    char why[TRADEWIND_WHY];

    for (int i = 0; i < NUMBERS; i++)
        values[i] = (float)(o->share_model ? m->numbers[i] - o->rate * g[i] : g[i]);
    if (tradewind_push(w, m->round, tensors, 2, o->batch, why) != 0 ||
        tradewind_pull(w, m->round, tensors, 2, 600, why) != 0)
        fail("%s", why);
    for (int i = 0; i < NUMBERS; i++) {
        g[i] = (double)values[i];
        if (o->share_model)
            m->numbers[i] = (double)values[i];
    }
    if (!o->share_model)
        step(m, g, o->rate);
}

static void train(struct model *m, const struct shard *shards, const struct options *o)
{
    double *g = calloc(NUMBERS, sizeof *g);
    char why[TRADEWIND_WHY];
    struct tradewind_worker *w = o->alone ? NULL : tradewind_worker_open(NULL, why);

    if (!w && !o->alone)
        fail("%s", why);
    while (m->round < o->rounds) {
        double loss = gradients(m, shards, o->n_images, o->batch, g);
        printf("round %u loss %.9f\n", m->round, loss);
        fflush(stdout);
        if (o->sleep_s > 0)
            nanosleep(&(struct timespec){(time_t)o->sleep_s, (long)(fmod(o->sleep_s, 1) * 1e9)},
                      NULL);
        if (o->state)
            save(o->state, m, sizeof *m);
        if (w)
            exchange(w, m, g, o);
        else
            step(m, g, o->rate);
        m->round++;
    }
    if (w) {
        struct tradewind_counts c = tradewind_worker_counts(w);
        printf("writes %llu reads %llu polls %llu\n", (unsigned long long)c.writes,
               (unsigned long long)c.reads, (unsigned long long)c.polls);
    }
    tradewind_worker_close(w);
    free(g);
}

static void read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--alone") == 0) {
            o->alone = 1;
            continue;
        }
        if (!value || o->n_images == SHARDS_MAX || o->n_labels == SHARDS_MAX)
            fail("%s: no value", name);
        i++;
        if (strcmp(name, "--images") == 0)
            o->images[o->n_images++] = value;
        else if (strcmp(name, "--labels") == 0)
            o->labels[o->n_labels++] = value;
        else if (strcmp(name, "--rounds") == 0)
            o->rounds = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(name, "--batch") == 0)
            o->batch = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(name, "--rate") == 0)
            o->rate = strtod(value, NULL);
        else if (strcmp(name, "--sleep") == 0)
            o->sleep_s = strtod(value, NULL);
        else if (strcmp(name, "--state") == 0)
            o->state = value;
        else if (strcmp(name, "--out") == 0)
            o->out = value;
        else if (strcmp(name, "--mode") == 0 && strcmp(value, "gradient") == 0)
            o->share_model = 0;
        else if (strcmp(name, "--mode") == 0 && strcmp(value, "model") == 0)
            o->share_model = 1;
        else
            fail("%s %s: what is this?", name, value);
    }
    if (o->n_images == 0 || o->n_images != o->n_labels || o->batch == 0)
        fail("write --images FILE --labels FILE, and a --batch of at least 1");
}

int main(int argc, char **argv)
{
    static struct model m;
    static struct shard shards[SHARDS_MAX];
    struct options o = {.rounds = 10, .batch = 16, .rate = 0.05};

    read_options(argc, argv, &o);
    for (unsigned i = 0; i < o.n_images; i++)
        shards[i] = read_shard(o.images[i], o.labels[i]);
    if (o.state)
        load(o.state, &m);
    train(&m, shards, &o);
    printf("accuracy %.4f\n", accuracy(&m, shards, o.n_images));
    if (o.out)
        save_model(o.out, &m);
    for (unsigned i = 0; i < o.n_images; i++) {
        free(shards[i].pixels);
        free(shards[i].labels);
    }
    return 0;
}
