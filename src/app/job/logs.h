/* logs: the bytes that a job printed, also while it runs. */
#ifndef APP_JOB_LOGS_H
#define APP_JOB_LOGS_H

#include "app/core/app.h"

struct app_job_logs {
    const char *id; /* "7" or "job:7" */
    bool follow;    /* until the job is over */
    bool has_tail;
    uint64_t tail; /* begin with the last lines */
    /* Gets the bytes as they come; after the last ones n = 0. < 0 ends the call. */
    int (*take)(void *context, const char *bytes, size_t n, struct err *e);
    void *context;
};
/* 1: all bytes; 0: the caller cancelled; -1. */
int app_job_logs(struct app *app, const struct app_job_logs *request, struct err *e);

#endif
