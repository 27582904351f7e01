/* Scalings of rotary positions (Chen et al. 2023; Peng et al. 2023; Llama 3): the settings in
 * rope_parameters or --rope, and their effect on a decoder's frequencies. Not for families, which
 * call family_rope. */
#ifndef REACH_MODEL_ROPE_H
#define REACH_MODEL_ROPE_H

#include "model/decoder.h"

enum rope_kind {
    ROPE_NONE,
    ROPE_LINEAR,
    ROPE_DYNAMIC,
    ROPE_LLAMA3,
    ROPE_YARN,
    ROPE_LONGROPE,
    ROPE_STORED,
    ROPE_PROPORTIONAL,
    ROPE_KINDS
};

/* NAN: not given. */
struct rope_spec {
    enum rope_kind kind;
    double base; /* NAN: the checkpoint's */
    double factor, original; /* original: training length before scaling, in inputs */
    double low, high; /* llama3: low_freq_factor, high_freq_factor */
    double attention, fast, slow, mscale, all_dim,
        truncate; /* yarn: factor on cosine and sine, beta_fast, beta_slow ... */
};

/* Reads `[base=B,]KIND[:NAME=VALUE,...]` or `base=B`, the form of --rope; messages begin with it.
 */
int rope_parse(struct rope_spec *out, const char *text, struct error *e) MUST_USE;
/* The same form of the scaling in use: after rope_scale with every number. */
enum { ROPE_TEXT_MAX = 224 };
void rope_text(char out[ROPE_TEXT_MAX], const struct rope_spec *s);
/* A kind by its name in a configuration: "default", "linear"; ROPE_KINDS if unknown. */
enum rope_kind rope_kind_named(const char *name);
const char *rope_kind_name(enum rope_kind kind);
/* The numbers of s->kind, from members of `root` ("rope_scaling"). */
int rope_read(struct rope_spec *s, struct config *c, const char *root, struct error *e) MUST_USE;

/* The object of a config that holds the settings: rope_scaling, unless it is empty. */
const char *rope_root(struct config *c);
/* Scales r, which has the unscaled frequencies of s->base, and fills in the missing numbers of *s.
 * `where` begins messages: "PATH/config.json: rope_scaling". */
int rope_scale(struct decoder *d, struct rotary *r, struct rope_spec *s, const char *where,
               struct error *e) MUST_USE;

/* --rope: replaces any scaling of the checkpoint; the result as text. */
int rope_replace(char *out, size_t size, struct decoder *d, const struct rope_spec *asked,
                 struct error *e) MUST_USE;

/* A rotation without a model, from the text SIZE[/HEAD][,SPEC] (model/biases.h): *head, and its
 * description as text. The caller frees the lists of *out, also on failure. */
int rope_by_hand(struct rotary *out, int *head, char *described, size_t size, const char *text,
                 struct error *e) MUST_USE;

/* Norms after the rotation divide a factor on cosine and sine out again, except for the effect of
 * epsilon. For models whose layers all have the same rotation and such norms. */
void rope_divide_out(struct decoder *d);

#endif
