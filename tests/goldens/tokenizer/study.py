#!/usr/bin/env python3
"""Compares `reach tokenize` with the `tokenizers` and `sentencepiece` libraries, id by id, on megabytes of prose, code, many scripts, random characters and
broken UTF-8, for tokenizers of every style trained here. Usage: study.py [REACH [NAME...]]; exits 1 when any differs. Needs tokenizers, sentencepiece, gguf and
numpy."""
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pieces
import styles


def cases(texts):
    """Each: a name, the file it is read from, what makes that file, and the ids that are right."""
    for name in styles.STYLES:
        yield name, "tokenizer.json", lambda name=name: styles.make(name, texts, 6000).encode(), styles.encode_text
    models = {}

    def model(name):
        if name not in models:
            models[name] = pieces.train(name, texts, 6000)
        return models[name]

    for name in pieces.MODELS:
        yield "sentencepiece " + name, "tokenizer.model", lambda name=name: model(name), pieces.encode
    for name in pieces.IN_GGUF:
        yield "gguf " + name, "model.gguf", lambda name=name: pieces.gguf_file(model(name)), lambda file, raw, name=name: pieces.encode(model(name), raw, True)
    for name, form in pieces.FORMS.items():
        yield "unigram " + name, "tokenizer.json", lambda name=name, form=form: pieces.tokenizer_json(name, model(form[0])).encode(), styles.encode_text


def main():
    reach = sys.argv[1] if len(sys.argv) > 1 else str(styles.ROOT / "reach")
    rng = random.Random(5)
    standard_library = b"".join(p.read_bytes() for p in sorted(Path(random.__file__).parent.glob("*.py")))
    text = styles.mixed(rng, styles.novel(10**7), standard_library[:2_000_000] + styles.code(500_000), 9000)
    texts = [styles.novel(600_000).decode(), standard_library[:600_000].decode(errors="replace"), styles.scripts(rng, 400)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "text", Path(folder) / "ids.npy"
        file.write_bytes(text)
        print(f"{len(text)} bytes")
        for name, kind, make, encode in cases(texts):
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            content = make()
            (Path(folder) / "model").mkdir(exist_ok=True)
            for old in (Path(folder) / "model").iterdir():
                old.unlink()
            path = Path(folder) / "model" / kind
            path.write_bytes(content)
            start = time.time()
            run = subprocess.run([reach, "tokenize", path if kind.endswith(".gguf") else path.parent, str(file), str(out), "--force"], capture_output=True, text=True)
            seconds = time.time() - start
            if run.returncode:
                print(f"{name}: {run.stderr.strip()}")
                wrong += 1
                continue
            ours, theirs = np.load(out), np.array(encode(content, text))
            equal = np.array_equal(ours, theirs)
            wrong += not equal
            if not equal:
                k = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
                print(f"{name}: from token {k} on {ours[k:k + 8].tolist()} (expected {theirs[k:k + 8].tolist()})")
            print(f"{name}: {len(theirs)} ids {'equal' if equal else 'DIFFER'}, {len(text) / 1e6 / seconds:.1f} MB/s with start", flush=True)
    sys.exit(wrong > 0)


main()
