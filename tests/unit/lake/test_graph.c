/* Traces against a simple search over a matrix, on random graphs, small ways and large. */
#include "lake/set/graph.h"
#include "lake/set/set.h"

#include "scratch.h"
#include "tap.h"

#include <string.h>

static uint64_t seed = 11;

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static void run(struct lake *l, const char *sql, const int64_t *values, int n)
{
    struct err e = {0};
    struct db_query *q = db_prepare(l->db, sql, &e);

    for (int i = 0; q && i < n; i++)
        db_bind(q, i + 1, DB_INT(values[i]));
    if (!q || db_finish(q, &e) < 0) {
        CHECK(false, "%s: %s", sql, e.text);
        exit(1);
    }
}

static void add_edge(struct lake *l, int64_t child, int64_t parent, int64_t job)
{
    run(l,
        "INSERT INTO edge (child, parent, kind, job, seq) VALUES ($1, $2, $3, $4, 0)"
        " ON CONFLICT DO NOTHING",
        (int64_t[]){child, parent, job ? LAKE_EDGE_JOB : LAKE_EDGE_CREATE, job}, 4);
}

/* n set versions without files: version i + 1 of set "s", ids from the first one returned. */
static int64_t add_versions(struct lake *l, size_t n)
{
    struct err e = {0};
    int64_t first, set;

    if (db_ids(l->db, "set_version", (int64_t)n, &first, &e) < 0 ||
        db_ids(l->db, "fileset", 1, &set, &e) < 0)
        exit(1);
    struct db_query *q = db_prepare(l->db,
                                    "INSERT INTO fileset (id, project, name, owner, team, mode,"
                                    " latest, latest_version)"
                                    " VALUES ($1, $2, $3, 'ann', '', 438, $4, $5)",
                                    &e);
    AUTO_MEM char *name = mem_printf("s%lld", (long long)set);
    db_bind(q, 1, DB_INT(set));
    db_bind(q, 2, DB_INT(l->project));
    db_bind(q, 3, DB_TEXT(name));
    db_bind(q, 4, DB_INT((int64_t)n));
    db_bind(q, 5, DB_INT(first + (int64_t)n - 1));
    if (db_finish(q, &e) < 0)
        exit(1);
    for (size_t i = 0; i < n; i++)
        run(l,
            "INSERT INTO set_version (id, project, fileset, number, files, bytes, made, removed)"
            " VALUES ($1, $2, $3, $4, 1, 1, 1, 0)",
            (int64_t[]){first + (int64_t)i, l->project, set, (int64_t)i + 1}, 4);
    return first;
}

/* ---- the reference ---- */

#define NODES 40

struct model {
    bool edge[NODES][NODES]; /* [child][parent] */
    int64_t job[NODES][NODES];
    int64_t first; /* id of node 0 */
    size_t n_edges;
};

static void draw_model(struct lake *l, struct model *m, unsigned one_in)
{
    *m = (struct model){.first = add_versions(l, NODES)};
    for (int64_t c = 1; c < NODES; c++)
        for (int64_t p = 0; p < c; p++)
            if (draw(one_in) == 0) {
                m->edge[c][p] = true;
                m->job[c][p] = draw(2) ? 1 + (int64_t)draw(100) : 0;
                m->n_edges++;
                add_edge(l, m->first + c, m->first + p, m->job[c][p]);
            }
}

/* Hops from start, -1 = not reached; back or forward. */
static void walk(const struct model *m, int start, bool back, int max, int *hops)
{
    for (int i = 0; i < NODES; i++)
        hops[i] = i == start ? 0 : -1;
    for (int round = 0; round < NODES && (max == 0 || round < max); round++)
        for (int a = 0; a < NODES; a++)
            for (int b = 0; b < NODES && hops[a] == round; b++)
                if ((back ? m->edge[a][b] : m->edge[b][a]) && hops[b] < 0)
                    hops[b] = round + 1;
}

