/* `reach info`: a checkpoint's contents, and the cost of a run on it. */
#include "commands/commands.h"
#include "commands/info.h"
#include "commands/rows.h"
#include "commands/screen.h"
#include "commands/verb.h"
#include "run/estimate.h"
#include "run/models.h"
#include "run/trf/trf.h"

#include <stdlib.h>
#include <string.h>

struct info_options {
    const char *model, *adapter; /* adapter NULL: none */
    long length; /* 0: as long as the model takes, up to 2048 */
    long train_length; /* 0: as in the checkpoint */
    struct machine_options machine;
    struct encoding_options encoding;
    int strict, verify;
};

/* The TRF(0.01) of every head, one line for equal layers. */
static int print_fields(const struct decoder *d, struct progress *p, struct error *e)
{
    struct trf_run r;
    int rc = trf_of_decoder(&r, d, p, e);

    if (rc == 0 && r.arguments->set.uses_length)
        printf("TRF(0.01)      by length: the bias uses L (reach trf %s --length N)\n",
               screen_text(d->path));
    for (int i = 0; rc == 0 && i < r.head_count; i++) {
        const struct trf_head *head = &r.heads[i];
        const struct layer_bias *b = &r.arguments->set.biases[head->bias];
        char layers[128], text[128];
        int begins = i == 0 || r.heads[i - 1].bias != head->bias;

        if (begins) {
            bias_layers_text(layers, sizeof layers, &r.arguments->set, head->bias);
            printf("%s%s%s%s", i ? "               " : "TRF(0.01)      ", layers,
                   layers[0] ? ": " : "", b->reason[0] ? "not applicable, " : "");
            if (b->reason[0])
                printf("%s%s", screen_text(b->reason),
                       head->values ? "; of the window alone: " : "");
        }
        if (head->values) {
            trf_count_text(text, &head->values[0].count);
            printf("%s%s%s",
                   head->averaged ? "; mean kernel "
                   : begins       ? ""
                                  : " ",
                   text,
                   series_verdict(head->series) == SERIES_CONVERGES || head->averaged ? ""
                   : series_verdict(head->series) == SERIES_DIVERGES ? " (diverges)"
                                                                     : " (undecided)");
        }
        if (i + 1 == r.head_count || r.heads[i + 1].bias != head->bias)
            putchar('\n');
    }
    trf_run_free(&r);
    return rc;
}

/* For a run; if the estimate fails, what was found so far. */
static int print_estimate(const struct decoder *d, long length,
                          const struct machine_options *machine, struct error *e)
{
    struct run_estimate found;
    char text[MEMORY_PLAN_TEXT];
    int rc = run_estimate(&found, d, length, machine, e);

    if (*found.kernels)
        printf("\nestimate for a run with --length %ld --dtype %s\nkernels        %s\n", length,
               machine->dtype, found.kernels);
    if (found.refused)
        printf("refused        there are learned positions for %d inputs (expected --length %d at "
               "most)\n",
               d->position_limit, d->position_limit + 1);
    if (found.plan.total)
        printf("memory         %s\n", memory_plan_text(text, &found.plan));
    if (found.seconds > 0)
        printf("time           about %.3g s per segment (%.3g GFLOP at %.3g GFLOP/s)\n",
               found.seconds, found.plan.flops / 1e9, found.plan.flops / found.seconds / 1e9);
    return rc;
}

static int print_model(const struct model_argument *m, const struct info_options *o,
                       struct progress *p, struct error *e)
{
    struct decoder *d;
    long length = o->length;
    char digest[33], *line = NULL, *windows = NULL;
    int rc = -1;

