#include <cstring>
#include <iostream>
#include <mutex>
#include <vector>

#include "core/common.h"
#include "core/formula.h"
#include "packed/formats.h"
#include "weft/packed/packed.h"

namespace weft {

Tensor pack(const Tensor& w, BlockFormat format) {
    if (!is_floating_point(w.dtype()))
        throw DTypeError("pack: takes a floating type, not ", name(w.dtype()), "; convert it with to(float32)");
    if (w.rank() != 2) throw ShapeError("pack: a weight of shape ", w.shape(), "; it must be a matrix (n, k)");
    if (!kernels::is_written(format))
        throw ValueError("pack: ", name(format), " is read from files and not written; use Q8_0, Q4_0 or Q4_1");
    (void)check_sizes(w.shape(), format, "pack");
    const Array x = w.detach().to(float32).array();
    if (const std::int64_t wrong = kernels::first_unpackable(x, format); wrong >= 0)
        throw ValueError(
            "pack: the ", blocks_of(format).length, " weights from ", format_index(wrong, w.shape()),
            " on have a NaN, an infinity or a scale that float16 does not hold, and ", name(format),
            " needs finite ones; look for it with isfinite, or keep this weight in float32");
    return Tensor(kernels::pack(x, format));
}

std::byte* bytes_at(const Tensor& x) {
    check_may_read("data", x);
    return bytes_at(x.array());
}

Tensor dequantize(const Tensor& w) { return w.to(float32); }

std::span<const std::byte> bytes_of(const Tensor& w) { return std::as_bytes(std::span(raw_values(w))); }

namespace {
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

void set_float32_matmul_precision(std::string_view precision) {
    Modes::set(Modes::medium_products, is_medium(precision));
}
std::string get_float32_matmul_precision() { return Modes::all(Modes::medium_products) ? "medium" : "highest"; }
Float32MatmulPrecision::Float32MatmulPrecision(std::string_view precision)
    : mode_(Modes::medium_products, is_medium(precision)) {}
bool has_bfloat16_products() {
    return kernels::installed.has_half_products != nullptr && kernels::installed.has_half_products();
}

namespace kernels {

// Weights in fewer bits: widened row by row, and made.

namespace reference {
namespace {

// Row i of W.
std::vector<float> row(const CompactMatrix& w, std::int64_t i) {
    std::vector<float> out(static_cast<std::size_t>(w.k));
    const std::byte* from = w.data + i * w.row_bytes;
    if (!is_quantized(w.dtype)) {
        for (float& value : out) {
            std::uint16_t bits;
            std::memcpy(&bits, from, 2);
            from += 2;
            value = w.dtype == float16 ? half::from_float16(bits) : half::from_bfloat16(bits);
        }
        return out;
    }
    visit_block<Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K>(w.dtype, [&]<class Format>(Format) {
        for (std::int64_t p = 0; p < w.k; p += Format::length, from += Format::bytes)
            Format::widen(from, out.data() + p);
    });
    return out;
}

void widen_rows(const Array& out, const CompactMatrix& w, const Array& indices) {
    for (std::int64_t i = 0; i < indices.numel(); ++i) {
        const std::vector<float> weights = row(w, at<std::int64_t>(indices, i));
        std::copy(weights.begin(), weights.end(), out.data<float>() + i * w.k);
    }
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::widen_rows) widen_rows{reference::widen_rows, installed.widen_rows};

namespace {

// f(format) for one that is written.
template <class Function>
void visit_written(DType format, const Function& f) {
    visit_block<reference::Q8_0, reference::Q4_0, reference::Q4_1>(format, f);
}

}  // namespace

DType operand_type(DType type) {
    return Modes::all(Modes::medium_products) && type == float32 ? bfloat16 : type;
}

bool is_written(DType format) {
    bool written = false;
    visit_written(format, [&](auto) { written = true; });
    return written;
}

std::int64_t first_unpackable(const Array& w, DType format) {
    const Array x = contiguous(w);
    std::int64_t found = -1;
    visit_written(format, [&]<class Format>(Format) {
        for (std::int64_t i = 0; i < x.numel() && found < 0; i += Format::length)
            if (!Format::fits(x.data<float>() + i)) found = i;
    });
    return found;
}

Array pack(const Array& w, DType format) {
    const Array x = contiguous(w), y = make_array(w.shape, format, "pack");
    visit_written(format, [&]<class Format>(Format) {
        for_items(x.numel() / Format::length, Format::length, 1 << 14, [&](std::int64_t block) {
            Format::pack(x.data<float>() + block * Format::length, y.storage->begin() + block * Format::bytes);
        });
    });
    return y;
}

}  // namespace kernels
}  // namespace weft
