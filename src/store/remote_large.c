/* Uploads objects in parts: large contents, and large objects under keys. remote.h declares the
 * functions. */
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "store/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int remote_upload_send(struct remote_upload *u,
                       const struct remote_call *call,
                       struct remote_answer *answer,
                       struct err *e)
{
    remote_answer_clear(answer);
    int result = remote_send(u->remote, call, answer, e);
    atomic_fetch_add(&u->tries, answer->tries);
    return result;
}

int remote_upload_part(struct remote_upload *u,
                       const struct remote_call *part,
                       size_t i,
                       struct err *e)
{
    return u->remote->service->upload_part(u, part, i, e);
}

int remote_upload(struct remote_upload *u, struct err *e)
{
    const struct remote_service *service = u->remote->service;

    u->etags = mem_zero(u->n_parts, sizeof *u->etags);
    int result = service->upload_begin(u, e);
    if (result == 0 && (parallel_each(u->n_parts, u->at_once, u->send, u->context, e) < 0 ||
                        service->upload_end(u, e) < 0)) {
        /* What cannot be ended now is found by the next cleaning, or ended by the server. */
        service->upload_abort(u);
        result = -1;
    }
    for (size_t i = 0; i < u->n_parts; i++)
        free(u->etags[i]);
    free(u->etags);
    free(u->id);
    return result;
}

/* ---- large content: what is sent is what was hashed ---- */

/* One large content on its way. */
struct large {
    struct remote_upload upload;
    const struct store_source *source;
    const struct store_content *content;
    const struct sha256_digest *part_digests;
};

struct part {
    const struct large *large;
    uint64_t offset, size;
    const struct sha256_digest *digest;
    struct sha256 *sha; /* of the bytes up to next */
    uint64_t next;
    uint64_t told; /* to progress; what is sent once more is not told again */
};

static bool go_on(const struct store_source *source)
{
    return !source->progress || source->progress(source->context, 0);
}

static bool part_go_on(void *context)
{
    const struct part *p = context;

    return go_on(p->large->source);
}

static int changed(const struct store_source *source, struct err *e)
{
    return err_set(e, ERR_CHANGED, "%s changed while it was read", source->name);
}

static int read_source(
    const struct store_source *source, uint64_t offset, char *bytes, size_t n, struct err *e)
{
    ssize_t got = file_pread_all(source->fd, bytes, n, offset);

    if (got < 0)
        return file_error(e, "read", source->name);
    return (size_t)got < n ? changed(source, e) : 0;
}

static bool tell(struct part *p, uint64_t end)
{
    const struct store_source *source = p->large->source;
    uint64_t more = end > p->told ? end - p->told : 0;

    p->told += more;
    return !source->progress || source->progress(source->context, more);
}

/* What a server has already need not be sent again, but counts. */
static int hash_up_to(struct part *p, uint64_t offset, struct err *e)
{
    char bytes[16 << 10];

    sha256_take(p->sha);
    for (p->next = 0; p->next < offset;) {
        uint64_t left = offset - p->next;
        size_t n = left < sizeof bytes ? (size_t)left : sizeof bytes;
        if (read_source(p->large->source, p->offset + p->next, bytes, n, e) < 0)
            return -1;
        sha256_add(p->sha, bytes, n);
        p->next += n;
    }
    return 0;
}

/* The server checks the hash too, but not every server does. */
static int pull(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    struct part *p = context;
    const struct store_source *source = p->large->source;

    if (!tell(p, offset + n))
        return err_set(e, ERR_RETRY, "interrupted");
    if (read_source(source, p->offset + offset, bytes, n, e) < 0)
        return -1;
    if (offset == 0) {
        sha256_take(p->sha);
        p->next = 0;
    }
    if (offset != p->next && hash_up_to(p, offset, e) < 0)
        return -1;
    sha256_add(p->sha, bytes, n);
    p->next += n;
    if (p->next < p->size)
        return 0;
    struct sha256_digest digest = sha256_take(p->sha);
    return sha256_equal(&digest, p->digest) ? 0 : changed(source, e);
}

/* ---- in one piece ---- */

/* From memory and in the background, so that many files of middling size do not wait for each
 * other's answers. */
