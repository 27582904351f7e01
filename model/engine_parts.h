/* The engine's internals, shared by plan, weights, forward and reverse. Not for other folders.
 *
 * Sizes. Block l reads `keys[l]` positions (the last ones) of the residual stream and writes
 * `queries[l]`: the last block writes one, a windowed block reads queries + window - 1, any other,
 * or one that keeps first keys, all n; queries[l] = keys[l + 1]. The last block may write more
 * (outputs of a request); with score.carry every block reads and writes these, and finds
 * earlier keys and values in the layer's `carry`. With score.retain so it does with all inputs of a
 * call, and n grows from call to call. A block that reads the keys and values of another reads no
 * more positions of the stream than it writes; that other one has as many keys as either needs. */
#ifndef REACH_MODEL_ENGINE_PARTS_H
#define REACH_MODEL_ENGINE_PARTS_H

#include "model/engine.h"

#include <math.h>

/* A norm's parameters in the kernel set's form. */
struct norm_weights {
    int present;
    struct norm norm;
    struct weight *scale, *shift;
};

struct linear_weights {
    struct weight *weight, *bias;
};

struct low_rank_weights {
    struct linear_weights down, up;
};

struct expert_weights {
    struct linear_weights up, gate, down, down_bias;
};

/* A block's parameters in the kernel set's form. Keys and values are one matrix. */
/* Of shifted rows. */
struct shifted_weights {
    struct linear_weights of;
    struct weight *taps;
};

struct block_weights {
    struct norm_weights attention_norm, mlp_norm, attention_post_norm, mlp_post_norm, query_norm,
        key_norm, latent_norm, latent_query_norm, side_norm, expert_input_norm, router_norm,
        expert_output_norm, expert_mlp_norm, stream_norm, laurel_norm, gate_cut;
    struct linear_weights query, kv, output, output_gate, up, gate, down, router, shared_gate,
        experts_in, experts_out;
    struct linear_weights convolution_in;
    struct weight *taps, *taps_bias;
    struct linear_weights recurrence_in, recurrence_steps, recurrence_gate, recurrence_out;
    struct linear_weights scan_low, scan_steps, scan_factors, scan_unit;
    struct linear_weights recurrence_decay, recurrence_decay_down, recurrence_gate_down;
    struct weight *recurrence_taps, *recurrence_taps_bias, *rate, *step_bias, *skip;
    struct shifted_weights wkv_key, wkv_value, channel_key, channel_receptance;
    struct linear_weights channel_value;
    struct weight *wkv_gate_taps, *wkv_first;
    struct norm_weights recurrence_norm, recurrence_key_norm, scan_step_norm, scan_factor_norm;
    struct linear_weights latent_down, latent_up, latent_shared, latent_query_down;
    struct linear_weights side_gate, side_project, side_out;
    struct linear_weights stream_router, predict, predict_active, predict_turned, correct;
    struct linear_weights laurel_down, laurel_up, after;
    struct low_rank_weights query_low, kv_low, gate_low, up_low;
    struct weight *sinks, *correction, *side_table;
    struct expert_weights *experts; /* [experts]; empty if not loaded. NULL: none */
    int loaded; /* all; of experts if weights are resident */
};

/* The values that determine all sizes. */
struct shape {
    const struct decoder *d;
    enum request_kind kind;
    int n; /* inputs of a segment */
    int outputs; /* of a segment; for attention, which uses n, 1 */
    int carry; /* 0, or the most positions before x[0]'s with stored keys and values */
    int retain, inputs; /* with score.retain: 1, and the inputs of a call; outputs: of this call */
    int by_layer, attributed; /* norms at every block; an attribution other than the gradient */
    int contrast; /* with gradient.contrast */
    int rounds; /* products read activations in a shorter type than the residual stream's */
    int batch, stored_layers;
    int short_inputs; /* inputs of layers are kept for reverse in bf16 */
    int disk_layers; /* those of the first ones on disk */
    int slices; /* blocks that can be are computed by slices of positions (slices.c) */
    int *keys, *queries; /* [layers + 1], the last of them the rows of the head; [layers] */
};

/* Whole buffers of a block by slices, of which a slice has a view. */
enum slice_view {
    VIEW_X,
    VIEW_OUT,
    VIEW_RAW,
    VIEW_QKV,
    VIEW_GATES,
    VIEW_DKV,
    VIEW_D_GATES,
    VIEW_FACTORS,
    VIEW_D_FACTORS,
    VIEW_DZ,
    VIEW_DX,
    VIEW_DY,
    VIEW_MIXED,
    VIEW_BORDER,
    VIEWS
};

