/* Trains a network that reads digits: alone, or as the server or a worker of a training cluster.
 *
 * The server holds the weights. In each step it sends them to all workers, each worker computes the
 * gradient of its part of the batch, and the server applies the sum of the gradients: the same
 * update as one process computes with the whole batch. When a worker dies in an elastic cluster,
 * the remaining workers repeat the step, so no data is left out. With --async every worker gets
 * whole batches, and the server updates the weights after each answer. */
#include "digits.h"
#include "wire.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORKERS = 1000, EXIT_BAD_INPUT = 2 };

static const char help[] =
    "usage: train [OPTION...]\n"
    "  --steps N     iterations (200)\n"
    "  --batch N     examples per iteration (64)\n"
    "  --hidden N    hidden units (64)\n"
    "  --rate X      learning rate (0.5)\n"
    "  --seed N      seed of the initial weights (1)\n"
    "  --async       workers do not wait for each other\n"
    "  --pace MS     minimum time per iteration, to emulate a slower machine (0)\n"
    "  --report N    print a metric every N iterations (10)\n"
    "  --timeout S   seconds without an answer after which a peer counts as lost (60)\n"
    "  --model FILE  file for the weights (default: below $TRADEWIND_OUTPUT/model)\n"
    "$TRADEWIND_ROLE is server or worker; without it the program trains in one process.\n";

struct options {
    unsigned steps, batch, hidden, pace_ms, report;
    unsigned long seed;
    double rate, timeout_s;
    int async;
    const char *model;
};

/* ---- the command line ---- */

static double number(const char *option, const char *text, double min, double max, int whole)
{
    char *end;
    double value = text ? strtod(text, &end) : 0;

    if (text && end != text && !*end && value >= min && value <= max &&
        (!whole || value == floor(value)))
        return value;
    fprintf(stderr, "train: %s %s: must be a %snumber from %g to %g\n", option, text ? text : "",
            whole ? "whole " : "", min, max);
    exit(EXIT_BAD_INPUT);
}

static unsigned count(const char *option, const char *text, double min, double max)
{
    return (unsigned)number(option, text, min, max, 1);
}

/* 1: the option took the value. */
static int take(struct options *o, const char *name, const char *value)
{
    if (!strcmp(name, "--steps"))
        o->steps = count(name, value, 1, 1e9);
    else if (!strcmp(name, "--batch"))
        o->batch = count(name, value, 1, 1e6);
    else if (!strcmp(name, "--hidden"))
        o->hidden = count(name, value, 1, MAX_HIDDEN);
    else if (!strcmp(name, "--rate"))
        o->rate = number(name, value, 1e-9, 1e3, 0);
    else if (!strcmp(name, "--seed"))
        o->seed = count(name, value, 0, 4e9);
    else if (!strcmp(name, "--pace"))
        o->pace_ms = count(name, value, 0, 60000);
    else if (!strcmp(name, "--report"))
        o->report = count(name, value, 1, 1e9);
    else if (!strcmp(name, "--timeout"))
        o->timeout_s = number(name, value, 1, 86400, 0);
    else if (!strcmp(name, "--model") && value)
        o->model = value;
    else
        return 0;
    return 1;
}

static struct options read_options(int argc, char **argv)
{
    struct options o = {.steps = 200,
                        .batch = 64,
                        .hidden = 64,
                        .rate = 0.5,
                        .seed = 1,
                        .report = 10,
                        .timeout_s = 60};

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            fputs(help, stdout);
            exit(0);
        }
        if (!strcmp(argv[i], "--async")) {
            o.async = 1;
        } else if (take(&o, argv[i], argv[i + 1])) {
            i++;
        } else {
            fprintf(stderr, "train: %s: no such option, or no value; --help lists them\n", argv[i]);
            exit(EXIT_BAD_INPUT);
        }
    }
    return o;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    if (value && *value)
        return value;
    fprintf(stderr, "train: %s is not set: tradewind cluster run sets it\n", name);
    exit(EXIT_BAD_INPUT);
}

