/* Recurrences of a layout (layout.h) instead of attention in some layers, or all: their keys of
 * config.json and the names of their tensors. */
#ifndef REACH_MODEL_RECURRENCE_LAYOUT_H
#define REACH_MODEL_RECURRENCE_LAYOUT_H

#include "model/family.h"

/* What the rows of the projections are. */
enum recurrence_form {
    RECURRENCE_MAMBA, /* in_proj [z, values, keys, queries, a], and a norm after the gate */
    /* the delta rule with a norm of each head before the gate */
    RECURRENCE_DELTA, /* in_proj_qkv [queries, keys, values], in_proj_z, in_proj_a, in_proj_b, or
                         in_proj [queries, keys, values, z, b, a]; norm or out_norm */
    RECURRENCE_DELTA_APART, /* q_proj, k_proj, v_proj, each with its convolution or all with one,
                               g_proj of z, a_proj, b_proj; o_norm, o_proj */
    RECURRENCE_SCAN, /* in_proj [x, z], x_proj [what dt_proj makes steps of, B, C] */
    RECURRENCE_SCAN_HEADS, /* the same for equal groups of channels: in_proj has x and z of each
                              channel in turn; x_proj_weight, dt_proj_weight, dt_proj_bias, A_log
                              and D are of each group */
    RECURRENCE_LRU, /* linear_x and linear_y, whose activation gates; conv_1d; rg_lru of as many
                       blocks as there are heads, with recurrent_gate, input_gate and
                       recurrent_param; linear_out; all biased */
    RECURRENCE_DELTA_PACKED, /* in_proj_qkvz, in_proj_ba: of each key head its query, key, values
                                and z, and b and a */
    RECURRENCE_DELTA_CHANNELS, /* log decays by channel of the key, of f_proj; z of g_proj, with a
                                  sigmoid; q_proj, k_proj, v_proj, b_proj; o_norm, o_proj or dense
                                */
    RECURRENCE_FIXED /* qkv_proj: of each of the attention's heads its query, key and value;
                        output_gate of z, whose sigma gates; a norm of all heads before it;
                        out_proj; slope_rate of its decays, if it is stored */
};

struct recurrence_layout {
    enum recurrence_form form;
    const char *stem; /* of the names of its tensors, below the layer's */
    /* of scans, whose states of a channel are key_size: the key of the rows of dt_proj's
     * input, by default "auto", the model's width / 16; the names of the norms of that, B and C, or
     * NULL; the key of the epsilon of such norms without weights, by default 1e-6, or NULL: none */
    const char *rank, *norms[3], *bare_epsilon;
    /* keys: heads and key heads, their sizes, inputs of the convolution, all with defaults; none of
     * them with RECURRENCE_FIXED, with RECURRENCE_LRU the last alone; of
     * RECURRENCE_SCAN_HEADS the heads are groups of channels */
    const char *heads, *key_heads, *key_size, *value_size, *reach;
    /* Which layers attend: those that layer_types, if `typed`, says full_attention of, all others
     * linear_attention or, if `unmixed`, mlp or moe: without a mixer, or if `windowed`
     * sliding_attention; without it every so many; those listed; or none. NULL: no such key */
    int typed, unmixed, windowed;
    const char *interval, *attending;
    long interval_absent; /* 0: 4 */
    int beside; /* 1: all layers attend beside it instead */
    const char *expand; /* of the inner width, in multiples of the model's, which must be that of
                           all heads, and makes it where value_size is "auto"; NULL: none */
    const char *inner; /* of that width; null: by `expand`, without it the model's. NULL: none */
    const char *biased, *conv_biased; /* of biases of projections, by default none, and of the
                                         convolution, by default there */
    const char *out_biased; /* of the output's, by default none; NULL: as of all projections */
    const char *normed, *norm_first; /* Mamba's norm: whether there is one, by default not, and
                                        whether it is before the gate, by default so; NULL: it is
                                        after it */
    const char *limits, *least; /* of the least and the largest step; or of the least alone, by
                                   default 0.001 */
    const char *activation; /* by default silu; NULL: that of MLPs */
    const char *doubled; /* whether b's gate is up to 2, not 1, by default so */
    double epsilon; /* of the norm of its output; 0: that of all norms */
    /* Fixed decays where no tensor states them: minus the log decay of a head and a layer, both
     * from 0; NULL: they are not fixed */
    double (*decay)(int head, int heads, int layer, int layers);
    int by_few; /* 1: by way of as many numbers as a key has, f_b_proj f_a_proj and g_b_proj
                   g_a_proj for f_proj and g_proj */
    const char *bounded, *bound; /* whether log decays by channel have a bound, by default so, and
                                    the bound, by default -5; NULL: they have none */
};

/* What a configuration says of them. */
struct recurrence_sizes {
    const struct recurrence_layout *layout;
    long heads, key_heads, key_size, value_size, reach;
    int biased, conv_biased, out_biased, doubled;
    enum gated_norm gated;
    long rank, groups;
    double low, high, epsilon, bare_epsilon, floor;
    enum activation activation;
};

/* After the sizes: which blocks are recurrences, and their sizes. */
int recurrence_settings(struct recurrence_sizes *out, const struct recurrence_layout *layout,
                        struct decoder *d, struct error *e) MUST_USE;
/* Block b's recurrence and output, from tensors below STEM. */
int recurrence_read(struct block *b, const struct recurrence_sizes *sizes, struct decoder *d,
                    const char *stem, struct error *e) MUST_USE;

/* Which layers are recurrences. */
int recurrence_kinds(const struct recurrence_layout *layout, struct decoder *d,
                     struct error *e) MUST_USE;
/* Adds to d->position_text what the recurrences hold, and in how many layers. Rotary positions are
 * taken out of it if no layer attends. */
void recurrence_describe(struct decoder *d, const char *format, ...) PRINTF_LIKE(2, 3);
/* The width of all heads, if it has a key: 0, if not. */
int recurrence_inner(long *inner, const struct recurrence_layout *layout, const struct decoder *d,
                     struct error *e) MUST_USE;
/* Channels, and rows, first .. first + count - 1 of a convolution's taps, and of a projection. */
view recurrence_taps(view v, size_t first, size_t count);
struct linear recurrence_rows(struct linear v, size_t first, size_t count);
/* -- scan_layout.c: the two above of the forms that are scans -- */
int scan_settings(struct recurrence_sizes *out, const struct recurrence_layout *layout,
                  struct decoder *d, struct error *e) MUST_USE;
int scan_heads_read(struct block *b, const struct recurrence_sizes *sizes, struct decoder *d,
                    const char *stem, struct error *e) MUST_USE;
int lru_settings(struct recurrence_sizes *out, const struct recurrence_layout *layout,
                 struct decoder *d, struct error *e) MUST_USE;
int lru_read(struct block *b, const struct recurrence_sizes *sizes, struct decoder *d,
             const char *stem, struct error *e) MUST_USE;
int scan_read(struct block *b, const struct recurrence_sizes *sizes, struct decoder *d,
              const char *stem, struct error *e) MUST_USE;

#endif
