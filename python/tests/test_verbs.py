"""The verbs as functions: numbers, arguments, models in memory, progress, Ctrl-C, errors, what notebooks show, what stays behind."""

import contextlib
import csv
import gc
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import warnings
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np
import reach_erf as reach
from reach_erf.arguments import option_arguments
from reach_erf.outcomes import cell, spelt_bytes

from common import MODELS, REACH, ROOT, TEXT, Case, torch

if torch:
    import mappings

ALIBI, WINDOW = MODELS / "alibi", MODELS / "window-24"
SHORT = {"length": 64, "segments": 6}


def program(*arguments, given=""):
    done = subprocess.run([REACH, *map(str, arguments)], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Verbs(Case):
    """Every test has a folder for temporary files of its own, which has to be empty at the end."""

    def setUp(self):
        super().setUp()
        self.temporary = self.scratch / "tmp"
        self.temporary.mkdir()
        change = mock.patch("tempfile.tempdir", str(self.temporary))
        change.start()
        self.addCleanup(self.nothing_stays)
        self.addCleanup(change.stop)

    def nothing_stays(self):
        gc.collect()
        self.assertEqual([name for name in os.listdir(self.temporary) if not name.startswith("torch")], [])


class Numbers(Verbs):
    def same(self, table, path):
        mine, its = table.columns, reach.read_table(path).columns
        self.assertEqual(list(mine), list(its))
        for name, column in mine.items():
            np.testing.assert_array_equal(column, its[name])

    def test_erf_is_that_of_the_command(self):
        out = self.scratch / "out"
        program("erf", ALIBI, WINDOW, "--text", TEXT, "--length", 64, "--segments", 6, "--threshold", 0.8, "--threshold", 0.3, "-o", out)
        mine = reach.erf(ALIBI, WINDOW, text=TEXT, threshold=[0.8, 0.3], **SHORT)
        its = reach.open_result(out)
        self.assertEqual((list(mine), mine.command), (["alibi", "window-24"], its.command))
        for name in mine:
            np.testing.assert_array_equal(mine[name].norm, its[name].norm)
            np.testing.assert_array_equal(mine[name].c, its[name].c)
            self.assertEqual(mine[name].erf(), its[name].erf())
        self.assertEqual(mine["alibi"].erf().threshold, 0.8)
        for name in ("summary.csv", "curve.csv"):
            self.assertEqual((mine.folder / name).read_bytes(), (out / name).read_bytes())
        self.assertIn("ERF(0.8)", mine.text)
        self.assertTrue(any("results are in" in line for line in mine.messages))

    def test_the_other_verbs_are_those_of_the_command(self):
        out = self.scratch / "out"
        for verb, arguments, mine in (
            ("ppl", [ALIBI, "--text", TEXT, "--context", "16,32", "--segments", 9, "--gain"],
             lambda: reach.ppl(ALIBI, text=[str(TEXT)], context=(16, 32), segments=9, gain=True)),
            ("trf", ["kerple_log", "mine=-2*ln(1+t)", "--set", "p=1.05,2", "--set", "a=1", "--heads", 2, "--epsilon", "0.1:0.3:0.1"],
             lambda: reach.trf("kerple_log", {"mine": "-2*ln(1+t)"}, set={"p": [1.05, 2], "a": 1}, heads=2, epsilon=(0.1, 0.3, 0.1))),
            ("fit", ["sandwich", "--range", "0:100", "--heads", 1], lambda: reach.fit("sandwich", range=(0, 100), heads=np.int64(1))),
            ("bias", ["-t/h", ALIBI, "--length", 5], lambda: reach.bias(["-t/h", ALIBI], length=5)),
            ("explain", [ALIBI, "--prompt", "def add(self, child):", "--against", "return"],
             lambda: reach.explain(ALIBI, prompt="def add(self, child):", against="return")),
        ):
            with self.subTest(verb):
                program(verb, *arguments, "-o", out / verb)
                found = mine()
                self.same(found.table, out / verb / f"{verb}.csv")
                self.assertEqual(found.command, reach.read_table(out / verb / f"{verb}.csv").notes["command"])
                self.assertEqual(found["head" if "head" in found else "model"].shape, (found.rows,))
                if verb == "ppl":
                    self.same(found.tables["gain"], out / verb / "gain.csv")
        info = reach.info(ALIBI, length=512)
        self.assertEqual(info.text.splitlines()[:-1], program("info", ALIBI, "--length", 512).splitlines()[:-1])  # the last has a time
        self.assertEqual((info["layers"], info["train length"], info.figure), ("4", "128", None))

    def test_results_as_arguments(self):
        result = reach.erf(ALIBI, text=TEXT, **SHORT)
        found = reach.explain(result, segment=2)
        share = result["alibi"].norm[1] / result["alibi"].norm[1].astype(float).sum()
        np.testing.assert_allclose(found.share, share, rtol=1e-6)
        self.assertEqual(reach.fit(result, of="ln-s", form="a - p*ln(1+t)", range=(1, 40))["coefficient"].tolist(), ["a", "p"])
        kept = result.save(self.scratch / "kept")
        self.assertEqual(reach.open_result(kept)["alibi"].erf(), result["alibi"].erf())
        with self.refused("kept: exists (expected a folder that is new or empty)"):
            result.save(kept)

    @unittest.skipUnless(torch, "torch is not there")
    def test_a_model_in_memory_is_that_of_autograd(self):
        """Norms of the gradient and log p of a module with a table of names, against float64 autograd of the same module."""
        theirs, names, config = mappings.grouped()

        class Module:
            def state_dict(self):
                return mappings.state_of(theirs)

        for tokens in (torch.randint(theirs.vocabulary, (3, 33)), torch.randint(theirs.vocabulary, (70,))):
            result = reach.erf(Module(), names=names, config=config, tokens=tokens, length=33, dtype="f64", bootstrap=0)
            model = result["Module"]
            for row, start in enumerate(model.start):
                norm, logp = theirs.gradient(tokens[row] if tokens.ndim == 2 else tokens[start:start + 33])
                np.testing.assert_allclose(model.norm[row], norm, rtol=1e-9)
                self.assertAlmostEqual(model.logprob[row], logp, delta=1e-9)
        with self.refused("is missing in the table of names"):
            reach.erf(Module(), names={}, config=config, tokens=[[1, 2, 3]])

    @unittest.skipUnless(torch and find_spec("transformers"), "transformers is not there")
    def test_a_transformers_model_is_that_of_autograd(self):
        import transformers

        torch.manual_seed(3)
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=1024, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=128, initializer_range=0.3)).double().eval()
        tokens = torch.randint(1024, (2, 20))
        with contextlib.redirect_stderr(io.StringIO()):
            result = reach.erf(model, tokens=tokens.tolist(), dtype="f64", bootstrap=0)
        found, = result.values()
        for row, ids in enumerate(tokens):
            rows = model.get_input_embeddings()(ids[None, :-1]).detach().requires_grad_()
            logp = model(inputs_embeds=rows).logits[0, -1].log_softmax(-1)[ids[-1]]
            logp.backward()
            np.testing.assert_allclose(found.norm[row], rows.grad[0].norm(dim=1), rtol=1e-6)
            self.assertAlmostEqual(found.logprob[row], logp.item(), delta=1e-6)
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(ALIBI / "tokenizer.json"))
        with contextlib.redirect_stderr(io.StringIO()):
            named = reach.erf({"a": model, "b": ALIBI}, [WINDOW, torch.nn.Sequential(model)[0]], text=TEXT, tokenizer=tokenizer, **SHORT)
            why = reach.explain(model, prompt="def add(", tokenizer=tokenizer)
        self.assertEqual(list(named), ["a", "b", "window-24", "llama"])
        np.testing.assert_array_equal(named["a"].norm, named["llama"].norm)
        np.testing.assert_array_equal(named["a"].tokens, named["b"].tokens)
        self.assertEqual("".join(why.pieces), "def add(")


    @unittest.skipUnless(torch and find_spec("transformers"), "transformers is not there")
    def test_a_model_in_memory_goes_by_its_name(self):
        """What is said of one, also of what it lacks, names the model and the arguments here, and no temporary file."""
        import transformers

        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=1024, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4))
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for call in (lambda: reach.erf(model, text=TEXT, **SHORT), lambda: reach.ppl(model, text=TEXT, context=16),
                         lambda: reach.explain(model, prompt="a"), lambda: reach.explain({"mine": model}, prompt="a"),
                         *([lambda: reach.explain(model, messages=[{"role": "user", "content": "a"}])] if find_spec("jinja2") else [])):
                with self.refused("expected tokenizer=", "tokens= with token ids") as refused:
                    call()
                self.assertRegex(refused.message, "(^|: )(llama|mine): has ")
                self.assertNotIn(str(self.temporary), refused.message)
            info = reach.info(model)
            model.config.new_key_of_nobody = 3
            reach.erf(model, tokens=[[1, 2, 3]])
        self.assertEqual(info["model"], "llama")
        self.assertIn("llama/config.json: not understood: new_key_of_nobody", [str(one.message) for one in caught])
        self.assertNotIn(str(self.temporary), info.text + "".join(info.messages) + "".join(str(one.message) for one in caught))


