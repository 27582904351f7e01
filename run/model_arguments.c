/* MODEL arguments: their names and paths. */
#include "run/models.h"

#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/hub.h"
#include "io/system/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HUB_MARK "hf:"

/* The last part of a path, without trailing slashes; `.` and `..` are resolved. Returns 0, or -1 if
 * it does not fit. */
static int last_part(char *name, size_t size, const char *path)
{
    size_t end = strlen(path), start;
    char *real = NULL;
    int rc;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/'; start--)
        ;
    if ((end - start == 1 && path[start] == '.') ||
        (end - start == 2 && strncmp(path + start, "..", 2) == 0)) {
        real = realpath(path, NULL);
        if (real) {
            path = real;
            end = strlen(path);
            for (start = end; start > 0 && path[start - 1] != '/'; start--)
                ;
        }
    }
    if (end == start)
        rc = snprintf(name, size, "model") < (int)size ? 0 : -1;
    else
        rc = snprintf(name, size, "%.*s", (int)(end - start), path + start) < (int)size ? 0 : -1;
    free(real);
    return rc;
}

/* The text without a leading hf:. */
static const char *after_mark(const char *text)
{
    return text + (strncmp(text, HUB_MARK, strlen(HUB_MARK)) == 0 ? strlen(HUB_MARK) : 0);
}

static int name_taken(const struct model_argument *models, const int *named, int count,
                      const char *name, int self)
{
    /* given names come first, whatever the order; default names make way for them */
    for (int i = 0; i < count; i++)
        if (i != self && (named[i] || i < self) && strcmp(models[i].name, name) == 0)
            return 1;
    return 0;
}

/* "+" and each adapter's name after the model's. */
static int name_adapters(struct model_argument *m, struct error *e)
{
    for (int i = 0; i < m->adapters->count; i++) {
        size_t length = strlen(m->name);
        const char *adapter = after_mark(m->adapters->item[i]);

        if (length + 1 >= sizeof m->name ||
            last_part(m->name + length + 1, sizeof m->name - length - 1, adapter) != 0)
            return fail(
                e, "%s: its last part and that of %s are too long for a name (expected NAME=MODEL)",
                m->model, adapter);
        m->name[length] = '+';
    }
    return 0;
}

int model_arguments(struct model_argument **out, const struct text_list *texts,
                    const struct text_list *adapters, struct error *e)
{
    size_t count = (size_t)texts->count;
    struct model_argument *models = calloc(count ? count : 1, sizeof *models);
    int *named = calloc(count ? count : 1, sizeof *named), rc = -1;

    if (!models || !named) {
        fail(e, "out of memory for the arguments");
        goto end;
    }
    if (adapters && adapters->count && count > 1) {
        fail(e,
             "--adapter is for one model, and %zu are given (expected one MODEL; `reach plot` "
             "overlays results)",
             count);
        goto end;
    }
    for (int i = 0; i < texts->count; i++) {
        const char *text = texts->item[i], *equals = strchr(text, '=');

        if (text[0] == '-') {
            fail(e,
                 "%s: is neither an option nor a model (expected MODEL or NAME=MODEL; options have "
                 "two dashes, except -o and -h)",
                 text);
            goto end;
        }
        if (text[0] == 0) {
            fail(e, "an empty argument is not a model (expected MODEL or NAME=MODEL)");
            goto end;
        }
        models[i].model = text;
        models[i].adapters = adapters && adapters->count ? adapters : NULL;
        if (equals && !memchr(text, '/', (size_t)(equals - text))) {
            size_t length = (size_t)(equals - text);

            named[i] = 1;
            models[i].model = equals + 1;
            if (length == 0 || length >= sizeof models[i].name || *models[i].model == 0) {
                fail(e, "%s: is not NAME=MODEL (expected a name of 1 to %zu bytes, then a model)",
                     text, sizeof models[i].name - 1);
                goto end;
            }
            memcpy(models[i].name, text, length);
        } else if (last_part(models[i].name, sizeof models[i].name, after_mark(text)) != 0) {
            fail(e, "%s: its last part is too long for a name (expected NAME=MODEL)", text);
            goto end;
        } else if (models[i].adapters && name_adapters(&models[i], e) != 0) {
            goto end;
        }
        for (const char *p = models[i].name; *p; p++)
            if ((unsigned char)*p < 0x20 || *p == 0x7f) {
                fail(e, "%s: has a control character in its name (expected NAME=MODEL)", text);
                goto end;
            }
        if (strcmp(models[i].name, ".") == 0 || strcmp(models[i].name, "..") == 0) {
            fail(e, "%s: cannot be named \"%s\" (expected NAME=MODEL)", text, models[i].name);
            goto end;
        }
    }
    for (int i = 0; i < texts->count; i++)
        for (int j = 0; named[i] && j < i; j++)
            if (named[j] && strcmp(models[i].name, models[j].name) == 0) {
                fail(
                    e,
                    "%s: the name \"%s\" is given twice (expected a different name for each model)",
                    texts->item[i], models[i].name);
                goto end;
            }
    for (int i = 0; i < texts->count; i++) {
        char base[128];

        if (named[i])
            continue;
        memcpy(base, models[i].name, sizeof base);
        for (int number = 2; name_taken(models, named, texts->count, models[i].name, i); number++)
            if (snprintf(models[i].name, sizeof models[i].name, "%s-%d", base, number) >=
                (int)sizeof models[i].name) {
                fail(e, "%s: its last part is too long for a name (expected NAME=MODEL)",
                     texts->item[i]);
                goto end;
            }
    }
    *out = models;
    models = NULL;
    rc = 0;
end:
    free(models);
    free(named);
    return rc;
}

