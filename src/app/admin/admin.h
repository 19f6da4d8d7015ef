/* admin: operations on the configuration, on machines and on the installation itself. */
#ifndef APP_ADMIN_ADMIN_H
#define APP_ADMIN_ADMIN_H

#include "app/core/operation.h"

/* clang-format off */
#define ADMIN_OPERATIONS(X)                                                                        \
    X(config_get) X(config_list) X(config_set) X(machine_list) X(machine_cleanup) X(doctor)         \
    X(bill_get) X(bill_focus) X(cloud_check)
/* clang-format on */
ADMIN_OPERATIONS(OPERATION_DECLARE)

/* ---- configuration ---- */

struct admin_setting {
    const char *key;
    json_t *value; /* a number where the text is one */
    enum admin_origin { ADMIN_DEFAULT = 1, ADMIN_FILE, ADMIN_ENVIRONMENT, ADMIN_FLAG } origin;
    int64_t line;     /* of the file; FIELD_NONE = the value is not from the file */
    const char *text; /* the value as the file has it */
};

struct admin_settings {
    const char *file; /* config.yaml of the home */
};

/* Whether key names settings below it ("plan") instead of one. */
bool admin_config_is_group(struct app *app, const char *key);

/* ---- machines ---- */

struct admin_machine {
    const char *cloud, *provider, *region, *zone, *instance_type;
    bool spot;
    const char *state;
    const char *since; /* time of the last change */
    int64_t run, job;  /* 0 = none */
    int64_t stage;     /* FIELD_NONE = none */
    const char *token, *id, *reason, *expires_at;
    double price_usd_per_hour;
    int64_t cost_microusd, data_microusd;
    /* For tables and lines. */
    double age_s;     /* since the last change; NAN = the machine lives by a simulation's clock */
    const char *type; /* instance type, or the address of a host of one's own */
    const char *location; /* "aws/us-east-1a", "lab" */
};

/* An orphaned machine, and what became of it. */
struct admin_orphan {
    struct admin_machine machine;
    const char *found; /* why nothing owns it */
    const char *error; /* NULL = terminated, or a dry run */
    bool forgotten;    /* released although its host does not answer */
};

/* functions.c: finds functions and what was made for them that this home deployed and that no
 * record has, and what a destroy left; with yes deletes them. An item is a struct admin_orphan.
 * *open grows by those that are not confirmed to be gone. */
int admin_clean_functions(
    struct app *app, bool yes, struct answer *out, size_t *open, struct err *e);

/* ---- the bill ---- */

struct admin_bill {
    const char *month, *by;
    int64_t jobs, machines;
    int64_t measured_microusd, modelled_microusd, microusd;
};

struct admin_bill_line {
    const char *name;
    int64_t jobs;
    double machine_s;
    int64_t measured_microusd, modelled_microusd, microusd;
};

/* ---- the installation ---- */

enum doctor_verdict {
    DOCTOR_OK = 1,
    DOCTOR_WARNING,
    DOCTOR_MISSING, /* optional here */
    DOCTOR_BROKEN,  /* jobs cannot run on this machine without it */
};
extern const char *const doctor_verdicts[];

struct doctor_check {
    const char *check;
    enum doctor_verdict verdict;
    const char *found;
    const char *fix; /* "" = there is nothing to do */
};

extern const struct record doctor_check_record;

/* Of this machine, or of a cloud's account. */
struct doctor_report {
    bool ok;
    struct field_records checks; /* struct doctor_check */
};

/* ---- the background broker; not in the table: it is a process ---- */

/* Serves the home's jobs until the broker is idle, asked to retire or terminated. ready_fd gets a
 * line once clients may connect. */
int admin_broker_serve(struct app *app, int ready_fd, struct err *e);
/* 1: the broker has ended, 0: none was running, -1. */
int admin_broker_stop(struct app *app, struct err *e);

#endif
