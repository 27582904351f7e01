#!/usr/bin/env python3
"""Measure stacks of windows: how far back does the gradient reach, by window and depth?

    python3 examples/studies/windows.py DIR/window-16-layers-4-train-512-tokens-8-seed-3 ... examples/models/window-*
    python3 examples/studies/windows.py --drawn window-16-layers-16-train-512-seed-3 ...
    python3 examples/studies/windows.py --real build/real/gemma-3-270m-q4_k_m.gguf

For each model a row of data/windows.csv for each checkpoint of its training (train.py --snapshots), for the
weights as drawn before the first step (step 0; with --drawn nothing else), and for the model itself where it has no
checkpoints: the field by threshold (400 segments of 1024 inputs), the mean distance of the gradient, how
much of the window attention uses; of the last step also the loss by context. data/windows-shares.csv has
the share of the gradient by distance, data/windows/NAME.csv the log of a training.
--real: data/windows-real.csv, of a model that mixes windows and full attention, as it is and with a window in
every layer; data/windows-losses.csv, its loss by position.
What has its row is not measured again. Needs `reach` (--reach), PyTorch, NumPy, safetensors and h5py, and
python/ in PYTHONPATH.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from gates import NOVEL, SEGMENTS, STRIDE, TARGETS, TEXT, config_of, mean_and_error, read_csv, run, write_csv  # noqa: E402

TOKENIZER = os.path.join(os.path.dirname(HERE), "models", "window-16", "tokenizer.json")    # every model's
LENGTH = 1025
CONTEXTS = (16, 128, 512, 1024)
THRESHOLDS = ("0.5", "0.9", "0.95", "0.99")
FIELD = [f"erf_{q}{end}" for q in THRESHOLDS for end in ("", "_lo", "_hi")]
TITLES = ["model", "window", "layers", "trained", "seed", "step", "segments", *FIELD, "distance", "distance_se", "own", "beyond", "attended_0.5", "attended_0.9", "gains",
          *(f"nll_{c}" for c in CONTEXTS), "nll_se", "gain", "gain_se"]
SHARES = ["model", "step", "tokens", "c"]
UNITS = "units: erf, distance, attended in tokens; nll in nats a token; gain: nll at 16 inputs less that at 512, paired by target; own: share of the most recent input; beyond: the " \
        "largest share of an input outside the cone; attended: the window that holds this share of a head's attention, mean over heads; gains: of each layer, of its values against the residual stream, squared; _lo, _hi: 95 % bootstrap interval; _se: standard error"

CHANGES = {"as trained": (), "512 in every layer": ("--window", 512), "512 in every layer, first key kept": ("--window", 512, "--keep-first", 1)}
REAL_INPUTS = {2048: 6, 4096: 4}        # segments of each
LOSS_INPUTS, LOSS_BLOCKS, BEGINNING = 2048, 4, 2
REAL_TITLES = ["model", "change", "inputs", "layer", "segments", *FIELD, "distance", "distance_se", "first"]
LOSS_TITLES = ["model", "change", "from", "to", "blocks", "targets", "nll", "rise", "rise_se"]


# --- small models -------------------------------------------------------------------------------

def distance_of(scratch, first=0):
    """Mean distance of the gradient, the sum of t s(t) from t = 0, with its standard error over segments; the first inputs left out."""
    import numpy as np
    from reach_erf import open_result
    result = next(iter(open_result(scratch).values()))
    norms = result.norm[result.status == 1][:, ::-1]
    norms = norms[:, :norms.shape[1] - first]
    return mean_and_error(list((norms / norms.sum(axis=1, keepdims=True)) @ np.arange(norms.shape[1])))


def measure_field(checkpoint, reach, cone):
    """The cells of TITLES from segments to attended, and {tokens: c}."""
    with tempfile.TemporaryDirectory() as scratch:
        run(reach, "erf", checkpoint, "--text", TEXT, "--length", LENGTH, "--segments", SEGMENTS, "--attention", *(word for q in THRESHOLDS for word in ("--threshold", q)),
            "-o", scratch, "--device", "cpu", "--quiet", "--force")
        summary, curve, attention = (read_csv(os.path.join(scratch, name)) for name in ("summary.csv", "curve.csv", "attention.csv"))
        distance = distance_of(scratch)
    fields = {float(row["threshold"]): row for row in summary}
    shares = {int(row["distance"]) + 1: row for row in curve}
    beyond = max(float(row["s"]) for tokens, row in shares.items() if tokens > cone)
    attended = [mean_and_error([float(row["attention_erf"]) for row in attention if row["epsilon"] == epsilon])[0] for epsilon in ("0.5", "0.1")]
    return [summary[0]["segments"], *(fields[float(q)][key] for q in THRESHOLDS for key in ("erf", "erf_lo", "erf_hi")), *(f"{x:.4f}" for x in distance), f"{float(shares[1]['s']):.5f}", f"{beyond:.3g}",
            *(f"{x:.2f}" for x in attended)], {tokens: float(row["c"]) for tokens, row in shares.items()}


def measure_loss(checkpoint, reach):
    """NLL at each context, the standard error of the one at 512 inputs, and the gain from 16 to 512 with its own."""
    with tempfile.TemporaryDirectory() as scratch:
        each = os.path.join(scratch, "each.csv")
        run(reach, "ppl", checkpoint, "--text", TEXT, "--context", ",".join(map(str, CONTEXTS)), "--segments", TARGETS, "--stride", STRIDE, "--per-token", each, "--device", "cpu", "--quiet")
        nll = {c: [] for c in CONTEXTS}
        for row in read_csv(each):
            nll[int(row["context"])].append(float(row["nll"]))
    values = [mean_and_error(nll[c])[0] for c in CONTEXTS] + [mean_and_error(nll[512])[1], *mean_and_error([a - b for a, b in zip(nll[16], nll[512])])]
    return [f"{value:.5f}" for value in values]


def model_of(name, folder):
    """The model of a name as drawn before training, or as a checkpoint has it."""
    import torch
    from dataclasses import replace
    from decoder import SHAPES, export_tensors
    from position_encodings import encoding_of
    from safetensors.torch import load_file
    from train import make_model
    encoding = encoding_of(name)
    torch.manual_seed(encoding.seed)
    model = make_model(encoding, replace(SHAPES["small"], layers=encoding.layers or SHAPES["small"].layers))
    if folder:
        stored = load_file(os.path.join(folder, "model.safetensors"))
        parts = {"attention_norm": "attention_norm", "output": "attention.output", "mlp_norm": "mlp_norm", "up": "mlp.up", "down": "mlp.down"}
        state = {"embedding.weight": stored["embedding.weight"], **{f"final_norm.{part}": stored[f"final_norm.{part}"] for part in ("weight", "bias")}}
        for n in range(len(model.layers)):
            for part in ("weight", "bias"):
                state.update({f"layers.{n}.{ours}.{part}": stored[f"layers.{n}.{theirs}.{part}"] for ours, theirs in parts.items()})
                state[f"layers.{n}.query_key_value.{part}"] = torch.cat([stored[f"layers.{n}.attention.{which}.{part}"] for which in ("query", "key", "value")])
        model.load_state_dict(state)
        assert all(torch.equal(value.bfloat16(), stored[key]) for key, value in export_tensors(model).items())
    return model


def gains_of(model, reach):
    """The squared gain of each layer's values and output against the residual stream: |W_o W_v diag(norm weight)|^2 / n, without the two directions that a layer norm leaves out, times the
    mean of one over the variance of the layer's input."""
    import numpy as np
    import torch
    with tempfile.TemporaryDirectory() as scratch:
        run(reach, "tokenize", os.path.join(os.path.dirname(HERE), "models", "window-16"), TEXT, os.path.join(scratch, "ids.npy"))
        ids = torch.from_numpy(np.load(os.path.join(scratch, "ids.npy"))[:4096].astype(np.int64)).view(8, 512)
    inputs, gains = [], []
    for block in model.layers:
        block.register_forward_pre_hook(lambda _, arguments: inputs.append(arguments[0]))
    with torch.no_grad():
        model(ids)
        for block, x in zip(model.layers, inputs):
            n = x.shape[-1]
            through = block.output.weight @ block.query_key_value.weight[2 * n:] * block.attention_norm.weight
            gains.append((1 / x.var(-1, unbiased=False)).mean() * through.square().sum() / n * (n - 2) / n)
    return " ".join(f"{g:.4f}" for g in gains)


