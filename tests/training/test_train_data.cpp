// DataLoader, TensorDataset and pad_sequence.
#include <limits>
#include <set>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const Tensor& x) { return x.to_vector<std::int64_t>(); }

// The batches of one pass over a dataset of N numbers.
template <class Loader>
std::vector<Numbers> pass(Loader& loader) {
    std::vector<Numbers> result;
    for (const auto& [x] : loader) result.push_back(numbers(x));
    return result;
}

training::DataLoader<training::TensorDataset<1>> loader_of(std::int64_t n,
                                                           const training::DataLoaderOptions& options,
                                                           std::uint64_t seed = 1) {
    Rng rng(seed);
    return training::DataLoader(training::TensorDataset(arange(n)), options, rng);
}

}  // namespace

TEST_CASE("a loader that does not shuffle gives the samples in order", "[train]") {
    auto loader = loader_of(5, {.batch_size = 2});
    const std::vector<Numbers> expected{{0, 1}, {2, 3}, {4}};
    CHECK(pass(loader) == expected);
    CHECK(pass(loader) == expected);
    CHECK(loader.size() == 3);
    auto full = loader_of(5, {.batch_size = 2, .drop_last = true});
    CHECK(pass(full) == std::vector<Numbers>{{0, 1}, {2, 3}});
    CHECK(full.size() == 2);
    auto even = loader_of(4, {.batch_size = 2, .drop_last = true});
    CHECK(even.size() == 2);
    auto one = loader_of(3, {});
    CHECK(pass(one) == std::vector<Numbers>{{0}, {1}, {2}});
}

TEST_CASE("a loader that shuffles reads each sample once in each pass, in an order of the pass's own",
          "[train]") {
    auto loader = loader_of(50, {.batch_size = 8, .shuffle = true});
    std::set<std::vector<Numbers>> orders;
    for (int i = 0; i < 4; ++i) {
        const auto batches = pass(loader);
        std::multiset<std::int64_t> seen;
        for (const Numbers& batch : batches) seen.insert(batch.begin(), batch.end());
        const Numbers all = numbers(arange(50));
        CHECK(seen == std::multiset<std::int64_t>(all.begin(), all.end()));
        orders.insert(batches);
    }
    CHECK(orders.size() == 4);
}

TEST_CASE("the batches depend on the seed and the pass alone, so a loader goes on where another was",
          "[train]") {
    const training::DataLoaderOptions options{.batch_size = 4, .shuffle = true};
    auto first = loader_of(20, options), same = loader_of(20, options), other = loader_of(20, options, 2);
    const auto pass0 = pass(first), pass1 = pass(first), pass2 = pass(first);
    Rng seeds(1);  // the generator of a pass has 64 bits that philox makes of the seed and the pass
    const auto seed = static_cast<std::uint64_t>(seeds.randint(0, std::numeric_limits<std::int64_t>::max()));
    const auto bits = philox(seed, 0);
    Rng order(bits[0] | std::uint64_t{bits[1]} << 32);
    const Numbers expected = numbers(randperm(20, order));
    CHECK(pass0[0] == Numbers(expected.begin(), expected.begin() + 4));
    CHECK(pass(same) == pass0);
    CHECK(pass(other) != pass0);
    CHECK(first.epoch() == 3);
    same.set_epoch(2);
    CHECK(pass(same) == pass2);
    auto broken_off = loader_of(20, options);
    for (const auto& [x] : broken_off) {
        CHECK(numbers(x) == pass0[0]);
        break;
    }
    CHECK(pass(broken_off) == pass1);  // the next range-for is the next pass
    auto outer = loader_of(20, options);
    std::vector<Numbers> seen;
    for (const auto& [x] : outer) {
        seen.push_back(numbers(x));
        pass(outer);  // a pass within a pass disturbs nothing
    }
    CHECK(seen == pass0);
}

TEST_CASE("a loader without a generator draws its seed from default_rng, if it shuffles", "[train]") {
    const auto first_pass = [] {
        manual_seed(7);
        training::DataLoader loader(training::TensorDataset(arange(20)), {.batch_size = 20, .shuffle = true});
        return pass(loader);
    };
    CHECK(first_pass() == first_pass());
    const Rng::State before = default_rng().state();
    const training::DataLoader plain(training::TensorDataset(arange(20)));
    CHECK(default_rng().state().position == before.position);
}

TEST_CASE("samples of several tensors stay together, of any type and rank", "[train]") {
    Rng rng(3);
    const Tensor x = randn({7, 2, 3}, rng, float64), t = arange(7), seen = arange(7) > 2;
    const training::TensorDataset data(x, t, seen);
    CHECK(data.size() == 7);
    CHECK(same_bits(data[2][0], x[2]));
    for (const auto& [a, b, c] : training::DataLoader(data, {.batch_size = 3, .shuffle = true}, rng)) {
        CHECK(same_bits(a, index_select(x, 0, b)));
        CHECK(same_bits(c, b > 2));
    }
}

