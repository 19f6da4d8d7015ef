/* modes: the ways in which clouds call a function. */
#ifndef FED_FUNCTION_MODES_H
#define FED_FUNCTION_MODES_H

#include "fed/function/invoke.h"

/* Lambda's runtime API at "HOST:PORT": asks for one invocation after the other, until the process
 * is ended. f NULL: tells that we cannot start, and why. */
int function_lambda(struct function *f, const char *api, const struct err *cannot, struct err *e);

struct function_server {
    const char *address; /* "0.0.0.0" */
    unsigned port;       /* 0 = any */
};
/* Serves until SIGTERM or SIGINT, and then ends what is under way. */
int function_serve(struct function *f, const struct function_server *s, struct err *e);

#endif
