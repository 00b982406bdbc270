// Chapter 3: shapes that are made one, and matrix products.
#include <cmath>
#include <functional>
#include <iostream>

#include "chapter.h"

using namespace weft;

namespace {

// ---- broadcasting

Tensor table() {
    const Tensor column = tensor({{10}, {20}, {30}}, int64);  // (3, 1)
    const Tensor row = tensor({1, 2, 3, 4}, int64);           // (4,)
    return column + row;                                      // (3, 4)
}

// The two rules, axis by axis from the right. True where the shapes broadcast.
bool walk_through(const Shape& a, const Shape& b) {
    std::printf("%s and %s\n", a.str().c_str(), b.str().c_str());
    bool fits = true;
    for (int axis = -1; axis >= -std::max(a.rank(), b.rank()); --axis) {
        const std::int64_t m = -axis <= a.rank() ? a[a.rank() + axis] : 1;  // rule 1: missing axes are 1
        const std::int64_t n = -axis <= b.rank() ? b[b.rank() + axis] : 1;
        fits = fits && (m == n || m == 1 || n == 1);  // rule 2
        std::printf("  axis %d: %lld and %lld: %s\n", axis, static_cast<long long>(m),
                    static_cast<long long>(n),
                    m == n             ? "equal"
                    : m == 1 || n == 1 ? "the 1 stretches"
                                       : "refused");
    }
    return fits;
}

void refused(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        std::cout << "refused: " << error.what() << "\n";
    }
}

void walk_throughs() {
    const Tensor scores = zeros({4, 8, 5, 5});  // (B, H, T, S): 4 samples, 8 heads, 5 queries, 5 keys
    const Tensor mask = zeros({4, 5, 5});       // (B, T, S): one for each sample
    if (walk_through(scores.shape(), mask.unsqueeze(1).shape()))
        std::cout << "result " << (scores + mask.unsqueeze(1)).shape().str() << "\n\n";
    if (!walk_through(scores.shape(), mask.shape())) refused([&] { return scores + mask; });
}

void stretched_is_read_again() {
    const Tensor column = tensor({{10.0}, {20}, {30}});  // (3, 1)
    const Tensor wide = column.expand({3, 4});           // (3, 4)
    std::cout << "strides " << column.strides().str() << " become " << wide.strides().str()
              << (wide.shares_storage(column) ? ", nothing is copied" : "") << "\n";
}

void gradients_sum() {
    const Tensor column = tensor({{10}, {20}, {30}}, float64).requires_grad_();  // (3, 1)
    const Tensor row = tensor({1, 2, 3, 4}, float64).requires_grad_();           // (4,)
    const Tensor y = column * row;                                               // (3, 4)
    const Tensor dy = ones({3, 4}, float64);                                     // as a sum of y gives
    y.backward(dy);
    std::cout << "dcolumn\n" << column.grad() << "\ndrow " << row.grad() << "\n";
    std::cout << "drow by hand " << sum_to(dy * column.detach(), {4}) << "\n";
}

void fits_too_well() {
    const Tensor prediction = tensor({{1}, {2}, {3}}, float64);  // (3, 1)
    const Tensor target = tensor({1, 2, 3}, float64);            // (3,)
    const Tensor difference = prediction - target;               // meant: three zeros
    std::cout << difference << "\n";
    std::printf("mean of squares %.3f\n", mean(pow(difference, 2)).item());
    refused([&] { return mse_loss(prediction, target); });
}

// ---- products

void product() {
    const Tensor A = tensor({{1, 2, 3}, {4, 5, 6}}, float64);                      // (2, 3)
    const Tensor B = tensor({{1, 0, 2, 1}, {0, 1, 1, 0}, {2, 1, 0, 3}}, float64);  // (3, 4)
    std::cout << matmul(A, B) << "\n";                                             // (2, 4)
    refused([&] { return matmul(B, A); });
}

// c_ij = Σ_p a_ip b_pj as three loops. Returns how many multiplications and additions it took.
long long count_operations(const Tensor& a, const Tensor& b, Tensor& c) {
    long long operations = 0;
    for (int i = 0; i < a.size(0); ++i)
        for (int j = 0; j < b.size(1); ++j) {
            double sum = 0;
            for (int p = 0; p < a.size(1); ++p) {
                sum += a.at({i, p}) * b.at({p, j});
                operations += 2;
            }
            c[i].slice(0, j, j + 1).fill_(sum);
        }
    return operations;
}

