/* `reach tokenize`: text to a file of token ids. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/verb.h"
#include "run/interrupt.h"
#include "run/text.h"
#include "run/models.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct tokenize_options {
    const char *model, *file, *out; /* arguments, borrowed */
    int strict, force, quiet;
};

static int tell_progress(void *context, size_t done, struct error *e)
{
    struct progress *p = context;

    if (interrupt_wanted())
        return fail(e, "interrupted");
    if (done > p->done)
        progress_step(p, done - p->done, "tokens");
    return 0;
}

/* The tokenizer, or the model that does without one. */
static int open_reader(struct model_text *m, const struct tokenize_options *o, struct progress *p, struct error *e)
{
    struct decoder *d;
    int rc;

    if (tokenizer_open(&m->tokenizer, o->model, e) != 0 || m->tokenizer)
        return m->tokenizer ? 0 : -1;
    d = model_open(o->model, o->strict, p, e);
    rc = d ? model_text_open(m, d, o->model, 1, e) : -1;
    decoder_close(d);
    return rc;
}

static int tokenize(const struct tokenize_options *o, struct progress *p, struct error *e)
{
    struct model_text reader = {0};
    struct run_text text = {0};
    const struct text_list files = {&(const char *){o->file}, 1}, none = {0};
    const struct tokens *tokens;
    double start, seconds;
    int rc = -1;

    if (!o->force && access(o->out, F_OK) == 0)
        return fail(e, "%s: exists (expected --force to overwrite it, or another name)", o->out);
    if (open_reader(&reader, o, p, e) != 0 || run_text_read(&text, &files, &none, e) != 0)
        goto end;
    interrupt_watch();
    progress_start(p, text.text.size, 0);
    if (reader.tokenizer)
        tokenizer_watch(reader.tokenizer, tell_progress, p);
    start = progress_seconds(p);
    tokens = model_text_tokens(&reader, &text, e);
    seconds = progress_seconds(p) - start;
    progress_end(p);
    if (!tokens || tokens_write(o->out, tokens, e) != 0)
        goto end;
    printf("tokens           %zu\nbytes of text    %zu\nbytes per token  %.4g\nseconds          %.3g (%.3g MB/s)\n",
           tokens->total, text.text.size, (double)text.text.size / (double)tokens->total, seconds,
           (double)text.text.size / 1e6 / (seconds > 0 ? seconds : 1e-9));
    rc = 0;
end:
    model_text_close(&reader);
    run_text_free(&text);
    return rc;
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
        return fail(e, "%s: has a name for no format (expected .npy, .h5 or .hdf5 at its end)", o->out);
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
    .description = "Writes the token ids of a text, as MODEL's own tokenizer makes them, for --tokens of the other verbs. MODEL "
                   "is a folder with tokenizer.json, or with vocab.json and merges.txt; a model with neither and a vocabulary of "
                   "256 reads bytes. FILE is the text: .gz is unpacked, - is standard input. OUT ends in .npy (uint16 where all "
                   "ids fit, else uint32), or in .h5 or .hdf5 (a dataset named tokens).\n\n"
                   "Special tokens that stand in the text are found; none is put before or behind it. Broken UTF-8 counts as "
                   "U+FFFD, as Python's errors=\"replace\" makes it. The table on standard output says how many tokens there "
                   "are, the bytes of text to one, and the time.",
    .examples =
        "  reach tokenize pythia-160m moby-dick.txt.gz moby-dick.npy\n  zcat corpus/*.gz | reach tokenize llama - corpus.h5\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .check = check,
    .run = tokenize_call,
};
