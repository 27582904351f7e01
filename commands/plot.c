/* `reach plot`: figures of saved results. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/screen.h"
#include "commands/verb.h"
#include "run/plot/plot.h"
#include "run/steps.h"

#include <string.h>

/* Draws, and names the new pictures, or without gnuplot the scripts. */
static int plot_call(struct call *c, struct error *e)
{
    const struct plot_options *o = c->options;
    struct plot_run r = {.options = o, .progress = &c->terminal.progress, .command = c->command};
    int rc = plot_run(&r, e);

    for (size_t i = 0; rc == 0 && r.drawn != FIGURE_NOT_DRAWN && i < r.figure_count; i++)
        for (const char *rest = r.drawn ? "gp" : o->formats; *rest;
             rest += strcspn(rest, ","), rest += *rest == ',')
            printf("%s/%s.%.*s\n", screen_text(o->folder), r.figures[i]->stem,
                   (int)strcspn(rest, ","), rest);
    plot_run_free(&r);
    return rc;
}

static int check_length(const char *text, struct error *e)
{
    double mm;
    int is_pixels;

    return figure_read_length(text, &mm, &is_pixels, e);
}

/* Refuses conflicting options. */
static int plot_check(void *options, struct error *e)
{
    struct plot_options *o = options;

    if (o->title && o->no_title)
        return fail(e, "--title and --no-title are both given (expected one of them)");
    if (o->font && figure_has_panel(o->formats, "tikz"))
        return fail(e, "--font: is not for tikz, which has the font of its document (expected only "
                       "--font-size)");
    for (int i = 0; i < o->labels.count; i++)
        if (!strchr(o->labels.item[i], '=') || o->labels.item[i][0] == '=')
            return fail(e, "--label: \"%s\" is not valid (expected NAME=TEXT)", o->labels.item[i]);
    return o->steps ? 0 : steps_sort(&o->results, STEPS_NUMBERS, e);
}

static const char *const colour_choices[] = {"distinct", "sequential", NULL};

#define OPTIONS struct plot_options

static const struct option_row rows[] = {
    FOLDER_ROW("folder for scripts and pictures", "reach-plot"),
    {.name = "figure",
     .value = "LIST",
     .help = "the figures to draw, such as erf,attention (default: all that the RESULTs have)",
     .group = GROUP_FIGURE,
     .type = OPTION_TEXT,
     .at = AT(figures),
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "threshold",
     .value = "Q",
     .help = "the threshold whose ERF is marked, 0 < Q < 1 (default: that of the first result, or "
             "0.99)",
     .group = GROUP_FIGURE,
     .type = OPTION_REAL,
     .at = AT(threshold),
     .low = 0,
     .high = 1,
     .flags = OPTION_RESULT},
    TRAIN_LENGTH_ROW("training length of the models in tokens, to mark it if a result does not say "
                     "it (curve.csv, summary.csv, "
                     "ppl.csv, gain.csv and validation.csv do not)"),
    {.name = "only",
     .value = "A,B",
     .help = "draw only what has these names; may be repeated",
     .group = GROUP_FIGURE,
     .type = OPTION_LIST,
     .at = AT(only),
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "label",
     .value = "NAME=TEXT",
     .help = "show NAME as TEXT; may be repeated. The text is drawn as it is, in every format",
     .group = GROUP_FIGURE,
     .type = OPTION_LIST,
     .at = AT(labels),
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "steps",
     .value = "LIST",
     .brief = "the training step of each curve, in order",
     .help = "the step of training of each curve, in order, such as 1000,2000,4000 (default: from "
             "names such as step-1000 or "
             "checkpoint-1000)",
     .group = GROUP_FIGURE,
     .type = OPTION_TEXT,
     .at = AT(steps),
     .flags = OPTION_RESULT},
    {.name = "panels",
     .value = "LIST",
     .help = "panels of the figure: head,tail of erf; field,share of steps; map,tail of layers; "
             "ppl,ratio of ppl; size,share of "
             "validation; weight,tail of trf; linear,log of "
             "bias and fit; bias,attention of matrix (default: all that have something to show)",
     .group = GROUP_FIGURE,
     .type = OPTION_TEXT,
     .at = AT(panels),
     .flags = OPTION_RESULT},
    {.name = "xlog",
     .help = "a logarithmic axis of positions (erf) or steps",
     .group = GROUP_FIGURE,
     .type = OPTION_FLAG,
     .at = AT(logarithmic_x),
     .flags = OPTION_RESULT},
    {.name = "width",
     .value = "LENGTH",
     .help = "width of the picture, such as 85mm, 3.3in or 1200px: text keeps its size, and panels "
             "go below each other (default: "
             "260mm; png 1600px)",
     .group = GROUP_FIGURE,
     .type = OPTION_TEXT,
     .at = AT(width),
     .check = check_length,
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "height",
     .value = "LENGTH",
     .help = "height of the picture (default: as the panels need it)",
     .group = GROUP_FIGURE,
     .type = OPTION_TEXT,
     .at = AT(height),
     .check = check_length,
     .flags = OPTION_RESULT},
    {.name = "font",
     .value = "NAME",
     .help = "font of all texts (default: DejaVu Sans); not for tikz",
     .group = GROUP_FIGURE,
     .type = OPTION_TEXT,
     .at = AT(font),
     .flags = OPTION_RESULT},
    {.name = "font-size",
     .value = "PT",
     .help = "size of the text in points, between 3 and 40 (default: 8 with --width)",
     .group = GROUP_FIGURE,
     .type = OPTION_REAL,
     .at = AT(font_size),
     .low = 3,
     .high = 40,
     .flags = OPTION_RESULT},
    {.name = "title",
     .value = "TEXT",
     .help = "title over the picture",
     .group = GROUP_FIGURE,
     .type = OPTION_TEXT,
     .at = AT(title),
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "no-title",
     .help = "no title, and no headings over panels",
     .group = GROUP_FIGURE,
     .type = OPTION_FLAG,
     .at = AT(no_title),
     .flags = OPTION_RESULT},
    {.name = "legend",
     .value = "PLACE",
     .brief = "place of the legend",
     .help = "below the panels, in a corner of the first one (top-left, top-right, bottom-left, "
             "bottom-right), or none (default: "
             "below)",
     .group = GROUP_FIGURE,
     .type = OPTION_CHOICE,
     .at = AT(legend),
     .choices = legend_places,
     .flags = OPTION_RESULT},
    {.name = "colours",
     .value = "KIND",
     .standard = "distinct",
     .brief = "distinct or sequential",
     .help = "distinct, or sequential: dark to light in the order of the curves, for example for "
             "checkpoints of one training, "
             "which are sorted by step",
     .group = GROUP_FIGURE,
     .type = OPTION_NUMBERED_CHOICE,
     .at = AT(sequential),
     .choices = colour_choices,
     .flags = OPTION_RESULT},
    FORMAT_ROW,
    FORCE_ROW("overwrite the figures in DIR"),
    QUIET_ROW,
};

