/* The theoretical receptive field of position biases: the work of `reach trf`. */
#ifndef REACH_RUN_TRF_TRF_H
#define REACH_RUN_TRF_TRF_H

#include "analyze/series.h"
#include "run/formula_arguments.h"
#include "run/results.h"
#include "run/trf/options.h"

/* One number: the TRF of a length, a depth and an epsilon. */
struct trf_value {
    enum series_verdict verdict;
    double sum_lo, sum_hi;
    struct series_count count;
};

/* One head of one bias. */
struct trf_head {
    int argument, bias;
    int head; /* from 1; 0: all heads, which are equal or averaged */
    int averaged; /* 1: the mean kernel of several heads */
    struct series *series; /* of infinite length; NULL if not applicable, or the formula uses L */
    struct trf_value *values; /* [1 + lengths, depths, epsilons], the infinite length first; NULL
                                 when not applicable */
};

/* How an encoding compares with the next one in the ranking. */
enum trf_order {
    TRF_UNKNOWN, /* indistinguishable, or the last one */
    TRF_PROVED, /* its field is not above the next one's for every eps and head */
    TRF_NEXT_DIVERGES,
    TRF_BY_NUMBERS /* not above the next one's at this eps */
};

/* A place in the ranking, shortest field first. */
struct trf_place {
    int argument, bias;
    const struct trf_head *by; /* its mean kernel if heads differ */
    const struct trf_value
        *value; /* infinite if it converges; else at the largest requested length */
    enum trf_order order;
    char why[256]; /* TRF_PROVED: the reason */
};

/* Distances that are checked for a rotation. */
enum { ROTARY_DISTANCES = 10000000 };

/* The sum of the cosines of a rotation, by distance. */
struct trf_rotary {
    int argument, bias;
    double inputs; /* of the frequencies; 0: they do not depend on it */
    int turned; /* pairs of dimensions */
    double still; /* pairs that do not turn */
    struct series_rotary found;
    double slowest; /* radians per token, for the pair that turns most slowly */
    int layers; /* that turn like this */
    struct series_slowest slow;
    int spent; /* 1: the effort was spent at found.at */
};

/* A curve of the figure: the kernel f = exp(b) of a head, or the mean of several. */
struct kernel_curve {
    const struct trf_head *head;
    const struct trf_value *value; /* its numbers at the first epsilon */
    uint64_t length; /* tokens that they are of; 0: all */
    double *tokens; /* [points] j most recent ones, ascending; owned, with the two below */
    double *weight; /* [points] f(j-1) over its largest value */
    double *beyond; /* [points] 1 - (sum of the first j) / B; NULL: no B */
    size_t points;
    double field; /* upper bound of the field, in tokens; 0: none, or no double */
};

/* Distances over which kernels are convolved, in training lengths. */
enum { SHARE_DISTANCES = 8 };

/* How much of the weight of all layers is near (analyze/kernel_share.h). */
struct trf_share {
    size_t train_length; /* 0: unknown */
    int layers;
    double share; /* of their convolved kernel within the training length; NaN: unknown */
};

struct trf_run {
    const struct trf_options *options;
    struct progress *progress;
    const char *command; /* as recorded; borrowed, used only with options->folder */
    struct formula_argument *arguments;
    int count;
    struct trf_head
        *heads; /* [head_count] by argument, bias, head; a checkpoint's all-heads entries last */
    int head_count;
    int depths; /* 1, or 2 with --layers */
    struct trf_place *places; /* [place_count] */
    int place_count;
    struct trf_share *shares; /* [count]; NULL before trf_shares */
    struct trf_rotary *rotaries; /* [rotary_count] by argument, bias, inputs */
    int rotary_count;
    struct kernel_curve *curves; /* [curve_count]; NULL before trf_find_curves */
    int curve_count;
};

/* Reads the arguments, analyses all heads and ranks them, and writes the files of
 * options->folder, which is checked first since the analysis may take long. Caller frees the
 * run, also on failure. */
enum run_status trf_run(struct trf_run *r, struct error *e) MUST_USE;
/* TRF(0.01) of all heads of a checkpoint. A bias that uses the length has no numbers: then
 * head_count is 0, and arguments->set.uses_length 1. */
int trf_of_decoder(struct trf_run *r, const struct decoder *d, struct progress *p,
                   struct error *e) MUST_USE;
void trf_run_free(struct trf_run *r);

/* Index into values: length 0 is the infinite one, depth 0 one layer. */
int trf_index(const struct trf_run *r, int length, int depth, int epsilon);
/* 1 if the series of the place's kernel converges. */
int trf_is_finite(const struct trf_place *p);
/* A count for people: 1179, 1.23e+40 (41 digits), [1178, 1179], 10^12345.6, - if there is none. */
void trf_count_text(char out[128], const struct series_count *c);

/* The steps of trf_run. Reads the arguments into r->arguments; an argument that begins with @ is a
 * table: a column `formula`, optionally `name`, and one for each parameter. */
enum run_status trf_read(struct trf_run *r, struct error *e) MUST_USE;
/* Analyses all heads. */
enum run_status trf_analyze(struct trf_run *r, struct error *e) MUST_USE;
/* Fills r->places from the analysis. */
int trf_rank(struct trf_run *r, struct error *e) MUST_USE;
/* Fills r->shares. */
int trf_shares(struct trf_run *r, struct error *e) MUST_USE;
/* Fills r->rotaries. */
int trf_rotary(struct trf_run *r, struct error *e) MUST_USE;
/* The training length of an argument in tokens, from its checkpoint or the options; 0: unknown. */
long trf_train_length(const struct trf_run *r, int argument);
/* Fills r->curves, in about a second at most. */
int trf_find_curves(struct trf_run *r, struct error *e) MUST_USE;
/* The head of a curve, as in weights.csv, and the length. Return `out`, or another text. */
const char *kernel_curve_head(char out[16], const struct kernel_curve *c);
const char *kernel_curve_length(char out[24], const struct kernel_curve *c);
/* Writes trf.csv, rotary.csv if there are rotary positions, weights.csv if there are curves, and
 * the figure. As figure_draw. */
int trf_write(const struct trf_run *r, struct error *e) MUST_USE;
extern const struct results_file *const trf_files[]; /* ended by NULL */
extern const struct results_layout trf_layout;
/* Writes options->certificate: what was proved for each head, for a checker. A mean kernel has no
 * certificate of its own. */
int trf_write_certificate(const struct trf_run *r, struct error *e) MUST_USE;
/* The rows of rotary.csv. */
int trf_rotary_rows(const void *found, struct csv *csv, struct error *e) MUST_USE;
/* Those of weights.csv. */
int trf_weights_rows(const void *found, struct csv *csv, struct error *e) MUST_USE;
/* Only the figure. */
int trf_write_figure(const struct trf_run *r, const char *const *comments,
                     struct error *e) MUST_USE;

#endif
