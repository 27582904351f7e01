/* How the constructors of expressions make nodes. */
#ifndef REACH_ANALYZE_SERIES_PROOF_EXPRESSION_PRIVATE_H
#define REACH_ANALYZE_SERIES_PROOF_EXPRESSION_PRIVATE_H

#include "analyze/series/proof/expression.h"

/* What a node is made of; the pool copies what it keeps. */
struct shape {
    enum expression_kind kind;
    int count;
    const int *child;
    const fmpq *weight;
    const fmpq *q;
};

/* The node of that shape, made if there is none. */
int expression_intern(struct expression_pool *p, const struct shape *s);
/* Memory ran out: NODE_NAN. */
int expression_fail(struct expression_pool *p);
/* A node without t in ever smaller balls, *prec 0 at first: 0 when there are no more. */
int expression_ball(arb_t out, const struct expression_pool *p, int n, slong *prec);

#endif
