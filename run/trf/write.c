/* Results of `reach trf` on disk: trf.csv and the figure. */
#include "run/trf/trf.h"

#include "io/csv.h"
#include "run/results.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A lower (up 0) or an upper (1) bound: the decimals are one too, and read back as the same double. */
static void bound_or_empty(struct csv *csv, double value, int up)
{
    char text[64];

    if (isnan(value))
        csv_empty(csv);
    else if (isinf(value))
        csv_real(csv, value);
    else
        csv_text(csv, series_bound_text(text, value, up, 0));
}

static void text_or_empty(struct csv *csv, const char *text)
{
    if (text)
        csv_text(csv, text);
    else
        csv_empty(csv);
}

/* One row; v NULL: not applicable. layer 0: of a formula. */
static void write_row(struct csv *csv, const struct trf_run *r, const struct trf_head *head, int layer, int length, int depth,
                      int epsilon)
{
    const struct trf_options *o = r->options;
    const struct formula_argument *a = &r->arguments[head->argument];
    const struct trf_value *v = head->values ? &head->values[trf_index(r, length, depth, epsilon)] : NULL;
    char keys[24];

    csv_text(csv, a->label);
    if (head->head)
        csv_whole(csv, head->head);
    else
        csv_text(csv, "all");
    snprintf(keys, sizeof keys, "%llu", length ? (unsigned long long)o->lengths[length - 1] : 0ULL);
    csv_text(csv, length ? keys : "inf");
    csv_whole(csv, depth ? o->layers : 1);
    csv_text(csv, o->epsilons[epsilon]);
    csv_text(csv, a->set.biases[head->bias].reason[0] ? "not applicable" : series_verdict_name(v->verdict));
    bound_or_empty(csv, v ? v->sum_lo : NAN, 0);
    bound_or_empty(csv, v ? v->sum_hi : NAN, 1);
    text_or_empty(csv, v ? v->count.lo : NULL);
    text_or_empty(csv, v ? v->count.hi : NULL);
    if (layer)
        csv_whole(csv, layer);
    else
        csv_empty(csv);
    bound_or_empty(csv, v ? v->count.log10_lo : NAN, 0);
    bound_or_empty(csv, v ? v->count.log10_hi : NAN, 1);
    csv_end_row(csv);
}

static void write_head(struct csv *csv, const struct trf_run *r, const struct trf_head *head, int layer)
{
    const struct formula_argument *a = &r->arguments[head->argument];
    int lengths = head->values ? r->options->length_count : 0, depths = head->values ? r->depths : 1;

    for (int length = a->set.uses_length && head->values; length <= lengths; length++)
        for (int depth = 0; depth < depths; depth++)
            for (int i = 0; i < r->options->epsilon_count; i++)
                write_row(csv, r, head, layer, length, depth, i);
}

static int write_csv(const struct trf_run *r, const char *command, const char *path, struct atomic_file *out, struct error *e)
{
    const char *comments[] = {
        "reach " REACH_VERSION, command,
        "units: trf_lo, trf_hi in tokens, equal when exact; sum_lo, sum_hi bounds of the sum of exp(b) over all (length inf) or "
        "the first `length` distances; log10 columns bounds of the logarithm of trf; head all: heads that are alike, or of a "
        "checkpoint the mean of their kernels, each normalized; layers: depth, layer: of a checkpoint, from 1",
        NULL};
    struct csv *csv =
        csv_create(path, comments,
                   "formula,head,length,layers,epsilon,verdict,sum_lo,sum_hi,trf_lo,trf_hi,layer,log10_trf_lo,log10_trf_hi", e);

    if (!csv)
        return -1;
    for (int i = 0; i < r->count; i++) {
        const struct formula_argument *a = &r->arguments[i];

        for (int layer = 0; layer < (a->set.layers ? a->set.layers : 1); layer++)
            for (int k = 0; k < r->head_count; k++) {
                const struct trf_head *head = &r->heads[k];

                if (head->argument == i && head->bias == (a->set.layers ? a->set.bias_of_layer[layer] : 0) &&
                    (a->is_model || !head->averaged))
                    write_head(csv, r, head, a->set.layers ? layer + 1 : 0);
            }
    }
    return csv_stage(csv, out, e);
}

int trf_write(const struct trf_run *r, struct error *e)
{
    static const char *const names[] = {"trf.csv", NULL}, *const stems[] = {"trf", NULL};
    struct results_files ready = {.count = 1};
    char *command = command_comment(r->command), *path = results_path(r->options->folder, "trf.csv", e);
    int rc = -1;

    if (!command)
        fail(e, "%s: out of memory", r->options->folder);
    else if (path && write_csv(r, command, path, &ready.file[0], e) == 0 &&
             results_place(&ready, r->options->folder, names, stems, e) == 0)
        rc = trf_write_figure(r, (const char *const[]){"reach " REACH_VERSION, command, NULL}, e);
    free(command);
    free(path);
    return rc;
}