def steps_of(training):
    """{step: checkpoint folder} of a training, None for step 0: the weights as drawn; the model itself where it has no checkpoints."""
    folder = os.path.join(training, "snapshots")
    if not os.path.isdir(folder):
        return {0: None, int(read_csv(os.path.join(training, "training.csv"))[-1]["step"]): training}
    found = [m for m in map(re.compile(r"checkpoint-(\d+)$").match, os.listdir(folder)) if m]
    return {0: None, **{int(m[1]): os.path.join(folder, m[0]) for m in sorted(found, key=lambda m: int(m[1]))}}


def quarters(shares, cone):
    """Four points an octave within the cone, and its end."""
    wanted = {round(2 ** (k / 4)) for k in range(60)} | {cone}
    return [(tokens, f"{shares[tokens]:.6g}") for tokens in sorted(wanted) if tokens <= cone]


def rows_of(path):
    return [list(row.values()) for row in read_csv(path)] if os.path.exists(path) else []


def measure(name, config, steps, reach, out):
    """Append the rows of those of a model's steps that have none; its loss at the last step, unless that is 0."""
    from train import write_snapshot
    window, layers = config["window"], config["layers"]
    cone = 1 + layers * (window - 1)
    seed = re.search(r"-seed-(\d+)$", name)
    path, path_of_shares = (os.path.join(out, f"{stem}.csv") for stem in ("windows", "windows-shares"))
    for step, checkpoint in steps.items():
        if any((row[0], row[5]) == (name, str(step)) for row in rows_of(path)):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            model = model_of(name, checkpoint)
            gains = gains_of(model, reach)
            if checkpoint is None:
                checkpoint = os.path.join(scratch, name)
                write_snapshot(model, checkpoint)
                shutil.copy(TOKENIZER, checkpoint)
            field, curve = measure_field(checkpoint, reach, cone)
            loss = measure_loss(checkpoint, reach) if step and step == max(steps) else [""] * (len(CONTEXTS) + 3)
        rows, shares = rows_of(path), rows_of(path_of_shares)
        rows.append([name, str(window), str(layers), str(config["train_length"]), seed[1] if seed else "1", str(step), *field, gains, *loss])
        rows.sort(key=lambda row: (int(row[3]), int(row[1]), int(row[2]), int(row[4]), row[0], int(row[5])))
        if step in (0, max(steps)):
            shares = [row for row in shares if row[:2] != [name, str(step)]] + [[name, str(step), str(tokens), c] for tokens, c in quarters(curve, cone)]
            shares.sort(key=lambda row: (row[0], int(row[1]), int(row[2])))
            write_csv(path_of_shares, ["made by examples/studies/windows.py", "units: tokens: the most recent inputs; c: their share of the gradient"], [SHARES, *shares])
        write_csv(path, ["made by examples/studies/windows.py", UNITS], [TITLES, *rows])
        print(f"{name}: step {step} measured", flush=True)


