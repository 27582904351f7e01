"""What transformers computes of a folder, in float64: norms and log p, as `reach erf` does."""

import contextlib

import numpy as np
import torch
import transformers

from make_goldens import RefuseNarrow, Widen, rows_by_token
from recurrence_cases import settle_decays


def model_of(folder, **settings):
    config = transformers.AutoConfig.from_pretrained(folder)
    config.dtype = settings.get("dtype", config.dtype)      # some modules ask for it
    falcon_alibi = config.model_type == "falcon" and config.alibi
    # the eager code of Falcon adds its ALiBi twice, and the SDPA code of Gemma 2 leaves its caps out
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa" if falcon_alibi else "eager", experts_implementation="eager", **settings)


def oracle(folder, state, stored, tokens, change=None, make=model_of):
    """(norms [S, L-1], log p [S]) of the model in the folder, in float64. `change`: what makes another family's mathematics of it; `make`: what makes the model."""
    torch.set_default_dtype(torch.float64)
    try:
        with Widen(), RefuseNarrow():
            model = make(folder, dtype=torch.float64)
        config = model.config
        unknown = model.load_state_dict({name: value.double() for name, value in state.items()}, strict=False).unexpected_keys
        absent = {name for name, _ in model.named_parameters()} - set(state)
        if unknown or absent:
            raise ValueError(f"the configuration as written makes another model: {sorted(unknown)} {sorted(absent)}")
        model.eval().requires_grad_(False)
        settle_decays(model)
        if change:
            with Widen():
                change(model)
        embedding = model.get_input_embeddings()
        table, rows = embedding.weight.detach().clone(), None
        scale = getattr(embedding, "scalar_embed_scale", None)
        scale = getattr(embedding, "embed_scale", 1.0) if scale is None else scale if stored == torch.float32 else torch.tensor(scale, dtype=stored).item()
        tell = rows_by_token(model, table, stored)
        embedding.register_forward_hook(lambda module, given, result: scale * rows[None])
        for module in model.modules():
            if hasattr(module, "reorder_and_upcast_attn"):       # the same but for a cast to float32, which it insists on
                module.reorder_and_upcast_attn = False
        with contextlib.ExitStack() as undo:
            if config.model_type == "falcon" and config.alibi:
                from transformers.models.falcon import modeling_falcon
                original = modeling_falcon.build_alibi_tensor
                slopes = original(torch.ones(1, tokens.shape[1] - 1, dtype=torch.long), config.num_attention_heads, torch.bfloat16).double()
                modeling_falcon.build_alibi_tensor = lambda mask, heads, dtype: slopes
                undo.callback(setattr, modeling_falcon, "build_alibi_tensor", original)
            if config.model_type == "mpt":      # transformers leaves alibi_bias_max out, which its function and the training code have
                from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
                most = config.attn_config.alibi_bias_max
                model.transformer.build_mpt_alibi_tensor = lambda heads, length, device=None: build_mpt_alibi_tensor(heads, length, most, device)
            if config.model_type == "phimoe" and model.model.rotary_emb.rope_type == "longrope":     # see make_goldens.py
                plain = model.model.rotary_emb.rope_init_fn
                model.model.rotary_emb.rope_init_fn = lambda config: plain(config, seq_len=tokens.shape[1] - 1)
            norms, logprobs = [], []
            for segment in torch.from_numpy(tokens.astype(np.int64)):
                rows = table[segment[:-1]].clone().requires_grad_(True)
                tell(rows)
                with Widen(), RefuseNarrow():
                    logits = model(input_ids=torch.zeros(1, len(rows), dtype=torch.int64), use_cache=False).logits[0, -1]
                    value = torch.log_softmax(logits, -1)[segment[-1]]
                norms.append(torch.autograd.grad(value, rows)[0].norm(dim=1).numpy())
                logprobs.append(value.item())
    finally:
        torch.set_default_dtype(torch.float32)
    if not (np.isfinite(norms).all() and np.isfinite(logprobs).all()):
        raise ValueError("not finite")
    return np.stack(norms), np.array(logprobs)
