/* settings: the settings of the aggregator, from its environment.
 *
 *     TRADEWIND_STORE               s3://BUCKET[/PREFIX] or dir:/PATH: where inputs are written.
 *                                   Events of other buckets and prefixes are ignored
 *     TRADEWIND_STORE_ENDPOINT      of s3, if not at Amazon: https://HOST:PORT
 *     TRADEWIND_STORE_REGION        of s3, else as AWS's tools have it
 *     TRADEWIND_WORKERS             how many workers there are (in a region: there)
 *     TRADEWIND_QUORUM              inputs that are enough: a number, or a share as 0.75;
 *                                   all unless said
 *     TRADEWIND_WEIGHTED            1 = by samples
 *     TRADEWIND_FINITE              1 = NaN and infinite numbers are refused
 *     TRADEWIND_LEASE_S             60: after this another invocation takes a round over
 *     TRADEWIND_UP_STORE            a region's aggregator: where its mean goes, with
 *                                   TRADEWIND_UP_ENDPOINT and TRADEWIND_UP_REGION
 *     TRADEWIND_UP_WORKER           as input of this number (the region's, from 0)
 *     TRADEWIND_UP_EVENT_URL        gets the event of that, if the store sends none
 *     TRADEWIND_FANOUT              the mean goes to these stores instead:
 *                                   URL[|ENDPOINT[|REGION]], with commas between
 *     TRADEWIND_EVENT_LOG           a file that gets a line of JSON for each invocation:
 *                                   {"kind": "invoke", "who": "function", "round": 7,
 *                                    "outcome": "averaged", "lists": 1, "reads": 8, "writes": 2,
 *                                    "deletes": 9, "read_bytes": ..., "written_bytes": ...,
 *                                    "start": ..., "end": ...}
 *     PORT                          how it is called: as HTTP server,
 *     FUNCTIONS_CUSTOMHANDLER_PORT  by Azure's functions host,
 *     AWS_LAMBDA_RUNTIME_API        by Lambda. Port 0 = any free one; the first line of output
 *                                   tells: "listening on 127.0.0.1:41234"
 *     TRADEWIND_LISTEN              the server's address (0.0.0.0; for Azure's host 127.0.0.1)
 *
 * Keys for s3 are found where AWS's tools find them. */
#ifndef FED_FUNCTION_SETTINGS_H
#define FED_FUNCTION_SETTINGS_H

#include "base/auto.h"
#include "fed/round.h"

struct function_settings {
    struct fed_aggregator aggregator;
    char *bucket; /* NULL: a directory; events tell keys alone */
    char *prefix; /* below the bucket, of the store: "" or without slashes around it */
    struct fed_place up;
    struct fed_place *fanout;
    char *up_event_url, *up_bucket, *up_prefix;
    char *event_log;
    char *token; /* a secret */
};

/* ERR_USAGE names the variable. look: getenv, or a test's. */
int function_settings_read(struct function_settings *s,
                           const char *(*look)(void *context, const char *name),
                           void *context,
                           struct err *e);
void function_settings_clear(struct function_settings *s);

#endif
