/* Opening RESULTs. */
#include "run/plot/plot.h"

#include "run/results.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_curves(const struct report *report)
{
    return report->kind == REPORT_ERF || report->kind == REPORT_CURVES;
}

/* Takes the curves out of a result at once; keeps a table. */
static int add_report(struct plot_run *r, struct report *report, int in_folder, struct error *e)
{
    struct plot_table *grown;
    int rc;

    if (is_curves(report)) {
        rc = plot_add_curves(r, report, e);
        report_close(report);
        return rc;
    }
    grown = reallocarray(r->tables, r->table_count + 1, sizeof *grown);
    if (!grown) {
        report_close(report);
        return fail_memory(e, (double)(r->table_count + 1) * sizeof *grown, "the tables");
    }
    r->tables = grown;
    r->tables[r->table_count++] = (struct plot_table){*report, in_folder};
    r->named |= !in_folder;
    return 0;
}

/* Explanations are texts, for which the page of another verb has the shades. */
static int fail_explained(const char *path, struct error *e)
{
    return fail(e,
                "%s: has explanations, which are not drawn as figures (expected `reach report` "
                "with it, or the page explain.html beside explain.csv)",
                path);
}

static int has_explanations(const char *folder, struct error *e)
{
    char *path = results_path(folder, "explain.csv", e);
    int found = path && access(path, F_OK) == 0;

    free(path);
    return found;
}

/* The tables in a folder, and its curves, if any. */
static int add_folder(struct plot_run *r, const char *folder, struct error *e)
{
    static const char *const names[] = {"erf.h5",         "curve.csv",  "ppl.csv",       "gain.csv",
                                        "validation.csv", "trf.csv",    "attention.csv", "bias.csv",
                                        "fit.csv",        "weights.csv"};
    int found = 0, rc = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && rc == 0; i++) {
        char *path = results_path(folder, names[i], e);
        struct report report;

        if (!path)
            return -1;
        if (access(path, F_OK) == 0 && !(i == 1 && found)) { /* erf.h5 includes curve.csv */
            rc = report_open(&report, path, e) != 0 ? -1 : add_report(r, &report, 1, e);
            found = 1;
        }
        free(path);
    }
    return rc != 0 || found ? rc
           : has_explanations(folder, e)
               ? fail_explained(folder, e)
               : fail(e, "%s: has nothing to draw (expected erf.h5 or a CSV file of reach)",
                      folder);
}

int plot_add(struct plot_run *r, const char *path, struct error *e)
{
    struct report report;
    struct stat found;
    int is_folder = stat(path, &found) == 0 && S_ISDIR(found.st_mode);

    if (is_folder)
        return results_check_finished(path, e) != 0 ? -1 : add_folder(r, path, e);
    if (report_open(&report, path, e) != 0)
        return -1;
    if (report.kind == REPORT_EXPLANATIONS) {
        report_close(&report);
        return fail_explained(path, e);
    }
    if (report.kind == REPORT_TABLE) {
        report_close(&report);
        return fail(e,
                    "%s: is not a table of reach that can be drawn (expected curve.csv, "
                    "summary.csv, attention.csv, validation.csv, "
                    "ppl.csv, gain.csv, trf.csv, weights.csv, bias.csv or fit.csv)",
                    path);
    }
    return add_report(r, &report, 0, e);
}

const struct report *plot_table(const struct plot_run *r, enum report_kind kind, size_t nth)
{
    for (size_t i = 0; i < r->table_count; i++)
        if (r->tables[i].report.kind == kind && !(r->named && r->tables[i].in_folder) && nth-- == 0)
            return &r->tables[i].report;
    return NULL;
}
