// The kernels at sizes on both sides of each constant that switches their path, against plain loops: indices,
// ranks, products and memory.
#include <cstring>

#include "environment.h"
#include "fast/gemm.h"
#include "fast/simd.h"
#include "kernel_sizes.h"

using namespace weft;
using namespace weft::kernels::fast;
using namespace sizes;

TEST_CASE("index_select, embedding, gather and their gradients around the ends of strips and tasks", "[ops]") {
    const auto check = [](std::int64_t outer, std::int64_t V, std::int64_t inner, std::int64_t n, DType dtype) {
        INFO(outer << " × " << V << " × " << inner << ", " << n << " indices, of " << name(dtype));
        const Tensor x = small_integers({outer, V, inner}, dtype);
        std::vector<std::int64_t> indices;
        for (std::int64_t i = 0; i < n; ++i) indices.push_back((i * i + 1) % V);
        std::vector<double> taken, added(static_cast<std::size_t>(x.numel()));
        std::vector<std::int64_t> everywhere;  // the same indices for gather, one for each element
        for (std::int64_t o = 0; o < outer; ++o)
            for (const std::int64_t index : indices)
                for (std::int64_t j = 0; j < inner; ++j) {
                    const std::int64_t at = (o * V + index) * inner + j;
                    added[static_cast<std::size_t>(at)] +=
                        small_integer(static_cast<std::int64_t>(taken.size()));
                    taken.push_back(small_integer(at));
                    everywhere.push_back(index);
                }
        const Tensor list = from_vector(indices, {n}), each = from_vector(everywhere, {outer, n, inner});
        check_equal(index_select(x, 1, list), taken);
        check_equal(gather(x, 1, each), taken);
        const Tensor seed = small_integers({outer, n, inner}, dtype);
        check_equal(scatter_add(x.shape(), 1, each, seed), added);
        if (!is_floating_point(dtype)) return;
        const Tensor leaf = x.detach().clone().requires_grad_();
        check_equal(grad({index_select(leaf, 1, list)}, {leaf}, {seed})[0], added);
        check_equal(grad({gather(leaf, 1, each)}, {leaf}, {seed})[0], added);
        if (outer > 1) return;
        const Tensor table = leaf.detach().reshape({V, inner}).requires_grad_();
        check_equal(embedding(table, list), taken);
        check_equal(grad({embedding(table, list)}, {table}, {seed.reshape({n, inner})})[0], added);
    };
    for (const DType dtype : numbers)
        for (const std::int64_t outer : {1, 3})
            for (const std::int64_t inner : neighbours({0, index_strip, 2 * index_strip}))
                check(outer, 4, inner, 6, dtype);
    const std::int64_t per_task = index_bytes / (64 * 4);  // rows of 64 float32
    for (const std::int64_t n : neighbours({per_task, per_task + 1, 2 * per_task}))
        check(1, 50, 64, n, float32);
    check(2, 3, index_bytes / 4 + 1, 2, float32);
    for (const std::int64_t inner : neighbours({index_grain / 4})) check(2, 3, inner, 4, float32);
}

TEST_CASE("gather, scatter_add, sums and views at the highest ranks", "[ops]") {
    for (const int rank : {Shape::max_rank - 1, Shape::max_rank})
        for (int axis = 0; axis < rank; ++axis) {
            INFO("rank " << rank << ", axis " << axis);
            Shape shape = Shape::filled(rank, 2), small = Shape::filled(rank, 1);
            shape[rank / 2] = 3, shape[rank - 1] = 2;
            small[rank - 1] = 2, small[axis] = 2;  // an index that is 1 long on most axes
            const Strides strides = contiguous_strides(shape);
            const Tensor x = small_integers(shape, float64);
            std::vector<std::int64_t> index;
            std::vector<double> taken, added(static_cast<std::size_t>(shape.numel()));
            for (std::int64_t i = 0; i < small.numel(); ++i) {
                index.push_back((i + 1) % 2);
                std::int64_t at = index.back() * strides[axis];
                if (axis != rank - 1) at += i % 2 * strides[rank - 1];  // the last coordinate, else 0
                taken.push_back(small_integer(at));
                added[static_cast<std::size_t>(at)] += small_integer(i);
            }
            check_equal(gather(x, axis, from_vector(index, small)), taken);
            check_equal(scatter_add(shape, axis, from_vector(index, small), small_integers(small, float64)),
                        added);

            // Whole indices: gather reverses the axis, as flip does.
            std::vector<std::int64_t> reversed;
            std::vector<double> flipped, summed(static_cast<std::size_t>(shape.numel() / shape[axis]));
            Shape without = shape;
            without.erase(axis);
            for (std::int64_t i = 0; i < shape.numel(); ++i) {
                const std::int64_t place = i / strides[axis] % shape[axis], mirror = shape[axis] - 1 - place;
                reversed.push_back(mirror);
                flipped.push_back(small_integer(i + (mirror - place) * strides[axis]));
                const std::int64_t block = strides[axis] * shape[axis];
                summed[static_cast<std::size_t>(i / block * strides[axis] + i % strides[axis])] +=
                    small_integer(i);
            }
            check_equal(gather(x, axis, from_vector(reversed, shape)), flipped);
            check_equal(flip(x, axis), flipped);
            check_equal(sum(x, axis), summed);
            // A permuted copy: the element at any place is that of the place it came from.
            const Tensor moved = x.transpose(axis, rank - 1).contiguous();
            Shape place = Shape::filled(rank, 1);
            place[axis] = 0, place[rank - 1] = 1;
            Shape from = place;
            std::swap(from[axis], from[rank - 1]);
            CHECK(moved.at(place) == x.at(from));
            check_equal(moved.transpose(axis, rank - 1), values_of(x));
        }
}

