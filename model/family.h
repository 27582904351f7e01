/* What a family file is made of: a name, the `model_type`s it answers to, and a reader that turns names and config into a decoder. */
#ifndef REACH_MODEL_FAMILY_H
#define REACH_MODEL_FAMILY_H

#include "model/decoder.h"

struct family {
    const char *name;
    const char *model_types[4];          /* config.json `model_type`, NULL-terminated; none for our own layout (told by `format`) */
    int (*read)(struct decoder *d, struct error *e);
    /* Stored tensors that carry no parameter (masks, caches), by the end of their names; NULL-terminated. */
    const char *ignored_suffixes[8];
};

extern const struct family family_reach, family_gpt2, family_gpt_neox, family_bloom, family_llama, family_mistral;

/* Allocates d->blocks for d->layers zeroed blocks. */
int family_blocks(struct decoder *d, struct error *e) MUST_USE;

/* `prefix` if a tensor named prefix + name is stored, else "": published files come with and without "transformer." or "model.". */
const char *family_prefix(const struct decoder *d, const char *prefix, const char *name);
/* 1 if the tensor is stored. */
int family_has(const struct decoder *d, const char *format, ...) PRINTF_LIKE(2, 3);

/* Views of stored tensors; a missing tensor or another shape is an error that names it and what was expected. */
int family_matrix(view *out, const struct decoder *d, size_t rows, size_t columns, struct error *e, const char *format, ...) MUST_USE PRINTF_LIKE(6, 7);
/* A matrix [rows, columns] stored transposed, as [columns, rows] (Conv1D). */
int family_transposed(view *out, const struct decoder *d, size_t rows, size_t columns, struct error *e, const char *format, ...) MUST_USE
    PRINTF_LIKE(6, 7);
int family_vector(view *out, const struct decoder *d, size_t size, struct error *e, const char *format, ...) MUST_USE PRINTF_LIKE(5, 6);
/* weight and, if `with_bias`, bias of STEM.weight / STEM.bias. */
int family_linear(struct linear *out, const struct decoder *d, size_t rows, size_t columns, int with_bias, struct error *e, const char *format, ...) MUST_USE
    PRINTF_LIKE(7, 8);
int family_norm(struct norm_view *out, const struct decoder *d, enum norm_kind kind, double epsilon, int with_shift, struct error *e, const char *format,
                ...) MUST_USE PRINTF_LIKE(7, 8);

/* Rows first .. first+count of a view with one group. */
view view_rows(view v, size_t first, size_t count);
/* Part `which` of `parts` of a view whose rows are laid out [groups][parts][size] (fused projections, head-major). */
view view_interleaved(view v, size_t groups, size_t parts, size_t which, size_t size);

/* Activation by its Hugging Face name; an unknown one is an error naming the key and what is supported. */
int family_activation(enum activation *out, const struct decoder *d, const char *key, const char *fallback, struct error *e) MUST_USE;

/* Rotary positions of Hugging Face configs, old (`rope_theta`, `rope_scaling`) and new (`rope_parameters`) style: sets d->position and d->rotary.
 * `theta_key` and `fraction_key` are the family's old names. Types default, linear and llama3 are done, others refused by name. */
int family_rope(struct decoder *d, const char *theta_key, const char *fraction_key, double fraction, struct error *e) MUST_USE;
/* frequency[i] = base^(-2i/size), i < size/2. Sets kind, size, pairing. */
int family_rotary_plain(struct decoder *d, int size, double base, enum rotary_pairing pairing, struct error *e) MUST_USE;

/* Sets d->bos to the beginning-of-text token of a config key; -1 when it is absent, or outside the vocabulary: small models are often made with a large
 * model's default there. */
int family_bos(struct decoder *d, const char *key, struct error *e) MUST_USE;

/* Parses a formula the decoder will own and sets values; NULL on failure. */
struct formula *family_formula(struct decoder *d, const char *text, struct error *e) MUST_USE;

#endif
