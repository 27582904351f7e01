/* Llamas by the names of the programs that trained them, before they became Hugging Face folders:
 * Meta's own. Neighbouring dimensions are turned together. */
#include "model/families/rows.h"

static const struct layout llama_meta = {LLAMA(1e-5),
                                         .names = {.prefix = "",
                                                   .embedding = "tok_embeddings",
                                                   .layers = "layers",
                                                   .final_norm = "norm",
                                                   .head = "output",
                                                   .attention_norm = "attention_norm",
                                                   .mlp_norm = "ffn_norm",
                                                   .query = "attention.wq",
                                                   .key = "attention.wk",
                                                   .value = "attention.wv",
                                                   .output = "attention.wo",
                                                   .gate = "feed_forward.w1",
                                                   .up = "feed_forward.w3",
                                                   .down = "feed_forward.w2"},
                                         ACTIVATION("hidden_act", "silu"),
                                         .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED}};

static const char *const none[] = {NULL};

const struct family families_trained[] = {{.name = "llama_meta",
                                           .model_types = {"llama_meta"},
                                           .layout = &llama_meta,
                                           .ignored_suffixes = {"rope.freqs",
                                                                ".inner_attention.rope.freqs"},
                                           .harmless = none},
                                          {.name = NULL}};
