/* logscan_json: metrics in printed lines that are JSON objects, {"loss": 0.42, "step": 10}. Pure.
 */
#ifndef BROKER_LEARN_LOGSCAN_JSON_H
#define BROKER_LEARN_LOGSCAN_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Tells every member that is a number, "step" excepted, which is the step; without one the step is
 * ordinal. NaN, Infinity and -Infinity, as Python writes them, are NAN. Names that the lake cannot
 * keep and members of other types are skipped. Changes line, which ends with NUL. False: the line
 * is no JSON object. */
bool logscan_json(char *line,
                  size_t len,
                  double ordinal,
                  void (*metric)(void *context, const char *name, double step, double value),
                  void *context);

#endif
