/* Options of `reach erf`. */
#include "commands/erf.h"

#include "run/results.h"
#include "commands/run_options.h"
#include "run/threads.h"
#include "io/csv.h"
#include "plots/figure.h"

#include <stdlib.h>
#include <string.h>

enum option {
    OPTION_TEXT,
    OPTION_TOKENS,
    OPTION_FOLDER,
    OPTION_LENGTH,
    OPTION_SEGMENTS,
    OPTION_STRIDE,
    OPTION_OFFSET,
    OPTION_BOS,
    OPTION_THRESHOLD,
    OPTION_SINK,
    OPTION_BOOTSTRAP,
    OPTION_SEED,
    OPTION_TRAIN_LENGTH,
    OPTION_BIAS,
    OPTION_BIAS_DTYPE,
    OPTION_POSITIONS,
    OPTION_WINDOW,
    OPTION_LAYER,
    OPTION_TARGET,
    OPTION_ATTENTION,
    OPTION_ATTRIBUTION,
    OPTION_DEVICE,
    OPTION_DTYPE,
    OPTION_CHECK_PRECISION,
    OPTION_MEMORY,
    OPTION_THREADS,
    OPTION_STRICT,
    OPTION_VERIFY,
    OPTION_SHARD,
    OPTION_RESUME,
    OPTION_FORCE,
    OPTION_FORMAT,
    OPTION_QUIET,
    OPTION_LOG,
    OPTION_COUNT
};

