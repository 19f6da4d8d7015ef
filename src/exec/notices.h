/* notices: what a cloud's metadata service tells an instance: whether, and when, the cloud takes it
 * away. The service is asked by the agent (agent/notice.c); what it answers is read here, and taken
 * for hostile. Also the file by which the agent that asks tells those that run jobs. base alone. */
#ifndef EXEC_NOTICES_H
#define EXEC_NOTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum notices_cloud { NOTICES_NONE, NOTICES_AWS, NOTICES_GCP, NOTICES_AZURE };

/* Which service is asked: "none", "aws", "gcp", "azure"; "aws@127.0.0.1:8080" asks there. */
struct notices {
    enum notices_cloud cloud;
    char address[16]; /* IPv4, as digits */
    uint16_t port;
};
bool notices_parse(const char *word, struct notices *out);

/* ---- HTTP ---- */

/* All that is read of an answer. */
#define NOTICES_ANSWER_MAX ((size_t)16 << 10)

struct notices_answer {
    int status;
    char *body; /* within the bytes that were read; NUL-terminated */
    size_t n;
};
/* A whole answer of n bytes, which ended with its connection; bytes[n] is ours, and chunks are put
 * together in place. false: it is none, or part of one. */
bool notices_answer_read(char *bytes, size_t n, struct notices_answer *out);

/* ---- what the answers say ---- */

struct notice {
    int64_t until_ms; /* from then on the machine may be gone */
    char text[200];   /* who says so, for people */
};

/* false: no notice. now_ms: by the clock of this machine; until_ms is at most an hour later. */
bool notices_read_aws(const struct notices_answer *a, int64_t now_ms, struct notice *out);
/* Of instance/preempted, and of instance/maintenance-event. */
bool notices_read_gcp(const struct notices_answer *a, int64_t now_ms, struct notice *out);
/* name: of this machine: the service tells of its neighbours, too. */
bool notices_read_azure(const struct notices_answer *a,
                        const char *name,
                        int64_t now_ms,
                        struct notice *out);

/* ---- the file "notice" of a directory of jobs ---- */

#define NOTICE_FILE_MAX 256
/* A line with its newline; out is returned. */
const char *notices_file_text(const struct notice *n, char out[static NOTICE_FILE_MAX]);
/* false: the first line is no such line. */
bool notices_file_parse(const char *text, struct notice *out);

#endif
