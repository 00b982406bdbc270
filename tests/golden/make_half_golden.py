"""Makes half.npz: what bfloat16 and float16 are as numbers, and what numbers become in them, by PyTorch, NumPy and fractions;
and io/half.safetensors, patterns of both types as Python's safetensors writes them.

    python3 tests/golden/make_half_golden.py
"""
from fractions import Fraction
from pathlib import Path

import numpy as np
import safetensors
import torch
from safetensors.torch import save_file

here = Path(__file__).parent
rng = np.random.default_rng(16)
# bits of the fraction, the exponent of the smallest unit, the largest finite pattern
FORMATS = {"bfloat16": (7, -133, 0x7F7F), "float16": (10, -24, 0x7BFF)}


def values(name):
    """Every pattern of 16 bits as a float32."""
    patterns = np.arange(65536, dtype=np.uint16)
    if name == "float16":
        return patterns.view(np.float16).astype(np.float32)
    return torch.from_numpy(patterns.view(np.int16)).view(torch.bfloat16).float().numpy()


def nearest(name, x):
    """The pattern nearest to a number that is a fraction, ties to even: in whole numbers of the last bit that is kept."""
    fraction_bits, smallest, largest = FORMATS[name]
    size = abs(Fraction(x))
    exponent = smallest
    while size >= Fraction(2) ** (exponent + fraction_bits + 1):
        exponent += 1
    units = size / Fraction(2) ** exponent
    whole = units.numerator // units.denominator
    rest = units - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    return min((exponent - smallest << fraction_bits) + whole, largest + 1)  # a carry reaches the exponent


def hard_doubles():
    """Ties of either type, their neighbours among doubles and floats, what rounding twice gets wrong, and the ends."""
    found = []
    for name in FORMATS:
        finite = values(name)[: FORMATS[name][2] + 1].astype(np.float64)
        chosen = np.unique(np.concatenate([rng.integers(0, len(finite) - 1, 100), np.arange(6), len(finite) - 2 - np.arange(6),
                                           (1 << FORMATS[name][0]) + np.arange(-4, 4)]))
        for i in chosen:
            tie = (finite[i] + finite[i + 1]) / 2
            for x in (finite[i], tie):
                found += [x, np.nextafter(x, 0), np.nextafter(x, np.inf)]
            found += [float(np.nextafter(np.float32(tie), np.float32(side))) for side in (0, np.inf)]
            found += [tie * (1 + 2.0**-40), tie * (1 - 2.0**-40)]  # a float is the tie, and the number is not
    ends = [0.0, 5e-324, 2.0**-150, 2.0**-149, 2.0**-134, np.nextafter(2.0**-134, 1), 2.0**-25, np.nextafter(2.0**-25, 1), 65504.0, 65519.999, 65520.0,
            np.nextafter(65520.0, 0), 3.3895313892515355e38, 2.0**128 - 2.0**119, np.nextafter(2.0**128 - 2.0**119, 0), 2.0**128, 1e300]
    found = np.array(found + ends + list(rng.standard_normal(200) * 10.0 ** rng.integers(-45, 39, 200)))
    return np.concatenate([found, -found])


def hard_integers():
    found = [0, 1, 2**63 - 1, 2048, 2049, 2050, 2051, 65503, 65504, 65519, 65520, 65535, 65536]
    for power in range(8, 62):
        tie = 2**power + 2 ** max(power - 8, 0)
        found += [tie - 1, tie, tie + 1, 3 * tie // 2, 2**power + 2 ** max(power - 11, 0) + 1, 2**power + 2 ** max(power - 11, 0)]
    found += [int(n) for n in rng.integers(0, 2**63 - 1, 100)] + [int(n) for n in rng.integers(0, 70000, 100)]
    return np.array(found + [-n for n in found] + [-(2**63)], dtype=np.int64)


def patterns(name, numbers):
    return np.array([nearest(name, x) | (0x8000 if np.signbit(np.float64(x)) else 0) for x in numbers.tolist()], dtype=np.uint16)


def main():
    doubles, integers = hard_doubles(), hard_integers()
    arrays = {"doubles": doubles, "integers": integers, "bfloat16": values("bfloat16")}
    for name in FORMATS:
        arrays[f"{name}_of_doubles"] = patterns(name, doubles)
        arrays[f"{name}_of_integers"] = patterns(name, integers)
    # The fractions agree with NumPy on doubles, and with PyTorch on floats: it rounds a double to a float first.
    with np.errstate(over="ignore"):
        assert (doubles.astype(np.float16).view(np.uint16) == arrays["float16_of_doubles"]).all()
        floats = doubles.astype(np.float32)
    exact = floats == doubles
    by_torch = torch.from_numpy(floats[exact]).bfloat16().view(torch.int16).numpy().view(np.uint16)
    assert exact.sum() > 1000 and (by_torch == arrays["bfloat16_of_doubles"][exact]).all()
    twice = torch.from_numpy(floats).bfloat16().view(torch.int16).numpy().view(np.uint16)
    assert (twice != arrays["bfloat16_of_doubles"]).sum() > 100
    # What str() gives for every positive float16.
    texts = [str(x) for x in np.arange(0x7C00, dtype=np.uint16).view(np.float16)]
    arrays["float16_texts"] = np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)
    np.savez_compressed(here / "half.npz", **arrays)
    some = torch.arange(0, 65520, 13, dtype=torch.int32).to(torch.uint16).view(torch.int16).reshape(-1, 60)
    save_file({"brain": some.view(torch.bfloat16), "half": some.clone().view(torch.float16), "wide": torch.ones(2)}, here / "io/half.safetensors")
    print(f"half.npz: PyTorch {torch.__version__}, NumPy {np.__version__}, safetensors {safetensors.__version__}, {len(doubles)} doubles, {len(integers)} integers")


if __name__ == "__main__":
    main()