static const struct argument_row rows[OPTION_COUNT] = {
    [OPTION_TEXT] = {"text", "FILE",
                     "text, read through each model's own tokenizer, or as bytes where there is none and the vocabulary is 256; "
                     ".gz is unpacked, - is standard input; may be repeated: files are joined in order"},
    [OPTION_TOKENS] = {"tokens", "FILE",
                       "token ids instead of text, 1-D (a stream; may be repeated) or 2-D (one segment a row): .npy of integers, "
                       ".h5 (its dataset tokens, or FILE:/NAME), the .idx of an indexed data set, or a token file of llm.c"},
    [OPTION_FOLDER] = {"o", "DIR", "folder for the results (default reach-erf)"},
    [OPTION_LENGTH] = {"length", "L",
                       "tokens of a segment, the target included (default 2048, or the row length of a 2-D token file)"},
    [OPTION_SEGMENTS] = {"segments", "N", "segments at most (default 1000; fewer when the text is shorter)"},
    [OPTION_STRIDE] = {"stride", "N",
                       "tokens between the starts of segments (default: spread over the whole text); below L segments overlap, "
                       "and intervals are marked as too narrow"},
    [OPTION_OFFSET] = {"offset", "N", "tokens of the text to skip first (default 0); rows for a 2-D token file"},
    [OPTION_BOS] = {"bos", NULL,
                    "put the model's beginning-of-text token before each segment; it counts as position 1. Done anyway with "
                    "--text where the tokenizer says so (add_bos_token in tokenizer_config.json, else its post-processor)"},
    [OPTION_THRESHOLD] = {"threshold", "Q",
                          "also report ERF(Q), 0 < Q < 1 (always reported: .5 .9 .95 .99 .999); may be repeated; the first one "
                          "given leads the table and the figure, else 0.99"},
    [OPTION_SINK] = {"sink", "K", "first tokens counted as the sink (default 4)"},
    [OPTION_BOOTSTRAP] = {"bootstrap", "N",
                          "resamplings of the segments behind the 95 % intervals (default 1000; 0: no intervals)"},
    [OPTION_SEED] = {"seed", "N", "seed of the resampling, and of the noise of --attribution smoothgrad (default 0)"},
    [OPTION_TRAIN_LENGTH] = {"train-length", "N",
                             "tokens the models were trained on, marked in the figure, where a checkpoint does not say it"},
    [OPTION_BIAS] = BIAS_ROW,
    [OPTION_BIAS_DTYPE] = BIAS_DTYPE_ROW,
    [OPTION_POSITIONS] = POSITIONS_ROW,
    [OPTION_WINDOW] = {"window", "N", "let every layer attend to the last N keys only, its own included (0: no window)"},
    [OPTION_LAYER] = {"layer", "K",
                      "also measure the gradient with respect to the input of block K, from 0, or of every block: all (0 is the "
                      "embeddings, which are always measured); in the results its rows have K as their layer, and layers.gp "
                      "shows the field growing from layer to layer"},
    [OPTION_TARGET] = {"target-position", "P",
                       "also measure with the segments cut to their first P tokens, the last of which is the target then; "
                       "several with commas, or repeated; targets.gp shows the ERF over the position"},
    [OPTION_ATTENTION] = {"attention", NULL,
                          "also measure how far each head attends: the smallest window that holds a share Q of its attention, "
                          "over the queries of the second half of the segment, for every threshold Q, beside the TRF of its "
                          "position bias at eps = 1 - Q (attention.csv, attention.gp)"},
    [OPTION_ATTRIBUTION] =
        {"attribution", "KIND",
         "what stands for position m in place of its gradient g_m (default grad): inputxgrad, e_m g_m element by element; ig, "
         "integrated gradients (50 points, baseline of zero rows; 50 times the work); smoothgrad, the mean gradient over 50 "
         "samples of noise (seeded by --seed; a tenth of the root mean square of the embedding's elements)"},
    [OPTION_DEVICE] = DEVICE_ROW,
    [OPTION_DTYPE] = DTYPE_ROW,
    [OPTION_CHECK_PRECISION] =
        {"check-precision", "N",
         "afterwards, run N segments again in f64 and report the largest deviations of s, c, log p and ERF"},
    [OPTION_MEMORY] = MEMORY_ROW,
    [OPTION_THREADS] = THREADS_ROW,
    [OPTION_STRICT] = STRICT_ROW,
    [OPTION_VERIFY] = {"verify", NULL,
                       "before measuring, read each checkpoint once and check it: the checksums of .pt and .bin archives (those "
                       "of HDF5 are always checked), that every weight is finite, and the bytes of all shards against the index; "
                       "says so in one line a model, with its digest"},
    [OPTION_SHARD] =
        {"shard", "I/N",
         "measure only the I-th of N parts of the segments (I from 1), which are the same as without --shard; `reach merge` "
         "makes one result of all N, the same as that of one run. Shards may run at the same time, into different folders"},
    [OPTION_RESUME] =
        {"resume", NULL,
         "go on with an interrupted run: segments in DIR/erf.part are not measured again; without one the run starts afresh"},
    [OPTION_FORCE] = {"force", NULL, "overwrite results, or start afresh over an unfinished run"},
    [OPTION_FORMAT] = {"format", "LIST", "pictures to draw: png, svg, pdf, several with commas (default png)"},
    [OPTION_QUIET] = {"quiet", NULL, "no progress and no messages but errors"},
    [OPTION_LOG] = {"log", "FILE", "append messages, times and memory to FILE"},
};

