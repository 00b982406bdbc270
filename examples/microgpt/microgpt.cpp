// A GPT from nothing: it reads a list of names and invents new ones. Standard C++, read from top to bottom.
//
//     g++ -std=c++20 -O2 microgpt.cpp -o microgpt && ./microgpt names.txt
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

// ---- A number that remembers what it was computed from
//
// Every number of a training step is an entry of one list, the tape, in the order in which they are made.

struct Entry {
    double value, grad;  // grad: how fast the loss changes with this number
    int a;               // the entry it was computed from, or -1
    double slope_a;      // how fast it changes with that one
    int b;               // another, if there are two
    double slope_b;
};
std::vector<Entry> tape;

struct Number {
    int at;  // its entry
    double value() const { return tape[at].value; }
};

Number record(double value, int a = -1, double slope_a = 0, int b = -1, double slope_b = 0) {
    tape.push_back({value, 0, a, slope_a, b, slope_b});
    return {static_cast<int>(tape.size()) - 1};
}

Number operator+(Number a, Number b) { return record(a.value() + b.value(), a.at, 1, b.at, 1); }
Number operator+(Number a, double c) { return record(a.value() + c, a.at, 1); }
Number operator*(Number a, Number b) { return record(a.value() * b.value(), a.at, b.value(), b.at, a.value()); }
Number operator*(Number a, double c) { return record(a.value() * c, a.at, c); }
Number operator/(Number a, Number b) {
    const double y = a.value() / b.value();
    return record(y, a.at, 1 / b.value(), b.at, -y / b.value());
}
Number exp(Number x) {
    const double y = std::exp(x.value());
    return record(y, x.at, y);
}
Number log(Number x) { return record(std::log(x.value()), x.at, 1 / x.value()); }
Number sqrt(Number x) {
    const double y = std::sqrt(x.value());
    return record(y, x.at, 1 / (2 * y));
}
Number relu(Number x) { return x.value() > 0 ? record(x.value(), x.at, 1) : record(0, x.at, 0); }

// The chain rule. A number is made after those it is computed from, so on the way back its grad is complete
// before it is passed on.
void backward(Number loss) {
    tape[loss.at].grad = 1;
    for (int i = loss.at; i >= 0; --i) {
        const Entry& e = tape[i];
        if (e.a >= 0) tape[e.a].grad += e.grad * e.slope_a;
        if (e.b >= 0) tape[e.b].grad += e.grad * e.slope_b;
    }
}

// ---- Random numbers

std::uint64_t seed = 42;
double uniform() {  // in [0, 1), by splitmix64 (Steele, Lea and Flood, 2014)
    std::uint64_t z = seed += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}
double normal() {  // by Box and Muller's formula
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
}

// ---- Vectors and matrices of such numbers

using Vector = std::vector<Number>;
using Matrix = std::vector<Vector>;  // its rows

Matrix random_matrix(int rows, int columns, double deviation) {
    Matrix m(rows);
    for (Vector& row : m)
        for (int j = 0; j < columns; ++j) row.push_back(record(deviation * normal()));
    return m;
}
Number sum(const Vector& x) {
    Number total = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) total = total + x[i];
    return total;
}
Number dot(const Vector& a, const Vector& b) {
    Vector products;
    for (std::size_t i = 0; i < a.size(); ++i) products.push_back(a[i] * b[i]);
    return sum(products);
}
Vector operator*(const Matrix& W, const Vector& x) {
    Vector y;
    for (const Vector& row : W) y.push_back(dot(row, x));
    return y;
}
Vector operator+(Vector a, const Vector& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] + b[i];
    return a;
}
Vector softmax(Vector x) {  // e^x / Σ e^x. Without the largest subtracted, e^x could overflow.
    double largest = x[0].value();
    for (const Number n : x) largest = std::max(largest, n.value());
    for (Number& n : x) n = exp(n + -largest);
    const Number total = sum(x);
    for (Number& n : x) n = n / total;
    return x;
}
Vector rms_norm(Vector x) {  // x / √(mean of x² + 1e-5)
    const Number size = sqrt(dot(x, x) * (1.0 / static_cast<double>(x.size())) + 1e-5);
    for (Number& n : x) n = n / size;
    return x;
}

// ---- The model

constexpr int V = 27, T = 16;  // V characters: 0 begins and ends a name, 1 to 26 are letters. At most T of them
constexpr int C = 16, H = 4, D = C / H;  // C numbers for each character, in H heads of D

struct Model {  // deviations near 1/√columns; half of it where the result is added to x
    Matrix token = random_matrix(V, C, 0.1), position = random_matrix(T, C, 0.1);
    Matrix W_q = random_matrix(C, C, 0.25), W_k = random_matrix(C, C, 0.25), W_v = random_matrix(C, C, 0.25),
           W_out = random_matrix(C, C, 0.125);
    Matrix W_up = random_matrix(4 * C, C, 0.25), W_down = random_matrix(C, 4 * C, 0.0625);
    Matrix head = random_matrix(V, C, 0.1);  // from C numbers to a score for each character
};

