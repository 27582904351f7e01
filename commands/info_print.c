/* The description of a model's parts in `reach info`. */
#include "commands/info.h"

#include "commands/screen.h"
#include "commands/table.h"
#include "io/system/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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
                                                   "quick_gelu clamped at 7, times 1 + up",
                                               [ACTIVATION_TANH] = "tanh",
                                               [ACTIVATION_SIGMOID] = "sigmoid"};

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
                                            [RESIDUAL_POST] = "norms after",
                                            [RESIDUAL_DETOUR] = "a detour before recurrences"};
    static const char *const norms[] = {[NORM_LAYER] = "layer norm",
                                        [NORM_RMS] = "rms norm",
                                        [NORM_RMS_OUTSIDE] = "rms norm",
                                        [NORM_LENGTH] = "scale norm"};
    const struct block *b = &d->blocks[0], *convolving = NULL, *recurring = NULL;
    int first = 1;

    for (int l = d->layers - 1; l >= 0; l--)
        b = block_mixes(&d->blocks[l]) ? &d->blocks[l] : b;
    for (int l = d->layers - 1; l >= 0; l--) {
        b = block_attends(&d->blocks[l]) ? &d->blocks[l] : b;
        recurring = block_recurs(&d->blocks[l]) ? &d->blocks[l] : recurring;
        convolving = block_convolves(&d->blocks[l]) ? &d->blocks[l] : convolving;
    }

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
    if (b->query.bias.data || b->latent.down.bias.data || b->up.bias.data || b->output.bias.data ||
        b->mixer.recurrence.out.bias.data)
        put_setting(f, &first, "biases");
    if (convolving && convolving->mixer.convolution.bias.data)
        put_setting(f, &first, "biases of convolutions");
    if (recurring && block_mixes_time(recurring))
        put_setting(f, &first, "time mixing of %d channels",
                    recurring->mixer.recurrence.value_size);
    else if (recurring && block_is_lru(recurring))
        put_setting(f, &first, "linear recurrent units of %d channels",
                    recurring->mixer.recurrence.value_size);
    else if (recurring && block_scans(recurring))
        put_setting(f, &first, "scans of %d channels with %d states each",
                    recurring->mixer.recurrence.value_size, recurring->mixer.recurrence.scan.size);
    else if (recurring)
        put_setting(f, &first, "recurrences of %d heads with states of %d x %d",
                    recurring->mixer.recurrence.heads, recurring->mixer.recurrence.key_size,
                    recurring->mixer.recurrence.value_size);
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
        b = d->blocks[l].up.weight.data && !d->blocks[l].experts.routing.experts ? &d->blocks[l]
                                                                                 : b;
    if (b)
        fprintf(f, "%d, %s%s", d->mlp, b->has_xielu ? "xielu" : activation_names[b->activation],
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

/* A row, unless its text is empty. */
static void put_row(struct table *t, const char *label, const char *format, ...) PRINTF_LIKE(3, 4);

static void put_row(struct table *t, const char *label, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) >= 0 && *text)
        table_cells(t, (const char *const[]){label, text, NULL});
    va_end(arguments);
    free(text);
}

static struct table *rows_begin(void)
{
    struct table *t = table_create("lw");

    if (t)
        table_cells(t, (const char *const[]){"property", "value", NULL});
    if (t)
        table_headless(t, 13);
    return t;
}

/* The fields of heads first .. last-1, which share a bias. */
static void put_heads(FILE *f, const struct trf_run *r, int first, int last)
{
    const struct layer_bias *b = &r->arguments->set.biases[r->heads[first].bias];
    char layers[128], text[128];

    bias_layers_text(layers, sizeof layers, &r->arguments->set, r->heads[first].bias);
    fprintf(f, "%s%s", layers, layers[0] ? ": " : "");
    if (b->reason[0])
        fprintf(f, "not applicable, %s%s", b->reason,
                r->heads[first].values ? "; of the window alone: " : "");
    for (int i = first; i < last && r->heads[i].values; i++) {
        const struct trf_head *head = &r->heads[i];
        enum series_verdict verdict = head->series ? series_verdict(head->series)
                                                   : SERIES_CONVERGES;

        trf_count_text(text, &head->values[0].count);
        fprintf(f, "%s%s%s",
                head->averaged ? "; mean kernel "
                : i == first   ? ""
                               : " ",
                text,
                verdict == SERIES_CONVERGES || head->averaged ? ""
                : verdict == SERIES_DIVERGES                  ? " (diverges)"
                                                              : " (undecided)");
    }
}

/* The TRF(0.01) of every head, a row for equal layers. */
static void put_fields(struct table *t, const struct info_found *x)
{
    const struct trf_run *r = &x->fields;
    const char *label = "TRF(0.01)";

    if (r->arguments->set.uses_length)
        put_row(t, label, "by length: the bias uses L (reach trf %s --length N)", x->decoder->path);
    for (int first = 0, last; first < r->head_count; first = last) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        for (last = first + 1; last < r->head_count && r->heads[last].bias == r->heads[first].bias;
             last++)
            ;
        if (f)
            put_heads(f, r, first, last);
        if (f && !(ferror(f) | fclose(f)))
            put_row(t, first ? "" : label, "%s", text);
        free(text);
    }
}

