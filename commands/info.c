/* `reach info`: a checkpoint's contents, and the cost of a run on it. */
#include "commands/commands.h"
#include "commands/info.h"
#include "commands/rows.h"
#include "commands/verb.h"
#include "run/estimate.h"
#include "run/models.h"

#include <stdlib.h>

struct info_options {
    const char *model;
    struct text_list adapters; /* DIR or DIR=FACTOR */
    long length; /* 0: as long as the model takes, up to 2048 */
    long segments; /* 0: not given */
    long train_length; /* 0: as in the checkpoint */
    struct machine_options machine;
    struct encoding_options encoding;
    int strict, verify, chat;
    struct shown_options shown;
};

static int describe(struct info_found *x, struct error *e)
{
    const struct decoder *d = x->decoder;

    for (int i = 0; i < INFO_TEXTS; i++) {
        size_t size;
        FILE *f = open_memstream(&x->text[i], &size);

        if (!f)
            return fail_memory(e, 1024, "a description");
        if (i == INFO_TYPES)
            info_put_types(f, d->tensors);
        else
            (i == INFO_MLP       ? info_put_mlp
             : i == INFO_EXPERTS ? info_put_experts
                                 : info_put_blocks)(f, d);
        if (ferror(f) | fclose(f))
            return fail_memory(e, 1024, "a description");
    }
    for (size_t i = 0; i < tensors_count(d->tensors); i++) {
        x->parameters += (double)tensors_at(d->tensors, i)->count;
        x->bytes += (double)tensors_at(d->tensors, i)->bytes;
    }
    return (x->windows = decoder_windows_text(d)) ? 0 : fail(e, "%s: out of memory", d->path);
}

/* All but the estimate, of an open model. */
static int find(struct info_found *x, const struct info_options *o, struct progress *p,
                struct error *e)
{
    struct decoder *d = x->decoder;

    if (!d || (!model_take_length(d, o->train_length) && models_refuse_length(e) != 0) ||
        run_override(d, &o->encoding, e) != 0 ||
        (tensors_supposed(d->tensors) ? 0
         : o->verify                  ? model_verify(&x->verified, x->digest, d, e)
                                      : model_digest(x->digest, d, e)) != 0)
        return -1;
    x->dtype = o->machine.dtype;
    x->segments = o->segments;
    x->length = o->length                                     ? o->length
                : decoder_limit(d) && decoder_limit(d) < 2047 ? decoder_limit(d) + 1
                                                              : 2048;
    return describe(x, e) == 0 && trf_of_decoder(&x->fields, d, p, e) == 0 ? 0 : -1;
}

static void release(struct info_found *x)
{
    trf_run_free(&x->fields);
    for (int i = 0; i < INFO_TEXTS; i++)
        free(x->text[i]);
    free(x->verified);
    free(x->windows);
    decoder_close(x->decoder);
}

static int show(struct call *c, struct info_found *x, struct error *e)
{
    const struct info_options *o = c->options;
    int rc = find(x, o, &c->terminal.progress, e);

    if (rc == 0) {
        rc = run_estimate(&x->estimate, x->decoder, x->length, &o->machine, e);
        if (c->json)
            rc = rc == 0 ? verb_document(c, x, NULL, e) : rc;
        else if (info_print(x, e) != 0) /* if there is no estimate, the rest */
            rc = -1;
    }
    release(x);
    return rc;
}

/* --chat: nothing else is read. */
static int show_chat(struct call *c, const char *path, struct error *e)
{
    struct chat chat;
    struct info_found x = {.chat = &chat};
    int rc = chat_read(&chat, path, e);

    if (rc != 0)
        return -1;
    if (c->json)
        rc = verb_document(c, &x, NULL, e);
    else if (!chat.template_count)
        rc = fail(e,
                  "%s: has no chat template (expected chat_template.jinja, chat_template in "
                  "tokenizer_config.json, or tokenizer.chat_template in a GGUF file)",
                  path);
    else
        info_print_chat(&chat);
    chat_free(&chat);
    return rc;
}

static int info_call(struct call *c, struct error *e)
{
    const struct info_options *o = c->options;
    struct text_list models = {(const char *[]){o->model}, 1};
    struct progress *p = &c->terminal.progress;
    struct info_found x = {.decoder = NULL};
    struct model_argument *model;
    int rc = EXIT_USAGE;

    p->unit = "heads"; /* whose fields are computed */
    if (run_try_scratch(o->machine.scratch, e) != 0)
        return -1;
    if (model_is_described(o->model)) {
        x.decoder = model_told(model_describe(o->model, e), o->strict, p, e);
        return show(c, &x, e);
    }
    if (model_arguments(&model, &models, &o->adapters, e) != 0)
        return rc;
    if ((rc = model_arguments_find(model, 1, p, e)) == 0 && o->chat) {
        rc = show_chat(c, model->path, e);
    } else if (rc == 0) {
        x.decoder = model_open(model->path, &model->adapted, o->strict, p, e);
        x.adapter = model->adapter_path;
        rc = show(c, &x, e);
    }
    model_arguments_free(model, 1);
    return rc;
}

