/* What was measured: rows of one command and batch size, the last of them counts. */
#include "cluster/measured.h"

#include "base/buf.h"
#include "base/csv.h"
#include "tap.h"

#include <string.h>

#define HEADER "command,batch,type,mbps,per_s\n"

static struct cluster_measured *read_text(const char *text, double batch, struct err *e)
{
    AUTO(csv) struct csv *csv = csv_from_memory("m.csv", text, strlen(text));

    return cluster_measured_read(csv, "./train", batch, e);
}

static void workers(void)
{
    static const char table[] = "command,batch,type,mbps,per_s,workers\n"
                                "./train,,a,80,8,\n"
                                "./train,,a,90,9,1\n"
                                "./train,,a,30,3,3\n"
                                "./train,,b,40,4,4\n"
                                "./train,,b,20,2,2\n";
    struct err e = {0};
    AUTO(cluster_measured) struct cluster_measured *m = read_text(table, 0, &e);
    const struct cluster_measured_row *a = cluster_measured_of(m, "a");
    const struct cluster_measured_row *b = cluster_measured_of(m, "b");

    CHECK(a && a->mbps == 90, "the last with the fewest workers counts: one");
    CHECK(b && b->mbps == 20 && b->workers == 2, "or two, where there are no others");
}

static void writing(void)
{
    const struct cluster_measurement m = {
        "sh -c \"a, b\"", 128, {.type = "lab", .mbps = 12.5, .per_s = 3, .workers = 1}};
    struct cluster_measurement many = m;
    AUTO_CLEAR(buf) struct buf text, other;
    AUTO(csv) struct csv *old = csv_from_memory("o.csv", "mbps,x,type,command,per_s,batch\n", 32);
    AUTO(csv) struct csv *same = csv_from_memory("o.csv", "mbps,x,type,command,per_s,batch\n", 32);
    struct err e = {0};

    buf_init(&text, 4096);
    buf_init(&other, 4096);
    CHECK(cluster_measured_put(NULL, &m, &text, &e) == 0 &&
              !strcmp(buf_str(&text), "command,batch,type,mbps,per_s,workers\n"
                                      "\"sh -c \"\"a, b\"\"\",128,lab,12.5,3,1\n"),
          "a new table");
    CHECK(cluster_measured_put(old, &m, &other, &e) == 0 &&
              !strcmp(buf_str(&other), "12.5,,lab,\"sh -c \"\"a, b\"\"\",3,128\n"),
          "one with columns of its own");
    many.row.workers = 3;
    CHECK(cluster_measured_put(same, &many, &other, &e) < 0 && strstr(e.text, "no column workers"),
          "%s", e.text);
    AUTO(csv) struct csv *back = csv_from_memory("t.csv", buf_str(&text), text.len);
    AUTO(cluster_measured)
    struct cluster_measured *read = cluster_measured_read(back, m.command, 128, &e);
    const struct cluster_measured_row *row = cluster_measured_of(read, "lab");
    CHECK(row && row->mbps == 12.5 && row->per_s == 3, "which reads back");
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
    workers();
    writing();
    return TAP_DONE();
}
