/* `reach plot`: curves of saved results in one figure. */
#include "commands/commands.h"
#include "commands/plot_fields.h"
#include "commands/plot_tables.h"
#include "commands/rows.h"
#include "commands/verb.h"
#include "run/results.h"

#include "analyze/curve.h"
#include "io/csv.h"
#include "io/result.h"
#include "plots/figure.h"
#include "version.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct plot_options {
    struct text_list results;
    const char *folder, *formats;
    double threshold; /* 0: that of the first result */
    long train_length;
    int force;
};

/* Curves collected from all results; labels and arrays are owned. */
struct collection {
    struct figure_curve *curves;
    char **folders; /* where each one came from */
    size_t count;
    double threshold; /* of the first result; 0: none */
    struct text_list tables; /* paths of tables that are not curves */
    enum table_kind kind; /* of all of them */
};

/* Room for one more curve of n positions; NULL on failure. The three arrays lie in one block, c first. */
static double *add_curve(struct collection *all, const char *label, const char *path, size_t n, struct error *e)
{
    struct figure_curve *curves = reallocarray(all->curves, all->count + 1, sizeof *curves);
    char **folders, *folder, *text;
    double *c;

    if (curves)
        all->curves = curves;
    folders = reallocarray(all->folders, all->count + 1, sizeof *folders);
    if (folders)
        all->folders = folders;
    c = calloc(n, 3 * sizeof *c);
    text = strdup(label);
    folder = strdup(path);
    if (!curves || !folders || !c || !text || !folder) {
        free(c);
        free(text);
        free(folder);
        fail_memory(e, 3 * (double)n * sizeof *c, "a curve");
        return NULL;
    }
    all->folders[all->count] = folder;
    all->curves[all->count++] = (struct figure_curve){.label = text, .c = c, .c_lo = c + n, .c_hi = c + 2 * n, .positions = n};
    return c;
}

static void free_collection(struct collection *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free((double *)all->curves[i].c);
        free((char *)all->curves[i].label);
        free(all->folders[i]);
    }
    free(all->curves);
    free(all->folders);
    text_list_free(&all->tables);
}

static int collect_h5(struct collection *all, const char *path, struct error *e)
{
    struct result result;
    int rc = -1;

    if (result_read(path, &result, e) != 0)
        return -1;
    for (size_t i = 0; i < result.model_count; i++) {
        const struct result_model *m = &result.models[i];

        if (m->target)
            continue; /* layers and shorter targets have figures of their own */
        const char *train_length = result_attribute(m, "train_length"), *threshold = result_attribute(m, "main_threshold"),
                   *cone = result_attribute(m, "cone");
        double *c = add_curve(all, m->name, path, m->positions, e);

        if (!c)
            goto end;
        memcpy(c, m->c, m->positions * sizeof *c);
        memcpy(c + m->positions, m->c_lo, m->positions * sizeof *c);
        memcpy(c + 2 * m->positions, m->c_hi, m->positions * sizeof *c);
        if (train_length)
            all->curves[all->count - 1].train_length = atoi(train_length);
        if (cone && strtod(cone, NULL) < (double)m->positions)
            all->curves[all->count - 1].cone = strtod(cone, NULL);
        if (threshold && all->threshold == 0)
            all->threshold = strtod(threshold, NULL);
    }
    rc = 0;
end:
    result_free(&result);
    return rc;
}

/* A cell that must be a number from 0 to 1, up to rounding. */
static int share_cell(const struct csv_table *t, size_t row, int column, double *out, const char *path, struct error *e)
{
    const char *text = t->cell[row * t->columns + (size_t)column];
    char *end;

    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= 0 && *out <= 1 + 1e-9))
        return fail(e, "%s: row %zu has \"%s\" as %s (expected a share from 0 to 1)", path, row + 1, text, t->header[column]);
    return 0;
}

/* 1 if the curve from row `first` on is of another layer or target than that of the same model from row `main` on. */
static int is_other_field(const struct csv_table *t, size_t main, size_t first)
{
    static const char *const names[] = {"target", "layer"};

    for (int i = 0; i < 2; i++) {
        int column = csv_column(t, names[i]);

        if (column >= 0 && strcmp(t->cell[main * t->columns + (size_t)column], t->cell[first * t->columns + (size_t)column]) != 0)
            return 1;
    }
    return 0;
}

