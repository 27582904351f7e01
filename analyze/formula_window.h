/* Properties of a formula that its tree shows. */
#ifndef REACH_ANALYZE_FORMULA_WINDOW_H
#define REACH_ANALYZE_FORMULA_WINDOW_H

#include "analyze/formula.h"

/* The formula's clear window for every head: least w with b(t) = -inf for t >= w; 0: none. */
long formula_window(const struct formula *f, int heads);
/* 1 if the variable occurs in it. */
int formula_has_variable(const struct formula *f, enum formula_variable variable);

#endif