static int put_whole(struct large *l, struct store_writer *w, struct err *e)
{
    size_t n = (size_t)l->content->place.size;
    AUTO_MEM unsigned char *bytes = mem_grow(NULL, n + 1, 1);
    AUTO(sha256) struct sha256 *sha = sha256_new();
    struct part p = {.large = l, .size = n, .digest = &l->content->digest, .sha = sha};

    if (n && pull(&p, 0, bytes, n, e) < 0)
        return -1;
    return remote_writer_send(w, l->content->place.blob, TAKE(bytes), n, e);
}

/* ---- in parts ---- */

static int send_part(void *context, size_t i, struct err *e)
{
    struct large *l = context;
    uint64_t part_bytes = l->content->part_bytes, left = l->content->place.size - i * part_bytes;
    AUTO(sha256) struct sha256 *sha = sha256_new();
    struct part p = {.large = l,
                     .offset = i * part_bytes,
                     .size = left < part_bytes ? left : part_bytes,
                     .digest = &l->part_digests[i],
                     .sha = sha};
    struct remote_call call = {
        .body_bytes = p.size,
        .digest = p.digest,
        .pull = pull,
        .go_on = part_go_on,
        .context = &p,
    };

    return remote_upload_part(&l->upload, &call, i, e);
}

/* Progress counts what is sent; hashing before that only asks whether to go on. */
static bool quiet_progress(void *context, uint64_t more_bytes)
{
    const struct large *l = context;

    (void)more_bytes;
    return go_on(l->source);
}

int remote_write_large(struct store_writer *w,
                       const struct store_source *source,
                       struct store_content *out,
                       struct err *e)
{
    struct remote *r = w->store->priv;
    struct large l = {.source = source, .content = out};
    struct store_source quiet = *source;
    char key[REMOTE_KEY];

    quiet.progress = quiet_progress;
    quiet.known = NULL;
    quiet.context = &l;
    AUTO_MEM struct sha256_digest *part_digests = NULL;
    if (store_take_in(&quiet, &(struct store_taker){.part_digests = &part_digests}, out, e) < 0)
        return -1;
    l.part_digests = part_digests;
    if (source->known && source->known(source->context, &out->digest)) {
        if (source->progress)
            source->progress(source->context, out->place.size);
        return 0;
    }
    store_name_large(w->store, w->session, &out->digest, out->place.blob);
    l.upload = (struct remote_upload){
        .remote = r,
        .key = remote_key(r, w->project, out->place.blob, key),
        .size = out->place.size,
        .part_bytes = out->part_bytes,
        .n_parts = out->n_parts,
        .at_once = r->service->parts_at_once,
        .only_new = true,
        .send = send_part,
        .context = &l,
    };
    int result = out->n_parts <= 1 ? put_whole(&l, w, e) : remote_upload(&l.upload, e);
    return result < 0 ? err_wrap(e, "send %s", source->name) : 0;
}

/* ---- an object under a key, from memory ---- */

struct keyed {
    struct remote_upload upload;
    const struct store_keyed_put *put;
};

static int send_range(void *context, size_t i, struct err *e)
{
    struct keyed *k = context;
    uint64_t each = k->upload.part_bytes, from = each * i;
    const struct remote_call call = {
        .body = (const char *)k->put->bytes + from,
        .body_bytes = i + 1 == k->upload.n_parts ? k->put->n - from : each,
    };

    return remote_upload_part(&k->upload, &call, i, e);
}

int remote_put_parts(struct remote *r,
                     const char *key,
                     const struct store_keyed_put *put,
                     size_t n_parts,
                     struct err *e)
{
    struct keyed k = {.put = put};

    k.upload = (struct remote_upload){
        .remote = r,
        .key = key,
        .size = put->n,
        .part_bytes = put->n / n_parts,
        .n_parts = n_parts,
        .at_once = (unsigned)n_parts,
        .send = send_range,
        .context = &k,
    };
    *put->etag_out = 0; /* the etag of parts is no condition */
    int result = remote_upload(&k.upload, e);
    put->tally->writes += k.upload.tries;
    put->tally->written_bytes += result == 0 ? put->n : 0;
    return result;
}
