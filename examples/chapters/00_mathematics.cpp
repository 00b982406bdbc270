// Chapter 0: the numbers of the primer, mostly in plain C++.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "chapter.h"
#include "weft/viz/figure.h"

using namespace weft;

namespace {

// ---- Derivatives of several variables

const double pi = std::acos(-1.0);

double f(double x, double y) { return x * x + 3 * y * y; }

// The slope of f at (x, y) in the direction of that angle, in degrees, by a central difference.
double slope_along(double degrees, double x, double y) {
    const double u = std::cos(degrees * pi / 180), v = std::sin(degrees * pi / 180), h = 1e-5;
    return (f(x + h * u, y + h * v) - f(x - h * u, y - h * v)) / (2 * h);
}

void directions() {
    const double steepest = std::atan2(6, 4) * 180 / pi;
    std::printf("f(2.1, 0.9) = %.2f, predicted %.2f\n\n", f(2.1, 0.9), 7 + 4 * 0.1 + 6 * -0.1);
    std::printf("angle    slope\n");
    for (const double angle : {0.0, 30.0, steepest, 90.0, steepest + 90, steepest + 180})
        std::printf("%5.1f  %7.3f\n", angle, std::round(slope_along(angle, 2, 1) * 1000) / 1000 + 0.0);
    std::printf("length of the gradient %.3f\n", std::hypot(4, 6));
}

// ---- The chain rule as a graph

void paths() {
    const double x = 2;
    const double a = x * x, b = 3 * x, c = a * b, L = c + a;
    std::printf("a = %g, b = %g, c = %g, L = %g\n", a, b, c, L);
    const double dL_dc = 1;
    const double dL_db = dL_dc * a;
    const double dL_da = dL_dc * b + 1;
    const double dL_dx = dL_da * 2 * x + dL_db * 3;
    std::printf("dL/dc = %g, dL/db = %g, dL/da = %g, dL/dx = %g\n", dL_dc, dL_db, dL_da, dL_dx);
}

// The same with the library.
void by_backward() {
    Tensor x = tensor(2.0, float64).requires_grad_();
    Tensor a = x * x;
    Tensor L = a * (3 * x) + a;
    L.backward();
    std::printf("by backward: dL/dx = %g\n", x.grad().item());
}

// ---- Matrices and shapes

using Matrix = std::vector<std::vector<double>>;

// (m, k) times (k, n).
Matrix product(const Matrix& A, const Matrix& B) {
    Matrix C(A.size(), std::vector<double>(B[0].size()));
    for (std::size_t i = 0; i < A.size(); ++i)
        for (std::size_t j = 0; j < B[0].size(); ++j)
            for (std::size_t p = 0; p < B.size(); ++p) C[i][j] += A[i][p] * B[p][j];
    return C;
}

Matrix transposed(const Matrix& A) {
    Matrix T(A[0].size(), std::vector<double>(A.size()));
    for (std::size_t i = 0; i < A.size(); ++i)
        for (std::size_t j = 0; j < A[0].size(); ++j) T[j][i] = A[i][j];
    return T;
}

void print(const Matrix& A) {
    for (const std::vector<double>& row : A) {
        for (const double value : row) std::printf("%4g", value);
        std::printf("\n");
    }
}

const Matrix baskets = {{2, 0, 1}, {1, 1, 1}, {0, 3, 2}, {4, 1, 0}};  // 4 baskets, 3 goods
const Matrix prices = {{3, 2}, {1, 2}, {5, 4}};                       // 3 goods, 2 shops

void shopping() {
    const Matrix totals = product(baskets, prices);
    print(totals);
    const bool same = transposed(totals) == product(transposed(prices), transposed(baskets));
    std::printf("the transpose of the product is the product of the transposes, swapped: %s\n",
                same ? "yes" : "no");
}

// ---- Logarithms and entropy

const std::vector<double> fair = {1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0};
const std::vector<double> loaded = {0.1, 0.1, 0.1, 0.1, 0.1, 0.5};

// −Σ p ln q: the average surprise at outcomes that follow p, if you expect q.
double cross_entropy(const std::vector<double>& p, const std::vector<double>& q) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) sum -= p[i] * std::log(q[i]);
    return sum;
}

void text_of_1000() {
    double probability = 1, logarithm = 0;
    for (int character = 0; character < 1000; ++character) {
        probability *= 0.1;
        logarithm += std::log(0.1);
    }
    std::printf("product %g, sum of logarithms %.1f\n", probability, logarithm);
}