/* A block's activations. B segments. The table in buffers.c says where and when they exist. */
struct layer {
    struct buffer *x; /* [B keys, d], with several streams [B keys, N d], the block's input. One
                         more layer has the last block's output */
    struct buffer *norms; /* with by_layer, except for layer 0, which has engine.norms: [B keys] */
    struct buffer *peak; /* if range.c checks it: norm of the last row of the gradient of x [B] */
    struct buffer *carry; /* with carry: [B min(carried, window - 1), KV (hd + vd)] keys, not yet
                             rotated, and values of the positions before x's; of a convolution its
                             kv */
    /* what forward keeps for reverse; with slices (slices.c) of one slice, but for raw_recurred and
     * states */
    struct buffer *statistics_1; /* [B keys, 2] */
    struct buffer *q; /* [B queries, H hd] after rotation */
    struct buffer *kv; /* [B keys, KV (hd + vd)] keys rotated; after the carried ones; none in a
                          block that reads another's. Of a convolution [B keys, 3 d]: what it
                          reads */
    int kv_rows; /* of it in a segment */
    struct buffer *d_kv; /* as kv, if others read it: their gradients of it */
    struct buffer *lse; /* [B, H, queries] */
    struct buffer *o; /* [B queries, H vd], or of a convolution, and of channel mixing before z
                         gates it [B queries, d] */
    struct buffer *z, *raw_o; /* with an output gate: z, and the output before z gates it; of
                                 channel mixing z */
    /* of a recurrence with H heads: what it reads, before its activation [B keys, its width]; its
     * output, z, and the output before z gates it [B queries, H dv]; a, and b, of its gates; the
     * statistics of the output's norm; states as `recur` keeps them, unless it reads one row */
    struct buffer *convolved, *recurred, *recurrence_z, *raw_recurred;
    struct buffer *steps; /* [B keys, H], or with b [B keys, 2 H] */
    struct buffer *decays; /* by channel: a [B keys, H dk]; b is in `steps` */
    struct buffer *o_statistics; /* [B queries, groups, 2] */
    struct buffer
        *states; /* of time mixing the logarithms of its denominators [B queries, channels],
                    its keys in `steps` [B keys, channels], its values in `convolved` */
    /* with latents, which make q (if by a latent) and kv again in reverse: before their norms, and
     * the norms' statistics; the shared part of keys before rotation */
    struct buffer *latent, *latent_statistics; /* [B keys, rank], [B keys, 2] */
    struct buffer *latent_query, *latent_query_statistics; /* [B queries, rank], [B queries, 2] */
    struct buffer *shared_key; /* [B keys, shared size] */
    struct buffer
        *mid; /* [B queries, d] residual after the mixer, if there is one (not parallel) */
    struct buffer *statistics_2; /* [B queries, 2] */
    struct buffer *up, *gate; /* [B queries, m] before the activation; `up` of channel mixing too */
    /* with norms of heads: q and kv before them (q after rotation if its norm follows it), and
     * their statistics */
    struct buffer *raw_q, *raw_kv;
    struct buffer *statistics_q, *statistics_k; /* [B queries, H, 2], [B keys, KV, 2] */
    struct buffer *clipped_q,
        *clipped_kv; /* with clipping and rotation: q and kv between the two */
    /* with post norms: their inputs, and their statistics */
    struct buffer *attention_sum, *mlp_sum; /* [B queries, d] */
    struct buffer *statistics_3, *statistics_4; /* [B queries, 2] */
    /* with inputs besides x: p and what its norm reads, the gate before the activation, and what
     * the last norm reads; and their statistics */
    struct buffer *side, *side_gate; /* [B queries, side_width] */
    struct buffer *side_raw, *side_sum; /* [B queries, side_width], [B queries, d] */
    struct buffer *side_raw_statistics, *side_statistics; /* [B queries, 2] */
    /* with several streams: the block's part of them, p_active, and t; before tanh, and the norms'
     * statistics */
    struct buffer *active, *after; /* [B keys, d], [B queries, d] */
    struct buffer *predict_logit, *correct_logit; /* [B keys, N], [B queries, N] */
    struct buffer *predict_statistics, *correct_statistics; /* [B keys, 2], [B queries, 2] */
    struct buffer *laurel_sum, *laurel_statistics; /* [B queries, d], [B queries, 2] */
    struct buffer *gate_raw,
        *gate_statistics; /* with gate_cut: the gate before it [B queries, m] */
    /* with experts, S = queries chosen: slots for a segment's rows, by expert, segment and row */
    struct buffer *logits, *weights; /* [B queries, experts], [B queries, chosen] */
    struct buffer *choice, *place, *order; /* [B queries, chosen]: experts, their slots; [B S]: the
                                              place in choice of a slot */
    struct buffer *expert_up, *expert_gate; /* [B S, m of an expert] before the activation */
    struct buffer *shared_logit, *shared_weight; /* [B queries] */
    /* with experts apart: the MLP's output and the experts' before their norms, the norms'
     * statistics, and those of the norms that experts and router read */
    struct buffer *mlp_own, *expert_sum; /* [B queries, d] */
    struct buffer *mlp_own_statistics, *expert_sum_statistics, *expert_statistics,
        *router_statistics; /* [B queries, 2] */
    int32_t *starts; /* [experts B + 1], on the host: the first slot of each expert's rows of each
                        segment */
};

/* Inputs of blocks stored for reverse outside their buffers (then two in turn): aside.c. */
struct aside {
    double *values; /* [ASIDE_PIECE] in transfer, as in the set; as stored */
    unsigned char *piece;
    unsigned char *memory; /* those of layers from disk_layers on, one after the other */
    struct spill *file; /* the others */
};

/* An enqueued batch. */
struct begun {
    int count; /* segments */
    int32_t *ids; /* [B, n + 1] of them */
    struct reading *
        *readings; /* norms of each layer, log p, points of range.c; NULL if synchronous */
};

