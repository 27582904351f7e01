"""Training checkpoints of GPT-NeoX (and its KERPLE fork) and of fairseq's transformer_rpe_lm: small random ones, and float64 oracles.

Written from the formulas of chijames/KERPLE (megatron/model, megatron/mpu/layers.py), EleutherAI/gpt-neox (megatron/model) and
OpenNLPLab/fairseq-evo (fairseq/models), not from the C program. A case is a config with the keys that the code base has, and tensors
under the names that it saves; `Oracle.log_probability(rows, target)` is log p of `target` after the token rows [n, d].
"""

import math
from dataclasses import dataclass, field

import torch

DTYPE = torch.float64


@dataclass
class TrainerCase:
    """`config`: what differs from the code base's defaults below; `hidden` .. `inner`: sizes; `half`: tensors stored in float16."""

    name: str
    config: dict
    notes: str
    hidden: int = 16
    heads: int = 4
    layers: int = 2
    inner: int = 24
    vocabulary: int = 41
    length: int = 30
    segments: int = 2
    tensors: dict = field(default_factory=dict)     # shapes beside the usual ones
    without: tuple = ()                             # parts of names that are not stored


# --- shared by both -----------------------------------------------------------------------------

def linear(tensors, x, name):
    """x W^T + b with the tensors NAME.weight and, where stored, NAME.bias."""
    bias = tensors.get(name + ".bias")
    return x @ tensors[name + ".weight"].T + (0 if bias is None else bias)


