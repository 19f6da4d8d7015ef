/* fill_lake HOME files|graph|meta|jobs|experiments N [shuffled]: a lake with N files, edges,
 * metadata rows, queued jobs or finished ones, for benches and long tests. Contents are rows only:
 * nothing can be read back. Always the same rows.
 *   - files: /data/train/... and /data/validation/..., half of N each; shuffled: put in no order
 *   - graph: 2/5 N set versions can be reached back from @goal:1
 *   - meta: N / 5 files below /runs/, each with five pairs
 *   - jobs: `true` with what job submit asks for
 *   - experiments: trainings that ended, each with three parameters and two metrics */
#include "base/mem.h"
#include "base/number.h"
#include "lake/core/internal.h"
#include "lake/job/job.h"
#include "lake/meta/internal.h"
#include "lake/set/graph.h"
#include "lake/set/internal.h"
#include "lake/set/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A transaction holds so many rows or little more. */
#define BATCH 50000

struct fill {
    struct lake *l;
    size_t n;
    bool shuffled;
    uint64_t random;
    struct lake_made made;
    size_t in_batch;
    uint64_t contents;
};

/* xorshift64*: the same rows at every run. */
static uint64_t draw(struct fill *f, uint64_t below)
{
    f->random ^= f->random >> 12;
    f->random ^= f->random << 25;
    f->random ^= f->random >> 27;
    return (f->random * 0x2545F4914F6CDD1Du >> 11) % below;
}

static int begin(struct fill *f, struct err *e)
{
    f->in_batch = 0;
    return db_begin(f->l->db, e) < 0 || lake_made_new(f->l, f->l->user, &f->made, e) < 0 ? -1 : 0;
}

/* Counts a row; a full batch is committed. */
static int count(struct fill *f, struct err *e)
{
    if (++f->in_batch < BATCH)
        return 0;
    return db_commit(f->l->db, e) < 0 || begin(f, e) < 0 ? -1 : 0;
}

/* Digests of no content count up: in a real order each row would touch another page of their index,
 * and filling take ten times as long. */
static struct sha256_digest next_digest(struct fill *f)
{
    struct sha256_digest digest = {{0}};
    uint64_t n = ++f->contents;

    for (size_t i = 8; i > 0; i--, n >>= 8)
        digest.bytes[i - 1] = (unsigned char)n;
    return digest;
}

static int add_file(struct fill *f, const char *path, int64_t *version_out, struct err *e)
{
    struct store_content content = {.digest = next_digest(f),
                                    .place = {.blob = "p-filled", .size = 8192 + draw(f, 4096)}};
    struct version_new v = {.path = path};
    struct version_done done;

    AUTO(version_rows) struct version_rows *rows = version_rows_new(f->l, &f->made);
    if (object_keep(f->l, &content, &v.object, e) < 0 || version_rows_add(rows, &v, &done, e) < 0)
        return -1;
    *version_out = done.version;
    return 0;
}

static size_t *order_of(struct fill *f, size_t n)
{
    size_t *order = mem_zero(n, sizeof *order);

    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; f->shuffled && i > 1; i--) {
        size_t k = (size_t)draw(f, i), swapped = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swapped;
    }
    return order;
}

static int fill_files(struct fill *f, struct err *e)
{
    AUTO_MEM size_t *order = order_of(f, f->n);
    int64_t version;

    if (begin(f, e) < 0)
        return -1;
    for (size_t k = 0; k < f->n; k++) {
        size_t i = order[k];
        AUTO_MEM char *path = mem_printf("/data/%s/%03zu/sample-%07zu.json",
                                         i < f->n / 2 ? "train" : "validation", i * 1000 / f->n, i);
        if (add_file(f, path, &version, e) < 0 || count(f, e) < 0)
            return -1;
    }
    return db_commit(f->l->db, e);
}

/* Puts the pair and frees it. */
static int put_pair(struct fill *f, int64_t version, char *pair, struct err *e)
{
    int put = meta_put(f->l, LAKE_ITEM_FILE, version, pair, e);

    free(pair);
    return put;
}

