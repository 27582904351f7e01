"""Checkpoints written from models of others give their log p and gradients."""

import unittest

import numpy as np
import reach_erf as reach
import torch

import mappings
from common import REACH, Case
from reach_erf.comparison import run_reach

LENGTH = 33


def tokens_of(model, segments=3):
    made = torch.Generator().manual_seed(7)
    return torch.randint(model.vocabulary, (segments, LENGTH), generator=made)


class Numbers(Case):
    def test_gradients_and_log_p_of_all_mappings(self):
        for make in mappings.ALL:
            with self.subTest(make.__name__):
                model, names, config = make()
                folder = reach.write_checkpoint(self.scratch / make.__name__, mappings.state_of(model), names, config)
                tokens = tokens_of(model)
                found = reach.check(folder, model.forward, tokens, program=REACH)
                self.assertLessEqual(found.difference, 1e-9)
                self.assertEqual(found.reach.shape, (3, LENGTH - 1))
                np.save(self.scratch / "tokens.npy", tokens)
                for dtype, most in (("f64", 1e-9), ("f32", 1e-5)):
                    out = self.scratch / f"{make.__name__}-{dtype}"
                    run_reach(["erf", str(folder), "--tokens", str(self.scratch / "tokens.npy"), "-o", str(out), "--dtype", dtype,
                               "--bootstrap", "0", "--quiet"], REACH)
                    self.compare(reach.open_result(out)[make.__name__], model, tokens, most)

    def compare(self, measured, model, tokens, most):
        norm, logp = map(np.array, zip(*(model.gradient(segment) for segment in tokens)))
        share = norm / norm.sum(axis=1, keepdims=True)
        c = share.mean(axis=0)[::-1].cumsum()[::-1]
        np.testing.assert_allclose(measured.logprob, logp, rtol=0, atol=most)
        np.testing.assert_allclose(measured.c, c, rtol=0, atol=most)
        np.testing.assert_allclose(measured.curve(), c, rtol=0, atol=most)
        np.testing.assert_allclose(measured.norm, norm, rtol=most * 100, atol=0)


class WrongMappings(Case):
    """A mapping whose shapes all fit and which is wrong is noticed by check."""

    def mismatch(self, make, change_names=None, change_config=None):
        model, names, config = make()
        names.update(change_names or {})
        config.update(change_config or {})
        folder = reach.write_checkpoint(self.scratch / "wrong", mappings.state_of(model), names, config, overwrite=True)
        with self.assertRaises(reach.Mismatch) as caught:
            reach.check(folder, model.forward, tokens_of(model), program=REACH)
        found = caught.exception.check
        self.assertGreater(found.difference, found.tolerance)
        gap = np.abs(found.reach - found.forward)
        self.assertEqual(gap[found.segment - 1, found.position - 2], found.difference)
        self.assertEqual(gap.max(), found.difference)
        return caught.exception

    def test_names(self):
        qkv = {name: mappings.fused(lambda part: mappings.split(mappings.QKV, part, of=3))[f"layers.{{n}}.attention.{name}"]
               for name in ("query", "key", "value")}
        at = "layers.{n}.attention."
        rows = (
            ("query and key exchanged", mappings.learned, {at + "query": qkv["key"], at + "key": qkv["query"]}, 3),
            ("query and value exchanged", mappings.learned, {at + "query": qkv["value"], at + "value": qkv["query"]}, 2),
            ("head-major rows taken for blocks", mappings.head_major, qkv and {at + name: qkv[name] for name in qkv}, 2),
            ("square matrix not transposed", mappings.conv, {at + "output": "h.{n}.o"}, 2),
            ("the two norms exchanged", mappings.learned,
             {"layers.{n}.attention_norm": "h.{n}.n2", "layers.{n}.mlp_norm": "h.{n}.n1"}, 2),
            ("gate and up exchanged", mappings.grouped, {"layers.{n}.mlp.gate": mappings.split("h.{n}.fc", 1, of=2),
                                                         "layers.{n}.mlp.up": mappings.split("h.{n}.fc", 0, of=2)}, 2),
        )
        for name, make, names, first in rows:
            with self.subTest(name):
                self.assertEqual(self.mismatch(make, names).check.first, first)

    def test_configuration(self):
        rows = (
            ("gelu for gelu_tanh", mappings.learned, {"activation": "gelu"}, 2),
            ("epsilon", mappings.grouped, {"norm_epsilon": 1e-5}, 2),
            ("no embedding scale", mappings.conv, {"embedding_scale": 1}, 2),
            ("attention scale", mappings.conv, {"attention_scale": 0.31}, 3),
            ("rotary base", mappings.grouped, {"position": {"kind": "rotary", "base": 10000}}, 3),
            ("rotary pairing", mappings.head_major, {"position": {"kind": "rotary", "fraction": 0.7}}, 3),
            ("no rotary", mappings.grouped, {"position": {"kind": "none"}}, 3),
            ("residual", mappings.head_major, {"residual": "sequential"}, 2),
            ("no cap", mappings.biased, {"soft_cap": 0}, 3),
            ("ALiBi of eight heads", mappings.biased, {"position_bias": "-2^-h*t"}, 3),
            ("window off by one", mappings.grouped, {"window": [0, 8]}, 9),
            ("window in the other layer", mappings.grouped, {"window": [7, 0]}, 9),
        )
        for name, make, config, first in rows:
            with self.subTest(name):
                self.assertEqual(self.mismatch(make, None, config).check.first, first)

    def test_message_says_where_to_look(self):
        self.assertIn("position 2, which sees a single token", str(self.mismatch(mappings.conv, None, {"embedding_scale": 1})))
        self.assertIn("compare query, key", str(self.mismatch(mappings.conv, None, {"attention_scale": 0.31})))


