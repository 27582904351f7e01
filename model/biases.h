/* Position biases by distance, of a decoder's layers or of a formula; and layers' windows. */
#ifndef REACH_MODEL_BIASES_H
#define REACH_MODEL_BIASES_H

#include "analyze/formula.h"
#include "model/decoder.h"

#include <stddef.h>

/* A bias by distance, and the layers of a checkpoint that share it. */
struct layer_bias {
    struct formula *formula; /* owned, every parameter set; NULL: none */
    long window; /* b(t) = -inf for t >= window; 0: no such end is known */
    struct rotary rotary; /* the rotation of queries and keys, its lists owned; size 0: none */
    int head_size; /* of a decoder's rotated layers */
    int decays; /* 1: what a head of a recurrence keeps, which no softmax normalises */
    char reason[192]; /* why the series of the encoding does not apply; empty: it does. `formula` is
                       * that of the window alone then
                       */
};

/* Zeroed: none. */
struct bias_set {
    int heads, head_size;
    int uses_length; /* 1: a formula uses L */
    int layers; /* of a decoder; 0: a formula */
    int train_length; /* of a decoder; 0: unknown */
    long cone; /* of a decoder: 1 + sum of (window - 1); 0: a layer has none, or keeps first keys */
    char position[512]; /* of a decoder: its position encoding */
    struct layer_bias *biases; /* [bias_count]; owned; one for a formula */
    int bias_count;
    int *bias_of_layer; /* [layers]; owned; NULL for a formula */
};

/* The biases of an open checkpoint, with exact binary values. `out` is zeroed; the caller frees it,
 * also on failure. */
int biases_of_decoder(struct bias_set *out, const struct decoder *d, struct error *e) MUST_USE;
/* The rotation alone, from the text SIZE[/HEAD][,SPEC]: SIZE dimensions of a head of HEAD (default
 * SIZE) are rotated by SPEC, the form of --rope (default base=10000). */
int biases_of_rope(struct bias_set *out, const char *text, struct error *e) MUST_USE;
/* The bias of a formula with all parameters set; takes it over, also on failure. */
int biases_of_formula(struct bias_set *out, struct formula *f, int heads, int head_size,
                      struct error *e) MUST_USE;
void biases_free(struct bias_set *s);

/* Rows of this bias: its heads, or 1 when all heads are equal. */
int bias_rows(const struct bias_set *s, const struct layer_bias *b);

/* Layers of bias number `index` as "layers 1-4, 6", or "layer 2", or "layers 1-4, ..." if not all
 * fit; empty for a formula or when all layers share it. */
void bias_layers_text(char *out, size_t size, const struct bias_set *s, int index);

/* table[rows, distances] of b(t), rows as in bias_rows; L = distances. Messages begin with
 * `label`. */
int bias_table(double *table, const struct bias_set *s, const struct layer_bias *b,
               size_t distances, const char *label, struct error *e) MUST_USE;

/* Keys that every layer attends to; 0: all of them, or layers differ or do not attend. */
int decoder_window(const struct decoder *d);
/* Windows of the layers, equal ones together: "32 (layers 1-4, 6), none (layer 5)"; lists that are
 * too long end with "...". NULL: out of memory; the caller frees. */
char *decoder_windows_text(const struct decoder *d);

#endif
