/* Linear programs solved by CLP, loaded at run time. model.c and rounds.c use it. */
#include "base/library.h"
#include "base/mem.h"
#include "policy/lp.h"

#include <coin/Clp_C_Interface.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char library[] = "libClp.so.1";

/* A tenth of what lp_prove allows; and CLP's own. */
#define TOLERANCE (LP_TOLERANCE / 10)
#define TOLERANCE_DEFAULT 1e-7
/* Iterations per row after which the other method is tried; most programs take one or two. */
#define ROW_ITERATIONS 5
#define ITERATIONS_LEAST 1000
#define ITERATIONS_MAX INT_MAX

/* The few functions we call. */
#define FUNCTIONS(X)                                                                               \
    X(Clp_newModel)                                                                                \
    X(Clp_deleteModel)                                                                             \
    X(Clp_setLogLevel)                                                                             \
    X(Clp_loadProblem)                                                                             \
    X(Clp_setPrimalTolerance)                                                                      \
    X(Clp_setDualTolerance)                                                                        \
    X(Clp_setMaximumIterations)                                                                    \
    X(Clp_initialSolveWithOptions)                                                                 \
    X(Clp_primalColumnSolution)                                                                    \
    X(Clp_dualRowSolution)                                                                         \
    X(Clp_rowUpper)                                                                                \
    X(Clp_dual)                                                                                    \
    X(Clp_primal)                                                                                  \
    X(Clp_statusArray)                                                                             \
    X(Clp_copyinStatus)                                                                            \
    X(ClpSolve_new)                                                                                \
    X(ClpSolve_delete)                                                                             \
    X(ClpSolve_setSolveType)                                                                       \
    X(ClpSolve_setPresolveType)

struct clp_api {
    void *handle;
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
};

/* dlopen counts: the library stays loaded between calls only if somebody else holds it, and loading
 * takes a millisecond. */
static int load(struct clp_api *api, struct err *e)
{
#define ENTRY(name) {#name, &api->name},
    const struct library_function functions[] = {FUNCTIONS(ENTRY)};

    api->handle = library_open(library, "policies need CLP (Debian package coinor-libclp1)",
                               functions, sizeof functions / sizeof *functions, e);
    return api->handle ? 0 : -1;
}

void *clp_hold(void)
{
    return dlopen(library, RTLD_NOW | RTLD_LOCAL);
}

void clp_release(void *held)
{
    if (held)
        dlclose(held);
}

/* ClpSolve::SolveType and PresolveType, which have no names in C. */
static void set_options(const struct clp_api *api,
                        Clp_Solve *options,
                        enum clp_method method,
                        bool presolve)
{
    const int types[CLP_METHODS] = {[CLP_DUAL] = 0, [CLP_PRIMAL] = 1, [CLP_BARRIER] = 4};
    const int presolve_on = 0, presolve_off = 1;

    api->ClpSolve_setSolveType(options, types[method], -1);
    api->ClpSolve_setPresolveType(options, presolve ? presolve_on : presolve_off, -1);
}

struct clp {
    struct clp_api api;
    Clp_Simplex *model;
    const struct lp *l;
};

void clp_free(struct clp *c)
{
    if (!c)
        return;
    c->api.Clp_deleteModel(c->model);
    dlclose(c->api.handle);
    free(c);
}

struct way {
    enum clp_method method;
    bool presolve;
    double tolerance;
    int row_iterations;           /* iterations per row; 0 = no limit */
    const struct clp_basis *from; /* NULL = from scratch */
};

/* Columns come first, then rows; what the basis does not have is a slack that is basic. */
static void go_to(const struct clp *c, const struct clp_basis *from)
{
    const unsigned char basic = 1;
    size_t n_columns = (size_t)c->l->n_columns, n_rows = (size_t)c->l->n_rows;
    AUTO_MEM unsigned char *status = mem_zero(n_columns + n_rows, sizeof *status);

    memset(status + n_columns, basic, n_rows);
    memcpy(status, from->status, (size_t)(from->n_columns + from->n_rows) * sizeof *status);
    c->api.Clp_copyinStatus(c->model, status);
}

static void run(const struct clp *c, const struct way *way)
{
    if (way->from) {
        go_to(c, way->from);
        (way->method == CLP_DUAL ? c->api.Clp_dual : c->api.Clp_primal)(c->model, 0);
        return;
    }
    Clp_Solve *options = c->api.ClpSolve_new();
    set_options(&c->api, options, way->method, way->presolve);
    c->api.Clp_initialSolveWithOptions(c->model, options);
    c->api.ClpSolve_delete(options);
}

static int iterations_of(const struct lp *l, const struct way *way)
{
    return way->row_iterations && l->n_rows < ITERATIONS_MAX / way->row_iterations
               ? ITERATIONS_LEAST + way->row_iterations * l->n_rows
               : ITERATIONS_MAX;
}

