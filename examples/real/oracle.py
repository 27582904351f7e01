#!/usr/bin/env python3
"""Make NAME.csv: numbers of a real model by transformers, for `make real` to compare with.

    python3 examples/real/oracle.py smollm2 build/real/SmolLM2-135M-Instruct.Q4_1.gguf
    python3 examples/real/oracle.py gemma3 build/real/gemma-3-270m-q4_k_m.gguf

The weights are those of the file, dequantised by the gguf package. Rows:

    token     every 1000th token id of the novel, and how many there are, by the tokenizer in the file
    norm      gradient norm of log p(last token) with respect to each input embedding, of 2 segments of 512 tokens, in float64
    logprob   log p of their last tokens, in float64
    nll       mean NLL of the last tokens of 8 segments given their last C inputs, a loop in float32; the largest C is the segments' length

A model whose tokenizer puts a token before a text (Gemma) has it before every input.
Needs PyTorch, transformers, tokenizers and gguf. Takes some 6 minutes a model on two cores.
"""

import csv
import gzip
import os
import sys

import torch
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, "..", "text", "moby-dick.txt.gz")
CONTEXTS = {"smollm2": (512, 1024, 2048, 4096, 8192), "gemma3": (512, 1024, 2048)}
BEGINS = {"smollm2": [], "gemma3": [2]}


def segments(ids, length, count, begins):
    """Segments of `length` tokens as `reach` cuts them: as far apart as the text allows; the token that begins a text counts in the length."""
    stride = (len(ids) - length) // (count - 1)
    return [torch.cat([begins, ids[i * stride:i * stride + length - len(begins)]]) for i in range(count)]


def main(name, path):
    folder, file_name = os.path.split(path)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file_name)
    if name == "smollm2":
        # transformers leaves out of a GGUF file how the text is split ("smollm"): digits by themselves first, as in the model's tokenizer.json
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file_name, dtype=torch.float32).eval()
    ids = torch.tensor(tokenizer(gzip.open(TEXT, "rt", encoding="utf-8", newline="").read(), add_special_tokens=False)["input_ids"])
    begins = torch.tensor(BEGINS[name], dtype=ids.dtype)
    with open(os.path.join(HERE, name + ".csv"), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["kind", "segment", "position", "value"])
        out.writerow(["token", 0, 0, len(ids)])
        out.writerows(["token", 0, i + 1, ids[i].item()] for i in range(0, len(ids), 1000))
        with torch.no_grad():
            for context in CONTEXTS[name]:
                sum_nll = 0.0
                for one in segments(ids, CONTEXTS[name][-1] + 1, 8, begins):
                    inputs = torch.cat([begins, one[len(begins) - 1 - context:-1]])
                    logits = model(inputs[None], logits_to_keep=1).logits[0, -1].double()
                    sum_nll -= logits.log_softmax(-1)[one[-1]].item()
                out.writerow(["nll", 0, context, repr(sum_nll / 8)])
                print(context, sum_nll / 8, flush=True)
        model = model.double()
        for number, one in enumerate(segments(ids, 512, 2, begins), 1):
            rows = model.get_input_embeddings()(one[None, :-1]).detach().requires_grad_()
            logprob = model(inputs_embeds=rows, logits_to_keep=1).logits[0, -1].log_softmax(-1)[one[-1]]
            logprob.backward()
            out.writerow(["logprob", number, 512, repr(logprob.item())])
            out.writerows(["norm", number, i + 1, repr(v)] for i, v in enumerate(rows.grad[0].norm(dim=-1).tolist()))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in CONTEXTS:
        sys.exit(__doc__)
    main(*sys.argv[1:])
