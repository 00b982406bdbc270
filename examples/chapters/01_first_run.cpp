// Chapter 1: one number's gradient, a few steps downhill, and the same with an attention layer.
#include <cstdio>

#include "chapter.h"
#include "weft/viz/figure.h"

using namespace weft;

namespace {

void one_number() {
    Tensor x = tensor(3.0, float64).requires_grad_();
    Tensor y = x * x;
    y.backward();
    std::printf("y = %.1f\n", y.item());
    std::printf("dy/dx = %.1f\n", x.grad().item());
}

void by_hand() {
    std::printf("step h   (f(3 + h) - f(3)) / h\n");
    for (const double h : {1.0, 0.1, 0.01, 0.001}) {
        const double quotient = ((3 + h) * (3 + h) - 3 * 3) / h;
        std::printf("%-5g    %.3f\n", h, quotient);
    }
}

void downhill() {
    Tensor x = tensor(3.0, float64).requires_grad_();
    for (int step = 0; step <= 5; ++step) {
        Tensor y = x * x;
        x.zero_grad();
        y.backward();
        std::printf("step %d   x = %.3f   y = %.3f   dy/dx = %.3f\n", step, x.item(), y.item(),
                    x.grad().item());
        NoGrad off;
        x.add_(x.grad(), -0.1);  // x ← x − 0.1 · dy/dx
    }
}

void ten_lines() {
    Rng rng(1);
    nn::CausalMultiHeadAttention attention(64, 4, rng);  // d_model, heads
    Tensor x = randn({2, 8, 64}, rng);                   // (B, T, C)
    Tensor target = randn({2, 8, 64}, rng);              // (B, T, C)

    Tensor loss = mse_loss(attention(x), target);
    loss.backward();
    check::gradient_flow(attention).print();
    std::printf("loss %.4f\n", loss.item());
}

std::vector<double> trained() {
    Rng rng(1);
    nn::CausalMultiHeadAttention attention(64, 4, rng);  // d_model, heads
    attention.to(float64);
    Tensor x = randn({2, 8, 64}, rng, float64);       // (B, T, C)
    Tensor target = randn({2, 8, 64}, rng, float64);  // (B, T, C)
    optim::Adam optimizer(attention, {.lr = 0.01});

    std::vector<double> losses;
    for (int step = 0; step <= 60; ++step) {
        optimizer.zero_grad();
        Tensor loss = mse_loss(attention(x), target);
        loss.backward();
        if (step % 15 == 0) std::printf("step %2d   loss %.4f\n", step, loss.item());
        losses.push_back(loss.item());
        optimizer.step();
    }
    return losses;
}

void cut() {
    Rng rng(1);
    nn::CausalMultiHeadAttention attention(64, 4, rng);  // d_model, heads
    Tensor x = randn({2, 8, 64}, rng);                   // (B, T, C)
    Tensor target = randn({2, 8, 64}, rng);              // (B, T, C)

    auto [q, k, v] = nn::split_qkv(attention.W_qkv(x).detach(), 4);              // each (B, H, T, d_k)
    Tensor y = scaled_dot_product_attention(q, k, v, {.mask = Mask::causal()});  // (B, H, T, d_k)
    Tensor loss = mse_loss(attention.W_out(nn::merge_heads(y)), target);
    loss.backward();
    std::printf("loss %.4f\n", loss.item());
    check::gradient_flow(attention).print();

    try {
        mse_loss(attention(x).detach(), target).backward();
    } catch (const GraphError& error) {
        std::printf("\n%s\n", error.what());
    }
}

// ---- figures

std::string slope_figure() {
    std::vector<double> x, y;
    for (int i = 0; i <= 60; ++i) x.push_back(-1.5 + i * 0.1), y.push_back(x.back() * x.back());
    std::vector<double> steps, heights;
    double at = 3;
    for (int step = 0; step <= 5; ++step, at -= 0.1 * 2 * at) steps.push_back(at), heights.push_back(at * at);
    return viz::Plot({.title = "Five steps downhill on y = x²",
                      .x = "x",
                      .y = "y",
                      .height = 360,
                      .x_range = {-1.5, 4.2},
                      .y_range = {-1, 17},
                      .legend = "top-left"})
        .line(x, y, "y = x²")
        .line({2, 4}, {3, 15}, "slope 6 at x = 3", {.dashed = true})
        .points(steps, heights, "x at steps 0 … 5")
        .svg();
}

std::string loss_figure(const std::vector<double>& losses) {
    std::vector<double> steps;
    for (std::size_t i = 0; i < losses.size(); ++i) steps.push_back(static_cast<double>(i));
    return viz::Plot({.title = "Sixty steps of training the attention layer",
                      .x = "step",
                      .y = "loss",
                      .height = 300,
                      .y_range = {0, 1.1}})
        .line(steps, losses)
        .svg();
}

std::string way_figure() {
    struct Part {
        const char* name;
        std::vector<const char*> chapters;
    };
    const std::vector<Part> parts = {
        {"tensors", {"1 first run", "2 tensors", "3 broadcasting", "4 backward", "5 operations"}},
        {"learning", {"6 training", "7 classification"}},
        {"attention", {"8 one head", "9 many heads", "10 masks", "11 translation"}},
        {"language", {"12 GPT", "13 your text", "14 inside"}},
        {"further", {"15 fast", "16 GPT-2", "17 second order"}}};
    viz::Drawing d(680, 316, "The way through the book: five parts, each after the one before it");
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const double left = 12 + static_cast<double>(p) * 134;
        d.text(left + 60, 20, parts[p].name, {.size = 14, .bold = true});
        for (std::size_t c = 0; c < parts[p].chapters.size(); ++c) {
            const double top = 40 + static_cast<double>(c) * 54;
            d.box(left, top, 120, 34, parts[p].chapters[c],
                  {.fill = c == 0 && p == 0 ? "#fdf3d8" : "#eef3fa", .label = {.size = 12}});
            if (c > 0) d.arrow(left + 60, top - 20, left + 60, top - 1);
        }
        if (p > 0) d.arrow(left - 26, 20, left + 18, 20);
    }
    return d.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    chapter.section("One number");
    one_number();
    chapter.section("By hand");
    by_hand();
    chapter.section("Downhill");
    downhill();
    chapter.section("Ten lines");
    ten_lines();
    chapter.section("Trained");
    const std::vector<double> losses = trained();
    chapter.section("Break it");
    cut();
    chapter.figure("01_way", way_figure());
    chapter.figure("01_slope", slope_figure());
    chapter.figure("01_loss", loss_figure(losses));
}
