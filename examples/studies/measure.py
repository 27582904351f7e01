#!/usr/bin/env python3
"""Measure what the pages of doc/studies need beside examples/gates.py: hours on two cores.

    python3 examples/studies/measure.py [--reach ./reach] [--work build/studies] [--part I/N] [STAGE...]

STAGE is validation, decay, real-validation, real-decay, real-field, real-curve, changes, change-curves, copies, edges, protocols, costs, dtypes, far, averaging, lengths, against, blocks, attended, crossed, coverage, controls or recurrent-*; all by default. What a model or a change gives lies in WORK/STAGE/NAME.csv and is not measured again, so that a killed
run goes on where it was; what is in data/STAGE.csv counts as measured too, but with --again. --part I/N measures every N-th of them, for several machines. When all of a stage are there they are joined to data/STAGE.csv, which
is committed and which build.py reads.

validation   `reach erf --validate`: the loss of 100 targets at 512 inputs where all before the last k are replaced, or cut off
decay        the gradient's share of one input over its distance, of the same runs: power law and exponential, with intervals by the jackknife over segments
real-*       the same, the field and the curve, of real models on Moby-Dick, 40 segments; --validate of 20 of them and of SmolLM2 alone. After `make real`, which fetches them
changes      another position encoding for a trained model (--rope, --window, --keep-first, --logn): NLL of 4000 targets at 1, 2 and 4 L_tr, paired with the
             model as it was trained, and the field of 400 segments; change-curves: its curve
copies       log p of the last token of a string from elsewhere, where it was said once before at some distance, and where it was not
edges        the same for distances around a model's window
protocols    NLL of 65,536 tokens by blocks of 128, by windows of 128 that slide by 8, and by one pass whose layers attend to the last 128 keys (or their
             own window)
costs        processor time and memory of `reach erf` on one thread, by encoding
far          NLL at every position of 8 texts of 32,768 tokens, 256 L_tr, beside that of the last 128 tokens alone
dtypes       NLL of 1000 targets at 1, 4 and 16 L_tr with position biases computed in bf16 and f16, paired with those in double
recurrent-*  validation, decay and far of the models of examples/recurrent; their fields by the number of inputs measured (lengths), its growth, and the decays of their heads (heads)
averaging    NLL of the last of 513 tokens where the inputs before the last 128 are cut off, those of another place, or the same in another order, one by one and in blocks
lengths      the field at 512 and 2048 inputs, of two models also at 4096, and the share of the last L_tr of them
against      NLL of 256 targets at 1 to 16 L_tr of encodings beside Sandwich, paired by target
blocks       NLL of 46,080 tokens in blocks of 1 to 18 L_tr
attended     the windows that hold the attention, of models whose positions are a bias or a window
crossed      does the model's own gradient say which input moves its loss, more than that of another model?
coverage     how often intervals of a field hold the true one, by the number of segments
controls     fields with random weights, by the target's probability and kind, weighted by the embedding, by layer, and by integrated gradients

Needs `reach`, NumPy, and for decay, attended, crossed, coverage and controls h5py.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DATA = os.path.join(HERE, "data")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")      # NumPy's products are small here: more threads only wait
sys.path[:0] = [os.path.dirname(HERE), HERE, os.path.join(ROOT, "python")]
from gates import NOVEL, STRIDE, TARGETS, TEXT, is_repeat, mean_and_error, read_csv, thinned, write_csv  # noqa: E402
from controls import CONTROLLED, SAMPLE, controls  # noqa: E402
from coverage import AGAINST, COVERED, REPLICATES, TRIALS, coverage  # noqa: E402
from crossed import CROSSED, ROWS as CROSSED_ROWS, crossed  # noqa: E402
from distant import AVERAGED, BIASED, FAR, averaging, dtypes, far  # noqa: E402
from probes import COSTED, EDGE_ROWS, MODELS, config_of, copies, costs, edges, place_of, positions_of, protocols, tokens_of  # noqa: E402
from repeated import BLOCKED, RIVALS, against, attended, blocks, fields_at, is_bias  # noqa: E402
from states import BESIDE, TRAINED_AGAIN, growth, heads, lengths, recurrent_names  # noqa: E402
from validation import REAL_SEGMENTS  # noqa: E402

LENGTH, SEGMENTS, TESTS = 513, 400, 100
# real models below build/real, as examples/real/run.sh fetches them; and how many of their segments are measured with other inputs
REAL = {"smollm2-135m": ("SmolLM2-135M-Instruct.Q4_1.gguf", 20), "gemma-3-270m": ("gemma-3-270m-q4_k_m.gguf", 0)}
GROUPS = 20                 # of the jackknife
RANGES = ((1, 127), (128, 511))     # distances from the last input: within L_tr, and beyond
FORMS = {"power law": ("a - p*ln(1+t)", "p"), "exponential": ("a - k*t", "k")}
CONTEXTS = (128, 256, 512)
OFFSET = 16 * 128 - CONTEXTS[-1]    # tokens left out before the first segment, so that the targets are those of gates.py, whose segments are longer

# model, change, options; every model's first row is as it was trained
CHANGES = [
    ("rotary", "as trained", []),
    ("rotary", "linear, factor 4", ["--rope", "linear:factor=4"]),
    ("rotary", "NTK (dynamic)", ["--rope", "dynamic:factor=1,original=128"]),
    ("rotary", "YaRN, factor 4", ["--rope", "yarn:factor=4,original=128"]),
    ("rotary", "base 500000", ["--rope", "base=500000"]),
    ("rotary", "log-n", ["--logn"]),
    ("rotary", "window 128", ["--window", "128"]),
    ("rotary", "window 128, first 4 kept", ["--window", "128", "--keep-first", "4"]),
    ("none", "as trained", []),
    ("none", "log-n", ["--logn"]),
    ("none", "window 128", ["--window", "128"]),
    ("none", "window 128, first 4 kept", ["--window", "128", "--keep-first", "4"]),
    ("t5", "as trained", []),
    ("t5", "log-n", ["--logn"]),
]


def run(*arguments):
    subprocess.run([str(a) for a in arguments], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)


def names():
    return [n for n in sorted(os.listdir(MODELS)) if os.path.exists(os.path.join(MODELS, n, "model.safetensors")) and not is_repeat(n)]


def short(value):
    """Six digits of a number; other texts stay."""
    try:
        return f"{float(value):.6g}"
    except ValueError:
        return value


def real_path(name):
    return os.path.join(ROOT, "build", "real", REAL[name][0])


def real_names(least_tests=0):
    """Real models that are there, or whose numbers are: those of which so many segments or more are measured with other inputs."""
    return [n for n in REAL if REAL[n][1] >= least_tests and (os.path.exists(real_path(n)) or n in committed("real-curve"))]


def validated(options, name):
    """The folder of a model's run with --validate, made if it is not there."""
    folder = os.path.join(options.work, "runs", name)
    if os.path.exists(os.path.join(folder, "erf.h5")):
        return folder
    if name in REAL:
        model, text, rows, segments, tests = f"{name}={real_path(name)}", NOVEL, LENGTH, REAL_SEGMENTS, REAL[name][1]
    else:
        model, text, rows, segments, tests = place_of(name), TEXT, min(LENGTH, 1 + positions_of(name)), SEGMENTS, TESTS
    run(options.reach, "erf", model, "--text", text, "--length", rows, "--segments", segments, *(["--validate", tests] if tests else []), "-o", folder, "--device", "cpu", "--quiet", "--resume")
    return folder


