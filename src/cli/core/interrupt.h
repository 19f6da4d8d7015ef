/* interrupt: Ctrl-C and SIGTERM ask long work to stop where nothing is left half done. */
#ifndef CLI_CORE_INTERRUPT_H
#define CLI_CORE_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT and SIGTERM, at most this many, are only noted; the next one ends
 * the program at once. 2 is for work that has a quicker way to stop as well. */
void interrupt_watch(int at_most);
/* A terminal that goes (SIGHUP) counts as well, unless the program is to live on without it
 * (nohup).
 */
void interrupt_watch_terminal(void);
bool interrupt_seen(void);
/* How many were noted. */
unsigned interrupt_count(void);

#endif
