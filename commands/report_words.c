/* Sentences about results. */
#include "commands/erf.h"
#include "commands/ppl.h"
#include "commands/report.h"
#include "analyze/attribution.h"
#include "io/order.h"
#include "page/escape.h"
#include "page/report.h"
#include "run/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number(const struct report *t, size_t row, int column)
{
    const char *text = report_cell(t, row, column);

    return *text ? strtod(text, NULL) : NAN;
}

/* The last row + 1 of those from `first` with the same cells in these columns. */
static size_t end_of(const struct report *t, size_t first, int one, int other)
{
    size_t row = first + 1;

    while (row < t->table.rows &&
           strcmp(report_cell(t, row, one), report_cell(t, first, one)) == 0 &&
           strcmp(report_cell(t, row, other), report_cell(t, first, other)) == 0)
        row++;
    return row;
}

static void begin(FILE *f, const struct report *t, size_t row, int column)
{
    fputs("<p class=sentence>", f);
    html_text(f, report_cell(t, row, column));
    fputs(": ", f);
}

/* ---- perplexity ---- */

static const char *cell_of(const struct report *t, size_t row, const char *column)
{
    return report_cell(t, row, csv_column(&t->table, column));
}

/* Where these are equal, rows of ppl.csv and gain.csv are of one run. */
static const char *const run_columns[] = {"model", "protocol", "context", "tokens", "nll"};
enum { RUN_COLUMNS = sizeof run_columns / sizeof *run_columns };

/* The change of the NLL from row `first` to row `last`, with its interval where a gain.csv of the
 * same run has it: there the targets are paired. */
static void put_change(FILE *f, const struct report *t, size_t first, size_t last,
                       const struct report_run *r)
{
    double change = number(t, last, csv_column(&t->table, "nll")) -
                    number(t, first, csv_column(&t->table, "nll"));

    if (change == 0) {
        fputs("the same", f);
        return;
    }
    fprintf(f, "%.3g nats per token %s", fabs(change), change < 0 ? "less" : "more");
    for (size_t i = 0; i < r->count; i++) {
        const struct report *gain = &r->sources[i].file;

        for (size_t row = 0; gain->kind == REPORT_GAIN && row < gain->table.rows; row++) {
            double low = number(gain, row, csv_column(&gain->table, "rest_lo")),
                   high = number(gain, row, csv_column(&gain->table, "rest_hi"));
            int same = isfinite(low);

            for (int k = 0; k < RUN_COLUMNS; k++)
                same &= strcmp(cell_of(gain, row, run_columns[k]),
                               cell_of(t, first, run_columns[k])) == 0;
            if (same) {
                fprintf(f, " (paired by target, 95 %% interval of the change: %+.3g to %+.3g)",
                        -high, -low);
                return;
            }
        }
    }
}

static void tell_perplexity(FILE *f, const struct report *t, const struct report_run *r)
{
    int model = csv_column(&t->table, "model"), protocol = csv_column(&t->table, "protocol"),
        context = csv_column(&t->table, "context"), ppl = csv_column(&t->table, "ppl"),
        error = csv_column(&t->table, "std_error"), nll = csv_column(&t->table, "nll");

    for (size_t first = 0, end; first < t->table.rows; first = end) {
        size_t best = first, last;

        end = end_of(t, first, model, protocol);
        last = end - 1;
        for (size_t row = first; row < end; row++)
            if (number(t, row, nll) < number(t, best, nll))
                best = row;
        begin(f, t, first, model);
        if (end == first + 1) {
            fprintf(f, "the perplexity is %.4g", number(t, first, ppl));
        } else {
            fprintf(f, "the perplexity is %.4g with %.0f tokens of context and %.4g with %.0f, ",
                    number(t, first, ppl), number(t, first, context), number(t, last, ppl),
                    number(t, last, context));
            put_change(f, t, first, last, r);
            if (best != first && best != last)
                fprintf(f, "; the lowest is %.4g, with %.0f", number(t, best, ppl),
                        number(t, best, context));
        }
        if (end == first + 1 && isfinite(number(t, last, error)))
            fprintf(f, " (standard error of the loss: %.2g nats)", number(t, last, error));
        fputs(".</p>\n", f);
    }
}

/* Of the rows [first, end) of a model. */
static struct gain_needs needs_of(const struct report *t, size_t first, size_t end)
{
    int context = csv_column(&t->table, "context"), nll = csv_column(&t->table, "nll"),
        high = csv_column(&t->table, "rest_hi");
    size_t best = end - 1;

    for (size_t row = first; row + 1 < end; row++)
        if (number(t, row, nll) < number(t, best, nll))
            best = row;
    if (!(number(t, best, high) < 0))
        best = end - 1;
    return (struct gain_needs){
        .best = number(t, best, context),
        .longest = number(t, end - 1, context),
        .shorter = number(t, end - first > 1 ? end - 2 : first, context),
        .half = number(t, first, csv_column(&t->table, "needed_median")),
        .most = number(t, first, csv_column(&t->table, "needed_q90")),
    };
}

