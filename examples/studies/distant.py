"""Three stages of measure.py about tokens far beyond L_tr: the loss to 256 L_tr, what the far tokens give to it, and what the type does that distances are computed in."""

import os

from gates import TEXT, mean_and_error, read_csv
from probes import place_of, run, tokens_of

FAR = ("sandwich", "alibi", "type1", "divergent-a", "divergent-b", "kerple-log-0.9", "kerple-log-1.1")
TEXTS, INPUTS, NEAR, STEP = 8, 32768, 128, 32       # texts of 256 L_tr, beside windows of L_tr that slide by STEP
AVERAGED = ("sandwich", "kerple-log", "t5", "alibi", "none", "rotary")
ROWS, REACH, SEED = 2000, 512, 2
BLOCKS = (16, 64)        # tokens that stay together, of the 384 before the last 128
BIASED, TARGETS, CONTEXTS = ("alibi", "kerple-log", "sandwich"), 1000, (128, 512, 2048)


def losses(options, name, rows, *arguments):
    """NLL of every target of the rows, [rows, targets]."""
    import numpy as np
    place, each = (os.path.join(options.work, f"{name}.distant.{end}") for end in ("npy", "csv"))
    np.save(place, rows.astype(np.int32))
    run(options, "ppl", place_of(name), "--tokens", place, *arguments, "--per-token", each, "--device", "cpu", "--quiet")
    nll = np.array([float(row["nll"]) for row in read_csv(each)]).reshape(len(rows), -1)
    os.remove(place)
    os.remove(each)
    return nll


def far(options, name):
    """By octaves of the position: NLL with all inputs before it, and its change from that with the last 128 alone, paired by target, then by text."""
    import numpy as np
    tokens = tokens_of(options, name)
    rows = np.stack([tokens[s:s + INPUTS + 1] for s in np.arange(TEXTS) * ((len(tokens) - INPUTS - 1) // TEXTS)])
    whole = losses(options, name, rows, "--protocol", "nonoverlapping", "--context", INPUTS)
    near = losses(options, name, rows, "--protocol", "sliding", "--context", NEAR, "--stride", STEP)
    assert np.allclose(whole[:, :NEAR], near[:, :NEAR], atol=1e-4)     # the first window, which is all there is
    table, first = [["model", "first", "last", "texts", "nll", "nll_se", "change", "change_se"]], NEAR
    while first < INPUTS:
        span = slice(first, 2 * first)      # target number i, from 0, has i + 1 inputs
        pairs = mean_and_error(list(whole[:, span].mean(1))) + mean_and_error(list((whole - near)[:, span].mean(1)))
        table.append([name, first + 1, 2 * first, TEXTS, *(f"{x:.5f}" for x in pairs)])
        first *= 2
    return table


def averaging(options, name):
    """NLL of the last of 513 tokens where the inputs before the last 128 are cut off, those of another place, or the same in another order, one by one or in blocks; its change
    from the text as it is, and how far it stays below that with those of another place, paired by row."""
    import numpy as np
    tokens, random, of_blocks = tokens_of(options, name), np.random.default_rng(SEED), np.random.default_rng(SEED + 1)
    starts = np.arange(ROWS) * ((len(tokens) - REACH - 1) // ROWS)
    own = np.stack([tokens[s:s + REACH + 1] for s in starts])
    cut = REACH - NEAR
    foreign, shuffled, moved = own.copy(), own.copy(), {size: own.copy() for size in BLOCKS}
    for i, s in enumerate(random.integers(0, len(tokens) - cut, ROWS)):
        foreign[i, :cut] = tokens[s:s + cut]
        shuffled[i, :cut] = random.permutation(own[i, :cut])
        for size, rows in moved.items():
            rows[i, :cut] = of_blocks.permutation(own[i, :cut].reshape(-1, size)).ravel()
    as_it_is = losses(options, name, own, "--context", REACH, "--segments", ROWS)[:, 0]
    table, other = [["model", "far", "rows", "nll", "nll_se", "change", "change_se", "below", "below_se"]], None
    for kind, rows in (("as it is", own), ("cut off", own[:, cut:]), ("of another place", foreign), ("in another order", shuffled), *((f"blocks of {size} in another order", moved[size]) for size in BLOCKS)):
        now = as_it_is if kind == "as it is" else losses(options, name, rows, "--context", rows.shape[1] - 1, "--segments", ROWS)[:, 0]
        other = now if kind == "of another place" else other
        below = [""] * 2 if other is None else [f"{x:.5f}" for x in mean_and_error(list(other - now))]
        table.append([name, kind, ROWS, *(f"{x:.5f}" for x in mean_and_error(list(now)) + mean_and_error(list(now - as_it_is))), *below])
    return table


def dtypes(options, name):
    """NLL where the position biases are computed in double, bf16 or f16, by context; its change from double, paired by target."""
    table, first = [["model", "dtype", "context", "targets", "nll", "nll_se", "change", "change_se"]], None
    for dtype in ("double", "bf16", "f16"):
        each = os.path.join(options.work, f"{name}.{dtype}.csv")
        run(options, "ppl", place_of(name), "--text", TEXT, "--context", ",".join(map(str, CONTEXTS)), "--segments", TARGETS, "--per-token", each, "--device", "cpu", "--quiet",
            *([] if dtype == "double" else ["--bias-dtype", dtype]))
        nll = {c: [] for c in CONTEXTS}
        for row in read_csv(each):
            nll[int(row["context"])].append(float(row["nll"]))
        os.remove(each)
        first = first or nll
        for c in CONTEXTS:
            table.append([name, dtype, c, TARGETS, *(f"{x:.5f}" for x in mean_and_error(nll[c]) + mean_and_error([a - b for a, b in zip(nll[c], first[c])]))])
    return table
