#include "run/convert.h"

#include "io/atomic.h"
#include "io/checkpoint.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKENIZER_BYTES_MAX = 256 << 20 };

/* Copies FROM/NAME to OUT, where there is one. */
static int copy_file(const char *from, const char *out, const char *name, int force, struct error *e)
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
    if (!(text = file_read_whole(source, TOKENIZER_BYTES_MAX, &size, e)) || atomic_open(&f, target, e) != 0)
        goto end;
    fwrite(text, 1, size, f.stream);
    rc = atomic_commit(&f, e);
end:
    free(text);
    free(source);
    free(target);
    return rc;
}

/* The tokenizer goes with the model from folder to folder. */
static int copy_tokenizer(const char *model, const char *out, int force, struct error *e)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt"};
    struct stat a, b;

    if (stat(model, &a) != 0 || !S_ISDIR(a.st_mode) || stat(out, &b) != 0 || !S_ISDIR(b.st_mode) ||
        (a.st_dev == b.st_dev && a.st_ino == b.st_ino))
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (copy_file(model, out, names[i], force, e) != 0)
            return -1;
    return 0;
}

int convert_run(struct converted *done, const char *model, const char *out, int force, struct error *e)
{
    struct checkpoint c;
    int rc;

    *done = (struct converted){0};
    if (checkpoint_open(&c, model, e) != 0)
        return -1;
    rc = checkpoint_write(&c, out, force, e);
    if (rc == 0 && checkpoint_form(out) == CHECKPOINT_FOLDER)
        rc = copy_tokenizer(model, out, force, e);
    done->tensors = tensors_count(c.tensors);
    for (size_t i = 0; i < done->tensors; i++)
        done->bytes += (double)tensors_at(c.tensors, i)->bytes;
    checkpoint_close(&c);
    return rc;
}
