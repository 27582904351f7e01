/* `reach bias`: position biases as tables, heat maps and curves. */
#include "commands/commands.h"
#include "run/formula_arguments.h"
#include "commands/rows.h"
#include "run/models.h"
#include "run/results.h"
#include "commands/table.h"
#include "commands/verb.h"

#include "io/csv.h"
#include "plots/figure.h"
#include "plots/matrix.h"
#include "version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS_SHOWN = 8, CURVES_MAX = 24, PANELS_MAX = 16 };

struct bias_options {
    struct formula_options formulas;
    struct text_list arguments;
    long length;
    const char *folder, *formats;
    int force;
};

/* One bias of one argument, its values at all distances. */
struct bias_values {
    const struct formula_argument *argument;
    int bias, rows;
    double *table; /* [rows, length] */
};

struct bias_run {
    const struct bias_options *options;
    const char *command; /* as it is recorded */
    struct formula_argument *arguments;
    int count;
    struct bias_values *values;
    int value_count;
};

/* ---- presets, in the help ---- */

static void print_presets(void)
{
    puts("\nPresets (NAME with its parameters and their defaults; those without one are given in parentheses or by --set):");
    for (int i = 0; i < formula_preset_count; i++) {
        const struct formula_preset *p = &formula_presets[i];
        int many = strlen(p->parameters) > 30;
        const char *last = strrchr(p->parameters, ',');

        if (many)
            printf("  %s(%.*s,...%s)\n", p->name, (int)strcspn(p->parameters, ","), p->parameters, last ? last : "");
        else
            printf("  %s%s%s%s\n", p->name, *p->parameters ? "(" : "", p->parameters, *p->parameters ? ")" : "");
        printf("      %s\n", p->summary);
        if (strlen(p->body) <= 90)
            printf("      %s\n", p->body);
    }
}

/* ---- values ---- */

static int evaluate(struct bias_run *r, struct error *e)
{
    size_t length = (size_t)r->options->length, total = 0;

    for (int i = 0; i < r->count; i++)
        total += (size_t)r->arguments[i].set.bias_count;
    r->values = calloc(total + 1, sizeof *r->values);
    if (!r->values)
        return fail_memory(e, (double)total * sizeof *r->values, "the biases");
    for (int i = 0; i < r->count; i++)
        for (int b = 0; b < r->arguments[i].set.bias_count; b++) {
            const struct formula_argument *a = &r->arguments[i];
            struct bias_values *v = &r->values[r->value_count];
            size_t bytes;

            if (!a->set.biases[b].formula)
                continue;
            *v = (struct bias_values){.argument = a, .bias = b, .rows = bias_rows(&a->set, &a->set.biases[b])};
            if (__builtin_mul_overflow((size_t)v->rows * sizeof *v->table, length, &bytes) || !(v->table = malloc(bytes)))
                return fail_memory(e, (double)v->rows * (double)length * sizeof *v->table, "a table of the bias");
            r->value_count++;
            if (bias_table(v->table, &a->set, &a->set.biases[b], length, a->label, e) != 0)
                return -1;
        }
    return 0;
}

/* ---- screen ---- */

static int print_values(const struct bias_run *r, const struct bias_values *v, struct error *e)
{
    const struct formula_argument *a = v->argument;
    int shown = v->rows < HEADS_SHOWN ? v->rows : HEADS_SHOWN, rc;
    char alignment[HEADS_SHOWN + 2] = "r", layers[128];
    struct table *t;
    long length = r->options->length;

    bias_layers_text(layers, sizeof layers, &a->set, v->bias);
    printf("%s%s%s", a->label, layers[0] ? ", " : "", layers);
    if (strcmp(a->set.biases[v->bias].formula->source, a->label) != 0 && strlen(a->set.biases[v->bias].formula->source) <= 100)
        printf(": %s", a->set.biases[v->bias].formula->source);
    if (a->set.biases[v->bias].reason[0])
        printf(" (the window alone: %s)", a->set.biases[v->bias].reason);
    if (v->rows > shown)
        printf(" (%d of %d heads)", shown, v->rows);
    putchar('\n');
    memset(alignment + 1, 'r', (size_t)shown);
    t = table_create(alignment);
    if (t) {
        table_cell(t, "distance");
        for (int k = 0; k < shown; k++) {
            int head = shown == 1 ? 0 : k * (v->rows - 1) / (shown - 1);

            if (v->rows == 1)
                table_cell(t, "all heads");
            else
                table_cell(t, "head %d", head + 1);
        }
        for (long at = 0, next; at < length; at = next) {
            table_cell(t, "%ld", at);
            for (int k = 0; k < shown; k++) {
                int head = shown == 1 ? 0 : k * (v->rows - 1) / (shown - 1);

                table_cell(t, "%.6g", v->table[(size_t)head * (size_t)length + (size_t)at]);
            }
            next = at < 4 ? at + 1 : (at & (at - 1)) == 0 ? at + at / 2 : at / 3 * 4; /* 4 6 8 12 16 24 ... */
            if (next > length - 1 && at < length - 1)
                next = length - 1;
        }
    }
    rc = t ? table_print(stdout, t) : -1;
    table_free(t);
    return rc == 0 ? 0 : fail(e, "out of memory for the table");
}

