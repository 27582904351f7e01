"""The figures of doc/studies, by gnuplot: 170 mm wide, 8 pt, as PNG, SVG and PDF. Each .gp file holds its style and its data, and draws by itself."""

import os
import re
import shutil
import subprocess
import tempfile

import compared
import distances
import formulas
import learning
import needs
import recurrent
import stacks
import tables
import validation

# Okabe and Ito's colours, which people who see fewer colours tell apart, but for yellow, too light on white; then the same dashed
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("1", "(9,4)", "(9,3,2,3)")    # of curves that stand for three things; dots are L_tr
MARKS = (5, 7, 9, 11, 4, 6, 8)     # filled, then open
WIDTH = 17.0    # cm
TRAINED = 128
NAMED = (("gradient", "10,0.55 center"), ("kernel, 1 layer", "9,0.85 center"), ("kernel, 4 layers", "3.2,0.1"))     # beside the curves of one panel of theory
TERMINALS = {"png": "pngcairo size {w:.0f},{h:.0f} font 'Sans,{p:.1f}' linewidth {l:.1f}", "svg": "svg size {w:.0f},{h:.0f} font 'Sans,{p:.1f}' linewidth {l:.1f}",
             "pdf": "pdfcairo size {w:.2f}cm,{h:.2f}cm font 'Sans,{p:.1f}' linewidth {l:.1f}"}


def terminal(kind, height):
    """8 pt at 17 cm: PNG has 300 dots an inch, SVG 96."""
    scale, points, line = {"png": (300 / 2.54, 8 * 300 / 96 * 0.96, 3.2), "svg": (96 / 2.54, 8 * 96 / 72, 1), "pdf": (1, 8, 1)}[kind]
    return TERMINALS[kind].format(w=WIDTH * scale, h=height * scale, p=points, l=line)


def write(folder, name, height, body):
    """NAME.gp, NAME.png, NAME.svg and NAME.pdf."""
    with open(os.path.join(folder, f"{name}.gp"), "w") as file:
        file.write(f"# gnuplot -e \"set terminal pngcairo; set output '{name}.png'\" {name}.gp\n{body}")
    for kind in TERMINALS:
        subprocess.run(["gnuplot", "-e", f"set terminal {terminal(kind, height)}; set output '{name}.{kind}'", f"{name}.gp"], cwd=folder, check=True)
    without_time(os.path.join(folder, f"{name}.pdf"))


def without_time(path):
    """A PDF notes when it was made, so that no two are equal: a time that is the same for all."""
    with open(path, "rb") as file:
        data = re.sub(rb"(?<=/CreationDate \(D:)[0-9]{14}", b"2000" + b"01" * 2 + b"00" * 3, file.read())
    with open(path, "wb") as file:
        file.write(data)


def block(label, rows):
    return f"${label} << END\n" + "".join(" ".join(str(cell) for cell in row) + "\n" for row in rows) + "END\n"


def signs(index):
    """A colour and a mark, both of one curve alone."""
    return f"lc rgb '{COLOURS[index]}' pt {MARKS[index]} ps 0.9"


def style(index):
    return f"lc rgb '{COLOURS[index % len(COLOURS)]}' dt {1 + index // len(COLOURS)}"


