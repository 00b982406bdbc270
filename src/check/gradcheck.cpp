// gradcheck and gradgradcheck: compare backward with finite differences.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "weft/base/text.h"
#include "weft/check/gradcheck.h"
#include "weft/core/creation.h"
#include "weft/core/modes.h"
#include "weft/core/record.h"
#include "weft/ops/creation.h"
#include "weft/packed/packed.h"

namespace weft::check {

namespace {

using Tensors = std::vector<Tensor>;

// Central differences of order 8: f'(x) = Σ_k c_k (f(x + kh) − f(x − kh)) / h + O(h⁸).
constexpr std::array<double, 4> coefficients{4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};

std::vector<double> values_of(const Tensor& x) { return x.detach().to_vector<double>(); }

void check_inputs(const std::string& operation, const Tensors& inputs, const Tensors& parameters) {
    bool any = false;
    const auto check = [&](const char* kind, const Tensors& tensors) {
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            if (tensors[i].dtype() == float32)
                throw DTypeError("gradcheck of ", operation, ": ", kind, " ", i,
                                 " is float32, in which differences are too coarse; pass it .to(float64)");
            any = any || tensors[i].requires_grad();
        }
    };
    check("input", inputs);
    check("parameter", parameters);
    if (!any)
        throw ValueError("gradcheck of ", operation,
                         ": no input requires a gradient; call requires_grad_() on those to check");
}

// A view of one element, counted in row-major order.
Tensor element(const Tensor& x, std::size_t at) {
    Tensor y = x.detach();
    auto rest = static_cast<std::int64_t>(at);
    for (std::int64_t inner = y.numel(); y.rank() > 0; rest %= inner) {
        inner /= y.size(0);
        y = y[rest / inner];
    }
    return y;
}

// Returns f(), after restore(), which is called if f throws, too.
template <class F>
auto restoring(const std::function<void()>& restore, const F& f) {
    try {
        auto result = f();
        restore();
        return result;
    } catch (...) {
        restore();
        throw;
    }
}

struct Gradcheck {
    const std::string title;
    const Function function;
    const Tensors inputs;
    const GradcheckOptions options;
    const bool absent_is_zero = false;  // whether an absent gradient is right where f does not change

    Tensor seed = {};
    Tensors copies = {};  // copies of the inputs
    GradcheckReport report = {};

    Tensor f(const Tensors& in) const {
        const Lent lent("the function of ", in, title);
        return function(in);
    }

    GradcheckReport run() {
        // New leaves over the inputs' storage, with the same strides, leave the caller's gradients alone.
        Tensors leaves, variables,
            changed;                      // all inputs; those to check, and parameters; what to change in them
        std::vector<std::string> names;   // names of the variables
        for (const Tensor& x : inputs) {  // copies, in which every element has its own memory
            leaves.push_back(x.detach());
            copies.push_back(x.detach().clone());
        }
        const auto add = [&](const char* kind, std::size_t i, const Tensor& variable, const Tensor& values) {
            variables.push_back(variable);
            changed.push_back(values);
            names.push_back(kind + std::to_string(i) + " " + variable.shape().str());
        };
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (inputs[i].requires_grad()) add("input ", i, leaves[i].requires_grad_(), copies[i]);
        for (std::size_t i = 0; i < options.parameters.size(); ++i)
            if (const Tensor& p = options.parameters[i]; p.requires_grad()) add("parameter ", i, p, p);
        Tensor y;
        {
            const EnableGrad on;
            y = f(leaves);
            if (y.dtype() != float64)
                throw DTypeError(title, ": the function's result is ", name(y.dtype()),
                                 ", but must be float64; compute it in the type of the inputs");
            Rng rng(options.seed);
            seed = randn(y.shape(), rng, float64);
            if (!same_bits(y, f(leaves)))
                fail(
                    "the function is not deterministic: called twice with the same inputs, it gave different "
                    "values");
        }
        if (!report.passed) return report;

        const Tensors first = gradients(y, variables), second = gradients(y, variables);
        std::vector<std::pair<const char*, Tensors>> routes{{"backward", by_backward(y, variables)}};
        try {
            routes.emplace_back("grad with create_graph", gradients(y, variables, true));
        } catch (const GraphError&) {  // a rule that has no gradient of the gradient, as gradgradcheck says
        }
        for (std::size_t i = 0; i < variables.size(); ++i) {
            if (!first[i].defined() && !absent_is_zero) {
                fail(names[i] + ": the gradient is absent: no output depends on it through the graph");
                continue;
            }
            const auto found = values_of(first[i].defined() ? first[i] : zeros(variables[i].shape(), float64));
            if (first[i].defined() && !same_bits(first[i], second[i]))
                fail(names[i] + ": the gradient changes from one backward to the next");
            compare(changed[i], found, names[i]);
            for (const auto& [route, gradient] : routes) compare_routes(first[i], route, gradient[i], names[i]);
        }
        return report;
    }

    void fail(const std::string& what) {
        report.passed = false;
        report.message += (report.message.empty() ? "" : "\n") + title + ": " + what;
    }

    // By grad; undefined where y does not depend on the variable.
    Tensors gradients(const Tensor& y, const Tensors& variables, bool create_graph = false) const {
        if (!y.requires_grad()) return Tensors(variables.size());
        return grad({y}, variables, {seed},
                    {.create_graph = create_graph, .retain_graph = true, .allow_unused = true});
    }

