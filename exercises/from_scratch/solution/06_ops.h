// Step 6: functions of each element, views, sums, products of matrices, softmax and cross-entropy.
#pragma once

#include <algorithm>
#include <limits>

#include "05_tensor.h"

// ---- functions of each element

// f gives an element's result and its slope, which the rule multiplies by: for sin it is {sin x, cos x}.
template <class F>
Tensor elementwise(const Tensor& x, F f) {
    std::vector<double> y, slopes;
    for (const double value : x.data().values()) {
        const auto [result, slope] = f(value);
        y.push_back(result);
        slopes.push_back(slope);
    }
    return record({x.shape(), y}, {x},
                  [slope = Array(x.shape(), slopes)](const Array& dy) { return Grads{dy * slope}; });
}
inline Tensor exp(const Tensor& x) {
    return elementwise(x, [](double x) { return std::pair(std::exp(x), std::exp(x)); });
}
inline Tensor log(const Tensor& x) {
    return elementwise(x, [](double x) { return std::pair(std::log(x), 1 / x); });
}
inline Tensor sqrt(const Tensor& x) {
    return elementwise(x, [](double x) { return std::pair(std::sqrt(x), 0.5 / std::sqrt(x)); });
}
inline Tensor tanh(const Tensor& x) {
    return elementwise(x, [](double x) { return std::pair(std::tanh(x), 1 - std::tanh(x) * std::tanh(x)); });
}

// ---- views

// y is a view of x. Its gradient is added to zeros of x's shape, through the same view of them.
template <class View>
Tensor viewed(const Tensor& x, View view) {
    return record(view(x.data()), {x}, [shape = x.shape(), view](const Array& dy) {
        const Array dx = Array::full(shape, 0);
        update(view(dx), dy, std::plus<>());
        return Grads{dx};
    });
}
inline Tensor reshape(const Tensor& x, const Shape& shape) {
    return viewed(x, [shape](const Array& a) { return a.reshape(shape); });
}
inline Tensor transpose(const Tensor& x, Index first, Index second) {
    return viewed(x, [=](const Array& a) { return a.transpose(first, second); });
}
inline Tensor slice(const Tensor& x, Index axis, Index from, Index to) {
    return viewed(x, [=](const Array& a) { return a.slice(axis, from, to); });
}

// ---- reductions

inline Tensor sum_to(const Tensor& x, const Shape& shape) {
    return record(sum_to(x.data(), shape), {x},
                  [shape = x.shape()](const Array& dy) { return Grads{dy.expand(shape)}; });
}
inline Tensor sum(const Tensor& x) { return sum_to(x, {}); }
inline Tensor mean(const Tensor& x) { return sum(x) / static_cast<double>(numel(x.shape())); }

inline Shape last_kept(Shape shape) {  // (…, N) → (…, 1)
    shape.back() = 1;
    return shape;
}
inline Tensor sum_last(const Tensor& x) { return sum_to(x, last_kept(x.shape())); }
inline Tensor mean_last(const Tensor& x) { return sum_last(x) / static_cast<double>(x.size(-1)); }
inline Array max_last(const Array& x) {
    const Array max = Array::full(last_kept(x.shape), -std::numeric_limits<double>::infinity());
    update(max.expand(x.shape), x, [](double a, double b) { return std::max(a, b); });
    return max;
}

// ---- products: (…, M, K) @ (…, K, N) → (…, M, N), where the leading axes broadcast

inline Array matmul(const Array& a, const Array& b) {
    if (a.rank() < 2 || b.rank() < 2 || a.size(-1) != b.size(-2))
        throw std::invalid_argument("cannot multiply " + to_string(a.shape) + " by " + to_string(b.shape));
    const Index M = a.size(-2), K = a.size(-1), N = b.size(-1);
    const Shape batch =
        broadcast(Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
    const auto with = [&batch](Index rows, Index columns) {
        Shape shape = batch;
        shape.insert(shape.end(), {rows, columns});
        return shape;
    };
    const Array left = a.expand(with(M, K)).contiguous(), right = b.expand(with(K, N)).contiguous();
    const Array product = Array::full(with(M, N), 0);
    const double* x = left.storage->data() + left.offset;
    const double* y = right.storage->data() + right.offset;
    double* z = product.storage->data();
    for (Index n = 0; n < numel(batch); ++n, x += M * K, y += K * N, z += M * N)
        for (Index i = 0; i < M; ++i)
            for (Index k = 0; k < K; ++k)
                for (Index j = 0; j < N; ++j) z[i * N + j] += x[i * K + k] * y[k * N + j];
    return product;
}
inline Tensor matmul(const Tensor& a, const Tensor& b) {
    return record(matmul(a.data(), b.data()), {a, b}, [x = a.data(), y = b.data()](const Array& dz) {
        return Grads{matmul(dz, y.transpose(-2, -1)), matmul(x.transpose(-2, -1), dz)};
    });
}

// ---- softmax and cross-entropy, over the last axis

// The maximum is subtracted so that exp cannot overflow. It cancels, so it needs no gradient.
inline Tensor softmax(const Tensor& x) {
    const Tensor e = exp(x - max_last(x.data()));  // (…, N), each between 0 and 1
    return e / sum_last(e);                        // (…, N)
}
inline Tensor log_softmax(const Tensor& x) {
    const Tensor shifted = x - max_last(x.data());  // (…, N)
    return shifted - log(sum_last(exp(shifted)));   // (…, N)
}

// The given rows of a table: (V, C) and N ids → (N, C). A row that was taken twice gets both gradients.
inline Tensor index_select(const Tensor& table, const std::vector<Index>& ids) {
    const Array rows = Array::full({static_cast<Index>(ids.size()), table.size(1)}, 0);
    const auto row = [](const Array& a, Index i) { return a.slice(0, i, i + 1); };
    for (std::size_t i = 0; i < ids.size(); ++i) update(row(rows, i), row(table.data(), ids[i]), std::plus<>());
    return record(rows, {table}, [ids, row, shape = table.shape()](const Array& dy) {
        const Array dtable = Array::full(shape, 0);
        for (std::size_t i = 0; i < ids.size(); ++i) update(row(dtable, ids[i]), row(dy, i), std::plus<>());
        return Grads{dtable};
    });
}

// The mean of −ln p of the targets: logits (…, V) and a target for each row → ().
inline Tensor cross_entropy(const Tensor& logits, const std::vector<Index>& targets) {
    const Index V = logits.size(-1), N = numel(logits.shape()) / V;
    std::vector<Index> positions;
    for (Index n = 0; n < N; ++n) positions.push_back(n * V + targets.at(n));
    const Tensor all = reshape(log_softmax(logits), {N * V, 1});  // (N·V, 1)
    return 0 - mean(index_select(all, positions));                // (N, 1) → ()
}
