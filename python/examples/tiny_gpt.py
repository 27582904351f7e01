"""A GPT written by hand, given to reach and measured: python3 tiny_gpt.py FOLDER"""
import sys

import reach_erf as reach
import torch
from torch import nn
from torch.nn import functional as F

LAYERS, HEADS, WIDTH, LENGTH, VOCABULARY = 2, 4, 32, 64, 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc, self.proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.ln1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.proj(F.gelu(self.fc(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.ln = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.ln(x) @ self.tokens.weight.T


model = GPT().double().eval()          # yours: load your weights here
folder = reach.write_checkpoint(sys.argv[1], model.state_dict(), names={
    "embedding": "tokens", "position": "places", "final_norm": "ln",
    "layers.{n}.attention_norm": "blocks.{n}.ln1", "layers.{n}.mlp_norm": "blocks.{n}.ln2",
    "layers.{n}.attention.query": reach.split("blocks.{n}.qkv", 0, of=3),
    "layers.{n}.attention.key": reach.split("blocks.{n}.qkv", 1, of=3),
    "layers.{n}.attention.value": reach.split("blocks.{n}.qkv", 2, of=3),
    "layers.{n}.attention.output": "blocks.{n}.out",
    "layers.{n}.mlp.up": "blocks.{n}.fc", "layers.{n}.mlp.down": "blocks.{n}.proj",
}, config={
    "vocabulary": VOCABULARY, "hidden": WIDTH, "layers": LAYERS, "heads": HEADS, "mlp": 4 * WIDTH, "activation": "gelu",
    "position": {"kind": "learned", "length": LENGTH}, "train_length": LENGTH,
})
segments = torch.randint(VOCABULARY, (8, LENGTH))      # yours: segments of your text
print(reach.check(folder, model, segments))
result = reach.erf(folder, tokens=segments, out=folder / "erf", force=True)
for measured in result.values():
    print(measured.name, measured.erf(0.99), measured.c[:4])