static int collect_csv(struct collection *all, const char *path, struct error *e)
{
    static const char *const names[] = {"model", "position", "c", "c_lo", "c_hi"};
    struct csv_table t;
    int column[5], rc = -1;

    if (csv_read(path, &t, e) != 0)
        return -1;
    for (int i = 0; i < 5; i++)
        if ((column[i] = csv_column(&t, names[i])) < 0) {
            fail(e, "%s: has no column %s (expected curve.csv of `reach erf`)", path, names[i]);
            goto end;
        }
    for (size_t first = 0, last, main = 0; first < t.rows;
         first = last) { /* rows first..last-1 are one curve, and `main` on the first of its model */
        const char *name = t.cell[first * t.columns + (size_t)column[0]];
        double *c;
        size_t n;

        for (last = first; last < t.rows && strcmp(t.cell[last * t.columns + (size_t)column[0]], name) == 0; last++) {
            long position;
            struct error ignored;

            if (read_whole("position", t.cell[last * t.columns + (size_t)column[1]], 1, 1L << 30, &position, &ignored) != 0 ||
                (position == 1 ? last != first : (size_t)position != last - first + 1)) {
                if (last > first && strcmp(t.cell[last * t.columns + (size_t)column[1]], "1") == 0)
                    break; /* the next curve of the same model */
                fail(e, "%s: row %zu has position \"%s\" (expected %zu)", path, last + 1,
                     t.cell[last * t.columns + (size_t)column[1]], last - first + 1);
                goto end;
            }
        }
        n = last - first;
        if (first && strcmp(t.cell[(first - 1) * t.columns + (size_t)column[0]], name) == 0 && is_other_field(&t, main, first))
            continue; /* layers and shorter targets have figures of their own */
        main = first;
        c = add_curve(all, name, path, n, e);
        if (!c)
            goto end;
        for (size_t m = 0; m < n; m++)
            for (int k = 0; k < 3; k++)
                if (share_cell(&t, first + m, column[2 + k], &c[(size_t)k * n + m], path, e) != 0)
                    goto end;
    }
    rc = 0;
end:
    csv_table_free(&t);
    return rc;
}

/* A folder stands for its erf.h5, or its curve.csv where there is none. */
static int collect(struct collection *all, const char *result, struct error *e)
{
    struct stat found;
    size_t length = strlen(result);
    char *path = NULL, *table = NULL;
    int rc = -1;

    if (stat(result, &found) != 0)
        return fail(e, "%s: %s (expected a folder of `reach erf`, an erf.h5 or a CSV)", result, strerror(errno));
    if (!S_ISDIR(found.st_mode)) {
        enum table_kind kind = table_kind_of(result);

        if ((kind == TABLE_CURVES || kind == TABLE_LADDER) && results_check_finished(result, e) != 0)
            return -1;
        if (kind == TABLE_CURVES)
            return length > 4 && strcmp(result + length - 4, ".csv") == 0 ? collect_csv(all, result, e)
                                                                          : collect_h5(all, result, e);
        if (all->tables.count && kind != all->kind)
            return fail(e, "%s: is another kind of table than %s (expected tables of one kind)", result, all->tables.item[0]);
        all->kind = kind;
        return text_list_add(&all->tables, result, e);
    }
    if (results_check_finished(result, e) != 0)
        return -1;
    if (asprintf(&path, "%s/erf.h5", result) < 0 || asprintf(&table, "%s/curve.csv", result) < 0)
        fail(e, "%s: out of memory", result);
    else
        rc = access(path, F_OK) != 0 && access(table, F_OK) == 0 ? collect_csv(all, table, e) : collect_h5(all, path, e);
    free(path);
    free(table);
    return rc;
}

