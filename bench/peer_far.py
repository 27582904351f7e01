"""The peer for long inputs: an example model (none or alibi) as a PyTorch user would measure it far out: SDPA, each layer checkpointed, the head on the last row, autograd.grad to
the embeddings.

    python3 bench/peer_far.py CHECKPOINT LENGTH REPEATS [NORMS_FILE]

Prints and writes what bench/peer.py does.
"""
import json
import os
import sys

import torch
from safetensors.torch import load_file
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from peer_times import report


def main():
    path, length, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(os.path.join(path, "config.json")) as file:
        config = json.load(file)
    w = {name: value.float() for name, value in load_file(os.path.join(path, "model.safetensors")).items()}
    hidden, heads, inputs = config["hidden"], config["heads"], length - 1
    mask = None
    if "position_bias" in config:  # SDPA takes a bias as a matrix alone
        if config["position_bias"] != "alibi(delta=0)":
            sys.exit("peer_far.py: knows no bias but alibi(delta=0)")
        t = torch.arange(inputs)
        t = (t[:, None] - t[None, :]).float()
        mask = torch.empty(heads, inputs, inputs)
        for h in range(heads):
            torch.mul(t, -2.0 ** (-8 * (h + 1) / heads), out=mask[h]).masked_fill_(t < 0, -torch.inf)
        del t

    def linear(x, name):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    def norm(x, name):
        return F.layer_norm(x, (hidden,), w[name + ".weight"], w[name + ".bias"], config["norm_epsilon"])

    def layer(x, n):
        y = norm(x, f"layers.{n}.attention_norm")
        q, k, v = (linear(y, f"layers.{n}.attention.{part}").view(1, inputs, heads, -1).transpose(1, 2) for part in ("query", "key", "value"))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        x = x + linear(y.transpose(1, 2).reshape(1, inputs, hidden), f"layers.{n}.attention.output")
        return x + linear(F.gelu(linear(norm(x, f"layers.{n}.mlp_norm"), f"layers.{n}.mlp.up")), f"layers.{n}.mlp.down")

    ids = torch.arange(length) * 7919 % config["vocabulary"]

    def measure():
        rows = w["embedding.weight"][ids[:-1]].unsqueeze(0).requires_grad_(True)
        x = rows
        for n in range(config["layers"]):
            x = checkpoint(layer, x, n, use_reentrant=False)
        logprob = torch.log_softmax(F.linear(norm(x[:, -1], "final_norm"), w["embedding.weight"]), -1)[0, ids[-1]]
        (gradient,) = torch.autograd.grad(logprob, rows)
        return gradient[0].norm(dim=-1), logprob

    report(measure, repeats)


main()