struct engine {
    struct kernels *k;
    const struct decoder *d;
    struct engine_request request;
    struct memory_plan plan;
    struct shape shape;

    /* parameters */
    struct weight *embedding, *position_rows, *head, *head_bias;
    double *position_table; /* sinusoidal rows [n, d]; the weight may point into it */
    struct norm_weights embedding_norm, final_norm, side_norm, stream_unit, stream_length;
    struct linear_weights project_in, project_out;
    struct linear_weights stream_project[STREAMS_MOST - 1], stream_unproject[STREAMS_MOST - 1];
    struct block_weights *blocks; /* [layers] */
    struct attention **attention; /* [layers]; layers with equal scores share one; NULL: a layer
                                     that does not attend */

    /* activations: the table in buffers.c says where and when they exist */
    struct layer *layers; /* [layers + 1] */
    struct buffer *tokens, *targets;
    struct buffer *raw, *raw_statistics; /* rows before the embedding norm, when there is one */
    struct buffer *narrow, *places; /* with project_in: rows [B n, E] before it, and the row of
                                       position_rows for each position [B n] */
    struct buffer *y, *t; /* temporaries, for the widest rows that go through them: [B n], or a
                             slice's, each */
    struct buffer *latent, *own,
        *d_shared; /* with latents: [B n, largest rank], [B n, KV, rows of a head in `up`] and
                      [B n, shared size]: normed, expanded; gradients */
    struct buffer *r,
        *s; /* residual temporaries for blocks with queries < keys (parallel wiring) */
    struct buffer *a, *da_gate; /* [B queries, m] */
    struct buffer *dq, *dkv;
    struct buffer *dz; /* with output gates: [B queries, widest z] */
    /* with recurrences: what they read, and a temporary as wide; gates and their gradients, and
     * those of a and b; statistics of their norm of keys */
    struct buffer *qkv, *mixed, *gates, *d_gates, *d_steps, *d_decays, *key_statistics;
    /* of scans, whose gates are their steps: B and C, and their gradients; what steps are made of;
     * both before their norms, and the norms' statistics */
    struct buffer *factors, *d_factors, *low_steps, *raw_factors, *raw_low_steps,
        *factor_statistics, *step_statistics;
    struct buffer *unit, *d_unit; /* of linear recurrent units: r and i, and their gradients */
    struct buffer *borders; /* of slices: the last reach - 1 rows of each that are convolved */
    struct buffer *views[VIEWS]; /* with slices */
    struct buffer *g[2]; /* gradient of the residual stream, two in turn, as x */
    struct buffer *rounded; /* one of them as read by products, if that type is shorter */
    const struct buffer *rounded_of; /* which */
    struct buffer *last, *d_last, *final_statistics, *logprob, *norms,
        *head_peak; /* head_peak [B]: norms of d_last */
    struct buffer *against, *d_against,
        *logprob_against; /* with contrast: the other token's targets, d_last and logprob */
    struct buffer *mean; /* mean gradient of several passes [B n, E], for attributions */
    struct buffer *mass; /* for attention by distance: [B, H, n] */
    struct buffer *slots, *expert_a,
        *expert_b; /* with experts: [B S, width they read], [B S, m of an expert], the same */
    struct buffer *scaled; /* with experts whose inputs are scaled: [B S, width they read] */
    struct buffer *d_logits, *d_weights; /* [B queries, experts], [B queries, chosen] */
    struct buffer *d_branch; /* with experts apart: [B queries, d] */
    struct buffer *fresh; /* with carry: [B outputs, widest kv] keys and values of the positions
                             of a layer's x */
    struct buffer *start, *d_start, *side; /* with inputs besides x, or detours: [B n, d] layer 0's
                                              x, and the gradients of what blocks made of it; [B n,
                                              width] */
    struct buffer *side_tokens; /* tokens with a row of their tables [B n], if not all have one */
    /* with N streams: temporaries [B n, d]; all streams of the last rows [B queries, N d]; the
     * head's input before its norm [B outputs, d]; root mean squares of rows, their gradients, and
     * parts of these [B n]; statistics of norms that are made again [B n, 2] */
    struct buffer *stream[5], *tails, *joined;
    struct buffer *magnitude, *d_magnitude, *dot, *stream_statistics;
    struct buffer *modality, *d_modality; /* m and its gradient [B n, N] */
    struct buffer *coefficients, *d_coefficients; /* [B n, N N] */
    /* constants, for r of all rows: r N + k, and where stream k of a row is 1, the others 0; where
     * all but the first are 1; r of r, i; r N + j of r, i, j */
    struct buffer *single[STREAMS_MOST], *one[STREAMS_MOST]; /* [B n], [B n, N] */
    struct buffer *rest, *of_row, *of_pair; /* [B n, N], [B n, N], [B n, N N] */
    struct buffer *laurel, *low; /* its branch [B queries, d]; rows of low rank [B queries, rank] */
    /* with detours: [x | start] and its gradient [B n, 2 d], with the indices of its halves as rows
     * of width d [B n]; what the block that makes one read, and the gradient that its rejoining
     * passes by it [B n, d] */
    struct buffer *pair, *d_pair, *half[2], *passed;
    struct buffer *cut_a, *cut_b, *cut_d; /* with gate_cut: [B queries, m] */
    struct buffer *spread, *d_spread; /* standard deviations, their gradients [B queries] */
    int expanded; /* with latents: the layer whose q and kv are in the buffers that all share; -1:
                     none */