def real_field(options, name):
    keys = ("segments", "threshold", "erf", "erf_lo", "erf_hi", "saturated", "mean_logprob")
    return [["model", *keys], *([name, *(row[k] for k in keys)] for row in read_csv(os.path.join(validated(options, name), "summary.csv")))]


def real_curve(options, name):
    rows = thinned(read_csv(os.path.join(validated(options, name), "curve.csv")))
    return [["model", *rows[0]], *([name, *row] for row in rows[1:])]


def validation(options, name):
    rows = read_csv(os.path.join(validated(options, name), "validation.csv"))
    return [list(rows[0]), *([short(v) for v in row.values()] for row in rows)]


def slope(options, form, coefficient, points):
    """A coefficient of the least-squares fit, and R^2."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "points.csv")
        write_csv(path, [], [["t", "y"], *points])
        run(options.reach, "fit", path, "--form", form, "-o", scratch, "--force")
        row = next(r for r in read_csv(os.path.join(scratch, "fit.csv")) if r["coefficient"] == coefficient)
    return float(row["value"]), float(row["r2"])


def decay(options, name):
    import numpy as np
    from reach_erf import open_result

    field = next(iter(open_result(validated(options, name)).values()))
    shares = (field.norm / field.norm.sum(axis=1, keepdims=True))[field.status == 1][:, ::-1]   # by distance
    groups = np.array_split(np.arange(len(shares)), GROUPS)
    table = [["model", "form", "first", "last", "coefficient", "value", "lo", "hi", "r2", "segments"]]
    for first, last in RANGES:
        for form, (text, coefficient) in FORMS.items():
            def fit(rows):
                mean = shares[rows].mean(axis=0)[first:last + 1]
                return slope(options, text, coefficient, [(first + i, repr(math.log(s))) for i, s in enumerate(mean) if s > 0])
            if np.count_nonzero(shares.mean(axis=0)[first:last + 1]) < 16:
                continue        # beyond a window's cone
            value, r2 = fit(slice(None))
            left = [fit(np.concatenate([g for g in groups if g is not out]))[0] for out in groups]
            error = math.sqrt((GROUPS - 1) / GROUPS * math.fsum((x - math.fsum(left) / GROUPS) ** 2 for x in left))
            half = 2.093 * error    # 97.5 % point of Student's t with 19 degrees of freedom
            table.append([name, form, first, last, coefficient, *(f"{x:.6g}" for x in (value, value - half, value + half, r2)), len(shares)])
    return table


def nll_of(options, number):
    """NLL of every target under a change, by context; kept, for those that are compared with it."""
    model, _, arguments = CHANGES[number]
    kept = os.path.join(options.work, "nll", f"{number}.csv")
    if os.path.exists(kept):
        rows = read_csv(kept)
        return {c: [float(row[str(c)]) for row in rows] for c in CONTEXTS}
    import numpy as np
    with tempfile.TemporaryDirectory() as scratch:
        each, text = (os.path.join(scratch, name) for name in ("each.csv", "text.npy"))
        np.save(text, tokens_of(options, model)[OFFSET:])
        run(options.reach, "ppl", os.path.join(MODELS, model), "--tokens", text, "--context", ",".join(map(str, CONTEXTS)), "--segments", TARGETS, "--stride", STRIDE,
            "--per-token", each, "--device", "cpu", "--quiet", *arguments)
        out = {c: [] for c in CONTEXTS}
        for row in read_csv(each):
            out[int(row["context"])].append(float(row["nll"]))
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    write_csv(kept, [], [CONTEXTS, *zip(*out.values())])
    return out


def change_curve(options, number):
    model, title, arguments = CHANGES[number]
    with tempfile.TemporaryDirectory() as scratch:
        run(options.reach, "erf", os.path.join(MODELS, model), "--text", TEXT, "--length", LENGTH, "--segments", SEGMENTS, "-o", scratch, "--device", "cpu", "--quiet", "--force", *arguments)
        rows = thinned(read_csv(os.path.join(scratch, "curve.csv")))
    return [["model", "change", *rows[0]], *([model, title, *row] for row in rows[1:])]


def change(options, number):
    model, title, arguments = CHANGES[number]
    before, now = nll_of(options, next(i for i, c in enumerate(CHANGES) if c[0] == model)), nll_of(options, number)
    with tempfile.TemporaryDirectory() as scratch:
        run(options.reach, "erf", os.path.join(MODELS, model), "--text", TEXT, "--length", LENGTH, "--segments", SEGMENTS, "-o", scratch, "--device", "cpu", "--quiet", "--force", *arguments)
        fields = {float(r["threshold"]): r for r in read_csv(os.path.join(scratch, "summary.csv"))}
    table = [["model", "change", "context", "targets", "nll", "nll_se", "change_of_nll", "change_se", "half", "half_lo", "half_hi", "field", "field_lo", "field_hi", "saturated"]]
    for c in CONTEXTS:
        pairs = mean_and_error(now[c]) + mean_and_error([a - b for a, b in zip(now[c], before[c])])
        last = c == CONTEXTS[-1]
        table.append([model, title, c, len(now[c]), *(f"{x:.5f}" for x in pairs),
                      *((fields[q][k] for q in (0.5, 0.99) for k in ("erf", "erf_lo", "erf_hi")) if last else [""] * 6), fields[0.99]["saturated"] if last else ""])
    return table


STAGES = {
    "validation": (names, validation, ["reach erf --validate, of 100 of 400 segments of 513 tokens", "units: doc/outputs.md, validation.csv"]),
    "decay": (names, decay, [f"ln of the mean share of one input over its distance t from the last one, fitted from distance first to last, of {SEGMENTS} segments; 95 % intervals by "
                             f"the jackknife over {GROUPS} groups of segments"]),
    "real-validation": (lambda: real_names(1), validation, [f"reach erf --validate, of some of {REAL_SEGMENTS} segments of 513 tokens of Moby-Dick", "units: doc/outputs.md, validation.csv"]),
    "real-decay": (real_names, decay, [f"as decay.csv, of {REAL_SEGMENTS} segments of 513 tokens of Moby-Dick"]),
    "real-field": (real_names, real_field, [f"the field of {REAL_SEGMENTS} segments of 513 tokens of Moby-Dick; units: doc/outputs.md, summary.csv"]),
    "real-curve": (real_names, real_curve, [f"the field of {REAL_SEGMENTS} segments of 513 tokens of Moby-Dick: c, c_lo, c_hi: the share of the gradient that the most recent tokens have, with its 95 % "
                                            "bootstrap interval; s: share of the farthest of them"]),
    "changes": (lambda: range(len(CHANGES)), change, ["NLL in nats a token of the targets of gates.py; change_of_nll: to the model as trained at the same context, paired; _se: standard "
                                                      "errors; half, field: ERF(0.5), ERF(0.99) at 512 inputs with 95 % intervals"]),
    "change-curves": (lambda: range(len(CHANGES)), change_curve, ["the curves of those fields, 512 inputs: c, c_lo, c_hi: the share of the gradient that the most recent tokens have, with its 95 % bootstrap interval; "
                                                                  "s: share of the farthest of them"]),
    "copies": (names, copies, ["NLL in nats of the last of 8 tokens that come from elsewhere in the text, 128 rows; gain: how much less where the same 8 end `distance` tokens before, "
                               "paired; _se: standard errors"]),
    "edges": (lambda: [n for n in names() if config_of(n).get("window")], edges, [f"as copies.csv, of distances around each model's window, {EDGE_ROWS} rows"]),
    "protocols": (names, protocols, ["NLL in nats a token of the first 65,536 tokens; change: from nonoverlapping, paired by target; _se: standard errors; seconds of processor time"]),
    "costs": (lambda: [n for n in COSTED if n in names()], costs, ["reach erf on one thread, segments of 1025 tokens; seconds of processor time a segment, of 68 segments less those of 4, over that of `none` measured in "
                               "turns with it: median, least and most of rounds; memory: the largest resident set of the process, MB"]),
    "far": (lambda: [n for n in FAR if n in names()], far, ["NLL in nats a token of the targets with first to last inputs, all of the text before them; change: from the last 97 to 128 inputs alone, paired by target; _se: "
                               "standard errors over texts"]),
    "dtypes": (lambda: [n for n in BIASED if n in names()], dtypes, ["NLL in nats a token of 1000 targets; change: from biases computed in double, rounded once, paired by target; _se: standard errors"]),
    "averaging": (lambda: [n for n in AVERAGED if n in names()], averaging,
                  ["NLL in nats of the last of 513 tokens of 2000 rows; far: the inputs before the last 128; change: from the text as it is, below: that with inputs of another place less "
                   "this, paired by row; _se: standard errors"]),
    "lengths": (names, fields_at, ["the field of segments of so many inputs: half, field: ERF(0.5), ERF(0.99) in tokens; share: of the summed gradient norm, of the last L_tr inputs; _lo, _hi: 95 % "
                                 "bootstrap interval"]),
    "against": (lambda: [n for n in RIVALS if n in names()], against, ["NLL in nats a token of the last of 256 segments of 2049 tokens; from_sandwich: less that of `sandwich`, paired by target; _se: "
                                                                      "standard errors"]),
    "blocks": (lambda: [n for n in BLOCKED if n in names()], blocks, ["NLL in nats a token of the first 46,080 tokens by blocks; change: from blocks of 128, paired; _se: standard errors over the means of "
                                                                     "groups of 2304 neighbours"]),
    "attended": (lambda: [n for n in names() if is_bias(n)], attended, ["the smallest window of tokens that holds more than 1 - epsilon of the attention at 1024 inputs; head all: of the mean over layers and "
                                                                       "heads; else the mean over layers, trf: that of the bias alone, of the same distances"]),
    "crossed": (lambda: [n for n in CROSSED if n in names()], crossed,
                [f"rank correlation, within octaves of the distance, of the change of model's loss when one input is replaced with the norm of the gradient of gradient_of there, mean of "
                 f"{CROSSED_ROWS} segments of 513 tokens; own_more: by how much that with its own gradient is larger, paired by segment; _se: standard errors"]),
    "coverage": (lambda: [n for n in COVERED if n in names()], coverage,
                 [f"intervals of samples of the {SEGMENTS} segments of the field, {TRIALS} of each size, {REPLICATES} replicates: how many hold the true value, are above and below it; width: the "
                  f"median; tokens, but growth, an exponent; differences from {AGAINST} are paired by segment"]),
    "controls": (lambda: [n for n in CONTROLLED if n in names()], controls,
                 ["fields of 512 inputs under one change each; half: ERF(0.5), field: ERF(0.99), near: share of the last 128 inputs, with 95 % intervals; kind of input: near is the part of "
                  f"the gradient over what inputs at the same distances have in the mean; a sample and integrated gradients: {SAMPLE} segments; layer: gradient with respect to the input of that block"]),
}


STAGES |= {
    "recurrent-validation": (recurrent_names, validation, STAGES["validation"][2]),
    "recurrent-decay": (recurrent_names, decay, STAGES["decay"][2]),
    "recurrent-far": (recurrent_names, far, STAGES["far"][2]),
    "recurrent-lengths": (lambda: [*recurrent_names(), *TRAINED_AGAIN, *BESIDE], lengths, ["the field of 100 segments by the number of inputs, with 95 % intervals; distance: mean over segments of the sum of t s(t), t the distance from the last "
                                                                          "input, s its share of the gradient; nll: of the last token, in nats; _se: standard errors"]),
    "recurrent-growth": (lambda: [*recurrent_names(), *BESIDE], growth, ["reach erf --growth --threshold 0.5, 400 segments of 1024 tokens, with 95 % intervals"]),
    "recurrent-heads": (lambda: [*recurrent_names(), *TRAINED_AGAIN], heads, ["reach erf --attention, 100 segments of 129 tokens; units: doc/outputs.md, attention.csv"]),
}


def committed(stage):
    """The rows of data/STAGE.csv by what they are of: a model, or a number of CHANGES."""
    path, found = os.path.join(DATA, f"{stage}.csv"), {}
    for row in read_csv(path) if os.path.exists(path) else []:
        of = next((i for i, c in enumerate(CHANGES) if list(c[:2]) == [row["model"], row["change"]]), None) if stage.startswith("change") else row["model"]
        found.setdefault(of, [list(row)]).append(list(row.values()))
    return found


def main():
    parser = argparse.ArgumentParser(description="measure what doc/studies needs beside gates.py")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("--reach", default=os.path.join(ROOT, "reach"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "studies"))
    parser.add_argument("--part", default="1/1", metavar="I/N")
    parser.add_argument("--again", action="store_true", help="measure also what is in data/STAGE.csv")
    options = parser.parse_args()
    options.reach, options.work = os.path.abspath(options.reach), os.path.abspath(options.work)
    part, parts = map(int, options.part.split("/"))
    if unknown := [s for s in options.stages if s not in STAGES]:
        parser.error(f"no stage {unknown[0]} (expected {', '.join(STAGES)})")
    for stage in options.stages or STAGES:
        every, measure, remarks = STAGES[stage]
        paths = {name: os.path.join(options.work, stage, f"{name}.csv") for name in every()}
        os.makedirs(os.path.join(options.work, stage), exist_ok=True)
        known = {} if options.again else committed(stage)
        for i, (name, path) in enumerate(paths.items()):
            if not os.path.exists(path) and name in known:
                write_csv(path, [], known[name])
            elif not os.path.exists(path) and i % parts == part - 1:
                write_csv(path, [], measure(options, name))
                print(f"{stage}: {name}", flush=True)
        if all(map(os.path.exists, paths.values())):
            tables = [read_csv(path) for path in paths.values()]
            write_csv(os.path.join(DATA, f"{stage}.csv"), ["made by examples/studies/measure.py", *remarks], [list(tables[0][0]), *(list(row.values()) for t in tables for row in t)])
            print(f"examples/studies/data/{stage}.csv", flush=True)


if __name__ == "__main__":
    main()
