/* Places of points on a logarithmic axis that several lines share: their ticks, and how far lines
 * are moved sideways, so that none hides another. */
#ifndef REACH_PLOTS_PLACES_H
#define REACH_PLOTS_PLACES_H

#include "plots/layout.h"

enum { PLACES_MAX = 64 };

struct places {
    double at[PLACES_MAX]; /* [count] ascending; further ones are left out */
    size_t count;
};

/* Adds a place, once. */
void places_add(struct places *p, double at);
/* An axis for points from low to high of this many lines, with room for moved ones. */
struct axis places_axis(double low, double high, double size, size_t lines);
/* The logarithm of the factor between the same place of neighbouring lines. */
double places_step(const struct places *p, const struct axis *x, size_t lines);
/* The factor for the places of a line, from 0: around 1. */
double places_aside(double step, size_t line, size_t lines);

#endif
