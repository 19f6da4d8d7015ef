/* Trains a network of one hidden layer by stochastic gradient descent.
 *
 * Each thread owns some of the hidden units: it computes their activations for the whole batch and
 * changes their weights itself, so that nothing is added up across threads and the model does not
 * depend on how many there are. Between the two steps the threads share out the images of the
 * batch. */
#include "fashion.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCH = 32,
    REPORTS = 5, /* of the loss, in an epoch */
    MAX_THREADS = 256,
    STRIP = 16, /* pixels whose weights change together, in registers */
};

struct options {
    const char *data;
    const char *model;
    uint32_t epochs;
    uint32_t hidden;
    uint32_t threads;
    uint32_t seed;
    double rate;
};

/* The images that a step works on, and what becomes of them. */
struct batch {
    _Alignas(vec4) float pixels[BATCH][IMAGE_PIXELS];
    uint8_t labels[BATCH];
    uint32_t count; /* below BATCH only at the end of an epoch; the rest is not learned from */
};

struct trainer {
    const struct images *images;
    struct model *model;
    uint32_t *order;          /* in which the epoch takes the images */
    struct batch *batches;    /* two: one is worked on, the next is filled */
    float *hidden;            /* [BATCH][hidden] */
    float (*errors)[CLASSES]; /* [BATCH]: derivatives of the loss by the scores */
    float *losses;            /* [BATCH] */
    float step;               /* the rate of this epoch, for one image */
    uint32_t steps;           /* in an epoch */
    double loss;              /* sum since the last report */
    uint32_t loss_images;
    uint32_t threads;
    pthread_barrier_t barrier;
};

struct worker {
    struct trainer *trainer;
    uint32_t number;
    pthread_t thread;
};

static const char help[] =
    "usage: train --data FILE --model FILE [OPTION...]\n"
    "  --data FILE   images that preprocess wrote\n"
    "  --model FILE  where the model goes\n"
    "  --epochs N    passes over all images (3)\n"
    "  --hidden N    hidden units, a multiple of 8 (128)\n"
    "  --rate X      learning rate of the first epoch; the n-th has the n-th part of it (0.1)\n"
    "  --seed N      of the first weights and the order of the images (1)\n"
    "  --threads N   one for each CPU that it may use unless given\n"
    "With $TRADEWIND_CHECKPOINT, a directory, it saves the model there after each epoch and goes "
    "on\n"
    "from what it finds there.\n";

/* A cgroup's share of CPU time is not seen here: more threads than that are no slower. */
static uint32_t cpus_allowed(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count > MAX_THREADS ? MAX_THREADS : (uint32_t)count;
}

static struct options parse(int argc, char **argv)
{
    struct options o = {.threads = cpus_allowed()};
    const char *epochs = "3";
    const char *hidden = "128";
    const char *rate = "0.1";
    const char *seed = "1";
    const char *threads = NULL;
    read_options(argc, argv, help,
                 (const struct text_option[]){{"data", &o.data},
                                              {"model", &o.model},
                                              {"epochs", &epochs},
                                              {"hidden", &hidden},
                                              {"rate", &rate},
                                              {"seed", &seed},
                                              {"threads", &threads},
                                              {NULL, NULL}});
    o.data = required_option("data", o.data);
    o.model = required_option("model", o.model);
    o.epochs = count_option("epochs", epochs, 1, 1000000);
    o.hidden = count_option("hidden", hidden, HIDDEN_STEP, MAX_HIDDEN);
    if (o.hidden % HIDDEN_STEP != 0)
        fail(EXIT_BAD_INPUT, "--hidden %u: must be a multiple of %d", o.hidden, HIDDEN_STEP);
    o.rate = number_option("rate", rate, 1e-6, 10);
    o.seed = count_option("seed", seed, 0, UINT32_MAX);
    if (threads)
        o.threads = count_option("threads", threads, 1, MAX_THREADS);
    return o;
}

/* Uniform within +-sqrt(6 / inputs), which keeps the variance through a layer of relu (He, 2015).
 */
static void randomize(float *weights, size_t count, int inputs, uint64_t *random)
{
    double limit = sqrt(6.0 / inputs);
    for (size_t i = 0; i < count; i++)
        weights[i] = (float)(limit * (2 * (double)random_next(random) / 0x1p64 - 1));
}