const struct verb_help erf_help = {
    .verb = "erf",
    .synopsis = "MODEL... (--text FILE | --tokens FILE)... [-o DIR] [options]",
    .description =
        "Measures how far back language models look: their empirical receptive field (ERF). Each MODEL reads segments of L "
        "tokens; the gradient of log p of the last token (the target) is taken with respect to the token embedding row of every "
        "input position. s_m is the share of position m in the sum of the gradients' norms, averaged over the segments, and c_m "
        "the sum of the shares from m on. ERF(q) is the smallest number of most recent tokens whose share is above q. If all L-1 "
        "tokens are needed the field is saturated and shown as `>= L-1`: make L longer.\n"
        "\n"
        "MODEL is a checkpoint folder, or a .safetensors file beside its config.json; NAME=MODEL sets its name in the results. "
        "Standard output is a table: one row a model, with 95 % bootstrap intervals over segments, and the differences of ERF "
        "against the first model, paired by segment.\n"
        "\n"
        "Written to DIR:\n"
        "  erf.h5       norms, log p, s and c of every model and segment, with the settings\n"
        "  curve.csv    s, c and its interval at every position\n"
        "  summary.csv  ERF at every threshold, quantiles over segments, sink share, perplexity\n"
        "  layers.gp, targets.gp, attention.gp, attention.csv  what --layer, --target-position and --attention add\n"
        "  erf.gp       the figure as a gnuplot script that holds its data, and its pictures\n"
        "  erf.part     while the run goes on: finished segments, for --resume\n",
    .options = rows,
    .option_count = OPTION_COUNT,
    .examples = "  reach erf examples/models/alibi --text examples/text/moby-dick.txt.gz\n"
                "  reach erf old=runs/7 new=runs/8 --text a.txt --text b.txt.gz --segments 200 --length 4096 -o compare\n"
                "  reach erf runs/8 --tokens valid.npy --threshold 0.8 --format png,pdf --resume -o runs-8-erf\n"
                "  reach erf examples/models/alibi --text examples/text/moby-dick.txt.gz --layer all --target-position "
                "64,128,256,512,1024 --attention\n",
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Adds Q, at its place, unless it is there. */
static int add_threshold(struct erf_options *o, double q, struct error *e)
{
    for (size_t i = 0; i < o->threshold_count; i++)
        if (o->thresholds[i] == q)
            return 0;
    if (o->threshold_count == THRESHOLDS_MAX)
        return fail(e, "--threshold: too many (expected at most %d in all)", THRESHOLDS_MAX);
    o->thresholds[o->threshold_count++] = q;
    qsort(o->thresholds, o->threshold_count, sizeof *o->thresholds, by_value);
    return 0;
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* P[,P...], each once. */
static int add_targets(struct erf_options *o, const char *value, struct error *e)
{
    for (const char *rest = value; rest; rest = strchr(rest, ',') ? strchr(rest, ',') + 1 : NULL) {
        size_t length = strcspn(rest, ","), known = 0;
        char one[32];
        long whole;

        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one - 1), rest);
        if (read_whole("--target-position", one, 2, 1L << 30, &whole, e) != 0)
            return -1;
        while (known < o->target_count && o->targets[known] != (size_t)whole)
            known++;
        if (known < o->target_count)
            continue;
        if (o->target_count == TARGETS_MAX)
            return fail(e, "--target-position: too many (expected at most %d in all)", TARGETS_MAX);
        o->targets[o->target_count++] = (size_t)whole;
    }
    qsort(o->targets, o->target_count, sizeof *o->targets, by_size);
    return 0;
}

static int read_layer(struct erf_options *o, const char *value, struct error *e)
{
    long whole;

    if (strcmp(value, "all") == 0) {
        o->layer = LAYER_ALL;
        return 0;
    }
    if (read_whole("--layer", value, 0, 1L << 20, &whole, e) != 0)
        return fail(e, "--layer: \"%s\" is not valid (expected all, or the number of a block from 0)", value);
    o->layer = (int)whole;
    return 0;
}

/* I/N */
static int read_shard(struct erf_options *o, const char *value, struct error *e)
{
    const char *slash = strchr(value, '/');
    char first[32];

    snprintf(first, sizeof first, "%.*s", slash && slash - value < 31 ? (int)(slash - value) : 0, value);
    if (!slash || read_whole("--shard", slash + 1, 1, 1L << 31, &o->shards, e) != 0 ||
        read_whole("--shard", first, 1, o->shards, &o->shard, e) != 0)
        return fail(e, "--shard: \"%s\" is not valid (expected I/N, the I-th of N parts, as 1/4)", value);
    return 0;
}

static int read_attribution(struct erf_options *o, const char *value, struct error *e)
{
    for (int i = 0; attribution_names[i]; i++)
        if (strcmp(value, attribution_names[i]) == 0) {
            o->attribution = (enum attribution)i;
            return 0;
        }
    return fail(e, "--attribution: \"%s\" is not valid (expected grad, inputxgrad, ig or smoothgrad)", value);
}

