#include "kernels/interface.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <iostream>
#include <mutex>
#include <numeric>

#include "weft/kernels/matmul_precision.h"

namespace weft {

namespace {
thread_local bool rounds_operands = false;

bool is_medium(std::string_view precision) {
    if (precision != "medium" && precision != "highest")
        throw ValueError("set_float32_matmul_precision: \"", precision, "\"; use \"highest\" or \"medium\"");
    if (precision == "medium" && !has_bfloat16_products()) {
        static std::once_flag said;
        std::call_once(said, [] {
            std::cerr << "weft: products in bfloat16 are not faster here: they need oneDNN 2.6 (Debian's "
                         "libdnnl-dev, when "
                         "Weft is built) and a processor with AVX512-BF16 or AMX\n";
        });
    }
    return precision == "medium";
}
}  // namespace

Plain::Plain(Readings readings, bool on)
    : mode_(plain_readings,
            on ? plain_readings | readings : plain_readings & ~static_cast<unsigned>(readings)) {}

bool is_plain(Plain::Readings readings) { return (plain_readings & readings) == readings; }

void set_float32_matmul_precision(std::string_view precision) { rounds_operands = is_medium(precision); }
std::string get_float32_matmul_precision() { return rounds_operands ? "medium" : "highest"; }
Float32MatmulPrecision::Float32MatmulPrecision(std::string_view precision)
    : mode_(rounds_operands, is_medium(precision)) {}
bool has_bfloat16_products() {
    return kernels::installed.has_half_products != nullptr && kernels::installed.has_half_products();
}

// What kept_operand keeps: the array, and of which view of the memory at which version.
struct Rounded {
    Array array;
    Strides strides;
    std::int64_t offset;
    std::uint64_t version;
};

namespace kernels {

Array copy_of(const Array& x, DType dtype) {
    Array made = make_array(x.shape, dtype);
    copy(made, x);
    return made;
}

Array contiguous(const Array& x) { return x.is_contiguous() ? x : copy_of(x); }

Array filled(const Shape& shape, double value, DType dtype, const char* operation) {
    Array x = make_array(shape, dtype, operation);
    fill(x, value);
    return x;
}

bool is_matrix(const Array& x) {
    const int r = x.rank();
    const std::int64_t rows = x.shape[r - 2], columns = x.shape[r - 1], row = x.strides[r - 2],
                       column = x.strides[r - 1];
    const auto fits_blas = [](std::int64_t stride, std::int64_t length) {
        return stride >= length && stride <= INT_MAX;
    };
    const bool by_rows = (column == 1 || columns == 1) && (fits_blas(row, columns) || rows == 1);
    const bool by_columns = (row == 1 || rows == 1) && (fits_blas(column, rows) || columns == 1);
    return by_rows || by_columns;
}

DType operand_type(DType type) { return rounds_operands && type == float32 ? bfloat16 : type; }

Array dense_operand(const Array& x) {
    const DType type = operand_type(x.dtype);
    return type == x.dtype ? x : copy_of(x, type);
}

namespace {

// x in bfloat16, copied in the order of its memory: the axes with the largest strides first.
Array rounded(const Array& x) {
    std::vector<int> axes(static_cast<std::size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) { return x.strides[a] > x.strides[b]; });
    Array ordered = x;
    for (int i = 0; i < x.rank(); ++i) {
        ordered.shape[i] = x.shape[axes[static_cast<std::size_t>(i)]];
        ordered.strides[i] = x.strides[axes[static_cast<std::size_t>(i)]];
    }
    const Array copied = copy_of(ordered, bfloat16);
    Strides strides = x.strides;
    for (int i = 0; i < x.rank(); ++i) strides[axes[static_cast<std::size_t>(i)]] = copied.strides[i];
    return view_of(copied, x.shape, strides, 0);
}

}  // namespace

Array operand(const Array& x) {
    const Array y = operand_type(x.dtype) == x.dtype ? x : rounded(x);
    return is_matrix(y) ? y : contiguous(y);
}

Array kept_operand(const Array& weight) {
    if (operand_type(weight.dtype) == weight.dtype || weight.storage->is_foreign()) return operand(weight);
    static std::mutex mutex;
    Storage& storage = *weight.storage;
    {
        const std::lock_guard lock(mutex);
        if (const auto& kept = storage.rounded;
            kept && kept->version == storage.version && kept->offset == weight.offset &&
            kept->array.shape == weight.shape && kept->strides == weight.strides)
            return kept->array;
    }
    const Rounded made{operand(weight), weight.strides, weight.offset, storage.version};
    const std::lock_guard lock(mutex);
    storage.rounded = std::make_shared<const Rounded>(made);
    return made.array;
}

void check_gemm_sizes(const char* operation, std::int64_t m, std::int64_t n, std::int64_t k) {
    for (std::int64_t size : {m, n, k})
        if (size > INT_MAX)
            throw ShapeError(operation, ": a size of ", size, " in (", m, ", ", k, ") @ (", k, ", ", n,
                             ") is more than BLAS can count (", INT_MAX, "); cut the product into slices");
}

bool all(const Array& x) {
    const Array dense = contiguous(x);
    const bool* data = dense.data<bool>();
    return std::all_of(data, data + dense.numel(), [](bool v) { return v; });
}

std::int64_t first_beyond(const Array& x, DType to) {
    const bool narrows =
        is_floating_point(to) ? computed_in(to) != to : to == int64 && is_floating_point(x.dtype);
    if (!narrows || to == x.dtype || x.dtype == boolean) return -1;
    const Array dense = contiguous(x);
    return visit_any(x.dtype, [&]<class T>(T) {
        const T *begin = dense.data<T>(), *end = begin + dense.numel();
        const T* found = std::find_if(begin, end, [to, limit = end_of(to).infinite](T v) {
            const auto value = static_cast<double>(v);
            return to == int64 ? !(value >= -0x1p63 && value < 0x1p63)
                               : std::abs(value) >= limit && std::abs(value) < INFINITY;
        });
        return found == end ? -1 : found - begin;
    });
}

std::int64_t first_outside(const Array& indices, std::int64_t low, std::int64_t high,
                           std::optional<std::int64_t> allowed) {
    const std::int64_t* index = indices.data<std::int64_t>();
    for (std::int64_t i = 0; i < indices.numel(); ++i)
        if ((index[i] < low || index[i] >= high) && index[i] != allowed) return i;
    return -1;
}

}  // namespace kernels
}  // namespace weft