static int print_all(const struct bias_run *r, struct error *e)
{
    int printed = 0;

    for (int i = 0; i < r->count; i++)
        for (int b = 0; b < r->arguments[i].set.bias_count; b++)
            if (!r->arguments[i].set.biases[b].formula) {
                char layers[128];

                bias_layers_text(layers, sizeof layers, &r->arguments[i].set, b);
                printf("%s%s%s%s: no bias: %s\n", printed++ ? "\n" : "", r->arguments[i].label, layers[0] ? ", " : "", layers,
                       r->arguments[i].set.biases[b].reason);
            }
    for (int i = 0; i < r->value_count; i++) {
        if (printed++)
            putchar('\n');
        if (print_values(r, &r->values[i], e) != 0)
            return -1;
    }
    return 0;
}

/* ---- files ---- */

static int write_csv(const struct bias_run *r, const char *const *comments, const char *path, struct atomic_file *out,
                     struct error *e)
{
    struct csv *csv = csv_create(path, comments, "formula,head,distance,bias,layer", e);
    size_t length = (size_t)r->options->length;

    if (!csv)
        return -1;
    for (int i = 0; i < r->value_count; i++) {
        const struct bias_values *v = &r->values[i];
        const struct formula_argument *a = v->argument;

        for (int layer = 0; layer < (a->set.layers ? a->set.layers : 1); layer++)
            for (int row = 0; row < v->rows && (!a->set.layers || a->set.bias_of_layer[layer] == v->bias); row++)
                for (size_t t = 0; t < length; t++) {
                    csv_text(csv, a->label);
                    if (v->rows > 1)
                        csv_whole(csv, row + 1);
                    else
                        csv_text(csv, "all");
                    csv_whole(csv, (long long)t);
                    csv_real(csv, v->table[(size_t)row * length + t]);
                    if (a->set.layers)
                        csv_whole(csv, layer + 1);
                    else
                        csv_empty(csv);
                    csv_end_row(csv);
                }
    }
    return csv_stage(csv, out, e);
}

static int add_drawn(struct matrix_bias *out, const struct bias_values *v, int row, size_t length, struct error *e)
{
    char layers[64], *label = NULL;

    bias_layers_text(layers, sizeof layers, &v->argument->set, v->bias);
    if ((v->rows > 1
             ? asprintf(&label, "%s%s%s, head %d of %d", v->argument->label, layers[0] ? ", " : "", layers, row + 1, v->rows)
             : asprintf(&label, "%s%s%s", v->argument->label, layers[0] ? ", " : "", layers)) < 0)
        return fail(e, "out of memory for the figure");
    *out = (struct matrix_bias){label, v->table + (size_t)row * length};
    return 0;
}

static int write_figures(const struct bias_run *r, const char *const *comments, struct error *e)
{
    const struct bias_options *o = r->options;
    struct matrix_bias drawn[CURVES_MAX] = {{0}};
    size_t length = (size_t)o->length;
    int heads = r->value_count == 1 ? (r->values[0].rows < HEADS_SHOWN ? r->values[0].rows : HEADS_SHOWN) : 1, count = 0, rc = 0,
        drawn_rc = 0;

    for (int i = 0; i < r->value_count && count < CURVES_MAX && rc == 0; i++)
        for (int k = 0; k < heads && rc == 0; k++) {
            int last = r->values[i].rows - 1;

            rc = add_drawn(&drawn[count], &r->values[i], heads == 1 ? last : k * last / (heads - 1), length, e);
            count += rc == 0;
        }
    if (rc == 0 && count > 0) {
        int panels = heads > 1 ? 1 : count < PANELS_MAX ? count : PANELS_MAX;

        drawn_rc = figure_bias(o->folder, "bias", drawn, (size_t)count, length, comments, o->formats, e);
        rc = drawn_rc < 0 ? -1
                          : figure_matrix(o->folder, "matrix", drawn + (heads > 1 ? count - 1 : 0), (size_t)panels, length,
                                          comments, o->formats, e);
        rc = rc >= 0 && drawn_rc > rc ? drawn_rc : rc;
    }
    for (int i = 0; i < count; i++)
        free((char *)drawn[i].label);
    return rc;
}

