#!/usr/bin/env python3
"""Makes kernels.txt: the operations of kernels/ops.h and their gradients by PyTorch's autograd in float64.

Inputs are not stored: mix() and values() are those of tests/kernel_run.c. Run: python3 tests/goldens/kernels/make.py (needs torch, numpy).

Format: a line `case OP key=value ...`, then for each array a line `NAME COUNT` and a line of numbers that read back exactly; -inf as `-inf`.
"""
import math
import os

import numpy as np
import torch

torch.set_default_dtype(torch.float64)


def values(shape, seed, scale):
    """Multiples of 2^-23 below 2 in size, times scale."""
    i = np.arange(int(np.prod(shape)), dtype=np.uint32)
    with np.errstate(over="ignore"):
        h = (i + np.uint32(1)) * np.uint32(2654435761) + np.uint32(seed * 2246822519 % 2**32)
        h = (h ^ (h >> np.uint32(15))) * np.uint32(2246822519)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(3266489917)
        h = h ^ (h >> np.uint32(16))
    return torch.from_numpy(scale * ((h >> np.uint32(7)).astype(np.float64) - 2.0**24) * 2.0**-23).reshape(shape)


def segment_values(segments, shape, seed, scale):
    return torch.stack([values(shape, seed + 1000 * s, scale) for s in range(segments)])


def write(out, op, case, arrays):
    out.write("case " + op + "".join(f" {k}={v}" for k, v in case.items()) + "\n")
    for name, array in arrays.items():
        flat = array.detach().reshape(-1).tolist()
        out.write(f"{name} {len(flat)}\n" + " ".join("%.17g" % x for x in flat) + "\n")


class Tanh(torch.autograd.Function):
    """tanh; its slope 1 - tanh^2 without what the difference loses."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(context, d):
        x, = context.saved_tensors
        return d / x.cosh()**2


class Sigmoid(torch.autograd.Function):
    """The logistic function; its slope without what 1 - y loses."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x.sigmoid()

    @staticmethod
    def backward(context, d):
        x, = context.saved_tensors
        return d * x.sigmoid() * (-x).sigmoid()


ACTIVATIONS = [  # in the order of enum activation in kernels/ops.h
    torch.nn.functional.gelu,
    lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    lambda x: x * torch.sigmoid(1.702 * x),
    torch.relu,
    torch.nn.functional.silu,
    lambda x: 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3))),
    lambda x: torch.relu(x)**2,
    lambda x: x.clamp(max=7) * torch.sigmoid(1.702 * x.clamp(max=7)),
    Tanh.apply,
    torch.sigmoid,
]
CLAMPED = 7     # of a gate, by which 1 + up, clamped, is multiplied


def linear(c):
    S, R = c["segments"], c["rows"]
    x = segment_values(S, (R, c["in"]), 1, 1).requires_grad_()
    dy = segment_values(S, (R, c["out"]), 2, 1)
    w, b = values((c["out"], c["in"]), 5, 0.25), values((c["out"],), 6, 1)
    y = torch.nn.functional.linear(x, w, b if c["bias"] else None)
    y.backward(dy)
    if c["accumulate"]:
        return {"y": y + segment_values(S, (R, c["out"]), 3, 1), "dx": x.grad + segment_values(S, (R, c["in"]), 4, 1)}
    return {"y": y, "dx": x.grad}


def normed(x, kind, epsilon):
    """(normed x over its last dimension, mean, factor on x - mean); kinds in the order of enum norm_kind in kernels/ops.h."""
    mean = x.mean(-1) if kind == 0 else torch.zeros(x.shape[:-1])
    centered = x - mean[..., None]
    square = centered.pow(2).mean(-1)
    factor = [lambda: torch.rsqrt(square + epsilon), lambda: torch.rsqrt(square + epsilon), lambda: 1 / (square.sqrt() + epsilon),
              lambda: 1 / torch.linalg.vector_norm(x, dim=-1).clamp(min=epsilon)][kind]()
    return centered * factor[..., None], mean, factor