    struct aside aside;

    void (*seen)(void *context, double part); /* engine_watch */
    void *seen_context;

    /* the state of a run */
    struct begun begun[ENGINE_AHEAD]; /* begun_count of them from begun_first on, in a ring */
    int begun_first, begun_count;
    int32_t *expert_host; /* with experts: [3 B S] choice, places and order of a block */
    double *tie_logits; /* with experts: [TIE_ROWS, experts] */
    size_t *tie_counts; /* with experts: [ENGINE_AHEAD, B] */
    size_t *ties; /* [B], of the enqueued batch; NULL: not counted */
    const size_t *ties_measured; /* of the batch last ended */
    struct run *runs; /* with experts: [experts B] */
    double *host; /* of attributions: [n, E] of one segment, and one more row */
    int32_t *contrasts; /* with contrast: [B] the other token of each segment */
    double seed; /* factor on the gradient of log p */
    double input_scale; /* factor on embedding rows: 1 except for integrated gradients */
    int noisy; /* 1: forward_embed adds noise, for this sample and from this segment on */
    uint64_t sample, first_segment;
    long carried; /* positions before x[0]'s so far */
};

/* -- shape.c -- */
/* The shape of a request, except for batch and stored_layers, which the plan chooses; refuses
 * impossible segments. Closed also after a failure. */
int shape_open(struct shape *s, const struct decoder *d, const struct engine_request *request,
               struct error *e) MUST_USE;
void shape_close(struct shape *s);
/* n, and keys and queries for it. */
void shape_rows(struct shape *s, int n);
/* The rows of keys and values that layer l reads, and which others read too, except carried ones.
 */
int shape_span(const struct shape *s, int l);
/* 1 if other blocks read block l's keys and values. */
int shape_is_source(const struct decoder *d, int l);
/* The number of positions before layer l's in its `carry`, at most. */
int shape_carry(const struct shape *s, int l);

/* 1 if layer l rotates queries and keys. */
int shape_rotates(const struct decoder *d, int l);

/* -- buffers.c -- */
/* Bytes of all buffers of this shape: those that forward keeps for reverse, and the others. */
void buffers_bytes(double *kept, double *others, const struct kernels *k, const struct shape *s);
int buffers_create(struct engine *g, struct error *e) MUST_USE;
void buffers_destroy(struct engine *g);

/* -- slices.c -- */
enum { SLICE_ROWS = 4096, SLICE_TILE = 1024 };
/* The number of slices of block l, each of SLICE_ROWS rows or up to half as many more,
 * that begin at a multiple of SLICE_TILE; 0: it is computed whole. */
int slices_count(const struct shape *s, int l);
/* The most rows of block l that are computed at once: of its input and of its output. */
int slices_rows(const struct shape *s, int l);
int slices_queries(const struct shape *s, int l);
int slices_open(struct engine *g, struct error *e) MUST_USE;
void slices_close(struct engine *g);
/* forward_block and reverse_block of a block with slices, for one segment. Before reverse there is
 * always a forward that keeps what it needs. */
int slices_forward(struct engine *g, int l, int only_kept, struct error *e) MUST_USE;
int slices_reverse(struct engine *g, int l, struct buffer **dx, struct buffer **dy,
                   struct error *e) MUST_USE;

/* -- aside.c -- */
/* The number of layers, the first ones, whose inputs are stored outside their buffers. */
int aside_layers(const struct shape *s);
/* Their bytes in memory and on disk, and those of the transfer buffers. */
void aside_bytes(double *memory, double *disk, double *passing, const struct kernels *k,
                 const struct shape *s);
int aside_open(struct engine *g, struct error *e) MUST_USE;
void aside_close(struct engine *g);
/* Stores layer l's x there, if it is one of them, and restores it. */
int aside_put(struct engine *g, int l, int batch, struct error *e) MUST_USE;
int aside_take(struct engine *g, int l, int batch, struct error *e) MUST_USE;

/* -- plan.c -- */
/* The plan of a request, and its shape, which the caller closes also after a failure. */
int plan_make(struct memory_plan *plan, struct shape *shape, struct kernels *k,
              const struct decoder *d, const struct engine_request *request,
              struct error *e) MUST_USE;

/* -- work.c -- */
/* Operations of one pass over one segment, including reverse if a gradient is requested; the latter
 * of attention and recurrences. */
double work_products(const struct shape *s);
double work_attention(const struct shape *s);
double work_recurrences(const struct shape *s);
/* Of one recurrence over so many rows, row after row: forward, and with `reverse` both. */
double work_recurrence(const struct recurrence_view *r, double rows, int reverse);
/* Operations of layer l's attention for a query and a key in a head. */
double work_of_pair(const struct decoder *d, int l, int reverse);
/* Pairs of a query among the last `queries` of n positions and a key that a score's window or
 * chunks show to it, at distances first .. end - 1 (end <= n). */
double work_pairs_between(const struct score *s, double first, double end, double queries,
                          double n);
/* Query-key pairs, over all heads, in attention of layer l for the last `queries` of n
 * positions. */
