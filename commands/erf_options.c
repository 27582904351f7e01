/* Options of `reach erf`. */
#include "commands/commands.h"
#include "commands/erf.h"
#include "commands/erf_values.h"
#include "commands/rows.h"

#define OPTIONS struct erf_options

static const char *const layer_choices[] = {"all", "none", NULL};

#define MOST ((double)(1L << 40))

static const struct option_row rows[] = {
    TEXT_ROW("text to read; may be repeated",
             "text, read through each model's own tokenizer, or as bytes if it has none and its "
             "vocabulary is 256; "
             ".gz, .zst, .xz and .bz2 are unpacked, - is standard input; may be repeated: files "
             "are joined in order"),
    TOKENS_ROW("token ids instead of text (.npy, .h5, .idx, llm.c)",
               "token ids instead of text, 1-D (a stream; may be repeated) or 2-D (one segment per "
               "row): .npy of integers, .h5 "
               "(its dataset tokens, or FILE:/NAME), the .idx of an indexed data set, or a token "
               "file of llm.c"),
    TOKENS_DTYPE_ROW,
    FOLDER_ROW("folder for the results", "reach-erf"),
    {.name = "length",
     .value = "L",
     .standard = "2048",
     .brief = "tokens of a segment with its target",
     .help = "tokens of a segment, the target included (default %s, or the row length of a 2-D "
             "token file)",
     WHOLE_AT(cut.length, 2, 1 << 30),
     .write = erf_write_length,
     .flags = OPTION_RESULT | OPTION_RECORDED | OPTION_LATER | OPTION_COMMON},
    {.name = "segments",
     .value = "N",
     .standard = "1000",
     .help = "measure at most N segments (default %s; fewer if the text is shorter)",
     WHOLE_AT(cut.segments, 1, 1L << 31),
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "stride",
     .value = "N",
     .help = "tokens between the starts of segments (default: spread over the whole text; rows for "
             "a 2-D token file); below L "
             "segments overlap, and intervals are marked as too narrow",
     WHOLE_AT(cut.stride, 1, MOST),
     .flags = OPTION_RESULT},
    {.name = "offset",
     .value = "N",
     .standard = "0",
     .help = "tokens of the text to skip first (default %s); rows for a 2-D token file",
     WHOLE_AT(cut.offset, 0, MOST),
     .flags = OPTION_RESULT},
    FIELD_ROW,
    RECORDS_ROW,
    BOS_ROW("auto, always or never: put the model's beginning-of-text token first in every "
            "segment, where it is position 1 and "
            "counts in the length (default %s: as the model's own tokenizer does with a text, by "
            "add_bos_token in "
            "tokenizer_config.json or GGUF, else by its post-processor; --tokens are taken as they "
            "are, so never)"),
    BOUNDARY_ROW("the token that separates the documents of a stream, by its id or its text, such "
                 "as <|endoftext|>: no segment "
                 "crosses into another document or contains the token, and documents shorter than "
                 "a segment are skipped (a 2-D "
                 "token file has one document per row)"),
    {.name = "threshold",
     .value = "Q",
     .standard = "0.99",
     .help = "also report ERF(Q), 0 < Q < 1 (always reported: .5 .9 .95 .99 .999); may be "
             "repeated; the first one given is the "
             "main one in the table and the figure (default %s)",
     .type = OPTION_OWN,
     .read = erf_read_threshold,
     .write = erf_write_threshold,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_REPEATED | OPTION_COMMON},
    {.name = "sink",
     .value = "K",
     .standard = "4",
     .help = "first tokens counted as the sink",
     WHOLE_AT(sink, 0, MOST),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    {.name = "bootstrap",
     .value = "N",
     .standard = "1000",
     .brief = "resamplings for the 95 % intervals",
     .help = "resamplings of the segments for the 95 % intervals (default %s; 0: no intervals)",
     WHOLE_AT(bootstrap, 0, 10000000),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    SEED_ROW("seed of resampling and noise",
             "seed of the resampling, and of the noise of --attribution smoothgrad"),
    TRAIN_LENGTH_ROW("training length of the models in tokens, if a checkpoint does not say it; "
                     "the figure marks it, and --logn uses it"),
    ADAPTER_ROW,
    ENCODING_ROWS(""),
    {.name = "layer",
     .value = "K",
     .standard = "none",
     .brief = "also the gradient at block K, or all",
     .help = "also measure the gradient with respect to the input of block K, from 0, or of every "
             "block: all (0 is the "
             "embeddings, which are always measured); in the results its rows have K as their "
             "layer, and layers.gp "
             "shows the field growing from layer to layer",
     .type = OPTION_OWN,
     .choices = layer_choices,
     .read = erf_read_layer,
     .write = erf_write_layer,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "target-position",
     .value = "P",
     .brief = "also with segments cut to their first P tokens",
     .help = "also measure with the segments cut to their first P tokens, so that token P is the "
             "target; several with commas, or "
             "repeated; targets.gp shows the ERF by position",
     .type = OPTION_OWN,
     .read = erf_read_targets,
     .write = erf_write_targets,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_REPEATED},
    {.name = "growth",
     .brief = "also how the field grows with the length",
     .help = "also measure with the segments cut to a half and a quarter of L, as "
             "--target-position does, and report how the field "
             "grows with the length: the exponent x of ERF(Q) ~ L^x, with its interval",
     .type = OPTION_FLAG,
     .at = AT(growth),
     .group = GROUP_MEASURED},
    {.name = "attention",
     .help = "also measure how far each head attends: the smallest window that holds a share Q of "
             "its attention, over the "
             "queries of the second half of the segment, for every threshold Q, with the TRF of "
             "its position bias at eps = 1 - Q; of recurrences the mean log decay of each head and "
             "the tokens over which its state falls to eps "
             "(attention.csv, attention.gp)",
     .type = OPTION_FLAG,
     .at = AT(attention),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    {.name = "validate",
     .value = "N",
     .brief = "compare the field with the loss on N segments",
     .help = "also compare the field with the loss itself, on N of the segments: how -log p of the "
             "target changes if all inputs "
             "except the last k are cut off or replaced by those of another segment, for k from 1 "
             "to L-1, and if single inputs "
             "are replaced, with their share of the gradient (validation.csv, validation.gp)",
     WHOLE_AT(validate, 1, 1L << 31),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    ATTRIBUTION_ROW("what replaces the gradient g_m of position m (default %s): inputxgrad, e_m "
                    "g_m element by element; ig, "
                    "integrated gradients (50 points, baseline of zero rows; 50 times the work); "
                    "smoothgrad, the mean gradient over 50 "
                    "samples of noise (seeded by --seed; a tenth of the root mean square of the "
                    "embedding's elements)"),
    DEVICE_ROW,
    DTYPE_ROW,
    {.name = "check-precision",
     .value = "N",
     .brief = "compare N segments with f64 afterwards",
     .help = "afterwards, run N segments again in f64 and report the largest deviations of s, c, "
             "log p and ERF",
     WHOLE_AT(check_precision, 1, 1L << 31),
     .group = GROUP_RUN},
    MEMORY_ROW,
    KEEP_ROW,
    SCRATCH_ROW,
    THREADS_ROW,
    STRICT_ROW(strict),
    {.name = "verify",
     .brief = "check each checkpoint before measuring",
     .help = "before measuring, read each checkpoint once and check it: the checksums of .pt and "
             ".bin archives (those of HDF5 "
             "are always checked), that every weight is finite, and the bytes of all shards "
             "against the index; reports each "
             "model in one line, with its digest",
     .type = OPTION_FLAG,
     .at = AT(verify),
     .group = GROUP_INPUT},
    {.name = "shard",
     .value = "I/N",
     .brief = "measure only the I-th of N parts",
     .help = "measure only the I-th of N parts of the segments (I from 1), which are the same as "
             "without --shard; `reach merge` "
             "joins all N into one result, the same as that of a single run. Shards may run at the "
             "same time, in different folders",
     .type = OPTION_OWN,
     .read = erf_read_shard,
     .write = erf_write_shard,
     .group = GROUP_RUN,
     .flags = OPTION_RESULT},
    {.name = "resume",
     .help = "continue an interrupted run: segments in DIR/erf.part are not measured again; "
             "without that file the run starts "
             "from the beginning, and a complete result of the same run is printed again",
     .type = OPTION_FLAG,
     .at = AT(resume),
     .group = GROUP_RUN,
     .flags = OPTION_COMMON},
    FORCE_ROW("overwrite results; an unfinished run is discarded and starts again"),
    FORMAT_ROW,
    WIDE_ROW,
    TABLE_ROW,
    JSON_ROW,
    QUIET_ROW,
    {.name = "log",
     .value = "FILE",
     .help = "append events to FILE, one line of JSON each: start, plan, progress, rate, peak "
             "memory, end (doc/outputs.md)",
     .type = OPTION_TEXT,
     .at = AT(log),
     .group = GROUP_RUN},
};

static const struct operand_row operands[] = {{.name = "MODEL",
                                               .expected = "a checkpoint folder",
                                               .at = AT(models),
                                               .flags = OPERAND_LIST | OPERAND_BY_STEP}};

/* --growth is recorded as the target positions that it stands for. */
static int add_growth(struct erf_options *o, struct error *e)
{
    size_t length = o->cut.length;
    char targets[64];

    if (!length && o->tokens.count)
        return fail(e, "--growth: needs --length with --tokens (expected --length L, a half and a "
                       "quarter of which are measured too)");
    if (!length && option_default(o, &erf_verb, "length", e) != 0)
        return -1;
    length = o->cut.length;
    if (length < 8)
        return fail(
            e, "--growth: --length %zu is too short (expected at least 8, to be cut to a quarter)",
            length);
    snprintf(targets, sizeof targets, "%zu,%zu", length / 4, length / 2);
    return erf_read_targets(o, targets, 0, e);
}

/* Refuses conflicting options. */
static int check(void *options, struct error *e)
{
    const struct erf_options *o = options;

    if (o->text.count == 0 && o->tokens.count == 0)
        return fail(e, "no text is given (expected --text FILE or --tokens FILE)");
    if (o->text.count && o->tokens.count)
        return fail(e, "--text and --tokens are both given (expected one of them)");
    if (o->attribution != ATTRIBUTION_GRAD && o->layer != LAYER_NONE)
        return fail(e,
                    "--attribution %s and --layer are both given (expected --attribution grad with "
                    "--layer: the others exist "
                    "only for the embeddings)",
                    attribution_names[o->attribution]);
    if (o->validate && o->shards)
        return fail(e, "--validate and --shard are both given (expected one of them: parts of a "
                       "validation cannot be merged)");
    if (o->resume && o->force)
        return fail(e, "--resume and --force are both given (expected one of them: to continue, or "
                       "to start again)");
    if (o->seed && !o->bootstrap && !o->validate && o->attribution != ATTRIBUTION_SMOOTH)
        return fail(e, "--seed and --bootstrap 0 are both given (expected one of them: nothing "
                       "else is drawn without --validate or "
                       "--attribution smoothgrad)");
    if (o->growth && add_growth(options, e) != 0)
        return -1;
    return check_keep(&o->machine, e) != 0 ? -1 : check_encoding(&o->encoding, e);
}

const struct verb erf_verb = {
    .name = "erf",
    .summary = "how far back models look on a text: curves, empirical receptive fields, figure",
    .synopsis = "MODEL... (--text FILE | --tokens FILE)... [-o DIR] [options]",
    .description =
        "Measures how far back language models look: their empirical receptive field (ERF). Each "
        "MODEL reads segments of L "
        "tokens; the gradient of log p of the last token (the target) is taken with respect to the "
        "token embedding row of every "
        "input position. s_m is the share of position m in the sum of the gradients' norms, "
        "averaged over the segments, and c_m "
        "the sum of the shares from m on. ERF(q) is the smallest number of most recent tokens "
        "whose share is above q. If all L-1 "
        "tokens are needed the field is saturated and shown as `>= L-1`: make L longer.\n"
        "\n"
        "MODEL is a checkpoint folder, a .gguf file, a .safetensors file beside its config.json, "
        "or ORG/NAME[@REVISION] in the "
        "local cache of Hugging Face's tools (with hf: before it, only there); NAME=MODEL sets its "
        "name in the results. Models whose names state steps of a training (checkpoint-200, "
        "step1000, 1.5k) are put in the order of the steps. Standard "
        "output is a table with one row per model, 95 % bootstrap intervals over segments, and the "
        "differences of ERF against "
        "the first model, paired by segment; then, of up to three models, a line or two per "
        "model in words.\n"
        "\n"
        "Written to DIR:\n"
        "  erf.h5       norms, log p, s and c of every model and segment, with the settings\n"
        "  curve.csv    s, c and its interval at every position\n"
        "  summary.csv  ERF at every threshold, quantiles over segments, sink share, perplexity\n"
        "  layers.gp, targets.gp, attention.gp, attention.csv  what --layer, --target-position and "
        "--attention add\n"
        "  validation.csv, validation.gp  what --validate adds\n"
        "  erf.gp       the figure as a gnuplot script that holds its data, and its pictures\n"
        "  erf.part     while the run is under way: finished segments, for --resume\n",
    .examples = "  reach erf examples/models/alibi --text examples/text/sqlalchemy.py.gz\n"
                "  reach erf old=runs/7 new=runs/8 --text a.txt --text b.txt.gz --segments 200 "
                "--length 4096 -o compare\n"
                "  reach erf runs/8 --tokens valid.npy --threshold 0.8 --format png,pdf --resume "
                "-o runs-8-erf\n"
                "  reach erf examples/models/alibi --text examples/text/sqlalchemy.py.gz --layer "
                "all --target-position "
                "64,128,256,512,1024 --attention\n",
    .operands = operands,
    .operand_count = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .check = check,
    .computes = 1,
    .divided = 1,
    .shown = erf_shown,
    .files = erf_files,
    .run = erf_call,
};
