/* Chooses the index that a search begins from. find.c calls it. */
#include "lake/find/find_scope.h"

#include <assert.h>

/* Sources are counted in rounds, up to 64 rows, 256, 1024, ...; the first one that ends is the
 * rarest, and all the counting cost little more than it did. In between, questions that want few
 * answers try the first things in order: common conditions are soon met. */
#define FIRST_ROUND 64
#define ROUND_FACTOR 4
/* A thing tried costs about as much as four rows counted. */
#define TRY_SHARE 4
/* Beyond this number of answers trying again costs more than it can save. */
#define TRY_LIMIT_MAX 10000

struct race {
    struct find_question *q;
    const struct find_scope *scope;
    struct find_source sources[FIND_CONDITIONS_MAX + 2];
    size_t n;
    struct find_source in_order;
};

static bool all_in_sql(const struct find_question *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->terms[i].condition->op == FIND_MATCHES)
            return false;
    return q->l->admin;
}

bool find_accepts(const struct find_question *q, struct db_query *row)
{
    int column = FIND_TEXTS;

    for (size_t i = 0; i < q->n; i++) {
        const struct find_condition *c = q->terms[i].condition;
        if (c->op != FIND_MATCHES)
            continue;
        const char *text = db_text(row, column++);
        if (!text || regexec(&c->regex, text, 0, NULL, 0) != 0)
            return false;
    }
    return lake_row_may(q->l, row, FIND_OWNER, LAKE_READ);
}

static void enter_sources(struct race *r)
{
    struct find_question *q = r->q;

    for (size_t i = 0; i < q->n; i++)
        q->terms[i].count = UINT64_MAX;
    /* Single values first: when they end early, the others need not be counted further. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < q->n; i++) {
            struct find_term *t = &q->terms[i];
            if (find_is_equality(t->condition) == pass || !find_source_usable(r->scope, t))
                continue;
            r->sources[r->n++].term = t;
            if (find_source_in_order(q, t))
                r->in_order.term = t;
        }
    }
    r->sources[r->n++].term = NULL;
}

/* Counts every source as far as it may be the smallest; *best_out is it, NULL when none ended. */
static int run_round(struct race *r,
                     uint64_t most,
                     const struct find_source **best_out,
                     struct err *e)
{
    uint64_t least = most;

    *best_out = NULL;
    for (size_t i = 0; i < r->n; i++) {
        uint64_t count;
        if (find_count(r->q, r->scope, &r->sources[i], least, &count, e) < 0)
            return -1;
        bool ended = count < least;
        if (r->sources[i].term)
            r->q->terms[r->sources[i].term - r->q->terms].count = ended ? count : UINT64_MAX;
        if (ended) {
            least = count;
            *best_out = &r->sources[i];
        }
    }
    return 0;
}

static bool may_try(const struct race *r)
{
    /* Without a source in its order, a sorted question has no first things. */
    return r->q->limit <= TRY_LIMIT_MAX &&
           (!r->q->sort || r->in_order.term || r->q->sort->condition->builtin == META_KIND);
}

/* 1: there are enough answers among the first candidates. */
static int try_first(struct race *r, uint64_t candidates, struct err *e)
{
    struct db_query *query = find_query(r->q, r->scope, &r->in_order, candidates, candidates, e);
    uint64_t got = 0;
    int more = query ? 0 : -1;

    while (query && got < r->q->limit && (more = db_step(query, e)) == 1)
        got += find_accepts(r->q, query);
    if (more < 0)
        return -1;
    db_reset(query);
    return got >= r->q->limit;
}

struct db_query *find_plan(struct find_question *q, const struct find_scope *s, struct err *e)
{
    struct race r = {.q = q, .scope = s};
    const struct find_source *best;
    uint64_t limit = all_in_sql(q) ? q->limit : UINT64_MAX;

    enter_sources(&r);
    if (r.n == 1)
        return find_query(q, s, &r.sources[0], 0, limit, e);
    for (uint64_t round = FIRST_ROUND;; round *= ROUND_FACTOR) {
        if (run_round(&r, round, &best, e) < 0)
            return NULL;
        if (best)
            return find_query(q, s, best, 0, limit, e);
        if (round == FIRST_ROUND || !may_try(&r))
            continue;
        int enough = try_first(&r, round / TRY_SHARE, e);
        if (enough < 0)
            return NULL;
        if (enough)
            return find_query(q, s, &r.in_order, round / TRY_SHARE, round, e);
    }
}