double work_pairs(const struct decoder *d, int l, int queries, int n);

/* -- attribution.c -- */
/* Adds the noise of g->sample, times the embedding's scale, to rows x [B rows, E]. */
void attribution_noise(struct engine *g, struct buffer *x, struct rows rows);
/* Forward and reverse passes for a segment. */
int attribution_passes(enum attribution a);
/* Doubles of engine.host. */
size_t attribution_host(const struct shape *s);

/* -- range.c -- */
/* The largest norms of gradients at the points checked: the smallest and the largest of them. */
struct extent {
    double least, most;
};
#define EXTENT_NONE ((struct extent){INFINITY, 0})
/* 1 if the block's input reaches its output through a sum alone, so gradients do not shrink. */
int range_passes(const struct block *b);
/* dx is the gradient of layer l's x; kept if it is one of the points. */
void range_peak(struct engine *g, int l, const struct buffer *dx, int batch);
/* The points of a pass in addition to the norms of the embeddings, and one of them: [B]. */
int range_points(const struct engine *g);
const struct buffer *range_point(const struct engine *g, int point);
void extent_add(struct extent *x, double peak);
void extent_add_rows(struct extent *x, const double *norm, size_t n);
/* 1 if they, and much smaller numbers, are within the set's range. */
int extent_fits(const struct engine *g, const struct extent *x);
/* 1 if another seed, 2^exponent, should be tried, from the results of the one before, which did not
 * fit. Both numbers start at 0. */
int range_next(int *exponent, int *tries, const struct engine *g, const struct extent *found);
/* Norms [n] measured with the seed 2^exponent -> those of the seed 1; NaN if that seed did not fit
 * either. */
void range_end(double *norm, size_t n, int exponent, const struct engine *g,
               const struct extent *found);

/* -- engine.c -- */
/* An error unless the engine was made for this. */
int engine_expects(const struct engine *g, enum request_kind kind, struct error *e) MUST_USE;
/* g->tokens, from `at` on, and the rows of other tables that they stand for. */
void engine_write_tokens(struct engine *g, size_t at, const int32_t *ids, size_t count);
/* Puts inputs that matter and targets of `count` segments, numbers `first` on of their batch, into
 * g->tokens and g->targets, checked. */
int engine_upload(struct engine *g, const int32_t *ids, int first, int count,
                  struct error *e) MUST_USE;
/* Fails, naming the id, unless every id is in the vocabulary and none is padding. */
int engine_check_ids(const struct engine *g, const int32_t *ids, size_t count,
                     struct error *e) MUST_USE;

/* The rows of position_rows added to a segment's inputs, the last ones, in g->places. */
int engine_fill_places(struct engine *g, struct error *e) MUST_USE;

/* Reports a block that took as long as so many blocks forward. */
void engine_seen(struct engine *g, int blocks);

/* -- measure.c -- */
int measure_open(struct engine *g, struct error *e) MUST_USE;
/* Waits for the batches begun and discards them. */
void measure_close(struct engine *g);

/* -- scores.c -- */
/* Creates g->attention for every layer. */
int scores_create(struct engine *g, struct error *e) MUST_USE;
void scores_close(struct engine *g);
/* Shape of layer l without tables, for estimates; and the approximate bytes of its tables: stored
 * by sets as given and as floats, and in transfer to them. */
struct attention_shape scores_shape(const struct decoder *d, int l, int n);
double scores_bytes(double *passing, const struct decoder *d, int n);

/* -- weights.c -- */
/* Loads what all layers share: tables, final norm, head. */
int weights_load_shared(struct engine *g, struct error *e) MUST_USE;
/* Loads what depends on the plan: rows of positions; and all blocks when weights are resident. */
int weights_load_planned(struct engine *g, struct error *e) MUST_USE;
void weights_free_all(struct engine *g);
/* Loads the rows added to the embeddings, if any: sinusoidal ones of positions first .. first + n -
 * 1, replacing the previous ones. */
int weights_load_positions(struct engine *g, long first, struct error *e) MUST_USE;
/* Makes block l's parameters ready; weights_done frees them unless they are resident. */
int weights_need(struct engine *g, int l, struct error *e) MUST_USE;
void weights_done(struct engine *g, int l);
/* Before a pass: of the blocks left loaded by the last pass, keeps only the first. */
void weights_begin(struct engine *g);
/* Between two blocks: everything that uses block l is enqueued, and block `next` follows (l: it
 * stays). Frees l; if the set prefetches, first starts loading next and waits for nothing, else
 * first waits for the enqueued work. Resident weights stay, but for the file's pages of matrices
 * that are read there, if the batch is large: they are mapped again when they are read. */
int weights_turn(struct engine *g, int l, int next, struct error *e) MUST_USE;
/* Makes a part of expert i of block l ready, the input (up, gate) or the output (down);
 * weights_done_expert frees it unless weights are resident. */
enum expert_part { EXPERT_IN, EXPERT_OUT };
int weights_need_expert(struct engine *g, int l, int i, enum expert_part part,
                        struct error *e) MUST_USE;