#define OPTIONS struct info_options

static const char *const beside_chat[] = {"json", "quiet", NULL};

static const char *const estimated_dtypes[] = {"f32", "f64", "bf16", "bf16x3", NULL};

static const struct option_row rows[] = {
    {.name = "length",
     .value = "L",
     .help = "tokens of a segment for the estimate (default 2048, or what learned positions allow)",
     WHOLE_AT(length, 2, 1 << 30),
     .flags = OPTION_COMMON},
    {.name = "segments",
     .value = "N",
     .help = "also time and disk for a run of N segments",
     WHOLE_AT(segments, 1, 1L << 31),
     .flags = OPTION_COMMON},
    {.name = "dtype",
     .value = "TYPE",
     .standard = "f32",
     .brief = "arithmetic for the estimate",
     .help = "f32, f64, bf16 or bf16x3: arithmetic for the estimate",
     .type = OPTION_CHOICE,
     .at = AT(machine.dtype),
     .choices = estimated_dtypes,
     .flags = OPTION_COMMON},
    MEMORY_ROW,
    KEEP_ROW,
    SCRATCH_ROW,
    THREADS_ROW,
    ADAPTER_ROW,
    ENCODING_ROWS(""),
    TRAIN_LENGTH_ROW(
        "training length of the model in tokens, for --logn, if the checkpoint does not say it"),
    STRICT_ROW(strict),
    {.name = "verify",
     .brief = "read the whole checkpoint and check it",
     .help = "read the whole checkpoint and check it, as `reach erf --verify` does; reports it in "
             "a separate line",
     .type = OPTION_FLAG,
     .at = AT(verify)},
    {.name = "chat",
     .help = "only the chat templates of its tokenizer (chat_template.jinja, "
             "tokenizer_config.json, GGUF), and the special tokens that they may name",
     .type = OPTION_FLAG,
     .at = AT(chat),
     .beside = beside_chat,
     .flags = OPTION_RESULT},
    TABLE_ROW,
    JSON_ROW,
    QUIET_ROW,
};

static const struct operand_row operands[] = {
    {.name = "MODEL",
     .expected = "a checkpoint folder, a config.json or shape:...",
     .at = AT(model)}};

static int check(void *options, struct error *e)
{
    const struct info_options *o = options;

    if (model_is_described(o->model) && (o->verify || o->adapters.count))
        return fail(e, "%s: has no weights, which --%s needs (expected a checkpoint)", o->model,
                    o->verify ? "verify" : "adapter");
    if (model_is_described(o->model) && o->chat)
        return fail(e, "%s: has no tokenizer (expected the folder of a checkpoint)", o->model);
    return check_keep(&o->machine, e) != 0 ? -1 : check_encoding(&o->encoding, e);
}

const struct verb info_verb = {
    .name = "info",
    .summary = "what a checkpoint is, and what a run on it would take",
    .synopsis = "MODEL [options]",
    .description = "Prints what a checkpoint holds: family, sizes, norms and caps, position "
                   "encoding, windows of the layers and the cone "
                   "(the inputs that can reach the last output through them), the length it was "
                   "trained on, element types and digest; then "
                   "what one segment of `reach erf` would take in memory and time. The time is the "
                   "arithmetic of the matrix products at the "
                   "rate that this machine reaches now on a product of the model's own size; real "
                   "runs take somewhat more.\n"
                   "\n"
                   "MODEL may be a path to a config.json, or shape:layers=N,hidden=N,heads=N and "
                   "kv_heads, head_size, mlp, vocabulary, positions, tied=0|1, dtype=f32|f16|bf16 "
                   "for a model like Llama: then no weights are needed and none are read.\n",
    .examples =
        "  reach info examples/models/window-40\n  reach info runs/8 --length 8192 --memory 16G\n"
        "  reach info shape:layers=32,hidden=4096,heads=32,kv_heads=8,mlp=14336,vocabulary=128256 "
        "--length 8192 --segments 1000\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .check = check,
    .computes = 1,
    .shown = info_shown,
    .run = info_call,
};
