/* What `reach erf --json` and `reach merge --json` have besides the CSV files. */
#include "commands/erf.h"
#include "commands/notes.h"

#include <math.h>
#include <stdlib.h>

/* ---- models ---- */

struct models_row {
    const char *name, *path, *adapter, *family, *position_encoding, *digest;
    long long layers, heads, train_length;
    double attention_correlation;
    const char *finding;
};

static const struct csv_column models_columns[] = {
    CSV_COLUMN(models_row, name, "", "as in the tables"),
    CSV_COLUMN(models_row, path, "", "where it was read"),
    CSV_OPTIONAL(models_row, adapter, "", "path of the adapter merged onto it; empty: none"),
    CSV_COLUMN(models_row, family, "", "of the model"),
    CSV_COLUMN(models_row, position_encoding, "", "in words"),
    CSV_COLUMN(models_row, digest, "", "of its tensors and configuration"),
    CSV_COLUMN(models_row, layers, "", "number of blocks"),
    CSV_COLUMN(models_row, heads, "", "of a block"),
    CSV_OPTIONAL(models_row, train_length, "tokens", "it was trained on; empty: unknown"),
    CSV_OPTIONAL(models_row, attention_correlation, "",
                 "rank correlation of attention_erf and trf_length over all heads, at the main "
                 "threshold; empty if it does not exist, and without --attention"),
    CSV_OPTIONAL(models_row, finding, "",
                 "what was found, in a sentence or two; empty: all segments are excluded"),
};

static const struct csv_layout models_layout = {
    .file = "models",
    .origin = "`reach erf --json` and `reach merge --json`",
    .row = "a model",
    .columns = models_columns,
    .count = sizeof models_columns / sizeof *models_columns,
};

static int models_rows(const void *shown, struct csv *csv, struct error *e)
{
    const struct result *r = ((const struct erf_shown *)shown)->result;

    for (size_t i = 0; i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];
        const struct erf_summary *u = &result_main(m)->summary;
        int is_found = u->segments != u->excluded;
        char *finding = is_found ? erf_sentence(r, m) : NULL;

        if (is_found && !finding)
            return fail(e, "out of memory for the report");
        csv_row(csv, &(struct models_row){.name = m->name,
                                          .path = m->path,
                                          .adapter = m->adapter,
                                          .family = m->family,
                                          .position_encoding = m->position_encoding,
                                          .digest = m->digest,
                                          .layers = (long long)m->layers,
                                          .heads = (long long)m->heads,
                                          .train_length = (long long)m->train_length,
                                          .attention_correlation =
                                              m->attention.rows ? m->attention.correlation : NAN,
                                          .finding = finding});
        free(finding);
    }
    return 0;
}

/* ---- differences ---- */

struct differences_row {
    const char *model, *against;
    double difference, difference_lo, difference_hi;
    const char *note;
};

static const struct csv_column differences_columns[] = {
    CSV_COLUMN(differences_row, model, "", "name of the model"),
    CSV_COLUMN(differences_row, against, "", "name of the first model"),
    CSV_COLUMN(differences_row, difference, "tokens",
               "its field at the main threshold minus that of the first model"),
    CSV_OPTIONAL(
        differences_row, difference_lo, "tokens",
        "lower end of its 95 % interval, by a bootstrap-t paired by segment; empty: not paired, "
        "fewer than 5 segments, or --bootstrap 0"),
    CSV_OPTIONAL(differences_row, difference_hi, "tokens", "its upper end"),
    CSV_OPTIONAL(differences_row, note, "", "on saturated fields, or why they are not paired"),
};

static const struct csv_layout differences_layout = {
    .file = "differences",
    .origin = "`reach erf --json` and `reach merge --json`",
    .row = "a model other than the first",
    .columns = differences_columns,
    .count = sizeof differences_columns / sizeof *differences_columns,
};

static int differences_rows(const void *shown, struct csv *csv, struct error *e)
{
    const struct result *r = ((const struct erf_shown *)shown)->result;

    (void)e;
    for (size_t i = 1; i < r->model_count; i++) {
        struct erf_comparison d = erf_compare(r, &r->models[i]);

        csv_row(csv, &(struct differences_row){r->models[i].name, r->models[0].name, d.difference,
                                               d.lo, d.hi, d.note});
    }
    return 0;
}

/* ---- notes ---- */

static void put_notes(FILE *f, const void *shown)
{
    const struct result *r = ((const struct erf_shown *)shown)->result;

    erf_notes(f, r);
}

static int put_note_rows(const void *shown, struct csv *csv, struct error *e)
{
    return notes_rows(shown, put_notes, csv, e);
}

/* ---- precision ---- */

struct precision_row {
    const char *model;
    long long segments;
    double s, c, logprob;
    long long erf, outside;
    double allowed_s, allowed_c, allowed_logprob;
};

static const struct csv_column precision_columns[] = {
    CSV_COLUMN(precision_row, model, "", "name of the model"),
    CSV_COLUMN(precision_row, segments, "", "that were measured again in float64"),
    CSV_COLUMN(precision_row, s, "", "largest relative deviation of s where it is above 1e-6"),
    CSV_COLUMN(precision_row, c, "", "largest deviation of c"),
    CSV_COLUMN(precision_row, logprob, "nats", "largest deviation of log p"),
    CSV_COLUMN(precision_row, erf, "tokens", "largest difference of the field"),
    CSV_COLUMN(
        precision_row, outside, "",
        "segments whose field is not between the reference's at the threshold minus and plus "
        "allowed_c"),
    CSV_COLUMN(precision_row, allowed_s, "", "limit for s; inf: no limit is known"),
    CSV_COLUMN(precision_row, allowed_c, "", "limit for c"),
    CSV_COLUMN(precision_row, allowed_logprob, "nats", "limit for log p"),
};

static const struct csv_layout precision_layout = {
    .file = "precision",
    .origin = "`reach erf --check-precision --json`",
    .row = "a model",
    .columns = precision_columns,
    .count = sizeof precision_columns / sizeof *precision_columns,
};

static int is_checked(const void *shown)
{
    return ((const struct erf_shown *)shown)->deviations != NULL;
}

static int precision_rows(const void *shown, struct csv *csv, struct error *e)
{
    const struct erf_shown *x = shown;

    (void)e;
    for (size_t i = 0; i < x->result->model_count; i++) {
        const struct deviation *d = &x->deviations[i];

        csv_row(csv,
                &(struct precision_row){x->result->models[i].name, (long long)d->segments, d->s,
                                        d->c, d->logprob, (long long)d->erf, (long long)d->outside,
                                        x->allowed.s, x->allowed.c, x->allowed.logprob});
    }
    return 0;
}

const struct results_file *const erf_shown[] = {
    &(const struct results_file){.layout = &models_layout, .rows = models_rows},
    &(const struct results_file){.layout = &differences_layout, .rows = differences_rows},
    &(const struct results_file){.layout = &notes_layout, .rows = put_note_rows},
    &(const struct results_file){.is_wanted = is_checked,
                                 .layout = &precision_layout,
                                 .rows = precision_rows},
    NULL};
