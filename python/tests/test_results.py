"""Results and CSV files as reach writes them, read back."""

import csv
import gzip
import json
import re
import unittest

import h5py
import numpy as np
import reach_erf as reach

from common import MODELS, REACH, ROOT, TEXT, Case
from reach_erf.comparison import run_reach
from reach_erf.tables import COLUMNS

VERSION = re.search("^VERSION := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]

try:
    import pandas
except ImportError:
    pandas = None


def run_erf(out, *models, options=()):
    run_reach(["erf", *(str(MODELS / name) for name in models), "--text", str(TEXT), "-o", str(out), "--quiet", *options], REACH)
    return out


SHORT = ("--segments", "7", "--length", "64", "--bootstrap", "200")


class Results(Case):
    def test_curves_and_fields_of_every_target_and_layer(self):
        out = run_erf(self.scratch / "out", "window-24", "alibi", options=(
            *SHORT, "--layer", "all", "--target-position", "20", "--attention", "--seed", "5", "--threshold", "0.8"))
        result = reach.open_result(out)
        self.assertEqual((result.attributes["format"], list(result)), ("reach-erf/1", ["window-24", "alibi"]))
        curve, summary = reach.read_table(out / "curve.csv"), reach.read_table(out / "summary.csv")
        self.assertEqual(result.attributes["command"], curve.notes["command"])
        at = row = 0
        for model in result.values():
            self.assertEqual([(one.target, one.layer) for one in model.fields], [(p, k) for p in (64, 20) for k in range(4)])
            self.assertEqual(model.attention.shape, (4, 4, 63))
            for one in model.fields:
                end = at + one.target - 1
                for name in ("s", "c", "c_lo", "c_hi", "distance"):
                    np.testing.assert_array_equal(getattr(one, name), curve[name][at:end])
                self.assertEqual({*curve["model"][at:end]}, {model.name})
                self.assertEqual(({*curve["target"][at:end]}, {*curve["layer"][at:end]}), ({one.target}, {one.layer}))
                # again from the norms
                np.testing.assert_allclose(one.curve(), one.c, rtol=0, atol=1e-14)
                for mine, its in zip(one.interval(), (one.c_lo, one.c_hi)):
                    np.testing.assert_allclose(mine, its, rtol=0, atol=1e-14)
                self.assertEqual(one.thresholds, [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
                for threshold in one.thresholds:
                    found = one.erf(threshold)
                    self.assertEqual((found.threshold, found.erf, found.lo, found.hi, int(found.saturated)),
                                     tuple(summary[name][row] for name in ("threshold", "erf", "erf_lo", "erf_hi", "saturated")))
                    self.assertAlmostEqual(one.mean_logprob, summary["mean_logprob"][row], delta=1e-13)
                    row += 1
                at = end
        self.assertEqual((at, row), (len(curve["model"]), len(summary["model"])))
        alibi = result["alibi"]
        self.assertEqual(alibi.erf(), alibi.erf(0.8))  # the one that was asked for leads
        self.assertIs(alibi.field(), alibi)
        self.assertEqual(alibi.field(20, 3).norm.shape, (7, 19))
        self.assertEqual((alibi.attributes["position_encoding"], alibi.attributes["heads"]), ("bias alibi(delta=0)", 4))
        self.assertEqual(alibi.field(20, 3).attributes["heads"], 4)
        with self.refused("target 64, layer 9 was not measured", "20, 3"):
            alibi.field(layer=9)
        with self.refused("expected a share between 0 and 1"):
            alibi.erf(1)
        with self.assertRaises(KeyError):
            result["rotary"]

    def test_no_bootstrap_and_excluded_segments(self):
        model, out = MODELS / "window-24", self.scratch / "out"
        run_erf(out, "window-24", options=("--segments", "3", "--length", "40", "--bootstrap", "0"))
        found = reach.open_result(out / "erf.h5")["window-24"].erf()
        self.assertEqual((found.lo, found.hi), (None, None))
        with h5py.File(out / "erf.h5", "r+") as file:  # as a segment of another model would be
            file[f"models/{model.name}/norm"][1] = np.nan
            file[f"models/{model.name}/status"][1] = 2
        one = reach.open_result(out)[model.name]
        self.assertEqual(one.shares().shape, (2, 39))
        self.assertTrue(np.isfinite(one.curve()).all())

    def test_few_segments_have_no_interval(self):
        for segments in (4, 5):
            out = run_erf(self.scratch / "out", "window-24", options=("--segments", str(segments), "--length", "40", "--bootstrap", "50", "--force"))
            result, curve, summary = reach.open_result(out), reach.read_table(out / "curve.csv"), reach.read_table(out / "summary.csv")
            one, enough = result["window-24"], segments == 5
            self.assertEqual((one.attributes["interval"], one.has_interval), ("bootstrap-t" if enough else "none", enough))
            for mine, its, column in zip(one.interval(), (one.c_lo, one.c_hi), ("c_lo", "c_hi")):
                np.testing.assert_allclose(mine, its, rtol=0, atol=1e-14)
                np.testing.assert_array_equal(its if enough else one.c, curve[column])
                self.assertEqual(np.isnan(its).any(), not enough)
            found = one.erf(0.5)
            self.assertEqual([found.lo is None, found.hi is None], [not enough] * 2)
            self.assertEqual((summary["erf_lo"] == summary["erf"]).all(), not enough)
            self.assertEqual(">-</td>" in result._repr_html_(), not enough)
            if pandas is not None:
                self.assertEqual(result.erf_frame()["lo"].isna().all(), not enough)

    def test_tokens_and_their_texts(self):
        model, out = self.scratch / "window-24", self.scratch / "out"
        model.mkdir()
        for name in ("config.json", "model.safetensors"):
            (model / name).symlink_to(MODELS / "window-24" / name)
        np.save(self.scratch / "ids.npy", np.arange(72).reshape(3, 24))
        run_reach(["erf", str(model), "--tokens", str(self.scratch / "ids.npy"), "-o", str(out), "--quiet"], REACH)
        one = reach.open_result(out)["window-24"]
        self.assertEqual((one.tokens.tolist()[2][:2], one.pieces), ([48, 49], {}))  # no tokenizer
        source = MODELS.parent / "text" / "sqlalchemy.py.gz"
        run_reach(["erf", str(MODELS / "window-24"), "--text", str(source), "--segments", "3", "--length", "24", "-o", str(out),
                   "--force", "--quiet"], REACH)
        one, text = reach.open_result(out)["window-24"], gzip.open(source).read()
        segments = [b"".join(one.pieces[int(i)] for i in ids) for ids in one.tokens]
        self.assertTrue(text.startswith(segments[0]))
        self.assertTrue(all(segment in text for segment in segments))
        with h5py.File(out / "erf.h5", "r+") as file:
            del file["models/window-24/tokens"], file["models/window-24/piece_id"]
        one = reach.open_result(out)["window-24"]
        self.assertEqual((one.tokens, one.pieces), (None, {}))

    def test_integrated_gradients(self):
        out = run_erf(self.scratch / "out", "window-24", options=("--segments", "2", "--length", "24", "--attribution", "ig"))
        one = reach.open_result(out)["window-24"]
        self.assertEqual((one.attributes["attribution"], one.completeness.shape), ("ig", (2, 2)))

    def test_shards_and_what_merge_makes_of_them(self):
        shards = [run_erf(self.scratch / f"shard-{i}", "window-24", "alibi", options=(*SHORT, "--attention", "--shard", f"{i}/3"))
                  for i in (1, 2, 3)]
        whole = reach.open_result(run_erf(self.scratch / "whole", "window-24", "alibi", options=(*SHORT, "--attention")))
        run_reach(["merge", *map(str, shards), "-o", str(self.scratch / "merged"), "--quiet"], REACH)
        for result in (reach.open_result(self.scratch / "merged"), reach.open_result(*reversed(shards), program=REACH)):
            for name, model in whole.items():
                self.assertEqual(result[name].attributes, model.attributes)
                for array in ("norm", "logprob", "c", "c_lo", "attention"):
                    np.testing.assert_array_equal(getattr(result[name], array), getattr(model, array))
        parts = [reach.open_result(shard)["alibi"] for shard in shards]
        self.assertEqual([part.attributes["shard"] for part in parts], ["1/3", "2/3", "3/3"])
        np.testing.assert_array_equal(np.concatenate([part.norm for part in parts]), whole["alibi"].norm)
        with self.refused("reach merge:", "missing: 2"):
            reach.open_result(shards[0], shards[2], program=REACH)

    @unittest.skipUnless(pandas, "pandas is not there")
    def test_frames(self):
        out = run_erf(self.scratch / "out", "alibi", "window-24", options=(*SHORT, "--layer", "1"))
        result, curve = reach.open_result(out), reach.read_table(out / "curve.csv")
        pandas.testing.assert_frame_equal(result.to_frame(), curve.to_frame())
        pandas.testing.assert_frame_equal(result["window-24"].to_frame(), curve.to_frame()[126:189].reset_index(drop=True))
        summary = reach.read_table(out / "summary.csv").to_frame()
        fields = result.erf_frame().rename(columns={"lo": "erf_lo", "hi": "erf_hi"})
        self.assertEqual(len(fields), len(summary))
        for name in ("model", "target", "layer", "threshold", "erf", "erf_lo", "erf_hi"):
            self.assertEqual(fields[name].tolist(), summary[name].tolist())

    def test_what_is_no_result(self):
        out = run_erf(self.scratch / "out", "window-24", options=("--segments", "2", "--length", "24"))
        with self.refused("there is no such file", "read_table reads CSV files"):
            reach.open_result(self.scratch)
        (out / "erf.part").touch()
        with self.refused("the run is not finished"):
            reach.open_result(out)
        (out / "erf.part").unlink()
        good = (out / "erf.h5").read_bytes()

        def damaged(change):
            (out / "erf.h5").write_bytes(good)
            with h5py.File(out / "erf.h5", "r+") as file:
                change(file, file["models/window-24"])

        def replace(group, name, value):
            del group[name]
            group[name] = value

        def external(name, path):  # the data are bytes of another file
            def change(file, group):
                shape = group[name].shape if name in group else (4, 4, 23)
                if name in group:
                    del group[name]
                group.create_dataset(name, shape, "f4", external=[(path, 0, h5py.h5f.UNLIMITED)])
            return change

        def virtual(file, group):
            layout = h5py.VirtualLayout(shape=(23,), dtype="f8")
            layout[:] = h5py.VirtualSource("other.h5", "s", shape=(23,))
            del group["s"]
            group.create_virtual_dataset("s", layout)

        for change, said in (
            (lambda file, group: file.attrs.__setitem__("format", "reach-erf/2"), "expected the format reach-erf/1"),
            (lambda file, group: file.__delitem__("models"), "is no result of reach erf"),
            (lambda file, group: group.__delitem__("c"), "has no dataset c"),
            (lambda file, group: replace(group, "c", h5py.ExternalLink("/etc/hostname", "/c")), "has no dataset c"),
            (lambda file, group: replace(file, "models", h5py.ExternalLink("other.h5", "/models")), "is no result of reach erf"),
            (lambda file, group: replace(group, "s", h5py.SoftLink("/models/window-24/c")), "has no dataset s"),
            (lambda file, group: replace(group, "norm", np.zeros((2, 22))), "norm has the shape [2, 22] (expected [2, 23])"),
            (lambda file, group: replace(group, "logprob", np.zeros(3)), "logprob has the shape [3] (expected [2])"),
            (external("norm", "/etc/hostname"), "norm is not numbers in the file itself"),
            (external("attention", "/etc/hostname"), "attention is not numbers in the file itself"),
            (virtual, "s is not numbers in the file itself"),
            (lambda file, group: replace(group, "c", ["x"] * 23), "c is not numbers in the file itself"),
            (lambda file, group: group.create_dataset("attention", (1 << 20, 1 << 20), "f8", chunks=(1, 64)), "claims 8796093022208 bytes"),
            (lambda file, group: group["logprob"].__setitem__(0, 3.5), "log p above 0 or norms below 0"),
            (lambda file, group: group["norm"].__setitem__((0, 1), -1), "log p above 0 or norms below 0"),
            (lambda file, group: group["c_hi"].__setitem__(0, 2), "curves beyond 0 to 1"),
            (lambda file, group: group.attrs.__delitem__("target_position"), "has the shape [23] (expected [-1])"),
        ):
            with self.subTest(said):
                damaged(change)
                with self.refused("erf.h5", said):
                    reach.open_result(out)
        (out / "erf.h5").write_bytes(good[:500])
        with self.refused("cannot be read as HDF5"):
            reach.open_result(out)


class Tables(Case):
    def test_columns_are_those_of_the_document(self):
        kinds = {"text": "", "text or empty": "", "whole": "w", "whole or empty": "w?", "real": "r", "real or empty": "r?",
                 "decimal or empty": "r?", "whole of any size or empty": "d?"}
        text, documented = (ROOT / "doc/outputs.md").read_text().partition("<!-- end of columns -->")[0], {}
        for title, section in re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", text, re.M | re.S):
            name = "per-token" if "--per-token" in title else title.removesuffix(".csv")
            rows = re.findall(r"^\| `(\w+)` \| ([a-z ]+) \|", section, re.M)
            documented[name] = [(column, kinds[kind]) for column, kind in rows]
        known = {name: [column.partition(":")[::2] for column in columns.split()] for name, columns in COLUMNS.items()}
        self.assertEqual(known, documented)

    def test_every_file(self):
        """Each file that reach writes is known for what it is, and its cells are what the document says."""
        alibi, window = str(MODELS / "alibi"), str(MODELS / "window-24")
        text = self.scratch / "text"
        text.write_bytes(bytes(range(32, 127)) * 5)
        out = str(self.scratch / "out")
        for name, arguments in (
            ("attention", ["erf", alibi, window, "--text", str(text), "--length", "40", "--attention"]),
            ("ppl", ["ppl", alibi, window, "--text", str(text), "--context", "20,40", "--gain", "--per-token",
                     f"{self.scratch}/tokens.csv"]),
            ("trf", ["trf", "alibi", "kerple_log", "--set", "p=1.05", "--set", "a=1", "--length", "30"]),
            ("fit", ["fit", "sandwich", "--range", "0:100"]),
            ("bias", ["bias", "window(3)", alibi, "--length", "8"]),
        ):
            run_reach([*arguments, "-o", f"{out}/{name}", *(["--quiet"] if name in ("attention", "ppl") else [])], REACH)
            table = reach.read_table(f"{out}/{name}/{name}.csv")
            self.assertEqual((table.kind, table.notes["reach"]), (name, VERSION))
            self.assertTrue(table.notes["command"].startswith(f"reach {arguments[0]} "))
            self.assertEqual(list(table), [column.partition(":")[0] for column in COLUMNS[name].split()])
            setattr(self, name, table)
        self.assertEqual(self.attention["head"].tolist()[:5], [1] * 5)
        self.assertEqual(self.attention["trf"].dtype, object)
        self.assertEqual(self.ppl["model"].tolist(), ["alibi", "alibi", "window-24", "window-24"])
        self.assertTrue(np.isnan(self.ppl["diff"][:2]).all() and np.isfinite(self.ppl["diff"][2:]).all())
        self.assertIn((40, "564"), [(len(digits), digits[:3]) for digits in map(str, self.trf["trf_lo"])])  # all digits of 5.64e39
        self.assertEqual({*self.trf["length"]}, {"inf", "30"})
        self.assertEqual(self.fit["formula"][0], "sandwich")
        self.assertEqual(self.bias["bias"][:4].tolist(), [0, 0, 0, -np.inf])
        gain = reach.read_table(f"{out}/ppl/gain.csv")
        self.assertEqual((gain.kind, gain["needed"].dtype), ("gain", np.float64))
        self.assertTrue(np.isnan(gain["gain"][[0, 2]]).all() and np.isfinite(gain["gain"][[1, 3]]).all())
        tokens = reach.read_table(self.scratch / "tokens.csv")
        self.assertEqual(tokens.kind, "per-token")
        ids = json.loads((MODELS / "alibi" / "tokenizer.json").read_text())["model"]["vocab"]
        self.assertEqual([ids[piece] for piece in tokens["piece"] if len(piece) == 1],
                         [number for number, piece in zip(tokens["id"], tokens["piece"]) if len(piece) == 1])
        self.assertTrue(np.isnan(tokens["row"]).all())
        mean = tokens["nll"][(tokens["model"] == "alibi") & (tokens["context"] == 40)].mean()
        self.assertAlmostEqual(mean, self.ppl["nll"][1], delta=1e-12)

    @unittest.skipUnless(pandas, "pandas is not there")
    def test_pandas_reads_every_value(self):
        """Of every file that is written, with # in names, in texts and in what a prediction depended on."""
        alibi, window = f"#1,\"a\"={MODELS / 'alibi'}", f"b #2={MODELS / 'window-24'}"
        text, out, turned, biased = (self.scratch / name for name in ("text", "out", "r #3", "a #1"))
        turned.symlink_to(MODELS / "rotary")
        biased.symlink_to(MODELS / "alibi")
        text.write_bytes(b"# one\n#two ## '#' \"#\" a#b, #\r\n c # d\n##\n\t#x\n" * 12)
        for arguments in (
            ["erf", alibi, window, "--text", str(text), "--length", "40", "--attention", "--validate", "2", "--quiet"],
            ["ppl", alibi, window, "--text", str(text), "--context", "20,40", "--gain", "--per-token", f"{out}/tokens.csv", "--quiet"],
            ["trf", str(biased), "kerple_log", "--set", "p=1.05", "--set", "a=1", "--length", "30"],
            ["trf", str(turned), "-o", f"{out}/rotary"],
            ["fit", str(biased), "--range", "0:100"],
            ["bias", "window(3)", str(biased), "--length", "8"],
            ["explain", alibi, "--text", str(text), "--by", "word"],
        ):
            run_reach([*arguments, *([] if "-o" in arguments else ["-o", str(out)]), "--force"], REACH)
        files = sorted(out.rglob("*.csv"))
        self.assertEqual({path.stem for path in files} | {"per-token"}, {*COLUMNS, "tokens"})
        cells = with_comments = 0
        for path in files:
            lines = path.read_text().splitlines(keepends=True)
            rows = list(csv.reader(line for line in lines if not line.startswith("#")))
            options = {"comment": "#", "keep_default_na": False}
            frame = pandas.read_csv(path, **options, dtype=str)
            self.assertEqual(([*frame.columns], frame.to_numpy().tolist()), (rows[0], rows[1:]), path)
            frame = pandas.read_csv(path, **options)
            self.assertEqual(len(frame), len(rows) - 1, path)
            for row, values in zip(rows[1:], frame.to_numpy(dtype=object).tolist()):
                for cell, value in zip(row, values):
                    same = value == cell if isinstance(value, str) else value == float(cell) or abs(value / float(cell) - 1) < 4e-16
                    self.assertTrue(same, f"{path}: {cell!r} became {value!r}")
                    cells, with_comments = cells + 1, with_comments + ("#" in cell)
            table = reach.read_table(path)
            self.assertEqual(len(next(iter(table.columns.values()))), len(rows) - 1)
            self.assertEqual([*map(str, table[rows[0][0]])], [row[0] for row in rows[1:]])
        self.assertGreater((cells, with_comments), (5000, 1000))

    def test_names_are_text_and_cells_are_quoted(self):
        path = self.scratch / "x.csv"
        head = "model,position,distance,s,c,c_lo,c_hi,target,layer,attribution"
        path.write_text(f'# reach 0.1.0\n# units: a: b\n{head},new\n7,1,0,1e-300,inf,nan,-inf,2,0,grad,"a ""b"",\nc"\n')
        table = reach.read_table(path)
        self.assertEqual((table["model"].tolist(), table["s"].tolist(), table["new"].tolist()), (["7"], [1e-300], ['a "b",\nc']))
        self.assertTrue(table["c"][0] == np.inf and np.isnan(table["c_lo"][0]) and table["c_hi"][0] == -np.inf)
        self.assertEqual(table.notes, {"reach": "0.1.0", "units": "a: b"})
        path.write_text("# reach 0.1.0\n" + head + "\n")
        self.assertEqual(len(reach.read_table(path)["s"]), 0)
        path.write_text("model,position,distance,s,c\na,1,0,0.5,1\n")  # an older one, with fewer columns
        self.assertEqual(reach.read_table(path).kind, "curve")
        for text, said in (("", "its columns are missing"), ("a,b\n1,2\n", "its columns are a, b"),
                           (head + "\n1,2\n", "row 1 has 2 cells"), (head + "\na,x,0,1,1,1,1,2,0,grad\n", "column position"),
                           (head + "\na,1,0,,1,1,1,2,0,grad\n", "column s")):
            with self.subTest(said):
                path.write_text(text)
                with self.refused("x.csv", said):
                    reach.read_table(path)


if __name__ == "__main__":
    unittest.main()
