#include "run/erf/csv.h"

#include "io/element.h"
#include "run/text.h"

#include <math.h>
#include <stdlib.h>

struct curve_row {
    const char *model;
    long long position, distance;
    double s, c, c_lo, c_hi;
    long long target, layer;
    const char *attribution;
};

static const struct csv_column curve_columns[] = {
    CSV_COLUMN(curve_row, model, "", "name of the model"),
    CSV_COLUMN(curve_row, position, "tokens", "of the input m, from 1"),
    CSV_COLUMN(curve_row, distance, "tokens", "from the last input, L-1-position"),
    CSV_COLUMN(curve_row, s, "",
               "share of the position in the sum of the norms, mean over segments"),
    CSV_COLUMN(curve_row, c, "", "sum of the shares from this position on"),
    CSV_COLUMN(curve_row, c_lo, "",
               "lower end of the 95 % interval of c, by a bootstrap-t over segments; fewer than 5 "
               "segments, and --bootstrap 0, give no interval: both ends are c"),
    CSV_COLUMN(curve_row, c_hi, "", "its upper end"),
    CSV_COLUMN(curve_row, target, "tokens",
               "position of the target, from 1: segments are cut to this many tokens"),
    CSV_COLUMN(curve_row, layer, "",
               "gradient with respect to the input of this block, from 0; 0: the embeddings"),
    CSV_COLUMN(curve_row, attribution, "",
               "grad, inputxgrad, ig or smoothgrad: what the norms are of"),
};

const struct csv_layout curve_csv = {
    .file = "curve.csv",
    .origin = "`reach erf` and `reach merge`",
    .row = "a model, target, layer and position",
    .units = "position, distance, target in tokens (position 1 is the first; distance = "
             "L-1-position); s, c, c_lo, c_hi shares of "
             "1; c_lo, c_hi: 95 % interval by bootstrap-t over segments",
    .columns = curve_columns,
    .count = sizeof curve_columns / sizeof *curve_columns,
};

struct summary_row {
    const char *model;
    long long segments, excluded, length;
    double threshold;
    long long erf, erf_lo, erf_hi, saturated, erf_q10, erf_median, erf_q90;
    double sink_share;
    long long erf_without_sink;
    double mean_logprob, ppl;
    long long target, layer;
    const char *attribution;
    double growth, growth_lo, growth_hi;
};

static const struct csv_column summary_columns[] = {
    CSV_COLUMN(summary_row, model, "", "name of the model"),
    CSV_COLUMN(summary_row, segments, "", "segments that were measured"),
    CSV_COLUMN(summary_row, excluded, "",
               "segments left out because their norms are not finite, or sum to zero"),
    CSV_COLUMN(summary_row, length, "tokens", "of a segment, the target included"),
    CSV_COLUMN(summary_row, threshold, "", "the field holds more than this share of the norms"),
    CSV_COLUMN(
        summary_row, erf, "tokens",
        "the field: the smallest number of most recent tokens with a share above the threshold"),
    CSV_COLUMN(summary_row, erf_lo, "tokens",
               "lower end of its 95 % interval, by a bootstrap-t over segments; fewer than 5 "
               "segments, and --bootstrap 0, give no interval: both ends are the field"),
    CSV_COLUMN(summary_row, erf_hi, "tokens", "its upper end"),
    CSV_COLUMN(summary_row, saturated, "",
               "1: all L-1 tokens are needed, the field is at least that; else 0"),
    CSV_COLUMN(summary_row, erf_q10, "tokens", "10 % quantile of the fields of single segments"),
    CSV_COLUMN(summary_row, erf_median, "tokens", "their median"),
    CSV_COLUMN(summary_row, erf_q90, "tokens", "their 90 % quantile"),
    CSV_COLUMN(summary_row, sink_share, "", "share of the first tokens; --sink sets how many"),
    CSV_COLUMN(summary_row, erf_without_sink, "tokens",
               "the field without those tokens; 0: nothing else has a share"),
    CSV_COLUMN(summary_row, mean_logprob, "nats",
               "mean log p of the target over the segments that are used"),
    CSV_COLUMN(summary_row, ppl, "", "exp(-mean_logprob)"),
    CSV_COLUMN(summary_row, target, "tokens", "position of the target, from 1; the same as length"),
    CSV_COLUMN(summary_row, layer, "",
               "gradient with respect to the input of this block, from 0; 0: the embeddings"),
    CSV_COLUMN(summary_row, attribution, "",
               "grad, inputxgrad, ig or smoothgrad: what the norms are of"),
    CSV_OPTIONAL(summary_row, growth, "",
                 "exponent x of ERF ~ n^x in the inputs n: the slope of ln ERF over ln n, n of a "
                 "quarter, a half and all of the tokens of "
                 "a segment (`--growth`); in rows of whole segments at the embeddings, empty if "
                 "these lengths were not measured"),
    CSV_OPTIONAL(summary_row, growth_lo, "",
                 "lower end of its 95 % interval, as of the field; empty if there is none, or the "
                 "lengths are not paired"),
    CSV_OPTIONAL(summary_row, growth_hi, "", "its upper end"),
};

