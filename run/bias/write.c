/* Results of `reach bias` on disk: bias.csv and the figures. */
#include "run/bias/bias.h"

#include "io/formats/csv.h"
#include "plots/matrix.h"
#include "run/bias/columns.h"
#include "run/results.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>

enum { HEADS_SHOWN = 8, CURVES_MAX = 24, PANELS_MAX = 16 };

static int rows(const void *found, struct csv *csv, struct error *e)
{
    const struct bias_run *r = found;
    size_t length = (size_t)r->options->length;

    (void)e;
    for (int i = 0; i < r->value_count; i++) {
        const struct bias_values *v = &r->values[i];
        const struct formula_argument *a = v->argument;

        for (int layer = 0; layer < (a->set.layers ? a->set.layers : 1); layer++)
            for (int row = 0;
                 row < v->rows && (!a->set.layers || a->set.bias_of_layer[layer] == v->bias); row++)
                for (size_t t = 0; t < length; t++) {
                    char head[16] = "all";

                    if (v->rows > 1)
                        snprintf(head, sizeof head, "%d", row + 1);
                    csv_row(csv, &(struct bias_row){a->label, head, (long long)t,
                                                    v->table[(size_t)row * length + t],
                                                    a->set.layers ? layer + 1 : 0});
                }
    }
    return 0;
}

static int add_drawn(struct matrix_bias *out, const struct bias_values *v, int row, size_t length,
                     struct error *e)
{
    char layers[64], *label = NULL;

    bias_layers_text(layers, sizeof layers, &v->argument->set, v->bias);
    if ((v->rows > 1
             ? asprintf(&label, "%s%s%s, head %d of %d", v->argument->label, layers[0] ? ", " : "",
                        layers, row + 1, v->rows)
             : asprintf(&label, "%s%s%s", v->argument->label, layers[0] ? ", " : "", layers)) < 0)
        return fail(e, "out of memory for the figure");
    *out = (struct matrix_bias){label, v->table + (size_t)row * length};
    return 0;
}

static int write_figures(const struct bias_run *r, const char *const *comments, struct error *e)
{
    const struct bias_options *o = r->options;
    const struct figure_style style = {.formats = o->formats};
    const struct figure_place bias = {o->folder, "bias", comments, &style},
                              matrix = {o->folder, "matrix", comments, &style};
    struct matrix_bias drawn[CURVES_MAX] = {{0}};
    size_t length = (size_t)o->length;
    int heads = r->value_count == 1
                    ? (r->values[0].rows < HEADS_SHOWN ? r->values[0].rows : HEADS_SHOWN)
                    : 1,
        count = 0, rc = 0, drawn_rc = 0;

    for (int i = 0; i < r->value_count && count < CURVES_MAX && rc == 0; i++)
        for (int k = 0; k < heads && rc == 0; k++) {
            int last = r->values[i].rows - 1;

            rc = add_drawn(&drawn[count], &r->values[i], heads == 1 ? last : k * last / (heads - 1),
                           length, e);
            count += rc == 0;
        }
    if (rc == 0 && count > 0) {
        struct matrix_biases all = {drawn, (size_t)count, length},
                             shown = {drawn + (heads > 1 ? count - 1 : 0),
                                      heads > 1            ? 1
                                      : count < PANELS_MAX ? (size_t)count
                                                           : (size_t)PANELS_MAX,
                                      length};

        drawn_rc = figure_bias(&bias, &all, e);
        rc = drawn_rc < 0 ? -1 : figure_matrix(&matrix, &shown, e);
        rc = rc >= 0 && drawn_rc > rc ? drawn_rc : rc;
    }
    for (int i = 0; i < count; i++)
        free((char *)drawn[i].label);
    return rc;
}

const struct results_file *const bias_files[] = {&(const struct results_file){.layout = &bias_csv,
                                                                              .rows = rows},
                                                 NULL};
const struct results_layout bias_layout = {bias_files,
                                           (const char *const[]){"bias", "matrix", NULL}};

int bias_write(const struct bias_run *r, struct error *e)
{
    char *command = command_comment(r->command);
    int rc = -1;

    if (!command)
        fail(e, "%s: out of memory", r->options->folder);
    else if (results_write(r->options->folder, &bias_layout, r, r->command, e) == 0)
        rc = write_figures(r, (const char *const[]){"reach " REACH_VERSION, command, NULL}, e);
    free(command);
    return rc;
}
