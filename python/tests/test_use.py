"""What Python adds: its numbers, indexing, errors and modes; modules, optimisers and checks as a training uses them."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import weft
import weft.nn.functional as F
from common import Refusals, np, same, torch
from weft import nn, optim


class Use(Refusals):
    def test_importing_takes_no_numpy_and_few_modules(self):
        program = """import sys, time
before, start = set(sys.modules), time.perf_counter()
import weft
print((time.perf_counter() - start) * 1e3, *sorted(set(sys.modules) - before))"""
        times = []
        for _ in range(5):
            milliseconds, *modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
            times.append(float(milliseconds))
        print(f"import weft: {min(times):.1f} ms, {len(modules)} modules")
        self.assertNotIn("numpy", modules)
        self.assertLessEqual(len(modules), 30)

    def test_weft_against_pytorch_in_three_lines(self):
        x = weft.randn(2, 3, 8, dtype=weft.float64, requires_grad=True)
        y = F.scaled_dot_product_attention(x, x, x, is_causal=True)
        y.sum().backward()
        if torch:
            t = torch.from_dlpack(x.detach()).requires_grad_()
            torch.nn.functional.scaled_dot_product_attention(t, t, t, is_causal=True).sum().backward()
            np.testing.assert_allclose(x.grad, t.grad, atol=1e-12)
        self.assertEqual(x.grad.shape, (2, 3, 8))

    def test_scores_are_capped_as_gemma_2_does(self):
        q, k, v = (weft.randn(2, 3, 8) for _ in range(3))
        weights = weft.softmax(weft.tanh(q @ k.transpose(-2, -1) / 8**0.5 / 0.7) * 0.7, -1)
        same(F.scaled_dot_product_attention(q, k, v, softcap=0.7), weights @ v, "softcap", 1e-5)

    def test_types_of_sums_words_of_reductions_and_what_unique_returns(self):
        x = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
        for name, arguments in [("sum", ()), ("mean", (1,)), ("prod", (0,)), ("cumsum", (0,)), ("softmax", (-1,)), ("log_softmax", (-1,))]:
            y = getattr(weft, name)(x, *arguments, dtype=weft.float64)
            self.assertEqual(y.dtype, weft.float64)
            same(y, getattr(weft, name)(x.double(), *arguments), name)
        self.assertEqual(weft.tensor([1, 2]).mean(dtype=weft.float32).item(), 1.5)
        for loss in [F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss, F.kl_div]:
            self.refused(weft.ValueError, ["reduction is 'total'", "'batchmean'"], lambda f=loss: f(x, x, reduction="total"))
        self.refused(weft.ValueError, ["reduction is 'total'"], lambda: F.cross_entropy(x, weft.tensor([0, 1]), reduction="total"))
        ids = weft.tensor([3, 1, 3])
        self.assertEqual(weft.unique(ids).tolist(), [1, 3])
        self.assertEqual([y.tolist() for y in ids.unique(return_counts=True)], [[1, 3], [1, 2]])
        self.assertEqual([y.tolist() for y in ids.unique(return_inverse=True)], [[1, 3], [1, 0, 1]])
        y = weft.zeros(2, 3)
        y.scatter_(1, weft.tensor([[2], [0]]), 1)
        self.assertEqual(y.tolist(), [[0, 0, 1], [1, 0, 0]])

    def test_indexing_is_numpys(self):
        a, n = weft.arange(24).reshape(2, 3, 4), np.arange(24).reshape(2, 3, 4)
        for index in [np.s_[1], np.s_[:, 1:], np.s_[..., 0], np.s_[None, 0], np.s_[0, ..., 1:3], np.s_[-1, -1, -1], np.s_[::2], np.s_[:, -2:9],
                      np.s_[..., None], np.s_[5:1], np.s_[:, None, 1], np.s_[:, [0, 2]], np.s_[[1, 0]], np.s_[:, :, [[0, -1], [2, 2]]], np.s_[...], ()]:
            np.testing.assert_array_equal(np.asarray(a[index]), n[index], err_msg=str(index))
        mask = n % 3 == 0
        for index in [mask, np.s_[:, mask[0]], mask[:, :, 0], np.s_[..., mask[0, 0]]]:
            np.testing.assert_array_equal(np.asarray(a[index]), n[index])
        self.assertEqual(a[1:, 0].data_ptr(), a.data_ptr() + 12 * 8)
        self.assertEqual([row.shape for row in a], [(3, 4), (3, 4)])
        for index, words in [((0, 0, 0, 0), ["4 indices for shape (2, 3, 4)"]), (2, ["index 2", "(2, 3, 4)"]), (([0], [1]), ["one tensor", "gather"])]:
            self.refused(IndexError, words, a.__getitem__, index)
        self.refused(weft.ShapeError, ["mask of shape (2,)"], a.__getitem__, (0, weft.tensor([True, False])))
        self.refused(weft.ValueError, [], a.__getitem__, slice(None, None, -1))
        self.refused(weft.DTypeError, [], a.__getitem__, weft.tensor([0.5]))

    def test_assignment_writes_into_views(self):
        x, n = weft.zeros(2, 3), np.zeros((2, 3), np.float32)
        for index, value in [((0, 1), 2.5), (1, [1, 2, 3]), (np.s_[:, 2], 7), (np.s_[..., 0:2], np.float32([[8], [9]])), (np.s_[:], 1)]:
            x[index], n[index] = value, value
            np.testing.assert_array_equal(np.asarray(x), n)
        x[0] += weft.tensor([1.0, 2, 3])
        x[x > 2] = -1
        self.assertEqual(x.tolist(), [[2, -1, -1], [1, 1, 1]])
        x[weft.tensor([True, False])] = 5
        self.assertEqual(x[:, 0].tolist(), [5, 1])
        self.refused(weft.IndexError, ["copy", "where"], x.__setitem__, [0], 1)
        self.refused(weft.GraphError, ["NoGrad"], x.clone().requires_grad_().__setitem__, 0, 1)

    def test_pythons_numbers_stand_on_both_sides(self):
        x = weft.tensor([1.0, 2], requires_grad=True)
        for y, expected in [(1 + x, [2, 3]), (x - 1, [0, 1]), (3 - x, [2, 1]), (2 * x, [2, 4]), (x / 2, [0.5, 1]), (2 / x, [2, 1]), (x**2, [1, 4]),
                            (2**x, [2, 4]), (np.float64(2) * x, [2, 4]), (x * np.float32(2), [2, 4]), (-x, [-1, -2]), (abs(-x), [1, 2]), (True + x, [2, 3])]:
            self.assertEqual((y.tolist(), y.requires_grad, y.dtype), (expected, True, weft.float32))
        self.assertEqual((x == None, x != None, x in [None, x]), (False, True, True))  # noqa: E711
        self.assertEqual(((x > 1) & ~(x == 2) | (x <= 1)).tolist(), [True, False])
        self.assertEqual((float(x[1]), int(x[1]), bool(x[1]), len(x), f"{x}"), (2.0, 2, True, 2, "[1. 2.]"))
        self.assertEqual(weft.tensor([2**62 + 1])[0].item(), 2**62 + 1)
        for wrong in [lambda: x + "1", lambda: x + [1], lambda: x @ 2, lambda: x & True]:
            self.assertRaises(TypeError, wrong)
        self.refused(weft.DTypeError, ["0.5", "int64"], lambda: weft.arange(2) * 0.5)
        self.refused(weft.ShapeError, ["item"], lambda: weft.Tensor.__float__(x))
        self.assertRaises(Exception, bool, x)

    def test_errors_are_pythons_with_their_whole_text(self):
        for ours, builtin in [(weft.ShapeError, ValueError), (weft.DTypeError, TypeError), (weft.IndexError, IndexError), (weft.ValueError, ValueError),
                              (weft.GraphError, RuntimeError), (weft.IoError, OSError)]:
            self.assertTrue(issubclass(ours, builtin) and issubclass(ours, weft.Error))
        error = self.refused(ValueError, ["matmul: inner dimensions differ: (2, 3) @ (4, 5)"], weft.matmul, weft.ones(2, 3), weft.ones(4, 5))
        self.assertIs(type(error), weft.ShapeError)
        self.refused(OSError, ["no such file"], weft.load_safetensors, "no such file")
        self.refused(RuntimeError, ["requires_grad_()"], weft.ones(1).backward)
        self.refused(IndexError, ["axis 2"], weft.ones(1).sum, 2)
        self.refused(weft.ShapeError, ["normalized_shape (3,)"], F.layer_norm, weft.ones(2, 4), (3,))
        self.refused(weft.ValueError, ["'none' or 'tanh'"], lambda: F.gelu(weft.ones(2), approximate="exact"))
        self.refused(TypeError, ["incompatible function arguments"], weft.exp, None, None)
        self.refused(weft.GraphError, ["undefined"], weft.exp, None)

    def test_gradients_modes_and_hooks(self):
        x = weft.tensor([1.0, 2], dtype=weft.float64, requires_grad=True)
        y = (x**3).sum()
        (dx,) = weft.autograd.grad(y, x, create_graph=True)
        (ddx,) = weft.autograd.grad(dx.sum(), [x])
        self.assertEqual((dx.tolist(), ddx.tolist(), x.grad), ([3, 12], [6, 12], None))
        handle = x.register_hook(lambda g: 10 * g)
        (2 * x).backward(weft.ones(2, dtype=weft.float64))
        handle.remove()
        seen = []
        x.register_hook(lambda g: seen.append(g.tolist()))  # returns None: the gradient stays
        (2 * x).sum().backward()
        self.assertEqual((x.grad.tolist(), seen), ([22, 22], [[2, 2]]))
        x.grad = None
        self.assertIsNone(x.grad)
        self.assertEqual(weft.autograd.grad([x.sum()], [weft.ones(1, requires_grad=True), x], allow_unused=True)[0], None)
        with weft.no_grad():
            self.assertFalse((x * 2).requires_grad)
            with weft.enable_grad():
                self.assertTrue((x * 2).requires_grad)
            x += 1
        self.assertTrue(weft.is_grad_enabled())
        self.assertFalse(weft.no_grad()(lambda: x * 2)().requires_grad)
        with self.assertRaises(KeyError), weft.set_grad_enabled(False):
            raise KeyError
        self.assertTrue(weft.is_grad_enabled())
        with weft.composed():
            same(weft.gelu(x), F.gelu(x), "composed", 1e-6)
        with self.assertRaises(ZeroDivisionError):  # what a hook raises arrives
            x.register_hook(lambda g: 1 / 0)
            (x * 1).sum().backward()

    def test_gradcheck_finds_a_wrong_gradient(self):
        x = weft.randn(3, dtype=weft.float64, requires_grad=True)
        self.assertTrue(weft.autograd.gradcheck(weft.tanh, (x,)))
        self.assertTrue(weft.autograd.gradgradcheck(lambda a: F.gelu(a) * a, [x]))
        wrong = lambda a: weft.tanh(a.detach()) + 0 * a  # noqa: E731
        self.refused(weft.Error, ["expected", "found"], weft.autograd.gradcheck, wrong, [x])
        self.assertFalse(weft.autograd.gradcheck(wrong, [x], raise_exception=False))
        layer = nn.Linear(3, 2).to(weft.float64)
        self.assertTrue(weft.autograd.gradcheck(layer, [x], parameters=layer.parameters()))

    def test_a_module_written_in_python_learns_xor(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__("Net")
                self.first, self.last = nn.Linear(2, 8), nn.Linear(8, 1)
                self.scale = nn.Parameter(weft.ones(1))
                self.register_buffer("seen", weft.zeros(1))

            def forward(self, x):
                return self.scale * self.last(weft.tanh(self.first(x)))

        weft.manual_seed(1)
        net = Net()
        self.assertEqual([name for name, _ in net.named_parameters()], ["scale", "first.weight", "first.bias", "last.weight", "last.bias"])
        self.assertEqual([name for name, _ in net.named_buffers()], ["seen"])
        x, y = weft.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]]), weft.tensor([[0.0], [1], [1], [0]])
        optimizer = optim.Adam(net.parameters(), lr=0.05)
        for _ in range(300):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        self.assertLess(loss.item(), 1e-3)
        self.assertEqual((net(x) > 0.5).tolist(), (y > 0.5).tolist())
        other = Net()
        other.load_state_dict(net.state_dict())
        self.assertEqual(other(x).tolist(), net(x).tolist())
        self.refused(weft.ValueError, ["nothing"], other.load_state_dict, {"nothing": weft.ones(1)})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.safetensors"
            weft.save(net, path)
            third = Net()
            weft.load(third, str(path))
            self.assertEqual(third(x).tolist(), net(x).tolist())
            self.assertEqual(set(weft.load_safetensors(path)), set(net.state_dict()))
        self.refused(AttributeError, ["nothing"], getattr, net, "nothing")
        self.assertEqual(net.eval().training, False)
        self.assertEqual(str(weft.check.gradient_flow(net)).count("first"), 2)

    def test_masks_of_keys_and_documents_are_the_matrices_that_they_stand_for(self):
        q, ids = weft.randn(2, 3, 5, 4), weft.tensor([0, 0, 1, 1, 1])
        padded = weft.tensor([[False] * 5, [False] * 2 + [True] * 3])  # as key_padding_mask has it
        attend = lambda mask: F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
        self.assertEqual(attend(weft.Mask.keys(~padded)).tolist(), attend(weft.Mask.padding([5, 2])).tolist())
        self.assertEqual(attend(weft.Mask.keys(~padded)).tolist(), attend(~padded[:, None, None]).tolist())
        documents = weft.Mask.documents(ids) | weft.Mask.causal()
        self.assertEqual(attend(documents).tolist(), attend(weft.Mask.allowed(ids[:, None] == ids) | weft.Mask.causal()).tolist())
        self.assertNotEqual(attend(documents).tolist(), attend(weft.Mask.causal()).tolist())
        self.refused(weft.ShapeError, ["Mask::keys", "(2, 4)", "2 samples of 5 keys"], attend, weft.Mask.keys(~padded[:, :4]))
        self.refused(weft.DTypeError, ["Mask::documents", "int64"], weft.Mask.documents, padded)

    def test_modules_of_weft_run_and_have_pytorchs_state(self):
        x = weft.randn(2, 5, 8)
        for module, shape in [(nn.Linear(8, 3), (2, 5, 3)), (nn.Linear(8, 3, bias=False), (2, 5, 3)), (nn.LayerNorm(8), (2, 5, 8)),
                              (nn.MLP(8), (2, 5, 8)), (nn.Dropout(0.5).eval(), (2, 5, 8)), (nn.MultiHeadAttention(8, 2, bias=True), (2, 5, 8)),
                              (nn.Attention(8, 2, causal=True, rotary_base=10000.0), (2, 5, 8)), (nn.TransformerBlock(8, 2), (2, 5, 8)),
                              (nn.EncoderBlock(8, 2, dropout=0.1), (2, 5, 8)), (nn.BatchNorm(5), (2, 5, 8)),
                              (nn.Sequential(nn.Linear(8, 4), weft.relu, nn.Linear(4, 1)), (2, 5, 1))]:
            self.assertEqual(module(x).shape, shape)
        self.assertEqual(nn.DecoderBlock(8, 2)(x, x, weft.Mask.padding([3, 5])).shape, (2, 5, 8))
        self.assertEqual(nn.Conv2d(1, 2, 3, padding=1)(weft.ones(1, 1, 4, 4)).shape, (1, 2, 4, 4))
        self.assertEqual(nn.Embedding(7, 4)(weft.tensor([[1, 6]])).shape, (1, 2, 4))
        attention = nn.MultiHeadAttention(8, 2)
        self.assertEqual(attention.with_weights(x, weft.Mask.causal())[1].shape, (2, 2, 5, 5))
        y, balance, share = nn.MixtureOfExperts(8, num_experts=4, top_k=1).with_routing(x)
        self.assertEqual((y.shape, balance.shape, round(sum(share.tolist()), 6)), ((2, 5, 8), (), 1))
        self.assertEqual(attention(x, x[:, :3], x[:, :3]).shape, (2, 5, 8))
        self.assertTrue(weft.check.attention(attention, x, weft.Mask.causal()))
        gpt = nn.GPT(vocab_size=11, block_size=8, num_layers=1, num_heads=2, d_model=8)
        self.assertEqual(gpt(weft.tensor([[1, 2, 3]])).shape, (1, 3, 11))
        ids = gpt.generate(weft.tensor([1, 2]), 4, temperature=0)
        self.assertEqual((ids.shape, ids[:2].tolist()), ((6,), [1, 2]))
        self.assertEqual(gpt.token_embedding.weight.shape, (11, 8))
        if torch:
            theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
            ours = nn.MultiHeadAttention(8, 2, bias=True)
            state = {name: weft.from_dlpack(value.detach()) for name, value in theirs.state_dict().items()}
            ours.load_state_dict(nn.from_torch_multihead_attention(state))
            same(ours(x), theirs(*[torch.from_dlpack(x)] * 3)[0], "MultiheadAttention", 1e-5)

    def test_optimisers_take_the_steps_of_pytorch(self):
        for name, options in [("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}), ("Adam", {"lr": 0.1, "betas": (0.8, 0.9)}),
                              ("AdamW", {"lr": 0.1, "weight_decay": 0.1})]:
            w = weft.tensor([1.0, -2], dtype=weft.float64, requires_grad=True)
            optimizer = getattr(optim, name)([w], **options)
            libraries = [(w, optimizer)]
            if torch:
                t = torch.tensor([1.0, -2], dtype=torch.float64, requires_grad=True)
                libraries.append((t, getattr(torch.optim, name)([t], **options)))
            for parameter, steps in libraries:
                for _ in range(5):
                    steps.zero_grad()
                    (parameter**4).sum().backward()
                    steps.step()
            if torch:
                same(w, t, name, 1e-12)
            self.assertLess(abs(w[1].item()), 2)
            optimizer.lr = 0.5
            self.assertEqual(optimizer.lr, 0.5)
            optimizer.load_state_dict(optimizer.state_dict())
        self.assertEqual(optim.AdamW(optim.decay_groups(nn.Linear(2, 2), 0.1), lr=0.1).lr, 0.1)
        self.assertEqual(optim.SGD(nn.Linear(2, 2).named_parameters(), lr=0.1).lr, 0.1)
        self.assertAlmostEqual(optim.cosine_lr(50, lr=0.1, steps=100), 0.05)
        self.assertAlmostEqual(optim.linear_lr(5, lr=0.1), 0.1)
        self.assertAlmostEqual(optim.one_cycle_lr(29, max_lr=0.1, total_steps=100), 0.1)

    def test_random_numbers_are_those_of_the_seed(self):
        weft.manual_seed(3)
        x = weft.randn(4)
        for again in [lambda: weft.manual_seed(3) or weft.randn(4), lambda: weft.randn(4, generator=weft.Generator(3)),
                      lambda: weft.randn(4, generator=weft.Generator().manual_seed(3))]:
            self.assertEqual(again().tolist(), x.tolist())
        self.assertEqual(sorted(weft.randperm(5).tolist()), list(range(5)))
        self.assertTrue(weft.randint(2, 5, (100,)).min().item() >= 2)
        kept = F.dropout(weft.ones(1000), 0.25) > 0
        self.assertTrue(600 < kept.sum().item() < 900)
        q = weft.randn(2, 3, 5, 4)
        self.assertNotEqual(F.scaled_dot_product_attention(q, q, q, dropout_p=0.5).tolist(), F.scaled_dot_product_attention(q, q, q).tolist())
        qkv = weft.randn(2, 5, 12)
        packed = weft.multi_head_attention(qkv, 2, is_causal=True)
        heads = [part.reshape(2, 5, 2, 2).transpose(1, 2) for part in qkv.chunk(3, -1)]
        same(packed, F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).reshape(2, 5, 4), "packed", 1e-6)


if __name__ == "__main__":
    unittest.main()