def curves(models, folder):
    """Cumulative curves of models of one L_tr, a panel for each family: the share of the gradient that the most recent tokens have."""
    models = {name: m for name, m in models.items() if m.trained == TRAINED}
    shown = [(title, chosen) for key, (title, _) in tables.FAMILIES.items() if (chosen := tables.family(models, key))]
    data, plots = "", ""
    for panel, (title, chosen) in enumerate(shown):
        data += "".join(block(f"m{panel}_{i}", [(n, c, lo, hi) for n, c, lo, hi in m.curve]) for i, m in enumerate(chosen))
        parts = ["$line with lines lc rgb '#808080' lw 1 dt 3 notitle",     # then the bands, so that none hides a curve
                 *(f"$m{panel}_{i} using 1:3:4 with filledcurves fs transparent solid 0.2 noborder lc rgb '{COLOURS[i % len(COLOURS)]}' notitle" for i in range(len(chosen))),
                 *(f"$m{panel}_{i} using 1:2 with linespoints pi 12 {signs(i)} lw 1.2 title '{m.name}'" for i, m in enumerate(chosen))]
        # where no curve is: below them all, or above
        height = 0.03 + 0.056 * len(chosen)
        key = "bottom right Right noreverse" if all(m.share(96) > height for m in chosen) else "top left Left reverse"
        plots += f"set title '{title}'\nset key {key}\nplot " + ", \\\n     ".join(parts) + "\n"
    rows = (len(shown) + 1) // 2
    write(folder, "curves", 6.2 * rows,
          "# style\nset encoding utf8\nset key opaque noenhanced samplen 1.2 spacing 0.75 width -4\nset tics nomirror\nset border 3\nset logscale x 2\nset xrange [1:1100]\nset yrange [0:1.04]\n"
          "set format x '%.0f'\nset xtics 1,4\nset xlabel 'most recent tokens'\nset ylabel 'share of the summed norm'\nset title offset 0,-0.5\n"
          f"# data\n{block('line', [(TRAINED, 0), (TRAINED, 1)])}{data}# panels\nset multiplot layout {rows},2 columnsfirst downwards\n{plots}unset multiplot\n")


def extrapolation(models, folder):
    """The loss at 16 L_tr against the field, ERF(0.99) at the left and ERF(0.5) at the right, as shares of L_tr. The axis of losses is linear near zero and logarithmic beyond."""
    chosen = [m for m in models.values() if m.rise(16)]
    data, body = "", ""
    for panel, q in enumerate((0.99, 0.5)):
        parts = ["$line with lines lc rgb '#808080' lw 1 dt 3 notitle", "0 with lines lc rgb '#808080' lw 0.5 notitle"]
        for k, (key, (title, _)) in enumerate(tables.FAMILIES.items()):
            rows = [(m.erf(q).tokens / m.trained, m.erf(q).lo / m.trained, m.erf(q).hi / m.trained, *m.rise(16)) for m in chosen if m in tables.family(models, key)]
            if rows:
                data += block(f"f{panel}_{k}", rows)
                parts.append(f"$f{panel}_{k} using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt {MARKS[k]} ps 1.4 lw 0.7 lc rgb '{COLOURS[k]}' notitle")
                if not panel:
                    parts.append(f"1/0 with points pt {MARKS[k]} ps 1.4 lc rgb '{COLOURS[k]}' title '{title}'")
        body += f"set xlabel 'ERF({q}) / L_{{tr}}'\nplot " + ", \\\n     ".join(parts) + "\nunset key\n"
    write(folder, "extrapolation", 7.5,
          "# style\nset encoding utf8\nset key opaque bottom left Left reverse samplen 0.5 spacing 0.85 width -2\nset tics nomirror\nset border 3\nset logscale x\nset xrange [0.05:16]\n"
          "set nonlinear y via asinh(y/0.05) inverse 0.05*sinh(y)\nset yrange [-1:10]\nset ytics (-1,-0.3,-0.1,0,0.1,0.3,1,3,10)\n"
          f"set ylabel 'NLL at 16 L_{{tr}} less that at L_{{tr}}, nats'\n# data\n{block('line', [(1, -1), (1, 10)])}{data}# panels\n"
          f"set multiplot layout 1,2 margins 0.08,0.98,0.16,0.97 spacing 0.11,0\n{body}unset multiplot\n")