/* Depends on seed and epoch alone, so that a resumed training takes the same order. */
static void shuffle(struct trainer *t, uint32_t epoch)
{
    uint64_t random = t->model->training.seed << 32 | (epoch + 1);
    uint32_t count = t->images->count;
    for (uint32_t i = 0; i < count; i++)
        t->order[i] = i;
    for (uint32_t left = count; left > 1; left--) {
        uint32_t chosen = random_below(&random, left);
        uint32_t last = t->order[left - 1];
        t->order[left - 1] = t->order[chosen];
        t->order[chosen] = last;
    }
}

/* The part of `total`, in whole blocks, that a worker does: from *begin to *end - 1. */
static void share(
    const struct worker *w, uint32_t total, uint32_t block, uint32_t *begin, uint32_t *end)
{
    uint32_t blocks = total / block;
    *begin = blocks * w->number / w->trainer->threads * block;
    *end = blocks * (w->number + 1) / w->trainer->threads * block;
}

/* The worker's part of the images of a step, as floats from 0 to 1. */
static void fill(const struct worker *w, uint32_t step)
{
    struct trainer *t = w->trainer;
    struct batch *batch = &t->batches[step % 2];
    uint32_t first = step * BATCH;
    uint32_t count = t->images->count - first < BATCH ? t->images->count - first : BATCH;
    uint32_t begin;
    uint32_t end;
    share(w, BATCH, 1, &begin, &end);
    if (w->number == 0)
        batch->count = count;
    for (uint32_t i = begin; i < end && i < count; i++) {
        uint32_t image = t->order[first + i];
        image_floats(t->images->pixels + (size_t)image * IMAGE_PIXELS, batch->pixels[i]);
        batch->labels[i] = t->images->labels[image];
    }
}

/* Activations of the worker's units for all images of the batch. */
static void activate(const struct worker *w, const struct batch *batch)
{
    struct trainer *t = w->trainer;
    uint32_t begin;
    uint32_t end;
    share(w, t->model->hidden, UNIT_BLOCK, &begin, &end);
    model_activate(t->model, begin, end, batch->pixels[0], BATCH, t->hidden);
}

/* Softmax and cross-entropy of one image: their loss, and its derivatives by the scores. */
static float cross_entropy(const float scores[CLASSES], uint8_t label, float errors[CLASSES])
{
    float highest = scores[0];
    for (int answer = 1; answer < CLASSES; answer++)
        highest = fmaxf(highest, scores[answer]);
    float sum = 0;
    for (int answer = 0; answer < CLASSES; answer++) {
        errors[answer] = expf(scores[answer] - highest);
        sum += errors[answer];
    }
    for (int answer = 0; answer < CLASSES; answer++)
        errors[answer] /= sum;
    errors[label] -= 1;
    return logf(sum) + highest - scores[label];
}

/* The errors of the worker's part of the images. */
static void judge(const struct worker *w, const struct batch *batch)
{
    struct trainer *t = w->trainer;
    uint32_t begin;
    uint32_t end;
    share(w, BATCH, 1, &begin, &end);
    for (uint32_t i = begin; i < end; i++) {
        float scores[CLASSES];
        memset(t->errors[i], 0, sizeof t->errors[i]);
        t->losses[i] = 0;
        if (i >= batch->count)
            continue;
        model_scores(t->model, t->hidden + (size_t)i * t->model->hidden, scores);
        t->losses[i] = cross_entropy(scores, batch->labels[i], t->errors[i]);
    }
}

/* Backpropagates the errors of the batch through one hidden unit: writes `deltas` of its input, for
 * each image, and updates its output weights, which are not read before the next batch. */
static void learn_output(struct trainer *t, uint32_t unit, float deltas[BATCH])
{
    float *weights = t->model->out + (size_t)unit * CLASSES;
    float change[CLASSES] = {0};
    for (uint32_t i = 0; i < BATCH; i++) {
        float activation = t->hidden[(size_t)i * t->model->hidden + unit];
        float delta = 0;
        for (int answer = 0; answer < CLASSES; answer++) {
            delta += weights[answer] * t->errors[i][answer];
            change[answer] += activation * t->errors[i][answer];
        }
        deltas[i] = activation > 0 ? delta : 0;
        t->model->in_bias[unit] -= t->step * deltas[i];
    }
    for (int answer = 0; answer < CLASSES; answer++)
        weights[answer] -= t->step * change[answer];
}

