/* A family: a name, its `model_type`s, and a reader or a layout that turns names and config into a
 * decoder. */
#ifndef REACH_MODEL_FAMILY_H
#define REACH_MODEL_FAMILY_H

#include "model/decoder.h"
#include "model/views.h"

struct layout;

struct family {
    const char *name;
    const char *model_types[4]; /* NULL-terminated; none for our own layout (see `format`) */
    int (*read)(struct decoder *d, struct error *e);
    const struct layout *layout; /* instead of `read` (layout.h) */
    /* Endings of names of stored tensors without parameters (masks, caches); ended by NULL. */
    const char *ignored_suffixes[8];
    /* Last parts of names of modules with matrices stored as [in, out]; ended by NULL; NULL:
     * none. */
    const char *const *transposed;
    /* Keys of config.json, in addition to those of every family (config_keys.c): those that change
     * no number, and those whose null means absence; NULL-terminated. harmless NULL: keys are not
     * checked. */
    const char *const *harmless, *const *nullable;
    const char *positions, *about; /* of a family with a reader, for people (catalogue.h) */
};

extern const struct family family_reach, family_bloom, family_mpt, family_opt, family_falcon,
    family_megatron, family_fairseq, family_litgpt, family_zamba, family_zamba2, family_rwkv;
extern const struct family families_llama_like[], families_mixtures[], families_latents[],
    families_gpt_like[], families_beside_images[], families_llama4[], families_gemma4[],
    families_convolutions[], families_recurrences[], families_scans[], families_gemma3n[],
    families_nemotron_h[], families_lightning[], families_kimi_linear[],
    families_trained[]; /* to a name that is NULL */

/* All families, counted from 0; NULL after the last. */
const struct family *family_at(int i);

/* The family that reads a model_type; NULL: none. */
const struct family *family_of_type(const char *type);

/* Gives absent keys of the configuration the values of an object in JSON. */
int family_defaults(struct decoder *d, const char *defaults, struct error *e) MUST_USE;

/* The config keys of a family's sizes; vocabulary NULL: the family sets it; kv_heads and head_size
 * NULL: as many as heads, hidden / heads. */
struct size_keys {
    const char *vocabulary, *hidden, *layers, *heads, *kv_heads, *head_size;
    long head_size_default; /* if the configuration does not have it; 0: hidden / heads */
    long head_size_given; /* whatever the configuration says; 0: by the above */
};
/* The first key if config.json has it, else the second: for families with two names for a key. Both
 * count as understood. */
const char *family_either(const struct decoder *d, const char *key, const char *older);
/* Reads the sizes and allocates d->blocks, zeroed, with attention, its scores scaled by
 * head_size^-1/2. */
int family_sizes(struct decoder *d, const struct size_keys *keys, struct error *e) MUST_USE;
/* An unsupported option: refuses true (1) if `only` is 0, and the reverse; default `absent`. */
int family_only(struct decoder *d, const char *key, int only, int absent, struct error *e) MUST_USE;
/* Key: a list of the layers that attend, counted from 0, or nothing for none; the others mix their
 * rows the `other` way. */
int family_attending(struct decoder *d, const char *key, enum mixing other,
                     struct error *e) MUST_USE;
/* How each layer mixes its rows, by layer_types; a NULL name ends the kinds, which messages name as
 * `supported`. */
struct layer_kind {
    const char *name;
    unsigned ways; /* of enum mixing */
};
int family_kinds(struct decoder *d, const struct layer_kind *kinds, const char *supported,
                 struct error *e) MUST_USE;
/* Adds ", ..." to d->position_text. */
void family_describe(struct decoder *d, const char *format, ...) PRINTF_LIKE(2, 3);
/* Adds a line to d->notes. */
void family_note(struct decoder *d, const char *format, ...) PRINTF_LIKE(2, 3);

/* `prefix` if a tensor prefix + name is stored, or if none is named `name` but some begin with the
 * prefix; else "": published files come with and without "transformer." or "model.". */
const char *family_prefix(const struct decoder *d, const char *prefix, const char *name);
/* Rows and columns of the stored matrix of that name; 0 if there is none. */
size_t family_rows(const struct decoder *d, const char *format, ...) PRINTF_LIKE(2, 3);
size_t family_columns(const struct decoder *d, const char *format, ...) PRINTF_LIKE(2, 3);
/* 1 if the tensor is stored. */
int family_has(const struct decoder *d, const char *format, ...) PRINTF_LIKE(2, 3);

/* Views of stored tensors; a missing tensor or another shape is an error that names it and what was
 * expected. */
int family_matrix(view *out, const struct decoder *d, size_t rows, size_t columns, struct error *e,
                  const char *format, ...) MUST_USE PRINTF_LIKE(6, 7);
