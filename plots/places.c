/* Places of points on a logarithmic axis that several lines share. */
#include "plots/places.h"

#include <math.h>
#include <string.h>

/* Units between points of neighbouring lines, if there is room, and from the frame. */
static const double APART = 9, MARGIN = 16;

static double apart(double size, size_t lines)
{
    return fmin(APART, 0.3 * size / (double)lines);
}

void places_add(struct places *p, double at)
{
    size_t i = 0;

    while (i < p->count && p->at[i] < at)
        i++;
    if ((i < p->count && p->at[i] == at) || p->count == PLACES_MAX)
        return;
    memmove(p->at + i + 1, p->at + i, (p->count++ - i) * sizeof *p->at);
    p->at[i] = at;
}

struct axis places_axis(double low, double high, double size, size_t lines)
{
    double margin = fmin(MARGIN + apart(size, lines) * ((double)lines - 1) / 2, 0.3 * size),
           unit = log(high > low ? high / low : 4) / (size - 2 * margin);

    if (!(high > low))
        low /= 2, high *= 2;
    return axis_logarithmic('x', low * exp(-margin * unit), high * exp(margin * unit), size);
}

double places_step(const struct places *p, const struct axis *x, size_t lines)
{
    double gap = INFINITY;

    for (size_t i = 1; i < p->count; i++)
        gap = fmin(gap, log(p->at[i] / p->at[i - 1]));
    return fmin(apart(x->size, lines) / x->size * log(x->high / x->low), 0.5 * gap / (double)lines);
}

double places_aside(double step, size_t line, size_t lines)
{
    return exp(step * ((double)line - ((double)lines - 1) / 2));
}
