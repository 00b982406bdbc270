// gradcheck and gradgradcheck: compare backward with finite differences.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/core/text.h"
#include "weft/nn/check.h"

namespace weft::check {

namespace {

using Tensors = std::vector<Tensor>;
using Functions = std::function<Tensors(const Tensors&)>;  // with several outputs

// Central differences of order 8: f'(x) = Σ_k c_k (f(x + kh) − f(x − kh)) / h + O(h⁸).
constexpr std::array<double, 4> coefficients{4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};

std::vector<double> values_of(const Tensor& x) { return x.detach().to_vector<double>(); }

std::vector<std::vector<double>> values_of(const Tensors& tensors) {
    std::vector<std::vector<double>> all;
    for (const Tensor& x : tensors) all.push_back(values_of(x));
    return all;
}

// Compares bits: NaN equals itself, and +0 differs from −0.
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

void check_inputs(const std::string& operation, const Tensors& inputs) {
    bool any = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].dtype() == float32)
            throw DTypeError("gradcheck of ", operation, ": input ", i,
                             " is float32, in which differences are too coarse; pass x.to(float64)");
        any = any || inputs[i].requires_grad();
    }
    if (!any)
        throw ValueError("gradcheck of ", operation,
                         ": no input requires a gradient; call requires_grad_() on those to check");
}

class Gradcheck {
public:
    Gradcheck(std::string title, Functions f, const Tensors& inputs, bool absent_is_zero,
              GradcheckOptions options)
        : title_(std::move(title)),
          f_(std::move(f)),
          inputs_(inputs),
          absent_is_zero_(absent_is_zero),
          options_(options) {}

    GradcheckReport run() {
        // New leaves over the inputs' storage, with the same strides, leave the caller's gradients alone.
        Tensors leaves;
        std::vector<std::size_t> wanted;
        std::vector<std::uint64_t> versions;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            leaves.push_back(inputs_[i].detach());
            versions.push_back(inputs_[i].version());
            if (!inputs_[i].requires_grad()) continue;
            leaves.back().requires_grad_();
            wanted.push_back(i);
        }
        Tensors outputs;
        {
            EnableGrad on;
            outputs = f_(leaves);
            draw_seeds(outputs);
            Tensors again = f_(leaves);
            for (std::size_t i = 0; i < outputs.size(); ++i)
                if (!same_bits(values_of(outputs[i]), values_of(again[i])))
                    fail(
                        "the function is not deterministic: called twice with the same inputs, it gave "
                        "different values");
        }
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (inputs_[i].version() != versions[i])
                fail("the function changed its input " + std::to_string(i) + " in place");
        if (!report_.passed) return report_;

        const Tensors first = gradients(outputs, leaves, wanted), second = gradients(outputs, leaves, wanted);
        const std::pair<const char*, Tensors> routes[] = {
            {"backward", by_backward(outputs, leaves, wanted)},
            {"grad with create_graph", gradients(outputs, leaves, wanted, true)}};
        for (std::size_t w = 0; w < wanted.size(); ++w) {
            const std::string input =
                "input " + std::to_string(wanted[w]) + " " + inputs_[wanted[w]].shape().str();
            if (!first[w].defined() && !absent_is_zero_) {
                fail(input + ": the gradient is absent: no output depends on it through the graph");
                continue;
            }
            const auto size = static_cast<std::size_t>(inputs_[wanted[w]].numel());
            const auto found = first[w].defined() ? values_of(first[w]) : std::vector<double>(size, 0.0);
            if (first[w].defined() && !same_bits(found, values_of(second[w])))
                fail(input + ": the gradient changes from one backward to the next");
            compare(wanted[w], found, input);
            for (const auto& [route, gradient] : routes)
                compare_routes(wanted[w], first[w], route, gradient[w]);
        }
        return report_;
    }