static void tell_gain(FILE *f, const struct report *t)
{
    int model = csv_column(&t->table, "model"), protocol = csv_column(&t->table, "protocol"),
        within = csv_column(&t->table, "within");

    for (size_t row = 0, end; row < t->table.rows; row = end) {
        struct gain_needs needs = needs_of(t, row, end = end_of(t, row, model, protocol));
        char *text = gain_sentence(&needs);

        begin(f, t, row, model);
        if (text)
            fputs(text, f);
        if (needs.best == needs.longest)
            fprintf(f, ", to be predicted at most %.6g nats worse than with the longest",
                    number(t, row, within));
        fputs(".</p>\n", f);
        free(text);
    }
}

static void tell_validation(FILE *f, const struct report *t)
{
    int model = csv_column(&t->table, "model"), enough = csv_column(&t->table, "enough"),
        share = csv_column(&t->table, "enough_gradient"), within = csv_column(&t->table, "within"),
        tests = csv_column(&t->table, "tests");

    for (size_t row = 0; row < t->table.rows; row = end_of(t, row, model, model)) {
        begin(f, t, row, model);
        fprintf(f,
                "with the last %.0f tokens kept, other text before them changes the loss by no "
                "more than %.6g nats, up or down, "
                "mean of %.0f targets; those tokens have a share of %.3g of the gradient.</p>\n",
                number(t, row, enough), number(t, row, within), number(t, row, tests),
                number(t, row, share));
    }
}

/* ---- theoretical fields ---- */

/* Bounds on the field in rows [first, end) for one layer and the series, as log10 and as text. */
struct span {
    size_t low, high, rows; /* row of the shortest and the longest; number of rows used */
    int diverges, undecided;
};

static struct span span_of(const struct report *t, size_t first, size_t end)
{
    int length = csv_column(&t->table, "length"), layers = csv_column(&t->table, "layers"),
        verdict = csv_column(&t->table, "verdict"),
        logarithm = csv_column(&t->table, "log10_trf_hi");
    struct span s = {0};

    for (size_t row = first; row < end; row++) {
        const char *said = report_cell(t, row, verdict);

        if (strcmp(report_cell(t, row, length), "inf") != 0 ||
            strcmp(report_cell(t, row, layers), "1") != 0)
            continue;
        s.diverges += strcmp(said, "diverges") == 0;
        s.undecided += strcmp(said, "undecided") == 0;
        if (!isfinite(number(t, row, logarithm)))
            continue;
        if (!s.rows || number(t, row, logarithm) < number(t, s.low, logarithm))
            s.low = row;
        if (!s.rows || number(t, row, logarithm) > number(t, s.high, logarithm))
            s.high = row;
        s.rows++;
    }
    return s;
}

/* A count of tokens: as written, or the power of ten. */
static void put_count(FILE *f, const struct report *t, size_t row)
{
    const char *digits = report_cell(t, row, csv_column(&t->table, "trf_hi"));

    if (*digits && strlen(digits) <= 12)
        html_text(f, digits);
    else
        fprintf(f, "10^%.1f", number(t, row, csv_column(&t->table, "log10_trf_hi")));
}

static void tell_fields(FILE *f, const struct report *t)
{
    int formula = csv_column(&t->table, "formula"), epsilon = csv_column(&t->table, "epsilon");

    for (size_t first = 0, end; first < t->table.rows; first = end) {
        struct span s;

        end = end_of(t, first, formula, formula);
        s = span_of(t, first, end);
        if (!s.rows && !s.diverges && !s.undecided)
            continue;
        begin(f, t, first, formula);
        if (s.rows) {
            fputs("of all the weight that the bias gives, all but a share of ", f);
            html_text(f, report_cell(t, s.low, epsilon));
            fputs(" lies within the last ", f);
            put_count(f, t, s.low);
            if (s.high != s.low) {
                fputs(" to ", f);
                put_count(f, t, s.high);
            }
            fputs(s.high != s.low ? " tokens, by head, layer and share" : " tokens", f);
        }
        if (s.diverges)
            fputs(s.rows ? "; of other heads the series diverges: their field has no end"
                         : "the series diverges: no number of tokens holds a share of its weight, "
                           "the field has no end",
                  f);
        if (s.undecided)
            fputs(s.rows || s.diverges ? "; of some it is not decided"
                                       : "whether the series converges is not decided",
                  f);
        fputs(".</p>\n", f);
    }
}

void report_tell(FILE *f, const struct report *table, const struct report_run *r)
{
    if (table->kind == REPORT_PERPLEXITY)
        tell_perplexity(f, table, r);
    else if (table->kind == REPORT_GAIN)
        tell_gain(f, table);
    else if (table->kind == REPORT_VALIDATION)
        tell_validation(f, table);
    else if (table->kind == REPORT_FIELDS)
        tell_fields(f, table);
}

/* ---- measured fields ---- */

