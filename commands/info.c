/* `reach info`: what a checkpoint is, and what a run on it would take. */
#include "commands/commands.h"
#include "commands/run_options.h"
#include "run/models.h"
#include "commands/arguments.h"
#include "commands/terminal.h"
#include "run/threads.h"
#include "commands/trf.h"

#include "kernels/ops.h"
#include "model/engine.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum option { OPTION_LENGTH, OPTION_DTYPE, OPTION_MEMORY, OPTION_THREADS, OPTION_STRICT, OPTION_VERIFY, OPTION_COUNT };

static const struct argument_row rows[OPTION_COUNT] = {
    [OPTION_LENGTH] = {"length", "L", "tokens of a segment for the estimate (default 2048, or what learned positions allow)"},
    [OPTION_DTYPE] = {"dtype", "TYPE", "f32 or f64: arithmetic for the estimate (default f32)"},
    [OPTION_MEMORY] = {"memory", "SIZE", "bytes a run may take, as 800M or 16G (default: most of what is free)"},
    [OPTION_THREADS] = {"threads", "N", "threads for the estimate (default: all cores)"},
    [OPTION_STRICT] = STRICT_ROW,
    [OPTION_VERIFY] = {"verify", NULL,
                       "read the whole checkpoint and check it, as `reach erf --verify` does; says so in a line of its own"},
};

static const struct verb_help help = {
    .verb = "info",
    .synopsis = "MODEL [options]",
    .description =
        "Prints what a checkpoint holds: family, sizes, norms and caps, position encoding, windows of the layers and the cone "
        "(the inputs that can reach the last output through them), the length it was trained on, element types and digest; then "
        "what one segment of `reach erf` would take in memory and time. The time is the arithmetic of the matrix products at the "
        "rate that this machine reaches now on a product of the model's own size; real runs take somewhat more.\n",
    .options = rows,
    .option_count = OPTION_COUNT,
    .examples = "  reach info examples/models/window-32\n  reach info runs/8 --length 8192 --memory 16G\n",
};

static const char *const activation_names[] = {
    [ACTIVATION_GELU] = "gelu", [ACTIVATION_GELU_TANH] = "gelu_tanh", [ACTIVATION_QUICK_GELU] = "quick_gelu",
    [ACTIVATION_RELU] = "relu", [ACTIVATION_SILU] = "silu",           [ACTIVATION_GELU_BLOOM] = "gelu_tanh"};

/* Windows of the layers, runs of equal ones together: "32 (layers 1-4)". */
static void print_windows(const struct decoder *d)
{
    printf("window         ");
    for (int first = 0, last; first < d->layers; first = last + 1) {
        int window = d->blocks[first].score.window;

        for (last = first; last + 1 < d->layers && d->blocks[last + 1].score.window == window; last++)
            ;
        if (first)
            printf(", ");
        if (window)
            printf("%d", window);
        else
            printf("none");
        if (first > 0 || last + 1 < d->layers)
            printf(first == last ? " (layer %d)" : " (layers %d-%d)", first + 1, last + 1);
    }
    putchar('\n');
}

