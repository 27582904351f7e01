/* The canonical decoder: what every family is read into, and all that forward and reverse know.
 *
 * Weights are views of the mapped checkpoint; nothing is copied here. */
#ifndef REACH_MODEL_DECODER_H
#define REACH_MODEL_DECODER_H

#include "analyze/formula.h"
#include "io/error.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "kernels/ops.h"

#include <stdint.h>

/* A matrix or vector of the checkpoint; data NULL: absent. */
typedef struct weight_part view;

struct linear {
    view weight; /* [out, in] */
    view bias;   /* [out], columns = 1 */
};

struct norm_view {
    enum norm_kind kind;
    double epsilon;
    view scale, shift; /* [hidden]; scale.data NULL: no norm here */
};

enum residual_wiring {
    RESIDUAL_SEQUENTIAL, /* m = x + attention(n1(x)); y = m + mlp(n2(m)) */
    RESIDUAL_PARALLEL    /* y = x + attention(n1(x)) + mlp(n2(x)) */
};

/* Scores of one layer's attention beside q.k. Formulas are owned by the decoder and may be shared by layers. */
struct score {
    double scale, soft_cap;
    int window; /* 0: none */
    const struct formula *bias, *multiplier, *key_bias;
};

struct block {
    struct norm_view attention_norm, mlp_norm;
    struct linear query, key, value, output;
    struct linear up, gate, down; /* gate.weight.data NULL: not gated */
    enum activation activation;
    enum residual_wiring residual;
    int residual_from_norm; /* 1: the residual branch starts from the norm's output (bloom's apply_residual_connection_post_layernorm) */
    struct score score;
};

enum position_kind { POSITION_NONE, POSITION_SINUSOIDAL, POSITION_LEARNED, POSITION_ROTARY };

struct decoder {
    char family[32];
    char path[4096];
    int vocabulary, hidden, layers, heads, kv_heads, head_size, mlp;
    int train_length;         /* 0: unknown */
    int tied;
    int bos;                  /* id of the beginning-of-text token, -1: none */

    view embedding;           /* [vocabulary, hidden] */
    double embedding_scale;
    struct norm_view embedding_norm;
    enum position_kind position;
    view position_rows;       /* learned: [length, hidden] */
    int position_limit;       /* learned: the most inputs that have a row; 0: no limit */
    struct rotary {
        int size;             /* rotated dimensions of a head */
        enum rotary_pairing pairing;
        double *frequency;    /* [size / 2] radians a position; owned */
    } rotary;

    struct block *blocks;     /* [layers]; owned */
    struct norm_view final_norm;
    struct linear head;
    double head_soft_cap;

    struct formula **formulas; /* owned */
    int formula_count;

    struct tensors *tensors;  /* owned */
    struct config *config;    /* owned */
    char position_text[256];  /* "alibi(delta=0)", "rotary, base 10000", "window 32": for people and files */
};

/* Opens a checkpoint folder and reads it by its family. NULL on failure: a missing or misshapen tensor, an unknown option are named. Caller closes. */
struct decoder *decoder_open(const char *path, struct error *e) MUST_USE;
void decoder_close(struct decoder *d);

/* Replaces parts of the position encoding: `bias` replaces the additive bias of every layer, positions_none also takes rotary and absolute
 * positions away, window >= 0 sets the window of every layer (0: none). Formula is taken over on success. */
struct position_override {
    struct formula *bias;
    int positions_none;
    int window; /* -1: as the checkpoint says */
};
int decoder_override(struct decoder *d, struct position_override *o, struct error *e) MUST_USE;

/* Inputs that can matter for the last output through the windows of all layers: 1 + sum (w_l - 1), at most n; n without windows. */
long decoder_cone(const struct decoder *d, long n);

#endif
