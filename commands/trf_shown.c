/* What `reach trf --json` has besides trf.csv and rotary.csv. */
#include "commands/trf.h"

#include <math.h>
#include <stdlib.h>

/* ---- arguments ---- */

struct arguments_row {
    const char *formula, *positions;
    long long layers, heads, cone, train_length;
    double share;
};

static const struct csv_column arguments_columns[] = {
    CSV_COLUMN(arguments_row, formula, "", "as in trf.csv"),
    CSV_OPTIONAL(arguments_row, positions, "",
                 "position encoding of a checkpoint, in words; empty: a formula"),
    CSV_OPTIONAL(arguments_row, layers, "", "of a checkpoint"),
    CSV_COLUMN(arguments_row, heads, "", "of a layer"),
    CSV_OPTIONAL(
        arguments_row, cone, "tokens",
        "inputs that can reach the last output through the windows of a checkpoint; empty: "
        "all"),
    CSV_OPTIONAL(arguments_row, train_length, "tokens",
                 "of the checkpoint, or --train-length; empty: unknown"),
    CSV_OPTIONAL(arguments_row, share, "",
                 "of the weight that all layers give to eight times the training length, the part "
                 "within it; empty: unknown"),
};

static const struct csv_layout arguments_layout = {
    .file = "arguments",
    .origin = "`reach trf --json`",
    .row = "an argument",
    .columns = arguments_columns,
    .count = sizeof arguments_columns / sizeof *arguments_columns,
};

static int arguments_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct trf_run *r = found;

    (void)e;
    for (int i = 0; i < r->count; i++) {
        const struct formula_argument *a = &r->arguments[i];

        csv_row(csv, &(struct arguments_row){.formula = a->label,
                                             .positions = a->is_model ? a->set.position : NULL,
                                             .layers = a->set.layers,
                                             .heads = a->set.heads,
                                             .cone = a->set.cone,
                                             .train_length = (long long)r->shares[i].train_length,
                                             .share = r->shares[i].share});
    }
    return 0;
}

/* ---- heads ---- */

struct heads_row {
    const char *formula, *layers, *head, *source, *reason;
    double closed_form;
    const char *unsettled, *proof;
};

static const struct csv_column heads_columns[] = {
    CSV_COLUMN(heads_row, formula, "", "as in trf.csv"),
    CSV_OPTIONAL(heads_row, layers, "", "of a checkpoint, those that share the bias, in words"),
    CSV_COLUMN(heads_row, head, "", "as in trf.csv"),
    CSV_OPTIONAL(heads_row, source, "", "the bias as a formula; empty: there is none"),
    CSV_OPTIONAL(heads_row, reason, "",
                 "why there is no series, or only that of the window; empty: it is the formula's"),
    CSV_OPTIONAL(
        heads_row, closed_form, "tokens",
        "the published closed or asymptotic form of the field at the first epsilon; empty: "
        "there is none"),
    CSV_OPTIONAL(heads_row, unsettled, "",
                 "what the search ended with, when it had no more time; empty: it ended by itself"),
    CSV_OPTIONAL(heads_row, proof, "", "of the verdict, lines; empty without --explain"),
};

static const struct csv_layout heads_layout = {
    .file = "heads",
    .origin = "`reach trf --json`",
    .row = "a head of a bias of an argument",
    .columns = heads_columns,
    .count = sizeof heads_columns / sizeof *heads_columns,
};

static int heads_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct trf_run *r = found;

    (void)e;
    for (int i = 0; i < r->head_count; i++) {
        const struct trf_head *head = &r->heads[i];
        const struct formula_argument *a = &r->arguments[head->argument];
        const struct layer_bias *bias = &a->set.biases[head->bias];
        char layers[128], number[16] = "all", form[128];
        struct heads_row row = {.formula = a->label,
                                .layers = layers,
                                .head = number,
                                .source = bias->formula ? bias->formula->source : NULL,
                                .reason = bias->reason,
                                .closed_form = NAN};

        bias_layers_text(layers, sizeof layers, &a->set, head->bias);
        if (head->head)
            snprintf(number, sizeof number, "%d", head->head);
        if (head->series) {
            if (!series_closed_form(head->series, strtod(r->options->epsilons[0], NULL),
                                    &row.closed_form, form))
                row.closed_form = NAN;
            row.unsettled = series_spent(head->series);
            row.proof = r->options->explain ? series_proof(head->series) : NULL;
        }
        csv_row(csv, &row);
    }
    return 0;
}

/* ---- ranking ---- */

struct ranking_row {
    long long place;
    const char *formula, *layers, *field, *order, *reason;
};

static const struct csv_column ranking_columns[] = {
    CSV_COLUMN(ranking_row, place, "", "from 1, the shortest field first"),
    CSV_COLUMN(ranking_row, formula, "", "as in trf.csv"),
    CSV_OPTIONAL(ranking_row, layers, "", "of a checkpoint, those that share the bias, in words"),
    CSV_COLUMN(ranking_row, field, "tokens",
               "at the first epsilon, as on the screen: of the mean kernel if heads differ, and of "
               "the longest --length if the series does not converge"),
    CSV_COLUMN(ranking_row, order, "",
               "proved: not longer than the next for every epsilon and head; diverges: the next "
               "one's series does; numbers: not longer by the numbers; unknown; last"),
    CSV_OPTIONAL(ranking_row, reason, "", "of what is proved"),
};

static const struct csv_layout ranking_layout = {
    .file = "ranking",
    .origin = "`reach trf --json`",
    .row = "a bias of an argument",
    .columns = ranking_columns,
    .count = sizeof ranking_columns / sizeof *ranking_columns,
};

static int ranking_rows(const void *found, struct csv *csv, struct error *e)
{
    static const char *const orders[] = {[TRF_UNKNOWN] = "unknown",
                                         [TRF_PROVED] = "proved",
                                         [TRF_NEXT_DIVERGES] = "diverges",
                                         [TRF_BY_NUMBERS] = "numbers"};
    const struct trf_run *r = found;

    (void)e;
    for (int i = 0; i < r->place_count; i++) {
        const struct trf_place *p = &r->places[i];
        const struct formula_argument *a = &r->arguments[p->argument];
        char layers[128], field[128];

        bias_layers_text(layers, sizeof layers, &a->set, p->bias);
        trf_count_text(field, &p->value->count);
        csv_row(csv, &(struct ranking_row){i + 1, a->label, layers, field,
                                           i + 1 == r->place_count ? "last" : orders[p->order],
                                           p->order == TRF_PROVED ? p->why : NULL});
    }
    return 0;
}

const struct results_file *const trf_shown[] = {
    &(const struct results_file){.layout = &arguments_layout, .rows = arguments_rows},
    &(const struct results_file){.layout = &heads_layout, .rows = heads_rows},
    &(const struct results_file){.layout = &ranking_layout, .rows = ranking_rows}, NULL};
