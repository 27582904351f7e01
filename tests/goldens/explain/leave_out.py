#!/usr/bin/env python3
"""log p of an answer and of a target without each word of their prompt, from transformers in float64, each text as a whole.

    python3 tests/goldens/explain/leave_out.py

leave_out.csv has a row a word: model, question, first and last token of the word, from 1, and the change: what is explained after the
prompt without the word's tokens, less that after the whole prompt. The question `answer` is of the sum of log p of the tokens of ANSWER,
`target` of log p of the likeliest token, and `against` of that less log p of the second likeliest. A word begins at a token that begins with
a blank; a beginning-of-text token is never left out.

Positions: gpt2 learned, llama rotary, mistral rotary with a window of 16, bloom ALiBi, hunyuan_v1_dense rotary with norms after it,
ministral3 queries that grow with their position.

Made with transformers 5.24.0, PyTorch 2.15.0 (CPU).
"""

import csv
import os

import torch
from questions import ANSWER, HERE, PROMPT, Model

MODELS = ("gpt2", "llama", "mistral", "bloom", "hunyuan_v1_dense", "ministral3")
BLANKS = ("\u0120", "\u2581")


def words_of(model, ids):
    """(first, end) of each word, without a beginning-of-text token."""
    pieces = model.tokenizer.convert_ids_to_tokens(ids)
    begins = int(ids[0] == model.tokenizer.bos_token_id)
    starts = [i for i in range(begins, len(ids)) if i == begins or pieces[i].startswith(BLANKS)]
    return list(zip(starts, starts[1:] + [len(ids)]))


def sum_log_p(model, ids, first):
    log_p = model.all_log_p(model.rows_of(ids).detach())
    return sum(log_p[place - 1, ids[place]].item() for place in range(first, len(ids)))


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    with open(os.path.join(HERE, "leave_out.csv"), "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["model", "question", "first", "last", "change"])
        for model in map(Model, MODELS):
            prompt, whole = (model.tokenizer(text).input_ids for text in (PROMPT, PROMPT + ANSWER))
            assert whole[:len(prompt)] == prompt
            order = torch.argsort(model.log_p(model.rows_of(prompt)).detach(), descending=True).tolist()

            def values(kept):
                last = model.log_p(model.rows_of(kept).detach())
                return {"answer": sum_log_p(model, kept + whole[len(prompt):], len(kept)), "target": last[order[0]].item(),
                        "against": (last[order[0]] - last[order[1]]).item()}

            before, words = values(prompt), words_of(model, prompt)
            changes = [values(prompt[:first] + prompt[end:]) for first, end in words]
            for question in before:
                table.writerows([model.name, question, first + 1, end, repr(after[question] - before[question])]
                                for (first, end), after in zip(words, changes))


if __name__ == "__main__":
    main()