static void wanted_hops(
    const struct model *m, int start, enum lake_direction direction, int max, int *hops)
{
    int forward[NODES];

    walk(m, start, true, max, hops);
    walk(m, start, false, max, forward);
    for (int i = 0; i < NODES; i++) {
        if (direction == LAKE_FORWARD)
            hops[i] = forward[i];
        else if (direction == LAKE_BOTH && forward[i] >= 0)
            hops[i] = forward[i];
    }
}

/* Whether the graph has just these nodes, at these distances, and all edges among them. */
static bool is_as_wanted(const struct lake_graph *g, const struct model *m, const int *hops)
{
    size_t n = 0, edges = 0;
    uint32_t last = 0;

    for (int i = 0; i < NODES; i++) {
        n += hops[i] >= 0;
        for (int k = 0; k < NODES; k++)
            edges += hops[i] >= 0 && hops[k] >= 0 && m->edge[i][k];
    }
    if (g->n_nodes != n || g->n_edges != edges)
        return false;
    for (size_t i = 0; i < n; i++) {
        int64_t node = g->nodes[i].version - m->first;
        if (node < 0 || node >= NODES || (int)g->nodes[i].hops != hops[node] ||
            g->nodes[i].number != node + 1 || g->nodes[i].hops < last)
            return false;
        last = g->nodes[i].hops;
    }
    for (size_t i = 0; i < edges; i++) {
        int64_t c = g->nodes[g->edges[i].from].version - m->first;
        int64_t p = g->nodes[g->edges[i].to].version - m->first;
        if (!m->edge[c][p] || m->job[c][p] != g->edges[i].job ||
            g->edges[i].kind != (m->job[c][p] ? LAKE_EDGE_JOB : LAKE_EDGE_CREATE))
            return false;
        for (size_t k = 0; k < i; k++)
            if (g->edges[k].from == g->edges[i].from && g->edges[k].to == g->edges[i].to)
                return false;
    }
    return true;
}

static struct lake_ref set_ref(const struct lake *l, int64_t version)
{
    return (struct lake_ref){
        .kind = LAKE_REF_SET, .project = l->project, .may = LAKE_READ, .set_version = version};
}

static bool traces(
    struct lake *l, const struct model *m, int start, enum lake_direction direction, int hops_max)
{
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    struct lake_ref ref = set_ref(l, m->first + start);
    struct err e = {0};
    int hops[NODES];

    ref.path = mem_dup("/");
    ref.set_name = mem_dup("s");
    int traced = lake_trace(l, &ref, direction, (uint32_t)hops_max, &g, &e);
    lake_ref_clear(&ref);
    wanted_hops(m, start, direction, hops_max, hops);
    return traced == 0 && is_as_wanted(&g, m, hops);
}

static void test_random(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct err e = {0};
    struct model models[5];

    db_begin(l->db, &e);
    for (unsigned i = 0; i < 5; i++)
        draw_model(l, &models[i], 3 + 8 * i);
    db_commit(l->db, &e);
    for (unsigned i = 0; i < 5; i++) {
        for (int direction = LAKE_BACK; direction <= LAKE_BOTH; direction++) {
            bool good = true;
            for (int start = 0; start < NODES; start++)
                for (int hops = 0; hops < 4; hops++)
                    good =
                        good && traces(l, &models[i], start, (enum lake_direction)direction, hops);
            CHECK(good, "graph %u, direction %d: every start, all the way and 1 to 3 hops", i,
                  direction);
        }
    }
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    size_t edges = 0;
    for (unsigned i = 0; i < 5; i++)
        edges += models[i].n_edges;
    CHECK(lake_trace(l, NULL, LAKE_BOTH, 0, &g, &e) == 0 && g.n_nodes == 5 * NODES &&
              g.n_edges == edges,
          "the whole graph");
}

/* ---- beyond what is asked node by node ---- */

#define MANY 9000

/* Node i came from i - 1 and i / 2; so all lead back to the first, and all forward to the last. */
static void large_hops(bool back, uint32_t *hops)
{
    for (uint32_t i = 0; i < MANY; i++)
        hops[i] = i == (back ? MANY - 1 : 0) ? 0 : MANY;
    for (uint32_t i = 1; i < MANY && !back; i++)
        hops[i] = 1 + (hops[i - 1] < hops[i / 2] ? hops[i - 1] : hops[i / 2]);
    for (uint32_t i = MANY - 1; i > 0 && back; i--) {
        uint32_t next[] = {i - 1, i / 2};
        for (int k = 0; k < 2; k++)
            if (hops[next[k]] > hops[i] + 1)
                hops[next[k]] = hops[i] + 1;
    }
}

