/* `reach trf`: the theoretical receptive field of position biases ([B] theorem 0.4, eq. 22). */
#include "commands/commands.h"
#include "commands/run_options.h"
#include "run/models.h"
#include "run/results.h"
#include "commands/trf.h"

#include "plots/figure.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum option {
    OPTION_HEADS,
    OPTION_EPSILON,
    OPTION_SET,
    OPTION_LENGTH,
    OPTION_LAYERS,
    OPTION_SLOPES,
    OPTION_STRICT,
    OPTION_EXPLAIN,
    OPTION_FOLDER,
    OPTION_FORCE,
    OPTION_FORMAT,
    OPTION_COUNT
};

static const struct argument_row rows[OPTION_COUNT] = {
    [OPTION_HEADS] = HEADS_ROW,
    [OPTION_EPSILON] = {"epsilon", "EPS",
                        "share of the mass that may lie beyond the field, 0 < EPS < 1, read as the exact decimal (default 0.01); "
                        "may be repeated"},
    [OPTION_SET] = SET_ROW,
    [OPTION_LENGTH] =
        {"length", "L",
         "also the field of the first L distances, which exists whether or not the series converges; may be repeated"},
    [OPTION_LAYERS] = {"layers", "R",
                       "also the field across R such layers: of the R-fold convolution of the normalized kernel; with a window "
                       "beside the bound w R and the exact cone R(w-1)+1"},
    [OPTION_SLOPES] = SLOPES_ROW,
    [OPTION_STRICT] = STRICT_ROW,
    [OPTION_EXPLAIN] = {"explain", NULL, "print how each verdict was proved"},
    [OPTION_FOLDER] = {"o", "DIR", "write trf.csv and the figure there (default: nothing is written)"},
    [OPTION_FORCE] = {"force", NULL, "overwrite results in DIR"},
    [OPTION_FORMAT] = {"format", "LIST", "pictures to draw: png, svg, pdf, several with commas (default png)"},
};

static const struct verb_help help = {
    .verb = "trf",
    .synopsis = "(FORMULA | PRESET | MODEL)... [-o DIR] [options]",
    .description =
        "Computes the theoretical receptive field (TRF) of position biases. For a bias b(t) added to the attention logits at "
        "distance t, let f(t) = exp(b(t)) and B the sum of f(t) over t = 0, 1, 2 ... If B is finite, TRF(eps) is the least "
        "number j of most recent tokens whose sum of f is above (1-eps) B.\n"
        "\n"
        "All of it is certain: a verdict is `converges` or `diverges` only when proved, else `undecided`; a field is the exact "
        "integer, or an interval that contains it. Long integers are shortened on the screen (1.23e40) and whole in trf.csv.\n"
        "\n"
        "An argument is a preset if it names one (`reach bias --help` lists them), else a checkpoint if it is a path that "
        "exists, else a formula (`man reach-formula`); one that begins with a dash is a formula, one that begins with ./ or / a "
        "path. NAME=ARGUMENT names it. A formula has a row for each head if it depends on the head. A checkpoint has a row for "
        "each layer and head, and one for the mean kernel of all heads; its biases are the exact binary numbers stored. Several "
        "arguments are ranked.\n",
    .options = rows,
    .option_count = OPTION_COUNT,
    .examples = "  reach trf alibi\n"
                "  reach trf kerple_log --set p=1.05 --set a=1 --epsilon 0.01 --epsilon 0.1 --explain\n"
                "  reach trf '-ln(1+t)*2' 'alibi + window(64)' --layers 12 --length 512 --length 2048 -o reach-trf\n"
                "  reach trf examples/models/alibi examples/models/window-32\n",
};

static int add_epsilon(struct trf_options *o, const char *value, struct error *e)
{
    double ignored;

    if (o->epsilon_count == EPSILONS_MAX)
        return fail(e, "--epsilon: too many (expected at most %d)", EPSILONS_MAX);
    if (read_between("--epsilon", value, 0, 1, &ignored, e) != 0)
        return -1;
    o->epsilons[o->epsilon_count++] = value;
    return 0;
}

static int add_length(struct trf_options *o, const char *value, struct error *e)
{
    if (o->length_count == LENGTHS_MAX)
        return fail(e, "--length: too many (expected at most %d)", LENGTHS_MAX);
    if (read_unsigned("--length", value, &o->lengths[o->length_count], e) != 0)
        return -1;
    return o->lengths[o->length_count++] ? 0
                                         : fail(e, "--length: \"%s\" is not valid (expected a whole number from 1 on)", value);
}

