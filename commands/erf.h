/* The parts of `reach erf` that read arguments and print. */
#ifndef REACH_COMMANDS_ERF_H
#define REACH_COMMANDS_ERF_H

#include "commands/table.h"
#include "commands/verb.h"
#include "io/results/result.h"
#include "run/erf/options.h"
#include "run/erf/precision.h"
#include "run/erf/write.h"

/* Runs the verb. */
int erf_call(struct call *c, struct error *e) MUST_USE;

/* The tables of a result: all models, their paired differences, by layer and target, attention,
 * validation. */
int erf_tables(const struct result *r, table_sink *put, FILE *f) MUST_USE;
int erf_table_attention(const struct result *r, const struct result_model *m, table_sink *put,
                        FILE *f) MUST_USE;
/* For a result with validated models. */
int erf_table_validation(const struct result *r, table_sink *put, FILE *f) MUST_USE;
/* The field of a model at the main threshold less that of the first one, in tokens. */
struct erf_comparison {
    double difference, lo, hi; /* lo, hi: the 95 % interval; NaN: none */
    const char *note; /* a constant: on saturated fields and missing pairs; or empty */
};
struct erf_comparison erf_compare(const struct result *r, const struct result_model *m);
/* Notes that a reader needs to interpret the tables. */
void erf_notes(FILE *f, const struct result *r);
/* The tables, sentences and notes, to standard output. */
int erf_print(const struct result *r, struct error *e) MUST_USE;
/* Describes each model in a line or two: how near the gradient is, saturated or not, beyond the
 * training length or not, the sink. */
int erf_print_sentences(const struct result *r) MUST_USE;
/* The lines of one model with a segment that is not excluded; no newline. -1: out of memory. */
int erf_tell(FILE *f, const struct result *r, const struct result_model *m);
/* The same as a text, which the caller frees; NULL: out of memory. */
char *erf_sentence(const struct result *r, const struct result_model *m);
/* The largest deviations [models] from float64. */
int erf_print_precision(const struct result *r, const struct deviation *deviations,
                        const struct machine_options *machine, struct error *e) MUST_USE;
/* What only --json has. */
struct erf_shown {
    const struct result *result;
    const struct deviation *deviations; /* NULL: not checked */
    struct precision_bounds allowed;
};
extern const struct results_file *const erf_shown[];
/* 0.99 -> "0.99"; enough digits for a threshold. */
char *threshold_text(char out[32], double q);

#endif
