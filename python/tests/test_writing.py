"""What write_checkpoint writes, and what it refuses."""

import json
import os
import unittest
from unittest import mock

import numpy as np
import reach_erf as reach
import torch

import mappings
from common import REACH, Case
from reach_erf import checkpoint
from reach_erf.comparison import run_reach


def read_back(folder):
    """The tensors as the safetensors package reads them."""
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


class Writing(Case):
    def setUp(self):
        super().setUp()
        self.model, self.names, self.config = mappings.learned()
        self.state = dict(self.model.state)
        self.folder = self.scratch / "model"

    def write(self, **others):
        return reach.write_checkpoint(self.folder, self.state, self.names, self.config, **others)

    def refuse(self, *parts, **others):
        """The call is refused with all of `parts` in its message, and nothing is written."""
        with self.refused(*parts) as caught:
            self.write(**others)
        self.assertFalse(self.folder.exists())
        return caught.message

    def test_types_are_kept(self):
        tokens = torch.arange(30)[None] % 50
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            with self.subTest(dtype):
                self.state = {name: value.to(dtype) for name, value in self.model.state.items()}
                folder = self.write(overwrite=True)
                back = read_back(folder)
                self.assertEqual({value.dtype for value in back.values()}, {dtype})
                self.assertTrue(torch.equal(back["embedding.weight"], self.state["tok.weight"]))
                self.assertTrue(torch.equal(back["layers.1.attention.key.weight"], self.state["h.1.qkv.weight"][24:48]))
                kept, self.model.state = self.model.state, self.state
                reach.check(folder, self.model.forward, tokens, program=REACH)  # the model with these rounded weights
                self.model.state = kept

    def test_types_may_be_mixed_and_tensors_of_any_kind(self):
        state = self.state
        state["nf.weight"] = state["nf.weight"].float()
        state["tok.weight"] = state["tok.weight"].half()
        state["h.0.o.weight"] = torch.nn.Parameter(state["h.0.o.weight"].T.contiguous().T)  # not contiguous, and a parameter
        state["h.0.o.bias"] = state["h.0.o.bias"].numpy().astype(">f8")  # an array, of another byte order
        folder = self.write()
        back = read_back(folder)
        self.assertEqual([str(back[name].dtype)[6:] for name in ("final_norm.weight", "embedding.weight", "final_norm.bias")],
                         ["float32", "float16", "float64"])
        self.assertTrue(torch.equal(back["layers.0.attention.output.weight"], self.model.state["h.0.o.weight"]))
        self.model.state = {**state, "h.0.o.bias": self.model.state["h.0.o.bias"]}
        reach.check(folder, lambda ids: self.model.forward(ids).detach(), torch.arange(30)[None], program=REACH)

    def test_numpy_alone(self):
        arrays = {name: value.float().numpy() for name, value in self.state.items()}
        folder = reach.write_checkpoint(self.folder, arrays, self.names, self.config)
        self.assertEqual(read_back(folder)["head.weight" if "head.weight" in arrays else "embedding.weight"].dtype, torch.float32)

    def test_parameters_say_what_is_needed(self):
        shapes = reach.parameters(self.config)
        self.assertEqual({name: tuple(value.shape) for name, value in read_back(self.write()).items()}, shapes)
        for make in mappings.ALL:
            model, names, config = make()
            folder = reach.write_checkpoint(self.scratch / make.__name__, mappings.state_of(model), names, config)
            self.assertEqual({name: tuple(value.shape) for name, value in read_back(folder).items()}, reach.parameters(config))

    def test_missing(self):
        del self.names["layers.{n}.mlp.up"]
        self.refuse("layers.0.mlp.up.weight: is missing in the table", "[40, 24]", "layers.1.mlp.up.bias: is missing",
                    "h.0.fc.weight: is a parameter of the model that is not used")

    def test_missing_in_the_model(self):
        self.names["final_norm"] = "norm_f"
        del self.state["h.1.proj.bias"]
        message = self.refuse("final_norm.weight: the model has no parameter norm_f.weight",
                              "layers.1.mlp.down.bias: the model has no parameter h.1.proj.bias (did you mean h.0.proj.bias?)")
        self.assertEqual(len(message.splitlines()), 6)  # and the two of nf, which are not used

    def test_wrong_shapes(self):
        self.state["h.0.fc.weight"] = self.state["h.0.fc.weight"].T
        self.state["nf.bias"] = self.state["nf.bias"][:-1]
        self.refuse("layers.0.mlp.up.weight: h.0.fc.weight has the shape [24, 40] "
                    "(expected [40, 24]; transpose() exchanges the axes)",
                    "final_norm.bias: nf.bias has the shape [23] (expected [24])")

    def test_functions_that_fail(self):
        for source, said in ((reach.split("h.0.qkv.weight", 3, of=3), "part 3 of 3 of 72 rows"),
                             (reach.split("h.0.qkv.weight", 0, of=5), "part 0 of 5 of 72 rows"),
                             (reach.rows("h.0.qkv.weight", 60, 84), "no rows 60 to 84 of 72"),
                             (reach.split_heads("h.0.qkv.weight", 0, of=3, heads=5), "each of 5 heads of 72 rows"),
                             (reach.concat("h.0.qkv.weight", reach.zeros()), "cannot be put into other sources"),
                             (reach.apply(lambda a: a.no_such, "h.0.qkv.weight"), "no_such"),
                             (reach.apply(lambda a: None, "h.0.qkv.weight"), "has the shape []")):
            with self.subTest(said):
                self.names["layers.0.attention.output.weight"] = source
                del self.names["layers.0.attention.output.weight"]
                self.names["final_norm.weight"] = source
                self.names.pop("final_norm", None)
                self.names["final_norm.bias"] = "nf.bias"
                self.refuse("final_norm.weight: ", said)

    def test_extra(self):
        self.state["h.0.mask"] = torch.ones(8, 8)
        self.state["h.1.mask"] = torch.ones(8, 8)
        self.state["steps"] = 7
        self.refuse("h.0.mask: is a parameter of the model that is not used", "h.1.mask", "steps")
        self.refuse("steps: is a parameter", ignore=["*.mask"])
        self.write(ignore=["*.mask", "steps"])

    def test_unknown_and_twice(self):
        self.names["layers.{n}.attention.query_norm"] = "h.{n}.n1"
        self.names["final_norm.bias"] = "nf.bias"
        self.refuse("layers.0.attention.query_norm: a checkpoint of this configuration has no such parameter",
                    "final_norm.bias: is in the table of names twice")

    def test_layers_that_are_left_over(self):
        self.config["layers"] = 1
        self.refuse("h.1.n1.weight: is a parameter of the model that is not used")

    def test_not_finite(self):
        for value in (float("nan"), float("inf")):
            for state in (self.model.state, {name: one.numpy() for name, one in self.model.state.items()}):
                self.state = {name: one * 1 for name, one in state.items()}
                self.state["h.1.fc.weight"][3, 5] = value
                self.refuse("layers.1.mlp.up.weight: h.1.fc.weight has a value that is not finite at [3, 5]")

    def test_other_types(self):
        self.state["nf.weight"] = (self.state["nf.weight"] * 9).to(torch.int8)
        self.refuse("nf.weight has the type int8 (expected float64, float32, float16, bfloat16)")

    def test_tied(self):
        self.state["lm_head.weight"] = self.state["tok.weight"]
        self.assertNotIn("head.weight", read_back(self.write()))
        self.state["lm_head.weight"] = self.state["tok.weight"] * 1  # its own memory, as after loading
        self.write(overwrite=True)
        self.names["head"] = "lm_head"
        self.assertNotIn("head.weight", read_back(self.write(overwrite=True)))
        self.config["tied_head"] = False
        self.assertIn("head.weight", read_back(self.write(overwrite=True)))

    def test_not_tied_after_all(self):
        self.state["lm_head.weight"] = self.state["tok.weight"] * 2
        self.refuse("lm_head.weight: is a parameter of the model that is not used")
        self.names["head"] = "lm_head"
        self.refuse("head.weight: differs from embedding.weight (expected the same values, or tied_head False)")

    def test_constants(self):
        for name in [name for name in self.state if name.endswith("o.bias")]:
            self.state[name] = torch.zeros(24, dtype=torch.float64)
        del self.names["layers.{n}.attention.output"]
        given = dict(self.state)
        for name in ("h.0.o.bias", "h.1.o.bias"):
            del given[name]
        self.names.update({"layers.{n}.attention.output.weight": "h.{n}.o.weight",
                           "layers.{n}.attention.output.bias": reach.zeros()})
        folder = reach.write_checkpoint(self.folder, given, self.names, self.config)
        self.model.state = self.state
        self.assertLessEqual(reach.check(folder, self.model.forward, torch.arange(30)[None], program=REACH).difference, 1e-9)

    def test_many_problems_are_counted(self):
        self.names = {}
        self.assertEqual((len(reach.parameters(self.config)), len(self.state)), (36, 28))
        message = self.refuse("and 44 more")
        self.assertEqual(len(message.splitlines()), 22)

    def test_configuration(self):
        rows = (
            ({"activation": "mish"}, "activation 'mish' cannot be expressed (expected gelu, gelu_tanh, quick_gelu, relu, silu)"),
            ({"residual": "post"}, "residual 'post' cannot be expressed (expected sequential, parallel)"),
            ({"norm": "scalenorm"}, "norm 'scalenorm'"),
            ({"query_norm": True}, "query_norm is no key of the layout (expected format, vocabulary"),
            ({"layers": 0}, "layers 0 cannot be expressed (expected a whole number from 1"),
            ({"layers": 2.0}, "layers 2.0"), ({"layers": True}, "layers True"), ({"layers": "2"}, "layers '2'"),
            ({"norm_epsilon": float("nan")}, "norm_epsilon nan"), ({"soft_cap": -1}, "soft_cap -1"), ({"gated": 1}, "gated 1"),
            ({"heads": 5}, "hidden 24 over heads 5"), ({"kv_heads": 3}, "heads 4 is not a multiple of kv_heads 3"),
            ({"biases": {"mlp": 1}}, "biases {'mlp': 1}"),
            ({"biases": {"key": True}}, "expected True, False, or either for any of norm"),
            ({"biases": None}, "biases None"),
            ({"window": [8]}, "window [8] cannot be expressed"), ({"window": -8}, "window -8"), ({"window": [8, 0.5]}, "window"),
            ({"bos": 50}, "bos 50 is outside the vocabulary of 50"), ({"format": "reach-checkpoint/2"}, "format"),
            ({"position": "rotary"}, "an object whose kind is none, sinusoidal, learned, rotary"),
            ({"position": {"kind": "relative"}}, "position {'kind': 'relative'}"), ({"position": {"kind": ["none"]}}, "position"),
            ({"position": {"kind": "learned"}}, "position (learned): length is missing"),
            ({"position": {"kind": "learned", "length": 40, "offset": 2}}, "position (learned): offset is no key of the layout"),
            ({"position": {"kind": "rotary", "fraction": 2}}, "position (rotary): fraction 2"),
            ({"position": {"kind": "rotary", "scaling": "yarn"}}, "position (rotary): scaling is no key"),
            ({"position_bias": 3}, "a formula as text"), ({"position_bias": {"set": {}}}, "a formula as text"),
            ({"position_bias": {"formula": "-k*t", "set": {"k": [1, 2]}}}, "a list with one for each head"),
            ({"position_bias": {"formula": "-k*t", "set": {"k": float("inf")}}}, "a list with one for each head"),
            ({"key_bias": {"formula": "-t", "sets": {}}}, "key_bias"),
        )
        for change, said in rows:
            with self.subTest(said):
                kept = dict(self.config)
                self.config.update(change)
                self.refuse("the configuration cannot be written:", said)
                self.config = kept
        for key in ("vocabulary", "hidden", "layers", "heads", "mlp"):
            kept = self.config.pop(key)
            self.refuse(f"{key} is missing")
            self.config[key] = kept

    def test_configuration_of_arrays(self):
        self.config.update(position_bias={"formula": "-k*t", "set": {"k": torch.tensor([1.0, 0.5, 0.25, 0.125])}},
                           norm_epsilon=np.float32(0.5), window=np.array([0, 7]), bos=np.int64(3))
        config = json.loads((self.write() / "config.json").read_text())
        self.assertEqual((config["position_bias"]["set"]["k"], config["norm_epsilon"], config["window"], config["bos"]),
                         ([1, 0.5, 0.25, 0.125], 0.5, [0, 7], 3))
        self.assertIn("bias -k*t", run_reach(["info", str(self.folder)], REACH))

    def test_rules_are_those_of_the_document(self):
        """Every key of doc/checkpoint.md is known here, and no other."""
        from common import ROOT
        from reach_erf.layout import RULES

        text = (ROOT / "doc/checkpoint.md").read_text().partition("## config.json")[2].partition("`position` is one of")[0]
        keys = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
        self.assertEqual(sorted(keys), sorted(RULES))