def norm(c):
    S, R, W = c["segments"], c["rows"], c["width"]
    x = segment_values(S, (R, W), 1, 0.5).requires_grad_()
    dy = segment_values(S, (R, W), 2, 1)
    scale, shift = values((W,), 4, 1), values((W,), 5, 1)
    if c["vectors"]:
        scale, shift = scale[:1] if c["vectors"] == 1 else 1, shift[:1]
    u, mean, factor = normed(x, c["kind"], c["epsilon"])
    y = u * scale + (shift if c["shift"] else 0)
    if c["kind"] == 0:
        y = torch.nn.functional.layer_norm(x, (W,), scale, shift if c["shift"] else None, c["epsilon"])
    y.backward(dy)
    there = segment_values(S, (R, W), 3, 1) if c["accumulate"] else 0
    return {"y": y, "statistics": torch.stack([mean, factor], -1), "dx": x.grad + there}


def norm_heads(c):
    """The norm of each head; the columns behind the heads keep what y and dx held."""
    S, R, H, D, W = c["segments"], c["rows"], c["heads"], c["head_size"], c["width"]
    x = segment_values(S, (R, W), 1, 0.5)[..., : H * D].reshape(S, R, H, D).requires_grad_()
    dy, y0 = segment_values(S, (R, W), 2, 1), segment_values(S, (R, W), 3, 1)
    u, mean, factor = normed(x, c["kind"], 1e-5)
    y = u * values((D,), 4, 1) + (values((D,), 5, 1) if c["shift"] else 0)
    y.backward(dy[..., : H * D].reshape(S, R, H, D))
    return {"y": torch.cat([y.reshape(S, R, H * D), y0[..., H * D :]], -1), "statistics": torch.stack([mean, factor], -1),
            "dx": torch.cat([x.grad.reshape(S, R, H * D), dy[..., H * D :]], -1)}


def clip(c):
    shape = (c["rows"], c["width"])
    x = (torch.round(segment_values(c["segments"], shape, 1, 1) * 64) / 64).requires_grad_()
    y = x.clamp(-c["limit"], c["limit"])
    y.backward(segment_values(c["segments"], shape, 2, 1))
    return {"dx": x.grad, "x": y, "scaled": x * c["limit"], "zeros": x * 0}


def activation(c):
    shape = (c["rows"], c["width"])
    up, gate = (segment_values(c["segments"], shape, seed, c["size"]) for seed in (1, 2))
    if c["kind"] == CLAMPED:        # as leave_limit of tests/kernel_run.c
        up, gate = (torch.where((x.abs() - 7).abs() < 7 / 128, (7 * (1 + 1 / 32)) * x.sign(), x) for x in (up, gate))
    up.requires_grad_(), gate.requires_grad_()
    act = ACTIVATIONS[c["kind"]]
    a = act(gate) * (1 + up.clamp(-7, 7) if c["kind"] == CLAMPED else up) if c["gated"] else act(up)
    a.backward(segment_values(c["segments"], shape, 3, 1))
    return {"a": a, "d_up": up.grad, **({"d_gate": gate.grad} if c["gated"] else {})}


def xielu(c):
    shape, limit = (c["rows"], c["width"]), abs(c["limit"])
    x = segment_values(c["segments"], shape, 1, c["size"])
    x = torch.where((x.abs() - limit).abs() < limit / 128, (limit * (1 + 1 / 32)) * x.sign(), x).requires_grad_()      # as leave_limit of tests/kernel_run.c
    y = torch.where(x > 0, c["positive"] * x * x + c["linear"] * x, c["negative"] * (torch.expm1(torch.min(x, torch.tensor(c["limit"]))) - x) + c["linear"] * x)
    y.backward(segment_values(c["segments"], shape, 2, 1))
    return {"y": y, "dx": x.grad}


