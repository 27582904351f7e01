/* Runs a decoder over segments: log p of the last token and the norm of its gradient for every
 * input embedding. Forward alone: model/score.h. */
#ifndef REACH_MODEL_ENGINE_H
#define REACH_MODEL_ENGINE_H

#include "io/error.h"
#include "kernels/ops.h"
#include "model/decoder.h"

#include <stddef.h>
#include <stdint.h>

/* The purpose of an engine. Each has its own functions, which refuse other engines. */
enum request_kind {
    REQUEST_GRADIENT, /* forward and reverse: engine_measure, and model/attribution.h */
    REQUEST_SCORE, /* forward alone, log p of many targets: model/score.h */
    REQUEST_ATTENTION /* forward alone, attention by distance: model/mass.h */
};

/* Parameters that the kernel set does not use in place. */
enum weights_mode {
    WEIGHTS_AUTO, /* chosen by the plan */
    WEIGHTS_RESIDENT, /* stay in memory */
    WEIGHTS_BY_LAYER /* loaded and freed with each block */
};

enum keep_mode {
    KEEP_AUTO, /* chosen by the plan */
    KEEP_STORE, /* activations of every layer are kept from forward to reverse */
    KEEP_RECOMPUTE, /* only each layer's input is kept; the rest is recomputed in reverse */
    KEEP_BF16 /* the same, with these inputs rounded to bf16: half their size, and reverse
                 recomputes from the rounded ones; log p is not affected */
};

/* The quantity for the norms: see model/attribution.h for all but the first. */
enum attribution {
    ATTRIBUTION_GRAD,
    ATTRIBUTION_INPUT,
    ATTRIBUTION_INTEGRATED,
    ATTRIBUTION_SMOOTH
};

struct gradient_request {
    enum keep_mode keep;
    const char *scratch; /* a folder for inputs that do not fit into memory; borrowed. NULL: none */
    double seed; /* factor on the gradient of log p; 0, as in all measurements: 1 */
    int by_layer; /* engine_measure: norms at the input of every block, in the same reverse pass */
    enum attribution attribution; /* other than ATTRIBUTION_GRAD: for engine_attribute */
    double noise; /* ATTRIBUTION_SMOOTH: standard deviation of the noise on embedding elements */
    uint64_t noise_seed;
    int contrast; /* 1: for log p of the target minus that of `against` */
    int32_t against;
    int outputs; /* the last ids of a segment that are targets: their log p are summed; 0: one. Only
                  * for the plain gradient, without a contrast */
};

struct score_request {
    int outputs; /* the last positions whose next token is scored */
    int carry; /* engine_score_next: the inputs are those positions; keys and values of at most this
                * many before them are kept from earlier calls. 0: engine_score */
    int retain; /* 1: engine_score_on: a call has at most `outputs` inputs, a text at most
                 * `positions`, and all their keys and values are kept; batch 1, carry 0 */
};

/* A request to an engine: members of all kinds, and of one kind. Zeros are the defaults. The kernel
 * set determines device and type. */
struct engine_request {
    enum request_kind kind;
    int positions; /* n = L-1 inputs of a segment; with score.carry the engine sets it */
    size_t memory; /* budget in bytes; 0: most of what is free */
    int batch; /* segments at once; 0: chosen by the plan */
    size_t segments; /* number of segments, the most to plan at once; 0: unknown */
    enum weights_mode weights;
    union { /* REQUEST_ATTENTION has no members of its own */
        struct gradient_request gradient;
        struct score_request score;
    };
};

/* The memory plan: what a run will take, determined in advance. Bytes. */
struct memory_plan {
    int batch, positions;
    int stored_layers; /* of `layers` */
    int layers;
    int resident;
    int in_place; /* the set reads all matrices in place; `weights` are norms and biases */
    int forward; /* no reverse pass: one layer's activations at a time */
    double weights, activations, scratch, total, budget;
    int short_inputs; /* with KEEP_BF16 */
    int disk_layers; /* the first layers, with inputs in gradient.scratch; as few as possible */
    double disk; /* their bytes there */
    int sliced_layers; /* computed by slices of positions */
    double buffers; /* the part of activations and scratch in the engine's buffers, as created */
    double flops; /* floating-point operations of one segment, forward and, unless `forward`,
                     reverse */
    double attention_flops; /* those of attention among them, without pairs removed by a window or a
                               bias; a bias by distance is assumed to end where equal scores would
                               underflow, so this is an upper bound */
    double recurrence_flops; /* those of recurrences among them, row after row */
};

/* Operations a second that a set reaches now, each the best of several trials (half a second). */
struct engine_rates {
    double products; /* of a product of the model's size */
    double attention, recurrence; /* of these, forward and reverse; INFINITY: the model has none */
};
/* Seconds for `flops` operations at these rates, with those of attention and recurrences among
 * them.
 */