/* Over a training run, whose names state the steps: from its first step to its last. */
static int put_training(FILE *f, const struct result *r)
{
    const struct result_model *last = &r->models[r->model_count - 1];
    const struct erf_summary *from = &result_main(r->models)->summary,
                             *to = &result_main(last)->summary;
    const char **names = calloc(r->model_count, sizeof *names);
    double *steps = calloc(r->model_count, sizeof *steps);
    int rc = names && steps ? 0 : -1;

    for (size_t i = 0; i < r->model_count && rc == 0; i++)
        names[i] = r->models[i].name;
    if (rc == 0 && r->model_count > 1 && from->segments > from->excluded &&
        to->segments > to->excluded && steps_find(steps, names, r->model_count) == STEPS_STATED) {
        struct erf_comparison change = erf_compare(r, last);
        const struct erf_row *first = &from->rows[r->main_row], *end = &to->rows[r->main_row];

        fprintf(
            f,
            "<p class=sentence>From step %.10g to step %.10g the ERF(%.10g) goes from %zu to %zu "
            "of %zu tokens, a change of %+.0f",
            steps[0], steps[r->model_count - 1], r->main_threshold, first->erf, end->erf,
            r->length - 1, change.difference);
        if (isfinite(change.lo))
            fprintf(f, " (95 %% interval of pairs of segments: %+.0f to %+.0f)", change.lo,
                    change.hi);
        if (*change.note)
            fprintf(f, ", %s", change.note);
        fprintf(f, "; the perplexity from %.4g to %.4g.</p>\n", from->perplexity, to->perplexity);
    }
    free(names);
    free(steps);
    return rc;
}

static int put_sentences(FILE *f, const struct result *r)
{
    if (put_training(f, r) != 0)
        return -1;
    for (size_t i = 0; i < r->model_count; i++) {
        const struct erf_summary *u = &result_main(&r->models[i])->summary;
        char *text = u->segments > u->excluded ? erf_sentence(r, &r->models[i]) : NULL;

        if (text)
            report_text(f, "p class=sentence", text);
        else if (u->segments > u->excluded)
            return -1;
        free(text);
    }
    return 0;
}

/* How far each model's heads attend. */
static int put_attention(FILE *f, const struct result *r, const struct result_model *m)
{
    const struct result_attention *a = &m->attention;
    size_t *erf = calloc(a->layers * a->heads + 1, sizeof *erf), count = 0;

    if (!erf)
        return -1;
    for (size_t k = 0; k < a->layers * a->heads; k++)
        if (a->rows[k * r->threshold_count + r->main_row].erf) /* the layer attends */
            erf[count++] = a->rows[k * r->threshold_count + r->main_row].erf;
    qsort(erf, count, sizeof *erf, order_sizes);
    if (count) {
        fputs("<p class=sentence>", f);
        html_text(f, m->name);
        if (erf[0] == erf[count - 1])
            fprintf(f,
                    ": every head has a share of %.10g of its attention within the last %zu "
                    "tokens.</p>\n",
                    r->main_threshold, erf[0]);
        else
            fprintf(f,
                    ": a head has a share of %.10g of its attention within the last %zu to %zu "
                    "tokens, the median head within %zu.</p>\n",
                    r->main_threshold, erf[0], erf[count - 1], erf[(count - 1) / 2]);
    }
    free(erf);
    return 0;
}

/* How fast the states of each model's recurrences decay. */
static int put_decays(FILE *f, const struct result *r, const struct result_model *m)
{
    const struct result_attention *a = &m->attention;
    double *tokens = calloc(a->layers * a->recurrence_heads + 1, sizeof *tokens);
    size_t count = 0, kept = 0;
    char epsilon[32];

    if (!tokens)
        return -1;
    result_epsilon(epsilon, r->main_threshold);
    for (size_t k = 0; k < a->layers * a->recurrence_heads; k++)
        if (a->log_decay[k] == 0)
            kept++;
        else if (a->log_decay[k] < 0)
            tokens[count++] = decay_tokens(strtod(epsilon, NULL), a->log_decay[k]);
    qsort(tokens, count, sizeof *tokens, order_numbers);
    if (count) {
        fputs("<p class=sentence>", f);
        html_text(f, m->name);
        fprintf(f,
                ": by the mean of its log decays, the state of a recurrence falls to %s over %.0f "
                "to %.0f tokens, that of the median head over %.0f.",
                epsilon, tokens[0], tokens[count - 1], tokens[(count - 1) / 2]);
        if (kept)
            fprintf(f, " %zu more heads do not decay.", kept);
        fputs("</p>\n", f);
    }
    free(tokens);
    return 0;
}

int report_tell_result(FILE *f, const struct result *r)
{
    int rc = put_sentences(f, r);

    for (size_t i = 0; i < r->model_count && rc == 0; i++)
        if (r->models[i].attention.rows)
            rc = put_attention(f, r, &r->models[i]) != 0 ? -1 : put_decays(f, r, &r->models[i]);
    return rc;
}
