"""What other libraries' test suites found: each line is right, as in PyTorch, or an error that says what to write."""
import copy
import gc
import pickle
import subprocess
import sys
import unittest
import weakref

import weft
import weft.nn.functional as F
from common import Refusals, np, same, torch
from weft import nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__("Net")
        self.w = nn.Parameter(weft.ones(2))
        self.frozen = nn.Parameter(weft.ones(3), requires_grad=False)
        self.register_buffer("b", weft.zeros(2))
        self.register_buffer("cache", weft.zeros(1), persistent=False)
        self.sub = nn.Linear(2, 2)
        self.last = nn.Linear(2, 1)

    def forward(self, x):
        return self.last(self.sub(x * self.w + self.b))


class Hardening(Refusals):
    def program(self, code):
        """Runs it in a process of its own, since it crashed once; returns what it prints."""
        run = subprocess.run([sys.executable, "-c", "import pickle, weft\nfrom weft import nn\n" + code], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, f"{code}\n{run.stderr}")
        return run.stdout

    # ---- crashes
    def test_a_forgotten_super_init_is_an_error(self):
        for line in ["self.a = nn.Linear(1, 1)", "self.a = nn.Parameter(weft.ones(1))", "self.register_buffer('a', weft.ones(1))", "self.missing", "print(self)",
                     "self.parameters()", "self.train()", "self.forward(weft.ones(1, 1))"]:
            for base in ["nn.Module", "nn.Linear", "nn.Sequential"]:
                said = self.program(f"class Net({base}):\n    def __init__(self):\n        self.width = 3\n        try:\n            {line}\n"
                                    "        except AttributeError as error:\n            print(error)\ntry:\n    Net()\nexcept TypeError as error:\n    print(error)")
                self.assertIn("super().__init__()", said)
                self.assertIn("__init__() must be called when overriding __init__", said)

    def test_an_object_that_was_not_made_is_an_error(self):
        for name in ["Tensor", "Generator", "Mask", "nn.Linear", "nn.GPT", "nn.Decoder", "PreTrainedTokenizer", "optim.SGD"]:
            for use in ["repr(x)", "str(x)", "memoryview(x)", "x.grad = None", "x.shape", "x.lr", "weft.exp(x)", "hash(x)", "x.step()", "x.manual_seed(1)", "x | x", "x.__reduce__()"]:
                self.program(f"from weft import optim\nx = {name.replace('nn', 'weft.nn').replace('optim', 'weft.optim') if '.' in name else 'weft.' + name}\nx = x.__new__(x)\n"
                             f"try:\n    {use}\nexcept (AttributeError, TypeError, BufferError) as error:\n    pass")

    def test_pickle_and_copy_never_abort(self):
        for what in ["weft.Mask()", "weft.Generator()", "weft.optim.SGD([weft.ones(1, requires_grad=True)]).rule"]:
            for call in ["pickle.dumps(x, 0)", "pickle.dumps(x)", "x.__reduce__()"]:
                self.assertIn("pickle", self.program(f"x = {what}\ntry:\n    {call}\nexcept TypeError as error:\n    print(error)"))
        for x in [weft.randn(2, 3), weft.tensor(5), weft.zeros(0, 2, dtype=weft.float64), weft.tensor([True, False]), weft.randn(2, 3).T, weft.ones(2, requires_grad=True),
                  nn.Parameter(weft.ones(2), requires_grad=False)]:
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                y = pickle.loads(pickle.dumps(x, protocol))
                self.assertEqual((y.tolist(), y.dtype, y.shape, y.requires_grad, type(y)), (x.tolist(), x.dtype, x.shape, x.requires_grad, type(x)))
            y = copy.deepcopy(x)
            self.assertEqual(y.tolist(), x.tolist())
            self.assertFalse(y.shares_storage(x))
        self.assertEqual([pickle.loads(pickle.dumps(weft.int64, protocol)) for protocol in (0, 2, 5)], 3 * [weft.int64])
        self.refused(weft.GraphError, ["detach()"], pickle.dumps, weft.ones(1, requires_grad=True) * 2)

    # ---- arguments
    def test_calls_that_fit_no_overload_are_type_errors(self):
        x, layer = weft.ones(1, 2), nn.Linear(2, 3)
        for call in [lambda: layer(np.ones((1, 2), "f")), lambda: layer(input=x), lambda: layer.forward(3), lambda: weft.add(x, x, alpha=2), lambda: weft.mul(x, x, out=x),
                     lambda: weft.div(5.1, x), lambda: weft.eq(x, "a"), lambda: weft.logical_not(3), lambda: nn.GPT(vocab_size=3, block_size=2, num_layers=1, num_heads=1, d_model=2)(x, x)]:
            self.refused(TypeError, ["incompatible function arguments", "Given: "], call)
        self.refused(TypeError, ["ndarray", "weft.tensor(x)"], layer, np.ones((1, 2), "f"))
        self.assertEqual(weft.add(input=x, other=x).tolist(), [[2, 2]])
        self.assertEqual((x.__add__("1"), x.__eq__("1"), x.__iadd__("1"), x.__radd__("1")), 4 * (NotImplemented,))
        for name, value in vars(weft.Tensor).items():  # what isn't an operator is an error by itself
            if name.startswith("__") and name[2:-2].lstrip("ir") not in "add sub mul truediv and or eq ne lt le gt ge" and callable(value) and name not in object.__dict__:
                try:
                    self.assertIsNot(getattr(x, name)("1"), NotImplemented, name)
                except (TypeError, weft.Error, AttributeError, BufferError):
                    pass

    def test_a_tensor_that_requires_a_gradient_is_no_number(self):
        def both(m):
            x, v = m.tensor([1.0, 2, 3], requires_grad=True), m.tensor(2.5, requires_grad=True)
            mask, bound = m.tensor([True, False, True]), m.tensor([2.0, 2, 2], requires_grad=True)
            y = x.masked_fill(mask, v) + 2 * m.masked_fill(x, mask, v) + 3 * m.clamp(x, min=v) + 4 * x.clamp(max=bound)
            y.sum().backward()
            return [y, x.grad, v.grad, bound.grad]
        for found, expected in zip(both(weft), both(torch) if torch else [[19, 21.5, 24.5], [4, 7, 3], 12, [0, 0, 4]]):
            same(found, expected, "masked_fill and clamp", 1e-6)
        self.assertEqual(weft.clamp(weft.tensor([1.0, 3, 5]), 2, weft.tensor(4.0)).tolist(), [2, 3, 4])
        self.assertTrue(weft.clamp(weft.ones(2), min=weft.tensor(2.0, requires_grad=True)).requires_grad)
        v, x = weft.tensor(0.5, requires_grad=True), weft.ones(2, 2)
        for call in [lambda: x.fill_(v), lambda: weft.full_like(x, v), lambda: F.leaky_relu(x, v), lambda: F.pad(x, (1, 1), value=v), lambda: F.dropout(x, v), lambda: F.elu(x, alpha=v),
                     lambda: x.norm(v), lambda: F.huber_loss(x, x, delta=v), lambda: weft.linspace(0, v, 3), lambda: optim.SGD([v], lr=v), lambda: nn.Dropout(v),
                     lambda: F.scaled_dot_product_attention(x, x, x, scale=v), lambda: nn.utils.clip_grad_norm_([v], v)]:
            self.refused(TypeError, ["write x.item()", "Given: ", "requires a gradient"], call)
        self.refused(TypeError, [], lambda: optim.Adam([v], betas=(v, 0.9)))
        self.assertEqual(weft.full_like(x, weft.tensor(3.0)).tolist(), [[3, 3], [3, 3]])  # others are

    def test_bools_are_no_axes(self):
        x = weft.ones(2, 3)
        for call in [lambda: weft.std(x, False), lambda: x.var(True), lambda: x.sum(True), lambda: x.mean((0, True)), lambda: x.softmax(True), lambda: x.argmax(False), lambda: x.size(True),
                     lambda: weft.cat([x, x], True), lambda: x.transpose(False, True), lambda: x.cumsum(np.True_), lambda: x.reshape(True, 6), lambda: weft.zeros(True), lambda: x.topk(True),
                     lambda: x.select(0, True)]:
            self.refused(TypeError, ["incompatible function arguments"], call)
        self.refused(TypeError, ["keepdim=True", "correction=0"], weft.std, x, False)
        self.assertEqual((x.sum(np.int64(0)).shape, x.sum(weft.tensor(1)).shape, x.sum(0, True).shape), ((3,), (2,), (1, 3)))
        self.assertRaises(TypeError, x.sum, 1.0)

    def test_errors_never_contain_a_state_dict(self):
        net, big = Net(), {f"weights.{i}": weft.full_like(weft.ones(4), 123.25) for i in range(9)}
        theirs = {"w": np.full(4, 123.25)} if not torch else {"w": torch.full((4,), 123.25)}
        for call in [lambda: net.load_state_dict([big]), lambda: net.load_state_dict(big, strict=big), lambda: net.load_state_dict(theirs), lambda: optim.SGD(big), lambda: weft.exp(big),
                     lambda: nn.from_torch_multihead_attention(theirs), lambda: nn.Linear(big, 3), lambda: weft.save_safetensors("/nowhere/x", theirs), lambda: weft.save(big, "/nowhere/x"),
                     lambda: net.load_state_dict(big), lambda: optim.SGD([weft.ones(1, requires_grad=True)]).load_state_dict(theirs), lambda: net.register_buffer("state", big),
                     lambda: nn.Parameter(big), lambda: setattr(net, "b", big), lambda: setattr(net.w, "grad", big), lambda: weft.cat(big), lambda: weft.stack([big])]:
            with self.assertRaises(Exception) as caught:
                call()
            self.assertNotIn("123.25", str(caught.exception))
            self.assertNotIn("float32  4", str(caught.exception))
        self.refused(weft.DTypeError, ["'w'", "weft.tensor"], net.load_state_dict, theirs)
        self.refused(TypeError, ["Given: dict"], weft.exp, big)

    def test_iterators_of_parameters_are_read(self):
        x = weft.ones(2, 2, requires_grad=True)
        for make in [lambda p: optim.SGD(p, lr=1.0), lambda p: optim.Adam(p), lambda p: optim.AdamW(p)]:
            for parameters in [(p for p in [x]), iter([x]), {"x": x}.values(), {"x": x}.items(), map(lambda p: p, [x]), {x}, (("name", p) for p in [x])]:
                x.grad = weft.ones(2, 2)
                before = x.tolist()
                make(parameters).step()
                self.assertNotEqual(x.tolist(), before)
        x.grad = weft.full_like(x.detach(), 2)
        self.assertEqual(nn.utils.clip_grad_norm_((p for p in [x]), 1.0), 4)
        self.assertEqual(weft.cat(y for y in [x, x]).shape, (4, 2))
        for call in [lambda: optim.SGD(x, lr=1.0), lambda: weft.cat(x), lambda: nn.utils.clip_grad_norm_(x, 1.0)]:  # its rows are no parameters
            self.refused(TypeError, ["Given: ", "write [x]"], call)
        self.refused(ZeroDivisionError, [], optim.SGD, (1 / 0 for _ in [1]))

    # ---- indexing
    def test_integers_of_numpy_and_tensors_give_views_and_bools_masks(self):
        x, n = weft.arange(24).reshape(2, 3, 4), np.arange(24).reshape(2, 3, 4)
        for i in [np.int64(1), np.int32(1), np.uint8(1), np.array(1), weft.tensor(1)]:
            for index in [i, (slice(None), i), (..., i), (0, i, -i if not isinstance(i, np.unsignedinteger) else 2)]:
                y = x[index]
                self.assertTrue(y.shares_storage(x), f"{index}")
                self.assertEqual(y.tolist(), n[tuple(int(k) if hasattr(k, "__int__") and not isinstance(k, int) else k for k in index) if isinstance(index, tuple) else int(i)].tolist())
        x[np.int64(1), weft.tensor(2)] = 7
        self.assertEqual(x[1, 2].tolist(), 4 * [7])
        n[1, 2] = 7
        for index in [True, False, (True, 0), (slice(None), False), (0, True), np.True_, (None, True), (..., np.False_)]:
            np.testing.assert_array_equal(np.asarray(x[index]), n[index], err_msg=str(index))
        self.refused(IndexError, ["one tensor"], lambda: x[False, True])
        for mask in [[True, False], np.array([True, False]), weft.tensor([True, False]), True]:
            y, m = weft.ones(2, 2), np.ones((2, 2))
            y[mask], m[np.asarray(mask)] = 5, 5
            self.assertEqual(y.tolist(), m.tolist())
        for wrong in [1.5, "a", 1j, weft.tensor(0.5), object()]:
            self.refused((IndexError, weft.DTypeError), ["int"], lambda: x[wrong])
        self.refused(IndexError, ["size", "5"], x.size, 5)
        self.refused(IndexError, ["axis"], len, weft.tensor(1))
        self.assertEqual((x.size(), x.size(-1), x.size(dim=1)), ((2, 3, 4), 4, 3))

    def test_what_pytorch_refuses_is_refused(self):
        x, q = weft.ones(2, 3), weft.ones(1, 4, 2)
        self.refused(AttributeError, ["unfold"], lambda: x.unfold(1, 3, 1))  # PyTorch's are windows, not the image's
        for dims in [[0, 0], (0, -2), [-1, 0, 1]]:
            self.refused(IndexError, ["twice"], weft.flip, x, dims)
        self.assertEqual(weft.flip(weft.arange(4).reshape(2, 2), (0, -1)).tolist(), [[3, 2], [1, 0]])
        self.refused(ValueError, ["At least one of min and max".lower()], lambda: weft.clamp(x))
        self.refused(ValueError, ["min and max"], lambda: x.clamp())
        for mask in [weft.ones(4, 4) > 0, weft.zeros(4, 4), weft.Mask.padding([2])]:
            for attend in [F.scaled_dot_product_attention, F.scaled_dot_product_attention_with_weights]:
                self.refused(ValueError, ["attn_mask should not be set when is_causal", "Mask.causal()"], attend, q, q, q, attn_mask=mask, is_causal=True)
        same(F.scaled_dot_product_attention(q, q, q, weft.Mask.allowed(weft.ones(1, 4, 4) > 0) | weft.Mask.causal()), F.scaled_dot_product_attention(q, q, q, is_causal=True), "combined")
        methods = {name for name in vars(weft.Tensor) if not name.startswith("_")}
        self.assertEqual(methods & {"fold", "gelu", "layer_norm", "embedding", "dropout"}, set())

    # ---- modules
    def test_an_assigned_buffer_is_the_buffer(self):
        net = Net()
        names = list(net.state_dict())
        with weft.no_grad():
            for _ in range(3):
                net.b = net.b + 1
        net.cache = weft.ones(5)
        self.assertEqual((net.b.tolist(), net.state_dict()["b"].tolist(), dict(net.named_buffers())["b"].tolist()), 3 * ([3, 3],))
        self.assertEqual((list(net.state_dict()), dict(net.named_buffers())["cache"].shape), (names, (5,)))
        net.to(weft.float64)
        self.assertEqual(net.b.dtype, weft.float64)
        self.refused(TypeError, ["cannot assign int as buffer 'b' of Net (Tensor expected)"], setattr, net, "b", 3)
        self.refused(TypeError, ["buffer"], setattr, net, "b", None)
        self.assertEqual(net.b.tolist(), [3, 3])
        net.register_buffer("cache", weft.ones(2))
        self.assertIn("cache", net.state_dict())
        self.refused(ValueError, ["'width'"], lambda: setattr(net, "width", 1) or net.register_buffer("width", weft.ones(1)))

    def test_an_assigned_parameter_is_the_parameter(self):
        net, x = Net(), weft.ones(1, 2)
        names = list(net.state_dict())
        with weft.no_grad():
            self.refused(TypeError, ["cannot assign Tensor as parameter 'w' of Net (nn.Parameter or None expected)"], setattr, net, "w", net.w * 2)
        before = net(x).item()
        net.w = nn.Parameter(weft.zeros(2))
        self.assertEqual((list(net.state_dict()), net.state_dict()["w"].tolist(), next(net.parameters()).tolist()), (names, [0, 0], [0, 0]))
        self.assertNotEqual(net(x).item(), before)
        net(x).backward()
        self.assertEqual(dict(net.named_parameters())["w"].grad.shape, (2,))
        net.frozen = weft.ones(3, requires_grad=True)  # a leaf that requires a gradient
        self.assertEqual(net.state_dict()["frozen"].requires_grad, True)
        net.w = None
        self.assertEqual((net.w, "w" in net.state_dict()), (None, False))
        net.w = nn.Parameter(weft.ones(4))
        self.assertEqual(net.state_dict()["w"].shape, (4,))
        net.b = nn.Parameter(weft.ones(1))  # from a buffer to a parameter
        self.assertEqual([name for name, _ in net.named_parameters() if "." not in name], ["frozen", "w", "b"])
        self.assertEqual([name for name, _ in net.named_buffers()], ["cache"])
        net.w = nn.Linear(1, 1)  # and to a child
        self.assertIn("w.weight", net.state_dict())
        shared = nn.Parameter(weft.ones(2, 3).T)
        net.one, net.two = shared, shared
        self.assertTrue(net.one.shares_storage(net.two))

    def test_a_frozen_parameter_is_saved(self):
        net = Net()
        self.assertEqual(([name for name, p in net.named_parameters() if not p.requires_grad], net.frozen.requires_grad), (["frozen"], False))
        self.assertIn("frozen", net.state_dict())
        self.assertIsInstance(net.frozen, nn.Parameter)
        net.frozen += 1
        self.assertEqual(net.state_dict()["frozen"].tolist(), [2, 2, 2])
        optimizer = optim.SGD(net.parameters(), lr=0.1)
        net(weft.ones(1, 2)).backward()
        optimizer.step()
        self.assertEqual(net.frozen.tolist(), [2, 2, 2])

    def test_augmented_assignment_changes_in_place_without_an_error(self):
        net, layer = Net(), nn.Linear(2, 2)
        with weft.no_grad():
            for module, name in [(layer, "weight"), (layer, "bias"), (net.sub, "weight"), (net, "w"), (net, "b")]:
                before, kept = getattr(module, name).clone(), getattr(module, name)
                exec(f"module.{name} -= 1\nmodule.{name} *= 2\nmodule.{name} /= 4\nmodule.{name} += weft.ones_like(before)", {"module": module, "weft": weft, "before": before})
                same(getattr(module, name), (before - 1) / 2 + 1, name, 1e-6)
                same(dict(module.state_dict())[name], getattr(module, name), name)
                self.assertTrue(kept.shares_storage(getattr(module, name)))
        x = y = weft.ones(2)
        x += 1
        self.assertIs(x, y)

    def test_what_a_layer_computes_with_stays(self):
        layer, block = nn.Linear(2, 2), nn.TransformerBlock(4, 2)
        for value in [weft.zeros(2, 2), nn.Parameter(weft.zeros(2, 2)), None, 3, nn.Linear(2, 2)]:
            self.refused(AttributeError, ["Linear.weight", "copy_(value) under no_grad()"], setattr, layer, "weight", value)
        self.refused(AttributeError, ["Linear.bias"], delattr, layer, "bias")
        self.refused(AttributeError, ["TransformerBlock."], setattr, block, block.named_children()[0][0], nn.Linear(4, 4))
        self.assertEqual(len(layer.state_dict()), 2)

        class Mine(nn.Linear):
            def __init__(self):
                super().__init__(2, 2)
                self.extra = nn.Parameter(weft.ones(1))
        mine = Mine()
        mine.extra = nn.Parameter(weft.zeros(1))
        self.assertEqual(mine.state_dict()["extra"].tolist(), [0])
        self.refused(AttributeError, ["Mine.weight"], setattr, mine, "weight", nn.Parameter(weft.zeros(2, 2)))

    def test_submodules_are_replaced_and_deleted(self):
        net = Net()
        names, x = list(net.state_dict()), weft.ones(1, 2)

        class Twice(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return 2 * self.inner(x)
        inner, y = net.sub, net(x)
        net.sub = Twice(net.sub)  # in its place, as LoRA does
        self.assertEqual(list(net.state_dict()), [name.replace("sub.", "sub.inner.") for name in names])
        net.sub = inner
        self.assertEqual((list(net.state_dict()), net(x).item()), (names, y.item()))
        self.refused(ValueError, ["contain itself"], setattr, net, "loop", net)
        self.refused(ValueError, ["contain itself"], setattr, net, "sub", net)
        self.assertEqual((list(net.state_dict()), net(x).item()), (names, y.item()))
        self.refused(TypeError, ["cannot assign function as child 'sub' of Net (nn.Module or None expected)"], setattr, net, "sub", lambda x: x)
        del net.sub, net.b, net.w
        self.assertEqual([name for name in names if name.split(".")[0] not in ("sub", "b", "w")], list(net.state_dict()))
        self.refused(AttributeError, ["sub"], lambda: net.sub)
        self.refused(AttributeError, ["sub"], delattr, net, "sub")
        net.last = None
        self.assertEqual((net.last, [name for name, _ in net.named_children()]), (None, []))
        steps = nn.Sequential(nn.Linear(1, 1), weft.relu, nn.Linear(1, 1))
        setattr(steps, "2", nn.Linear(1, 4))
        self.assertEqual((steps(weft.ones(1)).shape, steps.state_dict()["2.weight"].shape), ((4,), (4, 1)))

    def test_a_module_that_knows_its_parent_is_freed(self):
        class Child(nn.Module):
            def __init__(self, parent):
                super().__init__()
                object.__setattr__(self, "parent", parent)

        class Parent(nn.Module):
            def __init__(self):
                super().__init__()
                self.child, self.me = Child(self), [self]

        class Mine(nn.Linear):
            pass
        for make in [Parent, lambda: Mine(1, 1), lambda: nn.Linear(1, 1), type("Grandchild", (Parent,), {})]:
            gc.collect()
            x = make()
            x.all_of_it = [x]
            seen = weakref.ref(x)
            self.assertIn(x, gc.get_referents(vars(x)["all_of_it"]))
            del x
            gc.collect()
            self.assertIsNone(seen())

    def test_what_weft_would_not_call_is_refused(self):
        for name in ["get_extra_state", "set_extra_state", "_save_to_state_dict", "_load_from_state_dict"]:
            self.refused(TypeError, [name, "register_buffer"], type, "Net", (nn.Module,), {name: lambda self: {"a": 1}})
            self.refused(TypeError, [name], type, "Net", (nn.Linear,), {name: lambda self: {"a": 1}})

    # ---- modes, hooks, numbers
    def test_grad_modes_as_statements_and_on_generators(self):
        x = weft.ones(1, requires_grad=True)
        self.addCleanup(weft.set_grad_enabled, True)
        weft.set_grad_enabled(False)
        self.assertFalse((x * 2).requires_grad)
        weft.set_grad_enabled(True)
        self.assertTrue((x * 2).requires_grad)
        with weft.set_grad_enabled(False):
            self.assertFalse(weft.is_grad_enabled())
            weft.set_grad_enabled(True)
            with weft.no_grad():
                self.assertFalse(weft.is_grad_enabled())
            self.assertTrue(weft.is_grad_enabled())
        self.assertTrue(weft.is_grad_enabled())

        @weft.set_grad_enabled(False)
        def off():
            return weft.is_grad_enabled()
        self.assertEqual((off(), weft.is_grad_enabled()), (False, True))

        @weft.no_grad
        def bare(value):
            return value, weft.is_grad_enabled()
        self.assertEqual(bare(3), (3, False))
        for mode in [weft.no_grad(), weft.set_grad_enabled(False)]:
            weft.set_grad_enabled(True)
            seen = []

            @mode
            def numbers():
                try:
                    while True:
                        try:
                            got = yield weft.is_grad_enabled()
                            seen.append((got, weft.is_grad_enabled()))
                        except KeyError:
                            seen.append(("KeyError", weft.is_grad_enabled()))
                        if len(seen) == 3:
                            return "end"
                finally:
                    seen.append(("closed", weft.is_grad_enabled()))
            g = numbers()
            self.assertEqual((next(g), g.send(1), g.throw(KeyError), weft.is_grad_enabled()), (False, False, False, True))
            with self.assertRaises(StopIteration) as stop:
                g.send(2)
            self.assertEqual((stop.exception.value, seen), ("end", [(1, False), ("KeyError", False), (2, False), ("closed", False)]))
            seen.clear()
            g = numbers()
            next(g)
            g.close()
            self.assertEqual((seen, weft.is_grad_enabled()), ([("closed", False)], True))

        async def later():
            pass
        self.refused(TypeError, ["async", "with"], weft.no_grad(), later)

    def test_what_callbacks_return_is_checked(self):
        def threes(g):
            return 3
        x = weft.ones(1, requires_grad=True)
        x.register_hook(threes)
        self.refused(weft.DTypeError, ["threes returned int; return a Tensor"], (x * 2).backward)
        self.refused(weft.DTypeError, ["returned int"], weft.autograd.gradcheck, lambda x: 3, [weft.ones(1, dtype=weft.float64, requires_grad=True)])
        self.refused(TypeError, ["Given: Tensor", "int"], setattr, x, "grad", 3)

    def test_numbers_that_fit_no_type_are_wefts_errors(self):
        for number in [2**63, -2**63 - 1, [1, 2**64]]:
            self.refused(weft.ValueError, ["tensor", "int64"], weft.tensor, number)
        self.refused(weft.ValueError, ["float64"], weft.tensor, [0.5, 10**300 * 10**9])
        self.assertEqual(weft.tensor(2**63, dtype=weft.float64).item(), 2.0**63)
        self.assertEqual(weft.tensor([2**63 - 1, -2**63]).tolist(), [2**63 - 1, -2**63])
        self.refused(weft.ValueError, ["float64"], lambda: weft.tensor(10**309, dtype=weft.float64))

    def test_one_cycle_takes_both_anneals(self):
        for anneal in ["cos", "linear"]:
            for three_phase in [False, True]:
                rates = [optim.one_cycle_lr(i, max_lr=0.1, total_steps=20, anneal_strategy=anneal, three_phase=three_phase) for i in range(20)]
                if torch:
                    steps = torch.optim.SGD([torch.ones(1)], lr=0.1)
                    schedule = torch.optim.lr_scheduler.OneCycleLR(steps, 0.1, 20, anneal_strategy=anneal, three_phase=three_phase, cycle_momentum=False)
                    expected = []
                    for _ in range(20):
                        expected.append(steps.param_groups[0]["lr"])
                        steps.step()
                        if len(expected) < 20:
                            schedule.step()
                    np.testing.assert_allclose(rates, expected, rtol=1e-12)
        line = [optim.one_cycle_lr(i, max_lr=0.1, total_steps=20, anneal_strategy="linear") for i in range(6)]
        self.assertAlmostEqual(line[2] - line[1], line[5] - line[4])
        self.refused(ValueError, ["'line'", "'cos' or 'linear'"], optim.one_cycle_lr, 1, anneal_strategy="line")

    def test_the_second_derivative_of_a_power_of_zero_is_0(self):
        for value in [2.0, 0.5, 1.0, 0.0]:
            p = weft.tensor(value, dtype=weft.float64, requires_grad=True)
            (first,) = weft.autograd.grad(0.0**p, p, create_graph=True)
            (second,) = weft.autograd.grad(first, p)
            self.assertEqual((first.item(), second.item()), (0, 0))


if __name__ == "__main__":
    unittest.main()
