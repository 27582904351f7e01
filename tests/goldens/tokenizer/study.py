#!/usr/bin/env python3
"""Compares `reach tokenize` with the `tokenizers` library, id by id, on megabytes of prose, code, many scripts, random characters and broken UTF-8, for
tokenizers of every style trained here. Usage: study.py [REACH [STYLE...]]; exits 1 when any differs. Needs tokenizers and numpy."""
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import styles


def main():
    reach = sys.argv[1] if len(sys.argv) > 1 else str(styles.ROOT / "reach")
    rng = random.Random(5)
    standard_library = b"".join(p.read_bytes() for p in sorted(Path(random.__file__).parent.glob("*.py")))
    text = styles.mixed(rng, styles.novel(10**7), standard_library[:2_000_000] + styles.code(500_000), 9000)
    texts = [styles.novel(600_000).decode(), standard_library[:600_000].decode(errors="replace"), styles.scripts(rng, 3000)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "text", Path(folder) / "ids.npy"
        file.write_bytes(text)
        print(f"{len(text)} bytes")
        for name in sys.argv[2:] or styles.STYLES:
            tokenizer = Path(folder) / "tokenizer.json"
            tokenizer.write_text(styles.make(name, texts, 6000))
            start = time.time()
            run = subprocess.run([reach, "tokenize", folder, str(file), str(out), "--force"], capture_output=True, text=True)
            seconds = time.time() - start
            if run.returncode:
                print(f"{name}: {run.stderr.strip()}")
                wrong += 1
                continue
            ours, theirs = np.load(out), np.array(styles.encode(tokenizer, text))
            equal = np.array_equal(ours, theirs)
            wrong += not equal
            print(f"{name}: {len(theirs)} ids {'equal' if equal else 'DIFFER'}, {len(text) / 1e6 / seconds:.1f} MB/s with start", flush=True)
    sys.exit(wrong > 0)


main()