private:
    std::string title_;
    Functions f_;
    Tensors inputs_;
    bool absent_is_zero_;
    GradcheckOptions options_;
    Tensors seeds_;
    std::vector<std::vector<double>> seed_values_;
    GradcheckReport report_;

    void fail(const std::string& what) {
        report_.passed = false;
        report_.message += (report_.message.empty() ? "" : "\n") + title_ + ": " + what;
    }

    void draw_seeds(const Tensors& outputs) {
        Rng rng(options_.seed);
        for (const Tensor& y : outputs) {
            if (y.dtype() != float64)
                throw DTypeError(title_, ": the function's result is ", name(y.dtype()),
                                 ", but must be float64; compute it in the type of the inputs");
            seeds_.push_back(randn(y.shape(), rng, float64));
        }
        seed_values_ = values_of(seeds_);
    }

    // By grad; undefined where no output depends on the input.
    Tensors gradients(const Tensors& outputs, const Tensors& leaves, const std::vector<std::size_t>& wanted,
                      bool create_graph = false) const {
        Tensors in_graph, seeds, inputs;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!outputs[i].requires_grad()) continue;
            in_graph.push_back(outputs[i]);
            seeds.push_back(seeds_[i]);
        }
        for (const std::size_t i : wanted) inputs.push_back(leaves[i]);
        if (in_graph.empty()) return Tensors(inputs.size());
        return grad(in_graph, inputs, seeds,
                    {.create_graph = create_graph, .retain_graph = true, .allow_unused = true});
    }

    // By backward, through the leaves' grad().
    Tensors by_backward(const Tensors& outputs, const Tensors& leaves,
                        const std::vector<std::size_t>& wanted) const {
        for (std::size_t i = 0; i < outputs.size(); ++i)
            if (outputs[i].requires_grad()) outputs[i].backward(seeds_[i], true);
        Tensors found;
        for (const std::size_t i : wanted) {
            found.push_back(leaves[i].grad());
            Tensor(leaves[i]).zero_grad();
        }
        return found;
    }

    // Fails unless two routes agree on the gradient of input i up to rounding.
    void compare_routes(std::size_t i, const Tensor& gradient, const char* route, const Tensor& other) {
        const std::string input = "input " + std::to_string(i) + " " + inputs_[i].shape().str();
        if (gradient.defined() != other.defined())
            return fail(input + ": the gradient is absent by " + (other.defined() ? "grad" : route) +
                        ", and there by " + (other.defined() ? route : "grad"));
        if (!gradient.defined()) return;
        const auto a = values_of(gradient), b = values_of(other);
        for (std::size_t at = 0; at < a.size(); ++at)
            if (!(std::abs(a[at] - b[at]) <= options_.tolerance * std::max(1.0, std::abs(a[at]))))
                return fail(input + " at " + text::index(at, inputs_[i].shape()) + ": " + text::chars(a[at]) +
                            " by grad, but " + text::chars(b[at]) + " by " + route);
    }

    // d(Σ seed · f)/dx at element `at` of input i, in the copies `changed`. Subtracts outputs before summing,
    // so those that do not depend on the element contribute no rounding error.
    double numerical_gradient(const Tensors& changed, std::size_t i, std::size_t at) {
        double& x = changed[i].data<double>()[at];
        const double middle = x, h = options_.eps * std::max(1.0, std::abs(middle));
        double derivative = 0;
        for (std::size_t k = 0; k < coefficients.size(); ++k) {
            const double distance = static_cast<double>(k + 1) * h;
            x = middle + distance;
            const auto above = values_of(f_(changed));
            x = middle - distance;
            const auto below = values_of(f_(changed));
            double sum = 0;
            for (std::size_t output = 0; output < seed_values_.size(); ++output)
                for (std::size_t j = 0; j < seed_values_[output].size(); ++j)
                    sum += seed_values_[output][j] * (above[output][j] - below[output][j]);
            derivative += coefficients[k] * sum / h;
        }
        x = middle;
        return derivative;
    }

    void compare(std::size_t i, const std::vector<double>& found, const std::string& input) {
        Tensors changed;  // copies, in which every element has its own memory
        for (const Tensor& x : inputs_) changed.push_back(x.detach().clone());
        std::size_t wrong = 0;
        double worst = -1;
        std::string where;
        for (std::size_t at = 0; at < found.size(); ++at) {
            const double expected = numerical_gradient(changed, i, at);
            double error = std::abs(expected - found[at]) / std::max(1.0, std::abs(expected));
            if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
            ++report_.elements;
            report_.largest_error = std::max(report_.largest_error, error);
            if (error <= options_.tolerance) continue;
            ++wrong;
            if (error <= worst) continue;
            worst = error;
            where = text::index(at, inputs_[i].shape()) + ": expected " + text::chars(expected) +
                    " (differences), found " + text::chars(found[at]) + " (backward), error " +
                    text::number(error, 3) + " above " + text::number(options_.tolerance, 3);
        }
        if (wrong > 0)
            fail(input + " at " + where + "; " + std::to_string(wrong) + " of " + std::to_string(found.size()) +
                 " elements are wrong");
    }
};

}  // namespace

GradcheckReport gradcheck(const std::string& operation, const Function& f, const std::vector<Tensor>& inputs,
                          GradcheckOptions options) {
    check_inputs(operation, inputs);
    const Functions one = [&f](const Tensors& x) { return Tensors{f(x)}; };
    return Gradcheck("gradcheck of " + operation, one, inputs, false, options).run();
}

GradcheckReport gradgradcheck(const std::string& operation, const Function& f,
                              const std::vector<Tensor>& inputs, GradcheckOptions options) {
    if (const GradcheckReport first = gradcheck(operation, f, inputs, options); !first) return first;
    std::vector<bool> wanted;
    for (const Tensor& x : inputs) wanted.push_back(x.requires_grad());

    // (inputs …, seed) → the gradients of Σ(seed · f(inputs)).
    const Functions gradient = [&f, wanted](const Tensors& all) {
        EnableGrad on;
        Tensors x(all.begin(), all.end() - 1), leaves;
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (!wanted[i]) continue;
            if (!x[i].requires_grad()) x[i] = x[i].detach().requires_grad_();
            leaves.push_back(x[i]);
        }
        const Tensor y = f(x);
        if (!y.requires_grad()) return Tensors{};
        Tensors present;
        for (const Tensor& g : grad({y}, leaves, {all.back()}, {.create_graph = true, .allow_unused = true}))
            if (g.defined()) present.push_back(g);
        return present;
    };

    Tensors all = inputs;
    {
        Tensors plain;
        for (const Tensor& x : inputs) plain.push_back(x.detach());
        NoGrad off;
        Rng rng(options.seed + 1);
        all.push_back(randn(f(plain).shape(), rng, float64).requires_grad_());
    }
    return Gradcheck("gradgradcheck of " + operation, gradient, all, true, options).run();
}

}  // namespace weft::check
