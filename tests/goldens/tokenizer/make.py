#!/usr/bin/env python3
"""Makes the goldens of tests/t-io-tokenizer.c: tokenizers, a text, and its ids as the `tokenizers` library (and, for vocab.json with merges.txt,
`transformers`) finds them, and `sentencepiece` for its models (pieces/). Needs tokenizers, transformers, sentencepiece, gguf, numpy. Run it here; `make.py pieces` makes those of
SentencePiece alone."""
import json
import random
import sys
from pathlib import Path

import numpy as np
import pieces
import styles

HERE = Path(__file__).resolve().parent


def save(name, ids):
    np.save(HERE / (name + ".npy"), np.array(ids, dtype="<u2"))


def main():
    rng = random.Random(11)
    text = styles.mixed(rng, styles.novel(8000)[6000:], styles.code(3500)[2500:], 36)
    (HERE / "text.bin").write_bytes(text)
    texts = [styles.novel(60000).decode()] + [styles.code(20000).decode()] + [styles.scripts(rng, 300)]
    for name in styles.STYLES:
        file = HERE / (name + ".json")
        file.write_text(styles.make(name, texts, 500))
        save(name, styles.encode(file, text))
        print(name)

    # GPT-2's two files, as transformers reads them
    from transformers import GPT2TokenizerFast

    model = json.loads((HERE / "gpt2.json").read_text())["model"]
    folder = HERE / "two-files"
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False, separators=(",", ":")))
    (folder / "merges.txt").write_text("\n".join(model["merges"]) + "\n")
    fast = GPT2TokenizerFast(vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"))
    assert fast.convert_tokens_to_ids("<|endoftext|>") == 0
    save("two-files", fast.backend_tokenizer.encode(text.decode("utf-8", errors="replace"), add_special_tokens=False).ids)


def make_pieces():
    """Models of SentencePiece, as they are, as GGUF, and as tokenizer.json, and their ids of text.bin."""
    rng = random.Random(12)
    text = (HERE / "text.bin").read_bytes()
    texts = [styles.novel(60000).decode(), styles.code(20000).decode(), styles.scripts(rng, 30)]
    (HERE / "pieces").mkdir(exist_ok=True)
    models = {}
    for name in ["unigram", "unigram-user", "unigram-bytes", "unigram-unsplit", "bpe-bytes", "bpe-unsplit"]:
        model = models[name] = pieces.train(name, texts, 900, coverage=0.98, small=True)
        if name in ("unigram", "unigram-unsplit"):  # for their forms alone
            continue
        (HERE / "pieces" / (name + ".model")).write_bytes(model)
        save("pieces/" + name, pieces.encode(model, text))
        if name in pieces.IN_GGUF:
            assert pieces.encode(model, text) == pieces.encode(model, text, True)
            (HERE / "pieces" / (name + ".gguf")).write_bytes(pieces.gguf_file(model))
    for name in ["t5-words", "albert", "fallback", "strip"]:
        file = HERE / "pieces" / (name + ".json")
        file.write_text(pieces.tokenizer_json(name, models[pieces.FORMS[name][0]]))
        save("pieces/" + name, styles.encode(file, text))


if sys.argv[1:] != ["pieces"]:
    main()
make_pieces()