/* With three digits while it is short, for comparisons. */
static const char *segment_text(char out[DURATION_TEXT], double seconds)
{
    if (seconds >= 99.5)
        return duration_text(out, seconds);
    snprintf(out, DURATION_TEXT, "%.3g s", seconds);
    return out;
}

static int print_estimate(const struct info_found *x, struct error *e)
{
    const struct run_estimate *found = &x->estimate;
    struct table *t = rows_begin();
    int most = x->decoder->position_limit;
    char text[MEMORY_PLAN_TEXT], time[DURATION_TEXT], bytes[BYTES_TEXT];

    if (!t)
        return table_show(t, e);
    table_caption(t, "estimate for a run with --length %ld --dtype %s", x->length, x->dtype);
    put_row(t, "kernels", "%s", found->kernels);
    if (found->refused)
        put_row(t, "refused",
                "there are learned positions for %d inputs (expected --length %d at most)", most,
                most + 1);
    if (found->plan.total)
        put_row(t, "memory", "%s", memory_plan_text(text, &found->plan));
    if (found->seconds > 0)
        put_row(t, "time", "about %s per segment (%.3g GFLOP at %.3g GFLOP/s)",
                segment_text(time, found->seconds), found->plan.flops / 1e9,
                found->plan.flops / found->seconds / 1e9);
    if (found->seconds > 0 && x->segments)
        put_row(t, "run", "about %s for %ld segments; results and journal up to %s on the disk",
                duration_text(time, found->seconds * (double)x->segments), x->segments,
                bytes_text(bytes, found->record_bytes * (double)x->segments));
    return table_show(t, e);
}

static void put_sizes(struct table *t, const struct info_found *x)
{
    const struct decoder *d = x->decoder;
    char bytes[BYTES_TEXT], more[128] = "";

    put_row(t, "parameters", "%.0f in %zu tensors, %s", x->parameters, tensors_count(d->tensors),
            bytes_text(bytes, x->bytes));
    put_row(t, "stored as", "%s", x->text[INFO_TYPES]);
    if (d->bos >= 0)
        snprintf(more, sizeof more, ", %d begins a text", d->bos);
    put_row(t, "vocabulary", "%d%s%s", d->vocabulary,
            d->vocabulary == 256 ? " (text is read as bytes)" : "", more);
    put_row(t, "layers", "%d", d->layers);
    put_row(t, "hidden", "%d", d->hidden);
    *more = 0;
    if (d->kv_heads != d->heads)
        snprintf(more, sizeof more, ", %d for keys and values", d->kv_heads);
    if (d->value_size != d->head_size)
        snprintf(more + strlen(more), sizeof more - strlen(more), ", values of %d", d->value_size);
    for (int l = 0; l < d->layers; l++)
        if (d->blocks[l].head_size && d->blocks[l].head_size != d->head_size) {
            snprintf(more + strlen(more), sizeof more - strlen(more),
                     "; of %d, %d for keys and values, without windows", d->blocks[l].head_size,
                     d->blocks[l].kv_heads);
            break;
        }
    put_row(t, "heads", "%d of size %d%s", d->heads, d->head_size, more);
}

int info_print(const struct info_found *x, struct error *e)
{
    const struct decoder *d = x->decoder;
    struct table *t = rows_begin();

    if (!t)
        return table_show(t, e);
    put_row(t, "model", "%s", d->path);
    put_row(t, "adapter", "%s", x->adapter ? x->adapter : "");
    put_row(t, "family", "%s", d->family);
    put_sizes(t, x);
    put_row(t, "mlp", "%s", x->text[INFO_MLP]);
    put_row(t, "experts", "%s", x->text[INFO_EXPERTS]);
    put_row(t, "blocks", "%s", x->text[INFO_BLOCKS]);
    put_row(t, "head", "%s", d->tied ? "tied to the embedding" : "of its own");
    put_row(t, "positions", "%s", d->position_text);
    if (d->declared_length)
        put_row(t, "declared", "%d positions (%s)", d->declared_length, d->declared_by);
    put_row(t, "window", "%s", x->windows);
    put_row(t, "cone", "%ld of %ld inputs", decoder_cone(d, x->length - 1), x->length - 1);
    put_row(t, "assumed", "%s", tensors_assumed(d->tensors));
    put_row(t, "not understood", "%s", d->not_understood);
    if (d->train_length)
        put_row(t, "train length", "%d", d->train_length);
    else
        put_row(t, "train length", "unknown");
    put_fields(t, x);
    put_row(t, "digest", "%s",
            tensors_supposed(d->tensors) ? "none: no weights are read" : x->digest);
    put_row(t, "verified", "%s", x->verified ? x->verified : "");
    return table_show(t, e) != 0 || (*x->estimate.kernels && print_estimate(x, e) != 0) ? -1 : 0;
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
