/* Result folders of verbs that write at the end. */
#include "run/results.h"

#include "plots/figure.h"
#include "plots/font.h"
#include "run/interrupt.h"

#include <dirent.h>
#include <errno.h>
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

static const char *name_of(const struct results_file *f)
{
    return f->layout ? f->layout->file : f->name;
}

char *command_comment(const char *command)
{
    char *text;

    return asprintf(&text, "command: %s", command) < 0 ? NULL : text;
}

/* The folder, created if needed, and its lock. */
static int open_folder(struct results *r, struct error *e)
{
    if (folder_make(r->folder, e) != 0 || (r->is_new && folder_watch(r->folder, e) != 0))
        return -1;
    if ((r->lock = folder_lock(r->folder, e)) >= 0)
        return 0;
    folder_unwatch(r->folder);
    return -1;
}

int results_open(struct results *r, const char *folder, const struct results_layout *l, int force,
                 struct error *e)
{
    struct stat found;
    int rc;

    *r = (struct results){.folder = folder, .lock = -1, .is_new = stat(folder, &found) != 0};
    interrupt_hold(); /* or a signal could find a folder, or a lock in it, that nobody watches yet
                       */
    rc = open_folder(r, e);
    interrupt_release();
    if (rc != 0 || force || !results_exist(folder, l, e))
        return rc;
    results_close(r);
    return -1;
}

/* 1 with a message if FOLDER holds NAME with this ending, or memory runs out. */
static int is_there(const char *folder, const char *name, const char *end, struct error *e)
{
    char *path;
    int found;

    if (asprintf(&path, "%s/%s%s", folder, name, end) < 0) {
        fail(e, "%s: out of memory", folder);
        return 1;
    }
    found = access(path, F_OK) == 0;
    if (found)
        fail(e, "%s: exists (expected --force to overwrite results, or another folder with -o)",
             path);
    free(path);
    return found;
}

int results_exist(const char *folder, const struct results_layout *l, struct error *e)
{
    for (const struct results_file *const *f = l->files; *f; f++)
        if (is_there(folder, name_of(*f), "", e))
            return 1;
    for (const char *const *stem = l->stems; *stem; stem++)
        if (is_there(folder, *stem, ".gp", e))
            return 1;
    return 0;
}

/* Whether `name` is a file of the layout, or the script of a figure. */
static int is_of(const struct results_layout *l, const char *name)
{
    for (const struct results_file *const *f = l->files; *f; f++)
        if (strcmp(name_of(*f), name) == 0)
            return 1;
    for (const char *const *stem = l->stems; *stem; stem++)
        if (strncmp(*stem, name, strlen(*stem)) == 0 && strcmp(name + strlen(*stem), ".gp") == 0)
            return 1;
    return 0;
}

int results_holds(const char *folder, const struct results_layout *l, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    struct stat a, b;
    int same = parent && stat(parent, &a) == 0 && stat(folder, &b) == 0 && a.st_dev == b.st_dev &&
               a.st_ino == b.st_ino;

    free(parent);
    return same && is_of(l, slash ? slash + 1 : path);
}

void results_close(struct results *r)
{
    if (r->lock < 0)
        return;
    folder_unlock(r->lock, r->folder);
    r->lock = -1;
    if (r->is_new)
        rmdir(r->folder); /* only if it is empty */
    folder_unwatch(r->folder);
}

/* 1 if the name is that of a temporary file of these, left by a killed run. */
static int is_unfinished(const char *name, const struct results_layout *l)
{
    const char *end = strstr(name, ".tmp-");
    size_t length = *name == '.' && end ? (size_t)(end - name) - 1 : 0;

    for (const struct results_file *const *f = l->files; length && *f; f++)
        if (strlen(name_of(*f)) == length && memcmp(name + 1, name_of(*f), length) == 0)
            return 1;
    for (const char *const *stem = l->stems; length && *stem; stem++)
        if (strncmp(name + 1, *stem, strlen(*stem)) == 0 && name[1 + strlen(*stem)] == '.')
            return 1;
    return 0;
}

/* The folder is locked, so nobody else is writing them. */
static void remove_unfinished(const char *folder, const struct results_layout *l)
{
    DIR *d = opendir(folder);

    for (struct dirent *entry; d && (entry = readdir(d));)
        if (is_unfinished(entry->d_name, l))
            unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
}

static int remove_old(const char *folder, const char *name, struct error *e)
{
    char *path = results_path(folder, name, e);
    int rc = path ? 0 : -1;

    if (path && unlink(path) != 0 && errno != ENOENT)
        rc = fail(e, "%s: cannot be removed: %s (expected a file of an earlier result, or nothing)",
                  path, strerror(errno));
    free(path);
    return rc;
}

static int remove_figure(const char *folder, const char *stem, struct error *e)
{
    char name[64];

    snprintf(name, sizeof name, "%s.gp", stem);
    return remove_old(folder, name, e) != 0 || figure_remove(folder, stem, e) != 0 ? -1 : 0;
}

/* Files written under temporary names. */
struct staged {
    struct atomic_file *file; /* [count] */
    size_t count;
};

static void abandon(struct staged *s)
{
    while (s->count > 0)
        atomic_abandon(&s->file[--s->count]);
    free(s->file);
    s->file = NULL;
}