def theory(models, folder):
    """The gradient's curve beside those of the kernel, of one layer and of all, a panel for each of some models."""
    chosen = [models[n] for n in ("alibi", "kerple-log", "sandwich", "t5", "type1", "window-40") if n in models]
    data, plots = "", ""
    for i, m in enumerate(chosen):
        shares = [[0.0], [0.0]]
        for k, kernel in enumerate((m.kernel, m.convolved)):
            total = sum(kernel)
            for weight in kernel:
                shares[k].append(shares[k][-1] + weight / total)
        data += block(f"m{i}", [(n, c, lo, hi, f"{shares[0][n]:.5f}", f"{shares[1][n]:.5f}") for n, c, lo, hi in m.curve])
        parts = ["$line with lines lc rgb '#808080' lw 1 dt 3 notitle", f"$m{i} using 1:3:4 with filledcurves fs solid 0.2 noborder lc rgb '{COLOURS[0]}' notitle"]
        parts += [f"$m{i} using 1:{column} with lines lc rgb '{COLOURS[k]}' dt {DASHES[k]} lw 1.2" for k, column in enumerate((2, 5, 6))]
        labels = "".join(f"set label '{text}' at {at} tc rgb '{COLOURS[k]}'\n" for k, (text, at) in enumerate(NAMED)) if m.name == "kerple-log" else "unset label\n"
        plots += f"{labels}set title '{m.name}'\nplot " + ", \\\n     ".join(parts) + "\n"
    rows = (len(chosen) + 2) // 3
    write(folder, "theory", 5.4 * rows,
          "# style\nset encoding utf8\nunset key\nset tics nomirror\nset border 3\nset logscale x 2\nset xrange [1:1100]\n"
          "set yrange [0:1.04]\nset format x '%.0f'\nset xtics 1,8\nset xlabel 'most recent tokens'\nset ylabel 'share' offset 1\nset title offset 0,-0.5\n"
          f"# data\n{block('line', [(128, 0), (128, 1)])}{data}# panels\nset multiplot layout {rows},3 margins 0.075,0.99,{0.21 / rows:.3f},{1 - 0.13 / rows:.3f} spacing 0.09,{0.36 / rows:.3f}\n{plots}unset multiplot\n")


def attention(models, folder):
    """[B], figures 5 and 6: the window that holds all but epsilon, of a layer's bias alone at the left, of the attention of trained models at the right."""
    chosen = [models[n] for n in ("alibi", "kerple-log", "kerple-power", "sandwich", "type1", "type2") if n in models]
    data, plots = "", ""
    for panel, (title, field) in enumerate((("bias alone, one layer", lambda m, e: m.field_of_formula(1 - e, 1)), ("attention", lambda m, e: compared.attended(m.name, e)))):
        data += "".join(block(f"m{panel}_{i}", [(e, f"{field(m, e):.0f}") for e in compared.epsilons()]) for i, m in enumerate(chosen))
        plots += f"set title '{title}'\nplot " + ", \\\n     ".join(f"$m{panel}_{i} using 1:2 with linespoints {signs(i)} lw 1.2 title '{m.name}'" for i, m in enumerate(chosen)) + "\nunset key\n"
    write(folder, "attention", 7,
          "# style\nset encoding utf8\nset key bottom left Left reverse noenhanced samplen 2 spacing 0.85 width -2\nset tics nomirror\nset border 3\nset logscale xy\nset xrange [0.009:0.55]\n"
          "set yrange [0.9:1200]\nset format '%.4g'\nset xtics (0.01,0.02,0.05,0.1,0.2,0.5)\nset xlabel 'share left out, eps'\nset ylabel 'tokens'\nset title offset 0,-0.5\n"
          f"# data\n{data}# panels\nset multiplot layout 1,2 margins 0.08,0.98,0.16,0.92 spacing 0.11,0\n{plots}unset multiplot\n")


def changes(folder):
    """The curves of models with other encodings than they were trained with, a panel for each model of which several were measured."""
    shown, data, plots = {}, "", ""
    for row in validation.data("change-curves"):
        shown.setdefault(row["model"], {}).setdefault(row["change"], []).append((row["tokens"], row["c"], row["c_lo"], row["c_hi"]))
    shown = {model: curves for model, curves in shown.items() if len(curves) > 2}
    for panel, (model, curves) in enumerate(shown.items()):
        data += "".join(block(f"m{panel}_{i}", rows) for i, rows in enumerate(curves.values()))
        parts = ["$line with lines lc rgb '#808080' lw 1 dt 3 notitle",
                 *(f"$m{panel}_{i} using 1:3:4 with filledcurves fs transparent solid 0.2 noborder lc rgb '{COLOURS[i % len(COLOURS)]}' notitle" for i in range(len(curves))),
                 *(f"$m{panel}_{i} using 1:2 with lines {style(i)} lw 1.2 title '{title}'" for i, title in enumerate(curves))]
        plots += f"set title '{model}'\nplot " + ", \\\n     ".join(parts) + "\n"
    write(folder, "changes", 9,
          "# style\nset encoding utf8\nset key bmargin center Left reverse noenhanced samplen 1.2 spacing 0.85 maxrows 4\nset tics nomirror\nset border 3\nset logscale x 2\nset xrange [1:512]\nset yrange [0:1]\n"
          "set format x '%.0f'\nset xtics 1,8\nset xlabel 'most recent tokens'\nset ylabel 'share of the gradient' offset 1\nset title offset 0,-0.5\n"
          f"# data\n{block('line', [(TRAINED, 0), (TRAINED, 1)])}{data}# panels\nset multiplot layout 1,{len(shown)} margins 0.08,0.98,0.32,0.93 spacing 0.12,0\n{plots}unset multiplot\n")