static void *allocate(size_t n, size_t size)
{
    void *room = calloc(n, size);

    if (room)
        return room;
    fprintf(stderr, "train: no memory\n");
    exit(1);
}

/* ---- learning ---- */

/* What one part of a step's batch teaches. */
static double learn(const struct options *o,
                    const float *weights,
                    unsigned step,
                    unsigned part,
                    unsigned parts,
                    double *gradient)
{
    struct learned sum = {0};

    memset(gradient, 0, model_size(o->hidden) * sizeof *gradient);
    for (unsigned i = part; i < o->batch; i += parts) {
        struct example x;
        digits_make((uint32_t)(((uint64_t)step * o->batch + i) % TEST_FROM), &x);
        model_learn(o->hidden, weights, &x, gradient, &sum);
    }
    return sum.loss;
}

static void change(const struct options *o, float *weights, const double *gradient)
{
    size_t n = model_size(o->hidden);

    for (size_t i = 0; i < n; i++)
        weights[i] = (float)((double)weights[i] - o->rate / o->batch * gradient[i]);
}

static void report(const struct options *o, unsigned step, double loss)
{
    if ((step + 1) % o->report == 0 || step + 1 == o->steps) {
        printf("[TRADEWIND_METRIC] loss %u %.9g\n", step + 1, loss / o->batch);
        fflush(stdout);
    }
}

/* Written to a temporary file and renamed: there is never half a model. */
static int store(const struct options *o, const float *weights)
{
    const char *output = getenv("TRADEWIND_OUTPUT");
    char path[4096], draft[4200];

    snprintf(path, sizeof path, "%s/model/weights.f32", output ? output : ".");
    snprintf(draft, sizeof draft, "%s.new", o->model ? o->model : path);
    FILE *out = fopen(draft, "wb");
    size_t n = model_size(o->hidden);
    int good = out && fwrite(weights, sizeof *weights, n, out) == n;
    good = out && fclose(out) == 0 && good;
    if (!good || rename(draft, o->model ? o->model : path) < 0) {
        fprintf(stderr, "train: cannot write %s: %s\n", o->model ? o->model : path,
                strerror(errno));
        return 1;
    }
    printf("[TRADEWIND_TAG_NUM] accuracy:%.4f\n", model_test(o->hidden, weights));
    return 0;
}

static int train_alone(const struct options *o)
{
    float *weights = allocate(model_size(o->hidden), sizeof *weights);
    double *gradient = allocate(model_size(o->hidden), sizeof *gradient);

    model_begin(o->hidden, o->seed, weights);
    for (unsigned step = 0; step < o->steps; step++) {
        double loss = learn(o, weights, step, 0, 1, gradient);
        change(o, weights, gradient);
        report(o, step, loss);
    }
    int result = store(o, weights);
    free(gradient);
    free(weights);
    return result;
}

/* ---- a worker ---- */

