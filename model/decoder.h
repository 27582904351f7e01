/* The canonical decoder: every family is read into it, and forward and reverse know only it.
 *
 * Weights are views of the mapped checkpoint; nothing is copied here. */
#ifndef REACH_MODEL_DECODER_H
#define REACH_MODEL_DECODER_H

#include "io/adapters/adapter.h"
#include "analyze/formula.h"
#include "io/error.h"
#include "io/formats/json.h"
#include "io/tensors/tensors.h"
#include "kernels/ops.h"

#include <stdint.h>

/* A matrix or vector of the checkpoint; data NULL: absent. */
typedef struct weight_part view;

struct linear {
    view weight; /* [out, in] */
    view bias; /* [out], columns = 1 */
};

struct norm_view {
    enum norm_kind kind;
    double epsilon;
    int present; /* 0: no norm here; the members below are unused */
    view scale, shift; /* [width], or [1] for the same value everywhere; data NULL: 1, 0 */
};

/* Only the first and the last have post norms p1, p2; any norm may be absent. */
enum residual_wiring {
    RESIDUAL_SEQUENTIAL, /* m = x + p1(attention(n1(x))); y = m + p2(mlp(n2(m))) */
    RESIDUAL_PARALLEL, /* y = x + attention(n1(x)) + mlp(n2(x)) */
    RESIDUAL_POST, /* m = p1(x + attention(n1(x))); y = p2(m + mlp(n2(m))) */
    RESIDUAL_DETOUR, /* y = x + after(mlp(n2(attention(n1(x | e))))), where e is layer 0's x; the
                        next block is one that rejoins */
    RESIDUAL_REJOIN /* y = what the block before read + recurrence(n1(x)), without an MLP */
};

enum { ROTARY_NONE = -1, ROTARIES = 2 };

/* Scores of a layer's attention in addition to q.k. The decoder owns formulas; layers share
 * them. */
struct score {
    double scale, soft_cap;
    int window; /* 0: none */
    int keep; /* the first keys of a segment that stay visible despite the window */
    int chunk; /* without a window: position i sees j where floor(j / chunk) = floor(i / chunk); 0:
                  none */
    int rotary; /* the decoder.rotary of its queries and keys, if there is one; ROTARY_NONE */
    int log_length; /* queries are scaled by max(1, ln i / ln log_length), i from 1; 0: not */
    double query_growth, query_period; /* queries are scaled by 1 + query_growth ln(1 + floor((i +
                                          query_first) / query_period)), i from 0 */
    int query_first;
    const struct formula *bias, *multiplier,
        *key_bias; /* key_bias by the position of the key, from 0 */
    /* The type that bias and multiplier, and key_bias before its scale, are computed in
     * (analyze/formula.h, struct formula_rounding); ELEMENT_F64: not rounded. */
    enum element bias_type, key_bias_type;
    double key_bias_scale; /* factor on key_bias */
};

struct expert {
    struct linear up, gate, down; /* gate.weight.data NULL: not gated */
    struct linear down_bias; /* [1, hidden]: the bias of down as a matrix, for the derivative of the
                                expert's weight; weight.data NULL: none */
};

/* A mixture of experts: each row goes through its chosen experts; weighted results are added. With
 * `apart` (Gemma 4) it stands beside the block's MLP, and the branch is mlp_norm(mlp(n2(m))) +
 * output_norm(experts(input_norm(m))), of rows that choose by router_norm(m); the block is
 * sequential and has p2. */
struct experts {
    struct routing routing; /* experts 0: none; the other members are unused */
    int width; /* of an expert */
    int scales_input; /* 1: a chosen expert's weight multiplies its input; 0: its output */
    struct linear in, out; /* [latent, hidden]: experts read in y; [hidden, latent]: of the sum of
                              their outputs; weight.data NULL: rows have the model's width */
    struct linear router; /* [experts, hidden] */
    view correction; /* [experts] of the choice; data NULL: none */
    struct linear shared_gate; /* [1, hidden]: sigma of it is the weight of the block's own MLP;
                                  weight.data NULL: 1 */
    int apart; /* 1: with the norms below; no shared_gate, and weights multiply outputs */
    struct norm_view input_norm, router_norm, output_norm, mlp_norm; /* [hidden] */
    struct expert *expert; /* [experts]; owned */
};

