/* `reach convert`: any readable checkpoint as safetensors or HDF5. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/screen.h"
#include "commands/verb.h"
#include "io/system/memory.h"
#include "run/convert.h"

static int convert_call(struct call *c, struct error *e)
{
    const struct convert_options *o = c->options;
    struct converted done;
    char size[BYTES_TEXT];

    if (convert_run(&done, o, &c->terminal.progress, e) != 0)
        return -1;
    printf("%s: %zu tensors, %s\n", screen_text(o->out), done.tensors,
           bytes_text(size, done.bytes));
    return 0;
}

#define OPTIONS struct convert_options

static const struct option_row rows[] = {
    {.name = "widen",
     .brief = "write quantised tensors as F32",
     .help = "write quantised tensors as F32, which holds their numbers exactly",
     .type = OPTION_FLAG,
     .at = AT(widen)},
    ADAPTER_ROW,
    FORCE_ROW("overwrite files that exist"),
    QUIET_ROW,
};

static const struct operand_row operands[] = {
    {.name = "MODEL", .expected = "MODEL and OUT; options have two dashes", .at = AT(model)},
    {.name = "OUT", .expected = "MODEL and OUT; options have two dashes", .at = AT(out)}};

const struct verb convert_verb = {
    .name = "convert",
    .summary = "copy any readable checkpoint to safetensors or HDF5",
    .synopsis = "MODEL OUT [options]",
    .description = "Writes a copy of a checkpoint in which every tensor keeps its type and its "
                   "values. OUT is a folder (model.safetensors "
                   "and config.json, and the tokenizer's files of a MODEL that is a folder), a "
                   "file ending in .safetensors (config.json "
                   "beside it), or one ending in .h5 or .hdf5 (the config in its attribute "
                   "`config`).\n\nMODEL is anything that the other "
                   "verbs read: a Hugging Face folder with safetensors or pytorch_model.bin, a "
                   "directory of GPT-NeoX, a file of fairseq's "
                   "transformer_rpe_lm, llm.c's GPT-2, GGUF, safetensors, HDF5, or a state dict of "
                   "PyTorch with config.json beside it. A "
                   "model without config.json gets one that says how reach understands it. "
                   "Quantised tensors (of GGUF or a quantised folder) are "
                   "refused without --widen, because neither format can hold them. Matrices that "
                   "an --adapter changes are written as F32. "
                   "The tokenizer of a GGUF file becomes tokenizer.json and tokenizer_config.json "
                   "in a folder; a SentencePiece model "
                   "(llama, t5) is not written, and a line on standard error says so.\n",
    .examples = "  reach convert runs/kerple-log/global_step50000 kerple-log\n  reach convert "
                "gpt2_124M.bin gpt2.h5\n"
                "  reach convert llama-Q4_K_M.gguf llama --widen\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .run = convert_call,
};
