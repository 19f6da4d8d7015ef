/* home: the imported price histories of a home, $TRADEWIND_HOME/market/histories. */
#ifndef APP_MARKET_HOME_H
#define APP_MARKET_HOME_H

#include "app/core/app.h"
#include "market/series.h"

#include <stddef.h>

/* The histories of a home: one checksummed file, mapped into memory. ERR_NOTFOUND when nothing was
 * imported. */
struct market *app_market_load(const char *home, struct err *e);
/* The same of the app's home. */
struct market *app_market_open(struct app *app, struct err *e);

/* Whether an offer is at "aws:us-east-1", "aws" or, NULL, anywhere. */
bool app_market_is_at(const struct market_offer *o, const char *location);

/* Replaces the file by these bytes, unless it holds them already: *changed_out. */
int app_market_save(
    const char *home, const void *bytes, size_t len, bool *changed_out, struct err *e);
/* Waits for the lock of writers: a descriptor to close when done, or -1. Creates the directory. */
int app_market_lock(const char *home, struct err *e);

/* "2020-03-23" or, with the time of day, "2020-03-23T16:10:00Z". */
const char *app_market_day(double at_s, char out[static 32]);
const char *app_market_time(double at_s, char out[static 32]);

#endif
