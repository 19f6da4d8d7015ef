/* market_parts: what the market commands share. */
#ifndef CLI_MARKET_MARKET_PARTS_H
#define CLI_MARKET_MARKET_PARTS_H

#include "app/market/home.h"
#include "base/err.h"
#include "base/json.h"
#include "market/series.h"
#include "market/tables.h"

#include <stddef.h>

/* The histories of the configured home. */
struct market *cli_market_open(struct err *e);

#endif
