#include "analyze/formula_window.h"

#include <math.h>

/* The constant value of a node for a head, NaN if it is not clearly constant. */
static double constant_of(const struct formula *f, int n, int h)
{
    const struct formula_node *node = &f->nodes[n];
    const struct formula_parameter *p;

    if (node->kind == NODE_LITERAL)
        return node->value;
    if (node->kind != NODE_PARAMETER)
        return NAN;
    p = &f->parameters[node->slot];
    if (p->count == 0)
        return node->child[0] >= 0 ? constant_of(f, node->child[0], h) : NAN;
    return p->value[p->count == 1 ? 0 : h - 1];
}

static int is_variable_t(const struct formula_node *node)
{
    return node->kind == NODE_VARIABLE && node->slot == VARIABLE_T;
}

/* Least w such that the tree below n is clearly -inf from t = w on; +inf otherwise. */
static double end_of(const struct formula *f, int n, int h)
{
    const struct formula_node *node = &f->nodes[n], *condition, *otherwise;
    double bound;

    switch (node->kind) {
    case NODE_ADD: return fmin(end_of(f, node->child[0], h), end_of(f, node->child[1], h));
    case NODE_SUBTRACT: return end_of(f, node->child[0], h);
    case NODE_CHOOSE:
        condition = &f->nodes[node->child[0]];
        otherwise = &f->nodes[node->child[2]];
        if ((condition->kind != NODE_LESS && condition->kind != NODE_LESS_EQUAL) ||
            !is_variable_t(&f->nodes[condition->child[0]]) || otherwise->kind != NODE_NEGATE ||
            f->nodes[otherwise->child[0]].kind != NODE_INFINITY)
            return INFINITY;
        bound = constant_of(f, condition->child[1], h);
        bound = condition->kind == NODE_LESS ? ceil(bound) : floor(bound) + 1;
        return bound > 0 ? fmin(bound, end_of(f, node->child[1], h)) : INFINITY;
    default: return INFINITY;
    }
}

long formula_window(const struct formula *f, int heads)
{
    double widest = 0;

    for (int h = 1; h <= heads; h++)
        widest = fmax(widest, end_of(f, f->root, h));
    return widest < 1e15 ? (long)widest : 0;
}

int formula_has_variable(const struct formula *f, enum formula_variable variable)
{
    for (int n = 0; n <= f->root; n++)
        if (f->nodes[n].kind == NODE_VARIABLE && f->nodes[n].slot == (int)variable)
            return 1;
    return 0;
}