void cost() {
    Rng rng(1);
    const Tensor a = randn({4, 6}, rng, float64), b = randn({6, 5}, rng, float64);  // m 4, k 6, n 5
    Tensor c = zeros({4, 5}, float64);
    const long long operations = count_operations(a, b, c);
    const bool same = max(abs(c - matmul(a, b))).item() < 1e-12;
    std::printf("%lld operations, 2 m n k = %d; %s\n\n", operations, 2 * 4 * 5 * 6,
                same ? "the same as matmul" : "not what matmul gives");

    const double C = 768;
    std::printf("     T  projections  scores and average\n");
    for (const double T : {256.0, 1536.0, 6144.0})
        std::printf("%6.0f  %7.1f e9  %14.1f e9\n", T, 4 * 2 * T * C * C / 1e9, 2 * 2 * T * T * C / 1e9);
}

// B samples, H heads, T queries, S keys, d_k columns of a head.
void batched() {
    const Tensor q = ones({2, 3, 4, 8});                   // (B, H, T, d_k)
    const Tensor k = ones({2, 3, 5, 8});                   // (B, H, S, d_k)
    const Tensor scores = matmul(q, k.transpose(-2, -1));  // (B, H, T, d_k) @ (B, H, d_k, S) → (B, H, T, S)
    std::cout << q.shape().str() << " @ " << k.transpose(-2, -1).shape().str() << " → " << scores.shape().str()
              << "\n";
    const Tensor x = ones({2, 4, 24}), W = ones({24, 72});  // (B, T, C), (C, 3C)
    std::cout << x.shape().str() << " @ " << W.shape().str() << " → " << matmul(x, W).shape().str() << "\n";
}

void gradients_of_a_product() {
    const Tensor A = tensor({{1, 2, 3}, {4, 5, 6}}, float64).requires_grad_();                      // (2, 3)
    const Tensor B = tensor({{1, 0, 2, 1}, {0, 1, 1, 0}, {2, 1, 0, 3}}, float64).requires_grad_();  // (3, 4)
    const Tensor dY = ones({2, 4}, float64);
    matmul(A, B).backward(dY);
    const bool left = all(A.grad() == matmul(dY, B.detach().T()));   // dA = dY Bᵀ: (2, 4) @ (4, 3)
    const bool right = all(B.grad() == matmul(A.detach().T(), dY));  // dB = Aᵀ dY: (3, 2) @ (2, 4)
    std::cout << "dA = dY Bᵀ: " << (left ? "yes" : "no") << ", dB = Aᵀ dY: " << (right ? "yes" : "no") << "\n"
              << A.grad() << "\n";
}

// ---- Break it

// Two samples of three tokens: of the second, only the first token is a word. True: blocked.
Tensor padding() {                                                   // (B, T, S) = (2, 3, 3)
    const Tensor of_keys = tensor({{0, 0, 0}, {0, 1, 1}}, boolean);  // (B, S)
    return of_keys.unsqueeze(1).expand({2, 3, 3});
}

// How many keys the last query of each sample and head may see.
Tensor visible(const Tensor& mask) {            // broadcasts to (B, H, T, S)
    const Tensor scores = zeros({2, 2, 3, 3});  // B = 2 samples, H = 2 heads
    const Tensor weights = softmax(masked_fill(scores, mask, -INFINITY), -1);
    return sum((weights > 0).to(float32), -1).select(2, 2).to(int64);  // (B, H)
}

void mask_of_the_wrong_axis() {
    const Tensor mask = padding();  // (B, T, S)
    std::cout << "with unsqueeze(1):\n"
              << visible(mask.unsqueeze(1)) << "\n"  // (B, 1, T, S)
              << "without:\n"
              << visible(mask) << "\n";  // read as (1, H, T, S)

    const Tensor q = zeros({2, 2, 3, 4});  // (B, H, T, d_k)
    const Tensor weights =
        scaled_dot_product_attention_with_weights(q, q, q, {.mask = Mask::blocked(mask)}).weights;
    std::cout << "Mask::blocked, of rank 3:\n"
              << sum((weights > 0).to(float32), -1).select(2, 2).to(int64) << "\n";
}

// ---- figures

std::string broadcast_figure() {
    viz::Drawing drawing(640, 232, "A column and a row broadcast to a table");
    const std::string blue = "#c9e0f2", orange = "#fbdfb5", pale_blue = "#e9f2fa", pale_orange = "#fdf2e0";
    const auto grid = [&](double x, const Tensor& values, const std::vector<std::string>& fills) {
        drawing.cells(x, 90, 42, 30, values.to(float64), {.fills = fills, .text_size = 14});
    };
    const Tensor column = tensor({{10.0}, {20}, {30}}).expand({3, 4}),
                 row = tensor({1.0, 2, 3, 4}).expand({3, 4});
    std::vector<std::string> of_column, of_row;
    for (int i = 0; i < 12; ++i) {
        of_column.push_back(i % 4 == 0 ? blue : pale_blue);
        of_row.push_back(i < 4 ? orange : pale_orange);
    }
    grid(20, column, of_column);
    grid(236, row, of_row);
    grid(452, column + row, {});
    const viz::Label title{.size = 13, .bold = true}, note{.size = 12, .colour = "#555"};
    drawing.text(104, 66, "(3, 1)", title).text(320, 66, "(4,)", title).text(536, 66, "(3, 4)", title);
    drawing.text(104, 42, "the column").text(320, 42, "the row").text(536, 42, "their sum");
    drawing.text(206, 135, "+", {.size = 20}).text(428, 135, "=", {.size = 20});
    drawing.arrow(50, 192, 180, 192, {viz::palette(0), 1.5}).text(104, 208, "read again for each column", note);
    drawing.arrow(224, 122, 224, 176, {viz::palette(1), 1.5}).text(320, 208, "read again for each row", note);
    return drawing.svg();
}

