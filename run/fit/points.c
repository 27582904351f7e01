#include "run/fit/fit.h"

#include <stdlib.h>
#include <string.h>

struct fit_points *fit_points_add(struct fit_run *r, const char *label, size_t count,
                                  struct error *e)
{
    struct fit_points *grown = reallocarray(r->points, r->count + 1, sizeof *grown), *p;

    if (!grown) {
        fail_memory(e, (double)(r->count + 1) * sizeof *grown, "the points of a fit");
        return NULL;
    }
    r->points = grown;
    p = &grown[r->count];
    memset(p, 0, sizeof *p);
    p->label = strdup(label);
    p->t = calloc(count ? count : 1, sizeof *p->t);
    p->y = calloc(count ? count : 1, sizeof *p->y);
    if (!p->label || !p->t || !p->y) {
        free(p->label);
        free(p->t);
        free(p->y);
        fail_memory(e, 2 * (double)count * sizeof *p->t, "the points of a fit");
        return NULL;
    }
    r->count++;
    return p;
}

void fit_run_free(struct fit_run *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->points[i].label);
        free(r->points[i].members);
        free(r->points[i].t);
        free(r->points[i].y);
    }
    free(r->points);
    fit_form_free(&r->form);
    r->points = NULL;
    r->count = 0;
}
