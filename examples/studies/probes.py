"""Three stages of measure.py: a string that was said before, the protocols of perplexity, and what a field costs by encoding."""

import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.dirname(HERE)]
from gates import TEXT, mean_and_error, read_csv  # noqa: E402

MODELS, RECURRENT = (os.path.join(ROOT, "examples", folder) for folder in ("models", "recurrent"))
COPY, ROWS, SEED = 8, 128, 1
DISTANCES = {128: (8, 16, 32, 64, 96, 120), 512: (8, 32, 64, 120, 192, 256, 384, 504)}      # by inputs
EDGES, EDGE_ROWS = (-8, -4, -2, -1, 0, 1, 2, 4, 8, 16, 32), 512       # distances less the window, at 128 inputs
STREAM, WINDOW, STRIDE = 1 << 16, 128, 8
COPY_TITLES = ["model", "inputs", "distance", "rows", "nll", "nll_se", "gain", "gain_se"]
# a model of each kind, and those whose time is their ratio to the first
COSTED = ("none", "sinusoidal", "rotary", "alibi", "alibi-minus-3", "window-64", "t5", "kerple-log", "kerple-power", "sandwich", "type1", "type2")
COSTED_LENGTH, COSTED_SEGMENTS, ROUNDS = 1025, (4, 68), 5


def run(options, *arguments):
    """A command of reach; its seconds of processor time."""
    before = os.times()
    subprocess.run([options.reach, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def place_of(name):
    """The folder of an example model."""
    return os.path.join(MODELS if os.path.isdir(os.path.join(MODELS, name)) else RECURRENT, name)


def config_of(name):
    with open(os.path.join(place_of(name), "config.json")) as file:
        return json.load(file)


def positions_of(name):
    """Positions that a model has learned; more than any length where it has none."""
    return config_of(name).get("position", {}).get("length", 1 << 30)


def tokens_of(options, name):
    """The token ids of the text, made once."""
    import numpy as np
    path = os.path.join(options.work, "tokens.npy")
    if not os.path.exists(path):
        os.makedirs(options.work, exist_ok=True)
        run(options, "tokenize", place_of(name), TEXT, path)
    return np.load(path)


def rows_with_copies(tokens, inputs, distances, count=ROWS):
    """[1 + distances, count, inputs + 1]: pieces of the text that end with COPY tokens from elsewhere; then with the same string once more, its last token at that distance before
    the end."""
    import numpy as np
    random = np.random.default_rng(SEED)
    longest = max(DISTANCES) + 1
    starts = np.arange(count) * ((len(tokens) - longest) // count)
    plain = np.stack([tokens[s + longest - inputs - 1:s + longest] for s in starts]).astype(np.int32)
    strings = np.stack([tokens[s:s + COPY] for s in random.integers(0, len(tokens) - COPY, count)])
    plain[:, -COPY:] = strings
    out = [plain]
    for distance in distances:
        again = plain.copy()
        again[:, inputs + 1 - COPY - distance:inputs + 1 - distance] = strings
        out.append(again)
    return np.stack(out)


def gains(options, name, inputs, distances, count):
    """A row a distance: NLL without the string before, and how much less it is with it, paired by row."""
    import numpy as np
    rows = rows_with_copies(tokens_of(options, name), inputs, distances, count)
    place, each = (os.path.join(options.work, "copies", f"{name}{end}") for end in (".npy", ".each"))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    np.save(place, rows.reshape(-1, inputs + 1))
    run(options, "ppl", place_of(name), "--tokens", place, "--context", inputs, "--segments", len(rows) * count, "--per-token", each, "--device", "cpu", "--quiet")
    nll = np.array([float(row["nll"]) for row in read_csv(each)]).reshape(len(rows), count)
    os.remove(place)
    os.remove(each)
    return [[name, inputs, distance, count, *(f"{x:.5f}" for x in mean_and_error(nll[0]) + mean_and_error(nll[0] - now))] for distance, now in zip(distances, nll[1:])]


def copies(options, name):
    return [COPY_TITLES, *(row for inputs, distances in DISTANCES.items() if positions_of(name) >= inputs for row in gains(options, name, inputs, distances, ROWS))]


def edges(options, name):
    """The same for distances around the window of a model."""
    inputs, window = min(DISTANCES), config_of(name)["window"]
    return [COPY_TITLES, *gains(options, name, inputs, [d for d in (window + e for e in EDGES) if COPY <= d <= inputs + 1 - COPY], EDGE_ROWS)]


def protocols(options, name):
    """NLL of one stream by every protocol at 128 tokens, and its change from that of blocks, paired by target."""
    import numpy as np
    place = os.path.join(options.work, "stream.npy")
    if not os.path.exists(place):
        np.save(place, tokens_of(options, name)[:STREAM].astype(np.int32))
    ways = {"nonoverlapping": [], "sliding": ["--stride", STRIDE], "cached": [] if config_of(name).get("window") else ["--window", WINDOW]}
    table, first = [["model", "protocol", "targets", "nll", "nll_se", "change", "change_se", "seconds"]], None
    for protocol, more in ways.items():
        each = os.path.join(options.work, "protocols", f"{name}.each")
        if protocol == "cached" and positions_of(name) < STREAM:
            continue
        context = [] if protocol == "cached" else ["--context", WINDOW]
        seconds = run(options, "ppl", place_of(name), "--tokens", place, "--protocol", protocol, *context, *more, "--per-token", each, "--threads", 1, "--device", "cpu", "--quiet")
        nll = [float(row["nll"]) for row in read_csv(each)]
        first = first or nll
        table.append([name, protocol, len(nll), *(f"{x:.5f}" for x in mean_and_error(nll) + mean_and_error([a - b for a, b in zip(nll, first)])), f"{seconds:.1f}"])
        os.remove(each)
    return table


def field_of(options, name, segments):
    """One field on one thread: seconds of processor time, and the largest resident set in MB."""
    with tempfile.TemporaryDirectory() as scratch:
        child = subprocess.Popen([options.reach, "erf", place_of(name), "--text", TEXT, "--length", str(COSTED_LENGTH), "--segments", str(segments), "--threads", "1", "--device", "cpu",
                                  "--bootstrap", "0", "--format", "svg", "--quiet", "-o", os.path.join(scratch, "out")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"measure.py: reach erf of {name} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def costs(options, name):
    """What a segment's field costs, over that of the first of COSTED, in turns with it."""
    few, many = COSTED_SEGMENTS
    ratios, seconds, memory = [], [], []
    for _ in range(ROUNDS):
        taken = {n: [field_of(options, n, s) for s in (few, many)] for n in dict.fromkeys((COSTED[0], name))}
        each = {n: (runs[1][0] - runs[0][0]) / (many - few) for n, runs in taken.items()}
        seconds.append(each[name])
        ratios.append(each[name] / each[COSTED[0]])
        memory.append(taken[name][1][1])
    return [["model", "seconds", "ratio", "ratio_least", "ratio_most", "memory", "rounds"],
            [name, *(f"{x:.4g}" for x in (sorted(seconds)[ROUNDS // 2], sorted(ratios)[ROUNDS // 2], min(ratios), max(ratios), max(memory))), ROUNDS]]
