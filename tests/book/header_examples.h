// What the tests of the headers' examples share (header_examples.cpp writes them).
#pragma once

#include <cmath>
#include <concepts>
#include <csignal>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "catch.h"
#include "environment.h"
#include "gguf_writer.h"
#include "places.h"
#include "programs.h"
#include "source.h"
#include "weft/packed/packed.h"
#include "weft/weft.h"

namespace example {

using namespace weft;
using source::difference;
using source::random;

// The letters of shapes.
inline constexpr std::int64_t B = 2, C = 8, G = 3, H = 2, L = 2, N = 2, S = 4, T = 3;

inline const std::filesystem::path golden = places::golden();

inline Tensor floats(const Shape& shape, std::uint64_t seed = 1) { return random(shape, seed, float32); }

using Values = std::vector<double>;

inline Values values_of(const Tensor& x) { return x.detach().to(float64).to_vector<double>(); }

// Whole numbers are exact, others are written with few digits.
inline bool near(double x, double written) {
    return written == std::round(written) ? x == written : std::abs(x - written) <= 1e-6 * std::abs(written);
}

// Each returns "" if x is as a comment says, and otherwise how it is.
inline std::string unlike(double x, double written) { return near(x, written) ? "" : format_number(x, 9); }
template <std::same_as<bool> Truth>  // nothing else becomes one
std::string unlike(Truth x, Truth written) {
    return x == written ? "" : x ? "true" : "false";
}
inline std::string unlike(DType x, DType written) { return x == written ? "" : name(x); }
inline std::string unlike(const Tensor& x, DType written) { return unlike(x.dtype(), written); }
inline std::string unlike(const Shape& x, const Shape& written) { return x == written ? "" : x.str(); }
inline std::string unlike(const Tensor& x, const Shape& written) { return unlike(x.shape(), written); }
inline std::string unlike(const Tensor& x, const Tensor& written) {
    bool same = x.shape() == written.shape();
    for (std::int64_t i = 0; same && i < x.numel(); ++i)
        same = near(x.reshape({-1}).to(float64).at({i}), written.reshape({-1}).at({i}));
    return same ? "" : x.repr();
}
inline std::string unlike(const Tensor& x, double written) {
    return x.numel() != 1 ? x.repr() : unlike(x.item(), written);
}
// ": …" at the end stands for anything.
inline std::string unlike(const std::string& x, const std::string& written) {
    const bool begins = written.ends_with(": …") && x.starts_with(written.substr(0, written.size() - 3));
    return begins || x == written ? "" : "\"" + x + "\"";
}
// A tensor of that name and shape, at that position.
inline std::string unlike(const nn::NamedTensors& x, std::size_t i, const std::string& name,
                          const Shape& shape) {
    if (x.size() <= i) return "too few";
    return x[i].first == name ? unlike(x[i].second, shape) : x[i].first;
}

// Collects standard output while it exists.
class Printed {
public:
    Printed() : before_(std::cout.rdbuf(text_.rdbuf())) {}
    ~Printed() { std::cout.rdbuf(before_); }
    Printed(const Printed&) = delete;
    Printed& operator=(const Printed&) = delete;
    std::string str() const { return text_.str(); }

private:
    std::ostringstream text_;
    std::streambuf* before_;
};

// Files with a relative name are written to a folder of the test's own.
class InScratch {
public:
    InScratch() : before_(std::filesystem::current_path()) { std::filesystem::current_path(scratch_.folder()); }
    ~InScratch() { std::filesystem::current_path(before_); }
    InScratch(const InScratch&) = delete;
    InScratch& operator=(const InScratch&) = delete;

private:
    Scratch scratch_;
    std::filesystem::path before_;
};

// What the examples of training have: a model, a batch and a loss.
struct Training {
    Rng rng{1};
    nn::Sequential model{nn::Linear(3, 8, rng), relu, nn::Linear(8, 1, rng)};
    Tensor batch() const { return floats({16, 3}); }
    Tensor loss_of(const Tensor& x) const { return mse_loss(model(x), sum(x, -1, keepdim)); }
    double loss() const { return loss_of(batch()).item(); }
};

// What the examples of optim's groups have.
struct Net : nn::Module {
    nn::Embedding embedding = register_module("embedding", nn::Embedding(5, 4));
    nn::Linear body = register_module("body", nn::Linear(4, 4));
    nn::Linear head = register_module("head", nn::Linear(4, 5));
    Net() : Module("Net") {}
    Tensor operator()(const Tensor& ids) const { return head(tanh(body(embedding(ids)))); }
};

inline lm::GPT small_gpt(std::int64_t vocab_size) {
    Rng rng(1);
    return {{.vocab_size = vocab_size, .block_size = 64, .num_layers = 1, .num_heads = 1, .d_model = 8}, rng};
}

}  // namespace example