static void keep_pace(const struct options *o, const struct timespec *began)
{
    struct timespec until = *began;

    until.tv_sec += (time_t)(o->pace_ms / 1000);
    until.tv_nsec += (long)(o->pace_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}

static int work(const struct options *o, int server, float *numbers, double *gradient)
{
    size_t n = model_size(o->hidden);
    struct wire_head head;
    struct timespec began;
    unsigned done = 0;

    for (;;) {
        if (wire_receive(server, WIRE_WORK, WIRE_DONE, &head, numbers, n) < 0)
            return 1;
        if (head.kind == WIRE_DONE)
            return 0;
        if (head.size != n || head.parts == 0 || head.part >= head.parts) {
            fprintf(stderr, "train: the server has another model\n");
            return 1;
        }
        clock_gettime(CLOCK_MONOTONIC, &began);
        double loss = learn(o, numbers, head.step, head.part, head.parts, gradient);
        for (size_t i = 0; i < n; i++)
            numbers[i] = (float)gradient[i];
        keep_pace(o, &began);
        struct wire_head answer = {
            .kind = WIRE_LEARNED, .step = head.step, .size = (uint32_t)n, .loss = (float)loss};
        if (wire_send(server, answer, numbers) < 0)
            return 1;
        if (++done % o->report == 0) {
            printf("[TRADEWIND_METRIC] iterations %u %u\n", done, head.step);
            fflush(stdout);
        }
    }
}

static int be_worker(const struct options *o)
{
    size_t n = model_size(o->hidden);
    unsigned me =
        count("TRADEWIND_WORKER", variable("TRADEWIND_WORKER"), 0, (double)MAX_WORKERS - 1);
    struct wire_head hello = {.kind = WIRE_HELLO, .part = me, .size = (uint32_t)n};
    int server = wire_connect(variable("TRADEWIND_SERVER"), o->timeout_s);

    if (server < 0 || wire_send(server, hello, NULL) < 0)
        return 1;
    /* The server may wait for each of the others before it goes on. */
    wire_set_timeout(server,
                     o->timeout_s * (1 + count("TRADEWIND_WORKERS", variable("TRADEWIND_WORKERS"),
                                               1, MAX_WORKERS)));
    float *numbers = allocate(n, sizeof *numbers);
    double *gradient = allocate(n, sizeof *gradient);
    int result = work(o, server, numbers, gradient);
    close(server);
    free(gradient);
    free(numbers);
    return result;
}

/* ---- the server ---- */

struct server {
    const struct options *o;
    size_t size;
    float *weights, *numbers;
    double *sum;
    int elastic;
    int workers[MAX_WORKERS]; /* by their numbers; -1 = gone */
    unsigned n, left;
};

/* 1: the training goes on without it. */
static int lose(struct server *s, unsigned worker)
{
    close(s->workers[worker]);
    s->workers[worker] = -1;
    s->left--;
    fprintf(stderr, "train: worker %u is lost, %u left\n", worker, s->left);
    return s->elastic && s->left > 0;
}

static int welcome(struct server *s, int listener)
{
    for (unsigned i = 0; i < s->n; i++)
        s->workers[i] = -1;
    while (s->left < s->n) {
        struct wire_head hello;
        int fd = wire_accept(listener, s->o->timeout_s);
        if (fd < 0)
            return -1;
        if (wire_receive(fd, WIRE_HELLO, 0, &hello, NULL, 0) < 0 || hello.size != s->size ||
            hello.part >= s->n || s->workers[hello.part] >= 0) {
            fprintf(stderr,
                    "train: rejected a connection that is not from a worker of this training\n");
            close(fd);
            continue;
        }
        s->workers[hello.part] = fd;
        s->left++;
    }
    return 0;
}

static int give_work(struct server *s, unsigned worker, unsigned step, unsigned part, unsigned of)
{
    struct wire_head head = {
        .kind = WIRE_WORK, .step = step, .part = part, .parts = of, .size = (uint32_t)s->size};

    return wire_send(s->workers[worker], head, s->weights);
}

static int take_learned(struct server *s, unsigned worker, struct wire_head *head)
{
    if (wire_receive(s->workers[worker], WIRE_LEARNED, 0, head, s->numbers, s->size) < 0)
        return -1;
    return head->size == s->size ? 0 : -1;
}

/* One step with all that are left: 1 when it is done, 0 when it is to be done again without one
 * that was lost, -1 when that was the end. */
static int do_step(struct server *s, unsigned step, double *loss)
{
    unsigned parts = s->left, part = 0;
    int whole = 1;
    struct wire_head head;

    *loss = 0;
    memset(s->sum, 0, s->size * sizeof *s->sum);
    for (unsigned i = 0; i < s->n; i++)
        if (s->workers[i] >= 0 && give_work(s, i, step, part++, parts) < 0) {
            whole = 0;
            if (!lose(s, i))
                return -1;
        }
    /* In their order, so that the sum is the same each time. */
    for (unsigned i = 0; i < s->n; i++) {
        if (s->workers[i] < 0)
            continue;
        if (take_learned(s, i, &head) < 0) {
            whole = 0;
            if (!lose(s, i))
                return -1;
            continue;
        }
        *loss += (double)head.loss;
        for (size_t k = 0; k < s->size; k++)
            s->sum[k] += (double)s->numbers[k];
    }
    return whole;
}

static int serve_together(struct server *s)
{
    for (unsigned step = 0; step < s->o->steps;) {
        double loss;
        int done = do_step(s, step, &loss);
        if (done < 0)
            return -1;
        if (!done)
            continue;
        change(s->o, s->weights, s->sum);
        report(s->o, step++, loss);
    }
    return 0;
}

/* A worker that answers changes the weights and gets the next batch. */
static int serve_one(struct server *s, unsigned worker, unsigned *given, unsigned *done)
{
    struct wire_head head;

    if (take_learned(s, worker, &head) < 0)
        return lose(s, worker) ? 0 : -1;
    for (size_t k = 0; k < s->size; k++)
        s->sum[k] = (double)s->numbers[k];
    change(s->o, s->weights, s->sum);
    report(s->o, (*done)++, (double)head.loss);
    /* The batch of one that was lost is done by another. */
    if (*done < s->o->steps && give_work(s, worker, (*given)++ % s->o->steps, 0, 1) < 0)
        return lose(s, worker) ? 0 : -1;
    return 0;
}

static int serve_apart(struct server *s)
{
    unsigned given = 0, done = 0;

    for (unsigned i = 0; i < s->n; i++)
        if (give_work(s, i, given++, 0, 1) < 0 && !lose(s, i))
            return -1;
    while (done < s->o->steps) {
        struct pollfd fds[MAX_WORKERS];
        for (unsigned i = 0; i < s->n; i++)
            fds[i] = (struct pollfd){.fd = s->workers[i], .events = POLLIN};
        int ready = poll(fds, s->n, (int)(s->o->timeout_s * 1000));
        if (ready == 0) {
            fprintf(stderr, "train: no worker has answered for %g s\n", s->o->timeout_s);
            return -1;
        }
        for (unsigned i = 0; ready > 0 && i < s->n && done < s->o->steps; i++)
            if (fds[i].revents && serve_one(s, i, &given, &done) < 0)
                return -1;
    }
    return 0;
}

/* All are told first: with --async each may still be at work. */
static void part_from(struct server *s)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->workers[i] >= 0)
            wire_send(s->workers[i], (struct wire_head){.kind = WIRE_DONE}, NULL);
    for (unsigned i = 0; i < s->n; i++)
        if (s->workers[i] >= 0)
            wire_end(s->workers[i]);
}

