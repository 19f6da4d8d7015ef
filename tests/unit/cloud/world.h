/* world: homes in a scratch directory, a clock that tests move, and clouds upon them. */
#ifndef CLOUD_WORLD_H
#define CLOUD_WORLD_H

#include "cloud/cloud.h"

#include <math.h>

#define HOUR_MS ((int64_t)3600 * 1000)
#define DAY_MS (24 * HOUR_MS)
/* Where the clock starts. */
#define BEGIN_MS ((int64_t)1700000000000)

struct world {
    char home[300];
    int64_t now_ms;
    struct cloud_options options; /* of home and clock; tests change the rest */
};

/* A new home each. */
void world_init(struct world *w, const char *driver);
void world_clear(struct world *w);
/* A failure is printed, and NULL. */
struct cloud *world_open(struct world *w);
/* The path of a file of the driver's folder; good until the next call. */
const char *world_file(const struct world *w, const char *name);

/* p3.2xlarge in aws/us-east-1/us-east-1a at 3.06 USD an hour. */
struct cloud_request world_request(const char *token);

/* The failure of a call; CLOUD_FINE when it went well. The error is kept in world_error.err. */
extern struct cloud_error world_error;

enum cloud_failure launch(struct cloud *c, const char *token, struct cloud_machine *out);
enum cloud_failure launch_as(struct cloud *c,
                             const struct cloud_request *request,
                             struct cloud_machine *out);
enum cloud_failure look(struct cloud *c, const char *token, struct cloud_machine *out);
enum cloud_failure terminate(struct cloud *c, const char *token);

/* The tokens of the list, sorted, each followed by a space; good until the next call. "failed" when
 * there is none. */
const char *listed(struct cloud *c);

/* Runs work in n processes at once; how many of them returned something else than 0. */
int world_fork(int n, int (*work)(void *context, int number), void *context);

#endif
