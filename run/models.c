/* MODEL arguments. */
#include "run/models.h"

#include "io/checkpoint.h"
#include "io/hub.h"
#include "io/verify.h"
#include "model/rope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define HUB_MARK "hf:"

/* The last part of a path, without slashes at its end; `.` and `..` are looked up. Returns 0, or -1 when it does not fit. */
static int last_part(char *name, size_t size, const char *path)
{
    size_t end = strlen(path), start;
    char *real = NULL;
    int rc;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/'; start--)
        ;
    if ((end - start == 1 && path[start] == '.') || (end - start == 2 && strncmp(path + start, "..", 2) == 0)) {
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

/* The text without hf: at its begin. */
static const char *after_mark(const char *text)
{
    return text + (strncmp(text, HUB_MARK, strlen(HUB_MARK)) == 0 ? strlen(HUB_MARK) : 0);
}

static int name_taken(const struct model_argument *models, const int *named, int count, const char *name, int self)
{
    /* names that were given come first, whatever the order; default names give way to them */
    for (int i = 0; i < count; i++)
        if (i != self && (named[i] || i < self) && strcmp(models[i].name, name) == 0)
            return 1;
    return 0;
}

/* "+" and the adapter's name behind the model's. */
static int name_adapter(struct model_argument *m, struct error *e)
{
    size_t length = strlen(m->name);

    if (length + 1 < sizeof m->name &&
        last_part(m->name + length + 1, sizeof m->name - length - 1, after_mark(m->adapter)) == 0) {
        m->name[length] = '+';
        return 0;
    }
    return fail(e, "%s: its last part and that of %s are too long for a name (expected NAME=MODEL)", m->model, m->adapter);
}

int model_arguments(struct model_argument **out, const struct text_list *texts, const char *adapter, struct error *e)
{
    size_t count = (size_t)texts->count;
    struct model_argument *models = calloc(count ? count : 1, sizeof *models);
    int *named = calloc(count ? count : 1, sizeof *named), rc = -1;

    if (!models || !named) {
        fail(e, "out of memory for the arguments");
        goto end;
    }
    if (adapter && count > 1) {
        fail(e, "--adapter is for one model, and %zu are given (expected one MODEL; `reach plot` overlays results)", count);
        goto end;
    }
    for (int i = 0; i < texts->count; i++) {
        const char *text = texts->item[i], *equals = strchr(text, '=');

        if (text[0] == '-') {
            fail(
                e,
                "%s: is neither an option nor a model (expected MODEL or NAME=MODEL; options have two dashes, but for -o and -h)",
                text);
            goto end;
        }
        if (text[0] == 0) {
            fail(e, "an empty argument is no model (expected MODEL or NAME=MODEL)");
            goto end;
        }
        models[i].model = text;
        models[i].adapter = adapter;
        if (equals && !memchr(text, '/', (size_t)(equals - text))) {
            size_t length = (size_t)(equals - text);

            named[i] = 1;
            models[i].model = equals + 1;
            if (length == 0 || length >= sizeof models[i].name || *models[i].model == 0) {
                fail(e, "%s: is no NAME=MODEL (expected a name of 1 to %zu bytes, then a model)", text,
                     sizeof models[i].name - 1);
                goto end;
            }
            memcpy(models[i].name, text, length);
        } else if (last_part(models[i].name, sizeof models[i].name, after_mark(text)) != 0) {
            fail(e, "%s: its last part is too long for a name (expected NAME=MODEL)", text);
            goto end;
        } else if (adapter && name_adapter(&models[i], e) != 0) {
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
                fail(e, "%s: the name \"%s\" is given twice (expected a name of its own for each model)", texts->item[i],
                     models[i].name);
                goto end;
            }
    for (int i = 0; i < texts->count; i++) {
        char base[128];

        if (named[i])
            continue;
        memcpy(base, models[i].name, sizeof base);
        for (int number = 2; name_taken(models, named, texts->count, models[i].name, i); number++)
            if (snprintf(models[i].name, sizeof models[i].name, "%s-%d", base, number) >= (int)sizeof models[i].name) {
                fail(e, "%s: its last part is too long for a name (expected NAME=MODEL)", texts->item[i]);
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

    if (path && checkpoint_in_folder(&file, path, e) != 0) {
        free(path);
        return NULL;
    }
    if (file) {
        free(path);
        path = file;
    }
    return path;
}

int model_arguments_find(struct model_argument *models, int count, struct progress *p, struct error *e)
{
    for (int i = 0; i < count; i++)
        if (!(models[i].path = model_find(models[i].model, p, e)) ||
            (models[i].adapter && !(models[i].adapter_path = folder_find(models[i].adapter, p, e))))
            return -1;
    return 0;
}

void model_arguments_free(struct model_argument *models, int count)
{
    for (int i = 0; models && i < count; i++) {
        free(models[i].path);
        free(models[i].adapter_path);
    }
    free(models);
}

struct decoder *model_open(const char *path, const char *adapter, int strict, struct progress *p, struct error *e)
{
    struct decoder *d = decoder_open_adapted(path, adapter, e);

    if (!d)
        return NULL;
    if (strict && *d->not_understood) {
        fail(e, "%s: not understood: %s (expected, with --strict, no such key)", config_path(d->config), d->not_understood);
        decoder_close(d);
        return NULL;
    }
    for (const char *line = d->notes; *line;) {
        size_t length = strcspn(line, "\n");

        progress_message(p, "%s: %.*s", path, (int)length, line);
        line += length + (line[length] != 0);
    }
    if (*d->not_understood)
        progress_message(p, "%s: not understood: %s", config_path(d->config), d->not_understood);
    return d;
}

int model_digest(char digest[33], const struct decoder *d, struct error *e)
{
    XXH3_state_t *state;
    XXH128_canonical_t canonical;
    size_t size;
    const char *text = config_text(d->config, &size);

    if (tensors_digest(d->tensors, digest, e) != 0)
        return -1;
    state = XXH3_createState();
    if (!state)
        return fail(e, "%s: out of memory for the digest", d->path);
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, digest, 32);
    XXH3_128bits_update(state, text, size);
    if (d->adapter) {
        text = config_text(d->adapter, &size);
        XXH3_128bits_update(state, text, size);
    }
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    for (int i = 0; i < 16; i++)
        snprintf(digest + 2 * i, 3, "%02x", canonical.digest[i]);
    XXH3_freeState(state);
    return 0;
}

int model_verify(char **line, char digest[33], const struct decoder *d, struct error *e)
{
    struct verified v;
    char checksums[80] = "";

    *line = NULL;
    if (tensors_verify(&v, d->tensors, e) != 0 || model_digest(digest, d, e) != 0)
        return -1;
    if (v.right)
        snprintf(checksums, sizeof checksums, ", %zu checksum%s right", v.right, v.right == 1 ? " is" : "s are");
    if (v.unguarded)
        snprintf(checksums + strlen(checksums), sizeof checksums - strlen(checksums), ", %zu without one", v.unguarded);
    if (asprintf(line, "%zu file%s of %.1f MB read, all numbers of %zu tensors are finite%s; digest %s", v.files,
                 v.files == 1 ? "" : "s", (double)v.bytes / 1e6, v.tensors, checksums, digest) < 0) {
        *line = NULL;
        return fail(e, "%s: out of memory", d->path);
    }
    return 0;
}

/* The types of --bias-dtype; ELEMENT_F64: none of them. */
static enum element bias_type(const char *name)
{
    static const enum element types[] = {ELEMENT_F32, ELEMENT_BF16, ELEMENT_F16};

    for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
        if (strcmp(name, element_name(types[i])) == 0)
            return types[i];
    return ELEMENT_F64;
}

int run_available(const struct machine_options *o, struct error *e)
{
    return kernels_available(o->device, o->dtype, e);
}

int run_override(struct decoder *d, const struct encoding_options *o, long train_length, struct error *e)
{
    struct position_override change = {.positions_none = o->positions_none,
                                       .window = o->window,
                                       .keep = o->keep_first,
                                       .bias_type = bias_type(o->bias_dtype)};
    struct formula_error problem = {0, ""};
    struct rope_spec rope;
    int rc;

    if (!o->bias && !o->bias_dtype && !o->positions_none && !o->rope && o->window < 0 && !o->keep_first && !o->logn)
        return 0;
    if (o->logn)
        change.log_length = d->train_length ? d->train_length : (int)train_length;
    if (o->logn && change.log_length < 2)
        return fail(e, "%s: --logn: the model does not say the length it was trained on (expected --train-length N with it)",
                    d->path);
    if (o->rope && rope_parse(&rope, o->rope, e) != 0)
        return -1;
    change.rope = o->rope ? &rope : NULL;
    if (o->bias && !(change.bias = formula_parse(o->bias, &problem)))
        return fail(e, "--bias: \"%s\", at character %zu: %s", o->bias, problem.at + 1, problem.message);
    rc = decoder_override(d, &change, e);
    if (rc != 0)
        formula_free(change.bias);
    return rc;
}

void model_tell_length(const struct decoder *d, size_t inputs, struct progress *p)
{
    if (d->declared_length && inputs > (size_t)d->declared_length)
        progress_message(p,
                         "%s: %zu inputs are more than its configuration has positions for (%s %d), and its encoding goes on "
                         "beyond them",
                         d->path, inputs, d->declared_by, d->declared_length);
}