static bool large_hops_are(const struct lake_graph *g, int64_t first, const uint32_t *hops)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].hops != hops[g->nodes[i].version - first] ||
            (i > 0 && g->nodes[i].hops < g->nodes[i - 1].hops))
            return false;
    return true;
}

static void test_large(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    AUTO(lake) struct lake *other = scratch_open_as(&s, "other", "ann", true);
    struct err e = {0};

    db_begin(other->db, &e);
    int64_t foreign = add_versions(other, 10);
    add_edge(other, foreign + 9, foreign, 0);
    db_commit(other->db, &e);
    db_begin(l->db, &e);
    int64_t first = add_versions(l, MANY);
    for (int64_t i = 1; i < MANY; i++) {
        add_edge(l, first + i, first + i - 1, i % 5 == 0 ? i : 0);
        if (i / 2 < i - 1)
            add_edge(l, first + i, first + i / 2, 0);
    }
    db_commit(l->db, &e);
    size_t edges = (size_t)scratch_number(l, "SELECT COUNT(*) FROM edge") - 1;
    for (int direction = LAKE_BACK; direction <= LAKE_BOTH; direction++) {
        AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
        struct lake_ref ref = set_ref(l, direction == LAKE_BACK ? first + MANY - 1 : first);
        ref.path = mem_dup("/");
        ref.set_name = mem_dup("s");
        CHECK(lake_trace(l, &ref, (enum lake_direction)direction, 0, &g, &e) == 0 &&
                  g.n_nodes == MANY && g.n_edges == edges,
              "direction %d: %d nodes, %zu edges: %s", direction, MANY, edges, e.text);
        uint32_t hops[MANY];
        large_hops(direction == LAKE_BACK, hops);
        CHECK(g.n_nodes == MANY && g.nodes[0].version == ref.set_version &&
                  strcmp(g.nodes[0].set_name, g.nodes[MANY - 1].set_name) == 0 &&
                  large_hops_are(&g, first, hops),
              "in order of distance, the start first");
        size_t jobs = 0;
        for (size_t i = 0; i < g.n_edges; i++)
            jobs += g.edges[i].kind == LAKE_EDGE_JOB &&
                    g.edges[i].job == g.nodes[g.edges[i].from].version - first;
        CHECK(jobs == (MANY - 1) / 5, "%zu job edges with their jobs", jobs);
        lake_ref_clear(&ref);
    }
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    CHECK(lake_trace(l, NULL, LAKE_BOTH, 0, &g, &e) == 0 && g.n_nodes == MANY &&
              g.n_edges == edges && g.nodes[0].version == first,
          "the whole graph has nothing of another project");
    struct lake_graph_node *last = g.n_nodes ? &g.nodes[g.n_nodes - 1] : NULL;
    CHECK(last && last->number == MANY, "and is in order of age");
}

/* ---- files, refusals ---- */

static int trace_text(struct lake *l, const char *text, struct lake_graph *g, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    *e = (struct err){0};
    return lake_resolve(l, text, LAKE_READ, &ref, e) < 0 ? -1
                                                         : lake_trace(l, &ref, LAKE_BOTH, 0, g, e);
}

static bool nodes_are(struct lake *l, const char *text, const char *wanted)
{
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    AUTO_MEM char *got = mem_dup("");
    struct err e = {0};

    if (trace_text(l, text, &g, &e) < 0)
        return false;
    for (size_t i = 0; i < g.n_nodes; i++) {
        char *longer =
            mem_printf("%s@%s:%lld ", got, g.nodes[i].set_name, (long long)g.nodes[i].number);
        free(got);
        got = longer;
    }
    return strcmp(got, wanted) == 0;
}

