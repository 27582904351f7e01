/* `reach tokenize`: text to a file of token ids. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/verb.h"
#include "io/tokens/tokens.h"
#include "run/tokenize.h"

#include <string.h>

static int tokenize(const struct tokenize_options *o, struct progress *p, struct error *e)
{
    struct tokenized done;
    double megabytes, seconds;

    if (tokenize_run(&done, o, p, e) != 0)
        return -1;
    megabytes = (double)done.bytes / 1e6;
    seconds = done.seconds > 0 ? done.seconds : 1e-9;
    printf("tokens           %zu\nbytes of text    %zu\nbytes per token  %.4g\nseconds          "
           "%.3g (%.3g MB/s)\n",
           done.tokens, done.bytes, (double)done.bytes / (double)done.tokens, done.seconds,
           megabytes / seconds);
    return 0;
}

static int tokenize_call(struct call *c, struct error *e)
{
    c->terminal.progress.unit = "bytes";
    return tokenize(c->options, &c->terminal.progress, e);
}

static int check(void *options, struct error *e)
{
    const struct tokenize_options *o = options;
    const char *dot = strrchr(o->out, '.');

    if (!tokens_is_hdf_name(o->out) && !(dot && strcmp(dot, ".npy") == 0))
        return fail(e, "%s: its name has no known ending (expected .npy, .h5 or .hdf5)", o->out);
    return 0;
}

#define OPTIONS struct tokenize_options

static const struct option_row rows[] = {
    STRICT_ROW(strict),
    FORCE_ROW("overwrite OUT if it exists"),
    QUIET_ROW("no progress"),
};

static const struct operand_row operands[] = {
    {.name = "MODEL", .expected = "MODEL FILE OUT", .at = AT(model)},
    {.name = "FILE", .expected = "MODEL FILE OUT", .at = AT(file), .flags = OPERAND_STREAM},
    {.name = "OUT", .expected = "MODEL FILE OUT", .at = AT(out)}};

const struct verb tokenize_verb = {
    .name = "tokenize",
    .summary = "text to token ids, by a model's own tokenizer",
    .synopsis = "MODEL FILE OUT [options]",
    .description = "Writes the token ids of a text, as MODEL's own tokenizer makes them, for "
                   "--tokens of the other verbs. MODEL is a folder "
                   "with tokenizer.json, with vocab.json and merges.txt, or with tokenizer.model, "
                   "or a GGUF file; a model without a "
                   "tokenizer and with a vocabulary of 256 reads bytes. FILE is the text: .gz is "
                   "unpacked, - is standard input. OUT ends in "
                   ".npy (uint16 where all ids fit, else uint32), or in .h5 or .hdf5 (a dataset "
                   "named tokens).\n\n"
                   "Special tokens in the text are recognised; none is added before or after it. "
                   "Broken UTF-8 becomes U+FFFD, as with "
                   "Python's errors=\"replace\". The table on standard output has the number of "
                   "tokens, the bytes of text per token, and "
                   "the time.",
    .examples = "  reach tokenize pythia-160m moby-dick.txt.gz moby-dick.npy\n  zcat corpus/*.gz | "
                "reach tokenize llama - corpus.h5\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .check = check,
    .run = tokenize_call,
};