std::string product_figure() {
    viz::Drawing drawing(640, 312, "One element of a matrix product is a row times a column");
    const Tensor A = tensor({{1.0, 2, 3}, {4, 5, 6}});
    const Tensor B = tensor({{1.0, 0, 2, 1}, {0, 1, 1, 0}, {2, 1, 0, 3}});
    const std::string blue = "#c9e0f2", orange = "#fbdfb5", green = "#cdebd8", white = "#fff";
    std::vector<std::string> of_a(6, white), of_b(12, white), of_c(8, white);
    for (int p = 0; p < 3; ++p)
        of_a[static_cast<std::size_t>(3 + p)] = blue, of_b[static_cast<std::size_t>(4 * p + 2)] = orange;
    of_c[6] = green;
    const double x = 270, y = 180, w = 46, h = 34;
    drawing.cells(x, 40, w, h, B, {.fills = of_b, .text_size = 15});
    drawing.cells(x - 170, y, w, h, A, {.fills = of_a, .text_size = 15});
    drawing.cells(x, y, w, h, matmul(A, B), {.fills = of_c, .text_size = 15});
    const viz::Label name{.size = 14, .bold = true};
    drawing.text(x + 2 * w, 22, "B (3, 4)", name).text(x - 170 + 1.5 * w, y - 18, "A (2, 3)", name);
    drawing.text(x + 4 * w + 62, y + h, "A B (2, 4)", name);
    drawing.line(x - 170 + 3 * w, y + 1.5 * h, x, y + 1.5 * h, {viz::palette(0), 1.5, true});
    drawing.line(x + 2.5 * w, 40 + 3 * h, x + 2.5 * w, y, {viz::palette(5), 1.5, true});
    drawing.text(320, 290, "row (4, 5, 6) times column (2, 1, 0): 4 · 2 + 5 · 1 + 6 · 0 = 13", {.size = 15});
    return drawing.svg();
}

// For each sample and head, which keys its queries see.
std::string mask_figure() {
    viz::Drawing drawing(640, 272, "Which mask reaches which sample and head");
    const Tensor mask = padding();
    const auto part = [&](double x, const std::string& title, const Tensor& used, const std::string& colour) {
        drawing.text(x + 128, 24, title, {.size = 13, .colour = colour, .bold = true});
        const Tensor all = broadcast_to(used, {2, 2, 3, 3});
        for (int b = 0; b < 2; ++b)
            for (int h = 0; h < 2; ++h) {
                viz::CellsStyle style{.text_size = 11};
                for (const bool blocked : all[b][h].to_vector<bool>()) {
                    style.texts.push_back(blocked ? "" : "1");
                    style.fills.push_back(blocked ? "#444" : "#fff");
                }
                const double left = x + 58 + 112 * h, top = 70 + 108 * b;
                if (b == 0) drawing.text(left + 42, 54, "head " + std::to_string(h), {.size = 12});
                if (h == 0)
                    drawing.text(x + 48, top + 39, "sample " + std::to_string(b),
                                 {.size = 12, .anchor = "end"});
                drawing.cells(left, top, 28, 26, zeros({3, 3}), style);
            }
    };
    part(10, "unsqueeze(1): (B, 1, T, S)", mask.unsqueeze(1), viz::palette(2));
    part(340, "as it is: (1, H, T, S)", mask, viz::palette(1));
    return drawing.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    chapter.section("Broadcasting");
    std::cout << table() << "\n\n";
    walk_throughs();
    chapter.section("Stretched is read again");
    stretched_is_read_again();
    chapter.section("Gradients sum");
    gradients_sum();
    chapter.section("Fits too well");
    fits_too_well();
    chapter.section("A matrix product");
    product();
    chapter.section("What it costs");
    cost();
    chapter.section("Batches of products");
    batched();
    chapter.section("Gradients of a product");
    gradients_of_a_product();
    chapter.section("Break it: a mask along the wrong axis");
    mask_of_the_wrong_axis();

    chapter.figure("03_broadcast", broadcast_figure());
    chapter.figure("03_product", product_figure());
    chapter.figure("03_mask", mask_figure());
}
