/* `reach trf`: the theoretical receptive field of position biases ([B] theorem 0.4, eq. 22). */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/screen.h"
#include "commands/trf.h"
#include "commands/verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A decimal below 1 without an exponent, with at most SWEPT_PLACES places, in units of 10^-places,
 * which grows as needed. 0, or -1 if it has another form. */
static int read_places(const char *text, size_t length, int *places, long long *units)
{
    size_t whole = strspn(text, "0"),
           digits = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;

    if (digits == 0 || digits > SWEPT_PLACES || whole + 1 + digits != length)
        return -1;
    *places = (int)digits > *places ? (int)digits : *places;
    *units = strtoll(text + whole + 1, NULL, 10);
    for (int i = (int)digits; i < *places; i++)
        *units *= 10;
    return 0;
}

/* LOW:HIGH:STEP: LOW, LOW + STEP, ... up to HIGH, as exact decimals. */
static int read_sweep(struct trf_options *o, const char *value, struct error *e)
{
    const char *high = strchr(value, ':') + 1, *step = strchr(high, ':');
    long long first = 0, last = 0, by = 0;
    int places = 0, bad = !step;

    for (int round = 0; round < 2 && !bad;
         round++) /* the second time in the units common to all three */
        bad = read_places(value, (size_t)(high - 1 - value), &places, &first) ||
              read_places(high, (size_t)(step - high), &places, &last) ||
              read_places(step + 1, strlen(step + 1), &places, &by);
    if (bad || first == 0 || by == 0 || first > last)
        return fail(e,
                    "--epsilon: \"%s\" is not valid (expected LOW:HIGH:STEP, such as "
                    "0.01:0.99:0.01, decimals above 0 and below "
                    "1 of at most %d places, LOW not above HIGH)",
                    value, SWEPT_PLACES);
    for (long long units = first; units <= last; units += by) {
        char *text = o->swept[o->epsilon_count];

        if (o->epsilon_count == EPSILONS_MAX)
            return fail(e, "--epsilon: too many (expected at most %d)", EPSILONS_MAX);
        for (int n = snprintf(text, sizeof o->swept[0], "0.%0*lld", places, units);
             text[n - 1] == '0'; n--)
            text[n - 1] = 0;
        o->epsilons[o->epsilon_count++] = text;
    }
    return 0;
}

/* One of the values; `text` is kept unless it is part of a list. */
static int take_epsilon(struct trf_options *o, const char *text, int is_part, struct error *e)
{
    struct formula_error wrong;
    size_t most = sizeof o->swept[0] - 1;

    if (strchr(text, ':'))
        return read_sweep(o, text, e);
    if (o->epsilon_count == EPSILONS_MAX)
        return fail(e, "--epsilon: too many (expected at most %d)", EPSILONS_MAX);
    if (series_epsilon(text, &wrong) != 0)
        return fail(e,
                    "--epsilon: \"%s\" is not valid (expected a decimal number above 0 and below "
                    "1, of at most 1000 digits)",
                    text);
    if (is_part && strlen(text) > most)
        return fail(e,
                    "--epsilon: \"%s\" is too long for a list (expected at most %zu characters, "
                    "or an --epsilon of its own)",
                    text, most);
    o->epsilons[o->epsilon_count] = is_part ? strcpy(o->swept[o->epsilon_count], text) : text;
    o->epsilon_count++;
    return 0;
}

/* Calls `take` for each part of a list with commas. */
static int each_part(struct trf_options *o, const char *value,
                     int (*take)(struct trf_options *, const char *, int, struct error *),
                     struct error *e)
{
    char *parts, *rest;
    int rc = 0;

    if (!strchr(value, ','))
        return take(o, value, 0, e);
    if (!(parts = rest = strdup(value)))
        return fail_memory(e, (double)strlen(value), "a list");
    for (char *part; rc == 0 && (part = strsep(&rest, ","));)
        rc = take(o, part, 1, e);
    free(parts);
    return rc;
}

/* A given value replaces the default. */
static int read_epsilon(void *options, const char *value, int nth, struct error *e)
{
    if (nth == 0)
        ((struct trf_options *)options)->epsilon_count = 0;
    return each_part(options, value, take_epsilon, e);
}

