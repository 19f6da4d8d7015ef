/* The worker in C and an aggregator that is dead, busy, or well: which events it gets, and when a
 * worker that ends gives up on them. */
#include "tradewind_worker.h"

#include "base/auto.h"
#include "base/mem.h"
#include "tap.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum mood { SILENT, BUSY, WELL }; /* hangs up without a word; 503; 200 */

static struct {
    int listens;
    unsigned port;
    _Atomic int mood;
    pthread_mutex_t lock; /* guards told */
    char told[256];       /* rounds of the events, in order: "0 1 0 " */
} aggregator = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char home[] = "/tmp/tradewind-worker-XXXXXX";

/* ---- the aggregator ---- */

/* Until all of the request is there. */
static void read_request(int fd, char *text, size_t room)
{
    size_t n = 0;
    ssize_t got;

    text[0] = 0;
    while (n + 1 < room && (got = recv(fd, text + n, room - 1 - n, 0)) > 0) {
        n += (size_t)got;
        text[n] = 0;
        const char *body = strstr(text, "\r\n\r\n");
        const char *length = strcasestr(text, "content-length:");
        if (body && length && strlen(body + 4) >= (size_t)atol(length + 15))
            return;
    }
}

static void note_round(const char *request)
{
    const char *round = strstr(request, "round-");

    if (!round)
        return;
    pthread_mutex_lock(&aggregator.lock);
    size_t len = strlen(aggregator.told);
    snprintf(aggregator.told + len, sizeof aggregator.told - len, "%d ", atoi(round + 6));
    pthread_mutex_unlock(&aggregator.lock);
}

static void *serve(void *nothing)
{
    int fd;

    while ((fd = accept(aggregator.listens, NULL, NULL)) >= 0) {
        char request[8192], answer[128];
        read_request(fd, request, sizeof request);
        note_round(request);
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 %d x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                 atomic_load(&aggregator.mood) == BUSY ? 503 : 200);
        if (atomic_load(&aggregator.mood) != SILENT)
            (void)!write(fd, answer, strlen(answer));
        close(fd);
    }
    return nothing;
}

static bool start_aggregator(pthread_t *thread)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;

    aggregator.listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(aggregator.listens, (struct sockaddr *)&at, n) < 0 ||
        listen(aggregator.listens, 8) < 0 ||
        getsockname(aggregator.listens, (struct sockaddr *)&at, &n) < 0)
        return false;
    aggregator.port = ntohs(at.sin_port);
    return pthread_create(thread, NULL, serve, NULL) == 0;
}

static bool told(const char *want)
{
    pthread_mutex_lock(&aggregator.lock);
    bool same = strcmp(aggregator.told, want) == 0;
    if (!same)
        printf("# told: \"%s\", wanted: \"%s\"\n", aggregator.told, want);
    pthread_mutex_unlock(&aggregator.lock);
    return same;
}

static void told_nothing(enum mood mood)
{
    pthread_mutex_lock(&aggregator.lock);
    aggregator.told[0] = 0;
    pthread_mutex_unlock(&aggregator.lock);
    atomic_store(&aggregator.mood, mood);
}

/* ---- the worker ---- */

static struct tradewind_worker *open_worker(const char *store)
{
    AUTO_MEM char *at = mem_printf("dir:%s/%s", home, store);
    AUTO_MEM char *url = mem_printf("http://127.0.0.1:%u/", aggregator.port);
    char why[TRADEWIND_WHY];
    const struct tradewind_worker_settings settings = {
        .store = at, .event_url = url, .worker = 0, .workers = 1, .poll_s = 0.01, .patience_s = 5};
    struct tradewind_worker *w = tradewind_worker_open(&settings, why);

    if (!w)
        printf("# %s\n", why);
    return w;
}

static int push(struct tradewind_worker *w, unsigned round)
{
    float value = 1;
    const struct tradewind_tensor t = {.name = "g", .values = &value, .count = 1};
    char why[TRADEWIND_WHY] = "";
    int result = tradewind_push(w, round, &t, 1, 0, why);

    if (result < 0)
        printf("# push %u: %s\n", round, why);
    return result;
}

/* The only worker's input is the mean; then the worker has it. */
static int end_round(struct tradewind_worker *w, const char *store, unsigned round)
{
    AUTO_MEM char *copy = mem_printf(
        "cd %s/%s/round-%06u && cp in/worker-0000.safetensors mean.new && mv mean.new mean", home,
        store, round);
    float value = 0;
    const struct tradewind_tensor t = {.name = "g", .values = &value, .count = 1};
    char why[TRADEWIND_WHY] = "";

    if (system(copy) != 0 || tradewind_pull(w, round, &t, 1, 10, why) != 0) {
        printf("# round %u: %s\n", round, why);
        return -1;
    }
    return value == 1 ? 0 : -1;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void ends_within_a_round(void)
{
    told_nothing(BUSY);
    struct tradewind_worker *w = open_worker("within");
    CHECK(w && push(w, 0) == 0 && told("0 "), "the event of a push is sent");
    double start = now_s();
    tradewind_worker_close(w);
    CHECK(now_s() - start < 3 && told("0 "),
          "of a round that is not over it is left to whoever goes on with it");
}

static void ends_after_rounds(void)
{
    told_nothing(SILENT);
    struct tradewind_worker *w = open_worker("after");
    CHECK(w && push(w, 0) == 0 && end_round(w, "after", 0) == 0, "a round nobody answers in");
    told_nothing(SILENT);
    CHECK(w && push(w, 1) == 0 && told("1 "),
          "where nobody answers one event is tried, not each in turn");
    CHECK(w && end_round(w, "after", 1) == 0, "the next round");
    told_nothing(BUSY);
    CHECK(w && push(w, 2) == 0 && told("2 1 0 "), "one that is busy is told of all");
    told_nothing(WELL);
    tradewind_worker_close(w);
    CHECK(told("1 0 "), "at the end, of the rounds that are over, until they are taken");
}

int main(void)
{
    pthread_t thread;

    if (!mkdtemp(home) || !start_aggregator(&thread)) {
        CHECK(false, "a directory and a server");
        return TAP_DONE();
    }
    ends_within_a_round();
    ends_after_rounds();
    shutdown(aggregator.listens, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(aggregator.listens);
    AUTO_MEM char *clean = mem_printf("rm -rf %s", home);
    CHECK(system(clean) == 0, "nothing stays");
    return TAP_DONE();
}
