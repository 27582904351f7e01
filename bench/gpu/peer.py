"""The peer on a GPU: the best script a PyTorch user would write for the same numbers.

    python3 bench/gpu/peer.py SHAPE LENGTH DTYPE REPEATS [NORMS_FILE] [--device cpu] [--compile] [--batch N] [--backend flash|cudnn|efficient]

The models of shapes.h with the random weights of tests/memory_decoder.c. Frozen weights, SDPA (--backend pins one of its kernels; else PyTorch chooses), the head on the last row
only, autograd.grad to the input embeddings; the batch is doubled until a segment no longer gets faster or memory is out (--batch N: that one only). The memory is the most that was held at the batch whose time is printed. DTYPE: f64
(the oracle), f32, tf32 or bf16. Prints key=value lines like erf.c and writes the norms of the first segment as float64.
"""
import argparse
import contextlib
import time

import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import GPT2Config, GPT2LMHeadModel, GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM

SHAPES = {  # kind, layers, heads, hidden, mlp, vocabulary, positions
    "gpt2-small": ("gpt2", 12, 12, 768, 3072, 50257, 32768),
    "gpt2-small-alibi": ("alibi", 12, 12, 768, 3072, 50257, 0),
    "gpt2-xl": ("gpt2", 48, 25, 1600, 6400, 50257, 2048),
    "pythia-1.4b": ("neox", 24, 16, 2048, 8192, 50304, 0),
    "llama-7b": ("llama", 32, 32, 4096, 11008, 32000, 0),
    "tiny-gpt2": ("gpt2", 2, 4, 64, 256, 211, 2048),
    "tiny-alibi": ("alibi", 2, 4, 64, 256, 211, 0),
    "tiny-neox": ("neox", 2, 4, 128, 512, 211, 0),
    "tiny-llama": ("llama", 2, 4, 64, 176, 211, 0),
}
MASK = 0xFFFFFFFF
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}


def fill(parameter, number, mean, spread, narrow):
    """Element i of tensor `number`: as tests/memory_decoder.c has it."""
    flat = parameter.data.view(-1)
    for first in range(0, flat.numel(), 1 << 26):
        i = torch.arange(first, min(first + (1 << 26), flat.numel()), dtype=torch.int64, device=flat.device)
        h = ((i + 1) * 2654435761 + number * 2246822519) & MASK
        h = ((h ^ h >> 15) * 2246822519) & MASK
        h = ((h ^ h >> 13) * 3266489917) & MASK
        h = h ^ h >> 16
        x = mean + spread * ((h >> 8).to(torch.float32) * 2.0**-23 - 1)
        flat[first : first + i.numel()] = x.to(torch.bfloat16) if narrow else x


def tensors(kind, layers, hidden):
    """(name, mean, spread) in the order of tests/memory_decoder.c; None: the output embedding."""
    w = float(torch.tensor(1.7) / torch.sqrt(torch.tensor(float(hidden))))
    both = lambda name, spread: [(name + ".weight", 0, spread), (name + ".bias", 0, 0.1)]
    norm = lambda name: [(name + ".weight", 1, 0.1), (name + ".bias", 0, 0.1)]
    out = []
    if kind in ("gpt2", "alibi"):
        out += [("transformer.wte.weight", 0, 0.05), ("transformer.wpe.weight", 0, 0.02)]
        for l in range(layers):
            p = f"transformer.h.{l}."
            out += norm(p + "ln_1") + both(p + "attn.c_attn", w) + both(p + "attn.c_proj", w / 4)
            out += norm(p + "ln_2") + both(p + "mlp.c_fc", w) + both(p + "mlp.c_proj", w / 8)
        return out + norm("transformer.ln_f")
    if kind == "neox":
        out += [("gpt_neox.embed_in.weight", 0, 0.05)]
        for l in range(layers):
            p = f"gpt_neox.layers.{l}."
            out += norm(p + "input_layernorm") + norm(p + "post_attention_layernorm")
            out += both(p + "attention.query_key_value", w) + both(p + "attention.dense", w / 4)
            out += both(p + "mlp.dense_h_to_4h", w) + both(p + "mlp.dense_4h_to_h", w / 8)
        return out + norm("gpt_neox.final_layer_norm") + [(None, 0, w)]
    out += [("model.embed_tokens.weight", 0, 0.05)]
    for l in range(layers):
        p = f"model.layers.{l}."
        out += [(p + "input_layernorm.weight", 1, 0.1)]
        out += [(p + f"self_attn.{x}_proj.weight", 0, w) for x in "qkv"] + [(p + "self_attn.o_proj.weight", 0, w / 4)]
        out += [(p + "post_attention_layernorm.weight", 1, 0.1), (p + "mlp.gate_proj.weight", 0, w), (p + "mlp.up_proj.weight", 0, w)]
        out += [(p + "mlp.down_proj.weight", 0, w / 8)]
    return out + [("model.norm.weight", 1, 0.1), (None, 0, w)]


