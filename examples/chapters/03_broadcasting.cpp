// Chapter 3: two shapes made one, and matrix products.
#include "chapter.h"

#include <cstdio>
#include <functional>
#include <iostream>

#include "weft/weft.h"

using namespace weft;

namespace {

// ---- broadcasting

// Calls the function and prints the message of the error that it throws.
void refused(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        std::cout << "refused: " << error.what() << "\n";
    }
}

void table() {
    const Tensor column = tensor({{10}, {20}, {30}});  // (3, 1)
    const Tensor row = tensor({1, 2, 3, 4});           // (4,)
    std::cout << column + row << "\n";                 // (3, 4)
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

// Eight images of 4 by 5 pixels with three colours, and a factor for each colour.
void colours() {
    const Tensor images = ones({8, 3, 4, 5});          // (N, C, H, W)
    const Tensor factors = tensor({0.5, 1.0, 2.0});    // (C,)
    const Tensor column = factors.reshape({3, 1, 1});  // (C, 1, 1)
    std::cout << "result " << (images * column).shape().str() << "\n";
    refused([&] { return images * factors; });
}

void walk_throughs() {
    walk_through({8, 3, 4, 5}, {3, 1, 1});
    std::cout << "\n";
    walk_through({8, 3, 4, 5}, {3});
    std::cout << "\n";
    colours();
}

// What two shops sold of three goods, and what these cost.
void shops() {
    const Tensor quantities = tensor({{2, 0, 1}, {4, 5, 2}}, float64);  // (2, 3)
    const Tensor prices = tensor({3, 1, 4}, float64);                   // (3,)
    const Tensor sales = quantities * prices;                           // (2, 3)
    std::cout << sales << "\n";
    std::cout << "per shop " << sum(sales, 1) << ", per good " << sum(sales, 0) << "\n";  // (2,) and (3,)
    const Tensor total = sum(sales, 1, keepdim);                                          // (2, 1)
    std::cout << "shares of each shop's total\n" << sales / total << "\n";                // (2, 3)
}

void stretched_is_read_again() {
    const Tensor column = tensor({{10}, {20}, {30}});  // (3, 1)
    const Tensor wide = column.expand({3, 4});         // (3, 4)
    std::cout << "strides " << column.strides().str() << " become " << wide.strides().str()
              << (wide.shares_storage(column) ? ", nothing is copied" : "") << "\n";
}

void gradients_sum() {
    const Tensor column = tensor({{10}, {20}, {30}}, float64).requires_grad_();  // (3, 1)
    const Tensor row = tensor({1, 2, 3, 4}, float64).requires_grad_();           // (4,)
    const Tensor loss = sum(column * row);                                       // of (3, 4)
    loss.backward();
    std::cout << "dcolumn\n" << column.grad() << "\ndrow " << row.grad() << "\n";
    const Tensor dy = ones({3, 4}, float64);  // 1 for each product: the loss is their sum
    std::cout << "drow by hand " << sum_to(dy * column.detach(), {4}) << "\n";
}

void fits_too_well() {
    const Tensor prediction = tensor({{1}, {2}, {3}}, float64);  // (3, 1)
    const Tensor target = tensor({1, 2, 3}, float64);            // (3,)
    const Tensor difference = prediction - target;               // three zeros were intended
    std::cout << difference << "\n";
    std::printf("mean of squares %.3f\n", mean(difference * difference).item());
    refused([&] { return mse_loss(prediction, target); });
}

// ---- products

void product() {
    const Tensor A = tensor({{1, 2, 3}, {4, 5, 6}}, float64);                      // (2, 3)
    const Tensor B = tensor({{1, 0, 2, 1}, {0, 1, 1, 0}, {2, 1, 0, 3}}, float64);  // (3, 4)
    std::cout << matmul(A, B) << "\n";                                             // (2, 4)
    refused([&] { return matmul(B, A); });
}

// (m, k) @ (k, n) as three loops. Returns the number of multiply-adds.
int product_by_loops(const Tensor& a, const Tensor& b, Tensor& c) {
    int multiply_adds = 0;
    for (int i = 0; i < a.size(0); ++i)
        for (int j = 0; j < b.size(1); ++j) {
            double sum = 0;
            for (int p = 0; p < a.size(1); ++p) {
                sum += a.at(i, p) * b.at(p, j);
                ++multiply_adds;
            }
            c[i][j].fill_(sum);
        }
    return multiply_adds;
}

void cost() {
    const Tensor a = arange(24).reshape({4, 6}).to(float64);  // m 4, k 6
    const Tensor b = arange(30).reshape({6, 5}).to(float64);  // k 6, n 5
    Tensor c = zeros({4, 5}, float64);
    std::cout << "loops: " << product_by_loops(a, b, c) << " multiply-adds\n";
    const CountMultiplyAdds counter;
    const bool same = all(c == matmul(a, b));
    std::cout << "matmul: " << counter.count() << ", " << (same ? "the same" : "a different") << " result\n";
}

void parentheses() {
    const Tensor A = ones({1000, 1000}), B = ones({1000, 1000}), x = ones({1000, 1});
    const CountMultiplyAdds left;
    const Tensor y = matmul(matmul(A, B), x);
    std::cout << "(A B) x takes " << left.count() << " multiply-adds\n";
    const CountMultiplyAdds right;
    const Tensor z = matmul(A, matmul(B, x));
    std::cout << "A (B x) takes " << right.count() << ", with " << (all(y == z) ? "the same" : "another")
              << " result\n";
}

// Two sets of three points in the plane: the first is turned by 90 degrees, the second made twice as large.
void batches() {
    const Tensor points = tensor({{{1, 1}, {2, 1}, {1, 3}}, {{1, 1}, {2, 1}, {1, 3}}}, float64);  // (N, P, 2)
    const Tensor maps = tensor({{{0, 1}, {-1, 0}}, {{2, 0}, {0, 2}}}, float64);                   // (N, 2, 2)
    std::cout << matmul(points, maps) << "\n";                                                    // (N, P, 2)
    const Tensor all_pairs = matmul(points, points.transpose(-2, -1));  // (N, P, 2) @ (N, 2, P) → (N, P, P)
    std::cout << "one map for both sets " << matmul(points, maps[0]).shape() << ", all pairs of points "
              << all_pairs.shape() << "\n";
}

void gradients_of_a_product() {
    const Tensor A = tensor({{1, 2, 3}, {4, 5, 6}}, float64).requires_grad_();                      // (2, 3)
    const Tensor B = tensor({{1, 0, 2, 1}, {0, 1, 1, 0}, {2, 1, 0, 3}}, float64).requires_grad_();  // (3, 4)
    const Tensor dC = ones({2, 4}, float64);
    matmul(A, B).backward(dC);
    const bool left = all(A.grad() == matmul(dC, B.detach().T()));   // dA = dC Bᵀ: (2, 4) @ (4, 3)
    const bool right = all(B.grad() == matmul(A.detach().T(), dC));  // dB = Aᵀ dC: (3, 2) @ (2, 4)
    std::cout << "dA = dC Bᵀ: " << (left ? "yes" : "no") << ", dB = Aᵀ dC: " << (right ? "yes" : "no") << "\n"
              << A.grad() << "\n";
}

// ---- Break it

// The mean temperatures of four towns (rows) in four seasons (columns).
Tensor temperatures() {
    return tensor({{-2, 6, 12, 4}, {3, 11, 19, 7}, {10, 16, 22, 12}, {16, 20, 25, 19}}, float64);
}

void centred() {
    const Tensor t = temperatures();               // (4, 4)
    const Tensor wrong = t - mean(t, 1);           // (4, 4) and (4,)
    const Tensor right = t - mean(t, 1, keepdim);  // (4, 4) and (4, 1)
    std::cout << "without keepdim\n" << wrong << "\nmeans of the towns " << mean(wrong, 1) << "\n\n";
    std::cout << "with keepdim\n" << right << "\nmeans of the towns " << mean(right, 1) << "\n\n";
    const Tensor three_seasons = t.slice(1, 0, 3);  // (4, 3)
    refused([&] { return three_seasons - mean(three_seasons, 1); });
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

// The same table centred in two ways; the colour of a cell says whose mean was subtracted.
std::string silent_figure() {
    viz::Drawing drawing(640, 250, "Which mean is subtracted from which temperature");
    const Tensor t = temperatures();
    const std::vector<std::string> of_town = {"#c9e0f2", "#fbdfb5", "#cdebd8", "#e8d5ea"};
    const auto part = [&](double x, const std::string& title, const Tensor& values, bool by_row) {
        std::vector<std::string> fills;
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) fills.push_back(of_town[static_cast<std::size_t>(by_row ? i : j)]);
        drawing.text(x + 116, 26, title, {.size = 13, .bold = true});
        drawing.cells(x, 70, 58, 34, values, {.fills = fills, .text_size = 14});
    };
    for (int i = 0; i < 4; ++i)
        drawing.text(62, 87 + 34 * i, "town " + std::to_string(i), {.size = 12, .anchor = "end"});
    for (int j = 0; j < 4; ++j)
        for (const int x : {99, 409})
            drawing.text(x + 58 * j, 56, "season " + std::to_string(j), {.size = 11, .colour = "#555"});
    part(70, "t - mean(t, 1, keepdim)", t - mean(t, 1, keepdim), true);
    part(380, "t - mean(t, 1)", t - mean(t, 1), false);
    drawing.text(186, 228, "each town less its own mean", {.size = 13});
    drawing.text(496, 228, "each season less a town's mean", {.size = 13});
    return drawing.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    chapter.section("The two rules");
    table();
    std::cout << "\n";
    walk_throughs();
    chapter.section("Sums along an axis");
    shops();
    chapter.section("Stretched means read again");
    stretched_is_read_again();
    chapter.section("Gradients sum");
    gradients_sum();
    chapter.section("When it fits too well");
    fits_too_well();
    chapter.section("A matrix product");
    product();
    chapter.section("What it costs");
    cost();
    std::cout << "\n";
    parentheses();
    chapter.section("Batches of products");
    batches();
    chapter.section("Gradients of a product");
    gradients_of_a_product();
    chapter.section("Break it: the wrong axis");
    centred();

    chapter.figure("03_broadcast", broadcast_figure());
    chapter.figure("03_product", product_figure());
    chapter.figure("03_silent", silent_figure());
}