static const struct operand_row operands[] = {
    {.name = "RESULT",
     .expected = "a folder of results, an erf.h5 or a CSV",
     .at = AT(results),
     .flags = OPERAND_LIST}};

const struct verb plot_verb = {
    .name = "plot",
    .summary = "redraw or combine saved results",
    .synopsis = "RESULT... [-o DIR] [options]",
    .description = "Draws saved results. What is drawn follows from the RESULTs:\n"
                   "\n"
                   "  a folder of results\n"
                   "        everything in it, as below, except summary.csv. The curves of several "
                   "folders go into one figure; names that "
                   "occur twice are distinguished by their folders.\n"
                   "  erf.h5 or curve.csv of `reach erf`\n"
                   "        the curves (erf.gp); for erf.h5 also layers.gp and targets.gp, if it "
                   "has several layers or targets. Curves of "
                   "different lengths are aligned at the target, on the right. If the names of the "
                   "curves state training steps, also the "
                   "field over the step (steps.gp).\n"
                   "  attention.csv of `reach erf`\n"
                   "        the field of each head: points (attention.gp), and a map of layers and "
                   "heads (heads.gp)\n"
                   "  validation.csv of `reach erf --validate`\n"
                   "        how the loss changes if the text before the last k tokens is replaced, "
                   "over k and over the share of the "
                   "gradient that was replaced (validation.gp)\n"
                   "  summary.csv of `reach erf`\n"
                   "        a ladder: ERF at every threshold, one row per model (ladder.gp)\n"
                   "  ppl.csv of `reach ppl`\n"
                   "        perplexity over the context, or the window of cached inference, one "
                   "line per model (ppl.gp); with the FILE of "
                   "--per-token of the same run also over the perplexity at the training length, "
                   "with paired intervals\n"
                   "  gain.csv of `reach ppl --gain`\n"
                   "        the share of the targets for which a context is enough (gain.gp)\n"
                   "  trf.csv of `reach trf`, with results of `reach erf`\n"
                   "        theoretical fields beside the measured ones, matched by name "
                   "(fields.gp; names that do not match are told, and left out if others do): "
                   "TRF(eps) with eps nearest "
                   "to 1 - Q beside ERF(Q), whose interval is that of the curve's band\n"
                   "  trf.csv of `reach trf` with several --epsilon\n"
                   "        TRF over epsilon, a line for each encoding, length and depth, of its "
                   "last head where they differ "
                   "(epsilon.gp)\n"
                   "  weights.csv of `reach trf`\n"
                   "        weights by distance, and the share beyond the most recent tokens "
                   "(trf.gp)\n"
                   "  bias.csv of `reach bias`, fit.csv of `reach fit`\n"
                   "        biases over the distance (bias.gp) and their matrices (matrix.gp); the "
                   "fitted curves (fit.gp)\n"
                   "\n"
                   "An option that one of the figures cannot take is refused; --figure chooses "
                   "those that can.\n",
    .examples = "  reach plot reach-erf --format svg,pdf\n  reach plot runs/7-erf "
                "runs/8-erf/erf.h5 old/curve.csv -o compare\n"
                "  reach plot run --figure erf --panels tail --width 85mm --no-title --label "
                "base='Base, 7B' --format pdf\n"
                "  reach plot step-1000 step-2000 step-4000 --colours sequential -o training\n"
                "  reach plot windows/summary.csv slopes/summary.csv --train-length 128 -o ladder\n"
                "  reach plot theory/trf.csv reach-erf -o fields\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .check = plot_check,
    .run = plot_call,
};
