# gdb's print of Weft's types. In gdb:  source weft_gdb.py  (docs/debugging.md)
#
#     (gdb) print x
#     $1 = (2, 8) float32 requires_grad {1, 1, 1, 1, 1, 1, 1, 1, …}
#
# It reads memory and calls nothing, so it works on a core file, and where the library has no debug information: then
# gdb knows a Tensor as a pointer to something, and the places below are those of TensorImpl, Array and Storage. A
# static_assert in src/core/tensor.cpp compares them.
import struct

import gdb
import gdb.printing

SHAPE = 72  # bytes of a Shape: eight sizes and the rank
PLACES = {"storage": 0, "shape": 16, "strides": 16 + SHAPE, "offset": 16 + 2 * SHAPE, "dtype": 24 + 2 * SHAPE,
          "node": 32 + 2 * SHAPE}
DTYPES = [("float32", "f"), ("float64", "d"), ("int64", "q"), ("bool", "?"),
          ("bfloat16", "H"), ("float16", "e")]
SHOWN = 8  # values


def read(address, form):
    return struct.unpack(form, bytes(gdb.selected_inferior().read_memory(address, struct.calcsize(form))))


def sizes_at(address):
    *sizes, rank, _ = read(address, "8qii")
    if not 0 <= rank <= 8:
        raise gdb.MemoryError("no shape")
    return sizes[:rank]


def as_tuple(sizes):
    return "(" + ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "") + ")"


def number(value):
    return str(value).lower() if isinstance(value, bool) else f"{value:.6g}" if isinstance(value, float) else str(value)


class Shape:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            return as_tuple(sizes_at(int(self.value.address)))
        except gdb.MemoryError:
            return "no shape yet"


class Tensor:
    def __init__(self, value):
        pointer = value["impl_"]
        names = [field.name for field in pointer.type.strip_typedefs().fields()]
        while "_M_ptr" not in names and "__ptr_" not in names:  # std::shared_ptr's base in libstdc++
            pointer = pointer.cast(pointer.type.strip_typedefs().fields()[0].type)
            names = [field.name for field in pointer.type.strip_typedefs().fields()]
        self.impl = int(pointer["_M_ptr" if "_M_ptr" in names else "__ptr_"])

    def to_string(self):
        try:
            return self.text() if self.impl else "undefined"
        except (gdb.MemoryError, IndexError):
            return "no tensor yet"  # before its constructor has run

    def text(self):
        def at(name, form):
            return read(self.impl + PLACES[name], form)[0]

        shape, strides = (sizes_at(self.impl + PLACES[name]) for name in ("shape", "strides"))
        kind = at("dtype", "B")
        if kind >= len(DTYPES):
            return as_tuple(shape) + " in blocks"
        name, form = DTYPES[kind]
        text = as_tuple(shape) + " " + name + (" requires_grad" if at("node", "P") else "")
        count = 1
        for size in shape:
            count *= size
        data, = read(at("storage", "P"), "P")
        values = []
        for i in range(min(count, SHOWN)):
            place = at("offset", "q")
            for size, stride in zip(reversed(shape), reversed(strides)):  # i as indices, the last axis first
                place += i % size * stride
                i //= size
            value, = read(data + place * struct.calcsize(form), form)
            if name == "bfloat16":  # the first half of a float
                value, = struct.unpack("f", struct.pack("I", value << 16))
            values.append(number(value))
        return text + " {" + ", ".join(values) + (", …" if count > SHOWN else "") + "}"


printers = gdb.printing.RegexpCollectionPrettyPrinter("weft")
printers.add_printer("Tensor", "^weft::Tensor$", Tensor)
printers.add_printer("Shape", "^weft::Shape$", Shape)
gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)
