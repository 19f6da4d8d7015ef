/* account: the spot price history that an AWS account sees, asked for once. */
#ifndef APP_MARKET_ACCOUNT_H
#define APP_MARKET_ACCOUNT_H

#include "app/market/market.h"

struct config;
struct market_import;

struct app_market_account {
    struct app *app;
    const struct config *config;
    const char *region;      /* NULL = those of the configuration, else the account's */
    struct field_list types; /* none = all */
    double days;
    bool anew; /* nothing was asked before */
};

/* Adds the records of the days before now that were not asked for before, a report per region.
 * *asked_out: what was asked for by now, to be kept by app_market_account_keep. */
int app_market_account_import(const struct app_market_account *a,
                              struct market_import *rows,
                              json_t **asked_out,
                              struct err *e);
/* After the histories were saved. */
int app_market_account_keep(const char *home, const json_t *asked, struct err *e);
/* Before histories are deleted. */
void app_market_account_forget(const char *home);

#endif
