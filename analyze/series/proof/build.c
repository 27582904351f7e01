/* The formula's tree for one head -> an expression in t. */
#include "analyze/formula_private.h"
#include "analyze/series/proof/expression.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct build {
    struct expression_pool *p;
    const struct formula *f;
    const struct formula_point *at;
    const fmpz *t; /* NULL: t stays a variable */
    struct formula_error *e;
    int *
        made; /* [formula nodes] expression + 1; 0: not made, or it depends on the index of a sum */
    uint64_t *uses_index; /* [formula nodes] bit s: index of sum s, bound outside */
    int index[FORMULA_SUMS_MAX]; /* the value of each sum's index at the moment */
    long steps; /* left */
    int failed;
};

static int build_node(struct build *b, int n);

static int refuse(struct build *b, const char *why)
{
    if (!b->failed)
        formula_refuse(b->e, 0, "%s", why);
    b->failed = 1;
    return NODE_NAN;
}

static int refuse_steps(struct build *b)
{
    char why[96];
    snprintf(why, sizeof why, "the formula takes too many steps (more than %d)", FORMULA_STEPS_MAX);
    return refuse(b, why);
}

void decimal_exact(fmpq_t q, const char *decimal)
{
    const char *text = decimal + (*decimal == '-' || *decimal == '+');
    slong exponent = 0;
    int after_point = 0;
    LOCAL(fmpz, digits, power);
    for (; *text && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.') {
            after_point = 1;
            continue;
        }
        fmpz_mul_ui(digits, digits, 10);
        fmpz_add_ui(digits, digits, (ulong)(*text - '0'));
        exponent -= after_point;
    }
    if (!fmpz_is_zero(
            digits)) { /* the number is within the range of double, so the exponent is small */
        if (*text)
            exponent += strtol(text + 1, NULL, 10);
        fmpz_ui_pow_ui(power, 10, (ulong)labs(exponent));
    } else {
        fmpz_one(power);
    }
    if (*decimal == '-')
        fmpz_neg(digits, digits);
    if (exponent >= 0) {
        fmpz_mul(digits, digits, power);
        fmpz_one(power);
    }
    fmpq_set_fmpz_frac(q, digits, power);
}

static int number_text(struct expression_pool *p, const char *decimal)
{
    LOCAL(fmpq, q);
    decimal_exact(q, decimal);
    return expression_number(p, q);
}

/* A double is the binary number it is. */
static int number_double(struct expression_pool *p, double value)
{
    if (isnan(value) || isinf(value))
        return isnan(value) ? NODE_NAN : value > 0 ? NODE_PLUS_INFINITY : NODE_MINUS_INFINITY;
    LOCAL(fmpq, q);
    LOCAL(arf, a);
    arf_set_d(a, value);
    arf_get_fmpq(q, a);
    return expression_number(p, q);
}

static int variable(struct build *b, int slot)
{
    switch ((enum formula_variable)slot) {
    case VARIABLE_T: break;
    case VARIABLE_H: return number_double(b->p, b->at->h);
    case VARIABLE_HEADS: return number_double(b->p, b->at->heads);
    case VARIABLE_HEAD_SIZE: return number_double(b->p, b->at->head_size);
    case VARIABLE_LENGTH: return number_double(b->p, b->at->length);
    }
    if (!b->t)
        return NODE_T_ITSELF;
    return expression_whole(b->p, b->t);
}

static int parameter(struct build *b, const struct formula_node *node)
{
    const struct formula_parameter *p = &b->f->parameters[node->slot];
    if (p->count == 0)
        return node->child[0] >= 0 ? build_node(b, node->child[0])
                                   : refuse(b, "a parameter has no value");
    if (p->count > 1 && p->count != b->at->heads)
        return refuse(b, "a parameter has neither one value nor one for each head");
    int i = p->count == 1 ? 0 : b->at->h - 1;
    return p->decimal ? number_text(b->p, p->decimal[i]) : number_double(b->p, p->value[i]);
}