static int parse_one(struct erf_options *o, int option, const char *value, int *threshold_given, struct error *e)
{
    const long most = 1L << 40;
    long whole = 0;
    double q;
    int rc;

    switch ((enum option)option) {
    case OPTION_TEXT: return text_list_add(&o->text, value, e);
    case OPTION_TOKENS: return text_list_add(&o->tokens, value, e);
    case OPTION_FOLDER: o->folder = value; return *value ? 0 : fail(e, "-o: is empty (expected a folder)");
    case OPTION_LENGTH:
        rc = read_whole("--length", value, 2, 1L << 30, &whole, e);
        o->cut.length = (size_t)whole;
        return rc;
    case OPTION_SEGMENTS:
        rc = read_whole("--segments", value, 1, 1L << 31, &whole, e);
        o->cut.segments = (size_t)whole;
        return rc;
    case OPTION_STRIDE:
        rc = read_whole("--stride", value, 1, most, &whole, e);
        o->cut.stride = (size_t)whole;
        return rc;
    case OPTION_OFFSET:
        rc = read_whole("--offset", value, 0, most, &whole, e);
        o->cut.offset = (size_t)whole;
        return rc;
    case OPTION_BOS: o->cut.bos = 1; return 0;
    case OPTION_THRESHOLD:
        if (read_between("--threshold", value, 0, 1, &q, e) != 0)
            return -1;
        if (!*threshold_given)
            o->main_threshold = q;
        *threshold_given = 1;
        return add_threshold(o, q, e);
    case OPTION_SINK: return read_whole("--sink", value, 0, most, &o->sink, e);
    case OPTION_BOOTSTRAP: return read_whole("--bootstrap", value, 0, 10000000, &o->bootstrap, e);
    case OPTION_SEED: return read_unsigned("--seed", value, &o->seed, e);
    case OPTION_TRAIN_LENGTH: return read_whole("--train-length", value, 1, 1L << 30, &o->train_length, e);
    case OPTION_BIAS: o->encoding.bias = value; return read_bias(value, e);
    case OPTION_BIAS_DTYPE: o->encoding.bias_dtype = value; return read_bias_dtype(value, e);
    case OPTION_POSITIONS: o->encoding.positions_none = 1; return read_positions(value, e);
    case OPTION_WINDOW:
        rc = read_whole("--window", value, 0, 1L << 30, &whole, e);
        o->encoding.window = (int)whole;
        return rc;
    case OPTION_LAYER: return read_layer(o, value, e);
    case OPTION_TARGET: return add_targets(o, value, e);
    case OPTION_ATTENTION: o->attention = 1; return 0;
    case OPTION_ATTRIBUTION: return read_attribution(o, value, e);
    case OPTION_DEVICE: o->machine.device = value; return read_device(value, e);
    case OPTION_DTYPE: o->machine.dtype = value; return read_dtype(value, e);
    case OPTION_CHECK_PRECISION: return read_whole("--check-precision", value, 1, 1L << 31, &o->check_precision, e);
    case OPTION_MEMORY: return read_size("--memory", value, &o->machine.memory, e);
    case OPTION_THREADS: return read_whole("--threads", value, 1, THREADS_MOST, &o->machine.threads, e);
    case OPTION_STRICT: o->strict = 1; return 0;
    case OPTION_VERIFY: o->verify = 1; return 0;
    case OPTION_SHARD: return read_shard(o, value, e);
    case OPTION_RESUME: o->resume = 1; return 0;
    case OPTION_FORCE: o->force = 1; return 0;
    case OPTION_FORMAT: o->formats = value; return figure_check_formats(value, e);
    case OPTION_QUIET: o->quiet = 1; return 0;
    case OPTION_LOG: o->log = value; return 0;
    case OPTION_COUNT: break;
    }
    return fail(e, "option %d has no meaning", option);
}

int erf_options_parse(struct erf_options *o, int argc, char **argv, struct error *e)
{
    static const double standard[] = {0.5, 0.9, 0.95, 0.99, 0.999};
    struct arguments a = {.count = argc, .text = argv};
    const char *value;
    int option, threshold_given = 0;

    memset(o, 0, sizeof *o);
    o->folder = "reach-erf";
    o->cut.segments = 1000;
    o->main_threshold = 0.99;
    o->sink = 4;
    o->bootstrap = 1000;
    o->machine.device = "auto";
    o->machine.dtype = "f32";
    o->formats = "png";
    o->encoding.window = -1;
    o->layer = LAYER_NONE;
    memcpy(o->thresholds, standard, sizeof standard);
    o->threshold_count = sizeof standard / sizeof *standard;

    while ((option = arguments_next(&a, &erf_help, &value, e)) != ARGUMENT_END) {
        if (option == ARGUMENT_HELP)
            return ARGUMENT_HELP;
        if (option == ARGUMENT_ERROR)
            return -1;
        if (option == ARGUMENT_OPERAND) {
            if (text_list_add(&o->models, value, e) != 0)
                return -1;
        } else if (parse_one(o, option, value, &threshold_given, e) != 0)
            return -1;
    }
    if (o->models.count == 0)
        return fail(e, "no MODEL is given (expected a checkpoint folder)");
    if (o->text.count == 0 && o->tokens.count == 0)
        return fail(e, "nothing to read is given (expected --text FILE or --tokens FILE)");
    if (o->text.count && o->tokens.count)
        return fail(e, "--text and --tokens are both given (expected one of them)");
    if (o->attribution != ATTRIBUTION_GRAD && o->layer != LAYER_NONE)
        return fail(e,
                    "--attribution %s and --layer are both given (expected --attribution grad with --layer: the others are of "
                    "the embeddings)",
                    attribution_names[o->attribution]);
    return 0;
}