/* Attention by way of narrow rows, the latents (DeepSeek-AI 2024, "MLA"), of y = n1(x). Keys and
 * values: c = norm(down y), and `up` makes of c the first part of each head's key, and its value;
 * the rest of the key is `shared` y, the same in all heads. Queries: `query` of norm(query_down y),
 * or of y. */
struct latent {
    struct linear down; /* [rank, hidden]; weight.data NULL: no latents; key and value are used */
    struct norm_view norm; /* [rank] */
    struct linear up; /* [kv_heads, head_size - shared size + value_size; rank] */
    struct linear shared; /* [shared size, hidden] */
    struct linear query_down; /* [rank of queries, hidden]; weight.data NULL: none */
    struct norm_view query_norm;
};

/* The end of a block with per-layer inputs (Gemma 3n and 4): y += norm(out (act(gate y) * p)), p =
 * input_norm(project x[0]) + scale table[token]. The table is another parameter than the token's
 * embedding, and is held constant. */
struct side_input {
    struct linear gate, project; /* [width, hidden]; gate.weight.data NULL: none */
    struct linear out; /* [hidden, width] */
    struct norm_view norm; /* [hidden] */
    view table; /* [vocabulary, width] */
};

/* What a block does between n1 and `output`: the ways in which its rows depend on earlier ones. */
enum mixing {
    MIXING_ATTENTION = 1,
    MIXING_CONVOLUTION = 2,
    MIXING_RECURRENCE = 4,
    MIXING_CHANNELS = 8
};

/* A gated short convolution (Liquid AI 2025, "LFM2") of y = n1(x): c * convolution(b * v), with b,
 * c and v, in this order, of `in` y (kernels/ops.h, convolve). */
struct convolution_view {
    int reach;
    struct linear in; /* [3 hidden, hidden] */
    view taps, bias; /* [hidden reach]; [hidden] or none */
};

/* Where the output of a recurrence is normalised: nowhere, or before it is multiplied with
 * act(z), or after. */
enum gated_norm { GATED_ALONE, GATED_LAST, GATED_FIRST };

/* What a scan (kernels/ops.h, scan) reads besides its input x. If it is selective: its steps, steps
 * step_norm(low x), and B and C, factor_norm(factors x). If it is a linear recurrent unit
 * (kernels/ops.h, lru): its steps, and another x, of `unit` x. */
struct scan_view {
    int size; /* states of a channel; 0: the recurrence is no scan */
    int groups; /* of channels: each has B and C of its own */
    struct linear low, steps; /* [ranks, channels], [channels, ranks] */
    struct linear factors; /* [groups 2 size, channels] */
    struct norm_view step_norm, factor_norm; /* [ranks]; of B and C by themselves, [2, size] */
    struct linear unit[2]; /* [channels, channels] of r, and of i; weight.data NULL: selective */
};

/* Matrices that read shifted rows (Peng et al. 2023, "RWKV-4", token shift): of y = n1(x) in a row
 * and in the row before it mu y_t + (1 - mu) y_(t-1), by mu of each channel: a convolution of reach
 * 2 whose taps are 1 - mu and mu. */
enum { SHIFT_REACH = 2 };
struct shifted_linear {
    struct linear of;
    view taps; /* [hidden SHIFT_REACH] */
};

/* Channel mixing (the same), without `output`: sigma(receptance y) * (value (relu(key y)^2)), where
 * both matrices read shifted rows. */
struct channel_view {
    struct shifted_linear key, receptance; /* [inner, hidden], [hidden, hidden] */
    struct linear value; /* [hidden, inner] */
};

/* Time mixing (the same): a recurrence whose state is a mean by channel (kernels/ops.h, wkv) of
 * values, by keys, both of shifted rows; and `gate` reads a shifted row. */
