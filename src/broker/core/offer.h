/* offer: the machine of a cloud that a job is planned for, as records of runs and jobs hold it. */
#ifndef BROKER_CORE_OFFER_H
#define BROKER_CORE_OFFER_H

#include <jansson.h>
#include <stdbool.h>

struct job_offer {
    char provider[32]; /* "aws"; "" = no offer: the job runs here or on a host */
    char region[64], zone[64], instance_type[64];
    char accelerator[64]; /* "" = none */
    char image[256];      /* of the machine; "" = the first of data/images.csv that fits */
    bool spot;
    double accelerators, cpus, memory_gb;
    double price_usd_per_hour;     /* of one machine */
    double max_price_usd_per_hour; /* spot; 0 = up to the on-demand price */
    double disk_gb;                /* 0 = as the driver has it */
    double keep_warm_s;            /* how long the machine waits for another job after this one */
};

/* New reference. */
json_t *job_offer_json(const struct job_offer *o);
/* NULL, or not such an object: no offer. Texts that are too long are cut. */
void job_offer_read(const json_t *object, struct job_offer *out);
/* "aws/us-east-1a g4dn.xlarge, spot"; the zone only where it says more than the region. */
void job_offer_text(const struct job_offer *o, char out[static 256]);
bool job_offer_same(const struct job_offer *a, const struct job_offer *b);

#endif