class Check(Case):
    def setUp(self):
        super().setUp()
        self.model, names, config = mappings.learned()
        self.folder = reach.write_checkpoint(self.scratch / "of width=24", self.model.state, names, config)
        self.tokens = tokens_of(self.model)

    def test_one_segment_and_arrays_of_numpy(self):
        whole = reach.check(self.folder, self.model.forward, self.tokens, program=REACH)
        one = reach.check(self.folder, self.model.forward, self.tokens[1], program=REACH)
        np.testing.assert_array_equal(one.reach[0], whole.reach[1])

        def forward(ids):
            self.assertIsInstance(ids, np.ndarray)
            return self.model.forward(torch.from_numpy(ids)).numpy()

        found = reach.check(self.folder, forward, self.tokens.numpy(), program=REACH)
        np.testing.assert_array_equal(found.forward, whole.forward)
        self.assertIn("3 x 32 targets", str(found))

    def test_tolerance_follows_the_type_of_the_logits(self):
        def forward(dtype):
            return lambda ids: self.model.forward(ids).to(dtype)

        for dtype, most in ((torch.float64, 1e-6), (torch.float32, 1e-4)):
            self.assertEqual(reach.check(self.folder, forward(dtype), self.tokens, program=REACH).tolerance, most)
        with self.refused("bfloat16", "expected float64, float32"):
            reach.check(self.folder, forward(torch.bfloat16), self.tokens, program=REACH)
        found = reach.check(self.folder, forward(torch.bfloat16), self.tokens, program=REACH, tolerance=0.2)
        self.assertGreater(found.difference, 1e-4)
        found = reach.check(self.folder, forward(torch.float64), self.tokens, program=REACH, dtype="f32")
        self.assertEqual(found.tolerance, 1e-4)

    def test_nan_is_a_mismatch(self):
        def forward(ids):
            logits = self.model.forward(ids).clone()
            logits[0, 4, 3] = float("nan")
            return logits

        with self.refused("inf", "position 6", error=reach.Mismatch):
            reach.check(self.folder, forward, self.tokens, program=REACH)

    def test_wrong_arguments(self):
        with self.refused("there is no such program", "PATH"):
            reach.check(self.folder, self.model.forward, self.tokens, program="no-such-reach")
        with self.refused("reach ppl:", "is not in the vocabulary"):  # the message of the program
            reach.check(self.folder, self.model.forward, self.tokens + 40, program=REACH)
        with self.refused("[1, 32, vocabulary]"):
            reach.check(self.folder, lambda ids: self.model.forward(ids)[:, 1:], self.tokens, program=REACH)
        with self.refused("forward returns the shape []"):
            reach.check(self.folder, lambda ids: (self.model.forward(ids),), self.tokens, program=REACH)
        for tokens in (self.tokens.double(), self.tokens[:, :1], self.tokens[None], self.tokens - 60):
            with self.refused("expected ids [segments, L]"):
                reach.check(self.folder, self.model.forward, tokens, program=REACH)


if __name__ == "__main__":
    unittest.main()
