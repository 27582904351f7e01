/* `reach plot`: curves of saved results in one figure. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/verb.h"
#include "run/plot/plot.h"

#include <string.h>

/* Draws, and says which pictures there are now. */
static int plot_call(struct call *c, struct error *e)
{
    const struct plot_options *o = c->options;
    struct plot_run r = {.options = o, .progress = &c->terminal.progress, .command = c->command};
    int rc = plot_run(&r, e);

    for (const char *rest = o->formats; rc == 0 && r.drawn == 0 && *rest; rest += strcspn(rest, ","), rest += *rest == ',')
        printf("%s/%s.%.*s\n", o->folder, r.stem, (int)strcspn(rest, ","), rest);
    plot_run_free(&r);
    return rc;
}

#define OPTIONS struct plot_options

static const struct option_row rows[] = {
    FOLDER_ROW("folder for the script and the pictures", "reach-plot"),
    {.name = "threshold",
     .value = "Q",
     .help = "the threshold whose ERF is marked, 0 < Q < 1 (default: that of the first result, or 0.99)",
     .type = OPTION_REAL,
     .at = AT(threshold),
     .low = 0,
     .high = 1,
     .flags = OPTION_RESULT},
    TRAIN_LENGTH_ROW("tokens the models were trained on, marked in the figures of summary.csv and ppl.csv, which do not say it"),
    FORMAT_ROW,
    FORCE_ROW("overwrite the figure in DIR"),
};

static const struct operand_row operands[] = {
    {.name = "RESULT", .expected = "a folder of `reach erf`, an erf.h5 or a CSV", .at = AT(results), .flags = OPERAND_LIST}};

const struct verb plot_verb = {
    .name = "plot",
    .summary = "redraw or combine saved results",
    .synopsis = "RESULT... [-o DIR] [options]",
    .description = "Draws saved results into one figure. What is drawn follows from the RESULTs:\n"
                   "\n"
                   "  a folder of `reach erf`, its erf.h5 or curve.csv\n"
                   "        the curves (erf.gp). Models of the same name in several results are told apart by their folders. "
                   "Curves of different lengths are set at the same target, on the right.\n"
                   "  summary.csv of `reach erf`\n"
                   "        a ladder: ERF at every threshold, a row a model (ladder.gp)\n"
                   "  ppl.csv of `reach ppl`\n"
                   "        perplexity over the context, or the window of cached inference, a line a model (ppl.gp)\n"
                   "  trf.csv of `reach trf`, with results of `reach erf`\n"
                   "        theoretical fields beside the measured ones, matched by name (fields.gp): TRF(eps) with eps nearest "
                   "to 1 - Q beside ERF(Q), whose interval is that of the curve's band\n",
    .examples = "  reach plot reach-erf --format svg,pdf\n  reach plot runs/7-erf runs/8-erf/erf.h5 old/curve.csv -o compare\n"
                "  reach plot windows/summary.csv slopes/summary.csv --train-length 128 -o ladder\n"
                "  reach plot theory/trf.csv reach-erf -o fields\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .run = plot_call,
};