const struct csv_layout summary_csv = {
    .file = "summary.csv",
    .origin = "`reach erf` and `reach merge`",
    .row = "a model, target, layer and threshold",
    .units = "length, erf (and its interval, quantiles, without sink), target in tokens; "
             "interval: 95 %, by bootstrap-t over segments; "
             "threshold, sink_share shares of 1; "
             "mean_logprob natural log; saturated 1: all L-1 tokens are needed, the field is at "
             "least that",
    .columns = summary_columns,
    .count = sizeof summary_columns / sizeof *summary_columns,
};

static int field_curve(struct csv *csv, const struct result *r, const struct result_model *m,
                       const struct result_field *f)
{
    const struct erf_summary *u = &f->summary;
    size_t n = f->positions;
    int has_interval = result_has_interval(r, f);

    for (size_t i = 0; i < n; i++)
        csv_row(csv, &(struct curve_row){.model = m->name,
                                         .position = (long long)i + 1,
                                         .distance = (long long)(n - 1 - i),
                                         .s = u->s[i],
                                         .c = u->c[i],
                                         .c_lo = has_interval ? u->c_lo[i] : u->c[i],
                                         .c_hi = has_interval ? u->c_hi[i] : u->c[i],
                                         .target = (long long)f->target,
                                         .layer = (long long)f->layer,
                                         .attribution = r->attribution});
    return 0;
}

/* -1: out of memory. */
static int field_summary(struct csv *csv, const struct result *r, const struct result_model *m,
                         const struct result_field *f)
{
    const struct erf_summary *u = &f->summary, *lengths[GROWTH_LENGTHS];
    int grows = f == result_main(m) && result_growth(lengths, m),
        has_interval = result_has_interval(r, f);

    for (size_t i = 0; i < u->threshold_count; i++) {
        const struct erf_row *row = &u->rows[i];
        struct erf_growth g = {NAN, NAN, NAN, 0};

        if (grows && erf_growth(&g, lengths, GROWTH_LENGTHS, i) != 0)
            return -1;

        csv_row(csv,
                &(struct summary_row){.model = m->name,
                                      .segments = (long long)u->segments,
                                      .excluded = (long long)u->excluded,
                                      .length = (long long)f->target,
                                      .threshold = row->threshold,
                                      .erf = (long long)row->erf,
                                      .erf_lo = (long long)(has_interval ? row->erf_lo : row->erf),
                                      .erf_hi = (long long)(has_interval ? row->erf_hi : row->erf),
                                      .saturated = row->saturated,
                                      .erf_q10 = (long long)row->q10,
                                      .erf_median = (long long)row->median,
                                      .erf_q90 = (long long)row->q90,
                                      .sink_share = u->sink_share,
                                      .erf_without_sink = (long long)row->without_sink,
                                      .mean_logprob = u->mean_logprob,
                                      .ppl = u->perplexity,
                                      .target = (long long)f->target,
                                      .layer = (long long)f->layer,
                                      .attribution = r->attribution,
                                      .growth = g.exponent,
                                      .growth_lo = g.lo,
                                      .growth_hi = g.hi});
    }
    return 0;
}

/* A note on the segments for readers. */
static char *note_of(const void *result)
{
    const struct result *r = result;
    char *note = NULL;
    size_t size;
    FILE *f = open_memstream(&note, &size);
    int failed, any = f && r->models[0].overlapping, few = 0;

    if (any)
        fputs("segments overlap (stride below length): the intervals are too narrow", f);
    for (size_t i = 0; f && r->bootstrap && !few && i < r->model_count; i++)
        few = !result_has_interval(r, result_main(&r->models[i]));
    if (few)
        fprintf(f, "%sfewer than %d segments have no intervals: both ends are the value",
                any ? "; " : "", INTERVAL_SEGMENTS);
    any |= few;
    for (size_t i = 0; f && i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];

        any |= text_describe(f, any ? "; " : "",
                             &(struct text_notes){m->name, &m->bounds, &m->documents});
    }
    failed = !f || ferror(f);
    if ((f && fclose(f) != 0) || failed) {
        free(note);
        return NULL;
    }
    return note;
}

/* The rows of all fields. */
static int field_rows(const struct result *r, struct csv *csv,
                      int (*rows)(struct csv *, const struct result *, const struct result_model *,
                                  const struct result_field *),
                      struct error *e)
{
    for (size_t i = 0; i < r->model_count; i++)
        for (size_t k = 0; k < r->models[i].field_count; k++)
            if (rows(csv, r, &r->models[i], &r->models[i].fields[k]) != 0)
                return fail_memory(e, (double)r->bootstrap * sizeof(double),
                                   "the growth of fields");
    return 0;
}

static int curve_rows(const void *result, struct csv *csv, struct error *e)
{
    return field_rows(result, csv, field_curve, e);
}

static int summary_rows(const void *result, struct csv *csv, struct error *e)
{
    return field_rows(result, csv, field_summary, e);
}

const struct results_file curve_file = {.layout = &curve_csv, .rows = curve_rows, .note = note_of},
                          summary_file = {.layout = &summary_csv,
                                          .rows = summary_rows,
                                          .note = note_of};