static int write_all(const struct bias_run *r, struct error *e)
{
    static const char *const names[] = {"bias.csv", NULL}, *const stems[] = {"bias", "matrix", NULL};
    struct results_files ready = {.count = 1};
    char *command = command_comment(r->command), *path = results_path(r->options->folder, "bias.csv", e);
    const char *comments[] = {"reach " REACH_VERSION, command,
                              "units: distance in tokens, bias in natural logarithms of attention weight; head all: all heads "
                              "alike; layer of a checkpoint, from 1",
                              NULL};
    int rc = -1;

    if (!command)
        fail(e, "%s: out of memory", r->options->folder);
    else if (path && write_csv(r, comments, path, &ready.file[0], e) == 0 &&
             results_place(&ready, r->options->folder, names, stems, e) == 0) {
        comments[2] = NULL;
        rc = write_figures(r, comments, e);
    }
    free(command);
    free(path);
    return rc;
}

/* ---- the whole ---- */

static void bias_run_free(struct bias_run *r)
{
    for (int i = 0; i < r->value_count; i++)
        free(r->values[i].table);
    free(r->values);
    formula_arguments_free(r->arguments, r->count);
}

static int bias_call(struct call *c, struct error *e)
{
    struct bias_options *o = c->options;
    struct bias_run r = {.options = o, .command = c->command, .count = o->arguments.count};
    int status;

    status = (int)formula_arguments_read(&r.arguments, &o->arguments, &o->formulas, &c->terminal.progress, e);
    if (status == EXIT_DONE)
        status = call_lock(c, e);
    if (status == EXIT_DONE)
        status = evaluate(&r, e);
    if (status == EXIT_DONE && o->folder)
        status = call_drawn(c, write_all(&r, e), e);
    if (status == EXIT_DONE)
        status = print_all(&r, e);
    bias_run_free(&r);
    return status;
}

#define OPTIONS struct bias_options

static const struct option_row rows[] = {
    {.name = "length",
     .value = "N",
     .standard = "2048",
     .help = "distances 0 to N-1",
     WHOLE_AT(length, 1, 1 << 24),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    HEADS_ROW,
    SET_ROW,
    SLOPES_ROW,
    STRICT_ROW(formulas.strict),
    FOLDER_ROW("write bias.csv and the figures there (default: nothing is written)", NULL),
    FORCE_ROW("overwrite results in DIR"),
    FORMAT_ROW,
};

static const struct operand_row operands[] = {{.name = "FORMULA, PRESET or MODEL",
                                               .expected = "for example alibi, '-2*ln(1+t)' or a checkpoint folder",
                                               .at = AT(arguments),
                                               .flags = OPERAND_LIST | OPERAND_FORMULA}};

static const char *const files[] = {"bias.csv", "bias.gp", "matrix.gp", NULL};

const struct verb bias_verb = {
    .name = "bias",
    .summary = "values and pictures of position biases",
    .synopsis = "(FORMULA | PRESET | MODEL)... [-o DIR] [options]",
    .description = "Prints the bias b(t) that is added to the attention logits at distance t, for each head. An argument is a "
                   "preset if it names one, else a checkpoint if it is a path that exists, else a formula (`man reach-formula`); "
                   "one that begins with a dash is a formula, one that begins with ./ or / a path. NAME=ARGUMENT names it.\n"
                   "\n"
                   "Written to DIR:\n"
                   "  bias.csv    b(t) of every head at every distance\n"
                   "  bias.gp     the last row of the bias matrix, of all heads of one argument or the last head of several, and "
                   "its pictures\n"
                   "  matrix.gp   heat maps of the last head's bias matrix and of the attention it makes alone; of more than "
                   "three biases a grid\n",
    .examples = "  reach bias alibi --heads 4\n"
                "  reach bias sandwich --heads 1 --length 8192 -o sandwich\n"
                "  reach bias 'sandwich(dbar=32)' 'sandwich(dbar=128)' 'sandwich(dbar=512)' -o by-dbar\n"
                "  reach bias 'window(64)' alibi --length 256 -o side-by-side\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .print_more = print_presets,
    .files = files,
    .run = bias_call,
};
