"""The peer: the best script a PyTorch user would write for the same numbers.

    python3 bench/peer.py CHECKPOINT LENGTH REPEATS [NORMS_FILE [f32|medium|bf16]]

Frozen weights, SDPA attention, the head on the last row only, autograd.grad to the input embeddings. f32 and medium: float32, with products at PyTorch's precision "highest"
and "medium"; bf16: the model in bf16. Prints key=value lines like bench/erf.c; writes the norms as float64 to NORMS_FILE.
"""
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from peer_times import report


def main():
    path, length, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    kind = sys.argv[5] if len(sys.argv) > 5 else "f32"
    torch.set_float32_matmul_precision("medium" if kind == "medium" else "highest")
    config = AutoConfig.from_pretrained(path)
    attends = getattr(config, "num_attention_heads", 0) > 0  # models of recurrences alone refuse SDPA
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="sdpa" if attends else "eager", dtype=dtype).eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for part in model.modules():  # Mamba-2's plain path leaves the last product's operand in float
        if kind == "bf16" and isinstance(part, torch.nn.Linear):
            part.register_forward_pre_hook(lambda of, operands: (operands[0].to(of.weight.dtype),))
    body, head = model.base_model, model.get_output_embeddings()
    table = model.get_input_embeddings().weight
    ids = torch.arange(length, dtype=torch.long) * 7919 % table.shape[0]

    def measure():
        rows = table[ids[:-1]].unsqueeze(0).requires_grad_(True)
        hidden = body(inputs_embeds=rows, use_cache=False).last_hidden_state[:, -1]
        logprob = torch.log_softmax(head(hidden).float(), dim=-1)[0, ids[-1]]
        (gradient,) = torch.autograd.grad(logprob, rows)
        return gradient[0].float().norm(dim=-1), logprob

    report(measure, repeats)


main()
