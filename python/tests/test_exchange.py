"""Memory shared with NumPy and PyTorch: by address, for as long as either side needs it, and what is refused."""
import array
import gc
import io
import unittest
import weakref

import weft
from common import Refusals, np, torch

TYPES = [(weft.float32, np.float32), (weft.float64, np.float64), (weft.int64, np.int64), (weft.bool, np.bool_)]


def address(x):
    return x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr()


class Exchange(Refusals):
    def test_numpy_sees_a_tensor_where_it_lies(self):
        for ours, theirs in TYPES:
            x = weft.zeros(2, 3, dtype=ours)
            for y, a in [(x, np.asarray(x)), (x.T, np.asarray(x.T)), (x[1:, ::2], x[1:, ::2].numpy()), (x[1, 2], np.asarray(x[1, 2]))]:
                self.assertEqual((address(a), a.dtype, a.shape), (address(y), theirs, y.shape))
                self.assertEqual(a.strides, tuple(s * a.itemsize for s in y.stride()))
                self.assertTrue(a.flags.writeable)
            np.asarray(x.T)[2, 1] = 1
            self.assertEqual(x[1, 2].item(), 1)
            x[0, 0] = 1
            self.assertEqual(np.asarray(x).sum(), 2)

    def test_an_expanded_tensor_is_read_only_there(self):
        x = weft.arange(3).expand(2, 3)
        a = np.asarray(x)
        self.assertEqual((a.flags.writeable, a.strides, address(a)), (False, (0, 8), address(x)))
        self.refused(BufferError, ["read-only", "clone()"], x.__dlpack__)
        self.assertTrue(np.asarray(weft.arange(1).expand(1, 1)).flags.writeable)

    def test_a_tensor_sees_an_array_where_it_lies(self):
        for ours, theirs in TYPES:
            a = np.zeros((4, 6), theirs)
            for b in [a, a.T, a[1::2, 2:5], a[0, 0:0], np.zeros((), theirs), np.asfortranarray(a)]:
                for make in [weft.from_numpy] + [weft.from_dlpack] * (theirs is not np.bool_):
                    x = make(b)
                    self.assertEqual((x.dtype, x.shape), (ours, b.shape))
                    if b.size:
                        self.assertEqual(address(x), address(b))
            x = weft.from_numpy(a[1::2, 2:5])
            x[1, 0] = 1
            self.assertEqual(a[3, 2], 1)
            a[1, 4] = 1
            self.assertEqual(x.tolist(), [[0, 0, 1], [1, 0, 0]])
        self.assertEqual(weft.from_numpy(array.array("d", [1, 2])).tolist(), [1, 2])

    def test_there_and_back_is_the_same_memory(self):
        x = weft.randn(3, 4)
        for y in [weft.from_numpy(np.asarray(x)), weft.from_dlpack(x), weft.from_dlpack(x.T)]:
            self.assertEqual(address(y), address(x))

    def test_each_side_keeps_the_others_memory(self):
        a = np.arange(6.0)
        died = []
        weakref.finalize(a, died.append, "array")
        x = weft.from_numpy(a)
        view = x.reshape(2, 3)[1]
        back = np.asarray(view)
        del a, x, view
        gc.collect()
        self.assertEqual((died, back.tolist()), ([], [3, 4, 5]))
        y = weft.from_dlpack(weft.from_numpy(back))
        del back
        gc.collect()
        self.assertEqual((died, y.tolist()), ([], [3, 4, 5]))
        del y
        gc.collect()
        self.assertEqual(died, ["array"])
        # A tensor of Weft's, of which only an array is left: later tensors of the size do not get its memory.
        a = np.asarray(weft.full((1000,), 7.0))
        others = [weft.zeros(1000) for _ in range(10)]
        self.assertTrue((a == 7).all() and len(others) == 10)
        # Nor does a module whose tensors get other memory take it away.
        for share in [np.asarray, weft.from_dlpack]:
            norm = weft.nn.BatchNorm(1000)
            a = share(norm.running_var)
            norm.to(weft.float64)
            others = [weft.zeros(1000) for _ in range(10)]
            self.assertTrue((a == 1).all() and norm.running_var.dtype == weft.float64)

    def test_the_graph_saves_an_array_until_backward(self):
        a = np.array([1.0, 2, 3])
        died = []
        weakref.finalize(a, died.append, "array")
        x = weft.from_numpy(a).requires_grad_()
        y = (x * x).sum()
        del a
        gc.collect()
        y.backward()
        self.assertEqual((died, x.grad.tolist()), ([], [2, 4, 6]))
        del x, y
        gc.collect()
        self.assertEqual(died, ["array"])

    def test_a_capsule_is_taken_once_and_one_that_nobody_takes_frees_its_tensor(self):
        a = np.arange(3.0)
        died = []
        weakref.finalize(a, died.append, "array")
        capsule = weft.from_numpy(a).__dlpack__()
        del a
        gc.collect()
        self.assertEqual(died, [])
        del capsule
        gc.collect()
        self.assertEqual(died, ["array"])
        x = weft.ones(2)
        capsule = x.__dlpack__()
        self.assertEqual(weft.from_dlpack(capsule).data_ptr(), x.data_ptr())
        self.assertRaises(ValueError, weft.from_dlpack, capsule)
        self.assertEqual(x.__dlpack_device__(), (1, 0))
        copy = weft.from_dlpack(x.__dlpack__(copy=True))
        self.assertNotEqual(copy.data_ptr(), x.data_ptr())
        self.assertRaises(BufferError, lambda: x.__dlpack__(stream=1))
        self.assertRaises(BufferError, lambda: x.__dlpack__(dl_device=(2, 0)))

    def test_tensors_in_the_graph_are_refused(self):
        x = weft.ones(2, requires_grad=True)
        for share in [np.asarray, np.array, lambda t: t.numpy()]:
            self.refused(weft.GraphError, ["detach()"], share, x * 2)
        for share in [memoryview, bytes, lambda t: t.__dlpack__()]:
            self.refused(BufferError, ["detach()"], share, x)
        self.assertEqual(np.asarray(x.detach()).tolist(), [1, 1])
        self.assertEqual(x.tolist(), [1, 1])

    def test_what_is_no_array_of_a_type_of_ours_is_refused(self):
        for a in [np.zeros(2, np.int32), np.zeros(2, ">f8"), np.zeros(2, np.complex64), np.zeros(2, np.uint8)]:
            for make in [weft.from_numpy, weft.tensor]:
                self.refused(weft.DTypeError, [str(a.dtype), "astype(np.int64)"], make, a)
                self.refused(TypeError, [], make, a)
        self.refused(weft.DTypeError, ["int32", "float32, float64, bfloat16, float16, int64 and bool"], weft.from_dlpack, np.zeros(2, np.int32))
        a = np.arange(6.0).reshape(2, 3)
        self.refused(weft.ValueError, ["run backwards", "copy"], weft.from_numpy, a[:, ::-1])
        self.refused(weft.ValueError, ["two elements at one address"], weft.from_numpy,
                     np.lib.stride_tricks.as_strided(a, (3, 2), (8, 8)))
        self.refused(weft.ValueError, ["cut elements"], weft.from_numpy, np.zeros(3, [("a", "i1"), ("b", "f8")])["b"])
        raw = np.zeros(17, np.uint8)
        self.refused(weft.ValueError, ["a multiple of 8"], weft.from_numpy, raw[(raw.ctypes.data % 8 == 0):][:8].view(np.float64))
        fixed = np.ones(2)
        fixed.flags.writeable = False
        self.refused(weft.ValueError, ["read-only", "weft.tensor(a)"], weft.from_numpy, fixed)
        self.assertRaises(TypeError, weft.from_numpy, [1, 2])
        self.assertRaises(AttributeError, weft.from_dlpack, [1, 2])
        x = weft.from_numpy(b := np.ones(2))
        with self.assertRaises(ValueError):  # NumPy knows that its memory is used
            b.resize(5, refcheck=True)
        del x

    def test_numpy_has_float16_and_no_bfloat16(self):
        x = weft.tensor([0.1, -2.5], dtype=weft.float16)
        a = x.numpy()
        self.assertEqual((a.dtype, a.tolist()), (np.float16, [float(np.float16(0.1)), -2.5]))
        a[1] = 3
        self.assertEqual(x[1].item(), 3)
        self.assertEqual(weft.from_numpy(a).data_ptr(), x.data_ptr())
        x = weft.tensor([0.1, -2.5], dtype=weft.bfloat16)
        for share in [np.asarray, np.array, lambda t: t.numpy()]:
            self.refused(weft.DTypeError, ["no bfloat16", "to(weft.float32)"], share, x)
        self.refused(BufferError, ["no bfloat16", "to(weft.float32)"], memoryview, x)
        self.assertEqual(x.to(weft.float32).numpy().tolist(), [0.10009765625, -2.5])
        self.assertEqual((str(x.dtype), (x + x).dtype), ("weft.bfloat16", weft.float32))

    def test_tensor_copies_numbers_lists_and_arrays(self):
        a = np.arange(6.0).reshape(2, 3)
        for b in [a, a[:, ::-1], a.T, np.broadcast_to(a, (2, 2, 3)), a > 2, a.astype(np.int64), a.astype(np.float16)]:
            x = weft.tensor(b)
            self.assertNotEqual(x.data_ptr(), address(b))
            np.testing.assert_array_equal(np.asarray(x), b)
        for values, dtype in [(3, weft.int64), (2.5, weft.float32), ([1, 2.5], weft.float32), ([[1, 2], [3, 4]], weft.int64), (True, weft.bool),
                              ([True, False], weft.bool), ([], weft.float32), ([[]], weft.float32), ([True, 2], weft.int64), (np.float64(2), weft.float64)]:
            x = weft.tensor(values)
            self.assertEqual((x.dtype, x.tolist()), (dtype, np.array(values).tolist()))
        self.assertEqual(weft.tensor([2**62 + 1]).item(), 2**62 + 1)
        self.assertEqual(weft.tensor([1, 2], dtype=weft.float64, requires_grad=True).requires_grad, True)
        self.assertEqual(weft.tensor([weft.tensor(1.5), 2]).tolist(), [1.5, 2])
        x = weft.ones(2)
        self.assertNotEqual(weft.tensor(x).data_ptr(), x.data_ptr())
        self.assertEqual(weft.tensor(x.requires_grad_().expand(2, 2)).tolist(), [[1, 1], [1, 1]])
        self.refused(weft.ShapeError, ["(1,)", "(2,)"], weft.tensor, [[1, 2], [3]])
        self.refused(weft.DTypeError, ["str is no number"], weft.tensor, ["a"])
        self.assertRaises(weft.ValueError, weft.tensor, [2**64])

    def test_a_buffer_of_a_view_is_given_only_where_its_strides_are_asked_for(self):
        x = weft.arange(6).reshape(2, 3)
        self.assertEqual(bytes(x.T), np.asarray(x).T.tobytes())
        self.refused(BufferError, ["contiguous()"], io.BytesIO().write, x.T)
        self.assertEqual(io.BytesIO().write(x), 48)
        self.assertEqual(np.frombuffer(x, np.int64).tolist(), list(range(6)))

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_pytorch_shares_by_dlpack(self):
        for ours, theirs in [(weft.float32, torch.float32), (weft.float64, torch.float64), (weft.int64, torch.int64), (weft.bool, torch.bool),
                             (weft.bfloat16, torch.bfloat16), (weft.float16, torch.float16)]:
            x = weft.zeros(2, 3, dtype=ours)
            t = torch.from_dlpack(x.T)
            self.assertEqual((t.data_ptr(), t.dtype, tuple(t.shape), t.stride()), (x.data_ptr(), theirs, (3, 2), (1, 3)))
            t[2, 1] = 1
            self.assertEqual(x[1, 2].item(), 1)
            y = weft.from_dlpack(torch.zeros(4, 5, dtype=theirs)[1:, ::2])
            self.assertEqual((y.shape, y.stride(), y.dtype), ((3, 3), (5, 2), ours))
            t = torch.ones(2, dtype=theirs)
            y = weft.from_dlpack(t)
            self.assertEqual(y.data_ptr(), t.data_ptr())
            del t
            self.assertEqual(y.tolist(), [1, 1])
        self.refused(weft.DTypeError, ["torch.int32"], weft.from_dlpack, torch.zeros(2, dtype=torch.int32))
        self.refused(BufferError, ["detach"], weft.from_dlpack, torch.zeros(2, requires_grad=True))
        self.refused(BufferError, ["detach"], torch.from_dlpack, weft.zeros(2, requires_grad=True))
        t = torch.arange(3.0, requires_grad=True)
        x = weft.tensor(t)
        self.assertTrue(x.tolist() == [0, 1, 2] and x.data_ptr() != t.data_ptr())


if __name__ == "__main__":
    unittest.main()