char *folder_find(const char *folder, struct progress *p, struct error *e)
{
    const char *name = after_mark(folder);
    char *path = NULL;

    if (name == folder && (access(folder, F_OK) == 0 || !hub_is_name(folder))) {
        if (!(path = strdup(folder)))
            fail(e, "%s: out of memory", folder);
    } else if ((path = hub_find(name, e))) {
        progress_message(p, "%s: snapshot %s", name, path);
    }
    return path;
}

char *model_find(const char *model, struct progress *p, struct error *e)
{
    char *path = folder_find(model, p, e), *file = NULL;

    if (path && (checkpoint_in_folder(&file, path, e) != 0 ||
                 (!file && checkpoint_last_step(&file, path, e) != 0))) {
        free(path);
        return NULL;
    }
    if (file && strncmp(path_base(file), "checkpoint-", 11) == 0)
        progress_message(p, "%s: the last step is read, %s", path, path_base(file));
    if (file) {
        free(path);
        path = file;
    }
    return path;
}

/* The folder of DIR=FACTOR, and the factor; of DIR that, and 1. What exists under its whole name
 * has no factor, nor has what is in a folder whose name has the mark. NULL: an error. */
static char *split_factor(const char *text, double *factor, struct error *e)
{
    const char *equals = access(text, F_OK) == 0 ? NULL : strrchr(text, '=');
    if (equals && (equals == text || strchr(equals, '/')))
        equals = NULL;
    char *name = strndup(text, equals ? (size_t)(equals - text) : strlen(text)), *end;

    *factor = 1;
    if (!name) {
        fail_memory(e, strlen(text), "an adapter's name");
        return NULL;
    }
    if (!equals)
        return name;
    errno = 0;
    *factor = strtod(equals + 1, &end);
    if (end > equals + 1 && !*end && isfinite(*factor) && errno == 0)
        return name;
    fail(e, "--adapter %s: \"%s\" is no factor (expected a finite number after DIR=)", text,
         equals + 1);
    free(name);
    return NULL;
}

int adapters_find(struct adapter_list *out, const struct text_list *adapters, struct progress *p,
                  struct error *e)
{
    *out = (struct adapter_list){0};
    if (!(out->part = calloc((size_t)adapters->count + 1, sizeof *out->part)))
        return fail_memory(e, sizeof *out->part, "adapters");
    for (int i = 0; i < adapters->count; i++) {
        struct adapter_part *part = &out->part[i];
        char *name = split_factor(adapters->item[i], &part->factor, e);

        part->folder = name ? folder_find(name, p, e) : NULL;
        free(name);
        if (!part->folder)
            return -1;
        out->count++;
    }
    return 0;
}

/* "DIR", or "DIR=FACTOR, DIR=FACTOR"; caller frees. */
static char *adapters_text(const struct adapter_list *l, struct error *e)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    for (int i = 0; f && i < l->count; i++) {
        fprintf(f, "%s%s", i ? ", " : "", l->part[i].folder);
        if (l->part[i].factor != 1)
            fprintf(f, "=%.10g", l->part[i].factor);
    }
    if (!f || fclose(f) != 0) {
        free(text);
        fail_memory(e, 100, "adapters");
        return NULL;
    }
    return text;
}

int model_arguments_find(struct model_argument *models, int count, struct progress *p,
                         struct error *e)
{
    for (int i = 0; i < count; i++)
        if (!(models[i].path = model_find(models[i].model, p, e)) ||
            (models[i].adapters &&
             (adapters_find(&models[i].adapted, models[i].adapters, p, e) != 0 ||
              !(models[i].adapter_path = adapters_text(&models[i].adapted, e)))))
            return -1;
    return 0;
}

void model_arguments_free(struct model_argument *models, int count)
{
    for (int i = 0; models && i < count; i++) {
        free(models[i].path);
        free(models[i].adapter_path);
        adapter_list_free(&models[i].adapted);
    }
    free(models);
}
