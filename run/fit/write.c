/* Results of `reach fit` on disk: fit.csv and the figure. */
#include "run/fit/fit.h"

#include "io/formats/csv.h"
#include "plots/fit.h"
#include "run/fit/columns.h"
#include "run/results.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row for each coefficient; `member` counts the checkpoint's layers that share the bias. */
static void write_rows(struct csv *csv, const struct fit_run *r, const struct fit_points *p,
                       int member)
{
    char layer[16];

    snprintf(layer, sizeof layer, "%d", p->members ? p->members[member] : 0);
    for (int c = 0; c < p->result.count; c++)
        csv_row(csv, &(struct fit_row){
                         .formula = p->label,
                         .head = p->head,
                         .form = r->options->form,
                         .first = p->t[0],
                         .last = p->t[p->count - 1],
                         .coefficient = p->result.name[c],
                         .value = p->result.value[c],
                         .std_error = p->result.error[c],
                         .r2 = p->result.r2,
                         .layer = p->members ? layer : p->layer,
                     });
}

static int rows(const void *found, struct csv *csv, struct error *e)
{
    const struct fit_run *r = found;

    (void)e;
    for (size_t i = 0; i < r->count; i++)
        for (int member = 0; member < (r->points[i].members ? r->points[i].member_count : 1);
             member++)
            write_rows(csv, r, &r->points[i], member);
    return 0;
}

static int write_figure(const struct fit_run *r, const struct figure_place *to, struct error *e)
{
    struct fit_figure *drawn = calloc(r->count, sizeof *drawn);
    int rc = drawn ? 0 : fail(e, "%s: out of memory for the figure", to->folder);

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        const struct fit_points *p = &r->points[i];
        double *fitted = calloc(p->count, sizeof *fitted);
        char name[400];

        fit_points_name(name, sizeof name, p);
        drawn[i] = (struct fit_figure){.label = strdup(name),
                                       .name = p->label,
                                       .layers = p->layers,
                                       .form = r->options->form,
                                       .result = &p->result,
                                       .t = p->t,
                                       .y = p->y,
                                       .fitted = fitted,
                                       .points = p->count};
        if (!fitted || !drawn[i].label)
            rc = fail_memory(e, (double)p->count * sizeof *fitted, "the figure");
        for (size_t k = 0; k < p->count && rc == 0; k++)
            fitted[k] = fit_evaluate(&r->form, &p->result, p->t[k]);
    }
    if (rc == 0)
        rc = figure_fit(to, &(struct fit_figures){drawn, r->count, r->quantity}, e);
    for (size_t i = 0; drawn && i < r->count; i++) {
        free((char *)drawn[i].label);
        free((double *)drawn[i].fitted);
    }
    free(drawn);
    return rc;
}

const struct results_file *const fit_files[] = {&(const struct results_file){.layout = &fit_csv,
                                                                             .rows = rows},
                                                NULL};
const struct results_layout fit_layout = {fit_files, (const char *const[]){"fit", NULL}};

int fit_write(const struct fit_run *r, struct error *e)
{
    char *command = command_comment(r->command);
    int rc = -1;

    if (!command)
        fail(e, "%s: out of memory", r->options->folder);
    else if (results_write(r->options->folder, &fit_layout, r, r->command, e) == 0)
        rc = write_figure(
            r,
            &(struct figure_place){r->options->folder, "fit",
                                   (const char *const[]){"reach " REACH_VERSION, command, NULL},
                                   &(struct figure_style){.formats = r->options->formats}},
            e);
    free(command);
    return rc;
}
