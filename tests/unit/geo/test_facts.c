/* The built-in tables are whole; a fault in a table is told with its line. */
#include "geo/facts.h"

#include "tap.h"

#include <stdbool.h>
#include <string.h>

#define FUNCTIONS                                                                                  \
    "cloud,region,product,usd_per_gb_s,usd_per_cpu_s,cpu_per_gb,usd_per_request,"                  \
    "billing_step_ms,memory_step_mb,trigger_s,cold_s,max_s,max_memory_mb,"                         \
    "max_disk_mb\n"
#define STORES "cloud,keys_per_list,multipart_requests,connection_mbps,request_s\n"
#define LINKS "src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,mbps,rtt_ms\n"
#define MACHINES "cloud,region,instance_type,network_gbps,usd_per_hour\n"

static void builtin(void)
{
    struct err e;
    AUTO(geo_facts) struct geo_facts *f = geo_facts_builtin(&e);

    CHECK(f && f->n_functions == 12 && f->n_links == 132 && f->n_stores == 3,
          "12 places, each with a way to each of the others");
    if (!f)
        return;
    bool whole = true;
    for (size_t i = 0; i < f->n_functions; i++)
        for (size_t k = 0; k < f->n_functions; k++) {
            const struct geo_function_fact *a = &f->functions[i], *b = &f->functions[k];
            whole &= i == k || geo_facts_link(f, a->cloud, a->region, b->cloud, b->region);
        }
    CHECK(whole, "no pair is missing");
    const struct geo_function_fact *gcp = geo_facts_function(f, "gcp", "europe-west2");
    CHECK(gcp && gcp->billing_step_ms == 100 && gcp->cpu_per_gb == 1.4, "a function's tariff");
    CHECK(!geo_facts_function(f, "gcp", "eu-west-2") && !geo_facts_store(f, "oci") &&
              !geo_facts_machine(f, "azure", "uksouth", "x"),
          "what is not there is not found");
}

static void faults(void)
{
    static const struct {
        const char *links, *message;
    } cases[] = {
        {"src_cloud,src_region\n", "links: the header has no column dst_cloud"},
        {"", "links: the header has no column src_cloud"},
        {LINKS "a,x,b,y,0.1,100\n", "links:2: the row ends before column rtt_ms"},
        {"# remark\n" LINKS "a,x,b,y,cheap,100,1\n",
         "links:3: usd_per_gb: \"cheap\" is not a number from 0 to 1e+09"},
        {LINKS "a,x,b,y,0.1,0,1\n", "links:2: mbps: \"0\" is not a number from 1e-06 to 1e+09"},
        {LINKS "a,,b,y,0.1,100,1\n", "links:2: src_region is empty"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct geo_facts_text texts[4] = {
            {"functions", FUNCTIONS, strlen(FUNCTIONS)},
            {"stores", STORES, strlen(STORES)},
            {"links", cases[i].links, strlen(cases[i].links)},
            {"machines", MACHINES, strlen(MACHINES)},
        };
        struct err e = {0};
        AUTO(geo_facts) struct geo_facts *f = geo_facts_read(texts, &e);
        CHECK(!f && e.kind == ERR_USAGE && strcmp(e.text, cases[i].message) == 0, "%s",
              cases[i].message);
    }
}

int main(void)
{
    builtin();
    faults();
    return TAP_DONE();
}
