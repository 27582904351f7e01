/* The double evaluator. */
#include "analyze/formula_private.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* A value that is the same for all heads, cached between heads at one distance. */
struct shared {
    int usable; /* 1: an operation that depends on neither head nor the index of a sum around it */
    int uses_head;
    uint64_t uses_index; /* bit s: index of sum s, bound outside this node */
    size_t stamp; /* distance + 1 it was computed for; 0: never */
    double value;
    long steps; /* its steps; charged again at each use, so that the limit does not depend on the
                   cache */
};

/* For a sum whose terms do not depend on t: its first `count` terms. */
struct partial {
    int usable;
    double first, count, sum; /* count 0: none */
};

struct formula_walk {
    const struct formula *f;
    struct partial partial[FORMULA_SUMS_MAX];
};

struct evaluation {
    const struct formula *f;
    const struct formula_point *at;
    struct shared *shared; /* [nodes], or NULL; not with rounding: a node may have one value inside
                              a condition and another outside */
    struct partial *partial; /* [FORMULA_SUMS_MAX] or NULL */
    const struct formula_rounding *rounding; /* or NULL */
    const unsigned char *uses_t; /* [nodes] with rounding */
    int exact; /* > 0: inside an unrounded part */
    size_t stamp;
    long steps; /* left */
    double index[FORMULA_SUMS_MAX];
};

_Static_assert(FORMULA_SUMS_MAX <= 64, "one bit a sum in struct shared");

static double value_of(struct evaluation *v, int n);

static double exact_of(struct evaluation *v, int n)
{
    v->exact++;
    double value = value_of(v, n);
    v->exact--;
    return value;
}

static int is_comparison(enum formula_node_kind kind)
{
    return kind >= NODE_LESS && kind <= NODE_NOT_EQUAL;
}

/* first, first + 1, ... while <= last. */
static double sum_of(struct evaluation *v, const struct formula_node *node)
{
    double first = exact_of(v, node->child[0]), last = exact_of(v, node->child[1]), sum = 0, k = 0;
    struct partial *kept = v->partial && v->partial[node->slot].usable ? &v->partial[node->slot]
                                                                       : NULL;
    if (!isfinite(first) || !isfinite(last))
        return NAN;
    if (kept && kept->count > 0 && kept->first == first && first + (kept->count - 1) <= last) {
        k = kept->count;
        sum = kept->sum;
    }
    for (; first + k <= last && v->steps >= 0; k++) {
        v->index[node->slot] = first + k;
        sum += value_of(v, node->child[2]);
    }
    if (kept && v->steps >= 0)
        *kept = (struct partial){1, first, k, sum};
    return sum;
}

static double variable(const struct formula_point *at, int slot)
{
    switch ((enum formula_variable)slot) {
    case VARIABLE_T: return at->t;
    case VARIABLE_H: return at->h;
    case VARIABLE_HEADS: return at->heads;
    case VARIABLE_HEAD_SIZE: return at->head_size;
    case VARIABLE_LENGTH: return at->length;
    }
    return NAN;
}

static double parameter(struct evaluation *v, const struct formula_node *node)
{
    const struct formula_parameter *p = &v->f->parameters[node->slot];
    if (p->count == 0)
        return node->child[0] >= 0 ? value_of(v, node->child[0]) : NAN;
    if (p->count == 1)
        return p->value[0];
    return v->at->h >= 1 && v->at->h <= p->count ? p->value[v->at->h - 1] : NAN;
}

/* Zero has no sign here: division by it gives an infinity with the sign of the dividend. */
static double quotient(double a, double b)
{
    return a / (b == 0 ? 0.0 : b);
}

/* A negative base allows only whole powers; a NaN never gives a value. */
static double power(double a, double b)
{
    if (isnan(a) || isnan(b) || (a < 0 && (isinf(b) || b != floor(b))))
        return NAN;
    return pow(a == 0 ? 0.0 : a, b);
}

