"""Arrays, and the text that NumPy's str() gives for them: '=== name' and then the text, for each."""
import numpy as np

from golden import Draw, Golden


def arrays():
    d = Draw("printing")
    f32, f64 = np.float32, np.float64
    yield "scalar", np.array(1.5)
    yield "scalar_tenth_float32", np.array(0.1, f32)
    yield "scalar_small", np.array(1e-5)
    yield "scalar_large", np.array(1e16)
    yield "scalar_whole", np.array(1234567.0)
    yield "scalar_nan", np.array(np.nan)
    yield "scalar_int", np.array(-7, np.int64)
    yield "scalar_bool", np.array(True)
    yield "scalar_million_float32", np.array(1e6, f32)
    yield "scalar_below_million_float32", np.array(999999.9, f32)
    yield "million_float32", np.array([1e6, 5e5], f32)
    yield "below_million_float32", np.array([999999.0, 5e5], f32)
    yield "ten_thousandth_float32", np.array([1e-4, 2e-4], f32)
    yield "one", np.array([1.0])
    yield "one_small", np.array([1e-5])
    yield "empty", np.zeros((0,), f32)
    yield "empty_rows", np.zeros((2, 0, 3))
    yield "whole", np.array([1.0, 2.0, -3.0, 100.0], f32)
    yield "tenths", np.array([0.1, 0.25, -3.125], f32)
    yield "thirds", np.array([1 / 3, 2 / 3, 1.0])
    yield "thirds_float32", np.array([1 / 3, 2 / 3, 1.0], f32)
    yield "zeros", np.zeros((2, 3))
    yield "negative_zero", np.array([-0.0, 0.0, 1.5])
    yield "nan_inf", np.array([[np.nan, np.inf], [-np.inf, 1.25]], f32)
    yield "only_nan", np.array([np.nan, np.nan])
    yield "only_inf", np.array([np.inf, -np.inf, np.inf])
    yield "nan_whole", np.array([np.nan, 1.0, -20.0])
    yield "nan_exponent", np.array([np.nan, 1e-7, -np.inf])
    yield "ratio_999", np.array([1.0, 999.0, 0.5])
    yield "ratio_1001", np.array([1.0, 1001.0])
    yield "ratio_fraction", np.array([0.001, 1.5])
    yield "ratio_over", np.array([0.001, 1.5, 1.0001])
    yield "small", np.array([1e-4, 2e-4])
    yield "smaller", np.array([9.9e-5, 2e-4])
    yield "boundary", np.array([1e8, 1.0])
    yield "below_boundary", np.array([99999999.0, 123456.0])
    yield "at_boundary", np.array([100000000.0, 123456789.0])
    yield "large", np.array([1e16, 3.5])
    yield "three_digits", np.array([1e-300, 1e300, 1.0])
    yield "subnormal", np.array([5e-324, 2.2250738585072014e-308])
    yield "float32_extremes", np.array([3.4028235e38, 1.1754944e-38, 1e-45], f32)
    yield "masked_score", np.array([-1e9, 0.25, 1.0], f32)
    yield "rounding", np.array([0.123456789, 1.999999999, 2.5e-9 + 1])
    yield "half_even", np.array([0.000000005, 0.5, 0.125])
    yield "long_fraction", np.array([1.00000001, 123.456789012345])
    yield "signs", np.array([-1.5, 22.25, 333.0])
    yield "normal_float32", d.normal(5, 4).astype(f32)
    yield "normal_float64", d.rng.standard_normal((3, 4))
    yield "tiny_normal", 1e-6 * d.rng.standard_normal((2, 3))
    yield "huge_normal", (1e10 * d.rng.standard_normal((2, 3))).astype(f32)
    yield "wide_range", np.exp(8 * d.rng.standard_normal((3, 3)))
    yield "wide_range_float32", np.exp(8 * d.rng.standard_normal((3, 3))).astype(f32)
    yield "long_row", np.arange(40, dtype=f64) / 8
    yield "long_row_float32", d.normal(23).astype(f32)
    yield "long_rows", d.normal(2, 17).astype(f32)
    yield "cube", np.arange(24, dtype=f32).reshape(2, 3, 4)
    yield "four_axes", np.arange(16, dtype=np.int64).reshape(2, 2, 2, 2)
    yield "five_axes", np.arange(16, dtype=f32).reshape(2, 1, 2, 2, 2)
    yield "int", np.array([[1, -2, 3], [1000, 50, -6]], np.int64)
    yield "int_extremes", np.array([-2**63, 2**63 - 1], np.int64)
    yield "int_long", np.arange(60, dtype=np.int64) * 1000
    yield "bool", np.array([[True, False], [False, False]])
    yield "bool_all_true", np.array([True, True, True])
    yield "causal", np.triu(np.ones((5, 5), bool), 1)
    yield "thousand", np.arange(1000, dtype=np.int64)
    yield "summary", np.arange(1001, dtype=np.int64)
    yield "summary_float", np.arange(1001, dtype=f32) / 4
    yield "summary_matrix", d.normal(40, 40).astype(f32)
    yield "summary_tall", np.arange(2002, dtype=f64).reshape(1001, 2)
    yield "summary_wide", np.arange(2002, dtype=np.int64).reshape(2, 1001)
    yield "summary_cube", np.arange(8 * 9 * 20, dtype=f32).reshape(8, 9, 20)
    yield "summary_hidden_large", np.where(np.arange(2000) == 1000, 1e12, np.arange(2000) / 2)
    yield "summary_bool", np.arange(1200) % 3 == 0
    for i in range(12):  # shapes and scales as they come
        shape = tuple(d.rng.integers(1, 6, size=int(d.rng.integers(1, 4))))
        x = d.rng.standard_normal(shape) * 10.0 ** d.rng.integers(-6, 10)
        yield f"random_{i}", x if i % 2 else x.astype(f32)
        yield f"rounded_{i}", np.round(x, int(d.rng.integers(0, 5)))


def write(arrays_path, text_path):
    golden, lines = Golden(), ["NumPy " + np.__version__ + ", str() of the arrays in printing.safetensors"]
    for name, x in arrays():
        golden.put(name, x)
        lines += ["=== " + name, str(x)]
    golden.save(arrays_path)
    text_path.write_text("\n".join(lines) + "\n")
