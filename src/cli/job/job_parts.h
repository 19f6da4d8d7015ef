/* job_parts: what the commands on jobs share. */
#ifndef CLI_JOB_JOB_PARTS_H
#define CLI_JOB_JOB_PARTS_H

#include "app/job/job.h"
#include "app/job/resources.h"
#include "base/json.h"
#include "cli/core/operate.h"

struct arena;
struct buf;

/* The lake that jobs are in, and where their directories lie. */
struct job_desk {
    struct operate_door *door;
    struct app *app;
    struct lake *lake;
    const char *home; /* absolute */
};
int job_desk_open(struct job_desk *out, struct err *e);
void job_desk_clear(struct job_desk *d);

/* All operands of a command, each an id; new array. NULL: ERR_USAGE. */
int64_t *job_ids_parse(const struct command_args *args, struct err *e);

/* One job, copied out of the lake. */
struct job_record {
    struct arena *arena;
    struct lake_job job;
    struct job_details details;
};
void job_record_clear(struct job_record *r);
/* ERR_NOTFOUND says which jobs there are. */
int job_record_load(struct app *app, int64_t id, struct job_record *out, struct err *e);

/* The one job that a command is about, and where it is. */
int job_open(const char *id, struct job_desk *desk, struct job_record *out, struct err *e);

/* What `job show --json` prints, without transitions and tags. New reference. */
json_t *job_json(const struct lake_job *job, const struct job_details *details);
/* The same with them and with warnings: the whole answer. NULL: e. */
json_t *job_json_whole(const struct job_desk *desk, const struct job_record *r, struct err *e);
/* "usage": what its machine did while it ran; null when that is not known. New reference; NULL: e.
 */
json_t *job_usage_json(const char *home, int64_t id, struct err *e);
/* "tags": what the job printed, and its arguments; nothing that is told elsewhere. New reference;
 * NULL: e. */
json_t *job_tags_json(struct lake *l, int64_t id, struct err *e);

/* Words as a shell would take them; b is empty. */
void job_put_command(struct buf *b, const char *const *command, size_t n);
/* One line of how it ended: "job 7 finished in 1.2 s". */
void job_print_end(FILE *out, const struct lake_job *job);
/* What was wrong with tags and metrics that it printed: an array of texts, the first 100. New
 * reference. */
json_t *job_warnings_json(const char *home, int64_t id);

/* The reason of its last change: its first line as it stands, others, which are of its log, on
 * lines of their own. */
void job_print_reason(FILE *out, const char *reason);

/* The options --cpus and --memory; 1 and 1024 where they are not given. */
int job_read_cpus(const struct command_args *args, double *out, struct err *e);
int job_read_memory(const struct command_args *args, uint64_t *out, struct err *e);

/* Prints jobs beside one another, as `job compare` does. */
int job_compare_print(
    const struct job_desk *desk, const int64_t *ids, size_t n, bool json, struct err *e);
/* The same as JSON: an array. New reference; NULL: e. */
json_t *job_compare_json(const struct job_desk *desk, const int64_t *ids, size_t n, struct err *e);

#endif
