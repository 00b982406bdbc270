// The blocks of an encoder and of a decoder: against PyTorch's layers, what may be seen and what may not, and
// what they refuse. B = 2 sentences of S = 5 (the second has 3 words and padding), T = 4 written, C = 8, H = 2.
#include "golden/golden.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

const Mask padding = Mask::padding({5, 3});
const nn::EncoderBlockOptions options{.bias = true, .dim_feedforward = 12};

const Golden& golden() {
    static const Golden file("encoder_decoder.safetensors");
    return file;
}

// What PyTorch calls a parameter of ours.
std::string torch_name(std::string name) {
    for (const auto& [ours, theirs] : {std::pair{"attn.W_qkv.", "self_attn.in_proj_"},
                                       {"attn.W_out.", "self_attn.out_proj."},
                                       {"cross.W_qkv.", "multihead_attn.in_proj_"},
                                       {"cross.W_out.", "multihead_attn.out_proj."},
                                       {"mlp.W_in.", "linear1."},
                                       {"mlp.W_out.", "linear2."}})
        if (name.starts_with(ours)) return theirs + name.substr(std::string(ours).size());
    return name;
}

void check_against_torch(const std::string& name, nn::Module block,
                         const std::function<Tensor(const Tensor&, const Tensor&)>& call) {
    block.to(float64);
    nn::NamedTensors state;
    for (const auto& [key, value] : block.state_dict())
        state.push_back({key, golden()(name + "/param/" + torch_name(key))});
    block.load_state_dict(state);
    std::vector<Tensor> inputs;
    for (int i = 0; golden().has(name + "/in" + std::to_string(i)); ++i)
        inputs.push_back(golden()(name + "/in" + std::to_string(i)).clone().requires_grad_());
    const Tensor y = call(inputs[0], inputs.back());
    CHECK(distance(y, golden()(name + "/out")) < 1e-12);
    y.backward(golden()(name + "/dy"));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        INFO("input " << i);
        CHECK(distance(inputs[i].grad(), golden()(name + "/grad_in" + std::to_string(i))) < 1e-11);
    }
    std::size_t compared = 0;
    for (const auto& [key, parameter] : block.named_parameters()) {
        INFO(key);
        CHECK(distance(parameter.grad(), golden()(name + "/grad/" + torch_name(key))) < 1e-11);
        ++compared;
    }
    std::size_t stored = 0;
    for (const std::string& key : golden().names()) stored += key.starts_with(name + "/grad/");
    CHECK(compared == stored);
}

nn::DecoderBlock decoder_in_double() {
    Rng rng(1);
    nn::DecoderBlock block(8, 2, rng, options);
    block.to(float64);
    return block;
}

// x with other values at sample b's places from `first` on.
Tensor changed(const Tensor& x, std::int64_t b, std::int64_t first) {
    Tensor other = x.clone();
    other[b].slice(0, first, x.size(1)).fill_(7);
    return other;
}

// Whether sample b's places from … to − 1 are the same to the last bit.
bool same(const Tensor& x, const Tensor& y, std::int64_t b, std::int64_t from, std::int64_t to) {
    return same_bits(x[b].slice(0, from, to), y[b].slice(0, from, to));
}

}  // namespace

TEST_CASE("one mask of keys serves the encoder, cross-attention to its output and writing token by token",
          "[nn][encoder][mask]") {
    Rng rng(1);
    nn::EncoderBlock encoder(8, 2, rng, options);
    nn::DecoderBlock decoder(8, 2, rng, {.bias = true, .dim_feedforward = 12});
    const Tensor source = randn({2, 5, 8}, rng), target = randn({2, 4, 8}, rng);
    const Mask real = Mask::keys(arange(5) < tensor({{5}, {3}}, int64));
    const Tensor memory = encoder(source, padding);
    CHECK(all(encoder(source, real) == memory));
    const Tensor written = decoder(target, memory, padding);
    CHECK(all(decoder(target, memory, real) == written));
    CHECK_FALSE(all(decoder(target, memory) == written));
    CHECK(all(decoder(target.slice(1, 0, 1), memory, real) == decoder(target.slice(1, 0, 1), memory, padding)));
    Tensor other = source.clone();
    other[1].slice(0, 3, 5).fill_(NAN);  // what stands at a blocked key changes no bit
    CHECK(all(decoder(target, encoder(other, real), real) == written));
}

