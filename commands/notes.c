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

/* ---- of several models ---- */

static char *note_of(const struct model_notes *n,
                     void (*put)(FILE *f, const void *found, size_t model), size_t model)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (f)
        put(f, n->found, model);
    if (f && !(ferror(f) | fclose(f)))
        return text;
    free(text);
    return NULL;
}

/* The names of the models with this note, of which `first` is the first. */
static void put_names(FILE *f, const struct model_notes *n, char *const *note, size_t first)
{
    size_t same = 0, named = 0;

    for (size_t i = first; i < n->count; i++)
        same += strcmp(note[i], note[first]) == 0;
    if (same > 1 && same == n->count) {
        fprintf(f, "all %zu models: ", same);
        return;
    }
    for (size_t i = first; i < n->count; i++)
        if (strcmp(note[i], note[first]) == 0)
            fprintf(f, "%s%s", named++ ? ", " : "", screen_text(n->name(n->found, i)));
    fputs(": ", f);
}

void notes_of_models(FILE *f, const struct model_notes *n,
                     void (*put)(FILE *f, const void *found, size_t model))
{
    char **note = calloc(n->count + 1, sizeof *note);
    size_t made = 0;

    while (note && made < n->count && (note[made] = note_of(n, put, made)))
        made++;
    if (made < n->count)
        fputs("(no memory for notes)\n", f);
    for (size_t i = 0; made == n->count && i < n->count; i++) {
        size_t first = 0;

        while (strcmp(note[first], note[i]) != 0)
            first++;
        if (first < i || !*note[i])
            continue;
        put_names(f, n, note, i);
        fprintf(f, "%s\n", note[i]);
    }
    for (size_t i = 0; note && i < n->count; i++)
        free(note[i]);
    free(note);
}
