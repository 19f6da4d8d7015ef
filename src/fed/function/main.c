/* tradewind-aggregator: the function that averages, for any cloud. */
#include "base/log.h"
#include "base/number.h"
#include "fed/function/invoke.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: tradewind-aggregator\n"
    "\n"
    "Average what the workers of a geo-distributed training write into an object store, as soon "
    "as\n"
    "a round is complete. All settings come from the environment:\n"
    "\n"
    "  TRADEWIND_STORE            s3://BUCKET[/PREFIX], gs://..., az://ACCOUNT/CONTAINER[/PREFIX] "
    "or\n"
    "                             dir:/PATH, with TRADEWIND_STORE_ENDPOINT and\n"
    "                             TRADEWIND_STORE_REGION where it is not the cloud's own\n"
    "  TRADEWIND_WORKERS          how many workers there are\n"
    "  TRADEWIND_QUORUM           inputs that suffice: a number, or a share such as 0.75\n"
    "  TRADEWIND_KEEP_MEANS=1     of all rounds: where regions have a quorum\n"
    "  TRADEWIND_WEIGHTED=1       by samples; also for means of regions\n"
    "  TRADEWIND_FINITE=1         NaN and infinite numbers are refused\n"
    "  TRADEWIND_LEASE_S          60: seconds after which another one may take a round over\n"
    "  TRADEWIND_UP_STORE         of a region: the store its mean goes to, as input number\n"
    "  TRADEWIND_UP_WORKER        ... this one; TRADEWIND_UP_EVENT_URL is told of it\n"
    "  TRADEWIND_FANOUT           write the mean to these stores: URL[|ENDPOINT[|REGION]],...\n"
    "  TRADEWIND_EVENT_TOKEN      the token that events over HTTP must carry\n"
    "  TRADEWIND_EVENT_LOG        a file for a line of JSON about each invocation\n"
    "  TRADEWIND_INSECURE=1       http:// may lead to other machines\n"
    "  TRADEWIND_LOG              info or debug: says more on standard error\n"
    "  TRADEWIND_LISTEN           address to serve at: 127.0.0.1, or 0.0.0.0 for all of them\n"
    "\n"
    "AWS_LAMBDA_RUNTIME_API makes it a Lambda function, FUNCTIONS_CUSTOMHANDLER_PORT a custom "
    "handler\n"
    "of Azure Functions, PORT an HTTP server (Cloud Run, Eventarc, Event Grid, S3 "
    "notifications).\n";

static int read_port(const char *name, const char *text, unsigned *out, struct err *e)
{
    double port;

    if (!number_parse(text, &port) || !(port >= 0 && port <= 65535) || port != floor(port))
        return err_set(e, ERR_USAGE, "%s=%.20s: write a port", name, text);
    *out = (unsigned)port;
    return 0;
}

static int run_server(struct function *f, struct err *e)
{
    const char *handler = getenv("FUNCTIONS_CUSTOMHANDLER_PORT"), *port = getenv("PORT");
    const char *listen = getenv("TRADEWIND_LISTEN");
    unsigned number;

    if (!handler && !port)
        return err_set(e, ERR_USAGE,
                       "set PORT to serve events over HTTP (Lambda and Azure set what they need); "
                       "--help lists all settings");
    if (!listen || !*listen)
        listen = "127.0.0.1";
    if (read_port(handler ? "FUNCTIONS_CUSTOMHANDLER_PORT" : "PORT", handler ? handler : port,
                  &number, e) < 0)
        return -1;
    return function_serve(f, listen, number, e);
}

static int run(struct err *e)
{
    const char *api = getenv("AWS_LAMBDA_RUNTIME_API"), *level = getenv("TRADEWIND_LOG");
    enum log_level wanted;
    struct function f;
    struct err why = {0};

    if (level && log_level_from_text(level, &wanted) == 0)
        log_set_level(wanted);
    int opened = function_open(&f, &why);
    int result = -1;
    if (opened < 0) {
        if (api)
            function_lambda(NULL, api, &why, NULL);
        *e = why;
    } else if (api) {
        result = function_lambda(&f, api, NULL, e);
    } else {
        result = run_server(&f, e);
    }
    function_clear(&f);
    return result;
}

int main(int argc, char **argv)
{
    struct err e = {0};

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("tradewind-aggregator %s\n", TRADEWIND_VERSION);
        return 0;
    }
    if (argc > 1) {
        fprintf(stderr, "tradewind-aggregator: unknown option %s; --help lists the settings\n",
                argv[1]);
        return 2;
    }
    if (run(&e) == 0)
        return 0;
    fprintf(stderr, "tradewind-aggregator: %s\n", e.text);
    return err_exit_code(e.kind);
}
