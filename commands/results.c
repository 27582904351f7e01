/* Result folders of verbs that write once. */
#include "commands/results.h"

#include "io/atomic.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *results_path(const char *folder, const char *name, struct error *e)
{
    char *path;

    if (asprintf(&path, "%s/%s", folder, name) >= 0)
        return path;
    fail(e, "%s: out of memory", folder);
    return NULL;
}

int results_open(struct results *r, const char *folder, const char *const *names, int force, struct error *e)
{
    struct stat found;

    *r = (struct results){.folder = folder, .lock = -1, .is_new = stat(folder, &found) != 0};
    if (folder_make(folder, e) != 0 || (r->lock = folder_lock(folder, e)) < 0)
        return -1;
    for (; *names && !force; names++) {
        char *path = results_path(folder, *names, e);
        int there = path && access(path, F_OK) == 0;

        if (there)
            fail(e, "%s: exists (expected --force to overwrite results, or another folder with -o)", path);
        free(path);
        if (!path || there) {
            results_close(r);
            return -1;
        }
    }
    return 0;
}

void results_close(struct results *r)
{
    if (r->lock < 0)
        return;
    folder_unlock(r->lock, r->folder);
    r->lock = -1;
    if (r->is_new)
        rmdir(r->folder); /* only where nothing was left in it */
}

void command_word(FILE *f, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";

    fputc(' ', f);
    if (*word && word[strspn(word, plain)] == 0) {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", f);
        else
            fputc(*word, f);
    fputc('\'', f);
}
