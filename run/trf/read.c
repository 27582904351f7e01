/* The arguments of `reach trf`: formulas, presets and models, and tables of formulas with
 * parameters, @FILE. */
#include "run/trf/trf.h"

#include "io/formats/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_MAX = 10000 };

/* Makes room for one more argument, not yet counted in r->count. */
static struct formula_argument *grow(struct trf_run *r, struct error *e)
{
    struct formula_argument *grown;

    if (r->count == ARGUMENTS_MAX) {
        fail(e, "too many formulas (expected at most %d)", ARGUMENTS_MAX);
        return NULL;
    }
    grown = reallocarray(r->arguments, (size_t)r->count + 1, sizeof *grown);
    if (!grown) {
        fail_memory(e, sizeof *grown, "the arguments");
        return NULL;
    }
    r->arguments = grown;
    return &grown[r->count];
}

/* One row of a table: `formula`, and the other columns except `name` as parameters; an empty cell
 * sets nothing. */
static enum run_status read_row(struct trf_run *r, const struct csv_table *t, size_t row,
                                struct error *e)
{
    char **cell = t->cell + row * t->columns, *label = NULL,
         **owned = calloc(t->columns + 1, sizeof *owned);
    struct formula_options with = r->options->formulas;
    struct formula_argument *a = owned ? grow(r, e) : NULL;
    size_t formula = (size_t)csv_column(t, "formula"), size;
    int name = csv_column(t, "name"), named = name >= 0 && *cell[name];
    enum run_status status = a ? RUN_DONE : RUN_FAILED;
    FILE *f = a ? open_memstream(&label, &size) : NULL;

    with.sets = (struct text_list){0};
    for (int i = 0; f && i < r->options->formulas.sets.count && status == RUN_DONE; i++)
        status = text_list_add(&with.sets, r->options->formulas.sets.item[i], e) == 0 ? RUN_DONE
                                                                                      : RUN_FAILED;
    if (f)
        fputs(named ? cell[name] : cell[formula], f);
    for (size_t i = 0; f && i < t->columns && status == RUN_DONE; i++) {
        if (i == formula || (int)i == name || !*cell[i])
            continue;
        if (!named)
            fprintf(f, ", %s=%s", t->header[i], cell[i]);
        if (asprintf(&owned[i], "%s=%s", t->header[i], cell[i]) < 0) {
            owned[i] = NULL;
            status = RUN_FAILED;
            fail(e, "out of memory");
        } else if (text_list_add(&with.sets, owned[i], e) != 0) {
            status = RUN_FAILED;
        }
    }
    if (f && fclose(f) != 0)
        label = NULL;
    if (status == RUN_DONE)
        status = formula_argument_read(a, cell[formula], &with, r->progress, e);
    if (status == RUN_DONE) {
        r->count++;
        free(a->label);
        a->label = label;
        label = NULL;
        for (size_t i = 0; i < t->columns && status == RUN_DONE; i++)
            if (owned[i] && !formula_argument_takes(a, owned[i])) {
                fail(e, "%s: has no parameter '%s'", cell[formula], t->header[i]);
                status = RUN_USAGE;
            }
        if (status == RUN_DONE && !a->label) {
            fail(e, "out of memory");
            status = RUN_FAILED;
        }
    }
    for (size_t i = 0; owned && i < t->columns; i++)
        free(owned[i]);
    free(owned);
    free(label);
    text_list_free(&with.sets);
    return status;
}

static enum run_status read_table(struct trf_run *r, const char *path, struct error *e)
{
    struct csv_table t;
    struct error problem;
    enum run_status status = RUN_DONE;

    if (csv_read(path, &t, e) != 0)
        return RUN_FAILED;
    if (csv_column(&t, "formula") < 0) {
        fail(e,
             "%s: has no column 'formula' (expected a table with one, and one for each parameter)",
             path);
        status = RUN_USAGE;
    } else if (t.rows == 0) {
        fail(e, "%s: has no row", path);
        status = RUN_USAGE;
    }
    for (size_t row = 0; row < t.rows && status == RUN_DONE; row++) {
        status = read_row(r, &t, row, &problem);
        if (status != RUN_DONE)
            fail(e, "%s, row %zu: %s", path, row + 1, problem.text);
    }
    csv_table_free(&t);
    return status;
}

static int has_rotary(const struct trf_run *r)
{
    for (int a = 0; a < r->count; a++)
        for (int b = 0; b < r->arguments[a].set.bias_count; b++)
            if (r->arguments[a].set.biases[b].rotary.size > 0)
                return 1;
    return 0;
}

enum run_status trf_read(struct trf_run *r, struct error *e)
{
    const struct trf_options *o = r->options;
    enum run_status status = RUN_DONE;

    for (int i = 0; i < o->arguments.count && status == RUN_DONE; i++) {
        const char *text = o->arguments.item[i];
        struct formula_argument *a;

        if (strcmp(text, "@") == 0) {
            fail(e, "@: no file is named (expected @FILE, a CSV file of formulas)");
            status = RUN_USAGE;
            continue;
        }
        if (*text == '@') {
            status = read_table(r, text + 1, e);
            continue;
        }
        a = grow(r, e);
        status = a ? formula_argument_read(a, text, &o->formulas, r->progress, e) : RUN_FAILED;
        r->count += status == RUN_DONE;
    }
    if (status == RUN_DONE)
        status = formula_arguments_take(r->arguments, r->count, &o->formulas, e);
    if (status == RUN_DONE && o->coherence && !has_rotary(r)) {
        fail(e, "--coherence: no argument has rotary positions");
        status = RUN_USAGE;
    }
    return status;
}
