// Fault 10. Twins: a model is saved, loaded, trained on. It has grown.
//
//     make fault N=10            runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B batch, T tokens, C = d_model, V vocabulary.
#include <map>

#include "fault.h"

constexpr std::int64_t T = 16, C = 32;

// A small language model. The head's weight is the table of the embedding: one tensor under two names.
struct Tied {
    std::map<std::string, Tensor> weights;
    explicit Tied(Rng& rng) {
        const std::int64_t V = alphabet().vocab_size();
        weights["table"] = (0.1 * randn({V, C}, rng, float64)).requires_grad_();
        weights["position"] = (0.1 * randn({T, C}, rng, float64)).requires_grad_();
        weights["W_qkv"] = (randn({3 * C, C}, rng, float64) / std::sqrt(C)).requires_grad_();
        weights["W_out"] = (randn({C, C}, rng, float64) / std::sqrt(C)).requires_grad_();
        weights["head"] = weights["table"];
    }
    Tensor operator()(const Tensor& ids) const {
        const Tensor x = embedding(weights.at("table"), ids) + weights.at("position");  // (B, T, C)
        const Tensor found = multi_head_attention(linear(x, weights.at("W_qkv")), 4, {.mask = Mask::causal()});
        return linear(x + linear(found, weights.at("W_out")), weights.at("head"));  // (B, T, V)
    }
    // Each tensor once, however many names it has.
    std::vector<Tensor> parameters() const {
        std::map<const void*, Tensor> found;
        for (const auto& [name, weight] : weights) found.emplace(storage_of(weight), weight);
        std::vector<Tensor> list;
        for (const auto& [storage, weight] : found) list.push_back(weight);
        return list;
    }
    std::int64_t size() const {
        std::int64_t count = 0;
        for (const Tensor& parameter : parameters()) count += parameter.numel();
        return count;
    }
};

// The values under every name.
std::map<std::string, Tensor> save(const Tied& model) {
    std::map<std::string, Tensor> file;
    for (const auto& [name, weight] : model.weights) file[name] = weight.detach().clone();
    return file;
}
// Gives the model the values of the file.
void load(Tied& model, const std::map<std::string, Tensor>& file) {
    for (auto& [name, weight] : model.weights) {
        weight = file.at(name).clone().requires_grad_();
    }
}

void program(std::uint64_t seed) {
    Rng rng(seed);
    Tied model(rng);
    training::Corpus corpus(alphabet().encode(story(seed, 400)),
                            {.block_size = T, .batch_size = 8, .seed = seed});
    const auto steps = [&](int from) {
        return train(model.parameters(), 200, 1e-2, [&](int step) {
            const training::Batch batch = corpus.training_batch(from + step);  // each (B, T)
            return cross_entropy(model(batch.inputs), batch.targets);
        });
    };
    std::vector<double> losses = steps(0);
    std::printf("%lld parameters\n", static_cast<long long>(model.size()));
    load(model, save(model));
    for (const double loss : steps(200)) losses.push_back(loss);
    std::printf("%lld parameters\n", static_cast<long long>(model.size()));
    draw({{'o', "loss", losses}});
}