/* One setting of the blocks behind those before it. */
static void print_setting(int *first, const char *format, ...)
{
    va_list arguments;

    printf("%s", *first ? "" : ", ");
    *first = 0;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

/* What blocks do beside attention and MLP; one line stands for all, as families have it. */
static void print_blocks(const struct decoder *d)
{
    static const char *const residuals[] = {
        [RESIDUAL_SEQUENTIAL] = "sequential", [RESIDUAL_PARALLEL] = "parallel", [RESIDUAL_POST] = "norms behind"};
    static const char *const norms[] = {
        [NORM_LAYER] = "layer norm", [NORM_RMS] = "rms norm", [NORM_RMS_OUTSIDE] = "rms norm", [NORM_LENGTH] = "scale norm"};
    const struct block *b = &d->blocks[0];
    int first = 1;

    printf("blocks         ");
    if (b->attention_norm.present || b->attention_post_norm.present)
        print_setting(&first, "%s", norms[b->attention_norm.present ? b->attention_norm.kind : b->attention_post_norm.kind]);
    else
        print_setting(&first, "no norms");
    print_setting(&first, "%s", residuals[b->residual]);
    if (b->residual_from_norm)
        print_setting(&first, "residual from the norm");
    if (b->residual != RESIDUAL_POST && b->attention_post_norm.present)
        print_setting(&first, "norms before and behind");
    if (b->query_norm.present)
        print_setting(&first, "norms of heads");
    if (b->query.bias.data || b->up.bias.data || b->output.bias.data)
        print_setting(&first, "biases");
    if (b->clip > 0)
        print_setting(&first, "queries, keys and values within %g", b->clip);
    if (b->score.soft_cap > 0)
        print_setting(&first, "scores capped at %g", b->score.soft_cap);
    if (d->head_soft_cap > 0)
        print_setting(&first, "logits capped at %g", d->head_soft_cap);
    putchar('\n');
}

static void print_types(struct tensors *t)
{
    static const enum element types[] = {ELEMENT_F64, ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16};
    double parameters = 0, bytes = 0;
    int first = 1;

    for (size_t i = 0; i < tensors_count(t); i++) {
        parameters += (double)tensors_at(t, i)->count;
        bytes += (double)tensors_at(t, i)->bytes;
    }
    printf("parameters     %.0f in %zu tensors, %.1f MB\nstored as      ", parameters, tensors_count(t), bytes / 1e6);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        size_t found = 0;

        for (size_t i = 0; i < tensors_count(t); i++)
            found += !tensors_at(t, i)->integer && tensors_at(t, i)->type == types[k];
        if (found)
            printf("%s%s", first ? "" : ", ", element_name(types[k]));
        first = found ? 0 : first;
    }
    putchar('\n');
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Operations a second of y = x w^T in this kernel set with the model's own up projection, best of several; 0 with *e on failure.
 */
static double product_rate(struct kernels *k, const struct decoder *d, int positions, struct error *e)
{
    const struct weight_part *part = &d->blocks[0].up.weight;
    struct rows shape = {1, positions < 256 ? positions : 256};
    size_t in = part->columns, out = part->groups * part->rows, inputs = (size_t)shape.count * in;
    struct buffer *x = k->create(k, ROLE_ACTIVATION, inputs, e),
                  *y = x ? k->create(k, ROLE_ACTIVATION, (size_t)shape.count * out, e) : NULL;
    struct weight *w = y ? k->weight_load(k, WEIGHT_MATRIX, part, 1, e) : NULL;
    double *ones = calloc(inputs, sizeof *ones), operations = 2.0 * shape.count * (double)in * (double)out, best = 0,
           started = seconds();

    if (!w || !ones) {
        if (w)
            fail_memory(e, (double)inputs * sizeof *ones, "the measurement of the rate");
        goto end;
    }
    k->write(k, x, 0, ones, inputs);
    for (int i = 0; i < 200 && (i < 3 || seconds() - started < 0.25); i++) {
        double start = seconds();

        k->linear(k, y, x, w, NULL, shape, 0);
        if (k->synchronize(k, e) != 0) {
            best = 0;
            break;
        }
        best = fmax(best, operations / fmax(seconds() - start, 1e-9));
    }
end:
    if (w)
        k->weight_free(k, w);
    k->destroy(k, y);
    k->destroy(k, x);
    free(ones);
    return best;
}

static int print_estimate(const struct decoder *d, long length, const char *dtype, size_t memory, struct error *e)
{
    struct engine_request options = {.kind = REQUEST_GRADIENT, .positions = (int)length - 1, .memory = memory};
    struct kernels *k = kernels_open(dtype, e);
    struct memory_plan plan;
    char text[256];
    double rate;
    int rc = -1;

    if (!k)
        return -1;
    printf("\nof a run with --length %ld --dtype %s\n", length, dtype);
    printf("kernels        %s\n", k->name);
    if (d->position_limit > 0 && length - 1 > d->position_limit) {
        printf("refused        there are learned positions for %d inputs (expected --length %d at most)\n", d->position_limit,
               d->position_limit + 1);
        rc = 0;
        goto end;
    }
    if (engine_estimate(&plan, k, d, &options, e) != 0)
        goto end;
    printf("memory         %s\n", memory_plan_text(text, &plan));
    rate = product_rate(k, d, (int)length - 1, e);
    if (rate == 0)
        goto end;
    printf("time           at least %.3g s a segment (%.3g GFLOP at %.3g GFLOP/s)\n", plan.flops / rate, plan.flops / 1e9,
           rate / 1e9);
    rc = 0;
end:
    k->close(k);
    return rc;
}

static int print_model(const char *path, long length, const char *dtype, size_t memory, int strict, int verify, struct error *e)
{
    struct terminal terminal;
    struct decoder *d;
    char digest[33], *line = NULL;
    int rc = -1;

    terminal_plain(&terminal, "info", 0);
    d = model_open(path, strict, &terminal.progress, e);
    if (!d || (verify ? model_verify(&line, digest, d, e) : model_digest(digest, d, e)) != 0)
        goto end;
    if (!length)
        length = d->position_limit && d->position_limit < 2047 ? d->position_limit + 1 : 2048;
    printf("model          %s\nfamily         %s\n", d->path, d->family);
    print_types(d->tensors);
    printf("vocabulary     %d%s", d->vocabulary, d->vocabulary == 256 ? " (text is read as bytes)" : "");
    if (d->bos >= 0)
        printf(", %d begins a text", d->bos);
    putchar('\n');
    printf("layers         %d\nhidden         %d\nheads          %d of size %d", d->layers, d->hidden, d->heads, d->head_size);
    if (d->kv_heads != d->heads)
        printf(", %d for keys and values", d->kv_heads);
    printf("\nmlp            %d, %s%s\n", d->mlp, activation_names[d->blocks[0].activation],
           d->blocks[0].gate.weight.data ? ", gated" : "");
    print_blocks(d);
    printf("head           %s\n", d->tied ? "tied to the embedding" : "of its own");
    printf("positions      %s\n", d->position_text);
    print_windows(d);
    printf("cone           %ld of %ld inputs\n", decoder_cone(d, length - 1), length - 1);
    if (*d->not_understood)
        printf("not understood %s\n", d->not_understood);
    if (d->train_length)
        printf("train length   %d\n", d->train_length);
    else
        printf("train length   unknown\n");
    if (trf_print_summary(d, e) != 0)
        goto end;
    printf("digest         %s\n", digest);
    if (line)
        printf("verified       %s\n", line);
    rc = print_estimate(d, length, dtype, memory, e);
end:
    free(line);
    decoder_close(d);
    return rc;
}

int main_info(int argc, char **argv)
{
    struct arguments a = {.count = argc, .text = argv};
    const char *value, *dtype = "f32";
    struct text_list models = {0};
    struct model_argument *model = NULL;
    long length = 0, threads = 0;
    size_t memory = 0;
    struct error e = {""};
    int option, strict = 0, verify = 0, rc = 0, status = EXIT_DONE;

    while (rc == 0 && (option = arguments_next(&a, &help, &value, &e)) != ARGUMENT_END)
        switch (option) {
        case ARGUMENT_HELP: verb_help_print(stdout, &help); goto end;
        case ARGUMENT_OPERAND:
            rc = models.count ? fail(&e, "%s: one argument too many (expected one MODEL)", value)
                              : text_list_add(&models, value, &e);
            break;
        case OPTION_LENGTH: rc = read_whole("--length", value, 2, 1L << 30, &length, &e); break;
        case OPTION_DTYPE:
            dtype = value;
            if (strcmp(value, "f32") != 0 && strcmp(value, "f64") != 0)
                rc = fail(&e, "--dtype: \"%s\" is not valid (expected f32 or f64)", value);
            break;
        case OPTION_MEMORY: rc = read_size("--memory", value, &memory, &e); break;
        case OPTION_THREADS: rc = read_whole("--threads", value, 1, THREADS_MOST, &threads, &e); break;
        case OPTION_STRICT: strict = 1; break;
        case OPTION_VERIFY: verify = 1; break;
        default: rc = -1; break;
        }
    if (rc == 0)
        rc = models.count ? model_arguments(&model, &models, &e) : fail(&e, "no MODEL is given (expected a checkpoint folder)");
    if (rc != 0) {
        status = print_usage_error("info", &e);
        goto end;
    }
    if (threads_open(threads, &e) != 0 || print_model(model->path, length, dtype, memory, strict, verify, &e) != 0)
        status = print_failure("info", &e);
end:
    free(model);
    text_list_free(&models);
    return status;
}
