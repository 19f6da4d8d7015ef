/* gc_economic: lets go of sets that are cheaper to make again than to keep. */
#ifndef CLI_DATA_GC_ECONOMIC_H
#define CLI_DATA_GC_ECONOMIC_H

#include "base/err.h"

struct command_args;

/* Of `gc --economic`. */
int gc_economic(const struct command_args *args, struct err *e);

#endif
