/* interrupt: Ctrl-C and SIGTERM ask long work to stop where nothing is left half done. */
#ifndef CLI_CORE_INTERRUPT_H
#define CLI_CORE_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM is only noted; a second one ends the program at once. */
void interrupt_watch(void);
/* The same with two that are noted, for work that has a quicker way to stop as well. */
void interrupt_watch_two(void);
/* A terminal that goes (SIGHUP) counts as well, unless the program is to live on without it
 * (nohup).
 */
void interrupt_watch_terminal(void);
bool interrupt_seen(void);
/* How many were noted. */
unsigned interrupt_count(void);

#endif
