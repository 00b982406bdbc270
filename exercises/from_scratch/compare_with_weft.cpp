// The GPT of step 10 beside Weft's: the same loss and the same gradients from the same weights, and how long a
// training step of each takes. Exits with 1 unless they agree to 1e-6.
//
//     make compare-from-scratch
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>

#include "10_gpt.h"
#include "weft/weft.h"

namespace {

constexpr Index B = 8, T = 32;  // samples, tokens

// A batch of the rhyme: 8 pieces that begin at different characters.
struct Batch {
    std::vector<Index> inputs, targets;  // (B, T) each
    Index vocab_size;
};

Batch batch_of(const char* path) {
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.size() < 2000) throw std::runtime_error(std::string("cannot read ") + path);
    const std::set<char> different(text.begin(), text.end());
    const std::string characters(different.begin(), different.end());
    Batch batch{{}, {}, static_cast<Index>(characters.size())};
    for (std::size_t b = 0; b < B; ++b)
        for (std::size_t t = 0; t < T; ++t) {
            batch.inputs.push_back(static_cast<Index>(characters.find(text[200 * b + t])));
            batch.targets.push_back(static_cast<Index>(characters.find(text[200 * b + t + 1])));
        }
    return batch;
}

// Weft's GPT with the values of ours, found by name.
weft::lm::GPT copy_of(const GPT& ours) {
    const GPTConfig& c = ours.config;
    weft::Rng rng(1);
    weft::lm::GPT model({.vocab_size = c.vocab_size,
                         .block_size = c.block_size,
                         .num_layers = c.num_layers,
                         .num_heads = c.num_heads,
                         .d_model = c.d_model,
                         .bias = true},
                        rng);
    model.to(weft::float64);
    weft::nn::NamedTensors state;
    for (const auto& [name, p] : ours.parameters)
        state.emplace_back(name, weft::from_vector(p.data().values(), weft::Shape(p.shape())));
    state.emplace_back("head.weight", state.front().second);  // the head is the token embedding
    model.load_state_dict(state);                             // refused unless every name and shape is the same
    return model;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

// The fastest of `runs`, in milliseconds, after one that does not count.
template <class F>
double fastest(int runs, F run) {
    run();
    double best = INFINITY;
    for (int i = 0; i < runs; ++i) {
        const auto begun = std::chrono::steady_clock::now();
        run();
        best = std::min(
            best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count());
    }
    return best;
}

// The products of matrices of a step, forward and backward, as our matmul does them, without anything else.
void products_of_a_step(const GPTConfig& c) {
    const Index C = c.d_model, H = c.num_heads, d = C / H;
    const auto products = [](const Shape& a, const Shape& b) {  // z = a @ b, da = dz @ bᵀ, db = aᵀ @ dz
        const Array x = Array::full(a, 1), y = Array::full(b, 1), z = matmul(x, y);
        matmul(z, y.transpose(-2, -1));
        matmul(x.transpose(-2, -1), z);
    };
    for (Index layer = 0; layer < c.num_layers; ++layer) {
        products({B, T, C}, {C, 3 * C});       // W_qkv
        products({B, H, T, d}, {B, H, d, T});  // scores
        products({B, H, T, T}, {B, H, T, d});  // weights times values
        products({B, T, C}, {C, C});           // W_out
        products({B, T, C}, {C, 4 * C});       // the MLP's W_in
        products({B, T, 4 * C}, {4 * C, C});   // and W_out
    }
    products({B, T, C}, {C, c.vocab_size});  // the head
}

}  // namespace

int main(int argc, char** argv) {
    weft::set_num_threads(1);
    const Batch batch = batch_of(argc > 1 ? argv[1] : "exercises/from_scratch/rhyme.txt");
    Random random(3);
    const GPT ours({.vocab_size = batch.vocab_size, .block_size = T}, random);
    weft::lm::GPT theirs = copy_of(ours);
    const weft::Tensor inputs = weft::from_vector(batch.inputs, {B, T});    // (B, T)
    const weft::Tensor targets = weft::from_vector(batch.targets, {B, T});  // (B, T)

    const auto our_loss = [&] { return cross_entropy(ours(batch.inputs, B), batch.targets); };  // ()
    const auto their_loss = [&] { return weft::cross_entropy(theirs(inputs), targets); };       // ()
    const Tensor mine = our_loss();
    const weft::Tensor reference = their_loss();
    backward(mine);
    reference.backward();
    const double losses = std::abs(mine.item() - reference.item());
    std::printf("loss from scratch %.9f, Weft's %.9f: difference %.0e\n", mine.item(), reference.item(),
                losses);

    double gradients = 0;
    std::size_t compared = 0;
    for (const auto& [name, parameter] : theirs.named_parameters())
        for (const auto& [our_name, p] : ours.parameters)
            if (name == our_name) {
                gradients = std::max(
                    gradients, largest_difference(p.grad().values(), parameter.grad().to_vector<double>()));
                ++compared;
            }
    std::printf("gradients of %zu tensors: largest difference %.0e\n", compared, gradients);
    if (!(losses <= 1e-6) || !(gradients <= 1e-6) || compared != ours.parameters.size()) {
        std::printf("They do not agree to 1e-6.\n");
        return 1;
    }
    std::printf("They agree to 1e-6.\n\n");

    Adam our_adam(ours.parameters, 1e-3);
    const double from_scratch = fastest(30, [&] {
        our_adam.zero_grad();
        backward(our_loss());
        our_adam.step();
    });
    weft::optim::Adam their_adam(theirs, {.lr = 1e-3});
    const auto their_step = [&] {
        their_adam.zero_grad();
        their_loss().backward();
        their_adam.step();
    };
    const double fused = fastest(30, their_step);
    double composed = 0;
    {
        const weft::Plain small_operations(weft::Plain::operations);
        composed = fastest(30, their_step);
    }
    const double products = fastest(30, [&] { products_of_a_step(ours.config); });
    std::printf("a training step, float64, one thread, the fastest of 30\n");
    std::printf("from scratch       %7.2f ms\n", from_scratch);
    std::printf("  its products     %7.2f ms\n", products);
    std::printf("Weft, composed     %7.2f ms\n", composed);
    std::printf("Weft, fused        %7.2f ms\n", fused);
    std::printf("from scratch / composed  %.1f\n", from_scratch / composed);
    std::printf("composed / fused         %.1f\n", composed / fused);
    std::printf("from scratch / fused     %.1f\n", from_scratch / fused);
}