def decay(models, folder):
    """The share of one input over its distance: slopes of the cumulative curves between points a fourth of an octave apart."""
    curves = {n: models[n].curve for n in ("alibi", "kerple-log", "sandwich", "rotary", "window-40") if n in models}
    for row in validation.data("real-curve"):
        curves.setdefault(row["model"], []).append((int(row["tokens"]), float(row["c"])))
    data, parts = "", ["$line with lines lc rgb '#808080' lw 1 dt 3 notitle"]
    for i, (name, curve) in enumerate(curves.items()):
        points = [p for k, p in enumerate(curve) if p[0] < 8 or k % 3 == 0]
        data += block(f"m{i}", [(f"{(a[0] * b[0]) ** 0.5:.2f}", f"{(b[1] - a[1]) / (b[0] - a[0]):.4g}") for a, b in zip(points, points[1:]) if b[1] - a[1] > 1e-9])
        parts.append(f"$m{i} using 1:2 with lines {style(i)} lw 1.4 title '{name}'")
    write(folder, "decay", 8,
          "# style\nset encoding utf8\nset key bottom left Left reverse noenhanced samplen 1.2\nset tics nomirror\nset border 3\nset logscale xy\nset xrange [1:1024]\nset yrange [1e-6:1]\n"
          "set format x '%.0f'\nset format y '10^{%T}'\nset xlabel 'most recent tokens'\nset ylabel 'share of one input'\n"
          f"# data\n{block('line', [(TRAINED, 1e-6), (TRAINED, 1)])}{data}# plot\nplot " + ", \\\n     ".join(parts) + "\n")


def far(folder):
    """The change of the loss by octaves of the position, against the last 97 to 128 inputs alone. Points stand a little apart, so that intervals are seen."""
    data, parts = "", ["0 with lines lc rgb '#808080' lw 0.5 notitle"]
    for i, name in enumerate(distances.far_models()):
        data += block(f"m{i}", [(last / 2 ** 0.5 * 2 ** (0.04 * (i - 3)), change, half) for last, (change, half) in distances.far_of(name).items()])
        parts.append(f"$m{i} using 1:2:3 with yerrorlines {style(i)} pt 7 ps 0.5 lw 1.2 title '{name}'")
    write(folder, "far", 8,
          "# style\nset encoding utf8\nset key outside right top Left reverse noenhanced samplen 1.5\nset tics nomirror\nset border 3\nset logscale x 2\nset xrange [128:32768]\nset format x '%.0f'\n"
          "set xtics 128,2\nset xlabel 'position, tokens'\nset ylabel 'change of the NLL, nats'\n"
          f"# data\n{data}# plot\nplot " + ", \\\n     ".join(parts) + "\n")


