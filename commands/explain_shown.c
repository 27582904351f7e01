/* What `reach explain --json` has besides explain.csv. */
#include "commands/explain.h"

#include "analyze/curve.h"

#include <math.h>
#include <stdlib.h>

struct target_row {
    const char *model, *position_encoding, *attribution;
    long long inputs, position, id;
    const char *text;
    double logprob;
    long long likeliest, segment;
    const char *prompt;
};

#define PROMPT_MEANS "with --prompts the id of the line, or its number; otherwise empty"

static const struct csv_column target_columns[] = {
    CSV_COLUMN(target_row, model, "", "name of the model"),
    CSV_OPTIONAL(target_row, position_encoding, "", "of the model, in words"),
    CSV_COLUMN(target_row, attribution, "", "grad, inputxgrad, ig or smoothgrad"),
    CSV_COLUMN(target_row, inputs, "tokens", "that the target was predicted from"),
    CSV_COLUMN(target_row, position, "tokens", "of the target, from 1"),
    CSV_COLUMN(target_row, id, "", "its token id; -1: the tokens of --answer together"),
    CSV_OPTIONAL(target_row, text, "", "its text, spelt as `piece` in explain.csv"),
    CSV_OPTIONAL(target_row, logprob, "nats", "its log p; empty: unknown"),
    CSV_COLUMN(
        target_row, likeliest, "",
        "1: the likeliest token after a prompt, 2: the next likely one, ...; 0: in the text, "
        "or named"),
    CSV_OPTIONAL(target_row, segment, "", "of a result, from 1; empty: the model was run"),
    CSV_OPTIONAL(target_row, prompt, "", PROMPT_MEANS),
};

static const struct csv_layout target_layout = {
    .file = "targets",
    .origin = "`reach explain --json`",
    .row = "a target",
    .columns = target_columns,
    .count = sizeof target_columns / sizeof *target_columns,
};

struct token_row {
    long long target_position, target_id, id;
    const char *text;
    double logprob;
    const char *prompt;
};

static const struct csv_column token_columns[] = {
    CSV_COLUMN(token_row, target_position, "tokens", "of the target, from 1"),
    CSV_COLUMN(token_row, target_id, "", "the target's token id"),
    CSV_COLUMN(token_row, id, "", "its token id"),
    CSV_OPTIONAL(token_row, text, "", "its text, spelt as `piece` in explain.csv"),
    CSV_OPTIONAL(token_row, logprob, "nats", "its log p; empty: unknown"),
    CSV_OPTIONAL(token_row, prompt, "", PROMPT_MEANS),
};
enum { TOKEN_COLUMNS = sizeof token_columns / sizeof *token_columns };

static const struct csv_layout against_layout = {.file = "against",
                                                 .origin = "`reach explain --against --json`",
                                                 .row = "the token compared with the target",
                                                 .columns = token_columns,
                                                 .count = TOKEN_COLUMNS},
                               others_layout = {.file = "others",
                                                .origin = "`reach explain --json`",
                                                .row = "one of the likeliest tokens besides the "
                                                       "target, in falling order",
                                                .columns = token_columns,
                                                .count = TOKEN_COLUMNS};

/* -1: out of memory. */
static int token_row(struct csv *csv, const struct explanation *x, struct prediction p,
                     struct error *e)
{
    char *text = NULL;
    size_t size;
    const char *spelt = texts_spell(x->pieces, p.id, &text, &size);

    if (spelt)
        csv_row(csv, &(struct token_row){(long long)x->count + 1, explanation_target_id(x), p.id,
                                         spelt, p.logprob, x->name});
    free(text);
    return spelt ? 0 : fail(e, "out of memory for a token");
}

static int target_row(struct csv *csv, const struct explanation *x, struct error *e)
{
    char *text = NULL;
    size_t size;
    const char *spelt = texts_spell(x->pieces, x->target.id, &text, &size);

    if (spelt)
        csv_row(csv, &(struct target_row){.model = x->model,
                                          .position_encoding = x->position_encoding,
                                          .attribution = x->attribution,
                                          .inputs = (long long)x->count,
                                          .position = (long long)x->count + 1,
                                          .id = explanation_target_id(x),
                                          .text = spelt,
                                          .logprob = x->target.logprob,
                                          .likeliest = x->predicted,
                                          .segment = (long long)x->segment,
                                          .prompt = x->name});
    free(text);
    return spelt ? 0 : fail(e, "out of memory for a token");
}