static int be_server(const struct options *o)
{
    static struct server s;
    const char *elastic = getenv("TRADEWIND_ELASTIC");
    int listener = wire_listen(variable("TRADEWIND_SERVER"));

    if (listener < 0)
        return 1;
    s = (struct server){
        .o = o,
        .size = model_size(o->hidden),
        .elastic = elastic && !strcmp(elastic, "1"),
        .n = count("TRADEWIND_WORKERS", variable("TRADEWIND_WORKERS"), 1, MAX_WORKERS)};
    s.weights = allocate(s.size, sizeof *s.weights);
    s.numbers = allocate(s.size, sizeof *s.numbers);
    s.sum = allocate(s.size, sizeof *s.sum);
    model_begin(o->hidden, o->seed, s.weights);
    int result = welcome(&s, listener) < 0 || (o->async ? serve_apart(&s) : serve_together(&s)) < 0;
    if (!result) {
        part_from(&s);
        result = store(o, s.weights);
    }
    close(listener);
    free(s.sum);
    free(s.numbers);
    free(s.weights);
    return result;
}

int main(int argc, char **argv)
{
    struct options o = read_options(argc, argv);
    const char *role = getenv("TRADEWIND_ROLE");

    if (!role || !*role)
        return train_alone(&o);
    return strcmp(role, "server") == 0 ? be_server(&o) : be_worker(&o);
}