TEST_CASE("EncoderBlock and DecoderBlock equal PyTorch's pre-norm layers, with padding", "[golden][nn]") {
    Rng rng(1);
    const nn::EncoderBlock encoder(8, 2, rng, options);
    const nn::DecoderBlock decoder(8, 2, rng, options);
    check_against_torch("encoder", encoder,
                        [&](const Tensor& x, const Tensor&) { return encoder(x, padding); });
    check_against_torch("decoder", decoder,
                        [&](const Tensor& x, const Tensor& memory) { return decoder(x, memory, padding); });
}

TEST_CASE("a decoder block sees what is written so far, and all that was read but its padding", "[nn]") {
    const NoGrad off;
    const nn::DecoderBlock block = decoder_in_double();
    Rng rng(2);
    const Tensor x = randn({2, 4, 8}, rng, float64), memory = randn({2, 5, 8}, rng, float64);
    const Tensor y = block(x, memory, padding);
    CHECK(same(block(changed(x, 0, 2), memory, padding), y, 0, 0, 2));
    CHECK_FALSE(same(block(changed(x, 0, 2), memory, padding), y, 0, 2, 3));
    CHECK_FALSE(same(block(x, changed(memory, 0, 4), padding), y, 0, 0, 1));  // the first looks at the last
    CHECK(same(block(x, changed(memory, 0, 4), padding), y, 1, 0, 4));
    CHECK(same(block(x, changed(memory, 1, 3), padding), y, 1, 0, 4));
    CHECK(distance(block(x[1], memory[1].slice(0, 0, 3)), y[1]) < 1e-14);
    // Its last argument blocks what is written, beside the future.
    const Mask first =
        Mask::blocked(from_vector(std::vector<bool>{true, false, false, false}, {1, 4}).expand({4, 4}));
    Tensor other = x.clone();
    other.slice(1, 0, 1).fill_(7);
    CHECK_FALSE(same(block(other, memory, padding), y, 0, 1, 4));
    CHECK(same(block(other, memory, padding, first), block(x, memory, padding, first), 0, 1, 4));
}

TEST_CASE("the blocks drop from each thing that they add to the stream, in training only", "[nn]") {
    const NoGrad off;
    Rng rng(1);
    nn::EncoderBlock encoder(8, 2, rng, {.bias = true, .dropout = 0.5});
    nn::DecoderBlock decoder(8, 2, rng, {.bias = true, .dropout = 0.5});
    for (const nn::Linear& out :
         {encoder.attn.W_out, encoder.mlp.W_out, decoder.attn.W_out, decoder.cross.W_out, decoder.mlp.W_out})
        Tensor(out.weight).fill_(0), Tensor(out.bias).fill_(1);  // each adds 1, which dropout makes 0 or 2
    const Tensor x = zeros({2, 50, 8});
    const Tensor added = encoder(x), three = decoder(x, x);
    for (const double value : {0, 2, 4}) CHECK(any(added == value));
    CHECK(all(added == 0 || added == 2 || added == 4));
    for (const double value : {0, 2, 4, 6}) CHECK(any(three == value));
    CHECK(all(three == 0 || three == 2 || three == 4 || three == 6));
    encoder.eval(), decoder.eval();
    CHECK(all(encoder(x) == 2));
    CHECK(all(decoder(x, x) == 3));
}

TEST_CASE("the blocks refuse what does not fit", "[fault][nn]") {
    Rng rng(1);
    const nn::DecoderBlock decoder(8, 2, rng);
    const Tensor x = zeros({2, 4, 8});
    refuses<ShapeError>("k (3, 2, 5, 4), v (3, 2, 5, 4): axis 0 differs", [&] {
        return decoder(x, zeros({3, 5, 8}));
    });
    refuses<ShapeError>("6", [&] { return decoder(x, zeros({2, 5, 6})); });
    CHECK(message_of<ShapeError>([&] { return decoder(x, zeros({2, 5, 8}), Mask::padding({5, 3, 1})); }) != "");
}
