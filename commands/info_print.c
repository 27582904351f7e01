/* The description of a model's parts in `reach info`. */
#include "commands/info.h"

#include <stdarg.h>
#include <stdio.h>

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
static void print_setting(int *first, const char *format, ...)
{
    va_list arguments;

    printf("%s", *first ? "" : ", ");
    *first = 0;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

void info_print_blocks(const struct decoder *d)
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

    printf("blocks         ");
    if (b->attention_norm.present || b->attention_post_norm.present)
        print_setting(&first, "%s",
                      norms[b->attention_norm.present ? b->attention_norm.kind
                                                      : b->attention_post_norm.kind]);
    else
        print_setting(&first, "no norms");
    print_setting(&first, "%s", residuals[b->residual]);
    if (b->residual_from_norm)
        print_setting(&first, "residual from the norm");
    if (b->residual != RESIDUAL_POST && b->attention_post_norm.present)
        print_setting(&first, b->attention_norm.present ? "norms before and after"
                                                        : "norms after the branches");
    if (b->query_norm.present)
        print_setting(&first, b->norms_whole ? "norms of all heads" : "norms of heads");
    if (b->sinks.data)
        print_setting(&first, "sinks");
    if (b->query.bias.data || b->up.bias.data || b->output.bias.data)
        print_setting(&first, "biases");
    if (b->clip > 0)
        print_setting(&first, "queries, keys and values clipped to %g", b->clip);
    if (b->score.soft_cap > 0)
        print_setting(&first, "scores capped at %g", b->score.soft_cap);
    if (d->head_soft_cap > 0)
        print_setting(&first, "logits capped at %g", d->head_soft_cap);
    putchar('\n');
}

void info_print_types(struct tensors *t)
{
    double parameters = 0, bytes = 0;
    int first = 1;

    for (size_t i = 0; i < tensors_count(t); i++) {
        parameters += (double)tensors_at(t, i)->count;
        bytes += (double)tensors_at(t, i)->bytes;
    }
    printf("parameters     %.0f in %zu tensors, %.1f MB\nstored as      ", parameters,
           tensors_count(t), bytes / 1e6);
    for (int type = 0; type < ELEMENT_COUNT; type++) {
        size_t found = 0;

        for (size_t i = 0; i < tensors_count(t); i++)
            found += !tensors_at(t, i)->integer && tensors_at(t, i)->type == (enum element)type;
        if (found)
            printf("%s%s", first ? "" : ", ", element_name((enum element)type));
        first = found ? 0 : first;
    }
    putchar('\n');
}

void info_print_mlp(const struct decoder *d)
{
    const struct block *plain = NULL, *mixed = NULL;
    int count = 0;

    for (int l = d->layers - 1; l >= 0; l--) {
        const struct block *b = &d->blocks[l];
        *(b->experts.routing.experts ? &mixed : &plain) = b;
        count += b->experts.routing.experts > 0;
    }
    if (plain)
        printf("mlp            %d, %s%s\n", d->mlp, activation_names[plain->activation],
               plain->gate.weight.data ? ", gated" : "");
    if (mixed) {
        const struct experts *x = &mixed->experts;
        printf("experts        %d of %d chosen in %d of %d layers, %d wide, %s%s",
               x->routing.chosen, x->routing.experts, count, d->layers, x->width,
               activation_names[mixed->activation], x->expert[0].gate.weight.data ? ", gated" : "");
        if (mixed->up.weight.data)
            printf("; shared %zu wide%s", mixed->up.weight.rows,
                   x->shared_gate.weight.data ? ", with a gate" : "");
        putchar('\n');
    }
}
