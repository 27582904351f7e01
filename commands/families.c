/* `reach families`: the supported model types, and those refused by name. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/table.h"
#include "commands/verb.h"

#include "run/families.h"
#include "run/results.h"

#include <stdio.h>

struct types_row {
    const char *model_type, *gguf, *positions, *notes;
};

static const struct csv_column types_columns[] = {
    CSV_OPTIONAL(types_row, model_type, "", "of config.json; empty: our own layout"),
    CSV_OPTIONAL(types_row, gguf, "", "name of the architecture in GGUF files"),
    CSV_COLUMN(types_row, positions, "", "position encoding"),
    CSV_OPTIONAL(types_row, notes, "", "other particulars"),
};

static const struct csv_layout types_layout = {
    .file = "families",
    .origin = "`reach families --json`",
    .row = "a supported model type",
    .columns = types_columns,
    .count = sizeof types_columns / sizeof *types_columns,
};

static int types_rows(const void *found, struct csv *csv, struct error *e)
{
    struct known_type known;

    (void)found;
    (void)e;
    for (int i = 0; known_type_at(&known, i); i++)
        csv_row(csv, &(struct types_row){known.type, known.gguf, known.positions, known.notes});
    return 0;
}

struct refused_row {
    const char *model_type, *reason;
};

static const struct csv_column refused_columns[] = {
    CSV_COLUMN(refused_row, model_type, "", "of config.json"),
    CSV_COLUMN(refused_row, reason, "", "why it is refused"),
};

static const struct csv_layout refused_layout = {
    .file = "refused",
    .origin = "`reach families --json`",
    .row = "a type that is refused by name",
    .columns = refused_columns,
    .count = sizeof refused_columns / sizeof *refused_columns,
};

static int refused_rows(const void *found, struct csv *csv, struct error *e)
{
    struct refused_row row;

    (void)found;
    (void)e;
    for (int i = 0; refused_type_at(&row.model_type, &row.reason, i); i++)
        csv_row(csv, &row);
    return 0;
}

static const struct results_file *const shown[] = {
    &(const struct results_file){.layout = &types_layout, .rows = types_rows},
    &(const struct results_file){.layout = &refused_layout, .rows = refused_rows}, NULL};

static int families_call(struct call *c, struct error *e)
{
    struct table *t;
    struct known_type known;
    const char *type, *why;

    if (c->json)
        return verb_document(c, NULL, NULL, e);
    if (!(t = table_create("llww")))
        return fail_memory(e, 1024, "a table");
    table_cell(t, "model_type"), table_cell(t, "GGUF"), table_cell(t, "positions"),
        table_cell(t, "notes");
    for (int i = 0; known_type_at(&known, i); i++) {
        table_cell(t, "%s", *known.type ? known.type : "(our own)");
        table_cell(t, "%s", *known.gguf ? known.gguf : "-");
        table_cell(t, "%s", known.positions);
        table_cell(t, "%s", *known.notes ? known.notes : "-");
    }
    if (table_show(t, e) != 0 || !(t = table_create("lw")))
        return table_show(NULL, e);
    table_caption(t, "refused by name");
    table_cells(t, (const char *const[]){"model_type", "why", NULL});
    table_headless(t, 24);
    for (int i = 0; refused_type_at(&type, &why, i); i++)
        table_cells(t, (const char *const[]){type, why, NULL});
    return table_show(t, e);
}

struct families_options {
    struct shown_options shown;
};

#define OPTIONS struct families_options

static const struct option_row rows[] = {TABLE_ROW, JSON_ROW, QUIET_ROW};

const struct verb families_verb = {
    .name = "families",
    .summary = "the model types that are supported, and those that are refused",
    .synopsis = "[options]",
    .description = "Lists every model_type of config.json that is supported, with the name of the "
                   "same architecture in GGUF "
                   "files, its positions and its other particulars; then the types that are "
                   "refused by name, and why.\n",
    .examples = "  reach families\n  reach families --json\n",
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .shown = shown,
    .run = families_call,
};
