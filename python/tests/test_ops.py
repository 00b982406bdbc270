"""Every operation, called from Python: its outputs and gradients against PyTorch's golden values, and against PyTorch itself."""
import unittest

import weft
from common import ROOT, array, np, same, torch
from table import RANDOM, ROWS

GOLDEN = weft.load_safetensors(ROOT / "tests/golden/ops.safetensors")
NAMES = {name.rsplit("/", 1)[0] for name in GOLDEN}


def part(name, kind):
    """{number: tensor} of the entries name/kind0, name/kind1, …"""
    return {int(key[len(name) + 1 + len(kind):]): value for key, value in GOLDEN.items() if key.startswith(f"{name}/{kind}")}


def run(call, module, inputs, seeds, grad):
    """The outputs of a call, and the gradients of its floating inputs."""
    y = call(module, module.nn.functional, *inputs)
    outputs = list(y) if isinstance(y, (tuple, list)) else [y]
    total = sum((outputs[i] * dy).sum() for i, dy in seeds.items())
    wanted = [i for i, x in enumerate(inputs) if x.requires_grad]
    return outputs, dict(zip(wanted, grad(total, [inputs[i] for i in wanted]))) if seeds else {}


class Operations(unittest.TestCase):
    def test_every_golden_sample_has_a_row_in_python(self):
        self.assertEqual(NAMES - set(ROWS), set(), "in tests/golden/ops.safetensors, but not in python/tests/table.py")
        self.assertEqual(set(ROWS) - NAMES, set(), "in python/tests/table.py, but not in tests/golden/ops.safetensors")
        self.assertGreater(len(ROWS), 250)

    def test_outputs_and_gradients_are_the_golden_ones(self):
        gradients = 0
        for name, (call, _) in ROWS.items():
            with self.subTest(name):
                inputs = [GOLDEN[f"{name}/in{i}"].clone() for i in range(len(part(name, "in")))]
                for x in inputs:
                    x.requires_grad_(x.dtype == weft.float64)
                seeds = part(name, "dy") if name not in RANDOM else {}
                outputs, found = run(call, weft, inputs, seeds, weft.autograd.grad)
                expected = part(name, "out")
                self.assertEqual(len(outputs), len(expected))
                for i, y in expected.items():
                    same(array(outputs[i]) * (name not in RANDOM), y, f"{name}, output {i}")
                golden = part(name, "grad") if name not in RANDOM else {}
                self.assertEqual(sorted(found), sorted(golden))
                for i, dx in golden.items():
                    same(found[i], dx, f"{name}, gradient of input {i}")
                    gradients += 1
        self.assertGreater(gradients, 250)

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_the_same_line_gives_the_same_in_pytorch(self):
        compared = 0
        for name, (call, in_torch) in ROWS.items():
            if in_torch is None or name in RANDOM:
                continue
            with self.subTest(name):
                theirs = [torch.from_numpy(array(GOLDEN[f"{name}/in{i}"]).copy()) for i in range(len(part(name, "in")))]
                ours = [weft.tensor(x) for x in theirs]
                seeds = part(name, "dy")
                for x, y in zip(ours, theirs):
                    x.requires_grad_(x.dtype == weft.float64)
                    y.requires_grad_(y.dtype == torch.float64)
                outputs, gradients = run(call, weft, ours, seeds, weft.autograd.grad)
                torch_seeds = {i: torch.from_numpy(array(dy)) for i, dy in seeds.items()}
                expected, torch_gradients = run(in_torch, torch, theirs, torch_seeds, torch.autograd.grad)
                for i, (x, y) in enumerate(zip(outputs, expected, strict=True)):
                    same(x, y, f"{name}, output {i}")
                for i, dx in torch_gradients.items():
                    same(gradients[i], dx, f"{name}, gradient of input {i}")
                compared += 1
        self.assertGreater(compared, 240)

    def test_a_wrong_gradient_is_noticed(self):
        wrong = array(GOLDEN["exp/grad0"]) * (1 + 1e-8)
        with self.assertRaises(AssertionError):
            same(wrong, GOLDEN["exp/grad0"], "exp")


if __name__ == "__main__":
    unittest.main()