def states(models, folder):
    """Models with states and some with attention: the share of one input by its distance, and the mean distance of the gradient by the number of inputs."""
    names = list(dict.fromkeys(row["model"] for row in validation.data("recurrent-lengths") if row["model"] in models and models[row["model"]].trained == TRAINED))
    marks = (*MARKS[:4], 13, 15, 2)     # small ones, of which an open and a filled one look alike
    data, left, right = "", ["$line with lines lc rgb '#808080' lw 1 dt 3 notitle"], ["$line2 with lines lc rgb '#808080' lw 1 dt 3 notitle"]
    for i, name in enumerate(names):
        points = [p for k, p in enumerate(models[name].curve) if p[0] < 8 or k % 3 == 0]
        data += block(f"m{i}", [(f"{(a[0] * b[0]) ** 0.5:.2f}", f"{(b[1] - a[1]) / (b[0] - a[0]):.4g}") for a, b in zip(points, points[1:]) if b[1] - a[1] > 1e-9])
        data += block(f"d{i}", [(inputs, *recurrent.distance_at(name, inputs)) for inputs in recurrent.by_inputs(name)])
        left.append(f"$m{i} using 1:2 with linespoints {style(i)} pt {marks[i]} pi 5 ps 1.1 lw 1.2 notitle")
        right.append(f"$d{i} using 1:2:3 with yerrorlines {style(i)} pt {marks[i]} ps 1.1 lw 1.2 title '{name}'")
    write(folder, "recurrent", 8,
          "# style\nset encoding utf8\nset tics nomirror\nset border 3\nset logscale xy\nset format x '%.0f'\n"
          f"# data\n{block('line', [(TRAINED, 1e-7), (TRAINED, 1)])}{block('line2', [(TRAINED, 10), (TRAINED, 3000)])}{data}"
          "# panels\nset multiplot layout 1,2 margins 0.09,0.77,0.15,0.96 spacing 0.125,0\n"
          "set xrange [1:1024]\nset yrange [1e-7:1]\nset format y '10^{%T}'\nset xtics 1,8\nset xlabel 'most recent tokens'\nset ylabel 'share of one input' offset 1\nplot " + ", \\\n     ".join(left) +
          "\nset xrange [56:4700]\nset yrange [10:3000]\nset format y '%.0f'\nset xtics 64,4\nset xlabel 'inputs'\nset ylabel 'mean distance of the gradient, tokens' offset 0\n"
          "set key at screen 0.785,0.95 left top Left reverse noenhanced samplen 1.5\nplot " + ", \\\n     ".join(right) + "\nunset multiplot\n")


DRAWN = 8       # where step 0 stands on a logarithmic axis


def decay_learned(folder):
    """Exponent of the decay, share of the farther half and gain from context over the steps of training: an encoding has a colour and a mark, its second seed a dashed line."""
    panels = (("exponent", "exponent of the decay", lambda row: row["exponent"], "[-0.6:1.6]"), ("far", "farther half, even share = 1", lambda row: row["far_half"], "[0:1.2]"),
              ("gain", "gain from context, nats", learning.gain, "[-0.07:0.7]"))
    encodings = list(dict.fromkeys(run.rsplit("-seed-")[0] for run in learning.trainings()))
    data, plots = "", ""
    for k, (name, label, value, span) in enumerate(panels):
        parts = ["0 with lines lc rgb '#808080' lw 0.5 notitle"]
        for run in learning.trainings():
            encoding, seed = run.rsplit("-seed-")
            i = encodings.index(encoding)
            data += block(f"{name}_{i}_{seed}", [(f"{row['step'] or DRAWN:.0f}", f"{value(row):.4f}") for row in learning.decays(run)])
            title = f"title '{encoding}'" if k == len(panels) - 1 and not any(f"{name}_{i}_" in p for p in parts) else "notitle"
            mark = signs(i).replace("pt 4 ps 0.9", "pt 13 ps 1.3")       # an open square is too like the filled one here
            parts.append(f"${name}_{i}_{seed} using 1:2 with linespoints {mark} dt {1 if seed == '3' else DASHES[1]} lw 1.2 {title}")
        key = "set key at screen 0.865,0.95 left top Left reverse noenhanced samplen 1.5\n" if k == len(panels) - 1 else ""
        plots += f"{key}set yrange {span}\nset ylabel '{label}' offset 1\nplot " + ", \\\n     ".join(parts) + "\n"
    write(folder, "learned", 6.2,
          f"# style\nset encoding utf8\nunset key\nset tics nomirror\nset border 3\nset logscale x\nset xrange [6:15000]\nset format x '%.0f'\nset xtics ('as drawn' {DRAWN},'100' 100,'1000' 1000,'10000' 10000)\nset xlabel 'step'\n"
          f"# data\n{data}# panels\nset multiplot layout 1,3 margins 0.065,0.86,0.18,0.96 spacing 0.08,0\n{plots}unset multiplot\n")


