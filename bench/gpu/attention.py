"""PyTorch's attention at the shapes that bench/gpu/kernels.cu times, forward and reverse: flash where PyTorch takes it, with a bias the fastest that it has.

    python3 bench/gpu/attention.py [--device cpu]
"""
import argparse
import time

import torch
from torch.nn.functional import scaled_dot_product_attention

CASES = [(8, 2047, 12, 12, 64, False), (8, 2047, 12, 12, 64, True), (8, 2047, 32, 32, 128, False), (8, 2047, 32, 32, 128, True), (8, 2047, 32, 8, 128, False)]
SMALL = [(1, 65, 2, 2, 16, False), (1, 65, 2, 2, 16, True), (1, 65, 4, 2, 16, False)]


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    print(f"== PyTorch {torch.__version__}, scaled_dot_product_attention, bf16, causal")
    for batch, length, heads, kv_heads, size, with_bias in CASES if device == "cuda" else SMALL:
        shape = lambda h: torch.randn(batch, h, length, size, device=device, dtype=torch.bfloat16, requires_grad=True)
        q, k, v = shape(heads), shape(kv_heads), shape(kv_heads)
        d_o = torch.randn_like(q)
        options = {"is_causal": True, "enable_gqa": kv_heads < heads}
        if with_bias:  # as ALiBi's users pass it: an array [1, heads, L, L]
            t = torch.arange(length, device=device)
            distance = (t[:, None] - t[None, :]).float()
            slope = 0.004 / torch.arange(1, heads + 1, device=device).float()
            options = {"attn_mask": (-slope[:, None, None] * distance).masked_fill(distance < 0, float("-inf"))[None].bfloat16()}
        name = f"attention {heads}/{kv_heads} heads of {size}, {length} by {length}{', bias' if with_bias else ''}"
        flops = 4.0 * batch * heads * size * length * (length + 1) / 2
        try:
            o = scaled_dot_product_attention(q, k, v, **options)
            forward = seconds(lambda: scaled_dot_product_attention(q, k, v, **options), wait)
            reverse = seconds(lambda: torch.autograd.grad(o, (q, k, v), d_o, retain_graph=True), wait)
        except torch.OutOfMemoryError:
            print(f"{name:44s} out of memory")
            continue
        print(f"{name:44s} {forward * 1e3:9.3f} ms {flops / forward * 1e-12:8.1f} TFLOP/s")
        print(f"{'  reverse':44s} {reverse * 1e3:9.3f} ms {2.5 * flops / reverse * 1e-12:8.1f} TFLOP/s", flush=True)


main()