void weights_done_expert(struct engine *g, int l, int i, enum expert_part part);
/* Bytes of the set's memory for block l without its experts, and for all that is not in blocks. */
struct weight_bytes {
    size_t matrices; /* and tables */
    size_t vectors; /* norms and biases */
};
struct weight_bytes weights_block_bytes(struct kernels *k, const struct decoder *d, int l);
struct weight_bytes weights_shared_bytes(struct kernels *k, const struct decoder *d, int n);
/* The same for all experts of block l; *largest: the largest part of one. */
struct weight_bytes weights_experts_bytes(double *largest, struct kernels *k,
                                          const struct decoder *d, int l);

/* -- forward.c -- */
/* Embeddings and norms below block 0: fills layer 0's x from g->tokens, with g->input_scale and
 * noise. */
void forward_embed(struct engine *g, int batch);
/* y = norm(x), or x if there is no norm; rows of width hidden, y of either role. */
void forward_norm(struct engine *g, struct buffer *y, struct buffer *statistics,
                  const struct buffer *x, const struct norm_weights *w, struct rows rows);
/* Block l after its mixer, from the rows y_last [B queries, d] of its norm that queries are of. */
int forward_rest(struct engine *g, int l, struct buffer *y_last, int batch, int only_kept,
                 struct error *e) MUST_USE;
/* Block l: its x -> kept activations, and the next layer's x unless `only_kept`. */
int forward_block(struct engine *g, int l, int batch, int only_kept, struct error *e) MUST_USE;
/* From g->tokens to the last layer's x: embeddings and all blocks, with their weights. */
int forward_blocks(struct engine *g, int batch, struct error *e) MUST_USE;

/* Final norm and project_out of the rows of the last block's output: `g->last` [R, E], the head's
 * input. */
void forward_last(struct engine *g, struct rows rows);

/* The rest of queries, keys and values of layer l, from those that products made: s->q and, of
 * `fresh` rows if there are carried ones, s->kv. Returns the rows of kv per segment. */
int forward_keys(struct engine *g, int l, int batch);
void forward_queries(struct engine *g, int l, int batch);

/* -- scan.c: what recurrence.c does otherwise where the recurrence is a scan -- */
/* Of s->convolved: g->qkv (x), g->gates (steps) and g->factors; `before`: rows of the segment
 * before these. */
void scan_operands(struct engine *g, int l, int batch, int before);
void scan_recur(struct engine *g, int l, int batch);
void scan_recur_reverse(struct engine *g, int l, const struct buffer *d_o, int batch);
/* After scan_operands: g->d_gates, g->d_factors -> their parts of g->dkv; of linear recurrent units
 * all of it. */
void scan_operands_reverse(struct engine *g, int l, int batch, int before);
/* -- rwkv.c: the same where it is time mixing, which has no operands to be made again -- */
/* From g->y [B keys, d]: keys and values; s->raw_recurred; z. Overwrites g->mixed. */
void time_project(struct engine *g, int l, int batch);
void time_recur(struct engine *g, int l, int batch);
void time_gate(struct engine *g, int l, int batch);
/* Gradient d_o of s->raw_recurred -> g->d_steps, g->dkv of keys and values; these and g->dz ->
 * g->y. Overwrites g->mixed and g->t. */
void time_recur_reverse(struct engine *g, int l, const struct buffer *d_o, int batch);
void time_project_reverse(struct engine *g, int l, int batch);
/* Channel mixing: numbers of a row of its key; 0: the block has none. From g->y [B keys, d] its
 * output in g->t [B queries, d]; dy, the gradient of that, -> that of g->y. Overwrites g->mixed. */
int channel_width(const struct block *b);
void channels_forward(struct engine *g, int l, int batch);
void channels_reverse(struct engine *g, int l, const struct buffer *dy, int batch);
/* -- recurrence.c -- */
/* A recurrence of y_last [B queries, d] and g->y [B keys, d]: s->recurred. */
void recurrence_forward(struct engine *g, int l, const struct buffer *y_last, int batch);
/* g->t = gradient of s->recurred -> g->y = that of the norm's output [B keys, d] but for z's part,
 * g->dz; added to it with `accumulate`. */
void recurrence_reverse(struct engine *g, int l, int batch, int accumulate);
/* The steps of the two. From g->y: s->convolved and s->steps; `before` more rows for the
 * convolution are in g->mixed, which is overwritten. */
void recurrence_project(struct engine *g, int l, int batch, int before);
/* Of these, g->qkv and g->gates, which the recurrence reads; with a norm of keys, what it read is
 * in g->mixed. `before`: rows of the segment before these. */
void recurrence_operands(struct engine *g, int l, int batch, int before);
/* s->raw_recurred and states. */
void recurrence_recur(struct engine *g, int l, int batch);
/* s->recurred, by z of y_last. */
void recurrence_gate(struct engine *g, int l, const struct buffer *y_last, int batch);
/* g->t = gradient of s->recurred -> that of s->raw_recurred, and that of z in g->dz. */
void recurrence_gate_reverse(struct engine *g, int l, int batch);
/* Gradient d_o of s->raw_recurred -> g->dkv, g->d_gates, of what the recurrence reads. */
void recurrence_recur_reverse(struct engine *g, int l, const struct buffer *d_o, int batch);
/* These, after recurrence_operands -> g->y as above. g->dkv becomes the gradient of s->convolved,
 * as which `after` more rows follow in it. */