struct wkv_view {
    int present; /* 0: the recurrence is none of these */
    struct shifted_linear key, value; /* [channels, hidden] */
    view gate_taps; /* [hidden SHIFT_REACH] */
    view first; /* [channels] */
};

/* A recurrence (kernels/ops.h, recur) of y = n1(x): queries, keys and values, in this order, are
 * activation(convolution(in y)); its gates are of `steps` y, by channel also of a = decay y, z =
 * gate y gates its output, and out projects it. What `decay` and `gate` read is y, or decay_down y
 * and gate_down y, of few numbers. If its decays are `fixed` (Qin et al. 2024, "lightning
 * attention"), log decays are -rate, and steps 1: gates of a = 0 with low and high 1, and `steps`
 * is absent. A scan instead has one head, values alone, of a channel each, key_size states for
 * each, no `steps`, and its rates for each state, [key_size, value_size]. Time mixing has one head,
 * no queries and keys here (key_heads 0), values of a channel each, whose rates are fixed, and no
 * `in`. */
struct recurrence_view {
    int heads, key_heads, key_size, value_size;
    struct scan_view scan;
    struct wkv_view wkv;
    int delta; /* 1: the delta rule */
    int fixed; /* 1: so are its decays */
    int by_channel; /* 1: log decays by channel of the key */
    double scale; /* of queries */
    int reach; /* of the convolution; 1 if there is none */
    struct linear in[3]; /* of queries, keys, values */
    struct linear gate, out;
    view taps[3], bias[3]; /* theirs; data NULL: no convolution */
    enum activation activation, gate_activation; /* the latter of z */
    struct linear decay; /* by channel: [heads key_size, hidden or fewer] */
    struct linear decay_down, gate_down; /* [fewer, hidden]; weight.data NULL: none */
    struct norm_view key_norm; /* [key_size], of each query and key; or none */
    struct linear steps[2]; /* [heads, hidden] of a, and of b if gates have it; by channel of b */
    view rate, step_bias, skip; /* [heads], of a scan and of time mixing [value_size], by channel
                                   step_bias is [heads key_size]; the last two may be absent */
    double low, high, write, floor; /* struct gating */
    enum gated_norm gated;
    struct norm_view norm; /* of `groups` slices of a row, each with weights of its own or, if they
                              are [value_size], all with these */
    int groups;
};

struct mixer {
    unsigned ways; /* of enum mixing: one, or attention beside a recurrence, whose outputs add up,
                      or 0: there is no mixer, and the block is sequential, with x for its m,
                      without n1, p1, laurel */
    struct convolution_view convolution;
    struct recurrence_view recurrence;
    struct channel_view channels;
};

/* What is added to a matrix: up [down_0; down_1] ("LoRA", Hu et al. 2021). */
struct low_rank {
    struct linear down[2]; /* [rank, in]; weight.data of the first NULL: nothing; of the second:
                              only the first */
    struct linear up; /* [out, ranks] */
};

/* What a block that makes a detour has besides: another matrix after its MLP, and additions to
 * those of queries, of keys and values, and of the MLP. */
struct detour {
    struct linear after; /* [hidden, hidden] */
    struct low_rank query, key_value, gate, up;
};

/* How a block reads and writes several streams x_k (struct streams): with m(a) = tanh(router
 * norm(a)) and p_i = x_i + the sum over j of (predict m(x_active))_ij x_j it turns p_active into t,
 * and writes p_i + (correct m(t))_i (t - p_active). */
struct predictor {
    struct norm_view norm; /* [hidden] */
    struct linear router; /* [streams, hidden] */
    struct linear predict, predict_active; /* [streams streams, streams], i before j; its rows of
                                              the active i */
    struct linear predict_turned; /* the same as `predict`, j before i */
    struct linear correct; /* [streams, streams], with a bias of 1 */
};

/* Another branch of n = n1(x): m = (x + p1(attention(n)) + n + norm(up down n)) / sqrt 2 ("Laurel",
 * Menghani, Kumar, Kumar 2024); sequential, with p1. */
