/* `reach families`: the supported model types, and those refused by name. */
#include "commands/commands.h"
#include "commands/table.h"
#include "commands/verb.h"

#include "run/families.h"

#include <stdio.h>

static int families_call(struct call *c, struct error *e)
{
    struct table *t = table_create("llll");
    struct known_type known;
    const char *type, *why;

    (void)c;
    if (!t) {
        (void)fail_memory(e, 1024, "a table");
        return EXIT_FAILED;
    }
    table_cell(t, "model_type"), table_cell(t, "GGUF"), table_cell(t, "positions"),
        table_cell(t, "notes");
    for (int i = 0; known_type_at(&known, i); i++) {
        table_cell(t, "%s", *known.type ? known.type : "(our own)");
        table_cell(t, "%s", *known.gguf ? known.gguf : "-");
        table_cell(t, "%s", known.positions);
        table_cell(t, "%s", *known.notes ? known.notes : "-");
    }
    int rc = table_print(stdout, t);
    table_free(t);
    if (rc)
        return fail_memory(e, 1024, "a table") ? EXIT_FAILED : EXIT_DONE;
    printf("\nrefused by name\n");
    for (int i = 0; refused_type_at(&type, &why, i); i++)
        printf("%-24s  %s\n", type, why);
    return EXIT_DONE;
}

const struct verb families_verb = {
    .name = "families",
    .summary = "the model types that are supported, and those that are refused",
    .synopsis = "",
    .description = "Lists every model_type of config.json that is supported, with the name of the "
                   "same architecture in GGUF "
                   "files, its positions and its other particulars; then the types that are "
                   "refused by name, and why.\n",
    .examples = "  reach families\n",
    .run = families_call,
};
