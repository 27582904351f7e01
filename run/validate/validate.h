/* `reach erf --validate`: is the gradient's field real? Losses of targets whose inputs are taken away or replaced, beside the
 * share of the gradient that those inputs have (analyze/validation.h). */
#ifndef REACH_RUN_VALIDATE_VALIDATE_H
#define REACH_RUN_VALIDATE_VALIDATE_H

#include "analyze/validation.h"
#include "io/error.h"

#include <stddef.h>

struct erf_run;
struct erf_model;
struct journal_losses;
struct result;

enum validation_kind {
    VALIDATION_TRUNCATED, /* only the last inputs are read */
    VALIDATION_REPLACED, /* all before them are those of another segment */
    VALIDATION_SINGLE, /* one input is that of another segment */
    VALIDATION_KINDS
};
extern const char *const validation_names[VALIDATION_KINDS];

/* A loss that moves by no more nats is taken as one that stays. */
extern const double validation_within;

/* What changed inputs do to the loss, of all tests. */
struct validation_row {
    enum validation_kind kind;
    size_t tokens; /* inputs kept, the last ones; of single ones, the nearest of their octave */
    struct validation_change loss;
    double gradient; /* mean share of the gradient: of all inputs before those kept; of a single one */
};

/* Of one model. A test is a segment, with its target. */
struct validation {
    size_t positions, tests, kept_count, single_count;
    size_t kept[VALIDATION_KEPT_MAX];
    size_t *segment; /* [tests] */
    size_t *where; /* [tests, single_count] the inputs that are replaced one at a time, counted from the target */
    size_t values; /* of nll: tests x (1 + 2 kept_count + single_count) */
    double *nll; /* [kept_count, tests] of the last inputs alone; then [tests, 1 + kept_count + single_count] of all inputs, of
                  * those with others before the last, and of those with one replaced. NaN: not measured yet */
    /* from here on, found by validate_reduce */
    size_t used; /* tests whose segment is not excluded */
    struct validation_row *rows; /* [row_count], by kind, tokens ascending */
    size_t row_count;
    /* The least inputs kept, of those tried or all, from which on others in place of the rest move the loss by no more than
     * validation_within, in the mean, up or down; and by the ends of the intervals of that. */
    size_t enough, enough_lo, enough_hi;
    double enough_gradient; /* the share of the gradient that they have: the q at which ERF(q) is that many */
    struct validation_mean correlation, within_octaves; /* over the tests */
};

/* room.c: room for the tests of a model whose segments are cut, and which they are. */
int validate_room(const struct erf_run *r, struct erf_model *m, struct error *e) MUST_USE;
void validate_free(struct validation *v);
/* The most numbers that a record of the journal must hold. */
size_t validate_record(const struct validation *v);
/* Takes the numbers of a record over. -1 if they are not of this run. */
int validate_resume(struct validation *v, const struct journal_losses *kept);
size_t validate_done(const struct validation *v);

/* measure.c: refuses what cannot fit; measures what is missing, of all models, and reduces it. */
int validate_estimate(const struct erf_run *r, struct erf_model *m, struct error *e) MUST_USE;
int validate_measure(struct erf_run *r, struct error *e) MUST_USE;

/* reduce.c: from losses to rows. */
struct result_model;
int validate_reduce(struct validation *v, const struct result_model *m, struct error *e) MUST_USE;

#endif
