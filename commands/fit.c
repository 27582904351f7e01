/* `reach fit`: least squares of a bias or a curve on functions of the distance ([A] section 6, figure 9). */
#include "commands/commands.h"
#include "commands/fit.h"
#include "commands/rows.h"
#include "run/models.h"
#include "run/results.h"
#include "commands/table.h"
#include "commands/verb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char default_form[] = "a + b*ln(1+t)";
enum { LAST_DEFAULT = 8191, MODEL_LAST_DEFAULT = 2047, LAST_MAX = 1 << 24 };

/* ---- points ---- */

/* The points of one bias, a set for each head. */
static int add_bias(struct fit_run *r, const struct formula_argument *a, int bias, struct error *e)
{
    const struct fit_options *o = r->options;
    const struct layer_bias *b = &a->set.biases[bias];
    long last = o->last >= 0              ? o->last
                : !a->is_model            ? LAST_DEFAULT
                : a->set.train_length > 1 ? a->set.train_length - 1
                                          : MODEL_LAST_DEFAULT;
    size_t count = (size_t)(last - o->first) + 1, distances = (size_t)last + 1, bytes;
    int heads = bias_rows(&a->set, b), rc = 0;
    double *table;

    if (__builtin_mul_overflow((size_t)heads * sizeof *table, distances, &bytes) || !(table = malloc(bytes)))
        return fail_memory(e, (double)heads * (double)distances * sizeof *table, "a table of the bias");
    rc = bias_table(table, &a->set, b, distances, a->label, e);
    for (int h = 0; h < heads && rc == 0; h++) {
        struct fit_points *p = fit_points_add(r, a->label, count, e);

        if (!p) {
            rc = -1;
            break;
        }
        for (size_t i = 0; i < count; i++) {
            p->t[i] = (double)o->first + (double)i;
            p->y[i] = table[(size_t)h * distances + (size_t)o->first + i];
        }
        p->count = count;
        if (heads > 1)
            snprintf(p->head, sizeof p->head, "%d", h + 1);
        else
            snprintf(p->head, sizeof p->head, "all");
        bias_layers_text(p->layers, sizeof p->layers, &a->set, bias);
        if (!a->is_model)
            continue;
        p->members = calloc((size_t)a->set.layers, sizeof *p->members);
        if (!p->members)
            rc = fail_memory(e, (double)a->set.layers * sizeof *p->members, "the layers");
        for (int l = 0; l < a->set.layers && rc == 0; l++)
            if (a->set.bias_of_layer[l] == bias)
                p->members[p->member_count++] = l + 1;
    }
    free(table);
    return rc;
}

/* Fills r->points; EXIT_DONE or another status with *e. */
static int collect(struct fit_run *r, struct error *e)
{
    const struct fit_options *o = r->options;
    struct text_list one = {.item = (const char *[]){o->argument}, .count = 1};
    struct formula_argument *a = NULL;
    int status, rc = 0, usable = 0;

    if (is_csv_path(o->argument))
        return fit_read_csv(r, o->argument, e) == 0 ? EXIT_DONE : EXIT_FAILED;
    status = (int)formula_arguments_read(&a, &one, &o->formulas, r->progress, e);
    if (status != EXIT_DONE)
        return status;
    r->quantity = "bias b(t)";
    for (int b = 0; b < a->set.bias_count && rc == 0; b++)
        if (a->set.biases[b].formula && !a->set.biases[b].reason[0]) {
            usable = 1;
            rc = add_bias(r, a, b, e);
        }
    if (rc == 0 && !usable)
        rc = fail(e, "%s: has no bias to fit: %s", a->label, a->set.biases[0].reason);
    if (rc == 0 && !a->is_model) {
        const struct formula *f = a->set.biases[0].formula;

        r->is_sandwich = strcmp(f->source, "sandwich") == 0 && strcmp(o->form, default_form) == 0;
        for (int p = 0; p < f->parameter_count; p++)
            r->is_sandwich &= f->parameters[p].count == 0;
    }
    formula_arguments_free(a, 1);
    return rc == 0 ? EXIT_DONE : EXIT_FAILED;
}

static void point_name(char *out, size_t size, const struct fit_points *p)
{
    int is_number = p->head[0] && strcmp(p->head, "all") != 0;

    snprintf(out, size, "%.200s%s%s%s%s", p->label, p->layers[0] ? ", " : "", p->layers, is_number ? ", head " : "",
             is_number ? p->head : "");
}

