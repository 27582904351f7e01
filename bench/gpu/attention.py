"""PyTorch's attention at the shapes that bench/gpu/kernels.cu times, forward and reverse: each backend of scaled_dot_product_attention by itself (flash, cuDNN, efficient), and
with a bias by distance also flex_attention, compiled, which makes the bias from a formula as no array.

    python3 bench/gpu/attention.py [--device cpu]

A line for each: milliseconds, the rate of what was asked for, and the most memory that PyTorch held beside the inputs. --device cpu tries the script in small; it times nothing worth keeping.
"""
import argparse
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

CASES = [(8, 2047, 12, 12, 64, False), (8, 2047, 12, 12, 64, True), (8, 2047, 32, 32, 128, False), (8, 2047, 32, 32, 128, True), (8, 2047, 32, 8, 128, False)]
SMALL = [(1, 65, 2, 2, 16, False), (1, 65, 2, 2, 16, True), (1, 65, 4, 2, 16, False)]
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}


def seconds(work, wait):
    """Of one run, enqueued many at a time."""
    for _ in range(3):
        work()
    wait()
    start = time.perf_counter()
    work()
    wait()
    repeats = max(3, min(200, int(0.3 / (time.perf_counter() - start))))
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    wait()
    return (time.perf_counter() - start) / repeats


def ways(q, kv_heads, with_bias, device):
    """(name, function of q, k and v) of each way to compute this attention."""
    heads, length = q.shape[1], q.shape[2]
    options = {"is_causal": True, "enable_gqa": kv_heads < heads}
    slope = 0.004 / torch.arange(1, heads + 1, device=device).float()
    if with_bias:  # as ALiBi's users pass it: an array [1, heads, L, L]
        t = torch.arange(length, device=device)
        distance = (t[:, None] - t[None, :]).float()
        options = {"attn_mask": (-slope[:, None, None] * distance).masked_fill(distance < 0, float("-inf"))[None].bfloat16()}

    def pinned(backend):
        def attend(q, k, v):
            with sdpa_kernel([backend]):
                return scaled_dot_product_attention(q, k, v, **options)

        return attend

    for name, backend in BACKENDS.items():
        yield name, pinned(backend)
    if with_bias:
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device=device)
        flex = torch.compile(flex_attention) if device == "cuda" else flex_attention
        yield "flex", lambda q, k, v: flex(q, k, v, score_mod=lambda score, b, h, i, j: score - slope[h] * (i - j), block_mask=mask)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("attention.py: PyTorch finds no GPU (expected one, or --device cpu to try the script)")
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    where = f"PyTorch {torch.__version__} on {torch.cuda.get_device_name() if device == 'cuda' else 'the processor'}"
    print(f"== {where}, attention, bf16, causal, a backend a line")
    for batch, length, heads, kv_heads, size, with_bias in CASES if device == "cuda" else SMALL:
        shape = lambda h: torch.randn(batch, h, length, size, device=device, dtype=torch.bfloat16, requires_grad=True)
        q, k, v = shape(heads), shape(kv_heads), shape(kv_heads)
        d_o = torch.randn_like(q)
        name = f"attention {heads}/{kv_heads} heads of {size}, {length} by {length}{', bias' if with_bias else ''}"
        flops = 4.0 * batch * heads * size * length * (length + 1) / 2
        for way, attend in ways(q, kv_heads, with_bias, device):
            if device == "cuda":
                torch.cuda.synchronize()
                before = torch.cuda.memory_allocated()
                torch.cuda.reset_peak_memory_stats()
            try:
                o = attend(q, k, v)
                forward = seconds(lambda: attend(q, k, v), wait)
                reverse = seconds(lambda: torch.autograd.grad(o, (q, k, v), d_o, retain_graph=True), wait)
            except torch.OutOfMemoryError:
                print(f"{name + ', ' + way:56s} out of memory")
                continue
            except (RuntimeError, NotImplementedError) as error:  # a backend that this shape, or this machine, is not for
                print(f"{name + ', ' + way:56s} refused: {str(error).strip().splitlines()[0][:90]}")
                continue
            held = f" {(torch.cuda.max_memory_allocated() - before) * 1e-9:8.2f} GB" if device == "cuda" else ""
            print(f"{name + ', ' + way:56s} {forward * 1e3:9.3f} ms {flops / forward * 1e-12:8.1f} TFLOP/s{held or ' ' * 12}  {where}")
            print(f"{'  reverse':56s} {reverse * 1e3:9.3f} ms {2.5 * flops / reverse * 1e-12:8.1f} TFLOP/s{'':12s}  {where}", flush=True)
            del o


main()