void erf_options_free(struct erf_options *o)
{
    text_list_free(&o->models);
    text_list_free(&o->text);
    text_list_free(&o->tokens);
}

char *erf_options_command(const struct erf_options *o)
{
    char *text = NULL, number[32];
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int failed;

    if (!f)
        return NULL;
    fputs("reach erf", f);
    for (int i = 0; i < o->models.count; i++)
        command_word(f, o->models.item[i]);
    for (int i = 0; i < o->text.count; i++) {
        fputs(" --text", f);
        command_word(f, o->text.item[i]);
    }
    for (int i = 0; i < o->tokens.count; i++) {
        fputs(" --tokens", f);
        command_word(f, o->tokens.item[i]);
    }
    if (o->cut.length && (o->cut.length != 2048 || o->tokens.count))
        fprintf(f, " --length %zu", o->cut.length);
    if (o->cut.segments != 1000)
        fprintf(f, " --segments %zu", o->cut.segments);
    if (o->cut.stride)
        fprintf(f, " --stride %zu", o->cut.stride);
    if (o->cut.offset)
        fprintf(f, " --offset %zu", o->cut.offset);
    if (o->cut.bos)
        fputs(" --bos", f);
    if (o->threshold_count != 5 || o->main_threshold != 0.99) {
        fprintf(f, " --threshold %s", csv_format_real(number, o->main_threshold));
        for (size_t i = 0; i < o->threshold_count; i++) {
            double q = o->thresholds[i];

            if (q != o->main_threshold && q != 0.5 && q != 0.9 && q != 0.95 && q != 0.99 && q != 0.999)
                fprintf(f, " --threshold %s", csv_format_real(number, q));
        }
    }
    if (o->sink != 4)
        fprintf(f, " --sink %ld", o->sink);
    if (o->bootstrap != 1000)
        fprintf(f, " --bootstrap %ld", o->bootstrap);
    if (o->seed)
        fprintf(f, " --seed %llu", (unsigned long long)o->seed);
    if (o->train_length)
        fprintf(f, " --train-length %ld", o->train_length);
    if (o->encoding.bias) {
        fputs(" --bias", f);
        command_word(f, o->encoding.bias);
    }
    if (o->encoding.bias_dtype)
        fprintf(f, " --bias-dtype %s", o->encoding.bias_dtype);
    if (o->encoding.positions_none)
        fputs(" --positions none", f);
    if (o->encoding.window >= 0)
        fprintf(f, " --window %d", o->encoding.window);
    if (o->layer == LAYER_ALL)
        fputs(" --layer all", f);
    else if (o->layer != LAYER_NONE)
        fprintf(f, " --layer %d", o->layer);
    for (size_t i = 0; i < o->target_count; i++)
        fprintf(f, "%s%zu", i ? "," : " --target-position ", o->targets[i]);
    if (o->attention)
        fputs(" --attention", f);
    if (o->attribution != ATTRIBUTION_GRAD)
        fprintf(f, " --attribution %s", attribution_names[o->attribution]);
    if (strcmp(o->machine.dtype, "f32") != 0)
        fprintf(f, " --dtype %s", o->machine.dtype);
    if (o->shards)
        fprintf(f, " --shard %ld/%ld", o->shard, o->shards);
    failed = ferror(f);
    if (fclose(f) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
