/* `reach erf --validate`: is the gradient's field real? Losses of targets whose inputs are removed
 * or replaced, compared with the share of the gradient of those inputs (analyze/validation.h). */
#ifndef REACH_RUN_VALIDATE_VALIDATE_H
#define REACH_RUN_VALIDATE_VALIDATE_H

#include "analyze/validation.h"
#include "run/measurement.h"

#include <stddef.h>

enum validation_kind {
    VALIDATION_TRUNCATED, /* only the last inputs are read */
    VALIDATION_REPLACED, /* all inputs before them are from another segment */
    VALIDATION_SINGLE, /* one input is from another segment */
    VALIDATION_KINDS
};
extern const char *const validation_names[VALIDATION_KINDS];

/* A change of loss of at most this many nats counts as none. */
extern const double validation_within;

/* The effect of changed inputs on the loss, over all tests. */
struct validation_row {
    enum validation_kind kind;
    size_t tokens; /* inputs kept, the last ones; for single ones, the nearest of their octave */
    struct validation_change loss;
    double
        gradient; /* mean share of the gradient: of all inputs before those kept; of a single one */
};

/* For one model. A test is a segment, with its target. */
struct validation {
    size_t positions, tests, kept_count, single_count;
    size_t kept[VALIDATION_KEPT_MAX];
    size_t *segment; /* [tests] */
    size_t
        *where; /* [tests, single_count] inputs replaced one at a time, counted from the target */
    size_t values; /* of nll: tests x (1 + 2 kept_count + single_count) */
    double *nll; /* [kept_count, tests] of the last inputs alone; then [tests, 1 + kept_count +
                  * single_count] of all inputs, of those with others before the last, and of those
                  * with one replaced. NaN: not measured yet */
    /* from here on, set by validate_reduce */
    size_t used; /* tests with segments that are not excluded */
    struct validation_row *rows; /* [row_count], by kind, tokens ascending */
    size_t row_count;
    /* The smallest number of kept inputs, of those tried or all, from which on replacing the others
     * changes the mean loss by at most validation_within, up or down; and the same by the ends of
     * the intervals. */
    size_t enough, enough_lo, enough_hi;
    double enough_gradient; /* their share of the gradient: the q at which ERF(q) is that many */
    struct validation_mean correlation, within_octaves; /* over the tests */
};

/* measure.c: `reach erf --validate`. */
extern const struct measurement validation_measurement;

/* room.c, as in struct measurement: the number of tests of a model with cut segments, which
 * segments they are, and their losses. */
int validate_room(const struct measured *m, struct journal_sizes *most, struct error *e) MUST_USE;
int validate_resume(struct result_model *m, const struct journal_record *kept) MUST_USE;
void validate_count(const struct result_model *m, size_t *steps, size_t *done);
void validate_close(struct result_model *m);

/* reduce.c: from losses to rows. */
int validate_reduce(struct validation *v, const struct result_model *m, struct error *e) MUST_USE;

#endif
