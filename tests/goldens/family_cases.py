"""The cases that transformers runs: one or more small models for each family, every option away from its default somewhere."""

import json
import os
from dataclasses import dataclass, field

import torch
import transformers
from safetensors.torch import load_file, save_file

import outer_models


# a text model inside of another that the library has a class for, but not under its class for all of them
transformers.AutoModelForCausalLM.register(transformers.Mistral4Config, transformers.Mistral4ForCausalLM, exist_ok=True)


@dataclass
class FamilyCase:
    """A model that transformers runs. `config`: arguments of its configuration class."""

    name: str
    family: str
    config: dict
    notes: str
    cone: int = 10 ** 9
    length: int = 48
    segments: int = 2
    stored: torch.dtype = torch.float32
    published: bool = False      # names and config keys as in older published files
    attention: str = "eager"     # the implementation that computes what the family's published code does
    written: dict = field(default_factory=dict)      # keys of config.json in place of those that transformers writes, and beside them
    reload: bool = True          # False: transformers, loading the file in float32, computes something else
    shard_size: str = "1GB"
    rewrite: object = None       # what makes another style of the folder, once all is computed
    oracle: object = None        # what makes another family's mathematics of the model
    gain: float = 1.0            # of the experts' first matrices, so that a clamp has something to do
    outer: str = ""              # the type of the checkpoint, if the family is the language model of one that also has others
    file: str = ""               # the checkpoint, if it is not the folder
    decays: bool = True          # False: MiniMax's slopes are those of its formula, and no tensors
    stacked: bool = False        # names as the library has them in memory: experts stacked in one tensor


def llama_config(**changes):
    """A small Llama or Mistral configuration."""
    return {**dict(vocab_size=97, hidden_size=32, intermediate_size=44, num_hidden_layers=2,
                   num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
                   rms_norm_eps=2e-5, hidden_act="silu", tie_word_embeddings=False), **changes}


def neox_config(**changes):
    """A small GPT-NeoX configuration."""
    return {**dict(vocab_size=97, hidden_size=32, intermediate_size=56, num_hidden_layers=2,
                   num_attention_heads=2, max_position_embeddings=64, layer_norm_eps=3e-5,
                   tie_word_embeddings=False), **changes}


def small(**changes):
    """Sizes that most families share."""
    return {**dict(vocab_size=53, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64), **changes}


def grouped(**changes):
    """A small model with grouped heads and a gated MLP."""
    return small(**{**dict(num_key_value_heads=2, intermediate_size=20, rms_norm_eps=2e-5, hidden_act="silu", tie_word_embeddings=False,
                           rope_parameters=rope()), **changes})


def without_rms(**changes):
    """As gated, for other norms."""
    config = gated(**changes)
    del config["rms_norm_eps"]
    return config


def rope(kind="default", theta=700.0, **settings):
    """Rotary settings in the style of transformers 5."""
    return {"rope_type": kind, "rope_theta": theta, **settings}


def mpt(**changes):
    """A small MPT."""
    return {**dict(vocab_size=53, d_model=16, n_heads=4, n_layers=2, max_seq_len=64), **changes}


def tokens(**changes):
    """Sizes of the models of LONG inputs; no token has a meaning."""
    return small(**{**dict(vocab_size=64, max_position_embeddings=128, bos_token_id=0, eos_token_id=0, pad_token_id=0), **changes})


def gated(**changes):
    """The same with grouped heads and a gated MLP."""
    return tokens(**{**dict(num_key_value_heads=2, intermediate_size=20, rms_norm_eps=2e-5, tie_word_embeddings=False, rope_parameters=rope()), **changes})


def as_published_gemma4(**heads):
    """Sizes of heads by their keys of published files, and rotations left to the defaults."""
    def change(config):
        del config["per_layer_config"], config["rope_parameters"]
        config.update(heads)
    return lambda folder: outer_models.edit_config(folder, change)


