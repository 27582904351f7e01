#!/usr/bin/env python3
"""Measure, target by target, the loss at every length of context beside the field of the gradient, of integrated gradients and of attention: for doc/studies/needed.md.

    python3 examples/studies/needed.py [--reach ./reach] [--work build/studies] [--targets N] [--minutes M] [MODEL...]

MODEL is smollm2-135m, gemma-3-270m (after `make real`, which fetches them) or one of the example models; all by default. What is in data/needed.csv (real models) and in
data/needed-examples.csv.gz is not measured again: a run that was stopped goes on, and --targets takes more of them. The targets of a text are drawn once, in an order of chance, so
that the first N of them lie all over it. data/needed-tests.csv, which the page reads, is made of both tables by contexts.py.

A target is a token with the WHOLE tokens before it. Real models: both read the same targets, tokens that begin and end at the same byte in both tokenizers.

nll       -log p of the target given its last n inputs, in nats (`reach ppl --per-token`)
gradient  norms of the gradient of log p by the input embeddings (`reach erf`); integrated: of integrated gradients (examples alone)
attention what the last query attends to, the mean over heads and layers: by transformers, of the examples by the forward pass below; log p of the target must be reach's

Fields are shares of all inputs but the first one, on which a sink would lie (Gemma: its beginning-of-text token; the others: the first token).
Needs `reach`, NumPy, h5py, and for the real models PyTorch, transformers and gguf.
"""

import argparse
import csv
import functools
import gzip
import io
import math
import os
import re
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[:0] = [os.path.dirname(HERE), HERE, os.path.join(ROOT, "python")]
from controls import read_tensors  # noqa: E402
from gates import NOVEL, TEXT, read_csv  # noqa: E402
from probes import config_of, place_of, run, tokens_of  # noqa: E402

DATA = os.path.join(HERE, "data")
MANUAL = os.path.join(ROOT, "examples", "text", "python-reference.txt.gz")
WHOLE = 512
CONTEXTS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 256, 512)
OCTAVES = tuple(2 ** k for k in range(10))          # the last of each: 1, 2, 3 to 4, 5 to 8, ... 257 to 512
EXAMPLES = ("alibi", "kerple-log", "kerple-power")
REAL = {"smollm2-135m": "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m": "gemma-3-270m-q4_k_m.gguf"}
CORPORA = {"sqlalchemy": TEXT, "moby-dick": NOVEL, "python-reference": MANUAL}
KINDS = (("begins a word", rb"\s+[A-Za-z_]\w*"), ("in a word", rb"[A-Za-z_]\w*"), ("other", rb"(?s).*"))
SEED, PLACES, CHUNK = 1, 100, 5                     # of real models: targets of a text, and how many are measured at a time
EXAMPLE_TARGETS = 240
TITLES = ["model", "corpus", "target", "byte", "kind", "count", "repeat", *(f"nll_{n}" for n in CONTEXTS)]


def titles_of(fields):
    return TITLES + [f"{field}_{what}" for field in fields for what in ("half", "most", *OCTAVES)]


def kind_of(piece, before):
    """Whether a token begins a word or is inside of one; a name after a sign begins one."""
    kind = next(name for name, pattern in KINDS if re.fullmatch(pattern, piece))
    return "begins a word" if kind == "in a word" and not re.search(rb"\w\Z", before) else kind


def repeat_of(ids):
    """How many tokens back from the target the same token was last, 0: it is not among the inputs."""
    return next((d for d in range(1, len(ids)) if ids[-1 - d] == ids[-1]), 0)


def of_field(weights):
    """The shortest contexts with more than 0.5 and 0.9 of the weights, and their shares by octave, in 1/100000. weights: of the inputs from the second on."""
    import numpy as np
    near = np.asarray(weights, float)[::-1]
    held = np.cumsum(near) / near.sum()
    ends = [0, *(held[min(n, len(held)) - 1] for n in OCTAVES)]
    return [*(int(np.argmax(held > q)) + 1 for q in (0.5, 0.9)), *(round(1e5 * (b - a)) for a, b in zip(ends, ends[1:]))]


