/* interrupt: Ctrl-C and SIGTERM ask long work to stop where nothing is left half done. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM is only noted; a second one ends the program at once. */
void interrupt_watch(void);
bool interrupt_seen(void);

#endif
