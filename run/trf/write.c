/* Results of `reach trf` on disk: the tables and the figure. */
#include "run/trf/trf.h"

#include "io/formats/csv.h"
#include "run/results.h"
#include "run/trf/columns.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A lower (up 0) or upper (1) bound as decimals that are also a bound, and read back as the same
 * double. NULL if there is none. */
static const char *bound(char text[64], double value, int up)
{
    if (isnan(value))
        return NULL;
    return isinf(value) ? csv_format_real(text, value) : series_bound_text(text, value, up, 0);
}

/* One row; v NULL: not applicable. layer 0: of a formula. */
static void write_row(struct csv *csv, const struct trf_run *r, const struct trf_head *head,
                      int layer, int length, int depth, int epsilon)
{
    const struct trf_options *o = r->options;
    const struct formula_argument *a = &r->arguments[head->argument];
    const struct trf_value *v = head->values ? &head->values[trf_index(r, length, depth, epsilon)]
                                             : NULL;
    char keys[24] = "inf", number[16] = "all", bounds[4][64];

    if (head->head)
        snprintf(number, sizeof number, "%d", head->head);
    if (length)
        snprintf(keys, sizeof keys, "%llu", (unsigned long long)o->lengths[length - 1]);
    csv_row(csv,
            &(struct trf_row){
                .formula = a->label,
                .head = number,
                .length = keys,
                .layers = depth ? o->layers : 1,
                .epsilon = o->epsilons[epsilon],
                .verdict = a->set.biases[head->bias].reason[0] ? "not applicable"
                                                               : series_verdict_name(v->verdict),
                .sum_lo = v ? bound(bounds[0], v->sum_lo, 0) : NULL,
                .sum_hi = v ? bound(bounds[1], v->sum_hi, 1) : NULL,
                .trf_lo = v ? v->count.lo : NULL,
                .trf_hi = v ? v->count.hi : NULL,
                .layer = layer,
                .log10_trf_lo = v ? bound(bounds[2], v->count.log10_lo, 0) : NULL,
                .log10_trf_hi = v ? bound(bounds[3], v->count.log10_hi, 1) : NULL,
            });
}

static void write_head(struct csv *csv, const struct trf_run *r, const struct trf_head *head,
                       int layer)
{
    const struct formula_argument *a = &r->arguments[head->argument];
    int lengths = head->values ? r->options->length_count : 0,
        depths = head->values ? r->depths : 1;

    for (int length = a->set.uses_length && head->values; length <= lengths; length++)
        for (int depth = 0; depth < depths; depth++)
            for (int i = 0; i < r->options->epsilon_count; i++)
                write_row(csv, r, head, layer, length, depth, i);
}

static int rows(const void *found, struct csv *csv, struct error *e)
{
    const struct trf_run *r = found;

    (void)e;
    for (int i = 0; i < r->count; i++) {
        const struct formula_argument *a = &r->arguments[i];

        for (int layer = 0; layer < (a->set.layers ? a->set.layers : 1); layer++)
            for (int k = 0; k < r->head_count; k++) {
                const struct trf_head *head = &r->heads[k];

                if (head->argument == i &&
                    head->bias == (a->set.layers ? a->set.bias_of_layer[layer] : 0))
                    write_head(csv, r, head, a->set.layers ? layer + 1 : 0);
            }
    }
    return 0;
}

static int has_rotary(const void *found)
{
    const struct trf_run *r = found;

    return r->rotary_count > 0;
}

static int has_curves(const void *found)
{
    const struct trf_run *r = found;

    return r->curve_count > 0;
}

const struct results_file *const trf_files[] = {
    &(const struct results_file){.layout = &trf_csv, .rows = rows},
    &(const struct results_file){.is_wanted = has_rotary,
                                 .layout = &rotary_csv,
                                 .rows = trf_rotary_rows},
    &(const struct results_file){.is_wanted = has_curves,
                                 .layout = &weights_csv,
                                 .rows = trf_weights_rows},
    NULL};
const struct results_layout trf_layout = {trf_files, (const char *const[]){"trf", NULL}};

int trf_write(const struct trf_run *r, struct error *e)
{
    char *command = command_comment(r->command);
    int rc = -1;

    if (!command)
        fail(e, "%s: out of memory", r->options->folder);
    else if (results_write(r->options->folder, &trf_layout, r, r->command, e) == 0)
        rc = trf_write_figure(r, (const char *const[]){"reach " REACH_VERSION, command, NULL}, e);
    free(command);
    return rc;
}
