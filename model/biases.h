/* Position biases by distance: those of a decoder's layers, each once, or that of a formula; and the windows of layers. */
#ifndef REACH_MODEL_BIASES_H
#define REACH_MODEL_BIASES_H

#include "analyze/formula.h"
#include "model/decoder.h"

#include <stddef.h>

/* A bias by distance, and the layers of a checkpoint that share it. */
struct layer_bias {
    struct formula *formula; /* owned, every parameter set; NULL: there is none */
    long window; /* b(t) = -inf for t >= window; 0: no such end is known */
    struct rotary rotary; /* what turns queries and keys, its lists owned; size 0: nothing */
    char reason[192]; /* why the series of the encoding does not apply; empty: it does. `formula` is that of the window alone then
                       */
};

/* Zeroed: none. */
struct bias_set {
    int heads, head_size;
    int uses_length; /* 1: a formula has L in it */
    int layers; /* of a decoder; 0: a formula */
    int train_length; /* of a decoder; 0: unknown */
    long cone; /* of a decoder: 1 + sum over layers of (window - 1); 0: a layer has none, or keeps first keys beside it */
    char position[512]; /* of a decoder: what its position encoding is */
    struct layer_bias *biases; /* [bias_count]; owned; one for a formula */
    int bias_count;
    int *bias_of_layer; /* [layers]; owned; NULL for a formula */
};

/* The biases of an open checkpoint, exact binary values and all. `out` is zeroed; the caller frees it, also when it fails. */
int biases_of_decoder(struct bias_set *out, const struct decoder *d, struct error *e) MUST_USE;
/* The rotation alone that the text SIZE[/HEAD][,SPEC] describes: SIZE dimensions of a head of HEAD (SIZE) are turned as SPEC, the
 * form of --rope, says (base=10000). */
int biases_of_rope(struct bias_set *out, const char *text, struct error *e) MUST_USE;
/* That of a formula, all of whose parameters are set; takes it over, also when it fails. */
int biases_of_formula(struct bias_set *out, struct formula *f, int heads, int head_size, struct error *e) MUST_USE;
void biases_free(struct bias_set *s);

/* Rows of this bias: its heads, or 1 when all heads are alike. */
int bias_rows(const struct bias_set *s, const struct layer_bias *b);

/* Layers of bias number `index` as "layers 1-4, 6", or "layer 2"; empty for a formula or when all layers share it. */
void bias_layers_text(char *out, size_t size, const struct bias_set *s, int index);

/* table[rows, distances] of b(t), rows as bias_rows says; L = distances. `label` begins the message. */
int bias_table(double *table, const struct bias_set *s, const struct layer_bias *b, size_t distances, const char *label,
               struct error *e) MUST_USE;

/* Keys that every layer attends to; 0: all of them, or layers differ. */
int decoder_window(const struct decoder *d);
/* Windows of the layers, runs of equal ones together: "32 (layers 1-4), none (layer 5)". NULL when memory runs out; the caller
 * frees. */
char *decoder_windows_text(const struct decoder *d);

#endif
