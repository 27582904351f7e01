"""A stage of measure.py: what else could make a field what it is? The same measurement with random weights, of targets by how sure the model is and by their kind, with the
gradient weighted by the embedding, from layer to layer, and with integrated gradients."""

import dataclasses
import json
import os
import re
import struct
import tempfile

from gates import SEGMENTS, TEXT
from probes import MODELS, run

CONTROLLED = ("window-40", "alibi", "kerple-log", "t5", "rotary")
LENGTH = 513
SEED, SAMPLE = 1, 24                        # of random weights; segments of integrated gradients
NEAR = 128                                  # L_tr
SURE = (("p above 0.9", 0.9, 1.0), ("p from 0.1 to 0.9", 0.1, 0.9), ("p below 0.1", 0.0, 0.1))
KINDS = (("newline", rb"\s*\n\s*"), ("blanks", rb"[ \t]+"), ("identifier", rb"\s*[A-Za-z_][A-Za-z_0-9]*"), ("number", rb"\s*[0-9]+"), ("operator", rb"\s*[^\sA-Za-z_0-9]+"))
LEAST_SEGMENTS = 30                         # of a group that has a row


def kind_of(piece):
    """identifier (also a part of one, and keywords), operator, newline, ..."""
    return next((name for name, pattern in KINDS if re.fullmatch(pattern, piece)), "mixed")


def read_tensors(path):
    """{name: (type, shape, bytes)} of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return {n: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for n, t in header.items() if n != "__metadata__"}


def write_tensors(path, tensors):
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def random_model(options, name):
    """A folder with the model as it is before training: weights drawn as examples/decoder.py draws them; what positions have learned stays."""
    import numpy as np
    folder, source = os.path.join(options.work, "random", name), os.path.join(MODELS, name)
    os.makedirs(folder, exist_ok=True)
    random, tensors = np.random.default_rng(SEED), read_tensors(os.path.join(source, "model.safetensors"))
    layers = sum(tensor.endswith("mlp.down.weight") for tensor in tensors)
    for tensor, (dtype, shape, _) in tensors.items():
        if tensor == "embedding.weight":
            values = random.normal(0, 0.1, shape)
        elif re.search(r"norm\.(weight|bias)$", tensor):
            values = np.full(shape, float(tensor.endswith("weight")))
        elif re.search(r"(attention|mlp)\.\w+\.(weight|bias)$", tensor):
            values = random.normal(0, (3 * shape[1]) ** -0.5, shape) if tensor.endswith("weight") else np.zeros(shape)
            if re.search(r"(output|down)\.weight$", tensor):
                values *= (2 * layers) ** -0.5
        else:
            continue
        tensors[tensor] = ("F32", shape, values.astype("<f4").tobytes())
    write_tensors(os.path.join(folder, "model.safetensors"), tensors)
    for file in ("config.json", "tokenizer.json"):
        with open(os.path.join(source, file), "rb") as old, open(os.path.join(folder, file), "wb") as new:
            new.write(old.read())
    return folder


def embedding(name):
    """The embedding table of a model, [vocabulary, hidden]."""
    import numpy as np
    dtype, shape, data = read_tensors(os.path.join(MODELS, name, "model.safetensors"))["embedding.weight"]
    assert dtype == "BF16"
    return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)


def field_of(options, model, *arguments, segments=SEGMENTS):
    from reach_erf import open_result
    with tempfile.TemporaryDirectory() as folder:
        run(options, "erf", model, "--text", TEXT, "--length", LENGTH, "--segments", segments, *arguments, "-o", folder, "--device", "cpu", "--quiet", "--force")
        return next(iter(open_result(folder).values()))


def row(name, control, group, field):
    """Fields at 0.5 and 0.99 with their intervals, and the share of the last NEAR inputs."""
    found = [field.erf(q) for q in (0.5, 0.99)]
    low, high = (float(c[len(c) - NEAR]) for c in field.interval())
    return [name, control, group, int((field.status == 1).sum()), *(x for f in found for x in (f.erf, f.lo, f.hi, int(f.saturated))), f"{field.curve()[len(field.s) - NEAR]:.5f}", f"{low:.5f}", f"{high:.5f}"]


def part(field, use=None, weight=None):
    """The same field of some segments, or with other norms."""
    import numpy as np
    use = np.ones(len(field.norm), bool) if use is None else use
    norm = field.norm[use] * (1 if weight is None else weight[use])
    made = dataclasses.replace(field, norm=norm, logprob=field.logprob[use], status=field.status[use], start=field.start[use], others=[])
    return dataclasses.replace(made, c=made.curve())


def by_input(name, field, kinds):
    """A row a kind of input: its part of the gradient over what inputs at the same distances have in the mean, with a 95 % interval: a ratio of sums over segments."""
    import numpy as np
    shares = field.shares()
    expected = shares.mean(axis=0)
    is_kind = np.array([[kinds[int(t)] for t in segment[:-1]] for segment in field.tokens[field.status == 1]])
    for kind in dict(KINDS) | {"mixed": None}:
        here = is_kind == kind
        a, b = (shares * here).sum(axis=1), (expected * here).sum(axis=1)
        n, ratio = len(a), a.sum() / b.sum()
        error = float(np.sqrt((((a - ratio * b) / b.mean()) ** 2).sum() / (n - 1) / n))
        yield [name, "kind of input", kind, n, *[""] * 8, *(f"{x:.5f}" for x in (ratio, ratio - 1.966 * error, ratio + 1.966 * error))]


def controls(options, name):
    import numpy as np
    model = os.path.join(MODELS, name)
    whole = field_of(options, model, "--layer", "all")
    kinds = {token: kind_of(piece) for token, piece in whole.pieces.items()}
    table = [["model", "control", "group", "segments", "half", "half_lo", "half_hi", "half_saturated", "field", "field_lo", "field_hi", "saturated", "near", "near_lo", "near_hi"],
             row(name, "as measured", "", whole)]
    table += [row(name, "layer", str(one.layer), one) for one in whole.others]
    table.append(row(name, "random weights", "", field_of(options, f"{name}={random_model(options, name)}")))
    p = np.exp(whole.logprob)
    of_target = np.array([kinds[int(t)] for t in whole.tokens[:, -1]])
    groups = [("sureness", title, (p > low) & (p <= high)) for title, low, high in SURE] + [("kind of target", kind, of_target == kind) for kind in (*dict(KINDS), "mixed")]
    table += [row(name, control, group, part(whole, use)) for control, group, use in groups if use.sum() >= LEAST_SEGMENTS]
    table += by_input(name, whole, kinds)
    lengths = np.sqrt((embedding(name) ** 2).sum(axis=1))
    table.append(row(name, "times embedding norm", "", part(whole, weight=lengths[whole.tokens[:, :-1]])))
    table.append(row(name, "gradient times input", "", field_of(options, model, "--attribution", "inputxgrad")))
    table += [row(name, control, "", field_of(options, model, *arguments, segments=SAMPLE)) for control, arguments in (("a sample", []), ("integrated gradients", ["--attribution", "ig"]))]
    return table