static int sum_of(struct build *b, const struct formula_node *node)
{
    int first = build_node(b, node->child[0]), last = build_node(b, node->child[1]);
    const struct expression *x = b->p->node;
    if (x[first].kind == X_NAN || x[last].kind == X_NAN || x[first].kind == X_INFINITY ||
        x[last].kind == X_INFINITY)
        return NODE_NAN;
    if (x[first].depends || x[last].depends)
        return expression_leaf(b->p, X_OPAQUE);
    int span = expression_floor(b->p, expression_subtract(b->p, last, first));
    if (b->p->node[span].kind != X_NUMBER)
        return refuse(b, "the number of terms of a sum cannot be told");
    const fmpz *count = fmpq_numref(b->p->node[span].q);
    if (fmpz_cmp_si(count, FORMULA_STEPS_MAX) >= 0)
        return refuse_steps(b);
    slong terms = fmpz_sgn(count) < 0 ? 0 : fmpz_get_si(count) + 1;
    int *child = malloc((size_t)(terms + 1) * sizeof *child), result = NODE_NAN;
    fmpq *weight = malloc((size_t)(terms + 1) * sizeof *weight);
    if (!child || !weight) {
        free(child);
        free(weight);
        return refuse(b, "out of memory");
    }
    LOCAL(fmpq, zero);
    int index = first;
    for (slong k = 0; k < terms; k++) {
        fmpq_init(&weight[k]);
        fmpq_one(&weight[k]);
        b->index[node->slot] = index;
        child[k] = b->failed || b->p->failed ? NODE_NAN : build_node(b, node->child[2]);
        index = expression_add(b->p, index, NODE_ONE);
    }
    result = expression_linear(b->p, zero, (int)terms, child, weight);
    for (slong k = 0; k < terms; k++)
        fmpq_clear(&weight[k]);
    free(child);
    free(weight);
    return result;
}

/* a < b and the like, by a >= b or b >= a. */
static int compare(struct expression_pool *p, enum formula_node_kind kind, int a, int b)
{
    int turned = kind == NODE_GREATER || kind == NODE_LESS_EQUAL,
        equality = kind == NODE_EQUAL || kind == NODE_NOT_EQUAL;
    int holds = expression_at_least(p, turned ? b : a, turned ? a : b);
    if (equality)
        holds = expression_choose(p, holds, expression_at_least(p, b, a), NODE_ZERO);
    if (kind == NODE_LESS || kind == NODE_GREATER || kind == NODE_NOT_EQUAL)
        return expression_choose(p, holds, NODE_ZERO, NODE_ONE);
    return holds;
}

static int compute(struct build *b, const struct formula_node *node)
{
    struct expression_pool *p = b->p;
    switch (node->kind) {
    case NODE_LITERAL: return number_text(p, node->decimal);
    case NODE_INFINITY: return NODE_PLUS_INFINITY;
    case NODE_PI: return expression_leaf(p, X_PI);
    case NODE_VARIABLE: return variable(b, node->slot);
    case NODE_PARAMETER: return parameter(b, node);
    case NODE_INDEX: return b->index[node->slot];
    case NODE_SUM: return sum_of(b, node);
    default: break;
    }
    int x = build_node(b, node->child[0]);
    switch (node->kind) {
    case NODE_NEGATE: return expression_subtract(p, NODE_ZERO, x);
    case NODE_LN: return expression_unary(p, X_LN, x);
    case NODE_EXP: return expression_unary(p, X_EXP, x);
    case NODE_SQRT: return expression_power(p, x, expression_ratio(p, 1, 2));
    case NODE_ABS: return expression_unary(p, X_ABS, x);
    case NODE_FLOOR: return expression_floor(p, x);
    case NODE_SIN: return expression_unary(p, X_SIN, x);
    case NODE_COS: return expression_unary(p, X_COS, x);
    case NODE_CHOOSE: {
        int sign = p->node[x].depends || p->node[x].kind == X_NAN ? 2 : expression_sign(p, x);
        if (sign != 2) /* the other branch may not even have a value */
            return build_node(b, node->child[sign != 0 ? 1 : 2]);
        int then = build_node(b, node->child[1]);
        return expression_choose(p, x, then, build_node(b, node->child[2]));
    }
    default: break;
    }
    int y = build_node(b, node->child[1]);
    switch (node->kind) {
    case NODE_ADD: return expression_add(p, x, y);
    case NODE_SUBTRACT: return expression_subtract(p, x, y);
    case NODE_MULTIPLY: return expression_multiply(p, x, y);
    case NODE_DIVIDE:
        return expression_multiply(p, x, expression_power(p, y, expression_ratio(p, -1, 1)));
    case NODE_POWER: return expression_power(p, x, y);
    case NODE_MIN:
    case NODE_MAX: return expression_extremum(p, node->kind == NODE_MAX, x, y);
    default: return compare(p, node->kind, x, y);
    }
}

