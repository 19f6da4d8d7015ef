/* What was measured: rows of one command and batch size, the last of them counts. */
#include "cluster/measured.h"

#include "base/csv.h"
#include "tap.h"

#include <string.h>

#define HEADER "command,batch,type,mbps,per_s\n"

static struct cluster_measured *read_text(const char *text, double batch, struct err *e)
{
    AUTO(csv) struct csv *csv = csv_from_memory("m.csv", text, strlen(text));

    return cluster_measured_read(csv, "./train", batch, e);
}

int main(void)
{
    static const char table[] = HEADER "./train,128,c4.xlarge,80,1.5\n"
                                       "./train,128,c4.xlarge,90,1.4\n"
                                       "./train,512,c4.xlarge,30,0.5\n"
                                       "./other,128,p2.xlarge,200,9\n"
                                       "./train,,p2.xlarge,100,5\n";
    static const char *const faults[] = {
        HEADER "./train,128,c4.xlarge,0,1.5\n",
        HEADER "./train,x,c4.xlarge,80,1.5\n",
        HEADER "./train,128,,80,1.5\n",
        HEADER "./train,128,c4.xlarge\n",
        "",
    };
    struct err e = {0};
    AUTO(cluster_measured) struct cluster_measured *m = read_text(table, 128, &e);
    AUTO(cluster_measured) struct cluster_measured *bare = read_text(table, 0, &e);

    const struct cluster_measured_row *row = cluster_measured_of(m, "c4.xlarge");
    CHECK(row && row->mbps == 90 && row->per_s == 1.4, "the last row of a type counts");
    CHECK(!cluster_measured_of(m, "p2.xlarge"), "other commands do not");
    row = cluster_measured_of(bare, "p2.xlarge");
    CHECK(row && row->mbps == 100, "rows without a batch size");
    CHECK(!cluster_measured_of(NULL, "c4.xlarge"), "nothing was measured");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        AUTO(cluster_measured) struct cluster_measured *none = read_text(faults[i], 128, &e);
        CHECK(!none && e.kind == ERR_USAGE && strncmp(e.text, "m.csv", 5) == 0, "%s", e.text);
    }
    return TAP_DONE();
}
