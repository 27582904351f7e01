/* The description of a model's parts in `reach info`. */
#include "commands/info.h"

#include "commands/screen.h"
#include "io/system/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const activation_names[] = {[ACTIVATION_GELU] = "gelu",
                                               [ACTIVATION_GELU_TANH] = "gelu_tanh",
                                               [ACTIVATION_QUICK_GELU] = "quick_gelu",
                                               [ACTIVATION_RELU] = "relu",
                                               [ACTIVATION_SILU] = "silu",
                                               [ACTIVATION_GELU_BLOOM] = "gelu_tanh",
                                               [ACTIVATION_RELU_SQUARED] = "relu2",
                                               [ACTIVATION_CLAMPED] =
                                                   "quick_gelu clamped at 7, times 1 + up"};

/* Appends one setting of the blocks. */
static void put_setting(FILE *f, int *first, const char *format, ...)
{
    va_list arguments;

    fputs(*first ? "" : ", ", f);
    *first = 0;
    va_start(arguments, format);
    vfprintf(f, format, arguments);
    va_end(arguments);
}

void info_put_blocks(FILE *f, const struct decoder *d)
{
    static const char *const residuals[] = {[RESIDUAL_SEQUENTIAL] = "sequential",
                                            [RESIDUAL_PARALLEL] = "parallel",
                                            [RESIDUAL_POST] = "norms after"};
    static const char *const norms[] = {[NORM_LAYER] = "layer norm",
                                        [NORM_RMS] = "rms norm",
                                        [NORM_RMS_OUTSIDE] = "rms norm",
                                        [NORM_LENGTH] = "scale norm"};
    const struct block *b = &d->blocks[0];
    int first = 1;

    if (b->attention_norm.present || b->attention_post_norm.present)
        put_setting(f, &first, "%s",
                    norms[b->attention_norm.present ? b->attention_norm.kind
                                                    : b->attention_post_norm.kind]);
    else
        put_setting(f, &first, "no norms");
    put_setting(f, &first, "%s", residuals[b->residual]);
    if (b->residual_from_norm)
        put_setting(f, &first, "residual from the norm");
    if (b->residual != RESIDUAL_POST && b->attention_post_norm.present)
        put_setting(f, &first,
                    b->attention_norm.present ? "norms before and after"
                                              : "norms after the branches");
    if (b->latent.down.weight.data)
        put_setting(f, &first, "keys and values by latents of %zu", b->latent.down.weight.rows);
    if (b->latent.query_down.weight.data)
        put_setting(f, &first, "queries by latents of %zu", b->latent.query_down.weight.rows);
    if (b->query_norm.present)
        put_setting(f, &first, b->norms_whole ? "norms of all heads" : "norms of heads");
    if (b->sinks.data)
        put_setting(f, &first, "sinks");
    if (b->query.bias.data || b->latent.down.bias.data || b->up.bias.data || b->output.bias.data)
        put_setting(f, &first, "biases");
    if (b->clip > 0)
        put_setting(f, &first, "queries, keys and values clipped to %g", b->clip);
    if (b->score.soft_cap > 0)
        put_setting(f, &first, "scores capped at %g", b->score.soft_cap);
    if (d->head_soft_cap > 0)
        put_setting(f, &first, "logits capped at %g", d->head_soft_cap);
}

void info_put_types(FILE *f, struct tensors *t)
{
    int first = 1;

    for (int type = 0; type < ELEMENT_COUNT; type++) {
        size_t found = 0;

        for (size_t i = 0; i < tensors_count(t); i++)
            found += !tensors_at(t, i)->integer && tensors_at(t, i)->type == (enum element)type;
        if (found)
            put_setting(f, &first, "%s", element_name((enum element)type));
    }
}

void info_put_mlp(FILE *f, const struct decoder *d)
{
    const struct block *b = NULL;

    for (int l = d->layers - 1; l >= 0; l--)
        b = d->blocks[l].experts.routing.experts ? b : &d->blocks[l];
    if (b)
        fprintf(f, "%d, %s%s", d->mlp, activation_names[b->activation],
                b->gate.weight.data ? ", gated" : "");
}

void info_put_experts(FILE *f, const struct decoder *d)
{
    const struct block *b = NULL;
    int count = 0;

    for (int l = d->layers - 1; l >= 0; l--)
        if (d->blocks[l].experts.routing.experts) {
            b = &d->blocks[l];
            count++;
        }
    if (!b)
        return;
    const struct experts *x = &b->experts;
    fprintf(f, "%d of %d chosen in %d of %d layers, %d wide, %s%s", x->routing.chosen,
            x->routing.experts, count, d->layers, x->width, activation_names[b->activation],
            x->expert[0].gate.weight.data ? ", gated" : "");
    if (b->up.weight.data)
        fprintf(f, "; shared %zu wide%s", b->up.weight.rows,
                x->shared_gate.weight.data ? ", with a gate" : "");
}

