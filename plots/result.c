#include "plots/result.h"

#include "plots/figure.h"
#include "plots/result_script.h"
#include "plots/script.h"

#include <stdlib.h>

/* The comment lines of a script; the caller frees both texts, NULL: out of memory. */
static void make_comments(char *out[2], const struct result *r)
{
    if (asprintf(&out[0], "reach %s", r->version) < 0)
        out[0] = NULL;
    if (asprintf(&out[1], "command: %s", r->command) < 0)
        out[1] = NULL;
}

int script_of_result(const char *folder, const char *stem, const struct result *r,
                     const struct figure_style *style,
                     int (*write)(struct script *s, const void *figure, struct error *e),
                     const void *figure, struct error *e)
{
    char *lines[2];
    int rc;

    make_comments(lines, r);
    rc = lines[0] && lines[1]
             ? script_make(folder, stem, (const char *const[]){lines[0], lines[1], NULL}, style,
                           write, figure, e)
             : fail(e, "%s: out of memory for the figure", folder);
    free(lines[0]);
    free(lines[1]);
    return rc;
}

int figure_result(const char *folder, const char *stem, const struct result *r,
                  const struct figure_style *style, struct error *e)
{
    struct figure_curve *curves = calloc(r->model_count ? r->model_count : 1, sizeof *curves);
    double thresholds[RESULT_THRESHOLDS_MAX];
    size_t count = 0;
    char *lines[2];
    int rc;

    thresholds[count++] = r->main_threshold;
    for (size_t i = 0; i < r->threshold_count; i++)
        if (i != r->main_row)
            thresholds[count++] = r->thresholds[i];
    for (size_t i = 0; curves && i < r->model_count; i++) {
        const struct erf_summary *u = &result_main(&r->models[i])->summary;
        const struct erf_row *row = &u->rows[r->main_row];

        curves[i] = (struct figure_curve){.label = r->models[i].name,
                                          .c = u->c,
                                          .c_lo = r->bootstrap ? u->c_lo : NULL,
                                          .c_hi = r->bootstrap ? u->c_hi : NULL,
                                          .positions = u->positions,
                                          .train_length = (int)r->models[i].train_length,
                                          .erf = row->erf,
                                          .saturated = row->saturated};
    }
    make_comments(lines, r);
    rc = curves && lines[0] && lines[1]
             ? figure_erf(folder, stem, curves, r->model_count, thresholds, count,
                          (const char *const[]){lines[0], lines[1], NULL}, style, e)
             : fail(e, "%s: out of memory for the figure", folder);
    free(curves);
    free(lines[0]);
    free(lines[1]);
    return rc;
}