def windows(folder):
    """Stacks of windows: fields in windows by depth, trained and as drawn, a colour and a mark for each q; and ERF(0.9) over the steps of training, a colour and a mark for each depth."""
    every = [2 ** (k / 4) for k in range(2, 26)]
    left = ["$cone using 1:2 with lines lc rgb '#808080' dt (2,3) lw 1.2 title 'cone'", f"$horizon using 1:2 with lines lc rgb '#808080' dt {DASHES[2]} lw 1.2 title '1.5 windows'"]
    data = block("cone", [(f"{d:.3f}", f"{d * 63 / 64:.4f}") for d in every]) + block("horizon", [(f"{d:.3f}", stacks.XIAO) for d in every])
    for k, q in enumerate(stacks.QS):
        number = stacks.fitted(stacks.SIGNS, stacks.untrained)
        data += block(f"signs{k}", [(d, f"{stacks.prediction(stacks.SIGNS).of(64, d, q, number) / 64:.4f}") for d in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)])
        left.append(f"$signs{k} using 1:2 with lines lc rgb '{COLOURS[k]}' dt {DASHES[1]} lw 0.8 notitle")
    left.append(f"NaN with lines lc rgb '#808080' dt {DASHES[1]} lw 0.8 title 'random signs, as drawn'")
    for name, chosen, filled, side in (("trained", stacks.trained(), 1, -0.12), ("as drawn", stacks.untrained() + stacks.deep(), 0, 0.12)):    # a column of the key each
        for k, q in enumerate(stacks.QS):
            label, mark = f"{name[0]}{k}", 4 + 2 * k + filled
            data += block(label, [(f"{s.layers * 2 ** (side + 0.06 * {16: -1, 32: 0, 64: 1}.get(s.window, 0)):.3f}", f"{s.windows(q):.4f}") for s in chosen])
            left.append(f"${label} using 1:2 with points pt {mark} ps 1.5 lw 0.7 lc rgb '{COLOURS[k]}' title 'ERF({q}), {name}'")
    right = []
    for k, d in enumerate(stacks.depths([s for s in stacks.trained() if s.window == 16])):
        steps = sorted({s.step for s in stacks.stacks() if s.cell == (16, d) and s.trained == stacks.GRID_LENGTH})
        found = {step: here for step in steps if (here := [s.windows(0.9) for s in stacks.at_step(step) if s.cell == (16, d)])}
        data += block(f"steps{k}", [(step or DRAWN, f"{stacks.mean(values):.4f}") for step, values in found.items()])
        right.append(f"$steps{k} using 1:2 with linespoints pt {(11, 13, 15, 2)[k]} ps 1.5 lw 1.2 lc rgb '{COLOURS[3 + k]}' title '{d} layers'")
    write(folder, "windows", 8.6,
          "# style\nset encoding utf8\nset tics nomirror\nset border 3\n"
          f"# data\n{data}# panels\nset multiplot layout 1,2 margins 0.07,0.985,0.29,0.97 spacing 0.1,0\n"
          f"set logscale xy 2\nset xrange [1.6:80]\nset yrange [0.4:16]\nset format y '%g'\nset xtics (2,4,8,16,32,64)\nset xlabel 'layers'\nset ylabel 'ERF(q) / window' offset 1\n"
          "set key at screen 0.5,0.005 center bottom vertical Left reverse noenhanced samplen 1.6 spacing 0.95 maxrows 3 width -2\nplot " + ", \\\n     ".join(left) +
          f"\nunset logscale y\nset logscale x\nset xrange [6:5000]\nset yrange [0.8:2.6]\nset format y '%.1f'\nset ytics 0.5\nset xtics ('as drawn' {DRAWN},'100' 100,'1000' 1000)\nset xlabel 'step'\nset ylabel 'ERF(0.9) / window, windows of 16' offset 1\n"
          "set key at graph 0.98,0.98 right top vertical Left reverse maxrows 8\nplot " + ", \\\n     ".join(right) + "\nunset multiplot\n")


