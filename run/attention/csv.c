#include "run/attention/csv.h"

#include "run/attention/attention.h"

#include <stdlib.h>
#include <string.h>

struct attention_csv_row {
    const char *model;
    long long layer, head;
    const char *epsilon;
    long long attention_erf;
    const char *trf;
    long long trf_length;
    const char *verdict;
    long long segments, excluded;
    const char *mixer;
    double log_decay, decay_tokens;
};

static const struct csv_column columns[] = {
    CSV_COLUMN(attention_csv_row, model, "", "name of the model"),
    CSV_COLUMN(attention_csv_row, layer, "", "block, from 1"),
    CSV_COLUMN(attention_csv_row, head, "", "from 1"),
    CSV_COLUMN(attention_csv_row, epsilon, "",
               "share of the attention that may lie beyond the field, 1 - threshold"),
    CSV_OPTIONAL(attention_csv_row, attention_erf, "tokens",
                 "the smallest window that holds a share above 1 - epsilon of the attention: its "
                 "mean over segments and the queries of "
                 "their second half, by distance; empty in rows of other mixers"),
    CSV_LONG(attention_csv_row, trf, "tokens",
             "the same for the series of exp(bias): an upper bound if it is not an exact "
             "integer, inf if it diverges; empty: "
             "there is no series"),
    CSV_OPTIONAL(attention_csv_row, trf_length, "tokens",
                 "the same for its first L-1 terms; empty: there is no series"),
    CSV_COLUMN(attention_csv_row, verdict, "", "converges, diverges, undecided or not applicable"),
    CSV_COLUMN(attention_csv_row, segments, "", "segments that were measured"),
    CSV_COLUMN(attention_csv_row, excluded, "",
               "segments left out because their attention or decays are not finite"),
    CSV_COLUMN(attention_csv_row, mixer, "",
               "what mixes the tokens here: attention (to all earlier ones), window, chunk, "
               "recurrence, whose rows are of the heads of its state (of a scan there is one), or "
               "convolution, which has one row without numbers"),
    CSV_OPTIONAL(attention_csv_row, log_decay, "nats/token",
                 "logarithm of the factor by which a recurrence keeps its state from token to "
                 "token: mean over segments and inputs, and over channels if each has its own; "
                 "empty in rows of other mixers"),
    CSV_OPTIONAL(attention_csv_row, decay_tokens, "tokens",
                 "over which a state falls to epsilon, ln(epsilon) / log_decay; empty in rows of "
                 "other mixers"),
};

const struct csv_layout attention_csv = {
    .file = "attention.csv",
    .origin = "`reach erf --attention` and `reach merge`",
    .row = "a model, layer, mixer, head and epsilon",
    .units = "layer and head from 1; attention_erf, trf, trf_length in tokens: the smallest "
             "windows that hold a share above 1 - "
             "epsilon of the attention (its mean over segments and the queries of their second "
             "half, by distance), of the series "
             "of exp(bias), and of its first L-1 terms; trf: an upper bound if it is not an exact "
             "integer; log_decay in nats per token: its mean over segments and inputs; "
             "decay_tokens in tokens: ln(epsilon) / log_decay",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};

/* The rows of a head of one mixer, one for each epsilon. */
static void write_head(struct csv *csv, const struct result *r, const struct result_model *m,
                       size_t layer, size_t head, const char *mixer, double log_decay)
{
    static const struct attention_row none = {.verdict = "not applicable"};
    const struct result_attention *a = &m->attention;
    int attends = isnan(log_decay) && strcmp(mixer, "convolution") != 0;

    for (size_t q = r->threshold_count; q-- > 0;) {
        const struct attention_row *row = attends ? attention_row(r, m, layer, head, q) : &none;
        char epsilon[32];

        csv_row(csv,
                &(struct attention_csv_row){.model = m->name,
                                            .layer = (long long)layer + 1,
                                            .head = (long long)head + 1,
                                            .epsilon = result_epsilon(epsilon, r->thresholds[q]),
                                            .attention_erf = (long long)row->erf,
                                            .trf = row->trf,
                                            .trf_length = (long long)row->trf_length,
                                            .verdict = row->verdict,
                                            .segments = (long long)a->measured,
                                            .excluded = (long long)(a->measured - a->used),
                                            .mixer = mixer,
                                            .log_decay = log_decay,
                                            .decay_tokens = decay_tokens(strtod(epsilon, NULL),
                                                                         log_decay)});
    }
}

static int write_layer(struct csv *csv, const struct result *r, const struct result_model *m,
                       size_t layer, struct error *e)
{
    const struct result_attention *a = &m->attention;
    size_t heads = a->recurrence_heads;
    struct mixers mixers;

    if (mixers_of(&mixers, a, layer) != 0)
        return fail(e, "%s: mixers is damaged (expected a name for each layer)", m->name);
    for (size_t h = 0; mixers.attention && h < a->heads; h++)
        write_head(csv, r, m, layer, h, mixers.attention, NAN);
    for (size_t h = 0; mixers.recurs && h < heads; h++)
        write_head(csv, r, m, layer, h, "recurrence", a->log_decay[layer * heads + h]);
    if (mixers.convolves)
        write_head(csv, r, m, layer, 0, "convolution", NAN);
    return 0;
}

int attention_rows(const void *result, struct csv *csv, struct error *e)
{
    const struct result *r = result;

    for (size_t i = 0; i < r->model_count; i++)
        for (size_t l = 0; l < r->models[i].attention.layers; l++)
            if (write_layer(csv, r, &r->models[i], l, e) != 0)
                return -1;
    return 0;
}