static int fill_meta(struct fill *f, struct err *e)
{
    static const char *const models[] = {"BERT", "GPT-2", "ResNet-50", "T5", "ViT"};
    int64_t version;

    if (begin(f, e) < 0)
        return -1;
    for (size_t i = 0; i < f->n / 5; i++) {
        AUTO_MEM char *path = mem_printf("/runs/%03zu/model-%07zu.bin", i / 1000, i);
        unsigned precision = (unsigned)draw(f, 1000000), loss = (unsigned)draw(f, 40000);
        if (add_file(f, path, &version, e) < 0 ||
            put_pair(f, version, mem_printf("model=%s", models[draw(f, 5)]), e) < 0 ||
            put_pair(f, version, mem_printf("precision=0.%06u", precision), e) < 0 ||
            put_pair(f, version, mem_printf("epoch=%u", (unsigned)draw(f, 100)), e) < 0 ||
            put_pair(f, version, mem_printf("dataset=d%u", (unsigned)draw(f, 50)), e) < 0 ||
            put_pair(f, version, mem_printf("loss=%u.%04u", loss / 10000, loss % 10000), e) < 0 ||
            count(f, e) < 0)
            return -1;
    }
    return db_commit(f->l->db, e);
}

/* ---- the graph ---- */

struct edge {
    uint32_t child, parent;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->child != y->child)
        return x->child < y->child ? -1 : 1;
    return x->parent < y->parent ? -1 : x->parent > y->parent;
}

static size_t sort_once(struct edge *edges, size_t n)
{
    size_t kept = 0;

    qsort(edges, n, sizeof *edges, compare_edges);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || compare_edges(&edges[kept - 1], &edges[i]) != 0)
            edges[kept++] = edges[i];
    return kept;
}

/* Every node below the goal has a child not far above it that leads on to the goal; the other edges
 * are drawn at will. Nodes above the goal come from those below. */
static void draw_edges(struct fill *f, struct edge *edges, uint32_t goal, uint32_t nodes)
{
    size_t n = 0;

    for (uint32_t i = 1; i < goal; i++) {
        uint32_t room = goal - i < 50000 ? goal - i : 50000;
        edges[n++] = (struct edge){i + 1 + (uint32_t)draw(f, room), i};
    }
    while (n < f->n) {
        while (n < f->n) {
            uint32_t child = 2 + (uint32_t)draw(f, nodes - 1);
            edges[n++] = (struct edge){child, 1 + (uint32_t)draw(f, child - 1)};
        }
        n = sort_once(edges, n);
    }
}

static int insert(struct fill *f, const char *sql, const int64_t *values, int n, struct err *e)
{
    struct db_query *q = db_prepare(f->l->db, sql, e);

    if (!q)
        return -1;
    for (int i = 0; i < n; i++)
        db_bind(q, i + 1, DB_INT(values[i]));
    return db_finish(q, e) < 0 || count(f, e) < 0 ? -1 : 0;
}

static int add_set(struct fill *f, int64_t id, const char *name, struct err *e)
{
    struct db_query *q =
        db_prepare(f->l->db,
                   "INSERT INTO fileset (id, project, name, owner, team, mode,"
                   " latest, latest_version) VALUES ($1, $2, $3, $4, '', 438, 0, 0)",
                   e);
    if (!q)
        return -1;
    db_bind(q, 1, DB_INT(id));
    db_bind(q, 2, DB_INT(f->l->project));
    db_bind(q, 3, DB_TEXT(name));
    db_bind(q, 4, DB_TEXT(f->l->user));
    return db_finish(q, e);
}

/* The one list of files that all these set versions share. */
static int add_chunk(struct fill *f, int64_t *chunk_out, struct err *e)
{
    struct lake_entry entry = {.path = "/seed", .number = 1, .size = 8192};
    struct lake_set seed;

    if (add_file(f, entry.path, &entry.version, e) < 0)
        return -1;
    AUTO(set_builder) struct set_builder *b = set_builder_new(f->l, "seed", &f->made, e);
    if (!b || set_builder_add(b, &entry, e) < 0 || set_builder_finish(b, NULL, 0, &seed, e) < 0)
        return -1;
    struct db_query *q =
        db_prepare(f->l->db, "SELECT chunk FROM set_part WHERE set_version = $1", e);
    if (!q)
        return -1;
    db_bind(q, 1, DB_INT(seed.version));
    if (db_step(q, e) != 1)
        return -1;
    *chunk_out = db_int(q, 0);
    db_reset(q);
    return 0;
}

/* Node i is set version first + i - 1: of one of the sets in turn, the goal of one of its own. */
struct nodes {
    int64_t first, first_set, chunk;
    uint32_t goal, n, sets;
};

