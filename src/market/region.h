/* region: one name per region, for all spellings of histories and users. */
#ifndef MARKET_REGION_H
#define MARKET_REGION_H

/* "us_east" for azure's "eastus", "East US" and "us-east"; names that are not known stay as they
 * are. Borrowed: the text itself, or one that lasts. */
const char *market_region(const char *cloud, const char *region);

#endif