class Arguments(Verbs):
    def test_options(self):
        for options, expected in (
            ({"length": 5, "segments": None, "attention": False, "growth": True}, ["--length=5", "--growth"]),
            ({"threshold": [0.5, np.float32(0.25)], "context": (1, 2), "target_position": np.array([3, 4])},
             ["--threshold=0.5", "--threshold=0.25", "--context=1,2", "--target-position=3,4"]),
            ({"set": {"p": 1.05, "a": [0.5, 1]}, "range": (0, 9), "epsilon": (0.1, 0.5, 0.1)},
             ["--set=p=1.05", "--set=a=0.5,1", "--range=0:9", "--epsilon=0.1:0.5:0.1"]),
            ({"bias": "-t", "format": "png,svg", "memory": "2G", "window": 0, "learning": 1e-07, "adapter": Path("a b")},
             ["--bias=-t", "--format=png,svg", "--memory=2G", "--window=0", "--learning=1e-07", "--adapter=a b"]),
        ):
            self.assertEqual(option_arguments(options), expected)

    def test_refusals(self):
        for call, said in (
            (lambda: reach.erf(ALIBI, text=TEXT, lenght=5), "reach erf: lenght=5: unknown option (did you mean length=?)"),
            (lambda: reach.erf(ALIBI, text=TEXT, length="x"), 'reach erf: length=: "x" is not valid'),
            (lambda: reach.erf(ALIBI), "no text is given (expected text=FILE or tokens=FILE); see `reach erf --help`"),
            (lambda: reach.erf(ALIBI, text=TEXT, progress=5), "progress is int (expected True, False, None, or a function"),
            (lambda: reach.erf(self.scratch / "no model", text=TEXT), "no model: cannot be opened: No such file"),
            (lambda: reach.erf(ALIBI, text="no text"), "reach erf: no text: cannot be opened"),
            (lambda: reach.erf(ALIBI), "reach erf: "),
            (lambda: reach.erf(text=TEXT), "no MODEL is given"),
            (lambda: reach.erf(ALIBI, text=3), "text is int (expected a path, or a list of paths)"),
            (lambda: reach.erf(ALIBI, text=[1, 2]), "text is list (expected a path, or a list of paths)"),
            (lambda: reach.erf(ALIBI, tokens=[[1, 2], [3]]), "expected ids [tokens], or [segments, L]"),
            (lambda: reach.erf(ALIBI, tokens=[0.5, 2]), "tokens are float64 of the shape [2]"),
            (lambda: reach.erf(ALIBI, tokens=[]), "tokens are empty (expected ids [tokens], or [segments, L])"),
            (lambda: reach.erf(ALIBI, tokens=[True, False]), "tokens are bool"),
            (lambda: reach.erf(ALIBI, tokens=[[1, 2, 5000]]), "5000"),
            (lambda: reach.erf(ALIBI, text=TEXT, help=True), "help: is not an option here"),
            (lambda: reach.erf(ALIBI, text=TEXT, o="x"), "o: is not an option here (expected out)"),
            (lambda: reach.erf({"a$b": ALIBI}, text=TEXT), "'a$b': cannot be a name (expected one that begins with a letter or digit"),
            (lambda: reach.erf({"": ALIBI}, text=TEXT), "'': cannot be a name"),
            (lambda: reach.erf(object(), text=TEXT), "object is not a model"),
            (lambda: reach.erf(mock.Mock, text=TEXT), "Mock is a class (expected a model, such as"),
            (lambda: reach.erf(mock.Mock(spec=["peft_config", "save_pretrained"]), text=TEXT), "is a PEFT model"),
            (lambda: reach.erf(contextlib.nullcontext(), text=TEXT), "nullcontext is not a model"),
            (lambda: reach.trf("-t\0"), "an argument has a null character"),
            (lambda: reach.trf("-t\ud800"), "an argument is not Unicode text"),
            (lambda: reach.trf("-t", set={"p": "x" * 300_000}), "cannot be started: Argument list too long"),
            (lambda: reach.trf("-t", program="no-such-reach"), "no-such-reach: there is no such program"),
            *[(lambda name=name, value=value: reach.explain(ALIBI, **{"prompt": "a", name: value}),
               f"{name} is {type(value).__name__} (expected a string")
              for name in ("prompt", "answer", "target", "against") for value in (["a", "b"], b"a", 3.5, True)],
            (lambda: reach.explain(ALIBI, prompt=3), "prompt is int (expected a string)"),
            (lambda: reach.explain(ALIBI, prompt="a", answer=3), "answer is int (expected a string)"),
            (lambda: reach.explain(ALIBI, text=b"a"), "text is bytes (expected a path, or a list of paths)"),
            (lambda: reach.explain(ALIBI, prompt="a", leave_out=True), 'leave_out is True (expected "word", "sentence" or "line")'),
            (lambda: reach.explain(ALIBI, prompts=["a", "b"]), 'prompts is list (expected a path, or a list of dicts, each {"prompt": "..."}'),
            (lambda: reach.explain(ALIBI, prompts=[]), 'prompts are empty (expected at least one {"prompt": "..."})'),
            (lambda: reach.explain(ALIBI, prompt="a", target=["a", "b"]), 'for several prompts=[{"prompt": "...", "target": "..."}, ...])'),
            (lambda: reach.explain(ALIBI, messages="hello"), "messages are not a list of dicts (expected [{"),
            (lambda: reach.explain(ALIBI, messages=[]), "messages are empty (expected [{"),
            (lambda: reach.explain(ALIBI, messages=[{"content": "hello"}]), "messages: number 1 has no role (expected [{"),
            (lambda: reach.explain(ALIBI, prompts=[{"prompt": b"a"}]), "prompts: Object of type bytes is not JSON serializable"),
            (lambda: reach.explain(ALIBI, prompts=[{"answer": "b"}]), "reach explain: prompts: line 1"),
            (lambda: reach.explain(ALIBI), "nothing to explain is given"),
            (lambda: reach.info(self.scratch), "reach info: "),
        ):
            with self.subTest(said):
                with self.refused(said) as refused:
                    call()
                self.assertEqual(len(refused.message.splitlines()), 1)

    def test_a_model_is_named_that_is_not_there(self):
        found = reach.erf(ALIBI, WINDOW, text=TEXT, **SHORT)
        with self.assertRaisesRegex(KeyError, r"nosuch \(expected one of alibi, window-24\)"):
            found["nosuch"]

    def test_options_are_read_before_a_model_is_written(self):
        model = mock.Mock(spec=["save_pretrained"])
        for call, said in (
            (lambda: reach.erf(model, text=TEXT, lenght=5), "lenght=5: unknown option"),
            (lambda: reach.erf({"m": model}, text=TEXT, threshold=2), 'threshold=: "2" is not valid'),
            (lambda: reach.trf({"m": model}, epsilon=2), "epsilon"),
            (lambda: reach.explain(model, prompt="a", by="letter"), 'by=: "letter" is not valid'),
            (lambda: reach.explain(model, messages=[{"role": "user", "content": "a"}], by="letter"), 'by=: "letter" is not valid'),
            (lambda: reach.info(model, lenght=5), "lenght=5: unknown option"),
        ):
            with self.subTest(said), self.refused(said):
                call()
        model.save_pretrained.assert_not_called()
        with self.refused("Mock: "):  # a folder without anything in it
            reach.erf(mock.Mock(spec=["save_pretrained"], **{"save_pretrained.side_effect": os.mkdir}), text=TEXT)

    @unittest.skipUnless(torch and find_spec("transformers"), "torch or transformers is not there")
    def test_bars_of_others_are_not_shown(self):
        import transformers

        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=256, n_positions=64, n_embd=16, n_layer=1, n_head=2))
        self.assertTrue(transformers.utils.logging.is_progress_bar_enabled())
        for progress, bars in ((False, False), (None, False), (lambda done, total: None, False), (True, True)):
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                reach.erf(model, text=TEXT, length=32, segments=2, progress=progress)
            self.assertEqual("Writing" in said.getvalue(), bars, said.getvalue())
        self.assertTrue(transformers.utils.logging.is_progress_bar_enabled())

    def test_paths_of_all_kinds(self):
        folder = self.scratch / "a b=c ü <x>"
        folder.mkdir()
        shutil.copy(TEXT, folder / "te xt.gz")
        for name in ("mo del", "x=y", "-o"):
            (folder / name).symlink_to(ALIBI)
        before = os.getcwd()
        os.chdir(folder)
        self.addCleanup(os.chdir, before)
        result = reach.erf("mo del", Path("x=y"), "x=y", folder / "mo del", "-o", text="te xt.gz", out="o ut", **SHORT)
        self.assertEqual(result.folder, folder / "o ut")
        self.assertEqual(len({model.c.tobytes() for model in result.values()}), 1)
        self.assertEqual(len(result), 5)
        ids = np.arange(40)
        np.save("tok ens.npy", ids)
        for tokens in ("tok ens.npy", Path("tok ens.npy"), ids, ids.tolist(), torch.tensor(ids) if torch else ids, ids.astype(np.uint8)):
            found = reach.erf("mo del", tokens=tokens, length=20, bootstrap=0)
            self.assertEqual(found["mo del"].tokens.ravel().tolist(), list(range(40)))

    def test_prompts_of_all_kinds(self):
        for prompt in ("-", "-t", "--", "a\nb\n", "\n\n", "$x `y` \"z\" 'w'", "naïve 🙂", "<script>", "x = 1\n" * 2500, "x\r\n" * 4000):
            with self.subTest(prompt[:20]):
                found = reach.explain(ALIBI, prompt=prompt)
                self.assertEqual("".join(found.pieces), prompt)
                self.assertAlmostEqual(found.share.sum(), 1, delta=1e-9)

    def test_prompts_as_dicts(self):
        prompts = [{"id": "one", "prompt": "import os\n"}, {"prompt": "naïve 🙂\u2028x", "target": 264}]
        for given in (prompts, tuple(prompts)):
            found = reach.explain(ALIBI, prompts=given)
            self.assertEqual(["".join(part.pieces) for part in found.parts], [one["prompt"] for one in prompts])
            self.assertEqual([part["prompt"][0] for part in found.parts], ["one", "2"])
            self.assertEqual(found.parts[1].target.id, 264)
        for part, prompt in zip(found.parts, prompts):
            alone = reach.explain(ALIBI, **{name: value for name, value in prompt.items() if name != "id"})
            np.testing.assert_allclose(part.share, alone.share, rtol=1e-5)

    def test_pieces(self):
        for spelt, text in (("a", b"a"), (r"\n\t\r\\n", b"\n\t\r\\n"), (r"\x1B", b"\x1b"), (r"\u202E", "\u202e".encode()), (r"\xE2", b"\xe2"),
                            ("ü", "ü".encode()), ("", b""), (r"\\x41", rb"\x41"), (r"\U000E0001", "\U000e0001".encode()), ('\\"', b'"')):
            self.assertEqual(spelt_bytes(spelt), text)

    def test_environment_names_the_program(self):
        self.assertEqual(reach.find_program(), REACH)
        with mock.patch.dict(os.environ, REACH="/no/reach"), self.refused("/no/reach: there is no such program"):
            reach.find_program()
        bin_ = self.scratch / "bin"
        bin_.mkdir()
        (bin_ / "reach").symlink_to(REACH)
        with mock.patch.dict(os.environ, REACH="", PATH=str(bin_)):
            mine = Path(reach.__file__).with_name("bin") / "reach"
            self.assertEqual(reach.find_program(), str(mine if mine.exists() else bin_ / "reach"))
        self.assertEqual(reach.find_program(bin_ / "reach"), str(bin_ / "reach"))