void dice() {
    std::printf("true die   expected die   cross-entropy\n");
    std::printf("fair       fair                   %.3f\n", cross_entropy(fair, fair));
    std::printf("loaded     loaded                 %.3f\n", cross_entropy(loaded, loaded));
    std::printf("loaded     fair                   %.3f\n", cross_entropy(loaded, fair));
    std::printf("fair       loaded                 %.3f\n", cross_entropy(fair, loaded));
}

// ---- Mean and variance

// The probabilities of the totals of that many dice; element t is that of the total dice + t.
std::vector<double> totals_of(int dice) {
    std::vector<double> totals = {1};
    for (int die = 0; die < dice; ++die) {
        std::vector<double> next(totals.size() + 5);
        for (std::size_t t = 0; t < totals.size(); ++t)
            for (std::size_t eyes = 0; eyes < 6; ++eyes) next[t + eyes] += totals[t] / 6;
        totals = next;
    }
    return totals;
}

void sums_of_dice() {
    std::printf("dice    mean   variance   standard deviation\n");
    for (const int dice : {1, 4, 16}) {
        const std::vector<double> totals = totals_of(dice);
        double mean = 0, variance = 0;
        for (std::size_t t = 0; t < totals.size(); ++t) mean += totals[t] * static_cast<double>(t);
        for (std::size_t t = 0; t < totals.size(); ++t)
            variance += totals[t] * std::pow(static_cast<double>(t) - mean, 2);
        std::printf("%4d   %5.1f   %8.3f   %18.3f\n", dice, dice + mean, variance, std::sqrt(variance));
    }
}

// The standard deviation of 10000 dot products of two vectors of d random signs, +1 or −1.
double spread_of_dot_products(int d, unsigned seed) {
    std::mt19937 random(seed);
    double sum_of_squares = 0;
    for (int sample = 0; sample < 10000; ++sample) {
        int dot = 0;
        for (int i = 0; i < d; ++i) {
            const int q = random() % 2 == 0 ? 1 : -1;
            const int k = random() % 2 == 0 ? 1 : -1;
            dot += q * k;
        }
        sum_of_squares += dot * dot;
    }
    return std::sqrt(sum_of_squares / 10000);  // the mean is 0
}

void dot_products() {
    std::printf("   d      measured      divided by sqrt(d)\n");
    for (const int d : {4, 16, 64, 256}) {
        double least = INFINITY, most = 0;
        for (const unsigned seed : {1u, 2u, 3u, 4u, 5u}) {
            const double spread = spread_of_dot_products(d, seed);
            least = std::fmin(least, spread), most = std::fmax(most, spread);
        }
        std::printf("%4d   %5.2f to %5.2f     %.2f to %.2f\n", d, least, most, least / std::sqrt(d),
                    most / std::sqrt(d));
    }
}

// ---- A first look at eigenvalues

void repeated() {
    double x = 1, y = 0;
    std::printf("n    A^n (1, 0)     y / x   growth of x\n");
    for (int n = 0; n <= 6; ++n) {
        const double next_x = 2 * x + y, next_y = x + 2 * y;
        std::printf("%d   (%4g, %4g)   %.4f   %.4f\n", n, x, y, y / x, next_x / x);
        x = next_x, y = next_y;
    }
}

// The distance from the minimum of x² + xy + y² after 30 steps of gradient descent from (1, 0).
double distance_after_descent(double rate) {
    double x = 1, y = 0;
    for (int step = 0; step < 30; ++step) {
        const double dx = 2 * x + y, dy = x + 2 * y;
        x -= rate * dx;
        y -= rate * dy;
    }
    return std::hypot(x, y);
}

void rates() {
    std::printf("rate   1 - 3 rate   1 - rate   distance after 30 steps\n");
    for (const double rate : {0.1, 0.5, 0.6, 0.7})
        std::printf("%.1f    %10.1f   %8.1f   %23.5f\n", rate, 1 - 3 * rate, 1 - rate,
                    distance_after_descent(rate));
}

// ---- figures