static int write_epsilon(FILE *f, const void *options, int nth)
{
    const struct trf_options *o = options;

    if (nth < o->epsilon_count)
        fputs(o->epsilons[nth], f);
    return nth < o->epsilon_count;
}

static int read_coherence(void *options, const char *value, int nth, struct error *e)
{
    struct trf_options *o = options;
    struct formula_error wrong;

    (void)nth;
    o->coherence = value;
    return series_epsilon(value, &wrong) == 0
               ? 0
               : fail(e,
                      "--coherence: \"%s\" is not valid (expected a decimal number above 0 and "
                      "below 1, of at most 1000 digits)",
                      value);
}

static int write_coherence(FILE *f, const void *options, int nth)
{
    const struct trf_options *o = options;

    if (nth == 0 && o->coherence)
        fputs(o->coherence, f);
    return nth == 0 && o->coherence;
}

static int take_length(struct trf_options *o, const char *text, int is_part, struct error *e)
{
    (void)is_part;
    if (o->length_count == LENGTHS_MAX)
        return fail(e, "--length: too many (expected at most %d)", LENGTHS_MAX);
    if (read_unsigned("--length", text, &o->lengths[o->length_count], e) != 0 ||
        !o->lengths[o->length_count])
        return fail(e, "--length: \"%s\" is not valid (expected a whole number from 1 to %llu)",
                    text, (unsigned long long)UINT64_MAX);
    o->length_count++;
    return 0;
}

static int read_length(void *options, const char *value, int nth, struct error *e)
{
    (void)nth;
    return each_part(options, value, take_length, e);
}

static int write_length(FILE *f, const void *options, int nth)
{
    const struct trf_options *o = options;

    if (nth < o->length_count)
        fprintf(f, "%llu", (unsigned long long)o->lengths[nth]);
    return nth < o->length_count;
}

#define OPTIONS struct trf_options

