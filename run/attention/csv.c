#include "run/attention/csv.h"

#include "run/attention/attention.h"

struct attention_csv_row {
    const char *model;
    long long layer, head;
    const char *epsilon;
    long long attention_erf;
    const char *trf;
    long long trf_length;
    const char *verdict;
    long long segments, excluded;
};

static const struct csv_column columns[] = {
    CSV_COLUMN(attention_csv_row, model, "", "name of the model"),
    CSV_COLUMN(attention_csv_row, layer, "", "block, from 1"),
    CSV_COLUMN(attention_csv_row, head, "", "from 1"),
    CSV_COLUMN(attention_csv_row, epsilon, "",
               "share of the attention that may lie beyond the field, 1 - threshold"),
    CSV_COLUMN(attention_csv_row, attention_erf, "tokens",
               "the smallest window that holds a share above 1 - epsilon of the attention: its "
               "mean over segments and the queries of "
               "their second half, by distance"),
    CSV_LONG(attention_csv_row, trf, "tokens",
             "the same for the series of exp(bias): an upper bound if it is not an exact "
             "integer, inf if it diverges; empty: "
             "there is no series"),
    CSV_OPTIONAL(attention_csv_row, trf_length, "tokens",
                 "the same for its first L-1 terms; empty: there is no series"),
    CSV_COLUMN(attention_csv_row, verdict, "", "converges, diverges, undecided or not applicable"),
    CSV_COLUMN(attention_csv_row, segments, "", "segments that were measured"),
    CSV_COLUMN(attention_csv_row, excluded, "",
               "segments left out because their attention is not finite"),
};

const struct csv_layout attention_csv = {
    .file = "attention.csv",
    .origin = "`reach erf --attention` and `reach merge`",
    .row = "a model, layer, head and epsilon",
    .units = "layer and head from 1; attention_erf, trf, trf_length in tokens: the smallest "
             "windows that hold a share above 1 - "
             "epsilon of the attention (its mean over segments and the queries of their second "
             "half, by distance), of the series "
             "of exp(bias), and of its first L-1 terms; trf: an upper bound if it is not an exact "
             "integer",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};

static void write_head(struct csv *csv, const struct result *r, const struct result_model *m,
                       size_t layer, size_t head)
{
    const struct result_attention *a = &m->attention;

    for (size_t q = r->threshold_count; q-- > 0;) {
        const struct attention_row *row = attention_row(r, m, layer, head, q);
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
                                            .excluded = (long long)(a->measured - a->used)});
    }
}

int attention_rows(const void *result, struct csv *csv, struct error *e)
{
    const struct result *r = result;

    (void)e;
    for (size_t i = 0; i < r->model_count; i++)
        for (size_t l = 0; l < r->models[i].attention.layers; l++)
            for (size_t h = 0; h < r->models[i].attention.heads; h++)
                write_head(csv, r, &r->models[i], l, h);
    return 0;
}