def recurrence(c):
    """Numbers as numbers_of() of tests/kernel_recurrence.c makes them."""
    S, T, H, G, dk, dv = (c[key] for key in ("segments", "keys", "heads", "key_heads", "key_size", "value_size"))
    qkv = segment_values(S, (T, 2 * G * dk + H * dv), 1, 1)
    if c["delta"]:
        qkv[..., G * dk:2 * G * dk] /= 8 * math.ceil(math.sqrt(dk) / 8)
    D = dk if c["by_channel"] else 1
    gates = segment_values(S, (T, H * (D + 1)), 2, 1)
    gates = torch.cat([(gates[..., :H * D] - 2) * (c["decay"] / 2), (gates[..., H * D:] + 2) / 4], 2)
    d_o, skip = segment_values(S, (c["queries"], H, dv), 3, 1), values((H,), 5, 1)
    state = torch.zeros(S, H, dk, dv, dtype=torch.float64)
    qkv.requires_grad_(), gates.requires_grad_()
    q, k, v = qkv.split([G * dk, G * dk, H * dv], -1)
    q, k = (x.reshape(S, T, G, dk).repeat_interleave(H // G, 2) for x in (q, k))
    v, rows = v.reshape(S, T, H, dv), []
    decay, step = gates[..., :H * D].reshape(S, T, H, D), gates[..., H * D:]
    for t in range(T):
        state = decay[:, t].exp()[..., None] * state
        written = v[:, t] - (torch.einsum("shkv,shk->shv", state, k[:, t]) if c["delta"] else 0)
        state = state + torch.einsum("shk,shv,sh->shkv", k[:, t], written, step[:, t])
        rows.append(c["scale"] * torch.einsum("shkv,shk->shv", state, q[:, t]) + skip[:, None] * v[:, t])
    o = torch.stack(rows, 1)[:, T - c["queries"]:]
    o.backward(d_o)
    return {"o": o, "d_qkv": qkv.grad, "d_gates": gates.grad} | ({"states": state.detach()} if c["states"] else {})


def gating(c):
    S, R, H = c["segments"], c["rows"], c["heads"]
    raw = segment_values(S, (R, 2 if c["write"] else 1, H), 1, c["size"]).requires_grad_()
    rate, bias = values((H,), 3, 1) + 2.5, values((H,), 4, 1)
    dt = torch.nn.functional.softplus(raw[:, :, 0] + (bias if c["bias"] else 0), threshold=1e9).clamp(c["low"], c["high"])
    gates = torch.stack([-rate * dt, c["write"] * torch.sigmoid(raw[:, :, 1]) if c["write"] else dt], 2)
    gates.backward(segment_values(S, (R, 2, H), 2, 1))
    return {"gates": gates, "d_raw": raw.grad}


def lru(c):
    """Numbers as run_lru() of tests/kernel_scan.c makes them; transformers' RecurrentGemmaRglru but for its matrices and its bound on a derivative."""
    S, R, W = (c[key] for key in ("segments", "rows", "width"))
    x, raw = segment_values(S, (R, W), 1, 1), segment_values(S, (R, 2, W), 2, c["size"]).float().double()
    rate = (c["rates"] / 2 * (values((W,), 5, 1) + 3)).float().double()
    x.requires_grad_(), raw.requires_grad_()
    steps = 8 * torch.sigmoid(raw[:, :, 0])
    first = torch.arange(R)[None, :, None] == 0
    m = torch.where(first, 1.0, torch.sqrt(torch.where(first, 1.0, -torch.expm1(-2 * rate * steps))))
    y = m * torch.sigmoid(raw[:, :, 1]) * x
    torch.autograd.backward((steps, y), (segment_values(S, (R, W), 3, 1), segment_values(S, (R, W), 4, 1)))
    return {"steps": steps, "y": y, "d_x": x.grad, "d_raw": raw.grad}


def scan(c):
    """Numbers as numbers_of() of tests/kernel_scan.c makes them: rates and steps in float."""
    S, T, I, N, G = (c[key] for key in ("segments", "keys", "channels", "size", "groups"))
    x, steps, bc = (segment_values(S, shape, seed, 1) for seed, shape in ((1, (T, I)), (2, (T, I)), (3, (T, G, 2, N))))
    steps = (c["time"] + steps if c["selective"] else c["time"] * steps.abs()).float().double()
    rate, skip = (c["decay"] / 2 * (values((N, I), 5, 1) + 2)).float().double(), values((I,), 6, 1)
    x.requires_grad_(), steps.requires_grad_(), bc.requires_grad_()
    dt = torch.nn.functional.softplus(steps, threshold=1e9) if c["selective"] else steps
    b, c_rows = bc.repeat_interleave(I // G, 2).permute(3, 0, 1, 4, 2)      # [S, T, N, I] each
    h, rows = torch.zeros(S, N, I), []
    for t in range(T):
        written = dt[:, t] * x[:, t] if c["selective"] else x[:, t]
        h = torch.exp(-dt[:, t, None] * rate) * h + written[:, None] * b[:, t]
        rows.append((c_rows[:, t] * h).sum(1) + skip * x[:, t])
    o = torch.stack(rows, 1)[:, T - c["queries"]:]
    o.backward(segment_values(S, (c["queries"], I), 4, 1))
    return {"o": o, "d_x": x.grad, "d_steps": steps.grad, "d_bc": bc.grad}


def wkv(c):
    """As softmax attention of each channel, by its definition; numbers as numbers_of() of tests/kernel_wkv.c makes them."""
    S, T, I, Q = (c[key] for key in ("segments", "rows", "channels", "queries"))
    k, v = segment_values(S, (T, I), 1, c["size"]).float().double().requires_grad_(), segment_values(S, (T, I), 2, 1).requires_grad_()
    rate, first = (c["decay"] / 2 * (values((I,), 4, 1) + 2)).float().double(), values((I,), 5, c["size"]).float().double()
    distance = (torch.arange(T - Q, T)[:, None] - torch.arange(T))[:, :, None]
    bias = torch.where(distance == 0, first, -(distance - 1) * rate).masked_fill(distance < 0, -torch.inf)
    scores = bias + k[:, None]
    o = (torch.softmax(scores, 2) * v[:, None]).sum(2)
    o.backward(segment_values(S, (Q, I), 3, 1))
    return {"o": o, "log_sum": torch.logsumexp(scores, 2), "d_k": k.grad, "d_v": v.grad}


def channel_gating(c):
    S, R, H, d = c["segments"], c["rows"], c["heads"], c["key_size"]
    a, b = segment_values(S, (R, H * d), 1, c["size"]).requires_grad_(), segment_values(S, (R, H), 5, c["size"]).requires_grad_()
    rate, bias = (values((H,), 3, 1) + 2.5).repeat_interleave(d), values((H * d,), 4, 1)
    x = a + (bias if c["bias"] else 0)
    decay = c["floor"] * Sigmoid.apply(rate * x) if c["floor"] < 0 else -rate * torch.nn.functional.softplus(x, threshold=1e9)
    gates = torch.cat([decay, c["write"] * Sigmoid.apply(b)], 2)
    gates.backward(segment_values(S, (R, H * (d + 1)), 2, 1))
    return {"gate_channels": gates, "d_a": a.grad, "d_b": b.grad}


def rotate(x, cosine, sine, pairing):
    """x [..., positions, heads, size]; cosine, sine [positions, pairs]."""
    pairs = cosine.shape[-1]
    cosine, sine = cosine[:, None, :], sine[:, None, :]
    turned = x.clone()
    first = slice(0, pairs) if pairing == 0 else slice(0, 2 * pairs, 2)
    second = slice(pairs, 2 * pairs) if pairing == 0 else slice(1, 2 * pairs, 2)
    u, v = x[..., first], x[..., second]
    turned[..., first] = u * cosine - v * sine
    turned[..., second] = v * cosine + u * sine
    return turned


def rotation(c):
    """Rotation of the last `rows` of `positions` positions; two more dimensions a row stay as they are."""
    S, R, H, D, r, first = c["segments"], c["rows"], c["heads"], c["head_size"], c["rotary_size"], c["rotary_first"]
    x = segment_values(S, (R, H * D + 2), 1, 1)
    m = torch.arange(c["positions"], dtype=torch.float64)[-R:, None]
    angle = m * 10000 ** (-2 * torch.arange(r // 2, dtype=torch.float64) / r)
    heads = x[..., : H * D].reshape(S, R, H, D).clone()
    heads[..., first:] = rotate(heads[..., first:], angle.cos(), angle.sin(), c["pairing"])
    return {"turned": torch.cat([heads.reshape(S, R, H * D), x[..., H * D :]], -1), "back": x}


def embed(c):
    S, R, W, n = c["segments"], c["rows"], c["heads"] * c["head_size"], c["positions"]
    ids = ((segment_values(S, (R,), 3, 1) + 2) / 4 * 37).long()
    x = 3.1 * values((37, W), 1, 1)[ids]
    return {"x": x + values((n + 2, W), 2, 1)[n - R : n] if c["position_rows"] else x}


def moves(c):
    S, R, W = c["segments"], c["rows"], c["heads"] * c["head_size"]
    to = (R + 1) // 2
    x, y = segment_values(S, (R, W), 1, 1), segment_values(S, (R, W), 2, 1)
    back = y.clone()
    back[:, R - to :] += x[:, R - to :]
    return {"norms": 1.7 * x.pow(2).sum(-1).sqrt(), "tail": x[:, R - to :], "tail_reverse": back}


def head(c):
    S, W, V = c["segments"], c["width"], c["vocabulary"]
    x = segment_values(S, (W,), 1, c["size"]).requires_grad_()
    z = torch.nn.functional.linear(x, values((V, W), 2, 0.5), values((V,), 3, 1) if c["bias"] else None)
    if c["soft_cap"]:
        z = c["soft_cap"] * torch.tanh(z / c["soft_cap"])
    target = (7 * torch.arange(S) + V - 1) % V
    logprob = torch.log_softmax(z, -1)[torch.arange(S), target]
    (c["seed"] * logprob.sum()).backward()
    return {"dx": x.grad, "logprob": logprob}


def attention_tables(c):
    H, n = c["heads"], c["positions"]
    bias = values((H, n), 21, 1)
    t = torch.arange(n, dtype=torch.float64)[None, :]
    h = torch.arange(1, H + 1, dtype=torch.float64)[:, None]
    kind = c["bias"]
    if kind == 2:
        bias = -t * 2 ** (-8 * h / H)
    elif kind == 3:
        bias = -t * (150 / h)
    elif kind == 4:
        bias[:, t[0] % 4 == 2] = -math.inf
        if H > 1:
            bias[1, 0] = -math.inf
    elif kind == 6:
        bias[:, 5:] = -math.inf
    key_bias = values((H, n), 23, 2)
    if c["key_bias"] == 2:
        key_bias.view(-1)[torch.arange(H * n) % 7 == 3] = -math.inf
    return bias if kind else torch.zeros(H, n), values((H, n), 22, 1), key_bias


def attention(c):
    S, H, G, D, n = c["segments"], c["heads"], c["kv_heads"], c["head_size"], c["positions"]
    Q, K, V = c["queries"], c["keys"], c["value_size"]
    q = segment_values(S, (Q, H, D), 1, c["size"]).requires_grad_()
    kv = segment_values(S, (K, G * (D + V)), 2, c["size"]).requires_grad_()
    bias, multiplier, key_bias = attention_tables(c)
    heads = torch.arange(H) * G // H
    key, value = kv[..., : G * D].reshape(S, K, G, D)[:, :, heads], kv[..., G * D :].reshape(S, K, G, V)[:, :, heads]
    z = torch.einsum("sqhd,skhd->shqk", q, key) / math.sqrt(D)
    if c["soft_cap"]:
        z = c["soft_cap"] * torch.tanh(z / c["soft_cap"])
    i, j = torch.arange(n - Q, n)[:, None], torch.arange(n - K, n)[None, :]
    t = i - j
    seen = t >= 0
    if c["window"]:
        seen = seen & ((t < c["window"]) | (j < c["keep"]))
    t = t.clamp(min=0)
    if c["multiplier"]:
        z = z * multiplier[:, t]
    added = bias[:, t] + (key_bias[:, j] if c["key_bias"] else 0)
    seen = seen & (added > -math.inf)
    z = torch.where(seen, z + added.nan_to_num(neginf=0), torch.tensor(-1e300))
    some = seen.any(-1, keepdim=True)
    e = torch.where(seen, torch.exp(z - z.amax(-1, keepdim=True).detach()), torch.tensor(0.0))
    total = torch.where(some, e.sum(-1, keepdim=True), torch.tensor(1.0))
    o = torch.einsum("shqk,skhd->sqhd", e / total, value)
    lse = torch.where(some, z.amax(-1, keepdim=True) + total.log(), torch.tensor(-math.inf))
    o.backward(segment_values(S, (Q, H, V), 3, 1))
    return {"o": o, "lse": lse, "dq": q.grad, "dkv": kv.grad}


def main():
    cases = []
    for i, (S, R, n_in, n_out) in enumerate([(1, 1, 1, 1), (2, 3, 65, 7), (2, 5, 3, 67)]):
        cases.append((linear, dict(segments=S, rows=R, bias=int(i > 0), accumulate=i // 2, **{"in": n_in, "out": n_out})))
    for kind in (0, 1):
        for shift in (0, 1):
            cases.append((norm, dict(segments=2, rows=2, width=1 + 16 * (1 + shift), kind=kind, shift=shift, accumulate=shift, epsilon=1e-5, vectors=0)))
    for kind in (2, 3):
        for vectors, epsilon in ((0, 1e-5), (1, 0.5), (2, 6)):
            cases.append((norm, dict(segments=2, rows=2, width=33, kind=kind, shift=int(vectors < 2), accumulate=0, epsilon=epsilon, vectors=vectors)))
    for kind in (0, 1):
        cases.append((norm_heads, dict(segments=2, rows=2, heads=2, head_size=7, width=17, kind=kind, shift=1 - kind)))
    cases.append((clip, dict(segments=2, rows=2, width=17, limit=0.7)))
    for kind in range(len(ACTIVATIONS)):
        for gated in (0, 1):
            cases.append((activation, dict(segments=1, rows=2, width=17, kind=kind, gated=gated, size=8 if kind == CLAMPED else 4 if gated else 2)))
    for numbers in (dict(positive=0.8, negative=0.7, linear=0.5, limit=-1e-6), dict(positive=1.7, negative=2.3, linear=-0.3, limit=-0.25)):
        cases.append((xielu, dict(segments=2, rows=2, width=17, size=2, **numbers)))
    for pairing in (0, 1):
        for size, first in ((7, 0), (9, 3)):
            cases.append((rotation, dict(segments=2, rows=2, positions=9, heads=2, head_size=size, rotary_size=6, rotary_first=first, pairing=pairing)))
    for op in (embed, moves):
        for position_rows in (0, 1):
            cases.append((op, dict(segments=2, rows=3 + position_rows, positions=9, heads=2, head_size=3, position_rows=position_rows)))
    for cap, bias, seed, size in ((0, 0, 1, 1), (0, 1, -0.5, 4), (3, 1, 2, 1)):
        cases.append((head, dict(segments=2, width=19, vocabulary=33, bias=bias, soft_cap=cap, seed=seed, size=size)))
    for delta in (0, 1):
        for queries, states, decay, scale, heads, key_heads in ((9, 1, 0.5, 1, 2, 2), (3, 1, 2, 0.5, 4, 2), (1, 0, 0.1, 2, 3, 1)):
            cases.append((recurrence, dict(segments=2, keys=9, queries=queries, heads=heads, key_heads=key_heads, key_size=3, value_size=4, delta=delta, states=states,
                                           decay=decay, scale=scale, by_channel=0)))
        for queries, states, decay in ((9, 1, 0.5), (1, 0, 2)):
            cases.append((recurrence, dict(segments=2, keys=9, queries=queries, heads=2, key_heads=2, key_size=3, value_size=4, delta=delta, states=states,
                                           decay=decay, scale=0.5, by_channel=1)))
    for bias, low, high, most in ((0, 0, math.inf, 0), (1, 0.5, 2, 0), (1, 0, math.inf, 2)):
        cases.append((gating, dict(segments=2, rows=3, heads=5, bias=bias, low=low, high=high, write=most, size=2)))
    for rows, width, size, rates in ((3, 5, 1, 0.3), (4, 3, 1, 0.01)):
        cases.append((lru, dict(segments=2, rows=rows, width=width, size=size, rates=rates)))
    for selective, queries, decay, time, groups in ((1, 9, 0.5, -1, 1), (1, 1, 2, 0, 1), (0, 4, 0.3, 1, 1), (1, 4, 0.5, 0, 3)):
        cases.append((scan, dict(segments=2, keys=9, queries=queries, channels=3, size=2, selective=selective, decay=decay, time=time, groups=groups)))
    for queries, decay, size in ((7, 0.5, 1), (1, 0.1, 3), (3, 20, 30)):
        cases.append((wkv, dict(segments=2, rows=7, queries=queries, channels=3, decay=decay, size=size)))
    for bias, most, floor in ((0, 1, 0), (1, 2, -5)):
        cases.append((channel_gating, dict(segments=2, rows=3, heads=2, key_size=3, bias=bias, write=most, floor=floor, size=2)))
    plain = dict(segments=1, heads=2, kv_heads=2, head_size=5, positions=9, keys=9, queries=9, window=0, bias=0, multiplier=0, key_bias=0, soft_cap=0, size=1, keep=0)
    for change in (
        {},
        dict(segments=2, heads=4),
        dict(heads=6, kv_heads=1, head_size=3),
        dict(window=3),
        dict(window=1),
        dict(bias=1),
        dict(bias=2, positions=17, keys=17, queries=17),
        dict(bias=3),
        dict(bias=4),
        dict(bias=6, multiplier=1),
        dict(key_bias=1),
        dict(key_bias=2, bias=1),
        dict(soft_cap=0.75),
        dict(soft_cap=2, multiplier=1, bias=1, key_bias=1, heads=4, window=5, size=2),
        dict(queries=1, bias=2, multiplier=1),
        dict(segments=2, queries=3, keys=6, positions=11, bias=1, multiplier=1, key_bias=1, soft_cap=1, window=5),
        dict(size=16, soft_cap=50),
        dict(window=3, keep=2),
        dict(queries=3, keys=6, positions=11, bias=1, multiplier=1, key_bias=1, soft_cap=1, window=2, keep=7),
        dict(head_size=6, value_size=4),
        dict(head_size=3, value_size=7, heads=4, segments=2),
        dict(head_size=6, value_size=4, heads=4, queries=3, keys=6, positions=11, bias=1, multiplier=1, key_bias=1, soft_cap=1, window=5),
        dict(head_size=6, value_size=1, queries=1),
    ):
        case = {**plain, **change}
        cases.append((attention, {**case, "value_size": case.get("value_size", case["head_size"])}))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.txt"), "w") as out:
        for op, case in cases:
            write(out, op.__name__, case, op(case))


main()
