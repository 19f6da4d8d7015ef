/* settings: the settings of the aggregator, from its environment. `tradewind-aggregator --help`
 * lists the variables, docs/geo-function.md describes them. */
#ifndef FED_FUNCTION_SETTINGS_H
#define FED_FUNCTION_SETTINGS_H

#include "base/auto.h"
#include "fed/round.h"

struct function_settings {
    struct fed_aggregator aggregator;
    struct fed_place up;
    struct fed_place *fanout;
    char *up_event_url;
    char *event_log;
    char *token; /* a secret */
};

/* ERR_USAGE names the variable. */
int function_settings_read(struct function_settings *s, struct err *e);
void function_settings_clear(struct function_settings *s);

#endif
