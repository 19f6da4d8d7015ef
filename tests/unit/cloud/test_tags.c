/* What a launch writes on machines, and what is read from them. */
#include "cloud/tags.h"

#include "cloud/instances.h"
#include "tap.h"
#include "world.h"

#include <string.h>

static const char *value_of(const struct cloud_tags *tags, const char *key)
{
    for (size_t i = 0; i < tags->n; i++)
        if (strcmp(tags->items[i].key, key) == 0)
            return tags->items[i].value;
    return "";
}

static void written(void)
{
    struct cloud_request q = world_request("run-3-1");
    struct cloud_tags tags;

    q.owner = "me";
    q.bill_min_s = 60;
    q.expires_ms = 1700000000001;
    q.cpus = 0.5;
    q.accelerator = "A100-80GB";
    cloud_tags_of(&q, "ec2-user", &tags);
    CHECK(strcmp(value_of(&tags, "broker-owner"), "me") == 0 &&
              strcmp(value_of(&tags, "broker-attempt"), "run-3-1") == 0 &&
              strcmp(value_of(&tags, "broker-run"), "3") == 0 &&
              strcmp(value_of(&tags, "broker-job"), "17") == 0,
          "owner, token, run and job");
    CHECK(strcmp(value_of(&tags, "broker-expires"), "1700000001") == 0, "seconds, rounded up: %s",
          value_of(&tags, "broker-expires"));
    CHECK(strcmp(value_of(&tags, "broker-size"), "500-61000-1000") == 0, "thousandths");
    CHECK(strcmp(value_of(&tags, "broker-price"), "3060000-60000") == 0, "micro-dollars");
    CHECK(strcmp(value_of(&tags, "broker-accelerator"), "_41100_2d80_47_42") == 0,
          "in characters that all clouds allow: %s", value_of(&tags, "broker-accelerator"));
    for (size_t i = 0; i < tags.n; i++) {
        const char *v = tags.items[i].value;
        CHECK(strspn(v, "abcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(v) && strlen(v) < 64,
              "%s: %s", tags.items[i].key, v);
    }
}

static void read_again(void)
{
    struct cloud_request q = world_request("t");
    struct cloud_tags tags;
    struct cloud_tagged t = {0};

    q.owner = "me";
    q.cpus = 0.5;
    cloud_tags_of(&q, "ec2-user", &tags);
    for (size_t i = 0; i < tags.n; i++)
        cloud_tag_read(&t, tags.items[i].key, tags.items[i].value);
    CHECK(strcmp(t.machine.token, "t") == 0 && strcmp(t.machine.owner, "me") == 0 &&
              t.machine.run == 3 && t.machine.job == 17 &&
              t.machine.expires_ms == BEGIN_MS + DAY_MS && t.machine.cpus == 0.5 &&
              t.machine.memory_gb == 61 && t.machine.accelerators == 1 &&
              strcmp(t.machine.accelerator, "V100") == 0 && t.machine.price_usd_per_hour == 3.06 &&
              strcmp(t.login, "ec2-user") == 0 && t.asked == instance_fingerprint(&q),
          "read as it was written");
    struct cloud_tagged before = t;
    cloud_tag_read(&t, "Name", "x");
    cloud_tag_read(&t, "broker-size", "nonsense");
    CHECK(memcmp(&before, &t, sizeof t) == 0, "other tags, and nonsense, change nothing");
    cloud_tag_read(&t, "broker-accelerator", "a_4");
    CHECK(strcmp(t.machine.accelerator, "a_4") == 0, "half an escape stays");
}

int main(void)
{
    written();
    read_again();
    return TAP_DONE();
}
