#!/usr/bin/env python3
"""Makes the goldens of tests/t-io-tokenizer.c: tokenizers, a text, and its ids as the `tokenizers` library (and, for vocab.json with merges.txt,
`transformers`) finds them. Needs tokenizers, transformers, numpy. Run it here."""
import json
import random
from pathlib import Path

import numpy as np
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


main()
