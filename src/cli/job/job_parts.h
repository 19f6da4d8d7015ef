/* job_parts: what the commands on jobs share. */
#ifndef CLI_JOB_JOB_PARTS_H
#define CLI_JOB_JOB_PARTS_H

#include "base/json.h"
#include "broker/core/details.h"
#include "cli/core/command.h"
#include "lake/job/job.h"

struct arena;
struct buf;

/* The lake that jobs are in, and where their directories lie. */
struct job_desk {
    struct lake *lake;
    char *home; /* absolute */
};
int job_desk_open(struct job_desk *out, struct err *e);
void job_desk_clear(struct job_desk *d);

/* "7" or "job:7"; ERR_USAGE for anything else. */
int job_id_parse(const char *text, int64_t *out, struct err *e);
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
int job_record_load(struct lake *l, int64_t id, struct job_record *out, struct err *e);
/* What cannot be read is none, with a warning: such a job must still be seen and ended. */
void job_read_details(const struct lake_job *job, struct job_details *out);

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
/* "1.5 GB", "512 MB"; out is returned. */
const char *job_memory_text(uint64_t memory_mb, char out[static 32]);
/* Time in running: measured, or up to now; < 0 = it has not run. */
double job_runtime_s(const struct lake_job *job);

/* How a command that waited for it ends: 0 when it finished, its own exit code, else 1. */
int job_exit_code(const struct lake_job *job);
/* One line of how it ended: "job 7 finished in 1.2 s". */
void job_print_end(FILE *out, const struct lake_job *job);
/* What was wrong with tags and metrics that it printed: an array of texts, the first 100. New
 * reference. */
json_t *job_warnings_json(const char *home, int64_t id);

/* A text for people, without what could steer a terminal, cut at max columns. */
void job_print_safe(FILE *out, const char *text, size_t max);

/* The reason of its last change: its first line as it stands, others, which are of its log, on
 * lines of their own. */
void job_print_reason(FILE *out, const char *reason);
/* Without what "killed" says already. */
const char *job_reason_text(const char *reason);

/* What jobs may take of this machine: a tenth of the memory stays for everything else. */
struct job_room {
    double cpus;
    uint64_t memory_mb;
};
struct job_room job_local_room(void);
/* ERR_NOFIT when it asks for more than there is. */
int job_check_local(const struct lake_job_request *r, struct err *e);
/* ERR_NOFIT when the month's spending cap is used up: nothing more is to begin. */
int job_check_month(struct lake *l, struct err *e);

/* Jobs take shares of a machine in these steps. */
#define JOB_CPU_STEP 0.5
#define JOB_MEMORY_STEP_MB 256
/* The options --cpus and --memory; 1 and 1024 where they are not given. */
int job_read_cpus(const struct command_args *args, double *out, struct err *e);
int job_read_memory(const struct command_args *args, uint64_t *out, struct err *e);

/* The option --input, before anything is stored. */
int job_input_check(struct lake *l, const char *input, bool *is_set_out, struct err *e);
/* A reference that names a set version stays; files and directories become one. New string. */
char *job_input_make(struct lake *l, const char *input, bool is_set, struct err *e);

/* Prints jobs beside one another, as `job compare` does. */
int job_compare_print(
    const struct job_desk *desk, const int64_t *ids, size_t n, bool json, struct err *e);
/* The same as JSON: an array. New reference; NULL: e. */
json_t *job_compare_json(const struct job_desk *desk, const int64_t *ids, size_t n, struct err *e);

#endif