static const struct option_row rows[] = {
    {.name = "epsilon",
     .value = "EPS",
     .standard = "0.01",
     .brief = "share of the mass beyond the field",
     .help = "share of the mass that may lie beyond the field, 0 < EPS < 1, read as the exact "
             "decimal (default %s), or all from "
             "LOW to "
             "HIGH as LOW:HIGH:STEP; several with commas, or repeated",
     .type = OPTION_OWN,
     .read = read_epsilon,
     .write = write_epsilon,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_REPEATED | OPTION_COMMON},
    {.name = "length",
     .value = "L",
     .brief = "also the field of the first L distances",
     .help = "also the field of the first L distances, which exists whether or not the series "
             "converges; several with commas, or repeated",
     .type = OPTION_OWN,
     .read = read_length,
     .write = write_length,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_REPEATED | OPTION_COMMON},
    {.name = "layers",
     .value = "R",
     .standard = "1",
     .brief = "also the field across R layers",
     .help = "also the field across R such layers, from the R-fold convolution of the normalized "
             "kernel; with a window also the "
             "bound w R and the exact cone R(w-1)+1",
     WHOLE_AT(layers, 1, LAYERS_MAX),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_COMMON},
    {.name = "coherence",
     .value = "EPS",
     .brief = "rotary: where the slowest pair falls below EPS",
     .help = "for rotary positions, also the first distance at which the cosine of the slowest "
             "pair, to the power of the layers "
             "it is in, is below EPS, 0 < EPS < 1 (arXiv:2602.10959)",
     .type = OPTION_OWN,
     .read = read_coherence,
     .write = write_coherence,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    {.name = "effort",
     .value = "S",
     .brief = "at most about S seconds for each number",
     .help =
         "spend at most about S seconds of processor time on a head and on each of its "
         "numbers; then the answer is the best "
         "interval so far, or `undecided`, and a line says what was not settled (default: "
         "about three seconds for each, counted in work, so that the answer is the same on every "
         "machine)",
     .type = OPTION_REAL,
     .at = AT(effort),
     .low = 0,
     .high = 1e6,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    {.name = "train-length",
     .value = "N",
     .brief = "training length of the models, in tokens",
     .help = "training length of a model in tokens, if its checkpoint does not say it, or for a "
             "formula with --layers R; then a line "
             "says how much of the weight of all layers is within it",
     WHOLE_AT(train_length, 1, 1 << 17),
     .group = GROUP_MEASURED},
    HEADS_ROW,
    SET_ROW,
    SLOPES_ROW,
    STRICT_ROW(formulas.strict),
    {.name = "explain",
     .help = "print how each verdict was proved",
     .type = OPTION_FLAG,
     .at = AT(explain),
     .group = GROUP_OUTPUT,
     .flags = OPTION_COMMON},
    {.name = "certificate",
     .value = "FILE",
     .brief = "write what was proved to FILE",
     .help = "write what was proved to FILE, in numbers that an independent checker can verify "
             "(doc/certificate.md)",
     .type = OPTION_TEXT,
     .at = AT(certificate),
     .group = GROUP_OUTPUT},
    FOLDER_ROW("write the tables and the figure to DIR (default: nothing is written)", NULL),
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

/* The current head where the bar is else, after a second and a half. */
static void show(struct progress *p, const char *what)
{
    if (what)
        terminal_line((struct terminal *)p);
    if (!((struct terminal *)p)->bar || progress_now() - p->measuring <= 1.5)
        return;
    if (what)
        fprintf(stderr, "\rreach trf: %s\033[K", screen_text(what));
    else
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

static int trf_call(struct call *c, struct error *e)
{
    struct trf_run r = {.options = c->options,
                        .progress = &c->terminal.progress,
                        .command = c->command};
    int status;

    c->terminal.progress.show = show;
    c->terminal.progress.unit = "heads";
    status = (int)trf_run(&r, e);
    if (status == EXIT_DONE && (c->json ? verb_document(c, &r, &r, e) : trf_print(&r, e)) != 0)
        status = EXIT_FAILED;
    trf_run_free(&r);
    return status;
}

const struct verb trf_verb = {
    .name = "trf",
    .summary = "from a formula alone: does its series converge, and how far does the field reach",
    .synopsis = "(FORMULA | PRESET | MODEL)... [-o DIR] [options]",
    .description =
        "Computes the theoretical receptive field (TRF) of position biases. For a bias "
        "b(t) added to the attention logits at "
        "distance t, let f(t) = exp(b(t)) and B the sum of f(t) over t = 0, 1, 2 ... If "
        "B is finite, TRF(eps) is the least "
        "number j of most recent tokens whose sum of f is above (1-eps) B.\n"
        "\n"
        "Every answer is certain: a verdict is `converges` or `diverges` only when "
        "proved, else `undecided`; a field is the "
        "exact integer, or an interval that contains it. Long integers are shortened on "
        "the screen (1.23e40) and whole in "
        "trf.csv.\n"
        "\n"
        "An argument is a preset if it names one (`reach bias --help --all` lists them), else "
        "a checkpoint if it is a path that "
        "exists, else a formula (`man reach-formula`); an argument that begins with a "
        "dash is a formula, with ./ or / a path, "
        "with hf: a model in the local cache, with rope: a rotation, "
        "SIZE[/HEAD][,SPEC]. NAME=ARGUMENT gives it a name. @FILE is "
        "a CSV table of formulas: a column `formula`, a column `name` if they are to "
        "have names, and one for each parameter; a "
        "cell goes before --set, an empty one sets nothing. A formula has a row for "
        "each head if it depends on the head. A "
        "checkpoint has a row for each layer and head, and one for the mean kernel of "
        "all heads; its biases are the exact binary "
        "numbers stored. For rotary positions it finds the first distance at which the "
        "sum of their cosines is below 0 "
        "(arXiv:2405.14591), and how far the slowest pair has turned "
        "(arXiv:2602.10959). Several arguments are ranked.\n",
    .examples =
        "  reach trf alibi\n"
        "  reach trf kerple_log --set p=1.05 --set a=1 --epsilon 0.01 --epsilon 0.1 --explain\n"
        "  reach trf '-ln(1+t)*2' 'alibi + window(64)' --layers 12 --length 512 --length 2048 -o "
        "reach-trf\n"
        "  reach trf examples/models/alibi examples/models/window-40\n"
        "  reach trf rope:128,base=500000 rope:64,base=500000,linear:factor=4 --train-length "
        "8192\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .shown = trf_shown,
    .files = trf_files,
    .run = trf_call,
};
