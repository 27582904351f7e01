#!/usr/bin/env python3
"""Make expected.csv: numbers of SmolLM2-135M-Instruct by transformers, for `make real` to compare with.

    python3 examples/real/oracle.py build/real/SmolLM2-135M-Instruct.Q4_1.gguf

The weights are those of the file, dequantised by the gguf package. Rows:

    token     every 1000th token id of the novel, and how many there are, by the tokenizer in the file
    norm      gradient norm of log p(last token) with respect to each input embedding, of 2 segments of 512 tokens, in float64
    logprob   log p of their last tokens, in float64
    nll       mean NLL of the last tokens of 8 segments of 8193 tokens given their last C inputs, a loop in float32

Needs PyTorch, transformers, tokenizers and gguf. Takes some 6 minutes on two cores.
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
CONTEXTS = (512, 1024, 2048, 4096, 8192)


def segments(ids, length, count):
    """Segments of `length` tokens as `reach` cuts them: as far apart as the text allows."""
    stride = (len(ids) - length) // (count - 1)
    return [ids[i * stride:i * stride + length] for i in range(count)]


def main(path):
    folder, name = os.path.split(path)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    # transformers leaves out of a GGUF file how the text is split ("smollm"): digits by themselves first, as in the model's tokenizer.json
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
    ids = torch.tensor(tokenizer(gzip.open(TEXT, "rt", encoding="utf-8", newline="").read(), add_special_tokens=False)["input_ids"])
    with open(os.path.join(HERE, "expected.csv"), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["kind", "segment", "position", "value"])
        out.writerow(["token", 0, 0, len(ids)])
        out.writerows(["token", 0, i + 1, ids[i].item()] for i in range(0, len(ids), 1000))
        with torch.no_grad():
            for context in CONTEXTS:
                sum_nll = 0.0
                for one in segments(ids, CONTEXTS[-1] + 1, 8):
                    logits = model(one[None, -1 - context:-1], logits_to_keep=1).logits[0, -1].double()
                    sum_nll -= logits.log_softmax(-1)[one[-1]].item()
                out.writerow(["nll", 0, context, repr(sum_nll / 8)])
                print(context, sum_nll / 8, flush=True)
        model = model.double()
        for number, one in enumerate(segments(ids, 512, 2), 1):
            rows = model.get_input_embeddings()(one[None, :-1]).detach().requires_grad_()
            logprob = model(inputs_embeds=rows, logits_to_keep=1).logits[0, -1].log_softmax(-1)[one[-1]]
            logprob.backward()
            out.writerow(["logprob", number, 512, repr(logprob.item())])
            out.writerows(["norm", number, i + 1, repr(v)] for i, v in enumerate(rows.grad[0].norm(dim=-1).tolist()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
