/* What clouds on the network reach the world by: variables, requests, our own address. rest.h
 * declares the functions. */
#include "cloud/driver.h"
#include "cloud/rest.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_SERVICE "https://checkip.amazonaws.com/"
#define ADDRESS_TIMEOUT_S 20.0

const char *cloud_variable(void *context, const char *name)
{
    const struct cloud_outside *o = context;

    return o->variable ? o->variable(o->context, name) : getenv(name);
}

int cloud_transmit(struct cloud *c,
                   struct http **http,
                   const struct http_request *r,
                   struct http_answer *out,
                   struct err *e)
{
    const struct cloud_outside *o = &c->options.outside;

    if (o->send)
        return o->send(o->context, r, out, e);
    if (!*http && !(*http = http_new(c->options.seed, e)))
        return -1;
    return http_send(*http, r, out, e);
}

int cloud_own_network(struct cloud *c,
                      struct http **http,
                      const char *variable,
                      char out[static 64],
                      struct cloud_error *e)
{
    const char *url = cloud_variable(&c->options.outside, variable);
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    struct in_addr v4;
    struct err why = {0};

    if (c->options.admit) {
        snprintf(out, 64, "%s", c->options.admit);
        return 0;
    }
    if (!url || !*url)
        url = ADDRESS_SERVICE;
    const struct http_request r = {.method = "GET",
                                   .url = url,
                                   .headers = (const char *const[]){NULL},
                                   .max_answer_bytes = 1000,
                                   .timeout_s = ADDRESS_TIMEOUT_S};
    if (cloud_transmit(c, http, &r, &answer, &why) < 0)
        return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_ACCOUNT, "the address of this machine: %s",
                          why.text);
    snprintf(out, 64, "%.*s", (int)strcspn(answer.body, " \r\n"), answer.body);
    if (answer.status != 200 || inet_pton(AF_INET, out, &v4) != 1)
        return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_ACCOUNT,
                          "the address of this machine: %s answers with status %d and no IPv4 "
                          "address",
                          url, answer.status);
    snprintf(out + strlen(out), 64 - strlen(out), "/32");
    return 0;
}