static inline double engine_seconds(const struct engine_rates *r, double flops, double attention,
                                    double recurrences)
{
    return (flops - attention - recurrences) / r->products + attention / r->attention +
           recurrences / r->recurrence;
}
int engine_rates(struct engine_rates *out, struct kernels *k, const struct decoder *d,
                 int positions, struct error *e) MUST_USE;

struct engine;

/* Plans and allocates. A run that cannot fit is refused with a message that says what would fit.
 * The decoder and kernels must outlive the engine. */
struct engine *engine_create(struct kernels *k, const struct decoder *d,
                             const struct engine_request *request, struct error *e) MUST_USE;
void engine_close(struct engine *g);
const struct memory_plan *engine_plan(const struct engine *g);
/* The plan as one line: "store 12 of 12 layers, weights 0.50 GB, activations 0.76 GB ...". Returns
 * text. */
enum { MEMORY_PLAN_TEXT = 384 };
char *memory_plan_text(char text[MEMORY_PLAN_TEXT], const struct memory_plan *p);
/* Calls `seen` after each block of later passes, with its part of the work on a batch: those of a
 * gradient, or of scoring, add up to 1, those of an attribution to a little more. NULL: nobody. A
 * set that only enqueues its work calls nobody. */
void engine_watch(struct engine *g, void (*seen)(void *context, double part), void *context);
/* Plans only. */
int engine_estimate(struct memory_plan *plan, struct kernels *k, const struct decoder *d,
                    const struct engine_request *request, struct error *e) MUST_USE;

/* Measures `count` segments (at most plan.batch) of ids [count, n + 1]: norm [count, n] = ||d log p
 * / d e_m||_2, logprob [count], with gradient.outputs [count, outputs]. With gradient.by_layer norm
 * is [count, layers, n]: from layer 1 on the norms of the gradient with respect to the input of
 * block l, x[l]. */
int engine_measure(struct engine *g, double *norm, double *logprob, const int32_t *ids, int count,
                   struct error *e) MUST_USE;

/* The same in two steps, so that a device can be given more work before it is done: engine_begin
 * enqueues a batch (or computes it, if the kernel set is synchronous), and engine_end waits for
 * the oldest batch begun. At most engine_ahead batches may be begun at a time, 1 or
 * ENGINE_AHEAD, and none when another function of the engine is called. After a failure only
 * engine_close is allowed. */
enum { ENGINE_AHEAD = 2 };
int engine_ahead(const struct engine *g);
int engine_begin(struct engine *g, const int32_t *ids, int count, struct error *e) MUST_USE;
int engine_end(struct engine *g, double *norm, double *logprob, struct error *e) MUST_USE;

/* For a segment of the batch last returned by engine_end or engine_measure: expert choices, of one
 * token in one layer, within rounding error of a tie (near_ties.c). Valid until the next batch is
 * begun. */
size_t engine_near_ties(const struct engine *g, int segment);

/* Replaces request.gradient.against (gradient.contrast) for the first `count` segments of later
 * batches: a token for each. */
int engine_contrast(struct engine *g, const int32_t *against, int count, struct error *e) MUST_USE;

/* Inputs of `count` segments, ids [count, n + 1], forward alone (REQUEST_GRADIENT); the last id of
 * each must be valid. */
int engine_forward(struct engine *g, const int32_t *ids, int count, struct error *e) MUST_USE;
/* logprob [count, vocabulary]: log p of every token after the inputs of segments first .. first +
 * count - 1 of the last pass, in double from the head's input. With gradient.outputs these are
 * numbers of targets, segment by segment. */
int engine_predict(struct engine *g, double *logprob, int first, int count,
                   struct error *e) MUST_USE;
/* The rest of engine_measure after engine_forward of the same inputs, with nothing in between but
 * engine_predict and engine_contrast: the targets may be others now. */
int engine_reverse(struct engine *g, double *norm, double *logprob, const int32_t *ids, int count,
                   struct error *e) MUST_USE;

/* Prepares the engine for segments of another length, or for another gradient request, as
 * engine_create would, but keeps the loaded weights, and the budget of the first plan unless the
 * request has one. After a failure only engine_close is allowed. */
int engine_reshape(struct engine *g, const struct engine_request *request,
                   struct error *e) MUST_USE;

/* For a segment whose norms are unusable (REQUEST_GRADIENT): the first layer with output that is
 * not finite: -1 the embedding, 0..layers-1 a block, layers the head; layers + 1 if all are
 * finite. */
int engine_first_nonfinite(struct engine *g, const int32_t *ids, int *layer,
                           struct error *e) MUST_USE;

#endif