def layer_norm(x, weight=1, bias=0, epsilon=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    return centered / torch.sqrt((centered ** 2).mean(-1, keepdim=True) + epsilon) * weight + bias


def attend(q, k, v, scores_of):
    """Causal attention over [n, heads, size]; scores_of(scaled scores [H, n, n], t [n, n]) adds what the encoding adds."""
    n, heads, size = q.shape
    k, v = (x.repeat_interleave(heads // x.shape[1], 1) for x in (k, v))
    position = torch.arange(n)
    t = position[:, None] - position[None, :]
    scores = torch.einsum("ihd,jhd->hij", q, k) / math.sqrt(size)
    scores = scores_of(scores, t.clamp(min=0).to(DTYPE))
    scores = scores.masked_fill(t < 0, -math.inf)
    return torch.einsum("hij,jhd->ihd", torch.softmax(scores, -1), v).reshape(n, heads * size)


def released_slopes(heads):
    """ALiBi's slopes as released: the nearest power of two below, then every other slope of the next."""
    def powers(n):
        first = 2.0 ** (-8.0 / n)
        return [first ** (i + 1) for i in range(n)]
    below = 2 ** int(math.floor(math.log2(heads)))
    return torch.tensor(powers(below) + powers(2 * below)[0::2][:heads - below], dtype=DTYPE)


GELU_TANH = [math.sqrt(2 / math.pi), 0.79788456]


def gelu_tanh(x, constant):
    return 0.5 * x * (1 + torch.tanh(constant * (x + 0.044715 * x ** 3)))


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def silu(x):
    return x * torch.sigmoid(x)


# --- GPT-NeoX -----------------------------------------------------------------------------------

class Megatron:
    """A GPT-NeoX or KERPLE model from its normalised config and `sequential.{idx}.{key}` tensors."""

    model_type, family, first_token = "gpt_neox_megatron", "gpt_neox_megatron", 0

    def __init__(self, config, tensors):
        self.config, self.raw = config, tensors
        self.tensors = {name: value.to(DTYPE) for name, value in tensors.items() if value.is_floating_point()}
        self.table = self.tensors["sequential.0.word_embeddings.weight"]
        self.newer = "sequential.2.mlp.linear1.weight" in tensors
        self.heads, self.layers = config["num_attention_heads"], config["num_layers"]
        self.size = config["hidden_size"] // self.heads

    @staticmethod
    def shapes(case):
        """Names and shapes of what is stored, by config."""
        c, d, shapes = case.config, case.hidden, {}
        newer = c.get("new_names", False)
        kv = c.get("num_kv_heads", case.heads)
        norm = {"layernorm": {"weight": d, "bias": d}, "rmsnorm": {"scale": d}, "scalenorm": {"g": 1},
                "non_parametric_layernorm": {}}[c.get("norm", "layernorm")]
        gated = c.get("activation", "gelu").endswith("glu")

        def matrix(name, rows, columns, biased=True):
            shapes[name + ".weight"] = (rows, columns)
            if biased:
                shapes[name + ".bias"] = (rows,)

        shapes["sequential.0.word_embeddings.weight"] = (case.vocabulary, d)
        for layer in range(case.layers):
            at = f"sequential.{layer + 2}."
            for which in ("input_layernorm", "post_attention_layernorm"):
                shapes.update({f"{at}{which}.{part}": (size,) for part, size in norm.items()})
            biased = c.get("use_bias_in_attn_linear", True)
            matrix(at + "attention.query_key_value", d + 2 * kv * d // case.heads, d, biased)
            matrix(at + "attention.dense", d, d, biased)
            biased = c.get("use_bias_in_mlp", True)
            matrix(at + "mlp." + ("linear1" if newer else "dense_h_to_4h"), case.inner * (2 if gated else 1), d, biased)
            matrix(at + "mlp." + ("linear2" if newer else "dense_4h_to_h"), d, case.inner, biased)
            shapes.update({at + name: shape for name, shape in case.tensors.items()})
        shapes.update({f"sequential.{case.layers + 3}.norm.{part}": (size,) for part, size in norm.items()})
        if c.get("no_weight_tying"):
            shapes[f"sequential.{case.layers + 4}.final_linear.weight"] = (case.vocabulary, d)
        if c.get("pos_emb", "learned") == "learned":
            shapes["sequential.0.position_embeddings.weight"] = (c["max_position_embeddings"], d)
        return shapes

    @staticmethod
    def full_config(case):
        config = {"model_type": "gpt_neox_megatron", "num_layers": case.layers, "hidden_size": case.hidden,
                  "num_attention_heads": case.heads, **case.config}
        config.pop("new_names", None)
        return config

    def norm(self, x, name):
        kind = self.config.get("norm", "layernorm")
        get = lambda part: self.tensors[f"{name}.{part}"]
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        if kind == "scalenorm":
            return get("g") * x / length.clamp(min=self.config.get("scalenorm_epsilon", 1e-8))
        if kind == "rmsnorm":
            rms, epsilon = length / math.sqrt(x.shape[-1]), self.config.get("rms_norm_epsilon", 1e-8)
            return get("scale") * x / (torch.sqrt(rms ** 2 + epsilon) if self.newer else rms + epsilon)
        epsilon = self.config.get("layernorm_epsilon", 1e-5)
        return layer_norm(x, epsilon=epsilon) if kind != "layernorm" else layer_norm(x, get("weight"), get("bias"), epsilon)

    def inverse_frequencies(self, name, size, base):
        """As stored, if stored in half precision: the code loads its buffers."""
        stored = self.raw.get(name)
        if stored is not None and stored.dtype == torch.float16:
            return stored.to(DTYPE)
        return torch.tensor([base ** (-2.0 * i / size) for i in range(size // 2)], dtype=DTYPE)

    def embed(self, rows):
        kind, n, d = self.config.get("pos_emb", "learned"), rows.shape[0], rows.shape[1]
        if kind == "learned":
            first = self.config.get("opt_pos_emb_offset", 0)
            return rows + self.tensors["sequential.0.position_embeddings.weight"][first:first + n]
        if kind == "sinusoidal":
            frequency = self.inverse_frequencies("sequential.0.position_embeddings.inv_freq", d, 10000.0)
            angle = torch.arange(n, dtype=DTYPE)[:, None] * frequency[None, :]
            return rows + torch.cat([angle.sin(), angle.cos()], 1)
        return rows

    def rotate(self, x, at):
        """Rotation by halves of the first dimensions of x [n, heads, size]."""
        if self.config.get("pos_emb") != "rotary":
            return x
        r = int(self.size * self.config.get("rotary_pct", 1.0))
        frequency = self.inverse_frequencies(at + "attention.rotary_emb.inv_freq", r, float(self.config.get("rotary_emb_base", 10000)))
        angle = (torch.arange(x.shape[0], dtype=DTYPE)[:, None] * frequency[None, :])[:, None, :]
        first, second, rest = x[..., :r // 2], x[..., r // 2:r], x[..., r:]
        return torch.cat([first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin(), rest], -1)

    def rpe(self, at, name, low=0.01, high=math.inf):
        """A stored parameter [H, 1, 1], clamped; 1 where it is not stored."""
        value = self.tensors.get(f"{at}attention.rpe.{name}")
        return 1.0 if value is None else value.clamp(low, high)

    def scores(self, scores, t, layer):
        """The layer's scores [H, n, n] with what the encoding adds at distance t [n, n]."""
        kind, at = self.config.get("pos_emb", "learned"), f"sequential.{layer + 2}."
        times = max(1, layer) if self.config.get("apply_query_key_layer_scaling") else 1
        stored = {part for part in ("bias_p", "bias_a", "wei_p", "wei_a") if f"{at}attention.rpe.{part}" in self.tensors}
        if kind == "kerple_log":
            return scores - times * self.rpe(at, "bias_p") * torch.log(1 + self.rpe(at, "bias_a") * t)
        if kind.startswith("kerple_power"):
            if stored & {"wei_p", "wei_a"}:
                scores = scores * torch.exp(-self.rpe(at, "wei_a") * t ** self.rpe(at, "wei_p", high=2))
            if stored & {"bias_p", "bias_a"}:
                scores = scores - times * self.rpe(at, "bias_a") * t ** self.rpe(at, "bias_p", high=2)
            return scores
        if kind == "rpe":
            far = 16 + torch.floor(torch.log(t.clamp(min=1) / 16) / math.log(8) * 16)
            bucket = torch.where(t < 16, t, far.clamp(max=31)).long()
            return scores + times * math.sqrt(self.size) * self.tensors[at + "attention.rpe.weight"][bucket].permute(2, 0, 1)
        if kind == "alibi":
            stored = self.raw.get(at + "attention.alibi_embed.slopes")
            slopes = stored.to(DTYPE) if stored is not None and stored.dtype == torch.float16 else released_slopes(self.heads)
            return scores - times * slopes[:, None, None] * t
        return scores

    def attention(self, x, layer):
        at = f"sequential.{layer + 2}."
        fused, n = linear(self.tensors, x, at + "attention.query_key_value"), x.shape[0]
        kv = self.config.get("num_kv_heads", self.heads)
        if kv == self.heads:
            q, k, v = fused.view(n, self.heads, 3, self.size).unbind(2)
        else:
            q, k, v = fused.split([self.heads * self.size, kv * self.size, kv * self.size], 1)
            q, k, v = q.view(n, self.heads, self.size), k.view(n, kv, self.size), v.view(n, kv, self.size)
        y = attend(self.rotate(q, at), self.rotate(k, at), v, lambda scores, t: self.scores(scores, t, layer))
        return linear(self.tensors, y, at + "attention.dense")

    def mlp(self, x, layer):
        up, down = ("linear1", "linear2") if self.newer else ("dense_h_to_4h", "dense_4h_to_h")
        at, kind = f"sequential.{layer + 2}.mlp.", self.config.get("activation", "gelu")
        y = linear(self.tensors, x, at + up)
        act = {"gelu": gelu, "geglu": gelu, "relu": torch.relu, "reglu": torch.relu, "swish": silu, "silu": silu, "swiglu": silu}[kind]
        if kind == "gelu" and self.config.get("bias_gelu_fusion"):
            act = lambda x: gelu_tanh(x, GELU_TANH[1])
        if kind.endswith("glu"):
            value, gate = y.chunk(2, -1)
            y = act(gate) * value
        else:
            y = act(y)
        return linear(self.tensors, y, at + down)

    def log_probability(self, rows, target):
        x = self.embed(rows)
        for layer in range(self.layers):
            at = f"sequential.{layer + 2}."
            first = self.norm(x, at + "input_layernorm")
            if self.config.get("gpt_j_residual"):
                second = first if self.config.get("gpt_j_tied") else self.norm(x, at + "post_attention_layernorm")
                x = x + self.attention(first, layer) + self.mlp(second, layer)
            else:
                x = x + self.attention(first, layer)
                x = x + self.mlp(self.norm(x, at + "post_attention_layernorm"), layer)
        x = self.norm(x[-1], f"sequential.{self.layers + 3}.norm")
        head = self.tensors[f"sequential.{self.layers + 4}.final_linear.weight"] if self.config.get("no_weight_tying") else self.table
        return torch.log_softmax(x @ head.T, -1)[target]


RPE = {part: "attention.rpe." + part for part in ("bias_p", "bias_a", "wei_p", "wei_a")}


def per_head(*parts, heads=4):
    return {RPE[part]: (heads, 1, 1) for part in parts}


MEGATRON_CASES = [
    TrainerCase("neox-kerple-log", dict(pos_emb="kerple_log", no_weight_tying=True, layernorm_epsilon=1e-3, attention_config=[[["global"], 2]]),
                "kerple_log, parameters of each layer, some below the clamp; untied head", tensors=per_head("bias_p", "bias_a")),
    TrainerCase("neox-kerple-power", dict(pos_emb="kerple_power_ap_ap", norm="rmsnorm", rms_norm_epsilon=0.05, gpt_j_residual=True),
                "kerple_power with weighting; rmsnorm with epsilon outside the root; parallel residual, two norms; tied head",
                tensors=per_head("bias_p", "bias_a", "wei_p", "wei_a")),
    TrainerCase("neox-kerple-power-part", dict(pos_emb="kerple_power_a_p", norm="scalenorm", apply_query_key_layer_scaling=True),
                "kerple_power_a_p: bias without p, weighting without a; scalenorm; layer scaling of the bias in 4 layers",
                layers=4, tensors=per_head("bias_a", "wei_p")),
    TrainerCase("neox-kerple-power-bias", dict(pos_emb="kerple_power_p_", activation="relu"),
                "kerple_power_p_: bias without a, no weighting; relu", tensors=per_head("bias_p")),
    TrainerCase("neox-kerple-power-original", dict(pos_emb="kerple_power_original", activation="swish"),
                "kerple_power_original: stored slopes, clamped at 0.01; swish", tensors=per_head("bias_a")),
    TrainerCase("neox-t5", dict(pos_emb="rpe", activation="geglu", no_weight_tying=True, norm="scalenorm", scalenorm_epsilon=2.5),
                "T5 buckets times sqrt(head size), distances beyond 128; geglu; scalenorm with rows below its epsilon",
                length=150, segments=1, inner=20, tensors={"attention.rpe.weight": (32, 4)}),
    TrainerCase("neox-alibi", dict(pos_emb="alibi", bias_gelu_fusion=True), "ALiBi of 6 heads; bias_gelu_fusion; slopes stored in float32",
                hidden=24, heads=6, tensors={"attention.alibi_embed.slopes": (6,)}),
    TrainerCase("neox-alibi-half", dict(pos_emb="alibi", apply_query_key_layer_scaling=True),
                "ALiBi with slopes stored in half precision; layer scaling in 3 layers", layers=3, heads=2,
                tensors={"attention.alibi_embed.slopes": (2,)}),
    TrainerCase("neox-rotary-half", dict(pos_emb="rotary", rotary_pct=0.5, rotary_emb_base=90, gpt_j_residual=True, gpt_j_tied=True, norm="rmsnorm",
                                         rms_norm_epsilon=0.05, num_kv_heads=2, new_names=True, no_weight_tying=True, mlp_type="regular"),
                "newer names; rotary with frequencies stored in half precision; fewer kv heads; one norm; rmsnorm, epsilon inside",
                hidden=32, inner=20, tensors={"attention.rotary_emb.inv_freq": (2,)}),
    TrainerCase("neox-rotary", dict(pos_emb="rotary", activation="swiglu", use_bias_in_attn_linear=False, use_bias_in_mlp=False, new_names=True),
                "newer names; rotary on whole heads, base 10000; swiglu; no biases", inner=20),
    TrainerCase("neox-learned", dict(max_position_embeddings=34, opt_pos_emb_offset=2, norm="non_parametric_layernorm", activation="reglu", new_names=True),
                "learned rows from 2 on (the default encoding); norms without parameters; reglu", length=33, inner=20),
    TrainerCase("neox-sinusoidal", dict(pos_emb="sinusoidal", activation="silu", new_names=True), "sinusoidal rows, [sin | cos]; silu"),
    TrainerCase("neox-none", dict(pos_emb="none"), "no positions; every default"),
]


# --- fairseq ------------------------------------------------------------------------------------

class Fairseq:
    """A transformer_rpe_lm from its arguments and state dict."""

    model_type, family, first_token = "fairseq_transformer_lm", "fairseq", 2     # id 1 is padding

    def __init__(self, config, tensors):
        self.config, self.raw = config, tensors
        self.tensors = {name: value.to(DTYPE) for name, value in tensors.items() if value.is_floating_point()}
        self.table = self.tensors["decoder.embed_tokens.weight"]
        self.d, self.heads = config["decoder_embed_dim"], config["decoder_attention_heads"]
        self.layers = config["decoder_layers"]

    @staticmethod
    def shapes(case):
        c, d, shapes = case.config, case.hidden, {}
        narrow = c.get("decoder_input_dim", d)

        def affine(name, rows, columns=None):
            shapes[name + ".weight"] = (rows, columns) if columns else (rows,)
            shapes[name + ".bias"] = (rows,)

        shapes["decoder.embed_tokens.weight"] = (case.vocabulary, narrow)
        for layer in range(case.layers):
            at = f"decoder.layers.{layer}."
            for which in ("q", "k", "v", "out"):
                affine(f"{at}self_attn.{which}_proj", d, d)
            affine(at + "self_attn_layer_norm", d)
            affine(at + "final_layer_norm", d)
            affine(at + "fc1", case.inner, d)
            affine(at + "fc2", d, case.inner)
        if not c.get("no_decoder_final_norm") and c.get("final_layernorm") != "simplermsnorm":
            affine("decoder.layer_norm", d)
        if c.get("layernorm_embedding") and c.get("embdding_layernorm") != "simplermsnorm":
            affine("decoder.layernorm_embedding", d)
        if narrow != d:
            shapes["decoder.project_in_dim.weight"] = (d, narrow)
            shapes["decoder.project_out_dim.weight"] = (narrow, d)
        if c.get("kerple_log", -1) > 0 or c.get("kerple_power", -1) > 0:
            shapes["decoder.bias_p"] = shapes["decoder.bias_a"] = (case.heads, 1, 1)
        if c.get("decoder_learned_pos"):
            shapes["decoder.embed_positions.weight"] = (case.length + 1, d)
        if not c.get("share_decoder_input_output_embed"):
            shapes["decoder.output_projection.weight"] = (case.vocabulary, narrow)
        return {name: shape for name, shape in shapes.items() if not any(part in name for part in case.without)}

    @staticmethod
    def full_config(case):
        positions = case.config.get("decoder_learned_pos") or case.config.get("sincos")
        config = {"model_type": "fairseq_transformer_lm", "arch": "transformer_lm_base", "decoder_embed_dim": case.hidden,
                  "decoder_ffn_embed_dim": case.inner, "decoder_layers": case.layers, "decoder_attention_heads": case.heads,
                  "decoder_normalize_before": True, "no_token_positional_embeddings": not positions, "adaptive_softmax_cutoff": None,
                  "adaptive_input": False, "quant_noise_pq": 0, "base_layers": 0, "tokens_per_sample": 16, **case.config}
        if "decoder_input_dim" in case.config:
            config["decoder_output_dim"] = config["decoder_input_dim"]
        config.pop("sincos", None)
        config.pop("version", None)
        return config

    def positions(self, n):
        """Rows [n, d] added to the embeddings: padding takes row 1, position 0 row 2."""
        if self.config["no_token_positional_embeddings"]:
            return 0
        if self.config.get("decoder_learned_pos"):
            return self.tensors["decoder.embed_positions.weight"][2:2 + n]
        half = self.d // 2
        frequency = torch.exp(-torch.arange(half, dtype=DTYPE) * math.log(10000) / (half - 1))
        angle = torch.arange(2, 2 + n, dtype=DTYPE)[:, None] * frequency[None, :]
        return torch.cat([angle.sin(), angle.cos()], 1)

    def biased(self, scores, t):
        c, j = self.config, torch.arange(t.shape[0], dtype=DTYPE)[None, None, :]
        k = released_slopes(self.heads)[:, None, None]
        y = k * t
        kind = c.get("rpe_type", -1)
        if kind > 0:
            by_type = [lambda: -k * j, lambda: -torch.log(1 + (k * j) ** 2), lambda: -y, lambda: -torch.log(1 + y ** 2), lambda: -y ** 2,
                       lambda: -y ** 0.5, lambda: -torch.log(1 + y), lambda: -y ** 1.25, lambda: -0.5 * y ** 0.75,
                       lambda: torch.log(1 + torch.log(1 + y)) - torch.log((1 + y) ** 2), lambda: -torch.log(3 + y) ** 2, lambda: -y ** 4,
                       lambda: -(torch.log(3 + y) + torch.log(torch.log(3 + y)))]
            return scores + by_type[kind - 1]()
        if c.get("kerple_log", -1) > 0:
            p, a = (self.tensors["decoder." + name].clamp(min=0.01) for name in ("bias_p", "bias_a"))
            return scores - p * torch.log(1 + a * t)
        if c.get("kerple_power", -1) > 0:
            p, a = self.tensors["decoder.bias_p"].clamp(0.01, 2), self.tensors["decoder.bias_a"].clamp(min=0.01)
            return scores - a * t ** p
        if c.get("sandwich", -1) > 0:
            emb, slopes = self.tensors["decoder.emb"].reshape(-1), self.tensors["decoder.slopes"]
            total = sum(torch.cos(t * frequency) for frequency in emb)
            return scores + slopes * (total - (len(emb) + 1e-4))
        if c.get("use_alibi"):
            return scores + k * j
        return scores

    def simple_rms(self, x):
        return x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) / math.sqrt(x.shape[-1]) + 1e-8)

    def norm(self, x, name, kind=None):
        if kind == "simplermsnorm":
            return self.simple_rms(x)
        return layer_norm(x, self.tensors[name + ".weight"], self.tensors[name + ".bias"])

    def log_probability(self, rows, target):
        c, n, T = self.config, rows.shape[0], self.tensors
        x = rows if c.get("no_scale_embedding") else math.sqrt(self.d) * rows
        if "decoder.project_in_dim.weight" in T:
            x = x @ T["decoder.project_in_dim.weight"].T
        x = x + self.positions(n)
        if c.get("layernorm_embedding"):
            x = self.norm(x, "decoder.layernorm_embedding", c.get("embdding_layernorm"))
        act = {"relu": torch.relu, "gelu": gelu, "gelu_accurate": lambda x: gelu_tanh(x, GELU_TANH[0]), "silu": silu}[c.get("activation_fn", "relu")]
        for layer in range(self.layers):
            at = f"decoder.layers.{layer}."
            y = self.norm(x, at + "self_attn_layer_norm")
            q, k, v = (linear(T, y, f"{at}self_attn.{which}_proj").view(n, self.heads, -1) for which in "qkv")
            x = x + linear(T, attend(q, k, v, self.biased), at + "self_attn.out_proj")
            y = self.norm(x, at + "final_layer_norm")
            x = x + linear(T, act(linear(T, y, at + "fc1")), at + "fc2")
        x = x[-1]
        if not c.get("no_decoder_final_norm") and T.get("decoder.version", torch.tensor([3.0])).item() > 2:
            x = self.norm(x, "decoder.layer_norm", c.get("final_layernorm"))
        if "decoder.project_out_dim.weight" in T:
            x = x @ T["decoder.project_out_dim.weight"].T
        head = self.table if c.get("share_decoder_input_output_embed") else T["decoder.output_projection.weight"]
        return torch.log_softmax(x @ head.T, -1)[target]


def fairseq_case(name, config, notes, **sizes):
    return TrainerCase("fairseq-" + name, config, notes, **{**dict(hidden=12, heads=3, inner=16), **sizes})


FAIRSEQ_CASES = [fairseq_case(f"rpe-{n}", dict(rpe_type=n), f"rpe_type {n} with the slopes of 3 heads; f16 weights", length=24) for n in range(1, 14)]
FAIRSEQ_CASES += [
    fairseq_case("kerple-log", dict(kerple_log=1, activation_fn="gelu", no_scale_embedding=True), "kerple_log, some parameters below the clamp; gelu; no_scale_embedding"),
    fairseq_case("kerple-power", dict(kerple_power=1, activation_fn="gelu_accurate", layernorm_embedding=True),
                 "kerple_power, some parameters beyond the clamps; gelu_accurate; embedding norm"),
    fairseq_case("sandwich", dict(sandwich=1, share_decoder_input_output_embed=True), "sandwich with stored slopes and frequencies; tied head, stored twice"),
    fairseq_case("sincos", dict(sincos=True, activation_fn="silu", layernorm_embedding=True, embdding_layernorm="simplermsnorm", final_layernorm="simplermsnorm"),
                 "sinusoidal rows from 2 on; silu; simplermsnorm on embeddings and at the end"),
    fairseq_case("learned", dict(decoder_learned_pos=True, decoder_input_dim=8), "learned rows from 2 on; embeddings of 8 between two projections", length=30),
    fairseq_case("wide", dict(use_alibi=True, decoder_input_dim=24), "embeddings wider than the model, between two projections"),
    fairseq_case("alibi", dict(use_alibi=True, no_decoder_final_norm=True), "use_alibi; no_decoder_final_norm"),
    fairseq_case("version-2", dict(sincos=True, version=2.0), "an older file: no final norm", without=("decoder.layer_norm",)),
]


# --- checkpoints --------------------------------------------------------------------------------

def special_tensor(name, shape, case, rng):
    """Values of stored buffers and of position parameters, or None for ordinary weights."""
    if name.endswith((".slopes", ".inv_freq", ".emb", ".version", ".cache_matrix", ".causal_mask")):
        raise AssertionError(name)      # made by stored_buffers
    if ".rpe.weight" in name:
        return rng.normal(0, 0.8, shape)
    if name.endswith("bias_p") or name.endswith("wei_p"):
        value = rng.uniform(0.2, 1.8, shape)
        value[:2] = [[[2.25]], [[-0.05]]]           # beyond the clamps
        return value
    if name.endswith("bias_a"):
        return rng.uniform(-0.03, 0.09, shape)
    if name.endswith("wei_a"):
        return rng.uniform(-0.02, 0.2, shape)
    return None


def stored_buffers(case, oracle):
    """Tensors that the code bases store beside the weights."""
    stored, half = {}, "half" in case.name
    kind = torch.float16 if half else torch.float32
    if oracle is Megatron:
        for layer in range(case.layers):
            at = f"sequential.{layer + 2}.attention."
            if "attention.alibi_embed.slopes" in case.tensors:
                stored[at + "alibi_embed.slopes"] = (released_slopes(case.heads) * (1.3 if half else 1)).to(kind)   # not what the formula gives
            if case.config.get("pos_emb") == "rotary":
                r = int(case.hidden // case.heads * case.config.get("rotary_pct", 1.0))
                base = case.config.get("rotary_emb_base", 10000)
                stored[at + "rotary_emb.inv_freq"] = (1.0 / base ** (torch.arange(0, r, 2, dtype=DTYPE) / r)).to(kind)
        if case.config.get("pos_emb") == "sinusoidal":
            d = case.hidden
            stored["sequential.0.position_embeddings.inv_freq"] = (1.0 / 10000 ** (torch.arange(0, d, 2, dtype=DTYPE) / d)).to(kind)
        return stored
    stored["decoder.version"] = torch.tensor([case.config.get("version", 3.0)])
    if case.config.get("sincos"):
        stored["decoder.embed_positions._float_tensor"] = torch.tensor([float("nan")])
    if case.config.get("kerple_log", -1) > 0:
        stored["decoder.cache_matrix"] = torch.ones(1, 4, 4, dtype=torch.int64)
        stored["decoder.causal_mask"] = torch.triu(torch.full((1, 4, 4), -math.inf), 1)
    if case.config.get("sandwich", -1) > 0:
        size = case.hidden // case.heads
        stored["decoder.slopes"] = (case.heads / (8.0 * torch.arange(1, case.heads + 1, dtype=torch.float32))).reshape(-1, 1, 1)
        stored["decoder.emb"] = torch.exp(-torch.arange(1, size + 1, dtype=torch.float32) * math.log(10000) / size).reshape(-1, 1, 1)
    return stored


def random_tensors(case, oracle, rng, gain):
    """All stored tensors: norms near 1, biases near 0, matrices of unit gain, queries and keys `gain` times that."""
    tensors = {}
    for name, shape in sorted(oracle.shapes(case).items()):
        if name.endswith((".slopes", ".inv_freq")):
            continue
        value = special_tensor(name, shape, case, rng)
        ordinary = value is None
        if ordinary:
            value = rng.standard_normal(shape)
            if name.endswith(".bias"):
                value *= 0.2
            elif len(shape) == 1:
                value = 1 + 0.3 * value
            elif "embed" in name or "final_linear" in name or "output_projection" in name:
                value *= 0.4
            else:
                value /= math.sqrt(shape[1])
            if name.endswith(("q_proj.weight", "k_proj.weight")):
                value *= gain
            elif name.endswith("query_key_value.weight"):
                kv, size = case.config.get("num_kv_heads", case.heads), case.hidden // case.heads
                if kv == case.heads:
                    value.reshape(case.heads, 3, size, -1)[:, :2] *= gain
                else:
                    value[:(case.heads + kv) * size] *= gain
        tensors[name] = torch.from_numpy(value).to(torch.float16 if ordinary else torch.float32)
    tensors.update(stored_buffers(case, oracle))
    if "decoder.embed_tokens.weight" in tensors and case.config.get("share_decoder_input_output_embed"):
        tensors["decoder.output_projection.weight"] = tensors["decoder.embed_tokens.weight"].clone()
    return tensors
