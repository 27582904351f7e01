/* explain.csv and explain.html. */
#include "run/explain/explain.h"

#include "page/explain.h"
#include "run/explain/columns.h"
#include "run/results.h"
#include "version.h"

#include <math.h>
#include <stdlib.h>

/* `token 103, " self" (id 302), log p -1.31`, in `f`. */
static int describe(FILE *f, const struct explanation *x, struct prediction p)
{
    char number[32], *quoted = explanation_quoted(x, p.id);

    if (!quoted)
        return -1;
    fprintf(f, "%s (id %d)", quoted, (int)p.id);
    if (!isnan(p.logprob))
        fprintf(f, ", log p %s", csv_format_real(number, p.logprob));
    free(quoted);
    return 0;
}

/* What the numbers are of, as one line. The caller frees; NULL when memory runs out. */
static char *note_of(const struct explanation *x)
{
    char *note = NULL;
    size_t size;
    FILE *f = open_memstream(&note, &size);
    int rc = 0;

    if (!f)
        return NULL;
    fprintf(f, "target: token %zu, ", x->count + 1);
    rc |= describe(f, x, x->target);
    if (x->contrast) {
        fputs("; against ", f);
        rc |= describe(f, x, x->against);
    }
    for (size_t i = 0; i < x->alternative_count; i++) {
        fputs(i ? "; " : "; likeliest others: ", f);
        rc |= describe(f, x, x->alternative[i]);
    }
    if (x->segment)
        fprintf(f, "; segment %zu", x->segment);
    fprintf(f, "; attribution %s", x->attribution);
    rc |= ferror(f);
    if (fclose(f) == 0 && !rc)
        return note;
    free(note);
    return NULL;
}

static int write_rows(struct csv *csv, const struct explanation *x, struct error *e)
{
    char *text = NULL;
    size_t size;
    int rc = 0;

    for (size_t i = 0; i < x->count && rc == 0; i++) {
        const char *piece = texts_spell(&x->pieces, x->id[i], &text, &size);

        if (piece)
            csv_row(csv, &(struct explain_row){.model = x->model,
                                               .position = (long long)i + 1,
                                               .distance = (long long)(x->count - 1 - i),
                                               .id = x->id[i],
                                               .piece = piece,
                                               .norm = x->norm[i],
                                               .share = x->share[i],
                                               .cumulative = x->cumulative[i],
                                               .rank = (long long)x->rank[i] + 1,
                                               .line = (long long)x->line[i]});
        else
            rc = fail(e, "explain.csv: out of memory");
    }
    free(text);
    return rc;
}

static int write_csv(const struct explain_run *r, const char *path, struct atomic_file *out, struct error *e)
{
    char *note = note_of(&r->found);
    struct csv *csv = note ? csv_open(path, &explain_csv, r->command, note, e) : NULL;

    if (!note)
        return fail(e, "%s: out of memory", path);
    free(note);
    if (!csv)
        return -1;
    if (write_rows(csv, &r->found, e) == 0)
        return csv_stage(csv, out, e);
    csv_abandon(csv);
    return -1;
}

static int write_page(const struct explain_run *r, const char *path, struct atomic_file *out, struct error *e)
{
    if (atomic_open(out, path, e) != 0)
        return -1;
    if (page_explain(out->stream, &r->found, r->command, REACH_VERSION) == 0)
        return atomic_stage(out, e);
    atomic_abandon(out);
    return fail(e, "%s: out of memory", path);
}

int explain_write(const struct explain_run *r, struct error *e)
{
    static const char *const names[] = {"explain.csv", "explain.html", NULL}, *const stems[] = {NULL};
    struct results_files ready = {.count = 2};
    const char *folder = r->options->folder;
    char *table = results_path(folder, names[0], e), *page = table ? results_path(folder, names[1], e) : NULL;
    int rc = page && write_csv(r, table, &ready.file[0], e) == 0 && write_page(r, page, &ready.file[1], e) == 0
                 ? results_place(&ready, folder, names, stems, e)
                 : -1;

    results_abandon(&ready);
    free(table);
    free(page);
    return rc;
}
