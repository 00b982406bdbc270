// The weights of attention in a report: as bytes, within bounds, and refused when they are none.
#include <cmath>

#include "catch.h"
#include "report_reader.h"
#include "weft/weft.h"

using namespace weft;
using nlohmann::json;
using report::Report;

namespace {

std::vector<std::string> letters(std::int64_t T) {
    std::vector<std::string> tokens;
    for (std::int64_t i = 0; i < T; ++i) tokens.push_back(std::string(1, static_cast<char>('a' + i)));
    return tokens;
}

// Weights (1, H, T, T) of random scores.
Tensor weights_of(std::int64_t H, std::int64_t T, const Mask& mask, std::uint64_t seed) {
    Rng rng(seed);
    const Tensor scores = randn({1, H, T, T}, rng);
    return softmax(masked_fill(scores, mask.materialize(1, H, T, T), -1e30), -1);
}

// The weight that the page's formula reads at head, query and key, counted through all layers.
double shown(const json& sentence, const json& snapshot, std::size_t head, std::size_t q, std::size_t k) {
    const std::string bytes = decoded(snapshot["weights"]);
    const std::size_t T = sentence["tokens"].size();
    const bool causal = snapshot["causal"];
    if (causal && k > q) return 0;
    const std::size_t at = causal ? head * T * (T + 1) / 2 + q * (q + 1) / 2 + k : head * T * T + q * T + k;
    const double root = static_cast<unsigned char>(bytes.at(at)) / 255.0;
    return root * root;
}

void check_all(const json& sentence, const json& snapshot, const std::vector<Tensor>& layers) {
    std::size_t head = 0;
    for (const Tensor& layer : layers)
        for (std::int64_t h = 0; h < layer.size(-3); ++h, ++head)
            for (std::int64_t q = 0; q < layer.size(-2); ++q)
                for (std::int64_t k = 0; k < layer.size(-1); ++k) {
                    const double w = (layer.rank() == 4 ? layer[0] : layer).at({h, q, k});
                    INFO("head " << head << ", query " << q << ", key " << k);
                    CHECK(std::abs(shown(sentence, snapshot, head, static_cast<std::size_t>(q),
                                         static_cast<std::size_t>(k)) -
                                   w) <= std::sqrt(w) / 255 + 1e-6);
                }
}

}  // namespace

TEST_CASE("a report's attention is the attention that was given, to within a byte of its root",
          "[viz][report]") {
    Report report("run");
    const std::vector<Tensor> causal = {weights_of(2, 5, Mask::causal(), 1),
                                        weights_of(3, 5, Mask::causal(), 2)};
    const std::vector<Tensor> full = {weights_of(2, 4, {}, 3), weights_of(2, 4, {}, 4)[0]};
    report.attention(0, letters(5), causal);
    report.attention(0, letters(4), full);
    report.attention(7, letters(5), {causal[0], weights_of(3, 5, Mask::causal(), 9)});
    const json sentences = report_data(report)["sentences"];
    REQUIRE(sentences.size() == 2);
    CHECK(sentences[0]["text"] == "abcde");
    CHECK(sentences[0]["tokens"] == json({"a", "b", "c", "d", "e"}));
    CHECK(sentences[0]["heads"] == json({2, 3}));
    REQUIRE(sentences[0]["snapshots"].size() == 2);
    CHECK(sentences[0]["snapshots"][1]["step"] == 7);
    CHECK(decoded(sentences[0]["snapshots"][0]["weights"]).size() == 5 * 15);  // heads, T (T + 1) / 2
    CHECK(decoded(sentences[1]["snapshots"][0]["weights"]).size() == 4 * 16);  // heads, T²
    check_all(sentences[0], sentences[0]["snapshots"][0], causal);
    check_all(sentences[1], sentences[1]["snapshots"][0], full);
    check_all(sentences[0], sentences[0]["snapshots"][1], {causal[0], weights_of(3, 5, Mask::causal(), 9)});
}

TEST_CASE("a report takes a model's attention as attention_weights gives it", "[viz][report]") {
    Rng rng(1);
    lm::GPT model({.vocab_size = 4, .block_size = 6, .num_layers = 2, .num_heads = 2, .d_model = 8}, rng);
    model.eval();
    const Tensor ids = from_vector(std::vector<std::int64_t>{0, 1, 2, 3, 1, 0}, {6});
    const std::vector<Tensor> layers = viz::attention_weights([&](const Tensor& x) { return model(x); }, ids);
    Report report("run");
    report.attention(0, letters(6), layers);
    const json sentence = report_data(report)["sentences"][0];
    CHECK(sentence["snapshots"][0]["causal"] == true);
    check_all(sentence, sentence["snapshots"][0], layers);
}

TEST_CASE("attention with one weight on a later key is stored in full", "[viz][report]") {
    for (const auto& [q, k] : {std::pair{0, 1}, {0, 3}, {1, 3}, {2, 3}}) {
        Tensor weights = weights_of(2, 4, Mask::causal(), 1);
        weights[0][1][q][k].fill_(0.16);
        Report report("run");
        report.attention(0, letters(4), {weights});
        const json sentence = report_data(report)["sentences"][0];
        CHECK(sentence["snapshots"][0]["causal"] == false);
        check_all(sentence, sentence["snapshots"][0], {weights});
    }
}

TEST_CASE("a sentence of one token is stored", "[viz][report]") {
    Report report("run");
    report.attention(0, {"a"}, {ones({1, 1, 1, 1})});
    CHECK(decoded(report_data(report)["sentences"][0]["snapshots"][0]["weights"]) == "\xff");
}

TEST_CASE("attention beyond the report's bytes: every second step goes, the last stays", "[viz][report]") {
    // a step takes 2 heads · 10 bytes for each of two sentences: four steps fit
    Report report("run", 160);
    const auto look = [&](std::int64_t step) {
        report.attention(step, letters(4), {weights_of(2, 4, Mask::causal(), 1)});
        report.attention(step, {"x", "y", "z", "w"}, {weights_of(2, 4, Mask::causal(), 2)});
    };
    const auto steps = [&](std::size_t sentence) {
        std::vector<int> found;
        const json data = report_data(report);
        for (const json& snapshot : data["sentences"][sentence]["snapshots"]) found.push_back(snapshot["step"]);
        return found;
    };
    for (int step = 0; step < 4; ++step) look(step);
    CHECK(steps(0) == std::vector<int>{0, 1, 2, 3});
    look(4);
    CHECK(steps(0) == std::vector<int>{0, 2, 4});
    for (int step = 5; step < 100; ++step) look(step);
    CHECK(steps(0) == std::vector<int>{0, 64, 99});
    CHECK(steps(1) == steps(0));
}

TEST_CASE("a report whose bytes hold one step keeps the last", "[viz][report]") {
    Report report("run", 20);
    for (int step = 0; step < 5; ++step)
        report.attention(step, letters(4), {weights_of(2, 4, Mask::causal(), 1)});
    const json snapshots = report_data(report)["sentences"][0]["snapshots"];
    REQUIRE(snapshots.size() == 1);
    CHECK(snapshots[0]["step"] == 4);
}
