#include "commands/notes.h"

#include "commands/screen.h"

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

/* What `put` writes; the caller frees. */
static char *text_of(const void *found, void (*put)(FILE *f, const void *found), struct error *e)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (f)
        put(f, found);
    if (f && !(ferror(f) | fclose(f)))
        return text;
    free(text);
    fail_memory(e, 1024, "the notes");
    return NULL;
}

int notes_rows(const void *found, void (*put)(FILE *f, const void *found), struct csv *csv,
               struct error *e)
{
    char *text = text_of(found, put, e), *next;

    if (!text)
        return -1;
    for (char *line = text; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = 0;
        csv_row(csv, &(struct note_row){line});
    }
    free(text);
    return 0;
}

int notes_print(const void *found, void (*put)(FILE *f, const void *found), struct error *e)
{
    char *text = text_of(found, put, e);

    if (!text)
        return -1;
    screen_say("%s", text);
    free(text);
    return 0;
}
