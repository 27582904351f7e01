/* Results of `reach trf` on disk: trf.csv and the figure. */
#include "run/trf/trf.h"

#include "io/csv.h"
#include "plots/trf.h"
#include "run/results.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trf.csv ---- */

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

/* ---- figure ---- */

enum { CURVES_MAX = 24, HEADS_DRAWN = 8, POINTS_MAX = 2400 };
#define TOKENS_MAX 1e6 /* drawn at most */
#define EVALUATIONS_MAX 4000000 /* over all curves */

/* The heads that are drawn: of one encoding up to 8 spread over all, of several the last one of each. */
static int choose_heads(const struct trf_head *drawn[CURVES_MAX], const struct trf_run *r)
{
    int count = 0;

    for (int first = 0, last; first < r->head_count && count < CURVES_MAX; first = last) {
        const struct trf_head *head = &r->heads[first];
        int heads = 0, shown;

        for (last = first; last < r->head_count && r->heads[last].argument == head->argument && r->heads[last].bias == head->bias;
             last++)
            heads += !r->heads[last].averaged;
        if (!head->values)
            continue;
        shown = r->count > 1 || r->arguments[head->argument].set.bias_count > 1 ? 1 : heads < HEADS_DRAWN ? heads : HEADS_DRAWN;
        for (int k = 0; k < shown && count < CURVES_MAX; k++)
            drawn[count++] = head + (shown == 1 ? heads - 1 : k * (heads - 1) / (shown - 1));
    }
    return count;
}

/* What is drawn of a head: its infinite series, or the longest length asked for. */
static const struct trf_value *drawn_value(const struct trf_run *r, const struct trf_head *head, uint64_t *length)
{
    int longest = 0;

    *length = 0;
    if (head->series && series_verdict(head->series) == SERIES_CONVERGES)
        return &head->values[0];
    for (int i = 1; i <= r->options->length_count; i++)
        if (!longest || r->options->lengths[i - 1] > r->options->lengths[longest - 1])
            longest = i;
    *length = longest ? r->options->lengths[longest - 1] : 0;
    return &head->values[trf_index(r, longest, 0, 0)];
}

static double middle(double lo, double hi)
{
    return isfinite(hi) ? lo + (hi - lo) / 2 : lo;
}

/* Sums f up to `most` tokens and keeps the points that are drawn: all of the first, then steps of a hundredth of the distance.
 * The arrays lie in one block. */
static int fill_curve(struct trf_curve *c, const struct trf_run *r, const struct trf_head *head, double most, struct error *e)
{
    const struct formula_argument *a = &r->arguments[head->argument];
    const struct formula *f = a->set.biases[head->bias].formula;
    double *tokens = malloc(3 * POINTS_MAX * sizeof *tokens), *weight, *beyond, sum = 0, largest = 0, total, next = 1;
    uint64_t length;
    const struct trf_value *v = drawn_value(r, head, &length);
    char *label = NULL, *note = NULL, layers[64], count[128];

    if (!tokens)
        return fail_memory(e, 3.0 * POINTS_MAX * sizeof *tokens, "a curve");
    c->tokens = tokens;
    weight = tokens + POINTS_MAX;
    beyond = weight + POINTS_MAX;
    c->weight = weight;
    total = middle(v->sum_lo, v->sum_hi);
    c->beyond = isfinite(v->sum_hi) && total > 0 ? beyond : NULL;
    c->field = exp(M_LN10 * middle(v->count.log10_lo, v->count.log10_hi));
    if (v->count.lo && strlen(v->count.lo) < 16)
        c->field = strtod(v->count.lo, NULL);
    if (!isfinite(c->field))
        c->field = 0;
    for (double j = 1; j <= most && (!length || j <= (double)length); j++) {
        struct formula_point at = {.t = j - 1,
                                   .h = head->head ? head->head : 1,
                                   .heads = a->set.heads,
                                   .head_size = a->set.head_size,
                                   .length = (double)length};
        double value = exp(formula_evaluate(f, &at));
        int kept = j >= next || j == most || j == (double)length;

        sum += value;
        largest = fmax(largest, value);
        if (j == c->field)
            c->weight_at_field = value;
        if (!kept || c->points == POINTS_MAX)
            continue;
        next = fmax(j + 1, j * 1.01);
        tokens[c->points] = j;
        weight[c->points] = value;
        beyond[c->points++] = total > 0 ? fmax(1 - sum / total, 0) : 1;
    }
    for (size_t i = 0; i < c->points && largest > 0; i++)
        weight[i] /= largest;
    c->weight_at_field = largest > 0 ? c->weight_at_field / largest : 0;
    bias_layers_text(layers, sizeof layers, &a->set, head->bias);
    trf_count_text(count, &v->count);
    if ((head->head ? asprintf(&label, "%s%s%s, head %d", a->label, layers[0] ? ", " : "", layers, head->head)
                    : asprintf(&label, "%s%s%s", a->label, layers[0] ? ", " : "", layers)) < 0)
        label = NULL;
    if ((isnan(v->count.log10_lo) ? asprintf(&note, "%s", series_verdict_name(v->verdict))
         : length                 ? asprintf(&note, "TRF %s of the first %llu", count, (unsigned long long)length)
                                  : asprintf(&note, "TRF %s", count)) < 0)
        note = NULL;
    c->label = label;
    c->note = note;
    return label && note ? 0 : fail(e, "out of memory for the figure");
}

static int write_figure(const struct trf_run *r, const char *command, struct error *e)
{
    const struct trf_options *o = r->options;
    const char *comments[] = {"reach " REACH_VERSION, command, NULL};
    const struct trf_head *drawn[CURVES_MAX];
    struct trf_curve curves[CURVES_MAX] = {{0}};
    int count = choose_heads(drawn, r), rc = 0;
    double most = 64;

    if (count == 0)
        return 0; /* nothing has a series */
    for (int i = 0; i < count; i++) {
        uint64_t length;
        const struct trf_value *v = drawn_value(r, drawn[i], &length);

        if (isfinite(v->count.log10_hi))
            most = fmax(most, 5 * exp(M_LN10 * fmin(v->count.log10_hi, 12)));
        if (length)
            most = fmax(most, (double)length);
        if (isnan(v->count.log10_lo))
            most = fmax(most, 4096);
    }
    most = floor(fmin(fmin(most, TOKENS_MAX), (double)EVALUATIONS_MAX / count));
    for (int i = 0; i < count && rc == 0; i++)
        rc = fill_curve(&curves[i], r, drawn[i], most, e);
    if (rc == 0)
        rc = figure_trf(o->folder, "trf", curves, (size_t)count, strtod(o->epsilons[0], NULL), comments, o->formats, e);
    for (int i = 0; i < count; i++) {
        free((double *)curves[i].tokens);
        free((char *)curves[i].label);
        free((char *)curves[i].note);
    }
    return rc;
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
        rc = write_figure(r, command, e);
    free(command);
    free(path);
    return rc;
}
