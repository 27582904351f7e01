#include "io/checkpoint/checkpoint.h"
#include "io/containers/hdf_tensors.h"
#include "io/containers/safetensors.h"
#include "io/system/atomic.h"
#include "io/system/file.h"

#include <errno.h>
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

/* 1 if the file holds exactly this text. */
static int holds_text(const char *path, const char *text, size_t size)
{
    size_t there = 0;
    char *found = access(path, F_OK) == 0 ? file_read_whole(path, size, &there, NULL) : NULL;
    int same = found && there == size && memcmp(found, text, size) == 0;
    free(found);
    return same;
}

static int stage_text(const char *path, const char *text, size_t size, struct atomic_file *out,
                      struct error *e)
{
    if (atomic_open(out, path, e))
        return -1;
    fwrite(text, 1, size, out->stream);
    return atomic_stage(out, e);
}

/* Both are renamed when both are complete, and the old configuration is removed before: weights
 * without one are not a checkpoint, and with another one they would be misread. */
static int place_pair(struct atomic_file *weights, struct atomic_file *config, struct error *e)
{
    if (config->path && unlink(config->path) && errno != ENOENT)
        return fail(e, "%s: cannot be replaced: %s", config->path, strerror(errno));
    return atomic_place(weights, e) || (config->path && atomic_place(config, e)) ? -1 : 0;
}

/* Tensors at PATH and config.json beside it. */
static int write_pair(struct checkpoint *c, const char *path, int force, struct error *e)
{
    size_t size;
    const char *text = config_text(c->config, &size);
    struct atomic_file weights = {0}, description = {0};
    char *config;
    if (asprintf(&config, "%.*sconfig.json", (int)(path_base(path) - path), path) < 0)
        return fail_memory(e, (double)strlen(path), "a path");
    int same = holds_text(config, text, size), result = -1;
    if (check_way(path, force, e) == 0 && (same || check_way(config, force, e) == 0) &&
        safetensors_stage(path, c->tensors, &weights, e) == 0 &&
        (same || stage_text(config, text, size, &description, e) == 0))
        result = place_pair(&weights, &description, e);
    atomic_abandon(&weights);
    atomic_abandon(&description);
    free(config);
    return result;
}

/* Files that would be read from a folder before model.safetensors. */
static int check_index(const char *folder, struct error *e)
{
    char *index;
    if (asprintf(&index, "%s/model.safetensors.index.json", folder) < 0)
        return fail_memory(e, (double)strlen(folder), "a path");
    int result = access(index, F_OK) ? 0
                                     : fail(e,
                                            "%s: would be read instead of what is written beside "
                                            "it (expected a folder without it)",
                                            index);
    free(index);
    return result;
}

int checkpoint_write(struct checkpoint *c, const char *out, int force, struct error *e)
{
    const struct tensor *quantised = tensors_quantised(c->tensors);
    char *path;
    int result;
    if (quantised && quantised->stored->kind == STORED_QUANTISED)
        return fail(e,
                    "%s: tensor %s is stored as %s, which cannot be written (expected --widen, "
                    "which writes it as F32)",
                    tensors_path(c->tensors), quantised->name, quantised->stored->name);
    switch (checkpoint_form(out)) {
    case CHECKPOINT_HDF:
        return check_way(out, force, e) ? -1 : hdf_tensors_write(out, c->tensors, c->config, e);
    case CHECKPOINT_SAFETENSORS: return write_pair(c, out, force, e);
    default: break;
    }
    if (folder_make(out, e) || check_index(out, e))
        return -1;
    if (asprintf(&path, "%s/model.safetensors", out) < 0)
        return fail_memory(e, (double)strlen(out), "a path");
    result = write_pair(c, path, force, e);
    free(path);
    return result;
}
