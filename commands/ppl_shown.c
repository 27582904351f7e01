/* What `reach ppl --json` has besides ppl.csv and gain.csv. */
#include "commands/notes.h"
#include "commands/ppl.h"

struct models_row {
    const char *name, *path, *adapter;
    long long train_length;
};

static const struct csv_column columns[] = {
    CSV_COLUMN(models_row, name, "", "as in the tables"),
    CSV_COLUMN(models_row, path, "", "where it was read"),
    CSV_OPTIONAL(models_row, adapter, "", "path of the adapter merged onto it; empty: none"),
    CSV_OPTIONAL(models_row, train_length, "tokens", "it was trained on; empty: unknown"),
};

static const struct csv_layout layout = {
    .file = "models",
    .origin = "`reach ppl --json`",
    .row = "a model",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};

static int rows(const void *found, struct csv *csv, struct error *e)
{
    const struct ppl_run *r = found;

    (void)e;
    for (size_t i = 0; i < r->count; i++) {
        const struct ppl_model *m = &r->models[i];

        csv_row(csv, &(struct models_row){m->argument->name, m->argument->path,
                                          m->argument->adapter_path, m->train_length});
    }
    return 0;
}

static void put_notes(FILE *f, const void *found)
{
    ppl_notes(f, found);
}

static int put_note_rows(const void *found, struct csv *csv, struct error *e)
{
    return notes_rows(found, put_notes, csv, e);
}

const struct results_file *const ppl_shown[] = {
    &(const struct results_file){.layout = &layout, .rows = rows},
    &(const struct results_file){.layout = &notes_layout, .rows = put_note_rows}, NULL};