/* 0, ARGUMENT_HELP, or -1 with a message. */
static int parse(struct trf_options *o, int argc, char **argv, struct error *e)
{
    struct arguments a = {.count = argc, .text = argv};
    const char *value;
    int option, rc = 0;

    *o = (struct trf_options){.formulas = {.heads = HEADS_DEFAULT, .verb = "trf"}, .layers = 1, .formats = "png"};
    while (rc == 0 && (option = arguments_next(&a, &help, &value, e)) != ARGUMENT_END)
        switch (option) {
        case ARGUMENT_HELP: return ARGUMENT_HELP;
        case ARGUMENT_OPERAND: rc = text_list_add(&o->arguments, value, e); break;
        case OPTION_HEADS: rc = read_heads(&o->formulas, value, e); break;
        case OPTION_EPSILON: rc = add_epsilon(o, value, e); break;
        case OPTION_SET: rc = text_list_add(&o->formulas.sets, value, e); break;
        case OPTION_LENGTH: rc = add_length(o, value, e); break;
        case OPTION_LAYERS: rc = read_whole("--layers", value, 1, LAYERS_MAX, &o->layers, e); break;
        case OPTION_SLOPES: rc = read_slopes(&o->formulas, value, e); break;
        case OPTION_STRICT: o->formulas.strict = 1; break;
        case OPTION_EXPLAIN: o->explain = 1; break;
        case OPTION_FOLDER:
            o->folder = value;
            rc = *value ? 0 : fail(e, "-o: is empty (expected a folder)");
            break;
        case OPTION_FORCE: o->force = 1; break;
        case OPTION_FORMAT:
            o->formats = value;
            rc = figure_check_formats(value, e);
            break;
        default: rc = -1; break;
        }
    if (rc == 0 && o->arguments.count == 0)
        rc = fail(e, "no FORMULA, PRESET or MODEL is given (expected for example alibi, '-2*ln(1+t)' or a checkpoint folder)");
    if (rc == 0 && o->epsilon_count == 0)
        o->epsilons[o->epsilon_count++] = "0.01";
    return rc;
}

/* Analyses, writes and prints; the folder is checked first, since the analysis may take long. EXIT_DONE, or another status with
 * *e. */
static int run(struct trf_run *r, struct error *e)
{
    static const char *const names[] = {"trf.csv", "trf.gp", NULL};
    const struct trf_options *o = r->options;
    struct results results = {.lock = -1};
    int status, drawn = 0;

    status = formula_arguments_read(&r->arguments, &o->arguments, &o->formulas, e);
    if (status == EXIT_DONE && o->folder && results_open(&results, o->folder, names, o->force, e) != 0)
        return EXIT_FAILED;
    if (status == EXIT_DONE)
        status = trf_analyze(r, e);
    if (status == EXIT_DONE && o->folder) {
        drawn = trf_write(r, e);
        status = drawn < 0 ? EXIT_FAILED : EXIT_DONE;
        if (drawn == FIGURE_NO_GNUPLOT)
            fprintf(stderr, "reach trf: %s\n", e->text);
    }
    results_close(&results);
    if (status == EXIT_DONE && (trf_print(r, e) != 0 || drawn == FIGURE_NOT_DRAWN)) /* its message is there still */
        status = EXIT_FAILED;
    return status;
}

int main_trf(int argc, char **argv)
{
    struct trf_options options;
    struct trf_run r = {.options = &options};
    struct error e = {""};
    int status = EXIT_DONE, parsed = parse(&options, argc, argv, &e);

    if (parsed == ARGUMENT_HELP) {
        verb_help_print(stdout, &help);
        goto end;
    }
    if (parsed != 0) {
        status = print_usage_error("trf", &e);
        goto end;
    }
    r.count = options.arguments.count;
    status = run(&r, &e);
    if (status == EXIT_FAILED)
        print_failure("trf", &e);
    else if (status == EXIT_USAGE)
        print_usage_error("trf", &e);
end:
    trf_run_free(&r);
    text_list_free(&options.arguments);
    text_list_free(&options.formulas.sets);
    return status;
}
