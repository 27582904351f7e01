"""The peer: the best script a PyTorch user would write for the same numbers.

    python3 bench/peer.py CHECKPOINT LENGTH REPEATS [NORMS_FILE]

Frozen weights, SDPA attention, the head on the last row only, autograd.grad to the input embeddings. Prints key=value lines like bench/erf.c;
writes the norms as float64 to NORMS_FILE.
"""
import resource
import sys
import time

import torch
from transformers import AutoModelForCausalLM


def main():
    path, length, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="sdpa", dtype=torch.float32).eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    body, head = model.base_model, model.get_output_embeddings()
    table = model.get_input_embeddings().weight
    ids = torch.arange(length, dtype=torch.long) * 7919 % table.shape[0]

    def measure():
        rows = table[ids[:-1]].unsqueeze(0).requires_grad_(True)
        hidden = body(inputs_embeds=rows, use_cache=False).last_hidden_state[:, -1]
        logprob = torch.log_softmax(head(hidden), dim=-1)[0, ids[-1]]
        (gradient,) = torch.autograd.grad(logprob, rows)
        return gradient[0].norm(dim=-1), logprob

    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        norms, logprob = measure()
        best = min(best, time.perf_counter() - start)
    if len(sys.argv) > 4:
        norms.double().numpy().tofile(sys.argv[4])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peer=torch {torch.__version__}, {torch.get_num_threads()} threads\nseconds={best:.3f}\npeak_mb={peak:.0f}\nlogprob={float(logprob):.9g}")


main()
