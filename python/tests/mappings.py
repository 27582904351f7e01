"""Models of others with the table of names and the configuration that say the same to reach."""

from reach_erf import apply, concat, rows, split, split_heads, transpose

from theirs import Theirs

PLAIN = {
    "embedding": "tok", "final_norm": "nf", "layers.{n}.attention_norm": "h.{n}.n1", "layers.{n}.mlp_norm": "h.{n}.n2",
    "layers.{n}.attention.output": "h.{n}.o", "layers.{n}.mlp.up": "h.{n}.fc", "layers.{n}.mlp.down": "h.{n}.proj",
}
APART = {f"layers.{{n}}.attention.{ours}": f"h.{{n}}.{theirs}" for ours, theirs in (("query", "q"), ("key", "k"), ("value", "v"))}
QKV = "h.{n}.qkv"


def fused(make):
    """The three projections, each `make(part)` of the fused one."""
    return {f"layers.{{n}}.attention.{name}": make(part) for part, name in enumerate(("query", "key", "value"))}


def config(model, **others):
    """The keys that every model here has."""
    return {"vocabulary": model.vocabulary, "hidden": model.width, "layers": model.layers, "heads": model.heads, "mlp": model.mlp,
            "activation": model.activation, **others}


def alibi(t, h):
    return -(2.0 ** -(8.0 * h / 4)) * t


def learned():
    """Rows of positions, [Q | K | V], tied head."""
    model = Theirs(fused="blocks", position="learned", length=40, activation="gelu_tanh")
    names = {**PLAIN, "position": "pos", **fused(lambda part: split(QKV, part, of=3))}
    return model, names, config(model, position={"kind": "learned", "length": 40})


def conv():
    """Matrices stored [in, out], sinusoidal positions, scaled embeddings, another epsilon and attention scale."""
    model = Theirs(fused="conv", position="sinusoidal", embedding_scale=24 ** 0.5, epsilon=1e-3, scale=0.3, activation="relu")
    names = {**PLAIN, **{f"layers.{{n}}.{ours}": transpose(f"h.{{n}}.{theirs}") for ours, theirs in
                         (("attention.output", "o"), ("mlp.up", "fc"), ("mlp.down", "proj"))},
             **fused(lambda part: split(transpose(QKV), part, of=3))}
    return model, names, config(model, position={"kind": "sinusoidal"}, embedding_scale=24 ** 0.5, norm_epsilon=1e-3,
                                attention_scale=0.3)


def grouped():
    """RMS norms, gated, rotary, fewer key and value heads, windows by layer, no biases, untied: like LLaMA and Mistral."""
    model = Theirs(fused="blocks", rms=True, epsilon=1e-6, gated=True, activation="silu", kv_heads=2, size=8, rotated=8,
                   base=5000.0, windows=(0, 7), biases=False, tied=False)
    names = {**PLAIN, "head": "lm", "layers.{n}.attention.query": rows(QKV, 0, 32), "layers.{n}.attention.key": rows(QKV, 32, 48),
             "layers.{n}.attention.value": rows(QKV, 48, 64), "layers.{n}.mlp.gate": split("h.{n}.fc", 0, of=2),
             "layers.{n}.mlp.up": split("h.{n}.fc", 1, of=2)}
    return model, names, config(model, norm="rmsnorm", norm_epsilon=1e-6, gated=True, kv_heads=2, head_size=8, biases=False,
                                tied_head=False, window=[0, 7], position={"kind": "rotary", "base": 5000})


def head_major():
    """Rows [H][q, k, v], parallel residual, part of each head rotated in neighbouring pairs, a bias on the head: like GPT-J."""
    model = Theirs(fused="heads", parallel=True, rotated=4, interleaved=True, tied=False, head_bias=True)
    names = {**PLAIN, "head": "lm", **fused(lambda part: split_heads(QKV, part, of=3, heads=4))}
    return model, names, config(model, residual="parallel", tied_head=False, biases=dict.fromkeys(
        ("norm", "qkv", "output", "mlp", "head"), True), position={"kind": "rotary", "fraction": 0.7, "pairing": "interleaved"})


def biased():
    """ALiBi by a formula whose slopes are parameters, capped scores; a projection in two pieces, a norm that is stored less 1."""
    model = Theirs(bias=alibi, soft_cap=5.0)
    model.given = dict(model.state)  # as the user has it
    whole = model.given.pop("h.0.o.weight")
    model.given.update({"h.0.o.top": whole[:10], "h.0.o.rest": whole[10:]})
    model.given["nf.weight"] = model.given["nf.weight"] - 1
    names = {**PLAIN, **APART}
    del names["layers.{n}.attention.output"], names["final_norm"]
    names.update({"layers.0.attention.output.weight": concat("h.0.o.top", "h.0.o.rest"), "layers.1.attention.output": "h.1.o",
                  "layers.0.attention.output.bias": "h.0.o.bias", "final_norm.weight": apply(lambda w: 1 + w, "nf.weight"),
                  "final_norm.bias": "nf.bias"})
    slopes = [2.0 ** -(8.0 * h / 4) for h in range(1, 5)]
    return model, names, config(model, soft_cap=5, position_bias={"formula": "-k*t", "set": {"k": slopes}})


ALL = (learned, conv, grouped, head_major, biased)


def state_of(model):
    """The state_dict that is given to the writer."""
    return getattr(model, "given", model.state)