/* Labels that occur twice get the folder of their result in front. */
static int tell_apart(struct collection *all, struct error *e)
{
    unsigned char *twice = calloc(all->count ? all->count : 1, 1);

    if (!twice)
        return fail(e, "out of memory for the labels");
    for (size_t i = 0; i < all->count; i++)
        for (size_t j = 0; j < all->count; j++)
            twice[i] |= i != j && strcmp(all->curves[i].label, all->curves[j].label) == 0;
    for (size_t i = 0; i < all->count; i++) {
        char *folder = all->folders[i], *slash = strrchr(folder, '/'), *label;

        if (!twice[i])
            continue;
        if (slash)
            *slash = 0;
        while (slash && (slash = strrchr(folder, '/')) && slash[1] == 0) /* no part behind the last slash */
            *slash = 0;
        slash = strrchr(folder, '/');
        if (asprintf(&label, "%s/%s", slash ? slash + 1 : folder, all->curves[i].label) < 0) {
            free(twice);
            return fail(e, "out of memory for the labels");
        }
        free((char *)all->curves[i].label);
        all->curves[i].label = label;
    }
    free(twice);
    return 0;
}

/* How the figure is called. */
static const char *stem_of(const struct collection *all)
{
    static const char *const stems[] = {
        [TABLE_CURVES] = "erf", [TABLE_FIELDS] = "fields", [TABLE_LADDER] = "ladder", [TABLE_PERPLEXITY] = "ppl"};

    return stems[all->tables.count ? all->kind : TABLE_CURVES];
}

static int draw_figure(struct collection *all, const struct plot_options *o, const char *const *comments, struct error *e)
{
    static const double standard[] = {0.5, 0.9, 0.95, 0.99, 0.999};
    double thresholds[6];
    size_t count = 0;

    thresholds[count++] = o->threshold > 0 ? o->threshold : all->threshold > 0 && all->threshold < 1 ? all->threshold : 0.99;
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (standard[i] != thresholds[0])
            thresholds[count++] = standard[i];
    for (size_t i = 0; i < all->count; i++) {
        struct figure_curve *u = &all->curves[i];

        u->erf = curve_erf(u->c, u->positions, thresholds[0]);
        u->saturated = u->erf == u->positions;
    }
    if (!all->tables.count)
        return figure_erf(o->folder, "erf", all->curves, all->count, thresholds, count, comments, o->formats, e);
    if (all->kind == TABLE_FIELDS)
        return plot_fields(o->folder, &all->tables, all->curves, all->count, thresholds[0], comments, o->formats, e);
    if (all->count)
        return fail(e, "%s: cannot be drawn with curves (expected tables of one kind, or results of `reach erf`)",
                    all->tables.item[0]);
    if (all->kind == TABLE_LADDER)
        return plot_ladder(o->folder, &all->tables, thresholds[0], (int)o->train_length, comments, o->formats, e);
    return plot_perplexity(o->folder, &all->tables, (int)o->train_length, comments, o->formats, e);
}

/* The folder may hold figures of other names. */
static int check_place(const struct plot_options *o, const struct collection *all, struct error *e)
{
    char *script;
    int rc = 0;

    if (asprintf(&script, "%s/%s.gp", o->folder, stem_of(all)) < 0)
        return fail(e, "%s: out of memory", o->folder);
    if (!o->force && access(script, F_OK) == 0)
        rc = fail(e, "%s: exists (expected --force to overwrite it, or another folder with -o)", script);
    free(script);
    return rc;
}

static int draw(struct call *c, struct collection *all, struct error *e)
{
    const struct plot_options *o = c->options;
    char *command = command_comment(c->command);
    const char *comments[] = {"reach " REACH_VERSION, command, NULL};
    int rc = -1;

    if (!command)
        fail(e, "%s: out of memory", o->folder);
    else if (call_lock(c, e) == 0 && check_place(o, all, e) == 0)
        rc = draw_figure(all, o, comments, e);
    free(command);
    if (rc == 0)
        for (const char *rest = o->formats; rest && *rest; rest = strchr(rest, ',') ? strchr(rest, ',') + 1 : NULL)
            printf("%s/%s.%.*s\n", o->folder, stem_of(all), (int)strcspn(rest, ","), rest);
    return call_drawn(c, rc, e);
}

static int plot_call(struct call *c, struct error *e)
{
    const struct plot_options *o = c->options;
    struct collection all = {0};
    int rc = 0;

    for (int i = 0; i < o->results.count && rc == 0; i++)
        rc = collect(&all, o->results.item[i], e);
    if (rc == 0)
        rc = tell_apart(&all, e);
    if (rc == 0)
        rc = draw(c, &all, e);
    free_collection(&all);
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