static int build_node(struct build *b, int n)
{
    if (b->made[n])
        return b->made[n] - 1;
    if (b->failed || b->p->failed)
        return NODE_NAN;
    if (--b->steps < 0)
        return refuse_steps(b);
    int made = compute(b, &b->f->nodes[n]);
    if (!b->uses_index[n] && !b->failed)
        b->made[n] = made + 1;
    return made;
}

/* [1.1] */
int expression_build(struct expression_pool *p, const struct formula *f,
                     const struct formula_point *at, const fmpz *t, struct formula_error *e)
{
    struct build b = {.p = p, .f = f, .at = at, .t = t, .e = e, .steps = FORMULA_STEPS_MAX};
    int root = -1;
    b.made = calloc((size_t)f->node_count, sizeof *b.made);
    b.uses_index = calloc((size_t)f->node_count, sizeof *b.uses_index);
    if (!b.made || !b.uses_index) {
        formula_refuse(e, 0, "out of memory");
        goto end;
    }
    for (int n = 0; n < f->node_count; n++) {
        const struct formula_node *node = &f->nodes[n];
        b.uses_index[n] = node->kind == NODE_INDEX ? (uint64_t)1 << node->slot : 0;
        for (int i = 0; i < 3; i++)
            if (node->child[i] >= 0)
                b.uses_index[n] |= b.uses_index[node->child[i]];
        if (node->kind == NODE_SUM)
            b.uses_index[n] &= ~((uint64_t)1 << node->slot);
    }
    root = build_node(&b, f->root);
    if (p->failed && !b.failed)
        formula_refuse(e, 0, "the formula is too large to analyse (or out of memory)");
    if (p->failed || b.failed)
        root = -1;
end:
    free(b.made);
    free(b.uses_index);
    return root;
}

int expression_replace(struct expression_pool *to, const struct expression_pool *from, int n, int t)
{
    int result = NODE_NAN, widest = 1, steps = 0, *nodes = expression_below(&steps, from, &n, 1);
    int *made = calloc((size_t)n + 1, sizeof *made);
    for (int k = 0; nodes && k < steps; k++)
        widest = from->node[nodes[k]].count > widest ? from->node[nodes[k]].count : widest;
    int *child = malloc((size_t)widest * sizeof *child);
    to->failed |= !made || !nodes || !child;
    for (int step = 0; step < steps && !to->failed; step++) {
        int i = nodes[step];
        struct expression like = from->node[i]; /* the pool may move while it grows */
        for (int k = 0; k < like.count; k++)
            child[k] = made[like.child[k]];
        result = made[i] = i == NODE_T_ITSELF            ? t
                           : to == from && !like.depends ? i
                                                         : expression_rebuild(to, &like, child);
    }
    free(made);
    free(nodes);
    free(child);
    return to->failed ? NODE_NAN : result;
}

int expression_substitute(struct expression_pool *to, const struct expression_pool *from, int n,
                          const fmpz_t t)
{
    return expression_replace(to, from, n, expression_whole(to, t));
}
