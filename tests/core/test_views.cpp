// Views share storage wherever strides allow, and copy only where they must.
#include "golden/golden.h"
#include "refusal.h"
#include "weft/core.h"

using namespace weft;

namespace {

// (2, 3, 4) holding 0 … 23: element (i, j, k) is 12i + 4j + k
Tensor counted() { return arange(0, 24, 1, float64).reshape({2, 3, 4}); }

}  // namespace

TEST_CASE("every view shares storage and version with its base", "[views]") {
    Tensor x = counted();
    const std::vector<Tensor> views = {x.reshape({6, 4}),      x.view({-1}),   x.permute({2, 0, 1}),
                                       x.transpose(0, 2),      x.unsqueeze(1), x.unsqueeze(1).squeeze(1),
                                       x.slice(2, 1, 4, 2),    x.select(1, 2), x[1],
                                       x.expand({5, 2, 3, 4}), x[0].T(),       x.squeeze(),
                                       x.contiguous(),         x.detach(),     x.to(float64)};
    x.fill_(-1);
    for (std::size_t i = 0; i < views.size(); ++i) {
        INFO("view " << i);
        CHECK(views[i].shares_storage(x));
        CHECK(views[i].version() == x.version());
        CHECK(same_bits(views[i], full(views[i].shape(), -1, float64)));
    }
}

TEST_CASE("permute and transpose exchange axes by strides", "[views]") {
    const Tensor x = counted(), y = x.permute({2, 0, 1});
    CHECK(y.shape() == Shape{4, 2, 3});
    CHECK(y.strides() == Strides{1, 12, 4});
    CHECK_FALSE(y.is_contiguous());
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 4; ++k) {
                CHECK(y.at({k, i, j}) == 12 * i + 4 * j + k);
                CHECK(x.transpose(0, -1).at({k, j, i}) == 12 * i + 4 * j + k);
            }
    CHECK(x.permute({-1, 0, -2}).strides() == Strides{1, 12, 4});
}

TEST_CASE("reshape shares where strides allow and copies where they do not", "[views]") {
    const Tensor x = counted();
    CHECK(x.reshape({4, 6}).shares_storage(x));
    CHECK(x.reshape({2, 3, 2, 2}).shares_storage(x));
    CHECK(x.reshape({2, -1}).shape() == Shape{2, 12});
    CHECK(x.reshape({1, 24, 1}).shares_storage(x));

    const Tensor heads = x.transpose(0, 1);                // (3, 2, 4), strides (4, 12, 1)
    CHECK(heads.reshape({3, 2, 2, 2}).shares_storage(x));  // splitting an axis never needs a copy
    CHECK_FALSE(heads.reshape({6, 4}).shares_storage(x));  // merging these two does
    CHECK(heads.reshape({6, 4}).at({1, 0}) == 12);
    CHECK(x.slice(1, 0, 2).reshape({2, 8}).shares_storage(x));  // merging 2 of 3 rows of 4 does not
    CHECK(x.slice(2, 0, 4, 2).reshape({6, 2}).shares_storage(x));
    CHECK_FALSE(x.slice(2, 0, 3).reshape({2, 9}).shares_storage(x));
    const Tensor one = tensor({1, 2, 3}, float64).expand({4, 3});
    CHECK_FALSE(one.reshape({12}).shares_storage(one));
    CHECK(one.reshape({2, 2, 3}).shares_storage(one));
    CHECK(zeros({2, 0, 3}).reshape({0, 7}).shape() == Shape{0, 7});
    CHECK(tensor(5.0).reshape({1, 1}).shape() == Shape{1, 1});
    CHECK(tensor({{5.0}}).reshape({}).item() == 5);
}

TEST_CASE("reshape of any permuted or sliced tensor has the elements in row-major order", "[views]") {
    const Tensor x = counted();
    for (const Shape& axes :
         std::vector<Shape>{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}})
        for (const std::int64_t step : {1, 2})
            for (const Shape& shape : std::vector<Shape>{{-1}, {2, -1}, {-1, 2}, {1, -1, 2}, {2, 1, -1}}) {
                const Tensor y = x.permute(axes).slice(0, 0, 2, 1).slice(2, 0, 2, step);
                if (y.numel() % 4 != 0 && shape.rank() > 1) continue;
                CHECK(y.reshape(shape).to_vector<double>() == y.to_vector<double>());
            }
}

TEST_CASE("view refuses what it would have to copy, and names contiguous and reshape", "[views]") {
    const Tensor x = counted().transpose(0, 1);
    refuses<ShapeError>("view…(3, 2, 4)…(6, 4)…contiguous()…reshape()", [&] { return x.view({6, 4}); });
    CHECK(x.view({3, 2, 2, 2}).shares_storage(x));
    CHECK(x.contiguous().view({6, 4}).shape() == Shape{6, 4});
}

