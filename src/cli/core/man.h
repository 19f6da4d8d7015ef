/* man: the manual page tradewind(1), made from the command table. */
#ifndef CLI_CORE_MAN_H
#define CLI_CORE_MAN_H

#include <stdio.h>

void man_page(FILE *out);

#endif
