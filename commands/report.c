/* `reach report`: saved results as a page. */
#include "commands/report.h"

#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/screen.h"
#include "commands/verb.h"

#include <stdio.h>

static int report_call(struct call *c, struct error *e)
{
    const struct report_options *o = c->options;
    struct report_run r = {.options = o,
                           .progress = &c->terminal.progress,
                           .command = c->command,
                           .put = report_page};
    int rc = report_run(&r, e);

    if (rc == 0)
        printf("%s\n", screen_text(o->path));
    report_run_free(&r);
    return rc;
}

#define OPTIONS struct report_options

static const struct option_row rows[] = {
    {.name = "o",
     .value = "FILE",
     .standard = "report.html",
     .help = "the page",
     .type = OPTION_TEXT,
     .at = AT(path),
     .group = GROUP_OUTPUT},
    FORCE_ROW("overwrite the page"),
    QUIET_ROW,
};

static const struct operand_row operands[] = {
    {.name = "RESULT",
     .expected = "a folder of results, an erf.h5 or a CSV",
     .at = AT(results),
     .flags = OPERAND_LIST | OPERAND_BY_STEP}};

const struct verb report_verb = {
    .name = "report",
    .summary =
        "saved results as one web page: sentences, tables, figures, the command that repeats them",
    .synopsis = "RESULT... [-o FILE] [options]",
    .description =
        "Writes saved results as one HTML page that needs no other file and no network. It begins "
        "with the names of the models and their fields. For each RESULT it has the findings in "
        "plain words, the tables and figures, the shaded texts of `reach explain`, what was "
        "measured and with which models, and the command that repeats it. The page is light or "
        "dark, as the browser prefers, and can be printed.\n"
        "\n"
        "RESULT is a folder that `reach erf`, ppl, trf, fit, bias or explain has written "
        "(everything in it is taken), "
        "an erf.h5, or one of their CSV files. Intervals and fields of an erf.h5 are computed "
        "again from its norms. "
        "Of long CSV tables the page has the first rows, of curve.csv only the figure.\n"
        "\n"
        "Figures are those of `reach plot` and `reach erf`, drawn by gnuplot; without it the page "
        "has tables "
        "and words, and a line on standard error says so.\n",
    .examples = "  reach report reach-erf\n"
                "  reach report run-8 run-8-ppl theory/trf.csv -o run-8.html\n",
    .operands = operands,
    .operand_count = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .computes = 1,
    .run = report_call,
};
