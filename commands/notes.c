#include "commands/notes.h"

#include <stdlib.h>
#include <string.h>

struct note_row {
    const char *text;
};

static const struct csv_column columns[] = {
    CSV_COLUMN(note_row, text, "", "as below the tables on the screen"),
};

const struct csv_layout notes_layout = {
    .file = "notes",
    .origin = "`reach erf`, `merge` and `ppl --json`",
    .row = "a note that a reader needs to interpret the numbers",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};

int notes_rows(const void *found, void (*put)(FILE *f, const void *found), struct csv *csv,
               struct error *e)
{
    char *text = NULL, *next;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (f)
        put(f, found);
    if (!f || (ferror(f) | fclose(f))) {
        free(text);
        return fail_memory(e, 1024, "the notes");
    }
    for (char *line = text; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = 0;
        csv_row(csv, &(struct note_row){line});
    }
    free(text);
    return 0;
}
