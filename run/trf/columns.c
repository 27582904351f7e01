#include "run/trf/columns.h"

static const struct csv_column columns[] = {
    CSV_COLUMN(trf_row, formula, "",
               "the argument: its NAME, the formula as it was written, or a checkpoint's name"),
    CSV_COLUMN(trf_row, head, "",
               "from 1; `all`: heads that are alike, or the mean of the normalized kernels of "
               "several"),
    CSV_COLUMN(trf_row, length, "", "tokens that the sum is over; `inf`: the series itself"),
    CSV_COLUMN(trf_row, layers, "", "depth: the number of layers that the field spans"),
    CSV_COLUMN(trf_row, epsilon, "",
               "share of the mass that may lie beyond the field, as it was written"),
    CSV_COLUMN(trf_row, verdict, "", "converges, diverges, undecided, or not applicable"),
    CSV_ROUNDED(trf_row, sum_lo, "",
                "lower bound of the sum of exp(b) over the length; empty if there is no series"),
    CSV_ROUNDED(trf_row, sum_hi, "", "upper bound of it"),
    CSV_LONG(trf_row, trf_lo, "tokens",
             "lower bound of the field, all digits; empty if there is none, or it has more "
             "than 10,000 digits"),
    CSV_LONG(trf_row, trf_hi, "tokens", "upper bound of it; equal to trf_lo when exact"),
    CSV_OPTIONAL(trf_row, layer, "", "of a checkpoint, from 1; empty for a formula"),
    CSV_ROUNDED(trf_row, log10_trf_lo, "",
                "lower bound of the decimal logarithm of the field; empty if there is none"),
    CSV_ROUNDED(trf_row, log10_trf_hi, "", "upper bound of it"),
};

const struct csv_layout trf_csv = {
    .file = "trf.csv",
    .origin = "`reach trf -o DIR`",
    .row = "an argument, layer, head, length, depth and epsilon",
    .units = "trf_lo, trf_hi in tokens, equal when exact; sum_lo, sum_hi bounds of the sum of "
             "exp(b) over all (length inf) or "
             "the first `length` distances; log10 columns bounds of the logarithm of trf; head "
             "all: heads that are alike, or the mean of their kernels, each normalized; layers: "
             "depth, layer: of a "
             "checkpoint, from 1",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};

static const struct csv_column rotary_columns[] = {
    CSV_COLUMN(rotary_row, formula, "",
               "the argument: its NAME, a checkpoint's name, or the rotation as it was written"),
    CSV_OPTIONAL(rotary_row, layer, "", "of a checkpoint, from 1; empty otherwise"),
    CSV_OPTIONAL(rotary_row, inputs, "tokens",
                 "inputs that the frequencies are for; empty if they do not depend on that"),
    CSV_COLUMN(rotary_row, turned, "",
               "pairs of dimensions of a head that are turned, one cosine each"),
    CSV_COLUMN(rotary_row, still, "", "pairs that are not: 1 each at every distance"),
    CSV_COLUMN(rotary_row, verdict, "",
               "of the sum, proved: `below` 0 at that distance and nowhere before; `not below` 0 "
               "before it; `never` below 0; "
               "`undecided`: indistinguishable from 0 there, and not below it before"),
    CSV_OPTIONAL(rotary_row, distance, "tokens",
                 "the distance that the verdict is about; empty for `never`"),
    CSV_OPTIONAL(rotary_row, window, "tokens",
                 "keys that the layer attends to; empty: all of them"),
    CSV_OPTIONAL(rotary_row, train_length, "tokens",
                 "the length that the model was trained on; empty: not known"),
    CSV_COLUMN(rotary_row, slowest, "radians per token",
               "the smallest frequency of the pairs that are turned"),
    CSV_OPTIONAL(rotary_row, quarter_turn, "tokens",
                 "the first distance at which that pair has turned by more than a quarter: its "
                 "cosine is below 0; empty: none below 2^62"),
    CSV_OPTIONAL(rotary_row, whole_turn, "tokens",
                 "the first at which it has turned by more than a whole turn"),
    CSV_COLUMN(rotary_row, layers, "", "layers that turn so; of a rotation by hand --layers"),
    CSV_OPTIONAL(rotary_row, coherence, "", "--coherence as it was written"),
    CSV_OPTIONAL(rotary_row, incoherent, "tokens",
                 "the first distance at which the cosine of the slowest pair to the power of the "
                 "layers is below that"),
};

const struct csv_layout rotary_csv = {
    .file = "rotary.csv",
    .origin = "`reach trf -o DIR` of arguments with rotary positions",
    .row = "an argument, a layer, and inputs if the frequencies depend on them",
    .units =
        "inputs, distance, window, train_length, quarter_turn, whole_turn and incoherent in "
        "tokens, slowest in radians per "
        "token; distance: the first at which the sum over pairs of cos(distance frequency) is "
        "below 0 (arXiv:2405.14591), as "
        "far as the verdict says; the last six columns are of the slowest pair (arXiv:2602.10959)",
    .columns = rotary_columns,
    .count = sizeof rotary_columns / sizeof *rotary_columns,
};

static const struct csv_column weights_columns[] = {
    CSV_COLUMN(weights_row, formula, "", "as in trf.csv"),
    CSV_OPTIONAL(weights_row, layers, "",
                 "of a checkpoint, those that share the bias, in words; empty: a formula, or all"),
    CSV_COLUMN(weights_row, head, "",
               "from 1; `all`: heads that are alike; `mean`: the mean of their normalized kernels, "
               "which is `all` in trf.csv"),
    CSV_COLUMN(weights_row, length, "", "tokens that the sum is over; `inf`: the series itself"),
    CSV_COLUMN(weights_row, tokens, "tokens", "j most recent ones, ascending"),
    CSV_COLUMN(weights_row, weight, "",
               "exp(b) of the last of them, at distance j-1, over its largest value"),
    CSV_OPTIONAL(weights_row, beyond, "",
                 "share of the sum beyond the j tokens, to the precision of a double; empty if the "
                 "sum is not finite or unknown"),
    CSV_COLUMN(weights_row, epsilon, "", "the first --epsilon, as it was written"),
    CSV_COLUMN(weights_row, verdict, "", "as in trf.csv"),
    CSV_OPTIONAL(weights_row, field, "tokens",
                 "TRF(epsilon) over the length, as on the screen; empty if there is none; the same "
                 "in all rows of a curve"),
    CSV_OPTIONAL(weights_row, trf, "tokens",
                 "its upper bound as a double; empty if there is none, or it is above 1e308"),
};

const struct csv_layout weights_csv = {
    .file = "weights.csv",
    .origin = "`reach trf -o DIR`, the curves of trf.gp",
    .row = "an argument, layers, head and number of tokens",
    .units = "tokens, field, trf in tokens; weight: exp(b) at distance tokens - 1 over its "
             "largest value; beyond: share of the sum of exp(b) beyond these tokens",
    .columns = weights_columns,
    .count = sizeof weights_columns / sizeof *weights_columns,
};