/* Changes the weights of a block of units from a strip of pixels by the deltas of all images. */
static void learn_strip(const struct batch *batch,
                        int pixel,
                        float deltas[UNIT_BLOCK][BATCH],
                        float step,
                        float *weights)
{
    enum { VECTORS = STRIP * sizeof(float) / sizeof(vec4) };
    vec4 change[UNIT_BLOCK][VECTORS] = {0};
    for (int i = 0; i < BATCH; i++) {
        const vec4 *pixels = (const vec4 *)&batch->pixels[i][pixel];
        for (int unit = 0; unit < UNIT_BLOCK; unit++)
            for (size_t v = 0; v < VECTORS; v++)
                change[unit][v] += pixels[v] * deltas[unit][i];
    }
    for (int unit = 0; unit < UNIT_BLOCK; unit++) {
        vec4 *row = (vec4 *)(weights + (ptrdiff_t)unit * IMAGE_PIXELS + pixel);
        for (size_t v = 0; v < VECTORS; v++)
            row[v] -= step * change[unit][v];
    }
}

/* Changes all that belongs to the worker's units. */
static void learn(const struct worker *w, const struct batch *batch)
{
    struct trainer *t = w->trainer;
    uint32_t begin;
    uint32_t end;
    share(w, t->model->hidden, UNIT_BLOCK, &begin, &end);
    for (uint32_t unit = begin; unit < end; unit += UNIT_BLOCK) {
        float deltas[UNIT_BLOCK][BATCH];
        for (uint32_t u = 0; u < UNIT_BLOCK; u++)
            learn_output(t, unit + u, deltas[u]);
        for (int pixel = 0; pixel < IMAGE_PIXELS; pixel += STRIP)
            learn_strip(batch, pixel, deltas, t->step, t->model->in + (size_t)unit * IMAGE_PIXELS);
    }
}

/* What belongs to no unit: the biases of the scores, and the report. The first worker's. */
static void conclude(struct trainer *t, const struct batch *batch, uint32_t step)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        t->loss += (double)t->losses[i];
        for (int answer = 0; answer < CLASSES; answer++)
            t->model->out_bias[answer] -= t->step * t->errors[i][answer];
    }
    t->loss_images += batch->count;
    uint32_t report = (uint32_t)((uint64_t)(step + 1) * REPORTS / t->steps);
    if (report == (uint64_t)step * REPORTS / t->steps)
        return;
    double loss = t->loss / t->loss_images;
    if (!isfinite(loss))
        fail(EXIT_BAD_INPUT, "the loss is no number any more: --rate is too high");
    uint64_t steps_before = (uint64_t)t->model->training.epochs * t->steps;
    printf("[TRADEWIND_METRIC] loss %" PRIu64 " %.6f\n", steps_before + step + 1, loss);
    fflush(stdout);
    t->loss = 0;
    t->loss_images = 0;
}

static void *work_one_epoch(void *argument)
{
    struct worker *w = argument;
    struct trainer *t = w->trainer;
    fill(w, 0);
    pthread_barrier_wait(&t->barrier);
    for (uint32_t step = 0; step < t->steps; step++) {
        const struct batch *batch = &t->batches[step % 2];
        activate(w, batch);
        pthread_barrier_wait(&t->barrier);
        judge(w, batch);
        if (step + 1 < t->steps)
            fill(w, step + 1);
        pthread_barrier_wait(&t->barrier);
        learn(w, batch);
        if (w->number == 0)
            conclude(t, batch, step);
    }
    return NULL;
}

