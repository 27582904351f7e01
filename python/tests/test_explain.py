"""What `explain` returns: its targets, its words, sentences and lines, its sentence, figure and HTML."""

import html as html_
import re
import unittest
from importlib.util import find_spec

import numpy as np
import reach_erf as reach
from reach_erf.outcomes import spelt_bytes

from common import ROOT
from test_verbs import ALIBI, Verbs


class Explanations(Verbs):
    def test_an_explanation_begins_with_its_text(self):
        """Shades are those of the page, each with ink that can be read on it; the sentence is the program's."""
        for options in ({}, {"attribution": "ig"}, {"by": "word"}, {"by": "line"}, {"leave_out": "word"}, {"leave_out": "sentence"}):
            found = reach.explain(ALIBI, prompt="def add(self, child):\n    self.children.append(", **options)
            html = found._repr_html_()
            self.assertTrue(html.startswith("<pre"))
            self.assertLess(html.index("Half of the summed"), html.index("<table"))
            said = " ".join(found.text.split()).replace("\u00a0", " ")
            self.assertIn(" ".join(found.sentence.split()), said)
            css = (ROOT / "page/shades.css").read_text()
            shades = re.findall(r"\.([a-k])\{background:(#\w+);color:(#\w+)\}", css)
            page = re.findall(r"<i(?: class=([a-k]))?>", found.page.read_text())
            mine = re.findall(r'<span title="\d+: [^"]*"( style="[^"]*")?>', html)
            self.assertEqual(len(page), len(mine))
            for shade, style in zip(page, mine):
                light, dark = [one for one in shades if one[0] == shade] or [None, None]
                self.assertEqual(style, "" if not shade else f' style="background:{light[1]};color:{light[2]};background:light-dark('
                                                              f'{light[1]},{dark[1]});color:light-dark({light[2]},{dark[2]})"')

    def test_an_explanation_by_word(self):
        """Sentence, table and figure are of words; of one that is alone, too."""
        found = reach.explain(ALIBI, prompt="def add(self, child):\n", by="word")
        self.assertRegex(found.sentence, r"^Half of the summed gradient norm comes from the last .*of \d words, ")
        html = found._repr_html_()
        rows = re.findall(r"<td[^>]*>(\d+)</td><td[^>]*>(\d+)</td><td[^>]*>(&#x27;[^<]*)</td><td[^>]*>([\d.]+) %</td>", html)
        self.assertEqual({html_.unescape(row[2]) for row in rows}, {repr(spelt_bytes(text).decode()) for text in found.units["text"]})
        self.assertAlmostEqual(sum(float(row[3]) for row in rows), 100, delta=0.1)
        self.assertEqual(html.count('<span title="'), len(rows) + 1)
        if find_spec("matplotlib"):
            from matplotlib.figure import Figure

            bars = found.plot(Figure().add_subplot()).patches
            self.assertEqual([bar.get_height() for bar in bars], found.units["share"].tolist())
        alone = reach.explain(ALIBI, prompt="children", by="word")
        self.assertIn(alone.sentence, " ".join(alone.text.split()))
        self.assertIn("All of the gradient norm comes from the only word", alone.sentence)

    def test_what_an_explanation_says_of_its_targets(self):
        for options in ({}, {"targets": 2}):
            found = reach.explain(ALIBI, prompt="import os", against=" return", **options)
            self.assertIn('Half of the summed gradient norm, rather than " return", comes from', found.sentence)
            self.assertIn("rather than &quot; return&quot;", found._repr_html_())
        html = reach.explain(ALIBI, prompt="import os", against=" return")._repr_html_()
        cells = [html_.unescape(cell) for cell in re.findall(r"<td[^>]*>([^<]*)</td>", html)]
        self.assertEqual(cells[5:7], ["against", "' return'"])
        self.assertEqual((cells[9], cells[10]), ("0.00273 %", "others"))  # as on the screen
        answer = reach.explain(ALIBI, prompt="import os", answer="\nimport sys")
        self.assertNotIn(">-1<", answer._repr_html_())
        many = reach.explain(ALIBI, prompts=[{"id": "<one>", "prompt": "a"}, {"id": "two", "prompt": "b", "answer": " cd"}])._repr_html_()
        self.assertEqual(re.findall(r"Prompt ([^<]*)</strong>", many), ["&lt;one&gt;", "two"])

    def test_several_targets(self):
        prompt = "def add(self, child):"
        both, ids = reach.explain(ALIBI, prompt=prompt, targets=2), []
        for part in both.parts:
            ids.append(part.target.id)
            alone = reach.explain(ALIBI, prompt=prompt, target=str(part.target.id))
            np.testing.assert_allclose(part["norm"], alone["norm"], rtol=1e-5)
            self.assertEqual((part.target.id, part.target.text), (alone.target.id, alone.target.text))
            self.assertAlmostEqual(part.target.logprob, alone.target.logprob, places=5)
        self.assertEqual(len(set(ids)), 2)
        self.assertEqual(both._repr_html_().count("<pre "), 2)
        answer = reach.explain(ALIBI, prompt="import os", answer="\nimport sys").parts
        self.assertEqual((answer[0].target.id, answer[0].target.text), (-1, "\nimport sys"))
        self.assertAlmostEqual(answer[0].target.logprob, sum(part.target.logprob for part in answer[1:]), places=5)

    def test_the_first_of_several_targets(self):
        """Shares, pieces and figure are of one target: of an answer the whole, of several the first; the others are each their own."""
        prompts = self.scratch / "prompts.jsonl"
        prompts.write_text('{"prompt": "import os"}\n{"prompt": "def add(self", "answer": " child"}\n')
        for arguments, first, texts in (
                ({"prompt": "import os", "answer": "\nimport sys"}, {"answer": "\nimport sys"}, ["import os", "import os\n"]),
                ({"prompt": "import os", "targets": 3, "leave_out": "word"}, {"leave_out": "word"}, ["import os"] * 2),
                ({"prompts": prompts}, {}, ["def add(self"] * 2)):
            with self.subTest(arguments):
                found = reach.explain(ALIBI, **arguments)
                alone = reach.explain(ALIBI, prompt="import os", **first)
                self.assertEqual(("".join(found.pieces), found.target.text), ("import os", alone.target.text))
                np.testing.assert_allclose(found.share, alone.share, rtol=1e-5)
                self.assertAlmostEqual(found.share.sum(), 1, places=9)
                if "leave_out" in arguments:
                    self.assertAlmostEqual(found.units["share"].sum(), 1, places=9)
                self.assertEqual(len(found.others), len(found.parts) - 1)
                self.assertEqual(["".join(one.pieces) for one in found.others[:2]], texts)
                for one in found.others:
                    self.assertAlmostEqual(one.share.sum(), 1, places=9)
                if find_spec("matplotlib"):
                    from matplotlib.figure import Figure

                    for one in (found, *found.others):
                        bars = one.plot(Figure().add_subplot()).patches
                        self.assertEqual([bar.get_height() for bar in bars], (one.units["share"] if one.units else one.share).tolist())

    def test_explanation(self):
        found = reach.explain(ALIBI, prompt="def add(self, child):", against="return")
        said = found.text
        self.assertIn(str(found.target.id), said)
        self.assertIn(f"{found.target.logprob:.4f}", said)
        self.assertEqual(found.pieces[0], "def")
        self.assertTrue(found.page.read_text().startswith("<!doctype html>"))
        self.assertGreater(len(found.others), 1)

    def test_left_out(self):
        lines = ["import os\n", "import sys\n", "def add(self, child):\n"]
        prompt = "".join(lines)
        found = reach.explain(ALIBI, prompt=prompt, targets=2, leave_out="line", dtype="f64")
        for part in found.parts:
            units, target = part.units, str(part.target.id)
            whole = reach.explain(ALIBI, prompt=prompt, target=target, dtype="f64").target.logprob
            self.assertEqual([spelt_bytes(text).decode() for text in units["text"]], lines)
            without = reach.explain(ALIBI, prompt=lines[0] + lines[1], target=target, dtype="f64").target.logprob
            self.assertAlmostEqual(units["change"][2], without - whole, places=9)
            self.assertAlmostEqual(units["share"].sum(), 1, places=9)
            ranks = [np.argsort(np.argsort(values)) for values in (np.abs(units["change"]), units["share"])]
            self.assertAlmostEqual(part.rank_correlation, np.corrcoef(*ranks)[0, 1], places=12)
        self.assertEqual(found.rank_correlation, found.parts[0].rank_correlation)
        html = found._repr_html_()
        self.assertEqual((html.count("change of log p"), html.count("rank correlation (Spearman)")), (2, 2))
        plain = reach.explain(ALIBI, prompt=prompt)
        self.assertIsNone(plain.units)
        self.assertTrue(np.isnan(plain.rank_correlation))
        self.assertNotIn("change of log p", plain._repr_html_())


if __name__ == "__main__":
    unittest.main()
