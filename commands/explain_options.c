/* Options of `reach explain`. */
#include "commands/commands.h"
#include "commands/explain.h"
#include "commands/rows.h"

#define OPTIONS struct explain_options

static const char *const color_choices[] = {"auto", "always", "never", NULL};
/* For saved results: options that choose what is shown, and how, or do not affect a measurement
 * either. */
static const char *const of_a_result[] = {
    "model", "target-position", "memory", "scratch", "threads", "o", "force", "by", "top",
    "show",  "color",           "quiet",  "table",   "json",    NULL};

static int read_positions(void *options, const char *value, int nth, struct error *e)
{
    struct explain_options *o = options;

    (void)nth;
    return read_targets(o->positions, &o->position_count, value, e);
}

static int write_positions(FILE *f, const void *options, int nth)
{
    const struct explain_options *o = options;

    return write_targets(f, o->positions, o->position_count, nth);
}

static const struct option_row rows[] = {
    {.name = "prompt",
     .value = "TEXT",
     .help = "explain the token that is likeliest after TEXT; - is standard input",
     .type = OPTION_TEXT,
     .at = AT(prompt),
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "prompts",
     .value = "FILE",
     .help =
         "explain many prompts: a JSON object a line, with prompt (or text, whose last token is "
         "explained), and optionally target, against, answer and id; the model is opened once, "
         "and explain.jsonl has the answers; .gz is unpacked, - is standard input",
     .type = OPTION_TEXT,
     .at = AT(prompts),
     .flags = OPTION_RESULT | OPTION_COMMON},
    TEXT_ROW(
        "explain the last token of a text",
        "explain the last token of a text, read as `reach erf` reads it: one segment of all its "
        "tokens; a newline at the "
        "end is left "
        "out; .gz, .zst, .xz and .bz2 are unpacked, - is standard input; may be repeated: files "
        "are joined in order"),
    TOKENS_ROW("explain the last token of token ids",
               "explain the last token of token ids instead of text: a file as `reach erf` takes "
               "it, of one text (1-D, or one row)"),
    TOKENS_DTYPE_ROW,
    {.name = "segment",
     .value = "N",
     .brief = "explain segment N of a result of `reach erf`",
     .help = "show the N-th segment, from 1, of a result of `reach erf`, as it was measured",
     WHOLE_AT(segment, 1, 1L << 40),
     .beside = of_a_result,
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "model",
     .value = "NAME",
     .help = "which model to take, of a result with several",
     .type = OPTION_TEXT,
     .at = AT(model),
     .flags = OPTION_RESULT},
    {.name = "target-position",
     .value = "P",
     .brief = "cut the text to P tokens; token P is the target",
     .help = "cut the text to its first P tokens, so that token P is the target; several with "
             "commas, or repeated; for a result, positions that were measured",
     .type = OPTION_OWN,
     .read = read_positions,
     .write = write_positions,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_REPEATED},
    {.name = "target",
     .value = "TOKEN",
     .brief = "the token whose log p is explained, by id or text",
     .help = "the token whose log p is explained, by its id or its text, with or without a blank "
             "before it, whichever is likelier (default: after a prompt the likeliest, else the "
             "last token of the text, whose place TOKEN takes)",
     .type = OPTION_TEXT,
     .at = AT(target),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "targets",
     .value = "N",
     .standard = "1",
     .brief = "explain each of the N likeliest tokens",
     .help = "explain each of the N likeliest tokens after a prompt (default %s)",
     WHOLE_AT(targets, 1, 1000),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    {.name = "answer",
     .value = "TEXT",
     .help = "explain TEXT, of any number of tokens, after a prompt: the gradient of the sum of "
             "their log p, and of each by itself; with or without a blank before it, whichever is "
             "likelier, unless TEXT or the end of the prompt has white space",
     .type = OPTION_TEXT,
     .at = AT(answer),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "against",
     .value = "TOKEN",
     .help = "explain why the target rather than TOKEN: the gradient of log p(target) - log "
             "p(TOKEN), by its id or its text, "
             "with or without a blank before it, whichever is likelier",
     .type = OPTION_TEXT,
     .at = AT(against),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_COMMON},
    ATTRIBUTION_ROW("grad, inputxgrad, ig or smoothgrad: what the shares are of, as in `reach erf` "
                    "(default %s)"),
    SEED_ROW("seed of the noise of smoothgrad", "seed of the noise of --attribution smoothgrad"),
    BOS_ROW("auto, always or never: put the model's beginning-of-text token first, as in `reach "
            "erf` (default %s)"),
    TRAIN_LENGTH_ROW(
        "training length of the model in tokens, for --logn, if the checkpoint does not say it"),
    ADAPTER_ROW,
    ENCODING_ROWS(""),
    DEVICE_ROW,
    DTYPE_ROW,
    MEMORY_ROW,
    KEEP_ROW,
    SCRATCH_ROW,
    THREADS_ROW,
    STRICT_ROW(strict),
    FOLDER_ROW(
        "write explain.csv, explain.html and other files to DIR (default: nothing is written)",
        NULL),
    FORCE_ROW("overwrite results in DIR"),
    {.name = "by",
     .value = "UNIT",
     .standard = "token",
     .help =
         "token, word, sentence or line: sum the shares of tokens over words (with the white "
         "space before them), sentences (ended by . ! ? before white space, or by a line end) or "
         "lines (default %s)",
     .type = OPTION_NUMBERED_CHOICE,
     .at = AT(by),
     .choices = explain_units,
     .group = GROUP_OUTPUT,
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "leave-out",
     .value = "PART",
     .standard = "none",
     .help =
         "word, sentence or line: leave each out of the text in turn, and compare the change of "
         "log p of the target, or of the answer, with the gradient's share of it; shares are "
         "then summed by the same parts (default %s)",
     .type = OPTION_NUMBERED_CHOICE,
     .at = AT(leave_out),
     .choices = explain_parts,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    {.name = "top",
     .value = "N",
     .standard = "10",
     .help = "rows of the table of tokens on the screen (default %s; 0: none)",
     WHOLE_AT(top, 0, 1L << 30),
     .group = GROUP_OUTPUT},
    {.name = "show",
     .value = "N",
     .standard = "1000",
     .brief = "tokens of the text on the screen",
     .help = "tokens of the text on the screen, the last ones (default %s; 0: none); explain.html "
             "has all",
     WHOLE_AT(drawn, 0, 1L << 30),
     .group = GROUP_OUTPUT},
    {.name = "color",
     .value = "WHEN",
     .standard = "auto",
     .brief = "shade the text: auto, always or never",
     .help = "auto, always or never: shade the text with colours (default %s: on a terminal, "
             "unless NO_COLOR is set), else with "
             "digits "
             "below it",
     .type = OPTION_NUMBERED_CHOICE,
     .at = AT(color),
     .choices = color_choices,
     .group = GROUP_OUTPUT},
    TABLE_ROW,
    JSON_ROW,
    QUIET_ROW,
};

static const struct operand_row operands[] = {
    {.name = "MODEL|RESULT",
     .expected = "a checkpoint folder, or with --segment a result",
     .at = AT(source)}};

static int check(void *options, struct error *e)
{
    const struct explain_options *o = options;

    if (!o->prompt && !o->prompts && !o->text.count && !o->tokens.count && !o->segment)
        return fail(e, "nothing to explain is given (expected --prompt TEXT, --prompts FILE, "
                       "--text FILE or --tokens FILE of a model, or --segment N of a result)");
    if (o->prompts && (o->prompt || o->text.count || o->tokens.count || o->position_count))
        return fail(e, "--prompts and --%s are both given (expected one of them)",
                    o->prompt         ? "prompt"
                    : o->text.count   ? "text"
                    : o->tokens.count ? "tokens"
                                      : "target-position");
    if (o->prompt && (o->text.count || o->tokens.count))
        return fail(e, "--prompt and --%s are both given (expected one of them)",
                    o->text.count ? "text" : "tokens");
    if (o->text.count && o->tokens.count)
        return fail(e, "--text and --tokens are both given (expected one of them)");
    if (o->targets > 1 && (o->target || o->position_count || (!o->prompt && !o->prompts)))
        return fail(e,
                    "--targets %ld is given %s (expected it with --prompt, for the likeliest "
                    "tokens after it)",
                    o->targets,
                    o->target           ? "with --target"
                    : o->position_count ? "with --target-position"
                                        : "without --prompt or --prompts");
    if (o->answer && (o->target || o->targets > 1 || o->against || o->position_count))
        return fail(e, "--answer and --%s are both given (expected one of them)",
                    o->target        ? "target"
                    : o->targets > 1 ? "targets"
                    : o->against     ? "against"
                                     : "target-position");
    if (o->answer && ((!o->prompt && !o->prompts) || o->attribution != ATTRIBUTION_GRAD))
        return fail(e,
                    "--answer is given %s (expected --prompt or --prompts, and --attribution grad)",
                    o->attribution != ATTRIBUTION_GRAD ? "with another --attribution"
                                                       : "without a prompt");
    if (o->leave_out != BY_TOKEN && o->by != BY_TOKEN && o->by != o->leave_out)
        return fail(e,
                    "--by %s is given with --leave-out %s (expected the same, or no --by: shares "
                    "are of what is left out)",
                    explain_units[o->by], explain_parts[o->leave_out]);
    if (!o->segment && o->model)
        return fail(e, "--model is for a result (expected it with --segment N)");
    if (o->train_length && !o->encoding.logn)
        return fail(e, "--train-length %ld is given without --logn (expected it with --logn)",
                    o->train_length);
    if (o->seed && o->attribution != ATTRIBUTION_SMOOTH)
        return fail(e,
                    "--seed is given without --attribution smoothgrad (expected both, or neither)");
    return check_keep(&o->machine, e) != 0 ? -1 : check_encoding(&o->encoding, e);
}

const struct verb explain_verb = {
    .name = "explain",
    .summary = "which tokens of a prompt one prediction depended on",
    .synopsis =
        "MODEL (--prompt TEXT | --prompts FILE | (--text FILE | --tokens FILE)...) [-o DIR] "
        "[options]\nRESULT --segment N [-o DIR] [options]",
    .description = "Shows which tokens of a text a prediction of a model depended on: the share of "
                   "each in the sum of the norms "
                   "of the gradient of "
                   "log p of the target with respect to the token embeddings, as `reach erf` "
                   "measures it, of this one text. With "
                   "--prompt the "
                   "target is the likeliest next token, with --text and --tokens the last one.\n"
                   "\n"
                   "Standard output has the target and the five likeliest other tokens, how far "
                   "back most of the gradient comes "
                   "from, the text shaded by the shares, and the tokens with the largest ones. A "
                   "shade follows the square root "
                   "of a share's ratio to the largest.\n"
                   "\n"
                   "A share says how much the prediction would change with a small change of the "
                   "token's embedding, not what would happen without the token. --leave-out "
                   "measures that, for words, sentences or lines.\n"
                   "\n"
                   "Written to DIR:\n"
                   "  explain.csv   norm and share of every input\n"
                   "  explain.html  the text as a self-contained page: all tokens, with their "
                   "values, a map and a search\n"
                   "  units.csv     with --by or --leave-out: a row a word, sentence or line\n"
                   "  explain.jsonl with --prompts: a JSON object a prompt\n",
    .examples = "  reach explain examples/models/alibi --prompt 'def add(self, child):' -o why\n"
                "  reach explain ORG/NAME --text chat.txt --against ' no' --by sentence\n"
                "  reach explain ORG/NAME --prompts questions.jsonl -o answers\n"
                "  reach explain reach-erf --segment 3\n",
    .operands = operands,
    .operand_count = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .check = check,
    .computes = 1,
    .shown = explain_json,
    .files = explain_files,
    .run = explain_call,
};
