#include "io/atomic.h"
#include "io/checkpoint.h"
#include "io/file.h"
#include "io/hdf_tensors.h"
#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

enum checkpoint_form checkpoint_form(const char *out)
{
    if (ends_with(out, ".h5") || ends_with(out, ".hdf5"))
        return CHECKPOINT_HDF;
    return ends_with(out, ".safetensors") ? CHECKPOINT_SAFETENSORS : CHECKPOINT_FOLDER;
}

static int check_way(const char *path, int force, struct error *e)
{
    if (!force && access(path, F_OK) == 0)
        return fail(e, "%s: exists (expected --force to overwrite it, or another name)", path);
    return 0;
}

/* 1 if the file holds just this text. */
static int holds_text(const char *path, const char *text, size_t size)
{
    size_t there = 0;
    char *found = access(path, F_OK) == 0 ? file_read_whole(path, size, &there, NULL) : NULL;
    int same = found && there == size && memcmp(found, text, size) == 0;
    free(found);
    return same;
}

static int write_text(const char *path, const char *text, size_t size, struct error *e)
{
    struct atomic_file f;
    if (atomic_open(&f, path, e))
        return -1;
    fwrite(text, 1, size, f.stream);
    return atomic_commit(&f, e);
}

/* Tensors at PATH and config.json beside it. */
static int write_pair(struct checkpoint *c, const char *path, int force, struct error *e)
{
    size_t size;
    const char *text = config_text(c->config, &size);
    char *config;
    if (asprintf(&config, "%.*sconfig.json", (int)(path_base(path) - path), path) < 0)
        return fail_memory(e, (double)strlen(path), "a path");
    int same = holds_text(config, text, size);
    int result = check_way(path, force, e) || (!same && check_way(config, force, e)) || safetensors_write(path, c->tensors, e) ||
                         (!same && write_text(config, text, size, e))
                     ? -1
                     : 0;
    free(config);
    return result;
}

int checkpoint_write(struct checkpoint *c, const char *out, int force, struct error *e)
{
    char *path;
    int result;
    switch (checkpoint_form(out)) {
    case CHECKPOINT_HDF: return check_way(out, force, e) ? -1 : hdf_tensors_write(out, c->tensors, c->config, e);
    case CHECKPOINT_SAFETENSORS: return write_pair(c, out, force, e);
    default: break;
    }
    if (folder_make(out, e))
        return -1;
    if (asprintf(&path, "%s/model.safetensors", out) < 0)
        return fail_memory(e, (double)strlen(out), "a path");
    result = write_pair(c, path, force, e);
    free(path);
    return result;
}
