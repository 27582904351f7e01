/* What GGUF architectures need in addition to a copy of their keys. Private to io/gguf/. */
#ifndef REACH_IO_GGUF_FINISH_H
#define REACH_IO_GGUF_FINISH_H

#include "io/gguf/architecture.h"
#include "io/tensors/store.h"

typedef int finish_function(struct gguf_model *m, json_t *config, struct error *e);
finish_function finish_llama, finish_rotary, finish_qwen3, finish_gemma2, finish_gpt2, finish_neox,
    finish_bloom, finish_falcon, finish_mpt, finish_phi, finish_gemma3, finish_phi3,
    finish_starcoder2, finish_olmo2, finish_cohere, finish_cohere2, finish_mixtral,
    finish_qwen2_moe, finish_qwen3_moe, finish_olmoe, finish_granitemoe, finish_glm4_moe,
    finish_gpt_oss, finish_smollm3, finish_granite_dense, finish_olmo1, finish_seed_oss,
    finish_stablelm, finish_exaone4, finish_glm4, finish_llama4, finish_mistral3, finish_starcoder,
    finish_dots1, finish_deepseek2;

/* "ARCHITECTURE.KEY". */
enum { GGUF_KEY_MAX = 160 };
const char *model_key(char out[GGUF_KEY_MAX], const struct gguf_model *m, const char *key);
/* The value as JSON: number, boolean, text; or the number in an array of equal ones. NULL with
 * *e. */
json_t *model_scalar(const struct gguf_model *m, const struct gguf_pair *p,
                     struct error *e) MUST_USE;
/* The file, for messages. */
const char *model_path(const struct gguf_model *m);
/* Takes the value over, also on failure; NULL fails. */
int model_set(const struct gguf_model *m, json_t *config, const char *key, json_t *value,
              struct error *e) MUST_USE;
/* The architecture's number of that name, and a whole one from 1; *out = fallback if the key is
 * absent. The whole one is refused as missing if the fallback is below 1. */
int model_number(const struct gguf_model *m, const char *key, double fallback, double *out,
                 struct error *e) MUST_USE;
int model_whole(const struct gguf_model *m, const char *key, int64_t fallback, int64_t *out,
                struct error *e) MUST_USE;
/* A size that the library assumes. */
int model_expect(const struct gguf_model *m, const char *key, int64_t expected,
                 struct error *e) MUST_USE;
/* The numbers of a float tensor as a list; NULL with *e, also if it has not `count` of them. */
json_t *model_list(const struct gguf_model *m, const char *tensor, size_t count,
                   struct error *e) MUST_USE;
/* The scaling of rotary positions (a factor without a type is linear); the part of each head that
 * is rotated, as `fraction`; and both, where `fraction` NULL means whole heads. */
int model_take_scaling(const struct gguf_model *m, json_t *config, struct error *e) MUST_USE;
int model_take_part(const struct gguf_model *m, json_t *config, const char *fraction,
                    struct error *e) MUST_USE;
int model_take_rotation(const struct gguf_model *m, json_t *config, const char *fraction,
                        struct error *e) MUST_USE;
/* The two lists of longrope, which are tensors. A factor on cosine and sine that is the usual one,
 * but for rounding, is left to the reader. */
int model_take_longrope(const struct gguf_model *m, json_t *config, struct error *e) MUST_USE;
/* The layers that have windows, as layer_types, and sliding_window: a list of true and false, or n
 * for all but every n-th, which is `absent` if the file does not say it. *window = 0: none. */
int model_take_windows(struct gguf_model *m, json_t *config, int absent, double *window,
                       struct error *e) MUST_USE;
/* The keys of all heads from a latent, `k` at `keys`, and the values of the same block as one
 * matrix of floats, as in the library: `out`, in memory of the store. */
int gguf_join_latents(struct tensors *t, struct tensor *out, const struct gguf_model *m,
                      const struct gguf_tensor *k, const unsigned char *keys, long block,
                      struct error *e) MUST_USE;
/* layer_types: full_attention or `other`, where the heads for keys and values are a list, with 0
 * for layers without attention. */
int model_take_types(const struct gguf_model *m, json_t *config, const char *other,
                     struct error *e) MUST_USE;
/* 1 if any layer has that tensor: the name after "blk.N.". */
int model_has_any(const struct gguf_model *m, const json_t *config, const char *name);
/* Other settings of the weights of experts: `normalised` is the architecture's; `key`, if named, is
 * set to that, or to the file's value. */
enum gguf_gating { GATING_SOFTMAX = 1, GATING_SIGMOID = 2 };
int model_take_routing(struct gguf_model *m, json_t *config, enum gguf_gating gating,
                       int normalised, const char *key, struct error *e) MUST_USE;
/* Adds to the list of assumptions. */
void model_assume(struct gguf_model *m, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
