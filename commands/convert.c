/* `reach convert`: any readable checkpoint as safetensors or HDF5. */
#include "commands/commands.h"
#include "run/interrupt.h"
#include "commands/arguments.h"

#include "io/atomic.h"
#include "io/checkpoint.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum option { OPTION_FORCE, OPTION_COUNT };

enum { TOKENIZER_BYTES_MAX = 256 << 20 };

static const struct argument_row rows[OPTION_COUNT] = {
    [OPTION_FORCE] = {"force", NULL, "overwrite files that exist"},
};

static const struct verb_help help = {
    .verb = "convert",
    .synopsis = "MODEL OUT [options]",
    .description =
        "Writes a checkpoint anew, with every tensor, its type and its values as they are. OUT is a folder (model.safetensors "
        "and config.json, and the tokenizer's files of a MODEL that is a folder), a file ending in .safetensors (config.json "
        "beside it), or one ending in .h5 or .hdf5 (the config in its attribute `config`).\n\nMODEL is whatever the other verbs "
        "read: a folder of Hugging Face's with safetensors or pytorch_model.bin, a directory of GPT-NeoX, a file of fairseq's "
        "transformer_rpe_lm, llm.c's GPT-2, safetensors, HDF5, or a state dict of PyTorch with config.json beside it. What has "
        "no config.json gets one that says how it is understood here.\n",
    .options = rows,
    .option_count = OPTION_COUNT,
    .examples = "  reach convert runs/kerple-log/global_step50000 kerple-log\n  reach convert gpt2_124M.bin gpt2.h5\n",
};

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

static int convert(const char *model, const char *out, int force, struct error *e)
{
    struct checkpoint c;
    double bytes = 0;
    int rc;

    if (checkpoint_open(&c, model, e) != 0)
        return -1;
    rc = checkpoint_write(&c, out, force, e);
    if (rc == 0 && checkpoint_form(out) == CHECKPOINT_FOLDER)
        rc = copy_tokenizer(model, out, force, e);
    for (size_t i = 0; i < tensors_count(c.tensors); i++)
        bytes += (double)tensors_at(c.tensors, i)->bytes;
    if (rc == 0)
        printf("%s: %zu tensors, %.1f MB\n", out, tensors_count(c.tensors), bytes / 1e6);
    checkpoint_close(&c);
    return rc;
}

int main_convert(int argc, char **argv)
{
    struct arguments a = {.count = argc, .text = argv};
    const char *value, *paths[2] = {NULL, NULL};
    int option, count = 0, force = 0, rc = 0;
    struct error e = {""};

    while (rc == 0 && (option = arguments_next(&a, &help, &value, &e)) != ARGUMENT_END)
        switch (option) {
        case ARGUMENT_HELP: verb_help_print(stdout, &help); return EXIT_DONE;
        case ARGUMENT_OPERAND:
            if (count == 2)
                rc = fail(&e, "%s: one argument too many (expected MODEL and OUT)", value);
            else if (*value == '\0' || *value == '-')
                rc = fail(&e, "%s: is no name of a file (expected MODEL and OUT; options have two dashes)",
                          *value ? value : "an empty argument");
            else
                paths[count++] = value;
            break;
        case OPTION_FORCE: force = 1; break;
        default: rc = -1; break;
        }
    if (rc == 0 && count < 2)
        rc = fail(&e, "%s is missing (expected MODEL and OUT)", count ? "OUT" : "MODEL");
    if (rc != 0)
        return print_usage_error("convert", &e);
    interrupt_end();
    return convert(paths[0], paths[1], force, &e) == 0 ? EXIT_DONE : print_failure("convert", &e);
}
