/* `reach fit`: least squares of a bias or a curve on functions of the distance ([A] section 6,
 * figure 9). */
#include "commands/commands.h"
#include "commands/fit.h"
#include "commands/rows.h"
#include "commands/verb.h"

#include <string.h>

static const char default_form[] = FIT_FORM_DEFAULT;
static const char *const quantities[] = {[FIT_C] = "c", [FIT_S] = "s", [FIT_LN_S] = "ln-s", NULL};
enum { LAST_MAX = 1 << 24 };

static int read_range(void *options, const char *value, int nth, struct error *e)
{
    struct fit_options *o = options;
    const char *colon = strchr(value, ':');
    char first[24];

    (void)nth;
    if (strcmp(value, "auto") == 0) {
        o->first = 0;
        o->last = -1;
        return 0;
    }
    if (!colon || (size_t)(colon - value) >= sizeof first)
        return fail(e, "--range: \"%s\" is not valid (expected FIRST:LAST, such as 0:8191)", value);
    snprintf(first, sizeof first, "%.*s", (int)(colon - value), value);
    if (read_whole("--range", first, 0, LAST_MAX, &o->first, e) != 0 ||
        read_whole("--range", colon + 1, 0, LAST_MAX, &o->last, e) != 0)
        return -1;
    return o->last >= o->first
               ? 0
               : fail(e, "--range: \"%s\" is not valid (expected FIRST not above LAST)", value);
}

static int write_range(FILE *f, const void *options, int nth)
{
    const struct fit_options *o = options;

    if (nth == 0 && o->last >= 0)
        fprintf(f, "%ld:%ld", o->first, o->last);
    else if (nth == 0)
        fputs("auto", f);
    return nth == 0;
}

#define OPTIONS struct fit_options

static const struct option_row rows[] = {
    {.name = "form",
     .value = "FORM",
     .standard = default_form,
     .brief = "formula of t to fit",
     .help = "a formula of t whose parameters are the coefficients (default '%s'): linear in them, "
             "except for one that may be "
             "inside a function, such as c in 'a + b*ln(1+c*t)'",
     .type = OPTION_TEXT,
     .at = AT(form),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_RECORDED | OPTION_COMMON},
    {.name = "of",
     .value = "WHAT",
     .standard = "c",
     .brief = "column of curve.csv: c, s or ln-s",
     .help = "of curve.csv: c, the share of the most recent tokens; s, that of a single one; or "
             "ln-s, its natural logarithm, of "
             "which 'a - p*ln(1+t)' is a power law and 'a - k*t' an exponential (default %s)",
     .type = OPTION_NUMBERED_CHOICE,
     .at = AT(of),
     .choices = quantities,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "range",
     .value = "FIRST:LAST",
     .standard = "auto",
     .help = "distances to fit, both included (default %s: 0:8191; for a checkpoint up to its "
             "training length; for a file all rows)",
     .type = OPTION_OWN,
     .read = read_range,
     .write = write_range,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_COMMON},
    HEADS_ROW,
    SET_ROW,
    SLOPES_ROW,
    STRICT_ROW(formulas.strict),
    FOLDER_ROW("write fit.csv and the figure, with residuals, to DIR (default: nothing is written)",
               NULL),
    FORCE_ROW("overwrite results in DIR"),
    FORMAT_ROW,
    WIDE_ROW,
    TABLE_ROW,
    JSON_ROW,
    QUIET_ROW,
};

static const struct operand_row operands[] = {{.name = "FORMULA, PRESET, MODEL or CSV",
                                               .expected = "for example sandwich, or curve.csv",
                                               .at = AT(argument),
                                               .flags = OPERAND_FORMULA}};

static int fit_call(struct call *c, struct error *e)
{
    struct fit_run r = {.options = c->options,
                        .progress = &c->terminal.progress,
                        .command = c->command,
                        .quantity = "y"};
    int status;

    status = (int)fit_run(&r, e);
    if (status == EXIT_DONE && (c->json ? verb_document(c, &r, &r, e) : fit_print(&r, e)) != 0)
        status = EXIT_FAILED;
    fit_run_free(&r);
    return status;
}

const struct verb fit_verb = {
    .name = "fit",
    .summary = "least squares on a bias or a curve",
    .synopsis = "(FORMULA | PRESET | MODEL | CSV) [-o DIR] [options]",
    .description = "Fits a form to position biases over the distance t by ordinary least squares, "
                   "for each head, and prints the "
                   "coefficients with their standard errors, R^2 and the standard deviation of the "
                   "residuals.\n"
                   "\n"
                   "The argument is a preset if it names one, else a file or checkpoint if it is a "
                   "path that exists, else a formula (`man "
                   "reach-formula`); an argument that begins with a dash is a formula, with ./ or "
                   "/ a path, with hf: a model in the local "
                   "cache. A CSV file is bias.csv, curve.csv (its c is fitted, or the column that "
                   "--of names), or two columns t, y.\n"
                   "\n"
                   "For the preset sandwich, the log curve that Chi et al. (2023) print for it is "
                   "compared with what each "
                   "reading of its definition gives.\n",
    .examples = "  reach fit sandwich --range 0:8191 --heads 1 -o sandwich-fit\n"
                "  reach fit reach-erf/curve.csv --form 'a + b*ln(1+c*t)'\n"
                "  reach fit reach-erf/curve.csv --of ln-s --form 'a - p*ln(1+t)' --range 1:511\n"
                "  reach fit runs/t5 --range 0:511\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .shown = fit_shown,
    .files = fit_files,
    .run = fit_call,
};
