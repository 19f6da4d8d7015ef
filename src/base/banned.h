/* banned: included before every file of src/, so that calls which cannot be bounded, are not
 * thread-safe or run a shell do not compile. base/buf, base/time and base/number replace them. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/* Headers that declare these names come first: a poisoned name may not even be declared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Fortified headers make macros of them, and clang warns when a macro is poisoned. */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok
#pragma GCC poison atoi atol atoll atof gets system gmtime localtime

#endif
