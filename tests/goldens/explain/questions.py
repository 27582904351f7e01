#!/usr/bin/env python3
"""What `reach explain` says of the questions in questions.jsonl and two models of tests/goldens/saved, from transformers in float64 with
PyTorch's autograd, and the tokenizer that transformers loads.

    python3 tests/goldens/explain/questions.py

questions.csv has a row a number: model, question (the line, from 1), quantity, place, id, value.

    norm      of the gradient of log p of the target (less log p of `against`, if there is one), by position from 1; id: the input
    target    log p of the target; place: its position. A word that is a token with and without a blank stands for the likelier one
    against   log p of the other token: of those that its word may mean the likeliest but the target
    other     log p of the likeliest tokens besides the target, by rank from 1

Then rows of the question 0, the text of the last question with `text`: of each position of POSITIONS as the target. And rows of the question
-1, the first prompt: of each of its LIKELIEST likeliest tokens as the target. And, for ANSWERING too, rows of the question -2: of the sum of
log p of the tokens of ANSWER after PROMPT (norms of the prompt's tokens; the id -1 stands for all of them), and -3: of each of these tokens.

Made with transformers 5.24.0, PyTorch 2.15.0 (CPU).
"""

import csv
import json
import os
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from make_goldens import RefuseNarrow, Widen  # noqa: E402

SAVED = os.path.join(os.path.dirname(HERE), "saved")
MODELS, POSITIONS, LIKELIEST, OTHERS = ("gpt2", "llama"), (3, 7, 10), 4, 5
ANSWERING = ("mistral",)  # whose window is shorter than the prompt
PROMPT, ANSWER = "I found Queequeg's arm thrown over me in the most loving", " and affectionate"


class Model:
    def __init__(self, name):
        folder = os.path.join(SAVED, name)
        self.name, self.tokenizer = name, AutoTokenizer.from_pretrained(folder)
        with Widen():
            self.net = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), dtype=torch.float64)
        state = load_file(os.path.join(folder, "model.safetensors"))
        assert not self.net.load_state_dict({key: value.double() for key, value in state.items()}, strict=False).unexpected_keys
        self.net.tie_weights()
        self.net.eval().requires_grad_(False)

    def all_log_p(self, rows):
        with Widen(), RefuseNarrow():
            return torch.log_softmax(self.net(inputs_embeds=rows[None]).logits[0], 1)

    def log_p(self, rows):
        return self.all_log_p(rows)[-1]

    def rows_of(self, ids):
        return self.net.get_input_embeddings().weight[ids].detach().clone().requires_grad_(True)

    def meanings(self, word):
        """The ids that a word may stand for."""
        if isinstance(word, int):
            return [word]
        vocabulary = self.tokenizer.get_vocab()
        plain = word.strip()
        names = [word, *(mark + plain for mark in ("\u0120", "\u2581"))]
        return [vocabulary[name] for name in names if name in vocabulary]

    def likelier(self, log_p, word, other=None):
        return max((one for one in self.meanings(word) if one != other), key=lambda one: log_p[one].item())

    def rows(self, number, ids, target, against):
        """Rows of the table of one target after the ids; `target` None: the likeliest, an id, or a word."""
        leaf = self.rows_of(ids)
        log_p = self.log_p(leaf)
        order = torch.argsort(log_p.detach(), descending=True).tolist()
        target = order[0] if target is None else self.likelier(log_p, target)
        value = log_p[target]
        if against is not None:
            against = self.likelier(log_p, against, target)
            value = value - log_p[against]
        norms = torch.autograd.grad(value, leaf)[0].norm(dim=1)
        found = [("norm", place, ids[place - 1], norm) for place, norm in enumerate(norms, 1)]
        found.append(("target", len(ids) + 1, target, log_p[target]))
        if against is not None:
            found.append(("against", len(ids) + 1, against, log_p[against]))
        others = [one for one in order if one != target][:OTHERS]
        found += [("other", rank, one, log_p[one]) for rank, one in enumerate(others, 1)]
        return [(self.name, number, quantity, place, one, repr(value.item())) for quantity, place, one, value in found]


def answer_rows(model):
    prompt, ids = model.tokenizer(PROMPT).input_ids, model.tokenizer(PROMPT + ANSWER).input_ids
    first = len(prompt)
    assert ids[:first] == prompt and len(ids) > first + 1
    leaf = model.rows_of(ids)
    log_p = model.all_log_p(leaf)
    total = sum(log_p[place - 1, ids[place]] for place in range(first, len(ids)))
    norms = torch.autograd.grad(total, leaf)[0].norm(dim=1)[:first]
    rows = [(model.name, -2, "norm", place, ids[place - 1], repr(norm.item())) for place, norm in enumerate(norms, 1)]
    rows.append((model.name, -2, "target", first + 1, -1, repr(total.item())))
    for place in range(first, len(ids)):
        rows += model.rows(-3, ids[:place], ids[place], None)
    return rows


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    with open(os.path.join(HERE, "questions.jsonl"), encoding="utf-8") as file:
        questions = [json.loads(line) for line in file]
    with open(os.path.join(HERE, "questions.csv"), "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["model", "question", "quantity", "place", "id", "value"])
        for model in map(Model, MODELS):
            for number, question in enumerate(questions, 1):
                ids = model.tokenizer(question.get("prompt") or question["text"]).input_ids
                target = question.get("target")
                if "text" in question:
                    ids, target, text = ids[:-1], ids[-1], ids
                table.writerows(model.rows(number, ids, target, question.get("against")))
            for position in POSITIONS:
                table.writerows(model.rows(0, text[:position - 1], text[position - 1], None))
            ids = model.tokenizer(questions[0]["prompt"]).input_ids
            order = torch.argsort(model.log_p(model.rows_of(ids)).detach(), descending=True)[:LIKELIEST].tolist()
            for target in order:
                table.writerows(model.rows(-1, ids, target, None))
        for model in map(Model, (*MODELS, *ANSWERING)):
            table.writerows(answer_rows(model))


if __name__ == "__main__":
    main()
