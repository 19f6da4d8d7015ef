/* tap: results of a unit test for `prove`, one line a check. */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>
#include <stdlib.h>

static int tap_count, tap_failed;

/* The name may be a printf format with arguments. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        int good_ = !!(condition);                                                                 \
        tap_failed += !good_;                                                                      \
        printf("%sok %d - ", good_ ? "" : "not ", ++tap_count);                                    \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        if (!good_)                                                                                \
            printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                               \
    } while (0)

#define TAP_SKIP_ALL(why) (printf("1..0 # SKIP %s\n", why), EXIT_SUCCESS)
#define TAP_DONE() (printf("1..%d\n", tap_count), tap_failed ? EXIT_FAILURE : EXIT_SUCCESS)

#endif
