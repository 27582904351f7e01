/* Options of `reach ppl`. */
#include "commands/ppl.h"

#include "run/results.h"
#include "commands/run_options.h"
#include "run/threads.h"
#include "plots/figure.h"

#include <stdlib.h>
#include <string.h>

static const size_t default_contexts[] = {128, 256, 512, 1024, 2048};
enum { DEFAULT_CONTEXTS = sizeof default_contexts / sizeof *default_contexts };

enum option {
    OPTION_TEXT,
    OPTION_TOKENS,
    OPTION_FOLDER,
    OPTION_PER_TOKEN,
    OPTION_PROTOCOL,
    OPTION_CONTEXT,
    OPTION_STRIDE,
    OPTION_WINDOW,
    OPTION_SEGMENTS,
    OPTION_TRAIN_LENGTH,
    OPTION_BIAS,
    OPTION_BIAS_DTYPE,
    OPTION_POSITIONS,
    OPTION_DEVICE,
    OPTION_DTYPE,
    OPTION_MEMORY,
    OPTION_THREADS,
    OPTION_STRICT,
    OPTION_TIMING,
    OPTION_FORCE,
    OPTION_FORMAT,
    OPTION_QUIET,
    OPTION_COUNT
};

static const struct argument_row rows[OPTION_COUNT] = {
    [OPTION_TEXT] =
        {"text", "FILE",
         "text, read as `reach erf` reads it; .gz is unpacked, - is standard input; may be repeated: files are joined in order"},
    [OPTION_TOKENS] = {"tokens", "FILE",
                       "token ids instead of text: a file as `reach erf` takes it; 1-D is one stream (may be repeated), 2-D has "
                       "a stream a row"},
    [OPTION_FOLDER] = {"o", "DIR", "write ppl.csv and the figure there (default: nothing is written)"},
    [OPTION_PER_TOKEN] = {"per-token", "FILE", "write the NLL of every target at every context there, as CSV"},
    [OPTION_PROTOCOL] = {"protocol", "NAME", "last, nonoverlapping, sliding or cached, see above (default last)"},
    [OPTION_CONTEXT] = {"context", "N,N,...",
                        "input tokens, several with commas (default 128,256,512,1024,2048); cached has none"},
    [OPTION_STRIDE] = {"stride", "S",
                       "of sliding: tokens that each window scores anew, at most the context (default half the context); of "
                       "last: tokens between the targets, which below the longest context lets segments overlap (default: spread "
                       "over the text, without overlap)"},
    [OPTION_WINDOW] = {"window", "N",
                       "let every layer attend to the last N keys only, its own included (0: no window); what cached needs, "
                       "unless the model has windows"},
    [OPTION_SEGMENTS] = {"segments", "N", "of last: targets at most (default 1000; fewer when the text is shorter)"},
    [OPTION_TRAIN_LENGTH] = {"train-length", "N",
                             "tokens the models were trained on, marked in the figure, where a checkpoint does not say it"},
    [OPTION_BIAS] = BIAS_ROW,
    [OPTION_BIAS_DTYPE] = BIAS_DTYPE_ROW,
    [OPTION_POSITIONS] = POSITIONS_ROW,
    [OPTION_DEVICE] = DEVICE_ROW,
    [OPTION_DTYPE] = DTYPE_ROW,
    [OPTION_MEMORY] = MEMORY_ROW,
    [OPTION_THREADS] = THREADS_ROW,
    [OPTION_STRICT] = STRICT_ROW,
    [OPTION_TIMING] =
        {"timing", NULL,
         "also write seconds_per_token to ppl.csv, which then differs from run to run (the screen always has the time)"},
    [OPTION_FORCE] = {"force", NULL, "overwrite results in DIR"},
    [OPTION_FORMAT] = {"format", "LIST", "pictures to draw: png, svg, pdf, several with commas (default png)"},
    [OPTION_QUIET] = {"quiet", NULL, "no progress and no messages but errors"},
};

