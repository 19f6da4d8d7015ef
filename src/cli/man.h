/* man: the manual page tradewind(1), made from the command table. */
#ifndef CLI_MAN_H
#define CLI_MAN_H

#include <stdio.h>

void man_page(FILE *out);

#endif
