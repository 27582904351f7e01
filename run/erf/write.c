/* Results of `reach erf` on disk. */
#include "run/erf/parts.h"

#include "run/attention/csv.h"
#include "run/erf/csv.h"
#include "run/results.h"
#include "io/csv.h"
#include "io/result.h"
#include "plots/figure.h"
#include "version.h"

#include <stdlib.h>
#include <unistd.h>

static int stage_h5(const struct result *r, const char *path, struct atomic_file *out, struct error *e)
{
    return result_stage(path, r, out, e);
}

static int write_figure(const struct erf_run *r, const char *folder, struct error *e)
{
    const struct erf_options *o = r->options;
    struct figure_curve *curves = calloc(r->count, sizeof *curves);
    char *command = command_comment(r->command);
    const char *comments[] = {"reach " REACH_VERSION, command, NULL};
    double thresholds[THRESHOLDS_MAX];
    size_t count = 0;
    int rc = -1;

    if (!curves || !command) {
        fail(e, "%s: out of memory for the figure", folder);
        goto end;
    }
    thresholds[count++] = o->main_threshold;
    for (size_t i = 0; i < o->threshold_count; i++)
        if (i != r->result.main_row)
            thresholds[count++] = o->thresholds[i];
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];
        const struct erf_summary *u = &result_main(m->out)->summary;
        const struct erf_row *row = &u->rows[r->result.main_row];

        curves[i] = (struct figure_curve){.label = m->argument->name,
                                          .c = u->c,
                                          .positions = r->positions,
                                          .train_length = (int)m->out->train_length,
                                          .erf = row->erf,
                                          .saturated = row->saturated};
        if (o->bootstrap) {
            curves[i].c_lo = u->c_lo;
            curves[i].c_hi = u->c_hi;
        }
    }
    rc = figure_erf(folder, "erf", curves, r->count, thresholds, count, comments, o->formats, e);
end:
    free(curves);
    free(command);
    return rc;
}

int erf_results_exist(const char *folder, struct error *e)
{
    static const char *const names[] = {"erf.h5",    "curve.csv",  "summary.csv",   "erf.gp",
                                        "layers.gp", "targets.gp", "attention.csv", "attention.gp"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = results_path(folder, names[i], e);
        int found;

        if (!path)
            return 1;
        found = access(path, F_OK) == 0;
        free(path);
        if (found) {
            fail(e, "%s/%s: exists (expected --force to overwrite results, or another folder with -o)", folder, names[i]);
            return 1;
        }
    }
    return 0;
}

int erf_write(struct erf_run *r, const char *folder, struct error *not_drawn, struct error *e)
{
    const struct {
        const char *name;
        int wanted;
        int (*write)(const struct result *, const char *, struct atomic_file *, struct error *);
    } files[] = {{"erf.h5", 1, stage_h5},
                 {"curve.csv", 1, erf_write_curve},
                 {"summary.csv", 1, erf_write_summary},
                 {"attention.csv", r->options->attention, attention_write}};
    const struct {
        const char *stem;
        int wanted;
        int (*draw)(const struct erf_run *, const char *, struct error *);
    } figures[] = {{"erf", 1, write_figure},
                   {"layers", r->options->layer != LAYER_NONE, erf_layers_draw},
                   {"targets", r->target_count > 1, erf_targets_draw},
                   {"attention", r->options->attention, erf_attention_draw}};
    enum { FILES = sizeof files / sizeof *files, FIGURES = sizeof figures / sizeof *figures };
    const char *names[FILES + 1] = {NULL}, *stems[FIGURES + 1] = {NULL}; /* of this run or an earlier one */
    struct results_files ready = {.count = 0};
    int missing = 0;

    if (result_describe(&r->result, e) != 0)
        return -1;
    for (int i = 0; i < FILES; i++) {
        char *path = results_path(folder, names[i] = files[i].name, e);
        int rc = !path ? -1 : files[i].wanted ? files[i].write(&r->result, path, &ready.file[ready.count], e) : 0;

        free(path);
        if (rc != 0) {
            results_abandon(&ready);
            return -1;
        }
        ready.count += files[i].wanted;
    }
    for (int i = 0; i < FIGURES; i++)
        stems[i] = figures[i].stem;
    if (results_place(&ready, folder, names, stems, e) != 0)
        return -1;
    for (int i = 0; i < FIGURES; i++) { /* the scripts are written also where pictures cannot be drawn */
        int rc = figures[i].wanted ? figures[i].draw(r, folder, e) : 0;

        if (rc < 0)
            return -1;
        if (rc > missing) {
            missing = rc;
            *not_drawn = *e;
        }
    }
    if (missing == FIGURE_NO_GNUPLOT)
        progress_warning(r->progress, "%s", not_drawn->text);
    if (missing != FIGURE_NOT_DRAWN)
        *not_drawn->text = 0;
    return 0;
}
