#include "run/report.h"

#include "run/results.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum report_kind kind_of(const struct csv_table *t)
{
    static const struct {
        const char *columns[2];
        enum report_kind kind;
    } kinds[] = {{{"verdict", "trf_hi"}, REPORT_FIELDS},
                 {{"threshold", "erf"}, REPORT_LADDER},
                 {{"needed", "enough"}, REPORT_GAIN},
                 {{"change", "enough_gradient"}, REPORT_VALIDATION},
                 {{"protocol", "nll"}, REPORT_PERPLEXITY},
                 {{"distance", "c"}, REPORT_CURVES},
                 {{"weight", "beyond"}, REPORT_WEIGHTS},
                 {{"distance", "bias"}, REPORT_BIASES},
                 {{"form", "coefficient"}, REPORT_FITS},
                 {{"head", "attention_erf"}, REPORT_ATTENTION},
                 {{"position", "nll"}, REPORT_TARGETS},
                 {{"piece", "target_logprob"}, REPORT_EXPLANATIONS}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (csv_column(t, kinds[i].columns[0]) >= 0 && csv_column(t, kinds[i].columns[1]) >= 0)
            return kinds[i].kind;
    return REPORT_TABLE;
}

static int is_csv(const char *path)
{
    size_t length = strlen(path);

    return length > 4 && strcmp(path + length - 4, ".csv") == 0;
}

/* The file that represents a folder. */
static char *file_in(const char *folder, struct error *e)
{
    char *whole = results_path(folder, "erf.h5", e),
         *table = whole ? results_path(folder, "curve.csv", e) : NULL;

    if (table && access(whole, F_OK) != 0 && access(table, F_OK) == 0) {
        free(whole);
        return table;
    }
    free(table);
    return whole;
}

int report_open(struct report *r, const char *path, struct error *e)
{
    struct stat found;
    int is_folder;

    *r = (struct report){.kind = REPORT_ERF};
    if (stat(path, &found) != 0)
        return fail(e, "%s: %s (expected a folder of results, an erf.h5 or a CSV file)", path,
                    strerror(errno));
    is_folder = S_ISDIR(found.st_mode);
    if (is_folder && results_check_finished(path, e) != 0)
        return -1;
    r->path = is_folder ? file_in(path, e) : strdup(path);
    if (!r->path)
        return fail(e, "%s: out of memory", path);
    if (is_csv(r->path)) {
        if (csv_read(r->path, &r->table, e) != 0)
            goto failed;
        r->kind = kind_of(&r->table);
    }
    if (!is_folder &&
        (r->kind == REPORT_ERF || r->kind == REPORT_CURVES || r->kind == REPORT_LADDER) &&
        results_check_finished(path, e) != 0)
        goto failed;
    return 0;
failed:
    report_close(r);
    return -1;
}

void report_close(struct report *r)
{
    csv_table_free(&r->table);
    free(r->path);
    r->path = NULL;
}

int report_columns(const struct report *r, const char *const *names, int count,
                   const char *expected, int *column, struct error *e)
{
    for (int i = 0; i < count; i++)
        if ((column[i] = csv_column(&r->table, names[i])) < 0)
            return fail(e, "%s: has no column %s (expected %s)", r->path, names[i], expected);
    return 0;
}

const char *report_cell(const struct report *r, size_t row, int column)
{
    return column < 0 ? "" : r->table.cell[row * r->table.columns + (size_t)column];
}

int report_number(const struct report *r, size_t row, int column, double least, double none,
                  double *out, struct error *e)
{
    const char *text = report_cell(r, row, column);
    char *end;

    *out = *text ? strtod(text, &end) : none;
    if (*text && (end == text || *end || !(*out >= least) || isinf(*out)))
        return fail(e, "%s: row %zu has \"%s\" as %s (expected a number of at least %g)", r->path,
                    row + 1, text, r->table.header[column], least);
    return 0;
}