struct learned_residual {
    struct linear down, up; /* [rank, hidden]; weight.data NULL: none. [hidden, rank] */
    struct norm_view norm; /* [hidden] */
};

struct block {
    int kv_heads, head_size; /* of its attention, if not the decoder's; 0: the decoder's */
    int source; /* 1 + the block whose keys and values its queries read, of equal heads and score;
                   0: its own */
    struct norm_view attention_norm, mlp_norm; /* n1, n2 */
    struct norm_view attention_post_norm, mlp_post_norm; /* p1, p2 */
    struct mixer mixer; /* "attention" in residual_wiring and in names of norms is any mixer */
    struct linear query, key, value;
    struct linear output; /* of attention or a convolution */
    struct linear output_gate; /* z = output_gate y gates attention's output with sigma(z);
                                  weight.data NULL: not gated */
    struct latent latent; /* in all blocks that attend, or none */
    double
        clip; /* queries, keys, values are clamped to +-clip after norms, before rotation; 0: not */
    view sinks; /* [heads]: another score per head, with value zero; data NULL: none */
    struct norm_view query_norm, key_norm; /* of every head by itself, [head_size] or [heads,
                                              head_size], or, with norms_whole, of all heads as one,
                                              [heads head_size]; before rotation; both or none */
    int norms_whole, query_norm_last; /* query_norm_last: after the rotation */
    int values_normed; /* key_norm, [2 kv_heads, head_size], is of every head's value too */
    struct linear up, gate, down; /* gate: NULL data: not gated; up: NULL data: only experts, or,
                                     without these, no MLP at all: y = x + attention(n1(x)) */
    int mlp; /* rows of them, if not the decoder's; 0: as many */
    struct norm_view gate_cut; /* present: of the gate's rows g only what exceeds their mean by a
                                  multiple of their standard deviation s is left, max(0, g - mean -
                                  multiple s): s max(0, the LAYER norm with the shift -multiple) */
    struct experts experts;
    enum activation activation; /* of MLP and experts */
    int has_xielu; /* 1: the MLP has xielu instead */
    struct xielu xielu;
    enum residual_wiring residual;
    int residual_from_norm; /* 1: the residual branch starts from n1's and n2's output (bloom's
                               apply_residual_connection_post_layernorm); sequential */
    struct side_input side;
    struct predictor predictor; /* with several streams */
    struct learned_residual laurel;
    struct detour detour; /* with RESIDUAL_DETOUR */
    double factor; /* on the block's output; 0: 1 */
    struct score score;
};

enum position_kind { POSITION_NONE, POSITION_SINUSOIDAL, POSITION_LEARNED, POSITION_ROTARY };

/* Several residual streams in a row of x (Gemma 3n; Baykal et al. 2023, "AltUp"): the first is the
 * embedding e, any other is project e with the root mean square of e. The final norm reads their
 * mean, of any but the first as unproject x with the root mean square of the first. */
enum { STREAMS_MOST = 4 };
struct streams {
    int count, active; /* 0: one, without the members below. The one that blocks read */
    struct linear project[STREAMS_MOST - 1], unproject[STREAMS_MOST - 1]; /* [hidden, hidden] */
    struct norm_view unit; /* x / its root mean square, if that is at least sqrt(1e-5) */
    struct norm_view length; /* u with u.x = the root mean square */
};

struct decoder {
    char family[32];
    char path[4096];
    int vocabulary, hidden, layers, heads, kv_heads, head_size,
        mlp; /* mlp: of blocks without experts */
    int value_size; /* of a head's value and output; head_size unless keys have another */
    int train_length; /* 0: unknown */
    int declared_length; /* inputs that the configuration has positions for; 0: not stated */
    const char *declared_by; /* the key that states it, such as "max_position_embeddings" */
    int tied;
    int bos; /* id of the beginning-of-text token, -1: none */
    int padding; /* id not counted as a position, so excluded from segments; -1: none */