static int solve(struct fit_run *r, struct error *e)
{
    for (size_t i = 0; i < r->count; i++) {
        struct fit_points *p = &r->points[i];
        struct formula_error problem;
        char name[400];

        point_name(name, sizeof name, p);
        if (fit_solve(&p->result, &r->form, p->t, p->y, p->count, &problem) != 0)
            return fail(e, "%s: %s", name, problem.message);
    }
    return 0;
}

/* ---- screen ---- */

static int print_fits(const struct fit_run *r, struct error *e)
{
    int coefficients = r->form.count, rc;
    char alignment[2 * FIT_COEFFICIENTS_MAX + 8] = "l";
    struct table *t;

    for (int c = 0; c < 2 * coefficients + 5; c++)
        strcat(alignment, "r");
    t = table_create(alignment);
    if (t) {
        table_cell(t, "fit of %s", r->options->form);
        for (int c = 0; c < coefficients; c++) {
            table_cell(t, "%s", r->points[0].result.name[c]);
            table_cell(t, "std error");
        }
        table_cell(t, "R^2");
        table_cell(t, "residual sd");
        table_cell(t, "first");
        table_cell(t, "last");
        table_cell(t, "points");
        for (size_t i = 0; i < r->count; i++) {
            const struct fit_points *p = &r->points[i];
            char name[400];

            point_name(name, sizeof name, p);
            table_cell(t, "%s", name);
            for (int c = 0; c < coefficients; c++) {
                table_cell(t, "%.6g", p->result.value[c]);
                table_cell(t, "%.2g", p->result.error[c]);
            }
            table_cell(t, "%.4f", p->result.r2);
            table_cell(t, "%.4g", p->result.residual_deviation);
            table_cell(t, "%.10g", p->t[0]);
            table_cell(t, "%.10g", p->t[p->count - 1]);
            table_cell(t, "%zu", p->count);
        }
    }
    rc = t ? table_print(stdout, t) : -1;
    table_free(t);
    return rc == 0 ? 0 : fail(e, "out of memory for the table");
}

/* [A] prints one curve for h' = 8, dbar = 128 and 8192 tokens, and two places of it leave open how the index runs and which
 * points were used. */
static int print_sandwich(const struct fit_run *r, struct error *e)
{
    static const double slope = -0.825, intercept = -0.8;
    static const struct {
        const char *formula;
        int first;
        size_t points;
    } readings[] = {{"sandwich(first=0)", 0, 8192},
                    {"sandwich(first=0)", 0, 50},
                    {"sandwich(first=1)", 1, 8192},
                    {"sandwich(first=1)", 1, 50}};
    enum { READINGS = sizeof readings / sizeof readings[0], POINTS = 8192 };
    double *t = malloc(POINTS * sizeof *t), *y = malloc(POINTS * sizeof *y), away[READINGS];
    struct fit_result results[READINGS];
    struct formula_error problem = {0, "out of memory"};
    struct table *table = NULL;
    int closest = 0, rc = -1;

    if (!t || !y) {
        fail(e, "out of memory for the comparison");
        goto end;
    }
    for (int i = 0; i < READINGS; i++) {
        struct formula *f = formula_parse(readings[i].formula, &problem); /* head 1 of 1 has h' = 8 */
        int failed = !f || formula_table(y, f, 1, HEAD_SIZE_DEFAULT, readings[i].points, POINTS, &problem) != 0;

        formula_free(f);
        for (size_t k = 0; k < readings[i].points; k++)
            t[k] = (double)k;
        if (failed || fit_solve(&results[i], &r->form, t, y, readings[i].points, &problem) != 0) {
            fail(e, "sandwich: %s", problem.message);
            goto end;
        }
        away[i] = hypot(results[i].value[1] - slope, results[i].value[0] - intercept);
        closest = away[i] < away[closest] ? i : closest;
    }
    printf("\nChi et al. (2023) print %g ln(1+t) - %g for h' = 8 (the last head), dbar = 128, 8192 tokens. By each reading of "
           "the index i and of the points used:\n",
           slope, -intercept);
    table = table_create("rlrrrrrrl");
    if (table) {
        static const char *const titles[] = {"i from", "points", "slope", "off by", "intercept", "off by", "R^2", "distance", ""};

        for (size_t c = 0; c < sizeof titles / sizeof *titles; c++)
            table_cell(table, "%s", titles[c]);
        for (int i = 0; i < READINGS; i++) {
            table_cell(table, "%d", readings[i].first);
            table_cell(table, readings[i].points == POINTS ? "all 8192" : "50 most recent");
            table_cell(table, "%.4f", results[i].value[1]);
            table_cell(table, "%+.4f", results[i].value[1] - slope);
            table_cell(table, "%.4f", results[i].value[0]);
            table_cell(table, "%+.4f", results[i].value[0] - intercept);
            table_cell(table, "%.4f", results[i].r2);
            table_cell(table, "%.4f", away[i]);
            table_cell(table, i == closest ? "closest" : "");
        }
    }
    rc = table && table_print(stdout, table) == 0 ? 0 : fail(e, "out of memory for the table");
end:
    table_free(table);
    free(t);
    free(y);
    return rc;
}

