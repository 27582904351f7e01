#include "run/ppl/columns.h"

static const struct csv_column ppl_columns[] = {
    CSV_COLUMN(ppl_row, model, "", "name of the model"),
    CSV_COLUMN(ppl_row, protocol, "", "last, nonoverlapping, sliding or cached"),
    CSV_COLUMN(
        ppl_row, context, "tokens",
        "inputs; with cached, those of the whole text, of a row, or of the longest document"),
    CSV_OPTIONAL(ppl_row, stride, "tokens",
                 "with sliding, new targets that each window scores; with last, tokens between the "
                 "targets; empty if none was given"),
    CSV_COLUMN(ppl_row, tokens, "tokens", "scored targets"),
    CSV_COLUMN(ppl_row, nll, "nats", "mean of -log p over all targets alike"),
    CSV_OPTIONAL(ppl_row, std_error, "nats",
                 "standard error of nll, targets taken as independent; empty for a single target"),
    CSV_COLUMN(ppl_row, ppl, "", "perplexity, exp(nll)"),
    CSV_OPTIONAL(ppl_row, window, "tokens",
                 "keys that every layer attends to; empty: all, or layers differ"),
    CSV_OPTIONAL(ppl_row, seconds_per_token, "seconds",
                 "time of the forward passes for each target; empty without --timing"),
    CSV_OPTIONAL(ppl_row, diff, "nats",
                 "nll minus that of the first model over the same targets; empty for the first "
                 "model, and if targets differ"),
    CSV_OPTIONAL(ppl_row, diff_se, "nats", "standard error of diff"),
    CSV_OPTIONAL(ppl_row, p, "", "two-sided, of the paired t-test on diff"),
    CSV_OPTIONAL(ppl_row, bytes, "bytes",
                 "of the targets' text in UTF-8, as its tokens spell it; empty if the ids have no "
                 "texts, as are the columns after it"),
    CSV_OPTIONAL(ppl_row, characters, "", "in that text, counted where they begin"),
    CSV_OPTIONAL(ppl_row, words, "",
                 "in that text: runs without white space of ASCII, counted where they begin"),
    CSV_OPTIONAL(
        ppl_row, bits_per_byte, "bits",
        "nll of all targets in bits, over the bytes: compares across tokenizers, as do the "
        "columns after it"),
    CSV_OPTIONAL(ppl_row, character_ppl, "", "exp(nll of all targets / characters)"),
    CSV_OPTIONAL(ppl_row, word_ppl, "", "exp(nll of all targets / words)"),
};

const struct csv_layout ppl_csv = {
    .file = "ppl.csv",
    .origin = "`reach ppl -o DIR`",
    .row = "a model and context",
    .units = "context (inputs), stride, window (keys that every layer attends to; empty: all, or "
             "layers differ), tokens (scored "
             "targets) in tokens; nll, std_error in nats, over all targets alike; ppl = exp(nll); "
             "seconds_per_token with "
             "--timing; diff: nll minus that of the first model over the same targets, diff_se its "
             "standard error, p two-sided "
             "of the paired t-test; bytes of the targets' text; bits_per_byte in bits",
    .columns = ppl_columns,
    .count = sizeof ppl_columns / sizeof *ppl_columns,
};

static const struct csv_column gain_columns[] = {
    CSV_COLUMN(gain_row, model, "", "name of the model"),
    CSV_COLUMN(gain_row, protocol, "", "last, nonoverlapping or sliding"),
    CSV_COLUMN(gain_row, context, "tokens", "inputs"),
    CSV_COLUMN(gain_row, tokens, "tokens", "scored targets, the same at every context"),
    CSV_COLUMN(gain_row, nll, "nats", "mean of -log p over the targets"),
    CSV_OPTIONAL(gain_row, gain, "nats",
                 "what this context gains: nll at the next shorter one minus nll here, paired by "
                 "target; empty for the shortest"),
    CSV_OPTIONAL(gain_row, gain_lo, "nats",
                 "lower end of its 95 % interval, by Student's t, targets taken as independent; "
                 "empty for a single target"),
    CSV_OPTIONAL(gain_row, gain_hi, "nats", "its upper end"),
    CSV_OPTIONAL(gain_row, p, "", "two-sided, of the paired t-test on gain"),
    CSV_OPTIONAL(gain_row, rest, "nats",
                 "what longer contexts would still gain: nll here minus nll at the longest, paired "
                 "by target; empty for the longest"),
    CSV_OPTIONAL(gain_row, rest_lo, "nats", "lower end of its 95 % interval"),
    CSV_OPTIONAL(gain_row, rest_hi, "nats", "its upper end"),
    CSV_COLUMN(gain_row, within, "nats",
               "--gain-within: a context is enough for a target if its NLL exceeds that at the "
               "longest by at most this"),
    CSV_COLUMN(gain_row, needed, "",
               "share of the targets for which this is the shortest context that is enough"),
    CSV_COLUMN(gain_row, enough, "",
               "share of the targets for which this context or a shorter one is enough"),
    CSV_OPTIONAL(gain_row, needed_q10, "tokens",
                 "the shortest context with enough of at least 0.1; the same in all rows of a "
                 "model; empty if the longest context makes the model worse: the nll at another is "
                 "lower, and the 95 % interval of the difference is below 0"),
    CSV_OPTIONAL(gain_row, needed_median, "tokens", "of at least 0.5; empty as needed_q10"),
    CSV_OPTIONAL(gain_row, needed_q90, "tokens", "of at least 0.9; empty as needed_q10"),
};

const struct csv_layout gain_csv = {
    .file = "gain.csv",
    .origin = "`reach ppl --gain -o DIR`",
    .row = "a model and context",
    .units = "context (inputs), tokens (targets), needed quantiles in tokens; nll, gain (to the "
             "next shorter context), rest (to the "
             "longest), their 95 % intervals, within in nats; needed, enough shares of the targets",
    .columns = gain_columns,
    .count = sizeof gain_columns / sizeof *gain_columns,
};

static const struct csv_column target_columns[] = {
    CSV_COLUMN(ppl_target_row, model, "", "name of the model"),
    CSV_COLUMN(ppl_target_row, context, "tokens", "inputs"),
    CSV_OPTIONAL(ppl_target_row, row, "", "of a 2-D token file, from 1; empty for a stream"),
    CSV_COLUMN(ppl_target_row, position, "tokens", "of the target in its stream or row, from 1"),
    CSV_COLUMN(ppl_target_row, id, "", "the target's token id"),
    CSV_COLUMN(ppl_target_row, nll, "nats", "-log p of the target"),
    CSV_OPTIONAL(ppl_target_row, piece, "",
                 "its text, spelt as in explain.csv; empty if the id has no text, or the model no "
                 "tokenizer"),
};

const struct csv_layout ppl_targets_csv = {
    .file = "FILE of --per-token",
    .origin = "`reach ppl --per-token FILE`",
    .row = "a model, context and target",
    .units = "context (inputs) in tokens; row: of a 2-D token file, from 1, empty for a stream; "
             "position: of the target in its "
             "stream or row, from 1; id: the target; nll: -log p of it in nats; piece: its text",
    .columns = target_columns,
    .count = sizeof target_columns / sizeof *target_columns,
};
