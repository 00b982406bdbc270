// How a step is tested: claim by claim, with what is wrong in words, and a hint.
//
//     int main() {
//         Step step(1, "a number that remembers");
//         step.claim("a sum is the sum", "Add the two numbers.", [] {
//             expect_equal("2 + 3", (Value(2) + Value(3)).data(), 5);
//         });
//         return step.finish();
//     }
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline std::string text(double x) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.6g", x);
    return buffer;
}
template <class T>
std::string text(const std::vector<T>& values) {
    std::string all;
    for (std::size_t i = 0; i < values.size() && i < 12; ++i)
        all += (i == 0 ? "" : " ") + text(static_cast<double>(values[i]));
    return "[" + all + (values.size() > 12 ? " …]" : "]");
}

// Each of these ends the claim unless it holds; `what` is the expression as the reader would write it.
inline void expect(bool holds, const std::string& otherwise) {
    if (!holds) throw Wrong(otherwise);
}
inline void expect_equal(const std::string& what, double got, double wanted, double tolerance = 1e-9) {
    if (!(std::abs(got - wanted) <= tolerance * std::max(1.0, std::abs(wanted))))
        throw Wrong(what + " is " + text(got) + " and should be " + text(wanted) + ".");
}
template <class T>
void expect_equal(const std::string& what, const std::vector<T>& got, const std::vector<T>& wanted,
                  double tolerance = 1e-9) {
    bool same = got.size() == wanted.size();
    for (std::size_t i = 0; same && i < got.size(); ++i)
        same = got[i] == wanted[i] || std::abs(static_cast<double>(got[i] - wanted[i])) <=
                                          tolerance * std::max(1.0, std::abs(static_cast<double>(wanted[i])));
    if (!same) throw Wrong(what + " is " + text(got) + " and should be " + text(wanted) + ".");
}
inline void expect_error(const std::string& what, const std::function<void()>& call) {
    try {
        call();
    } catch (const std::exception&) {
        return;
    }
    throw Wrong(what + " should throw an exception.");
}

// The elements of x's gradient; ends the claim if none has arrived, which would crash otherwise.
template <class T>
std::vector<double> gradient_of(const T& x) {
    expect(x.grad().defined(), "No gradient has arrived at an input: its grad is undefined after backward.");
    return x.grad().values();
}

class Step {
public:
    Step(int number, const char* title) { std::printf("Step %d: %s\n", number, title); }

    void claim(const char* claim, const char* hint, const std::function<void()>& test) {
        ++claims_;
        std::printf("  %s: ", claim);
        std::fflush(stdout);  // so that it is seen even if the test crashes
        std::string problem;
        try {
            test();
        } catch (const Wrong& wrong) {
            problem = wrong.what();
        } catch (const std::exception& error) {
            problem = std::string("an exception: ") + error.what();
        }
        if (problem.empty()) {
            ++held_;
            std::printf("yes\n");
        } else {
            std::printf("NO\n      %s\n      Hint: %s\n", problem.c_str(), hint);
        }
    }
    // Prints an example if all claims hold; otherwise it might crash.
    void example(const std::function<void()>& print) const {
        if (held_ == claims_) print();
    }
    int finish() const {
        std::printf("%d of %d claims hold.\n", held_, claims_);
        return held_ == claims_ ? 0 : 1;
    }

private:
    int claims_ = 0, held_ = 0;
};
