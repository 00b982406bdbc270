// Step 4: many numbers with a shape, and views that share them.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using Index = std::ptrdiff_t;
using Shape = std::vector<Index>;

inline std::string to_string(const Shape& shape) {  // "(2, 3)"
    std::string text;
    for (const Index size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
    return "(" + text + ")";
}

inline Index numel(const Shape& shape) {  // how many elements an array of that shape has
    Index n = 1;
    for (const Index size : shape) n *= size;
    return n;
}

inline Shape row_major(const Shape& shape) {  // (2, 3, 4) → (12, 4, 1)
    Shape strides(shape.size());
    Index step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; step *= shape[axis]) strides[axis] = step;
    return strides;
}

// Element (i, j, …) is storage[offset + i · strides[0] + j · strides[1] + …]. Copies and views share the
// storage; only shape, strides and offset are their own.
struct Array {
    std::shared_ptr<std::vector<double>> storage;
    Shape shape, strides;
    Index offset = 0;

    Array() = default;  // undefined: it has no storage
    Array(const Shape& shape, std::vector<double> values) : shape(shape), strides(row_major(shape)) {
        if (numel(shape) != static_cast<Index>(values.size()))
            throw std::invalid_argument("the number of values does not fit the shape " + to_string(shape));
        storage = std::make_shared<std::vector<double>>(std::move(values));
    }
    static Array full(const Shape& shape, double value) {
        return {shape, std::vector<double>(static_cast<std::size_t>(numel(shape)), value)};
    }
    bool defined() const { return storage != nullptr; }
    Index rank() const { return static_cast<Index>(shape.size()); }
    Index axis(Index a) const { return a < 0 ? a + rank() : a; }  // −1 is the last
    Index size(Index a) const { return shape[axis(a)]; }
    double& at(const Shape& index) const {
        Index position = offset;
        for (Index a = 0; a < rank(); ++a) position += index[a] * strides[a];
        return (*storage)[position];
    }

    // The position in storage of every element, the last index running fastest.
    std::vector<Index> positions() const {
        std::vector<Index> found = {offset}, next;
        for (Index a = 0; a < rank(); ++a, found.swap(next)) {
            next.clear();
            next.reserve(found.size() * static_cast<std::size_t>(shape[a]));
            for (const Index start : found)
                for (Index i = 0; i < shape[a]; ++i) next.push_back(start + i * strides[a]);
        }
        return found;
    }
    std::vector<double> values() const {
        const auto first = storage->begin() + offset;
        if (strides == row_major(shape)) return {first, first + numel(shape)};
        std::vector<double> values;
        values.reserve(static_cast<std::size_t>(numel(shape)));
        for (const Index position : positions()) values.push_back((*storage)[position]);
        return values;
    }

    // ---- views: they look at the same storage
    Array transpose(Index a, Index b) const {
        Array view = *this;
        std::swap(view.shape[axis(a)], view.shape[axis(b)]);
        std::swap(view.strides[axis(a)], view.strides[axis(b)]);
        return view;
    }
    Array slice(Index a, Index from, Index to) const {  // indices from … to − 1 of axis a
        if (from < 0 || to < from || to > size(a))
            throw std::out_of_range("no slice [" + std::to_string(from) + ", " + std::to_string(to) + ") of " +
                                    to_string(shape));
        Array view = *this;
        view.shape[axis(a)] = to - from;
        view.offset += from * strides[axis(a)];
        return view;
    }
    Array expand(const Shape& to) const {  // repeats axes of size 1, and adds axes in front: stride 0
        Array view = *this;
        view.shape = to;
        view.strides.assign(to.size(), 0);
        const Index added = view.rank() - rank();
        for (Index a = 0; a < rank(); ++a) {
            if (added < 0 || (shape[a] != 1 && shape[a] != to[a + added]))
                throw std::invalid_argument("cannot expand " + to_string(shape) + " to " + to_string(to));
            if (shape[a] != 1) view.strides[a + added] = strides[a];
        }
        return view;
    }

    // This array itself if its elements lie in storage one after the other, a copy if not.
    Array contiguous() const { return strides == row_major(shape) ? *this : Array(shape, values()); }
    Array reshape(const Shape& to) const {  // a view of contiguous()
        if (numel(to) != numel(shape))
            throw std::invalid_argument("cannot reshape " + to_string(shape) + " to " + to_string(to));
        Array view = contiguous();
        view.shape = to;
        view.strides = row_major(to);
        return view;
    }
};
