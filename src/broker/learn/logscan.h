/* logscan: finds tags and metrics in what a job prints. Pure.
 *   [TRADEWIND_TAG] key:value            [TRADEWIND_TAG] SET key:value
 *   [TRADEWIND_TAG_NUM] key:1.5          [ACAI_TAG] SET KEY:VALUE
 *   [TRADEWIND_METRIC] name step value   (nan and inf are NAN)
 *   {"name": value, "step": step}         where JSON is asked for (logscan_json.h)
 * The mark begins a line, blanks before it aside. The first colon ends the key; blanks around the
 * value are dropped, within it they stay. */
#ifndef BROKER_LEARN_LOGSCAN_H
#define BROKER_LEARN_LOGSCAN_H

#include "base/auto.h"

#include <stdbool.h>
#include <stddef.h>

#define LOGSCAN_LINE_MAX 8192

/* Functions that are NULL are not called. */
struct logscan_visitor {
    void *context;
    /* pair: "key=value", fit for lake_job_tag. set: as named, NULL = none. */
    void (*tag)(void *context, const char *set, const char *pair);
    void (*metric)(void *context, const char *name, double step, double value);
    /* A line with a mark that cannot be read, or with one that is none ("[TRADEWIND_TAGS]"): the
     * line and what is wrong with it, printable, in one line of less than 600 bytes. */
    void (*malformed)(void *context, const char *text);
    bool json; /* lines that are JSON objects are metrics, too */
};

struct logscan;
struct logscan *logscan_new(const struct logscan_visitor *visitor);
void logscan_free(struct logscan *s);
AUTO_DEFINE(logscan)
/* Bytes as they come; lines longer than LOGSCAN_LINE_MAX are no marks. Other lines cost next to
 * nothing: a flood of 100 MB/s is fine. */
void logscan_take(struct logscan *s, const char *bytes, size_t n);
/* The job is over: the last line counts without its newline. */
void logscan_end(struct logscan *s);
/* The last whole lines, at most max bytes (and 16 KiB), printable, without the last newline: for
 * the message of a failed job. Of a single line that is longer, its end. Borrowed until the next
 * call. */
const char *logscan_last_lines(struct logscan *s, size_t max);

#endif
