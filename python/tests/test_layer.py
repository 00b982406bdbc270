"""What the calls of rows.txt do not show: copies, hooks, files, batches, groups, what is refused, and what a notebook shows."""
import copy
import pathlib
import pickle
import tempfile
import unittest
import xml.dom.minidom

import weft
import weft.nn.functional as F
from common import Refusals, np, same, torch
from weft import nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.steps = nn.Linear(3, 4), nn.ModuleList([nn.Tanh(), nn.Linear(4, 4, bias=False)])
        self.scale, self.name = nn.Parameter(weft.ones(4)), "net"
        self.register_buffer("seen", weft.zeros(1))
        self.register_buffer("mask", weft.ones(4), persistent=False)

    def forward(self, x):
        x = self.first(x)
        for step in self.steps:
            x = step(x)
        return x * self.scale * self.mask


class Layer(Refusals):
    def test_a_copy_of_a_module_is_another_with_the_same_values(self):
        x, net = weft.randn(2, 3), Net().eval()
        net.steps[1].weight.requires_grad_(False)
        for other in [copy.deepcopy(net), pickle.loads(pickle.dumps(net))]:
            self.assertEqual(other(x).tolist(), net(x).tolist())
            self.assertEqual(list(other.state_dict()), list(net.state_dict()))
            self.assertEqual((other.name, other.training, other.steps[1].weight.requires_grad, type(other.steps).__name__), ("net", False, False, "ModuleList"))
            other.scale.data = weft.zeros(4)
            self.assertEqual(other(x).abs().sum().item(), 0)
            self.assertGreater(net(x).abs().sum().item(), 0)
        for module in [nn.TransformerBlock(8, 2), nn.GPT(vocab_size=5, block_size=4, num_layers=1, num_heads=2, d_model=8), nn.Sequential(nn.Linear(8, 2), weft.relu),
                       nn.MultiheadAttention(8, 2), nn.BatchNorm2d(3), nn.MaxPool2d(2), nn.ModuleDict({"a": nn.Linear(2, 2)})]:
            other = copy.deepcopy(module)
            self.assertEqual({name: value.tolist() for name, value in other.state_dict().items()}, {name: value.tolist() for name, value in module.state_dict().items()})
            self.assertEqual(repr(other), repr(module))

    def test_a_copy_keeps_what_is_tied_and_who_knows_whom(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Parameter(weft.ones(2))
                self.inner = nn.ModuleList()
                self.inner.b = self.a

        Tied.__qualname__, globals()["Tied"] = "Tied", Tied  # where pickle looks for it
        net = Tied()
        for other in [copy.deepcopy(net), pickle.loads(pickle.dumps(net))]:
            other.a.data = weft.zeros(2)
            self.assertEqual((other.inner.b.tolist(), len(list(other.parameters())), net.a.tolist()), ([0, 0], 1, [1, 1]))
        linear, handle = Tied(), Tied()
        linear.layer = nn.Linear(2, 2)
        linear.w, handle.c = linear.layer.weight, dict(handle.named_parameters())["a"]
        for net in [linear, handle]:
            for apart in [copy.deepcopy, pickle.dumps]:
                self.refused(weft.GraphError, ["Tied", "come apart", "state_dict"], apart, net)
        self.refused(weft.GraphError, ["deepcopy", "detach"], copy.deepcopy, weft.ones(1, requires_grad=True) * 2)
        for x in [weft.tensor([[1.5, 2]], requires_grad=True), weft.tensor([1, 2]), weft.tensor([True]), weft.zeros(0, 3, dtype=weft.float64), weft.arange(6).reshape(2, 3).T]:
            for y in [copy.deepcopy(x), pickle.loads(pickle.dumps(x))]:
                self.assertEqual((y.tolist(), y.dtype, y.requires_grad, y.shape), (x.tolist(), x.dtype, x.requires_grad, x.shape))

    def test_hooks_see_and_change_what_goes_through(self):
        layer, seen = nn.Linear(3, 2), []
        after = layer.register_forward_hook(lambda module, inputs, y: seen.append((module is layer, inputs[0].shape)) or y * 0)
        before = layer.register_forward_pre_hook(lambda module, inputs: (inputs[0][:1],))
        self.assertEqual(layer(weft.ones(5, 3)).tolist(), [[0, 0]])
        self.assertEqual(seen, [(True, (1, 3))])
        after.remove(), before.remove()
        self.assertEqual(layer(weft.ones(5, 3)).shape, (5, 2))

        class Half(nn.LayerNorm):
            def forward(self, x):
                return super().forward(x) / 2
        x = weft.randn(2, 4)
        same(Half(4)(x) * 2, nn.LayerNorm(4)(x), "a layer of Weft with another forward", 1e-6)

    def test_a_dictionary_survives_its_file(self):
        net = Net()
        optimizer = optim.AdamW([{"params": net.first.parameters(), "lr": 0.1}, {"params": [net.scale]}], lr=0.2, betas=(0.8, 0.9))
        net(weft.ones(2, 3)).sum().backward()
        optimizer.step()
        saved = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "step": 7, "best": 0.25, "names": ["a", ("b", None, True)], 3: {"x": weft.arange(3)}}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.safetensors"
            weft.save(saved, path)
            loaded = weft.load(path, map_location="cpu")
            self.assertEqual((loaded["step"], loaded["best"], loaded["names"], loaded[3]["x"].tolist()), (7, 0.25, ["a", ("b", None, True)], [0, 1, 2]))
            self.assertEqual(loaded["optimizer"]["param_groups"], saved["optimizer"]["param_groups"])
            other, start = optim.AdamW([{"params": net.first.parameters()}, {"params": [net.scale]}]), net.scale.tolist()
            other.load_state_dict(loaded["optimizer"])
            other.step()
            first = net.scale.tolist()
            net.scale.data = weft.tensor(start)
            optimizer.step()
            self.assertEqual(net.scale.tolist(), first)
            weft.save(net.state_dict(), path)
            self.assertEqual(list(weft.load(path)), list(net.state_dict()))
            weft.save({"a": {"b": weft.ones(1)}, "a.b": weft.zeros(2)}, path)
            self.assertEqual((weft.load(path)["a"]["b"].tolist(), weft.load(path)["a.b"].tolist()), ([1], [0, 0]))
            self.refused(weft.ValueError, ["model.f", "function"], weft.save, {"model": {"f": lambda: 0}}, path)
            self.refused(weft.ValueError, ["cuda:0"], weft.load, path, map_location="cuda:0")
        self.refused(weft.ValueError, ["groups of other sizes"], other.load_state_dict, optim.AdamW(net.parameters()).state_dict())

    def test_batches_are_those_of_pytorch(self):
        rows = [({"x": weft.tensor([i, i]), "y": i / 2}, "t") for i in range(5)]
        batches = list(weft.utils.data.DataLoader(rows, batch_size=2, drop_last=True))
        self.assertEqual([(b["x"].tolist(), b["y"].dtype, t) for b, t in batches], [([[0, 0], [1, 1]], weft.float64, ["t", "t"]), ([[2, 2], [3, 3]], weft.float64, ["t", "t"])])
        loader = weft.utils.data.DataLoader(range(5), batch_size=2, collate_fn=tuple, sampler=[4, 0, 1])
        self.assertEqual((list(loader), len(loader)), ([(4, 0), (1,)], 2))
        shuffled = [x for batch in weft.utils.data.DataLoader(range(50), batch_size=7, shuffle=True) for x in batch.tolist()]
        self.assertEqual(sorted(shuffled), list(range(50)))
        self.assertNotEqual(shuffled, list(range(50)))
        self.refused(weft.ValueError, ["num_workers", "leave"], weft.utils.data.DataLoader, rows, num_workers=2)
        self.refused(weft.ValueError, ["both shuffle and sampler"], weft.utils.data.DataLoader, rows, shuffle=True, sampler=[0])

    def test_what_becomes_another_in_place_is_alone(self):
        x = weft.ones(2, 2, requires_grad=True)
        y = x * 2
        row = y[0]
        self.refused(weft.GraphError, ["relu_", "a view"], F.relu, y, inplace=True)
        self.refused(weft.GraphError, ["add_", "a view"], row.add_, x[0])
        self.refused(weft.GraphError, ["leaf"], x.clamp_, min=0)
        del row
        y.add_(x, alpha=3)
        y.sum().backward()
        self.assertEqual((y.tolist(), x.grad.tolist()), ([[5, 5], [5, 5]], [[5, 5], [5, 5]]))
        with weft.no_grad():
            address = x.data_ptr()
            x.clamp_(max=0.5)
        self.assertEqual((x.tolist(), x.data_ptr()), ([[0.5, 0.5], [0.5, 0.5]], address))
        x.data -= weft.ones(2, 2)
        self.assertEqual((x.tolist(), x.grad.tolist(), x.is_leaf), ([[-0.5, -0.5], [-0.5, -0.5]], [[5, 5], [5, 5]], True))

    def test_arguments_without_effect_are_refused_by_name(self):
        x = weft.ones(2, 3)
        for words, call in [(["cuda"], lambda: weft.zeros(2, device="cuda")), (["mps"], lambda: x.to("mps")), (["cuda"], lambda: nn.Linear(2, 2).to("cuda")),
                            (["padding_idx"], lambda: nn.Embedding(3, 2, padding_idx=0)), (["elementwise_affine"], lambda: nn.LayerNorm(2, elementwise_affine=False)),
                            (["kernel_size", "(3, 5)"], lambda: nn.Conv2d(1, 1, (3, 5))), (["stride"], lambda: F.conv2d(weft.ones(1, 1, 3, 3), weft.ones(1, 1, 1, 1), stride=(1, 2))),
                            (["set_to_none"], lambda: nn.Linear(2, 2).zero_grad(set_to_none=False)), (["add_zero_attn"], lambda: nn.MultiheadAttention(4, 2, add_zero_attn=True)),
                            (["is_causal"], lambda: nn.MultiheadAttention(4, 2)(weft.ones(2, 4), weft.ones(2, 4), weft.ones(2, 4), is_causal=True)),
                            (["create_graph", "autograd.grad"], lambda: x.backward(create_graph=True)), (["no parameters"], lambda: optim.SGD([], lr=0.1)),
                            (["reduction"], lambda: nn.MSELoss(reduction="average")(x, x)), (["rank 2"], lambda: x.mm(weft.ones(3)))]:
            self.refused(weft.Error, words, call)
        for words, call in [(["ReLU", "slope"], lambda: nn.ReLU(slope=1)), (["StepLR", "step_size"], lambda: optim.lr_scheduler.StepLR(optim.SGD([weft.ones(1, requires_grad=True)]))),
                            (["SGD", "dampening"], lambda: optim.SGD([weft.ones(1, requires_grad=True)], dampening=0.5)), (["Linear", "in_features"], lambda: nn.Linear(3))]:
            self.refused(TypeError, words, call)

    def test_pytorch_reads_the_attention_and_the_state_of_optimisers(self):
        if not torch:
            self.skipTest("PyTorch is not installed")
        ours, theirs = nn.MultiheadAttention(8, 2, kdim=4, vdim=6), torch.nn.MultiheadAttention(8, 2, kdim=4, vdim=6)
        theirs.load_state_dict({name: torch.from_dlpack(value.detach()) for name, value in ours.state_dict().items()})
        q, k, v = weft.randn(3, 2, 8), weft.randn(5, 2, 4), weft.randn(5, 2, 6)
        for a, b in zip(ours(q, k, v), theirs(*map(torch.from_dlpack, (q, k, v)))):
            same(a, b, "kdim", 1e-5)
        x = weft.ones(3, requires_grad=True)
        t = torch.ones(3, requires_grad=True)
        libraries = [(x, optim.Adam([x], lr=0.1)), (t, torch.optim.Adam([t], lr=0.1))]
        for p, steps in libraries:
            (p**3).sum().backward()
            steps.step()
        state = libraries[1][1].state_dict()
        libraries[0][1].load_state_dict({"state": {0: {key: weft.from_dlpack(value) for key, value in state["state"][0].items()}}, "param_groups": state["param_groups"]})
        for p, steps in libraries:
            steps.param_groups[0]["lr"] = 0.5
            steps.step()
        same(x, t, "after PyTorch's state", 1e-6)

    def test_muon_takes_orthogonal_steps(self):
        p = weft.randn(6, 4, requires_grad=True)
        before, optimizer = p.tolist(), optim.Muon([p], lr=0.5, weight_decay=0.0)
        (p * weft.randn(6, 4)).sum().backward()
        optimizer.step()
        values = np.linalg.svd((np.array(before) - np.array(p.tolist())) / 0.5 / 1.5**0.5, compute_uv=False)
        self.assertTrue((0.6 < values).all() and (values < 1.3).all(), values)
        self.refused(weft.ShapeError, ["matri"], optim.Muon, [weft.ones(3, requires_grad=True)])

    def test_a_notebook_shows_pictures(self):
        def drawing(text):
            return xml.dom.minidom.parseString(text).getElementsByTagName("svg")[0]
        x = weft.tensor([[1.0, 2, 3], [4, 5, 6]])
        html = x._repr_html_()
        self.assertIn("(2, 3) weft.float32", html)
        self.assertEqual(len(drawing(html[html.index("<svg"):html.index("</svg>") + 6]).getElementsByTagName("rect")) >= 6, True)
        for y in [weft.tensor(1.5), weft.ones(2, 2, 2), weft.ones(40, 40), weft.tensor([1.0, float("nan")])]:
            self.assertIn("<pre>", y._repr_html_())
        self.assertIn("Linear", nn.Linear(2, 3)._repr_html_())
        weights = weft.softmax(weft.randn(2, 3, 3), -1)
        for shown in [weft.viz.AttentionMap(weights[0], queries=["the", "<cat>", "sat"]), weft.viz.AttentionMap(weights, mask=weft.Mask()), weft.viz.AttentionMap([weights, weights])]:
            drawing(shown._repr_svg_())
        self.assertIn("&lt;cat&gt;", weft.viz.AttentionMap(weights[0], queries=["the", "<cat>", "sat"])._repr_svg_())
        self.refused(weft.ShapeError, ["3"], weft.viz.AttentionMap, weights[0], queries=["one"])
        plot = weft.viz.Plot("Loss", x="step").line([0, 1], [2, 1], "training").points([0], [1]).horizontal(1.5, "target")
        self.assertIn("training", plot._repr_svg_())
        drawing(plot._repr_svg_())
        report = weft.Report("A run")
        report.loss(0, training=1.0)
        self.assertTrue(report._repr_html_().startswith("<iframe"))
        self.assertIn("A run", report._repr_html_())


if __name__ == "__main__":
    unittest.main()
