/* `reach tokenize`: text to a file of token ids. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/verb.h"
#include "io/tokens/tokens.h"
#include "run/results.h"
#include "run/tokenize.h"

#include <string.h>

struct written_row {
    const char *file;
    long long tokens, bytes;
    double seconds;
};

static const struct csv_column columns[] = {
    CSV_COLUMN(written_row, file, "", "OUT"),
    CSV_COLUMN(written_row, tokens, "tokens", "ids in it"),
    CSV_COLUMN(written_row, bytes, "bytes", "of text"),
    CSV_COLUMN(written_row, seconds, "seconds", "time of turning the text into ids"),
};

static const struct csv_layout layout = {
    .file = "written",
    .origin = "`reach tokenize --json`",
    .row = "the file of ids",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};

static int rows_of(const void *found, struct csv *csv, struct error *e)
{
    (void)e;
    csv_row(csv, found);
    return 0;
}

static const struct results_file *const shown[] = {
    &(const struct results_file){.layout = &layout, .rows = rows_of, .single = 1}, NULL};

static int tokenize_call(struct call *c, struct error *e)
{
    const struct tokenize_options *o = c->options;
    struct tokenized done;
    double megabytes, seconds;

    c->terminal.progress.unit = "bytes";
    if (tokenize_run(&done, o, &c->terminal.progress, e) != 0)
        return -1;
    if (c->json)
        return verb_document(c,
                             &(struct written_row){o->out, (long long)done.tokens,
                                                   (long long)done.bytes, done.seconds},
                             NULL, e);
    megabytes = (double)done.bytes / 1e6;
    seconds = done.seconds > 0 ? done.seconds : 1e-9;
    printf("tokens           %zu\nbytes of text    %zu\nbytes per token  %.4g\nseconds          "
           "%.3g (%.3g MB/s)\n",
           done.tokens, done.bytes, (double)done.bytes / (double)done.tokens, done.seconds,
           megabytes / seconds);
    return 0;
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
    {.name = "field",
     .value = "NAME",
     .help = "member of JSON lines that is the text (default: text); a file whose name ends in "
             ".jsonl, before .gz, .zst, .xz or .bz2, is JSON lines, and with this option any is",
     .type = OPTION_TEXT,
     .at = AT(field)},
    {.name = "boundary",
     .value = "TOKEN",
     .brief = "put this token after each record of JSON lines",
     .help = "put this token, by its id or its text, after each record of JSON lines, for "
             "--boundary of the other verbs",
     .type = OPTION_TEXT,
     .at = AT(boundary)},
    STRICT_ROW(strict),
    FORCE_ROW("overwrite OUT if it exists"),
    JSON_ROW,
    QUIET_ROW,
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
                   "tiktoken.model or qwen.tiktoken, or a GGUF file; a model without a "
                   "tokenizer and with a vocabulary of 256 reads bytes. FILE is the text: .gz, "
                   ".zst, .xz and .bz2 are "
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
    .shown = shown,
    .run = tokenize_call,
};