class Runs(Verbs):
    def test_progress(self):
        seen = []
        result = reach.erf(ALIBI, text=TEXT, length=64, segments=200, progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[-1], (200, 200))
        self.assertEqual(seen, sorted(seen))
        self.assertEqual(len(result["alibi"].norm), 200)
        for blocked, expected in (({"tqdm": None, "tqdm.auto": None}, "alibi: 200/200 segments"), ({}, "200/200")):
            if not blocked and not find_spec("tqdm"):
                continue
            said = io.StringIO()
            with mock.patch.dict(sys.modules, blocked), contextlib.redirect_stderr(said):
                reach.erf(ALIBI, text=TEXT, length=64, segments=200, progress=True)
                reach.ppl(ALIBI, text=TEXT, context=16, segments=20, progress=False)
            self.assertIn(expected, said.getvalue())
            self.assertNotIn("\x1b[K", said.getvalue())
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            reach.erf(ALIBI, text=TEXT, **SHORT)  # not a terminal
        self.assertEqual(said.getvalue(), "")

    def test_progress_is_no_warning(self):
        """Bars of segments, of a single unit and of trf, cut anywhere; the lines in their place where there is no terminal."""
        fake = self.scratch / "reach"
        bars = r"\r[===      ] 11 %%  0:04 left  tinyllama\033[K\r\033[K\r[= ] 3/69  2.1 segments/s  0:31 left  a\033[K\rreach trf: head 3\033[K\r\033[K"
        lines = r"reach trf: 12 of 69 segments, 14 min left\nreach trf: 11 %%, 4 s left\nreach trf: 1 of 2 heads\n"
        for terminal, said in ((True, bars), (False, lines)):
            seen = []
            fake.write_text(f"#!/bin/sh\nprintf '{said}' >&2\nexec {REACH} \"$@\"\n")
            fake.chmod(0o755)
            for progress in (False, lambda *done: seen.append(done)):
                with self.subTest(said), contextlib.ExitStack() as stack:
                    stack.enter_context(warnings.catch_warnings())
                    warnings.simplefilter("error")
                    if not terminal:
                        stack.enter_context(mock.patch("pty.openpty", side_effect=OSError))
                    found = reach.trf("-t", heads=1, program=fake, progress=progress)
                    self.assertNotIn("\033", "".join(found.messages))
            self.assertEqual(seen, [(11, 100), (3, 69)] if terminal else [])

    def test_ctrl_c_keeps_what_there_is(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in the background
        self.addCleanup(signal.signal, signal.SIGINT, before)
        out, whole, many = self.scratch / "out", self.scratch / "whole", {"length": 64, "segments": 400, "bootstrap": 0}

        def interrupt(times):
            def progress(done, total):
                if done < total and left:
                    left.pop()
                    os.kill(os.getpid(), signal.SIGINT)

            left = [0] * times
            return progress

        with self.assertRaises(KeyboardInterrupt) as caught:
            reach.erf(ALIBI, text=TEXT, out=out, progress=interrupt(1), **many)
        self.assertIn("segments are kept (continue with resume=True)", str(caught.exception))
        self.assertTrue((out / "erf.part").stat().st_size)
        with self.refused("erf.part", "resume=True"):
            reach.erf(ALIBI, text=TEXT, out=out, **many)
        found = reach.erf(ALIBI, text=TEXT, out=out, resume=True, **many)
        self.assertIn("resuming", "".join(found.messages))
        program("erf", ALIBI, "--text", TEXT, "--length", 64, "--segments", 400, "--bootstrap", 0, "-o", whole)
        self.assertEqual((out / "curve.csv").read_bytes(), (whole / "curve.csv").read_bytes())
        with self.assertRaises(KeyboardInterrupt):
            reach.erf(ALIBI, text=TEXT, progress=interrupt(2), **many)

    def test_an_error_of_the_caller_ends_the_program(self):
        def fail(done, total):
            raise RuntimeError("mine")

        with self.assertRaisesRegex(RuntimeError, "mine"):
            reach.erf(ALIBI, text=TEXT, length=64, segments=1500, progress=fail)

    def test_the_program_ends_with_python(self):
        """Python killed, as by the restart of a kernel: the program stops too, and keeps what it has."""
        out = self.scratch / "out"
        code = f"""
import os, signal, reach_erf
reach_erf.erf({str(ALIBI)!r}, text={str(TEXT)!r}, length=512, segments=1300, out={str(out)!r},
              progress=lambda done, total: os.kill(os.getpid(), signal.SIGKILL))"""
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TMPDIR": str(self.temporary)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        until = time.monotonic() + 20
        while time.monotonic() < until and self.running(out):
            time.sleep(0.05)
        self.assertFalse(self.running(out))
        self.assertFalse((out / "erf.h5").exists())

    @staticmethod
    def running(out):
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if os.fsencode(f"-o\0{out}\0") in path.read_bytes():
                    return True
        return False

    def test_nothing_stays_at_the_end(self):
        code = f"""
import reach_erf, sys
a = reach_erf.erf({str(ALIBI)!r}, text={str(TEXT)!r}, length=24, segments=2)
print(a.folder.is_dir(), reach_erf.trf('-t', heads=1).folder.exists())
try:
    reach_erf.erf({str(ALIBI)!r}, tokens=[[1, 99999]])
except reach_erf.ReachError:
    pass
"""
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TMPDIR": str(self.temporary)}
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.stderr), ("True False\n", ""))

    def test_warnings(self):
        text = self.scratch / "text"
        text.write_bytes(b"coffee " * 100 + b"caf\xe9 ")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = reach.erf(ALIBI, text=text, length=24)
        self.assertEqual([(one.category, Path(one.filename).name) for one in caught], [(reach.ReachWarning, "test_verbs.py")])
        self.assertIn("are not UTF-8", str(caught[0].message))
        self.assertNotIn("UTF-8", "".join(result.messages))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reach.erf(ALIBI, text=TEXT, verify=True, bos="never", check_precision=1, **SHORT)
            reach.explain(ALIBI, prompt="a", against="b")
            reach.ppl(ALIBI, text=TEXT, context=16, segments=5)

    def test_killed(self):
        fake = self.scratch / "reach"
        for last, said in (("kill -9 $$", "reach trf: ended by SIGKILL (the system does that if memory runs out)"),
                           ("exit 7", "reach trf: ended with status 7"), ("echo 'reach trf: one'; echo 'reach trf: two'; exit 1", "reach trf: two")):
            fake.write_text(f"#!/bin/sh\nexec >&2\n{last}\n")
            fake.chmod(0o755)
            with self.refused(said) as refused:
                reach.trf("-t", program=fake)
            self.assertEqual(refused.message, said)