// The keys and values of the characters so far. Later ones are not in it yet, so nothing has to hide them.
struct Past {
    Matrix keys, values;
};

Vector slice(const Vector& x, int h) { return Vector(x.begin() + h * D, x.begin() + (h + 1) * D); }

Vector attention(const Model& model, const Vector& x, Past& past) {
    const Vector q = model.W_q * x;
    past.keys.push_back(model.W_k * x);
    past.values.push_back(model.W_v * x);
    Vector merged;
    for (int h = 0; h < H; ++h) {
        Vector scores;
        for (const Vector& k : past.keys) scores.push_back(dot(slice(q, h), slice(k, h)) * (1 / std::sqrt(D)));
        const Vector weights = softmax(scores);
        for (int i = h * D; i < (h + 1) * D; ++i) {
            Vector column;
            for (const Vector& v : past.values) column.push_back(v[i]);
            merged.push_back(dot(weights, column));
        }
    }
    return model.W_out * merged;
}

// The logits of the character after `id`, which is number `t` of its name.
Vector next(const Model& model, int id, int t, Past& past) {
    Vector x = model.token[id] + model.position[t];
    x = x + attention(model, rms_norm(x), past);
    Vector hidden = model.W_up * rms_norm(x);
    for (Number& n : hidden) n = relu(n);
    x = x + model.W_down * hidden;
    return model.head * rms_norm(x);
}

// ---- Training, and sampling

std::vector<std::string> read_names(const char* path) {
    std::vector<std::string> names;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const bool letters = std::all_of(line.begin(), line.end(), [](char c) { return c >= 'a' && c <= 'z'; });
        if (line.empty() || line.size() >= T || !letters) {
            std::fprintf(stderr, "%s: \"%s\" is no name of 1 to %d letters from a to z\n", path, line.c_str(),
                         T - 1);
            std::exit(2);
        }
        names.push_back(line);
    }
    return names;
}

int main(int argc, char** argv) {
    const std::vector<std::string> names = argc > 1 ? read_names(argv[1]) : std::vector<std::string>();
    const int steps = argc > 2 ? std::atoi(argv[2]) : 20000;
    if (names.empty() || steps < 1) {
        std::fprintf(stderr, "usage: microgpt names.txt [steps]\n");
        return 2;
    }

    const Model model;                  // its numbers are in the tape, where training changes them
    const std::size_t n = tape.size();  // the parameters are the first entries of the tape
    std::printf("%zu names, %zu parameters\n", names.size(), n);
    std::vector<double> m(n), v(n);  // Adam's averages of the gradients and of their squares
    const auto start = std::chrono::steady_clock::now();
    for (int step = 1; step <= steps; ++step) {
        tape.resize(n);  // forget the last step
        for (Entry& e : tape) e.grad = 0;
        const std::string& name = names[step * 7919ull % names.size()];  // a prime: in a jumbled order
        Past past;
        Vector losses;
        for (std::size_t t = 0; t <= name.size(); ++t) {
            const int id = t == 0 ? 0 : name[t - 1] - 'a' + 1,
                      target = t == name.size() ? 0 : name[t] - 'a' + 1;
            losses.push_back(log(softmax(next(model, id, static_cast<int>(t), past))[target]) * -1);
        }
        const Number loss = sum(losses) * (1.0 / static_cast<double>(losses.size()));
        backward(loss);
        if (step == 1 || step % 2000 == 0 || steps <= 100)
            std::printf("step %5d  loss %.9f\n", step, loss.value());

        const double lr = 0.005 * (1 - (step - 1.0) / steps);
        for (std::size_t i = 0; i < n; ++i) {  // Adam (Kingma and Ba, 2015, algorithm 1)
            const double g = tape[i].grad;
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.99 * v[i] + 0.01 * g * g;
            const double m_hat = m[i] / (1 - std::pow(0.9, step)), v_hat = v[i] / (1 - std::pow(0.99, step));
            tape[i].value -= lr * m_hat / (std::sqrt(v_hat) + 1e-8);
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%d steps in %.1f seconds\n\n", steps, took.count());

    for (int sample = 0; sample < 20; ++sample) {
        tape.resize(n);
        Past past;
        std::string name;
        for (int t = 0, id = 0; t < T; ++t) {
            Vector logits = next(model, id, t, past);
            for (Number& l : logits)
                l = l * (1 / 0.7);  // a temperature below 1: likelier letters, fewer surprises
            const Vector p = softmax(logits);
            double left = uniform();  // walk along the shares until it is used up
            for (id = 0; id < V - 1; ++id)
                if ((left -= p[id].value()) <= 0) break;
            if (id == 0) break;
            name += static_cast<char>('a' + id - 1);
        }
        const bool known = std::count(names.begin(), names.end(), name) > 0;
        std::printf("%s%s\n", name.c_str(), known ? "  (in the list)" : "");
    }
}
