/* Options of `reach ppl`. */
#include "commands/commands.h"
#include "commands/ppl.h"
#include "commands/rows.h"
#include "io/order.h"

#include <stdlib.h>
#include <string.h>

#define OPTIONS struct ppl_options

/* N,N,...: ascending, each once. */
static int read_contexts(void *options, const char *value, int nth, struct error *e)
{
    struct ppl_options *o = options;
    size_t kept = 0;

    (void)nth;
    for (const char *rest = value; rest;) {
        size_t length = strcspn(rest, ",");
        char number[32];
        long context;

        if (o->context_count == CONTEXTS_MAX)
            return fail(e, "--context: too many (expected at most %d)", CONTEXTS_MAX);
        if (length >= sizeof number)
            return fail(e, "--context: \"%.*s\" is not valid (expected a whole number)",
                        (int)length, rest);
        snprintf(number, sizeof number, "%.*s", (int)length, rest);
        if (read_whole("--context", number, 1, 1L << 30, &context, e) != 0)
            return -1;
        o->contexts[o->context_count++] = (size_t)context;
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    qsort(o->contexts, o->context_count, sizeof *o->contexts, order_sizes);
    for (size_t i = 0; i < o->context_count; i++)
        if (i == 0 || o->contexts[i] != o->contexts[kept - 1])
            o->contexts[kept++] = o->contexts[i];
    o->context_count = kept;
    return 0;
}

static int write_contexts(FILE *f, const void *options, int nth)
{
    const struct ppl_options *o = options;

    for (size_t i = 0; i < o->context_count && nth == 0; i++)
        fprintf(f, "%s%zu", i ? "," : "", o->contexts[i]);
    return nth == 0 && o->context_count > 0;
}

static const struct option_row rows[] = {
    TEXT_ROW("text to read; may be repeated",
             "text, read as `reach erf` reads it; .gz, .zst, .xz and .bz2 are unpacked, - is "
             "standard input; may be "
             "repeated: files are joined in "
             "order"),
    TOKENS_ROW("token ids instead of text",
               "token ids instead of text: a file as `reach erf` takes it; 1-D is one stream (may "
               "be repeated), 2-D has one "
               "stream per row"),
    TOKENS_DTYPE_ROW,
    FIELD_ROW,
    RECORDS_ROW,
    BOS_ROW("auto, always or never: let the inputs of every segment, block or window begin with "
            "the model's beginning-of-text "
            "token, which counts in the context (default %s, as in `reach erf`); with cached, only "
            "the text begins with it. The "
            "first token of the text is then a target too, except with last"),
    BOUNDARY_ROW(
        "the token that separates the documents of a stream, by its id or its text, as in `reach "
        "erf`: each document is "
        "scored by itself; with last, those too short for the longest context and a target are "
        "skipped"),
    FOLDER_ROW("write ppl.csv and the figure to DIR (default: nothing is written)", NULL),
    {.name = "per-token",
     .value = "FILE",
     .brief = "write the NLL of every target to FILE",
     .help = "write the NLL of every target at every context, with its text, to FILE as CSV",
     .type = OPTION_TEXT,
     .at = AT(per_token),
     .group = GROUP_OUTPUT},
    {.name = "protocol",
     .value = "NAME",
     .standard = "last",
     .brief = "last, nonoverlapping, sliding or cached",
     .help = "last, nonoverlapping, sliding or cached, see above",
     .type = OPTION_NUMBERED_CHOICE,
     .at = AT(protocol),
     .choices = protocol_names,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_RECORDED | OPTION_COMMON},
    {.name = "context",
     .value = "N,N,...",
     .standard = "128,256,512,1024,2048",
     .brief = "input tokens",
     .help = "input tokens, several with commas (default %s); cached has none",
     .type = OPTION_OWN,
     .read = read_contexts,
     .write = write_contexts,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_RECORDED | OPTION_LATER | OPTION_COMMON},
    {.name = "stride",
     .value = "S",
     .brief = "tokens that a sliding window moves by",
     .help = "with sliding: new tokens that each window scores, at most the context (default half "
             "the context); with last: tokens "
             "between the targets; below the longest context segments overlap (default: spread "
             "over the text, without overlap)",
     WHOLE_AT(stride, 1, 1 << 30),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "segments",
     .value = "N",
     .standard = "1000",
     .brief = "measure at most N segments, of last",
     .help = "with last: score at most N targets (default %s; fewer if the text is shorter)",
     WHOLE_AT(segments, 1, 1L << 31),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_LATER | OPTION_COMMON},
    {.name = "gain",
     .brief = "also what each context gains",
     .help = "also report what each context gains over the next shorter one, with intervals, and "
             "how much context each target "
             "needs; not with cached",
     .type = OPTION_FLAG,
     .at = AT(gain),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    {.name = "gain-within",
     .value = "D",
     .standard = "0.1",
     .brief = "nats within which a context is enough",
     .help = "of --gain: a context is enough for a target if its NLL is at most D nats above that "
             "at the longest (default %s)",
     .type = OPTION_REAL,
     .at = AT(gain_within),
     .low = 0,
     .high = 1000,
     .with = "gain",
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_LATER},
    TRAIN_LENGTH_ROW("training length of the models in tokens, if a checkpoint does not say it; "
                     "the figure marks it, and --logn uses it"),
    ADAPTER_ROW,
    ENCODING_ROWS("; cached needs it, unless the model has windows"),
    DEVICE_ROW,
    DTYPE_ROW,
    MEMORY_ROW,
    THREADS_ROW,
    STRICT_ROW(strict),
    {.name = "timing",
     .brief = "also write times to ppl.csv",
     .help = "also write seconds_per_token to ppl.csv, which then differs from run to run (the "
             "screen always has the time)",
     .type = OPTION_FLAG,
     .at = AT(timing),
     .with = "o",
     .group = GROUP_OUTPUT},
    FORCE_ROW("overwrite results in DIR"),
    FORMAT_ROW,
    WIDE_ROW,
    TABLE_ROW,
    JSON_ROW,
    QUIET_ROW,
};

static const struct operand_row operands[] = {{.name = "MODEL",
                                               .expected = "a checkpoint folder",
                                               .at = AT(models),
                                               .flags = OPERAND_LIST | OPERAND_BY_STEP}};

/* Refuses conflicting options. */
static int check_together(const struct ppl_options *o, struct error *e)
{
    if (o->text.count == 0 && o->tokens.count == 0)
        return fail(e, "no text is given (expected --text FILE or --tokens FILE)");
    if (o->text.count && o->tokens.count)
        return fail(e, "--text and --tokens are both given (expected one of them)");
    if (o->stride && o->protocol != PROTOCOL_SLIDING && o->protocol != PROTOCOL_LAST)
        return fail(e, "--stride: is for --protocol sliding and last (the protocol is %s)",
                    protocol_names[o->protocol]);
    if (o->segments && o->protocol != PROTOCOL_LAST)
        return fail(e,
                    "--segments: is for --protocol last only (the protocol is %s, which scores the "
                    "whole text)",
                    protocol_names[o->protocol]);
    if (o->context_count && o->protocol == PROTOCOL_CACHED)
        return fail(e, "--context: --protocol cached is one pass over the whole text (expected "
                       "--window N, the keys that each "
                       "layer attends to)");
    if (o->encoding.window == 0 && o->protocol == PROTOCOL_CACHED)
        return fail(e, "--window: \"0\" is not valid for --protocol cached (expected a whole "
                       "number of at least 1)");
    for (size_t i = 0; o->protocol == PROTOCOL_SLIDING && i < o->context_count; i++)
        if (o->stride > o->contexts[i])
            return fail(e,
                        "--stride: %zu is more than the context of %zu, so some tokens would not "
                        "be scored (expected at most the "
                        "context)",
                        o->stride, o->contexts[i]);
    if (o->gain && o->protocol == PROTOCOL_CACHED)
        return fail(e, "--gain: compares several contexts, and --protocol cached has none "
                       "(expected another protocol)");
    return check_encoding(&o->encoding, e);
}

/* The same, and sets the protocol's defaults. */
static int check(void *options, struct error *e)
{
    struct ppl_options *o = options;

    if (check_together(o, e) != 0)
        return -1;
    if (o->protocol == PROTOCOL_LAST && !o->segments &&
        option_default(o, &ppl_verb, "segments", e) != 0)
        return -1;
    if (o->gain && !(o->gain_within > 0) && option_default(o, &ppl_verb, "gain-within", e) != 0)
        return -1;
    if (o->protocol != PROTOCOL_CACHED && !o->context_count &&
        option_default(o, &ppl_verb, "context", e) != 0)
        return -1;
    if (o->gain && o->context_count < 2)
        return fail(e, "--gain: compares several contexts, and one is given (expected several, "
                       "such as --context 128,512,2048)");
    return check_together(o, e);
}

const struct verb ppl_verb = {
    .name = "ppl",
    .summary = "perplexity at several contexts, by four protocols",
    .synopsis = "MODEL... (--text FILE | --tokens FILE)... [-o DIR] [options]",
    .description =
        "Measures perplexity at several contexts: PPL = exp(mean NLL), NLL the negative natural "
        "logarithm of a target's "
        "probability. The context C is the number of input tokens (C + 1 tokens with the target). "
        "Every target weighs the same.\n"
        "\n"
        "Protocols (--protocol):\n"
        "  last            N segments, of which only the last token is scored. The segments are\n"
        "                  cut for the longest context; a shorter one takes each segment's end,\n"
        "                  so every context scores the same N targets.\n"
        "  nonoverlapping  consecutive blocks: C inputs predict C targets; the last block may be\n"
        "                  shorter. Early targets of a block see few tokens.\n"
        "  sliding         windows of C inputs. The first scores all its targets; each later one\n"
        "                  ends S tokens further (the final one at the last token, still with\n"
        "                  C inputs) and scores the new ones, which see at least C-S+1 inputs.\n"
        "  cached          one pass over the whole text, in which every layer attends to the\n"
        "                  last --window keys. Not for models with learned positions.\n"
        "The last three score every token but the first of the text once, whatever the context: "
        "the same targets in every row. "
        "With a beginning-of-text token (--bos) the first one, too.\n"
        "\n"
        "Standard output is a table with one row per model and context. The standard error treats "
        "targets as independent; "
        "neighbours in one text are not quite independent, so it is somewhat too small there. With "
        "several models, each is "
        "compared with the first one, target by target (paired t-test). MODEL and NAME=MODEL are "
        "as in `reach erf`.\n"
        "\n"
        "Written to DIR:\n"
        "  ppl.csv   the table and the differences\n"
        "  ppl.gp    perplexity over the context (cached: the window) as a gnuplot script, and its "
        "pictures;\n"
        "            with --gain also over the perplexity at the training length, with paired "
        "intervals\n"
        "  gain.csv, gain.gp  what --gain adds\n",
    .examples =
        "  reach ppl examples/models/alibi examples/models/rotary --text "
        "examples/text/sqlalchemy.py.gz -o reach-ppl\n"
        "  reach ppl runs/8 --tokens valid.npy --protocol sliding --context 512,1024 --stride 256\n"
        "  reach ppl runs/8 --tokens valid.npy --protocol cached --window 1024\n"
        "  reach ppl runs/8 --text novel.txt --context 64,256,1024,4096 --gain -o gain\n",
    .operands = operands,
    .operand_count = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .check = check,
    .computes = 1,
    .shown = ppl_shown,
    .files = ppl_files,
    .run = ppl_call,
};
