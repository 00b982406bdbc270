#!/usr/bin/env python3
"""Files in the formats that Weft shares with others, made by those others:

    python3 make_io_golden.py          writes io/*.npy, io/*.npz and io/python.safetensors (numpy, safetensors)
    python3 make_io_golden.py check    reads io/weft*.npz, which Weft wrote, and compares every value

What each file holds follows from its name and shape; tests/io/test_io_npy.cpp knows the same rules.
io/weft*.npz are written by `weft_tests "[write-golden]"`. .npy and .safetensors need no such files: Weft's bytes
are those of numpy.save and of Python's safetensors.
"""
import io
import pathlib
import sys
import zipfile

import numpy as np
import safetensors
import safetensors.numpy

here = pathlib.Path(__file__).parent / "io"


def counted(dtype, *shape):
    """0, 1, 2 … row by row; bool: every third is true."""
    n = np.arange(int(np.prod(shape))).reshape(shape)
    return n % 3 == 0 if dtype == "bool" else n.astype(dtype)


def halves(dtype, *shape):
    """−1, −0.5, 0, 0.5 … row by row."""
    return ((np.arange(int(np.prod(shape))) - 2) / 2).reshape(shape).astype(dtype)


def write(name, array, version=None):
    with open(here / name, "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=True)


# What Weft's own archives and Python's archives hold.
CONTENTS = {
    "scalar": halves("f8"),
    "matrix": halves("f4", 3, 4),
    "blocks.0.weight": halves("f4", 2, 3, 4),
    "ids": counted("i8", 5),
    "mask": counted("bool", 2, 4),
    "nothing": counted("f4", 0, 3),
    "größe": halves("f8", 2),
}


def make():
    here.mkdir(exist_ok=True)
    write("float32.npy", halves("<f4", 3, 4))
    write("float64.npy", halves("<f8", 2, 3, 2))
    write("float16.npy", halves("<f2", 3, 4))
    write("int64.npy", counted("<i8", 7))
    write("bool.npy", counted("bool", 2, 5))
    write("scalar.npy", halves("<f8"))
    write("empty.npy", counted("<f4", 0, 3))
    write("rank8.npy", counted("<f4", 1, 2, 1, 3, 1, 2, 1, 1))
    write("version2.npy", halves("<f4", 3, 4), (2, 0))
    write("version3.npy", halves("<f4", 3, 4), (3, 0))
    write("fortran.npy", np.asfortranarray(counted("<f4", 2, 3, 4)))
    write("fortran_bool.npy", np.asfortranarray(counted("bool", 3, 5)))
    for code in ["f2", "f4", "f8", "i8", "i4", "u2"]:
        write(f"big_{code}.npy", counted(">" + code, 2, 3))
    write("big_fortran.npy", np.asfortranarray(counted(">f8", 2, 3)))
    # every value of the small types; of the larger ones their ends
    half = np.arange(65536, dtype="<u2").view("<f2")
    np.savez_compressed(here / "float16.npz", float16=half, float32=half.astype("<f4"))
    write("int8.npy", np.arange(-128, 128, dtype="i1"))
    write("uint8.npy", np.arange(256, dtype="u1"))
    for code in ["i2", "i4", "u2", "u4", "i8"]:
        info = np.iinfo(code)
        write(f"ends_{code}.npy", np.array([info.min, 0, 1, info.max], dtype="<" + code))
    # what Weft does not read
    write("no_uint64.npy", np.arange(3, dtype="<u8"))
    write("no_complex.npy", np.arange(3, dtype="<c8"))
    write("no_longdouble.npy", np.arange(3).astype("<f16"))
    write("no_text.npy", np.array(["a", "bc"]))
    write("no_time.npy", np.array(["2020-01-01"], dtype="<M8[s]"))
    write("no_object.npy", np.array([{}, None], dtype=object))
    write("no_struct.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i8")]))
    write("no_rank9.npy", np.zeros((1,) * 9, "<f4"))

    np.savez(here / "savez.npz", **CONTENTS)
    np.savez_compressed(here / "savez_compressed.npz", **CONTENTS)
    np.savez(here / "savez_empty.npz")
    np.savez_compressed(here / "long.npz", long=np.tile(counted("<i8", 100), 1000))
    # as archives above 4 GiB are, with every size and place in the wide fields
    limits = zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT
    zipfile.ZIP64_LIMIT = zipfile.ZIP_FILECOUNT_LIMIT = 0
    np.savez(here / "zip64.npz", **CONTENTS)
    zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = limits

    def archive(name, method=zipfile.ZIP_STORED, **members):
        with zipfile.ZipFile(here / name, "w", method) as zipped:
            for member, data in members.items():
                zipped.writestr(zipfile.ZipInfo(member.replace("_npy", ".npy")), data, method)

    one = io.BytesIO()
    np.save(one, halves("<f4", 3))
    archive("no_bzip2.npz", zipfile.ZIP_BZIP2, x_npy=one.getvalue())
    archive("no_text.npz", x_npy=one.getvalue(), readme="not an array")

    safetensors.numpy.save_file(CONTENTS, here / "python.safetensors", {"größe": "made by Python"})


def check():
    for name in ["weft.npz", "weft_compressed.npz"]:
        assert zipfile.ZipFile(here / name).testzip() is None
        with np.load(here / name) as found:
            assert list(found.keys()) == list(CONTENTS), list(found.keys())
            for key, expected in CONTENTS.items():
                assert found[key].dtype == expected.dtype and found[key].shape == expected.shape, key
                assert found[key].tobytes() == expected.tobytes(), key
        print(name, "is as it should be, says numpy", np.__version__)


check() if sys.argv[1:] == ["check"] else make()
