"""The example models whose blocks carry states in place of attention, in PyTorch, and their export.

Mamba-2 (Dao and Gu, arXiv 2405.21060), gated DeltaNet (Yang et al., 2412.06464) and lightning attention
(Qin et al., 2401.04658), each over a whole segment at once: a product of queries and keys [L, L], masked by
the decays between the two rows, and for the delta rule a triangular system. A segment of training is short,
so this costs no more than attention. The exported folders are of types that transformers has, so that it can
check them: `granitemoehybrid` (Mamba-2, alone or beside attention without positions), `qwen3_5_text` (gated
DeltaNet) and `minimax` (lightning attention, an MLP being its only expert).
"""

import json
import math
import os

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

from decoder import NORM_EPSILON, Linear, product

CONVOLUTION = 4         # rows that the short convolutions read
STATE = 64              # of Mamba-2: keys and queries, shared by all heads
LIGHTNING_BLOCK = 16    # rows at a time in transformers, which says nothing of the result


# --- parts ----------------------------------------------------------------------------------------

class Norm(nn.Module):
    """RMSNorm with the weight `offset` + weight, from 1."""

    def __init__(self, width, offset=0, epsilon=NORM_EPSILON):
        super().__init__()
        self.offset, self.epsilon = offset, epsilon
        self.weight = nn.Parameter(torch.full((width,), 1.0 - offset))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * (self.weight + self.offset)


class Convolution(nn.Module):
    """Causal convolution of each channel over the last CONVOLUTION rows, with silu."""

    def __init__(self, channels, biased):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels, 1, CONVOLUTION).uniform_(-0.5, 0.5))
        self.bias = nn.Parameter(torch.zeros(channels)) if biased else None

    def forward(self, x):
        """x [B, L, channels]."""
        rows = F.pad(x, (0, 0, CONVOLUTION - 1, 0))
        y = sum(rows[:, k:k + x.shape[1]] * self.weight[:, 0, k] for k in range(CONVOLUTION))
        return F.silu(y if self.bias is None else y + self.bias)


def initial_decays(heads):
    """A_log and dt_bias of Mamba-2 before training: A uniform in [1, 16], softplus(dt_bias) log-uniform in [0.001, 0.1]."""
    step = torch.exp(torch.empty(heads).uniform_(math.log(0.001), math.log(0.1)))
    return nn.Parameter(torch.empty(heads).uniform_(1, 16).log()), nn.Parameter(step + torch.log(-torch.expm1(-step)))


def decays_between(log_decay):
    """log_decay [B, L, H] of each row -> [B, H, L, L]: what is left at row i of what row j wrote; 0 for j > i."""
    total = log_decay.cumsum(1).transpose(1, 2)
    later = torch.ones(total.shape[-1], total.shape[-1], dtype=torch.bool, device=total.device).triu(1)
    return (total[..., :, None] - total[..., None, :]).masked_fill(later, -math.inf).exp()


# --- mixers: x [B, L, hidden] -> [B, L, hidden] ---------------------------------------------------