std::string gradient_figure() {
    const int side = 81;
    std::vector<double> values;
    for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j)
            values.push_back(f(-4 + 8.0 * j / (side - 1), -2.5 + 5.0 * i / (side - 1)));
    const Tensor field = tensor(values).reshape({side, side});
    std::vector<double> x, y;  // the ellipse through (2, 1)
    for (int i = 0; i <= 120; ++i)
        x.push_back(std::sqrt(7.0) * std::cos(i * pi / 60)),
            y.push_back(std::sqrt(7 / 3.0) * std::sin(i * pi / 60));
    return viz::Plot({.title = "Lines of equal value of f(x, y) = x² + 3y²",
                      .x = "x",
                      .y = "y",
                      .width = 640,
                      .height = 420,
                      .x_range = {-4, 4},
                      .y_range = {-2.5, 2.5},
                      .legend = "top-left"})
        .field(field, {-4, 4}, {-2.5, 2.5}, 12)
        .line(x, y, "f(x, y) = 7", {.colour = "#222"})
        .line({2, 2 + 4 * 0.22}, {1, 1 + 6 * 0.22}, "direction of the gradient (4, 6)",
              {.colour = viz::palette(1), .width = 3})
        .line({2 - 6 * 0.2, 2 + 6 * 0.2}, {1 + 4 * 0.2, 1 - 4 * 0.2}, "slope 0: along the ellipse",
              {.colour = viz::palette(0), .dashed = true})
        .points({2}, {1}, "(2, 1)", {.colour = "#222"})
        .svg();
}

std::string paths_figure() {
    viz::Drawing d(640, 270, "The graph of L = x² · 3x + x², with the derivative along each edge");
    const viz::Label edge{.size = 13, .colour = viz::palette(1), .bold = true};
    d.arrow(90, 135, 188, 75).arrow(90, 145, 188, 215);
    d.arrow(292, 70, 368, 118).arrow(292, 215, 368, 160);
    d.arrow(472, 140, 548, 140);
    d.bend(240, 48, 594, 118);
    d.box(20, 118, 70, 44, "x = 2").box(190, 48, 102, 44, "a = x² = 4").box(190, 193, 102, 44, "b = 3x = 6");
    d.box(370, 118, 102, 44, "c = ab = 24").box(550, 118, 84, 44, "L = 28");
    d.text(118, 92, "2x = 4", edge).text(124, 192, "3", edge).text(350, 84, "b = 6", edge);
    d.text(352, 200, "a = 4", edge).text(510, 128, "1", edge).text(470, 62, "1", edge);
    d.text(320, 255, "4 · 6 · 1 + 3 · 4 · 1 + 4 · 1 = 40", {.size = 14});
    return d.svg();
}

std::string product_figure() {
    viz::Drawing d(640, 236, "Baskets times prices gives totals");
    const std::string blue = "#c9e0f2", orange = "#fbdfb5", green = "#cdebd8", white = "#fff";
    const auto grid = [&](double x, double y, const Matrix& A, std::vector<std::string> fills) {
        std::vector<double> values;
        for (const auto& row : A) values.insert(values.end(), row.begin(), row.end());
        const auto rows = static_cast<std::int64_t>(A.size());
        d.cells(x, y, 42, 32, tensor(values).reshape({rows, -1}), {.fills = std::move(fills), .text_size = 14});
    };
    std::vector<std::string> of_a(12, white), of_b(6, white), of_c(8, white);
    for (const std::size_t p : {0u, 1u, 2u}) of_a[6 + p] = blue, of_b[2 * p] = orange;
    of_c[4] = green;
    grid(50, 60, baskets, of_a);
    grid(270, 76, prices, of_b);
    grid(470, 60, product(baskets, prices), of_c);
    const viz::Label title{.size = 14, .bold = true};
    d.text(113, 22, "baskets (4, 3)", title)
        .text(312, 22, "prices (3, 2)", title)
        .text(512, 22, "totals (4, 2)", title);
    d.text(113, 44, "a column for each good", {.size = 11}).text(312, 44, "a row for each good", {.size = 11});
    d.text(225, 124, "·", {.size = 24}).text(412, 124, "=", {.size = 20});
    d.text(320, 216, "third basket in the first shop: 0 · 3 + 3 · 1 + 2 · 5 = 13", {.size = 14});
    return d.svg();
}