static int is_wanted(const struct results_file *f, const void *found)
{
    return !f->is_wanted || f->is_wanted(found);
}

static int stage_table(const struct results_file *f, const void *found, const char *path,
                       const char *command, struct atomic_file *out, struct error *e)
{
    char *note = f->note ? f->note(found) : NULL;
    struct csv *csv = !f->note || note
                          ? csv_open(path, f->layout, command, note && *note ? note : NULL, e)
                          : NULL;

    if (f->note && !note)
        return fail(e, "%s: out of memory", path);
    free(note);
    if (!csv)
        return -1;
    if (f->rows(found, csv, e) == 0)
        return csv_stage(csv, out, e);
    csv_abandon(csv);
    return -1;
}

static int stage(struct staged *s, const char *folder, const struct results_layout *l,
                 const void *found, const char *command, struct error *e)
{
    size_t most = 0;

    while (l->files[most])
        most++;
    *s = (struct staged){.file = calloc(most, sizeof *s->file)};
    if (!s->file)
        return fail_memory(e, (double)most * sizeof *s->file, "the files of a result");
    for (size_t i = 0; i < most; i++) {
        const struct results_file *f = l->files[i];
        char *path = results_path(folder, name_of(f), e);
        int rc = !path                  ? -1
                 : !is_wanted(f, found) ? 0
                 : f->layout ? stage_table(f, found, path, command, &s->file[s->count], e)
                             : f->write(found, path, &s->file[s->count], e);

        free(path);
        if (rc != 0)
            return -1;
        s->count += (size_t)is_wanted(f, found);
    }
    return 0;
}

/* Moves the files into place. */
static int place(struct staged *s, const char *folder, const struct results_layout *l,
                 struct error *e)
{
    int rc = 0;

    interrupt_hold();
    for (int i = s->count > 1 ? 0 : 1; rc == 0 && l->files[i];
         i++) /* a single file replaces the old one */
        rc = remove_old(folder, name_of(l->files[i]), e);
    for (int i = 0; rc == 0 && l->stems[i]; i++)
        rc = remove_figure(folder, l->stems[i], e);
    if (rc == 0)
        rc = folder_sync(folder, e);
    while (rc == 0 && s->count > 0)
        rc = atomic_place(&s->file[--s->count], e);
    abandon(s);
    remove_unfinished(folder, l);
    interrupt_release();
    return rc;
}

int results_write(const char *folder, const struct results_layout *l, const void *found,
                  const char *command, struct error *e)
{
    struct staged s;
    int rc = stage(&s, folder, l, found, command, e) == 0 ? place(&s, folder, l, e) : -1;

    abandon(&s);
    return rc;
}

int results_document(struct json_writer *d, const struct results_file *const *files,
                     const void *found, struct error *e)
{
    int rc = 0, noted = 0;

    for (; *files && rc == 0; files++) {
        const struct results_file *f = *files;
        char *note = NULL;
        struct csv *csv;

        if (!f->layout || !is_wanted(f, found))
            continue;
        if (f->note && !noted++ && !(note = f->note(found)))
            return fail(e, "%s: out of memory", f->layout->file);
        if (note && *note)
            json_write_text(d, "note", note);
        free(note);
        if (!(csv = csv_enter(d, f->layout, f->single, e)))
            return -1;
        rc = f->rows(found, csv, e);
        csv_leave(csv);
    }
    return rc;
}

/* In svg a font is only named. */
static void tell_font(const char *folder, const char *formats, const char *font, struct progress *p)
{
    int drawn = figure_has_panel(formats, "png") || figure_has_panel(formats, "pdf");
    char instead[128];

    if ((!drawn && !figure_has_panel(formats, "svg")) ||
        !font_is_replaced(instead, sizeof instead, font, folder))
        return;
    progress_message(p,
                     "the font \"%s\" is not installed: %s%s (`fc-list : family` lists those that "
                     "are)",
                     font, drawn ? "in its place is " : "svg pictures only name it",
                     drawn ? instead : "");
}

int results_drawn(int drawn, const char *folder, const char *formats, const char *font,
                  struct progress *p, const struct error *e)
{
    if (drawn == 0)
        tell_font(folder, formats, font ? font : FIGURE_FONT, p);
    if (drawn == FIGURE_NO_GNUPLOT)
        progress_message(p, "%s", e->text);
    else if (drawn == FIGURE_NOT_DRAWN)
        progress_not_drawn(p, "%s", e->text);
    return drawn < 0 ? -1 : 0;
}

int results_check_finished(const char *path, struct error *e)
{
    struct stat found;
    const char *slash = strrchr(path, '/');
    int is_folder = stat(path, &found) == 0 && S_ISDIR(found.st_mode), there;
    char *part, *folder = is_folder ? strdup(path)
                          : slash   ? strndup(path, (size_t)(slash - path) + 1)
                                    : strdup(".");

    part = folder ? results_path(folder, "erf.part", e) : NULL;
    there = part && access(part, F_OK) == 0;
    if (!folder)
        fail(e, "%s: out of memory", path);
    else if (there)
        fail(e,
             "%s: holds an unfinished run (expected a finished one: continue with reach erf "
             "--resume)",
             folder);
    free(folder);
    free(part);
    return part && !there ? 0 : -1;
}