static int has_contrast(const void *found)
{
    return ((const struct explain_run *)found)->found.item[0].contrast;
}

static int against_row(struct csv *csv, const struct explanation *x, struct error *e)
{
    return token_row(csv, x, x->against, e);
}

static int others_row(struct csv *csv, const struct explanation *x, struct error *e)
{
    for (size_t i = 0; i < x->alternative_count; i++)
        if (token_row(csv, x, x->alternative[i], e) != 0)
            return -1;
    return 0;
}

struct field_row {
    long long target_position, target_id;
    double threshold;
    long long tokens;
    const char *prompt;
};

static const struct csv_column field_columns[] = {
    CSV_COLUMN(field_row, target_position, "tokens", "of the target, from 1"),
    CSV_COLUMN(field_row, target_id, "", "the target's token id"),
    CSV_COLUMN(field_row, threshold, "", "the field holds more than this share of the norms"),
    CSV_COLUMN(field_row, tokens, "tokens", "the smallest number of last inputs that do"),
    CSV_OPTIONAL(field_row, prompt, "", PROMPT_MEANS),
};

static const struct csv_layout field_layout = {
    .file = "fields",
    .origin = "`reach explain --json`",
    .row = "a threshold: 0.5, 0.9 and 0.99",
    .columns = field_columns,
    .count = sizeof field_columns / sizeof *field_columns,
};

static int field_row(struct csv *csv, const struct explanation *x, struct error *e)
{
    static const double thresholds[] = {0.5, 0.9, 0.99};

    (void)e;
    for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++)
        csv_row(csv, &(struct field_row){
                         (long long)x->count + 1, explanation_target_id(x), thresholds[i],
                         (long long)curve_erf(x->cumulative, x->count, thresholds[i]), x->name});
    return 0;
}

struct completeness_row {
    long long target_position, target_id;
    double sum, explained, baseline;
    const char *prompt;
};

static const struct csv_column completeness_columns[] = {
    CSV_COLUMN(completeness_row, target_position, "tokens", "of the target, from 1"),
    CSV_COLUMN(completeness_row, target_id, "", "the target's token id"),
    CSV_COLUMN(completeness_row, sum, "nats", "of all attributions, element by element"),
    CSV_COLUMN(completeness_row, explained, "nats",
               "log p of the target; with --against less log p of that token"),
    CSV_COLUMN(completeness_row, baseline, "nats",
               "the same with rows of zeros as embeddings; sum is explained less this, up to the "
               "error of the rule of 50 points"),
    CSV_OPTIONAL(completeness_row, prompt, "", PROMPT_MEANS),
};

static const struct csv_layout completeness_layout = {
    .file = "completeness",
    .origin = "`reach explain --attribution ig --json`",
    .row = "a target",
    .columns = completeness_columns,
    .count = sizeof completeness_columns / sizeof *completeness_columns,
};

static int is_integrated(const void *found)
{
    return ((const struct explain_run *)found)->found.item[0].integrated;
}

static int completeness_row(struct csv *csv, const struct explanation *x, struct error *e)
{
    (void)e;
    csv_row(csv, &(struct completeness_row){(long long)x->count + 1, explanation_target_id(x),
                                            x->attributed, explanation_explained(x), x->baseline,
                                            x->name});
    return 0;
}

/* The rows of each target. */
static int all_rows(const void *found, struct csv *csv,
                    int (*row)(struct csv *, const struct explanation *, struct error *),
                    struct error *e)
{
    const struct explanations *all = &((const struct explain_run *)found)->found;
    int rc = 0;

    for (size_t i = 0; i < all->count && rc == 0; i++)
        rc = row(csv, &all->item[i], e);
    return rc;
}

#define ROWS_OF(name) \
    static int name##_rows(const void *found, struct csv *csv, struct error *e) \
    { \
        return all_rows(found, csv, name##_row, e); \
    }
ROWS_OF(target)
ROWS_OF(against)
ROWS_OF(others)
ROWS_OF(field)
ROWS_OF(completeness)

const struct results_file *const explain_json[] = {
    &(const struct results_file){.layout = &target_layout, .rows = target_rows},
    &(const struct results_file){.is_wanted = has_contrast,
                                 .layout = &against_layout,
                                 .rows = against_rows},
    &(const struct results_file){.layout = &others_layout, .rows = others_rows},
    &(const struct results_file){.layout = &field_layout, .rows = field_rows},
    &(const struct results_file){.is_wanted = is_integrated,
                                 .layout = &completeness_layout,
                                 .rows = completeness_rows},
    NULL};
