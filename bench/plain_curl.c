/* plain_curl put|get CONNECTIONS HASHES FILE <REQUESTS: what bench/clouds compares stores with.
 * Sends pieces of a file, or writes pieces to it, over this many connections, each of which takes
 * the next request when its own is done. It hashes every byte once by each of HASHES
 * ("sha256,crc32c,md5") and does nothing else. A request is a line of fields between tabs: offset
 * in the file, bytes, method, URL, headers. */
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
/* As src/net has it. */
#define BUFFER_BYTES (256L << 10)

struct bench {
    bool puts, has_sha256, has_crc32c, has_md5;
    int fd;
    pthread_mutex_t lock; /* guards stdin and what follows */
    bool has_failed;
};

/* One request on its way. */
struct piece {
    const struct bench *bench;
    uint64_t offset, bytes, done;
    struct sha256 *sha;
    EVP_MD_CTX *md5;
    uint32_t crc;
};

static void add_hashes(struct piece *p, const void *bytes, size_t n)
{
    if (p->bench->has_sha256)
        sha256_add(p->sha, bytes, n);
    if (p->bench->has_crc32c)
        p->crc = hash_crc32c(p->crc, bytes, n);
    if (p->bench->has_md5)
        EVP_DigestUpdate(p->md5, bytes, n);
}

static size_t give(char *into, size_t size, size_t items, void *context)
{
    struct piece *p = context;
    uint64_t left = p->bytes - p->done;
    size_t n = left < size * items ? (size_t)left : size * items;
    ssize_t got = file_pread_all(p->bench->fd, into, n, p->offset + p->done);

    if (got < 0 || (size_t)got < n)
        return CURL_READFUNC_ABORT;
    add_hashes(p, into, n);
    p->done += n;
    return n;
}

static size_t take(char *bytes, size_t size, size_t items, void *context)
{
    struct piece *p = context;
    size_t n = size * items;

    /* Answers to what was sent are not looked at. */
    if (p->bench->puts)
        return n;
    add_hashes(p, bytes, n);
    if (pwrite(p->bench->fd, bytes, n, (off_t)(p->offset + p->done)) != (ssize_t)n)
        return 0;
    p->done += n;
    return n;
}

static void finish_hashes(struct piece *p)
{
    unsigned char digest[EVP_MAX_MD_SIZE];

    sha256_take(p->sha);
    if (p->md5)
        EVP_DigestFinal_ex(p->md5, digest, NULL);
    EVP_MD_CTX_free(p->md5);
    sha256_free(p->sha);
}

/* The line's fields: 0, or -1 when it is none of ours. */
static int perform(const struct bench *b, CURL *curl, char *line)
{
    struct piece p = {.bench = b, .sha = sha256_new()};
    char *rest = line, *offset = strsep(&rest, "\t"), *bytes = strsep(&rest, "\t");
    const char *method = strsep(&rest, "\t"), *url = strsep(&rest, "\t");
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    long status = 0;

    if (!url)
        return -1;
    p.offset = strtoull(offset, NULL, 10);
    p.bytes = strtoull(bytes, NULL, 10);
    if (b->has_md5 && (p.md5 = EVP_MD_CTX_new()))
        EVP_DigestInit_ex(p.md5, EVP_md5(), NULL);
    for (const char *header; (header = strsep(&rest, "\t"));)
        headers = curl_slist_append(headers, header);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_UPLOAD, b->puts ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)p.bytes);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_READDATA, (void *)&p);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, (void *)&p);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    finish_hashes(&p);
    /* 308: a part of a resumable upload, and not its last one. */
    if (code == CURLE_OK && p.done == p.bytes && (status / 100 == 2 || status == 308))
        return 0;
    fprintf(stderr,
            "plain_curl: %s at %" PRIu64 ": %s, status %ld, %" PRIu64 " of %" PRIu64 " bytes\n",
            method, p.offset, curl_easy_strerror(code), status, p.done, p.bytes);
    return -1;
}

static void *connection(void *context)
{
    struct bench *b = context;
    CURL *curl = curl_easy_init();
    char *line = NULL;
    size_t room = 0;
    bool goes_on = curl != NULL;

    if (curl) {
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
        curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, give);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
    }
    while (goes_on) {
        pthread_mutex_lock(&b->lock);
        ssize_t n = b->has_failed ? -1 : getline(&line, &room, stdin);
        pthread_mutex_unlock(&b->lock);
        if (n <= 0)
            break;
        line[strcspn(line, "\n")] = '\0';
        goes_on = perform(b, curl, line) == 0;
    }
    pthread_mutex_lock(&b->lock);
    b->has_failed = b->has_failed || !goes_on;
    pthread_mutex_unlock(&b->lock);
    free(line);
    curl_easy_cleanup(curl);
    return NULL;
}

int main(int argc, char **argv)
{
    struct bench b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[CONNECTIONS_MAX];
    unsigned n = 0, wanted = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

    if (argc != 5 || !wanted || wanted > CONNECTIONS_MAX) {
        fprintf(stderr, "usage: plain_curl put|get CONNECTIONS HASHES FILE <REQUESTS\n");
        return 2;
    }
    b.puts = !strcmp(argv[1], "put");
    b.has_sha256 = strstr(argv[3], "sha256") != NULL;
    b.has_crc32c = strstr(argv[3], "crc32c") != NULL;
    b.has_md5 = strstr(argv[3], "md5") != NULL;
    b.fd =
        open(argv[4], b.puts ? O_RDONLY | O_CLOEXEC : O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (b.fd < 0) {
        fprintf(stderr, "plain_curl: %s: %s\n", argv[4], strerror(errno));
        return 1;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    while (n < wanted && pthread_create(&threads[n], NULL, connection, &b) == 0)
        n++;
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    curl_global_cleanup();
    /* The lake syncs what it writes, too. */
    bool is_good = n == wanted && !b.has_failed && (b.puts || fsync(b.fd) == 0);
    return close(b.fd) == 0 && is_good ? 0 : 1;
}