TEST_CASE("contiguous is the tensor itself, or a row-major copy", "[views]") {
    const Tensor x = counted(), y = x.transpose(0, 2);
    CHECK(x.contiguous().shares_storage(x));
    CHECK(y.contiguous().is_contiguous());
    CHECK_FALSE(y.contiguous().shares_storage(x));
    CHECK(same_bits(y.contiguous(), y));
    CHECK(x.slice(0, 1, 2).is_contiguous());  // one whole row of the first axis
    CHECK_FALSE(x.slice(2, 0, 2).is_contiguous());
    CHECK(y.clone().is_contiguous());
}

TEST_CASE("slices are Python's: clipped ends, negative ones from the end, steps", "[views]") {
    const Tensor x = arange(0, 7, 1, float64);
    const auto cut = [&](std::int64_t from, std::int64_t to, std::int64_t step = 1) {
        return x.slice(0, from, to, step).to_vector<double>();
    };
    using V = std::vector<double>;
    CHECK(cut(1, 4) == V{1, 2, 3});
    CHECK(cut(-3, -1) == V{4, 5});
    CHECK(cut(5, 100) == V{5, 6});
    CHECK(cut(-100, 2) == V{0, 1});
    CHECK(cut(0, 7, 3) == V{0, 3, 6});
    CHECK(cut(1, 7, 100) == V{1});
    CHECK(cut(4, 4).empty());
    CHECK(cut(5, 2).empty());
    CHECK(cut(100, 200).empty());
    CHECK(cut(0, INT64_MAX, INT64_MAX) == V{0});
    CHECK(counted().slice(-1, 1, 3).shape() == Shape{2, 3, 2});
}

TEST_CASE("select and squeeze take an axis away, unsqueeze puts one in", "[views]") {
    const Tensor x = counted();
    CHECK(x.select(1, -1).to_vector<double>() == std::vector<double>{8, 9, 10, 11, 20, 21, 22, 23});
    CHECK(x.unsqueeze(0).shape() == Shape{1, 2, 3, 4});
    CHECK(x.unsqueeze(-1).shape() == Shape{2, 3, 4, 1});
    CHECK(x.unsqueeze(3).shape() == Shape{2, 3, 4, 1});
    CHECK(x.unsqueeze(1).unsqueeze(-1).squeeze().shape() == Shape{2, 3, 4});
    CHECK(zeros({1, 2, 1}).squeeze(-1).shape() == Shape{1, 2});
    CHECK(zeros({1, 1}).squeeze().shape() == Shape{});
}

TEST_CASE("expand repeats by strides of 0 and cannot be written to", "[views]") {
    const Tensor row = tensor({1, 2, 3}, float64);
    Tensor y = row.expand({2, 3});
    CHECK(y.strides() == Strides{0, 1});
    CHECK(y.to_vector<double>() == std::vector<double>{1, 2, 3, 1, 2, 3});
    CHECK(row.unsqueeze(-1).expand({-1, 2}).to_vector<double>() == std::vector<double>{1, 1, 2, 2, 3, 3});
    refuses<GraphError>("expanded…clone()", [&] { y.fill_(0); });
    CHECK(row.to_vector<double>() == std::vector<double>{1, 2, 3});
    CHECK(same_bits(broadcast_to(row, {2, 3}), y));
}

TEST_CASE("views of views compose", "[views]") {
    const Tensor x = counted();
    const Tensor y = x.permute({2, 1, 0}).slice(0, 1, 4, 2).select(2, 1).T().unsqueeze(0);  // (1, 3, 2)
    CHECK(y.shares_storage(x));
    CHECK(y.to_vector<double>() == std::vector<double>{13, 15, 17, 19, 21, 23});
}

TEST_CASE("the qkv path of attention copies nothing until it must", "[views]") {
    // B 2, T 3, H 2, d_k 2
    const Tensor qkv = arange(0, 72, 1, float64).reshape({2, 3, 12});
    const Tensor heads = qkv.reshape({2, 3, 3, 2, 2}).permute({2, 0, 3, 1, 4});  // (3, B, H, T, d_k)
    const Tensor k = heads[1];
    CHECK(k.shares_storage(qkv));
    CHECK(k.shape() == Shape{2, 2, 3, 2});
    CHECK(k.at({1, 1, 2, 0}) == 36 + 2 * 12 + 4 + 2);
    for (const Tensor& part : chunk(qkv, 3, -1)) CHECK(part.shares_storage(qkv));
    for (const Tensor& part : split(qkv, 5, -1)) CHECK(part.shares_storage(qkv));
}
