/* time: durations and dates as people write them. */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include "base/err.h"

#include <stdint.h>

/* "90s" "10m" "3h" "2d" "1.5h" "1h30m"; a bare number counts in bare_unit_s (1 for seconds, 86400
 * for days). Negative, NaN, infinite, empty and trailing text are ERR_USAGE that quotes the text.
 */
int time_parse_duration(const char *text, double bare_unit_s, double *seconds_out, struct err *e);

/* "1.2 s", "4 m 05 s", "3 h 20 m", "2 d 4 h". Written into out and returned. */
const char *time_text(double seconds, char out[static 32]);

/* As time_parse_duration reads it, rounded up to seconds, from an hour on to minutes: "42m10s",
 * "2h30m", "29h". A deadline typed so holds. Written into out and returned. */
const char *time_typed_text(double seconds, char out[static 32]);

/* Clocks are read here and nowhere else; pure rooms get the time as an argument. */
double time_monotonic_s(void);
/* How long something takes, or when it is tried again, in one process: never 0, and no setting of
 * the wall clock changes it. */
int64_t time_monotonic_ms(void);
int64_t time_epoch_ms(void);
/* "2026-11-15T22:36:00Z"; out is returned. */
const char *time_iso(int64_t epoch_ms, char out[static 32]);
/* "2026-11-15T22:36:00.250Z" */
const char *time_iso_ms(int64_t epoch_ms, char out[static 32]);
/* The other way: "2026-11-15T22:36:00Z", with or without fraction, or
 * "...T14:36:00-08:00", and "Sun, 15 Nov 2026 22:36:00
 * GMT" as HTTP has it; 0 for what is neither. */
int64_t time_from_iso(const char *text);
int64_t time_from_http(const char *text);
/* Begin of the day of "2026-11-15" (UTC); 0 for what is no date. */
int64_t time_from_date(const char *text);

#endif