static void run_epoch(struct trainer *t, struct worker *workers)
{
    uint32_t epoch = t->model->training.epochs;
    shuffle(t, epoch);
    t->step = (float)(t->model->training.rate / (epoch + 1) / BATCH);
    for (uint32_t i = 1; i < t->threads; i++) {
        int error = pthread_create(&workers[i].thread, NULL, work_one_epoch, &workers[i]);
        if (error)
            fail(EXIT_MACHINE, "cannot start thread %u: %s; --threads sets how many", i,
                 strerror(error));
    }
    work_one_epoch(&workers[0]);
    for (uint32_t i = 1; i < t->threads; i++)
        pthread_join(workers[i].thread, NULL);
    t->model->training.epochs++;
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Epoch by epoch, saving to the checkpoint if there is one. */
static int train(struct trainer *t, uint32_t epochs, const char *checkpoint)
{
    struct worker workers[MAX_THREADS];
    for (uint32_t i = 0; i < MAX_THREADS; i++)
        workers[i] = (struct worker){.trainer = t, .number = i};
    while (t->model->training.epochs < epochs) {
        double began_s = now_s();
        run_epoch(t, workers);
        if (checkpoint && model_save(t->model, checkpoint) < 0)
            return -1;
        printf("epoch %u of %u: %.1f s\n", t->model->training.epochs, epochs, now_s() - began_s);
        fflush(stdout);
    }
    return 0;
}

/* The file in the checkpoint directory; NULL without one. */
static char *checkpoint_path(void)
{
    const char *directory = getenv("TRADEWIND_CHECKPOINT");
    char *path = NULL;
    if (directory && *directory && asprintf(&path, "%s/model", directory) < 0)
        fail(EXIT_MACHINE, "no memory");
    return path;
}

static void resume(struct model *model,
                   const struct options *o,
                   const struct images *images,
                   const char *path)
{
    model_load(model, path);
    const struct training *was = &model->training;
    if (model->hidden != o->hidden || was->seed != o->seed || was->rate != o->rate ||
        was->data_checksum != images->checksum)
        fail(EXIT_BAD_INPUT,
             "%s: was made with --hidden %u --rate %g --seed %" PRIu64 " and %s images; "
             "remove it to begin anew",
             path, model->hidden, was->rate, was->seed,
             was->data_checksum == images->checksum ? "these" : "other");
    if (was->epochs > o->epochs)
        fail(EXIT_BAD_INPUT, "%s: has %u epochs already, more than --epochs %u", path, was->epochs,
             o->epochs);
    printf("resuming after epoch %u\n", was->epochs);
}

static void begin(struct model *model, const struct options *o, const struct images *images)
{
    uint64_t random = (uint64_t)o->seed << 32;
    model_init(model, o->hidden);
    model->training =
        (struct training){.seed = o->seed, .rate = o->rate, .data_checksum = images->checksum};
    randomize(model->in, (size_t)o->hidden * IMAGE_PIXELS, IMAGE_PIXELS, &random);
    randomize(model->out, (size_t)o->hidden * CLASSES, (int)o->hidden, &random);
}

static int train_model(struct model *model,
                       const struct options *o,
                       const struct images *images,
                       const char *checkpoint)
{
    struct trainer t = {
        .images = images,
        .model = model,
        .order = allocate(images->count, sizeof *t.order),
        .batches = allocate(2, sizeof *t.batches),
        .hidden = allocate((size_t)BATCH * model->hidden, sizeof *t.hidden),
        .errors = allocate(BATCH, sizeof *t.errors),
        .losses = allocate(BATCH, sizeof *t.losses),
        .steps = (images->count + BATCH - 1) / BATCH,
        .threads = o->threads,
    };
    pthread_barrier_init(&t.barrier, NULL, t.threads);
    int result = train(&t, o->epochs, checkpoint);
    pthread_barrier_destroy(&t.barrier);
    free(t.order);
    free(t.batches);
    free(t.hidden);
    free(t.errors);
    free(t.losses);
    return result;
}

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    struct images images;
    struct model model;
    images_load(&images, o.data);
    char *checkpoint = checkpoint_path();
    if (checkpoint && access(checkpoint, F_OK) == 0)
        resume(&model, &o, &images, checkpoint);
    else
        begin(&model, &o, &images);
    printf("%u images, %u hidden units, %u threads\n", images.count, model.hidden, o.threads);
    int result = train_model(&model, &o, &images, checkpoint);
    if (result == 0)
        result = model_save(&model, o.model);
    free(checkpoint);
    model_clear(&model);
    images_clear(&images);
    return result == 0 ? 0 : EXIT_MACHINE;
}
