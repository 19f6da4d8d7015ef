/* Offers as records of runs and jobs hold them. */
#include "broker/core/offer.h"

#include "base/json.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct job_offer full = {.provider = "aws",
                                      .region = "us-east-1",
                                      .zone = "us-east-1b",
                                      .instance_type = "g4dn.xlarge",
                                      .accelerator = "T4",
                                      .image = "ubuntu-22.04",
                                      .spot = true,
                                      .accelerators = 1,
                                      .cpus = 4,
                                      .memory_gb = 16,
                                      .price_usd_per_hour = 0.1578,
                                      .max_price_usd_per_hour = 0.526,
                                      .disk_gb = 250,
                                      .keep_warm_s = 600};

static struct job_offer through_text(const struct job_offer *o)
{
    AUTO_JSON json_t *object = job_offer_json(o);
    char *text = json_dumps(object, 0);
    AUTO_JSON json_t *again = json_loads(text, 0, NULL);
    struct job_offer out;

    job_offer_read(again, &out);
    free(text);
    return out;
}

static bool same_numbers(const struct job_offer *a, const struct job_offer *b)
{
    return !(fabs(a->accelerators - b->accelerators) > 0) && !(fabs(a->cpus - b->cpus) > 0) &&
           !(fabs(a->memory_gb - b->memory_gb) > 0) && !(fabs(a->disk_gb - b->disk_gb) > 0) &&
           !(fabs(a->keep_warm_s - b->keep_warm_s) > 0) &&
           !(fabs(a->price_usd_per_hour - b->price_usd_per_hour) > 0) &&
           !(fabs(a->max_price_usd_per_hour - b->max_price_usd_per_hour) > 0);
}

static void test_round_trip(void)
{
    const struct job_offer got = through_text(&full);

    CHECK(job_offer_same(&got, &full) && same_numbers(&got, &full), "all members come back");
    CHECK(!strcmp(got.image, full.image), "with the image");
    CHECK(!strcmp(got.accelerator, full.accelerator), "and the accelerator");
    const struct job_offer none = {0}, empty = through_text(&none);
    CHECK(job_offer_same(&empty, &none) && same_numbers(&empty, &none), "and so do none");
    /* A price with no short decimal form, as prices of spot markets are. */
    struct job_offer odd = full;
    odd.price_usd_per_hour = 1.0 / 3;
    const struct job_offer third = through_text(&odd);
    CHECK(same_numbers(&third, &odd), "a third of a dollar is exactly that");
}

static void test_strangers(void)
{
    static const char *const texts[] = {
        "null",    "[]", "7",
        "\"aws\"", "{}", "{\"provider\": 7, \"spot\": \"yes\", \"cpus\": \"4\"}"};
    const struct job_offer none = {0};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        AUTO_JSON json_t *object = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        struct job_offer got = full;
        job_offer_read(object, &got);
        CHECK(job_offer_same(&got, &none) && same_numbers(&got, &none), "no offer: %s", texts[i]);
    }
    struct job_offer got = full;
    job_offer_read(NULL, &got);
    CHECK(!got.provider[0] && !got.spot, "no offer: nothing");

    char longest[1000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    AUTO_JSON json_t *object = json_pack("{s:s}", "region", longest);
    job_offer_read(object, &got);
    CHECK(strlen(got.region) == sizeof got.region - 1, "a text that is too long is cut");
}

static void test_texts(void)
{
    struct job_offer o = full;
    char text[256];

    job_offer_text(&o, text);
    CHECK(!strcmp(text, "aws/us-east-1b g4dn.xlarge, spot"),
          "a zone that names its region stands for it");
    o.spot = false;
    o.zone[0] = '\0';
    job_offer_text(&o, text);
    CHECK(!strcmp(text, "aws/us-east-1 g4dn.xlarge, on-demand"), "a region alone");
    snprintf(o.zone, sizeof o.zone, "1");
    snprintf(o.provider, sizeof o.provider, "azure");
    snprintf(o.region, sizeof o.region, "eastus");
    job_offer_text(&o, text);
    CHECK(!strcmp(text, "azure/eastus/1 g4dn.xlarge, on-demand"),
          "a zone that does not comes after it");
}

static void test_same(void)
{
    struct job_offer o = full;

    o.price_usd_per_hour = 7;
    o.image[0] = '\0';
    CHECK(job_offer_same(&o, &full), "another price is no other offer");
    o = full;
    o.spot = false;
    CHECK(!job_offer_same(&o, &full), "another market is");
    o = full;
    o.zone[0] = '\0';
    CHECK(!job_offer_same(&o, &full), "and so is another zone");
    o = full;
    snprintf(o.region, sizeof o.region, "us-west-2");
    CHECK(!job_offer_same(&o, &full), "region");
    o = full;
    snprintf(o.instance_type, sizeof o.instance_type, "m5.xlarge");
    CHECK(!job_offer_same(&o, &full), "type");
    o = full;
    snprintf(o.provider, sizeof o.provider, "gcp");
    CHECK(!job_offer_same(&o, &full), "or cloud");
}

int main(void)
{
    test_round_trip();
    test_strangers();
    test_texts();
    test_same();
    return TAP_DONE();
}