TEST_CASE("sequences are padded behind their ends to the longest of the batch", "[train]") {
    const auto [values, lengths] = training::pad_sequence({arange(2), arange(4), arange(0)}, -100);
    CHECK(same_bits(values, tensor({{0, 1, -100, -100}, {0, 1, 2, 3}, {-100, -100, -100, -100}})));
    CHECK(lengths == Numbers{2, 4, 0});

    Rng rng(4);
    const Tensor a = randn({3, 2}, rng), b = randn({1, 2}, rng);
    const auto rows = training::pad_sequence({a, b});
    CHECK(same_bits(rows.values[0], a));
    CHECK(same_bits(rows.values[1], cat({b, zeros({2, 2})}, 0)));

    Tensor leaf = ones({2}).requires_grad_();  // the padding has no gradient
    sum(training::pad_sequence({leaf, zeros({5})}).values * 3).backward();
    CHECK(same_bits(leaf.grad(), full({2}, 3)));
}

TEST_CASE("attention over a padded batch gives each sequence what it gets alone", "[train]") {
    Rng rng(5);
    const nn::MultiHeadAttention attend(4, 2, rng);
    const std::vector<Tensor> sequences{randn({3, 4}, rng), randn({5, 4}, rng), randn({2, 4}, rng)};
    std::size_t i = 0;
    for (const auto& [x, lengths] : training::DataLoader(sequences, {.batch_size = 2})) {
        const Tensor y = attend(x, Mask::padding(lengths));
        for (std::size_t b = 0; b < lengths.size(); ++b, ++i)
            CHECK(allclose(y[static_cast<std::int64_t>(b)].slice(0, 0, lengths[b]), attend(sequences[i]), 1e-5,
                           1e-6));
    }
    CHECK(i == sequences.size());
}

TEST_CASE("a function makes batches of samples of any type", "[train]") {
    struct Sample {
        Tensor tokens;
        std::int64_t label;
    };
    const std::vector<Sample> samples{{arange(2), 5}, {arange(3), 6}, {arange(1), 7}};
    std::vector<Numbers> labels;
    for (const Tensor& batch : training::DataLoader(samples, {.batch_size = 2}, [](const auto& batch) {
             Numbers result;
             for (const Sample& sample : batch) result.push_back(sample.label + sample.tokens.numel());
             return tensor(result);
         }))
        labels.push_back(numbers(batch));
    CHECK(labels == std::vector<Numbers>{{7, 9}, {8}});

    // Samples of tensors are views of the data, which the function may not change.
    const Tensor x = arange(4), before = x.clone();
    const auto careless = [](const auto& batch) {
        Tensor first;
        if constexpr (requires { batch[0].rank(); })
            first = batch[0];
        else
            first = batch[0][1];
        return first.mul_(2);
    };
    training::DataLoader columns(training::TensorDataset(x, x), {}, careless);
    training::DataLoader list(std::vector<Tensor>{x, x}, {}, careless);
    refuses<GraphError>(
        "mul_: the function of DataLoader was given this tensor of shape (), which others hold, too",
        [&] { *columns.begin(); });
    refuses<GraphError>(
        "mul_: the function of DataLoader was given this tensor of shape (4,), which others hold",
        [&] { *list.begin(); });
    CHECK(same_bits(x, before));
}

TEST_CASE("dataset and padding refuse what makes no batch", "[train]") {
    using training::pad_sequence, training::TensorDataset;
    refuses<ShapeError>("TensorDataset: tensors of shape (3, 2) and (4,); their first axis counts the samples",
                        [] {
                            TensorDataset(ones({3, 2}), ones({4}));
                        });
    refuses<ShapeError>("and ();", [] { TensorDataset(tensor(1.0)); });
    refuses<GraphError>("undefined", [] { TensorDataset(ones({3}), Tensor()); });
    refuses<ValueError>("pad_sequence: the list is empty", [] { pad_sequence({}); });
    refuses<ShapeError>("pad_sequence: sequences of shape (2,) and (2, 1); they must be (T, …)", [] {
        pad_sequence({ones({2}), ones({2, 1})});
    });
    refuses<ShapeError>("(2, 4)", [] { pad_sequence({ones({2, 3}), ones({2, 4})}); });
    refuses<ShapeError>("and ();", [] { pad_sequence({tensor(1.0)}); });
    refuses<DTypeError>("pad_sequence: sequences of float32 and int64; convert one with to()", [] {
        pad_sequence({ones({2}), arange(2)});
    });
    refuses<DTypeError>("0.5", [] { pad_sequence({arange(2), arange(1)}, 0.5); });
}