static struct clp *try_open(const struct lp *l,
                            const struct way *way,
                            struct lp_point *at,
                            struct err *e)
{
    struct clp_api api;

    if (load(&api, e) < 0)
        return NULL;
    struct clp *c = mem_zero(1, sizeof *c);
    *c = (struct clp){.api = api, .model = api.Clp_newModel(), .l = l};
    api.Clp_setLogLevel(c->model, 0);
    api.Clp_loadProblem(c->model, l->n_columns, l->n_rows, l->start, l->row, l->value, NULL, NULL,
                        l->cost, l->lower, l->upper);
    api.Clp_setPrimalTolerance(c->model, way->tolerance);
    api.Clp_setDualTolerance(c->model, way->tolerance);
    api.Clp_setMaximumIterations(c->model, iterations_of(l, way));
    run(c, way);
    api.Clp_setMaximumIterations(c->model, ITERATIONS_MAX);
    memcpy(at->x, api.Clp_primalColumnSolution(c->model), (size_t)l->n_columns * sizeof *at->x);
    memcpy(at->y, api.Clp_dualRowSolution(c->model), (size_t)l->n_rows * sizeof *at->y);
    lp_prove(l, at);
    return c;
}

int clp_try(
    const struct lp *l, enum clp_method method, bool presolve, struct lp_point *at, struct err *e)
{
    const struct way way = {.method = method, .presolve = presolve, .tolerance = TOLERANCE_DEFAULT};
    AUTO(clp) struct clp *c = try_open(l, &way, at, e);

    return c ? 0 : -1;
}

/* Where few columns cost anything, as where shortfalls are counted or deadlines stretched, nearly
 * all are as good as one another to the dual method, which may take minutes for what takes the
 * primal one a second. */
static bool few_cost(const struct lp *l)
{
    int n = 0;

    for (int j = 0; j < l->n_columns; j++)
        n += l->cost[j] < 0 || l->cost[j] > 0;
    return n < l->n_columns / 2;
}

/* Of the first two ways each has its condition: somewhere to start from, which new rows leave to
 * the dual method and new costs to the primal one; and costs. */
static bool is_way(size_t nth, const struct lp *l, const struct clp_basis *from)
{
    return nth == 0 ? from != NULL : nth > 1 || !few_cost(l);
}

struct clp *clp_open(const struct lp *l,
                     const struct clp_basis *from,
                     double size,
                     struct lp_point *at,
                     struct err *e)
{
    const struct way ways[] = {
        {from && from->has_new_costs ? CLP_PRIMAL : CLP_DUAL, false, TOLERANCE, ROW_ITERATIONS,
         from},
        {CLP_DUAL, true, TOLERANCE, ROW_ITERATIONS, NULL},
        {CLP_PRIMAL, true, TOLERANCE, 4 * ROW_ITERATIONS, NULL},
        {CLP_DUAL, true, TOLERANCE, 0, NULL},
        {CLP_PRIMAL, true, TOLERANCE, 0, NULL},
        {CLP_DUAL, false, TOLERANCE, 0, NULL},
        {CLP_PRIMAL, false, TOLERANCE, 0, NULL},
    };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        AUTO(clp) struct clp *c = NULL;
        if (!is_way(i, l, from))
            continue;
        if (!(c = try_open(l, &ways[i], at, e)))
            return NULL;
        if (lp_is_proved(at, size))
            return TAKE(c);
    }
    err_set(e, ERR_IO,
            "the linear program has no proven answer: objective %.9g, bound %.9g, rows violated by "
            "%.2g; check the file for numbers far apart in size",
            at->objective, at->bound, at->violation);
    return NULL;
}

void clp_keep(const struct clp *c, struct clp_basis *out)
{
    size_t n = (size_t)(c->l->n_columns + c->l->n_rows);

    clp_basis_clear(out);
    *out = (struct clp_basis){
        .status = mem_zero(n + 1, sizeof *out->status),
        .n_columns = c->l->n_columns,
        .n_rows = c->l->n_rows,
    };
    memcpy(out->status, c->api.Clp_statusArray(c->model), n * sizeof *out->status);
}

void clp_basis_clear(struct clp_basis *b)
{
    free(b->status);
    *b = (struct clp_basis){0};
}

void clp_beside(struct clp *c, const int *rows, const double *by, size_t n, double *y_out)
{
    double *upper = c->api.Clp_rowUpper(c->model);

    for (size_t i = 0; i < n; i++)
        upper[rows[i]] = c->l->upper[rows[i]] + by[i];
    c->api.Clp_dual(c->model, 0);
    memcpy(y_out, c->api.Clp_dualRowSolution(c->model), (size_t)c->l->n_rows * sizeof *y_out);
    for (size_t i = 0; i < n; i++)
        upper[rows[i]] = c->l->upper[rows[i]];
}