static void create(struct lake *l, const char *name, const char *ref)
{
    struct err e = {0};

    if (lake_set_create(l, &(struct lake_set_request){.name = name, .refs = &ref, .n_refs = 1},
                        NULL, &e) < 0)
        CHECK(false, "create %s: %s", name, e.text);
}

static void test_references(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    struct err e = {0};

    scratch_fake(l, "/a", "one", &e);
    scratch_fake(l, "/a", "two", &e);
    scratch_fake(l, "/b", "three", &e);
    CHECK(lake_trace(l, NULL, LAKE_BOTH, 0, &g, &e) == 0 && g.n_nodes == 0 && g.n_edges == 0,
          "the graph of a lake without sets is empty");
    lake_graph_clear(&g);
    CHECK(trace_text(l, "/a", &g, &e) == -1 && e.kind == ERR_NOTFOUND, "a file in no set: %s",
          e.text);
    create(l, "A", "/a#1");
    create(l, "A", "/a#2");
    create(l, "B", "@A:1");
    create(l, "C", "@B");
    CHECK(nodes_are(l, "@A:1", "@A:1 @B:1 @C:1 "), "a set version and what came from it");
    CHECK(nodes_are(l, "@A", "@A:2 "), "the latest is another one");
    CHECK(nodes_are(l, "@B", "@B:1 @A:1 @C:1 "), "both ways");
    CHECK(nodes_are(l, "/@B", "@B:1 @A:1 @C:1 "), "a part of a set stands for it");
    CHECK(nodes_are(l, "/a#1", "@A:1 @B:1 @C:1 "), "a file version: every set that holds it");
    CHECK(nodes_are(l, "/a", "@A:2 "), "its latest version is held by another");
    CHECK(nodes_are(l, "/a@C", "@A:1 @B:1 @C:1 "), "as a set holds it");
    CHECK(trace_text(l, "/b", &g, &e) == -1 && e.kind == ERR_NOTFOUND, "%s", e.text);
    CHECK(trace_text(l, "/", &g, &e) == -1 && e.kind == ERR_USAGE, "a directory: %s", e.text);
    CHECK(trace_text(l, "/a#*", &g, &e) == -1 && e.kind == ERR_USAGE, "all versions: %s", e.text);
}

static void test_damaged(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    AUTO_CLEAR(lake_graph) struct lake_graph back = {0};
    struct err e = {0};

    db_begin(l->db, &e);
    int64_t first = add_versions(l, 3);
    add_edge(l, first + 2, first, 0);
    add_edge(l, first, first + 1, 0);        /* to a younger one */
    add_edge(l, first + 1, first + 1, 0);    /* to itself */
    add_edge(l, first + 1, first + 1000, 0); /* to nothing */
    add_edge(l, first + 1000, first + 1, 0); /* from nothing */
    db_commit(l->db, &e);
    CHECK(lake_trace(l, NULL, LAKE_BOTH, 0, &g, &e) == 0 && g.n_nodes == 3 && g.n_edges == 1,
          "edges that cannot be are left out");
    run(l, "DELETE FROM set_version WHERE id = $1", (int64_t[]){first}, 1);
    AUTO_MEM char *text =
        mem_printf("@s%lld:3", (long long)scratch_number(l, "SELECT id FROM fileset"));
    CHECK(trace_text(l, text, &back, &e) == -1 && e.kind == ERR_IO && strstr(e.text, "fsck"),
          "one that leads to nothing is told: %s", e.text);
}

static void test_failures(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct err e = {0};
    int n = 0, told = 0;

    scratch_fake(l, "/a", "one", &e);
    create(l, "A", "/a");
    create(l, "B", "@A");
    for (; n < 100; n++) {
        AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
        s.calls_left = n;
        int traced = trace_text(l, "/a#1", &g, &e);
        s.calls_left = -1;
        if (traced == 0)
            break;
        told += e.kind == ERR_IO && g.n_nodes == 0 && !g.nodes;
    }
    CHECK(n > 5 && n < 100 && told == n, "each of %d database calls may fail", n);
}

int main(void)
{
    test_random();
    test_large();
    test_references();
    test_damaged();
    test_failures();
    return TAP_DONE();
}