void recurrence_project_reverse(struct engine *g, int l, int batch, int before, int after,
                                int accumulate);

/* -- convolution.c -- */
/* From g->y [B keys, d]: the layer's o. */
void convolution_forward(struct engine *g, int l, int batch);
/* g->t = gradient of o -> gradient of g->y [B keys, d]. */
void convolution_reverse(struct engine *g, int l, int batch);

/* -- latent.c -- */
/* 1 if blocks have latents; if queries too. */
int latent_has(const struct decoder *d);
int latent_has_query(const struct decoder *d);
/* Widths of latents, of the shared part of a key, and of `own`. */
size_t latent_rank(const struct block *b);
size_t latent_query_rank(const struct block *b);
size_t latent_shared_size(const struct block *b);
size_t latent_own_width(const struct block *b);
/* Of y_last [B queries, d] and g->y [B keys, d]: the layer's latents, and its q and kv. Returns the
 * rows of kv per segment. */
int latent_forward(struct engine *g, int l, const struct buffer *y_last, int batch);
/* Makes q and kv of layer l again if the shared buffers hold another's. */
void latent_restore(struct engine *g, int l, int batch);
/* g->dq, g->dkv, rotated back -> gradient of g->y [B keys, d]; uses g->t. */
void latent_reverse(struct engine *g, int l, int batch);

/* -- side.c -- */
/* What block l adds to its output for its inputs besides x, and the factor on it: in place, `to` [B
 * queries, d]. What reverse needs alone, if only_kept. */
void side_forward(struct engine *g, int l, struct buffer *to, int batch, int only_kept);
/* dy [B queries, d]: gradient of the block's output -> of what side_forward got; dx is overwritten.
 * The rest is added to g->d_start, which is zero before the first of these. */
void side_begin(struct engine *g, int batch);
void side_reverse(struct engine *g, int l, struct buffer *dy, struct buffer *dx, int batch);

/* -- streams.c -- */
/* What a block reads and writes: x, the next layer's x, or parts of them. */
struct buffer *block_input(const struct engine *g, int l);
struct buffer *block_output(const struct engine *g, int l);
/* Fills the constants of g. */
int streams_open(struct engine *g, struct error *e) MUST_USE;
/* The embeddings in g->stream[0] -> layer 0's x. */
void streams_expand(struct engine *g, int batch);
/* Layer l's x -> s->active. */
void streams_predict(struct engine *g, int l, int batch);
/* x and s->after of layer l -> the next layer's x. */
void streams_correct(struct engine *g, int l, int batch);
/* The last x -> g->joined. */
void streams_join(struct engine *g, struct rows rows);
/* Gradient of g->joined in g->stream[2] -> of the last x, in dx. */
void streams_join_reverse(struct engine *g, struct buffer *dx, struct rows rows);
/* dy, the gradient of the next layer's x -> of all predictions by themselves, in place, and of
 * s->after, in g->stream[0]. */
void streams_correct_reverse(struct engine *g, int l, struct buffer *dy, int batch);
/* The former, of the last rows, in *dy, and `active`, of s->active -> of layer l's x in *dx; may
 * swap them. */
void streams_predict_reverse(struct engine *g, int l, struct buffer **dx, struct buffer **dy,
                             const struct buffer *active, int batch);
/* Gradient dx of layer 0's x -> `to`, of the embeddings. */
void streams_expand_reverse(struct engine *g, struct buffer *to, const struct buffer *dx,
                            int batch);

/* -- laurel.c -- */
/* Of y_last [B queries, d]: g->laurel, which laurel_join adds to s->mid, with the factor. */
void laurel_forward(struct engine *g, int l, const struct buffer *y_last, int batch);
void laurel_join(struct engine *g, int l, int batch);
/* d_mid -> that of the sum before the factor, in place. */
void laurel_scale_reverse(struct engine *g, struct buffer *d_mid, struct rows rows);
/* That sum's gradient -> += that of the attention norm's output in g->y [B keys, d]; overwrites
 * g->t and `spare` [B queries, d]. */
void laurel_reverse(struct engine *g, int l, struct buffer *spare, const struct buffer *d_sum,
                    int batch);

/* -- detour.c -- */
/* 1 if any block makes a detour. */
int detour_has(const struct decoder *d);
/* Fills the constants of g. */
int detour_open(struct engine *g, struct error *e) MUST_USE;
/* g->y [B n, 2 d] = the norm of layer l's x beside layer 0's. */
void detour_norm(struct engine *g, int l, int batch);
/* The gradient of g->y there -> += that of x, with what passes by the block, in dx [B n, d]; +=
 * that of layer 0's x in g->d_start. */
void detour_norm_reverse(struct engine *g, int l, struct buffer *dx, int batch);
/* dy [B queries, d], the gradient of the output of block l, which rejoins: kept in g->passed. */
void detour_pass(struct engine *g, int l, const struct buffer *dy, int batch);
/* y += what W of low rank makes of x; in reverse dx += its transpose of dy. Overwrites g->low. */
void low_rank_add(struct engine *g, struct buffer *y, const struct buffer *x,
                  const struct low_rank_weights *w, struct rows rows);
void low_rank_reverse(struct engine *g, struct buffer *dx, const struct buffer *dy,
                      const struct low_rank_weights *w, struct rows rows);