def make_model(shape, length, dtype, device):
    kind, layers, heads, hidden, mlp, vocabulary, positions = SHAPES[shape]
    if kind in ("gpt2", "alibi"):
        config = GPT2Config(vocab_size=vocabulary, n_positions=positions or length, n_embd=hidden, n_layer=layers, n_head=heads, n_inner=mlp, activation_function="gelu_new",
                            layer_norm_epsilon=1e-5)
        build = GPT2LMHeadModel
    elif kind == "neox":
        config = GPTNeoXConfig(vocab_size=vocabulary, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=mlp, hidden_act="gelu",
                               rotary_pct=0.25, rotary_emb_base=10000, max_position_embeddings=max(2048, length), layer_norm_eps=1e-5, use_parallel_residual=True,
                               tie_word_embeddings=False)
        build = GPTNeoXForCausalLM
    else:
        config = LlamaConfig(vocab_size=vocabulary, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=heads,
                             intermediate_size=mlp, rms_norm_eps=1e-5, max_position_embeddings=max(4096, length), tie_word_embeddings=False)
        build = LlamaForCausalLM
    config._attn_implementation = "sdpa"
    torch.set_default_dtype({"bf16": torch.bfloat16, "f64": torch.float64}.get(dtype, torch.float32))
    with torch.device(device):
        model = build(config).eval()
    torch.set_default_dtype(torch.float32)
    named = dict(model.named_parameters())
    left = set(named)
    for number, (name, mean, spread) in enumerate(tensors(kind, layers, hidden)):
        if name is None:
            parameter = model.get_output_embeddings().weight
            left -= {n for n, p in named.items() if p is parameter}
        else:
            parameter = named[name]
            left.discard(name)
        fill(parameter, number, mean, spread, kind == "llama")
    if kind == "alibi":
        model.transformer.wpe.weight.data.zero_()
    assert not left, f"parameters without values: {sorted(left)[:5]}"
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model, vocabulary


def alibi(heads, length, dtype, device):
    """The bias as transformers takes it from a caller: an array [1, heads, length, length] that is added to the scores."""
    slope = 2.0 ** (-8.0 * torch.arange(1, heads + 1, device=device, dtype=torch.float64) / heads)
    t = torch.arange(length, device=device, dtype=torch.float64)
    distance = t[:, None] - t[None, :]
    return torch.where(distance < 0, float("-inf"), -slope[:, None, None] * distance)[None].to(dtype)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("length", type=int)
    parser.add_argument("dtype", choices=["f64", "f32", "tf32", "bf16"])
    parser.add_argument("repeats", type=int)
    parser.add_argument("norms", nargs="?")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--backend", choices=BACKENDS)
    a = parser.parse_args()
    if a.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("peer.py: PyTorch finds no GPU (expected one, or --device cpu to try the script)")
    if a.dtype == "tf32":
        torch.set_float32_matmul_precision("high")
    model, vocabulary = make_model(a.shape, a.length, a.dtype, a.device)
    body, head, table = model.base_model, model.get_output_embeddings(), model.get_input_embeddings().weight
    run = torch.compile(body) if a.compile else body
    wait = torch.cuda.synchronize if a.device == "cuda" else lambda: None
    bias = {}
    if SHAPES[a.shape][0] == "alibi":
        bias = {"attention_mask": alibi(SHAPES[a.shape][2], a.length - 1, table.dtype, a.device)}
    pinned = lambda: sdpa_kernel([BACKENDS[a.backend]]) if a.backend else contextlib.nullcontext()

    def measure(ids):
        rows = table[ids[:, :-1]].requires_grad_(True)
        with pinned():
            hidden = run(inputs_embeds=rows, use_cache=False, **bias).last_hidden_state[:, -1]
        logits = head(hidden)
        logprob = torch.log_softmax(logits if a.dtype == "f64" else logits.float(), dim=-1).gather(1, ids[:, -1:]).squeeze(1)
        (gradient,) = torch.autograd.grad(logprob.sum(), rows)
        return (gradient if a.dtype == "f64" else gradient.float()).norm(dim=-1), logprob.detach()

    best, best_batch, best_held, norms, logprob = float("inf"), 0, 0, None, None
    batch = a.batch or 1
    while batch <= max(64, a.batch):
        position, segment = torch.arange(a.length, device=a.device), torch.arange(batch, device=a.device)
        ids = (position[None, :] + 13 * segment[:, None]) * 7919 % vocabulary
        if a.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        try:
            fastest = float("inf")
            for repeat in range(-2 if a.repeats > 1 else 0, a.repeats):  # two to warm up
                wait()
                start = time.perf_counter()
                found = measure(ids)
                wait()
                if repeat >= 0:
                    fastest = min(fastest, (time.perf_counter() - start) / batch)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            break
        if norms is None:
            norms, logprob = found[0][0], found[1][0]
        if fastest > 0.98 * best:
            break
        best, best_batch = fastest, batch
        best_held = torch.cuda.max_memory_allocated() if a.device == "cuda" else 0
        if a.batch:
            break
        batch *= 2
    if norms is None:
        raise SystemExit("out of memory with one segment")
    if a.device == "cuda":
        print(f"memory={best_held * 1e-9:.2f}")
    if a.norms:
        norms.double().cpu().numpy().tofile(a.norms)
    gpu = f" on {torch.cuda.get_device_name()}" if a.device == "cuda" else ""
    print(f"peer=torch {torch.__version__}, transformers {transformers.__version__}{gpu}{', compiled' if a.compile else ''}{', ' + a.backend if a.backend else ''}\nbatch={best_batch}\nseconds={best:.6f}\nlogprob={float(logprob):.9g}")


main()
