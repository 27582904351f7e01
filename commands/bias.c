/* `reach bias`: position biases as tables, heat maps and curves. */
#include "commands/bias.h"
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/verb.h"

static int bias_call(struct call *c, struct error *e)
{
    struct bias_run r = {.options = c->options,
                         .progress = &c->terminal.progress,
                         .command = c->command};
    int status;

    status = (int)bias_run(&r, e);
    if (status == EXIT_DONE && (c->json ? verb_document(c, &r, &r, e) : bias_print(&r, e)) != 0)
        status = EXIT_FAILED;
    bias_run_free(&r);
    return status;
}

static int bias_check(void *options, struct error *e)
{
    const struct bias_options *o = options;

    return o->folder
               ? figure_check_style("matrix", &(struct figure_style){.formats = o->formats}, e)
               : 0;
}

#define OPTIONS struct bias_options

static const struct option_row rows[] = {
    {.name = "length",
     .value = "N",
     .standard = "2048",
     .help = "distances 0 to N-1",
     WHOLE_AT(length, 1, 1 << 24),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_COMMON},
    HEADS_ROW,
    SET_ROW,
    SLOPES_ROW,
    STRICT_ROW(formulas.strict),
    FOLDER_ROW("write bias.csv and the figures to DIR (default: nothing is written)", NULL),
    FORCE_ROW("overwrite results in DIR"),
    FORMAT_ROW,
    WIDE_ROW,
    TABLE_ROW,
    JSON_ROW,
    QUIET_ROW,
};

static const struct operand_row operands[] = {
    {.name = "FORMULA, PRESET or MODEL",
     .expected = "for example alibi, '-2*ln(1+t)' or a checkpoint folder",
     .at = AT(arguments),
     .flags = OPERAND_LIST | OPERAND_FORMULA | OPERAND_BY_STEP}};

const struct verb bias_verb = {
    .name = "bias",
    .summary = "values and pictures of position biases",
    .synopsis = "(FORMULA | PRESET | MODEL)... [-o DIR] [options]",
    .description = "Prints the bias b(t) that is added to the attention logits at distance t, for "
                   "each head. An argument is a "
                   "preset if it names one, else a checkpoint if it is a path that exists, else a "
                   "formula (`man "
                   "reach-formula`); an argument that begins with a dash is a formula, with ./ or "
                   "/ a path, with hf: a model in "
                   "the local cache. NAME=ARGUMENT gives it a name.\n"
                   "\n"
                   "Written to DIR:\n"
                   "  bias.csv    b(t) of every head at every distance\n"
                   "  bias.gp     the last row of the bias matrix (all heads of one argument, or "
                   "the last head of several), and "
                   "its pictures\n"
                   "  matrix.gp   heat maps of the last head's bias matrix and of the attention "
                   "that it alone would give; a "
                   "grid for more than three biases\n",
    .examples =
        "  reach bias alibi --heads 4\n"
        "  reach bias sandwich --heads 1 --length 8192 -o sandwich\n"
        "  reach bias 'sandwich(dbar=32)' 'sandwich(dbar=128)' 'sandwich(dbar=512)' -o by-dbar\n"
        "  reach bias 'window(64)' alibi --length 256 -o side-by-side\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .print_more = bias_print_presets,
    .check = bias_check,
    .shown = bias_shown,
    .files = bias_files,
    .run = bias_call,
};