const struct verb_help ppl_help = {
    .verb = "ppl",
    .synopsis = "MODEL... (--text FILE | --tokens FILE)... [-o DIR] [options]",
    .description =
        "Measures perplexity at several contexts: PPL = exp(mean NLL), NLL the negative natural logarithm of a target's "
        "probability. The context C is the number of input tokens (C + 1 tokens with the target). Every target weighs the same.\n"
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
        "The last three score every token but the first of the text once, whatever the context: the same targets in every row.\n"
        "\n"
        "Standard output is a table with a row a model and context. The standard error takes targets as independent; neighbours "
        "in one text are not quite, so there it is somewhat too small. With several models, each is compared with the first one, "
        "target by target (paired t-test). MODEL and NAME=MODEL are as in `reach erf`.\n"
        "\n"
        "Written to DIR:\n"
        "  ppl.csv  the table and the differences\n"
        "  ppl.gp   perplexity over the context (cached: the window) as a gnuplot script, and its pictures\n",
    .options = rows,
    .option_count = OPTION_COUNT,
    .examples = "  reach ppl examples/models/alibi examples/models/rotary --text examples/text/moby-dick.txt.gz -o reach-ppl\n"
                "  reach ppl runs/8 --tokens valid.npy --protocol sliding --context 512,1024 --stride 256\n"
                "  reach ppl runs/8 --tokens valid.npy --protocol cached --window 1024\n",
};

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* N,N,...: ascending, each once. */
static int read_contexts(struct ppl_options *o, const char *text, struct error *e)
{
    size_t kept = 0;

    o->context_count = 0;
    for (const char *rest = text; rest;) {
        size_t length = strcspn(rest, ",");
        char number[32];
        long context;

        if (o->context_count == CONTEXTS_MAX)
            return fail(e, "--context: too many (expected at most %d)", CONTEXTS_MAX);
        snprintf(number, sizeof number, "%.*s", (int)(length < sizeof number ? length : sizeof number - 1), rest);
        if (read_whole("--context", number, 1, 1L << 30, &context, e) != 0)
            return -1;
        o->contexts[o->context_count++] = (size_t)context;
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    qsort(o->contexts, o->context_count, sizeof *o->contexts, by_size);
    for (size_t i = 0; i < o->context_count; i++)
        if (i == 0 || o->contexts[i] != o->contexts[kept - 1])
            o->contexts[kept++] = o->contexts[i];
    o->context_count = kept;
    return 0;
}

static int read_protocol(struct ppl_options *o, const char *text, struct error *e)
{
    for (int i = 0; i < PROTOCOLS; i++)
        if (strcmp(text, protocol_names[i]) == 0) {
            o->protocol = (enum protocol)i;
            return 0;
        }
    return fail(e, "--protocol: \"%s\" is not valid (expected last, nonoverlapping, sliding or cached)", text);
}

static int parse_one(struct ppl_options *o, int option, const char *value, struct error *e)
{
    long whole = 0;
    int rc;

    switch ((enum option)option) {
    case OPTION_TEXT: return text_list_add(&o->text, value, e);
    case OPTION_TOKENS: return text_list_add(&o->tokens, value, e);
    case OPTION_FOLDER: o->folder = value; return *value ? 0 : fail(e, "-o: is empty (expected a folder)");
    case OPTION_PER_TOKEN: o->per_token = value; return *value ? 0 : fail(e, "--per-token: is empty (expected a file)");
    case OPTION_PROTOCOL: return read_protocol(o, value, e);
    case OPTION_CONTEXT: return read_contexts(o, value, e);
    case OPTION_STRIDE:
        rc = read_whole("--stride", value, 1, 1L << 30, &whole, e);
        o->stride = (size_t)whole;
        return rc;
    case OPTION_WINDOW:
        rc = read_whole("--window", value, 0, 1L << 30, &whole, e);
        o->encoding.window = (int)whole;
        return rc;
    case OPTION_SEGMENTS:
        rc = read_whole("--segments", value, 1, 1L << 31, &whole, e);
        o->segments = (size_t)whole;
        return rc;
    case OPTION_TRAIN_LENGTH: return read_whole("--train-length", value, 1, 1L << 30, &o->train_length, e);
    case OPTION_BIAS: o->encoding.bias = value; return read_bias(value, e);
    case OPTION_BIAS_DTYPE: o->encoding.bias_dtype = value; return read_bias_dtype(value, e);
    case OPTION_POSITIONS: o->encoding.positions_none = 1; return read_positions(value, e);
    case OPTION_DEVICE: o->machine.device = value; return read_device(value, e);
    case OPTION_DTYPE: o->machine.dtype = value; return read_dtype(value, e);
    case OPTION_MEMORY: return read_size("--memory", value, &o->machine.memory, e);
    case OPTION_THREADS: return read_whole("--threads", value, 1, THREADS_MOST, &o->machine.threads, e);
    case OPTION_TIMING: o->timing = 1; return 0;
    case OPTION_STRICT: o->strict = 1; return 0;
    case OPTION_FORCE: o->force = 1; return 0;
    case OPTION_FORMAT: o->formats = value; return figure_check_formats(value, e);
    case OPTION_QUIET: o->quiet = 1; return 0;
    case OPTION_COUNT: break;
    }
    return fail(e, "option %d has no meaning", option);
}

/* What does not go together. */
static int check_together(const struct ppl_options *o, struct error *e)
{
    if (o->models.count == 0)
        return fail(e, "no MODEL is given (expected a checkpoint folder)");
    if (o->text.count == 0 && o->tokens.count == 0)
        return fail(e, "nothing to read is given (expected --text FILE or --tokens FILE)");
    if (o->text.count && o->tokens.count)
        return fail(e, "--text and --tokens are both given (expected one of them)");
    if (o->stride && o->protocol != PROTOCOL_SLIDING && o->protocol != PROTOCOL_LAST)
        return fail(e, "--stride: is of --protocol sliding and last (the protocol is %s)", protocol_names[o->protocol]);
    if (o->segments && o->protocol != PROTOCOL_LAST)
        return fail(e, "--segments: is of --protocol last alone (the protocol is %s, which scores the whole text)",
                    protocol_names[o->protocol]);
    if (o->context_count && o->protocol == PROTOCOL_CACHED)
        return fail(e, "--context: --protocol cached is one pass over the whole text (expected --window N, the keys that each "
                       "layer attends to)");
    if (o->encoding.window == 0 && o->protocol == PROTOCOL_CACHED)
        return fail(e, "--window: \"0\" is not valid for --protocol cached (expected a whole number from 1 on)");
    for (size_t i = 0; o->protocol == PROTOCOL_SLIDING && i < o->context_count; i++)
        if (o->stride > o->contexts[i])
            return fail(e,
                        "--stride: %zu is more than the context of %zu, so some tokens would not be scored (expected at most the "
                        "context)",
                        o->stride, o->contexts[i]);
    return 0;
}

int ppl_options_parse(struct ppl_options *o, int argc, char **argv, struct error *e)
{
    struct arguments a = {.count = argc, .text = argv};
    const char *value;
    int option;

    *o = (struct ppl_options){.machine = {.device = "auto", .dtype = "f32"}, .formats = "png", .encoding = {.window = -1}};
    while ((option = arguments_next(&a, &ppl_help, &value, e)) != ARGUMENT_END) {
        if (option == ARGUMENT_HELP)
            return ARGUMENT_HELP;
        if (option == ARGUMENT_ERROR ||
            (option == ARGUMENT_OPERAND ? text_list_add(&o->models, value, e) : parse_one(o, option, value, e)) != 0)
            return -1;
    }
    if (check_together(o, e) != 0)
        return -1;
    if (o->context_count == 0 && o->protocol != PROTOCOL_CACHED) {
        memcpy(o->contexts, default_contexts, sizeof default_contexts);
        o->context_count = DEFAULT_CONTEXTS;
        return check_together(o, e);
    }
    return 0;
}

void ppl_options_free(struct ppl_options *o)
{
    text_list_free(&o->models);
    text_list_free(&o->text);
    text_list_free(&o->tokens);
}

char *ppl_options_command(const struct ppl_options *o)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int failed;

    if (!f)
        return NULL;
    fputs("reach ppl", f);
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
    fprintf(f, " --protocol %s", protocol_names[o->protocol]);
    for (size_t i = 0; i < o->context_count; i++)
        fprintf(f, "%s%zu", i ? "," : " --context ", o->contexts[i]);
    if (o->stride)
        fprintf(f, " --stride %zu", o->stride);
    if (o->encoding.window >= 0)
        fprintf(f, " --window %d", o->encoding.window);
    if (o->segments && o->segments != SEGMENTS_DEFAULT)
        fprintf(f, " --segments %zu", o->segments);
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
    if (strcmp(o->machine.dtype, "f32") != 0)
        fprintf(f, " --dtype %s", o->machine.dtype);
    failed = ferror(f);
    if (fclose(f) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