    /* x[0] = embedding_norm(project_in(embedding_scale * row) + position) */
    int embedding_width; /* E: hidden, unless there are project_in and project_out */
    view embedding; /* [vocabulary, E] */
    double embedding_scale;
    struct linear project_in; /* [hidden, E]; weight.data NULL: none */
    struct norm_view embedding_norm;
    enum position_kind position;
    view position_rows; /* learned: [length, hidden] */
    int position_limit; /* learned: the most inputs with a row; 0: no limit */
    int key_limit; /* the most inputs of which every query sees all keys before it: beyond that an
                      indexer would choose some; 0: none */
    struct sinusoid {
        double *frequency; /* [hidden / 2] radians a position; owned */
        int halves; /* 1: a row is [sin | cos]; 0: sin at 2i, cos at 2i + 1 */
        int first; /* angle of the first input, in positions */
    } sinusoid;
    struct rotary {
        int size, first; /* rotated dimensions of a head, and the first of them */
        int still; /* the last of its pairs that do not turn, with frequency 0 */
        int backwards; /* 1: rotated by minus the angle */
        enum rotary_pairing pairing;
        double *frequency; /* [size / 2] radians a position; owned */
        double factor,
            beyond_factor; /* on the rotated dimensions (yarn); with n > limit inputs (longrope) */
        double score_factor; /* on scores of rotated layers */
        int scores; /* 1: mscale_all_dim of a scaling makes one */
        double divided; /* omitted factor, which norms after the rotation would cancel; 0: none */
        double base,
            stretch; /* stretch > 0 (dynamic scaling): with n > limit inputs frequencies are those
                      * of the base base (stretch n / limit - (stretch - 1))^(size / (size - 2)) */
        double *beyond; /* [size / 2] frequencies with n > limit inputs (longrope); NULL: the same;
                           owned */
        int limit;
        int scaled; /* 1: frequencies do not follow from the base alone */
        int other_fraction; /* 1: the configuration rotates part of a head, the model's code all */
    } rotary[ROTARIES]; /* the first for all layers, or all without windows */

    struct norm_view side_norm; /* [side_width], of the inputs that blocks have besides x */
    int side_width; /* 0: there are none */
    double side_scale; /* of their tables */
    int side_rows; /* of their tables; tokens from that on have row 0 */
    struct streams streams;

    struct block *blocks; /* [layers]; owned */
    struct norm_view final_norm;
    struct linear project_out; /* [E, hidden], after the final norm; weight.data NULL: none */
    struct linear head; /* [vocabulary, E] */
    double head_soft_cap;

    double **vectors; /* parameters that are not stored; owned */
    int vector_count;
    size_t vector_bytes; /* of all of them */
    struct formula **formulas; /* owned */
    int formula_count;

    struct tensors *tensors; /* owned */
    struct config *config; /* owned */
    const struct outer *outer; /* the checkpoint's, if it also has other models (outer.h) */
    struct config *adapter; /* of the merged adapters (adapters_merge); NULL: none; owned */
    char position_text[512]; /* "alibi(delta=0)", "rotary, base 10000", "window 32": for people and
                                files */
    char notes[2048]; /* notes, without the path, for whoever runs the model: contradictions in the
                         checkpoint, and how they were resolved, one per line; "": none */
    char not_understood[1024]; /* unknown keys, separated by ", ", printable ASCII; "": none */
};

/* Opens a checkpoint folder and reads it by its family. NULL on failure: a missing or misshapen
 * tensor or an unknown option is named. Caller closes. */
struct decoder *decoder_open(const char *path, struct error *e) MUST_USE;
/* The same with adapters merged onto it (io/adapters/adapter.h); none, or NULL: none. */
struct decoder *decoder_open_adapted(const char *path, const struct adapter_list *adapters,
                                     struct error *e) MUST_USE;
/* A decoder by its configuration alone, which is taken over (on failure too): its sizes and
 * encoding mean something, its weights are zeros. The type of its tensors is dtype or torch_dtype,
 * else float32. PATH names it. A model that needs numbers of its tensors to be read is an error. */
