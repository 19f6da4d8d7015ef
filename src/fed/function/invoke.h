/* invoke: one invocation: a message of events, what was done about them, and the answer. */
#ifndef FED_FUNCTION_INVOKE_H
#define FED_FUNCTION_INVOKE_H

#include "base/auto.h"
#include "base/json.h"
#include "fed/event.h"
#include "fed/round.h"
#include "net/http.h"

/* ---- settings.c ---- */

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

/* ---- invoke.c ---- */

struct function {
    struct function_settings settings;
    struct http *http; /* NULL: nothing is sent by HTTP */
};

int function_open(struct function *f, struct err *e);
void function_clear(struct function *f);

struct function_message {
    const char *type, *subject; /* of CloudEvents in headers; NULL = none */
    const char *body;
    size_t n;
};

struct function_result {
    /* ERR_NONE; ERR_USAGE: the same message fails again; else deliver it again. */
    struct err why;
    bool readable; /* the message, that is */
    enum fed_event_sender sender;
    json_t *answer; /* what was done, or whatever the sender wants to hear; an object */
};
void function_result_clear(struct function_result *r);

/* From several threads at once. */
void function_invoke(struct function *f,
                     const struct function_message *m,
                     struct function_result *out);

/* ---- the ways in which clouds call a function: lambda.c and server.c ---- */

/* Lambda's runtime API at "HOST:PORT": asks for one invocation after the other, until the process
 * is ended. f NULL: tells that we cannot start, and why. */
int function_lambda(struct function *f, const char *api, const struct err *cannot, struct err *e);
/* An HTTP server on this address ("0.0.0.0") and port (0 = any). Serves until SIGTERM or SIGINT,
 * and then ends what is under way. */
int function_serve(struct function *f, const char *address, unsigned port, struct err *e);

#endif
