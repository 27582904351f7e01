"""The trainer's models: windows in blocks compute what the whole mask does; with recurrences, what it exports, transformers and the program compute alike."""

import sys
import unittest
from importlib.util import find_spec

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

import reach_erf as reach
from common import REACH, ROOT, Case

sys.path.insert(0, str(ROOT / "examples"))
from decoder import Decoder, Shape, round_to_bfloat16  # noqa: E402
from position_encodings import encoding_of  # noqa: E402
from recurrences import RecurrentDecoder, write_recurrent_checkpoint  # noqa: E402

NAMES = ("mamba2", "mamba2-attention", "gated-deltanet", "lightning")
SHAPE = Shape(vocabulary=256)


class Widen(TorchFunctionMode):
    """Where transformers asks for float32, it gets float64."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.float:
            return args[0].double()
        args, kwargs = tree_map(lambda value: torch.float64 if value is torch.float32 else value, (args, kwargs or {}))
        return function(*args, **kwargs)


def drawn(name):
    """A model as before training but with every norm, decay and bias moved, rounded to bfloat16, in float64."""
    torch.manual_seed(3)
    model = RecurrentDecoder(encoding_of(name), SHAPE)
    with torch.no_grad():
        for value in model.parameters():
            value.add_(torch.randn_like(value), alpha=0.2 if value.dim() == 1 else 0.02)
        round_to_bfloat16(model)
    return model.double()


def tokens(segments=2, length=150):
    """Ids [segments, length]; more than two chunks of transformers' delta rule."""
    return torch.randint(SHAPE.vocabulary, (segments, length), generator=torch.Generator().manual_seed(5))


class Recurrences(Case):
    def test_gradients_reach_every_parameter(self):
        for name in NAMES:
            model = drawn(name)
            model(tokens()).square().sum().backward()
            self.assertEqual([n for n, value in model.named_parameters() if value.grad is None or not value.grad.any()], [], name)

    def test_the_future_is_not_read(self):
        for name in NAMES:
            model, ids = drawn(name), tokens()
            other = ids.clone()
            other[:, 100:] = (other[:, 100:] + 1) % SHAPE.vocabulary
            with torch.no_grad():
                self.assertLess((model(ids) - model(other))[:, :100].abs().max(), 1e-12, name)

    @unittest.skipUnless(find_spec("transformers"), "transformers is not there")
    def test_the_loss_is_that_of_transformers(self):
        from transformers import AutoModelForCausalLM

        for name in NAMES:
            with self.subTest(name), Widen():
                model, ids, folder = drawn(name), tokens(), self.scratch / name
                write_recurrent_checkpoint(model, folder)
                peer, said = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, experts_implementation="eager", output_loading_info=True)
                decays = {key for key in said["missing_keys"] if key.endswith(("_decay", "slope_rate"))}     # minimax's, which it computes
                self.assertEqual((set(said["missing_keys"]) - decays - {"lm_head.weight"}, set(said["unexpected_keys"])), (set(), set()))
                with torch.no_grad():
                    theirs, ours = peer.eval()(ids, use_cache=False).logits, model(ids)
                loss = [torch.nn.functional.cross_entropy(x[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).item() for x in (theirs, ours)]
                self.assertAlmostEqual(loss[0], loss[1], delta=1e-6)
                self.assertLess((theirs - ours).abs().max(), 1e-6)

    def test_reach_reads_what_is_exported(self):
        for name in NAMES:
            with self.subTest(name):
                model = drawn(name)
                write_recurrent_checkpoint(model, self.scratch / name)
                found = reach.check(self.scratch / name, model, tokens(), program=REACH)
                self.assertLessEqual(found.difference, 1e-9)


class Windows(Case):
    def test_blocks_compute_what_the_whole_mask_does(self):
        ids = torch.randint(SHAPE.vocabulary, (2, 512), generator=torch.Generator().manual_seed(5))
        for window, blocks in ((16, 16), (32, 16), (64, 8)):
            torch.manual_seed(3)
            model = Decoder(encoding_of(f"window-{window}-train-512"), SHAPE).double()
            found = []
            for size in (512 // blocks, 0):
                self.assertEqual(model.block_of(512), 512 // blocks)
                model.cache[512, torch.float64] = None, model.block_mask(512, size, torch.float64) if size else model.mask(512, torch.float64), None
                model.zero_grad()
                logits = model(ids)
                logits.square().mean().backward()
                found.append([logits, *(p.grad for p in model.parameters())])
            for a, b in zip(*found):
                self.assertLess((a - b).abs().max(), 1e-12 * max(1, b.abs().max()), window)

    def test_short_segments_keep_the_whole_mask(self):
        for name, length in (("window-16", 128), ("window-16", 512), ("window-64-train-224", 224), ("window-40-train-512", 512), ("rotary-train-512", 512), ("window-256-train-512", 512)):
            self.assertEqual(Decoder(encoding_of(name), SHAPE).block_of(length), 0, name)


if __name__ == "__main__":
    unittest.main()
