"""Four stages of measure.py that repeat tables and figures of [A] and [B] as these papers measure them: fields at several lengths, losses beside Sandwich's, losses of blocks, and attention."""

import os
import tempfile

from gates import LENGTH, mean_and_error, read_csv, write_csv
from probes import MODELS, config_of, positions_of, run, tokens_of

SEGMENTS_AT = {512: 200, 2048: 64, 4096: 32}      # by inputs; gates.py has 1024
LONGEST_OF, TIMES = ("sandwich", "t5"), 3           # also measured at the last of these, with so many times the segments
# [A], table 3: encodings beside Sandwich at 1 to 16 L_tr, the last tokens of as many segments
RIVALS, RIVALS_AT, TARGETS = ("sandwich", "smoothed-sandwich", "alibi", "sinusoidal", "rotary", "kerple-log", "t5"), (128, 256, 512, 1024, 2048), 256
# [B], tables 4 to 6: blocks of 1 to 18 L_tr; targets are grouped by the longest of them, for the errors
BLOCKED = ("sinusoidal", "alibi", "kerple-log", "kerple-power", "sandwich", "type1", "type2", "divergent-a", "divergent-b")
BLOCKS, GROUPS = tuple(int(128 * k) for k in (1, 1.5, 2, 2.5, 3, 3.5, 4, 6, 8, 10, 12, 14, 16, 18)), 20
EPSILONS, ATTENDED_SEGMENTS = (0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0.02, 0.01), 8


def is_bias(name):
    """Whether positions are a bias by distance, or a window."""
    return bool("position_bias" in config_of(name) or config_of(name).get("window"))


def text_of(options, name):
    """The file of the text's token ids."""
    tokens_of(options, name)
    return os.path.join(options.work, "tokens.npy")


def fields_at(options, name):
    """Fields at other numbers of inputs than 1024, and the share of the last L_tr of them."""
    trained = config_of(name)["train_length"]
    table = [["model", "inputs", "segments", "half", "half_lo", "half_hi", "field", "field_lo", "field_hi", "saturated", "share", "share_lo", "share_hi"]]
    for inputs, segments in SEGMENTS_AT.items():
        if positions_of(name) < inputs or inputs == max(SEGMENTS_AT) and name not in LONGEST_OF:
            continue
        segments *= TIMES if name in LONGEST_OF else 1
        with tempfile.TemporaryDirectory() as scratch:
            run(options, "erf", os.path.join(MODELS, name), "--tokens", text_of(options, name), "--length", inputs + 1, "--segments", segments, "-o", scratch, "--format", "svg", "--device", "cpu", "--quiet", "--force")
            fields = {float(r["threshold"]): r for r in read_csv(os.path.join(scratch, "summary.csv"))}
            share = next(r for r in read_csv(os.path.join(scratch, "curve.csv")) if int(r["distance"]) == trained - 1)
        table.append([name, inputs, segments, *(fields[q][k] for q in (0.5, 0.99) for k in ("erf", "erf_lo", "erf_hi")), fields[0.99]["saturated"],
                      *(f"{float(share[k]):.5g}" for k in ("c", "c_lo", "c_hi"))])
    return table


def nll_of_targets(options, name):
    """NLL of every target by number of inputs; kept, for the models that are compared with it."""
    kept = os.path.join(options.work, "targets", f"{name}.csv")
    if not os.path.exists(kept):
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        each, nll = f"{kept}.each", {c: [] for c in RIVALS_AT}
        run(options, "ppl", os.path.join(MODELS, name), "--tokens", text_of(options, name), "--context", ",".join(map(str, RIVALS_AT)), "--segments", TARGETS, "--per-token", each, "--device", "cpu", "--quiet")
        for row in read_csv(each):
            nll[int(row["context"])].append(float(row["nll"]))
        write_csv(kept, [], [RIVALS_AT, *zip(*nll.values())])
        os.remove(each)
    rows = read_csv(kept)
    return {c: [float(row[str(c)]) for row in rows] for c in RIVALS_AT}


def against(options, name):
    """NLL of the last of the same targets at 1 to 16 L_tr inputs, and how far it is from Sandwich's, paired by target."""
    first, now = nll_of_targets(options, RIVALS[0]), nll_of_targets(options, name)
    return [["model", "inputs", "targets", "nll", "nll_se", "from_sandwich", "from_sandwich_se"],
            *([name, c, len(now[c]), *(f"{x:.5f}" for x in mean_and_error(now[c]) + mean_and_error([a - b for a, b in zip(now[c], first[c])]))] for c in RIVALS_AT)]


def blocks(options, name):
    """NLL of a stream cut into blocks, and its change from blocks of L_tr; errors are those of the means of groups of neighbours."""
    import numpy as np
    size = BLOCKS[-1]
    place, each = (os.path.join(options.work, f"{name}.blocks.{end}") for end in ("npy", "csv"))
    np.save(place, tokens_of(options, name)[:size * GROUPS + 1].astype(np.int32))
    run(options, "ppl", os.path.join(MODELS, name), "--tokens", place, "--protocol", "nonoverlapping", "--context", ",".join(map(str, BLOCKS)), "--per-token", each, "--device", "cpu", "--quiet")
    nll = {c: [] for c in BLOCKS}
    for row in read_csv(each):
        nll[int(row["context"])].append(float(row["nll"]))
    means = {c: np.array(values).reshape(GROUPS, size).mean(axis=1) for c, values in nll.items()}
    for path in (place, each):
        os.remove(path)
    return [["model", "block", "targets", "groups", "nll", "nll_se", "change", "change_se"],
            *([name, c, len(nll[c]), GROUPS, *(f"{x:.5f}" for x in mean_and_error(list(means[c])) + mean_and_error(list(means[c] - means[BLOCKS[0]])))] for c in BLOCKS)]


def attended(options, name):
    """The smallest window that holds more than 1 - epsilon of the attention: of its mean over layers and heads (head all), and of each head, the mean over the layers, beside the
    formula's."""
    import h5py
    import numpy as np
    table = [["model", "head", "epsilon", "attention_erf", "trf", "segments"]]
    with tempfile.TemporaryDirectory() as scratch:
        run(options, "erf", os.path.join(MODELS, name), "--tokens", text_of(options, name), "--length", LENGTH, "--segments", ATTENDED_SEGMENTS, "--attention", "--bootstrap", "0", "-o", scratch, "--format", "svg",
            "--device", "cpu", "--quiet", "--force")
        rows = read_csv(os.path.join(scratch, "attention.csv"))
        found = []
        with h5py.File(os.path.join(scratch, "erf.h5")) as file:
            file.visititems(lambda path, thing: found.append(np.asarray(thing)) if path.split("/")[-1] == "attention" else None)
    mass = found[0].reshape(-1, found[0].shape[-1]).mean(axis=0, dtype=float)
    held = np.cumsum(mass) / mass.sum()
    for e in EPSILONS:
        table.append([name, "all", f"{e:g}", 1 + int(np.argmax(held > 1 - e)), "", ATTENDED_SEGMENTS])
    for head in sorted({int(r["head"]) for r in rows}):
        for e in (0.5, 0.1, 0.01):
            chosen = [r for r in rows if int(r["head"]) == head and abs(float(r["epsilon"]) - e) < 1e-9]
            table.append([name, head, f"{e:g}", *(f"{np.mean([float(r[k]) for r in chosen]):g}" for k in ("attention_erf", "trf_length")), ATTENDED_SEGMENTS])
    return table