def as_minicpm(folder):
    """A Granite with multipliers that are a MiniCPM's, in its keys: the code of MiniCPM3 in transformers has the same three."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    for key in ("mlp_bias", "embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"):
        del config[key]
    config.update(model_type="minicpm", architectures=["MiniCPMForCausalLM"], scale_emb=5, scale_depth=0.9, dim_model_base=6)
    with open(path, "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")


def as_folder_of(folder, names, keys, without, fuse=None):
    """The folder in the names of a family whose code is not in transformers. `names`: what parts of names become; `keys`: of config.json; `fuse`: of the tensors of a layer."""
    path, weights = os.path.join(folder, "config.json"), os.path.join(folder, "model.safetensors")
    with open(path) as file:
        config = json.load(file)
    tensors = load_file(weights)
    for layer in range(config["num_hidden_layers"]) if fuse else ():
        fuse(tensors, f"model.layers.{layer}.", config)
    for old, new in names.items():
        tensors = {name.replace(old, new): value for name, value in tensors.items()}
    config = {**{key: value for key, value in config.items() if key not in without}, **keys(config)}
    with open(path, "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")
    save_file({name: value.contiguous() for name, value in tensors.items()}, weights, metadata={"format": "pt"})


OF_LLAMA = ("attention_bias", "mlp_bias", "head_dim", "pretraining_tp")


def as_internlm2(folder):
    """A Llama as an InternLM2: queries, keys and values in one matrix, a group of those that share a key after the other."""
    def fuse(tensors, at, config):
        for kind in ("weight", "bias") if config["attention_bias"] else ("weight",):
            q, k, v = (tensors.pop(f"{at}self_attn.{part}_proj.{kind}") for part in "qkv")
            groups = config["num_key_value_heads"]
            q, k, v = (part.reshape(groups, -1, *part.shape[1:]) for part in (q, k, v))
            tensors[f"{at}attention.wqkv.{kind}"] = torch.cat([q, k, v], 1).flatten(0, 1)
    as_folder_of(folder, {"embed_tokens": "tok_embeddings", "lm_head": "output", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm", "self_attn.o_proj": "attention.wo",
                          "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3", "mlp.down_proj": "feed_forward.w2"},
                 lambda config: dict(model_type="internlm2", architectures=["InternLM2ForCausalLM"], attn_implementation="eager", bias=config["attention_bias"],
                                     auto_map={"AutoModelForCausalLM": "modeling_internlm2.InternLM2ForCausalLM"}), OF_LLAMA, fuse)


def as_exaone(folder):
    """A Llama as an EXAONE 3.5."""
    as_folder_of(folder, {"model.layers.": "transformer.h.", "model.embed_tokens": "transformer.wte", "model.norm": "transformer.ln_f", "input_layernorm": "ln_1",
                          "post_attention_layernorm": "ln_2", "self_attn.o_proj": "self_attn.out_proj", "self_attn": "attn.attention", "gate_proj": "c_fc_0", "up_proj": "c_fc_1", "down_proj": "c_proj"},
                 lambda config: dict(model_type="exaone", architectures=["ExaoneForCausalLM"], torch_dtype=config["dtype"], rope_theta=config["rope_parameters"].pop("rope_theta"),
                                     rope_scaling=config["rope_parameters"], head_dim=config["head_dim"], num_layers=config["num_hidden_layers"],
                                     activation_function=config["hidden_act"], layer_norm_epsilon=config["rms_norm_eps"], embed_dropout=0.0, resid_dropout=0.0),
                 (*OF_LLAMA, "num_hidden_layers", "hidden_act", "rms_norm_eps", "rope_parameters", "dtype"))


def as_baichuan(keys, buffers):
    """A Llama as a Baichuan."""
    def fuse(tensors, at, config):
        tensors[at + "self_attn.W_pack.weight"] = torch.cat([tensors.pop(f"{at}self_attn.{part}_proj.weight") for part in "qkv"])
        if buffers:
            size = config["hidden_size"] // config["num_attention_heads"]
            tensors[at + "self_attn.rotary_emb.inv_freq"] = 1 / 10000 ** (torch.arange(0, size, 2) / size)
    without = (*OF_LLAMA, "num_key_value_heads", "rope_theta", "rope_scaling", "rope_parameters", *(("max_position_embeddings",) if "model_max_length" in keys else ()))
    return lambda folder: as_folder_of(folder, {}, lambda config: {"model_type": "baichuan", **keys}, without, fuse)


def as_baichuan2_13b(model):
    """A Llama with the mathematics of the larger Baichuan2: no rotation, MPT's ALiBi, a head with rows of length 1."""
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
    plain = model.forward

    def with_alibi(input_ids, **settings):
        n = input_ids.shape[1]
        mask = torch.full((n, n), float("-inf"), dtype=torch.float64).triu(1)
        return plain(input_ids=input_ids, attention_mask=(build_mpt_alibi_tensor(model.config.num_attention_heads, n).double() + mask)[None], **settings)
    model.forward = with_alibi
    model.model.rotary_emb.forward = lambda x, position_ids: (torch.ones(1, position_ids.shape[1], x.shape[-1] // model.config.num_attention_heads, dtype=x.dtype),
                                                              torch.zeros(1, position_ids.shape[1], x.shape[-1] // model.config.num_attention_heads, dtype=x.dtype))
    model.lm_head.weight.data = torch.nn.functional.normalize(model.lm_head.weight.data)


def as_dbrx(folder):
    """The keys of published files: the base of positions in attn_config alone, and in each part those of a configuration of its own."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    del config["rope_parameters"]
    own = dict(_name_or_path="", add_cross_attention=False, architectures=None, bad_words_ids=None, bos_token_id=None, chunk_size_feed_forward=0, cross_attention_hidden_size=None,
               decoder_start_token_id=None, is_encoder_decoder=False, model_type="", pruned_heads={}, tie_word_embeddings=True, torch_dtype=None, typical_p=1.0)
    for part in ("attn_config", "ffn_config"):
        config[part] = {**own, **config[part]}
    config["ffn_config"].update(moe_jitter_eps=0, uniform_expert_assignment=False)
    config.update(torch_dtype=config.pop("dtype"), router_aux_loss_coef=0.05)
    with open(path, "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")


def unclamped(folder):
    """clip_qkv null in place of a limit that nothing reaches: transformers 5.23 asks PyTorch for a clamp without limits, which it refuses."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    config["attn_config"]["clip_qkv"] = None
    with open(path, "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")


def dbrx(attention, experts, **changes):
    """A small DBRX; the base of its positions where the published code and where transformers looks for it."""
    return {**dict(vocab_size=64, d_model=16, n_heads=4, n_layers=2, max_seq_len=128, bos_token_id=0, eos_token_id=0, rope_parameters=rope(), attn_config={"rope_theta": 700.0, **attention},
                   ffn_config={"ffn_hidden_size": 8, **experts}), **changes}


def beside_vision(folder):
    """A language model as part of a checkpoint with a vision tower, in published names."""
    path, weights = os.path.join(folder, "config.json"), os.path.join(folder, "model.safetensors")
    with open(path) as file:
        config = json.load(file)
    inner = {key: value for key, value in config.items() if key not in ("architectures", "transformers_version", "tie_word_embeddings")}
    with open(path, "w") as file:
        json.dump({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 5, "image_token_index": 6,
                   "mm_tokens_per_image": 4, "tie_word_embeddings": config["tie_word_embeddings"], "text_config": inner,
                   "vision_config": {"hidden_size": 8, "model_type": "siglip_vision_model"}}, file, indent=1)
        file.write("\n")
    tensors = {"language_model." + name: value for name, value in load_file(weights).items()}
    save_file({**tensors, "vision_tower.patch.weight": torch.ones(3, 2), "multi_modal_projector.weight": torch.ones(2)}, weights, metadata={"format": "pt"})


def without_biases(model):
    """Biases of zero, for models that have none."""
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.data.zero_()


def as_nanogpt(biased, compiled=False):
    """A GPT-2 as the file that nanoGPT writes: matrices stored [out, in], sizes in model_args, the head beside the embedding, the state of the training."""
    def write(folder):
        config_path, weights = os.path.join(folder, "config.json"), os.path.join(folder, "model.safetensors")
        with open(config_path) as file:
            config = json.load(file)
        prefix, model = "_orig_mod." if compiled else "", {}
        for name, value in load_file(weights).items():
            if biased or not name.endswith("bias"):
                model[prefix + name] = value.t().contiguous() if any(part in name for part in ("c_attn.weight", "c_proj.weight", "c_fc.weight")) else value
        model[prefix + "lm_head.weight"] = model[prefix + "transformer.wte.weight"]
        sizes = dict(n_layer=config["n_layer"], n_head=config["n_head"], n_embd=config["n_embd"], block_size=config["n_positions"], bias=biased, vocab_size=config["vocab_size"], dropout=0.1)
        torch.save({"model": model, "optimizer": {"state": {}, "param_groups": [{"lr": 1e-3, "params": [0]}]}, "model_args": sizes, "iter_num": 7, "best_val_loss": torch.tensor(2.5),
                    "config": {"dataset": "x", "compile": compiled}}, os.path.join(folder, "ckpt.pt"))
        os.remove(config_path)
        os.remove(weights)
    return write


def as_meta(params, ranks, rows, wrapped=False):
    """A Llama as Meta's own files, a file for each rank: neighbours turned together, the embedding shared by rows or by columns."""
    names = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output", "model.layers": "layers", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
             "self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv", "self_attn.o_proj": "attention.wo",
             "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3", "mlp.down_proj": "feed_forward.w2"}

    def write(folder):
        path, weights = os.path.join(folder, "config.json"), os.path.join(folder, "model.safetensors")
        with open(path) as file:
            config = json.load(file)
        size, parts = config["hidden_size"] // config["num_attention_heads"], [{} for _ in range(ranks)]
        state = load_file(weights)
        state.setdefault("lm_head.weight", state["model.embed_tokens.weight"].clone())
        for name, value in state.items():
            for old, new in names.items():
                name = name.replace(old, new)
            if name.endswith(("wq.weight", "wk.weight")):       # halves of a head become neighbours
                value = value.reshape(-1, 2, size // 2, value.shape[1]).transpose(1, 2).reshape(value.shape)
            axis = None if value.dim() == 1 else 1 if name.endswith(("wo.weight", "w2.weight")) or (name.startswith("tok") and not rows) else 0
            for part, piece in zip(parts, [value] * ranks if axis is None else value.chunk(ranks, axis)):
                part[name] = piece.clone()
        for rank, part in enumerate(parts):
            part["rope.freqs"] = torch.ones(size // 2)
            torch.save({"state_dict": {"module._orig_mod." + name: value for name, value in part.items()}} if wrapped else part, os.path.join(folder, f"consolidated.{rank:02}.pth"))
        with open(os.path.join(folder, "params.json"), "w") as file:
            json.dump({"dim": config["hidden_size"], "n_layers": config["num_hidden_layers"], "n_heads": config["num_attention_heads"], "norm_eps": config["rms_norm_eps"], **params}, file)
            file.write("\n")
        os.remove(path)
        os.remove(weights)
    return write


def as_older_qwen2_vl(folder):
    """The names and keys of older published files: those of the language model among the others."""
    outer_models.flat(folder)

    def older(config):
        rotary = config.pop("rope_parameters")
        config.update(rope_theta=rotary["rope_theta"], rope_scaling={"type": "mrope", "mrope_section": rotary["mrope_section"]})
    outer_models.edit_config(folder, older)
    outer_models.rename(folder, [(r"^model\.language_model\.", "model."), (r"^model\.visual\.", "visual.")])


def as_thinker(folder):
    """A whole Omni, of which the thinker has the language model."""
    outer_models.edit_config(folder, lambda config: {"model_type": config["model_type"].removesuffix("_thinker"), "thinker_config": config, "talker_config": {}})
    outer_models.rename(folder, [("^", "thinker."), (r"^thinker\.model\.audio_tower", "talker.model.layers.0")])


def sections(*counts, **settings):
    """Rotary settings with sections for the three coordinates of images."""
    return rope(mrope_section=list(counts), **settings)


def experts(**changes):
    """The same with experts in place of the MLP."""
    return gated(**{**dict(head_dim=4, num_experts_per_tok=2, intermediate_size=12), **changes})


LONG = 98       # 97 inputs
BF16 = torch.bfloat16
FAMILY_CASES = [
    FamilyCase("gpt2", "gpt2", dict(vocab_size=97, n_positions=64, n_embd=24, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0),
               "learned positions; gelu_new; names with the prefix transformer."),
    FamilyCase("gpt2-layer-scale", "gpt2",
               dict(vocab_size=97, n_positions=40, n_embd=12, n_layer=3, n_head=3, n_inner=20,
                    bos_token_id=0, eos_token_id=0,
                    scale_attn_by_inverse_layer_idx=True, layer_norm_epsilon=1e-4),
               "scores divided by layer + 1; n_inner; names without prefix; attn.bias mask buffers",
               length=40, published=True),
    FamilyCase("gpt-neox-parallel", "gpt_neox",
               neox_config(use_parallel_residual=True,
                           rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}),
               "parallel residual; rotary_pct 0.25; older config keys; mask and inv_freq buffers", published=True),
    FamilyCase("gpt-neox-sequential", "gpt_neox",
               neox_config(use_parallel_residual=False, num_attention_heads=4, hidden_act="gelu_new", tie_word_embeddings=True,
                           rope_parameters={"rope_type": "default", "rope_theta": 700.0, "partial_rotary_factor": 0.5}),
               "sequential residual; rotary_pct 0.5, base 700; gelu_new; tied head", length=57),
    FamilyCase("bloom-4-heads", "bloom", dict(vocab_size=97, hidden_size=24, n_layer=2, n_head=4, layer_norm_epsilon=4e-5),
               "ALiBi slopes of a power of two; embedding norm; names without prefix", published=True),
    FamilyCase("bloom-6-heads", "bloom",
               dict(vocab_size=97, hidden_size=24, n_layer=2, n_head=6, apply_residual_connection_post_layernorm=True),
               "ALiBi slopes of 6 heads; apply_residual_connection_post_layernorm", segments=3),
    FamilyCase("llama-gqa", "llama",
               llama_config(attention_bias=True, mlp_bias=True, head_dim=12,
                            rope_parameters={"rope_type": "default", "rope_theta": 3000.0}),
               "4 query heads, 2 kv heads; biases; head_dim 12 with 8 = d/H; two shards", shard_size="64KB"),
    FamilyCase("llama-tied", "llama",
               llama_config(num_key_value_heads=4, tie_word_embeddings=True,
                            rope_parameters={"rope_type": "default", "rope_theta": 500000.0}),
               "tied head, no biases; bf16 weights; rope_theta and torch_dtype at the top of the config",
               stored=torch.bfloat16, published=True, length=64),
    FamilyCase("llama-rope-linear", "llama",
               llama_config(head_dim=8, rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}),
               "rope scaling linear, factor 4; older keys rope_scaling {type, factor}", published=True),
    FamilyCase("llama-rope-llama3", "llama",
               llama_config(head_dim=16, hidden_size=24, rope_parameters={
                   "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
                   "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
               "rope scaling llama3 with wavelengths in all three ranges", length=70),
    FamilyCase("mistral-window", "mistral",
               llama_config(sliding_window=8, num_hidden_layers=3, hidden_size=24, head_dim=6,
                            rope_parameters={"rope_type": "default", "rope_theta": 10000.0}),
               "sliding window 8 in 3 layers: exact zeros outside 22 tokens; grouped heads", cone=22, length=50),
    FamilyCase("mistral-full", "mistral",
               llama_config(sliding_window=None, head_dim=10, rope_parameters={"rope_type": "default", "rope_theta": 20000.0}),
               "sliding_window null; f16 weights", stored=torch.float16),
    FamilyCase("gpt2-unscaled", "gpt2",
               dict(vocab_size=53, n_positions=40, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0, scale_attn_weights=False,
                    activation_function="relu", tie_word_embeddings=False),
               "scale_attn_weights false; relu; untied head; bf16 weights", length=41, stored=BF16),
    FamilyCase("gpt-neox-plain", "gpt_neox",
               small(intermediate_size=24, attention_bias=False, hidden_act="gelu_pytorch_tanh", tie_word_embeddings=False,
                     rope_parameters=rope(partial_rotary_factor=1.0)),
               "no biases in attention; whole heads rotated; gelu_pytorch_tanh; bf16 weights", stored=BF16),
    FamilyCase("mpt", "mpt", mpt(n_heads=2, attn_config={"clip_qkv": 1.4, "softmax_scale": 0.31}, layer_norm_epsilon=3e-5),
               "clip_qkv 1.4; softmax_scale 0.31; norms without bias; published style: no prefix", published=True),
    FamilyCase("mpt-6-heads", "mpt", mpt(d_model=24, n_heads=6, tie_word_embeddings=False), "slopes of 6 heads; untied head; bf16 weights", stored=BF16),
    FamilyCase("mpt-bias-max", "mpt", mpt(d_model=24, n_heads=6, attn_config={"alibi_bias_max": 4}),
               "alibi_bias_max 4, as the training code has it, with 6 heads; bf16 weights", stored=BF16, reload=False),
    FamilyCase("llama-rope-dynamic", "llama",
               grouped(max_position_embeddings=24, rope_parameters=rope("dynamic", 10000.0, factor=3.0)),
               "rope scaling dynamic, 47 inputs for a limit of 24; rope_scaling {type, factor}; bf16 weights", published=True, stored=BF16),
    FamilyCase("llama-rope-dynamic-short", "llama",
               grouped(max_position_embeddings=64, rope_parameters=rope("dynamic", 10000.0, factor=3.0)),
               "rope scaling dynamic below its limit; bf16 weights", stored=BF16, length=32),
    FamilyCase("llama-rope-yarn", "llama",
               grouped(head_dim=12, max_position_embeddings=64, tie_word_embeddings=True,
                       rope_parameters=rope("yarn", 100.0, factor=4.0, original_max_position_embeddings=16)),
               "rope scaling yarn, every kind of pair; head_dim 12; tied head; bf16 weights", stored=BF16),
    FamilyCase("llama-rope-yarn-settings", "llama",
               grouped(head_dim=12, rope_parameters=rope("yarn", 50.0, factor=8.0, original_max_position_embeddings=40, beta_fast=6.0, beta_slow=0.5,
                                                         mscale=0.8, mscale_all_dim=0.3, truncate=False)),
               "rope scaling yarn with betas, mscale and truncate false; bf16 weights", stored=BF16),
    FamilyCase("llama-rope-yarn-factor", "llama",
               grouped(head_dim=8, max_position_embeddings=40, rope_parameters=rope("yarn", 2.5, factor=2.0, attention_factor=1.3)),
               "rope scaling yarn with an attention factor and a range cut at both ends, older keys, original length by default; bf16 weights", stored=BF16, published=True),
    FamilyCase("llama-rope-scaling-theta", "llama", grouped(),
               "rope_scaling with rope_theta, beside another rope_theta and other rope_parameters: what rope_scaling says; bf16 weights", stored=BF16,
               written={"rope_theta": 90.0, "rope_scaling": {"type": "linear", "factor": 2.0, "rope_theta": 300.0},
                        "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 40.0}}),
    FamilyCase("llama-rope-parameters-type", "llama", grouped(),
               "rope_parameters that say type in place of rope_type; rope_scaling empty; bf16 weights", stored=BF16,
               written={"rope_parameters": {"type": "linear", "factor": 3.0, "rope_theta": 700.0}, "rope_scaling": {}}),
    FamilyCase("llama-rope-yarn-original", "llama", grouped(head_dim=12, rope_parameters=rope("yarn", 100.0, factor=4.0, original_max_position_embeddings=60)),
               "original_max_position_embeddings at the top of the config, which wins over that of rope_parameters; bf16 weights", stored=BF16,
               written={"original_max_position_embeddings": 12}),
    FamilyCase("llama-rope-llama3-original", "llama", grouped(),
               "rope scaling llama3 with its original length at the top of the config alone; bf16 weights", stored=BF16,
               written={"rope_parameters": rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0), "original_max_position_embeddings": 48}),
    FamilyCase("llama-rope-llama3-default", "llama", grouped(max_position_embeddings=56),
               "rope scaling llama3 without an original length, in rope_scaling beside empty rope_parameters; bf16 weights", stored=BF16,
               written={"rope_parameters": {}, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}}),
    FamilyCase("llama-rope-part", "llama", grouped(),
               "a partial_rotary_factor, which this family does not follow; bf16 weights", stored=BF16, written={"partial_rotary_factor": 0.5}),
    FamilyCase("phi-rope-scaling-part", "phi",
               small(num_attention_heads=2, intermediate_size=24),
               "partial_rotary_factor in rope_scaling; bf16 weights", stored=BF16,
               written={"rope_parameters": None, "rope_theta": 50.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.75}}),
    FamilyCase("gpt-neox-gelu-fast", "gpt_neox",
               small(intermediate_size=24, hidden_act="gelu_fast", rope_parameters=rope(partial_rotary_factor=0.5)),
               "gelu_fast; bf16 weights", stored=BF16),
    FamilyCase("gpt2-two-names", "gpt2", dict(vocab_size=53, n_positions=64, n_embd=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0),
               "num_attention_heads, which wins over n_head; bf16 weights", stored=BF16, written={"n_head": 2, "num_attention_heads": 4}),
    FamilyCase("qwen2", "qwen2", grouped(use_sliding_window=False),
               "q, k, v biases, none on the output; a sliding_window that is off; published style; bf16 weights", published=True, stored=BF16,
               written={"sliding_window": 6, "max_window_layers": 0}),
    FamilyCase("qwen2-window", "qwen2",
               grouped(num_hidden_layers=3, use_sliding_window=True, sliding_window=6, max_window_layers=1, tie_word_embeddings=True),
               "window 6 from layer 1 on, by max_window_layers; tied head; bf16 weights", published=True, stored=BF16),
    FamilyCase("qwen3", "qwen3",
               grouped(head_dim=6, attention_bias=True, num_hidden_layers=3, use_sliding_window=True, sliding_window=5,
                       layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
               "norms of heads; head_dim 6 with 4 = d/H; attention_bias; layer_types; bf16 weights", stored=BF16),
    FamilyCase("qwen3-window", "qwen3",
               grouped(head_dim=10, num_key_value_heads=1, use_sliding_window=True, sliding_window=7, max_window_layers=0, tie_word_embeddings=True),
               "norms of heads with windows in all layers: exact zeros outside 13 tokens; one kv head; bf16 weights", cone=13, stored=BF16),
    FamilyCase("gemma2", "gemma2",
               grouped(head_dim=8, num_hidden_layers=3, hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=20, sliding_window=5,
                       attn_logit_softcapping=4.0, final_logit_softcapping=2.5, tie_word_embeddings=True),
               "soft caps 4 and 2.5; window 5 on layers 0 and 2, by default; scale 20^-1/2 with heads of 8; (1+w) norms; embeddings times 4",
               published=True),
    FamilyCase("gemma2-bf16", "gemma2",
               grouped(hidden_size=24, head_dim=4, attention_bias=True, sliding_window=6, layer_types=["full_attention", "sliding_attention"],
                       query_pre_attn_scalar=3, tie_word_embeddings=True, attn_logit_softcapping=None, final_logit_softcapping=None),
               "bf16 weights, with sqrt(24) in bf16; layer_types; attention_bias; no soft caps", stored=BF16, reload=False),
    FamilyCase("opt", "opt", small(hidden_size=24, num_attention_heads=3, ffn_dim=28, max_position_embeddings=40, word_embed_proj_dim=24),
               "learned rows from 2 on; norms before; relu; bf16 weights", stored=BF16, length=41),
    FamilyCase("opt-350m", "opt",
               small(ffn_dim=24, max_position_embeddings=48, word_embed_proj_dim=12, do_layer_norm_before=False),
               "as the 350m model: embeddings of 12 between two projections, norms behind the sums; bf16 weights", stored=BF16),
    FamilyCase("opt-wide", "opt",
               small(ffn_dim=24, max_position_embeddings=48, word_embed_proj_dim=33),
               "embeddings wider than the model, between two projections; bf16 weights", stored=BF16),
    FamilyCase("opt-plain", "opt",
               small(ffn_dim=24, max_position_embeddings=48, word_embed_proj_dim=16, enable_bias=False, layer_norm_elementwise_affine=False,
                     _remove_final_layer_norm=True, activation_function="gelu"),
               "no biases, norms without parameters, no final norm; gelu; bf16 weights", stored=BF16),
    FamilyCase("falcon-groups", "falcon",
               small(hidden_size=24, num_attention_heads=6, num_kv_heads=2, new_decoder_architecture=True, bias=True, rope_parameters=rope()),
               "new decoder: rows by group of 3 queries, key, value; ln_attn and ln_mlp; biases; bf16 weights", stored=BF16),
    FamilyCase("falcon-groups-one-norm", "falcon",
               small(num_kv_heads=2, new_decoder_architecture=True, num_ln_in_parallel_attn=1, ffn_hidden_size=20, rope_parameters=rope(),
                     tie_word_embeddings=False),
               "new decoder with one norm; ffn_hidden_size; untied head; bf16 weights", stored=BF16),
    FamilyCase("falcon-queries", "falcon", small(rope_parameters=rope("linear", factor=2.0)),
               "multi_query: all queries, one key, one value; one norm; linear scaling; bf16 weights", stored=BF16, published=True),
    FamilyCase("falcon-heads", "falcon", small(multi_query=False, bias=True, activation="relu", rope_parameters=rope()),
               "head-major rows, parallel; relu; bf16 weights", stored=BF16),
    FamilyCase("falcon-alibi", "falcon",
               small(hidden_size=24, num_attention_heads=12, multi_query=False, parallel_attn=False, alibi=True, bias=True, layer_norm_epsilon=4e-5),
               "ALiBi in bf16 over sqrt(head size) with 12 heads; head-major rows, sequential; bf16 weights", stored=BF16, attention="sdpa", length=84),
    FamilyCase("gptj", "gptj", dict(vocab_size=53, n_embd=16, n_layer=2, n_head=2, n_positions=64, rotary_dim=6, bos_token_id=0, eos_token_id=0),
               "rotary on 6 of 8 dimensions, interleaved; one norm; head with a bias; bf16 weights", stored=BF16),
    FamilyCase("gptj-whole", "gptj",
               dict(vocab_size=53, n_embd=16, n_layer=2, n_head=4, n_inner=20, n_positions=64, rotary_dim=4, activation_function="gelu",
                    layer_norm_epsilon=1e-4, bos_token_id=0, eos_token_id=0),
               "rotary on whole heads; n_inner; gelu; bf16 weights", stored=BF16, published=True),
    FamilyCase("phi", "phi",
               small(num_attention_heads=2, intermediate_size=24, num_key_value_heads=1, rope_parameters=rope(partial_rotary_factor=0.5)),
               "rotary on half of a head; one kv head; one norm; head with a bias; bf16 weights", stored=BF16),
    FamilyCase("phi-head-norms", "phi",
               small(num_attention_heads=2, intermediate_size=24, qk_layernorm=True, layer_norm_eps=1e-3,
                     rope_parameters=rope("yarn", partial_rotary_factor=0.75, factor=2.0, original_max_position_embeddings=20)),
               "qk_layernorm; yarn on 6 of 8 dimensions; bf16 weights", stored=BF16),
    FamilyCase("gemma", "gemma", gated(head_dim=8, hidden_act="gelu", tie_word_embeddings=True),
               "(1+w) norms; embeddings times 4; gelu, which means its tanh form; bf16 weights", length=LONG, published=True, stored=BF16),
    FamilyCase("gemma-bf16", "gemma", gated(hidden_size=24, head_dim=6, attention_bias=True, hidden_act="silu", num_key_value_heads=1),
               "sqrt(24) in bf16; attention_bias; silu; untied head; bf16 weights", length=LONG, stored=BF16, reload=False),
    FamilyCase("phi3", "phi3", gated(num_attention_heads=2, rope_parameters=rope(partial_rotary_factor=0.75), num_key_value_heads=1),
               "fused q, k, v of grouped heads and fused gate and up; rotary on 6 of 8 dimensions; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("phi3-window", "phi3", gated(hidden_size=24, num_hidden_layers=3, sliding_window=12, tie_word_embeddings=True),
               "window 12 in 3 layers: exact zeros outside 34 tokens; tied head; older keys; bf16 weights", cone=34, length=LONG, published=True, stored=BF16),
    FamilyCase("starcoder2", "starcoder2", tokens(num_key_value_heads=2, intermediate_size=24, norm_epsilon=3e-4, rope_parameters=rope()),
               "layer norms, biases everywhere, grouped heads; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("starcoder2-window", "starcoder2",
               tokens(num_hidden_layers=3, num_key_value_heads=1, intermediate_size=24, sliding_window=9, use_bias=False, hidden_act="gelu", head_dim=6,
                      tie_word_embeddings=False, rope_parameters=rope("linear", factor=2.0)),
               "no biases; window 9 in 3 layers: exact zeros outside 25 tokens; head_dim 6; linear scaling; bf16 weights", cone=25, length=LONG, stored=BF16),
    FamilyCase("gpt-neo", "gpt_neo",
               dict(vocab_size=64, hidden_size=16, num_layers=3, num_heads=4, max_position_embeddings=128, window_size=7, layer_norm_epsilon=3e-4,
                    attention_types=[[["global", "local"], 1], [["local"], 1]], bos_token_id=0, eos_token_id=0),
               "scores without a factor; window 7 in the local layers 1 and 2; no biases on q, k, v; names without prefix; bf16 weights",
               length=LONG, published=True, stored=BF16),
    FamilyCase("gpt-neo-local", "gpt_neo",
               dict(vocab_size=64, hidden_size=16, num_layers=2, num_heads=2, max_position_embeddings=128, window_size=9, intermediate_size=20,
                    attention_types=[[["local"], 2]], activation_function="relu", tie_word_embeddings=False, bos_token_id=0, eos_token_id=0),
               "window 9 in both layers: exact zeros outside 17 tokens; intermediate_size; relu; bf16 weights", cone=17, length=LONG, stored=BF16),
    FamilyCase("gpt-bigcode", "gpt_bigcode", dict(vocab_size=64, n_embd=16, n_layer=2, n_head=4, n_positions=128, layer_norm_epsilon=3e-4, bos_token_id=0, eos_token_id=0),
               "one key and value for all heads: all queries, one key, one value; bf16 weights", length=LONG, published=True, stored=BF16),
    FamilyCase("gpt-bigcode-heads", "gpt_bigcode",
               dict(vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_inner=20, n_positions=128, multi_query=False, scale_attn_weights=False, activation_function="gelu",
                    tie_word_embeddings=False, bos_token_id=0, eos_token_id=0),
               "multi_query false: head-major rows; scores without a factor; n_inner; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("codegen", "codegen",
               dict(vocab_size=64, n_embd=32, n_layer=2, n_head=8, n_positions=128, n_ctx=128, rotary_dim=2, layer_norm_epsilon=3e-4, bos_token_id=0, eos_token_id=0),
               "fused rows of four quarters of the heads, q, v, k in each; rotary on 2 of 4 dimensions, interleaved; head with a bias; bf16 weights",
               length=LONG, published=True, stored=BF16),
    FamilyCase("codegen-whole", "codegen",
               dict(vocab_size=64, n_embd=24, n_layer=2, n_head=4, n_inner=20, n_positions=128, n_ctx=128, rotary_dim=6, activation_function="gelu", bos_token_id=0, eos_token_id=0),
               "rotary on whole heads; n_inner; gelu; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("olmo", "olmo", without_rms(attention_bias=True),
               "norms without parameters; attention_bias; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("olmo-tied", "olmo", without_rms(hidden_size=24, num_key_value_heads=4, tie_word_embeddings=True),
               "no biases; tied head; rope_theta at the top; bf16 weights", length=LONG, published=True, stored=BF16),
    FamilyCase("stablelm", "stablelm",
               tokens(num_attention_heads=2, num_key_value_heads=1, intermediate_size=20, layer_norm_eps=3e-4, use_qkv_bias=True, partial_rotary_factor=0.75, rope_theta=700.0),
               "biases on q, k, v; rotary on 6 of 8 dimensions; gated MLP; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("stablelm-parallel", "stablelm",
               tokens(num_attention_heads=2, num_key_value_heads=2, intermediate_size=20, use_parallel_residual=True, tie_word_embeddings=True, rope_theta=50.0),
               "parallel residual with one norm; a quarter of the heads turned, by default; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("nemotron", "nemotron",
               tokens(num_attention_heads=2, num_key_value_heads=1, intermediate_size=24, norm_eps=3e-4, attention_bias=True, mlp_bias=True, head_dim=12,
                      partial_rotary_factor=0.5, rope_theta=700.0),
               "layer norms with 1 + w; relu squared; biases; head_dim 12, half of it turned; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("nemotron-plain", "nemotron",
               tokens(num_attention_heads=2, num_key_value_heads=2, intermediate_size=24, tie_word_embeddings=True, rope_theta=50.0, partial_rotary_factor=0.25),
               "no biases; tied head; a quarter of the heads turned; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("apertus", "apertus", gated(head_dim=6, attention_bias=True, rope_parameters=rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)),
               "xielu with numbers of each layer; norms of heads; biases; head_dim 6; llama3; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("apertus-plain", "apertus", gated(num_key_value_heads=1, hidden_act="gelu", tie_word_embeddings=True), "another activation; one kv head; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("apertus1p5", "apertus1p5_text", gated(num_attention_heads=2, output_vocab_size=48), "apertus with a head of the first 48 of 64 tokens; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("arcee", "arcee", gated(attention_bias=True, mlp_bias=True, head_dim=6), "relu squared, not gated; biases; head_dim 6; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("ministral", "ministral", gated(num_hidden_layers=3, head_dim=6, sliding_window=11, layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
               "window 11 where layer_types says so; head_dim 6; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("ministral-window", "ministral", gated(num_hidden_layers=3, head_dim=4, sliding_window=11),
               "window 11 in 3 layers: exact zeros outside 31 tokens; bf16 weights", cone=31, length=LONG, stored=BF16),
    FamilyCase("seed-oss", "seed_oss", gated(head_dim=6), "biases on q, k, v alone, by default; head_dim 6; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("seed-oss-biases", "seed_oss", gated(head_dim=4, attention_bias=False, attention_out_bias=True, mlp_bias=True, tie_word_embeddings=True),
               "biases on all but q, k, v; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("internlm3", "internlm3", gated(head_dim=6, attention_bias=True, mlp_bias=True, rope_parameters=rope("dynamic", factor=3.0), max_position_embeddings=64),
               "biases; head_dim 6; dynamic scaling; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("glm", "glm", gated(head_dim=8, partial_rotary_factor=0.75, rope_parameters=None, rope_theta=700.0),
               "rotary on 6 of 8 dimensions, interleaved; fused gate and up; biases on q, k, v; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("glm-half", "glm", gated(head_dim=4, attention_bias=False, num_key_value_heads=1, tie_word_embeddings=True, rope_parameters=None, rope_theta=50.0),
               "half of the heads turned, by default; no biases; one kv head; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("glm4", "glm4", gated(head_dim=8, partial_rotary_factor=0.75, rope_parameters=None, rope_theta=700.0),
               "four norms a layer; rotary on 6 of 8 dimensions, interleaved; fused gate and up; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("ernie4-5", "ernie4_5", gated(head_dim=6, use_bias=True, tie_word_embeddings=True), "rotary, interleaved; biases everywhere; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("ernie4-5-plain", "ernie4_5", gated(head_dim=4, num_key_value_heads=1), "no biases; no rope_theta, which is 500000 then; bf16 weights", length=LONG, stored=BF16,
               written={"rope_parameters": None}),
    FamilyCase("helium", "helium", gated(head_dim=4, attention_bias=True, mlp_bias=True), "rotary, interleaved; biases on all but the output; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("helium-plain", "helium", gated(head_dim=4, num_key_value_heads=1, tie_word_embeddings=True), "no biases; no rope_theta, which is 100000 then; tied head; bf16 weights",
               length=LONG, stored=BF16, written={"rope_parameters": None}),
    FamilyCase("granite", "granite",
               gated(rms_norm_eps=3e-2, embedding_multiplier=5.5, residual_multiplier=0.22, attention_multiplier=0.3, logits_scaling=3.5, attention_bias=True, mlp_bias=True),
               "all four multipliers; an epsilon that counts; biases; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("granite-tied", "granite", gated(embedding_multiplier=0.5, residual_multiplier=2.5, tie_word_embeddings=True),
               "attention_multiplier and logits_scaling 1, by default; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("xglm", "xglm", dict(vocab_size=64, d_model=16, num_layers=2, attention_heads=4, ffn_dim=24, max_position_embeddings=128, bos_token_id=0, eos_token_id=0),
               "sinusoidal rows from 2 on, halves, over 7 steps; embeddings times 4; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("xglm-unscaled", "xglm",
               dict(vocab_size=64, d_model=24, num_layers=2, attention_heads=3, ffn_dim=20, max_position_embeddings=32, scale_embedding=False, activation_function="relu",
                    tie_word_embeddings=False, bos_token_id=0, eos_token_id=0),
               "scale_embedding false; more inputs than max_position_embeddings; relu; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("biogpt", "biogpt", tokens(intermediate_size=24), "learned rows from 2 on; embeddings times 4; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("biogpt-unscaled", "biogpt", tokens(hidden_size=24, num_attention_heads=3, intermediate_size=20, scale_embedding=False, hidden_act="relu", tie_word_embeddings=False),
               "scale_embedding false; relu; untied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("gemma3-text", "gemma3_text",
               gated(num_hidden_layers=3, head_dim=8, sliding_window=9, query_pre_attn_scalar=20, final_logit_softcapping=2.5, tie_word_embeddings=True,
                     layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                     rope_parameters={"full_attention": rope("linear", 3000.0, factor=4.0), "sliding_attention": rope(theta=90.0)}),
               "windows of 9 in the layers 0 and 2, turned with a base of their own; linear scaling of the other; norms of heads; (1+w) norms; scale 20^-1/2; soft cap 2.5; bf16 weights",
               length=LONG, stored=BF16),
    FamilyCase("gemma3-text-pattern", "gemma3_text",
               gated(num_hidden_layers=2, head_dim=6, num_key_value_heads=1, attention_bias=True, sliding_window=12, query_pre_attn_scalar=8,
                     tie_word_embeddings=False, hidden_activation="silu", rope_parameters=None),
               "older keys: sliding_window_pattern 2, rope_theta, rope_local_base_freq, rope_scaling; attention_bias; untied head; bf16 weights", length=LONG, stored=BF16,
               written={"layer_types": None, "rope_parameters": None, "sliding_window_pattern": 2, "rope_theta": 5000.0, "rope_local_base_freq": 70.0,
                        "rope_scaling": {"rope_type": "linear", "factor": 3.0}}, reload=False),
    FamilyCase("gemma3", "gemma3_text",
               gated(head_dim=4, sliding_window=9, query_pre_attn_scalar=20, tie_word_embeddings=False, rope_parameters=None,
                     layer_types=["sliding_attention", "full_attention"]),
               "in the text_config of a configuration, beside a vision tower; untied head; bf16 weights", length=LONG, stored=BF16, rewrite=beside_vision),
    FamilyCase("gemma3n-text", "gemma3n_text",
               gated(num_hidden_layers=4, head_dim=6, sliding_window=9, num_kv_shared_layers=2, rms_norm_eps=3e-2, hidden_size_per_layer_input=5, vocab_size_per_layer_input=40,
                     laurel_rank=3, altup_num_inputs=4, final_logit_softcapping=2.5, tie_word_embeddings=True, intermediate_size=[24, 20, 24, 18],
                     activation_sparsity_pattern=[0.8, 0.0, 0.6, 0.0], layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
                     rope_parameters={"full_attention": rope(theta=300.0), "sliding_attention": rope(theta=90.0)}),
               "4 residual streams; a branch of rank 3; gates cut in layers 1 and 3; inputs by layer of 5, of the first token for those from 40 on; the last 2 layers read the keys and "
               "values of the first 2; a window of 9; MLPs of 18 to 24; soft cap 2.5; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("gemma3n-text-pair", "gemma3n_text",
               gated(num_hidden_layers=2, head_dim=4, num_kv_shared_layers=0, hidden_size_per_layer_input=4, vocab_size_per_layer_input=64, laurel_rank=2, altup_num_inputs=2,
                     altup_active_idx=1, altup_correct_scale=False, hidden_activation="silu", layer_types=["full_attention", "full_attention"], rope_parameters=None),
               "2 residual streams, of which layers read the second; no correct_output_scale; silu; soft cap 30; untied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("gemma4-text", "gemma4_text",
               gated(num_hidden_layers=3, head_dim=6, global_head_dim=10, num_global_key_value_heads=1, attention_k_eq_v=True, sliding_window=9, attention_bias=True,
                     final_logit_softcapping=2.5, tie_word_embeddings=True, hidden_size_per_layer_input=0, layer_types=["sliding_attention", "full_attention", "full_attention"],
                     rope_parameters={"full_attention": rope("proportional", 300.0, partial_rotary_factor=0.5, factor=2.0), "sliding_attention": rope(theta=90.0)}),
               "heads of 10 without windows, of 6 in a window of 9; keys are values; 4 of 10 dimensions turned by proportional rates; norms of values; factors of layers; "
               "attention_bias; soft cap 2.5; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("gemma4-text-shared", "gemma4_text",
               gated(num_hidden_layers=6, head_dim=4, global_head_dim=8, sliding_window=7, hidden_size_per_layer_input=6, vocab_size_per_layer_input=64, num_kv_shared_layers=3,
                     use_double_wide_mlp=True, hidden_activation="silu", rope_parameters=None,
                     layer_types=["sliding_attention", "full_attention", "sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]),
               "the last 3 layers read the keys and values of layers 2 and 1; inputs by layer of 6; MLPs twice as wide there; the last of layer_types changed to full; global_head_dim; "
               "default rotations; untied head; bf16 weights", length=LONG, stored=BF16,
               rewrite=as_published_gemma4(global_head_dim=8)),
    FamilyCase("gemma4-text-experts", "gemma4_text",
               gated(num_hidden_layers=3, head_dim=6, global_head_dim=8, sliding_window=9, enable_moe_block=True, num_experts=5, top_k_experts=2, moe_intermediate_size=10,
                     rms_norm_eps=3e-2, num_kv_shared_layers=1, use_double_wide_mlp=True, hidden_size_per_layer_input=4, vocab_size_per_layer_input=64, rope_parameters=None,
                     layer_types=["sliding_attention", "full_attention", "full_attention"]),
               "2 of 5 experts beside each MLP, their input, their sum, the MLP's output and the router with norms of their own; factors of experts; the last layer reads the keys and "
               "values of layer 2, with an MLP twice as wide; inputs by layer of 4; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("gemma4-unified-text", "gemma4_unified_text",
               gated(num_hidden_layers=4, head_dim=6, global_head_dim=10, num_global_key_value_heads=1, attention_k_eq_v=True, sliding_window=9, num_kv_shared_layers=2,
                     use_double_wide_mlp=True, final_logit_softcapping=2.5, rope_parameters=None,
                     layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"]),
               "as gemma4-text without inputs by layer: heads of 10 without windows, of 6 in a window of 9; keys are values; the last 2 layers read those of the first 2; "
               "MLPs twice as wide there; soft cap 2.5; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("minicpm", "granite",
               gated(rms_norm_eps=3e-2, embedding_multiplier=5, residual_multiplier=0.9 / 2 ** 0.5, attention_multiplier=0.5, logits_scaling=16 / 6),
               "scale_emb 5, scale_depth 0.9 of 2 layers, dim_model_base 6 of 16: a granite with these multipliers; bf16 weights", length=LONG, stored=BF16, rewrite=as_minicpm),
    FamilyCase("internlm2", "llama",
               gated(num_hidden_layers=1, intermediate_size=12, rms_norm_eps=3e-2, attention_bias=True, max_position_embeddings=40, rope_parameters=rope("dynamic", factor=3.0)),
               "q, k, v in one matrix by groups of 2 queries, a key and a value; biases; rope scaling dynamic, 97 inputs for 40: a llama with these weights; bf16 weights",
               length=LONG, segments=1, stored=BF16, published=True, rewrite=as_internlm2),
    FamilyCase("exaone", "llama",
               gated(num_hidden_layers=1, intermediate_size=12, head_dim=6, rms_norm_eps=3e-2, hidden_act="gelu", tie_word_embeddings=True,
                     rope_parameters=rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)),
               "head_dim 6 with 4 = d/H; rope scaling llama3; gelu; tied head: a llama with these weights; bf16 weights", length=LONG, segments=1, stored=BF16, rewrite=as_exaone),
    FamilyCase("exaone-saved", "exaone",
               gated(num_hidden_layers=1, intermediate_size=12, head_dim=6, rms_norm_eps=3e-2, hidden_act="gelu", attention_bias=True, mlp_bias=True, rope_parameters=rope(theta=5e5)),
               "as transformers 5.24 saves it: its own keys, published names; head_dim 6 with 4 = d/H; gelu; biases; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("exaone-memory", "exaone", gated(num_hidden_layers=1, intermediate_size=12, rms_norm_eps=3e-2),
               "the same with names as in memory; base 700; bf16 weights", length=LONG, segments=1, stored=BF16, stacked=True),
    FamilyCase("baichuan", "llama",
               gated(num_hidden_layers=1, num_key_value_heads=4, intermediate_size=12, rms_norm_eps=3e-2, hidden_act="gelu", rope_parameters=rope(theta=10000.0)),
               "as the smaller of the first generation: q, k, v in one matrix, rotary positions with a stored buffer, a plain head: a llama with these weights; bf16 weights",
               length=LONG, segments=1, stored=BF16, published=True, rewrite=as_baichuan({"architectures": ["BaiChuanForCausalLM"]}, True)),
    FamilyCase("baichuan2-alibi", "llama",
               gated(hidden_size=12, num_hidden_layers=1, num_attention_heads=6, num_key_value_heads=6, intermediate_size=12, rms_norm_eps=3e-2),
               "as the larger of the second generation: ALiBi of 6 heads, a head with normalised rows: a llama that is not turned, under a mask; bf16 weights",
               length=LONG, segments=1, stored=BF16, published=True, oracle=as_baichuan2_13b, reload=False,
               rewrite=as_baichuan({"architectures": ["BaichuanForCausalLM"], "model_max_length": 128, "z_loss_weight": 0}, False)),
    FamilyCase("dbrx", "dbrx",
               dbrx({"kv_n_heads": 2, "clip_qkv": 0.9}, {"moe_num_experts": 5, "moe_top_k": 2, "ffn_act_fn": {"name": "gelu"}}, n_layers=1),
               "q, k, v in one matrix, clamped to 0.9; 2 of 5 experts, one below the other, normalised; gelu; the base of positions in attn_config alone; bf16 weights",
               length=LONG, segments=1, stored=BF16, rewrite=as_dbrx),
    FamilyCase("dbrx-plain", "dbrx", dbrx({"clip_qkv": 1e9}, {"moe_num_experts": 3, "moe_top_k": 2, "moe_normalize_expert_weights": None}, n_layers=1, n_heads=2),
               "one key and value for 2 heads, by default, not clamped; 2 of 3 experts, not normalised; names and keys as the library writes them; bf16 weights", length=48, segments=1, stored=BF16, rewrite=unclamped),
    FamilyCase("smollm3", "smollm3",
               gated(head_dim=6, attention_bias=True, mlp_bias=True, no_rope_layers=[1, 0], use_sliding_window=True, sliding_window=14),
               "layer 1 not turned, with a window of 14 there; biases; head_dim 6; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("smollm3-interval", "smollm3", gated(num_key_value_heads=1, no_rope_layer_interval=2, tie_word_embeddings=True, rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=24)),
               "every second layer not turned, by interval; yarn; no rope_layers in the file; tied head; bf16 weights", length=LONG, stored=BF16,
               written={"no_rope_layers": None}),
    FamilyCase("cohere", "cohere",
               without_rms(use_qk_norm=True, attention_bias=True, logit_scale=0.75, layer_norm_eps=2.0 ** -12),
               "parallel branches of one norm; norms of queries and keys with weights for each head; interleaved rotary; logits times 0.75; biases; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("cohere2", "cohere2", without_rms(attention_bias=True, logit_scale=1.5, sliding_window=11, layer_types=["sliding_attention", "full_attention"]),
               "a window of 11, turned, and a layer without either; logits times 1.5; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("cohere2-window", "cohere2", without_rms(num_key_value_heads=1, sliding_window=11, tie_word_embeddings=True),
               "windows of 11 in 2 layers, by sliding_window_pattern 5: exact zeros outside 21 tokens; tied head; bf16 weights", cone=21, length=LONG, stored=BF16,
               written={"layer_types": None, "sliding_window_pattern": 5}),
    FamilyCase("olmo2", "olmo2", gated(head_dim=6, attention_bias=True), "norms behind the branches; norms of all heads of queries, and of keys, as one; attention_bias; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("olmo3", "olmo3",
               gated(sliding_window=10, layer_types=["sliding_attention", "full_attention"],
                     rope_parameters={"full_attention": rope("yarn", factor=4.0, original_max_position_embeddings=24), "sliding_attention": rope(theta=700.0)}),
               "as olmo2, with a window of 10 in one layer, and yarn in the other alone; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("olmo3-window", "olmo3", gated(sliding_window=10, attention_bias=True, num_key_value_heads=4,
                                              rope_parameters={"full_attention": rope(theta=90.0), "sliding_attention": rope(theta=300.0)}),
               "windows in all but every fourth layer, by default: exact zeros outside 19 tokens; bf16 weights", cone=19, length=LONG, stored=BF16, written={"layer_types": None}),
    FamilyCase("exaone4", "exaone4", gated(head_dim=6, sliding_window=13, sliding_window_pattern=2),
               "norms behind the branches; norms of heads; a window of 13 in one layer, which alone is turned; head_dim 6; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("exaone4-full", "exaone4", gated(sliding_window=None, layer_types=["full_attention", "full_attention"], tie_word_embeddings=True),
               "no windows, and so all layers turned; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("hunyuan-v1-dense", "hunyuan_v1_dense", gated(head_dim=6, attention_bias=True), "norms of heads behind the rotation; attention_bias; head_dim 6; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("hunyuan-v1-dense-alpha", "hunyuan_v1_dense", gated(num_key_value_heads=1, head_dim=8, tie_word_embeddings=True, rope_parameters=rope("dynamic", 50.0, factor=1.0, alpha=30.0)),
               "dynamic scaling with alpha, which is another base; one kv head; tied head; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("ministral3", "ministral3",
               gated(head_dim=8, rope_parameters={**rope("yarn", factor=4.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=1.0), "llama_4_scaling_beta": 0.8}),
               "queries times 1 + 0.8 ln(1 + floor(i / 16)); yarn; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("ministral3-window", "ministral3",
               gated(head_dim=4, sliding_window=11, tie_word_embeddings=True,
                     rope_parameters={**rope("default", original_max_position_embeddings=7), "llama_4_scaling_beta": 0.3}),
               "window 11 in 2 layers: exact zeros outside 21 tokens; tied head; bf16 weights", cone=21, length=LONG, stored=BF16),
    FamilyCase("granite-swa", "granite_swa",
               gated(num_hidden_layers=3, rms_norm_eps=3e-2, embedding_multiplier=5.5, residual_multiplier=0.22, attention_multiplier=0.3, logits_scaling=3.5, attention_bias=True,
                     mlp_bias=True, sliding_window=9, layer_rope_theta=[0, 700.0, 30.0]),
               "sinks; windows of 9 in all layers but the first, which is not turned, another base in layer 2; all four multipliers; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("granite-swa-window", "granite_swa",
               gated(num_hidden_layers=2, num_key_value_heads=1, attention_multiplier=0.5, sliding_window=12, layer_types=["sliding_attention", "sliding_attention"], tie_word_embeddings=True),
               "sinks; windows of 12 in both layers: exact zeros outside 23 tokens; tied head; bf16 weights", cone=23, length=LONG, stored=BF16),
    FamilyCase("cwm", "cwm", gated(head_dim=6, sliding_window=10, rope_parameters=rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=48)),
               "windows of 10 in all layers but every fourth, from the first on; llama3; bf16 weights", length=LONG, stored=BF16, written={"layer_types": None}),
    FamilyCase("stablelm-head-norms", "stablelm",
               tokens(num_attention_heads=4, num_key_value_heads=2, intermediate_size=20, layer_norm_eps=3e-4, qk_layernorm=True, use_parallel_residual=True,
                      partial_rotary_factor=0.5, rope_theta=700.0),
               "qk_layernorm: a norm for each head; parallel residual; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("olmo-clip", "olmo", without_rms(clip_qkv=0.9),
               "queries, keys and values clamped to 0.9, then turned; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("phi3-longrope", "phi3",
               gated(num_attention_heads=2, num_key_value_heads=1, original_max_position_embeddings=32, max_position_embeddings=128,
                     rope_parameters=rope("longrope", partial_rotary_factor=0.75, short_factor=[1.0, 1.3, 1.9], long_factor=[1.0, 3.5, 7.0])),
               "longrope, 97 inputs for an original length of 32: the long factors; 6 of 8 dimensions; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("phi3-longrope-short", "phi3",
               gated(num_attention_heads=2, original_max_position_embeddings=97, max_position_embeddings=400,
                     rope_parameters=rope("longrope", short_factor=[1.0, 1.3, 1.9, 2.5], long_factor=[1.0, 3.5, 7.0, 9.0])),
               "longrope with as many inputs as the original length: the short factors; type su, older keys; bf16 weights", length=LONG, stored=BF16,
               written={"rope_parameters": None, "rope_theta": 700.0,
                        "rope_scaling": {"type": "su", "original_max_position_embeddings": 97, "short_factor": [1.0, 1.3, 1.9, 2.5], "long_factor": [1.0, 3.5, 7.0, 9.0]}}),
    FamilyCase("llama-rope-longrope", "llama",
               gated(rope_parameters=rope("longrope", factor=6.0, original_max_position_embeddings=40, short_factor=[1.0, 1.3], long_factor=[2.0, 5.0])),
               "rope scaling longrope with a factor, 97 inputs for an original length of 40; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("mixtral", "mixtral", experts(num_local_experts=6, head_dim=6), "6 experts, 2 of them chosen; head_dim 6; experts apart; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("mixtral-stacked", "mixtral", experts(num_local_experts=5, num_experts_per_tok=3, num_hidden_layers=3, rms_norm_eps=1e-2, sliding_window=12, tie_word_embeddings=True),
               "3 of 5 experts, stacked; window 12 in 3 layers: exact zeros outside 34 tokens; tied head; bf16 weights", cone=34, length=LONG, stored=BF16, stacked=True),
    FamilyCase("mixtral-all", "mixtral", experts(num_local_experts=4, num_experts_per_tok=4), "all of 4 experts; float32 weights", length=LONG),
    FamilyCase("qwen2-moe", "qwen2_moe", experts(num_experts=7, moe_intermediate_size=10, shared_expert_intermediate_size=14, num_hidden_layers=3, mlp_only_layers=[1]),
               "2 of 7 experts, not normalised, beside a shared one with a gate; layer 1 without experts; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("qwen2-moe-all", "qwen2_moe", experts(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, shared_expert_intermediate_size=6),
               "2 of 4 experts in all layers, not normalised, beside a shared one with a gate; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("qwen2-moe-step", "qwen2_moe",
               experts(num_experts=4, num_experts_per_tok=3, moe_intermediate_size=12, shared_expert_intermediate_size=8, decoder_sparse_step=2, norm_topk_prob=True, qkv_bias=False,
                       use_sliding_window=True, sliding_window=9, layer_types=["full_attention", "sliding_attention"], tie_word_embeddings=True),
               "3 of 4 experts, stacked, normalised, in layer 1 alone, by decoder_sparse_step; no biases; window 9 in layer 1; tied head; bf16 weights",
               length=LONG, stored=BF16, stacked=True),
    FamilyCase("qwen3-moe", "qwen3_moe", experts(num_experts=8, num_experts_per_tok=3, moe_intermediate_size=10, head_dim=6, attention_bias=True, norm_topk_prob=True),
               "3 of 8 experts, normalised; norms of heads; biases; num_experts beside num_local_experts; bf16 weights", length=LONG, stored=BF16, written={"num_experts": 8}),
    FamilyCase("qwen3-moe-window", "qwen3_moe",
               experts(num_experts=5, num_experts_per_tok=1, moe_intermediate_size=12, num_hidden_layers=3, mlp_only_layers=[0], use_sliding_window=True, sliding_window=15),
               "1 of 5 experts, not normalised; layer 0 without; window 15 in 3 layers: exact zeros outside 43 tokens; bf16 weights", cone=43, length=LONG, stored=BF16),
    FamilyCase("glm4-moe", "glm4_moe",
               experts(n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=10, n_shared_experts=2, n_group=4, topk_group=2, routed_scaling_factor=2.5, use_qk_norm=True,
                       attention_bias=True, head_dim=8, rope_parameters=rope(partial_rotary_factor=0.75)),
               "3 of 8 experts in 2 of 4 groups, by a corrected score, normalised and scaled; 2 shared ones; layer 0 without; norms of heads; biases; bf16 weights",
               length=LONG, stored=BF16),
    FamilyCase("glm4-moe-plain", "glm4_moe",
               experts(n_routed_experts=6, moe_intermediate_size=8, norm_topk_prob=False, first_k_dense_replace=0, tie_word_embeddings=True, rope_parameters=None, rope_theta=50.0),
               "2 of 6 experts, stacked, not normalised, no groups; one shared; none without; half of the heads turned, by default; tied head; bf16 weights",
               length=LONG, stored=BF16, stacked=True),
    FamilyCase("phimoe", "phimoe",
               experts(num_local_experts=5, router_jitter_noise=0.3, attention_bias=True, lm_head_bias=True, num_hidden_layers=1,
                       rope_parameters=rope("longrope", original_max_position_embeddings=40, short_factor=[1.0, 1.3], long_factor=[2.0, 5.0], short_mscale=1.1, long_mscale=1.3)),
               "2 of 5 experts, each with a softmax over those that are near it; layer norms with biases; biases, also of the head; longrope, 97 inputs for an original length of 40: "
               "the long factors, as the published code has it, and long_mscale; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("phimoe-stacked", "phimoe",
               experts(num_local_experts=4, intermediate_size=6, sliding_window=12, tie_word_embeddings=True, router_jitter_noise=0.15,
                       rope_parameters=rope("longrope", original_max_position_embeddings=97, short_factor=[1.0, 1.3], long_factor=[2.0, 5.0], short_mscale=1.1, long_mscale=1.3)),
               "2 of 4 experts, stacked; window 12 in 2 layers: exact zeros outside 23 tokens; longrope with as many inputs as the original length: the short factors and short_mscale; "
               "tied head; older keys; bf16 weights", cone=23, length=LONG, stored=BF16, stacked=True,
               written={"rope_parameters": None, "original_max_position_embeddings": None, "rope_theta": 700.0,
                        "rope_scaling": {"type": "longrope", "original_max_position_embeddings": 97, "short_factor": [1.0, 1.3], "long_factor": [2.0, 5.0], "short_mscale": 1.1, "long_mscale": 1.3}}),
    FamilyCase("phimoe-plain", "phimoe",
               experts(num_local_experts=2, num_hidden_layers=1, intermediate_size=8, num_attention_heads=2, num_key_value_heads=1, hidden_act="relu"),
               "both of 2 experts; router_jitter_noise by default; relu; bf16 weights", length=48, stored=BF16),
    FamilyCase("granitemoe", "granitemoe",
               experts(num_local_experts=5, embedding_multiplier=5.5, residual_multiplier=0.22, attention_multiplier=0.3, logits_scaling=3.5, attention_bias=True),
               "2 of 5 experts, stacked; all four multipliers; biases; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("gpt-oss", "gpt_oss",
               experts(num_local_experts=5, num_experts_per_tok=3, head_dim=6, sliding_window=9, num_hidden_layers=3,
                       rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=24, truncate=False)),
               "sinks; windows of 9 in every other layer; 3 of 5 experts with biases, their clamped activation, gate and up taking turns; yarn, not truncated; bf16 weights",
               length=LONG, stored=BF16, gain=6),
    FamilyCase("gpt-oss-plain", "gpt_oss",
               experts(num_local_experts=4, num_experts_per_tok=4, num_key_value_heads=4, attention_bias=False, sliding_window=12, tie_word_embeddings=True,
                       layer_types=["sliding_attention", "sliding_attention"]),
               "all of 4 experts; windows of 12 in both layers: exact zeros outside 23 tokens; no biases of attention; tied head; bf16 weights",
               cone=23, length=LONG, stored=BF16),
    FamilyCase("olmoe", "olmoe", experts(num_experts=6, norm_topk_prob=True, attention_bias=True, clip_qkv=0.9, hidden_size=24, head_dim=6),
               "2 of 6 experts, normalised; norms of all heads as one, then queries, keys and values clamped to 0.9, then turned; attention_bias; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("olmoe-plain", "olmoe", experts(num_experts=5, num_experts_per_tok=3, num_key_value_heads=4, tie_word_embeddings=True),
               "3 of 5 experts, stacked, not normalised, by default; no clamp; tied head; bf16 weights", length=LONG, stored=BF16, stacked=True),
    FamilyCase("granitemoe-names", "granitemoe", experts(num_local_experts=3, num_experts_per_tok=1, residual_multiplier=0.5, embedding_multiplier=5.5, attention_multiplier=0.25,
                                                               logits_scaling=3.5),
               "1 of 3 experts, stacked under other names; multipliers that are short numbers; bf16 weights", length=LONG, stored=BF16, stacked=True),
    FamilyCase("iquestcoder", "iquestcoder", gated(num_hidden_layers=1, head_dim=6, intermediate_size=12, attention_bias=True, mlp_bias=True, tie_word_embeddings=True), "as llama; biases; head_dim 6; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("vaultgemma", "vaultgemma",
               gated(head_dim=6, intermediate_size=12, sliding_window=9, query_pre_attn_scalar=20, attn_logit_softcapping=4.0, final_logit_softcapping=2.5, attention_bias=True, tie_word_embeddings=True,
                     hidden_activation="gelu_pytorch_tanh"),
               "two norms with 1 + w, both caps; a window of 9 in every other layer; attention_bias; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("hyperclovax", "hyperclovax",
               gated(rms_norm_eps=3e-2, intermediate_size=12, embedding_multiplier=5.5, residual_multiplier=0.22, attention_multiplier=0.3, logits_scaling=0.7, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
               "norms behind the branches; all four multipliers, that of logits a factor; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("nanochat", "nanochat", tokens(num_key_value_heads=2, intermediate_size=12, rms_norm_eps=2e-2, final_logit_softcapping=3.0, attention_bias=True, rope_parameters=rope(), tie_word_embeddings=True),
               "norms without parameters, also on embeddings; heads turned backwards, then normalised; relu squared; a cap of 3 on logits; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("jais2", "jais2", without_rms(num_hidden_layers=1, head_dim=6, intermediate_size=12, layer_norm_eps=2e-2, tie_word_embeddings=True), "layer norms; relu squared, not gated; biases everywhere; head_dim 6; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("persimmon", "persimmon", tokens(num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, layer_norm_eps=2e-2, partial_rotary_factor=0.75, rope_theta=700.0, tie_word_embeddings=True),
               "layer norms of heads; 6 of 8 dimensions turned; fused q, k, v by heads; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("gpt-neox-japanese", "gpt_neox_japanese",
               tokens(num_attention_heads=2, intermediate_multiple_size=2, layer_norm_eps=2e-2, rope_parameters=rope(partial_rotary_factor=0.75)),
               "a bias of attention in the last layer alone; an MLP twice as wide; 6 of 8 dimensions turned; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("openai-gpt", "openai-gpt", dict(vocab_size=64, n_positions=97, n_embd=8, n_layer=2, n_head=2, layer_norm_epsilon=2e-2),
               "norms of the sums; no last norm; gelu that is its tanh form; learned positions; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("ctrl", "ctrl", dict(vocab_size=64, n_positions=97, n_embd=8, n_layer=2, n_head=2, dff=24, layer_norm_epsilon=2e-2),
               "sinusoidal positions, closed halves; embeddings times sqrt(8); an epsilon for the last norm alone; a head with a bias, tied; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("hunyuan-v1-moe", "hunyuan_v1_moe", experts(num_hidden_layers=1, num_experts=3, moe_topk=2, num_experts_per_tok=2, intermediate_size=8, head_dim=6, attention_bias=True, tie_word_embeddings=True),
               "2 of 3 experts beside a shared one; moe_topk a list; norms of heads behind the rotation; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16, written={"moe_topk": [2]}),
    FamilyCase("granitemoeshared", "granitemoeshared",
               experts(num_local_experts=3, intermediate_size=8, shared_intermediate_size=6, embedding_multiplier=5.5, residual_multiplier=0.22, attention_multiplier=0.3, logits_scaling=3.5, attention_bias=True, tie_word_embeddings=True),
               "2 of 3 experts, stacked, beside a shared one; all four multipliers; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("granitemoe-swa", "granitemoe_swa",
               experts(num_local_experts=3, num_experts_per_tok=1, intermediate_size=8, shared_intermediate_size=6, residual_multiplier=0.5, attention_multiplier=0.3, sliding_window=9, layer_rope_theta=[0, 70.0], tie_word_embeddings=True),
               "sinks; a window of 9 in layer 1, layer 0 not turned; 1 of 3 experts beside a shared one; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("flex-olmo", "flex_olmo", experts(num_hidden_layers=1, num_experts=3, intermediate_size=8, norm_topk_prob=True, attention_bias=True, tie_word_embeddings=True),
               "norms behind the branches, norms of all heads; 2 of 3 experts, normalised; attention_bias; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("dots1", "dots1",
               experts(n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, n_shared_experts=2, n_group=2, topk_group=1, routed_scaling_factor=2.5, norm_topk_prob=True, first_k_dense_replace=1,
                       sliding_window=9, max_window_layers=1, attention_bias=True, tie_word_embeddings=True),
               "2 of 4 experts in 1 of 2 groups, corrected, normalised and scaled; 2 shared ones; layer 0 without; a window of 9 in layer 1; norms of heads; biases; tied head; bf16 weights",
               length=LONG, segments=1, stored=BF16, written={"layer_types": None}),
    FamilyCase("solar-open", "solar_open",
               experts(num_hidden_layers=1, n_routed_experts=4, moe_intermediate_size=8, n_group=2, topk_group=2, routed_scaling_factor=0.7, norm_topk_prob=False, attention_bias=True, head_dim=6, tie_word_embeddings=True),
               "2 of 4 experts, corrected, not normalised, scaled; one shared; head_dim 6; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("exaone-moe", "exaone_moe",
               experts(num_experts=4, moe_intermediate_size=8, mlp_layer_types=["sparse", "dense"], sliding_window=11, sliding_window_pattern=2, head_dim=6, tie_word_embeddings=True),
               "2 of 4 experts, corrected, normalised and scaled, in layer 0 alone, by mlp_layer_types; one shared; a window of 11 in layer 0, which alone is turned; norms of heads; tied head; bf16 weights",
               length=LONG, segments=1, stored=BF16),
    FamilyCase("hy-v3", "hy_v3", experts(num_experts=3, moe_intermediate_size=8, router_scaling_factor=1.7, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
               "2 of 3 experts, corrected, normalised and scaled; one shared, with biases; layer 0 without, by default; norms of heads; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16,
               written={"mlp_layer_types": None}),
    FamilyCase("minimax-m2", "minimax_m2", experts(num_hidden_layers=1, num_local_experts=3, intermediate_size=8, head_dim=8, rotary_dim=6, tie_word_embeddings=True, rope_parameters=None, rope_theta=700.0),
               "2 of 3 experts, corrected and normalised; norms of all heads as one; rotary_dim 6 of 8; tied head; bf16 weights", length=LONG, segments=1, stored=BF16, written={"rope_parameters": None, "rope_theta": 700.0, "rotary_dim": 6}),
    FamilyCase("flint", "flint",
               experts(num_experts=3, moe_intermediate_size=8, shared_expert_intermediate_size=6, mlp_only_layers=[0], layer_types=["sliding_attention", "full_attention"], sliding_window=9, norm_topk_prob=False, attention_bias=True, tie_word_embeddings=True),
               "sinks; a window of 9 in layer 0, which alone is turned; 2 of 3 experts by sigma, not normalised, in layer 1, beside a shared one; norms of heads; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("mellum", "mellum",
               experts(num_local_experts=3, moe_intermediate_size=8, mlp_layer_types=["dense", "sparse"], layer_types=["sliding_attention", "full_attention"], sliding_window=9, norm_topk_prob=False, attention_bias=True, tie_word_embeddings=True,
                       rope_parameters={"full_attention": rope("yarn", theta=300.0, factor=4.0, original_max_position_embeddings=24), "sliding_attention": rope(theta=70.0)}),
               "2 of 3 experts, not normalised, in layer 1; a window of 9 in layer 0, yarn in the other alone; norms of heads; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("aria-text", "aria_text", {key: value for key, value in experts(num_hidden_layers=1, moe_num_experts=3, moe_topk=2, moe_num_shared_experts=2, intermediate_size=8, attention_bias=True, mlp_bias=True, tie_word_embeddings=True).items() if key != "num_experts_per_tok"},
               "2 of 3 experts, stacked and stored [in, out], beside 2 shared ones with biases; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("ernie4-5-moe", "ernie4_5_moe",
               {key: value for key, value in experts(moe_num_experts=3, moe_k=2, moe_intermediate_size=8, moe_num_shared_experts=1, moe_layer_start_index=0, moe_layer_end_index=0, tie_word_embeddings=True).items() if key != "num_experts_per_tok"},
               "2 of 3 experts by corrected softmax, normalised, in layer 0 alone, by moe_layer_end_index; one shared; interleaved rotary; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("ernie4-5-moe-one", "ernie4_5_moe",
               {key: value for key, value in experts(num_hidden_layers=1, moe_num_experts=1, moe_k=1, moe_intermediate_size=8, moe_num_shared_experts=1).items() if key != "num_experts_per_tok"},
               "one expert, whose correction is a matrix of one row and one column; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("qwen2-vl", "qwen2_vl_text",
               tokens(num_attention_heads=2, num_key_value_heads=1, intermediate_size=20, rms_norm_eps=2e-5, use_sliding_window=True, sliding_window=20, max_window_layers=1,
                      rope_parameters=sections(2, 1, 1)),
               "the language model of a Qwen2-VL, its keys and names among the others as in older files; mrope; window 20 from layer 1 on; bf16 weights", outer="qwen2_vl", length=LONG, stored=BF16,
               rewrite=as_older_qwen2_vl),
    FamilyCase("qwen3-vl", "qwen3_vl_text", gated(head_dim=6, attention_bias=True, tie_word_embeddings=True, rope_parameters=sections(1, 1, 1, mrope_interleaved=True)),
               "the language model of a Qwen3-VL; mrope, interleaved; norms of heads; biases; head_dim 6; tied head, said beside text_config; bf16 weights", outer="qwen3_vl", length=LONG, stored=BF16),
    FamilyCase("qwen3-vl-moe", "qwen3_vl_moe_text",
               experts(num_experts=5, moe_intermediate_size=10, head_dim=6, num_hidden_layers=3, mlp_only_layers=[0], rope_parameters=sections(1, 1, 1, mrope_interleaved=True)),
               "the language model of a Qwen3-VL with 2 of 5 experts, stacked [in, out]; layer 0 without; mrope; bf16 weights", outer="qwen3_vl_moe", length=LONG, segments=1, stored=BF16),
    FamilyCase("qwen3-omni-moe", "qwen3_omni_moe_text",
               {key: value for key, value in experts(num_experts=4, moe_intermediate_size=6, attention_bias=True, decoder_sparse_step=2, norm_topk_prob=False, rope_parameters=sections(1, 1, 0)).items()
                if key != "head_dim"},
               "the language model of a Qwen3-Omni's thinker with 2 of 4 experts, not normalised, in layer 1 alone; mrope; biases; bf16 weights", outer="qwen3_omni_moe_thinker", length=LONG, segments=1,
               stored=BF16, rewrite=as_thinker),
    FamilyCase("glm4v", "glm4v_text", tokens(num_attention_heads=2, num_key_value_heads=1, intermediate_size=20, rms_norm_eps=2e-5, rope_parameters=sections(1, 1, 0, partial_rotary_factor=0.5)),
               "the language model of a GLM-4.1V; mrope of half a head, interleaved pairs; four norms; biases; bf16 weights", outer="glm4v", length=LONG, stored=BF16),
    FamilyCase("glm4v-moe", "glm4v_moe_text",
               {key: value for key, value in experts(n_routed_experts=6, num_attention_heads=2, num_key_value_heads=1, moe_intermediate_size=8, n_shared_experts=2, n_group=2, topk_group=1,
                                                      routed_scaling_factor=1.7, attention_bias=False, rope_parameters=sections(1, 1, 0, partial_rotary_factor=0.5)).items() if key != "head_dim"},
               "the language model of a GLM-4.5V: 2 of 6 experts in one of 2 groups, 2 shared ones; layer 0 without; mrope of half a head; bf16 weights", outer="glm4v_moe", length=LONG, segments=1, stored=BF16),
    FamilyCase("meta-llama2", "llama", tokens(num_key_value_heads=4, intermediate_size=44, rms_norm_eps=2e-5, tie_word_embeddings=False, rope_parameters=rope(theta=10000.0)),
               "Meta's files of two ranks, the embedding shared by columns; a vocabulary of -1; bf16 weights", length=LONG, stored=BF16,
               rewrite=as_meta({"multiple_of": 4, "vocab_size": -1}, 2, False)),
    FamilyCase("meta-llama3", "llama",
               gated(intermediate_size=56, rope_parameters=rope("llama3", 50.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)),
               "Meta's files of two ranks, the embedding shared by rows; grouped heads; ffn_dim_multiplier; use_scaled_rope; bf16 weights", length=LONG, stored=BF16,
               rewrite=as_meta({"n_kv_heads": 2, "multiple_of": 8, "ffn_dim_multiplier": 1.3, "vocab_size": 64, "rope_theta": 50.0, "use_scaled_rope": True}, 2, True)),
    FamilyCase("meta-llama32", "llama",
               gated(intermediate_size=40, tie_word_embeddings=True, rope_parameters=rope("llama3", 50.0, factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)),
               "Meta's file of one rank whose head is the embedding, so use_scaled_rope means Llama 3.2's factor 32; names of a compiled model in DataParallel, in a state_dict; bf16 weights", length=LONG, segments=1, stored=BF16,
               rewrite=as_meta({"n_kv_heads": 2, "multiple_of": 8, "ffn_dim_multiplier": 0.9, "vocab_size": 64, "rope_theta": 50.0, "use_scaled_rope": True}, 1, True, wrapped=True)),
    FamilyCase("llama4-text", "llama4_text",
               experts(num_local_experts=4, intermediate_size=8, intermediate_size_mlp=12, num_hidden_layers=3, moe_layers=[0, 2], no_rope_layers=[1, 0, 1], attention_bias=True, head_dim=6,
                       attention_chunk_size=100, floor_scale=9, attn_scale=0.4, rope_parameters=rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)),
               "2 of 4 experts whose inputs are scaled, and a shared one, in layers 0 and 2; layer 1 not turned, its queries by their position; norms behind the rotation; biases; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("llama4-text-plain", "llama4_text",
               experts(num_local_experts=3, num_experts_per_tok=1, intermediate_size=8, intermediate_size_mlp=12, interleave_moe_layer_step=2, no_rope_layer_interval=2, use_qk_norm=False,
                       attention_chunk_size=None, attn_temperature_tuning=False, num_key_value_heads=1, tie_word_embeddings=True),
               "1 of 3 experts in layer 1 alone, by interleave_moe_layer_step; that layer not turned, by no_rope_layer_interval; no norms, chunks or temperature; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("llama4-text-chunks", "llama4_text",
               experts(num_local_experts=2, num_experts_per_tok=1, intermediate_size=8, intermediate_size_mlp=12, num_hidden_layers=3, moe_layers=[1], no_rope_layers=[1, 0, 1],
                       attention_chunk_size=19, floor_scale=9, attn_scale=0.4, head_dim=6),
               "layers 0 and 2 in chunks of 19, of which the segment has five and a part; layer 1 sees all keys; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("llama4-text-cone", "llama4_text",
               experts(num_local_experts=2, num_experts_per_tok=1, intermediate_size=8, intermediate_size_mlp=12, num_hidden_layers=2, moe_layers=[], no_rope_layers=[1, 0],
                       layer_types=["chunked_attention", "chunked_attention"], attention_chunk_size=40, head_dim=6, num_key_value_heads=1, tie_word_embeddings=True),
               "both layers, one of them not turned, in chunks of 40: the last output depends on the last 17 inputs alone; bf16 weights", cone=17, length=LONG, segments=1, stored=BF16),
    FamilyCase("sarvam-moe", "sarvam_moe",
               experts(n_routed_experts=6, moe_intermediate_size=8, n_shared_experts=2, n_group=2, topk_group=1, routed_scaling_factor=1.7, attention_bias=True, head_dim=6),
               "fused q, k, v and other names of published files; 2 of 6 experts in one of 2 groups, 2 shared ones; layer 0 without; norms of heads; biases; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("sarvam-moe-plain", "sarvam_moe",
               experts(n_routed_experts=4, moe_intermediate_size=8, first_k_dense_replace=0, use_qk_norm=False, norm_topk_prob=False, num_key_value_heads=1, tie_word_embeddings=True),
               "2 of 4 experts, not normalised, in all layers; no norms of heads; tied head; names as in memory; bf16 weights", length=LONG, segments=1, stored=BF16, stacked=True),
    FamilyCase("nanogpt", "gpt2", dict(vocab_size=53, n_positions=48, n_embd=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0, activation_function="gelu"),
               "nanoGPT's ckpt.pt: biases; gelu; matrices stored [out, in]", rewrite=as_nanogpt(True), file="ckpt.pt"),
    FamilyCase("nanogpt-plain", "gpt2", dict(vocab_size=53, n_positions=48, n_embd=12, n_layer=3, n_head=2, bos_token_id=0, eos_token_id=0, activation_function="gelu"),
               "nanoGPT's ckpt.pt without biases, of a compiled model", oracle=without_biases, rewrite=as_nanogpt(False, True), file="ckpt.pt"),
]

from latent_cases import LATENT_CASES       # noqa: E402: it takes what is above
from convolution_cases import CONVOLUTION_CASES     # noqa: E402
from recurrence_cases import RECURRENCE_CASES       # noqa: E402
from scan_cases import SCAN_CASES       # noqa: E402

FAMILY_CASES += LATENT_CASES + CONVOLUTION_CASES + RECURRENCE_CASES + SCAN_CASES