    d = model_open(m->path, m->adapter_path, o->strict, p, e);
    if (!d || (!model_take_length(d, o->train_length) && models_refuse_length(e) != 0) ||
        run_override(d, &o->encoding, e) != 0 ||
        (o->verify ? model_verify(&line, digest, d, e) : model_digest(digest, d, e)) != 0)
        goto end;
    windows = decoder_windows_text(d);
    if (!windows) {
        fail(e, "%s: out of memory", d->path);
        goto end;
    }
    if (!length)
        length = d->position_limit && d->position_limit < 2047 ? d->position_limit + 1 : 2048;
    printf("model          %s\n", screen_text(d->path));
    if (m->adapter)
        printf("adapter        %s\n", screen_text(m->adapter_path));
    printf("family         %s\n", d->family);
    info_print_types(d->tensors);
    printf("vocabulary     %d%s", d->vocabulary,
           d->vocabulary == 256 ? " (text is read as bytes)" : "");
    if (d->bos >= 0)
        printf(", %d begins a text", d->bos);
    putchar('\n');
    printf("layers         %d\nhidden         %d\nheads          %d of size %d", d->layers,
           d->hidden, d->heads, d->head_size);
    if (d->kv_heads != d->heads)
        printf(", %d for keys and values", d->kv_heads);
    putchar('\n');
    info_print_mlp(d);
    info_print_blocks(d);
    printf("head           %s\n", d->tied ? "tied to the embedding" : "of its own");
    printf("positions      %s\n", screen_text(d->position_text));
    if (d->declared_length)
        printf("declared       %d positions (%s)\n", d->declared_length,
               screen_text(d->declared_by));
    printf("window         %s\n", windows);
    printf("cone           %ld of %ld inputs\n", decoder_cone(d, length - 1), length - 1);
    if (*tensors_assumed(d->tensors))
        printf("assumed        %s\n", tensors_assumed(d->tensors));
    if (*d->not_understood)
        printf("not understood %s\n", screen_text(d->not_understood));
    if (d->train_length)
        printf("train length   %d\n", d->train_length);
    else
        printf("train length   unknown\n");
    if (print_fields(d, p, e) != 0)
        goto end;
    printf("digest         %s\n", digest);
    if (line)
        printf("verified       %s\n", screen_text(line));
    rc = print_estimate(d, length, &o->machine, e);
end:
    free(line);
    free(windows);
    decoder_close(d);
    return rc;
}

static int info_call(struct call *c, struct error *e)
{
    const struct info_options *o = c->options;
    struct text_list models = {(const char *[]){o->model}, 1};
    struct model_argument *model;
    int rc = EXIT_USAGE;

    if (run_try_scratch(o->machine.scratch, e) != 0)
        return -1;
    if (model_arguments(&model, &models, o->adapter, e) != 0)
        return rc;
    rc = model_arguments_find(model, 1, &c->terminal.progress, e) != 0
             ? -1
             : print_model(model, o, &c->terminal.progress, e);
    model_arguments_free(model, 1);
    return rc;
}

#define OPTIONS struct info_options

static const char *const estimated_dtypes[] = {"f32", "f64", "bf16", NULL};

static const struct option_row rows[] = {
    {.name = "length",
     .value = "L",
     .help = "tokens of a segment for the estimate (default 2048, or what learned positions allow)",
     WHOLE_AT(length, 2, 1 << 30)},
    {.name = "dtype",
     .value = "TYPE",
     .standard = "f32",
     .help = "f32, f64 or bf16: arithmetic for the estimate",
     .type = OPTION_CHOICE,
     .at = AT(machine.dtype),
     .choices = estimated_dtypes},
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
     .help = "read the whole checkpoint and check it, as `reach erf --verify` does; reports it in "
             "a separate line",
     .type = OPTION_FLAG,
     .at = AT(verify)},
};

static const struct operand_row operands[] = {
    {.name = "MODEL", .expected = "a checkpoint folder", .at = AT(model)}};

static int check(void *options, struct error *e)
{
    const struct info_options *o = options;

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
                   "runs take somewhat more.\n",
    .examples =
        "  reach info examples/models/window-40\n  reach info runs/8 --length 8192 --memory 16G\n",
    .operands = operands,
    .operand_count = sizeof operands / sizeof *operands,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .check = check,
    .computes = 1,
    .run = info_call,
};
