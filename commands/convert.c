/* `reach convert`: any readable checkpoint as safetensors or HDF5. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/verb.h"
#include "run/interrupt.h"

#include "io/atomic.h"
#include "io/checkpoint.h"
#include "io/file.h"

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

struct convert_options {
    const char *model, *out;
    int force;
};

static int convert_call(struct call *call, struct error *e)
{
    const struct convert_options *o = call->options;
    struct checkpoint c;
    double bytes = 0;
    int rc;

    interrupt_end();
    if (checkpoint_open(&c, o->model, e) != 0)
        return -1;
    rc = checkpoint_write(&c, o->out, o->force, e);
    if (rc == 0 && checkpoint_form(o->out) == CHECKPOINT_FOLDER)
        rc = copy_tokenizer(o->model, o->out, o->force, e);
    for (size_t i = 0; i < tensors_count(c.tensors); i++)
        bytes += (double)tensors_at(c.tensors, i)->bytes;
    if (rc == 0)
        printf("%s: %zu tensors, %.1f MB\n", o->out, tensors_count(c.tensors), bytes / 1e6);
    checkpoint_close(&c);
    return rc;
}

#define OPTIONS struct convert_options

static const struct option_row rows[] = {FORCE_ROW("overwrite files that exist")};

static const struct operand_row operands[] = {
    {.name = "MODEL", .expected = "MODEL and OUT; options have two dashes", .at = AT(model)},
    {.name = "OUT", .expected = "MODEL and OUT; options have two dashes", .at = AT(out)}};

const struct verb convert_verb = {
    .name = "convert",
    .summary = "any readable checkpoint as safetensors or HDF5",
    .synopsis = "MODEL OUT [options]",
    .description =
        "Writes a checkpoint anew, with every tensor, its type and its values as they are. OUT is a folder (model.safetensors "
        "and config.json, and the tokenizer's files of a MODEL that is a folder), a file ending in .safetensors (config.json "
        "beside it), or one ending in .h5 or .hdf5 (the config in its attribute `config`).\n\nMODEL is whatever the other verbs "
        "read: a folder of Hugging Face's with safetensors or pytorch_model.bin, a directory of GPT-NeoX, a file of fairseq's "
        "transformer_rpe_lm, llm.c's GPT-2, safetensors, HDF5, or a state dict of PyTorch with config.json beside it. What has "
        "no config.json gets one that says how it is understood here.\n",
    .examples = "  reach convert runs/kerple-log/global_step50000 kerple-log\n  reach convert gpt2_124M.bin gpt2.h5\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .run = convert_call,
};
