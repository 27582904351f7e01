#include "tests/written.h"

#include "io/system/file.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* The file with the part as it should be; *old is as it is. The caller frees both. */
static char *new_text(const struct written *w, char **old)
{
    struct error e = {""};
    char *text = NULL, *from, *to;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    *old = file_read_whole(w->path, 1 << 20, &(size_t){0}, &e);
    if (!f || !*old || !(from = strstr(*old, w->begin)) || !(to = strstr(from, w->end))) {
        fprintf(stderr, "%s: cannot be read, or has lost its marks %s", w->path, w->begin);
        exit(1);
    }
    fwrite(*old, 1, (size_t)(from - *old) + strlen(w->begin), f);
    w->write(f, w->from);
    fputs(to, f);
    fclose(f);
    return text;
}

void written_check(const struct written *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *old, *text = new_text(&parts[i], &old);

        if (strcmp(text, old) != 0)
            fail_msg("%s is not what the tables of the program say below %s(expected it so: make "
                     "outputs)",
                     parts[i].path, parts[i].begin);
        free(text);
        free(old);
    }
}

int written_write(const struct written *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *old, *text = new_text(&parts[i], &old);
        FILE *f = strcmp(text, old) ? fopen(parts[i].path, "w") : NULL;
        int failed = strcmp(text, old) && (!f || fputs(text, f) < 0 || fclose(f) != 0);

        free(text);
        free(old);
        if (failed)
            return 1;
    }
    return 0;
}

int written_wanted(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "--write") == 0;
}

void written_wrap(FILE *f, const char *text, size_t at, size_t width, const char *indent)
{
    for (int first = 1; *(text += strspn(text, " ")); first = 0) {
        size_t length = strcspn(text, " ");

        if (!first && at + 1 + length > width) {
            fprintf(f, "\n%s", indent);
            at = strlen(indent);
        } else if (!first) {
            putc(' ', f);
            at++;
        }
        fwrite(text, 1, length, f);
        at += length;
        text += length;
    }
    putc('\n', f);
}