TEST_CASE("products around the sizes at which they are cut", "[ops]") {
    // (A B) v = A (B v), and the same of the transposes, with whole numbers: a block that is missing or wrong
    // shows.
    const auto check = [](std::int64_t m, std::int64_t n, std::int64_t k, DType dtype) {
        INFO(m << " × " << k << " @ " << k << " × " << n << " of " << name(dtype));
        const Tensor a = small_integers({m, k}, dtype), b = small_integers({k, n}, dtype);
        std::vector<double> bv(static_cast<std::size_t>(k)), abv(static_cast<std::size_t>(m));
        for (std::int64_t i = 0; i < k; ++i)
            for (std::int64_t j = 0; j < n; ++j)
                bv[static_cast<std::size_t>(i)] += small_integer(i * n + j) * small_integer(j);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t l = 0; l < k; ++l)
                abv[static_cast<std::size_t>(i)] += small_integer(i * k + l) * bv[static_cast<std::size_t>(l)];
        const Tensor v = small_integers({n}, float64);
        for (const Tensor& y : {matmul(a, b), matmul(a.T().contiguous().T(), b),
                                matmul(a, b.T().contiguous().T()), linear(a, b.T().contiguous())})
            check_equal(sum(y.to(float64) * v, 1), abv);
    };
    for (const DType dtype : floats) {
        for (const std::int64_t n : neighbours({block_multiple, 2 * block_multiple}))
            for (const std::int64_t m : neighbours({0, block_multiple}))
                check(m, n, 7, dtype), check(n, m, 1, dtype);
        for (const std::int64_t n :  // one block, and two; the last of these along the sum
             neighbours({least_parallel / (64 * 64), 2 * least_block / (64 * 64)}))
            check(n, 64, 64, dtype), check(64, n, 64, dtype), check(64, 64, n, dtype);
        for (const std::int64_t n : neighbours({dot_grain / 64}))  // one row
            check(1, n, 64, dtype), check(1, 2 * n, 64, dtype), check(1, 3, n * 64, dtype);
    }
    for (const std::int64_t n : neighbours({16 * least_block / (512 * 512)}))  // blocks in both directions
        check(n, 512, 512, float32), check(512, n, 512, float32), check(512, 512, n, float32);
    check(50, 70, 20 * least_block / (50 * 70), float32);  // many parts of the sum
    // A batch: each product by itself.
    for (const std::int64_t B : neighbours({0, batch_grain / (8 * 8 * 8)})) {
        const Tensor a = small_integers({B, 8, 8}, float32), b = small_integers({B, 8, 8}, float32),
                     y = matmul(a, b);
        for (const std::int64_t i : {std::int64_t{0}, B / 2, B - 1})
            check_equal(y[i], values_of(matmul(a[i], b[i])));
        check_equal(sum(y, {0}),
                    values_of(matmul(a.permute({1, 0, 2}).reshape({8, 8 * B}), b.reshape({8 * B, 8}))));
    }
}

TEST_CASE("blocks of memory are as long as asked for, and at most an eighth or 64 bytes longer", "[ops]") {
    Sizes borders;
    for (std::int64_t power = 64; power <= 1 << 23; power *= 2)
        borders.push_back(power), borders.push_back(power + power / 8);
    for (const std::int64_t bytes : neighbours(borders)) {
        const auto asked = static_cast<std::size_t>(bytes);
        const Storage block(asked), other(asked);
        CAPTURE(asked, block.bytes);
        CHECK((block.bytes >= asked && block.bytes < asked + std::max<std::size_t>(asked / 8, 64)));
        if (sanitized) CHECK(block.bytes == asked);  // so that it sees what goes beyond
        const std::uintptr_t alignment = block.bytes < 4 << 20 ? 64 : 2 << 20;  // large ones on large pages
        CHECK(reinterpret_cast<std::uintptr_t>(block.data) % alignment == 0);
        std::memset(block.data, 1, block.bytes);
        std::memset(other.data, 2, other.bytes);  // no byte of it is the first one's
        const char* const data = static_cast<const char*>(block.data);
        CHECK(static_cast<std::size_t>(std::count(data, data + block.bytes, 1)) == block.bytes);
    }
}