/* "LABEL  TEXT", unless the text is empty. */
static void print_line(const char *label, const char *text)
{
    if (*text)
        printf("%-14s %s\n", label, screen_text(text));
}

/* The TRF(0.01) of every head, one line for equal layers. */
static void print_fields(const struct info_found *x)
{
    const struct trf_run *r = &x->fields;

    if (r->arguments->set.uses_length)
        printf("TRF(0.01)      by length: the bias uses L (reach trf %s --length N)\n",
               screen_text(x->decoder->path));
    for (int i = 0; i < r->head_count; i++) {
        const struct trf_head *head = &r->heads[i];
        const struct layer_bias *b = &r->arguments->set.biases[head->bias];
        char layers[128], text[128];
        int begins = i == 0 || r->heads[i - 1].bias != head->bias;

        if (begins) {
            bias_layers_text(layers, sizeof layers, &r->arguments->set, head->bias);
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
        if (i + 1 == r->head_count || r->heads[i + 1].bias != head->bias)
            putchar('\n');
    }
}

static void print_estimate(const struct info_found *x)
{
    const struct run_estimate *found = &x->estimate;
    int most = x->decoder->position_limit;
    char text[MEMORY_PLAN_TEXT], time[DURATION_TEXT], bytes[BYTES_TEXT];

    if (*found->kernels)
        printf("\nestimate for a run with --length %ld --dtype %s\nkernels        %s\n", x->length,
               x->dtype, found->kernels);
    if (found->refused)
        printf("refused        there are learned positions for %d inputs (expected --length %d at "
               "most)\n",
               most, most + 1);
    if (found->plan.total)
        printf("memory         %s\n", memory_plan_text(text, &found->plan));
    if (found->seconds > 0)
        printf("time           about %.3g s per segment (%.3g GFLOP at %.3g GFLOP/s)\n",
               found->seconds, found->plan.flops / 1e9, found->plan.flops / found->seconds / 1e9);
    if (found->seconds > 0 && x->segments)
        printf("run            about %s for %ld segments, up to %s on the disk\n",
               duration_text(time, found->seconds * (double)x->segments), x->segments,
               bytes_text(bytes, found->record_bytes * (double)x->segments));
}

void info_print(const struct info_found *x)
{
    const struct decoder *d = x->decoder;
    char bytes[BYTES_TEXT];

    print_line("model", d->path);
    print_line("adapter", x->adapter ? x->adapter : "");
    print_line("family", d->family);
    printf("parameters     %.0f in %zu tensors, %s\nstored as      %s\n", x->parameters,
           tensors_count(d->tensors), bytes_text(bytes, x->bytes), x->text[INFO_TYPES]);
    printf("vocabulary     %d%s", d->vocabulary,
           d->vocabulary == 256 ? " (text is read as bytes)" : "");
    if (d->bos >= 0)
        printf(", %d begins a text", d->bos);
    printf("\nlayers         %d\nhidden         %d\nheads          %d of size %d", d->layers,
           d->hidden, d->heads, d->head_size);
    if (d->kv_heads != d->heads)
        printf(", %d for keys and values", d->kv_heads);
    if (d->value_size != d->head_size)
        printf(", values of %d", d->value_size);
    putchar('\n');
    print_line("mlp", x->text[INFO_MLP]);
    print_line("experts", x->text[INFO_EXPERTS]);
    print_line("blocks", x->text[INFO_BLOCKS]);
    printf("head           %s\n", d->tied ? "tied to the embedding" : "of its own");
    print_line("positions", d->position_text);
    if (d->declared_length)
        printf("declared       %d positions (%s)\n", d->declared_length,
               screen_text(d->declared_by));
    printf("window         %s\ncone           %ld of %ld inputs\n", x->windows,
           decoder_cone(d, x->length - 1), x->length - 1);
    print_line("assumed", tensors_assumed(d->tensors));
    print_line("not understood", d->not_understood);
    if (d->train_length)
        printf("train length   %d\n", d->train_length);
    else
        printf("train length   unknown\n");
    print_fields(x);
    print_line("digest", tensors_supposed(d->tensors) ? "none: no weights are read" : x->digest);
    print_line("verified", x->verified ? x->verified : "");
    print_estimate(x);
}

/* The whole template, a line at a time. */
static void print_template(const struct chat_text *one)
{
    for (const char *line = one->text, *end; *line; line = *end ? end + 1 : end) {
        char *copy;

        end = line + strcspn(line, "\n");
        copy = strndup(line, (size_t)(end - line));
        printf("%s\n", copy ? screen_text(copy) : "(out of memory)");
        free(copy);
    }
}

void info_print_chat(const struct chat *c)
{
    for (size_t i = 0; i < c->token_count; i++)
        if (c->token[i].text)
            printf("%-14s %s\n", screen_text(c->token[i].name), screen_text(c->token[i].text));
    for (size_t i = 0; i < c->template_count; i++) {
        printf("\n%s:\n", screen_text(c->template[i].name));
        print_template(&c->template[i]);
    }
}