class Example:
    """An example model: its rows are pieces of SQLAlchemy."""

    corpora, begins, fields = ("sqlalchemy",), [], {"gradient": [], "integrated": ["--attribution", "ig"]}

    def __init__(self, options, name):
        self.options, self.name, self.path = options, name, place_of(name)

    @functools.cached_property
    def layers(self):
        """Tensors in float64, and the biases [heads, distances]."""
        import numpy as np
        kinds = {"BF16": lambda b: (np.frombuffer(b, "<u2").astype("<u4") << 16).view("<f4"), "F32": lambda b: np.frombuffer(b, "<f4")}
        tensors = {n: kinds[dtype](data).reshape(shape).astype(float) for n, (dtype, shape, data) in read_tensors(os.path.join(self.path, "model.safetensors")).items()}
        with tempfile.TemporaryDirectory() as scratch:
            run(self.options, "bias", self.path, "--length", WHOLE, "-o", scratch, "--force")
            rows = [r for r in read_csv(os.path.join(scratch, "bias.csv"))]
        bias = np.zeros((config_of(self.name)["heads"], WHOLE))
        for r in rows:
            bias[int(r["head"]) - 1, int(r["distance"])] = float(r["bias"])
        return tensors, bias

    def attention(self, ids):
        """log p of the target, and the last query's attention [inputs]."""
        import numpy as np
        tensors, bias = self.layers
        config, error = config_of(self.name), np.vectorize(math.erf)
        heads, n = config["heads"], len(ids) - 1

        def norm(x, name):
            x = x - x.mean(-1, keepdims=True)
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + config["norm_epsilon"]) * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

        def times(x, name):
            return x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

        distance = np.arange(n)[:, None] - np.arange(n)
        mask = np.where(distance >= 0, bias[:, np.maximum(distance, 0)], -np.inf)
        x, last = tensors["embedding.weight"][ids[:-1]], []
        for layer in range(config["layers"]):
            at, y = f"layers.{layer}", norm(x, f"layers.{layer}.attention_norm")
            q, k, v = (times(y, f"{at}.attention.{part}").reshape(n, heads, -1).swapaxes(0, 1) for part in ("query", "key", "value"))
            scores = q @ k.swapaxes(1, 2) * q.shape[-1] ** -0.5 + mask
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            last.append(scores[:, -1])
            x = x + times((scores @ v).swapaxes(0, 1).reshape(n, -1), f"{at}.attention.output")
            y = times(norm(x, f"{at}.mlp_norm"), f"{at}.mlp.up")
            x = x + times(y * 0.5 * (1 + error(y / 2 ** 0.5)), f"{at}.mlp.down")
        logits = norm(x[-1], "final_norm") @ tensors["embedding.weight"].T
        return float(logits[ids[-1]] - logits.max() - np.log(np.exp(logits - logits.max()).sum())), np.mean(last, axis=(0, 1))

    def targets(self, corpus):
        """(ids, byte, kind, count of the token in the text) of every target, in the order of measuring. The bytes are left empty: rows are evenly spaced."""
        import numpy as np
        from tokenizers import Tokenizer
        tokens = tokens_of(self.options, self.name)
        known = Tokenizer.from_file(os.path.join(self.path, "tokenizer.json"))
        table, counts = bytes_of_characters(), np.bincount(tokens)
        piece = {i: bytes(table[c] for c in s) if all(c in table for c in s) else s.encode() for s, i in known.get_vocab().items()}
        starts = np.arange(EXAMPLE_TARGETS) * ((len(tokens) - WHOLE - 1) // EXAMPLE_TARGETS)
        for start in np.random.default_rng(SEED).permutation(starts):
            ids = tokens[start:start + WHOLE + 1].astype(int)
            yield ids, "", kind_of(piece[ids[-1]], piece[ids[-2]]), counts[ids[-1]]


def bytes_of_characters():
    """The bytes that the characters of a byte-level tokenizer stand for."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(rest)}


class Real:
    """A model of build/real. Both must be there, for they share their targets."""

    corpora, fields = tuple(CORPORA), {"gradient": []}

    def __init__(self, options, name):
        self.options, self.name, self.path = options, name, os.path.join(ROOT, "build", "real", REAL[name])
        self.begins = [2] if name == "gemma-3-270m" else []

    @functools.cached_property
    def vocabulary(self):
        """The bytes of every token."""
        import gguf
        file = gguf.GGUFReader(self.path)
        words = [bytes(file.fields["tokenizer.ggml.tokens"].parts[i]).decode() for i in file.fields["tokenizer.ggml.tokens"].data]
        table = bytes_of_characters()
        if not self.begins:
            return [bytes(table[c] for c in w) if all(c in table for c in w) else w.encode() for w in words]
        return [bytes([int(w[3:5], 16)]) if re.fullmatch("<0x[0-9A-F]{2}>", w) else w.replace("\u2581", " ").encode() for w in words]

    @functools.cached_property
    def network(self):
        import torch
        from transformers import AutoModelForCausalLM
        torch.set_num_threads(1)
        folder, file = os.path.split(self.path)
        return AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32, attn_implementation="eager").eval()

    def attention(self, ids):
        import torch
        with torch.no_grad():
            out = self.network(torch.tensor(ids[None, :-1]), logits_to_keep=1, output_attentions=True)
        log_p = out.logits[0, -1].double().log_softmax(-1)[int(ids[-1])].item()
        return log_p, torch.stack([a[0, :, -1].double().mean(0) for a in out.attentions]).mean(0).numpy()

    def spans(self, corpus):
        """Token ids of a text, and the byte at which each begins; the last one's end too."""
        import numpy as np
        path = os.path.join(self.options.work, f"{self.name}-{corpus}.npy")
        if not os.path.exists(path):
            run(self.options, "tokenize", self.path, CORPORA[corpus], path)
        ids = np.load(path).astype(int)
        text = b"".join(self.vocabulary[i] for i in ids)
        with gzip.open(CORPORA[corpus]) as file:
            assert text == file.read(), f"{self.name}: its tokens are not {corpus}"
        return ids, np.cumsum([0, *(len(self.vocabulary[i]) for i in ids)])

    def targets(self, corpus):
        """As those of an example, kept: of every model, for they are chosen together."""
        import numpy as np
        path = os.path.join(self.options.work, f"needed-{self.name}-{corpus}.npz")
        if not os.path.exists(path):
            choose(self.options, corpus)
        kept = np.load(path)
        return [(np.array([*self.begins, *ids]), int(place), str(kind), int(count)) for ids, place, kind, count in zip(*(kept[k] for k in ("ids", "byte", "kind", "count")))]


def choose(options, corpus):
    """Draw the targets of a text: tokens of the same bytes for all real models, WHOLE tokens or more from its beginning, evenly spaced."""
    import numpy as np
    models = [Real(options, name) for name in REAL]
    spans = [m.spans(corpus) for m in models]
    codes = [ends[WHOLE:-1] << 32 | ends[WHOLE + 1:] for _, ends in spans]      # begin and end of a token as one number
    common = functools.reduce(np.intersect1d, codes)
    begins = common >> 32
    places = np.searchsorted(begins, begins[0] + (begins[-1] - begins[0]) * np.arange(PLACES) // PLACES)
    chosen = common[np.random.default_rng(SEED).permutation(places)]
    for model, (ids, _), code in zip(models, spans, codes):
        at = WHOLE + np.searchsorted(code, chosen)
        counts = np.bincount(ids)
        np.savez(os.path.join(options.work, f"needed-{model.name}-{corpus}.npz"), ids=np.stack([ids[i - WHOLE:i + 1] for i in at]), byte=chosen >> 32,
                 kind=[kind_of(model.vocabulary[ids[i]], model.vocabulary[ids[i - 1]]) for i in at], count=counts[ids[at]])


def measured(options, model, corpus, wanted):
    """Rows of the table: the targets numbered `wanted`."""
    import numpy as np
    from reach_erf import open_result
    chosen = [(i, *t) for i, t in enumerate(model.targets(corpus)) if i in wanted]
    extra = len(model.begins)
    with tempfile.TemporaryDirectory() as scratch:
        rows, each = os.path.join(scratch, "rows.npy"), os.path.join(scratch, "each.csv")
        np.save(rows, np.stack([t[1] for t in chosen]).astype(np.int32))
        nll = {i: {} for i, *_ in chosen}
        run(options, "ppl", model.path, "--tokens", rows, "--bos", "always" if extra else "never", "--context", ",".join(str(extra + n) for n in CONTEXTS), "--segments", len(chosen), "--per-token", each,
            "--device", "cpu", "--threads", options.threads, "--quiet")
        for r in read_csv(each):
            nll[chosen[int(r["row"]) - 1][0]][int(r["context"]) - extra] = float(r["nll"])
        weights = {}
        for field, arguments in model.fields.items():
            out = os.path.join(scratch, field)
            run(options, "erf", model.path, "--tokens", rows, *arguments, "--bootstrap", 0, "-o", out, "--format", "svg", "--device", "cpu", "--threads", options.threads, "--quiet")
            result = next(iter(open_result(out).values()))
            assert (result.status == 1).all() and np.allclose(-result.logprob, [nll[i][WHOLE] for i, *_ in chosen], atol=1e-3)
            weights[field] = result.norm
        weights["attention"] = []
        for i, ids, *_ in chosen:
            log_p, attention = model.attention(ids)
            assert abs(log_p + nll[i][WHOLE]) < 5e-3, (model.name, corpus, i, log_p, nll[i][WHOLE])
            weights["attention"].append(attention)
    for k, (i, ids, place, kind, count) in enumerate(chosen):
        yield [model.name, corpus, i, place, kind, count, repeat_of(ids[extra:]), *(f"{nll[i][n]:.4f}" for n in CONTEXTS), *(x for field in weights for x in of_field(weights[field][k][1:]))]


def path_of(name):
    return os.path.join(DATA, "needed.csv" if name in REAL else "needed-examples.csv.gz")


def read_table(path):
    """Rows of a table as they are, without its titles."""
    if not os.path.exists(path):
        return []
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as file:
        return list(csv.reader(line for line in file if not line.startswith("#")))[1:]


def read_rows(path):
    """The same by title."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def write_table(path, rows, titles):
    out = io.StringIO()
    out.write("# made by examples/studies/needed.py: a row a target; byte: where it begins in the text; count: how often its token is in the text; repeat: tokens back to the same token, 0: none\n"
              f"# nll_N: -log p in nats given the last N inputs; of the fields at {WHOLE} inputs, without the first: half, most: the fewest last tokens with more than 0.5 and 0.9; the others: shares of "
              "the octaves of the distance that end there, in 1/100000\n")
    table = csv.writer(out, lineterminator="\n")
    table.writerow(titles)
    table.writerows(sorted(rows, key=lambda r: (r[0], r[1], int(r[2]))))
    data = out.getvalue().encode()
    with open(path + ".new", "wb") as file:
        file.write(gzip.compress(data, 9, mtime=0) if path.endswith(".gz") else data)
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description="measure how much context each target needs, beside its fields")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--reach", default=os.path.join(ROOT, "reach"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "studies"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--targets", type=int, default=PLACES, metavar="N", help="of each text, for real models")
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="M", help="begin nothing new after that")
    options = parser.parse_args()
    options.reach, options.work = os.path.abspath(options.reach), os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)
    until = time.monotonic() + 60 * options.minutes
    chosen = options.models or [*REAL, *EXAMPLES]
    if unknown := [n for n in chosen if n not in (*REAL, *EXAMPLES)]:
        parser.error(f"no model {unknown[0]} (expected {', '.join((*REAL, *EXAMPLES))})")
    models = [(Real if n in REAL else Example)(options, n) for n in chosen]
    for first in range(0, max(EXAMPLE_TARGETS, options.targets), CHUNK):
        for model in models:
            # an example is measured in one go
            wanted = range(first, min(first + CHUNK, options.targets)) if model.name in REAL else range(EXAMPLE_TARGETS if first == 0 else 0)
            for corpus in model.corpora:
                path = path_of(model.name)
                known = [r[:3] for r in read_table(path)]
                left = [i for i in wanted if [model.name, corpus, str(i)] not in known]
                if left and time.monotonic() < until:
                    rows = [[str(x) for x in r] for r in measured(options, model, corpus, left)]
                    write_table(path, read_table(path) + rows, titles_of([*model.fields, "attention"]))     # read again: another process may have added some
                    print(f"{model.name}, {corpus}: {left[0]} to {left[-1]}", flush=True)


if __name__ == "__main__":
    main()