    // By backward, through the variables' grad().
    Tensors by_backward(const Tensor& y, const Tensors& variables) const {
        Tensors before;
        for (Tensor x : variables) {
            before.push_back(x.grad());
            x.zero_grad();
        }
        const auto restore = [&] {
            for (std::size_t i = 0; i < variables.size(); ++i) Tensor(variables[i]).set_grad(before[i]);
        };
        return restoring(restore, [&] {
            if (y.requires_grad()) y.backward(seed, true);
            Tensors found;
            for (const Tensor& x : variables) found.push_back(x.grad());
            return found;
        });
    }

    // Fails unless two routes agree on a gradient up to rounding.
    void compare_routes(const Tensor& gradient, const char* route, const Tensor& other,
                        const std::string& input) {
        if (gradient.defined() != other.defined())
            return fail(input + ": the gradient is absent by " + (other.defined() ? "grad" : route) +
                        ", and there by " + (other.defined() ? route : "grad"));
        if (!gradient.defined()) return;
        const auto a = values_of(gradient), b = values_of(other);
        for (std::size_t at = 0; at < a.size(); ++at)
            if (!(std::abs(a[at] - b[at]) <= options.tolerance * std::max(1.0, std::abs(a[at]))))
                return fail(input + " at " + format_index(at, gradient.shape()) + ": " + to_chars(a[at]) +
                            " by grad, but " + to_chars(b[at]) + " by " + route);
    }

    // d(Σ seed · f)/dx, x a view of one element of the copies or of a parameter. Subtracts outputs before
    // summing, so those that do not depend on the element contribute no rounding error.
    double numerical_gradient(Tensor x) const {
        const double middle = x.item(), h = options.eps * std::max(1.0, std::abs(middle));
        const auto weights = values_of(seed);
        const auto restore = [&] { x.fill_(middle); };
        return restoring(restore, [&] {
            double derivative = 0;
            for (std::size_t k = 0; k < coefficients.size(); ++k) {
                const double distance = static_cast<double>(k + 1) * h;
                x.fill_(middle + distance);
                const auto above = values_of(f(copies));
                x.fill_(middle - distance);
                const auto below = values_of(f(copies));
                double sum = 0;
                for (std::size_t j = 0; j < weights.size(); ++j) sum += weights[j] * (above[j] - below[j]);
                derivative += coefficients[k] * sum / h;
            }
            return derivative;
        });
    }

    void compare(const Tensor& changed, const std::vector<double>& found, const std::string& variable) {
        std::size_t wrong = 0;
        double worst = -1;
        std::string where;
        for (std::size_t at = 0; at < found.size(); ++at) {
            const double expected = numerical_gradient(element(changed, at));
            double error = std::abs(expected - found[at]) / std::max(1.0, std::abs(expected));
            if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
            ++report.elements;
            report.largest_error = std::max(report.largest_error, error);
            if (error <= options.tolerance) continue;
            ++wrong;
            if (error <= worst) continue;
            worst = error;
            where = format_index(at, changed.shape()) + ": expected " + to_chars(expected) +
                    " (differences), found " + to_chars(found[at]) + " (backward), error " +
                    format_number(error, 3) + " above " + format_number(options.tolerance, 3);
        }
        if (wrong > 0)
            fail(variable + " at " + where + "; " + std::to_string(wrong) + " of " +
                 std::to_string(found.size()) + " elements are wrong");
    }
};

}  // namespace

GradcheckReport gradcheck(const std::string& operation, const Function& f, const std::vector<Tensor>& inputs,
                          GradcheckOptions options) {
    check_inputs(operation, inputs, options.parameters);
    return Gradcheck{"gradcheck of " + operation, f, inputs, options}.run();
}

GradcheckReport gradgradcheck(const std::string& operation, const Function& f,
                              const std::vector<Tensor>& inputs, GradcheckOptions options) {
    if (const GradcheckReport first = gradcheck(operation, f, inputs, options); !first) return first;
    std::vector<bool> wanted;
    for (const Tensor& x : inputs) wanted.push_back(x.requires_grad());
    Tensors parameters;
    for (const Tensor& p : options.parameters)
        if (p.requires_grad()) parameters.push_back(p);

    // (inputs …, seed) → the gradients of Σ(seed · f(inputs)), one after another.
    const Function gradient = [&](const Tensors& all) {
        EnableGrad on;
        Tensors x(all.begin(), all.end() - 1), leaves;
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (!wanted[i]) continue;
            if (!x[i].requires_grad()) x[i] = x[i].detach().requires_grad_();
            leaves.push_back(x[i]);
        }
        const Tensor y = f(x);
        Tensors flat{zeros({0}, float64)};
        if (!y.requires_grad()) return flat[0];
        leaves.insert(leaves.end(), parameters.begin(), parameters.end());
        for (const Tensor& g : grad({y}, leaves, {all.back()}, {.create_graph = true, .allow_unused = true}))
            if (g.defined()) flat.push_back(g.reshape({g.numel()}));
        return cat(flat);
    };

    Tensors all = inputs;
    {
        Tensors plain;
        for (const Tensor& x : inputs) plain.push_back(x.detach());
        NoGrad off;
        Rng rng(options.seed + 1);
        all.push_back(randn(f(plain).shape(), rng, float64).requires_grad_());
    }
    return Gradcheck{"gradgradcheck of " + operation, gradient, all, options, true}.run();
}

}  // namespace weft::check