static double compute(struct evaluation *v, const struct formula_node *node)
{
    switch (node->kind) {
    case NODE_LITERAL: return node->value;
    case NODE_INFINITY: return INFINITY;
    case NODE_PI: return M_PI;
    case NODE_VARIABLE: return variable(v->at, node->slot);
    case NODE_PARAMETER: return parameter(v, node);
    case NODE_INDEX: return v->index[node->slot];
    case NODE_SUM: return sum_of(v, node);
    default: break;
    }
    int decides = is_comparison(node->kind) || node->kind == NODE_CHOOSE ||
                  node->kind == NODE_FLOOR;
    double a = decides ? exact_of(v, node->child[0]) : value_of(v, node->child[0]);
    switch (node->kind) {
    case NODE_NEGATE: return -a;
    case NODE_LN: return log(a);
    case NODE_EXP: return exp(a);
    case NODE_SQRT: return sqrt(a);
    case NODE_ABS: return fabs(a);
    case NODE_FLOOR: return floor(a);
    case NODE_SIN: return sin(a);
    case NODE_COS: return cos(a);
    case NODE_CHOOSE: return isnan(a) ? NAN : value_of(v, node->child[a != 0 ? 1 : 2]);
    default: break;
    }
    double b = decides ? exact_of(v, node->child[1]) : value_of(v, node->child[1]);
    switch (node->kind) {
    case NODE_ADD: return a + b;
    case NODE_SUBTRACT: return a - b;
    case NODE_MULTIPLY: return a * b;
    case NODE_DIVIDE: return quotient(a, b);
    case NODE_POWER: return power(a, b);
    default: break;
    }
    if (isnan(a) || isnan(b))
        return NAN;
    switch (node->kind) {
    case NODE_LESS: return a < b;
    case NODE_LESS_EQUAL: return a <= b;
    case NODE_GREATER: return a > b;
    case NODE_GREATER_EQUAL: return a >= b;
    case NODE_EQUAL: return a == b;
    case NODE_NOT_EQUAL: return a != b;
    case NODE_MIN: return a < b ? a : b;
    case NODE_MAX: return a > b ? a : b;
    default: return NAN;
    }
}

static double rounded_value(struct evaluation *v, int n)
{
    const struct formula_node *node = &v->f->nodes[n];
    int within = v->exact || !v->uses_t[n];
    v->exact += within;
    double value = --v->steps < 0 ? NAN : compute(v, node);
    v->exact -= within;
    return v->exact ? value : v->rounding->round(value, v->rounding->type);
}

static double value_of(struct evaluation *v, int n)
{
    const struct formula_node *node = &v->f->nodes[n];
    if (v->rounding)
        return rounded_value(v, n);
    if (!v->shared || !v->shared[n].usable)
        return --v->steps < 0 ? NAN : compute(v, node);
    struct shared *kept = &v->shared[n];
    if (kept->stamp == v->stamp) {
        v->steps -= kept->steps;
        return v->steps < 0 ? NAN : kept->value;
    }
    struct shared *all = v->shared;
    long before = v->steps;
    v->shared = NULL; /* its inner values are part of the cached value */
    kept->value = --v->steps < 0 ? NAN : compute(v, node);
    v->shared = all;
    kept->steps = before - v->steps;
    kept->stamp = v->stamp;
    return kept->value;
}

double formula_evaluate(const struct formula *f, const struct formula_point *at)
{
    return formula_evaluate_rounded(f, at, NULL);
}

long formula_steps(const struct formula *f, const struct formula_point *at)
{
    struct evaluation v = {.f = f, .at = at, .steps = FORMULA_STEPS_MAX};
    value_of(&v, f->root);
    return FORMULA_STEPS_MAX - v.steps;
}

void formula_mark_distance(unsigned char *uses_t, const struct formula *f)
{
    for (int n = 0; n < f->node_count; n++) {
        const struct formula_node *node = &f->nodes[n];
        int set = node->kind == NODE_PARAMETER && f->parameters[node->slot].count > 0;
        uses_t[n] = node->kind == NODE_VARIABLE && node->slot == VARIABLE_T;
        for (int i = 0; i < 3 && !set; i++)
            uses_t[n] |= node->child[i] >= 0 && uses_t[node->child[i]];
    }
}

double formula_evaluate_rounded(const struct formula *f, const struct formula_point *at,
                                const struct formula_rounding *rounding)
{
    unsigned char uses_t[FORMULA_NODES_MAX];
    struct evaluation v = {
        .f = f, .at = at, .steps = FORMULA_STEPS_MAX, .rounding = rounding, .uses_t = uses_t};
    if (rounding)
        formula_mark_distance(uses_t, f);
    double value = value_of(&v, f->root);
    return v.steps < 0 ? NAN : value + 0.0; /* no -0 */
}

