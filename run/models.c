/* Opening, checking and changing models for a run. */
#include "run/models.h"

#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/verify.h"
#include "io/system/memory.h"
#include "model/rope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct decoder *model_told(struct decoder *d, int strict, struct progress *p, struct error *e)
{
    if (!d)
        return NULL;
    if (strict && *d->not_understood) {
        fail(e, "%s: not understood: %s (expected no such key, because of --strict)",
             config_path(d->config), d->not_understood);
        decoder_close(d);
        return NULL;
    }
    for (const char *line = d->notes; *line;) {
        size_t length = strcspn(line, "\n");

        progress_about(p, PROGRESS_MESSAGE, d->path, "%.*s", (int)length, line);
        line += length + (line[length] != 0);
    }
    if (*tensors_assumed(d->tensors))
        progress_about(p, PROGRESS_WARNING, d->path, "assumed, since the file does not say: %s",
                       tensors_assumed(d->tensors));
    if (*d->not_understood)
        progress_about(p, PROGRESS_WARNING, config_path(d->config), "not understood: %s",
                       d->not_understood);
    return d;
}

struct decoder *model_open(const char *path, const struct adapter_list *adapters, int strict,
                           struct progress *p, struct error *e)
{
    return model_told(decoder_open_adapted(path, adapters, e), strict, p, e);
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
    char checksums[80] = "", size[BYTES_TEXT];

    *line = NULL;
    if (tensors_verify(&v, d->tensors, e) != 0 || model_digest(digest, d, e) != 0)
        return -1;
    if (v.right)
        snprintf(checksums, sizeof checksums, ", %zu checksum%s right", v.right,
                 v.right == 1 ? " is" : "s are");
    if (v.unguarded)
        snprintf(checksums + strlen(checksums), sizeof checksums - strlen(checksums),
                 ", %zu without one", v.unguarded);
    if (asprintf(line, "%zu file%s of %s read, all numbers of %zu tensors are finite%s; digest %s",
                 v.files, v.files == 1 ? "" : "s", bytes_text(size, (double)v.bytes), v.tensors,
                 checksums, digest) < 0) {
        *line = NULL;
        return fail(e, "%s: out of memory", d->path);
    }
    return 0;
}

/* The types of --bias-dtype; ELEMENT_F64: unknown. */
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

int model_take_length(struct decoder *d, long train_length)
{
    if (!d->train_length)
        d->train_length = (int)train_length;
    return !train_length || d->train_length == train_length;
}

int models_refuse_length(struct error *e)
{
    return fail(e, "--train-length: the checkpoints state other training lengths themselves");
}

int run_override(struct decoder *d, const struct encoding_options *o, struct error *e)
{
    struct position_override change = {.positions_none = o->positions_none,
                                       .window = o->window,
                                       .keep = o->keep_first,
                                       .bias_type = bias_type(o->bias_dtype)};
    struct formula_error problem = {0, ""};
    struct rope_spec rope;
    int rc;

    if (!o->bias && !o->bias_dtype && !o->positions_none && !o->rope && o->window < 0 &&
        !o->keep_first && !o->logn)
        return 0;
    if (o->logn)
        change.log_length = d->train_length;
    if (o->logn && change.log_length < 2)
        return fail(e,
                    "%s: --logn: the model does not say the length it was trained on (expected "
                    "--train-length N too)",
                    d->path);
    if (o->rope && rope_parse(&rope, o->rope, e) != 0)
        return -1;
    change.rope = o->rope ? &rope : NULL;
    if (o->bias && !(change.bias = formula_parse(o->bias, &problem)))
        return fail(e, "--bias: \"%s\", at character %zu: %s", o->bias, problem.at + 1,
                    problem.message);
    rc = decoder_override(d, &change, e);
    if (rc != 0)
        formula_free(change.bias);
    return rc;
}

void model_tell_length(const struct decoder *d, size_t inputs, struct progress *p)
{
    if (d->declared_length && inputs > (size_t)d->declared_length)
        progress_about(p, PROGRESS_WARNING, d->path,
                       "%zu inputs are more than its configuration has positions for (%s %d), and "
                       "its encoding continues beyond them",
                       inputs, d->declared_by, d->declared_length);
}
