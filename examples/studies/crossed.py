"""A stage of measure.py: does a model's own gradient say which input moves its loss, better than the gradient of another model does?

Loss and gradient both fall with distance in every model, so that they correlate between models that have nothing to do with each other. Among the four inputs of one octave of
distance nearness says little; what another model's gradient says there is what the text alone says."""

import os

from gates import mean_and_error
from distant import losses
from probes import MODELS, run, tokens_of

CROSSED = ("alibi", "kerple-log", "t5", "none", "rotary", "window-64")
ROWS, INPUTS, EACH = 100, 512, 4            # inputs replaced in each octave of the distance from the last one
OCTAVES = range(2, 9)                       # 4 to 7, 8 to 15, ... 256 to 511


def measured(options, name):
    """Sizes of the change of the loss and norms of the gradient, [2, rows, octaves, inputs]; kept, for the other models."""
    import numpy as np
    from reach_erf import open_result
    folder = os.path.join(options.work, "crossed-runs")
    path = os.path.join(folder, f"{name}.npy")
    if os.path.exists(path):
        return np.load(path)
    os.makedirs(folder, exist_ok=True)
    tokens = tokens_of(options, name)
    own = np.stack([tokens[s:s + INPUTS + 1] for s in np.arange(ROWS) * ((len(tokens) - INPUTS - 1) // ROWS)]).astype(np.int32)
    distances = np.array([[2 ** k + j * 2 ** k // EACH for j in range(EACH)] for k in OCTAVES])
    rows = np.repeat(own[:, None], 1 + distances.size, axis=1)
    for j, d in enumerate(distances.ravel()):       # by the token of the next row there
        rows[:, 1 + j, INPUTS - 1 - d] = np.roll(own[:, INPUTS - 1 - d], -1)
    nll = losses(options, name, rows.reshape(-1, INPUTS + 1), "--context", INPUTS, "--segments", ROWS * rows.shape[1])[:, 0].reshape(ROWS, -1)
    place, out = os.path.join(folder, f"{name}-rows.npy"), os.path.join(folder, name)
    np.save(place, own)
    run(options, "erf", os.path.join(MODELS, name), "--tokens", place, "--bootstrap", 0, "-o", out, "--device", "cpu", "--quiet", "--force")
    norm = next(iter(open_result(out).values())).norm[:, INPUTS - 1 - distances.ravel()]
    found = np.stack([np.abs(nll[:, 1:] - nll[:, :1]), norm]).reshape(2, ROWS, *distances.shape)
    np.save(path, found)
    return found


def within_octaves(sizes, norms):
    """Rank correlation of two arrays [rows, octaves, inputs] within each octave, the mean over octaves in which both vary, by row; NaN where there is none."""
    import numpy as np
    ranks = [(x[..., :, None] > x[..., None, :]).sum(-1) + 0.5 * (x[..., :, None] == x[..., None, :]).sum(-1) for x in (sizes, norms)]
    a, b = (r - r.mean(-1, keepdims=True) for r in ranks)
    with np.errstate(invalid="ignore"):
        return np.nanmean((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)), axis=-1)


def crossed(options, name):
    """A row a model whose gradient is used: its rank correlation with the size of NAME's change, and how much more NAME's own has, paired by row."""
    import numpy as np
    sizes, own = measured(options, name)
    mine, table = within_octaves(sizes, own), [["model", "gradient_of", "rows", "correlation", "correlation_se", "own_more", "own_more_se"]]
    for other in CROSSED:
        found = within_octaves(sizes, measured(options, other)[1])
        use = np.isfinite(mine) & np.isfinite(found)
        table.append([name, other, int(use.sum()), *(f"{x:.5f}" for x in mean_and_error(list(found[use])) + mean_and_error(list((mine - found)[use])))])
    return table