class Fields(Verbs):
    def test_are_numbers_of_any_size(self):
        """Exact, also where int() of a text refuses; NaN where there is none, so that they compare."""
        found = reach.trf("alibi", "-ln(1+t)", "kerple_log", set={"p": [1.05, 1.0004], "a": 1}, heads=2)
        with open(found.folder / "trf.csv", encoding="utf-8", newline="") as file:
            digits = [row["trf_hi"] for row in csv.DictReader(line for line in file if not line.startswith("#"))]
        fields = found["trf_hi"]
        self.assertEqual([type(one) for one in fields], [int if text else float for text in digits])
        self.assertEqual([str(Decimal(one)) if text else "" for one, text in zip(fields, digits)], digits)
        self.assertEqual([fields[0], len(digits[4]), len(digits[5]) > 4300], [74, 40, True])
        with np.errstate(invalid="ignore"):
            self.assertEqual((fields > 100).tolist(), [False, True, True, False, True, True, True])
            if find_spec("pandas"):
                self.assertEqual((found.to_frame()["trf_hi"] > 100).tolist(), (fields > 100).tolist())
        self.assertEqual(cell(fields[5]), "5.61e4999")


class Shown(Verbs):
    def results(self):
        return [
            reach.erf(ALIBI, WINDOW, text=TEXT, **SHORT), reach.ppl(ALIBI, text=TEXT, context=[16, 32], segments=5),
            reach.trf("alibi", heads=2, epsilon=[0.1, 0.01]), reach.fit("sandwich", range=(0, 50), heads=1), reach.bias("alibi", length=9),
            reach.explain(ALIBI, prompt="def add(self")]

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not there")
    def test_figures_by_gnuplot(self):
        spaces = reach.explain(ALIBI, prompt="a  b   c")._repr_html_()
        self.assertEqual(spaces.count("<td "), spaces.count(";white-space:pre\">"))
        for result in self.results()[:-1]:
            html = result._repr_html_()
            self.assertIn("<table", html)
            self.assertEqual(html.startswith("<p><strong>How far back do alibi and window-24 look?</strong></p><div"),
                             isinstance(result, reach.Result))
            self.assertIn('src="data:image/svg+xml;base64,', html)
            self.assertIn("GNUPLOT", result.figure)
            self.assertEqual(result.figure._repr_svg_(), str(result.figure))
        png = reach.erf(ALIBI, text=TEXT, format="png", attention=True, **SHORT)
        self.assertEqual(sorted(png.figures), ["attention", "erf"])
        self.assertIn("GNUPLOT", png.figure)
        self.assertEqual(sorted(path.suffix for path in png.folder.glob("erf.*")), [".gp", ".h5", ".png"])
        old = reach.open_result(png.save(self.scratch / "saved"))
        self.assertIn("GNUPLOT", old.figure)
        self.assertIn("alibi", old._repr_html_())

    @unittest.skipUnless(find_spec("matplotlib"), "matplotlib is not there")
    def test_figures_by_matplotlib(self):
        from matplotlib.figure import Figure

        bin_ = self.scratch / "bin"  # has no gnuplot
        bin_.mkdir()
        with mock.patch.dict(os.environ, PATH=str(bin_)), warnings.catch_warnings():
            warnings.simplefilter("error")  # such as a legend without a line
            warnings.simplefilter("ignore", DeprecationWarning)  # of old matplotlib with new pyparsing
            results = self.results()
            for result in results:
                self.assertIn("matplotlib", result.figure)
                axes = Figure().add_subplot()
                self.assertIs(result.plot(ax=axes), axes)
                self.assertTrue(axes.has_data())
            axes = results[1].plot(Figure().add_subplot())
            self.assertEqual([one.get_text() for one in axes.get_xticklabels()], ["16", "32"])
            bars = axes.containers[0].lines[2][0].get_segments()  # as in the program's figure
            for row, bar in enumerate(bars):
                nll, error = results[1]["nll"][row], 1.96 * results[1]["std_error"][row]
                np.testing.assert_allclose(bar[:, 1], np.exp([nll - error, nll + error]), rtol=1e-9)
            title = results[5].plot(Figure().add_subplot()).get_title()
            self.assertRegex(title, r"^alibi: what '.*' depended on\nshare of the summed gradient norm, by token$")
            line, = results[0].plot(Figure().add_subplot()).lines[:1]
            np.testing.assert_array_equal(line.get_ydata(), results[0]["alibi"].c)
            for name in ("$a$", "$\\frac{"):
                (self.scratch / name).symlink_to(ALIBI)
            dollars = reach.erf(self.scratch / "$a$", self.scratch / "$\\frac{", text=TEXT, **SHORT)
            self.assertIn("matplotlib", dollars.figure)

    def test_neither(self):
        bin_ = self.scratch / "bin"
        bin_.mkdir()
        with mock.patch.dict(os.environ, PATH=str(bin_)), mock.patch.dict(sys.modules, {"matplotlib": None, "matplotlib.figure": None}):
            for result in self.results()[:-1]:
                self.assertIsNone(result.figure)
                self.assertIn("No figure: there is neither gnuplot nor matplotlib", result._repr_html_())
            with mock.patch.dict(sys.modules, {"matplotlib.pyplot": None}), self.refused("plot needs matplotlib"):
                result.plot()

    def test_saved_results_of_every_kind(self):
        """A folder, and each of its files, opens as what the run returned, and displays the same."""
        for result in self.results():
            kept = result.save(self.scratch / type(result).__name__)
            for path in [kept, *(file for file in kept.iterdir() if file.suffix in (".csv", ".h5"))]:
                with self.subTest(path.name):
                    old = reach.open_result(path)
                    self.assertIs(type(old), type(result))
                    self.assertEqual((old.command, list(old), old.folder), (result.command, list(result), kept))
                    self.assertEqual(old._repr_html_(), result._repr_html_())
        for name in ("ppl.csv", "ppl.gp"):
            shutil.copy(self.scratch / "Perplexity" / name, self.scratch / "Theory")
        with self.refused("holds results of several kinds, ppl.csv, trf.csv (expected one of these files)"):
            reach.open_result(self.scratch / "Theory")
        self.assertIsInstance(reach.open_result(self.scratch / "Theory/ppl.csv"), reach.Perplexity)
        with self.refused("Bias/fit.csv: there is no such file"):
            reach.open_result(self.scratch / "Bias/fit.csv")

    def test_an_unknown_training_length(self):
        model = self.scratch / "model"
        shutil.copytree(ALIBI, model)
        config = json.loads((model / "config.json").read_text())
        config.pop("train_length")
        (model / "config.json").write_text(json.dumps(config))
        for path, said in ((ALIBI, "128"), (model, "-")):
            html = reach.erf(path, text=TEXT, **SHORT)._table()
            self.assertEqual(re.findall(r"<td[^>]*>([^<]*)</td></tr>", html), [said])

    def test_html_is_escaped(self):
        evil = self.scratch / "<b onload='x'>&\"$"
        evil.symlink_to(ALIBI)
        prompt = "</pre><script>alert('1')</script>&lt;\"'"
        for html in (reach.erf(evil, text=TEXT, **SHORT)._repr_html_(), reach.explain(evil, prompt=prompt)._repr_html_(),
                     reach.info(evil)._repr_html_(), reach.ppl(evil, text=TEXT, context=16, segments=3)._repr_html_()):
            for wrong in ("<script", "<b ", "</pre><", "onload='"):
                self.assertNotIn(wrong, html.replace("</pre><p>", ""))
        self.assertIn("&lt;", html)
        html = reach.explain(ALIBI, prompt=prompt)._repr_html_()
        self.assertIn("&lt;</span>", html)
        self.assertEqual(html.count("<pre"), html.count("</pre"))

    @unittest.skipUnless(find_spec("pandas"), "pandas is not there")
    def test_frames(self):
        for result in self.results():
            frame = result.to_frame()
            self.assertGreater(len(frame), 0)
            self.assertEqual(list(frame)[0], list(result)[0] if not isinstance(result, reach.Result) else "model")
        self.assertEqual(reach.info(ALIBI).to_frame()["name"].tolist()[0], "model")


if __name__ == "__main__":
    unittest.main()