/* A matrix [rows, columns] stored transposed, as [columns, rows] (Conv1D). */
int family_transposed(view *out, const struct decoder *d, size_t rows, size_t columns,
                      struct error *e, const char *format, ...) MUST_USE PRINTF_LIKE(6, 7);
/* Matrix `index` of those stacked in one tensor. */
struct stack {
    size_t count, rows, columns;
    int turned; /* 0: [count, rows, columns]; 1: stored transposed, [count, columns, rows] */
};
int family_stacked(view *out, const struct decoder *d, struct stack stack, size_t index,
                   struct error *e, const char *format, ...) MUST_USE PRINTF_LIKE(6, 7);
/* All of them, with the same arguments, as blocks on the diagonal of one matrix. */
int family_diagonal(view *out, const struct decoder *d, struct stack stack, struct error *e,
                    const char *format, ...) MUST_USE PRINTF_LIKE(5, 6);
int family_vector(view *out, const struct decoder *d, size_t size, struct error *e,
                  const char *format, ...) MUST_USE PRINTF_LIKE(5, 6);
/* The same of numbers by head, [heads] or [1, 1, heads, 1]. */
int family_head_vector(view *out, const struct decoder *d, size_t heads, struct error *e,
                       const char *format, ...) MUST_USE PRINTF_LIKE(5, 6);
/* The taps of a convolution of each channel by itself, [channels, 1, reach] or, in GGUF files,
 * [channels, reach], as a vector. */
int family_taps(view *out, const struct decoder *d, size_t channels, size_t reach, struct error *e,
                const char *format, ...) MUST_USE PRINTF_LIKE(6, 7);
/* weight and, if `with_bias`, bias of STEM.weight / STEM.bias. */
int family_linear(struct linear *out, const struct decoder *d, size_t rows, size_t columns,
                  int with_bias, struct error *e, const char *format, ...) MUST_USE
    PRINTF_LIKE(7, 8);
/* A norm of width hidden: STEM.weight and, with_shift, STEM.bias. */
int family_norm(struct norm_view *out, const struct decoder *d, enum norm_kind kind, double epsilon,
                int with_shift, struct error *e, const char *format, ...) MUST_USE
    PRINTF_LIKE(7, 8);
/* A norm of any width (1: one value everywhere): STEM.SCALE and STEM.SHIFT, each NULL for none. */
struct norm_form {
    enum norm_kind kind;
    double epsilon;
    size_t width;
    const char *scale, *shift;
};
int family_norm_named(struct norm_view *out, const struct decoder *d, struct norm_form form,
                      struct error *e, const char *format, ...) MUST_USE PRINTF_LIKE(5, 6);
/* The numbers of a tensor of `count` elements of any shape, in row-major order. */
int family_values(double *out, const struct decoder *d, size_t count, struct error *e,
                  const char *format, ...) MUST_USE PRINTF_LIKE(5, 6);
/* The same, of factors: where tensors are supposed the tensor is asked for, and the numbers are 1.
 */
int family_factors(double *out, const struct decoder *d, size_t count, struct error *e,
                   const char *format, ...) MUST_USE PRINTF_LIKE(5, 6);
/* xIELU of a block from STEM.alpha_p, .alpha_n, .beta and .eps; without the latter two they are 0.5
 * and -1e-6. */
int family_xielu(struct block *b, const struct decoder *d, struct error *e, const char *stem,
                 ...) MUST_USE PRINTF_LIKE(4, 5);
/* d->embedding: the tensor of that name, [vocabulary, width]. If the configuration ties the two and
 * only the head's matrix, HEAD.weight, is stored, that is the embedding. */
int family_embedding(struct decoder *d, size_t width, struct error *e, const char *head,
                     const char *format, ...) MUST_USE PRINTF_LIKE(5, 6);
/* STEM.weight [vocabulary, embedding width] and, if with_bias, STEM.bias. If the configuration ties
 * the head to the embedding (d->tied), the weight may be missing; one that is stored and differs is
 * still used, as in the library that defines the format, and d->tied and a note say so. Call it
 * after the embedding. */
int family_head(struct decoder *d, int with_bias, struct error *e, const char *stem) MUST_USE;
/* Normalises rows of the head to length 1, except zeros. For an untied head, after family_head. */
int family_normalise_head(struct decoder *d, struct error *e) MUST_USE;
/* Refuses an adapter that changes embedding or head of a model that ties them: PEFT changes both
 * when it merges, and only one otherwise. */
int family_refuse_tied(const struct decoder *d, struct error *e) MUST_USE;
/* A vector owned by the decoder, to fill; NULL on failure. family_own_view: as a view [count]. */
double *family_own(struct decoder *d, size_t count, struct error *e) MUST_USE;
view family_own_view(const double *vector, size_t count);
/* Multiplies logits by a factor before a soft cap, through the last norm. For heads without
 * bias. */