struct decoder *decoder_suppose(const char *path, struct config *config, struct error *e) MUST_USE;
void decoder_close(struct decoder *d);

/* Replaces parts of the position encoding: `bias` replaces the additive biases (by distance and by
 * key) of every layer, positions_none also removes rotary and absolute positions, `rope`
 * (model/rope.h) replaces base and scaling of rotary ones, window >= 0 sets the window of every
 * layer (0: none). Formula is taken over on success. */
struct rope_spec;
struct position_override {
    struct formula *bias;
    const struct rope_spec *rope; /* NULL: as in the checkpoint */
    int positions_none;
    int window; /* -1: as in the checkpoint */
    int keep; /* first keys that stay visible in every layer with a window; 0: none */
    int log_length; /* trained length of the log-n scaling of all layers; 0: none */
    enum element bias_type; /* type for biases of every layer; ELEMENT_F64: the checkpoint's */
};
int decoder_override(struct decoder *d, struct position_override *o, struct error *e) MUST_USE;

/* Inputs that can affect the last output through the windows and convolutions of all layers: 1 +
 * sum (w_l - 1), plus kept first keys; at most n; n without windows. */
long decoder_cone(const struct decoder *d, long n);
/* Radians per position of pair i in a segment of n inputs. */
double rotary_frequency(const struct rotary *r, int i, double n);
/* 1 if the block mixes its rows; if it attends; has a convolution; a recurrence; one that is a
 * scan; a linear recurrent unit; time mixing; a recurrence with fixed decays; if it mixes channels
 * of shifted rows; makes a detour; has an MLP or experts. */
static inline int block_mixes(const struct block *b)
{
    return b->mixer.ways != 0;
}
static inline int block_attends(const struct block *b)
{
    return (b->mixer.ways & MIXING_ATTENTION) != 0;
}
static inline int block_convolves(const struct block *b)
{
    return (b->mixer.ways & MIXING_CONVOLUTION) != 0;
}
static inline int block_recurs(const struct block *b)
{
    return (b->mixer.ways & MIXING_RECURRENCE) != 0;
}
static inline int block_scans(const struct block *b)
{
    return b->mixer.recurrence.scan.size != 0;
}
static inline int block_is_lru(const struct block *b)
{
    return b->mixer.recurrence.scan.unit[0].weight.data != NULL;
}
static inline int block_mixes_time(const struct block *b)
{
    return b->mixer.recurrence.wkv.present;
}
static inline int block_mixes_channels(const struct block *b)
{
    return (b->mixer.ways & MIXING_CHANNELS) != 0;
}
static inline int block_decays_fixed(const struct block *b)
{
    return block_recurs(b) && b->mixer.recurrence.fixed;
}
static inline int block_detours(const struct block *b)
{
    return b->residual == RESIDUAL_DETOUR;
}
static inline int block_has_mlp(const struct block *b)
{
    return b->up.weight.data || b->experts.routing.experts;
}
/* Inputs of a block, the nearest ones and its own, that a row of its output depends on; 0: all. */
static inline int block_window(const struct block *b)
{
    return block_recurs(b)           ? 0
           : block_attends(b)        ? b->score.window
           : block_convolves(b)      ? b->mixer.convolution.reach
           : block_mixes_channels(b) ? SHIFT_REACH
                                     : 1;
}
/* Its layers without attention, as "layers 1-2, 4", or "layer 2"; "": none. */
enum { DECODER_LAYERS_TEXT = 160 };
char *decoder_unattended_text(char text[DECODER_LAYERS_TEXT], const struct decoder *d);
/* Heads of its recurrences, the most of any layer; 0: there are none. */
int decoder_recurrence_heads(const struct decoder *d);
/* 1 if any of its layers has experts. */
int decoder_has_experts(const struct decoder *d);
/* The most inputs that the model can read; 0: no limit. And why, as "has learned positions for 12
 * inputs". */