class Placing(Case):
    """A folder holds the old checkpoint, or the new one, or none that is taken for a checkpoint."""

    def setUp(self):
        super().setUp()
        self.model, self.names, self.config = mappings.learned()
        self.folder = self.scratch / "model"

    def write(self, scale=1.0, **others):
        state = {name: value * scale for name, value in self.model.state.items()}
        return reach.write_checkpoint(self.folder, state, self.names, {**self.config, "train_length": int(10 * scale)}, **others)

    def scale(self):
        """Of the checkpoint that is there, by both of its files; None: reach says that there is none."""
        try:
            run_reach(["info", str(self.folder)], REACH)
        except reach.ReachError as error:
            self.assertIn("has no configuration", str(error))
            return None
        weights = read_back(self.folder)["embedding.weight"] / self.model.state["tok.weight"]
        self.assertEqual(json.loads((self.folder / "config.json").read_text())["train_length"], round(10 * weights.mean().item()))
        return round(weights.mean().item())

    def test_what_is_there_is_kept(self):
        self.write()
        (self.folder / "tokenizer.json").write_text("{}")
        with self.refused("holds a checkpoint (overwrite=True replaces it)"):
            self.write(2)
        self.assertEqual(self.scale(), 1)
        self.write(2, overwrite=True)
        self.assertEqual(self.scale(), 2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["config.json", "model.safetensors", "tokenizer.json"])
        (self.folder / "pytorch_model.bin").write_bytes(b"")
        with self.refused("holds pytorch_model.bin (expected no other checkpoint there)"):
            self.write(3, overwrite=True)

    def test_killed_at_any_step(self):
        seen = set()
        for step in range(40):
            self.write(1, overwrite=True)
            pid = os.fork()
            if pid == 0:  # dies at the step-th of these calls
                left = [step]

                def dying(function):
                    def call(*arguments, **others):
                        if left[0] == 0:
                            os._exit(9)
                        left[0] -= 1
                        return function(*arguments, **others)
                    return call

                import builtins
                import pathlib
                builtins.open, os.fsync, os.replace = map(dying, (builtins.open, os.fsync, os.replace))
                pathlib.Path.unlink = dying(pathlib.Path.unlink)
                self.write(2, overwrite=True)
                os._exit(0)
            if os.waitpid(pid, 0)[1] == 0:
                break
            seen.add(self.scale())
        self.assertGreater(step, 6)
        self.assertEqual(seen, {1, 2, None})
        self.assertEqual(self.scale(), 2)
        self.write(1, overwrite=True)  # what was left over is no obstacle, and goes
        self.assertEqual(sorted(os.listdir(self.folder)), ["config.json", "model.safetensors"])

    def test_a_full_disk(self):
        self.write(1)
        for name in ("_write_weights", "_write_config"):
            with mock.patch.object(checkpoint, name, side_effect=OSError(28, "No space left on device")):
                with self.refused("No space left", error=OSError):
                    self.write(2, overwrite=True)
            self.assertEqual(self.scale(), 1)
            self.assertEqual(sorted(os.listdir(self.folder)), ["config.json", "model.safetensors"])


if __name__ == "__main__":
    unittest.main()