static int add_node(struct fill *f, const struct nodes *s, uint32_t i, struct err *e)
{
    int64_t id = s->first + i - 1, set = s->first_set + i % s->sets;
    int64_t version[] = {id, f->l->project, set, 1 + i / s->sets, 1, 8192, f->made.id};

    if (i == s->goal) {
        version[2] = s->first_set + s->sets;
        version[3] = 1;
    }
    return insert(f,
                  "INSERT INTO set_version (id, project, fileset, number, files, bytes, made,"
                  " removed) VALUES ($1, $2, $3, $4, $5, $6, $7, 0)",
                  version, 7, e) < 0 ||
                   insert(f, "INSERT INTO set_part (set_version, seq, chunk) VALUES ($1, 0, $2)",
                          (int64_t[]){id, s->chunk}, 2, e) < 0
               ? -1
               : 0;
}

static int add_nodes(struct fill *f, struct nodes *s, struct err *e)
{
    if (add_chunk(f, &s->chunk, e) < 0 || db_ids(f->l->db, "set_version", s->n, &s->first, e) < 0 ||
        db_ids(f->l->db, "fileset", s->sets + 1, &s->first_set, e) < 0)
        return -1;
    for (uint32_t i = 0; i <= s->sets; i++) {
        AUTO_MEM char *name = i < s->sets ? mem_printf("set-%05u", i) : mem_dup("goal");
        if (add_set(f, s->first_set + i, name, e) < 0)
            return -1;
    }
    for (uint32_t i = 1; i <= s->n; i++)
        if (add_node(f, s, i, e) < 0)
            return -1;
    return insert(f,
                  "UPDATE fileset SET latest = COALESCE((SELECT MAX(number) FROM set_version v"
                  " WHERE v.fileset = fileset.id), 0), latest_version = COALESCE((SELECT MAX(id)"
                  " FROM set_version v WHERE v.fileset = fileset.id), 0) WHERE id >= $1",
                  (int64_t[]){s->first_set}, 1, e);
}

static int fill_graph(struct fill *f, struct err *e)
{
    struct nodes s = {.n = (uint32_t)(f->n / 2), .goal = (uint32_t)(f->n * 2 / 5)};
    AUTO_MEM struct edge *edges = mem_zero(f->n, sizeof *edges);

    s.sets = s.n / 25 + 1;
    if (f->n < 50) /* fewer nodes have not so many pairs */
        return err_set(e, ERR_USAGE, "a graph needs at least 50 edges");
    draw_edges(f, edges, s.goal, s.n);
    if (begin(f, e) < 0 || add_nodes(f, &s, e) < 0)
        return -1;
    for (size_t i = 0; i < f->n; i++) {
        bool job = edges[i].child % 3 == 0;
        int64_t row[] = {s.first + edges[i].child - 1, s.first + edges[i].parent - 1,
                         job ? LAKE_EDGE_JOB : LAKE_EDGE_CREATE, job ? edges[i].child : 0,
                         (int64_t)i};
        if (insert(f,
                   "INSERT INTO edge (child, parent, kind, job, seq) VALUES ($1, $2, $3, $4, $5)",
                   row, 5, e) < 0)
            return -1;
    }
    return db_commit(f->l->db, e);
}

/* As `job submit -- true` has them. */
static int fill_jobs(struct fill *f, struct err *e)
{
    static const char *const command[] = {"true"};
    AUTO_MEM struct lake_job_request *requests = mem_zero(f->n, sizeof *requests);
    int64_t first;

    for (size_t i = 0; i < f->n; i++)
        requests[i] = (struct lake_job_request){
            .command = command, .n_command = 1, .cpus = 1, .memory_mb = 1024};
    return lake_job_submit(f->l, requests, f->n, &first, e);
}

/* ---- experiments ---- */

/* A series of 100 steps, as a whole; the step that ends the job makes metadata of it. */
static int add_series(
    struct fill *f, int64_t job, const char *name, int64_t number, double last, struct err *e)
{
    return db_run(f->l->db, e,
                  "INSERT INTO job_series (job, name, series, points, last, last_step, least, most,"
                  " untold) VALUES ($1, $2, $3, 100, $4, 100, $4 / 2, $4 * 2, 1)",
                  DB_INT(job), DB_TEXT(name), DB_INT(number), DB_REAL(last));
}

