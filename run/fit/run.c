#include "run/fit/fit.h"

#include "run/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void fit_points_name(char *out, size_t size, const struct fit_points *p)
{
    int is_number = p->head[0] && strcmp(p->head, "all") != 0;

    snprintf(out, size, "%.200s%s%s%s%s", p->label, p->layers[0] ? ", " : "", p->layers,
             is_number ? ", head " : "", is_number ? p->head : "");
}

static int solve(struct fit_run *r, struct error *e)
{
    for (size_t i = 0; i < r->count; i++) {
        struct fit_points *p = &r->points[i];
        struct formula_error problem;
        char name[400];

        fit_points_name(name, sizeof name, p);
        if (fit_solve(&p->result, &r->form, p->t, p->y, p->count, &problem) != 0)
            return fail(e, "%s: %s", name, problem.message);
    }
    return 0;
}

/* 1 if TEXT names a file whose name ends in .csv. */
static int is_csv_path(const char *text)
{
    size_t length = strlen(text);
    struct stat found;

    return length > 4 && strcmp(text + length - 4, ".csv") == 0 && stat(text, &found) == 0 &&
           S_ISREG(found.st_mode);
}

enum run_status fit_run(struct fit_run *r, struct error *e)
{
    const struct fit_options *o = r->options;
    struct results results = {.lock = -1};
    struct formula_error problem;
    enum run_status status;
    int rc = 0;

    if (fit_form_parse(&r->form, o->form, &problem) != 0) {
        fail(e, "--form: \"%s\", at character %zu: %s", o->form, problem.at + 1, problem.message);
        return RUN_USAGE;
    }
    if (o->of != FIT_C && !is_csv_path(o->argument)) {
        fail(e,
             "--of: %s is not a curve.csv (expected one of `reach erf`: biases are fitted as they "
             "are)",
             o->argument);
        return RUN_USAGE;
    }
    if (is_csv_path(o->argument) &&
        (o->formulas.sets.count || o->formulas.heads != HEADS_DEFAULT || o->formulas.press)) {
        fail(e,
             "%s: is a table, which --set, --heads and --slopes do not change (expected them with "
             "a formula or preset)",
             o->argument);
        return RUN_USAGE;
    }
    if (is_csv_path(o->argument))
        status = fit_read_csv(r, o->argument, e) == 0 ? RUN_DONE : RUN_FAILED;
    else
        status = fit_read_biases(r, e);
    if (status != RUN_DONE)
        return status;
    if (o->folder)
        rc = results_open(&results, o->folder, &fit_layout, o->force, e);
    if (rc == 0)
        rc = solve(r, e);
    if (rc == 0 && r->is_sandwich)
        rc = fit_sandwich(r, e);
    if (rc == 0 && o->folder)
        rc = results_drawn(fit_write(r, e), o->folder, o->formats, NULL, r->progress, e);
    results_close(&results);
    return rc == 0 ? RUN_DONE : RUN_FAILED;
}