/* -- cut.c -- */
/* s->gate_raw -> s->gate. */
void cut_forward(struct engine *g, int l, struct rows rows);
/* Gradient of s->gate in g->da_gate -> that of s->gate_raw in g->cut_d. */
void cut_reverse(struct engine *g, int l, struct rows rows);

/* -- experts.c -- */
extern const struct routing shared_routing; /* of the shared expert's gate: sigma of one logit */
/* The width of the block's own MLP; 0: none. */
int mlp_width(const struct block *b);
/* The width of the rows that the block's experts read and write. */
int expert_reads(const struct decoder *d, const struct block *b);
/* Total rows of each segment for the block's experts. */
size_t expert_slots(const struct shape *s, int l);
/* Bytes on the host for experts. */
double experts_host(const struct shape *s);
int experts_open(struct engine *g, struct error *e) MUST_USE;
void experts_close(struct engine *g);
/* From g->y [B queries, d]: choice, weights and the activation's input; and the shared expert's
 * gate. In a latent space this, experts_join and experts_reverse overwrite g->t. */
int experts_forward(struct engine *g, int l, int batch, struct error *e) MUST_USE;
/* The same for experts apart, from s->mid; g->y and g->t are overwritten. */
int experts_apart_forward(struct engine *g, int l, int batch, struct error *e) MUST_USE;
/* s->mlp_own, and the experts' output -> their norms' sum in `to` [B queries, d]. */
int experts_apart_join(struct engine *g, int l, struct buffer *to, int batch,
                       struct error *e) MUST_USE;
/* dy = gradient of that sum -> gradient of s->mlp_own in g->d_branch, and += that of s->mid by
 * experts and router in `d_mid`; g->y and g->t are overwritten. */
int experts_apart_reverse(struct engine *g, int l, struct buffer *d_mid, const struct buffer *dy,
                          int batch, struct error *e) MUST_USE;
/* Output of the experts, (+)= into `to` [B queries, d]. */
int experts_join(struct engine *g, int l, struct buffer *to, int batch, int accumulate,
                 struct error *e) MUST_USE;
/* dy = gradient of the block's output -> gradient of the experts' input, (+)= into g->y. */
int experts_reverse(struct engine *g, int l, const struct buffer *dy, int batch, int accumulate,
                    struct error *e) MUST_USE;

/* -- near_ties.c -- */
enum { TIE_ROWS = 64 };
/* 1 if the choice of one row, ascending, is within rounding error (`unit` for 1) of a tie. */
int near_tie(const double *logits, const double *correction, const int32_t *choice,
             const struct routing *g, double unit);
/* Adds those of block l, whose choice was just copied to the host, to g->ties. */
void near_ties_count(struct engine *g, int l, int batch);

/* -- score.c -- */
/* Puts what layer l's `carry` holds before g->fresh into the block's kv buffer, and keeps the end
 * of both for the next call. Returns the rows of kv. */
int score_join(struct engine *g, int l, int batch);

/* -- reverse.c -- */
/* Head: final norm, log p, gradient with respect to the last block's output into `dx`. */
void reverse_head(struct engine *g, struct buffer *dx, int batch);
/* Of a sequential block the part after its mixer: dy, the gradient of its output -> that of the
 * residual stream after the mixer. Returns that of the mixer's output, dy or dx; NULL: failed. */
struct buffer *reverse_rest(struct engine *g, int l, struct buffer *dx, struct buffer *dy,
                            int batch, struct error *e) MUST_USE;
/* g->t = gradient of s->recurred, from that of the mixer's output. */
void reverse_recurrence_out(struct engine *g, int l, const struct buffer *dy, int batch);
/* g->y += the reverse of z = w y, or with `down` w (down y), from g->dz. Overwrites g->low. */
void reverse_output_gate(struct engine *g, int l, const struct weight *w, const struct weight *down,
                         int batch);
/* The reverse of a block's input x[l], which a mixer reads through a norm, and whose rows of the
 * last queries continue in the residual stream: from g->y and *dy into *dx. If these are all of its
 * rows the two are swapped, and one pass adds. */
void reverse_input(struct engine *g, int l, struct buffer **dx, struct buffer **dy, int batch);
/* Block l: gradient of its output `*dy` (destroyed) -> of its input `*dx`; may swap them. */
int reverse_block(struct engine *g, int l, struct buffer **dx, struct buffer **dy, int batch,
                  struct error *e) MUST_USE;
/* Gradient of layer 0's x -> that of the scaled embedding rows [B n, E], in a buffer of the engine.
 */
struct buffer *reverse_embed(struct engine *g, struct buffer *dx, int batch);
/* Gradient of the scaled embedding rows -> norms of the gradient of the rows: g->norms. */
void reverse_norms(struct engine *g, const struct buffer *gradient, int batch);
/* Forward and in reverse from g->tokens and g->targets: *gradient of the scaled embedding rows,
 * g->logprob; with by_layer also the layers' norms. */
int reverse_pass(struct engine *g, struct buffer **gradient, int batch, struct error *e) MUST_USE;
/* The second half of it, after forward_blocks. */
int reverse_blocks(struct engine *g, struct buffer **gradient, int batch, struct error *e) MUST_USE;

#endif
