"""What data/learned/NAME.csv say (learned.py) of the registered rule: the verdict."""

import os

from gates import RISE, read_csv
from tables import markdown, rank_correlation, span
from validation import DATA

LEARNED = os.path.join(DATA, "learned")
TRAINED, JUDGED = 128, 500      # L_tr; the step from which a checkpoint is judged
CONTEXTS = (256, 512, 2048)     # where a rise is looked for: 2, 4 and 16 L_tr
REGISTERED = [f"{encoding}-seed-{seed}" for encoding in ("rotary", "alibi", "kerple-log", "t5", "none") for seed in (3, 4)]
THRESHOLD, ENOUGH, LEAST_RUNS = 0.4, 0.75, 8
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


def rows_of(run, what=""):
    """The checkpoints of a training, by their steps; numbers as such."""
    path = os.path.join(LEARNED, f"{run}{what}.csv")
    return [{k: float(v) for k, v in row.items()} for row in read_csv(path)] if os.path.exists(path) else []


def checkpoints(run):
    return [row for row in rows_of(run) if row["step"] >= JUDGED]


def runs():
    """The registered trainings that are measured to their last step, in the order of the page."""
    return [run for run in REGISTERED if checkpoints(run) and checkpoints(run)[-1]["step"] == rows_of(run, "-training")[-1]["step"]]


def fails_by(row, most=RISE):
    """Whether a 95 % interval of a rise lies wholly above that share of the loss at L_tr."""
    return any(row[f"rise_{c}"] - 1.96 * row[f"rise_{c}_se"] > most * row["nll_128"] for c in CONTEXTS)


def extrapolates(row):
    return not fails_by(row)


def by_growth(most):
    return lambda row: row["growth"] <= most


def majority():
    """What most judged checkpoints of all runs do."""
    every = [extrapolates(row) for run in runs() for row in checkpoints(run)]
    return 2 * sum(every) > len(every)


RULES = {
    "x <= 0.4": by_growth(THRESHOLD),
    "ERF(0.99) <= L_tr": lambda row: row["erf_0.99"] <= TRAINED,
    "ERF(0.5) <= 0.35 L_tr": lambda row: row["erf_0.5"] <= 0.35 * TRAINED,
    "what most checkpoints do": lambda row: majority(),
}


def right(run, says):
    """(checkpoints at which a rule is right, judged checkpoints)."""
    rows = checkpoints(run)
    return sum(says(row) == extrapolates(row) for row in rows), len(rows)


def runs_right(says):
    """In how many runs a rule is right at three in four or more of the judged checkpoints."""
    return sum(r >= ENOUGH * n for r, n in (right(run, says) for run in runs()))


def checkpoints_right(says):
    return tuple(map(sum, zip(*(right(run, says) for run in runs()))))


def rank_with_rise(run):
    rows = checkpoints(run)
    return rank_correlation([row["growth"] for row in rows], [row["rise_2048"] for row in rows])


def first_step(run, holds):
    """The first judged step at which something holds; None: at none."""
    return next((int(row["step"]) for row in checkpoints(run) if holds(row)), None)


def warned(run):
    """(first step with x above the threshold, first step that does not extrapolate), of a run that ends without extrapolating."""
    return first_step(run, lambda row: row["growth"] > THRESHOLD), first_step(run, fails_by)


def ends_badly():
    return [run for run in runs() if not extrapolates(checkpoints(run)[-1])]


def verdict_table():
    def spread(values, digits):
        return f"{min(values):.{digits}f} to {max(values):.{digits}f}"
    rows = []
    for run in runs():
        of = checkpoints(run)
        good = sum(map(extrapolates, of))
        rows.append([f"`{run}`", spread([row["growth"] for row in of], 2), spread([row["rise_2048"] for row in of], 3), f"{good} of {len(of)}",
                     *("{} of {}".format(*right(run, says)) for says in RULES.values()), f"{rank_with_rise(run):+.2f}"])
    return markdown(["run", "x", "rise at 16 L_tr", "extrapolates", *(f"right: {name}" for name in RULES), "rank correlation"], rows)


def thresholds_table():
    return markdown(["x at most", "runs right", "checkpoints right"],
                    [[most, f"{runs_right(by_growth(most))} of {len(runs())}", "{} of {}".format(*checkpoints_right(by_growth(most)))] for most in THRESHOLDS])


def wrong():
    """{run: (the checkpoints at which the rule is wrong, how many are judged)} of the runs that it gets wrong."""
    found = {}
    for run in runs():
        r, n = right(run, RULES["x <= 0.4"])
        if r < ENOUGH * n:
            found[run] = [row for row in checkpoints(run) if (row["growth"] <= THRESHOLD) != extrapolates(row)], n
    return found


def wrong_said():
    """A sentence on the runs that the rule gets wrong."""
    said = []
    for run, (rows, n) in wrong().items():
        does = extrapolates(rows[0])
        assert all(extrapolates(row) == does for row in rows), run
        said.append(f"`{run}` at {len(rows)} of {n} checkpoints (steps {', '.join(str(int(row['step'])) for row in rows)}), where x is {span([row['growth'] for row in rows], 2)} "
                    f"and the model {'extrapolates' if does else 'does not extrapolate'}")
    return f"The rule gets these runs wrong: {'; '.join(said)}." if said else ""


def as_good():
    """The other rules that are right in as many runs."""
    return [name for name, says in RULES.items() if name != "x <= 0.4" and runs_right(says) >= runs_right(RULES["x <= 0.4"])]


def rules_table():
    return markdown(["rule", "runs right", "checkpoints right"],
                    [[name, f"{runs_right(says)} of {len(runs())}", "{} of {}".format(*checkpoints_right(says))] for name, says in RULES.items()])
