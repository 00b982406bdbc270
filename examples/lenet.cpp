// Reads digits with a convolutional network of LeNet-5's size (LeCun et al., "Gradient-based learning applied
// to document recognition", 1998, figure 2). The program draws the images itself: digits of a 5 × 7 font,
// shifted, turned, stretched, faint and noisy.
//
//     lenet [--steps N]
//
// N images of 28 × 28 pixels, 10 digits.
#include <weft/weft.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "settings.h"

using namespace weft;

namespace {

constexpr int side = 28, digits = 10;

// A row for each line of the digits.
constexpr const char* font[] = {
    ".###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###.",
    "#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...#",
    "#...# ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...#",
    "#...# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .####",
    "#...# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#",
    "#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.",
    ".###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..",
};

struct Images {
    Tensor pixels, digit;  // (N, 1, 28, 28), (N,) int64
};

// Ink of a digit at a point of the font's grid, where its middle is (0, 0).
bool ink(std::int64_t digit, double x, double y) {
    const double column = std::floor(x + 2.5), row = std::floor(y + 3.5);
    return column >= 0 && column < 5 && row >= 0 && row < 7 &&
           font[static_cast<int>(row)][6 * digit + static_cast<int>(column)] == '#';
}

Images draw(std::int64_t n, Rng& rng) {
    const auto between = [&](double low, double high) { return low + (high - low) * rng.uniform(); };
    std::vector<float> pixels;
    std::vector<std::int64_t> digit;
    for (std::int64_t i = 0; i < n; ++i) {
        digit.push_back(rng.randint(0, digits));
        const double turn = between(-0.35, 0.35), width = between(2, 3.2), height = between(2, 3.2);
        const double middle_x = side / 2.0 + between(-4, 4), middle_y = side / 2.0 + between(-3, 3);
        const double contrast = between(0.5, 1);
        for (int row = 0; row < side; ++row)
            for (int column = 0; column < side; ++column) {
                const double x = column + 0.5 - middle_x, y = row + 0.5 - middle_y;
                const bool is_ink = ink(digit.back(), (x * std::cos(turn) + y * std::sin(turn)) / width,
                                        (y * std::cos(turn) - x * std::sin(turn)) / height);
                pixels.push_back(static_cast<float>((is_ink ? contrast : 0) + 0.2 * rng.normal()));
            }
    }
    return {from_vector(pixels, {n, 1, side, side}), from_vector(digit)};
}

// One image as text, two columns for each pixel.
void print(const Tensor& image) {  // (28, 28)
    for (int row = 4; row < side - 4; ++row) {
        for (int column = 4; column < side - 4; ++column) {
            const double value = image.at({row, column});
            std::printf("%s", value > 0.75 ? "##" : value > 0.5 ? "++" : value > 0.25 ? ".." : "  ");
        }
        std::printf("\n");
    }
}

Tensor pool(const Tensor& x) {  // (N, C, H, W) → (N, C, H / 2, W / 2)
    return max_pool2d(x, {.kernel_height = 2, .kernel_width = 2});
}
Tensor flat(const Tensor& x) { return flatten(x, 1); }  // (N, C, H, W) → (N, C·H·W)

nn::Sequential lenet(Rng& rng) {
    return {nn::Conv2d(1, 6, 5, rng, {.padding = 2}),  // (N, 6, 28, 28)
            relu,
            pool,                       // (N, 6, 14, 14)
            nn::Conv2d(6, 16, 5, rng),  // (N, 16, 10, 10)
            relu,
            pool,  // (N, 16, 5, 5)
            flat,  // (N, 400)
            nn::Linear(400, 120, rng),
            relu,
            nn::Linear(120, 84, rng),
            relu,
            nn::Linear(84, digits, rng)};  // (N, 10)
}

// The digits that the network sees: (N,).
Tensor read(const nn::Sequential& net, const Images& images) {
    const NoGrad off;
    const nn::EvalMode eval;
    std::vector<Tensor> seen;
    const training::TensorDataset data(images.pixels);
    for (const auto& [x] : training::DataLoader(data, {.batch_size = 250})) seen.push_back(argmax(net(x), -1));
    return cat(seen, 0);
}

double accuracy(const Tensor& seen, const Tensor& digit) { return mean((seen == digit).to(float64)).item(); }

}  // namespace

int main(int argc, char** argv) try {
    const auto settings = read_settings(argc, argv, "lenet", {.steps = 250});
    if (!settings) return 2;
    Rng rng(1);
    const Images train = draw(8000, rng), unseen = draw(2000, rng);
    std::printf("the first image, of digit %lld:\n", static_cast<long long>(train.digit.at({0})));
    print(train.pixels[0][0]);

    nn::Sequential net = lenet(rng);
    std::printf("%lld parameters; accuracy on %lld unseen images before training: %.1f %%\n",
                static_cast<long long>(net.num_parameters()), static_cast<long long>(unseen.digit.numel()),
                100 * accuracy(read(net, unseen), unseen.digit));

    training::DataLoader loader(training::TensorDataset(train.pixels, train.digit),
                                {.batch_size = 64, .shuffle = true, .drop_last = true}, rng);
    optim::AdamW optimizer(net);
    const optim::OneCycleOptions schedule{.max_lr = 4e-3, .total_steps = std::max(1, settings->steps)};
    std::int64_t step = 0;
    while (step < settings->steps) {
        double total = 0;
        std::int64_t batches = 0;
        for (const auto& [x, digit] : loader) {  // (64, 1, 28, 28), (64,)
            if (step == settings->steps) break;
            optimizer.set_lr(optim::one_cycle_lr(step++, schedule));
            optimizer.zero_grad();
            const Tensor loss = cross_entropy(net(x), digit);
            loss.backward();
            optimizer.step();
            total += loss.item(), ++batches;
        }
        std::printf("pass %lld  mean loss %.4f\n", static_cast<long long>(loader.epoch()),
                    total / static_cast<double>(batches));
    }

    const auto path = std::filesystem::temp_directory_path() / "weft-lenet.safetensors";
    io::save(net, path);
    Rng other(2);
    nn::Sequential loaded = lenet(other);
    io::load(loaded, path);
    std::filesystem::remove(path);

    const Tensor seen = read(loaded, unseen);  // (2000,)
    const double reached = accuracy(seen, unseen.digit);
    std::printf("accuracy of the network that was saved and loaded: %.1f %%\n", 100 * reached);
    const Tensor pair = unseen.digit * digits + seen;  // 10 · digit + what was seen
    const Tensor mistakes = masked_select(pair, seen != unseen.digit);
    const Tensor counts = sum(one_hot(mistakes, digits * digits), 0);  // (100,)
    const auto most = static_cast<int>(argmax(counts).item());
    if (mistakes.numel() > 0)
        std::printf("%lld mistakes; the most frequent one, made %.0f times, is to read %d as %d\n",
                    static_cast<long long>(mistakes.numel()), max(counts).item(), most / digits, most % digits);
    if (reached < 0.97) std::printf("not learned: below 97 %%\n");
    return reached < 0.97 ? 1 : 0;
} catch (const Error& error) {
    std::fprintf(stderr, "lenet: %s\n", error.what());
    return 1;
}
