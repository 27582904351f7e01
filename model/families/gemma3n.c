/* Gemma 3n: four residual streams, of which each layer reads one and corrects all; a branch of low
 * rank beside attention; gates of which only the largest are left in the first layers; and what
 * Gemma 4 has too (gemma4.c). Defaults are the library's: huggingface/transformers, models/gemma3n.
 */
#include "kernels/shared.h"
#include "model/families/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The multiple of the standard deviation below which a share p of a normal distribution lies, by
 * bisection: 40 is beyond the smallest double. */
static double normal_quantile(double p)
{
    double low = -40, high = 40;
    for (int i = 0; i < 200; i++) {
        double middle = 0.5 * (low + high);
        if (0.5 * erfc(-middle * M_SQRT1_2) < p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

/* activation_sparsity_pattern: of each layer, the share of the gates that would be cut if they were
 * normal; 0: none. */
static int read_cuts(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const json_t *list = config_get(c, "activation_sparsity_pattern");
    if (list && json_array_size(list) != (size_t)d->layers)
        return fail(e,
                    "%s: activation_sparsity_pattern is not a list of a number for each of %d "
                    "layers",
                    config_path(c), d->layers);
    for (int l = 0; l < d->layers; l++) {
        const json_t *one = json_array_get(list, (size_t)l);
        double share = list ? json_number_value(one) : l < 10 && d->layers > 10 ? 0.95 : 0, *shift;
        if (list && (!json_is_number(one) || !(share >= 0 && share < 1)))
            return fail(e,
                        "%s: activation_sparsity_pattern, entry %d is not a number from 0 to less "
                        "than 1",
                        config_path(c), l + 1);
        if (share == 0)
            continue;
        if (!(shift = family_own(d, 1, e)))
            return -1;
        *shift = -normal_quantile(share);
        d->blocks[l].gate_cut = (struct norm_view){.kind = NORM_LAYER,
                                                   .epsilon = 1e-30, /* for equal gates */
                                                   .present = 1,
                                                   .shift = family_own_view(shift, 1)};
    }
    return 0;
}

/* w [rows, columns] with the columns multiplied by a stored vector. */
static int scale_columns(view *w, struct decoder *d, const char *stem, struct error *e)
{
    const size_t rows = w->rows, columns = w->columns;
    double *all, *scale;
    if (!(scale = family_own(d, columns, e)) ||
        family_factors(scale, d, columns, e, "%s.altup.correct_output_scale", stem))
        return -1;
    if (!(all = family_own(d, rows * columns, e)))
        return -1;
    for (size_t r = 0; r < rows && !tensors_supposed(d->tensors); r++) {
        weight_parts_read_f64(all + r * columns, w, r, 0, columns);
        for (size_t i = 0; i < columns; i++)
            all[r * columns + i] *= scale[i];
    }
    *w = family_own_view(all, rows);
    w->columns = columns, w->row_stride = columns;
    return 0;
}

/* One norm of several layers' worth of streams: |x| as it is read from products alone. */
static int read_lengths(struct streams *s, struct decoder *d, struct error *e)
{
    double *unit = family_own(d, 1, e), *length = family_own(d, 1, e);
    if (!unit || !length)
        return -1;
    *unit = sqrt(d->hidden), *length = 1 / sqrt(d->hidden);
    s->unit = (struct norm_view){.kind = NORM_LENGTH,
                                 .epsilon = sqrt(1e-5 * d->hidden),
                                 .present = 1,
                                 .scale = family_own_view(unit, 1)};
    s->length = (struct norm_view){.kind = NORM_LENGTH,
                                   .epsilon = 1e-30, /* of rows of zeros */
                                   .present = 1,
                                   .scale = family_own_view(length, 1)};
    return 0;
}

static int read_streams(struct decoder *d, const char *prefix, struct error *e)
{
    struct config *c = d->config;
    struct streams *s = &d->streams;
    const size_t hidden = (size_t)d->hidden;
    long count, active;
    if (config_int_or(c, "altup_num_inputs", 2, STREAMS_MOST, 4, &count, e) ||
        config_int_or(c, "altup_active_idx", 0, count - 1, 0, &active, e) || read_lengths(s, d, e))
        return -1;
    s->count = (int)count, s->active = (int)active;
    for (int i = 0; i + 1 < s->count; i++)
        if (family_linear(&s->project[i], d, hidden, hidden, 0, e, "%saltup_projections.%d", prefix,
                          i) ||
            family_linear(&s->unproject[i], d, hidden, hidden, 0, e,
                          "%saltup_unembed_projections.%d", prefix, i))
            return -1;
    family_describe(d, "%d residual streams", s->count);
    return 0;
}

static int read_predictor(struct block *b, struct decoder *d, double epsilon, const char *stem,
                          struct error *e)
{
    struct predictor *p = &b->predictor;
    const size_t hidden = (size_t)d->hidden, streams = (size_t)d->streams.count;
    double *ones = family_own(d, streams, e);
    if (!ones || family_norm(&p->norm, d, NORM_RMS, epsilon, 0, e, "%s.altup.router_norm", stem) ||
        family_linear(&p->router, d, streams, hidden, 0, e, "%s.altup.modality_router", stem) ||
        family_linear(&p->predict, d, streams * streams, streams, 0, e, "%s.altup.prediction_coefs",
                      stem) ||
        family_linear(&p->correct, d, streams, streams, 0, e, "%s.altup.correction_coefs", stem))
        return -1;
    for (size_t i = 0; i < streams; i++)
        ones[i] = 1;
    p->correct.bias = family_own_view(ones, streams);
    p->predict_active.weight = view_rows(p->predict.weight, (size_t)d->streams.active * streams,
                                         streams);
    view *turned = &p->predict_turned.weight;
    *turned = p->predict.weight;
    turned->groups = turned->rows = streams;
    turned->group_stride = p->predict.weight.row_stride;
    turned->row_stride = streams * p->predict.weight.row_stride;
    return 0;
}

/* The norm's weights by 1 / hidden, which the router's input is multiplied by. */
static int divide_norm(struct norm_view *norm, struct decoder *d, const char *stem, struct error *e)
{
    double *scale = family_own(d, (size_t)d->hidden, e);
    if (!scale ||
        family_factors(scale, d, (size_t)d->hidden, e, "%s.altup.router_norm.weight", stem))
        return -1;
    for (int i = 0; i < d->hidden; i++)
        scale[i] /= d->hidden;
    norm->scale = family_own_view(scale, (size_t)d->hidden);
    return 0;
}

static int read_laurel(struct block *b, struct decoder *d, double epsilon, size_t rank,
                       const char *stem, struct error *e)
{
    struct learned_residual *u = &b->laurel;
    const size_t hidden = (size_t)d->hidden;
    return family_linear(&u->down, d, rank, hidden, 0, e, "%s.laurel.linear_left", stem) ||
                   family_linear(&u->up, d, hidden, rank, 0, e, "%s.laurel.linear_right", stem) ||
                   family_norm(&u->norm, d, NORM_RMS, epsilon, 0, e, "%s.laurel.post_laurel_norm",
                               stem)
               ? -1
               : 0;
}

static int finish(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const char *prefix = family_prefix(d, "model.", "embed_tokens.weight");
    double epsilon;
    long width, vocabulary, rank;
    int scaled;
    if (!config_absent(c, "final_logit_softcapping") && !config_has(c, "final_logit_softcapping"))
        return fail(e, "%s: final_logit_softcapping is null (expected a number)", config_path(c));
    if (config_real_or(c, "rms_norm_eps", 0, 1, 1e-6, &epsilon, e) ||
        config_int_or(c, "hidden_size_per_layer_input", 1, 1 << 16, 256, &width, e) ||
        config_int_or(c, "vocab_size_per_layer_input", 1, 1 << 26, 262144, &vocabulary, e) ||
        config_int_or(c, "laurel_rank", 1, 1 << 16, 64, &rank, e) ||
        config_bool_or(c, "altup_correct_scale", 1, &scaled, e) ||
        config_real_or(c, "final_logit_softcapping", 1e-30, 1e9, 30, &d->head_soft_cap, e) ||
        family_only(d, "use_bidirectional_attention", 0, 0, e) ||
        read_sides(d, prefix, epsilon, (int)width, vocabulary, e) || read_streams(d, prefix, e) ||
        read_cuts(d, e))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        char stem[128];
        snprintf(stem, sizeof stem, "%slayers.%d", prefix, l);
        b->score.scale = 1;
        if (read_predictor(b, d, epsilon, stem, e) || divide_norm(&b->predictor.norm, d, stem, e) ||
            read_laurel(b, d, epsilon, (size_t)rank, stem, e) ||
            (scaled && scale_columns(&b->side.gate.weight, d, stem, e)))
            return -1;
        family_ignore(d, "%s.altup.correct_output_scale", stem);
    }
    return 0;
}

/* Sizes of MLPs by layer, where intermediate_size is a list (take_sizes). */
static int share(struct decoder *d, struct error *e)
{
    const json_t *sizes = config_get(d->config, "intermediate_sizes");
    for (int l = 0; sizes && l < d->layers; l++)
        d->blocks[l].mlp = (int)json_integer_value(json_array_get(sizes, (size_t)l));
    return share_keys(d, 15, e);
}

/* A list of sizes of MLPs goes to another key, and the largest of them stands for it. */
static int take_sizes(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    json_t *sizes = config_get(c, "intermediate_size"), *root = config_root(c);
    json_int_t most = 0, layers = json_integer_value(config_get(c, "num_hidden_layers"));
    (void)json_object_del(root, "intermediate_sizes"); /* it is no key of a file */
    if (!json_is_array(sizes))
        return 0;
    if ((json_int_t)json_array_size(sizes) != layers)
        return fail(e, "%s: intermediate_size is not a list of a number for each of %lld layers",
                    config_path(c), (long long)layers);
    for (size_t l = 0; l < json_array_size(sizes); l++) {
        json_int_t one = json_integer_value(json_array_get(sizes, l));
        if (one < 1 || one > 1 << 24)
            return fail(e, "%s: intermediate_size, entry %zu is not a size of 1 to %d",
                        config_path(c), l + 1, 1 << 24);
        most = one > most ? one : most;
    }
    return json_object_set(root, "intermediate_sizes", sizes) ||
                   json_object_set_new(root, "intermediate_size", json_integer(most))
               ? fail_memory(e, 1024, "a configuration")
               : 0;
}

static const struct layout gemma3n_text = {
    LLAMA(1e-6),
    .names = {LLAMA_FRAME, FOUR_NORMS, SPLIT, OUTPUT, GATED, QK_NORMS},
    .head_norms = YES,
    .head_size_absent = 256,
    ACTIVATION("hidden_activation", "gelu_pytorch_tanh"),
    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
    .rope = {ROTARY_WHOLE, .by_kind = 1, .theta_default = 1e6,
             .local_theta = "rope_local_base_freq", .local_theta_default = 1e4},
    .turned = TURNED_BY_KIND,
    BUT_EVERY(5, 512),
    .prepare = take_sizes,
    .share = share,
    .values_normed = 1,
    .scale_embedding = YES,
    .scale_rounded = 1,
    .tied = 1,
    .defaults = "{\"vocab_size\": 262400, \"hidden_size\": 2048, \"intermediate_size\": 16384, "
                "\"num_hidden_layers\": 35, \"num_attention_heads\": 8, "
                "\"num_key_value_heads\": 2, \"max_position_embeddings\": 32768}",
    .finish = finish};

static const char *const harmless[] = {"altup_coef_clip", NULL};
static const char *const nullable[] = {"activation_sparsity_pattern", NULL};

const struct family families_gemma3n[] = {{ROW(gemma3n_text), .harmless = harmless,
                                           .nullable = nullable},
                                          {.name = NULL}};