class Attention(nn.Module):
    """Causal attention without positions and without biases."""

    stem = "self_attn"

    def __init__(self, shape, _):
        super().__init__()
        self.heads = shape.heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (Linear(shape.hidden, shape.hidden, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (p(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Mamba2(nn.Module):
    """Mamba-2 as wide as the model: values in heads, one key and one query of STATE for all of them."""

    stem = "mamba"

    def __init__(self, shape, _):
        super().__init__()
        self.heads, self.width = shape.heads, shape.hidden
        self.in_proj = Linear(shape.hidden, 2 * shape.hidden + 2 * STATE + shape.heads, bias=False)
        self.conv1d = Convolution(shape.hidden + 2 * STATE, True)
        self.A_log, self.dt_bias = initial_decays(shape.heads)
        self.D = nn.Parameter(torch.ones(shape.heads))
        self.norm = Norm(shape.hidden)
        self.out_proj = Linear(shape.hidden, shape.hidden, bias=False)

    def forward(self, x):
        gate, rows, step = self.in_proj(x).split([self.width, self.width + 2 * STATE, self.heads], -1)
        values, keys, queries = self.conv1d(rows).split([self.width, STATE, STATE], -1)
        step = F.softplus(step + self.dt_bias)
        values = values.unflatten(-1, (self.heads, -1)).transpose(1, 2)             # [B, H, L, P]
        weights = (queries @ keys.transpose(1, 2))[:, None] * decays_between(-self.A_log.exp() * step)
        y = weights @ (values * step.transpose(1, 2)[..., None]) + self.D[:, None, None] * values
        return self.out_proj(self.norm(y.transpose(1, 2).flatten(2) * F.silu(gate)))


class GatedDeltaNet(nn.Module):
    """Gated DeltaNet: a row writes what its value differs by from the value that its key reads, times beta."""

    stem = "linear_attn"

    def __init__(self, shape, _):
        super().__init__()
        self.heads, width = shape.heads, shape.hidden
        self.in_proj_qkv, self.in_proj_z = Linear(width, 3 * width, bias=False), Linear(width, width, bias=False)
        self.in_proj_b, self.in_proj_a = (Linear(width, shape.heads, bias=False) for _ in range(2))
        self.conv1d = Convolution(3 * width, False)
        self.A_log, self.dt_bias = initial_decays(shape.heads)
        self.norm = Norm(width // shape.heads)
        self.out_proj = Linear(width, width, bias=False)

    def forward(self, x):
        q, k, v = self.conv1d(self.in_proj_qkv(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)     # [B, H, L, N] each
        q, k = (p * torch.rsqrt(p.square().sum(-1, keepdim=True) + 1e-6) for p in (q, k))
        beta = self.in_proj_b(x).sigmoid().transpose(1, 2)[..., None]
        decays = decays_between(-self.A_log.exp() * F.softplus(self.in_proj_a(x) + self.dt_bias))
        # row i writes beta_i (v_i - sum over j < i of decays_ij (k_i . k_j) written_j)
        written = torch.linalg.solve_triangular(beta * (k @ k.transpose(2, 3)) * decays, beta * v, upper=False, unitriangular=True)
        y = (q @ k.transpose(2, 3) * decays * q.shape[-1] ** -0.5) @ written
        gate = self.in_proj_z(x).unflatten(-1, (self.heads, -1))
        return self.out_proj((self.norm(y.transpose(1, 2)) * F.silu(gate)).flatten(2))


class Lightning(nn.Module):
    """Lightning attention: the decay of each head is fixed, slower in later blocks."""

    stem = "self_attn"

    def __init__(self, shape, block):
        super().__init__()
        self.heads, width = shape.heads, shape.hidden
        self.slopes = [2 ** (-8 * h / self.heads) * (1 - block / (shape.layers - 1 + 1e-5) + 1e-5) for h in range(1, self.heads + 1)]
        self.qkv_proj, self.output_gate = Linear(width, 3 * width, bias=False), Linear(width, width, bias=False)
        self.norm = Norm(width, epsilon=1e-6)       # transformers' own, whatever the configuration says
        self.out_proj = Linear(width, width, bias=False)

    def forward(self, x):
        q, k, v = F.silu(self.qkv_proj(x)).unflatten(-1, (self.heads, 3, -1)).permute(3, 0, 2, 1, 4)     # rows [H][q, k, v]
        log_decay = -torch.tensor(self.slopes, dtype=x.dtype, device=x.device).expand(1, x.shape[1], -1)
        y = (q @ k.transpose(2, 3) * decays_between(log_decay)) @ v
        return self.out_proj(self.output_gate(x).sigmoid() * self.norm(y.transpose(1, 2).flatten(2)))


MIXERS = {"attention": Attention, "mamba2": Mamba2, "gated-deltanet": GatedDeltaNet, "lightning": Lightning}


# --- the decoder ----------------------------------------------------------------------------------

class RecurrentBlock(nn.Module):
    """Pre-norm block of a mixer and a gated MLP; `normed`: what is added to is the normed input, as in minimax."""

    def __init__(self, shape, mixer, number, offset, normed):
        super().__init__()
        inner = 2 * shape.mlp // 3          # as many parameters as an MLP of shape.mlp without a gate
        self.normed = normed
        self.mixer_norm, self.mlp_norm = Norm(shape.hidden, offset), Norm(shape.hidden, offset)
        self.mixer = MIXERS[mixer](shape, number)
        self.gate_up, self.down = Linear(shape.hidden, 2 * inner, bias=False), Linear(inner, shape.hidden, bias=False)

    def mlp(self, x):
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)

    def forward(self, x):
        for norm, part in ((self.mixer_norm, self.mixer), (self.mlp_norm, self.mlp)):
            y = norm(x)
            x = (y if self.normed else x) + part(y)
        return x


class RecurrentDecoder(nn.Module):
    """Decoder with a tied head whose blocks mix by encoding.mixers, in turn."""

    def __init__(self, encoding, shape):
        super().__init__()
        self.encoding, self.shape, self.type = encoding, shape, TYPES[encoding.mixers[0]]
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden)
        offset, normed = int(self.type == "qwen3_5_text"), self.type == "minimax"
        self.layers = nn.ModuleList(RecurrentBlock(shape, encoding.mixers[n % len(encoding.mixers)], n, offset, normed) for n in range(shape.layers))
        self.final_norm = Norm(shape.hidden, offset)
        self.bias_parameters = {}
        self.initialise()

    def initialise(self):
        """As Decoder: normal weights of variance 1 / (3 fan in); output layers start smaller."""
        nn.init.normal_(self.embedding.weight, std=0.1)
        for name, linear in self.named_modules():
            if isinstance(linear, Linear):
                last = name.endswith(("o_proj", "out_proj", "down"))
                nn.init.normal_(linear.weight, std=(3 * linear.in_features * (2 * self.shape.layers if last else 1)) ** -0.5)

    def forward(self, tokens):
        """tokens [B, L] -> logits [B, L, vocabulary]."""
        x = self.embedding(tokens)
        for block in self.layers:
            x = block(x)
        return product(self.final_norm(x), self.embedding.weight)


# --- export ---------------------------------------------------------------------------------------

# by the mixer of the first block
TYPES = {"mamba2": "granitemoehybrid", "gated-deltanet": "qwen3_5_text", "lightning": "minimax"}
CLASSES = {"granitemoehybrid": "GraniteMoeHybridForCausalLM", "qwen3_5_text": "Qwen3_5ForCausalLM", "minimax": "MiniMaxForCausalLM"}


def config_of_type(model):
    """The keys of config.json that only the model's type has."""
    shape, size = model.shape, model.shape.hidden // model.shape.heads
    if model.type == "granitemoehybrid":
        return {
            "shared_intermediate_size": model.layers[0].down.in_features, "num_local_experts": 0, "position_embedding_type": None,
            "layer_types": ["linear_attention" if isinstance(block.mixer, Mamba2) else "attention" for block in model.layers],
            "attention_multiplier": size ** -0.5, "embedding_multiplier": 1.0, "logits_scaling": 1.0, "residual_multiplier": 1.0,
            "mamba_n_heads": shape.heads, "mamba_n_groups": 1, "mamba_d_state": STATE, "mamba_d_head": size, "mamba_d_conv": CONVOLUTION,
            "mamba_expand": 1, "mamba_conv_bias": True, "mamba_proj_bias": False}
    linear = ["linear_attention"] * shape.layers
    if model.type == "qwen3_5_text":
        return {
            "intermediate_size": model.layers[0].down.in_features, "layer_types": linear, "head_dim": size,
            "linear_num_key_heads": shape.heads, "linear_num_value_heads": shape.heads, "linear_key_head_dim": size, "linear_value_head_dim": size,
            "linear_conv_kernel_dim": CONVOLUTION}
    return {
        "intermediate_size": model.layers[0].down.in_features, "layer_types": linear, "head_dim": size, "num_local_experts": 1, "num_experts_per_tok": 1,
        "block_size": LIGHTNING_BLOCK, **{f"{part}_{factor}_factor": 1 for part in ("linear_attn", "full_attn", "mlp") for factor in ("alpha", "beta")}}


def make_config(model):
    """config.json as transformers has it; max_position_embeddings is the training length."""
    shape = model.shape
    return {
        "architectures": [CLASSES[model.type]], "model_type": model.type, "dtype": "bfloat16", "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden, "num_hidden_layers": shape.layers, "num_attention_heads": shape.heads, "num_key_value_heads": shape.heads,
        "hidden_act": "silu", "rms_norm_eps": NORM_EPSILON, "tie_word_embeddings": True, "max_position_embeddings": model.encoding.train_length,
        "bos_token_id": None, "eos_token_id": None, "pad_token_id": None, **config_of_type(model)}


def mlp_tensors(model, block, at):
    """The MLP's tensors {name: value} under the names of the model's type; minimax's router chooses its one expert whatever its weight."""
    gate_up, down = block.gate_up.weight, block.down.weight
    if model.type == "granitemoehybrid":
        return {at + "shared_mlp.input_linear.weight": gate_up, at + "shared_mlp.output_linear.weight": down}
    gate, up = gate_up.chunk(2)
    if model.type == "qwen3_5_text":
        return {at + "mlp.gate_proj.weight": gate, at + "mlp.up_proj.weight": up, at + "mlp.down_proj.weight": down}
    at += "block_sparse_moe."
    return {at + "gate.weight": torch.zeros(1, down.shape[0]), at + "experts.0.w1.weight": gate, at + "experts.0.w3.weight": up, at + "experts.0.w2.weight": down}


def export_tensors(model):
    """Tensors under the names of transformers, as they are."""
    tensors = {"model.embed_tokens.weight": model.embedding.weight, "model.norm.weight": model.final_norm.weight}
    for n, block in enumerate(model.layers):
        at = f"model.layers.{n}."
        tensors |= {at + "input_layernorm.weight": block.mixer_norm.weight, at + "post_attention_layernorm.weight": block.mlp_norm.weight}
        tensors |= {at + block.mixer.stem + "." + name: value for name, value in block.mixer.named_parameters()}
        tensors |= mlp_tensors(model, block, at)
    return {name: value.detach() for name, value in tensors.items()}


def write_recurrent_checkpoint(model, folder):
    """Write config.json and model.safetensors in bfloat16; the model is already rounded."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(make_config(model), file, indent=2)
        file.write("\n")
    path = os.path.join(folder, "model.safetensors")
    save_file({name: value.bfloat16().contiguous() for name, value in export_tensors(model).items()}, path, metadata={"format": "pt"})
    os.chmod(path, 0o644)
