// The storage movie: frames, and their text.
#include <algorithm>
#include <iostream>

#include "viz/storage.h"
#include "viz/text.h"
#include "weft/core/error.h"

namespace weft::viz {
namespace {

constexpr std::size_t max_elements = 64, max_storages = 26;

// Calls f with the address of x's first element.
template <class F>
auto at_data(const Tensor& x, F&& f) {
    switch (x.dtype()) {
        case DType::float32:
            return f(x.data<float>());
        case DType::float64:
            return f(x.data<double>());
        case DType::int64:
            return f(x.data<std::int64_t>());
        case DType::boolean:
            break;
    }
    return f(x.data<bool>());
}

// The position in memory of each element of x, relative to the first.
std::vector<std::size_t> positions(const Tensor& x) {
    std::vector<std::size_t> found{0};
    for (int axis = 0; axis < x.rank(); ++axis) {
        std::vector<std::size_t> next;
        for (const std::size_t start : found)
            for (std::int64_t i = 0; i < x.shape()[axis]; ++i)
                next.push_back(start + static_cast<std::size_t>(i * x.strides()[axis]));
        found = std::move(next);
    }
    return found;
}

// The position of x's first element relative to the first element of `owner`, which has the same storage.
std::int64_t distance(const Tensor& owner, const Tensor& x) {
    return at_data(x, [&](auto* data) {
        return static_cast<std::int64_t>(data - owner.data<std::remove_pointer_t<decltype(data)>>());
    });
}

}  // namespace

std::size_t row_of(const Tensor& x) { return x.rank() == 0 ? 1 : static_cast<std::size_t>(x.shape().back()); }

std::string storage_text(const StorageFrame& frame) {
    return (frame.is_new ? "new storage " : "a view of storage ") + std::string(1, frame.storage);
}

std::string layout(const Tensor& x) {
    return "shape " + x.shape().str() + ", strides " + x.strides().str() +
           (x.is_contiguous() ? ", contiguous" : ", not contiguous");
}

StorageMovie& StorageMovie::show(const std::string& step, const Tensor& x) {
    if (x.numel() == 0 || x.numel() > static_cast<std::int64_t>(max_elements))
        throw ValueError("StorageMovie: ", step, " has shape ", x.shape(), ", but a frame shows 1 to ",
                         max_elements, " elements; take a smaller tensor");
    StorageFrame frame;
    frame.step = step;
    frame.tensor = x.detach();  // the caller may reassign x
    frame.at = positions(x);
    const StorageFrame* owner = nullptr;
    for (const StorageFrame& before : frames_) {
        if (!before.tensor.defined()) continue;
        if (owner == nullptr && before.tensor.shares_storage(x)) owner = &before;
        frame.storage = std::max(frame.storage, static_cast<char>(before.storage + 1));
    }
    frame.is_new = owner == nullptr;
    std::size_t size = 1 + *std::max_element(frame.at.begin(), frame.at.end());
    if (frame.is_new && (size > max_elements || frame.storage > static_cast<char>('A' + max_storages - 1)))
        throw ValueError("StorageMovie: ", step, " spans ", size, " elements of memory as storage number ",
                         frame.storage - 'A' + 1, "; a movie has at most ", max_elements, " in each of ",
                         max_storages);
    const Tensor& base = frame.is_new ? frame.tensor : owner->tensor;
    if (owner != nullptr) {
        frame.storage = owner->storage;
        const std::int64_t offset = distance(base, x);
        const std::size_t extent = size;
        size = owner->memory.size();
        if (offset < 0 || static_cast<std::size_t>(offset) + extent > size)
            throw ValueError("StorageMovie: ", step, " reaches beyond what the first frame of its storage, ",
                             owner->step, ", shows; show the tensor that owns the memory first");
        for (std::size_t& position : frame.at) position += static_cast<std::size_t>(offset);
    }
    frame.memory = at_data(base, [&](const auto* data) { return std::vector<double>(data, data + size); });
    frames_.push_back(std::move(frame));
    return *this;
}

StorageMovie& StorageMovie::attempt(const std::string& step, const std::function<Tensor()>& make) {
    Tensor made;
    try {
        made = make();
    } catch (const Error& error) {
        StorageFrame frame;
        frame.step = step;
        frame.refused = error.what();
        frames_.push_back(std::move(frame));
        return *this;
    }
    return show(step, made);
}

std::string StorageMovie::str() const {
    std::string text;
    for (std::size_t f = 0; f < frames_.size(); ++f) {
        const StorageFrame& frame = frames_[f];
        text += (f > 0 ? "\n" : "") + std::to_string(f + 1) + ". " + frame.step + "\n";
        if (!frame.tensor.defined()) {
            text += "   refused: " + frame.refused + "\n";
            continue;
        }
        std::string memory, at, reads;
        for (const double value : frame.memory) memory += " " + number(value);
        for (std::size_t i = 0; i < frame.at.size(); ++i) {
            const char* const gap = i > 0 && i % row_of(frame.tensor) == 0 ? " | " : " ";
            at += gap + std::to_string(frame.at[i]);
            reads += gap + number(frame.memory[frame.at[i]]);
        }
        text += "   " + layout(frame.tensor) + "; " + storage_text(frame) + "\n   memory" + memory +
                "\n   at    " + at + "\n   reads " + reads + "\n";
    }
    return text;
}

void StorageMovie::print() const { std::cout << str() << std::flush; }

}  // namespace weft::viz
