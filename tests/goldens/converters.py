"""Transformers models in our own layout, so that oracle.py can be compared with transformers."""


def own_from_gpt2(config, state):
    """(config, tensors) of our layout for a GPT-2 model."""
    own = {"vocabulary": config.vocab_size, "hidden": config.n_embd, "layers": config.n_layer, "heads": config.n_head,
           "mlp": config.n_inner or 4 * config.n_embd, "activation": "gelu_tanh", "norm_epsilon": config.layer_norm_epsilon,
           "position": {"kind": "learned", "length": config.n_positions}}
    tensors = {"embedding.weight": state["transformer.wte.weight"], "position.weight": state["transformer.wpe.weight"]}
    for part in ("weight", "bias"):
        tensors[f"final_norm.{part}"] = state[f"transformer.ln_f.{part}"]
        for n in range(config.n_layer):
            at, to = f"transformer.h.{n}.", f"layers.{n}."
            for which, value in zip(("query", "key", "value"), state[f"{at}attn.c_attn.{part}"].chunk(3, -1)):
                tensors[f"{to}attention.{which}.{part}"] = value.T.contiguous() if part == "weight" else value
            for theirs, ours in (("attn.c_proj", "attention.output"), ("mlp.c_fc", "mlp.up"), ("mlp.c_proj", "mlp.down")):
                value = state[f"{at}{theirs}.{part}"]
                tensors[f"{to}{ours}.{part}"] = value.T.contiguous() if part == "weight" else value
            for theirs, ours in (("ln_1", "attention_norm"), ("ln_2", "mlp_norm")):
                tensors[f"{to}{ours}.{part}"] = state[f"{at}{theirs}.{part}"]
    return own, tensors


def own_from_neox(config, state):
    """(config, tensors) of our layout for a GPT-NeoX model."""
    heads, d = config.num_attention_heads, config.hidden_size
    activation = {"gelu": "gelu", "gelu_new": "gelu_tanh"}[config.hidden_act]
    own = {"vocabulary": config.vocab_size, "hidden": d, "layers": config.num_hidden_layers, "heads": heads,
           "mlp": config.intermediate_size, "activation": activation, "norm_epsilon": config.layer_norm_eps,
           "residual": "parallel" if config.use_parallel_residual else "sequential", "tied_head": config.tie_word_embeddings,
           "position": {"kind": "rotary", "base": config.rope_parameters["rope_theta"],
                        "fraction": config.rope_parameters["partial_rotary_factor"]}}
    tensors = {"embedding.weight": state["gpt_neox.embed_in.weight"]}
    if not config.tie_word_embeddings:
        head = next(name for name in ("embed_out.weight", "lm_head.weight") if name in state)
        tensors["head.weight"] = state[head]
    for part in ("weight", "bias"):
        tensors[f"final_norm.{part}"] = state[f"gpt_neox.final_layer_norm.{part}"]
        for n in range(config.num_hidden_layers):
            at, to = f"gpt_neox.layers.{n}.", f"layers.{n}."
            joined = state[f"{at}attention.query_key_value.{part}"]
            joined = joined.reshape(heads, 3, d // heads, *joined.shape[1:])
            for i, which in enumerate(("query", "key", "value")):
                tensors[f"{to}attention.{which}.{part}"] = joined[:, i].flatten(0, 1).contiguous()
            for theirs, ours in (("attention.dense", "attention.output"), ("mlp.dense_h_to_4h", "mlp.up"),
                                 ("mlp.dense_4h_to_h", "mlp.down"), ("input_layernorm", "attention_norm"),
                                 ("post_attention_layernorm", "mlp_norm")):
                tensors[f"{to}{ours}.{part}"] = state[f"{at}{theirs}.{part}"]
    return own, tensors


def own_from_llama(config, state):
    """(config, tensors) of our layout for a Llama or Mistral model with default rotary frequencies."""
    qkv, mlp = getattr(config, "attention_bias", False), getattr(config, "mlp_bias", False)
    own = {"vocabulary": config.vocab_size, "hidden": config.hidden_size, "layers": config.num_hidden_layers,
           "heads": config.num_attention_heads, "kv_heads": config.num_key_value_heads, "mlp": config.intermediate_size,
           "head_size": config.head_dim, "activation": "silu", "gated": True, "norm": "rmsnorm",
           "norm_epsilon": config.rms_norm_eps, "tied_head": config.tie_word_embeddings,
           "biases": {"qkv": qkv, "output": qkv, "mlp": mlp}, "window": getattr(config, "sliding_window", None) or 0,
           "position": {"kind": "rotary", "base": config.rope_parameters["rope_theta"]}}
    names = {"model.embed_tokens": "embedding", "model.norm": "final_norm", "lm_head": "head"}
    inside = {"input_layernorm": "attention_norm", "post_attention_layernorm": "mlp_norm", "self_attn.q_proj": "attention.query",
              "self_attn.k_proj": "attention.key", "self_attn.v_proj": "attention.value", "self_attn.o_proj": "attention.output",
              "mlp.up_proj": "mlp.up", "mlp.gate_proj": "mlp.gate", "mlp.down_proj": "mlp.down"}
    for n in range(config.num_hidden_layers):
        names.update({f"model.layers.{n}.{theirs}": f"layers.{n}.{ours}" for theirs, ours in inside.items()})
    tensors = {}
    for name, value in state.items():
        stem, part = name.rsplit(".", 1)
        tensors[f"{names[stem]}.{part}"] = value
    return own, tensors


CONVERTERS = {"gpt2": own_from_gpt2, "gpt_neox": own_from_neox, "llama": own_from_llama, "mistral": own_from_llama}