def drawn_config(name):
    """The part of config.json that measure() needs, of a name."""
    from position_encodings import encoding_of
    encoding = encoding_of(name)
    return {"window": encoding.window, "layers": encoding.layers or 4, "train_length": encoding.train_length}


# --- a real model -------------------------------------------------------------------------------

def append(path, remarks, titles, new):
    write_csv(path, ["made by examples/studies/windows.py --real", *remarks], [titles, *rows_of(path), *new])


def real_field(model, name, change, inputs, reach, path):
    """Fields at the embeddings and at the input of every layer."""
    with tempfile.TemporaryDirectory() as scratch:
        run(reach, "erf", model, "--text", NOVEL, "--length", inputs + 1, "--segments", REAL_INPUTS[inputs], "--layer", "all", *CHANGES[change],
            *(word for q in THRESHOLDS for word in ("--threshold", q)), "-o", scratch, "--device", "cpu", "--quiet", "--force")
        summary, curve = (read_csv(os.path.join(scratch, name)) for name in ("summary.csv", "curve.csv"))
        distance = distance_of(scratch, first=1)
    layers = sorted({int(row["layer"]) for row in summary})
    new = []
    for layer in layers:
        fields = {float(row["threshold"]): row for row in summary if int(row["layer"]) == layer}
        first = next(row for row in curve if (row["layer"], row["position"]) == (str(layer), "1"))
        new.append([name, change, inputs, layer, summary[0]["segments"], *(fields[float(q)][key] for q in THRESHOLDS for key in ("erf", "erf_lo", "erf_hi")),
                    *((f"{x:.2f}" for x in distance) if layer == 0 else ("", "")), f"{float(first['s']):.5f}"])
    append(path, ["units: erf, distance (without the first input, with its standard error) in tokens; layer: at its input, 0: at the embeddings; first: share of the first input; "
                  "_lo, _hi: 95 % bootstrap interval over segments"], REAL_TITLES, new)