def needed(folder):
    """How many tokens are enough, by the share of targets; and by octaves of the distance, whether the loss of targets with more of the gradient there changes more."""
    data, left, right = "", [], ["0 with lines lc rgb '#808080' lw 0.5 notitle"]
    for i, (model, corpus) in enumerate(needs.together()):
        sign = f"lc rgb '{COLOURS[i]}' pt {(5, 7, 9, 11, 13)[i]} ps 0.9"     # all filled: open ones look alike at this size
        data += block(f"e{i}", [(n, share) for n, (share, *_) in needs.enough(model, corpus).items()])
        data += block(f"o{i}", [(f"{octave / 2 ** 0.5 * 2 ** (0.13 * (i - 2)):.4g}", *found) for octave, found in needs.octaves(model, corpus).items()])
        left.append(f"$e{i} using 1:2 with linespoints {sign} lw 1.2 notitle")
        right.append(f"$o{i} using 1:2:3:4 with yerrorbars {sign} lw 1 title '{model}'")
    write(folder, "needed", 8,
          "# style\nset encoding utf8\nset tics nomirror\nset border 3\nset logscale x 2\nset format x '%.0f'\n"
          f"# data\n{block('line', [(needs.ENOUGH, 0), (needs.ENOUGH, 1)])}{data}"
          "# panels\nset multiplot layout 1,2 margins 0.075,0.815,0.15,0.96 spacing 0.1,0\nset bars 0.5\n"
          "set xrange [0.9:570]\nset yrange [0:1.02]\nset xtics 1,4\nset xlabel 'tokens kept'\nset ylabel 'share of targets for which they are enough' offset 1\n"
          "plot $line with lines lc rgb '#808080' lw 1 dt 3 notitle, \\\n     " + ", \\\n     ".join(left) +
          "\nset yrange [-0.25:0.7]\nset xlabel 'distance, tokens'\nset ylabel 'rank correlation over targets' offset 1\n"
          "set key at screen 0.82,0.95 left top Left reverse noenhanced samplen 1.2\nplot " + ", \\\n     ".join(right) + "\nunset multiplot\n")


def by_reach(reach, name, figure, folder, verb, *arguments):
    """The pictures of a figure that `reach plot` draws of what VERB writes. Its script names the folder that it was made in, and is not kept."""
    with tempfile.TemporaryDirectory() as scratch:
        for words in ((verb, *arguments, "-o", scratch), ("plot", os.path.join(scratch, f"{verb}.csv"), "--figure", figure, "--width", f"{10 * WIDTH:.0f}mm", "--format", ",".join(TERMINALS), "-o", os.path.join(scratch, "plot"))):
            subprocess.run([reach, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        without_time(os.path.join(scratch, "plot", f"{figure}.pdf"))
        for kind in TERMINALS:
            shutil.copy(os.path.join(scratch, "plot", f"{figure}.{kind}"), os.path.join(folder, f"{name}.{kind}"))


def biases(reach, folder):
    """Biases alone, the last head, which is the one of a model with one: as matrices, Sandwich of several widths, and TRF over epsilon."""
    by_reach(reach, "heatmaps", "matrix", folder, "bias", "alibi", "window(512)", "sandwich", "kerple_log(p=1,a=1)", "type1", "type2", "--heads", "1")
    by_reach(reach, "widths", "bias", folder, "bias", *(f"sandwich(dbar={w})" for w in formulas.WIDTHS), "--heads", "1")
    by_reach(reach, "epsilon", "epsilon", folder, "trf", "alibi", "type1", "type2", "window(512)", "kerple_log(p=1.1,a=1)", "--heads", "1", "--epsilon", "0.01:0.1:0.01", "--epsilon", "0.15:0.5:0.05")


def draw(models, with_states, folder, reach):
    biases(reach, folder)
    if validation.data("recurrent-lengths"):
        states(models | with_states, folder)
    curves(models, folder)
    if learning.trainings():
        decay_learned(folder)
    if stacks.untrained():
        windows(folder)
    if distances.far_models():
        far(folder)
    if validation.data("real-curve"):
        decay(models, folder)
    if validation.data("change-curves"):
        changes(folder)
    if validation.data("needed-tests"):
        needed(folder)
    if validation.data("attended"):
        attention(models, folder)
    theory(models, folder)
    extrapolation(models, folder)
