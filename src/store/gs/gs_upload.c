/* Resumable uploads to Google: parts go to the URL of a session, in order, and what breaks off goes
 * on where the server says. The driver lists the functions. */
#include "base/mem.h"
#include "base/time.h"
#include "store/gs/gs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 6
#define FIRST_WAIT_S 0.25
#define MAX_WAIT_S 5.0
/* Of sessions that the server has forgotten. */
#define RESTARTS 2
#define RANGE_MAX 100

int gs_upload_begin(struct remote_upload *u, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    AUTO_MEM char *path = gs_upload_path(u->remote);
    char size[24];
    const struct sigv4_pair query[] = {
        {"uploadType", "resumable"}, {"name", u->key}, {"ifGenerationMatch", "0"}};
    const struct sigv4_pair headers[] = {{"x-upload-content-type", "application/octet-stream"},
                                         {"x-upload-content-length", size}};
    struct remote_call call = {
        .operation = "write",
        .method = "POST",
        .key = u->key,
        .path = path,
        .query = query,
        .n_query = u->only_new ? 3 : 2,
        .headers = headers,
        .n_headers = 2,
    };

    snprintf(size, sizeof size, "%" PRIu64, u->size);
    u->crc = 0;
    if (remote_upload_send(u, &call, &answer, e) < 0)
        return -1;
    const char *url = http_answer_header(&answer.http, "location");
    if (!url || !*url)
        return err_set(e, ERR_IO, "%s/%s: the server gives the upload no URL", u->remote->shown,
                       u->key);
    free(u->id);
    u->id = mem_dup(url);
    return 0;
}

/* ---- what the server has ---- */

/* The bytes of an upload that goes on: "Range: bytes=0-N"; none without that header. */
static uint64_t committed(const struct remote_answer *a)
{
    const char *range = http_answer_header(&a->http, "range");
    const char *dash = range && strncmp(range, "bytes=0-", 8) == 0 ? range + 8 : NULL;

    return dash ? strtoull(dash, NULL, 10) + 1 : 0;
}

/* Takes an answer of the session: the bytes that are there, or that it is complete. */
static int take_answer(struct remote_upload *u,
                       const struct remote_answer *a,
                       uint64_t *there_out,
                       struct err *e)
{
    struct gs_object object;

    if (a->http.status == 308) {
        *there_out = committed(a);
        return 0;
    }
    u->is_complete = true;
    *there_out = u->size;
    return gs_verify(u->remote, u->key, a, u->crc, &object, e);
}

static struct remote_call session_call(const struct remote_upload *u,
                                       const struct sigv4_pair *header)
{
    return (struct remote_call){
        .operation = "write",
        .method = "PUT",
        .key = u->key,
        .url = u->id,
        .headers = header,
        .n_headers = 1,
    };
}

/* 0; 1: the server knows no such session; -1. */
static int ask_session(struct remote_upload *u, uint64_t *there_out, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    char range[RANGE_MAX];
    const struct sigv4_pair header = {"content-range", range};
    struct remote_call call = session_call(u, &header);

    snprintf(range, sizeof range, "bytes */%" PRIu64, u->size);
    if (remote_upload_send(u, &call, &answer, e) < 0)
        return strcmp(answer.code, "NoSuchUpload") == 0 ? 1 : -1;
    return take_answer(u, &answer, there_out, e);
}

/* ---- a part ---- */

/* What of a part the server does not have yet. */
struct rest {
    const struct remote_call *part;
    uint64_t skipped;
};

static int pull_rest(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    const struct rest *rest = context;

    return rest->part->pull(rest->part->context, rest->skipped + offset, bytes, n, e);
}

/* Sends once. As ask_session. */
static int send_rest(struct remote_upload *u,
                     const struct remote_call *part,
                     uint64_t begin,
                     uint64_t *there,
                     struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    struct rest rest = {.part = part, .skipped = *there - begin};
    char range[RANGE_MAX];
    const struct sigv4_pair header = {"content-range", range};
    struct remote_call call = session_call(u, &header);

    snprintf(range, sizeof range, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, *there,
             begin + part->body_bytes - 1, u->size);
    call.body_bytes = part->body_bytes - rest.skipped;
    call.pull = pull_rest;
    call.context = &rest;
    call.is_single = true;
    if (remote_upload_send(u, &call, &answer, e) < 0)
        return strcmp(answer.code, "NoSuchUpload") == 0 ? 1 : -1;
    return take_answer(u, &answer, there, e);
}

static bool may_go_on(const struct remote_call *part)
{
    return !part->go_on || part->go_on(part->context);
}

/* The part from where the server has it, until it has all. As ask_session. */
static int send_part(struct remote_upload *u,
                     const struct remote_call *part,
                     uint64_t begin,
                     struct err *e)
{
    uint64_t there = begin, end = begin + part->body_bytes;

    for (unsigned tries = 1; there < end; tries++) {
        struct err why = {0};
        uint64_t before = there;
        int result = send_rest(u, part, begin, &there, &why);
        if (result < 0 && why.kind == ERR_RETRY && !u->is_complete && tries < TRIES &&
            may_go_on(part)) {
            http_wait(u->remote->http, tries + 1, FIRST_WAIT_S, MAX_WAIT_S);
            result = ask_session(u, &there, &why);
        }
        if (result)
            return result < 0 ? err_set(e, why.kind, "%s", why.text) : 1;
        if (there < begin || (there == before && tries == TRIES) || there > u->size)
            return err_set(e, ERR_IO, "%s/%s: the server has %" PRIu64 " bytes of the upload",
                           u->remote->shown, u->key, there);
        if (there > before)
            tries = 0;
    }
    return 0;
}

/* Once more from the beginning, up to this part. */
static int restart(struct remote_upload *u, size_t i, struct err *e)
{
    if (u->restarts++ == RESTARTS)
        return err_set(e, ERR_RETRY, "%s/%s: the server forgets the upload again and again",
                       u->remote->shown, u->key);
    if (gs_upload_begin(u, e) < 0)
        return -1;
    for (size_t k = 0; k < i; k++)
        if (u->send(u->context, k, e) < 0)
            return -1;
    return 0;
}

int gs_upload_part(struct remote_upload *u, const struct remote_call *part, size_t i, struct err *e)
{
    for (;;) {
        if (remote_each_byte(part, gs_add_crc, &u->crc, e) < 0)
            return -1;
        int result = send_part(u, part, i * u->part_bytes, e);
        if (result <= 0)
            return result;
        if (restart(u, i, e) < 0)
            return -1;
    }
}

int gs_upload_end(struct remote_upload *u, struct err *e)
{
    uint64_t there = 0;

    if (u->is_complete || (ask_session(u, &there, e) == 0 && u->is_complete))
        return 0;
    return err_set(e, ERR_IO, "%s/%s: the upload is not complete: the server has %" PRIu64 " bytes",
                   u->remote->shown, u->key, there);
}

void gs_upload_abort(struct remote_upload *u)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    const struct sigv4_pair header = {"content-length", "0"};
    struct remote_call call = session_call(u, &header);

    call.method = "DELETE";
    call.operation = "delete";
    call.is_single = true;
    if (u->id && !u->is_complete)
        remote_send(u->remote, &call, &answer, NULL);
}