def real_losses(model, change, reach):
    """{(block, inputs): NLL} of blocks that begin with the token that begins a text."""
    import numpy as np
    with tempfile.TemporaryDirectory() as scratch:
        ids, each = os.path.join(scratch, "ids.npy"), os.path.join(scratch, "each.csv")
        run(reach, "tokenize", model, NOVEL, ids)
        blocks = np.load(ids)[:LOSS_INPUTS * LOSS_BLOCKS].reshape(LOSS_BLOCKS, LOSS_INPUTS)
        np.save(ids, np.concatenate([np.full((LOSS_BLOCKS, 1), BEGINNING, blocks.dtype), blocks], 1))
        run(reach, "ppl", model, "--tokens", ids, "--protocol", "nonoverlapping", "--context", LOSS_INPUTS, "--bos", "never", *CHANGES[change], "--per-token", each, "--device", "cpu", "--quiet", "--force")
        return {(int(row["row"]), int(row["position"]) - 1): float(row["nll"]) for row in read_csv(each)}


def real_loss(model, name, reach, path):
    """NLL by octaves of the number of inputs as trained, and what changes add to it, paired by target; standard errors over blocks."""
    losses = {change: real_losses(model, change, reach) for change in CHANGES}
    base, new = losses["as trained"], []
    for change, found in losses.items():
        for last in (256, 512, 1024, 2048):
            first = last // 2 + 1 if last > 256 else 1
            wanted = [key for key in base if first <= key[1] <= last]
            by_block = {}
            for key in wanted:
                by_block.setdefault(key[0], []).append(found[key] - base[key])
            rise = mean_and_error([sum(values) / len(values) for values in by_block.values()])
            new.append([name, change, first, last, len(by_block), len(wanted), f"{sum(found[key] for key in wanted) / len(wanted):.5f}", *(f"{x:.5f}" for x in rise)])
    append(path, [f"units: from, to: inputs, of {LOSS_BLOCKS} blocks of {LOSS_INPUTS} of {os.path.basename(NOVEL)}; nll in nats a token; rise: from as trained, paired; _se: standard error over blocks"],
           LOSS_TITLES, new)


def measure_real(model, reach, out):
    name = "gemma-3-270m"
    path, path_of_losses = (os.path.join(out, f"windows-{stem}.csv") for stem in ("real", "losses"))
    for inputs in REAL_INPUTS:
        for change in CHANGES:
            if not any(row[1:3] == [change, str(inputs)] for row in rows_of(path)):
                real_field(model, name, change, inputs, reach, path)
                print(f"{name}: {change}, {inputs} inputs", flush=True)
        if not rows_of(path_of_losses):
            real_loss(model, name, reach, path_of_losses)
            print(f"{name}: losses", flush=True)


def main():
    parser = argparse.ArgumentParser(description="measure stacks of windows")
    parser.add_argument("trainings", nargs="*", metavar="DIR", help="a model folder, with or without snapshots/")
    parser.add_argument("--drawn", nargs="+", default=[], metavar="NAME", help="measure these as drawn before training")
    parser.add_argument("--real", metavar="FILE", help="Gemma 3 270M (examples/real/run.sh fetches it)")
    parser.add_argument("--reach", default="./reach")
    parser.add_argument("--out", default=os.path.join(HERE, "data"))
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for name in options.drawn:
        measure(name, drawn_config(name), {0: None}, options.reach, options.out)
    for training in options.trainings:
        name = os.path.basename(os.path.normpath(training))
        if os.path.isdir(os.path.join(training, "snapshots")):      # the log of a training that the examples do not have
            os.makedirs(os.path.join(options.out, "windows"), exist_ok=True)
            shutil.copy(os.path.join(training, "training.csv"), os.path.join(options.out, "windows", f"{name}.csv"))
        measure(name, config_of(training), steps_of(training), options.reach, options.out)
    if options.real:
        measure_real(options.real, options.reach, options.out)


if __name__ == "__main__":
    main()
