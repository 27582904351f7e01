/* What `reach fit` prints. */
#include "commands/fit.h"

#include "commands/table.h"

#include <stdio.h>
#include <string.h>

static int print_fits(const struct fit_run *r, struct error *e)
{
    int coefficients = r->form.count;
    char alignment[4 * FIT_COEFFICIENTS_MAX + 16] = "l";
    struct table *t;

    for (int c = 0; c < coefficients; c++)
        strcat(alignment, "rr4");
    strcat(alignment, "rr3r2r2r1");
    t = table_create(alignment);
    if (t) {
        table_cell(t, "fit of %s", r->options->form);
        for (int c = 0; c < coefficients; c++) {
            table_cell(t, "%s", r->points[0].result.name[c]);
            table_cell(t, "std error");
        }
        table_cell(t, "R^2");
        table_cell(t, "residual sd");
        table_cell(t, "first");
        table_cell(t, "last");
        table_cell(t, "points");
        for (size_t i = 0; i < r->count; i++) {
            const struct fit_points *p = &r->points[i];
            char name[400];

            fit_points_name(name, sizeof name, p);
            table_cell(t, "%s", name);
            for (int c = 0; c < coefficients; c++) {
                table_cell(t, "%.6g", p->result.value[c]);
                table_cell(t, "%.2g", p->result.error[c]);
            }
            table_cell(t, "%.4f", p->result.r2);
            table_cell(t, "%.4g", p->result.residual_deviation);
            table_cell(t, "%.10g", p->t[0]);
            table_cell(t, "%.10g", p->t[p->count - 1]);
            table_cell(t, "%zu", p->count);
        }
    }
    return table_show(t, e);
}

/* The curve printed in [A], and the result of each reading of its definition. */
static int print_sandwich(const struct fit_run *r, struct error *e)
{
    struct table *table;
    int closest = 0;

    for (int i = 1; i < FIT_READINGS; i++)
        closest = r->readings[i].away < r->readings[closest].away ? i : closest;
    table = table_create("rlrr1rr1r2rl");
    if (table) {
        table_caption(table,
                      "Chi et al. (2023) print %g ln(1+t) - %g for h' = 8 (the last head), dbar = "
                      "128, 8192 tokens; by each reading of the index i and of the points used",
                      FIT_SANDWICH_SLOPE, -FIT_SANDWICH_INTERCEPT);
        static const char *const titles[] = {"i from", "points", "slope",    "off by", "intercept",
                                             "off by", "R^2",    "distance", ""};

        for (size_t c = 0; c < sizeof titles / sizeof *titles; c++)
            table_cell(table, "%s", titles[c]);
        for (int i = 0; i < FIT_READINGS; i++) {
            table_cell(table, "%d", r->readings[i].first);
            table_cell(table, r->readings[i].points == FIT_SANDWICH_POINTS ? "all 8192"
                                                                           : "50 most recent");
            table_cell(table, "%.4f", r->readings[i].result.value[1]);
            table_cell(table, "%+.4f", r->readings[i].result.value[1] - FIT_SANDWICH_SLOPE);
            table_cell(table, "%.4f", r->readings[i].result.value[0]);
            table_cell(table, "%+.4f", r->readings[i].result.value[0] - FIT_SANDWICH_INTERCEPT);
            table_cell(table, "%.4f", r->readings[i].result.r2);
            table_cell(table, "%.4f", r->readings[i].away);
            table_cell(table, i == closest ? "closest" : "");
        }
    }
    return table_show(table, e);
}

int fit_print(const struct fit_run *r, struct error *e)
{
    return print_fits(r, e) != 0 || (r->is_sandwich && print_sandwich(r, e) != 0) ? -1 : 0;
}