/* ---- the whole ---- */

static int fit_call(struct call *c, struct error *e)
{
    struct fit_options *o = c->options;
    struct fit_run r = {.options = o, .progress = &c->terminal.progress, .command = c->command, .quantity = "y"};
    struct formula_error problem;
    int status;

    if (fit_form_parse(&r.form, o->form, &problem) != 0) {
        fail(e, "--form: \"%s\", at character %zu: %s", o->form, problem.at + 1, problem.message);
        return EXIT_USAGE;
    }
    status = collect(&r, e);
    if (status == EXIT_DONE)
        status = call_lock(c, e);
    if (status == EXIT_DONE)
        status = solve(&r, e);
    if (status == EXIT_DONE && o->folder)
        status = call_drawn(c, fit_write(&r, e), e);
    if (status == EXIT_DONE)
        status = print_fits(&r, e);
    if (status == EXIT_DONE && r.is_sandwich)
        status = print_sandwich(&r, e);
    fit_run_free(&r);
    return status;
}

/* ---- options ---- */

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
        return fail(e, "--range: \"%s\" is not valid (expected FIRST:LAST, as 0:8191)", value);
    snprintf(first, sizeof first, "%.*s", (int)(colon - value), value);
    if (read_whole("--range", first, 0, LAST_MAX, &o->first, e) != 0 ||
        read_whole("--range", colon + 1, 0, LAST_MAX, &o->last, e) != 0)
        return -1;
    return o->last >= o->first ? 0 : fail(e, "--range: \"%s\" is not valid (expected FIRST not above LAST)", value);
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
     .help = "a formula of t whose parameters are the coefficients (default '%s'): linear in them, save for "
             "one that may be inside, as c in 'a + b*ln(1+c*t)'",
     .type = OPTION_TEXT,
     .at = AT(form),
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT | OPTION_RECORDED},
    {.name = "range",
     .value = "FIRST:LAST",
     .standard = "auto",
     .help =
         "distances to fit, both included (default %s: 0:8191; for a checkpoint up to its training length; for a file all rows)",
     .type = OPTION_OWN,
     .read = read_range,
     .write = write_range,
     .group = GROUP_MEASURED,
     .flags = OPTION_RESULT},
    HEADS_ROW,
    SET_ROW,
    SLOPES_ROW,
    STRICT_ROW(formulas.strict),
    FOLDER_ROW("write fit.csv and the figure, with residuals, there (default: nothing is written)", NULL),
    FORCE_ROW("overwrite results in DIR"),
    FORMAT_ROW,
};

static const struct operand_row operands[] = {{.name = "FORMULA, PRESET, MODEL or CSV",
                                               .expected = "for example sandwich, or curve.csv",
                                               .at = AT(argument),
                                               .flags = OPERAND_FORMULA}};

static const char *const files[] = {"fit.csv", "fit.gp", NULL};

const struct verb fit_verb = {
    .name = "fit",
    .summary = "least squares on a bias or a curve",
    .synopsis = "(FORMULA | PRESET | MODEL | CSV) [-o DIR] [options]",
    .description = "Fits a form to position biases over the distance t by ordinary least squares, for each head, and prints the "
                   "coefficients with their standard errors, R^2 and the standard deviation of the residuals.\n"
                   "\n"
                   "The argument is a preset if it names one, else a file or checkpoint if it is a path that exists, else a "
                   "formula (`man reach-formula`); one that begins with a dash is a formula, one that begins with ./ or / a "
                   "path. A CSV file is bias.csv, curve.csv (of which c is fitted), or two columns t, y.\n"
                   "\n"
                   "For the preset sandwich, the log curve that Chi et al. (2023) print for it is compared with what each "
                   "reading of its definition gives.\n",
    .examples = "  reach fit sandwich --range 0:8191 --heads 1 -o sandwich-fit\n"
                "  reach fit reach-erf/curve.csv --form 'a + b*ln(1+c*t)'\n"
                "  reach fit runs/t5 --range 0:511\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .files = files,
    .run = fit_call,
};
