/* What GGUF architectures need in addition to a copy of their keys. Private to io/gguf/. */
#ifndef REACH_IO_GGUF_FINISH_H
#define REACH_IO_GGUF_FINISH_H

#include "io/gguf/architecture.h"

typedef int finish_function(struct gguf_model *m, json_t *config, struct error *e);
finish_function finish_llama, finish_rotary, finish_qwen3, finish_gemma2, finish_gpt2, finish_neox,
    finish_bloom, finish_falcon, finish_mpt, finish_phi, finish_gemma3, finish_phi3,
    finish_starcoder2, finish_olmo2, finish_cohere, finish_cohere2, finish_mixtral,
    finish_qwen2_moe, finish_qwen3_moe, finish_olmoe, finish_granitemoe, finish_glm4_moe,
    finish_gpt_oss;

/* Names of a Falcon with two norms in each layer. */
extern const struct name_row *const gguf_falcon_two_names;

#endif
