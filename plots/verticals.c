/* Vertical lines with labels above a panel. */
#include "plots/layout.h"

#include <math.h>
#include <string.h>

enum { APART = 10 }; /* units between labels */

void verticals_add(struct verticals *v, const struct axis *x, double at, const char *formula,
                   const char *seen, int faint)
{
    double place = axis_place(x, at), half = (text_width(seen) + APART) / 2;
    struct vertical *added = &v->item[v->count];

    if (!(at >= x->low && at <= x->high) || v->count == VERTICALS_MAX)
        return;
    *added = (struct vertical){.at = x->of_logarithms ? log(at) : at, .line = 1, .faint = faint};
    added->place = place, added->half = half;
    snprintf(added->formula, sizeof added->formula, "%s", formula);
    for (size_t i = 0; i < v->count; i++) {
        const struct vertical *other = &v->item[i];

        if (strcmp(other->formula, formula) == 0)
            return; /* once */
        if (other->line == 1 && fabs(other->place - place) < other->half + half)
            added->line = 2;
    }
    v->lines = added->line > v->lines ? added->line : v->lines;
    v->count++;
}

void verticals_add_length(struct verticals *v, const struct axis *x, double length)
{
    char formula[64], seen[64];

    snprintf(formula, sizeof formula, "m(\"L_{tr} = %.0f\")", length);
    snprintf(seen, sizeof seen, "Lt = %.0f", length);
    if (length > 0)
        verticals_add(v, x, length, formula, seen, 0);
}

void verticals_draw(struct script *s, const struct verticals *v, int over)
{
    for (size_t i = 0; i < v->count; i++) {
        const struct vertical *line = &v->item[i];

        fprintf(s->plot, "set arrow from %.8g, graph 0 to %.8g, graph 1 nohead %s %s\n", line->at,
                line->at, over ? "front" : "back",
                over          ? "lw 1.6 dt (5,5) lc rgb \"#FFFFFF\""
                : line->faint ? "lw 1.2 dt (2,4) lc rgb \"#888888\""
                              : "lw 1.6 dt (5,5) lc rgb \"#555555\"");
        fprintf(s->plot,
                "set label %s at %.8g, graph 1 offset character 0, %g center enhanced textcolor "
                "rgb \"#333333\"\n",
                line->formula, line->at, line->line > 1 ? 1.75 : 0.6);
    }
}
