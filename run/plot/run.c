#include "run/plot/plot.h"

#include "analyze/curve.h"
#include "io/atomic.h"
#include "run/results.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Curves are taken out of a result at once; a table is kept. */
static int add_result(struct plot_run *r, const char *path, struct error *e)
{
    struct report report, *grown;
    int rc;

    if (report_open(&report, path, e) != 0)
        return -1;
    if (report.kind != REPORT_FIELDS && report.kind != REPORT_LADDER && report.kind != REPORT_PERPLEXITY) {
        rc = plot_add_curves(r, &report, e);
        report_close(&report);
        return rc;
    }
    grown = reallocarray(r->tables, r->table_count + 1, sizeof *grown);
    if (grown)
        r->tables = grown;
    if (!grown)
        rc = fail_memory(e, (double)(r->table_count + 1) * sizeof *grown, "the tables");
    else if (r->table_count && report.kind != r->tables[0].kind)
        rc = fail(e, "%s: is another kind of table than %s (expected tables of one kind)", path, r->tables[0].path);
    else
        rc = 0;
    if (rc == 0)
        r->tables[r->table_count++] = report;
    else
        report_close(&report);
    return rc;
}

/* Marks the ERF of every curve at the first threshold, and draws them. */
static int draw_curves(struct plot_run *r, double threshold, const char *const *comments, struct error *e)
{
    static const double standard[] = {0.5, 0.9, 0.95, 0.99, 0.999};
    double thresholds[6] = {threshold};
    struct figure_curve *curves = calloc(r->curve_count ? r->curve_count : 1, sizeof *curves);
    size_t count = 1;
    int rc;

    if (!curves)
        return fail_memory(e, (double)r->curve_count * sizeof *curves, "the curves");
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (standard[i] != threshold)
            thresholds[count++] = standard[i];
    for (size_t i = 0; i < r->curve_count; i++)
        curves[i] = r->curves[i].figure;
    rc = figure_erf(r->options->folder, "erf", curves, r->curve_count, thresholds, count, comments,
                    &(struct figure_style){.formats = r->options->formats}, e);
    free(curves);
    return rc;
}

/* Returns as figure_draw does. */
static int draw(struct plot_run *r, const char *const *comments, struct error *e)
{
    double threshold = r->options->threshold > 0              ? r->options->threshold
                       : r->threshold > 0 && r->threshold < 1 ? r->threshold
                                                              : 0.99;

    for (size_t i = 0; i < r->curve_count; i++) {
        struct figure_curve *u = &r->curves[i].figure;

        u->erf = curve_erf(u->c, u->positions, threshold);
        u->saturated = u->erf == u->positions;
    }
    if (!r->table_count)
        return draw_curves(r, threshold, comments, e);
    if (r->tables[0].kind == REPORT_FIELDS)
        return plot_fields(r, threshold, comments, e);
    if (r->curve_count)
        return fail(e, "%s: cannot be drawn with curves (expected tables of one kind, or results of `reach erf`)",
                    r->tables[0].path);
    return r->tables[0].kind == REPORT_LADDER ? plot_ladder(r, threshold, comments, e) : plot_perplexity(r, comments, e);
}

static const char *stem_of(const struct plot_run *r)
{
    switch (r->table_count ? r->tables[0].kind : REPORT_CURVES) {
    case REPORT_FIELDS: return "fields";
    case REPORT_LADDER: return "ladder";
    case REPORT_PERPLEXITY: return "ppl";
    default: return "erf";
    }
}

int plot_run(struct plot_run *r, struct error *e)
{
    const struct plot_options *o = r->options;
    char *command = NULL, *script = NULL;
    int lock = -1, rc = 0;

    for (int i = 0; i < o->results.count && rc == 0; i++)
        rc = add_result(r, o->results.item[i], e);
    if (rc != 0 || plot_tell_apart(r, e) != 0)
        return -1;
    rc = -1;
    r->stem = stem_of(r);
    command = command_comment(r->command);
    if (!command || asprintf(&script, "%s/%s.gp", o->folder, r->stem) < 0) {
        script = NULL;
        fail(e, "%s: out of memory", o->folder);
        goto end;
    }
    if (folder_make(o->folder, e) != 0 || (lock = folder_lock(o->folder, e)) < 0)
        goto end;
    if (!o->force && access(script, F_OK) == 0) {
        fail(e, "%s: exists (expected --force to overwrite it, or another folder with -o)", script);
        goto end;
    }
    r->drawn = draw(r, (const char *const[]){"reach " REACH_VERSION, command, NULL}, e);
    rc = results_drawn(r->drawn, r->progress, e);
end:
    if (lock >= 0)
        folder_unlock(lock, o->folder);
    free(command);
    free(script);
    return rc;
}

void plot_run_free(struct plot_run *r)
{
    for (size_t i = 0; i < r->curve_count; i++) {
        free((double *)r->curves[i].figure.c);
        free((char *)r->curves[i].figure.label);
        free(r->curves[i].path);
    }
    for (size_t i = 0; i < r->table_count; i++)
        report_close(&r->tables[i]);
    free(r->curves);
    free(r->tables);
    r->curves = NULL;
    r->tables = NULL;
    r->curve_count = r->table_count = 0;
}
