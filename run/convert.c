#include "run/convert.h"

#include "io/checkpoint/checkpoint.h"
#include "io/system/atomic.h"
#include "io/system/file.h"
#include "io/tokenizer/tokenizer.h"
#include "run/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKENIZER_BYTES_MAX = 256 << 20 };

/* Copies FROM/NAME to OUT, if it exists. */
static int copy_file(const char *from, const char *out, const char *name, int force,
                     struct error *e)
{
    char *source = NULL, *target = NULL, *text = NULL;
    struct atomic_file f = {0};
    size_t size;
    int rc = -1;

    if (asprintf(&source, "%s/%s", from, name) < 0 || asprintf(&target, "%s/%s", out, name) < 0) {
        fail_memory(e, (double)strlen(from), "a path");
        goto end;
    }
    if (access(source, F_OK) != 0) {
        rc = 0;
        goto end;
    }
    if (!force && access(target, F_OK) == 0) {
        fail(e, "%s: exists (expected --force to overwrite it, or another name)", target);
        goto end;
    }
    if (!(text = file_read_whole(source, TOKENIZER_BYTES_MAX, &size, e)) ||
        atomic_open(&f, target, e) != 0)
        goto end;
    fwrite(text, 1, size, f.stream);
    rc = atomic_commit(&f, e);
end:
    free(text);
    free(source);
    free(target);
    return rc;
}

/* Copies the model's tokenizer from folder to folder. */
static int copy_tokenizer(const char *model, const char *out, int force, struct error *e)
{
    static const char *const names[] = {"tokenizer.json",    "tokenizer_config.json",
                                        "added_tokens.json", "special_tokens_map.json",
                                        "vocab.json",        "merges.txt",
                                        "tokenizer.model",   "tiktoken.model",
                                        "qwen.tiktoken",     "chat_template.jinja"};
    struct stat a, b;

    if (stat(model, &a) != 0 || !S_ISDIR(a.st_mode) || stat(out, &b) != 0 || !S_ISDIR(b.st_mode) ||
        (a.st_dev == b.st_dev && a.st_ino == b.st_ino))
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (copy_file(model, out, names[i], force, e) != 0)
            return -1;
    return 0;
}

/* Writes a text to OUT/NAME. */
static int write_text(const char *out, const char *name, const char *text, int force,
                      struct error *e)
{
    struct atomic_file f = {0};
    char *target;
    int rc = -1;

    if (asprintf(&target, "%s/%s", out, name) < 0)
        return fail_memory(e, (double)strlen(out), "a path");
    if (!force && access(target, F_OK) == 0) {
        fail(e, "%s: exists (expected --force to overwrite it, or another name)", target);
    } else if (atomic_open(&f, target, e) == 0) {
        fputs(text, f.stream);
        rc = atomic_commit(&f, e);
    }
    free(target);
    return rc;
}

/* The tokenizer in a GGUF file as files of a folder. */
static int write_tokenizer(const char *model, const char *out, int force, struct progress *p,
                           struct error *e)
{
    char *json, *settings;
    struct error refused;
    int rc = tokenizer_text(&json, &settings, &refused, model, e);

    if (rc == 0 && *refused.text)
        progress_warning(p, "the tokenizer is not written: %s", refused.text);
    if (rc == 0 && json)
        rc = write_text(out, "tokenizer.json", json, force, e) != 0 ||
                     write_text(out, "tokenizer_config.json", settings, force, e) != 0
                 ? -1
                 : 0;
    free(json);
    free(settings);
    return rc;
}

/* The checkpoint, or that of the model with adapters merged onto it. */
static int open_merged(struct checkpoint *c, const char *model, const struct text_list *adapters,
                       struct progress *p, struct error *e)
{
    struct adapter_list list;
    struct decoder *d;

    if (!adapters->count)
        return checkpoint_open(c, model, e);
    d = adapters_find(&list, adapters, p, e) == 0 ? model_open(model, &list, 0, p, e) : NULL;
    adapter_list_free(&list);
    if (!d)
        return -1;
    *c = (struct checkpoint){d->tensors, d->config};
    d->tensors = NULL;
    d->config = NULL;
    decoder_close(d);
    return 0;
}

int convert_run(struct converted *done, const struct convert_options *o, struct progress *p,
                struct error *e)
{
    struct checkpoint c = {0};
    char *model = model_find(o->model, p, e);
    int rc = -1;

    *done = (struct converted){0};
    if (!model || open_merged(&c, model, &o->adapters, p, e) != 0 ||
        checkpoint_to_library(&c, e) != 0 || (o->widen && checkpoint_widen(&c, e) != 0) ||
        checkpoint_write(&c, o->out, o->force, e) != 0)
        goto end;
    if (checkpoint_form(o->out) == CHECKPOINT_FOLDER &&
        (copy_tokenizer(model, o->out, o->force, e) != 0 ||
         write_tokenizer(model, o->out, o->force, p, e) != 0))
        goto end;
    done->tensors = tensors_count(c.tensors);
    for (size_t i = 0; i < done->tensors; i++)
        done->bytes += (double)tensors_at(c.tensors, i)->bytes;
    rc = 0;
end:
    checkpoint_close(&c);
    free(model);
    return rc;
}