/* Marks nodes with one value for all heads, outside of the sums whose index they use. */
static void mark_shared(struct shared *shared, const struct formula *f)
{
    for (int n = 0; n < f->node_count; n++) {
        const struct formula_node *node = &f->nodes[n];
        int set = node->kind == NODE_PARAMETER ? f->parameters[node->slot].count : 0;
        shared[n].uses_head = set > 1 || (node->kind == NODE_VARIABLE && node->slot == VARIABLE_H);
        shared[n].uses_index = node->kind == NODE_INDEX ? (uint64_t)1 << node->slot : 0;
        for (int i = 0; i < 3 && set == 0; i++)
            if (node->child[i] >= 0) {
                shared[n].uses_head |= shared[node->child[i]].uses_head;
                shared[n].uses_index |= shared[node->child[i]].uses_index;
            }
        if (node->kind == NODE_SUM)
            shared[n].uses_index &= ~((uint64_t)1 << node->slot);
        shared[n].usable = node->kind >= NODE_NEGATE && !shared[n].uses_head &&
                           !shared[n].uses_index;
    }
}

struct formula_walk *formula_walk_new(const struct formula *f)
{
    unsigned char uses_t[FORMULA_NODES_MAX];
    struct formula_walk *w = calloc(1, sizeof *w);
    struct shared *shared = calloc((size_t)f->node_count, sizeof *shared);
    if (w && shared) {
        w->f = f;
        mark_shared(shared, f);
        formula_mark_distance(uses_t, f);
        for (int n = 0; n < f->node_count; n++) {
            const struct formula_node *node = &f->nodes[n];
            if (node->kind == NODE_SUM)
                w->partial[node->slot].usable = !uses_t[node->child[2]] &&
                                                !(shared[node->child[2]].uses_index &
                                                  ~((uint64_t)1 << node->slot));
        }
    } else {
        free(w);
        w = NULL;
    }
    free(shared);
    return w;
}

double formula_walk_to(struct formula_walk *w, const struct formula_point *at, long *steps)
{
    struct evaluation v = {.f = w->f, .at = at, .steps = *steps, .partial = w->partial};
    double value = value_of(&v, w->f->root);
    *steps = v.steps;
    return v.steps < 0 ? NAN : value + 0.0;
}

void formula_walk_free(struct formula_walk *w)
{
    free(w);
}

int formula_table(double *table, const struct formula *f, int heads, int head_size,
                  size_t distances, double length, struct formula_error *e)
{
    return formula_table_rounded(table, f, heads, head_size, distances, length, NULL, e);
}

int formula_table_rounded(double *table, const struct formula *f, int heads, int head_size,
                          size_t distances, double length, const struct formula_rounding *rounding,
                          struct formula_error *e)
{
    unsigned char uses_t[FORMULA_NODES_MAX];
    const char *missing = formula_missing(f);
    if (missing)
        return formula_refuse(e, 0, "parameter '%s' has no value", missing);
    for (int i = 0; i < f->parameter_count; i++)
        if (f->parameters[i].count > 1 && f->parameters[i].count != heads)
            return formula_refuse(e, 0, "parameter '%s' has %d values, but there are %d heads",
                                  f->parameters[i].name, f->parameters[i].count, heads);
    struct shared *shared = calloc((size_t)f->node_count, sizeof *shared);
    if (!shared)
        return formula_refuse(e, 0, "out of memory");
    mark_shared(shared, f);
    formula_mark_distance(uses_t, f);
    int failed = 0;
    for (size_t t = 0; t < distances && !failed; t++)
        for (int h = 1; h <= heads && !failed; h++) {
            const struct formula_point at = {(double)t, h, heads, head_size, length};
            struct evaluation v = {.f = f,
                                   .at = &at,
                                   .shared = rounding ? NULL : shared,
                                   .stamp = t + 1,
                                   .steps = FORMULA_STEPS_MAX,
                                   .rounding = rounding,
                                   .uses_t = uses_t};
            double value = value_of(&v, f->root) + 0.0;
            table[(size_t)(h - 1) * distances + t] = value;
            if (v.steps < 0)
                failed = formula_refuse(
                    e, 0,
                    "the formula takes too many steps at head %d, distance %zu (more than %d)", h,
                    t, FORMULA_STEPS_MAX);
            else if (isnan(value) || value == INFINITY)
                failed = formula_refuse(
                    e, 0, "the value at head %d, distance %zu is %s (expected a number or -inf)", h,
                    t, isnan(value) ? "not a number" : "+inf");
        }
    free(shared);
    return failed;
}