/* Environment of job i, new string: one of ten rates, four sizes, 1,000 seeds. */
static char *experiment_details(struct fill *f)
{
    static const char *const rates[] = {"0.001", "0.002", "0.005", "0.01", "0.02",
                                        "0.05",  "0.1",   "0.2",   "0.5",  "1"};

    return mem_printf("{\"env\": {\"LR\": \"%s\", \"BATCH\": \"%u\", \"SEED\": \"%u\"}}",
                      rates[draw(f, 10)], 32U << draw(f, 4), (unsigned)draw(f, 1000));
}

static int submit_experiments(struct fill *f, size_t n, int64_t *first, struct err *e)
{
    static const char *const command[] = {"train"};
    AUTO_MEM struct lake_job_request *requests = mem_zero(n, sizeof *requests);
    AUTO_MEM char **details = mem_zero(n, sizeof *details);

    for (size_t i = 0; i < n; i++) {
        details[i] = experiment_details(f);
        requests[i] = (struct lake_job_request){.command = command,
                                                .n_command = 1,
                                                .cpus = 1,
                                                .memory_mb = 1024,
                                                .details = details[i]};
    }
    int done = lake_job_submit(f->l, requests, n, first, e);
    for (size_t i = 0; i < n; i++)
        free(details[i]);
    return done;
}

static int end_experiments(struct fill *f, size_t n, int64_t first, struct err *e)
{
    AUTO_MEM struct lake_job_change *ends = mem_zero(n, sizeof *ends);

    if (db_begin(f->l->db, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        double loss = (double)draw(f, 1000000) / 1e6;
        if (add_series(f, first + (int64_t)i, "loss", 1, loss, e) < 0 ||
            add_series(f, first + (int64_t)i, "accuracy", 2, 1 - loss, e) < 0)
            return -1;
        ends[i] = (struct lake_job_change){
            .id = first + (int64_t)i, .to = LAKE_JOB_FINISHED, .exited = true, .runtime_s = 60};
    }
    return db_commit(f->l->db, e) < 0 ? -1 : lake_job_step(f->l, ends, n, e);
}

static int fill_experiments(struct fill *f, struct err *e)
{
    for (size_t done = 0, n; done < f->n; done += n) {
        int64_t first;
        n = f->n - done < 5000 ? f->n - done : 5000;
        if (submit_experiments(f, n, &first, e) < 0 || end_experiments(f, n, first, e) < 0)
            return -1;
    }
    return 0;
}

static int fill(const char *home, const char *kind, struct fill *f, struct err *e)
{
    AUTO_MEM char *absolute = realpath(home, NULL);
    if (!absolute)
        return err_set(e, ERR_NOTFOUND, "%s: no such directory", home);
    AUTO_MEM char *url = mem_printf("dir:%s/objects", absolute);
    const struct lake_options options = {
        .home = absolute,
        .store = {.url = url},
        .caller = {.project = "default", .user = "filler", .admin = true}};
    AUTO(lake) struct lake *l = lake_open(&options, e);
    if (!l)
        return -1;
    f->l = l;
    if (strcmp(kind, "files") == 0)
        return fill_files(f, e);
    if (strcmp(kind, "graph") == 0)
        return fill_graph(f, e);
    if (strcmp(kind, "meta") == 0)
        return fill_meta(f, e);
    if (strcmp(kind, "jobs") == 0)
        return fill_jobs(f, e);
    if (strcmp(kind, "experiments") == 0)
        return fill_experiments(f, e);
    return err_set(e, ERR_USAGE, "\"%s\" is none of files, graph, meta, jobs and experiments",
                   kind);
}

int main(int argc, char **argv)
{
    struct fill f = {.random = 20261116};
    struct err e = {0};
    double n;

    if (argc < 4 || argc > 5 || !number_parse(argv[3], &n) || !(n >= 1 && n <= 1e8)) {
        fprintf(stderr, "usage: fill_lake HOME files|graph|meta|jobs|experiments N [shuffled]\n");
        return 2;
    }
    f.n = (size_t)n;
    f.shuffled = argc == 5 && strcmp(argv[4], "shuffled") == 0;
    if (fill(argv[1], argv[2], &f, &e) < 0) {
        fprintf(stderr, "fill_lake: %s\n", e.text);
        return err_exit_code(e.kind);
    }
    return 0;
}
