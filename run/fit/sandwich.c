/* The log curve printed in [A] for Sandwich, by each reading of its definition. */
#include "run/fit/fit.h"

#include <math.h>
#include <stdlib.h>

int fit_sandwich(struct fit_run *r, struct error *e)
{
    static const struct {
        const char *formula;
        int first;
        size_t points;
    } readings[FIT_READINGS] = {{"sandwich(first=0)", 0, FIT_SANDWICH_POINTS},
                                {"sandwich(first=0)", 0, 50},
                                {"sandwich(first=1)", 1, FIT_SANDWICH_POINTS},
                                {"sandwich(first=1)", 1, 50}};
    double *t = malloc(FIT_SANDWICH_POINTS * sizeof *t),
           *y = malloc(FIT_SANDWICH_POINTS * sizeof *y);
    struct formula_error problem = {0, "out of memory"};
    int rc = -1;

    if (!t || !y) {
        fail(e, "out of memory for the comparison");
        goto end;
    }
    for (int i = 0; i < FIT_READINGS; i++) {
        struct formula *f = formula_parse(readings[i].formula,
                                          &problem); /* head 1 of 1 has h' = 8 */
        struct fit_reading *to = &r->readings[i];
        int failed = !f || formula_table(y, f, 1, HEAD_SIZE_DEFAULT, readings[i].points,
                                         FIT_SANDWICH_POINTS, &problem) != 0;

        formula_free(f);
        to->first = readings[i].first;
        to->points = readings[i].points;
        for (size_t k = 0; k < to->points; k++)
            t[k] = (double)k;
        if (failed || fit_solve(&to->result, &r->form, t, y, to->points, &problem) != 0) {
            fail(e, "sandwich: %s", problem.message);
            goto end;
        }
        to->away = hypot(to->result.value[1] - FIT_SANDWICH_SLOPE,
                         to->result.value[0] - FIT_SANDWICH_INTERCEPT);
    }
    rc = 0;
end:
    free(t);
    free(y);
    return rc;
}