int family_scale_logits(struct decoder *d, double factor, struct error *e) MUST_USE;
/* Multiplies a matrix's rows by a factor, and its bias by another. */
int family_multiply(struct linear *v, struct decoder *d, double weight, double bias,
                    struct error *e) MUST_USE;
/* Marks a stored tensor that the model does not use, if present, as used. */
void family_ignore(const struct decoder *d, const char *format, ...) PRINTF_LIKE(2, 3);

/* Activation by its Hugging Face name, or the fallback's if key is NULL; an unknown one is an error
 * naming the key and what is supported. */
int family_activation(enum activation *out, const struct decoder *d, const char *key,
                      const char *fallback, struct error *e) MUST_USE;

/* Windows by layer: from config.json's layer_types if present, else every `step`-th layer from
 * `first` on, or with `but` all layers except every `but`-th. These layers get `window`, the others
 * none. window 0: there is none. */
struct window_rule {
    long window, first, step, but;
    int but_first; /* 1: the first of every `but`, not the last */
    int mixed; /* 1: layer_types may also name linear_attention */
};
int family_windows(struct decoder *d, struct window_rule rule, struct error *e) MUST_USE;

/* Rotary positions of Hugging Face configs, in old (`rope_theta`, `rope_scaling`) and new
 * (`rope_parameters`) style: sets d->position and d->rotary. Supports types default, linear,
 * dynamic, llama3, yarn and longrope; others are refused by name (model/rope.h). */
struct rope_keys {
    const char *theta, *fraction; /* the family's names at the top level; fraction NULL: none */
    double fraction_default;
    const char *rotated; /* key of the number of rotated dimensions; NULL: none */
    int optional; /* 1: a base of null turns nothing */
    int whole_heads; /* 1: the model's code rotates whole heads, whatever the fraction */
    int part; /* the dimensions at the end of a head that the fraction is of; 0: whole heads, from
                 their beginning */
    int scores; /* 1: mscale_all_dim is also a factor on scores, with any scaling */
    const char *yarn; /* another name of yarn; NULL: none */
    double theta_default; /* 0: 10000 */
    enum rotary_pairing pairing;
    int backwards; /* 1: rotated by minus the angle */
    int only_longrope; /* 1: the library takes no other scaling, and this by two more names */
    int mscales; /* 1: only longrope, whose factors on cosine and sine are two members */
    int required; /* 1: rope_parameters or rope_scaling is required, without a default */
    int alpha; /* 1: dynamic scaling with a member alpha changes the base */
    int sections; /* 1: positions of images have three coordinates (mrope); text has one */
    int unscaled; /* 1: there is no scaling but default, which is none */
    int proportional; /* 1: there is the type proportional, whose fraction is that of the pairs that
                         turn, at the rates that all pairs of a head would have */
    int full_size; /* with by_kind: of a head in layers without windows; 0: as in the others */
    int by_kind; /* 1: separate settings, and names of the base, for layers with windows */
    const char *local_theta;
    const char *bases; /* key of a list of bases by layer; NULL: none */
    double local_theta_default;
    double original_default; /* overrides original_max_position_embeddings; 0: no */
};
int family_rope(struct decoder *d, const struct rope_keys *keys, struct error *e) MUST_USE;
/* frequency[i] = base^(-2i/size), i < size/2. Sets kind (none where size is less than a pair),
 * size, pairing. */
int family_rotary_plain(struct decoder *d, int size, double base, enum rotary_pairing pairing,
                        struct error *e) MUST_USE;
/* Sinusoidal positions: frequency[i] = base^(-i/steps), i < ceil(hidden/2). Sets kind, layout and
 * `first` (see struct sinusoid).
 */
int family_sinusoidal(struct decoder *d, double base, double steps, int halves, int first,
                      struct error *e) MUST_USE;

/* Sets d->bos to the beginning-of-text token of a config key; -1 if it is absent or outside the
 * vocabulary (small models often keep a large model's default). */
int family_bos(struct decoder *d, const char *key, struct error *e) MUST_USE;

/* Parses a formula that the decoder will own; NULL on failure. */
struct formula *family_formula(struct decoder *d, const char *text, struct error *e) MUST_USE;
/* Gives one of its parameters one value for each head. */
int family_parameter(struct decoder *d, struct formula *f, const char *name, const double *values,
                     struct error *e) MUST_USE;
/* A formula whose parameter k is each head's ALiBi slope in released code, rounded to `type`:
 * 2^-(most h / c) for the nearest power of two c not above H, then those of odd h of 2c. */
struct formula *family_slope_formula(struct decoder *d, const char *text, double most,
                                     enum element type, struct error *e) MUST_USE;

#endif