std::string surprise_figure() {
    std::vector<double> p, surprise;
    for (int i = 1; i <= 200; ++i) p.push_back(i / 200.0), surprise.push_back(-std::log(i / 200.0));
    return viz::Plot({.title = "The surprise at an outcome of probability p",
                      .x = "p",
                      .y = "−ln p",
                      .height = 320,
                      .x_range = {0, 1.02},
                      .y_range = {0, 5.4},
                      .legend = "top-right"})
        .line(p, surprise, "−ln p")
        .points({1 / 6.0}, {std::log(6)}, "a fair die: p = 1/6, 1.79")
        .points({0.5}, {std::log(2)}, "a coin: p = 1/2, 0.69")
        .points({1}, {0}, "a certain outcome: 0")
        .svg();
}

std::string sums_figure() {
    viz::Plot plot({.title = "How far the total of n dice is from its mean",
                    .x = "total − 3.5 n",
                    .y = "probability",
                    .height = 320,
                    .x_range = {-25, 25},
                    .y_range = {0, 0.18},
                    .legend = "top-right"});
    for (const int dice : {1, 4, 16}) {
        const std::vector<double> totals = totals_of(dice);
        std::vector<double> x, y;
        for (std::size_t t = 0; t < totals.size(); ++t)
            if (const double from_mean = static_cast<double>(t) - 2.5 * dice; std::abs(from_mean) <= 25)
                x.push_back(from_mean), y.push_back(totals[t]);
        plot.line(x, y, "n = " + std::to_string(dice), {.markers = true});
    }
    return plot.svg();
}

std::string stretch_figure() {
    viz::Drawing d(640, 400, "What the matrix with rows (2, 1) and (1, 2) does to the unit circle");
    const double cx = 220, cy = 200, unit = 58;
    const auto at = [&](double x, double y) { return std::pair{cx + unit * x, cy - unit * y}; };
    std::vector<std::pair<double, double>> circle, ellipse;
    for (int i = 0; i <= 72; ++i) {
        const double x = std::cos(i * pi / 36), y = std::sin(i * pi / 36);
        circle.push_back(at(x, y)), ellipse.push_back(at(2 * x + y, x + 2 * y));
    }
    d.line(20, cy, 420, cy, {"#ccc", 1}).line(cx, 15, cx, 385, {"#ccc", 1});
    d.path(circle, {"#777", 1.5, true}).path(ellipse, {"#777", 1.5});
    const double r = std::sqrt(0.5);
    const auto arrow = [&](double x, double y, const std::string& colour) {
        const auto [x1, y1] = at(x, y);
        const auto [x2, y2] = at(2 * x + y, x + 2 * y);
        if (std::hypot(x2 - x1, y2 - y1) > 1) d.arrow(cx, cy, x2, y2, {colour, 2});
        d.arrow(cx, cy, x1, y1, {colour, 3.5});
    };
    arrow(r, r, viz::palette(1));
    arrow(-r, r, viz::palette(2));
    arrow(1, 0, viz::palette(0));
    const auto label = [&](double y, std::size_t colour, const std::string& text) {
        d.text(440, y, text, {.size = 13, .anchor = "start", .colour = viz::palette(colour)});
    };
    label(60, 1, "(1, 1): stretched by 3");
    label(90, 2, "(−1, 1): stretched by 1");
    label(120, 0, "(1, 0): turned to (2, 1)");
    d.text(440, 170, "thick: the vector v", {.size = 13, .anchor = "start"});
    d.text(440, 194, "thin: the vector A v", {.size = 13, .anchor = "start"});
    d.text(440, 224, "dashed: all v of length 1", {.size = 13, .anchor = "start"});
    d.text(440, 248, "ellipse: their A v", {.size = 13, .anchor = "start"});
    return d.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    chapter.section("Derivatives of several variables");
    directions();
    chapter.section("The chain rule as a graph");
    paths();
    by_backward();
    chapter.section("Matrices and shapes");
    shopping();
    chapter.section("Logarithms and entropy");
    text_of_1000();
    std::printf("\n");
    dice();
    chapter.section("Mean and variance");
    sums_of_dice();
    std::printf("\n");
    dot_products();
    chapter.section("A first look at eigenvalues");
    repeated();
    std::printf("\n");
    rates();
    chapter.figure("00_gradient", gradient_figure());
    chapter.figure("00_paths", paths_figure());
    chapter.figure("00_product", product_figure());
    chapter.figure("00_surprise", surprise_figure());
    chapter.figure("00_sums", sums_figure());
    chapter.figure("00_stretch", stretch_figure());
}
