/* Finds the row of transfers.csv or storage.csv that fits a location best. build.c and catalog.c
 * call it. */
#include "catalog/internal.h"

#include <string.h>

/* Ranks of a region: `*` < `=` < prefixes by length < the name itself. A prefix is far shorter
 * than this: names are at most 255 bytes on import. */
#define REGION_EXACT 0xFFFFu
#define REGION_PREFIX 2u /* plus the prefix's length */
#define REGION_SAME 2u
#define REGION_ANY 1u

#define SHIFT_SRC_REGION 40
#define SHIFT_DST_CLOUD 32
#define SHIFT_DST_REGION 8
#define SRC_CLOUD_EXACT 2u
#define SRC_CLOUD_ANY 1u

static void prepare_region(const char *strings, uint32_t offset, struct match_region *out)
{
    const char *text = strings + offset;
    size_t len = strlen(text);

    *out = (struct match_region){.text = text, .offset = offset, .how = MATCH_EXACT};
    if (len && text[len - 1] == '*') {
        out->how = MATCH_PREFIX;
        out->prefix_len = (uint32_t)(len - 1);
    } else if (strcmp(text, "=") == 0) {
        out->how = MATCH_SAME;
    }
}

void match_prepare(const char *strings, const struct catalog_rule *rule, struct match_rule *out)
{
    const char *dst_cloud = strings + rule->dst_cloud;

    out->src_cloud = rule->src_cloud;
    out->dst_cloud = rule->dst_cloud;
    out->any_src_cloud = strcmp(strings + rule->src_cloud, "*") == 0;
    out->dst_how = strcmp(dst_cloud, "*") == 0          ? MATCH_CLOUD_ANY
                   : strcmp(dst_cloud, "internet") == 0 ? MATCH_CLOUD_INTERNET
                   : strcmp(dst_cloud, "=") == 0        ? MATCH_CLOUD_SAME
                                                        : MATCH_CLOUD_EXACT;
    prepare_region(strings, rule->src_region, &out->src_region);
    prepare_region(strings, rule->dst_region, &out->dst_region);
}

static uint32_t prefix_rank(const struct match_region *pattern, const char *region)
{
    if (pattern->prefix_len == 0)
        return REGION_ANY;
    if (!region || strncmp(pattern->text, region, pattern->prefix_len) != 0)
        return 0;
    uint32_t rank = REGION_PREFIX + pattern->prefix_len;
    return rank < REGION_EXACT ? rank : REGION_EXACT - 1;
}

uint64_t match_source(const struct match_rule *rule, const struct match_end *src)
{
    uint32_t region;

    if (rule->any_src_cloud ? src->is_local : rule->src_cloud != src->cloud)
        return 0;
    if (rule->src_region.how == MATCH_PREFIX)
        region = prefix_rank(&rule->src_region, src->region_text);
    else
        region = src->region_text && rule->src_region.offset == src->region ? REGION_EXACT : 0;
    if (!region)
        return 0;
    return (uint64_t)region << SHIFT_SRC_REGION |
           (rule->any_src_cloud ? SRC_CLOUD_ANY : SRC_CLOUD_EXACT);
}

static bool cloud_applies(const struct match_rule *rule,
                          const struct match_end *src,
                          const struct match_end *dst)
{
    switch (rule->dst_how) {
    case MATCH_CLOUD_ANY:
        return true;
    case MATCH_CLOUD_INTERNET:
        return src->cloud != dst->cloud;
    case MATCH_CLOUD_SAME:
        return src->cloud == dst->cloud;
    case MATCH_CLOUD_EXACT:
        return rule->dst_cloud == dst->cloud;
    }
    return false;
}

static uint32_t destination_region_rank(const struct match_region *pattern,
                                        const struct match_end *src,
                                        const struct match_end *dst)
{
    switch (pattern->how) {
    case MATCH_EXACT:
        return pattern->offset == dst->region ? REGION_EXACT : 0;
    case MATCH_PREFIX:
        return prefix_rank(pattern, dst->region_text);
    case MATCH_SAME:
        return src->region_text && src->region == dst->region ? REGION_SAME : 0;
    }
    return 0;
}

uint64_t match_rank(const struct match_rule *rule,
                    uint64_t src_match,
                    const struct match_end *src,
                    const struct match_end *dst)
{
    if (!src_match || !cloud_applies(rule, src, dst))
        return 0;
    uint32_t region = destination_region_rank(&rule->dst_region, src, dst);
    if (!region)
        return 0;
    return src_match | (uint64_t)rule->dst_how << SHIFT_DST_CLOUD |
           (uint64_t)region << SHIFT_DST_REGION;
}

uint32_t match_region_rank(const char *pattern, const char *region)
{
    struct match_region p;

    prepare_region(pattern, 0, &p);
    if (p.how == MATCH_PREFIX)
        return prefix_rank(&p, region);
    return strcmp(pattern, region) == 0 ? REGION_EXACT : 0;
}