int decoder_limit(const struct decoder *d);
enum { DECODER_LIMIT_TEXT = 160 };
char *decoder_limit_text(char text[DECODER_LIMIT_TEXT], const struct decoder *d);
/* Numbers of a row of x. */
static inline int stream_width(const struct decoder *d)
{
    return d->hidden * (d->streams.count ? d->streams.count : 1);
}
/* Of a block's attention. */
static inline int block_kv_heads(const struct decoder *d, const struct block *b)
{
    return b->kv_heads ? b->kv_heads : d->kv_heads;
}
static inline int block_head_size(const struct decoder *d, const struct block *b)
{
    return b->head_size ? b->head_size : d->head_size;
}
static inline int block_value_size(const struct decoder *d, const struct block *b)
{
    return b->head_size ? b->head_size : d->value_size;
}
/* Numbers of a row of queries; of keys; of keys and values; of attention's output. */
static inline int block_q_width(const struct decoder *d, const struct block *b)
{
    return d->heads * block_head_size(d, b);
}
static inline int block_key_width(const struct decoder *d, const struct block *b)
{
    return block_kv_heads(d, b) * block_head_size(d, b);
}
static inline int block_kv_width(const struct decoder *d, const struct block *b)
{
    return block_kv_heads(d, b) * (block_head_size(d, b) + block_value_size(d, b));
}
static inline int block_o_width(const struct decoder *d, const struct block *b)
{
    return d->heads * block_value_size(d, b);
}
/* Numbers of a row of queries, keys and values of its recurrence, of its gates or steps, of z, and
 * of B and C; 0 without one. */
static inline int block_recurrence_width(const struct block *b)
{
    const struct recurrence_view *r = &b->mixer.recurrence;
    return 2 * r->key_heads * r->key_size + r->heads * r->value_size;
}
static inline int block_gate_width(const struct block *b)
{
    return b->mixer.recurrence.heads * b->mixer.recurrence.value_size;
}
/* Log decays of a head of its recurrence in a row. */
static inline int block_decays(const struct block *b)
{
    return b->mixer.recurrence.by_channel ? b->mixer.recurrence.key_size : 1;
}
static inline int block_steps_width(const struct block *b)
{
    const struct recurrence_view *r = &b->mixer.recurrence;
    return block_scans(b) || block_mixes_time(b) ? r->value_size : r->heads * (block_decays(b) + 1);
}
static inline int block_factors_width(const struct block *b)
{
    return block_is_lru(b) ? 0
                           : b->mixer.recurrence.scan.groups * 2 * b->mixer.recurrence.scan.size;
}
/* Numbers of a row of what steps are made of. */
static inline size_t block_low_width(const struct block *b)
{
    const struct linear *low = &b->mixer.recurrence.scan.low;
    return low->weight.groups * low->weight.rows;
}
/* Numbers of a row that attention or a convolution of a block keeps for later rows (keys and
 * values; b, c and v), and of its output. */
static inline int block_kept_width(const struct decoder *d, const struct block *b)
{
    return block_convolves(b) ? 3 * d->hidden : block_attends(b) ? block_kv_width(d, b) : 0;
}
static inline int block_mixed_width(const struct decoder *d, const struct block *b)
{
    return block_convolves(b) || block_mixes_channels(b) ? d->hidden
           : block_attends(b)                            ? block_o_width(d, b)
                                                         : 0;
}
/* The slices of a row of keys and values that key_norm normalises by themselves. */
static inline int block_key_norms(const struct decoder *d, const struct block *b)
{
    return b->norms_whole ? 1 : (1 + b->values_normed) * block_kv_heads(d, b);
}
/* The block whose keys and values block l reads: l, or one before it. */
static inline int block_source(const struct decoder *d, int l)
{
    return d->blocks[l].source ? d->blocks[l].source - 1 : l;
}
/* 1 if the angles of its rotary positions depend on the length of the segment. */
static inline int decoder_depends_on_length(const struct decoder *d)
{
    for (int i = 0; i < ROTARIES && d->position == POSITION_ROTARY; i++)
        if (d->rotary[i].stretch > 0 || d->rotary[i].beyond)
            return 1;
    return 0;
}

#endif
