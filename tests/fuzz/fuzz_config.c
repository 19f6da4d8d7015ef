/* Any bytes: a configuration that loads has figures within their bounds and settings in order; one
 * that does not names the file. A setting written to its text reads back. */
#include "base/buf.h"
#include "spec/config.h"
#include "spec/config_edit.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_figure(double v)
{
    return isfinite(v) && v >= 0;
}

static void check(const struct config *c)
{
    assert(is_figure(c->boot_s) && is_figure(c->local_gbit) && is_figure(c->uplink_gbit));
    assert(is_figure(c->limits.cache_gb) && is_figure(c->limits.host_lost_s));
    assert(c->limits.max_usd_per_month >= 0 && c->store && *c->store);
    assert(is_figure(config_boot_s(c, "aws")) && is_figure(config_preemptions(c, "none")));
    for (size_t i = 0; i < c->n_hosts; i++) {
        const struct config_host *h = &c->hosts[i];
        assert(*h->pool && *h->host && *h->host != '-');
        assert(is_figure(h->cpus) && is_figure(h->memory_gb) && is_figure(h->accelerators));
        assert(is_figure(h->price_usd_per_hour));
    }
    for (size_t i = 0; i < c->n_settings; i++) {
        const struct config_setting *s = &c->settings[i];
        assert(s->value && (s->origin == CONFIG_FILE) == (s->line > 0));
        assert(i == 0 || strcmp(c->settings[i - 1].key, s->key) < 0);
        assert(config_find(c, s->key) == s);
    }
}

/* The text with one figure changed, when it can be edited. */
static void edit(const char *text, size_t size)
{
    AUTO_CLEAR(buf) struct buf out;
    struct err e = {0};

    buf_init(&out, 2 * size + 4096);
    if (config_edit(text, size, "plan.uplink_gbit", "0.5", &out, &e) < 0)
        return;
    AUTO(config) struct config *c = config_parse("/home", buf_str(&out), out.len, &e);
    assert(!c || c->uplink_gbit == 0.5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct err e = {0};
    AUTO(config) struct config *c = config_parse("/home", text, size, &e);

    if (c)
        check(c);
    else
        assert(e.kind == ERR_USAGE && strncmp(e.text, "/home/config.yaml", 17) == 0);
    edit(text, size);
    return 0;
}
